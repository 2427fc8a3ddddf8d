/* Steps that functions of lib/native compute: the text of those, and their calls. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include "common/msg.h"
#include "model/state.h"
#include "op/native.h"
#include "op/strings.h"
#include "source/source_impl.h"
#include "target/backend.h"

static const char header[] =
#include "lib/native/native.h.inc"
	;
static const struct {
	const char *file, *text;
} files[] = {
#include "lib/native/files.inc"
};

const char *native_text(const char *file)
{
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (!strcmp(files[i].file, file))
			return files[i].text;
	BUG("lib/native/%s.c has no text", file);
}

bool native_owns(const char *name)
{
	static const char own[] = "native";
	bool owns = false;

	for (size_t i = 0; i <= sizeof files / sizeof *files && !owns; i++) {
		const char *file = i < sizeof files / sizeof *files ? files[i].file : own;
		size_t n = strlen(file);
		owns = !strncasecmp(name, file, n) && (name[n] == 0 || name[n] == '_');
	}
	return owns;
}

static const char *function_of(struct emission *e, const struct call *x) { return native_function_name(e->M->m, node(e->M->m, x->alone)); }

static void put_declarations(struct emission *e, FILE *f)
{
	for (uint32_t c = 0; c < e->M->calls.n; c++) {
		const struct call *x = call_native(&e->M->calls.a[c]), *y = NULL;
		for (uint32_t before = 0; x && before < c && !y; before++)
			if ((y = call_native(&e->M->calls.a[before])) && strcmp(function_of(e, x), function_of(e, y)))
				y = NULL;
		if (x && !y)
			fprintf(f, "%s const char *%s(struct native *);\n",
				node_native(node(e->M->m, x->alone))->file ? "NATIVE" : "extern __attribute__((visibility(\"default\")))",
				function_of(e, x));
	}
}

void put_natives(struct emission *e, FILE *f)
{
	const struct functions *all = &e->functions;

	if (!e->M->natives)
		return;
	fprintf(f, "#define NATIVE KERNEL\n%s", header);
	target_text(f, e->target, "\n@{eight_halves\n@}\n");
	put_declarations(e, f);
	for (size_t i = 0; i < all->natives.n; i++)
		fprintf(f, "\n#if IN_PART(%d)\n%s#endif\n", all->natives.a[i].part, all->natives.a[i].text);
	fprintf(f,
		"\n/* Memory of the native steps, while they run. */\nstruct native_scratch {\n\tchar *p; /* size bytes, kept from step to step */\n"
		"\tsize_t size, used, wanted;\n\tvoid **memo; /* of each step, what it keeps from run to run; NULL: nothing yet */\n\tstruct native_more {\n\t\tstruct native_more *next;\n\t} *more; /* what did not fit */\n%s%s%s};\n\n",
		all->threads > 1 ? "\tstruct team *team; /* NULL: one thread */\n" : "",
		e->M->listed ? "\tstruct hone_lists *lists;\n" : "", e->M->states.n ? "\tstruct state_undo *undo;\n" : "");
}

static void put_float(FILE *f, double v)
{
	if (isfinite(v))
		fprintf(f, "%a", v);
	else
		fprintf(f, isnan(v) ? "NAN" : v < 0 ? "-INFINITY" : "INFINITY");
}

static void put_ints(FILE *f, int n, const int64_t *v)
{
	fprintf(f, "(const int64_t[]){");
	for (int i = 0; i < n; i++)
		fprintf(f, v[i] == INT64_MIN ? "INT64_MIN, " : "%" PRId64 ", ", v[i]);
	fprintf(f, "0}");
}

static void put_attr_tensor(FILE *f, const struct native_tensor *t)
{
	const unsigned char *p = t->data;

	fprintf(f, "&(const struct native_tensor){%d, %d, ", t->type, t->rank);
	put_ints(f, t->rank, t->dims);
	fprintf(f, ", (void *)(const uint64_t[]){");
	for (size_t n = (size_t)native_count(t) * native_size(t->type), i = 0; i < n; i += 8) {
		uint64_t word = 0;
		memcpy(&word, p + i, n - i < 8 ? n - i : 8);
		fprintf(f, "0x%" PRIx64 "u, ", word);
	}
	fprintf(f, "0}}");
}

static void put_attr(FILE *f, const struct native_attr *a)
{
	fprintf(f, "\t{.name = ");
	put_string(f, a->name);
	fprintf(f, ", .given = %d, .n = %d", a->given, a->n);
	if (a->ints) {
		fprintf(f, ", .ints = ");
		put_ints(f, a->n, a->ints);
	} else if (a->floats) {
		fprintf(f, ", .floats = (const float[]){");
		for (int i = 0; i < a->n; i++, fprintf(f, ", "))
			put_float(f, a->floats[i]);
		fprintf(f, "0}");
	} else if (a->strs) {
		fprintf(f, ", .strs = (const char *const[]){");
		for (int i = 0; i < a->n; i++, fprintf(f, ", "))
			put_string(f, a->strs[i]);
		fprintf(f, "0}");
	} else if (a->tensor) {
		fprintf(f, ", .tensor = ");
		put_attr_tensor(f, a->tensor);
	} else if (a->s) {
		fprintf(f, ", .s = ");
		put_bytes(f, a->s, (size_t)a->n);
	} else {
		fprintf(f, a->i == INT64_MIN ? ", .i = INT64_MIN" : ", .i = %" PRId64, a->i);
		fprintf(f, ", .f = ");
		put_float(f, a->f);
	}
	fprintf(f, "},\n");
}

void put_native_attrs(struct emission *e, FILE *f, uint32_t c)
{
	struct module *m = e->M->m;
	struct native_attr *attr;
	int n = native_attrs(m, node(m, call_native(&e->M->calls.a[c])->alone), &m->arena, &attr);

	if (!n)
		return;
	fprintf(f, "static const struct native_attr native_attrs%" PRIu32 "[] = {\n", c);
	for (int i = 0; i < n; i++)
		put_attr(f, &attr[i]);
	fprintf(f, "};\n\n");
}

static bool is_text_const(struct module *m, val_id v) { return v && val(m, v)->kind == VAL_CONST && val(m, v)->type.dtype == DT_STR; }

/* The call whose result v is; NULL: v is an input. */
static const struct call *call_of(struct emission *e, val_id v)
{
	for (uint32_t c = 0; c < e->M->calls.n; c++)
		if (e->M->calls.a[c].node == val(e->M->m, v)->def)
			return &e->M->calls.a[c];
	return NULL;
}

/* Steps of the slow path copy the strings of their results, native steps do not. */
bool text_borrowed(struct emission *e, val_id v)
{
	const struct type *t = &val(e->M->m, v)->type;

	if (t->other || t->dtype != DT_STR || val(e->M->m, v)->kind == VAL_CONST)
		return false;
	const struct call *x = val(e->M->m, v)->kind == VAL_NODE ? call_of(e, v) : NULL;
	if (!x)
		return true;
	if (x->kernel != KERNEL_NATIVE)
		return false;
	for (uint32_t i = 0; i < node(e->M->m, x->alone)->nin; i++) {
		val_id in = call_operand(e->M, x, i);
		if (in && val(e->M->m, in)->kind != VAL_CONST && val(e->M->m, in)->type.dtype == DT_STR)
			return true;
	}
	return false;
}

bool puts_texts(struct emission *e)
{
	const struct graph *g = graph(e->M->m, e->M->m->main);

	for (size_t k = 0; k < g->out.n; k++)
		if (text_borrowed(e, g->out.a[k]))
			return true;
	return false;
}

bool takes_texts(const struct emission *e)
{
	const struct graph *g = graph(e->M->m, e->M->m->main);

	for (size_t k = 0; k < g->in.n; k++)
		if (!val(e->M->m, g->in.a[k])->type.other && val(e->M->m, g->in.a[k])->type.dtype == DT_STR)
			return true;
	return false;
}

/* Is v an operand of call c, or of one before it? */
static bool read_before(struct emission *e, uint32_t c, val_id v)
{
	for (uint32_t before = 0; before < c; before++) {
		const struct call *x = call_native(&e->M->calls.a[before]);
		for (uint32_t i = 0; x && i < node(e->M->m, x->alone)->nin; i++)
			if (call_operand(e->M, x, i) == v)
				return true;
	}
	return false;
}

void put_native_texts(struct emission *e, FILE *f, uint32_t c)
{
	struct module *m = e->M->m;
	const struct call *x = call_native(&e->M->calls.a[c]);

	for (uint32_t i = 0; i < node(m, x->alone)->nin; i++) {
		val_id v = call_operand(e->M, x, i);
		if (!is_text_const(m, v) || read_before(e, c, v))
			continue;
		const struct tensor *t = val(m, v)->tensor;
		tensor_verified(m, val(m, v)->tensor);
		const struct text *word = texts_of(&m->arena, t);
		fprintf(f, "static const struct native_string native_texts%" PRIu32 "[] = {\n", v);
		for (int64_t k = 0; k < tensor_count(t); k++) {
			fprintf(f, "\t{");
			put_bytes(f, word[k].s, word[k].n);
			fprintf(f, ", %zu},\n", word[k].n);
		}
		fprintf(f, "\t{NULL, 0},\n};\n\n");
	}
}

/* The type and shape of a value: the start of a struct native_tensor. */
static void put_type(struct emission *e, FILE *f, val_id v)
{
	const struct type *t = &val(e->M->m, v)->type;
	int rank = t->other ? RANK_UNKNOWN : t->rank;
	int64_t dims[RANK_MAX];

	for (int i = 0; i < rank; i++)
		if (!poly_is_const(e->M->m->dims, t->dims[i], &dims[i]))
			dims[i] = -1;
	fprintf(f, "{%d, %d, ", value_type_number(e, v), rank);
	put_ints(f, rank < 0 ? 0 : rank, dims);
}

/* A value as a struct native_tensor. result: one that varies has its place later. */
static void put_tensor(struct emission *e, FILE *f, const struct call *c, val_id v, bool result)
{
	struct module *m = e->M->m;
	bool varies = value_varies(m, v);

	if (!v) {
		fprintf(f, "{0}, ");
		return;
	}
	if (is_text_const(m, v)) {
		put_type(e, f, v);
		fprintf(f, ", (void *)native_texts%" PRIu32 ", .fixed = true}, ", v);
		return;
	}
	if (varies && !result) {
		int first = axis_first(m, &val(m, v)->type);
		fprintf(f, first ? "LAID(%d, " : "TENSOR(", first);
		put_value(e, f, v);
		fprintf(f, "), ");
		return;
	}
	put_type(e, f, v);
	if (varies) {
		fprintf(f, ", NULL}, ");
		return;
	}
	fprintf(f, ", (void *)");
	if (val(m, v)->kind == VAL_CONST && c->kernel != KERNEL_NATIVE && !weights_for_otherwise(m, v))
		fprintf(f, "NULL");
	else if (val(m, v)->kind == VAL_CONST)
		fprintf(f, "W(%" PRId64 "), .fixed = true", weights_value(&e->weights, e->M, v));
	else
		put_place(e, f, c, v);
	if (axis_first(m, &val(m, v)->type))
		fprintf(f, ", .first = %d", axis_first(m, &val(m, v)->type));
	fprintf(f, "}, ");
}

/* The slots of results; those that have none are NULL. */
static void put_slots(struct emission *e, FILE *f, const struct call *x)
{
	fprintf(f, ",\n\t\t\t.ctx = (void *)(struct hone_slot *const[]){");
	for (uint32_t k = 0; k < node(e->M->m, x->alone)->nout; k++) {
		val_id v = call_result(e->M, x, k);
		if (value_varies(e->M->m, v))
			fprintf(f, "&m->slot[%" PRIu32 "], ", value_home(e->M, v).index);
		else
			fprintf(f, "NULL, ");
	}
	fprintf(f, "NULL}");
}

static void put_run_native(struct emission *e, FILE *f, uint32_t c, const struct call *x)
{
	const struct node *n = node(e->M->m, x->alone);
	struct native_attr *attr;
	int nattr = native_attrs(e->M->m, n, &e->M->m->arena, &attr);

	fprintf(f, "\tif (native_run(&m->scratch, %" PRIu32 ", %s, &(struct native){\n\t\t\t.in = (const struct native_tensor[]){", c,
		function_of(e, x));
	for (uint32_t i = 0; i < n->nin; i++)
		put_tensor(e, f, &e->M->calls.a[c], call_operand(e->M, x, i), false);
	fprintf(f, "{0}}, .nin = %" PRIu32 ",\n\t\t\t.out = (struct native_tensor[]){", n->nin);
	for (uint32_t k = 0; k < n->nout; k++)
		put_tensor(e, f, &e->M->calls.a[c], call_result(e->M, x, k), true);
	fprintf(f, "{0}}, .nout = %" PRIu32, n->nout);
	fprintf(f, ", .step = 0x%" PRIx64 "u", native_step(e->M->m, n));
	if (e->M->shaped)
		put_slots(e, f, x);
	if (node_varies(e->M->m, node(e->M->m, e->M->calls.a[c].node)) && native_demand(n)) {
		fprintf(f, ",\n\t\t\t.demand = ");
		put_string(f, native_demand(n));
	}
	if (nattr)
		fprintf(f, ", .attr = native_attrs%" PRIu32 ", .nattr = %d", c, nattr);
	fprintf(f, "},\n\t\t\t(const char *const[]){");
	for (uint32_t k = 0; k < n->nout; k++, fprintf(f, ", "))
		put_string(f, call_result(e->M, x, k) ? sym_str(val(e->M->m, call_result(e->M, x, k))->name) : "");
	fprintf(f, "NULL}))\n\t\treturn -1;\n");
}

void put_native_call(struct emission *e, FILE *f, uint32_t c, const struct call *x)
{
	if (x->lent) {
		fprintf(f, "\tif (");
		put_lend(e, f, x, call_result(e->M, x, 0));
		fprintf(f, ")\n\t\treturn -1;\n");
	}
	put_run_native(e, f, c, x);
	put_wrote(e, f, x);
}
