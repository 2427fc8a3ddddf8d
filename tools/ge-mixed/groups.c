/* Times of the groups that the things are in, from the fused streams of the two forms. */
#include <math.h>
#include <string.h>
#include "graph/stream.h"
#include "mixed.h"
#include "op/op.h"
#include "op/task.h"
#include "search/predict.h"

/* The thing that makes value v, as it is or quantised and dequantised; 0: none. */
static uint32_t maker_of(struct mixed *x, val_id v)
{
	while (v && val(x->m, v)->kind == VAL_NODE) {
		node_id n = val(x->m, v)->def;
		if (x->of[n])
			return x->of[n];
		if (node(x->m, n)->op != OP_QuantizeLinear && node(x->m, n)->op != OP_DequantizeLinear)
			return 0;
		v = node(x->m, n)->in[0];
	}
	return 0;
}

/* Things by the names of what they make. */
struct names {
	uint32_t *thing; /* by symbol */
	size_t n;
};

static struct names names_new(struct mixed *x)
{
	struct names s = {0};

	for (val_id v = 1; v < x->uses_values; v++)
		if (val(x->m, v)->name >= s.n)
			s.n = val(x->m, v)->name + (size_t)1;
	s.thing = xcalloc(s.n, sizeof *s.thing);
	for (val_id v = 1; v < x->uses_values; v++)
		if (val(x->m, v)->name && !s.thing[val(x->m, v)->name])
			s.thing[val(x->m, v)->name] = maker_of(x, v);
	return s;
}

static bool is_product(struct mixed *x, uint32_t thing) { return may_be(node(x->m, x->thing.a[thing].node)->op, x->low) == MAY_ALLOW; }

/* True for a name as module_name_values makes them up. A model's own values may have such names, too. */
static bool is_made_up(sym name)
{
	const char *s = sym_str(name);

	return (*s == 'v' || *s == 'c') && s[1] && !s[1 + strspn(s + 1, "0123456789")];
}

/* Of two things in a group, the one that its time is of: the first product, else the first. made_up: go by such names, or by others. */
static uint32_t better(struct mixed *x, uint32_t found, struct module *m, val_id v, const struct names *s, bool made_up)
{
	sym name = v ? val(m, v)->name : 0;
	uint32_t t = name && name < s->n && is_made_up(name) == made_up ? s->thing[name] : 0;

	return t && (!found || (is_product(x, t) && !is_product(x, found))) ? t : found;
}

static uint32_t better_of_node(struct mixed *x, uint32_t found, struct module *m, const struct node *n, const struct names *s, bool made_up)
{
	for (uint32_t k = 0; k < n->nout; k++)
		found = better(x, found, m, n->out[k], s, made_up);
	return found;
}

static uint32_t thing_by(struct mixed *x, struct module *m, node_id fused, const struct names *s, bool made_up)
{
	const struct node *n = node(m, fused);
	uint32_t found = better_of_node(x, 0, m, n, s, made_up);

	for (uint32_t i = 0; i < n->nattr; i++)
		if (n->attr[i].kind == ATTR_GRAPH) {
			const struct graph *g = graph(m, n->attr[i].u.graph);
			for (size_t k = 0; k < g->nodes.n; k++)
				found = better_of_node(x, found, m, node(m, g->nodes.a[k]), s, made_up);
		}
	return found;
}

/* Names that the model's file gave say which thing it is; only where there are none, made-up ones, which may be those of another value. */
static uint32_t thing_of_group(struct mixed *x, struct module *m, node_id fused, const struct names *s)
{
	uint32_t found = thing_by(x, m, fused, s, false);

	return found ? found : thing_by(x, m, fused, s, true);
}

/* seen: things that are in a group. */
static void count_task(struct mixed *x, enum form f, struct module *m, const struct task *t, const struct names *s,
		       const struct mixed_source *from, bool *seen)
{
	double seconds = kb_seconds(from->kb, t->text, from->row, possible_seconds(m, t->node[0], from->target));
	double predicted = from->predict ? group_seconds(m, t->node[0], from->target) : 0;
	bool wanted = false;

	for (uint32_t i = 0; i < t->count; i++) {
		struct thing *of = &x->thing.a[thing_of_group(x, m, t->node[i], s)];
		seen[of - x->thing.a] = true;
		of->seconds[f] += seconds;
		of->predicted[f] += isfinite(predicted) ? predicted : 0; /* infinite: it has no kernel */
		if (of != x->thing.a && !(seconds > 0))
			wanted = of->missing[f] = true;
	}
	if (wanted)
		vec_push(&x->wanted, arena_printf(x->arena, "%s", t->text));
}

/* Input i (output i) of m's main graph, "x f32[3,4]". */
static const char *end_text(struct mixed *x, struct module *m, size_t i, bool output)
{
	const struct graph *g = graph(m, m->main);

	if (i >= (output ? g->out.n : g->in.n))
		return "not there";
	val_id v = output ? g->out.a[i] : g->in.a[i];
	sym name = output ? g->out_name.a[i] : val(m, v)->name;
	return arena_printf(x->arena, "%s %s", sym_str(name), type_str(m, &val(m, v)->type, x->arena));
}

/* Dies where the stream's model has other inputs or outputs than this one. */
static void same_ends_or_die(struct mixed *x, struct module *m, const char *path, bool output)
{
	const struct graph *a = graph(m, m->main), *b = graph(x->m, x->m->main);
	size_t na = output ? a->out.n : a->in.n, nb = output ? b->out.n : b->in.n;

	for (size_t i = 0; i < na || i < nb; i++) {
		const char *of = end_text(x, m, i, output), *here = end_text(x, x->m, i, output);
		if (strcmp(of, here))
			die(EX_BADDATA, "%s: it is of another model: %s %zu is %s, in this one %s", path, output ? "output" : "input", i,
			    of, here);
	}
}

void mixed_group_times(struct mixed *x, enum form f, const char *path, const struct mixed_source *from)
{
	struct stream_reader *r = stream_open(path);
	struct module *m = stream_read(r);
	struct names s = names_new(x);
	struct arena a = {0};
	struct task_list l = {0};
	bool *seen = xcalloc(x->thing.n, sizeof *seen), any = false;

	if (!m)
		die(EX_BADDATA, "%s: there is no model", path);
	module_verify_or_die(m);
	same_ends_or_die(x, m, path, false);
	same_ends_or_die(x, m, path, true);
	if (stream_read(r))
		die(EX_BADDATA, "%s: there is more than one model", path);
	task_list_make(&l, m, &a);
	for (size_t i = 0; i < l.n; i++)
		count_task(x, f, m, &l.a[i], &s, from, seen);
	for (size_t i = 0; i < l.without.n; i++) {
		uint32_t t = thing_of_group(x, m, l.without.a[i].node, &s);
		seen[t] = x->thing.a[t].missing[f] = true;
	}
	for (uint32_t i = 1; i < x->thing.n; i++) {
		any |= seen[i];
		x->thing.a[i].missing[f] |= is_product(x, i) && !seen[i];
	}
	if (!any && x->thing.n > 1)
		die(EX_BADDATA, "%s: no group makes what a node of this model makes: it is of another model, or has no groups", path);
	task_list_free(&l);
	free(s.thing);
	free(seen);
	arena_release(&a);
	module_free(m);
	stream_close(r);
}

void mixed_predict(struct mixed *x)
{
	for (size_t i = 1; i < x->thing.n; i++) {
		struct thing *t = &x->thing.a[i];
		if ((!t->missing[FORM_HIGH] && !t->missing[FORM_LOW]) || !(t->predicted[FORM_HIGH] > 0) || !(t->predicted[FORM_LOW] > 0))
			continue;
		t->is_predicted = true;
		for (enum form f = FORM_HIGH; f <= FORM_LOW; f++) {
			t->seconds[f] = t->predicted[f];
			t->missing[f] = false;
		}
	}
}
