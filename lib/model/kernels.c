/* Kernels: each group lowered and scheduled; groups with equal stages and traces share one. */
#include <string.h>
#include "model/model_impl.h"
#include "common/msg.h"
#include "emit/emit.h"
#include "graph/fused.h"
#include "graph/pass.h"
#include "lower/image.h"
#include "lower/lower.h"
#include "lower/sized.h"
#include "loop/interp.h"
#include "loop/prim.h"
#include "op/native.h"
#include "sched/schedule.h"

static struct sized lower_call(struct model *M, node_id n, const struct target *t, struct sized_for sizes, const char *algo,
			       const char **why)
{
	int64_t images = strip_images(M->m, n);

	if (node_varies(M->m, node(M->m, n)))
		return lower_sized(M->m, n, t, sizes, algo, why);
	return (struct sized){.low = images > 1 ? image_lower(M->m, n, images, t, algo, why, M->lower) : M->lower(M->m, n, t, algo, why)};
}

/* How many threads run the kernel of a group; few: it has fewer than the library, because the graph says so. */
static void set_threads(struct model *M, node_id n, struct loop_prog *p)
{
	int most = fused_threads(M->m, n);

	p->few = most && most < M->threads;
	p->threads = p->few ? most : M->threads;
}

/* Lowers a group that has been lowered before: it can be. */
static struct sized lower_again(struct model *M, node_id n, const struct target *t, struct sized_for sizes, const char *algo)
{
	const char *why;
	struct sized s = lower_call(M, n, t, sizes, algo, &why);

	if (why)
		BUG("%s", why);
	set_threads(M, n, s.low.prog);
	return s;
}

/* Legalizes and verifies the scheduled program. NULL, or why not. */
static const char *complete(struct loop_prog *p)
{
	const char *why = loop_legalize(p);
	return why ? why : loop_verify(p);
}

/* Schedules s, the program of k, by k's trace, and legalizes; NULL, or why not. A trace that says nothing of threads gets the lines that
 * do. */
static const char *schedule(struct kernel *k, struct sized *s, struct arena *a)
{
	if (s->usual)
		return sized_schedule(s, k->trace, NULL, NULL);
	const char *why = loop_apply(k->prog, k->trace, false), *more;
	if (!why && *(more = schedule_threads(k->prog))) {
		size_t n = strlen(k->trace);
		k->trace = arena_printf(a, "%s%s%s", k->trace, n && k->trace[n - 1] != '\n' ? "\n" : "", more);
	}
	return why ? why : complete(k->prog);
}

/* By the default schedule, as its trace would leave the program. want: samples that are decided; may be NULL. */
static const char *schedule_default(struct kernel *k, struct sized *s, const struct samples *want, struct arena *a)
{
	const char *why = NULL, *trace;

	if (s->usual)
		why = sized_schedule(s, NULL, want, &trace);
	else
		trace = schedule_with(k->prog, want, NULL);
	k->trace = arena_str(a, trace);
	return s->usual ? why : complete(k->prog);
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

static uint32_t kernel_find(struct model *M, const struct kernel *k)
{
	for (uint32_t i = 0; i < M->kernels.n; i++) {
		const struct kernel *x = &M->kernels.a[i];
		if (digest_eq(x->digest, k->digest) && same_text(x->given, k->given) && x->threads == k->threads)
			return i;
	}
	return UINT32_MAX;
}

static noreturn void die_trace(struct module *m, node_id n, const char *why)
{
	die(EX_BADDATA, "%s: %s: its trace: %s", m->source ? m->source : "-", node_where(m, n, &m->arena), why);
}

/* s, and k's program, which is s's, as they were before any primitive. */
static void unschedule(struct model *M, node_id n, const struct target *t, struct kernel *k, struct sized *s)
{
	struct sized fresh = lower_again(M, n, t, k->sizes, k->prog->algo);

	sized_free(s);
	*s = fresh;
	k->prog = s->low.prog;
}

/* A sample at its plainest: the least number, or the last word, but for the one that was taken. */
static struct sample plainest(struct sample x)
{
	x.decision = x.choice[0];
	for (int i = 1; i < x.n; i++)
		if (x.word || x.choice[i] < x.decision)
			x.decision = x.choice[i];
	if (x.word && x.decision == x.usual)
		x.decision = x.choice[0];
	return x;
}

/* Schedules that are plainer than the default one, of which k's trace does not apply: with one sample at its plainest, the last first,
 * then with all. False: none of these applies, either; k's program is unscheduled. */
static bool schedule_plainer(struct model *M, node_id n, const struct target *t, struct kernel *k, struct sized *s)
{
	enum { TRIES_MAX = 12 };
	struct arena *a = &M->m->arena;
	struct samples met = {0}, x = {0};
	const char *why = "", *failed = k->trace;

	trace_samples(failed, a, &met);
	unschedule(M, n, t, k, s);
	for (size_t i = met.n, tries = 0; why && met.n && tries < TRIES_MAX; i--, tries++) {
		x.n = 0;
		for (size_t j = i ? i - 1 : 0; j < (i ? i : met.n); j++)
			vec_push(&x, plainest(met.a[j]));
		why = schedule_default(k, s, &x, a);
		if (why || !strcmp(k->trace, failed))
			unschedule(M, n, t, k, s);
		else
			k->plain = i ? arena_printf(a, "with another %s", met.a[i - 1].name) : "with the plainest choices";
		why = why ? why : k->plain ? NULL : failed;
		if (!i)
			break;
	}
	vec_free(&x);
	vec_free(&met);
	return !why;
}

/* Schedules k's program, which is s's. NULL, or why not even its unscheduled stages can be verified: then there is no kernel. */
static const char *kernel_make(struct model *M, node_id n, const struct target *t, const char *trace, struct kernel *k, struct sized *s)
{
	struct module *m = M->m;
	const char *why;
	if (k->given || trace) {
		k->trace = k->given ? k->given : trace;
		why = schedule(k, s, &m->arena);
	} else {
		why = schedule_default(k, s, NULL, &m->arena);
	}
	if (why && k->given)
		die_trace(m, n, why);
	if (!why || trace)
		return why;
	why = arena_str(&m->arena, why);
	if (schedule_plainer(M, n, t, k, s)) {
		k->plain = arena_printf(&m->arena, "a plainer schedule, %s: %s", k->plain, why);
		return NULL;
	}
	warn("%s: the default trace does not apply: %s; plain loops instead", node_where(m, n, &m->arena), why);
	k->plain = arena_printf(&m->arena, "plain loops: %s", why);
	k->trace = strcmp(k->prog->algo, ALGO_USUAL) ? arena_printf(&m->arena, "algo %s\n", k->prog->algo) : "";
	if ((why = schedule(k, s, &m->arena)))
		why = arena_printf(&m->arena, "plain loops: %s", why);
	return why;
}

/* The stages that k's trace is for: best, or those of another algorithm if the trace names one. A trace that is stamped for stages that
 * the group no longer has is dropped: tuning can start from it, but it is no result. */
static struct sized follow_trace(struct model *M, node_id n, const struct target *t, struct kernel *k, struct sized best)
{
	struct module *m = M->m;
	const char *algo = trace_algo(k->given, &m->arena), *why = NULL;
	struct sized s = best;

	if (algo && strcmp(algo, best.low.prog->algo))
		s = lower_call(M, n, t, k->sizes, algo, &why);
	if (why && trace_fit(k->given, k->digest) == TRACE_PLAIN)
		die_trace(m, n, why);
	if (k->given && (why || trace_fit(k->given, prog_digest(s.low.prog)) == TRACE_SEED)) {
		warn("%s: its trace is for other stages than it has; the default schedule instead; tune it again",
		     node_where(m, n, &m->arena));
		k->given = NULL;
		if (!why && s.low.prog != best.low.prog)
			sized_free(&s);
		s = best;
	}
	if (s.low.prog != best.low.prog)
		sized_free(&best);
	return s;
}

/* Without a kernel: a function of lib/native, or the slow path. */
static bool add_opaque(struct model *M, node_id n, const char *why)
{
	node_id native = native_node(M->m, n);

	if (!native && node_varies(M->m, node(M->m, n)) && group_parts(M->m, n) > 1)
		return false;
	if (!native || node_native(node(M->m, native))->file) /* the evaluator has no function of the user's */
		evaluators_check(M->m, attr_graph(node(M->m, n), "graph"));
	if (native) {
		vec_push(&M->calls, (struct call){.node = n, .kernel = KERNEL_NATIVE, .why = why, .alone = native});
		M->nnative++;
		return true;
	}
	vec_push(&M->calls, (struct call){.node = n, .kernel = KERNEL_OPAQUE, .why = why, .opaque = M->nopaque++});
	return true;
}

static bool add_maps(struct model *M, node_id n)
{
	vec_push(&M->calls, (struct call){.node = n, .kernel = KERNEL_MAPS, .alone = group_alone(M->m, n)});
	M->nmaps++;
	return true;
}

/* Is the group one ZipMap of tensors that have values in a run? */
static bool makes_maps(const struct model *M, node_id group)
{
	node_id id = group_alone(M->m, group);

	return id && zip_keys(node(M->m, id)) && val(M->m, node(M->m, group)->in[0])->type.dtype == DT_F32;
}

static bool add_append(struct model *M, node_id n, uint32_t state)
{
	vec_push(&M->calls, (struct call){.node = n, .kernel = KERNEL_APPEND, .alone = group_alone(M->m, n), .state = state});
	M->nappend++;
	return true;
}

/* ---- sizes that vary ---- */

/* The operands of a group and its inputs, its results and its outputs are of one type; and a run knows their sizes. NULL, or why not.
 * dims: what the sizes of the inputs were before sizes_agree. */
static const char *sizes_fit(const struct model *M, node_id n, dim *const *dims)
{
	struct module *m = M->m;
	const struct node *f = node(m, n);
	const struct graph *g = graph(m, attr_graph(f, "graph"));
	const char *why = NULL;

	if (g->in.n != f->nin || g->out.n != f->nout)
		return "its graph is of another form";
	for (uint32_t i = 0; i < f->nin + f->nout && !why; i++) {
		val_id v = i < f->nin ? f->in[i] : f->out[i - f->nin], inside = i < f->nin ? g->in.a[i] : g->out.a[i - f->nin];
		const struct type *t = &val(m, v)->type, *u = &val(m, inside)->type;
		if (t->dtype != u->dtype || t->rank != u->rank ||
		    (t->rank > 0 && memcmp(t->dims, i < f->nin ? dims[i] : u->dims, (size_t)t->rank * sizeof *t->dims)))
			return "its graph has other types";
		if (val(m, v)->kind != VAL_CONST)
			why = sizes_settled(M, v);
	}
	return why;
}

static void add_least(struct kernel *k, poly e)
{
	int64_t lo, hi;

	if (e == POLY_UNKNOWN)
		return;
	poly_range(k->prog->P, e, &lo, &hi);
	for (size_t i = 0; i < k->least.n && lo < 0; i++)
		if (k->least.a[i] == e)
			return;
	if (lo < 0)
		vec_push(&k->least, e);
}

/* The kernel is proved for sizes that are not negative; those of buffers inside it must not be, either. */
static const char *find_least(struct kernel *k)
{
	for (buf_id b = 1; b < k->prog->bufs.n; b++) {
		const struct loop_buf *x = lbuf(k->prog, b);
		for (int d = 0; d < x->rank; d++) {
			add_least(k, x->dim[d]);
			add_least(k, x->size[d]);
		}
		add_least(k, x->start);
	}
	for (size_t i = 0; i < k->least.n; i++)
		if (!prog_fixed(k->prog, k->least.a[i]))
			return "a size inside it depends on loops";
	return prog_fixed(k->prog, k->prog->workspace_of) ? NULL : "its workspace depends on loops";
}

/* ---- calls ---- */

/* k is new: schedules it. NULL, or why there is no kernel; then its program is gone. */
static const char *kernel_add(struct model *M, node_id n, const struct target *t, const char *trace, struct kernel *k, struct sized *s)
{
	const char *why = kernel_make(M, n, t, trace, k, s);

	if (!why && s->usual)
		why = find_least(k);
	if (why) {
		vec_free(&k->least);
		sized_free(s);
		return why;
	}
	if (s->usual)
		prog_free(s->usual);
	k->checks = emit_checks_indices(k->prog);
	if (M->sketch && M->threads <= 1 && !node_varies(M->m, node(M->m, n))) {
		k->bare = true;
		k->counted = version_counted(k->prog);
		k->prog = prog_bare(k->prog);
	}
	vec_push(&M->kernels, *k);
	return NULL;
}

/* The call of the group's kernel, a new one or an equal one that is there. s: the group, lowered for sizes; it is spent. False, and why: there
 * is none. */
static bool make_call(struct model *M, node_id n, const struct target *t, const struct given_traces *traces, struct sized_for sizes,
		      const char *trace, struct sized s, struct call *c, const char **why)
{
	struct module *m = M->m;
	struct kernel k = {.digest = prog_digest(s.low.prog), .sizes = sizes};

	*why = NULL;
	k.given = trace_given(traces, k.digest);
	if (!k.given && !sizes.fixed.n)
		k.given = attr_str(node(m, n), "trace", NULL);
	s = follow_trace(M, n, t, &k, s);
	k.prog = s.low.prog;
	set_threads(M, n, k.prog);
	k.threads = k.prog->threads;
	*c = (struct call){.node = n,
			   .nconst = s.low.nconst,
			   .nparam = (int)k.prog->params.n,
			   .proved = s.proved,
			   .param = ARENA_ARRAY(&m->arena, poly, k.prog->params.n + 1)};
	memcpy(c->param, s.arg, k.prog->params.n * sizeof *c->param);
	c->cval = arena_copy(&m->arena, s.low.cval, (size_t)c->nconst * sizeof *c->cval);
	c->kernel = kernel_find(M, &k);
	if (c->kernel != UINT32_MAX)
		sized_free(&s);
	else if (!(*why = kernel_add(M, n, t, trace, &k, &s)))
		c->kernel = (uint32_t)M->kernels.n - 1;
	return !*why;
}

bool kernel_call(struct model *M, node_id n, const struct target *t, const struct given_traces *traces, struct sized_for sizes,
		 const char *trace, struct call *c, const char **why)
{
	struct sized s = lower_call(M, n, t, sizes, NULL, why);

	return !*why && make_call(M, n, t, traces, sizes, trace, s, c, why);
}

const char *kernel_trace(struct model *M, node_id n, const struct target *t, struct sized_for sizes)
{
	const char *why;
	struct sized s = lower_call(M, n, t, sizes, NULL, &why);
	struct kernel k = {.prog = s.low.prog};

	if (why)
		return NULL;
	set_threads(M, n, k.prog);
	why = schedule_default(&k, &s, NULL, &M->m->arena);
	sized_free(&s);
	return why ? NULL : k.trace;
}

void kernel_drop(struct model *M)
{
	struct kernel *k = &M->kernels.a[--M->kernels.n];

	prog_free(k->prog);
	vec_free(&k->least);
}

/* Lowered for all sizes, or, if a native function has the others, for those of 1 and more, which *sizes says. */
static struct sized lower_open(struct model *M, node_id n, const struct target *t, struct sized_for *sizes, const char **why)
{
	struct sized s = lower_call(M, n, t, *sizes, NULL, why);
	node_id native = *why && node_varies(M->m, node(M->m, n)) ? native_node(M->m, n) : 0;
	const char * not ;

	if (!native || !native_of_nothing(node(M->m, native)))
		return s;
	sizes->some = true;
	s = lower_call(M, n, t, *sizes, NULL, &not );
	if (!not )
		*why = NULL;
	return s;
}

/* Does the kernel refuse indices, and are there sizes at which it has none to write, but indices to look at? A table that is constant has
 * elements: its result has none where there is no index. */
static bool looks_at_indices(struct model *M, node_id n, const struct call *c)
{
	struct module *m = M->m;
	struct call native = {.node = n, .alone = native_node(m, n)};

	return native.alone && node_varies(m, node(m, n)) && M->kernels.a[c->kernel].checks &&
	       val(m, call_operand(M, &native, 0))->kind != VAL_CONST;
}

/* dims: as sizes_fit. */
static bool add_group(struct model *M, node_id n, const struct target *t, const struct given_traces *traces, dim *const *dims)
{
	struct module *m = M->m;
	const char *why = NULL;
	struct sized_for sizes = {0};
	struct call c;
	uint32_t state = append_state(M, n);
	if (state)
		return add_append(M, n, state - 1);
	if (makes_maps(M, n))
		return add_maps(M, n);
	if (native_view(m, n))
		why = "it is a view";
	else if (node_varies(m, node(m, n)))
		why = sizes_fit(M, n, dims);
	struct sized s = why ? (struct sized){0} : lower_open(M, n, t, &sizes, &why);

	if (why || !make_call(M, n, t, traces, sizes, NULL, s, &c, &why))
		return add_opaque(M, n, why);
	if (sizes.some || looks_at_indices(M, n, &c) || (sizes_taken_for_one(M) && native_node(m, n))) {
		struct call other = {.node = n, .kernel = KERNEL_NATIVE, .alone = native_node(m, n)};
		c.otherwise = arena_copy(&m->arena, &other, sizeof other);
	}
	versions_add(M, t, traces, &c);
	vec_push(&M->calls, c);
	return true;
}

bool call_add(struct model *M, node_id n, const struct target *t, const struct given_traces *traces)
{
	struct module *m = M->m;

	if (strip_images(m, n) > 1 && !image_apart(m, n, strip_images(m, n), t))
		model_die_at(m, n, EX_BADDATA, "it does not run image by image; run ge-plan again");
	dim **old = node_varies(m, node(m, n)) ? sizes_agree(M, n) : NULL;
	bool added = add_group(M, n, t, traces, old);
	if (old)
		sizes_disagree(M, n, old);
	return added;
}
