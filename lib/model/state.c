/* State: what the library keeps from run to run, and where. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "model/model_impl.h"
#include "model/state.h"
#include "common/digest.h"
#include "graph/bodies.h"
#include "graph/pass.h"

/* ---- which ---- */

/* Number of the input, of the output, that has the name; -1: none has. */
static int64_t input_named(struct module *m, const char *name)
{
	const struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < g->in.n; i++)
		if (!strcmp(sym_str(val(m, g->in.a[i])->name), name))
			return (int64_t)i;
	return -1;
}

static int64_t output_named(struct module *m, const char *name)
{
	const struct graph *g = graph(m, m->main);

	for (size_t k = 0; k < g->out.n; k++)
		if (!strcmp(sym_str(g->out_name.a[k]), name))
			return (int64_t)k;
	return -1;
}

/* Names may have any character in them, "=" too: the first split that names an input. */
sym state_declare(struct module *m, const char *alias)
{
	for (const char *eq = strchr(alias, '='); eq; eq = strchr(eq + 1, '=')) {
		const char *in = arena_printf(&m->arena, "%.*s", (int)(eq - alias), alias);
		if (input_named(m, in) < 0)
			continue;
		if (output_named(m, eq + 1) < 0)
			die(EX_BADUSE, "--alias %s: the model has no output %s", alias, eq + 1);
		module_set_meta(m, arena_printf(&m->arena, STATE_ALIAS "%s", in), intern(eq + 1));
		return intern(in);
	}
	die(EX_BADUSE, "--alias %s: write INPUT=OUTPUT; the model has no such input", alias);
}

void states_declare(struct module *m, size_t n, const char *const *alias)
{
	sym *in = ARENA_ARRAY(&m->arena, sym, n);

	for (size_t i = 0; i < n; i++) {
		in[i] = state_declare(m, alias[i]);
		for (size_t k = 0; k < i; k++)
			if (in[k] == in[i])
				die(EX_BADUSE, "--alias %s: %s has an alias already, %s", alias[i], sym_str(in[i]), alias[k]);
	}
}

static noreturn void bad_alias(struct module *m, const char *in, const char *out, const char *why)
{
	die(EX_BADDATA, "%s: the state %s = %s: %s", m->source ? m->source : "-", in, out, why);
}

/* What has bytes of its own. */
static bool is_kept(const struct type *t) { return !t->other && dtype_size(t->dtype); }

static void check_alias(struct model *M, struct state s)
{
	struct module *m = M->m;
	const struct graph *g = graph(m, m->main);
	const struct type *in = &val(m, g->in.a[s.in])->type, *out = &val(m, g->out.a[s.out])->type;
	const char *input = sym_str(val(m, g->in.a[s.in])->name), *output = sym_str(g->out_name.a[s.out]);

	bool open = value_varies(m, g->in.a[s.in]) || value_varies(m, g->out.a[s.out]);

	if (!is_kept(in) || !is_kept(out))
		bad_alias(m, input, output,
			  arena_printf(&m->arena, "only a tensor of numbers is kept, not %s",
				       type_str(m, is_kept(in) ? out : in, &m->arena)));
	const char *why = state_misfit(m, g->in.a[s.in], g->out.a[s.out]);
	if (why)
		bad_alias(m, input, output, why);
	if (open && (in->rank == RANK_UNKNOWN || !value_varies(m, g->in.a[s.in])))
		model_die_at(m, 0, EX_NOTAVAIL,
			     arena_printf(&m->arena, "the state %s is %s and becomes %s: it has no room", input, type_str(m, in, &m->arena),
					  type_str(m, out, &m->arena)));
	for (size_t k = 0; k < M->states.n; k++)
		if (M->states.a[k].out == s.out)
			bad_alias(m, input, output, "the output is another state's");
}

void states_find(struct model *M)
{
	struct module *m = M->m;
	const struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < m->meta.n; i++) {
		const char *key = sym_str(m->meta.a[i].key);
		if (!strncmp(key, STATE_ALIAS, strlen(STATE_ALIAS)) && input_named(m, key + strlen(STATE_ALIAS)) < 0)
			bad_alias(m, key + strlen(STATE_ALIAS), sym_str(m->meta.a[i].value), "there is no such input");
	}
	for (uint32_t i = 0; i < g->in.n; i++) {
		const char *input = sym_str(val(m, g->in.a[i])->name);
		const char *output = module_meta(m, arena_printf(&m->arena, STATE_ALIAS "%s", input));
		if (!output)
			continue;
		int64_t k = output_named(m, output);
		if (k < 0)
			bad_alias(m, input, output, "there is no such output");
		struct state s = {.in = i, .out = (uint32_t)k, .open = value_varies(m, g->in.a[i])};
		s.bytes = s.open ? 0 : value_bytes(m, g->in.a[i]);
		check_alias(M, s);
		vec_push(&M->states, s);
	}
}

/* ---- order ---- */

/* A value of a graph that becomes another one there: a state of the main graph, or what a branch is given and gives of one. */
struct passage {
	graph_id graph;
	val_id in, out; /* roots */
};
struct passages {
	VEC(struct passage) a;
};

static bool reads_root(const struct model *M, node_id id, val_id r)
{
	const struct node *n = node(M->m, id);

	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && M->root[n->in[i]] == r)
			return true;
	return false;
}

/* Nodes w .. last of graph number `of`: those that need the first one go behind the others. False: one that needs it reads `in`; nothing is
 * moved. */
static bool move_behind(struct model *M, graph_id of, size_t w, size_t last, val_id in)
{
	struct module *m = M->m;
	struct graph *g = graph(m, of);
	bool *needs = xcalloc(m->values.n, sizeof *needs), good = true;
	VEC(node_id) first = {0}, second = {0};

	for (size_t i = w; i <= last; i++) {
		const struct node *n = node(m, g->nodes.a[i]);
		bool moved = i == w;
		for (uint32_t k = 0; k < n->nin; k++)
			moved |= n->in[k] && needs[n->in[k]];
		for (uint32_t k = 0; k < n->nout && moved; k++)
			needs[n->out[k]] = n->out[k] != 0;
		good &= i == w || !moved || !reads_root(M, g->nodes.a[i], in);
		if (moved)
			vec_push(&second, g->nodes.a[i]);
		else
			vec_push(&first, g->nodes.a[i]);
	}
	for (size_t i = 0; i < first.n && good; i++)
		g->nodes.a[w + i] = first.a[i];
	for (size_t i = 0; i < second.n && good; i++)
		g->nodes.a[w + first.n + i] = second.a[i];
	vec_free(&first);
	vec_free(&second);
	free(needs);
	return good;
}

/* The node that makes p->out goes behind the last that reads p->in, if it can. False: nothing is moved. */
static bool order_passage(struct model *M, const struct passage *p)
{
	struct module *m = M->m;
	const struct graph *g = graph(m, p->graph);
	size_t w = 0, last = 0;

	while (w < g->nodes.n && g->nodes.a[w] != val(m, p->out)->def)
		w++;
	for (size_t i = w + 1; i < g->nodes.n; i++)
		if (reads_root(M, g->nodes.a[i], p->in))
			last = i;
	return last > w && move_behind(M, p->graph, w, last, p->in);
}

static void add_passage(struct model *M, struct passages *list, graph_id g, val_id in, uint32_t out)
{
	val_id r = M->root[graph(M->m, g)->out.a[out]];

	if (val(M->m, r)->kind == VAL_NODE)
		vec_push(&list->a, (struct passage){g, in, r});
}

/* What it is in the branches of the node that makes it. */
static void follow_passage(struct model *M, struct passages *list, size_t at)
{
	struct passage p = list->a.a[at];
	node_id def = val(M->m, p.out)->def, alone = node(M->m, def)->op == OP_Fused ? control_node(M->m, def) : 0;
	struct branching b;
	graph_id body;

	if (!alone || !passes_branches(M, &(struct call){.node = def, .alone = alone}, p.in, p.out, &b))
		return;
	for (uint32_t k = 0; (body = node_body(node(M->m, alone), k)); k++)
		add_passage(M, list, body, graph(M->m, body)->in.a[b.in], b.out);
}

void states_order(struct model *M)
{
	const struct graph *g = graph(M->m, M->m->main);
	struct passages list = {0};
	bool moved = true;

	for (size_t i = 0; i < M->states.n; i++)
		add_passage(M, &list, M->m->main, g->in.a[M->states.a[i].in], M->states.a[i].out);
	for (size_t i = 0; i < list.a.n; i++)
		follow_passage(M, &list, i);
	for (size_t round = 0; round < list.a.n && moved; round++) {
		moved = false;
		for (size_t i = 0; i < list.a.n; i++)
			moved |= order_passage(M, &list.a.a[i]);
	}
	vec_free(&list.a);
}

/* ---- places ---- */

static const char *place_key(struct model *M, const struct state *s)
{
	struct module *m = M->m;
	return arena_printf(&m->arena, PLAN_STATE ".%s", sym_str(val(m, graph(m, m->main)->in.a[s->in])->name));
}

static void record(struct model *M, const struct state *s)
{
	sym text = s->place[0] == s->place[1] ? intern_printf("%" PRId64, s->place[0])
					      : intern_printf("%" PRId64 " %" PRId64, s->place[0], s->place[1]);
	module_set_meta(M->m, place_key(M, s), text);
}

void states_plan(struct model *M)
{
	int64_t at = 0;

	for (size_t i = 0; i < M->states.n; i++) {
		struct state *s = &M->states.a[i];
		int64_t room = (s->bytes + STATE_ALIGN - 1) / STATE_ALIGN * STATE_ALIGN;
		if (s->open) {
			module_set_meta(M->m, place_key(M, s), intern("open"));
			continue;
		}
		s->why = state_apart(M, s);
		s->copied = state_copied(M, s);
		s->place[0] = at;
		s->place[1] = s->why ? at + room : at;
		s->written = state_written(M, s);
		at = s->place[1] + room;
		record(M, s);
	}
	M->state_bytes = at;
	module_set_meta(M->m, PLAN_STATE, at ? intern_printf("%" PRId64, at) : 0);
}

static noreturn void stale(struct model *M, const struct state *s)
{
	struct module *m = M->m;
	die(EX_BADUSE, "%s: the place of state %s is of another graph; run ge-plan again", m->source ? m->source : "-",
	    sym_str(val(m, graph(m, m->main)->in.a[s->in])->name));
}

/* One offset or two: multiples of STATE_ALIGN. */
static bool read_place(const char *text, int64_t place[2])
{
	char *end;

	if (!text)
		return false;
	place[0] = place[1] = strtoll(text, &end, 10);
	if (end != text && *end == ' ')
		place[1] = strtoll(text = end, &end, 10);
	return end != text && !*end;
}

static bool meet(const struct state *a, int i, const struct state *b, int k)
{
	return a->place[i] < b->place[k] + b->bytes && b->place[k] < a->place[i] + a->bytes;
}

void states_read(struct model *M)
{
	const char *text = module_meta(M->m, PLAN_STATE);

	M->state_bytes = text ? strtoll(text, NULL, 10) : 0;
	for (size_t i = 0; i < M->states.n; i++) {
		struct state *s = &M->states.a[i];
		if (s->open)
			continue;
		bool fits = read_place(module_meta(M->m, place_key(M, s)), s->place);
		bool apart = s->place[0] != s->place[1];
		for (int k = 0; k < 2 && fits; k++) {
			fits = s->place[k] >= 0 && s->place[k] % STATE_ALIGN == 0 && s->place[k] <= M->state_bytes - s->bytes;
			for (size_t j = 0; j < i && fits; j++)
				fits = !meet(s, k, &M->states.a[j], 0) && !meet(s, k, &M->states.a[j], 1);
		}
		if (!fits || (apart && meet(s, 0, s, 1)) || (!apart && state_apart(M, s)))
			stale(M, s);
		s->written = state_written(M, s);
	}
}

/* ---- digest ---- */

static void add_text(struct digest_state *d, const char *s) { digest_add(d, s, strlen(s) + 1); }

static void add_attr(struct digest_state *d, const struct attr *a)
{
	add_text(d, sym_str(a->name));
	switch ((enum attr_kind)a->kind) {
	case ATTR_INT: digest_add(d, &a->u.i, sizeof a->u.i); break;
	case ATTR_FLOAT: digest_add(d, &a->u.f, sizeof a->u.f); break;
	case ATTR_STR: digest_add(d, a->u.s, a->n); break;
	case ATTR_INTS: digest_add(d, a->u.ints, a->n * sizeof *a->u.ints); break;
	case ATTR_FLOATS: digest_add(d, a->u.floats, a->n * sizeof *a->u.floats); break;
	default: break;
	}
}

/* Groups are left out: what they are of is in graphs of their own. */
static void add_node(struct digest_state *d, struct module *m, const struct node *n)
{
	if (n->op == OP_Fused)
		return;
	add_text(d, node_op_name(n));
	for (uint32_t i = 0; i < n->nattr; i++)
		add_attr(d, &n->attr[i]);
	for (uint32_t i = 0; i < n->nin; i++) {
		if (!n->in[i] || val(m, n->in[i])->kind != VAL_CONST)
			continue;
		struct digest x = tensor_digest(m, val(m, n->in[i])->tensor);
		digest_add(d, &x, sizeof x);
	}
}

struct digest states_digest(struct model *M)
{
	struct module *m = M->m;
	const struct graph *g = graph(m, m->main);
	struct digest_state *d = digest_new();
	struct graph_list order = {0};

	for (size_t i = 0; i < g->in.n; i++) {
		add_text(d, sym_str(val(m, g->in.a[i])->name));
		add_text(d, type_str(m, &val(m, g->in.a[i])->type, &m->arena));
	}
	for (size_t k = 0; k < g->out.n; k++)
		add_text(d, sym_str(g->out_name.a[k]));
	for (size_t i = 0; i < M->states.n; i++)
		digest_add(d, &(uint32_t[]){M->states.a[i].in, M->states.a[i].out}, 2 * sizeof(uint32_t));
	module_graph_order(m, &order);
	for (size_t i = 0; i < order.n; i++)
		for (size_t k = 0; k < graph(m, order.a[i])->nodes.n; k++)
			add_node(d, m, node(m, graph(m, order.a[i])->nodes.a[k]));
	vec_free(&order);
	return digest_end(d);
}
