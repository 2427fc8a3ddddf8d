/* Verbs about a model: apply gives its kernels the best traces, dump --for prints the records that do. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/outfile.h"
#include "common/vec.h"
#include "target/target.h"
#include "graph/stream.h"
#include "model/candidate.h"
#include "op/op.h"
#include "op/pass.h"
#include "op/task.h"
#include "verbs.h"

static struct kb *kb; /* of apply: a pass has no argument of its own */

/* the default schedule for the node on the target asked about; false: it has none, or that target is of no machine that this
 * program knows. */
static bool find_default(struct module *m, node_id n, struct arena *a, struct kb_base *base)
{
	struct target target;
	const char *why, *trace = target_find(kb_target(), &target) ? default_trace(m, n, &target, a, &why) : NULL;
	if (trace)
		*base = kb_base_of(trace);
	return trace != NULL;
}

const struct kb_base *default_of_task(const char *task, struct arena *a)
{
	const char *why;
	struct kb_base *base = ARENA_NEW(a, struct kb_base);
	struct module *m = task_module(task, 0, a, &why);
	bool known = m && find_default(m, task_node(m), a, base);
	if (m)
		module_free(m);
	return known ? base : NULL;
}

/* Is its trace a schedule of this task by this program, where the target is one that it knows? Says so, if not. */
static bool replays(struct module *m, const struct task *t, const struct kb_record *r, struct arena *a)
{
	struct target target;
	const char *why;
	char hex[33];

	if (!target_find(kb_target(), &target))
		return true;
	struct candidate *c = candidate_new(m, t->node[0], &target, kb_get_field(r, "trace"), false, &why);
	if (c)
		candidate_free(c);
	else
		digest_hex(r->id, hex);
	if (!c)
		warn("%s: record %.12s: %s; passed over", kb_shown(t->text, a), hex, kb_shown(why, a));
	return c != NULL;
}

/* Names the records that would win if their numbers were believed. */
static void name_disbelieved(const struct kb_list *l, const char *task, struct arena *a)
{
	for (size_t i = 0; i < l->n; i++) {
		const char *why = kb_not_believed(&l->a[i], kb_target());
		char hex[33];
		digest_hex(l->a[i].id, hex);
		if (why)
			warn("%s: record %.12s: %s; passed over", kb_shown(task, a), hex, why);
	}
}

/* The best record; *old: its ratio is to a default of an older version. */
static const struct kb_record *record_for(struct module *m, const struct task *t, struct arena *a, bool *old)
{
	struct kb_list l = {0};
	const struct kb_record *r;
	struct kb_base base;

	kb_find(kb, NULL, t->text, &l, a);
	name_disbelieved(&l, t->text, a);
	bool known = l.n && find_default(m, t->node[0], a, &base);
	while ((r = known ? kb_best_for(&l, t->text, kb_target(), &base) : kb_best_of(&l, t->text, kb_target())) && !replays(m, t, r, a))
		l.a[r - l.a] = l.a[--l.n];
	*old = r && known && kb_get_field(r, "base") && !kb_is_to(r, &base);
	return r;
}

/* needs: types known, groups. keeps: everything but the attribute "trace" of groups that have a record. leaves: there
 * the best record's trace. */
static void apply(struct module *m, const struct pass_ctx *c)
{
	struct arena a = {0};
	struct task_list l = {0};
	uint32_t kernels = 0, given = 0, older = 0, foreign = 0;
	task_list_make(&l, m, &a);
	for (size_t i = 0; i < l.n; i++) {
		const struct task *t = &l.a[i];
		bool old = false;
		const struct kb_record *r = record_for(m, t, &a, &old);
		char hex[33] = "";
		kernels += t->count;
		given += r ? t->count : 0;
		older += old ? t->count : 0;
		bool ours = r && kb_is_ours(r);
		foreign += r && !ours ? t->count : 0;
		if (r)
			digest_hex(r->id, hex);
		for (uint32_t j = 0; j < t->count; j++) {
			if (r)
				attr_set_str(m, t->node[j], "trace", kb_get_field(r, "trace"));
			if (r)
				pass_why(c, m, t->node[j], "record %.12s: %s of %s's time, %s", hex, kb_get_field(r, "ratio"),
					 old ? "an older default" : "the default", ours ? "measured here" : "not measured here");
			else
				pass_why(c, m, t->node[j], "left as it is: no record says what is faster for its task on this target");
		}
	}
	for (size_t i = 0; i < l.without.n; i++)
		pass_why(c, m, l.without.a[i].node, "left as it is: no task: %s", l.without.a[i].why);
	const char *none = task_list_none(&l, m, &a);
	if (none)
		note("no task: %s", none);
	note("%" PRIu32 " of %" PRIu32 " kernels have a record", given, kernels + (uint32_t)l.without.n);
	if (foreign)
		note("of %" PRIu32 " the record was not measured here; tune-op times them", foreign);
	if (older)
		note("of %" PRIu32 " the record was timed against a default of an older version; tune-op times them again", older);
	task_list_free(&l);
	arena_release(&a);
}

static const struct pass pass = {
	.run = apply,
	.contract = "needs types and groups; keeps all but traces of groups that have a record",
};

/* What is written is none of the files that are open. */
static void keep_layers(const char *out)
{
	for (int i = 0; i < kb_layers(kb); i++)
		keep_base(out, kb_layer_path(kb, i));
}

int kb_apply(const struct tool *t, struct tool_args *a)
{
	struct tool as = *t;
	as.name = "kb apply";
	as.data = &pass;
	if (a->nfile > 1)
		die(EX_BADUSE, "expected one model at most");
	if (a->nfile == 0 && isatty(STDIN_FILENO))
		tool_usage();
	kb_target();
	kb = kb_open(opt.kb, false);
	keep_layers(a->out);
	int code = pass_main(&as, a);
	kb_close(kb);
	return code;
}

static int by_id(const void *x, const void *y) { return digest_cmp(((const struct kb_record *)x)->id, ((const struct kb_record *)y)->id); }

int kb_dump_for(struct tool_args *a)
{
	struct arena arena = {0};
	VEC(struct kb_record) all = {0};
	struct kb_list unique = {0};
	struct outfile o;
	kb = kb_open(opt.kb, false);
	keep_input(a->out, opt.for_file);
	keep_layers(a->out);
	struct stream_reader *r = stream_open(opt.for_file);
	for (struct module *m; (m = stream_read(r)); module_free(m)) {
		struct task_list l = {0};
		module_verify_or_die(m);
		task_list_make(&l, m, &arena);
		const char *none = task_list_none(&l, m, &arena);
		if (none)
			note("no task: %s", none);
		for (size_t i = 0; i < l.n; i++) {
			bool old;
			const struct kb_record *rec = record_for(m, &l.a[i], &arena, &old);
			if (rec)
				vec_push(&all, *rec);
		}
		task_list_free(&l);
	}
	stream_close(r);
	kb_close(kb);
	if (all.n)
		qsort(all.a, all.n, sizeof *all.a, by_id);
	unique.a = all.a; /* modules of a stream may share tasks */
	for (size_t i = 0; i < all.n; i++)
		if (i == 0 || !digest_eq(all.a[i].id, all.a[unique.n - 1].id))
			unique.a[unique.n++] = all.a[i];
	outfile_open(&o, a->out, false);
	print_records(o.f, &unique, a->json);
	outfile_close(&o);
	vec_free(&all);
	arena_release(&arena);
	return EX_GOOD;
}
