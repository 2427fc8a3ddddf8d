/* fail LIBRARY.so RUNS: steps at random of a library that keeps states, of which some fail, behind a handle of the same library that only
 * gets those that do not: the same numbers, whoever gave or kept the states, saved, loaded and reset between. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "op/hone_value.h"
#include "runner/model_abi.h"

enum { MOST = 16, ROOM = 1 << 14 };
static const struct hone_model *m;
static void *handle[2]; /* one that fails at times, one that does not */
static struct hone_value in[MOST], out[2][MOST];
static int64_t shape[MOST][8];
static char data[MOST][ROOM], copy[MOST][ROOM];
static int is_state[MOST], next_of[MOST];
static uint32_t seed = 1;

static uint32_t draw(uint32_t n) { return (seed = seed * 1664525u + 1013904223u) >> 8, (seed >> 8) % n; }

static void need(int good, const char *what)
{
	if (good)
		return;
	printf("%s: %s\n", what, m->error());
	exit(1);
}

static int is_float(const struct hone_tensor *t) { return !strcmp(t->type, "f32"); }

static size_t count(const struct hone_value *v)
{
	size_t n = 1;
	for (int k = 0; k < v->rank; k++)
		n *= (size_t)v->shape[k];
	return n;
}

/* Inputs that work, of this batch. Small whole numbers: sums are exact. */
static void fill(int i, int batch, int past)
{
	const struct hone_tensor *t = &m->inputs[i];

	in[i] = (struct hone_value){is_float(t) ? 1 : 7, t->rank, shape[i], data[i]};
	for (int k = 0; k < t->rank; k++)
		shape[i][k] = t->shape[k] >= 0 ? t->shape[k] : strcmp(t->symbol[k], "past") ? batch : past;
	for (size_t k = 0; k < count(&in[i]); k++)
		if (is_float(t))
			((float *)data[i])[k] = (float)draw(8);
		else
			((int64_t *)data[i])[k] = draw(4);
}

static int run(int w)
{
	const void *given[MOST];
	static char made[2][MOST][ROOM];
	void *to[MOST];

	if (m->run_values)
		return m->run_values(handle[w], in, out[w], NULL);
	for (int i = 0; i < m->num_inputs; i++)
		given[i] = in[i].type ? in[i].data : NULL;
	for (int k = 0; k < m->num_outputs; k++) {
		to[k] = made[w][k];
		out[w][k] = (struct hone_value){is_float(&m->outputs[k]) ? 1 : 7, m->outputs[k].rank, (const int64_t *)m->outputs[k].shape,
						to[k]};
	}
	return m->run(handle[w], given, to);
}

/* What is wrong with the next run; states are given in some. */
static void spoil(void)
{
	for (int i = 0; i < m->num_inputs; i++) {
		if (is_state[i] || strcmp(m->inputs[i].name, draw(2) ? "idx" : "at"))
			continue;
		((int64_t *)data[i])[count(&in[i]) - 1] = draw(2) ? 99 : -99;
	}
	if (m->run_values && !draw(4))
		shape[0][0] += 1;
	if (m->run_values && !draw(4))
		for (int i = 0; i < m->num_inputs; i++)
			if (is_state[i] && in[i].type && in[i].rank > 1 && !draw(2))
				shape[i][in[i].rank - 1] += 1;
}

static void compare(int step)
{
	for (int k = 0; k < m->num_outputs; k++) {
		for (int w = 0; w < 2 && m->value && next_of[k]; w++)
			need(!m->value(handle[w], k, &out[w][k]), "value");
		const struct hone_value *a = &out[0][k], *b = &out[1][k];
		size_t n = count(a) * (is_float(&m->outputs[k]) ? 4 : 8);
		if (a->rank != b->rank || memcmp(a->shape, b->shape, (size_t)a->rank * 8) || memcmp(a->data, b->data, n)) {
			printf("step %d: output %s differs\n", step, m->outputs[k].name);
			exit(1);
		}
	}
}

static void saved_alike(int step)
{
	static char a[1 << 20], b[1 << 20];
	FILE *f;
	size_t n, l;

	need(!m->save(handle[0], "fail.a") && !m->save(handle[1], "fail.b"), "save");
	n = fread(a, 1, sizeof a, f = fopen("fail.a", "rb")), fclose(f);
	l = fread(b, 1, sizeof b, f = fopen("fail.b", "rb")), fclose(f);
	if (n != l || memcmp(a, b, n)) {
		printf("step %d: the states differ\n", step);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	void *so = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	int batch = 2, failed = 0, gave = 0;

	m = so ? dlsym(so, "hone_model") : NULL;
	if (!m || argc < 3)
		return puts(m ? "RUNS" : dlerror()), 1;
	for (int w = 0; w < 2; w++)
		need((handle[w] = m->open("", NULL)) != NULL, "open");
	for (int s = 0; s < m->num_states; s++)
		is_state[m->states[s].input] = next_of[m->states[s].output] = 1;
	for (int step = 0; step < atoi(argv[2]); step++) {
		int bad = !draw(3), give = !draw(4), past = (int)draw(6);
		if (!draw(20)) { /* another batch begins anew */
			batch = 1 + (int)draw(3);
			need(!m->reset(handle[0]) && !m->reset(handle[1]), "reset");
		}
		for (int i = 0; i < m->num_inputs; i++) {
			fill(i, batch, past);
			in[i].type = is_state[i] && !(give && draw(2)) ? 0 : in[i].type;
			gave += is_state[i] && in[i].type;
		}
		if (bad) {
			memcpy(copy, data, sizeof data);
			spoil();
			failed += bad = run(0) != 0;
			if (!bad) /* it was none */
				need(!run(1), "run");
			else
				saved_alike(step);
			continue;
		}
		for (int w = 0; w < 2; w++)
			need(!run(w), "run");
		compare(step);
		if (!draw(10)) {
			saved_alike(step);
			need(!m->load(handle[draw(2)], "fail.a"), "load");
		}
	}
	for (int w = 0; w < 2; w++)
		m->close(handle[w]);
	printf("%d of %s runs failed, %d states given\n", failed, argv[2], gave);
	return failed < 10 || gave < 10;
}
