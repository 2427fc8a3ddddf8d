/* open PLAIN.so KEPT.so FIRST SIZE [FILE...]: steps of a library whose caller carries its states, and of one that keeps them, saved, loaded and reset
 * between: the same numbers. FIRST, SIZE: open sizes of states at first, and of other inputs; BEFORE in the environment: those that another
 * caller had before. Files of states that are refused. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "op/hone_value.h"
#include "runner/model_abi.h"

#ifndef STEPS /* more than 400: the state is saved then */
#define STEPS 1000
#endif
enum { MOST = 64 };
static const struct hone_model *model[2]; /* one that does not keep states, one that does */
static void *handle[2];
static struct hone_value in[MOST], out[2][MOST];
static float x[MOST][4096];
static int64_t shape[MOST][8];
static int state_of[MOST]; /* input -> output + 1 */

static void need(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s; %s; %s\n", what, model[0]->error(), model[1]->error());
	exit(1);
}

static void *open_model(int w, const char *path)
{
	char text[200];
	snprintf(text, sizeof text, "./%s", path);
	void *so = dlopen(text, RTLD_NOW | RTLD_LOCAL);
	model[w] = so ? dlsym(so, "hone_model") : NULL;
	if (!model[w])
		exit(puts(dlerror()));
	snprintf(text, sizeof text, "%.*s.weights", (int)strlen(path) - 3, path);
	return model[w]->open(text, NULL);
}

static size_t bytes(const struct hone_value *v, size_t element)
{
	size_t n = element;
	for (int k = 0; k < v->rank; k++)
		n *= (size_t)v->shape[k];
	return n;
}

static size_t element(const char *type) { return strstr(type, "64") ? 8 : 4; }

/* Inputs of a step: states as they are carried, or not given; open sizes of the others are `size`. Elements have few bits: sums of
 * 1,000 rows of them are exact, whatever their order. */
static void draw(int w, int step, int size)
{
	for (int i = 0; i < model[w]->num_inputs; i++) {
		const struct hone_tensor *t = &model[w]->inputs[i];
		unsigned r = (unsigned)(step * 7919 + i * 104729 + 1);
		if (state_of[i] && w)
			in[i].type = 0;
		if (state_of[i])
			continue;
		in[i] = (struct hone_value){1, t->rank, shape[i], x[i]};
		for (int k = 0; k < t->rank; k++)
			shape[i][k] = t->shape[k] >= 0 ? t->shape[k] : !strcmp(t->symbol[k], "sequence") ? 576 : size;
		for (size_t k = 0; k < bytes(&in[i], 4) / 4; k++) {
			r = r * 1664525u + 1013904223u;
			x[i][k] = (float)(r >> 26) / 32 - 1;
		}
	}
}

/* Outputs may be where inputs are, which go. */
static void copy_outputs(void)
{
	static void *copy[MOST];
	for (int o = 0; o < model[0]->num_outputs; o++) {
		size_t n = bytes(&out[0][o], element(model[0]->outputs[o].type));
		free(copy[o]);
		out[0][o].data = copy[o] = memcpy(malloc(n + 1), out[0][o].data, n);
	}
}

/* The outputs of the one that carries become its next states. */
static void carry(void)
{
	for (int i = 0; i < model[0]->num_inputs; i++) {
		if (!state_of[i])
			continue;
		const struct hone_value *v = &out[0][state_of[i] - 1];
		size_t n = bytes(v, element(model[0]->inputs[i].type));
		free(in[i].data);
		memcpy(shape[i], v->shape, (size_t)v->rank * sizeof *v->shape);
		in[i] = (struct hone_value){v->type, v->rank, shape[i], memcpy(malloc(n + 1), v->data, n)};
	}
}

/* A library of known sizes takes no values. */
static int run(int w)
{
	const struct hone_model *m = model[w];
	static void *made[2][MOST];
	const void *given[MOST];

	if (m->run_values)
		return m->run_values(handle[w], in, out[w], NULL);
	for (int i = 0; i < m->num_inputs; i++)
		given[i] = in[i].type ? in[i].data : NULL;
	for (int o = 0; o < m->num_outputs; o++) {
		if (!made[w][o])
			made[w][o] = malloc(m->outputs[o].bytes + 64);
		out[w][o] = (struct hone_value){strcmp(m->outputs[o].type, "i64") ? 1 : 7, m->outputs[o].rank,
						(const int64_t *)m->outputs[o].shape, made[w][o]};
	}
	return m->run(handle[w], given, made[w]);
}

/* States that grow are given when they are asked for. */
static void ask(int w)
{
	for (int s = 0; s < model[w]->num_states && model[w]->value; s++) {
		int o = model[w]->states[s].output;
		need(!model[w]->value(handle[w], o, &out[w][o]), "value");
	}
}

static void compare(const char *what, int step)
{
	for (int o = 0; o < model[0]->num_outputs; o++) {
		const struct hone_value *a = &out[0][o], *b = &out[1][o];
		size_t n = bytes(a, element(model[0]->outputs[o].type));
		if (a->rank != b->rank || memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) || memcmp(a->data, b->data, n)) {
			fprintf(stderr, "%s: step %d: output %s differs\n", what, step, model[0]->outputs[o].name);
			exit(1);
		}
	}
}

/* A caller before, with another open size: what it gives is no number. Nothing of it is left after a reset, in no padding either. */
static void other_caller(int size)
{
	for (int step = 0; step < 60; step++) {
		draw(1, step, size);
		for (int i = 0; i < model[1]->num_inputs; i++)
			for (size_t k = 0; in[i].type == 1 && k < bytes(&in[i], 4) / 4; k++)
				x[i][k] = __builtin_nanf("");
		(void)run(1); /* a run may be refused */
	}
	need(!model[1]->reset(handle[1]), "reset");
}

/* first: sizes of the states at first, where they are open. */
int main(int argc, char **argv)
{
	int first = atoi(argv[3]), size = atoi(argv[4]), saved = 0;
	handle[0] = open_model(0, argv[1]);
	handle[1] = open_model(1, argv[2]);
	need(handle[0] && handle[1], "open");
	for (int s = 0; s < model[1]->num_states; s++)
		state_of[model[1]->states[s].input] = model[1]->states[s].output + 1;
	other_caller(getenv("BEFORE") ? atoi(getenv("BEFORE")) : size);
	for (int begin = 0; begin < 2; begin++) { /* the second time behind a reset */
		for (int i = 0; i < model[0]->num_inputs; i++)
			if (state_of[i]) {
				const struct hone_tensor *t = &model[0]->inputs[i];
				for (int k = 0; k < t->rank; k++)
					shape[i][k] = t->shape[k] >= 0 ? t->shape[k] : !strcmp(t->symbol[k], "batch") ? size : first;
				free(in[i].data);
				in[i] = (struct hone_value){!strcmp(t->type, "i64") ? 7 : 1, t->rank, shape[i], calloc(1, 1 << 20)};
			}
		for (int step = 0; step < (begin ? 20 : STEPS); step++) {
			draw(0, step, size);
			need(!run(0), "carried");
			ask(0);
			copy_outputs();
			carry();
			struct hone_value kept[MOST];
			memcpy(kept, in, sizeof in);
			draw(1, step, size);
			need(!run(1), "kept");
			memcpy(in, kept, sizeof in);
			ask(1);
			compare("kept", step);
			if (step == 400) {
				need(!model[1]->save(handle[1], "open400"), "save");
				need(!model[1]->reset(handle[1]), "reset");
				struct hone_value last[MOST];
				memcpy(last, in, sizeof in);
				draw(1, 3, size);
				need(!run(1), "reset");
				memcpy(in, last, sizeof in);
				model[1]->close(handle[1]);
				handle[1] = open_model(1, argv[2]);
				need(!model[1]->load(handle[1], "open400"), "load");
				saved = 1;
			}
		}
		need(!model[1]->reset(handle[1]), "reset");
	}
	for (int bad = 5; bad < argc; bad++)
		need(model[1]->load(handle[1], argv[bad]) == -1, argv[bad]);
	model[0]->close(handle[0]);
	model[1]->close(handle[1]);
	return !saved;
}
