/* Samples from files, one after the other. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "common/filename.h"
#include "common/msg.h"
#include "common/outfile.h"
#include "op/npy.h"
#include "op/op.h"
#include "quant/samples.h"

struct input {
	const char *name;
	enum dtype dtype;
	int rank;
	int64_t dims[RANK_MAX]; /* -1: not known */
	struct tensor *preset;  /* its default */
};

struct samples {
	struct sample_options options;
	size_t n;
	struct input *in;
	VEC(char *) paths;
	size_t next; /* of paths */
	uint64_t seen, taken;
	struct arena arena, file; /* file: what the open file needs */
	/* The open file: rows of an .npy, arrays of an .npz, or bytes. */
	const char *path;
	struct npy_rows *rows;
	struct tensor **arrays; /* by input */
	struct mapped raw;
	int64_t at, count; /* samples of it */
};

/* ---- the inputs ---- */

static void know_inputs(struct samples *s, struct module *m)
{
	const struct graph *g = graph(m, m->main);

	s->n = g->in.n;
	s->in = ARENA_ARRAY(&s->arena, struct input, s->n + 1);
	for (size_t i = 0; i < s->n; i++) {
		const struct value *v = val(m, g->in.a[i]);
		struct input *x = &s->in[i];
		*x = (struct input){sym_str(v->name), v->type.dtype, v->type.rank, {0}, v->tensor};
		for (int k = 0; k < x->rank; k++)
			if (!poly_is_const(m->dims, v->type.dims[k], &x->dims[k]))
				x->dims[k] = -1;
		if (x->preset)
			tensor_data(m, x->preset);
	}
}

/* The extent of one sample along the first axis. */
static int64_t unit(const struct input *x) { return x->dims[0] < 0 ? 1 : x->dims[0]; }

static const char *shape_text(struct arena *a, int rank, const int64_t *dims)
{
	char *s = arena_str(a, rank > 0 ? "" : "scalar");

	for (int k = 0; k < rank; k++)
		s = dims[k] < 0 ? arena_printf(a, "%s%s?", s, k ? "x" : "")
				: arena_printf(a, "%s%s%lld", s, k ? "x" : "", (long long)dims[k]);
	return s;
}

/* The shape of an array of N samples; of a file that is one, the input's. */
static const char *samples_text(struct samples *s, const struct input *x)
{
	if (s->options.whole || x->rank < 1)
		return shape_text(&s->file, x->rank, x->dims);
	const char *rows = unit(x) == 1 ? "N" : arena_printf(&s->file, "(N*%lld)", (long long)unit(x));
	return x->rank == 1 ? rows : arena_printf(&s->file, "%sx%s", rows, shape_text(&s->file, x->rank - 1, x->dims + 1));
}

static bool convertible(enum dtype from, enum dtype to)
{
	return from == to || (dtype_is_float(from) && dtype_is_float(to)) || (dtype_is_int(from) && dtype_is_int(to));
}

/* The file gives the size of the elements alone, as that of t: the input's type is to be one of those that such files hold. */
static void check_unnamed(struct samples *s, const struct input *x, enum dtype t)
{
	if (npy_written_as(x->dtype) == x->dtype || dtype_size(x->dtype) != dtype_size(t))
		die(EX_BADDATA, "%s: holds elements of %zu bytes whose type it does not say, input %s is %s", s->path, dtype_size(t),
		    x->name, dtype_name(x->dtype));
}

/* How many samples an array of this type and shape is. */
static int64_t samples_in(struct samples *s, const struct input *x, enum dtype t, bool unnamed, int rank, const int64_t *dims)
{
	if (unnamed)
		check_unnamed(s, x, t);
	bool good = (unnamed || convertible(t, x->dtype)) && (rank == x->rank || x->rank == RANK_UNKNOWN);

	for (int k = s->options.whole ? 0 : 1; good && k < x->rank; k++)
		good = x->dims[k] < 0 || x->dims[k] == dims[k];
	if (good && x->rank > 0 && !s->options.whole)
		good = unit(x) > 0 && dims[0] % unit(x) == 0;
	if (!good)
		die(EX_BADDATA, "%s: holds %s %s, %s of input %s %s %s %s", s->path, dtype_name(t), shape_text(&s->file, rank, dims),
		    s->options.whole ? "a sample" : "N samples", x->name, s->options.whole ? "is" : "are", dtype_name(x->dtype),
		    samples_text(s, x));
	return x->rank > 0 && !s->options.whole ? dims[0] / unit(x) : 1;
}

/* ---- files ---- */

static struct input *find_input(struct samples *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->in[i].name, name))
			return &s->in[i];
	return NULL;
}

static struct input *only_input(struct samples *s)
{
	struct input *only = NULL;
	int without = 0;

	for (size_t i = 0; i < s->n; i++)
		if (!s->in[i].preset) {
			only = &s->in[i];
			without++;
		}
	if (without != 1)
		die(EX_BADDATA, "%s: one array, the model has %d inputs; a .npz holds several by name", s->path, without);
	return only;
}

static void open_npz(struct samples *s)
{
	struct named_tensor *t;
	int n = npz_read(s->path, &s->file, &t);
	bool any = false;

	s->arrays = ARENA_ARRAY(&s->file, struct tensor *, s->n + 1);
	for (int k = 0; k < n; k++) {
		struct input *x = find_input(s, t[k].name);
		if (!x)
			die(EX_BADDATA, "%s: the model has no input %s", s->path, t[k].name);
		s->arrays[x - s->in] = t[k].t;
		int64_t count = samples_in(s, x, t[k].t->dtype, t[k].t->kind == KIND_OTHER, t[k].t->rank, t[k].t->dims);
		if (x->rank == 0)
			continue;
		if (any && count != s->count)
			die(EX_BADDATA, "%s: %lld samples of input %s, of others %lld", s->path, (long long)count, x->name,
			    (long long)s->count);
		s->count = count;
		any = true;
	}
	s->count = any ? s->count : 1;
	for (size_t i = 0; i < s->n; i++)
		if (!s->arrays[i] && !s->in[i].preset)
			die(EX_BADDATA, "%s: holds nothing for input %s", s->path, s->in[i].name);
}

static void open_raw(struct samples *s)
{
	const struct input *x = only_input(s);
	int64_t n = 1;

	if (!s->options.raw)
		die(EX_BADDATA, "%s: neither .npy nor .npz; --range LO:HI takes it for bytes", s->path);
	for (int k = 0; k < x->rank; k++)
		if ((k && x->dims[k] < 0) || __builtin_mul_overflow(n, k ? x->dims[k] : unit(x), &n))
			die(EX_BADUSE, "%s: the shape of input %s is not known; --shape gives it", s->path, x->name);
	mapped_open(&s->raw, s->path);
	if (x->rank < 1 || !dtype_is_float(x->dtype) || n < 1 || s->raw.n % (size_t)n)
		die(EX_BADDATA, "%s: %zu bytes, samples of input %s are %lld", s->path, s->raw.n, x->name, (long long)n);
	s->count = (int64_t)(s->raw.n / (size_t)n);
}

static void open_next(struct samples *s)
{
	s->path = s->paths.a[s->next++];
	s->at = s->count = 0;
	if (filename_ends(s->path, ".npy")) {
		s->rows = npy_rows_open(s->path);
		s->count = samples_in(s, only_input(s), s->rows->dtype, s->rows->type.kind == 'V', s->rows->rank, s->rows->dims);
		if (s->rows->rank < 1)
			die(EX_BADDATA, "%s: a number, no array", s->path);
	} else if (filename_ends(s->path, ".npz")) {
		open_npz(s);
	} else {
		open_raw(s);
	}
}

static void close_file(struct samples *s)
{
	if (s->rows)
		npy_rows_close(s->rows);
	if (s->raw.p)
		mapped_close(&s->raw);
	arena_release(&s->file);
	s->file = (struct arena){0};
	s->rows = NULL;
	s->arrays = NULL;
	s->path = NULL;
}

/* ---- one sample ---- */

static struct tensor *as(const struct input *x, struct tensor *t, struct arena *a)
{
	const char *why;

	if (t->kind == KIND_OTHER)
		return npy_take(t, x->dtype, a, &why); /* check_unnamed has seen to its type */
	if (t->dtype == x->dtype)
		return t;
	struct tensor *y = tensor_new(a, x->dtype, t->rank, t->dims);
	for (int64_t i = 0, n = tensor_count(t); i < n; i++)
		tensor_set(y, i, tensor_get(t, i));
	return y;
}

/* Rows of t, without copying. */
static struct tensor *rows_of(struct samples *s, const struct input *x, struct tensor *t, struct arena *a)
{
	if (x->rank < 1 || s->options.whole)
		return t;
	struct tensor *r = arena_copy(a, t, sizeof *t);
	r->dims = arena_copy(a, t->dims, sizeof *t->dims * (size_t)t->rank);
	r->dims[0] = unit(x);
	r->nbytes = t->nbytes / (size_t)s->count;
	r->data = arena_copy(a, (const char *)t->data + r->nbytes * (size_t)s->at, r->nbytes); /* aligned */
	return r;
}

static struct tensor *from_bytes(struct samples *s, const struct input *x, struct arena *a)
{
	int64_t dims[RANK_MAX];

	memcpy(dims, x->dims, sizeof dims);
	dims[0] = unit(x);
	struct tensor *t = tensor_new(a, x->dtype, x->rank, dims);
	int64_t n = tensor_count(t);
	const unsigned char *p = s->raw.p + n * s->at;
	for (int64_t i = 0; i < n; i++)
		tensor_set(t, i, s->options.lo + p[i] * (s->options.hi - s->options.lo) / 255);
	mapped_forget(&s->raw, (size_t)(n * (s->at + 1)));
	return t;
}

static void take_sample(struct samples *s, struct tensor **in, struct arena *a)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct input *x = &s->in[i];
		struct tensor *t = s->arrays ? s->arrays[i] : NULL;
		if (t)
			in[i] = as(x, rows_of(s, x, t, a), a);
		else if (x->preset)
			in[i] = x->preset;
		else if (s->rows)
			in[i] = as(x,
				   npy_rows_read(s->rows, s->options.whole ? 0 : s->at * unit(x),
						 s->options.whole ? s->rows->dims[0] : unit(x), a),
				   a);
		else
			in[i] = from_bytes(s, x, a);
	}
}

bool samples_next(struct samples *s, struct tensor **in, struct arena *a)
{
	for (;;) {
		if (s->path && s->at == s->count)
			close_file(s);
		if (!s->path && s->next == s->paths.n)
			return false;
		if (!s->path) {
			open_next(s);
			continue;
		}
		bool ours = !s->options.of_shards || s->seen % s->options.of_shards == s->options.shard;
		if (ours) {
			take_sample(s, in, a);
			s->taken++;
		}
		s->seen++;
		s->at++;
		if (ours)
			return true;
	}
}

/* ---- opening ---- */

static int by_name(const void *x, const void *y) { return strcmp(*(char *const *)x, *(char *const *)y); }

static void add_path(struct samples *s, const char *path)
{
	struct stat st;
	struct dirent *e;
	size_t first = s->paths.n;

	if (stat(path, &st))
		die_errno(EX_NOIN, "%s", path);
	if (!S_ISDIR(st.st_mode)) {
		vec_push(&s->paths, arena_str(&s->arena, path));
		return;
	}
	DIR *d = opendir(path);
	if (!d)
		die_errno(EX_NOIN, "%s", path);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			vec_push(&s->paths, arena_printf(&s->arena, "%s/%s", path, e->d_name));
	closedir(d);
	if (s->paths.n > first)
		qsort(s->paths.a + first, s->paths.n - first, sizeof *s->paths.a, by_name);
}

void samples_take_range(struct sample_options *o, const char *arg)
{
	char *end;

	o->raw = true;
	o->lo = strtod(arg, &end);
	if (end == arg || *end != ':')
		die(EX_BADUSE, "--range %s: write LO:HI", arg);
	const char *hi = end + 1;
	o->hi = strtod(hi, &end);
	if (end == hi || *end || !isfinite(o->lo) || !isfinite(o->hi))
		die(EX_BADUSE, "--range %s: write LO:HI", arg);
}

struct samples *samples_open(struct module *m, int n, char *const *paths, const struct sample_options *o)
{
	struct samples *s = xcalloc(1, sizeof *s);

	s->options = *o;
	know_inputs(s, m);
	for (int i = 0; i < n; i++)
		add_path(s, paths[i]);
	return s;
}

uint64_t samples_total(const struct samples *s) { return s->taken; }

void samples_close(struct samples *s)
{
	if (s->path)
		close_file(s);
	vec_free(&s->paths);
	arena_release(&s->arena);
	free(s);
}
