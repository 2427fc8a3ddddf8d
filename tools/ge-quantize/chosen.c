/* --only, --skip: which nodes a user chose, by their names, the names of their results, or operators. */
#include <fnmatch.h>
#include <string.h>
#include "common/msg.h"
#include "common/nearest.h"
#include "quantize.h"

struct pattern {
	const char *text;
	bool met; /* a node is such */
};
static VEC(struct pattern) only, skip;

void chosen_only(const char *what) { vec_push(&only, (struct pattern){what, false}); }
void chosen_skip(const char *what) { vec_push(&skip, (struct pattern){what, false}); }

const char *layer_name(struct module *m, const struct node *n)
{
	return n->name ? sym_str(n->name) : n->nout && n->out[0] ? sym_str(val(m, n->out[0])->name) : "";
}

static bool matches(struct pattern *p, struct module *m, const struct node *n)
{
	bool yes = !fnmatch(p->text, layer_name(m, n), 0) || !strcmp(p->text, op_name(n->op));

	for (uint32_t k = 0; k < n->nout; k++)
		yes |= n->out[k] && !fnmatch(p->text, sym_str(val(m, n->out[k])->name), 0);
	p->met |= yes;
	return yes;
}

bool is_chosen(struct module *m, const struct node *n)
{
	bool yes = !only.n;

	for (size_t i = 0; i < only.n; i++)
		yes |= matches(&only.a[i], m, n);
	for (size_t i = 0; i < skip.n; i++)
		yes &= !matches(&skip.a[i], m, n);
	return yes;
}

/* What a pattern that no node met was meant to be. */
static const char *meant(struct module *m, const char *text)
{
	const struct graph *g = graph(m, m->main);
	struct nearest best = {.word = text};

	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(m, g->nodes.a[i]);
		nearest_offer(&best, op_name(n->op));
		nearest_offer(&best, layer_name(m, n));
		for (uint32_t k = 0; k < n->nout; k++)
			if (n->out[k])
				nearest_offer(&best, sym_str(val(m, n->out[k])->name));
	}
	return best.best;
}

void chosen_check(struct module *m)
{
	const struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < g->nodes.n; i++)
		is_chosen(m, node(m, g->nodes.a[i]));
	for (size_t i = 0; i < only.n + skip.n; i++) {
		const struct pattern *x = i < only.n ? &only.a[i] : &skip.a[i - only.n];
		if (x->met)
			continue;
		const char *option = i < only.n ? "only" : "skip", *near = meant(m, x->text);
		if (near)
			die(EX_BADUSE, "--%s %s: the model has no node, result or operator of that name; the nearest is %s", option,
			    x->text, near);
		die(EX_BADUSE, "--%s %s: the model has no node, result or operator of that name; ge-dump prints them", option, x->text);
	}
}
