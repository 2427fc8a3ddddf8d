/* --steps: a model with state, run again and again. */
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "op/op.h"
#include "run-dev.h"

static bool is_state(const struct hone_model *m, int input)
{
	for (int i = 0; i < m->num_states; i++)
		if (m->states[i].input == input)
			return true;
	return false;
}

/* The inputs of all steps: those that the library keeps are not asked for, the others have an axis of so many steps in front. */
static struct module *stacked_module(const struct library *l, long steps)
{
	struct module *one = library_module(l), *m = module_new();

	m->main = graph_new(m, intern(l->model->name));
	m->source = l->path;
	for (int i = 0; i < l->model->num_inputs; i++) {
		const struct value *v = val(one, graph(one, one->main)->in.a[i]);
		int64_t dims[RANK_MAX + 1] = {steps};
		if (is_state(l->model, i) || v->tensor)
			continue;
		if (v->type.rank >= RANK_MAX)
			die(EX_NOTAVAIL, "--steps: input %s has too many axes", sym_str(v->name));
		type_dims(one, &v->type, dims + 1);
		graph_add_input(m, m->main, v->name, type_make(m, v->type.dtype, v->type.rank + 1, dims));
	}
	module_free(one);
	return m;
}

static struct tensor *stacked_output(const struct hone_tensor *t, long steps, struct arena *a)
{
	int64_t dims[RANK_MAX + 1] = {steps};

	if (t->rank >= RANK_MAX)
		die(EX_NOTAVAIL, "--steps: output %s has too many axes", t->name);
	for (int i = 0; i < t->rank; i++)
		dims[i + 1] = t->shape[i];
	return tensor_new(a, tensor_dtype(t), t->rank + 1, dims);
}

static void must(const struct library *l, int failed)
{
	if (failed)
		die(EX_BADDATA, "%s: %s", l->path, l->model->error());
}

struct tensor **steps_run(struct library *l, const struct input_spec *spec, const struct step_spec *s, struct arena *a)
{
	const struct hone_model *m = l->model;
	struct tensor **out = ARENA_ARRAY(a, struct tensor *, m->num_outputs + 1);
	const void **from = ARENA_ARRAY(a, const void *, m->num_inputs + 1);
	void **to = ARENA_ARRAY(a, void *, m->num_outputs + 1);

	if (m->run_values)
		die(EX_NOTAVAIL, "%s: --steps: its sizes are open", l->path);
	if (!m->num_states && (s->load || s->save))
		die(EX_BADUSE, "%s: it keeps no state; ge-plan --alias", l->path);
	struct module *all = stacked_module(l, s->steps);
	struct tensor **in = inputs_make(all, spec, a);
	for (int k = 0; k < m->num_outputs; k++)
		out[k] = stacked_output(&m->outputs[k], s->steps, a);
	must(l, s->load && m->load(l->handle, s->load));
	for (long t = 0; t < s->steps; t++) {
		for (int i = 0, k = 0; i < m->num_inputs; i++) {
			bool given = !is_state(m, i) && !m->preset(l->handle, i);
			from[i] = given ? (const char *)in[k++]->data + (size_t)t * m->inputs[i].bytes : NULL;
		}
		for (int k = 0; k < m->num_outputs; k++)
			to[k] = (char *)out[k]->data + (size_t)t * m->outputs[k].bytes;
		must(l, m->run(l->handle, from, to));
	}
	must(l, s->save && m->save(l->handle, s->save));
	module_free(all);
	return out;
}
