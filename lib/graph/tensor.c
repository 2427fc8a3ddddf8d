/* Tensors: their bytes, wherever these are, and what is asked of them. */
#include <string.h>
#include "common/msg.h"
#include "graph/blob.h"
#include "graph/module.h"

struct type tensor_type(struct module *m, const struct tensor *t) { return type_make(m, t->dtype, t->rank, t->dims); }

static bool lacks(const struct tensor *t) { return !t->data && t->has_digest && !blob_has(t->digest, t->nbytes); }

/* How many of the module's tensors are not to be had, of how many that are in the store. */
static void count_missing(const struct module *m, size_t *missing, size_t *all)
{
	*missing = *all = 0;
	for (size_t v = 1; v < m->values.n; v++) {
		const struct tensor *t = m->values.a[v].tensor;
		*all += t && t->has_digest;
		*missing += t && lacks(t);
	}
	for (size_t n = 1; n < m->nodes.n; n++) {
		for (uint32_t i = 0; i < m->nodes.a[n].nattr; i++) {
			const struct attr *a = &m->nodes.a[n].attr[i];
			*all += a->kind == ATTR_TENSOR && a->u.tensor->has_digest;
			*missing += a->kind == ATTR_TENSOR && lacks(a->u.tensor);
		}
	}
}

static noreturn void die_missing(const struct module *m, const struct tensor *t, const char *why)
{
	size_t missing, all;
	char hex[33];
	const char *model = m->main ? sym_str(m->graphs.a[m->main].name) : "";
	digest_hex(t->digest, hex);
	count_missing(m, &missing, &all);
	die(EX_NOIN,
	    "%s: model '%s': %zu of %zu tensors are missing from the blob store %s (first %s, "
	    "%zu bytes: %s); import the model again, or send it with ge-pack, which makes a "
	    "stream that travels",
	    m->source ? m->source : "stream", model, missing, all, blob_dir(), hex, t->nbytes, why);
}

/* Strings in a row: u32 length and bytes, as many as there are elements. */
static bool strings_fit(const unsigned char *p, size_t left, int64_t count)
{
	for (; count > 0; count--) {
		uint32_t n;
		if (left < 4)
			return false;
		memcpy(&n, p, 4);
		if (n > left - 4)
			return false;
		p += 4 + n;
		left -= 4 + n;
	}
	return left == 0;
}

const char *tensor_check(const struct tensor *t)
{
	int64_t count = 1, least, size = (int64_t)dtype_size(t->dtype);
	bool overflow = false, zero = false;
	for (int i = 0; i < t->rank; i++) {
		zero |= t->dims[i] == 0;
		overflow |= __builtin_mul_overflow(count, t->dims[i], &count);
	}
	if (zero)
		count = 0;
	overflow |= __builtin_mul_overflow(count, size ? size : 4, &least);
	if (overflow && !zero)
		return "a tensor's shape is too large";
	if (size ? (uint64_t)least != t->nbytes : (uint64_t)least > t->nbytes)
		return "a tensor's bytes do not fit its shape";
	if (t->dtype == DT_STR && t->data && !strings_fit(t->data, t->nbytes, count))
		return "a tensor of strings is malformed";
	return NULL;
}

static noreturn void die_changed(const struct module *m, const struct tensor *t)
{
	char hex[33];
	digest_hex(t->digest, hex);
	blob_forget(t->digest);
	die(EX_BADDATA, "%s: the bytes of tensor %s (%zu bytes; blob store %s) have changed; import the model again",
	    m->source ? m->source : "stream", hex, t->nbytes, blob_dir());
}

/* Bytes of t as the blob store has them; they may lie at any alignment. */
static const void *stored(const struct module *m, struct tensor *t)
{
	const char *why = "its digest was never written";
	const void *p = t->has_digest ? blob_bytes(t->digest, t->nbytes, &why) : NULL;
	if (!p)
		die_missing(m, t, why);
	return p;
}

static bool aligned(const struct tensor *t, const void *p)
{
	size_t align = dtype_size(t->dtype);
	return !align || (uintptr_t)p % (align > 8 ? 8 : align) == 0;
}

static const void *load(const struct module *m, struct tensor *t)
{
	const void *p = stored(m, t);
	if (t->dtype == DT_STR || !aligned(t, p)) /* lengths of strings must stay as they are checked */
		p = arena_copy((struct arena *)&m->arena, p, t->nbytes);
	if (!digest_eq(digest_bytes(p, t->nbytes), t->digest)) /* a file keeps its time and is another */
		die_changed(m, t);
	if (t->dtype == DT_STR && !strings_fit(p, t->nbytes, tensor_count(t)))
		die(EX_BADDATA, "%s: a tensor of strings in the blob store is malformed", m->source ? m->source : "stream");
	return p;
}

const void *tensor_data(const struct module *m, struct tensor *t)
{
	if (!t->data)
		t->data = load(m, t);
	else if (!aligned(t, t->data)) /* in the middle of a mapped model file */
		t->data = arena_copy((struct arena *)&m->arena, t->data, t->nbytes);
	return t->data;
}

const void *tensor_verified(const struct module *m, struct tensor *t)
{
	const void *p = t->data ? t->data : t->dtype == DT_STR ? tensor_data(m, t) : stored(m, t);
	if (t->has_digest && !digest_eq(digest_bytes(p, t->nbytes), t->digest))
		die_changed(m, t);
	if (!t->data && aligned(t, p))
		t->data = p;
	return p;
}

struct digest tensor_digest(const struct module *m, struct tensor *t)
{
	if (!t->has_digest) {
		t->digest = digest_bytes(t->data ? t->data : tensor_data(m, t), t->nbytes);
		t->has_digest = true;
	}
	return t->digest;
}

bool tensor_equal(const struct module *m, struct tensor *a, struct tensor *b)
{
	if (a->dtype != b->dtype || a->rank != b->rank || a->nbytes != b->nbytes)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dims[i] != b->dims[i])
			return false;
	if (a == b || (a->data && a->data == b->data))
		return true;
	if (a->has_digest && b->has_digest) {
		if (!digest_eq(a->digest, b->digest))
			return false;
		if (!a->data && !b->data) /* one entry of the store */
			return true;
	}
	return memcmp(tensor_data(m, a), tensor_data(m, b), a->nbytes) == 0;
}

struct tensor *node_const(struct module *m, const struct node *n, uint32_t i)
{
	if (i >= n->nin || !n->in[i])
		return NULL;
	const struct value *v = val(m, n->in[i]);
	return v->kind == VAL_CONST && !v->overridable ? v->tensor : NULL;
}

int tensor_ints(const struct module *m, struct tensor *t, int64_t *out, int max)
{
	int64_t count = tensor_count(t);
	if (count > max || !(dtype_is_int(t->dtype) || t->dtype == DT_BOOL))
		return -1;
	const void *p = tensor_data(m, t);
	for (int64_t i = 0; i < count; i++) {
		switch (t->dtype) {
#define INT(id, name, size, onnx, T) \
	case DT_##id: out[i] = (int64_t)((const T *)p)[i]; break;
			INT_DTYPES(INT)
#undef INT
		default: out[i] = ((const uint8_t *)p)[i]; break;
		}
	}
	return (int)count;
}
