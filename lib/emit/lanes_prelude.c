/* Functions of the prelude that depend on the number of lanes, or on the types of a program. */
#include "emit/emit_impl.h"
#include "emit/vector.h"
#include "target/backend.h"

/* Element by element: for a loop, gcc makes slower code (doc/schedules.md). */
static void gather(FILE *f, int vl, const char *suffix, const char *vector, const char *type, bool half)
{
	const char *get = half ? "bf16_get(" : "", *end = half ? ")" : "";

	fprintf(f, "static inline %s vgather%s(const %s *p, long step)\n{\n\treturn (%s){%sp[0]%s", vector, suffix, type, vector, get, end);
	for (int i = 1; i < vl; i++)
		fprintf(f, ", %sp[%d * step]%s", get, i, end);
	fprintf(f, "};\n}\n");
}

static const char apart_text[] =
	"static inline %2$s vgather%1$s_mask(const %3$s *p, long step, vm m)\n"
	"{\n"
	"\t%2$s r = {};\n"
	"\tfor (int i = 0; i < VL; i++)\n"
	"\t\tif (vbit(m, i))\n"
	"\t\t\tr[i] = %4$sp[i * step]%6$s;\n"
	"\treturn r;\n"
	"}\n"
	"static inline void vscatter%1$s(%3$s *p, long step, %2$s x, vm m)\n"
	"{\n"
	"\tfor (int i = 0; i < VL; i++)\n"
	"\t\tif (vbit(m, i))\n"
	"\t\t\tp[i * step] = %5$sx[i]%6$s;\n"
	"}\n";

/* Combines v with itself, shuffled by a half, a quarter, and so on: lane 0 then holds the result of all lanes. */
static void horizontal(FILE *f, int vl, const char *type, const char *vector, const char *name, const char *combine)
{
	fprintf(f, "static inline %s v%s(%s x)\n{\n", type, name, vector);
	if (vl > 1)
		fprintf(f, "\t%s y;\n", vector);
	for (int w = vl / 2; w; w /= 2) {
		fprintf(f, "\ty = __builtin_shufflevector(x, x");
		for (int i = 0; i < vl; i++)
			fprintf(f, ", %d", i ^ w);
		fprintf(f, ");\n\tx = %s;\n", combine);
	}
	fprintf(f, "\treturn x[0];\n}\n");
}

static void ints(FILE *f, const struct target *t, int vl)
{
	target_ints(f, t);
	horizontal(f, vl, "int", "vi", "ihsum", "x + y");
	horizontal(f, vl, "int", "vi", "ihprod", "x * y");
	horizontal(f, vl, "int", "vi", "ihmax", "vimax(x, y)");
	horizontal(f, vl, "int", "vi", "ihmin", "vimin(x, y)");
}

/* Loads and stores of elements of type d; those of bf16 are made of those of u16. */
static void memory(FILE *f, const struct target *t, int vl, enum dtype d)
{
	const char *suffix = memory_suffix(d), *vector = lanes_ctype(d), *type = ctype(d);

	if (d == DT_F16)
		target_f16(f, t);
	else if (d == DT_BF16)
		target_bf16(f, t);
	else
		target_memory(f, t, suffix + 1, type);
	gather(f, vl, suffix, vector, type, d == DT_BF16);
	fprintf(f, apart_text, suffix, vector, type, d == DT_BF16 ? "bf16_get(" : "", d == DT_BF16 ? "bf16_put(" : "",
		d == DT_BF16 ? ")" : "");
}

bool uses_dtype(struct loop_prog *const *p, int n, enum dtype t)
{
	for (int k = 0; k < n; k++) {
		for (size_t i = 1; i < p[k]->bufs.n; i++)
			if (p[k]->bufs.a[i].dtype == t)
				return true;
		for (size_t i = 1; i < p[k]->exs.n; i++)
			if (p[k]->exs.a[i].dtype == t)
				return true;
	}
	return false;
}

void lanes_helpers(FILE *f, const struct target *t, struct loop_prog *const *p, int n)
{
	static const enum dtype type[] = {DT_I32, DT_I16, DT_U16, DT_I8, DT_U8, DT_F16, DT_BF16};
	bool needs[sizeof type / sizeof *type], any = false;
	int vl = t->vector_bytes / 4;

	gather(f, vl, "", "vf", "float", false);
	horizontal(f, vl, "float", "vf", "hsum", "x + y");
	horizontal(f, vl, "float", "vf", "hprod", "x * y");
	horizontal(f, vl, "float", "vf", "hmax", "vmax(x, y)");
	horizontal(f, vl, "float", "vf", "hmin", "vmin(x, y)");
	for (size_t i = 0; i < sizeof type / sizeof *type; i++) {
		needs[i] = uses_dtype(p, n, type[i]) ||
			   (type[i] == DT_U8 && (uses_dtype(p, n, DT_BOOL) || uses_dtype(p, n, DT_U4) || uses_dtype(p, n, DT_U2))) ||
			   (type[i] == DT_I8 && (uses_dtype(p, n, DT_I4) || uses_dtype(p, n, DT_I2))) ||
			   (type[i] == DT_U16 && uses_dtype(p, n, DT_BF16));
		any |= needs[i];
	}
	if (any)
		ints(f, t, vl);
	for (size_t i = 0; i < sizeof type / sizeof *type; i++)
		if (needs[i])
			memory(f, t, vl, type[i]);
}
