/* Reads GGUF (docs/gguf.md of ggml): a header, values by key, entries of tensors, and their data from an aligned place on. Every count and
 * length is compared with the bytes that are left before anything of that size is asked for. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "onnx/gguf/file.h"

enum { ALIGNMENT = 32, TEXT_SHOWN = 80, MIN_VALUE = 8 + 4 + 1, MIN_TENSOR = 8 + 4 + 4 + 8 };

static noreturn void end(const struct gguf *g, enum exit_code code, const void *at, const char *fmt, va_list ap)
{
	char why[600];

	vsnprintf(why, sizeof why, fmt, ap);
	die(code, "%s:%zu: %s", g->path, (size_t)((const unsigned char *)at - g->p), why);
}

noreturn void gguf_die(const struct gguf *g, const void *at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	end(g, EX_BADDATA, at, fmt, ap);
}

noreturn void gguf_unsupported(const struct gguf *g, const void *at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	end(g, EX_NOTAVAIL, at, fmt, ap);
}

bool gguf_begins(const unsigned char *p, size_t n) { return n >= 4 && !memcmp(p, "GGUF", 4); }

/* ---- numbers ---- */

size_t gguf_type_size(int type)
{
	static const uint8_t size[] = {[GGUF_U8] = 1,  [GGUF_I8] = 1,   [GGUF_U16] = 2, [GGUF_I16] = 2, [GGUF_U32] = 4, [GGUF_I32] = 4,
				       [GGUF_F32] = 4, [GGUF_BOOL] = 1, [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8};

	return type >= 0 && type <= GGUF_F64 ? size[type] : 0;
}

static uint64_t little(const unsigned char *p, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

int64_t gguf_int_at(int type, const unsigned char *p)
{
	uint64_t v = little(p, gguf_type_size(type));

	switch (type) {
	case GGUF_I8: return (int8_t)v;
	case GGUF_I16: return (int16_t)v;
	case GGUF_I32: return (int32_t)v;
	default: return (int64_t)v;
	}
}

double gguf_number_at(int type, const unsigned char *p)
{
	uint64_t v = little(p, gguf_type_size(type));
	uint32_t narrow = (uint32_t)v;
	double d;
	float f;

	memcpy(&d, &v, sizeof d);
	memcpy(&f, &narrow, sizeof f);
	return type == GGUF_F64 ? d : type == GGUF_F32 ? (double)f : type == GGUF_U64 ? (double)v : (double)gguf_int_at(type, p);
}

/* ---- reading ---- */

struct reader {
	struct gguf *g;
	const unsigned char *p, *end;
};

/* n bytes that are there. */
static const unsigned char *take(struct reader *r, uint64_t n, const char *what)
{
	const unsigned char *at = r->p;

	if (n > (uint64_t)(r->end - r->p))
		gguf_die(r->g, r->p, "%s needs %llu bytes, the file has %llu more; cut short?", what, (unsigned long long)n,
			 (unsigned long long)(r->end - r->p));
	r->p += n;
	return at;
}

static uint64_t number(struct reader *r, size_t n, const char *what) { return little(take(r, n, what), n); }

static struct gguf_text text(struct reader *r, const char *what)
{
	uint64_t n = number(r, 8, what);

	return (struct gguf_text){(const char *)take(r, n, what), (size_t)n};
}

struct gguf_text gguf_text_at(const unsigned char **p)
{
	struct gguf_text t = {(const char *)*p + 8, (size_t)little(*p, 8)};

	*p += 8 + t.n;
	return t;
}

/* The length of a text in messages. */
static int shown(struct gguf_text t) { return t.n < TEXT_SHOWN ? (int)t.n : TEXT_SHOWN; }

static void read_value(struct reader *r, struct gguf_value *v)
{
	const unsigned char *at;
	size_t size;

	v->key = text(r, "a key");
	at = r->p;
	v->type = v->element = (int)number(r, 4, "a value's type");
	v->count = 1;
	if (v->type == GGUF_ARRAY) {
		v->element = (int)number(r, 4, "an array's type");
		v->count = number(r, 8, "an array's length");
	}
	size = gguf_type_size(v->element);
	if (v->element == GGUF_ARRAY)
		gguf_unsupported(r->g, at, "'%.*s' is an array of arrays, which is not supported", shown(v->key), v->key.p);
	if (!size && v->element != GGUF_STRING)
		gguf_die(r->g, at, "'%.*s' has type %d; there is none of that number", shown(v->key), v->key.p, v->element);
	v->at = r->p;
	if (v->count > (uint64_t)(r->end - r->p) / (size ? size : 8))
		gguf_die(r->g, at, "'%.*s' has %llu elements, more than the rest of the file can hold", shown(v->key), v->key.p,
			 (unsigned long long)v->count);
	if (size)
		take(r, v->count * size, "a value");
	for (uint64_t i = 0; i < v->count && !size; i++)
		text(r, "a string");
}

static void read_tensor(struct reader *r, struct gguf_tensor *t, uint64_t *offset)
{
	uint64_t n = 1, ne;
	uint32_t rank, type;

	t->at = (size_t)(r->p - r->g->p);
	t->name = text(r, "a tensor's name");
	rank = (uint32_t)number(r, 4, "a tensor's rank");
	if (rank < 1 || rank > 4)
		gguf_die(r->g, r->g->p + t->at, "tensor '%.*s' has rank %u, takes 1 to 4", shown(t->name), t->name.p, rank);
	t->rank = (int)rank;
	for (int k = 0; k < 4; k++) {
		ne = k < t->rank ? number(r, 8, "a tensor's size") : 1;
		if (ne < 1 || ne > INT_MAX || __builtin_mul_overflow(n, ne, &n) || n > INT64_MAX / 8)
			gguf_die(r->g, r->g->p + t->at, "tensor '%.*s' has the size %llu along axis %d", shown(t->name), t->name.p,
				 (unsigned long long)ne, k);
		t->dims[k] = (int64_t)ne;
	}
	type = (uint32_t)number(r, 4, "a tensor's type");
	t->type = block_type(type);
	*offset = number(r, 8, "a tensor's offset");
	if (!t->type)
		gguf_die(r->g, r->g->p + t->at, "tensor '%.*s' has type %u; there is none of that number", shown(t->name), t->name.p, type);
	if (!t->type->bytes)
		gguf_unsupported(r->g, r->g->p + t->at, "tensor '%.*s' is %s, which is not supported", shown(t->name), t->name.p,
				 t->type->name);
	if (t->dims[0] % t->type->block)
		gguf_die(r->g, r->g->p + t->at, "tensor '%.*s' has rows of %lld numbers, no multiple of the %d of a block of %s",
			 shown(t->name), t->name.p, (long long)t->dims[0], t->type->block, t->type->name);
	t->nbytes = (size_t)n / (size_t)t->type->block * t->type->bytes;
}

static int by_text(struct gguf_text a, struct gguf_text b)
{
	int d = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

	return d ? d : (a.n > b.n) - (a.n < b.n);
}

static int by_key(const void *a, const void *b)
{
	return by_text(((const struct gguf_value *)a)->key, ((const struct gguf_value *)b)->key);
}
static int by_name(const void *a, const void *b)
{
	return by_text(((const struct gguf_tensor *)a)->name, ((const struct gguf_tensor *)b)->name);
}

static void read_values(struct reader *r, uint64_t n, struct arena *a)
{
	struct gguf *g = r->g;

	g->value = ARENA_ARRAY(a, struct gguf_value, n + 1);
	for (g->nvalue = 0; g->nvalue < n; g->nvalue++)
		read_value(r, &g->value[g->nvalue]);
	qsort(g->value, g->nvalue, sizeof *g->value, by_key);
	for (size_t i = 1; i < g->nvalue; i++)
		if (!by_key(&g->value[i - 1], &g->value[i]))
			gguf_die(g, g->value[i].at, "'%.*s' is there twice", shown(g->value[i].key), g->value[i].key.p);
}

static void read_tensors(struct reader *r, uint64_t n, struct arena *a)
{
	struct gguf *g = r->g;
	uint64_t align = (uint64_t)gguf_int(g, "general.alignment", ALIGNMENT), *offset = xcalloc(n + 1, sizeof *offset);
	const struct gguf_value *v = gguf_value(g, "general.alignment");
	size_t base, pad;

	if (align < 1 || align > 1 << 30 || align & (align - 1))
		gguf_die(g, v->at, "the alignment %lld is no power of two", (long long)align);
	g->tensor = ARENA_ARRAY(a, struct gguf_tensor, n + 1);
	for (g->ntensor = 0; g->ntensor < n; g->ntensor++)
		read_tensor(r, &g->tensor[g->ntensor], &offset[g->ntensor]);
	base = (size_t)(r->p - g->p);
	pad = (size_t)(-base & (align - 1));
	if (n)
		take(r, pad, "padding before the data");
	base = (size_t)(r->end - r->p);
	for (size_t i = 0; i < n; i++) {
		struct gguf_tensor *t = &g->tensor[i];
		if (offset[i] & (align - 1))
			gguf_die(g, g->p + t->at, "tensor '%.*s' begins at byte %llu of the data, no multiple of the alignment %llu",
				 shown(t->name), t->name.p, (unsigned long long)offset[i], (unsigned long long)align);
		if (offset[i] > base || t->nbytes > base - offset[i])
			gguf_die(g, g->p + t->at, "tensor '%.*s' needs bytes %llu to %llu of the data, which has %zu; cut short?",
				 shown(t->name), t->name.p, (unsigned long long)offset[i], (unsigned long long)(offset[i] + t->nbytes),
				 base);
		t->data = r->p + offset[i];
	}
	free(offset);
	qsort(g->tensor, n, sizeof *g->tensor, by_name);
	for (size_t i = 1; i < n; i++)
		if (!by_name(&g->tensor[i - 1], &g->tensor[i]))
			gguf_die(g, g->p + g->tensor[i].at, "tensor '%.*s' is there twice", shown(g->tensor[i].name), g->tensor[i].name.p);
}

void gguf_read(struct gguf *g, const char *path, const unsigned char *p, size_t n, struct arena *a)
{
	struct reader r = {g, p, p + n};
	uint32_t version;
	uint64_t tensors, values;

	*g = (struct gguf){.path = path, .p = p, .n = n};
	if (!gguf_begins(p, n))
		gguf_die(g, p, "not a GGUF file");
	r.p += 4;
	version = (uint32_t)number(&r, 4, "the version");
	if (version && !(version & 0xffff))
		gguf_unsupported(g, p + 4, "a GGUF file of numbers with the highest byte first, which is not supported");
	if (version < 2 || version > 3)
		gguf_unsupported(g, p + 4, "GGUF of version %u; 2 and 3 are read", version);
	tensors = number(&r, 8, "the number of tensors");
	values = number(&r, 8, "the number of values");
	if (tensors > (n - 24) / MIN_TENSOR || values > (n - 24) / MIN_VALUE)
		gguf_die(g, p + 8, "%llu tensors and %llu values, more than %zu bytes can hold", (unsigned long long)tensors,
			 (unsigned long long)values, n);
	read_values(&r, values, a);
	read_tensors(&r, tensors, a);
}

/* ---- asking ---- */

const struct gguf_value *gguf_value(const struct gguf *g, const char *key)
{
	struct gguf_value want = {.key = {key, strlen(key)}};

	return g->nvalue ? bsearch(&want, g->value, g->nvalue, sizeof want, by_key) : NULL;
}

struct gguf_tensor *gguf_tensor(const struct gguf *g, const char *name)
{
	struct gguf_tensor want = {.name = {name, strlen(name)}};

	return g->ntensor ? bsearch(&want, g->tensor, g->ntensor, sizeof want, by_name) : NULL;
}

static const struct gguf_value *number_of(const struct gguf *g, const char *key)
{
	const struct gguf_value *v = gguf_value(g, key);

	if (v && v->type == GGUF_ARRAY)
		gguf_unsupported(g, v->at, "'%s' is an array: numbers that differ from layer to layer are not supported", key);
	if (v && !gguf_type_size(v->type))
		gguf_die(g, v->at, "'%s' is no number", key);
	return v;
}

int64_t gguf_int(const struct gguf *g, const char *key, int64_t otherwise)
{
	const struct gguf_value *v = number_of(g, key);

	if (v && (v->type == GGUF_F32 || v->type == GGUF_F64 || (v->type == GGUF_U64 && gguf_int_at(v->type, v->at) < 0)))
		gguf_die(g, v->at, "'%s' is %g; takes an integer", key, gguf_number_at(v->type, v->at));
	return v ? gguf_int_at(v->type, v->at) : otherwise;
}

double gguf_float(const struct gguf *g, const char *key, double otherwise)
{
	const struct gguf_value *v = number_of(g, key);
	double d = v ? gguf_number_at(v->type, v->at) : otherwise;

	if (v && !(d >= -1e30 && d <= 1e30))
		gguf_die(g, v->at, "'%s' is %g", key, d);
	return d;
}

bool gguf_is_string(const struct gguf_value *v, const char *s)
{
	const unsigned char *p = v ? v->at : NULL;
	struct gguf_text t;

	if (!v || v->type != GGUF_STRING)
		return false;
	t = gguf_text_at(&p);
	return t.n == strlen(s) && !memcmp(t.p, s, t.n);
}
