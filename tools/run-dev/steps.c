/* --steps: a model with state, run again and again. */
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "op/hone_value.h"
#include "op/op.h"
#include "run-dev.h"

/* A model that is run step by step. */
struct stepping {
	struct library *l;
	const struct step_spec *s;
	struct tensor **in;     /* of each input that is given: those of all steps */
	struct tensor **out;    /* the same of outputs */
	struct tensor **first;  /* of each input: zeros of the sizes that only a state has, or NULL */
	size_t most, last, sum; /* bytes of states that a step wrote */
	struct arena *a;
};

static bool is_state(const struct hone_model *m, int input)
{
	for (int i = 0; i < m->num_states; i++)
		if (m->states[i].input == input)
			return true;
	return false;
}

/* Is the output a state whose size changes? Of such a one the last value is taken. */
static bool is_open_state(const struct hone_model *m, int output)
{
	const struct hone_tensor *t = &m->outputs[output];
	bool state = false, open = t->rank < 0;

	for (int i = 0; i < m->num_states; i++)
		state |= m->states[i].output == output;
	for (int k = 0; k < t->rank; k++)
		open |= t->shape[k] < 0;
	return state && open;
}

/* steps 0: as it is, without the axis in front. */
static val_id add_input(struct module *m, const struct hone_tensor *t, long steps)
{
	int64_t dims[RANK_MAX + 1] = {steps};
	int front = steps > 0;

	if (t->rank >= RANK_MAX || t->rank < 0)
		die(EX_NOTAVAIL, "--steps: input %s has %s", t->name, t->rank < 0 ? "no known shape" : "too many axes");
	for (int k = 0; k < t->rank; k++)
		dims[k + front] = t->shape[k];
	struct type type = type_make(m, tensor_dtype(t), t->rank + front, dims);
	for (int k = 0; k < t->rank && t->symbol; k++)
		if (t->symbol[k])
			type.dims[k + front] = poly_of(m->dims, module_symbol(m, intern(t->symbol[k])));
	return graph_add_input(m, m->main, intern(t->name), type);
}

static bool has_symbol(const struct hone_tensor *t, const char *name)
{
	for (int k = 0; k < t->rank && t->symbol; k++)
		if (t->symbol[k] && !strcmp(t->symbol[k], name))
			return true;
	return false;
}

/* A state with a size by a name that no other input has: the library begins with none of it. */
static bool has_own_size(const struct hone_model *m, int input)
{
	const struct hone_tensor *t = &m->inputs[input];

	for (int k = 0; k < t->rank && t->symbol; k++) {
		bool own = t->symbol[k] != NULL;
		for (int i = 0; i < m->num_inputs && own; i++)
			own = is_state(m, i) || !has_symbol(&m->inputs[i], t->symbol[k]);
		if (own)
			return true;
	}
	return false;
}

/* The inputs of all steps: those that the library keeps are not asked for, the others have an axis of so many steps in front. What
 * --set says of a state alone is the size that it begins with. */
static struct module *stacked_module(const struct library *l, const struct step_spec *s, struct tensor **first, struct arena *a)
{
	const struct hone_model *model = l->model;
	struct module *m = module_new();

	m->main = graph_new(m, intern(model->name));
	m->source = l->path;
	for (int i = 0; i < model->num_inputs; i++)
		if (!is_state(model, i) && !model->preset(l->handle, i))
			add_input(m, &model->inputs[i], s->steps);
	if (!s->sets)
		return m;
	size_t asked = graph(m, m->main)->in.n;
	val_id *state = xcalloc((size_t)model->num_inputs + 1, sizeof *state);
	for (int i = 0; i < model->num_inputs; i++)
		if (is_state(model, i) && model->run_values && !model->preset(l->handle, i) && has_own_size(model, i))
			state[i] = add_input(m, &model->inputs[i], 0);
	bind_sets(m, s->sets);
	for (int i = 0; i < model->num_inputs; i++) {
		const struct type *t = state[i] ? &val(m, state[i])->type : NULL;
		int64_t dims[RANK_MAX];
		if (!t || s->load || !type_static(m, t))
			continue;
		for (int k = 0; k < t->rank; k++)
			poly_is_const(m->dims, t->dims[k], &dims[k]);
		first[i] = tensor_new(a, tensor_dtype(&model->inputs[i]), t->rank, dims);
	}
	free(state);
	graph(m, m->main)->in.n = asked;
	return m;
}

static struct tensor *stacked_output(struct stepping *x, int k, int rank, const int64_t *shape)
{
	int64_t dims[RANK_MAX + 1] = {x->s->steps};

	if (rank >= RANK_MAX)
		die(EX_NOTAVAIL, "--steps: output %s has too many axes", x->l->model->outputs[k].name);
	memcpy(dims + 1, shape, (size_t)rank * sizeof *shape);
	return tensor_new(x->a, tensor_dtype(&x->l->model->outputs[k]), rank + 1, dims);
}

static void must(const struct library *l, int failed)
{
	if (failed)
		die(EX_BADDATA, "%s: %s", l->path, l->model->error());
}

/* The part of step t of what has all steps. */
static void *part(const struct stepping *x, const struct tensor *all, long t)
{
	return (char *)all->data + all->nbytes / (size_t)x->s->steps * (size_t)t;
}

static void step(struct stepping *x, long t)
{
	const struct hone_model *m = x->l->model;
	const void **from = ARENA_ARRAY(x->a, const void *, m->num_inputs + 1);
	void **to = ARENA_ARRAY(x->a, void *, m->num_outputs + 1);

	for (int i = 0; i < m->num_inputs; i++)
		from[i] = x->in[i] ? part(x, x->in[i], t) : NULL;
	for (int k = 0; k < m->num_outputs; k++) {
		if (!x->out[k]) {
			int64_t shape[RANK_MAX];
			for (int i = 0; i < m->outputs[k].rank && i < RANK_MAX; i++)
				shape[i] = m->outputs[k].shape[i];
			x->out[k] = stacked_output(x, k, m->outputs[k].rank, shape);
		}
		to[k] = part(x, x->out[k], t);
	}
	must(x->l, m->run(x->l->handle, from, to));
}

/* Output k of step t; the last: of so many steps. */
static void take_value(struct stepping *x, int k, long t, struct hone_value v)
{
	const struct hone_model *m = x->l->model;
	bool open = is_open_state(m, k);

	if (open && t + 1 < x->s->steps)
		return;
	if (open && m->value)
		must(x->l, m->value(x->l->handle, k, &v));
	if (v.type <= 0 || !dtype_size((enum dtype)v.type))
		die(EX_NOTAVAIL, "--steps: output %s is no tensor of numbers", m->outputs[k].name);
	if (!x->out[k])
		x->out[k] = open ? tensor_new(x->a, tensor_dtype(&m->outputs[k]), v.rank, v.shape) : stacked_output(x, k, v.rank, v.shape);
	if (!open && (x->out[k]->rank != v.rank + 1 || memcmp(x->out[k]->dims + 1, v.shape, (size_t)v.rank * sizeof *v.shape)))
		die(EX_NOTAVAIL, "--steps: the sizes of output %s change from step to step", m->outputs[k].name);
	size_t bytes = open ? x->out[k]->nbytes : x->out[k]->nbytes / (size_t)x->s->steps;
	if (bytes)
		memcpy(open ? (void *)x->out[k]->data : part(x, x->out[k], t), v.data, bytes);
}

static void step_values(struct stepping *x, long t)
{
	const struct hone_model *m = x->l->model;
	struct hone_value *in = xcalloc((size_t)m->num_inputs + 1, sizeof *in), *out = xcalloc((size_t)m->num_outputs + 1, sizeof *out);

	for (int i = 0; i < m->num_inputs; i++)
		if (x->in[i])
			in[i] = (struct hone_value){(int)x->in[i]->dtype, x->in[i]->rank - 1, x->in[i]->dims + 1, part(x, x->in[i], t)};
		else if (x->first[i] && !t)
			in[i] = (struct hone_value){(int)x->first[i]->dtype, x->first[i]->rank, x->first[i]->dims,
						    (void *)x->first[i]->data};
	must(x->l, m->run_values(x->l->handle, in, out, NULL));
	for (int k = 0; k < m->num_outputs; k++)
		take_value(x, k, t, out[k]);
	free(in);
	free(out);
}

static void count(struct stepping *x)
{
	const struct hone_model *m = x->l->model;

	x->last = m->moved ? m->moved(x->l->handle) : 0;
	x->sum += x->last;
	x->most = x->last > x->most ? x->last : x->most;
}

struct tensor **steps_run(struct library *l, const struct input_spec *spec, const struct step_spec *s, struct arena *a)
{
	const struct hone_model *m = l->model;
	struct stepping x = {.l = l, .s = s, .a = a};

	if (!m->num_states && (s->load || s->save))
		die(EX_BADUSE, "%s: it keeps no state; ge-plan --alias", l->path);
	x.first = ARENA_ARRAY(a, struct tensor *, m->num_inputs + 1);
	struct module *all = stacked_module(l, s, x.first, a);
	struct tensor **given = inputs_make(all, spec, a);
	x.in = ARENA_ARRAY(a, struct tensor *, m->num_inputs + 1);
	x.out = ARENA_ARRAY(a, struct tensor *, m->num_outputs + 1);
	for (int i = 0, k = 0; i < m->num_inputs; i++)
		if (!is_state(m, i) && !m->preset(l->handle, i))
			x.in[i] = given[k++];
	must(l, s->load && m->load(l->handle, s->load));
	for (long t = 0; t < s->steps; t++) {
		if (m->run_values)
			step_values(&x, t);
		else
			step(&x, t);
		count(&x);
	}
	if (m->num_states)
		note("bytes of states that a step wrote: %zu the last, %zu the most, %.1f on average", x.last, x.most,
		     (double)x.sum / (double)s->steps);
	if (s->save && m->save(l->handle, s->save))
		die(EX_IO, "%s: %s", l->path, m->error());
	module_free(all);
	return x.out;
}
