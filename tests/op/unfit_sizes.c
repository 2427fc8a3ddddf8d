/* Every operator with operands of sizes that only a run knows and that do not fit: 0, 1, one more or less, exchanged, huge; and integers
 * out of range. What the shape rule refuses where they are known before, the evaluator refuses in a run; what both take has the shape
 * that the rule says. unfit_sizes [TRIALS [SEED]]: of each line of operators.txt. unfit_sizes models FOLDER [OPERATOR...]: writes models
 * instead, of all lines or those of some operators, EACH of them side by side in one (tests/model/sizes/attack.sh attacks their libraries):
 * open*.txt of open sizes, told*.txt of known sizes and values that a run tells, fixed*.txt those of which all results have known sizes. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/rng.h"
#include "common/tool.h"
#include "fuzz/text.h"
#include "op/examples.h"
#include "op/rules.h"
#include "tap.h"

const struct tool tool = {.name = "unfit_sizes"};

enum { SECONDS = 60, RUN_BYTES = 64 << 20, ELEMENTS_TOLD = 24, EACH = 12, PARTS_MAX = 1000 };

static struct rng rng;
static struct arena names;
static char *now; /* the text under test, seen by the parent too */
static long *tried, *refused_n, *apart;

static bool one_in(int n) { return rng_range(&rng, 1, n) == 1; }
static bool is_float(const char *type) { return *type == 'f' || !strncmp(type, "bf", 2); }

/* Another extent in place of d. */
static long other_extent(long d)
{
	switch (rng_range(&rng, 0, 6)) {
	case 0:
	case 1: return 0;
	case 2: return 1;
	case 3: return d + 1;
	case 4: return d > 1 ? d - 1 : 2;
	case 5: return rng_range(&rng, 2, 9);
	default: return d * 2;
	}
}

static void put_shape(char *to, int n, const long *d)
{
	*to = 0;
	for (int k = 0; k < n; k++)
		to += sprintf(to, "%s%ld", k ? "," : "", d[k]);
}

/* The shape of operand i becomes one of the same rank. */
static void draw_shape(struct example *x, int i)
{
	long d[RANK_MAX], t;
	int n = extents(x->shape[i], d);

	if (!n)
		return;
	int k = (int)rng_range(&rng, 0, n - 1), j = (int)rng_range(&rng, 0, n - 1);
	switch (rng_range(&rng, 0, 4)) {
	case 0: t = d[k], d[k] = d[j], d[j] = t; break;
	case 1:
		d[k] = 0;
		d[j] = k != j && one_in(2) ? 20000000 : d[j]; /* huge, of no element */
		break;
	case 2:
		for (int a = 0; a < n; a++)
			d[a] = one_in(2) ? other_extent(d[a]) : d[a];
		break;
	default: d[k] = other_extent(d[k]);
	}
	put_shape(x->shape[i], n, d);
}

/* The values that operand i had fill its shape, one of them another perhaps. False: they are too many to tell. */
static bool draw_values(struct example *x, int i)
{
	static const char *const rare[] = {
		"-1", "0", "1", "2", "3", "7", "-9", "2147483648", "4611686018427387904", "-9223372036854775808"};
	long d[RANK_MAX], count = 1;
	char old[WORD], *p = x->value[i];
	const char *s = old + 1;
	int n = extents(x->shape[i], d);

	strcpy(old, x->value[i]);
	for (int k = 0; k < n; k++)
		count *= d[k] > ELEMENTS_TOLD ? ELEMENTS_TOLD : d[k];
	if (count > ELEMENTS_TOLD)
		return false;
	long odd = !is_float(x->type[i]) && count && one_in(3) ? rng_range(&rng, 0, count - 1) : -1;
	bool wide = !strcmp(x->type[i], "i64");
	p += sprintf(p, "[");
	for (long k = 0; k < count; k++) {
		size_t len = strcspn(s, ",]");
		if (p - x->value[i] > WORD - 40)
			return false;
		if (k == odd && *x->type[i] != 'u' && *x->type[i] != 'b')
			p += sprintf(p, "%s%s", k ? ", " : "", rare[rng_range(&rng, 0, wide ? 9 : 6)]);
		else
			p += sprintf(p, "%s%.*s", k ? ", " : "", len ? (int)len : 1, len ? s : "0");
		s += len;
		s = *s == ',' ? s + 1 + (s[1] == ' ') : old + 1;
	}
	sprintf(p, "]");
	return true;
}

/* What goes in: values as they are told, other numbers from a small range. */
static struct tensor *operand(const struct example *x, int i, const struct type *t, struct arena *a)
{
	long d[RANK_MAX];
	int64_t dims[RANK_MAX];
	int n = extents(x->shape[i], d);

	for (int k = 0; k < n; k++)
		dims[k] = d[k];
	struct tensor *v = tensor_new(a, t->dtype, n, dims);
	if (*x->value[i]) {
		const char *s = x->value[i] + 1;
		for (int64_t k = 0, count = tensor_count(v); k < count; k++) {
			if (is_float(x->type[i]))
				tensor_set(v, k, strtod(s, NULL));
			else
				store_i(v, k, 1, &(int64_t){strtoll(s, NULL, 10)});
			s += strcspn(s, ",]");
			s += *s == ',' ? 2 : 0;
		}
	} else if (dtype_size(t->dtype)) {
		tensor_random(v, &rng, 0, is_float(x->type[i]) ? 1 : 2);
	}
	return v;
}

static void said(const char *what, const char *why)
{
	printf("# %s: %s\n%s", what, why, now), fflush(stdout);
	++*apart;
}

/* Shapes of results, as the rule says and as they are. */
static void compare(struct module *known, const struct graph *g, struct tensor **out)
{
	for (size_t k = 0; k < g->out.n; k++) {
		const struct type *t = &val(known, graph(known, known->main)->out.a[k])->type;
		int64_t dims[RANK_MAX];
		bool same = !type_dims(known, t, dims) ||
			    (t->rank == out[k]->rank && !memcmp(dims, out[k]->dims, sizeof *dims * (size_t)t->rank));
		if (!same)
			said("a result of another shape than the rule says", sym_str(g->out_name.a[k]));
	}
}

/* In text form, with values as inputs. */
static void write_one(const struct example *x, bool open, char *to)
{
	struct example_part part = {.x = *x, .open = open, .values = true};
	FILE *f = fmemopen(to, LONG, "w");

	examples_write(f, &part, 1);
	fclose(f);
}

/* The operands that x tells. */
static struct tensor **operands(struct module *m, const struct example *x, struct arena *a)
{
	const struct graph *g = graph(m, m->main);
	struct tensor **in = ARENA_ARRAY(a, struct tensor *, g->in.n + 1);
	size_t n = 0;

	for (int i = 0; i < x->nin; i++)
		if (*x->type[i] != '-')
			in[n] = operand(x, i, &val(m, g->in.a[n])->type, a), n++;
	return in;
}

/* In a run the module of open sizes takes what x says of its operands. */
static void run_open(const struct example *x, struct module *known, const char *refusal)
{
	struct module *volatile m = NULL;
	struct arena a = {0};
	struct tensor *out[ATTRS];
	static char text[LONG];

	write_one(x, true, text);
	arena_limit(arena_held() + RUN_BYTES, "the limit is that of this test");
	bool bad = REFUSED({
		m = read_text(text, strlen(text));
		infer_module(m, NULL);
		eval_graph(m, m->main, operands(m, x, &a), out, &a, NULL);
	});
	if (bad)
		eval_abandon();
	if (!bad && refusal)
		said("computed, but for sizes that are known refused", refusal);
	if (!bad && known)
		compare(known, graph(m, m->main), out);
	if (!bad)
		module_free(m);
	arena_release(&a);
}

static void try(const struct example *x)
{
	struct module *volatile m = NULL;
	char why[sizeof refused.why];

	example_write(x, now);
	++*tried;
	alarm(SECONDS);
	bool bad = REFUSED(m = read_text(now, strlen(now)); module_verify_or_die(m); infer_module(m, NULL));
	snprintf(why, sizeof why, "%s", bad ? refused.why : "");
	*refused_n += bad;
	run_open(x, bad ? NULL : m, bad ? why : NULL);
	if (!bad)
		module_free(m);
	alarm(0);
}

static void trial(const struct example *from)
{
	struct example x = *from;

	for (int i = 0; i < x.nin; i++) {
		if (*x.type[i] == '-')
			continue;
		if (one_in(x.nin > 2 ? 3 : 2))
			draw_shape(&x, i);
		if (*x.value[i] && !draw_values(&x, i))
			return;
	}
	try(&x);
}

static int one(const char *line, int trials, uint64_t seed)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct example x;
		rng.s = seed;
		example_parse(&x, line);
		for (int i = 0; i < trials; i++)
			trial(&x);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Are the sizes of all results known? */
static bool results_known(struct module *m)
{
	const struct graph *g = graph(m, m->main);
	int64_t dims[RANK_MAX];

	for (size_t k = 0; k < g->out.n; k++)
		if (val(m, g->out.a[k])->type.other || !type_dims(m, &val(m, g->out.a[k])->type, dims))
			return false;
	return true;
}

/* As its example says, an operator has to run: is there an evaluator of it? fixed: are the sizes of its results known without its values? */
static bool runs(const char *line, const struct example *x, bool *fixed)
{
	struct module *volatile m = NULL;
	struct arena a = {0};
	struct tensor *out[ATTRS];
	static char text[LONG];

	write_one(x, false, text);
	bool bad = REFUSED({
		m = read_text(text, strlen(text));
		infer_module(m, NULL);
		eval_graph(m, m->main, operands(m, x, &a), out, &a, NULL);
	});
	if (bad)
		eval_abandon(), printf("# no model of %s: %s\n", line, refused.why);
	*fixed = !bad && results_known(m);
	arena_release(&a);
	return !bad;
}

static void write_models(const char *folder, const char *name, const struct example_part *part, int n)
{
	for (int at = 0, number = 0; at < n; at += EACH, number++) {
		FILE *f = fopen(arena_printf(&names, "%s/%s%02d.txt", folder, name, number), "w");
		if (!f)
			exit(1);
		examples_write(f, part + at, n - at < EACH ? n - at : EACH);
		fclose(f);
	}
}

static bool wanted(const char *op, char **some)
{
	for (; *some; some++)
		if (!strcmp(*some, op))
			return true;
	return false;
}

static int models(FILE *lines, const char *folder, char **some)
{
	static struct example_part part[3][PARTS_MAX];
	static const char *const name[] = {"open", "told", "fixed"};
	char line[1000];
	int n[3] = {0};

	while (fgets(line, sizeof line, lines)) {
		struct example x;
		bool values = false, fixed;
		line[strcspn(line, "\n")] = 0;
		example_parse(&x, line);
		if ((*some && !wanted(x.op, some)) || !runs(line, &x, &fixed))
			continue;
		for (int i = 0; i < x.nin; i++)
			values |= *x.value[i] != 0;
		int way = fixed ? 2 : 1;
		part[0][n[0]++] = (struct example_part){.x = x, .open = true};
		if (values)
			part[0][n[0]++] = (struct example_part){.x = x, .open = true, .values = true};
		part[way][n[way]++] = (struct example_part){.x = x, .values = true};
	}
	for (int i = 0; i < 3; i++)
		write_models(folder, name[i], part[i], n[i]);
	return 0;
}

int main(int argc, char **argv)
{
	char path[1000], line[1000];
	bool writes = argc > 2 && !strcmp(argv[1], "models");
	int at = 0, trials = argc > 1 && !writes ? atoi(argv[1]) : 25;
	uint64_t seed = argc > 2 && !writes ? strtoul(argv[2], NULL, 10) : 1;

	now = mmap(NULL, LONG + 3 * sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	tried = (long *)(now + LONG);
	refused_n = tried + 1;
	apart = tried + 2;
	snprintf(path, sizeof path, "%s/tests/op/operators.txt", getenv("top") ? getenv("top") : ".");
	FILE *f = fopen(path, "r");
	if (!f)
		return ok(0, "%s", path), 1;
	if (writes)
		return models(f, argv[2], argv + 3);
	for (; fgets(line, sizeof line, f); at++) {
		line[strcspn(line, "\n")] = 0;
		long before = *apart;
		int status = one(line, trials, seed * 1000 + (uint64_t)at);
		if (status)
			printf("# %s\n", now);
		ok(!status && *apart == before, "%s%s", line,
		   WIFSIGNALED(status) ? arena_printf(&names, ": signal %d", WTERMSIG(status)) : "");
	}
	printf("# %ld tried, %ld refused\n", *tried, *refused_n);
	return tap_done();
}
