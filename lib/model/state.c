/* State: what the library keeps from run to run, and where. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "model/model_impl.h"
#include "model/state.h"
#include "common/digest.h"
#include "graph/pass.h"
#include "op/native.h"

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
void state_declare(struct module *m, const char *alias)
{
	for (const char *eq = strchr(alias, '='); eq; eq = strchr(eq + 1, '=')) {
		const char *in = arena_printf(&m->arena, "%.*s", (int)(eq - alias), alias);
		if (input_named(m, in) < 0)
			continue;
		if (output_named(m, eq + 1) < 0)
			die(EX_BADUSE, "--alias %s: the model has no output %s", alias, eq + 1);
		module_set_meta(m, arena_printf(&m->arena, STATE_ALIAS "%s", in), intern(eq + 1));
		return;
	}
	die(EX_BADUSE, "--alias %s: write INPUT=OUTPUT; the model has no such input", alias);
}

static noreturn void bad_alias(struct module *m, const char *in, const char *out, const char *why)
{
	die(EX_BADDATA, "%s: the state %s = %s: %s", m->source ? m->source : "-", in, out, why);
}

static void check_alias(struct model *M, struct state s)
{
	struct module *m = M->m;
	const struct graph *g = graph(m, m->main);
	const struct type *in = &val(m, g->in.a[s.in])->type, *out = &val(m, g->out.a[s.out])->type;
	const char *input = sym_str(val(m, g->in.a[s.in])->name), *output = sym_str(g->out_name.a[s.out]);

	bool open = value_varies(m, g->in.a[s.in]) || value_varies(m, g->out.a[s.out]);
	bool like = in->dtype == out->dtype && in->rank == out->rank && !in->other && !out->other;

	if (open ? !like : !type_equal(in, out))
		bad_alias(
			m, input, output,
			arena_printf(&m->arena, "the input is %s, the output %s", type_str(m, in, &m->arena), type_str(m, out, &m->arena)));
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

static bool reads_root(const struct model *M, node_id id, val_id r)
{
	const struct node *n = node(M->m, id);

	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && M->root[n->in[i]] == r)
			return true;
	return false;
}

/* Nodes w .. last of the main graph: those that need the first one go behind the others. False: one that needs it reads `in`; nothing is
 * moved. */
static bool move_behind(struct model *M, size_t w, size_t last, val_id in)
{
	struct module *m = M->m;
	struct graph *g = graph(m, m->main);
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

/* The node that makes the next state goes behind the last that reads the state, if it can. False: nothing is moved. */
static bool order_state(struct model *M, const struct state *s)
{
	struct module *m = M->m;
	const struct graph *g = graph(m, m->main);
	val_id in = g->in.a[s->in], r = M->root[g->out.a[s->out]];
	size_t w = 0, last = 0;

	while (w < g->nodes.n && g->nodes.a[w] != val(m, r)->def)
		w++;
	for (size_t i = w + 1; i < g->nodes.n; i++)
		if (reads_root(M, g->nodes.a[i], in))
			last = i;
	return last > w && move_behind(M, w, last, in);
}

void states_order(struct model *M)
{
	bool moved = M->states.n > 0;

	for (size_t round = 0; round < M->states.n && moved; round++) {
		moved = false;
		for (size_t i = 0; i < M->states.n; i++)
			moved |= order_state(M, &M->states.a[i]);
	}
}

/* ---- in place ---- */

/* How often step c reads the bytes of value r. */
static uint32_t reads(const struct model *M, uint32_t c, val_id r)
{
	const struct node *n = node(M->m, M->calls.a[c].node);
	uint32_t count = 0;

	for (uint32_t i = 0; i < n->nin; i++)
		count += n->in[i] && M->root[n->in[i]] == r;
	return count;
}

/* May step c write result r where its operand `in` lies? */
static bool step_in_place(const struct model *M, uint32_t c, val_id in, val_id r)
{
	const struct call *x = &M->calls.a[c];

	if (x->kernel != KERNEL_NATIVE || !native_in_place(node(M->m, x->alone)))
		return false;
	val_id data = call_operand(M, x, 0), result = call_result(M, x, 0);
	for (uint32_t i = 1; i < node(M->m, x->alone)->nin; i++) {
		val_id v = call_operand(M, x, i);
		if (v && M->root[v] == in)
			return false;
	}
	return data && M->root[data] == in && result == r;
}

static const char *named(const struct model *M, uint32_t c) { return node_where(M->m, M->calls.a[c].node, &M->m->arena); }

/* NULL: the output may be written where the input lies. Else why not. */
static const char *why_apart(const struct model *M, const struct state *s)
{
	struct module *m = M->m;
	const struct graph *g = graph(m, m->main);
	const struct section *main = M->sections.a;
	val_id in = g->in.a[s->in], r = M->root[g->out.a[s->out]];
	uint32_t writer = main->first;

	for (size_t k = 0; k < g->out.n; k++)
		if (k != s->out && M->root[g->out.a[k]] == in)
			return arena_printf(&m->arena, "output %s is the input as it was", sym_str(g->out_name.a[k]));
	if (r == in)
		return NULL;
	if (main->out.a[s->out] != r)
		return "the output is copied from another value";
	while (writer < main->end && M->calls.a[writer].node != val(m, r)->def)
		writer++;
	if (writer == main->end || M->calls.a[writer].images > 1)
		return "the output is made image by image";
	const struct call *w = &M->calls.a[writer];
	for (uint32_t c = w->strip; c < main->end; c++)
		if (reads(M, c, in) && (c > writer || M->calls.a[c].lane != w->lane))
			return arena_printf(&m->arena, "%s reads it after %s has made the output", named(M, c), named(M, writer));
	if (reads(M, writer, in) && !step_in_place(M, writer, in, r))
		return arena_printf(&m->arena, "%s, which makes the output, reads it in another order", named(M, writer));
	return NULL;
}

/* Bytes that steps_N copies at its end. */
static int64_t copied(const struct model *M, const struct state *s)
{
	const struct graph *g = graph(M->m, M->m->main);

	return M->sections.a[0].out.a[s->out] || M->root[g->out.a[s->out]] == g->in.a[s->in] ? 0 : s->bytes;
}

/* The call of the main graph that makes value r; NULL: it is an input or a constant. */
static const struct call *maker(const struct model *M, val_id r)
{
	for (uint32_t c = M->sections.a->first; c < M->sections.a->end; c++)
		if (val(M->m, r)->kind == VAL_NODE && M->calls.a[c].node == val(M->m, r)->def)
			return &M->calls.a[c];
	return NULL;
}

/* Bytes of a state of known size that a run writes. In place it is what the step puts in: its other operands of that type. */
static int64_t written(const struct model *M, const struct state *s)
{
	struct module *m = M->m;
	const struct graph *g = graph(m, m->main);
	val_id in = g->in.a[s->in], r = M->root[g->out.a[s->out]];
	const struct call *c = maker(M, r);
	int64_t bytes = 0;

	if (r == in)
		return 0;
	if (s->place[0] != s->place[1] || !c || c->kernel != KERNEL_NATIVE)
		return s->bytes + copied(M, s);
	for (uint32_t i = 1; i < node(m, c->alone)->nin; i++) {
		val_id v = call_operand(M, c, i);
		if (v && val(m, v)->type.dtype == val(m, in)->type.dtype)
			bytes += value_bytes(m, v);
	}
	return bytes;
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
		s->why = why_apart(M, s);
		s->copied = copied(M, s);
		s->place[0] = at;
		s->place[1] = s->why ? at + room : at;
		s->written = written(M, s);
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
		if (!fits || (apart && meet(s, 0, s, 1)) || (!apart && why_apart(M, s)))
			stale(M, s);
		s->written = written(M, s);
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
	add_text(d, n->op == OP_OTHER ? sym_str(n->optype) : op_name(n->op));
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
