/* Names that would do something where a shell, sed, awk, printf or a terminal read them as text, in each place where a file or an option
 * reaches a script, a command or a message: nothing of them runs, every program ends with an exit code of its own, and no control
 * character reaches the terminal.
 *
 * names [N [SEED [PART OF]]]: N names (a few), in all places; with PART, every OF-th of them, so that several can run side by side. What a
 * name would run makes a file "pwned". Names in a model are tried several to a model, which is then compiled once. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/arena.h"
#include "common/rng.h"
#include "common/shown.h"
#include "common/tool.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

extern char **environ;

/* In the environment, a name of BUILT_EVERY is built and tuned with, and one of QUANTISED_EVERY has a metric: that takes a second each. */
enum { FEW = 3, SECONDS = 120, LONGEST = 100, TOGETHER = 32, BUILT_EVERY = 12, QUANTISED_EVERY = 36 };

/* ---- names ---- */

static const char *const pieces[] = {
	"'",
	"\"",
	"\n",
	";",
	"&",
	"/",
	"$(touch pwned)",
	"`touch pwned`",
	"%s%n",
	"\\",
	"-",
	" ",
	"*",
	"?",
	"[a]",
	"\303\251",
	"\001",
	"\033[31m",
	"|touch pwned",
	"&& touch pwned",
	"${IFS}",
	">pwned",
	"e touch pwned",
	"/e touch pwned\n",
	"\" system(\"touch pwned\") \"",
	"';touch pwned;'",
	"\";touch pwned;\"",
	"#",
	"~",
	"!",
	"{a,b}",
	",",
	"=",
	":",
	"\t",
	"\r",
	"\342\200\256",
	"\302\233",
	"--help",
	"x",
	"n",
	"2",
	"0",
	"\\n",
	"\\x0a",
	"$PATH",
	"$$",
	"(",
	")",
	"<",
	"@",
	"^",
};
enum { NPIECES = sizeof pieces / sizeof *pieces };

/* Those that were met in a place once; then random ones. */
static const char *const known[] = {
	"x;e touch pwned",   "$(touch pwned)\033[31m\r", "'; touch pwned; '", "-o", "a\ntouch pwned\nb", "%s%s%n", "01-import", "--",
	"\\'$(touch pwned)",
};
enum { NKNOWN = sizeof known / sizeof *known };

static const char *any_name(size_t i, struct rng *r, struct arena *a)
{
	char *s = arena_alloc(a, LONGEST + 64);
	int64_t n = rng_range(r, 1, 4);

	if (i < NKNOWN)
		return known[i];
	while (n-- > 0 && strlen(s) < LONGEST)
		strcat(s, pieces[rng_range(r, 0, NPIECES - 1)]);
	return s;
}

/* N different ones. */
static const char **names_of(size_t n, struct rng *r, struct arena *a)
{
	const char **name = ARENA_ARRAY(a, const char *, n + 1);

	for (size_t i = 0, k; i < n; i += k == i) {
		name[i] = any_name(i, r, a);
		for (k = 0; k < i && strcmp(name[k], name[i]);)
			k++;
	}
	return name;
}

/* As a name of one file: a slash would make folders of it. */
static char *file_of(const char *name, struct arena *a)
{
	char *s = arena_str(a, name);

	for (char *p = s; *p; p++)
		if (*p == '/')
			*p = '_';
	if (!strcmp(s, ".") || !strcmp(s, ".."))
		*s = '_';
	return s;
}

/* In quotes, as the text form of graphs has it: 7 bits, and no character that ends it. */
static const char *quoted(const char *name, struct arena *a)
{
	char *s = arena_alloc(a, 4 * strlen(name) + 3), *p = s;

	*p++ = '"';
	for (; *name; name++)
		if ((unsigned char)*name < ' ' || (unsigned char)*name > '~' || strchr("\"\\", *name))
			p += sprintf(p, "\\x%02x", (unsigned char)*name);
		else
			*p++ = *name;
	strcpy(p, "\"");
	return s;
}

/* ---- programs ---- */

static char said[1 << 16];
static const char *now; /* the name that is tried */

static bool there(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

/* Ends it when it takes too long: nothing may wait for ever. */
static int wait_for(pid_t pid)
{
	int end = pidfd_open(pid, 0), status;

	if (end < 0)
		die_errno(EX_SYSTEM, "pidfd_open");
	bool ended = poll(&(struct pollfd){end, POLLIN, 0}, 1, SECONDS * 1000) > 0;
	close(end);
	if (!ended)
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return !ended ? 124 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* argv[0] is found in PATH. Its exit code; what it prints is in `said`. */
static int run_words(const char *const *argv)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "../said", O_WRONLY | O_CREAT | O_TRUNC, 0666);
	posix_spawn_file_actions_adddup2(&actions, 1, 2);
	int error = posix_spawnp(&pid, argv[0], &actions, NULL, (char **)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	int code = error ? 127 : wait_for(pid);
	FILE *f = fopen("../said", "r");
	size_t n = f ? fread(said, 1, sizeof said - 1, f) : 0;
	said[n] = 0;
	if (f)
		fclose(f);
	return code;
}

static int run(const char *program, ...)
{
	const char *argv[32] = {program};
	va_list ap;
	int n = 1;

	va_start(ap, program);
	while (n < 31 && (argv[n] = va_arg(ap, const char *)))
		n++;
	va_end(ap);
	argv[n] = NULL;
	return run_words(argv);
}

/* A line that a terminal shows and does nothing else with. */
static bool is_clean(const char *s)
{
	for (size_t n = strlen(s); n > 0;) {
		int k = *s == '\n' || *s == '\t' ? 1 : shown_length(s, n);
		if (!k)
			return false;
		s += k;
		n -= (size_t)k;
	}
	return true;
}

static size_t tried;

/* A program of that place ended with this code. */
static void good(const char *place, int code)
{
	bool mine = code == 0 || code == 1 || code == 64 || code == 65 || code == 66 || code == 69 || code == 74;
	bool ran = there("pwned") || there("../pwned");

	tried++;
	if (mine && !ran && is_clean(said) && (!code || *said))
		return;
	ok(false, "%s: %s: code %d%s%s", place, shown(now), code, ran ? ", it ran" : "", is_clean(said) ? "" : ", control characters");
	printf("# said: %.400s\n", shown(said));
	unlink("pwned");
	unlink("../pwned");
}

/* It did what it was told, too. */
static void works(const char *place, int code)
{
	good(place, code);
	if (code) {
		ok(false, "%s: %s: code %d", place, shown(now), code);
		printf("# said: %.400s\n", shown(said));
	}
}

/* ---- models ---- */

static void write_text(const char *path, const char *fmt, ...)
{
	FILE *f = fopen(path, "w");
	va_list ap;

	va_start(ap, fmt);
	if (!f || vfprintf(f, fmt, ap) < 0)
		die(EX_IO, "%s", path);
	va_end(ap);
	fclose(f);
}

/* A model with an input, an output, a symbol, a node and a constant of each name; its graph has the first. */
static void write_model(const char *path, const char *const *name, size_t n, struct arena *a)
{
	FILE *f = fopen("model.txt", "w");

	if (!f)
		die(EX_IO, "model.txt");
	fprintf(f, "hone-text 1\nmodule ir=8 opset=17\n");
	for (size_t i = 0; i < n; i++)
		fprintf(f, "meta %s = %s\nsymbol %s 0 inf\nconst %s = f32[3,4] [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, %zu]\n",
			quoted(name[i], a), quoted(name[i], a), quoted(name[i], a), quoted(arena_printf(a, "%s.w", name[i]), a), i);
	fprintf(f, "graph %s {\n", quoted(name[0], a));
	for (size_t i = 0; i < n; i++)
		fprintf(f, "  input %s: f32[%s,3]\n", quoted(name[i], a), quoted(name[i], a));
	for (size_t i = 0; i < n; i++)
		fprintf(f, "  %s = MatMul(%s, @%s) %s\n", quoted(arena_printf(a, "%s.y", name[i]), a), quoted(name[i], a),
			quoted(arena_printf(a, "%s.w", name[i]), a), quoted(name[i], a));
	for (size_t i = 0; i < n; i++) {
		const char *y = quoted(arena_printf(a, "%s.y", name[i]), a);
		fprintf(f, "  output %s = %s\n", y, y);
	}
	fprintf(f, "}\n");
	fclose(f);
	ok(!run("ge-load", "model.txt", "-o", "model.g", NULL) && !run("ge-export", "model.g", "-o", path, NULL), "a model is made: %s",
	   shown(name[0]));
}

/* Arrays of these names. */
static void write_samples(const char *path, const char *const *name, size_t n, struct arena *a)
{
	FILE *f = fopen("samples.txt", "w");

	if (!f)
		die(EX_IO, "samples.txt");
	fprintf(f, "hone-text 1\nmodule ir=8 opset=17\nconst c = f32[2,3] [1, 2, 3, 4, 5, 6]\ngraph main {\n");
	for (size_t i = 0; i < n; i++)
		fprintf(f, "  y%zu = Neg(@c)\n  output %s = y%zu\n", i, quoted(name[i], a), i);
	fprintf(f, "}\n");
	fclose(f);
	ok(!run("ge-load", "samples.txt", "-o", "samples.g", NULL) && !run("run-ref", "samples.g", "-o", path, NULL),
	   "samples are made: %s", shown(name[0]));
}

/* ---- places ---- */

static void in_model(const char *name, struct arena *a)
{
	write_model("named.onnx", &name, 1, a);
	works("names in a model: hone passes", run("hone", "passes", "named.onnx", "-o", "p.g", NULL));
	works("names in a model: ge-stat", run("hone", "ge-stat", "named.onnx", NULL));
	good("names in a model: tune, a size lacks", run("hone", "tune", "named.onnx", "--runner", "fake", "-o", "t", NULL));
	good("names in a model: gears", run("hone", "passes", "named.onnx", "--gears", arena_printf(a, "%s=1,2", name), "-o", "p.g", NULL));
}

/* What takes long, for several names at a time. */
static void in_models(const char *const *name, size_t n, struct arena *a)
{
	write_model("named.onnx", name, n, a);
	write_samples("named.npz", name, n, a);
	works("names in a model: hone simplify", run("hone", "simplify", "named.onnx", "s.onnx", NULL));
	works("names in a model: hone build", run("hone", "build", "named.onnx", "-o", "b", NULL));
	works("names in a model: the library",
	      run("run-dev", "--bench", "--kernels", "--seconds", "0.01", "-i", "named.npz", "b.so", NULL));
	works("names in a model: the library's outputs", run("run-dev", "-i", "named.npz", "b.so", "-o", "outputs.npz", NULL));
	works("names in a model: run-cmp", run("run-cmp", "-i", "named.npz", "b.so", "named.onnx", NULL));
	works("names in a model: run-cmp --json", run("run-cmp", "--json", "-i", "named.npz", "b.so", "named.onnx", NULL));
	works("names in a model: statistics", run("ge-calibrate", "model.g", "named.npz", "-o", "named.stats", NULL));
	works("names in a model: ge-quantize", run("ge-quantize", "-s", "named.stats", "model.g", "-o", "named.q.g", NULL));
	works("names in a model: hone quantize", run("hone", "quantize", "named.onnx", "--data", "named.npz", "-o", "q.onnx", NULL));
}

/* Files that single tools read and write. */
static void in_written(const char *name, struct arena *a)
{
	const char *path = arena_printf(a, "./%s", file_of(name, a)), *stats = arena_printf(a, "%s.stats", path);

	works("statistics", run("ge-calibrate", "plain.g", "x.npy", "-o", stats, NULL));
	works("statistics, read",
	      run("ge-quantize", "-s", stats, "--facts", arena_printf(a, "%s.facts", path), "plain.g", "-o", "q.g", NULL));
	works("an array", run("run-ref", "ones.g", "-o", arena_printf(a, "%s.npy", path), NULL));
	works("an array, read",
	      run("run-ref", "plain.g", "-i", arena_printf(a, "x=%s.npy", path), "-o", arena_printf(a, "%s.npz", path), NULL));
	works("a dump of records", run("kb", "dump", "--kb", "records.kb", "-o", arena_printf(a, "%s.records", path), NULL));
	works("a dump of records, read", run("kb", "load", arena_printf(a, "%s.records", path), NULL));
	good("a knowledge base", run("kb", "stat", "--kb", arena_printf(a, "%s.kb", path), NULL));
	good("knowledge, merged", run("kb", "merge", arena_printf(a, "%s.kb", path), NULL));
	good("a trace", run("ge-emit", "planned.g", "--trace", arena_printf(a, "%s.trace", name), "-o", "traced", NULL));
	char *address = file_of(name, a); /* behind a blank stands a command, which is the user's */
	address[strcspn(address, " \t\r\n#")] = 0;
	write_text("hosts", "%s\n", address);
	good("a host", run("tune-grad", "calibrate", "--hosts", "hosts", "--timeout", "0.1", "-o", "curve.tsv", NULL));
	good("a file of hosts", run("tune-grad", "calibrate", "--mpi", "--hosts", name, "--timeout", "0.1", "-o", "curve.tsv", NULL));
	good("a plan's form", run("tune-grad", "plan", "-f", name, "grads.tsv", "-c", "curve.tsv", NULL));
	write_text("grads.tsv", "%s\t4\t1\n", name);
	good("a gradient", run("tune-grad", "plan", "grads.tsv", "--alpha=1", "--beta=1", NULL));
}

/* Files and folders of this name. */
static void in_files(const char *name, size_t i, struct arena *a)
{
	const char *file = file_of(name, a), *model = arena_printf(a, "%s.onnx", file), *graph = arena_printf(a, "%s.g", file);
	const char *folder = arena_printf(a, "%s.folder", file), *inside = arena_printf(a, "%s/%s", folder, model);

	mkdir(arena_printf(a, "./%s", folder), 0777);
	unlink(arena_printf(a, "./%s", model));
	unlink(arena_printf(a, "./%s", inside));
	good("a file: link",
	     link("plain.onnx", arena_printf(a, "./%s", model)) || link("plain.onnx", arena_printf(a, "./%s", inside)) ? 71 : 0);
	good("a model file", run("hone", "passes", "--set", "n=2", "-o", "out.g", "--", model, NULL));
	good("a graph file", run("hone", "passes", "--set", "n=2", "-o", graph, "--", arena_printf(a, "./%s", model), NULL));
	good("a model in a folder", run("hone", "simplify", "-q", "--", inside, arena_printf(a, "%s/out.onnx", folder), NULL));
	good("an output file", run("hone", "simplify", "--", "plain.onnx", arena_printf(a, "./%s.out.onnx", file), NULL));
	good("a path", run("hone", "passes", "-o", "out.g", "--", name, NULL));
	good("a check's arguments", run("hone", "simplify", "--check", "test -s", "--", model, "out.onnx", NULL));
	good("--external", run("hone", "simplify", "--external", file, "--", "plain.onnx", "out.onnx", NULL));
	good("--data", run("hone", "quantize", "plain.onnx", "--data", file, "-o", "q.onnx", NULL));
	in_written(name, a);
	if (i % 2)
		works("a stem", run("hone", "build", "--set", "n=2", "-o", arena_printf(a, "%s/%s", folder, file), "--", model, NULL));
	else
		works("a stem, tuned", run("hone", "tune", "--set", "n=2", "--runner", "fake", "--trials", "1", "--keep", "--kb",
					   arena_printf(a, "%s.kb", file), "--report", arena_printf(a, "%s.html", file), "-o",
					   arena_printf(a, "%s.tuned", file), "--", model, NULL));
}

static void in_options(const char *name, struct arena *a)
{
	static const char *const value[] = {"--set",       "--shape", "--const", "--alias", "--gears",
					    "--histogram", "--times", "-k",      "--until", "--from"};
	static const char *const late[] = {"--threads", "--lanes", "--target", "--error"};
	static const char *const of_sizes[] = {"--set=%s=2", "--shape=%s:2x3", "--const=%s=1", "--alias=%s=%s", "--gears=%s=1,2"};
	static const char *const tuned[] = {"--only",      "--skip", "--strategy", "--cost-model",
					    "--scheduler", "--seed", "--seconds",  "--trials"};
	static const char *const simplified[] = {"--range", "--check-set", "--check-seconds", "--opset", "--external"};
	static const char *const quantised[] = {"--method", "--weights", "--activations", "--only",
						"--skip",   "--smooth",  "--range",       "--data"};

	for (size_t i = 0; i < sizeof value / sizeof *value; i++)
		good(value[i], run("hone", "passes", "plain.onnx", value[i], name, "-o", "out.g", NULL));
	for (size_t i = 0; i < sizeof late / sizeof *late; i++)
		good(late[i], run("hone", "passes", "--from", "plan", "laid.g", late[i], name, "-o", "out.g", NULL));
	for (size_t i = 0; i < sizeof of_sizes / sizeof *of_sizes; i++)
		good(of_sizes[i], run("hone", "passes", "plain.onnx", arena_printf(a, of_sizes[i], name, name), "-o", "out.g", NULL));
	for (size_t i = 0; i < sizeof tuned / sizeof *tuned; i++)
		good(tuned[i],
		     run("hone", "tune", "plain.onnx", "--set", "n=2", "--runner", "fake", tuned[i], name, "-o", "/dev/null/t", NULL));
	for (size_t i = 0; i < sizeof simplified / sizeof *simplified; i++)
		good(simplified[i], run("hone", "simplify", "plain.onnx", "out.onnx", simplified[i], name, NULL));
	for (size_t i = 0; i < sizeof quantised / sizeof *quantised; i++)
		good(quantised[i], run("hone", "quantize", "plain.onnx", "--data", "x.npy", quantised[i], name, "-o", "q.onnx", NULL));
	good("a tool", run("hone", name, "plain.onnx", NULL));
	good("a tool's help", run("hone", "help", name, NULL));
	good("--runner's target", run("hone", "tune", "plain.onnx", "--target", name, "-o", "t", NULL));
	good("kb why", run("kb", "why", name, NULL));
	good("--title", run("tune-op", "--title", name, "--runner", "fake", "--trials", "1", "laid.g", "-o", "out.g", NULL));
}

/* A histogram of such a symbol: its lines become arguments. */
static void in_histogram(const char *name)
{
	write_text("histogram", "n=1 3\n%s=2 1\n", name);
	good("a line of a histogram", run("hone", "passes", "plain.onnx", "--histogram", "histogram", "-k", "2", "-o", "out.g", NULL));
	write_text("histogram", "%s 3\n", name);
	good("a word of a histogram", run("hone", "passes", "plain.onnx", "--histogram", "histogram", "-k", "2", "-o", "out.g", NULL));
	good("times",
	     run("hone", "passes", "plain.onnx", "--histogram", "histogram", "--times", "histogram", "-k", "2", "-o", "out.g", NULL));
}

/* Variables of the environment that name places. The programs that take long are run with some of the names, one of the variables each. */
static void in_environment(const char *name, size_t i, struct arena *a)
{
	static const char *const variable[] = {"TMPDIR", "HONE_BLOBS", "XDG_DATA_HOME"};
	const char *path = arena_printf(a, "%s/%s.place", getenv("PWD_HERE"), file_of(name, a));

	mkdir(path, 0777);
	for (size_t k = 0; k < sizeof variable / sizeof *variable; k++) {
		char *before = getenv(variable[k]) ? arena_str(a, getenv(variable[k])) : NULL;
		setenv(variable[k], path, 1);
		works(variable[k], run("hone", "simplify", "plain.onnx", "out.onnx", NULL));
		if (i % BUILT_EVERY == k)
			works(variable[k], run("hone", "build", "plain.onnx", "--set", "n=2", "-o", "b", NULL));
		else if (i % BUILT_EVERY == 3 + k)
			works(variable[k], run("hone", "tune", "plain.onnx", "--set", "n=2", "--runner", "run-dev --serve", "--trials", "1",
					       "-o", "t", NULL));
		else if (i % QUANTISED_EVERY == 6 + k)
			works(variable[k], run("hone", "quantize", "-q", "plain.onnx", "--data", "x.npy", "--metric", "echo 1; test -s",
					       "-o", "q.onnx", NULL));
		if (before)
			setenv(variable[k], before, 1);
		else
			unsetenv(variable[k]);
	}
}

/* Variables of hone.mk: a dollar of the user's is written twice. */
static void in_makefile(const char *name, struct arena *a)
{
	static const char *const variable[] = {"HONE_SET", "HONE_SHAPE", "HONE_TARGET"};
	char *twice = arena_alloc(a, 2 * strlen(name) + 1), *p = twice;

	for (const char *s = name; *s; s++) {
		if (*s == '$')
			*p++ = '$';
		*p++ = *s;
	}
	for (size_t i = 0; i < sizeof variable / sizeof *variable; i++) {
		int code = run("make", "-f", "rules.mk", "plain.g", arena_printf(a, "%s=%s", variable[i], twice), NULL);
		good(variable[i], code == 2 ? 64 : code); /* make says 2 of any program that fails */
	}
}

static void everywhere(const char *name, size_t i, struct arena *a)
{
	now = name;
	in_model(name, a);
	in_files(name, i, a);
	in_options(name, a);
	in_histogram(name);
	in_environment(name, i, a);
	in_makefile(name, a);
}

/* ---- what all names share ---- */

static void begin(struct arena *a)
{
	const char *top = getenv("top");

	if (!top)
		die(EX_BADUSE, "names: run by tests/run.sh");
	if (mkdir("in", 0777) || chdir("in"))
		die_errno(EX_IO, "in");
	setenv("PWD_HERE", getcwd(NULL, 0), 1);
	setenv("HONE_KB", arena_printf(a, "%s/kb", getenv("PWD_HERE")), 1);
	unsetenv("MAKEFLAGS");
	now = "nothing";
	write_text("plain.txt",
		   "hone-text 1\nmodule ir=8 opset=17\nsymbol n 0 inf\nconst w = f32[3,4] [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3]\n"
		   "graph main {\n  input x: f32[n,3]\n  m = MatMul(x, @w)\n  y = Relu(m)\n  output y = y\n}\n");
	write_text("rules.mk", "include %s/share/hone.mk\n", top);
	ok(!run("ge-load", "plain.txt", "-o", "plain.g", NULL) && !run("ge-export", "plain.g", "-o", "plain.onnx", NULL) &&
		   !run("hone", "passes", "--set=n=2", "--until", "layout", "plain.onnx", "-o", "laid.g", NULL) &&
		   !run("ge-plan", "laid.g", "-o", "planned.g", NULL),
	   "a model");
	ok(!run("hone", "run-ref", "--set", "n=2", "plain.g", "-o", "x.npz", NULL), "samples");
	ok(!run("hone", "tune", "-q", "--set", "n=2", "--runner", "fake", "--trials", "1", "--kb", "records.kb", "-o", "t", "plain.onnx",
		NULL),
	   "records");
	write_text("ones.txt",
		   "hone-text 1\nmodule ir=8 opset=17\nconst c = f32[6,3] [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
		   "graph main {\n  y = Neg(@c)\n  output y = y\n}\n");
	ok(!run("ge-load", "ones.txt", "-o", "ones.g", NULL) && !run("run-ref", "ones.g", "-o", "x.npy", NULL), "an array");
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : FEW, seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 44;
	size_t part = argc > 4 ? strtoul(argv[3], NULL, 10) : 0, parts = argc > 4 ? strtoul(argv[4], NULL, 10) : 1, k = 0;
	struct rng r = {seed};
	struct arena names = {0}, a = {0};
	const char **name = names_of(n, &r, &names);

	for (size_t i = part; i < n; i += parts)
		name[k++] = name[i];
	begin(&names);
	for (size_t i = 0; i < k; i += TOGETHER) {
		now = name[i];
		in_models(name + i, k - i < TOGETHER ? k - i : TOGETHER, &a);
	}
	for (size_t i = 0; i < k; i++) {
		everywhere(name[i], i, &a);
		arena_release(&a);
	}
	ok(tried > 50 * k, "%zu names in %zu places", k, tried);
	return tap_done();
}
