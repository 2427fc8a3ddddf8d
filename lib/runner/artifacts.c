/* What the service keeps: tasks, their constants, and the artifacts used last. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runner/job.h"

struct serve_task *serve_find_task(struct service *s, struct digest d)
{
	for (size_t i = 0; i < s->tasks.n; i++)
		if (digest_eq(s->tasks.a[i]->digest, d))
			return s->tasks.a[i];
	return NULL;
}

struct serve_artifact *serve_find_artifact(struct service *s, struct digest d)
{
	for (size_t i = 0; i < s->artifacts.n; i++)
		if (digest_eq(s->artifacts.a[i]->digest, d)) {
			s->artifacts.a[i]->used = ++s->uses;
			return s->artifacts.a[i];
		}
	return NULL;
}

const struct serve_constants *serve_find_constants(const struct serve_task *t, const char *algo)
{
	for (size_t i = 0; i < t->constants.n; i++)
		if (!strcmp(t->constants.a[i].algo, algo ? algo : ""))
			return &t->constants.a[i];
	return NULL;
}

/* Is a job waiting for it? */
static bool is_needed(struct service *s, const struct serve_artifact *x)
{
	for (size_t i = 0; i < s->jobs.n; i++) {
		const struct job *j = s->jobs.a[i];
		if (j->kind->needs && j->kind->needs(j, x->digest))
			return true;
	}
	return false;
}

static void free_artifact(struct serve_artifact *x)
{
	unlink(x->a.path);
	if (x->a.known >= 0)
		close(x->a.known);
	if (x->a.usual >= 0)
		close(x->a.usual);
	free((char *)x->a.path);
	arena_release(&x->arena);
	free(x);
}

/* Makes room for one more: what was not used for the longest time goes. */
static void drop_oldest(struct service *s)
{
	size_t oldest = 0;

	if (s->artifacts.n < RUNNER_ARTIFACTS_MAX)
		return;
	for (size_t i = 1; i < s->artifacts.n; i++)
		if (s->artifacts.a[i]->used < s->artifacts.a[oldest]->used)
			oldest = i;
	if (is_needed(s, s->artifacts.a[oldest]))
		return;
	free_artifact(s->artifacts.a[oldest]);
	s->artifacts.a[oldest] = s->artifacts.a[--s->artifacts.n];
}

void serve_keep_artifact(struct service *s, struct serve_artifact *x)
{
	drop_oldest(s);
	vec_push(&s->artifacts, x);
	x->used = ++s->uses;
}
