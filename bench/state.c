/* state PLAIN.so KEPT.so: microseconds of a step of a model with state, by a caller who carries it and exchanges pointers, and by a library
 * that keeps it (ge-plan --alias), and the bytes of states that a step of that one writes. Both are of one model; PLAIN was built without
 * --alias. Open sizes are 1, those of states 0 at first, and the caller copies what he carries. tests/model/state_models.py makes decoders:
 *   hone build tensor.onnx -o plain; hone build tensor.onnx --alias k0=k0_next ... -o kept; state ./plain.so ./kept.so */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/progress.h"
#include "common/sorted.h"
#include "op/hone_value.h"
#include "runner/model_abi.h"

enum { STEPS = 1000, ROUNDS = 3, MOST = 64 };

static const struct hone_model *model[2];
static void *handle[2];
static double moved; /* bytes of states, of all steps of the second one */

static int open_model(int w, const char *path)
{
	char weights[4096];
	void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	model[w] = so ? dlsym(so, "hone_model") : NULL;
	if (!model[w] || model[w]->abi != HONE_MODEL_ABI || model[w]->num_inputs > MOST || model[w]->num_outputs > MOST)
		return fprintf(stderr, "%s: no library of this version\n", path), -1;
	snprintf(weights, sizeof weights, "%.*s.weights", (int)strlen(path) - 3, path);
	handle[w] = model[w]->open(weights, NULL);
	return handle[w] ? 0 : (fprintf(stderr, "%s\n", model[w]->error()), -1);
}

/* STEPS runs from a fresh state; their seconds. */
static int steps(int w, double *seconds)
{
	const struct hone_model *m = model[w];
	void *in[MOST], *out[MOST];

	for (int i = 0; i < m->num_inputs; i++)
		in[i] = calloc(1, m->inputs[i].bytes + 64);
	for (int k = 0; k < m->num_outputs; k++)
		out[k] = calloc(1, m->outputs[k].bytes + 64);
	for (int i = 0; w && i < m->num_states; i++)
		in[m->states[i].input] = out[m->states[i].output] = NULL;
	if (w && m->reset(handle[w]))
		return -1;
	for (int s = 0; s < STEPS; s++) {
		double start = now_seconds();
		if (m->run(handle[w], (const void *const *)in, out))
			return -1;
		for (int i = 0; !w && i < model[1]->num_states; i++) {
			const struct hone_state *x = &model[1]->states[i];
			void *next = out[x->output];
			out[x->output] = in[x->input];
			in[x->input] = next;
		}
		seconds[s] = now_seconds() - start;
		moved += w ? (double)model[1]->moved(handle[1]) : 0;
	}
	return 0;
}

static size_t value_bytes(const struct hone_value *v, const char *type)
{
	size_t n = strstr(type, "64") ? 8 : 4;

	for (int k = 0; k < v->rank; k++)
		n *= (size_t)v->shape[k];
	return n;
}

/* The same of a model of open sizes. */
static int steps_open(int w, double *seconds)
{
	static int64_t shape[MOST][16];
	static char room[MOST][1 << 20];
	const struct hone_model *m = model[w];
	struct hone_value in[MOST], out[MOST];
	bool state[MOST] = {false};

	for (int i = 0; i < model[1]->num_states; i++)
		state[model[1]->states[i].input] = true;
	for (int i = 0; i < m->num_inputs; i++) {
		const struct hone_tensor *t = &m->inputs[i];
		for (int k = 0; k < t->rank; k++)
			shape[i][k] = t->shape[k] >= 0 ? t->shape[k] : !state[i] || !strcmp(t->symbol[k], "batch");
		memset(room[i], 0, sizeof room[i]);
		in[i] = (struct hone_value){strcmp(t->type, "i64") ? 1 : 7, t->rank, shape[i], room[i]};
		if (w && state[i])
			in[i].type = 0;
	}
	if (w && m->reset(handle[w]))
		return -1;
	for (int s = 0; s < STEPS; s++) {
		double start = now_seconds();
		if (m->run_values(handle[w], in, out, NULL))
			return -1;
		for (int i = 0; !w && i < model[1]->num_states; i++) {
			const struct hone_state *x = &model[1]->states[i];
			size_t n = value_bytes(&out[x->output], m->inputs[x->input].type);
			if (n > sizeof room[0])
				return -1;
			memcpy(room[x->input], out[x->output].data, n);
			memcpy(shape[x->input], out[x->output].shape, (size_t)out[x->output].rank * sizeof(int64_t));
		}
		seconds[s] = now_seconds() - start;
		moved += w ? (double)m->moved(handle[w]) : 0;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static double seconds[2][ROUNDS * STEPS];

	if (argc != 3 || open_model(0, argv[1]) || open_model(1, argv[2]))
		return 1;
	for (int round = 0; round < ROUNDS; round++)
		for (int w = 0; w < 2; w++)
			if ((model[w]->run_values ? steps_open : steps)(w, seconds[w] + round * STEPS))
				return fprintf(stderr, "%s\n", model[w]->error()), 1;
	for (int w = 0; w < 2; w++) {
		qsort(seconds[w], ROUNDS * STEPS, sizeof(double), ascending);
		printf("%s: median %.1f us a step\n", w ? "kept by the library" : "carried by the caller",
		       1e6 * sorted_median(seconds[w], ROUNDS * STEPS));
	}
	printf("bytes of states that a step wrote: %.0f on average\n", moved / (ROUNDS * STEPS));
	return 0;
}
