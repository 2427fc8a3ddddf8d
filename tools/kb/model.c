/* Verbs about a model: apply gives its kernels the best traces, dump --for prints the records that do. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/outfile.h"
#include "common/vec.h"
#include "target/target.h"
#include "graph/fused.h"
#include "graph/stream.h"
#include "op/op.h"
#include "op/pass.h"
#include "op/task.h"
#include "tune/recall.h"
#include "verbs.h"

static struct kb *kb; /* of apply: a pass has no argument of its own */

/* How to recall for the target asked about; t: room for what this program knows of it. */
static struct recall for_target(struct target *t)
{
	return (struct recall){kb, kb_target(), target_find(kb_target(), t) ? t : NULL, false};
}

const struct kb_base *default_of_task(const char *task, struct arena *a)
{
	const char *why;
	struct target target;
	const struct recall w = for_target(&target);
	struct kb_base *base = ARENA_NEW(a, struct kb_base);
	struct module *m = task_module(task, 0, a, &why);
	bool known = m && recall_default(&w, m, task_node(m), a, base);
	if (m)
		module_free(m);
	return known ? base : NULL;
}

/* needs: types known, groups. keeps: everything but the attribute "trace" of groups that have a record. leaves: there
 * the best record's trace. */
static void apply(struct module *m, const struct pass_ctx *c)
{
	struct arena a = {0};
	struct task_list l = {0};
	uint32_t kernels = 0, given = 0, older = 0, foreign = 0;
	struct target target;
	const struct recall w = for_target(&target);

	task_list_make(&l, m, &a);
	for (size_t i = 0; i < l.n; i++) {
		const struct task *t = &l.a[i];
		bool old, passed;
		const struct kb_record *r = recall_record(&w, m, t, &a, &old, &passed);
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
				fused_set_trace(m, t->node[j], kb_get_field(r, "trace"));
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
	struct target target;

	kb = kb_open(opt.kb, false);
	const struct recall w = for_target(&target);
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
			bool old, passed;
			const struct kb_record *rec = recall_record(&w, m, &l.a[i], &arena, &old, &passed);
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
