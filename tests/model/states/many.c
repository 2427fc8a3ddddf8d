/* many LIBRARY.so: handles of a library that keeps states, one a thread, at once; and children of a fork that go on with one, while the
 * parent's keeps its own states. Both save to one file at once: it is whole. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runner/model_abi.h"

enum { MOST = 16, THREADS = 4, STEPS = 200 };
static const struct hone_model *m;
static size_t total;

static void need(int good, const char *what)
{
	if (good)
		return;
	printf("%s: %s\n", what, m->error());
	exit(1);
}

/* Step number `step` of handle number `of`; what it gives goes to `to`, of `total` bytes. */
static void step(void *h, int of, int step, char *to)
{
	static __thread char data[MOST][1 << 12];
	const void *in[MOST] = {0};
	void *out[MOST];
	int state[MOST] = {0};

	for (int s = 0; s < m->num_states; s++)
		state[m->states[s].input] = 1;
	for (int i = 0; i < m->num_inputs; i++) {
		for (size_t k = 0; k < m->inputs[i].bytes / 4 && !state[i]; k++)
			if (!strcmp(m->inputs[i].type, "f32"))
				((float *)data[i])[k] = (float)((of * 31 + step * 7 + (int)k) % 9);
			else
				((int32_t *)data[i])[k] = k % 2 ? 0 : (of + step) % 4;
		in[i] = state[i] ? NULL : data[i];
	}
	for (int k = 0; k < m->num_outputs; k++, to += m->outputs[k - 1].bytes)
		out[k] = to;
	need(!m->run(h, in, out), "run");
}

static void *steps(void *arg)
{
	int of = (int)(intptr_t)arg;
	char *made = calloc(STEPS, total);
	void *h = m->open("", NULL);

	need(h != NULL, "open");
	for (int s = 0; s < STEPS; s++)
		step(h, of, s, made + (size_t)s * total);
	m->close(h);
	return made;
}

static int forked(char *const *want)
{
	void *h = m->open("", NULL);
	char *made = calloc(1, total);
	int status, bad = 0;

	for (int s = 0; s < 10; s++)
		step(h, 0, s, made);
	for (int child = 0; child < 3; child++) {
		pid_t pid = fork();
		int other = !pid;
		for (int s = 10 + 5 * child; s < 15 + 5 * child; s++) {
			step(h, 0, s, made);
			bad |= memcmp(made, want[0] + (size_t)s * total, total) != 0;
			need(!m->save(h, "both"), "save");
		}
		if (other) {
			need(!m->load(h, "both"), "load");
			m->close(h);
			_exit(bad);
		}
		bad |= waitpid(pid, &status, 0) != pid || status;
		need(!m->load(h, "both"), "load");
	}
	m->close(h);
	return bad;
}

int main(int argc, char **argv)
{
	void *so = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	pthread_t t[THREADS];
	char *want[THREADS];
	void *made;
	int bad = 0;

	m = so && argc > 1 ? dlsym(so, "hone_model") : NULL;
	if (!m)
		return puts(dlerror()), 1;
	for (int k = 0; k < m->num_outputs; k++)
		total += m->outputs[k].bytes;
	for (int i = 0; i < THREADS; i++)
		want[i] = steps((void *)(intptr_t)i);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, steps, (void *)(intptr_t)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &made);
		bad |= memcmp(made, want[i], STEPS * total) != 0;
		free(made);
	}
	m->close(NULL);
	bad |= forked(want) << 1;
	printf("%s%s\n", bad & 1 ? "threads differ " : "", bad & 2 ? "children differ" : "");
	return bad;
}
