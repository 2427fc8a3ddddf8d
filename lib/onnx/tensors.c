/* TensorProto to tensors: raw, typed, external and sparse data. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/facts.h"
#include "common/outfile.h"
#include "graph/blob.h"
#include "graph/stream.h"
#include "onnx/gguf/gguf.h"
#include "onnx/import.h"
#include "onnx/names.h"

struct external_file {
	sym location;
	const char *path;
	const unsigned char *p;
	size_t n;
};

enum { DENSE_MAX = 1 << 30 };

static const char *label(const Onnx__TensorProto *t) { return t->name.len ? sym_str(import_name(&t->name)) : "(unnamed)"; }

/* Elements of dims, or die: negative, or more bytes than an address can count. */
static size_t count(struct importer *c, const char *name, size_t rank, const int64_t *dims, size_t size)
{
	size_t n = 1;
	bool empty = false;
	if (rank > RANK_MAX)
		import_die(c, "tensor '%s' has rank %zu, at most %d is supported", name, rank, RANK_MAX);
	for (size_t i = 0; i < rank; i++) {
		if (dims[i] < 0)
			import_die(c, "tensor '%s' has the negative dimension %lld", name, (long long)dims[i]);
		empty |= dims[i] == 0;
	}
	for (size_t i = 0; i < rank; i++)
		if (__builtin_mul_overflow(n, (size_t)(dims[i] ? dims[i] : 1), &n) || n > (size_t)INT64_MAX / (size ? size : 1))
			import_die(c, "tensor '%s' is larger than memory can be", name);
	return empty ? 0 : n;
}

void import_keep(struct importer *c, struct tensor *t)
{
	if (t->nbytes <= STREAM_INLINE || c->opts.no_store)
		return;
	t->digest = blob_put(t->data, t->nbytes);
	t->has_digest = true;
}

void import_fill(struct importer *c, struct tensor *t, bool store, void (*fill)(const void *of, void *out), const void *of)
{
	if (!store || t->nbytes <= STREAM_INLINE || c->opts.no_store) {
		t->data = arena_alloc(&c->m->arena, t->nbytes);
		fill(of, (void *)t->data);
		return;
	}
	void *p = xcalloc(t->nbytes, 1);
	fill(of, p);
	t->digest = blob_put(p, t->nbytes);
	t->has_digest = true;
	free(p);
}

/* ---- made when they are asked for ---- */

static void make_bytes(struct importer *c, struct tensor *t, const struct made *made)
{
	import_fill(c, t, true, made_fill, made);
	mapping_forget(made->t ? made->t->data : NULL, made->t ? made->t->nbytes : 0);
}

/* Parts of blocks are read by the node that they are of, which makes others of them; the rest stays as it is. */
static void put_off(struct importer *c, struct tensor *t, const struct made *made)
{
	if (made_of_blocks(made) && t->nbytes > STREAM_INLINE)
		vec_push(&c->put_off, ((struct put_off){t, made}));
	else
		make_bytes(c, t, made);
}

/* NULL: t was not put off. */
static const struct made *made_later(const struct importer *c, const struct tensor *t)
{
	for (size_t i = 0; i < c->put_off.n; i++)
		if (c->put_off.a[i].t == t)
			return c->put_off.a[i].made;
	return NULL;
}

const void *import_bytes(struct importer *c, struct tensor *t)
{
	const struct made *made = t->data || t->has_digest ? NULL : made_later(c, t);

	if (!made)
		return tensor_data(c->m, t);
	void *p = xcalloc(t->nbytes, 1);
	made_fill(made, p);
	mapping_forget(made->t->data, made->t->nbytes);
	return t->data = p;
}

void import_return(struct importer *c, struct tensor *t)
{
	if (!t || !t->data || t->has_digest || !made_later(c, t))
		return;
	free((void *)t->data);
	t->data = NULL;
}

void import_put_off_end(struct importer *c)
{
	if (!c->put_off.n)
		return;
	struct uses u = uses_new(c->m);
	for (val_id v = 1; v < c->m->values.n; v++) {
		struct tensor *t = val(c->m, v)->kind == VAL_CONST ? val(c->m, v)->tensor : NULL;
		const struct made *made = t && !t->data && !t->has_digest && uses_count(&u, v) ? made_later(c, t) : NULL;
		if (made)
			make_bytes(c, t, made);
	}
	uses_free(&u);
	vec_free(&c->put_off);
}

/* Bytes at p within the file of that path (NULL: standard input). Many of them stay there. */
static void keep_in_file(struct importer *c, struct tensor *t, const unsigned char *p, const char *path, uint64_t offset)
{
	t->data = p;
	if (t->nbytes <= STREAM_INLINE) {
		t->data = arena_copy(&c->m->arena, p, t->nbytes);
	} else if (c->opts.copy || !path) {
		import_keep(c, t);
	} else if (!c->opts.no_store) {
		vec_push(&c->refer, (struct reference){t, path, p - offset, offset});
	}
}

static int by_file(const void *a, const void *b)
{
	const struct reference *x = a, *y = b;
	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

void import_refer(struct importer *c)
{
	size_t n = c->refer.n;
	struct reference *a = c->refer.a;
	struct blob_ref *r = xcalloc(n, sizeof *r);
	if (n)
		qsort(a, n, sizeof *a, by_file);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && a[end].base == a[i].base; end++)
			r[end] = (struct blob_ref){.offset = a[end].offset, .length = a[end].t->nbytes};
		blob_refer(a[i].path, a[i].base, end - i, r + i);
	}
	for (size_t i = 0; i < n; i++) {
		a[i].t->digest = r[i].digest;
		a[i].t->has_digest = true;
	}
	free(r);
	vec_free(&c->refer);
}

/* Opens location, a path below dir, following no links and leaving no way out of dir. */
static int open_below(struct importer *c, const char *dir, const char *location, const char *name)
{
	int fd = open(*dir ? dir : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *copy = xstrdup(location), *save = NULL;
	for (char *part = strtok_r(copy, "/", &save), *next; part && fd >= 0; part = next) {
		next = strtok_r(NULL, "/", &save);
		int flags = O_NOFOLLOW | O_CLOEXEC | (next ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK | O_NOCTTY);
		int down = openat(fd, part, flags);
		int saved = errno;
		close(fd);
		errno = saved;
		fd = down;
	}
	free(copy);
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		import_die(c, "tensor '%s': external data '%s' is a link; links are not followed", name, location);
	if (fd < 0)
		die(EX_NOIN, "%s: tensor '%s': external data '%s': %s; it belongs beside the model", c->path, name, location,
		    strerror(errno));
	return fd;
}

static struct external_file *external_open(struct importer *c, sym location, const char *name)
{
	const char *s = sym_str(location), *slash = strrchr(c->path, '/');
	for (size_t i = 0; i < c->external.n; i++)
		if (c->external.a[i]->location == location)
			return c->external.a[i];
	if (!*s || *s == '/' || strchr(s, '\\'))
		import_die(c, "tensor '%s': external data location '%s' is not a relative path", name, s);
	for (const char *p = s; p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL)
		if (!strncmp(p, "..", 2) && (p[2] == '/' || !p[2]))
			import_die(c,
				   "tensor '%s': external data location '%s' leaves the model's "
				   "directory",
				   name, s);
	if (c->file.heap)
		import_die(c,
			   "tensor '%s' has external data in '%s'; give the model as a file, not "
			   "on standard input",
			   name, s);
	struct external_file *e = ARENA_NEW(&c->m->arena, struct external_file);
	const char *dir = slash ? arena_printf(&c->m->arena, "%.*s", (int)(slash - c->path + 1), c->path) : "";
	int fd = open_below(c, dir, s, name);
	struct stat st;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		import_die(c, "tensor '%s': external data '%s' is not a regular file", name, s);
	e->location = location;
	e->path = arena_printf(&c->m->arena, "%s%s", dir, s);
	e->n = (size_t)st.st_size;
	facts_add("external", e->path);
	if (e->n) {
		e->p = mmap(NULL, e->n, PROT_READ, MAP_PRIVATE, fd, 0);
		if (e->p == MAP_FAILED)
			die_errno(EX_IO, "%s", e->path);
		mapping_add(e->p, e->n, e->path);
	}
	close(fd);
	vec_push(&c->external, e);
	return e;
}

static uint64_t number(struct importer *c, const ProtobufCBinaryData *b, const char *key, const char *name)
{
	uint64_t v = 0;
	bool good = b->len > 0;
	for (size_t i = 0; i < b->len && good; i++) {
		good = b->data[i] >= '0' && b->data[i] <= '9' && !__builtin_mul_overflow(v, 10u, &v) &&
		       !__builtin_add_overflow(v, (uint64_t)(b->data[i] - '0'), &v);
	}
	if (!good)
		import_die(c, "tensor '%s': external data %s is not a number", name, key);
	return v;
}

/* The external data of t, of t->nbytes bytes. */
static const struct external_file *external_bytes(struct importer *c, const struct tensor *t, const Onnx__TensorProto *p, uint64_t *at)
{
	static const char *const keys[] = {"location", "offset", "length"};
	const ProtobufCBinaryData *of[3] = {0};
	for (size_t i = 0; i < p->n_external_data; i++)
		for (int k = 0; k < 3; k++) {
			if (!bytes_are(&p->external_data[i]->key, keys[k]))
				continue;
			if (of[k])
				import_die(c, "tensor '%s': external data has its %s twice", label(p), keys[k]);
			of[k] = &p->external_data[i]->value;
		}
	sym location = of[0] ? import_name(of[0]) : 0;
	uint64_t offset = of[1] ? number(c, of[1], keys[1], label(p)) : 0;
	uint64_t length = of[2] ? number(c, of[2], keys[2], label(p)) : t->nbytes;
	if (t->dtype == DT_STR)
		import_die(c, "tensor '%s': strings cannot be external data", label(p));
	if (length != t->nbytes)
		import_die(c,
			   "tensor '%s' has %zu bytes by its type and shape, %llu by its external "
			   "data",
			   label(p), t->nbytes, (unsigned long long)length);
	const struct external_file *f = external_open(c, location, label(p));
	if (offset > f->n || t->nbytes > f->n - offset)
		import_die(c, "tensor '%s' needs %zu bytes from %llu on of '%s', which has %zu; cut short?", label(p), t->nbytes,
			   (unsigned long long)offset, f->path, f->n);
	*at = offset;
	return f;
}

static void external_data(struct importer *c, struct tensor *t, const Onnx__TensorProto *p)
{
	uint64_t offset;
	const struct external_file *f = external_bytes(c, t, p, &offset);

	keep_in_file(c, t, f->p + offset, f->path, offset);
}

/* Typed fields: numbers as wide as protobuf has them, narrowed to the element. */
static void typed_data(struct importer *c, struct tensor *t, const Onnx__TensorProto *p, size_t n)
{
	size_t size = dtype_size(t->dtype), have;
	unsigned char *out;
	switch (t->dtype) {
	case DT_F32: have = p->n_float_data; break;
	case DT_C64: have = p->n_float_data / 2; break;
	case DT_F64: have = p->n_double_data; break;
	case DT_C128: have = p->n_double_data / 2; break;
	case DT_I64: have = p->n_int64_data; break;
	case DT_U32:
	case DT_U64: have = p->n_uint64_data; break;
	default: have = p->n_int32_data; break;
	}
	if (have != n)
		import_die(c, "tensor '%s' (%s) has %zu elements by its shape, %zu in its data", label(p), dtype_name(t->dtype), n, have);
	out = arena_alloc(&c->m->arena, t->nbytes);
	t->data = out;
	if (!n)
		return;
	if (t->dtype == DT_F32 || t->dtype == DT_C64)
		memcpy(out, p->float_data, t->nbytes);
	else if (t->dtype == DT_F64 || t->dtype == DT_C128)
		memcpy(out, p->double_data, t->nbytes);
	else if (t->dtype == DT_I64)
		memcpy(out, p->int64_data, t->nbytes);
	else if (t->dtype == DT_U64)
		memcpy(out, p->uint64_data, t->nbytes);
	else
		for (size_t i = 0; i < n; i++)
			memcpy(out + i * size, t->dtype == DT_U32 ? (void *)&p->uint64_data[i] : (void *)&p->int32_data[i], size);
}

static void string_data(struct importer *c, struct tensor *t, const Onnx__TensorProto *p, size_t n)
{
	unsigned char *out;
	if (p->n_string_data != n)
		import_die(c, "tensor '%s' (str) has %zu elements by its shape, %zu in its data", label(p), n, p->n_string_data);
	t->nbytes = 0;
	for (size_t i = 0; i < n; i++)
		t->nbytes += 4 + p->string_data[i].len;
	t->data = out = arena_alloc(&c->m->arena, t->nbytes);
	for (size_t i = 0; i < n; i++) {
		uint32_t len = (uint32_t)p->string_data[i].len;
		memcpy(out, &len, 4);
		if (len) /* an empty string has no data */
			memcpy(out + 4, p->string_data[i].data, len);
		out += 4 + len;
	}
}

static noreturn void die_bytes(struct importer *c, const struct tensor *t, const Onnx__TensorProto *p)
{
	import_die(c, "tensor '%s' has %zu bytes by its type and shape, %llu in its data (at byte %llu)", label(p), t->nbytes,
		   (unsigned long long)p->raw_length, (unsigned long long)p->raw_offset);
}

/* Element i of a stream of elements of so many bits, the first in the low bits. */
static unsigned unpacked(const unsigned char *p, size_t i, int bits)
{
	size_t at = i * (size_t)bits;
	unsigned two = p[at / 8];

	if (at % 8 + (size_t)bits > 8)
		two |= (unsigned)p[at / 8 + 1] << 8;
	return two >> at % 8 & ((1u << bits) - 1);
}

static uint8_t in_byte(enum dtype t, unsigned x)
{
	int bits = dtype_bits(t);

	x &= (1u << bits) - 1;
	bool negative = dtype_is_int(t) && dtype_is_signed(t) && x >> (bits - 1);
	return (uint8_t)(negative ? x | ~0u << bits : x);
}

uint8_t *unpack_bytes(enum dtype t, const unsigned char *from, size_t n, struct arena *a)
{
	uint8_t *out = arena_alloc(a, n ? n : 1);

	for (size_t i = 0; i < n; i++)
		out[i] = in_byte(t, unpacked(from, i, dtype_bits(t)));
	return out;
}

uint8_t *unpack_numbers(enum dtype t, const int32_t *from, size_t n, struct arena *a)
{
	uint8_t *out = arena_alloc(a, n ? n : 1);
	size_t bits = (size_t)dtype_bits(t);

	for (size_t i = 0; i < n; i++)
		out[i] = in_byte(t, bits == 6 ? (unsigned)from[i] : (unsigned)from[i * bits / 8] >> i * bits % 8);
	return out;
}

size_t packed_numbers(enum dtype t, size_t n) { return dtype_bits(t) == 6 ? n : (n * (size_t)dtype_bits(t) + 7) / 8; }

/* n elements of fewer than 8 bits. */
static void packed_data(struct importer *c, struct tensor *t, const Onnx__TensorProto *p, size_t n)
{
	const unsigned char *from = NULL;
	uint64_t offset;

	int bits = dtype_bits(t->dtype);
	size_t numbers = packed_numbers(t->dtype, n);

	t->nbytes = (n * (size_t)bits + 7) / 8;
	if (p->data_location == 1)
		from = external_bytes(c, t, p, &offset)->p + offset;
	else if (p->has_raw_length && p->raw_length != t->nbytes)
		die_bytes(c, t, p);
	else if (p->has_raw_length)
		from = c->file.p + p->raw_offset;
	else if (p->n_int32_data != numbers)
		import_die(c, "tensor '%s' (%s) has %zu elements by its shape, in its data are %zu numbers and not %zu", label(p),
			   dtype_name(t->dtype), n, p->n_int32_data, numbers);
	t->data = from ? unpack_bytes(t->dtype, from, n, &c->m->arena) : unpack_numbers(t->dtype, p->int32_data, n, &c->m->arena);
	t->nbytes = n;
	import_keep(c, t);
}

/* Every field that holds data; at most one may. */
static int data_fields(const Onnx__TensorProto *p)
{
	return !!p->n_float_data + !!p->n_int32_data + !!p->n_string_data + !!p->n_int64_data + !!p->n_double_data + !!p->n_uint64_data +
	       (p->has_raw_length && p->raw_length) + (p->data_location == 1);
}

struct tensor *import_tensor(struct importer *c, const Onnx__TensorProto *p)
{
	struct tensor *t = ARENA_NEW(&c->m->arena, struct tensor);
	t->dtype = dtype_from_onnx(p->data_type);
	if (onnx_type_foreign(p->data_type))
		import_unsupported(c, "tensor '%s' has element type %d (%s), which is not supported", label(p), p->data_type,
				   onnx_type_foreign(p->data_type));
	if (t->dtype == DT_NONE)
		import_die(c, "tensor '%s' has no element type (%d)", label(p), p->data_type);
	size_t size = dtype_size(t->dtype), n = count(c, label(p), p->n_dims, p->dims, size);
	t->rank = (int)p->n_dims;
	t->dims = arena_copy(&c->m->arena, p->dims, p->n_dims * sizeof *p->dims);
	t->nbytes = n * size;
	if (data_fields(p) > 1)
		import_die(c, "tensor '%s' has its data in more than one field", label(p));
	if (dtype_bits(t->dtype) && dtype_bits(t->dtype) < 8) {
		packed_data(c, t, p, n);
	} else if (p->data_location == 1) {
		external_data(c, t, p);
	} else if (p->data_location == DATA_MADE && p->raw_offset < c->nmade) {
		put_off(c, t, &c->made[p->raw_offset]);
	} else if (t->dtype == DT_STR) {
		string_data(c, t, p, n);
		import_keep(c, t);
	} else if (p->has_raw_length) {
		if (p->raw_length != t->nbytes)
			die_bytes(c, t, p);
		keep_in_file(c, t, c->file.p + p->raw_offset, c->file.heap ? NULL : c->path, p->raw_offset);
	} else {
		typed_data(c, t, p, n);
		import_keep(c, t);
	}
	return t;
}

/* Where element i of a sparse tensor goes; indices are linear [n] or coordinates [n, rank]. */
static int64_t sparse_index(const int64_t *idx, size_t i, int idx_rank, size_t rank, const int64_t *dims)
{
	int64_t at = 0;
	if (idx_rank == 1)
		return idx[i];
	for (size_t d = 0; d < rank; d++) {
		int64_t x = idx[i * rank + d];
		if (x < 0 || x >= dims[d])
			return -1;
		at = at * dims[d] + x;
	}
	return at;
}

struct tensor *import_sparse(struct importer *c, const Onnx__SparseTensorProto *p)
{
	struct onnx_import_opts opts = c->opts;
	if (!p->values || !p->indices)
		import_die(c, "a sparse tensor without values or indices");
	c->opts.no_store = true;
	struct tensor *v = import_tensor(c, p->values), *idx = import_tensor(c, p->indices);
	c->opts = opts;
	const char *name = label(p->values);
	size_t size = dtype_size(v->dtype), n = count(c, name, p->n_dims, p->dims, size);
	size_t nnz = v->rank == 1 ? (size_t)v->dims[0] : 0;
	bool linear = idx->rank == 1 && (size_t)idx->dims[0] == nnz;
	bool coordinates = idx->rank == 2 && (size_t)idx->dims[0] == nnz && (size_t)idx->dims[1] == p->n_dims;
	if (!size || v->rank != 1 || idx->dtype != DT_I64 || !(linear || coordinates))
		import_die(c,
			   "sparse tensor '%s': values must be a vector of numbers, indices int64 "
			   "of shape [n] or [n, rank]",
			   name);
	if (n * size > DENSE_MAX)
		import_unsupported(c, "sparse tensor '%s' would take %zu bytes when dense", name, n * size);
	struct tensor *t = ARENA_NEW(&c->m->arena, struct tensor);
	*t = (struct tensor){.dtype = v->dtype, .rank = (int)p->n_dims, .nbytes = n * size};
	t->dims = arena_copy(&c->m->arena, p->dims, p->n_dims * sizeof *p->dims);
	unsigned char *out = arena_alloc(&c->m->arena, t->nbytes);
	const unsigned char *from = tensor_data(c->m, v);
	const int64_t *at_of = tensor_data(c->m, idx);
	for (size_t i = 0; i < nnz; i++) {
		int64_t at = sparse_index(at_of, i, idx->rank, p->n_dims, p->dims);
		if (at < 0 || (size_t)at >= n)
			import_die(c, "sparse tensor '%s': index %zu is out of range", name, i);
		memcpy(out + (size_t)at * size, from + i * size, size);
	}
	t->data = out;
	import_keep(c, t);
	return t;
}
