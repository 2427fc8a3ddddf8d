/* Kernels: each group lowered and scheduled; groups with equal stages and traces share one. */
#include <string.h>
#include "model/model_impl.h"
#include "common/msg.h"
#include "graph/pass.h"
#include "lower/image.h"
#include "lower/lower.h"
#include "loop/interp.h"
#include "loop/prim.h"
#include "sched/schedule.h"

static struct lowered lower_call(struct model *M, node_id n, const struct target *t, const char *algo, const char **why)
{
	int64_t images = strip_images(M->m, n);

	return images > 1 ? image_lower(M->m, n, images, t, algo, why, M->lower) : M->lower(M->m, n, t, algo, why);
}

/* Lowers a group that has been lowered before: it can be. */
static struct loop_prog *lower_again(struct model *M, node_id n, const struct target *t, const char *algo)
{
	const char *why;
	struct lowered l = lower_call(M, n, t, algo, &why);

	if (why)
		BUG("%s", why);
	l.prog->threads = M->threads;
	return l.prog;
}

/* Legalizes and verifies the scheduled program. NULL, or why not. */
static const char *complete(struct kernel *k)
{
	const char *why = loop_legalize(k->prog);
	return why ? why : loop_verify(k->prog);
}

/* Schedules by k's trace, else by default, and legalizes; NULL, or why not. A trace that says nothing of threads gets the lines that
 * do. */
static const char *schedule(struct kernel *k)
{
	const char *why = loop_apply(k->prog, k->trace, false), *more;
	if (!why && *(more = schedule_threads(k->prog))) {
		size_t n = strlen(k->trace);
		k->trace = arena_printf(&k->prog->arena, "%s%s%s", k->trace, n && k->trace[n - 1] != '\n' ? "\n" : "", more);
	}
	return why ? why : complete(k);
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

static uint32_t kernel_find(struct model *M, struct digest d, const char *given)
{
	for (uint32_t i = 0; i < M->kernels.n; i++)
		if (digest_eq(M->kernels.a[i].digest, d) && same_text(M->kernels.a[i].given, given))
			return i;
	return UINT32_MAX;
}

static noreturn void die_trace(struct module *m, node_id n, const char *why)
{
	die(EX_BADDATA, "%s: %s: its trace: %s", m->source ? m->source : "-", node_where(m, n, &m->arena), why);
}

/* Schedules k's program. NULL, or why not even its unscheduled stages can be verified: then there is no kernel. */
static const char *kernel_make(struct model *M, node_id n, const struct target *t, struct kernel *k)
{
	struct module *m = M->m;
	const char *why;
	if (k->given) {
		k->trace = k->given;
		why = schedule(k);
	} else { /* default_schedule leaves the program as its trace would */
		k->trace = arena_str(&m->arena, default_schedule(k->prog));
		why = complete(k);
	}
	if (why && k->given)
		die_trace(m, n, why);
	if (!why)
		return NULL;
	warn("%s: the default trace does not apply: %s; plain loops instead", node_where(m, n, &m->arena), why);
	k->trace = strcmp(k->prog->algo, ALGO_USUAL) ? arena_printf(&m->arena, "algo %s\n", k->prog->algo) : "";
	struct loop_prog *fresh = lower_again(M, n, t, k->prog->algo);
	prog_free(k->prog);
	k->prog = fresh;
	if ((why = schedule(k)))
		why = arena_printf(&m->arena, "plain loops: %s", why);
	return why;
}

/* The stages that k's trace is for: best, or those of another algorithm if the trace names one. A trace that is stamped for stages that
 * the group no longer has is dropped: tuning can start from it, but it is no result. */
static struct lowered follow_trace(struct model *M, node_id n, const struct target *t, struct kernel *k, struct lowered best)
{
	struct module *m = M->m;
	const char *algo = trace_algo(k->given, &m->arena), *why = NULL;
	struct lowered l = best;

	if (algo && strcmp(algo, best.prog->algo))
		l = lower_call(M, n, t, algo, &why);
	if (why && trace_fit(k->given, k->digest) == TRACE_PLAIN)
		die_trace(m, n, why);
	if (k->given && (why || trace_fit(k->given, prog_digest(l.prog)) == TRACE_SEED)) {
		warn("%s: its trace is for other stages than it has; the default schedule instead; tune it again",
		     node_where(m, n, &m->arena));
		k->given = NULL;
		if (!why && l.prog != best.prog)
			prog_free(l.prog);
		l = best;
	}
	if (l.prog != best.prog)
		prog_free(best.prog);
	return l;
}

/* Without a kernel: a function of lib/native, or the slow path. */
static void add_opaque(struct model *M, node_id n, const char *why)
{
	node_id native = native_node(M->m, n);

	evaluators_check(M->m, attr_graph(node(M->m, n), "graph"));
	if (native) {
		vec_push(&M->calls, (struct call){.node = n, .kernel = KERNEL_NATIVE, .why = why, .alone = native});
		M->nnative++;
		return;
	}
	vec_push(&M->calls, (struct call){.node = n, .kernel = KERNEL_OPAQUE, .why = why, .opaque = M->nopaque++});
}

void call_add(struct model *M, node_id n, const struct target *t, const struct given_traces *traces)
{
	struct module *m = M->m;
	const char *why;
	if (strip_images(m, n) > 1 && !image_apart(m, n, strip_images(m, n), t))
		model_die_at(m, n, EX_BADDATA, "it does not run image by image; run ge-plan again");
	if (node_varies(M->m, node(M->m, n))) {
		add_opaque(M, n, "its sizes are known only in a run");
		return;
	}
	struct lowered l = lower_call(M, n, t, NULL, &why);

	if (why) {
		add_opaque(M, n, why);
		return;
	}
	struct kernel k = {.digest = prog_digest(l.prog)};
	k.given = trace_given(traces, k.digest);
	if (!k.given)
		k.given = attr_str(node(m, n), "trace", NULL);
	l = follow_trace(M, n, t, &k, l);
	l.prog->threads = M->threads;
	k.prog = l.prog;
	val_id *cval = arena_copy(&m->arena, l.cval, (size_t)l.nconst * sizeof *l.cval);

	uint32_t i = kernel_find(M, k.digest, k.given);
	if (i != UINT32_MAX) {
		prog_free(l.prog);
	} else if (!(why = kernel_make(M, n, t, &k))) {
		i = (uint32_t)M->kernels.n;
		vec_push(&M->kernels, k);
	} else {
		prog_free(k.prog);
		add_opaque(M, n, why);
		return;
	}
	vec_push(&M->calls, (struct call){.node = n, .kernel = i, .nconst = l.nconst, .cval = cval});
}
