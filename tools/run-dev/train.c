/* --train: a step library of ge-grad and ge-optim, over samples in an order that a seed says. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/digest.h"
#include "common/msg.h"
#include "common/progress.h"
#include "op/op.h"
#include "train.h"

struct training {
	const struct train_spec *s;
	struct library *step;
	struct library judge;
	struct samples samples;
	int data, labels, loss, y;             /* inputs and outputs of the step */
	int64_t batch, trained, held, a_epoch; /* samples of each kind; steps of an epoch */
	const void **in;
	void **out, **kept, *numbers; /* kept: each state's values, by its output */
	struct tensor **state;        /* by number of the state: what it is after the last step of an epoch */
	struct tensor **best;         /* of those that the judge takes; NULL: not */
	struct judgement best_is;
	uint64_t done; /* steps */
	struct arena *a;
};

static const struct hone_model *model_of(const struct training *t) { return t->step->model; }

static noreturn void unfit(const struct training *t, const char *why)
{
	die(EX_BADDATA, "%s: no step of a training: %s", t->step->path, why);
}

/* ---- what is what ---- */

static int state_of_input(const struct hone_model *m, int input)
{
	for (int i = 0; i < m->num_states; i++)
		if (m->states[i].input == input)
			return i;
	return -1;
}

static bool is_state_output(const struct hone_model *m, int output)
{
	for (int i = 0; i < m->num_states; i++)
		if (m->states[i].output == output)
			return true;
	return false;
}

static void find_parts(struct training *t)
{
	const struct hone_model *m = model_of(t);

	t->data = t->labels = t->loss = t->y = -1;
	for (int i = 0; i < m->num_inputs; i++) {
		if (!strcmp(m->inputs[i].name, "labels"))
			t->labels = i;
		else if (state_of_input(m, i) < 0 && !m->preset(t->step->handle, i)) {
			if (t->data >= 0)
				die(EX_NOTAVAIL, "%s: it has inputs %s and %s; only one can be trained with", t->step->path,
				    m->inputs[t->data].name, m->inputs[i].name);
			t->data = i;
		}
	}
	for (int k = 0; k < m->num_outputs; k++) {
		if (!strcmp(m->outputs[k].name, "loss"))
			t->loss = k;
		else if (!is_state_output(m, k))
			t->y = k;
	}
	if (t->data < 0 || t->labels < 0 || t->loss < 0 || t->y < 0 || !m->num_states)
		unfit(t, "ge-grad and ge-optim make one");
	if (m->run_values)
		die(EX_NOTAVAIL, "%s: some of its sizes are open", t->step->path);
	if (m->inputs[t->data].rank < 1 || m->inputs[t->labels].rank < 1 || m->inputs[t->data].shape[0] != m->inputs[t->labels].shape[0])
		unfit(t, "samples and labels are not along axis 0");
	t->batch = m->inputs[t->data].shape[0];
}

static void read_samples(struct training *t)
{
	const struct train_spec *s = t->s;
	const struct hone_model *m = model_of(t);

	samples_read(&t->samples, s->data, s->labels, t->a);
	samples_fit(&t->samples.x, s->data, &m->inputs[t->data], t->a);
	samples_fit(&t->samples.y, s->labels, &m->inputs[t->labels], t->a);
	if (!strcmp(s->loss, "ce"))
		samples_classes(&t->samples, m->outputs[t->y].shape[1]);
	t->held = s->judge ? (int64_t)(s->validate * (double)t->samples.count) : 0;
	t->trained = t->samples.count - t->held;
	if (s->judge && !t->held)
		die(EX_BADDATA, "%s: of %lld samples none is held out", s->data, (long long)t->samples.count);
	if (t->trained < t->batch)
		die(EX_BADDATA, "%s: %lld samples to train with, fewer than a batch of %lld", s->data, (long long)t->trained,
		    (long long)t->batch);
	t->a_epoch = t->trained / t->batch;
}

static void *room(struct training *t, const struct hone_tensor *x) { return (void *)library_tensor(x, t->a)->data; }

static void make_rooms(struct training *t)
{
	const struct hone_model *m = model_of(t);

	t->in = ARENA_ARRAY(t->a, const void *, m->num_inputs + 1);
	t->out = ARENA_ARRAY(t->a, void *, m->num_outputs + 1);
	t->state = ARENA_ARRAY(t->a, struct tensor *, m->num_states + 1);
	t->best = ARENA_ARRAY(t->a, struct tensor *, m->num_states + 1);
	t->in[t->data] = room(t, &m->inputs[t->data]);
	t->in[t->labels] = room(t, &m->inputs[t->labels]);
	t->out[t->loss] = room(t, &m->outputs[t->loss]);
	t->out[t->y] = room(t, &m->outputs[t->y]);
	for (int i = 0; i < m->num_states; i++)
		t->state[i] = library_tensor(&m->inputs[m->states[i].input], t->a);
}

/* ---- samples ---- */

/* Which samples are held out is said by the seed alone, and is the same in every epoch. */
static int64_t sample_trained(const struct training *t, uint64_t epoch, int64_t i)
{
	uint64_t at = shuffled((uint64_t)i, (uint64_t)t->trained, t->s->seed * 0x9e3779b97f4a7c15u + epoch + 1);

	return t->held ? (int64_t)shuffled(at, (uint64_t)t->samples.count, t->s->seed) : (int64_t)at;
}

static int64_t sample_held(const struct training *t, int64_t i)
{
	return (int64_t)shuffled((uint64_t)(t->trained + i), (uint64_t)t->samples.count, t->s->seed);
}

static void put_sample(struct training *t, int64_t i, int64_t k)
{
	sample_put(t->samples.x, i, (void *)t->in[t->data], k);
	sample_put(t->samples.y, i, (void *)t->in[t->labels], k);
}

/* ---- one step ---- */

static double number_of(const struct training *t)
{
	struct tensor x = {.dtype = tensor_dtype(&model_of(t)->outputs[t->loss]), .data = t->out[t->loss]};

	return tensor_get(&x, 0);
}

static void step(struct training *t, struct judgement *sum)
{
	const struct hone_model *m = model_of(t);
	uint64_t epoch = t->done / (uint64_t)t->a_epoch;
	int64_t first = (int64_t)(t->done % (uint64_t)t->a_epoch) * t->batch;
	bool last = (int64_t)(t->done % (uint64_t)t->a_epoch) == t->a_epoch - 1;

	for (int64_t k = 0; k < t->batch; k++)
		put_sample(t, sample_trained(t, epoch, first + k), k);
	for (int i = 0; i < m->num_states; i++)
		t->out[m->states[i].output] = last ? (void *)t->state[i]->data : NULL;
	if (m->run(t->step->handle, t->in, t->out))
		die(EX_BADDATA, "%s: step %llu: %s", t->step->path, (unsigned long long)t->done + 1, m->error());
	for (int i = 0; i < m->num_states; i++)
		t->in[m->states[i].input] = NULL;
	t->done++;
	double loss = number_of(t);
	if (!isfinite(loss))
		die(EX_BADDATA, "the loss of step %llu is %s; a smaller rate may help", (unsigned long long)t->done,
		    isnan(loss) ? "NaN" : "infinite");
	struct judgement of_batch = {0};
	judge_add(&of_batch, t->s->loss, &m->outputs[t->y], t->out[t->y], &m->inputs[t->labels], t->in[t->labels], t->batch);
	sum->loss += loss;
	sum->right += of_batch.right / (double)t->batch;
}

/* ---- what was held out ---- */

static int judge_input(const struct training *t, const char *name)
{
	const struct hone_model *m = t->judge.model;

	for (int i = 0; i < m->num_inputs; i++)
		if (!strcmp(m->inputs[i].name, name))
			return i;
	return -1;
}

static struct judgement judge(struct training *t)
{
	const struct hone_model *m = model_of(t), *j = t->judge.model;
	const void **in = xcalloc((size_t)j->num_inputs + 1, sizeof *in);
	void **out = xcalloc((size_t)j->num_outputs + 1, sizeof *out);
	struct judgement sum = {0};
	int data = judge_input(t, m->inputs[t->data].name), labels = judge_input(t, "labels");

	if (data < 0 || j->num_outputs != 1 || j->run_values)
		die(EX_BADDATA, "%s: it does not judge %s", t->judge.path, t->step->path);
	in[data] = t->in[t->data];
	if (labels >= 0)
		in[labels] = t->in[t->labels];
	out[0] = t->out[t->y];
	for (int i = 0; i < m->num_states; i++) {
		int to = judge_input(t, m->inputs[m->states[i].input].name);
		if (to >= 0)
			in[to] = t->state[i]->data;
	}
	for (int64_t at = 0; at < t->held; at += t->batch) {
		int64_t n = t->held - at < t->batch ? t->held - at : t->batch;
		for (int64_t k = 0; k < t->batch; k++)
			put_sample(t, sample_held(t, at + (k < n ? k : 0)), k);
		if (j->run(t->judge.handle, in, out))
			die(EX_BADDATA, "%s: %s", t->judge.path, j->error());
		judge_add(&sum, t->s->loss, &m->outputs[t->y], out[0], &m->inputs[t->labels], t->in[t->labels], n);
	}
	free(in);
	free(out);
	return (struct judgement){sum.loss / (double)t->held, sum.right / (double)t->held};
}

static bool is_better(struct judgement a, struct judgement b)
{
	return a.right != b.right && a.right == a.right ? a.right > b.right : a.loss < b.loss;
}

static void keep_best(struct training *t, struct judgement is)
{
	const struct hone_model *m = model_of(t);

	t->best_is = is;
	for (int i = 0; i < m->num_states; i++) {
		if (judge_input(t, m->inputs[m->states[i].input].name) < 0)
			continue;
		if (!t->best[i])
			t->best[i] = library_tensor(&m->inputs[m->states[i].input], t->a);
		memcpy((void *)t->best[i]->data, t->state[i]->data, t->state[i]->nbytes);
	}
}

/* ---- checkpoints ---- */

/* All that says what the next step computes, but for the states: a training of another kind does not go on from here. */
static struct tensor *kind_of(struct training *t)
{
	const struct hone_model *m = model_of(t);
	struct digest_state *d = digest_new();
	struct digest of_x = tensor_digest(NULL, t->samples.x), of_y = tensor_digest(NULL, t->samples.y);
	uint64_t numbers[] = {t->s->seed, (uint64_t)t->batch, (uint64_t)t->held, of_x.hi, of_x.lo, of_y.hi, of_y.lo, m->weights_bytes};
	struct tensor *kind = tensor_new(t->a, DT_U64, 1, (int64_t[]){2});

	digest_add(d, numbers, sizeof numbers);
	digest_add(d, t->s->loss, strlen(t->s->loss));
	for (int i = 0; i < m->num_states; i++) {
		const struct hone_tensor *x = &m->inputs[m->states[i].input];
		digest_add(d, x->name, strlen(x->name) + 1);
		digest_add(d, &t->state[i]->nbytes, sizeof t->state[i]->nbytes);
		const void *first = m->preset(t->step->handle, m->states[i].input);
		if (first)
			digest_add(d, first, t->state[i]->nbytes);
	}
	for (int i = 0; i < m->num_steps; i++)
		digest_add(d, m->steps[i].ops, strlen(m->steps[i].ops) + 1);
	struct digest all = digest_end(d);
	((uint64_t *)kind->data)[0] = all.hi;
	((uint64_t *)kind->data)[1] = all.lo;
	return kind;
}

static struct tensor *numbers_of(struct training *t)
{
	struct tensor *n = tensor_new(t->a, DT_F64, 1, (int64_t[]){3});

	tensor_set(n, 0, (double)t->done);
	tensor_set(n, 1, t->best_is.loss);
	tensor_set(n, 2, t->best_is.right);
	return n;
}

/* The tensors of a checkpoint, by names that no model has: each state, the best of it, and two more. */
static int checkpoint_parts(struct training *t, struct named_tensor *p)
{
	const struct hone_model *m = model_of(t);
	int n = 0;

	for (int i = 0; i < m->num_states; i++)
		p[n++] = (struct named_tensor){arena_printf(t->a, "state/%d", i), t->state[i]};
	for (int i = 0; i < m->num_states; i++)
		if (t->best[i])
			p[n++] = (struct named_tensor){arena_printf(t->a, "best/%d", i), t->best[i]};
	return n;
}

static void checkpoint_write(struct training *t)
{
	struct named_tensor *p = ARENA_ARRAY(t->a, struct named_tensor, 2 * model_of(t)->num_states + 2);
	int n = checkpoint_parts(t, p);

	p[n++] = (struct named_tensor){arena_str(t->a, "kind"), kind_of(t)};
	p[n++] = (struct named_tensor){arena_str(t->a, "numbers"), numbers_of(t)};
	npz_write(t->s->checkpoint, n, p);
}

static struct tensor *part_named(const struct named_tensor *p, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(p[i].name, name))
			return p[i].t;
	return NULL;
}

static void checkpoint_read(struct training *t)
{
	const struct hone_model *m = model_of(t);
	const char *path = t->s->checkpoint;
	struct named_tensor *p;
	int n = npz_read(path, t->a, &p);
	struct tensor *kind = part_named(p, n, "kind"), *numbers = part_named(p, n, "numbers");

	if (!kind || !numbers || numbers->dtype != DT_F64 || numbers->nbytes != 3 * sizeof(double))
		die(EX_BADDATA, "%s: no checkpoint", path);
	if (!tensor_like(kind, kind_of(t)) || memcmp(kind->data, kind_of(t)->data, kind->nbytes))
		die(EX_BADDATA, "%s: a checkpoint of another training: of another model, other data or options", path);
	for (int i = 0; i < m->num_states; i++) {
		struct tensor *s = part_named(p, n, arena_printf(t->a, "state/%d", i));
		struct tensor *b = part_named(p, n, arena_printf(t->a, "best/%d", i));
		if (!s || !tensor_like(s, t->state[i]) || (b && !tensor_like(b, t->state[i])))
			die(EX_BADDATA, "%s: the checkpoint lacks a state", path);
		t->state[i] = s;
		t->best[i] = b;
		t->in[m->states[i].input] = s->data;
	}
	t->done = (uint64_t)tensor_get(numbers, 0);
	t->best_is = (struct judgement){tensor_get(numbers, 1), tensor_get(numbers, 2)};
}

/* ---- all of it ---- */

static void tell(const struct training *t, const struct judgement *trained, const struct judgement *held)
{
	uint64_t epoch = t->done / (uint64_t)t->a_epoch;

	fprintf(stderr, "run-dev: epoch %llu of %llu: loss %.4f", (unsigned long long)epoch, (unsigned long long)t->s->epochs,
		trained->loss);
	if (trained->right == trained->right)
		fprintf(stderr, ", %.2f%% right", 100 * trained->right);
	if (t->held)
		fprintf(stderr, "; held out: loss %.4f", held->loss);
	if (t->held && held->right == held->right)
		fprintf(stderr, ", %.2f%% right", 100 * held->right);
	fputc('\n', stderr);
}

static void epoch(struct training *t, struct progress *p)
{
	struct judgement sum = {0}, held = {0};

	do {
		step(t, &sum);
		progress_step(p, NULL);
	} while (t->done % (uint64_t)t->a_epoch);
	sum.loss /= (double)t->a_epoch;
	sum.right /= (double)t->a_epoch;
	if (t->held) {
		held = judge(t);
		if (is_better(held, t->best_is))
			keep_best(t, held);
	}
	if (t->s->checkpoint)
		checkpoint_write(t);
	if (!msg_quiet) {
		progress_end(p);
		tell(t, &sum, &held);
	}
}

int train(struct library *step_library, const struct train_spec *s, struct named_tensor **out, struct arena *a)
{
	struct training t = {.s = s, .step = step_library, .a = a, .best_is = {INFINITY, -1}};
	const struct hone_model *m = step_library->model;
	struct progress p;
	double begun = now_seconds();

	find_parts(&t);
	read_samples(&t);
	make_rooms(&t);
	if (s->judge)
		library_open(&t.judge, s->judge, NULL, 0);
	if (s->checkpoint && !access(s->checkpoint, F_OK))
		checkpoint_read(&t);
	uint64_t all = s->epochs * (uint64_t)t.a_epoch;
	progress_start(&p, "train", all);
	for (uint64_t i = 0; i < t.done; i++)
		progress_step(&p, NULL);
	while (t.done < all && !(s->seconds > 0 && now_seconds() - begun > s->seconds))
		epoch(&t, &p);
	progress_end(&p);
	*out = ARENA_ARRAY(a, struct named_tensor, m->num_states + 1);
	for (int i = 0; i < m->num_states; i++)
		(*out)[i] = (struct named_tensor){arena_str(a, m->inputs[m->states[i].input].name), t.best[i] ? t.best[i] : t.state[i]};
	if (s->judge)
		library_close(&t.judge);
	return m->num_states;
}
