/* NumPy's files: .npy (a header that is a Python literal, then the bytes) and .npz (a zip of them). */
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include "common/map.h"
#include "common/msg.h"
#include "common/outfile.h"
#include "common/shown.h"
#include "op/npy.h"
#include "op/values.h"
#include "op/op.h"

/* A piece of a file that is being read. */
struct piece {
	const char *file;
	const unsigned char *p;
	size_t n, base; /* base: offset of p in the file, for messages */
};

static noreturn void bad(const struct piece *s, size_t at, const char *why) { die(EX_BADDATA, "%s:%zu: %s", s->file, s->base + at, why); }

static uint32_t le(const unsigned char *p, int n)
{
	uint32_t v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

/* ---- .npy ---- */

struct header {
	struct npy_type type;
	bool fortran;
	int rank;
	int64_t dims[RANK_MAX];
};

/* The text after 'key': in the header's dictionary. */
static const char *header_value(const struct piece *s, const char *text, const char *key)
{
	const char *p = strstr(text, key);

	if (!p)
		bad(s, 10, "the header has not all of descr, fortran_order and shape");
	p += strlen(key);
	while (*p == ' ' || *p == ':')
		p++;
	return p;
}

static void parse_header(const struct piece *s, const char *text, struct header *h)
{
	const char *p = header_value(s, text, "'descr'");
	char *end;

	if (*p != '\'')
		bad(s, 10, "a structured or unknown element type");
	if (!p[1] || !strchr("<>|=", p[1]) || !p[2])
		bad(s, 10, "an element type that is not understood");
	if (p[2] == 'O')
		bad(s, 10, "an array of Python's objects; numpy.asarray(x, 'U') makes one of strings");
	h->type = npy_type_parse(p + 2, strcspn(p + 2, "'"));
	h->type.swap = p[1] == '>';
	if (!h->type.kind || p[2 + strcspn(p + 2, "'")] != '\'')
		bad(s, 10, "elements are neither strings nor numbers of a type hone has");
	p = header_value(s, text, "'fortran_order'");
	h->fortran = !strncmp(p, "True", 4);
	p = header_value(s, text, "'shape'");
	if (*p++ != '(')
		bad(s, 10, "the shape is not a tuple");
	while (*p && *p != ')') {
		if (*p == ' ' || *p == ',') {
			p++;
			continue;
		}
		long long d = strtoll(p, &end, 10);
		if (end == p || d < 0 || h->rank == RANK_MAX)
			bad(s, 10, "the shape is not a tuple of sizes");
		h->dims[h->rank++] = d;
		p = end + (*end == 'L');
	}
	if (!*p)
		bad(s, 10, "the shape does not end");
}

/* Column-major to row-major. */
static void from_fortran(unsigned char *to, const unsigned char *from, const struct header *h, size_t size, int64_t count)
{
	int64_t at[RANK_MAX] = {0};

	for (int64_t i = 0; i < count; i++) {
		int64_t off = 0;
		for (int k = h->rank - 1; k >= 0; k--)
			off = off * h->dims[k] + at[k];
		memcpy(to + (size_t)i * size, from + (size_t)off * size, size);
		for (int k = h->rank - 1; k >= 0 && ++at[k] == h->dims[k]; k--)
			at[k] = 0;
	}
}

/* The header of a whole array; its data begins at *start. */
static void parse_head(const struct piece *s, struct header *h, size_t *start, size_t *want, uint64_t *count, struct arena *a)
{
	size_t head;

	*count = 1;
	if (s->n < 10 || memcmp(s->p, "\x93NUMPY", 6))
		bad(s, 0, "not a NumPy array");
	if (s->p[6] < 1 || s->p[6] > 3)
		bad(s, 6, "a format version other than 1, 2 and 3");
	*start = s->p[6] == 1 ? 10 : 12;
	if (s->n < *start || (head = le(s->p + 8, s->p[6] == 1 ? 2 : 4)) > s->n - *start)
		bad(s, s->n, "the file ends inside its header");
	parse_header(s, arena_printf(a, "%.*s", (int)head, (const char *)s->p + *start), h);
	*start += head;
	for (int i = 0; i < h->rank; i++)
		if (__builtin_mul_overflow(*count, (uint64_t)h->dims[i], count))
			bad(s, 10, "the shape is too large");
	*want = h->type.size;
	if (__builtin_mul_overflow(*want, *count, want) || *want > s->n - *start)
		die(EX_BADDATA, "%s:%zu: the file ends inside its data; %zu bytes of %zu are there", s->file, s->base + s->n, s->n - *start,
		    *want);
	if (*want < s->n - *start)
		bad(s, *start + *want, "bytes after the end of the data");
}

static struct tensor *parse_npy(const struct piece *s, struct arena *a)
{
	struct header h = {0};
	size_t start, want;
	uint64_t count;

	parse_head(s, &h, &start, &want, &count, a);
	const unsigned char *data = s->p + start;
	const char *why = NULL;
	if (h.fortran && h.rank > 1) {
		data = arena_alloc(a, want);
		from_fortran((unsigned char *)data, s->p + start, &h, h.type.size, (int64_t)count);
	}
	struct tensor *t = npy_decode(h.type, h.rank, h.dims, data, a, &why);
	if (!t)
		bad(s, start, why);
	return t;
}

/* ---- row by row ---- */

struct npy_rows *npy_rows_open(const char *path)
{
	struct npy_rows *r = xcalloc(1, sizeof *r);
	struct arena a = {0};
	struct header h = {0};
	size_t want;
	uint64_t count;

	mapped_open(&r->file, path);
	parse_head(&(struct piece){path, r->file.p, r->file.n, 0}, &h, &r->start, &want, &count, &a);
	arena_release(&a);
	r->dtype = npy_dtype(h.type);
	r->rank = h.rank;
	r->type = h.type;
	if (r->dtype == DT_STR)
		die(EX_BADDATA, "%s: an array of strings", path);
	memcpy(r->dims, h.dims, sizeof r->dims);
	if (h.fortran && h.rank > 1) {
		r->whole = npy_read(path, &r->arena);
		mapped_close(&r->file);
	}
	return r;
}

struct tensor *npy_rows_read(struct npy_rows *r, int64_t from, int64_t n, struct arena *a)
{
	int64_t dims[RANK_MAX];
	const char *why = NULL;
	size_t row = dtype_size(r->dtype);

	for (int i = 1; i < r->rank; i++)
		row *= (size_t)r->dims[i];
	memcpy(dims, r->dims, sizeof dims);
	dims[0] = n;
	const unsigned char *all = r->whole ? r->whole->data : r->file.p + r->start;
	struct npy_type type = r->type;
	type.swap = type.swap && !r->whole;
	struct tensor *t = npy_decode(type, r->rank, dims, all + row * (size_t)from, a, &why);
	if (!r->whole)
		mapped_forget(&r->file, r->start + row * (size_t)(from + n));
	return t;
}

void npy_rows_close(struct npy_rows *r)
{
	if (!r->whole)
		mapped_close(&r->file);
	arena_release(&r->arena);
	free(r);
}

struct tensor *npy_read(const char *path, struct arena *a)
{
	struct mapped m;
	struct tensor *t;

	mapped_open(&m, path);
	t = parse_npy(&(struct piece){path, m.p, m.n, 0}, a);
	mapped_close(&m);
	return t;
}

static struct npy_type file_type(const struct tensor *t)
{
	const char *why;
	struct npy_type as = npy_type_of(t, &why);

	if (!as.kind)
		die(EX_NOTAVAIL, "%s", why ? why : arena_printf(&(struct arena){0}, "NumPy's files hold no %s", dtype_name(t->dtype)));
	return as;
}

/* Header and data of t. */
static void npy_image(const struct tensor *t, unsigned char **image, size_t *n)
{
	char head[128 + 24 * RANK_MAX], *p = head;
	struct npy_type as = file_type(t);
	size_t pad, data = (size_t)tensor_count(t) * as.size;

	p += sprintf(p, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (", as.size == 1 || as.kind == 'S' ? '|' : '<', as.kind,
		     as.kind == 'U' ? as.size / 4 : as.size);
	for (int i = 0; i < t->rank; i++)
		p += sprintf(p, "%lld%s", (long long)t->dims[i], t->rank == 1 ? "," : i + 1 < t->rank ? ", " : "");
	p += sprintf(p, "), }");
	pad = 64 - (10 + (size_t)(p - head) + 1) % 64;
	*n = 10 + (size_t)(p - head) + pad % 64 + 1 + data;
	unsigned char *o = *image = xmalloc(*n);
	size_t text = *n - data - 10;
	memcpy(o, "\x93NUMPY\1\0", 8);
	o[8] = (unsigned char)text;
	o[9] = (unsigned char)(text >> 8);
	memset(o + 10, ' ', text);
	memcpy(o + 10, head, (size_t)(p - head));
	o[10 + text - 1] = '\n';
	npy_encode(t, as, o + 10 + text);
}

void npy_write(const char *path, const struct tensor *t)
{
	struct outfile o;
	unsigned char *image;
	size_t n;

	npy_image(t, &image, &n);
	outfile_open(&o, path, true);
	fwrite(image, 1, n, o.f);
	outfile_close(&o);
	free(image);
}

/* ---- .npz ---- */

static void inflate_raw(const struct piece *s, size_t at, const unsigned char *p, size_t n, unsigned char *out, size_t size)
{
	z_stream z = {.next_in = (unsigned char *)p, .next_out = out};
	int rc = Z_OK;

	if (inflateInit2(&z, -15) != Z_OK)
		die(EX_SYSTEM, "zlib does not start");
	while (rc == Z_OK) { /* its counters have 32 bits */
		size_t in_left = n - (size_t)(z.next_in - p), out_left = size - (size_t)(z.next_out - out);
		z.avail_in = in_left > 1 << 30 ? 1 << 30 : (uInt)in_left;
		z.avail_out = out_left > 1 << 30 ? 1 << 30 : (uInt)out_left;
		rc = inflate(&z, Z_NO_FLUSH);
		if (rc == Z_OK && z.avail_out == 0 && (size_t)(z.next_out - out) == size && z.avail_in == 0)
			break;
	}
	size_t made = (size_t)(z.next_out - out);
	inflateEnd(&z);
	if (rc != Z_STREAM_END || made != size)
		bad(s, at, "a compressed member is damaged");
}

struct member {
	const unsigned char *name;
	size_t nname, packed, size, local, at;
	uint32_t method, crc;
};

/* Sizes of 4 GiB and more stand in an extra field. */
static void zip64_sizes(const unsigned char *extra, size_t n, struct member *e)
{
	for (size_t i = 0; i + 4 <= n; i += 4 + le(extra + i + 2, 2)) {
		if (le(extra + i, 2) != 1)
			continue;
		size_t len = le(extra + i + 2, 2), k = 4;
		size_t *field[] = {&e->size, &e->packed, &e->local};
		for (int f = 0; f < 3; f++)
			if (*field[f] == 0xffffffff && k + 8 <= 4 + len && i + k + 8 <= n) {
				*field[f] = le(extra + i + k, 4) | (size_t)le(extra + i + k + 4, 4) << 32;
				k += 8;
			}
		return;
	}
}

static struct tensor *read_member(const struct piece *s, const struct member *e, struct arena *a)
{
	const unsigned char *p = s->p + e->local, *data;
	struct piece inner = {s->file, NULL, e->size, 0};
	unsigned char *mem = NULL;

	if (e->local > s->n || s->n - e->local < 30 || memcmp(p, "PK\3\4", 4))
		bad(s, e->at, "a member is not where the directory says");
	size_t skip = 30 + le(p + 26, 2) + le(p + 28, 2);
	if (skip > s->n - e->local || e->packed > s->n - e->local - skip)
		bad(s, s->n, "the file ends inside a member");
	data = p + skip;
	inner.base = e->local + skip;
	if (e->method == 8) {
		if (e->size / 1032 > e->packed + 1) /* deflate cannot do better */
			bad(s, e->at, "a member claims an impossible size");
		inner.p = mem = xmalloc(e->size);
		inflate_raw(s, e->local, data, e->packed, mem, e->size);
	} else if (e->method == 0 && e->packed == e->size) {
		inner.p = data;
	} else {
		bad(s, e->at, "a member is neither stored nor deflated");
	}
	if (crc32_z(0, inner.p, inner.n) != e->crc)
		bad(s, e->local, "a member does not have its checksum");
	struct tensor *t = parse_npy(&inner, a);
	free(mem);
	return t;
}

static int parse_npz(const struct piece *s, struct arena *a, struct named_tensor **out)
{
	size_t end = s->n, dir, n;
	struct member e;
	struct map seen = {0};

	for (end = s->n < 22 ? 0 : s->n - 22 + 1; end > 0; end--)
		if (!memcmp(s->p + end - 1, "PK\5\6", 4))
			break;
	if (!end)
		bad(s, 0, "not a zip archive of NumPy arrays, or cut");
	n = le(s->p + end - 1 + 10, 2);
	dir = le(s->p + end - 1 + 16, 4);
	*out = ARENA_ARRAY(a, struct named_tensor, n);
	for (size_t i = 0; i < n; i++) {
		const unsigned char *p = s->p + dir;
		if (dir > s->n || s->n - dir < 46 || memcmp(p, "PK\1\2", 4))
			bad(s, dir, "the directory is damaged");
		size_t nname = le(p + 28, 2), nextra = le(p + 30, 2), ncomment = le(p + 32, 2);
		if (nname + nextra + ncomment > s->n - dir - 46)
			bad(s, dir, "the directory is damaged");
		e = (struct member){p + 46, nname, le(p + 20, 4), le(p + 24, 4), le(p + 42, 4), dir, le(p + 10, 2), le(p + 16, 4)};
		zip64_sizes(p + 46 + nname, nextra, &e);
		size_t keep = nname > 4 && !memcmp(e.name + nname - 4, ".npy", 4) ? nname - 4 : nname;
		(*out)[i].name = arena_printf(a, "%.*s", (int)keep, (const char *)e.name);
		if (map_get(&seen, 1 + intern((*out)[i].name)))
			bad(s, dir, arena_printf(a, "member %s is there twice", (*out)[i].name));
		map_set(&seen, 1 + intern((*out)[i].name), 1);
		(*out)[i].t = read_member(s, &e, a);
		dir += 46 + nname + nextra + ncomment;
	}
	map_free(&seen);
	return (int)n;
}

int npz_read(const char *path, struct arena *a, struct named_tensor **out)
{
	struct mapped m;
	int n;

	mapped_open(&m, path);
	n = parse_npz(&(struct piece){path, m.p, m.n, 0}, a, out);
	mapped_close(&m);
	return n;
}

static void put(unsigned char *p, int n, size_t v)
{
	for (; n--; v >>= 8)
		*p++ = (unsigned char)v;
}

/* The general flags of a member: readers take a name for one of an old code page where they do not say UTF-8. */
static unsigned name_flags(const char *s)
{
	enum { NAME_IS_UTF8 = 1 << 11 };
	unsigned flags = 0;

	for (int k; *s; s += k) {
		if (!(k = utf8_length(s, strlen(s))))
			return 0;
		flags |= k > 1 ? NAME_IS_UTF8 : 0;
	}
	return flags;
}

/* The fields that local header and directory share, from "version needed" on: 26 bytes. */
static void put_member(unsigned char *p, uint32_t crc, size_t size, const char *name)
{
	memset(p, 0, 26);
	put(p, 2, 20);
	put(p + 2, 2, name_flags(name));
	put(p + 8, 2, 0x21); /* the first day of 1980: the same bytes every time */
	put(p + 10, 4, crc);
	put(p + 14, 4, size);
	put(p + 18, 4, size);
	put(p + 22, 2, strlen(name) + 4);
}

/* The format counts members in 16 bits and says in 32 where they and their directory are. (Its extension for more is only
 * read.) */
static void check_room(const char *path, int n, const struct named_tensor *t)
{
	enum { HEADS = 30 + 46 + 10 + 64 + 128 + 24 * RANK_MAX }; /* what is around an array, its name aside, at most */
	uint64_t total = 22;

	for (int i = 0; i < n; i++) {
		size_t nname = strlen(t[i].name) + 4;
		if (nname > 0xffff)
			die(EX_NOTAVAIL, "%s: an output's name has %zu bytes, too many for this kind of file", path, nname - 4);
		total += HEADS + 2 * nname + (uint64_t)tensor_count(t[i].t) * file_type(t[i].t).size;
	}
	if (total > UINT32_MAX || n >= 0xffff)
		die(EX_NOTAVAIL, "%s: %d arrays of together %llu bytes: no more than 4 GiB and 65534 arrays go into this kind of file",
		    path, n, (unsigned long long)total);
}

static void write_arrays(const char *path, int n, const struct named_tensor *t)
{
	struct outfile o;
	struct {
		uint32_t crc;
		size_t size, at;
	} *m = xcalloc((size_t)n + 1, sizeof *m);
	size_t at = 0, dir;
	unsigned char h[46];

	check_room(path, n, t);
	outfile_open(&o, path, true);
	for (int i = 0; i < n; i++) {
		unsigned char *image;
		size_t nname = strlen(t[i].name) + 4;
		npy_image(t[i].t, &image, &m[i].size);
		m[i].crc = (uint32_t)crc32_z(0, image, m[i].size);
		m[i].at = at;
		memcpy(h, "PK\3\4", 4);
		put_member(h + 4, m[i].crc, m[i].size, t[i].name);
		fwrite(h, 1, 30, o.f);
		fprintf(o.f, "%s.npy", t[i].name);
		fwrite(image, 1, m[i].size, o.f);
		at += 30 + nname + m[i].size;
		free(image);
	}
	dir = at;
	for (int i = 0; i < n; i++) {
		size_t nname = strlen(t[i].name) + 4;
		memset(h, 0, sizeof h);
		memcpy(h, "PK\1\2\24", 5);
		put_member(h + 6, m[i].crc, m[i].size, t[i].name);
		put(h + 42, 4, m[i].at);
		fwrite(h, 1, 46, o.f);
		fprintf(o.f, "%s.npy", t[i].name);
		at += 46 + nname;
	}
	memset(h, 0, sizeof h);
	memcpy(h, "PK\5\6", 4);
	put(h + 8, 2, (size_t)n);
	put(h + 10, 2, (size_t)n);
	put(h + 12, 4, at - dir);
	put(h + 16, 4, dir);
	fwrite(h, 1, 22, o.f);
	outfile_close(&o);
	free(m);
}

void npz_write(const char *path, int n, const struct named_tensor *v)
{
	struct arena a = {0};
	struct named_tensor *t;

	n = values_flatten(v, n, &t, &a);
	write_arrays(path, n, t);
	arena_release(&a);
}
