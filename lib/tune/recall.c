/* Which record of the knowledge base decides. */
#include "tune/recall.h"
#include <string.h>
#include "common/msg.h"
#include "model/candidate.h"

bool recall_default(const struct recall *w, struct module *m, node_id n, struct arena *a, struct kb_base *base)
{
	const char *why, *trace = w->target ? default_trace(m, n, w->target, a, &why) : NULL;

	if (trace)
		*base = kb_base_of(trace);
	return trace != NULL;
}

/* Is its trace a schedule of this task by this program, where the target is one that it knows? Says so, if not. */
static bool replays(const struct recall *w, struct module *m, const struct task *t, const struct kb_record *r, struct arena *a)
{
	const char *why;
	char hex[33];

	if (!w->target)
		return true;
	struct candidate *c = candidate_new(m, t->node[0], w->target, kb_get_field(r, "trace"), false, &why);
	if (c)
		candidate_free(c);
	else
		digest_hex(r->id, hex);
	if (!c)
		warn("%s: record %.12s: %s; passed over", kb_shown(t->text, a), hex, kb_shown(why, a));
	return c != NULL;
}

/* Names the records that would win if their numbers were believed. */
static void name_disbelieved(const struct recall *w, const struct kb_list *l, const char *task, struct arena *a)
{
	for (size_t i = 0; i < l->n; i++) {
		const char *why = kb_not_believed(&l->a[i], w->row);
		char hex[33];
		digest_hex(l->a[i].id, hex);
		if (why)
			warn("%s: record %.12s: %s; passed over", kb_shown(task, a), hex, why);
	}
}

const struct kb_record *recall_refuted(const struct recall *w, struct module *m, const struct task *t, const char *trace, struct arena *a)
{
	struct kb_list l = {0};
	struct kb_base base;
	size_t kept = 0;

	kb_find(w->kb, NULL, t->text, &l, a);
	for (size_t i = 0; i < l.n; i++)
		if (!w->trusted || kb_is_trusted(w->kb, &l.a[i]))
			l.a[kept++] = l.a[i];
	l.n = kept;
	bool known = l.n && recall_default(w, m, t->node[0], a, &base);
	return kb_refuted(&l, t->text, w->row, known ? &base : NULL, trace);
}

const struct kb_record *recall_record(const struct recall *w, struct module *m, const struct task *t, struct arena *a, bool *older,
				      bool *foreign)
{
	struct kb_list l = {0};
	const struct kb_record *r;
	struct kb_base base;

	*older = *foreign = false;
	kb_find(w->kb, NULL, t->text, &l, a);
	name_disbelieved(w, &l, t->text, a);
	bool known = l.n && recall_default(w, m, t->node[0], a, &base);
	while ((r = known ? kb_best_for(&l, t->text, w->row, &base) : kb_best_of(&l, t->text, w->row))) {
		bool trusted = !w->trusted || kb_is_trusted(w->kb, r);
		*foreign |= !trusted;
		if (trusted && replays(w, m, t, r, a))
			break;
		l.a[r - l.a] = l.a[--l.n];
	}
	*older = r && known && kb_get_field(r, "base") && !kb_is_to(r, &base);
	return r;
}
