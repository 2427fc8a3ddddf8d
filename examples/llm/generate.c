/* Generates text as token ids with a language model that hone compiled: prompt ids in (arguments, or standard input), new ids out, one a
 * line as they come; at the end tokens a second on standard error. README.md says how to build the model and this program. */
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "llm.h"

enum { FLOAT = 1, INT64 = 7 }; /* as ONNX numbers types */

struct options {
	long count, chunk; /* tokens to make; tokens of the prompt a run */
	int64_t stop;      /* the id that ends the text; -1: none */
	double temperature, top_p;
	long top_k;
	uint64_t seed;
	const char *load, *save;
	long first; /* tokens of the session to go on behind; -1: all */
	long texts; /* of one prompt */
};

struct session {
	llm *model;
	int ids, mask, logits; /* numbers of inputs and outputs */
	int64_t *seen;         /* the mask: 1 for each token that the cache holds */
	long longest, used;    /* rows of the cache, and those in use */
	long vocab;
	struct hone_value *in, *out;
};

static int find(const char *name, int n, const char *(*at)(int))
{
	for (int i = 0; i < n; i++)
		if (!strcmp(at(i), name))
			return i;
	errx(1, "the model has no '%s'", name);
}

static void open_session(struct session *s)
{
	int rank;

	*s = (struct session){.model = llm_open("llm.weights", NULL)};
	if (!s->model)
		errx(1, "llm.weights: %s", llm_error());
	s->ids = find("input_ids", llm_num_inputs(), llm_input_name);
	s->mask = find("attention_mask", llm_num_inputs(), llm_input_name);
	s->logits = find("logits", llm_num_outputs(), llm_output_name);
	s->longest = llm_input_shape(s->mask, &rank)[1];
	s->vocab = llm_output_shape(s->logits, &rank)[2];
	if (s->longest < 1 || s->vocab < 1)
		errx(1, "the model leaves total_sequence_length open; build it as README.md says");
	s->seen = calloc((size_t)s->longest, sizeof *s->seen);
	s->in = calloc((size_t)llm_num_inputs(), sizeof *s->in);
	s->out = calloc((size_t)llm_num_outputs(), sizeof *s->out);
	if (!s->seen || !s->in || !s->out)
		err(1, NULL);
}

/* Runs n tokens. The logits behind the last of them: the model is built with --last logits, or has those of all. */
static const float *run(struct session *s, const int64_t *id, long n)
{
	int64_t ids[] = {1, n}, mask[] = {1, s->longest};

	if (n > s->longest - s->used)
		errx(1, "the cache holds %ld tokens", s->longest);
	for (long i = 0; i < n; i++)
		s->seen[s->used++] = 1;
	s->in[s->ids] = (struct hone_value){INT64, 2, ids, (void *)id};
	s->in[s->mask] = (struct hone_value){INT64, 2, mask, s->seen};
	if (llm_run_values(s->model, s->in, s->out))
		errx(1, "%s", llm_error());
	return (const float *)s->out[s->logits].data + (s->out[s->logits].shape[1] - 1) * s->vocab;
}

/* ---- the next token ---- */

static double uniform(uint64_t *state) /* splitmix64 */
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

struct candidate {
	float logit;
	int64_t id;
};

static int larger_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->logit != y->logit ? (x->logit < y->logit) - (x->logit > y->logit) : (x->id > y->id) - (x->id < y->id);
}

/* Temperature 0 takes the largest. Else one of the top_k largest, and of these of the fewest that hold top_p of the probability. */
static int64_t choose(const struct options *o, const float *logits, long n, uint64_t *state)
{
	static struct candidate *all;
	double sum = 0, kept = 0, at;
	int64_t best = 0;
	long k = o->top_k > 0 && o->top_k < n ? o->top_k : n, m = 0;

	for (long i = 1; i < n; i++)
		if (logits[i] > logits[best])
			best = i;
	if (o->temperature <= 0)
		return best;
	if (!all && !(all = malloc((size_t)n * sizeof *all)))
		err(1, NULL);
	for (long i = 0; i < n; i++)
		all[i] = (struct candidate){logits[i], i};
	qsort(all, (size_t)n, sizeof *all, larger_first);
	for (long i = 0; i < k; i++)
		sum += exp((all[i].logit - all[0].logit) / o->temperature);
	while (m < k && kept < o->top_p * sum)
		kept += exp((all[m++].logit - all[0].logit) / o->temperature);
	at = uniform(state) * kept;
	for (long i = 0; i < m; i++)
		if ((at -= exp((all[i].logit - all[0].logit) / o->temperature)) < 0)
			return all[i].id;
	return all[m ? m - 1 : 0].id;
}

/* ---- a session in a file: how many tokens, a sum of all, then the model's states ---- */

struct session_head {
	int64_t used;
	uint64_t sum;
};

static uint64_t sum_of(int64_t used, const unsigned char *state, size_t n)
{
	uint64_t sum = (uint64_t)used, word = 0;

	for (size_t i = 0; i < n; i += sizeof word) {
		memcpy(&word, state + i, n - i < sizeof word ? n - i : sizeof word);
		sum = (sum ^ word) * 0x9e3779b97f4a7c15;
		sum ^= sum >> 32;
	}
	return sum;
}

static void load(struct session *s, const char *path)
{
	size_t n = llm_state_bytes(s->model);
	void *p = malloc(n);
	struct session_head head;
	FILE *f = fopen(path, "rb");

	if (!f || !p)
		err(1, "%s", path);
	if (fread(&head, sizeof head, 1, f) != 1 || fread(p, 1, n, f) != n || getc(f) != EOF || head.used < 0 || head.used > s->longest)
		errx(1, "%s: not a session of this model", path);
	if (head.sum != sum_of(head.used, p, n))
		errx(1, "%s: altered or damaged", path);
	if (llm_state_read(s->model, p, n))
		errx(1, "%s: %s", path, llm_error());
	while (s->used < head.used)
		s->seen[s->used++] = 1;
	fclose(f);
	free(p);
}

static void save(struct session *s, const char *path)
{
	size_t n = llm_state_bytes(s->model);
	void *p = malloc(n);
	struct session_head head = {.used = s->used};
	FILE *f = fopen(path, "wb");

	if (!f || !p)
		err(1, "%s", path);
	if (llm_state_write(s->model, p))
		errx(1, "%s", llm_error());
	head.sum = sum_of(head.used, p, n);
	if (fwrite(&head, sizeof head, 1, f) != 1 || fwrite(p, 1, n, f) != n || fclose(f))
		err(1, "%s", path);
	free(p);
}

/* ---- a cache cut, and copied to another handle ---- */

/* Rows that the mask leaves out are not read, and written over later. */
static void cut(struct session *s, long first)
{
	if (first > s->used)
		errx(1, "the session has %ld tokens", s->used);
	while (s->used > first)
		s->seen[--s->used] = 0;
}

static void copy(struct session *to, const struct session *from)
{
	size_t n = llm_state_bytes(from->model);
	void *p = malloc(n);

	if (!p)
		err(1, NULL);
	if (llm_state_write(from->model, p) || llm_state_read(to->model, p, n))
		errx(1, "%s", llm_error());
	memcpy(to->seen, from->seen, (size_t)from->longest * sizeof *to->seen);
	to->used = from->used;
	free(p);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The id of a token, number n of the prompt, or the program ends. */
static int64_t read_id(const char *s, long n)
{
	char *end;
	errno = 0;
	long long v = strtoll(s, &end, 10);

	if (end == s || *end || v < 0 || errno)
		errx(64, "word %ld of the prompt is no id of a token", n);
	return v;
}

static int64_t *read_ids(int argc, char **argv, long *n)
{
	int64_t *id = NULL;
	long room = 0;
	char word[32];

	*n = 0;
	for (int i = 0; argc ? i < argc : scanf("%31s", word) == 1; i++) {
		if (*n == room && !(id = realloc(id, (size_t)(room = room * 2 + 64) * sizeof *id)))
			err(1, NULL);
		id[*n] = read_id(argc ? argv[i] : word, *n + 1);
		++*n;
	}
	return id;
}

/* Tokens behind those of the session, of which the last has these logits. How many. */
static long generate(const struct options *o, struct session *s, const float *logits, uint64_t seed)
{
	int64_t next;

	for (long made = 1;; made++) {
		next = choose(o, logits, s->vocab, &seed);
		printf("%lld\n", (long long)next);
		fflush(stdout);
		if (made >= o->count || next == o->stop)
			return made;
		logits = run(s, &next, 1);
	}
}

/* The other texts of the prompt, each on a handle of its own and with the next seed. How many tokens. */
static long generate_others(const struct options *o, const struct session *s, const float *logits)
{
	long made = 0;

	for (long i = 1; i < o->texts; i++) {
		struct session other;
		open_session(&other);
		copy(&other, s);
		made += generate(o, &other, logits, o->seed + (uint64_t)i);
		llm_close(other.model);
	}
	return made;
}

/* ---- options ---- */

static long long whole(int option, const char *s, long long least)
{
	char *end;

	errno = 0;
	long long v = strtoll(s, &end, 10);
	if (end == s || *end || errno || v < least || v > LONG_MAX)
		errx(64, "-%c: expected a whole number, %lld or more", option, least);
	return v;
}

static double number(int option, const char *s, double most)
{
	char *end;
	double v = strtod(s, &end);

	if (end == s || *end || !(v >= 0 && v <= most))
		errx(64, "-%c: expected a number from 0 to %g", option, most);
	return v;
}

int main(int argc, char **argv)
{
	struct options o = {.count = 32, .chunk = 1, .stop = -1, .top_p = 1, .seed = 1, .first = -1, .texts = 1};
	struct session s;
	const float *logits = NULL;
	float *last;
	long n, made;
	int c;

	while ((c = getopt(argc, argv, "n:c:e:t:k:p:s:l:w:f:b:")) != -1)
		switch (c) {
		case 'n': o.count = whole(c, optarg, 1); break;
		case 'c': o.chunk = whole(c, optarg, 1); break;
		case 'e': o.stop = whole(c, optarg, -1); break;
		case 't': o.temperature = number(c, optarg, 1e6); break;
		case 'k': o.top_k = whole(c, optarg, 0); break;
		case 'p': o.top_p = number(c, optarg, 1); break;
		case 's': o.seed = (uint64_t)whole(c, optarg, 0); break;
		case 'l': o.load = optarg; break;
		case 'w': o.save = optarg; break;
		case 'f': o.first = whole(c, optarg, 0); break;
		case 'b': o.texts = whole(c, optarg, 1); break;
		default:
			fprintf(stderr,
				"Usage: generate [-n COUNT] [-c CHUNK] [-e STOP] [-t TEMPERATURE] [-k TOP_K] [-p TOP_P] [-s SEED] "
				"[-l SESSION [-f FIRST]] [-w SESSION] [-b TEXTS] [ID...]\n");
			return 64;
		}
	int64_t *id = read_ids(argc - optind, argv + optind, &n);
	open_session(&s);
	if (o.load)
		load(&s, o.load);
	if (o.first >= 0)
		cut(&s, o.first);
	if (n < 1)
		errx(1, "no prompt");
	double start = seconds(), prompt;
	for (long i = 0; i < n;) {
		long rows = o.chunk > 1 && n - i >= o.chunk ? o.chunk : 1;
		logits = run(&s, id + i, rows);
		i += rows;
	}
	if (!(last = malloc((size_t)s.vocab * sizeof *last)))
		err(1, NULL);
	memcpy(last, logits, (size_t)s.vocab * sizeof *last);
	prompt = seconds();
	made = generate_others(&o, &s, last);
	made += generate(&o, &s, last, o.seed);
	fprintf(stderr, "prompt: %ld tokens, %.1f a second; made: %ld, %.1f a second\n", n, (double)n / (prompt - start), made,
		(double)(made - o.texts) / (seconds() - prompt));
	if (o.save)
		save(&s, o.save);
	llm_close(s.model);
	return 0;
}
