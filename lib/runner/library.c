#define _GNU_SOURCE
#include "runner/library.h"
#include "op/value_tensor.h"
#include "target/target.h"
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/outfile.h"
#include "common/progress.h"
#include "common/sorted.h"

char *library_weights(const char *path)
{
	size_t n = strlen(path);
	if (n > 3 && !strcmp(path + n - 3, ".so"))
		n -= 3;
	return xprintf("%.*s.weights", (int)n, path);
}

static bool lies_in(uint64_t offset, uint64_t bytes, uint64_t size) { return offset <= size && bytes <= size - offset; }

/* A library that was cut short would make the loader read pages that are not there. The tables of sections
 * and segments say how long it is; what is no library at all is left to the loader. */
static bool cut_short(const struct mapped *file)
{
	const Elf64_Ehdr *e = (const void *)file->p;

	if (file->n < sizeof *e || memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	if (!lies_in(e->e_phoff, (uint64_t)e->e_phnum * sizeof(Elf64_Phdr), file->n) || e->e_phoff % 8 ||
	    !lies_in(e->e_shoff, (uint64_t)e->e_shnum * e->e_shentsize, file->n))
		return true;
	const Elf64_Phdr *segment = (const void *)(file->p + e->e_phoff);
	for (int i = 0; i < e->e_phnum; i++)
		if (!lies_in(segment[i].p_offset, segment[i].p_filesz, file->n))
			return true;
	return false;
}

#ifndef HONE_OPTS
#define HONE_OPTS
struct hone_opts { /* as in the header of a compiled model */
	int threads;
};
#endif

/* By its name, a model that is not compiled yet. */
static bool is_model(const char *path)
{
	static const char *const ends[] = {".onnx", ".g", ".gguf", ".pb"};
	const char *end = strrchr(path, '.');

	for (size_t i = 0; end && i < sizeof ends / sizeof *ends; i++)
		if (!strcmp(end, ends[i]))
			return true;
	return false;
}

void library_open(struct library *l, const char *path, const char *weights, int threads)
{
	char *file = strchr(path, '/') ? xstrdup(path) : xprintf("./%s", path); /* dlopen searches names without / */
	char *beside = library_weights(path);
	struct mapped whole;

	*l = (struct library){.path = path};
	mapped_open(&whole, path);
	if (cut_short(&whole))
		die(EX_BADDATA, "%s:%zu: the library is cut short", path, whole.n);
	mapped_close(&whole);
	if (is_model(path))
		die(EX_BADDATA, "%s: a model; hone build makes a library of it", path);
	if (!(l->so = dlopen(file, RTLD_NOW | RTLD_LOCAL)))
		die(EX_BADDATA, "%s: cannot be loaded as a library: %s", path, dlerror());
	if (!(l->model = dlsym(l->so, "hone_model")))
		die(EX_BADDATA, "%s: not a model compiled by ge-emit (it has no table hone_model)", path);
	if (l->model->abi != HONE_MODEL_ABI)
		die(EX_NOTAVAIL, "%s: has interface version %d, this program knows %d; compile the model again", path, l->model->abi,
		    HONE_MODEL_ABI);
	if (!weights && access(beside, F_OK) == 0)
		weights = beside;
	if (!(l->handle = l->model->open(weights, &(struct hone_opts){threads}))) {
		const char *why = l->model->error();
		if (strstr(why, "CPU"))
			die(EX_NOTAVAIL, "%s: %s", path, why);
		if (strstr(why, "HONE_THREADS") || strstr(why, "HONE_TARGET"))
			die(EX_BADUSE, "%s", why);
		if (!weights)
			die(EX_NOIN, "%s: its weights are not there; --weights names them", beside);
		die(EX_BADDATA, "%s: %s", path, why);
	}
	if (l->model->verify(l->handle))
		die(EX_BADDATA, "%s: %s", path, l->model->error());
	free(file);
	free(beside);
}

void library_close(struct library *l)
{
	l->model->close(l->handle);
	dlclose(l->so);
}

enum dtype tensor_dtype(const struct hone_tensor *t) { return dtype_parse(t->type, strlen(t->type)); }

struct tensor *library_tensor(const struct hone_tensor *t, struct arena *a)
{
	struct tensor *x = ARENA_NEW(a, struct tensor);
	char *p = arena_alloc(a, t->bytes + 64);

	x->dtype = tensor_dtype(t);
	x->rank = t->rank;
	if (t->rank < 0)
		return x;
	x->dims = ARENA_ARRAY(a, int64_t, t->rank);
	for (int i = 0; i < t->rank; i++)
		x->dims[i] = t->shape[i];
	x->nbytes = t->bytes;
	x->data = p + (-(uintptr_t)p & 63);
	return x;
}

static const char *shape_text(enum dtype t, int rank, const int64_t *dims, struct arena *a)
{
	const char *s = arena_printf(a, "%s[", dtype_name(t));
	for (int i = 0; i < rank; i++)
		s = arena_printf(a, "%s%s%lld", s, i ? "," : "", (long long)dims[i]);
	return arena_printf(a, "%s]", s);
}

const char *library_check(const struct hone_tensor *t, const struct tensor *x, struct arena *a)
{
	const struct tensor *want = library_tensor(&(struct hone_tensor){t->name, t->type, t->rank, t->shape, 0}, a);
	bool same = x->dtype == want->dtype && (want->rank < 0 || x->rank == want->rank);

	for (int i = 0; same && i < want->rank; i++)
		same = want->dims[i] < 0 || x->dims[i] == want->dims[i];
	if (same)
		return NULL;
	return arena_printf(a, "%s is %s, the model takes %s", t->name, shape_text(x->dtype, x->rank, x->dims, a),
			    shape_text(want->dtype, want->rank, want->dims, a));
}

/* What is no tensor has the text of its type for a name, and any shape. */
static struct type value_type(struct module *m, const struct hone_tensor *t, const int64_t *dims)
{
	struct type type = type_make(m, tensor_dtype(t), t->rank, dims);

	if (!type.dtype)
		type.other = intern(t->type);
	return type;
}

struct module *library_module(const struct library *l)
{
	struct module *m = module_new();

	m->main = graph_new(m, intern(l->model->name));
	m->source = l->path;
	for (int i = 0; i < l->model->num_inputs; i++) {
		const struct hone_tensor *t = &l->model->inputs[i];
		int64_t dims[RANK_MAX];
		for (int k = 0; k < t->rank; k++)
			dims[k] = t->shape[k];
		struct type type = value_type(m, t, dims);
		for (int k = 0; k < t->rank && t->symbol; k++) /* an expression of symbols is a size of its own */
			if (t->symbol[k])
				type.dims[k] = poly_of(m->dims, module_symbol(m, intern(t->symbol[k])));
		val_id v = graph_add_input(m, m->main, intern(t->name), type);
		const void *preset = l->model->preset(l->handle, i);
		if (preset) {
			val(m, v)->overridable = true;
			val(m, v)->tensor = library_tensor(t, &m->arena);
			memcpy((void *)val(m, v)->tensor->data, preset, t->bytes);
		}
	}
	return m;
}

struct pointers {
	const void **in;
	void **out;
	struct hone_value *given, *made; /* of a model of varying sizes */
};

/* Numbers lie where they are. */
static struct hone_value given_value(const struct tensor *x, struct arena *a)
{
	struct hone_value v = {(int)x->dtype, x->rank, x->dims, (void *)x->data};
	int64_t *n = ARENA_NEW(a, int64_t);

	if (x->kind == KIND_TENSOR && dtype_size(x->dtype))
		return v;
	value_put(x, &v, arena_alloc(a, value_size(x) + 1));
	*n = (int64_t)x->nitem;
	v.shape = x->kind == KIND_TENSOR ? x->dims : n;
	return v;
}

static struct pointers pointers_of(struct library *l, struct tensor *const *in, struct tensor *const *out, struct arena *a)
{
	struct pointers p = {
		xcalloc((size_t)l->model->num_inputs + 1, sizeof *p.in),
		xcalloc((size_t)l->model->num_outputs + 1, sizeof *p.out),
		xcalloc((size_t)l->model->num_inputs + 1, sizeof *p.given),
		xcalloc((size_t)l->model->num_outputs + 1, sizeof *p.made),
	};
	for (int i = 0; i < l->model->num_inputs; i++) {
		p.in[i] = in[i]->data;
		p.given[i] = given_value(in[i], a);
	}
	for (int i = 0; i < l->model->num_outputs; i++)
		p.out[i] = (void *)out[i]->data;
	return p;
}

static void pointers_free(struct pointers p)
{
	free(p.in);
	free(p.out);
	free(p.given);
	free(p.made);
}

static void run_once(struct library *l, struct pointers p, double *steps)
{
	const struct hone_model *m = l->model;
	int failed;

	if (m->run_values)
		failed = m->run_values(l->handle, p.given, p.made, steps);
	else
		failed = steps ? m->run_timed(l->handle, p.in, p.out, steps) : m->run(l->handle, p.in, p.out);
	if (failed)
		die(EX_BADDATA, "%s: %s", l->path, m->error()); /* its inputs: an index, a size */
}

/* A copy of what the library keeps until its next run. */
static void take(const struct library *l, const struct hone_tensor *t, struct tensor *x, const struct hone_value *v, struct arena *a)
{
	const char *why = NULL;
	struct module *m = module_new();
	struct type type = value_type(m, &(struct hone_tensor){.type = t->type, .rank = RANK_UNKNOWN}, NULL);
	const struct tensor *got = value_tensor(v, &type, a, &why);

	if (!got)
		die(EX_BADDATA, "%s: output %s: %s", l->path, t->name, why);
	*x = *tensor_copy(a, got);
	module_free(m);
}

void library_run(struct library *l, struct tensor *const *in, struct tensor *const *out, struct arena *a)
{
	struct pointers p = pointers_of(l, in, out, a);

	run_once(l, p, NULL);
	for (int i = 0; i < l->model->num_states && l->model->run_values && l->model->value; i++)
		if (l->model->value(l->handle, l->model->states[i].output, &p.made[l->model->states[i].output]))
			die(EX_SYSTEM, "%s: %s", l->path, l->model->error());
	for (int i = 0; i < l->model->num_outputs && l->model->run_values; i++)
		take(l, &l->model->outputs[i], out[i], &p.made[i], a);
	pointers_free(p);
}

/* ---- timing ---- */

struct timing timing_of(double *t, size_t n)
{
	struct timing r = {.runs = n};

	qsort(t, n, sizeof *t, ascending);
	r.min = t[0];
	r.median = sorted_median(t, n);
	r.quarter = t[(n - 1) / 4];
	r.three_quarters = t[n - 1 - (n - 1) / 4];
	r.p90 = t[(n * 9 + 9) / 10 - 1];
	r.p99 = t[(n * 99 + 99) / 100 - 1];
	for (size_t i = 0; i < n; i++)
		r.mean += t[i] / (double)n;
	return r;
}

static double processor_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef VEC(double) step_times;

/* One more run, step by step: a row as struct bench has it. */
static void run_steps(struct library *l, struct pointers p, step_times *rows)
{
	size_t steps = (size_t)l->model->num_steps;
	double *row = xcalloc(steps + 1, sizeof *row), begun = now_seconds();

	run_once(l, p, row);
	row[steps] = now_seconds() - begun;
	for (size_t i = 0; i <= steps; i++)
		vec_push(rows, row[i]);
	free(row);
}

/* Gives b the rows, and each step the median of its times. */
static void keep_steps(struct bench *b, const struct hone_model *m, const double *rows, size_t n, struct arena *a)
{
	size_t width = (size_t)m->num_steps + 1;

	b->nrun = n / width;
	b->runs = ARENA_ARRAY(a, double, n);
	memcpy(b->runs, rows, n * sizeof *rows);
	double *one = xcalloc(b->nrun, sizeof *one);
	for (size_t i = 0; i + 1 < width; i++) {
		for (size_t k = 0; k < b->nrun; k++)
			one[k] = rows[k * width + i];
		b->step[i] = timing_of(one, b->nrun).median;
	}
	for (size_t k = 0; k < b->nrun; k++) {
		one[k] = rows[k * width + width - 1];
		for (size_t i = 0; i + 1 < width; i++)
			one[k] -= rows[k * width + i];
	}
	b->gap = timing_of(one, b->nrun).median;
	free(one);
}

/* A turn is as many runs as fill some milliseconds, then a short peak loop: a slow phase of the machine meets both. Beside another the
 * first run of a turn is not timed: it fills the caches again. */
struct bench library_bench(struct library *l, struct tensor *const *in, struct tensor *const *out, double seconds, bool steps,
			   const struct other_turns *other, struct arena *a)
{
	const double turn = other ? 0.05 : 0.01;
	struct pointers p = pointers_of(l, in, out, a);
	struct bench b = {.step = ARENA_ARRAY(a, double, l->model->num_steps)};
	VEC(double) times = {0}, processor = {0};
	step_times rows = {0};
	double start, peak, end;

	for (int i = 0; i < l->model->num_steps; i++)
		b.flops += l->model->steps[i].flops;
	for (start = now_seconds(); now_seconds() - start < 0.1 * seconds;)
		run_once(l, p, NULL);
	for (end = now_seconds() + seconds; now_seconds() < end || times.n < 3;) {
		if (other)
			run_once(l, p, NULL);
		size_t first = times.n;
		double slice = now_seconds();
		do {
			double own = processor_seconds(), t = now_seconds();
			run_once(l, p, NULL);
			vec_push(&times, now_seconds() - t);
			vec_push(&processor, processor_seconds() - own);
		} while (now_seconds() - slice < turn);
		if (steps)
			run_steps(l, p, &rows);
		if ((peak = peak_flops(l->model->vector_bytes, 0.001)) > b.peak)
			b.peak = peak;
		if (other) {
			double begun = now_seconds();
			other->take(other->arg, turn, times.a + first, times.n - first);
			end += fmin(now_seconds() - begun, turn);
		}
	}
	b.run = timing_of(times.a, times.n);
	b.run.processor = timing_of(processor.a, processor.n).median;
	if (steps)
		keep_steps(&b, l->model, rows.a, rows.n, a);
	vec_free(&rows);
	b.core = sched_getcpu();
	vec_free(&times);
	vec_free(&processor);
	pointers_free(p);
	return b;
}
