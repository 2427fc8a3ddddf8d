/* Every operator with what does not fit it: operands of other ranks, extents, types and values, attributes that are missing, too
 * long or out of range, results declared otherwise. Each is refused in one line or goes all the way to C, out as ONNX and through
 * the evaluator; nothing crashes, is a bug, or takes a minute. What is taken the evaluator runs, where it depends on nothing but
 * what is known before it runs. unfit [EVERY]: one in EVERY (12) of them goes to C, three as many are run, the same each time. unfit EVERY list:
 * prints them, each with what is said of it, and goes no further (unfit_onnx.py compares). */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fuzz/chain.h"
#include "fuzz/text.h"
#include "op/examples.h"
#include "tap.h"

const struct tool tool = {.name = "unfit"};

enum { SECONDS = 60 };

static struct arena names;
static char *now; /* the text under test, seen by the parent too */
static long *tried, *refused_n, *apart;
static unsigned every = 12, count;
static bool list;

static struct module *make(const uint8_t *data, size_t n) { return read_text(data, n); }

/* Are all operands that are not floats known? Then whether it can run does not depend on the inputs. */
static bool all_known(const struct example *x)
{
	bool numbers_too =
		!strcmp(x->op, "Range") || !strcmp(x->op, "MaxRoiPool") || !strcmp(x->op, "Resize") || !strcmp(x->op, "Upsample");

	for (int i = 0; i < x->nin; i++)
		if (!*x->value[i] && *x->type[i] != '-' && ((*x->type[i] != 'f' && strncmp(x->type[i], "bf", 2)) || (i && numbers_too)))
			return false;
	return true;
}

/* The evaluator runs what the rules have taken. What it has no evaluator for is not built either. */
static void runs(void)
{
	struct module *volatile m = NULL;
	bool bad = REFUSED(m = make((const uint8_t *)now, strlen(now)); module_verify_or_die(m); chain_run(m));

	eval_abandon();
	if (!bad) {
		module_free(m);
		return;
	}
	struct msg_trap first = refused;
	bool no_evaluator = first.code == EX_NOTAVAIL;
	if (no_evaluator && REFUSED(m = make((const uint8_t *)now, strlen(now)); module_verify_or_die(m); chain_passes(m); chain_emit(m)))
		return;
	printf("# %s, then refused: %s\n%s", no_evaluator ? "built" : "taken", first.why, now), fflush(stdout);
	++*apart;
}

static void try(const struct example *x)
{
	struct module *volatile m = NULL;
	unsigned number = count++, third = every > 3 ? every / 3 : 1;
	bool whole = number % every == 0;

	if (!whole && (list || number % third || !all_known(x)))
		return;
	example_write(x, now);
	++*tried;
	alarm(SECONDS);
	bool bad = REFUSED(m = make((const uint8_t *)now, strlen(now)); module_verify_or_die(m));
	*refused_n += bad;
	if (!bad)
		module_free(m);
	if (list)
		printf("%s%s%s\n\n", now, bad ? "refused " : "taken", bad ? refused.why : ""), fflush(stdout);
	else if (!bad && all_known(x))
		runs();
	if (!list && !bad && whole)
		chain_all(make, (const uint8_t *)now, strlen(now));
	alarm(0);
}

/* Operand i has these extents: as an input, and, if it was a constant, as one of so many of its first element. */
static void try_shape(const struct example *x, int i, int n, const long *d)
{
	struct example y = *x;
	char *p = y.shape[i], *v = y.value[i];
	const char *first = x->value[i] + 1;
	long count = 1;

	*p = *v = 0;
	for (int k = 0; k < n; k++) {
		p += sprintf(p, "%s%ld", k ? "," : "", d[k]);
		count *= d[k];
	}
	try(&y);
	size_t len = strcspn(first, ",]");
	if (!*x->value[i] || (size_t)count * (len + 2) > WORD - 4)
		return;
	v += sprintf(v, "[");
	for (long k = 0; k < count; k++)
		v += sprintf(v, "%s%.*s", k ? ", " : "", len ? (int)len : 1, len ? first : "0");
	sprintf(v, "]");
	try(&y);
}

static void other_shapes(const struct example *x, int i)
{
	static const long by[] = {1, -1};
	long d[RANK_MAX], e[RANK_MAX + 1];
	int n = extents(x->shape[i], d);

	for (long extent = 1; extent <= 2; extent++) { /* a rank more, in front and behind */
		memcpy(e + 1, d, sizeof *d * (size_t)n);
		e[0] = extent;
		try_shape(x, i, n + 1, e);
		memcpy(e, d, sizeof *d * (size_t)n);
		e[n] = extent;
		try_shape(x, i, n + 1, e);
	}
	if (n) { /* a rank less */
		try_shape(x, i, n - 1, d);
		try_shape(x, i, n - 1, d + 1);
	}
	try_shape(x, i, 0, d);
	for (int k = 0; k < n; k++)
		for (int j = 0; j < 3; j++) {
			memcpy(e, d, sizeof *d * (size_t)n);
			e[k] = j == 2 ? 0 : d[k] + by[j];
			try_shape(x, i, n, e);
		}
}

static void other_operands(const struct example *x, int i)
{
	static const char *const rare[] = {"-1",  "0",   "2",    "1000", "2147483648", "4611686018427387904", "-9223372036854775808",
					   "nan", "inf", "1e30", "1e-30"};
	static const char *const types[] = {"f32", "f64", "f16", "bf16", "i64", "i32", "i8", "u8", "u64", "bool", "f8e4m3fn", "c64"};
	struct example y = *x;

	other_shapes(x, i);
	strcpy(y.type[i], "-");
	*y.value[i] = 0;
	try(&y);
	for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
		y = *x;
		strcpy(y.type[i], types[k]);
		*y.value[i] = 0;
		try(&y);
	}
	long d[RANK_MAX], n = 1;
	for (int k = extents(x->shape[i], d); k-- > 0;)
		n *= d[k];
	size_t nrare = sizeof rare / sizeof *rare - (*x->type[i] == 'f' ? 0 : 4);
	for (size_t k = 0; *x->value[i] && k < nrare; k++)
		for (long at = 0; at < n; at++) { /* one element is rare */
			const char *s = x->value[i] + 1;
			char *p = y.value[i];
			y = *x;
			p += sprintf(p, "[");
			for (long j = 0; j < n; j++) {
				size_t len = strcspn(s, ",]");
				p += j == at ? sprintf(p, "%s%s", j ? ", " : "", rare[k])
					     : sprintf(p, "%s%.*s", j ? ", " : "", (int)len, s);
				s += len + (s[len] == ',') + (s[len] == ',' && s[len + 1] == ' ');
			}
			sprintf(p, "]");
			try(&y);
		}
}

/* Attribute i (of those there are) is what; i = nattr: one more. */
static void with_attr(const struct example *x, int i, const char *name, size_t n, const char *value)
{
	struct example y = *x;

	if (i >= ATTRS)
		return;
	snprintf(y.attr[i], WORD, "%.*s=%s", (int)n, name, value);
	y.nattr += i == y.nattr;
	try(&y);
}

static void other_attribute(const struct example *x, const char *name, size_t n, char kind)
{
	static const char *const ints[] = {
		"-1", "0", "1", "2", "3", "-2", "-5", "7", "64", "1000", "2147483648", "4611686018427387904", "-9223372036854775808"};
	static const char *const floats[] = {"0.0", "-1.5", "1e30", "nan", "inf"};
	static const char *const strings[] = {"\"\"", "\"x\"", "\"SAME_UPPER\"", "\"linear\"", "\"%s%n\""};
	int i = 0;
	char buf[WORD];

	while (i < x->nattr && (strncmp(x->attr[i], name, n) || x->attr[i][n] != '='))
		i++;
	if (i < x->nattr) { /* missing */
		struct example y = *x;
		memmove(y.attr[i], y.attr[i + 1], sizeof y.attr[0] * (size_t)(ATTRS - i - 1));
		y.nattr--;
		try(&y);
	}
	for (size_t k = 0; kind == 'i' && k < sizeof ints / sizeof *ints; k++)
		with_attr(x, i, name, n, ints[k]);
	for (size_t k = 0; kind == 'f' && k < sizeof floats / sizeof *floats; k++)
		with_attr(x, i, name, n, floats[k]);
	for (size_t k = 0; kind == 's' && k < sizeof strings / sizeof *strings; k++)
		with_attr(x, i, name, n, strings[k]);
	for (int len = 0; (kind == 'S' || kind == 'F') && len <= 7; len++)
		for (size_t k = 0; k < 3; k++) { /* words that say something are those of recurrent operators */
			static const char *const words[] = {"\"Tanh\"", "\"HardSigmoid\"", "\"x\""}, *const numbers[] = {"0.5", "-1.0",
															 "nan"};
			char *p = buf;
			for (int j = 0; j < len; j++)
				p += sprintf(p, "%s%s", j ? "," : "[", (kind == 'S' ? words : numbers)[k]);
			sprintf(p, len ? "]" : "[]");
			with_attr(x, i, name, n, buf);
		}
	if (kind != 'I')
		return;
	with_attr(x, i, name, n, "[]");
	for (int len = 1; len <= 6; len++)
		for (size_t k = 0; k < sizeof ints / sizeof *ints; k++) {
			char *p = buf;
			for (int j = 0; j < len; j++)
				p += sprintf(p, "%s%s", j ? "," : "[", j == (int)(k % (size_t)len) ? ints[k] : "1");
			sprintf(p, "]");
			with_attr(x, i, name, n, buf);
		}
}

static void other_attributes(const struct example *x)
{
	const char *p = op_info(op_find("", x->op))->attrs;
	struct op_attr a;

	while (op_attr_next(&p, &a))
		other_attribute(x, a.name, a.len, a.kind);
}

static void other_results(const struct example *x)
{
	static const char *const types[] = {"i64[7]",       "f32[]",           "f32[2,2,2,2,2,2,2]", "bool[*]", "f32[1000000,1000000]",
					    "f32[?]@\"0\"", "f32[2,2]@\"1 0\""};
	struct example y = *x;

	for (size_t k = 0; k < sizeof types / sizeof *types; k++)
		strcpy(y.result, types[k]), try(&y);
}

static int one(const char *line, unsigned at)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct example x;
		count = at * 7919;
		example_parse(&x, line);
		unsigned some = every;
		every = 1;
		try(&x);
		every = some;
		for (int i = 0; i < x.nin; i++)
			if (*x.type[i] != '-')
				other_operands(&x, i);
		other_attributes(&x);
		other_results(&x);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

int main(int argc, char **argv)
{
	char path[1000], line[1000];
	unsigned at = 0;

	every = argc > 1 ? (unsigned)atoi(argv[1]) : every;
	list = argc > 2;
	now = mmap(NULL, LONG + 3 * sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	tried = (long *)(now + LONG);
	refused_n = tried + 1;
	apart = tried + 2;
	snprintf(path, sizeof path, "%s/tests/op/operators.txt", getenv("top") ? getenv("top") : ".");
	FILE *f = fopen(path, "r");
	if (!f)
		return ok(0, "%s", path), 1;
	while (fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		int status = one(line, at++);
		if (status)
			printf("# %s\n", now);
		if (list)
			continue;
		ok(!status, "%s%s", line, WIFSIGNALED(status) ? arena_printf(&names, ": signal %d", WTERMSIG(status)) : "");
	}
	if (!list)
		ok(!*apart, "what is taken runs");
	printf("# %ld tried, %ld refused\n", *tried, *refused_n);
	return tap_done();
}
