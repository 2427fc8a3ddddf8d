/* run-cmp: do two things give the same numbers? */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include "common/facts.h"
#include "common/json.h"
#include "common/option.h"
#include "common/shown.h"
#include "common/tool.h"
#include "op/difference.h"
#include "op/op.h"
#include "layers.h"
#include "rewritten.h"
#include "source.h"

enum {
	OPT_SEED = 0x100,
	OPT_RANGE,
	OPT_SET,
	OPT_SHAPE,
	OPT_CONST,
	OPT_FREE,
	OPT_TOL,
	OPT_RUNS,
	OPT_CHANGE,
	OPT_GIVE,
	OPT_REWRITTEN,
	OPT_LAYERS,
	OPT_TIE,
	OPT_SECONDS,
	OPT_MEMORY,
	OPT_BODIES,
	OPT_ARGMAX,
	OPT_SAVE
};
static struct input_spec spec;
static double tolerance = 1e-4, tie = 1e-3, change, seconds;
static bool rewritten, by_layers, tolerance_given, argmax;
static unsigned long runs = 1;
static const char *save; /* --save */

static const struct argp_option options[] = {
	{"input", 'i', "NAME=FILE", 0, "contents of an input: .npy, or a .npz that has several by name"},
	{"seed", OPT_SEED, "N", 0, "of the random contents of all other inputs; 0"},
	{"range", OPT_RANGE, "NAME=LO:HI", 0, "random contents of this input in [LO, HI]"},
	{"set", OPT_SET, "NAME=SIZE,...", 0, "give symbols of graphs their sizes"},
	{"shape", OPT_SHAPE, "INPUT:1x3x224x224", 0, "give an input of graphs its shape"},
	{"const", OPT_CONST, "INPUT=VALUE,...", 0, "make an input of graphs a constant, where it is one"},
	{"free", OPT_FREE, "SIZE", 0, "sizes of graphs that are open still are SIZE"},
	{"give", OPT_GIVE, "WHAT", 0, "a size (NAME=2), the shape of an input (INPUT:1x3) or its value (INPUT=2,2)"},
	{"rewritten", OPT_REWRITTEN, 0, 0,
	 "A is B rewritten: sizes not given are tried, nodes without an evaluator left out, the tolerance is that of the types, "
	 "NaN equals NaN and all zero all zero"},
	{"layers", OPT_LAYERS, 0, 0,
	 "B has the codes of its quantisers as outputs (ge-prune --codes): each layer is computed from A's codes before it, and its codes "
	 "may differ where a number lies in the middle between two"},
	{"tie", OPT_TIE, "X", 0, "--layers: the largest distance from that middle, in steps of the quantiser; 1e-3"},
	{"tol", OPT_TOL, "X", 0, "the largest max|y-r| / max|r| that counts as equal; 1e-4"},
	{"runs", OPT_RUNS, "N", 0, "run N times, with seeds that follow one another; 1"},
	{"argmax", OPT_ARGMAX, 0, 0, "say in how many rows, along the last axis, another element is the largest"},
	{"save", OPT_SAVE, "FILE.npz", 0, "--rewritten: the inputs of the first run in which something differs, else of the last"},
	{"change", OPT_CHANGE, "X", 0,
	 "fail if the reference's floating outputs change by less than X of their scale between "
	 "the first two runs"},
	{"seconds", OPT_SECONDS, "S", 0, "give up (69) after S seconds of processor time", -1},
	{"memory", OPT_MEMORY, "SIZE", 0, "bytes (K, M, G) to take at most; three quarters of what is free", -1},
	{"bodies", OPT_BODIES, "N", 0, "begin bodies of loops and calls at most N times; 10000000", -1},
	{0},
};

static error_t option(int key, char *arg)
{
	switch (key) {
	case 'i': vec_push(&spec.files, arg); return 0;
	case OPT_SEED: spec.seed = option_count("--seed", arg, 0, UINT64_MAX); return 0;
	case OPT_RANGE:
		option_name_once("--range", arg, '=');
		vec_push(&spec.ranges, arg);
		return 0;
	case OPT_SET:
		option_sizes_once("--set", arg);
		for (char *save = NULL, *p = strtok_r(arg, ",", &save); p; p = strtok_r(NULL, ",", &save))
			vec_push(&source_sizes.sets, ((struct source_const){p}));
		return 0;
	case OPT_SHAPE:
		option_name_once("--shape", arg, ':');
		vec_push(&source_sizes.shapes, arg);
		return 0;
	case OPT_CONST:
		option_name_once("--const", arg, '=');
		vec_push(&source_sizes.consts, ((struct source_const){arg}));
		return 0;
	case OPT_FREE: source_sizes.rest = (int64_t)option_count("--free", arg, 0, INT64_MAX); return 0;
	case OPT_GIVE: vec_push(&source_sizes.given, ((struct source_const){arg})); return 0;
	case OPT_REWRITTEN: rewritten = true; return 0;
	case OPT_LAYERS: by_layers = true; return 0;
	case OPT_ARGMAX: argmax = true; return 0;
	case OPT_SAVE: save = arg; return 0;
	case OPT_TIE: tie = option_number("--tie", arg, 0, 1); return 0;
	case OPT_TOL:
		tolerance = option_number("--tol", arg, 0, INFINITY);
		tolerance_given = true;
		return 0;
	case OPT_RUNS: runs = option_count("--runs", arg, 1, ULONG_MAX); return 0;
	case OPT_SECONDS: seconds = option_number("--seconds", arg, 0, INFINITY); return 0;
	case OPT_MEMORY: eval_memory_option(arg); return 0;
	case OPT_BODIES: eval_bodies_option(arg); return 0;
	case OPT_CHANGE: change = option_number("--change", arg, 0, INFINITY); return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* ---- an end to it ---- */

static char late[128];

static void end_late(int signal)
{
	ssize_t n = write(STDERR_FILENO, late, strlen(late));

	(void)n;
	_exit(EX_NOTAVAIL);
}

static void end_after(double s)
{
	struct itimerval t = {.it_value = {(time_t)s, (suseconds_t)(1e6 * (s - floor(s))) + 1}};

	if (!(s > 0 && s < 1e9))
		return;
	snprintf(late, sizeof late, "run-cmp: it takes more than %g seconds of processor time; --seconds S allows more\n", s);
	signal(SIGPROF, end_late);
	setitimer(ITIMER_PROF, &t, NULL);
}

/* True if one more run, as long as those before it, ends before --seconds are over. */
static bool has_time(unsigned long done)
{
	double used = (double)clock() / CLOCKS_PER_SEC;

	return !done || !(seconds > 0) || used + used / (double)done < seconds;
}

/* ---- one pair of tensors ---- */

struct compared {
	struct difference by;
	int64_t rows, flipped; /* --argmax: rows along the last axis, and those whose largest element is another one; 0: not looked at */
};

/* Of a type that files do not have, beside what a file has of it: the same numbers in the type of the file. */
static const struct tensor *as_written(const struct tensor *t, enum dtype file, struct arena *a)
{
	if (t->dtype == file || npy_written_as(t->dtype) != file || t->kind != KIND_TENSOR)
		return t;
	struct tensor *y = tensor_new(a, file, t->rank, t->dims);
	for (int64_t i = 0, n = tensor_count(t); i < n; i++)
		tensor_set(y, i, tensor_get(t, i));
	return y;
}

/* The first largest of the n elements from i on. */
static int64_t largest(const struct tensor *t, int64_t i, int64_t n)
{
	int64_t at = 0;

	for (int64_t k = 1; k < n; k++)
		if (tensor_get(t, i + k) > tensor_get(t, i + at))
			at = k;
	return at;
}

static void count_flipped(const struct tensor *y, const struct tensor *r, struct compared *d)
{
	int64_t n = r->rank > 0 ? r->dims[r->rank - 1] : 0, count = tensor_count(r);

	if (!argmax || n < 2)
		return;
	for (int64_t i = 0; i < count; i += n, d->rows++)
		d->flipped += largest(y, i, n) != largest(r, i, n);
}

static struct compared compare(const struct tensor *y, const struct tensor *r, struct arena *a)
{
	y = as_written(y, r->dtype, a);
	r = as_written(r, y->dtype, a);
	struct compared d = {difference_of(y, r, rewritten)};

	if (d.by.why || !(dtype_is_float(r->dtype) || dtype_is_int(r->dtype) || r->dtype == DT_BOOL))
		return d;
	if (tensor_count(r) && d.by.scale == 0 && dtype_is_float(r->dtype) && !rewritten)
		d.by.why = "the reference is all zero, which proves nothing";
	count_flipped(y, r, &d);
	return d;
}

/* ---- the report ---- */

static bool json;
static int printed;

static const char *where(const struct tensor *t, int64_t i, char *buf, size_t size)
{
	int64_t at[RANK_MAX];
	size_t n = 0;

	for (int k = t->rank - 1; k >= 0; k--) {
		at[k] = t->dims[k] ? i % t->dims[k] : 0;
		i = t->dims[k] ? i / t->dims[k] : 0;
	}
	*buf = 0;
	for (int k = 0; k < t->rank && n < size; k++)
		n += (size_t)snprintf(buf + n, size - n, "%s%lld", k ? "," : "", (long long)at[k]);
	return buf;
}

static void report(const char *name, uint64_t seed, bool run, const struct tensor *r, const struct compared *d, bool equal)
{
	char at[256];

	where(r, d->by.at, at, sizeof at);
	if (json) {
		printf("%s\n  {\"output\": ", printed++ ? "," : "[");
		json_str(stdout, name);
		if (run)
			printf(", \"seed\": %llu", (unsigned long long)seed);
		if (isfinite(d->by.error))
			printf(", \"error\": %.6g", d->by.error);
		printf(", \"at\": [%s], \"scale\": ", at);
		json_num(stdout, d->by.scale);
		if (isfinite(d->by.cosine))
			printf(", \"cosine\": %.9f", d->by.cosine);
		if (d->rows)
			printf(", \"rows\": %" PRId64 ", \"flipped\": %" PRId64, d->rows, d->flipped);
		printf(", \"equal\": %s", equal ? "true" : "false");
		if (d->by.why) {
			printf(", \"why\": ");
			json_str(stdout, d->by.why);
		}
		putchar('}');
		return;
	}
	if (!printed++)
		printf("%-24s %8s %16s %-16s %12s\n", "output", run ? "seed" : "", "max|y-r|/max|r|", "at", "cosine");
	printf("%-24s ", *name ? shown(name) : "(array)");
	if (run)
		printf("%8llu ", (unsigned long long)seed);
	else
		printf("%8s ", "");
	printf("%16.3g [%s]%*s %12.9f  %s%s%s", d->by.error, at, (int)(strlen(at) < 14 ? 14 - strlen(at) : 0), "", d->by.cosine,
	       equal ? "equal" : "DIFFERENT", d->by.why ? ": " : "", d->by.why ? d->by.why : "");
	if (d->rows)
		printf("; argmax of %" PRId64 " of %" PRId64 " rows differs", d->flipped, d->rows);
	putchar('\n');
}

/* As facts: the output; then its error, its rows and in how many of them another element is the largest. */
static void tell(const char *name, const struct compared *d)
{
	char text[3 * 24 + 2];

	if (!argmax || d->by.why)
		return;
	snprintf(text, sizeof text, "%.9g %" PRId64 " %" PRId64, d->by.error, d->rows, d->flipped);
	facts_add("output", name);
	facts_add("differs", text);
}

/* The output that is furthest off, of all runs: whoever started this program names it. */
static struct {
	const char *name; /* NULL: no output was compared */
	struct compared d;
	bool equal;
} worst;

static void keep_worst(const char *name, const struct compared *d, bool equal)
{
	bool further =
		(worst.equal && !equal) || (worst.equal == equal && !worst.d.by.why && (d->by.why || d->by.error > worst.d.by.error));

	if (worst.name && !further)
		return;
	worst.name = sym_str(intern(name));
	worst.d = *d;
	worst.equal = equal;
}

static void tell_worst(void)
{
	facts_number("tolerance", tolerance);
	if (!worst.name)
		return;
	facts_text("worst", worst.name);
	if (worst.d.by.why)
		facts_text("why", worst.d.by.why);
	else
		facts_number("off", worst.d.by.error);
}

/* ---- two sets of outputs ---- */

static const struct tensor *find(const struct outputs *o, const struct named_tensor *like, int n)
{
	for (int i = 0; i < o->n; i++)
		if (!strcmp(o->t[i].name, like->name))
			return o->t[i].t;
	return o->n == 1 && n == 1 ? o->t[0].t : NULL; /* one each: names may differ */
}

/* In the check around nodes: a node of the reference may have gone, with what it took. */
static bool gone(const char *output) { return rewritten && !strncmp(output, "operand ", 8); }

static bool compare_outputs(const struct outputs *y, const struct outputs *r, uint64_t seed, bool run)
{
	struct arena tmp = {0};
	bool equal = y->n == r->n || rewritten;

	if (!equal)
		warn("%d outputs against %d", y->n, r->n);
	for (int i = 0; i < r->n; i++) {
		const struct tensor *t = find(y, &r->t[i], r->n);
		struct compared d = {{.why = "missing on the other side", .error = INFINITY}};
		bool same;
		if (!t && gone(r->t[i].name))
			continue;
		if (t)
			d = compare(t, r->t[i].t, &tmp);
		same = !d.by.why && d.by.error <= tolerance;
		report(r->t[i].name, seed, run, r->t[i].t, &d, same);
		tell(r->t[i].name, &d);
		keep_worst(r->t[i].name, &d, same);
		equal = equal && same;
	}
	arena_release(&tmp);
	return equal;
}

/* Do the outputs of two runs differ enough to prove anything? */
static bool changed_enough(const struct outputs *a, const struct outputs *b)
{
	double most = 0;
	bool any = false;

	for (int i = 0; i < a->n; i++) {
		if (!dtype_is_float(a->t[i].t->dtype))
			continue;
		struct compared d = compare(a->t[i].t, b->t[i].t, NULL); /* of one type */
		any = true;
		if (!d.by.why && d.by.error > most)
			most = d.by.error;
	}
	if (any && most < change)
		warn("the reference's outputs change by %.2g of their scale between two inputs, "
		     "less than %.2g: equality proves little",
		     most, change);
	return !any || most >= change;
}

/* The inputs in the order of another source. */
static struct tensor **inputs_for(struct source *s, struct source *made, struct tensor **in, struct arena *a)
{
	struct graph *g = s->m ? graph(s->m, s->m->main) : NULL, *h = made ? graph(made->m, made->m->main) : NULL;
	struct tensor **out;

	if (!g || s == made)
		return in;
	out = ARENA_ARRAY(a, struct tensor *, g->in.n);
	for (size_t i = 0; i < g->in.n; i++) {
		const char *name = sym_str(val(s->m, g->in.a[i])->name);
		for (size_t k = 0; k < h->in.n; k++)
			if (!strcmp(name, sym_str(val(made->m, h->in.a[k])->name)))
				out[i] = in[k];
		if (!out[i] && g->in.n == h->in.n && !rewritten) /* inputs may have been renamed */
			out[i] = in[i];
		if (!out[i])
			die(EX_BADDATA, "%s has an input %s, %s has none", s->path, name, made->path);
	}
	return out;
}

/* What was given by name has to be in one of the two. */
static void check_names(void)
{
	for (size_t i = 0; i < source_sizes.sets.n; i++)
		if (source_sizes.sets.a[i].used)
			continue;
		else if (!source_sizes.symbols)
			note("--set %s: neither side has free symbols, nothing to set", shown(source_sizes.sets.a[i].arg));
		else
			die(EX_BADUSE, "--set %s: neither side has a free symbol of that name", shown(source_sizes.sets.a[i].arg));
	for (size_t i = 0; i < source_sizes.consts.n; i++)
		if (!source_sizes.consts.a[i].used)
			bind_no_input(source_sizes.consts.a[i].arg);
}

static void save_inputs(const struct source *r, struct tensor **in, struct arena *a)
{
	const struct graph *g = graph(r->m, r->m->main);
	struct named_tensor *list = ARENA_ARRAY(a, struct named_tensor, g->in.n + 1);

	for (size_t i = 0; i < g->in.n; i++)
		list[i] = (struct named_tensor){(char *)sym_str(val(r->m, g->in.a[i])->name), in[i]};
	npz_write(save, (int)g->in.n, list);
}

/* Seeds whose inputs the model refuses (indices that come of several inputs) are passed over. */
static bool compare_rewritten(const char *new, const char *old)
{
	enum { REFUSED = 16 }; /* at most, for each run */
	struct rewritten w = {0};
	struct source y, r;
	struct arena first = {0};
	struct tensor **in;
	struct outputs or ;
	bool equal = true;
	uint64_t from = spec.seed;

	rewritten_reference(&w, &r, old, &spec, &first, &in, & or);
	rewritten_open(&w, &y, new, &r, in);
	check_names();
	if (!tolerance_given)
		tolerance = fmax(tolerance, w.tolerance);
	if (w.cut) {
		const char *left = arena_printf(&first, "%d node%s without an evaluator: %s%s", w.cut, w.cut > 1 ? "s" : "",
						sym_str(w.around.nodes.a[0].op), w.cut > 1 ? ", ..." : "");
		facts_text("left_out", left);
		if (!facts_wanted())
			note("left out: %s", left);
	}
	unsigned long done = 0;
	for (unsigned long refused = 0; done < runs && refused < REFUSED * runs && has_time(done); spec.seed++) {
		struct arena fresh = {0};
		if (spec.seed == from || rewritten_again(&r, &spec, &fresh, &in, & or)) {
			if (save && equal) /* before it runs: it may crash */
				save_inputs(&r, in, &fresh);
			struct outputs oy = y.kind->run(&y, inputs_for(&y, &r, in, &fresh), &fresh);
			equal &= compare_outputs(&oy, & or, spec.seed, true);
			done++;
		} else {
			refused++;
		}
		arena_release(&fresh);
	}
	facts_number("runs", (double)done);
	tell_worst();
	arena_release(&first);
	return equal;
}

/* ---- layer by layer ---- */

static void report_layer(const char *name, uint64_t seed, const struct tensor *y, const struct rounding *o, bool equal)
{
	char at[256];

	where(y, o->at, at, sizeof at);
	if (json) {
		printf("%s\n  {\"output\": ", printed++ ? "," : "[");
		json_str(stdout, name);
		printf(", \"seed\": %llu, \"codes\": %lld, \"other\": %lld, \"steps\": ", (unsigned long long)seed,
		       (long long)tensor_count(y), (long long)o->other);
		json_num(stdout, o->far);
		printf(", \"at\": [%s], \"equal\": %s}", at, equal ? "true" : "false");
		return;
	}
	if (!printed++)
		printf("%-24s %8s %10s %10s %10s %s\n", "output", "seed", "codes", "other way", "steps", "at");
	printf("%-24s %8llu %10lld %10lld %10.2g [%s]  %s\n", shown(name), (unsigned long long)seed, (long long)tensor_count(y),
	       (long long)o->other, o->far, at, equal ? "equal" : "DIFFERENT");
}

/* Output i of the reference, computed from codes of y, against y's. */
static bool compare_layer(struct layers *l, const struct outputs *y, const struct outputs *r, int i, uint64_t seed, struct arena *a)
{
	const struct layer *k = layers_find(l, (size_t)i);
	const struct tensor *t = find(y, &r->t[i], (int)l->nout);
	struct compared d = {{.why = "missing on the other side", .error = INFINITY}};

	if (t)
		d = compare(t, r->t[i].t, a);
	if (d.by.why && !strcmp(d.by.why, "the reference is all zero, which proves nothing"))
		d.by.why = NULL;
	if (!k || d.by.why) {
		bool same = !d.by.why && d.by.error <= (dtype_is_float(r->t[i].t->dtype) ? tolerance : 0);
		report(r->t[i].name, seed, true, r->t[i].t, &d, same);
		return same;
	}
	struct rounding o = layers_rounding(l, k, t, r->t[i].t, r->t[k->before].t);
	report_layer(r->t[i].name, seed, t, &o, o.far <= tie);
	return o.far <= tie;
}

static bool compare_layers(const char *new, const char *old)
{
	struct source y, r;
	struct layers l;
	bool equal = true;

	source_open(&y, new);
	source_open(&r, old);
	layers_open(&l, old);
	check_names();
	for (unsigned long i = 0; i < runs; i++, spec.seed++) {
		struct arena fresh = {0};
		struct tensor **in = inputs_make(r.m, &spec, &fresh);
		struct outputs oy = y.kind->run(&y, inputs_for(&y, &r, in, &fresh), &fresh), or = layers_run(&l, in, &oy, &fresh);
		for (int k = 0; k < (int)l.nout; k++)
			equal &= compare_layer(&l, &oy, & or, k, spec.seed, &fresh);
		arena_release(&fresh);
	}
	return equal;
}

static int run(const struct tool *t, struct tool_args *a)
{
	struct source y, r, *made;
	bool equal = true;
	struct arena keep = {0};
	struct outputs before = {0};

	if (a->nfile != 2)
		tool_usage();
	end_after(seconds);
	json = a->json;
	if (save && !rewritten)
		die(EX_BADUSE, "--save goes with --rewritten");
	if (rewritten && by_layers)
		die(EX_BADUSE, "--rewritten and --layers: one of them");
	if (rewritten || by_layers) {
		equal = (rewritten ? compare_rewritten : compare_layers)(a->file[0], a->file[1]);
		if (json)
			printf("%s\n]\n", printed ? "" : "[");
		return equal ? EX_GOOD : EX_DIFFERENT;
	}
	source_open(&y, a->file[0]);
	source_open(&r, a->file[1]);
	if (source_sizes.rest_options)
		note("sizes that were not given are%s", source_sizes.rest_options);
	check_names();
	made = r.kind->graph ? &r : y.kind->graph ? &y : r.m ? &r : y.m ? &y : NULL;
	if (change > 0 && !made)
		die(EX_BADUSE, "--change: neither %s nor %s can be run", y.path, r.path);
	if (change > 0 && runs < 2)
		runs = 2;
	for (unsigned long i = 0; i < (made ? runs : 1); i++, spec.seed++) {
		struct arena fresh = {0}, *arena = change > 0 ? &keep : &fresh;
		struct tensor **in = made ? inputs_make(made->m, &spec, arena) : NULL;
		struct outputs oy = y.kind->run(&y, inputs_for(&y, made, in, arena), arena);
		struct outputs or = r.kind->run(&r, inputs_for(&r, made, in, arena), arena);
		equal &= compare_outputs(&oy, & or, spec.seed, made != NULL);
		if (change > 0 && i == 1)
			equal &= changed_enough(&before, & or);
		before = or ;
		arena_release(&fresh);
	}
	if (json)
		printf("%s\n]\n", printed ? "" : "[");
	arena_release(&keep);
	return equal ? EX_GOOD : EX_DIFFERENT;
}

const struct tool tool = {
	.name = "run-cmp",
	.summary = "Compare the numbers of two runs: arrays, graphs, ONNX files, compiled models.",
	.args_doc = "A B",
	.more = "B is the reference r, A is y. What can be run (a graph, .onnx, .so) is run, both "
		"on the same inputs. Ends with 0 if all outputs "
		"are equal, with 1 if not.",
	.flags = TOOL_JSON,
	.max_files = 2,
	.options = options,
	.option = option,
	.run = run,
};
