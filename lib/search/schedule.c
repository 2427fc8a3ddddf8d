/* Task schedulers: where in a model the next batch of trials is spent. */
#include <math.h>
#include <string.h>
#include "search/search.h"

/* Share of a kernel's time that trials beyond n still save, as seen on matrix products and convolutions. */
static double still_to_win(size_t n) { return 0.2 * pow((double)n + 1, -0.66); }

/* The time of the model that the next batch should save: the mean of what searches usually save and of what this one expects. Tasks that
 * were not timed go first. */
static double gain(const struct task_state *t, size_t batch)
{
	double share = still_to_win(t->trials) - still_to_win(t->trials + batch);

	if (!(t->seconds > 0))
		return INFINITY;
	return t->calls * t->seconds * (t->outlook.expects > 0 ? sqrt(share * t->outlook.expects) : share);
}

static double round_robin(const struct task_state *t, size_t batch)
{
	(void)batch;
	return -(double)t->trials;
}

const struct task_scheduler task_schedulers[] = {
	{"gain", "the task of which the next trials should win the model most time; every other is each in turn", gain, 2},
	{"round", "each task in turn", round_robin, 0},
	{0},
};

/* Expected savings are guesses, most of all for tasks with few trials; and a task that is cheap in this model may matter in another. */
static bool is_even(const struct task_scheduler *s, const struct task_state *t, int n, size_t batch)
{
	size_t trials = 0;

	for (int i = 0; i < n; i++)
		trials += t[i].trials;
	return s->even && trials / batch % s->even == s->even - 1;
}

int schedule_next(const struct task_scheduler *s, const struct task_state *t, int n, size_t batch)
{
	bool open = false, unsettled = false, even = is_even(s, t, n, batch);
	int best = -1;
	double worth = 0;

	for (int i = 0; i < n; i++) {
		open |= !t[i].done && !t[i].outlook.converged;
		unsettled |= !t[i].done && !t[i].busy && !t[i].outlook.settled;
	}
	for (int i = 0; i < n; i++) {
		if (t[i].done || t[i].busy || (t[i].outlook.converged && open) || (even && unsettled && t[i].outlook.settled))
			continue;
		double w = (even ? round_robin : s->worth)(&t[i], batch);
		if (best < 0 || w > worth) {
			best = i;
			worth = w;
		}
	}
	return best;
}

const struct task_scheduler *task_scheduler_find(const char *name)
{
	for (const struct task_scheduler *s = task_schedulers; s->name; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}
