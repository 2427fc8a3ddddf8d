/* Two compiled models in turns. */
#define _GNU_SOURCE
#include "runner/against.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/progress.h"
#include "common/rng.h"
#include "runner/sequential.h"

enum { ROUNDS = 3, COPIES_MAX = 256, AGAIN_MOST = 8 };
#define DISTURBED   1.25
#define PICOSECONDS 1e12
static const double sample_seconds = 2e-4;

/* ---- weights that move ---- */

/* Where a library has mapped its weights, and copies of these, one after the other. */
struct moving {
	char *at; /* NULL: it has none that could move */
	size_t bytes;
	int file;
	uint32_t copies, next;
};

/* The mapping of that file in this process, from its first byte. */
static char *find_mapping(const char *path)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char *real = realpath(path, NULL), *line = NULL, *at = NULL;
	size_t cap = 0;

	while (f && real && !at && getline(&line, &cap, f) > 0) {
		uintptr_t from;
		int name = 0;
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%" SCNxPTR "-%*x %*s %*x %*s %*u %n", &from, &name) == 1 && name && !strcmp(line + name, real))
			at = (char *)from;
	}
	free(real);
	free(line);
	if (f)
		fclose(f);
	return at;
}

static void moving_open(struct moving *w, const struct library *l, uint64_t cold_bytes)
{
	struct stat st;
	char *path = library_weights(l->path);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*w = (struct moving){.file = -1};
	bool any = cold_bytes && !stat(path, &st) && st.st_size > 0;
	if (cold_bytes && !any)
		warn("%s: there are no weights in a file; those in the library stay where they are", l->path);
	if (any && !(w->at = find_mapping(path)))
		warn("%s: is not where it was mapped; the same weights are read again and again", path);
	if (w->at) {
		w->bytes = ((size_t)st.st_size + page - 1) / page * page;
		w->copies = (uint32_t)fmin(ceil((double)cold_bytes / (double)w->bytes), COPIES_MAX);
	}
	if (w->copies > 1) {
		w->file = memfd_create("weights", MFD_CLOEXEC);
		for (uint32_t i = 0; i < w->copies; i++)
			if (pwrite(w->file, w->at, (size_t)st.st_size, (off_t)(i * w->bytes)) != (ssize_t)st.st_size)
				die_errno(EX_SYSTEM, "copies of weights");
		if (ftruncate(w->file, (off_t)(w->copies * w->bytes)))
			die_errno(EX_SYSTEM, "copies of weights");
	}
	free(path);
}

/* To the next copy, with its pages there. */
static void move(struct moving *w)
{
	if (!w->at || w->copies < 2)
		return;
	w->next = (w->next + 1) % w->copies;
	if (mmap(w->at, w->bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_POPULATE, w->file, (off_t)(w->next * w->bytes)) == MAP_FAILED)
		die_errno(EX_SYSTEM, "copies of weights");
}

/* ---- timing ---- */

struct rival {
	struct library *l;
	struct tensor *const *in, *const *out;
	struct moving weights;
	struct arena *a;
	uint32_t reps; /* runs of a sample */
	double least;  /* seconds of a run */
};

/* Seconds of a run, the mean of so many. */
static double sample(struct rival *s)
{
	double spent = 0;

	for (uint32_t i = 0; i < s->reps; i++) {
		move(&s->weights);
		double start = now_seconds();
		library_run(s->l, s->in, s->out, s->a);
		spent += now_seconds() - start;
	}
	return spent / s->reps;
}

/* The first run has to find its code and its memory. */
static void warm(struct rival *s)
{
	s->reps = 1;
	sample(s);
	s->least = fmin(sample(s), sample(s));
	s->reps = (uint32_t)fmax(1, ceil(sample_seconds / fmax(s->least, 1e-7)));
}

static void time_pair(struct rival s[2], struct rng *rng, double least[2])
{
	least[0] = least[1] = INFINITY;
	for (int k = 0; k < ROUNDS; k++) {
		int first = (int)(rng_u64(rng) & 1);
		for (int n = 0; n < 2; n++)
			least[first ^ n] = fmin(least[first ^ n], sample(&s[first ^ n]));
	}
}

/* Is one of the two far above the least of its kind, and the other not? Then another program began or ended within the pair. Which of the
 * two it is does not matter, so neither is favoured. */
static bool is_disturbed(struct rival s[2], const double t[2])
{
	double far[2];

	for (int k = 0; k < 2; k++) {
		s[k].least = fmin(s[k].least, t[k]);
		far[k] = t[k] / s[k].least;
	}
	return fmax(far[0], far[1]) > DISTURBED * fmin(far[0], far[1]);
}

void library_against(struct library l[2], struct tensor *const *in, struct tensor *const *const out[2], const struct against *how,
		     struct measurement *r, struct arena *a)
{
	struct rival s[2];
	struct rng rng = {how->seed};
	struct sequential q;
	double start = now_seconds();
	bool decided = false;
	size_t again = 0;

	*r = (struct measurement){.pair = ARENA_ARRAY(a, struct sample_pair, RUNNER_PAIRS_MAX)};
	for (int k = 0; k < 2; k++) {
		s[k] = (struct rival){.l = &l[k], .in = in, .out = out[k], .a = a};
		moving_open(&s[k].weights, &l[k], how->cold_bytes);
		warm(&s[k]);
	}
	sequential_init(&q, 0, how->width, false);
	double until = now_seconds() + how->seconds;
	while (!decided && r->npairs < RUNNER_PAIRS_MAX && (r->npairs == 0 || now_seconds() < until)) {
		double t[2];
		time_pair(s, &rng, t);
		if (is_disturbed(s, t) && again++ < AGAIN_MOST + r->npairs)
			continue;
		r->pair[r->npairs++] =
			(struct sample_pair){(uint64_t)(PICOSECONDS * t[AGAINST_LIBRARY]), (uint64_t)(PICOSECONDS * t[AGAINST_BASE])};
		/* A slow phase may outlast a pair of such long runs: no first few decide. */
		decided = sequential_add(&q, t[AGAINST_LIBRARY], t[AGAINST_BASE], &r->verdict) && r->npairs >= SEQ_FEW;
	}
	if (!decided)
		r->verdict = sequential_end(&q);
	r->ratio = q.ratio;
	r->lo = q.lo;
	r->hi = q.hi;
	r->seconds = now_seconds() - start;
	sequential_free(&q);
	for (int k = 0; k < 2; k++)
		if (s[k].weights.file >= 0)
			close(s[k].weights.file);
}
