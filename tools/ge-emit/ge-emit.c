#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/facts.h"
#include "common/option.h"
#include "common/scratch.h"
#include "common/shown.h"
#include "ge-emit.h"
#include "graph/pass.h"
#include "graph/stream.h"
#include "op/op.h"

static bool print_traces, no_compile, embed, bare, report, no_fallback;
static int jobs, threads;
static struct given_traces traces;
static struct target_list given; /* none: this machine */

enum {
	OPT_PRINT_TRACES = 1000,
	OPT_TRACE,
	OPT_NO_COMPILE,
	OPT_EMBED,
	OPT_REPORT,
	OPT_NO_FALLBACK,
	OPT_TARGET,
	OPT_THREADS,
	OPT_LINK,
	OPT_FREESTANDING
};
static struct words links;
enum { EMBED_MAX = 64 << 20, JOBS_MAX = 10000 };

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_PRINT_TRACES: print_traces = true; return 0;
	case OPT_TRACE: traces_read(&traces, arg); return 0;
	case OPT_NO_COMPILE: no_compile = true; return 0;
	case OPT_EMBED: embed = true; return 0;
	case OPT_FREESTANDING: bare = embed = no_fallback = true; return 0;
	case OPT_REPORT: report = true; return 0;
	case OPT_NO_FALLBACK: no_fallback = true; return 0;
	case OPT_LINK:
		if (access(arg, R_OK))
			die_errno(EX_NOIN, "--link %s", arg);
		vec_push(&links, arg);
		return 0;
	case OPT_TARGET: targets_add(&given, arg); return 0;
	case 'j': jobs = (int)option_count("-j", arg, 1, JOBS_MAX); return 0;
	case OPT_THREADS: threads = (int)option_count("--threads", arg, 1, THREADS_MAX); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* ---- reports ---- */

static const char *first_name(struct emission *e, uint32_t kernel, uint32_t *ncalls)
{
	struct module *m = e->M->m;
	const char *name = "";

	*ncalls = 0;
	for (uint32_t c = 0; c < e->M->calls.n; c++)
		if (e->M->calls.a[c].kernel == kernel && !(*ncalls)++)
			name = node_where(m, e->M->calls.a[c].node, &m->arena);
	return name;
}

static void put_traces(struct emission *e)
{
	for (uint32_t k = 0; k < e->M->kernels.n; k++) {
		const struct kernel *x = &e->M->kernels.a[k];
		uint32_t n;
		const char *name = first_name(e, k, &n);
		char hex[33];
		digest_hex(x->digest, hex);
		printf("# kernel %s\n# %s: %s, called %" PRIu32 " times\n", hex, e->functions.a.a[e->functions.of_kernel[k]].name, name, n);
		for (const char *s = x->trace, *end; *s; s = end + (*end == '\n')) {
			end = s + strcspn(s, "\n");
			if (*s != '#') /* comments are ours already */
				printf("%.*s\n", (int)(end - s), s);
		}
	}
}

static void put_report(struct emission *e)
{
	double total = 0;

	printf("%-6s %5s %14s  %s\n", "kernel", "calls", "flop a call", "first node");
	for (size_t i = 0; i < e->functions.a.n; i++) {
		const struct function *f = &e->functions.a.a[i];
		printf("%-6s %5" PRIu32 " %14.0f  %s\n", f->name, f->ncalls, f->flops,
		       node_where(e->M->m, e->M->calls.a[f->first].node, &e->M->m->arena));
		total += f->flops * f->ncalls;
	}
	if (e->M->nnative)
		printf("%-6s %5" PRIu32 " %14s  C without stages\n", "native", e->M->nnative, "");
	if (e->M->nopaque)
		printf("%-6s %5" PRIu32 " %14s  slow path\n", "eval", e->M->nopaque, "");
	printf("%zu kernels, %zu calls, %.3f GFLOP, arena %" PRId64 " bytes, weights %" PRId64 " bytes\n", e->functions.a.n, e->M->calls.n,
	       total * 1e-9, model_arena_bytes(e->M), e->weights.bytes);
}

/* ---- files ---- */

static void remove_scratch(void *s) { scratch_remove(s); }

/* What a model is made of, the library last: who finds that finds the others. */
static const struct part {
	const char *suffix;
	bool compiled, weights, hosted;
} parts[] = {{".weights", .weights = true}, {".h"}, {".c"}, {".a", .compiled = true}, {".so", .compiled = true, .hosted = true}};
enum { NPARTS = sizeof parts / sizeof *parts };

static bool is_made(const struct emission *e, int i)
{
	return !(parts[i].compiled && no_compile) && !(parts[i].weights && e->embed) && !(parts[i].hosted && e->bare);
}

static const char *stem_of(const char *out) { return strrchr(out, '/') ? strrchr(out, '/') + 1 : out; }

/* Nothing is compiled for a name that a directory or a device has. */
static void check_out(const struct emission *e, const char *to)
{
	const char *stem = stem_of(to);
	struct stat st;

	if (!*stem || !strcmp(stem, ".") || !strcmp(stem, ".."))
		die(EX_BADUSE, "-o %s: names a directory; -o takes the stem of the files, e.g. %s%smodel", to, to, *stem ? "/" : "");
	for (int i = 0; i < NPARTS; i++) {
		char *path = xprintf("%s%s", to, parts[i].suffix);
		if (is_made(e, i) && !stat(path, &st) && !S_ISREG(st.st_mode))
			die(EX_IO, "%s: is a %s", path, S_ISDIR(st.st_mode) ? "directory" : "device or a pipe, which no library can be");
		free(path);
	}
}

/* Who else writes there waits for a moment, so that the files of two models are never mixed. Where there are no locks, nobody waits. */
static int lock_place(const char *to)
{
	const char *slash = strrchr(to, '/');
	char *folder = slash ? xprintf("%.*s", (int)(slash - to) + 1, to) : xstrdup(".");
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		flock(fd, LOCK_EX);
	free(folder);
	return fd;
}

/* All files get their names, or none does: where one fails, those before it are again what they were. */
static void publish(const struct emission *e, const char *dir, const char *stem, const char *to)
{
	struct arena a = {0};
	const char *path[NPARTS], *old[NPARTS];
	bool had[NPARTS] = {0};
	int i, error = 0, lock = lock_place(to);

	for (i = 0; i < NPARTS; i++) {
		if (!is_made(e, i))
			continue;
		path[i] = arena_printf(&a, "%s%s", to, parts[i].suffix);
		old[i] = arena_printf(&a, "%s/old%s", dir, parts[i].suffix);
		had[i] = !link(path[i], old[i]) || (errno != ENOENT && !rename(path[i], old[i]));
		if (rename(arena_printf(&a, "%s/%s%s", dir, stem, parts[i].suffix), path[i])) {
			error = errno;
			break;
		}
	}
	for (int k = i; error && k >= 0; k--)
		if (is_made(e, k) && (had[k] ? rename(old[k], path[k]) : k < i && unlink(path[k])))
			warn("%s: cannot be made what it was", path[k]);
	if (error) {
		errno = error;
		die_errno(EX_IO, "%s", path[i]);
	}
	if (lock >= 0)
		close(lock);
	arena_release(&a);
}

/* Functions are called otherwise than the files, for the report of hone. */
static void tell_name(const char *stem, const char *name)
{
	char *line;

	if (strlen(name) == strlen(stem))
		return;
	line = xprintf("the functions are %s_open and so on: %s is no name that C or the library leaves free", name, shown(stem));
	facts_text("name", line);
	if (report)
		printf("%s\n", line);
	free(line);
}

static void write_model(struct emission *e, int n, const char *out)
{
	const char *stem = stem_of(out);
	char *prefix = xprintf("%s%.*s.ge-emit-", *out == '/' ? "" : "./", (int)(stem - out), out), *header = xprintf("%s.h", stem);
	struct scratch s; /* beside the results */

	signals_hold(true);
	if (!scratch_make(&s, prefix)) {
		if (errno == ENOENT)
			die(EX_IO, "%s: its directory is not there; mkdir -p %.*s", out, (int)(stem - out), out);
		die_errno(EX_IO, "%s", out);
	}
	const char *dir = s.path;
	int hook = die_hook(remove_scratch, &s);
	char *name = model_name(stem);
	emissions_name(e, n, name);
	tell_name(stem, name);
	if (!e->embed)
		weights_write(e, n, arena_printf(&e->M->m->arena, "%s/%s.weights", dir, stem));
	emit_source(e, n, arena_printf(&e->M->m->arena, "%s/%s.c", dir, stem), header);
	emit_header(e, arena_printf(&e->M->m->arena, "%s/%s", dir, header));
	if (!no_compile)
		compile_model(e, n, dir, stem, jobs ? jobs : (int)sysconf(_SC_NPROCESSORS_ONLN), &links);
	if (!no_compile && e->bare) {
		struct bare_needs needs = {.calls = ""};
		bare_measure(e, dir, stem, &needs);
		bare_tell(e, &needs, report);
	}
	publish(e, dir, stem, out);
	die_unhook(hook);
	scratch_remove(&s);
	signals_hold(false);
	free(prefix);
	free(header);
}

/* The targets in the order in which a CPU takes them, and the graph of each: the file of the same place on the command line. */
static int read_graphs(const struct tool_args *a, struct target_list *ranked, const char *graph[TARGETS_MAX])
{
	int order[TARGETS_MAX];

	if (given.n > 1 && a->nfile != given.n)
		die(EX_BADUSE, "%d targets need %d graphs, each as ge-plan --target plans it; there %s %d", given.n, given.n,
		    a->nfile == 1 ? "is" : "are", a->nfile);
	if (given.n <= 1 && a->nfile > 1)
		die(EX_BADUSE, "%s: an argument too many; several graphs are those of several targets (--target)", a->file[1]);
	if (given.n > 1 && traces.n)
		die(EX_BADUSE, "--trace: for one target at a time");
	targets_rank(&given, order);
	for (int i = 0; i < given.n; i++) {
		ranked->a[ranked->n++] = given.a[order[i]];
		graph[i] = a->nfile ? a->file[order[i]] : NULL;
	}
	if (!given.n)
		graph[0] = a->nfile ? a->file[0] : NULL;
	return given.n ? given.n : 1;
}

/* Functions of one's own that nothing was linked for: who loads the library has them, or it cannot be loaded. */
static void tell_open(struct module *m)
{
	const char *names = "";

	for (node_id i = 1; i < m->nodes.n && !links.n; i++) {
		const char *name = node(m, i)->op == OP_Extern ? attr_s(node(m, i), "function") : NULL;
		if (name && !strstr(arena_printf(&m->arena, "%s,", names), arena_printf(&m->arena, " %s,", name)))
			names = arena_printf(&m->arena, "%s%s %s", names, *names ? "," : "", name);
	}
	if (*names)
		warn("the library leaves open:%s; --link FILE has it, or the program that loads the library", names);
}

static void check_planned(struct module *m, const char *file, const char *out)
{
	if (plan_bytes(m) < 0)
		die(EX_BADUSE, "%s: no memory plan; run ge-plan first: ge-plan %s | ge-emit -o %s", m->source ? m->source : "-",
		    file ? file : "MODEL.g", out ? out : "STEM");
}

/* What is asked for on standard output. */
static void put_tables(struct emission *e, const struct target_list *l)
{
	if (l->n > 1 && (print_traces || report))
		printf("%s# target %s\n", e->number > 1 ? "\n" : "", shown(l->a[e->number - 1].name));
	if (print_traces)
		put_traces(e);
	if (report)
		put_report(e);
}

static int run(const struct tool *t, struct tool_args *a)
{
	struct target_list ranked = {0};
	const char *graph[TARGETS_MAX];
	struct stream_reader *r[TARGETS_MAX];
	struct emission e[TARGETS_MAX] = {0};
	int n = read_graphs(a, &ranked, graph);

	if (bare && (n > 1 || threads > 1 || links.n))
		die(EX_BADUSE, "--freestanding: makes code for one target and one thread, and links nothing to it");
	if (!a->out && !print_traces && !report)
		die(EX_BADUSE, "-o STEM says where STEM.c, STEM.so and the others go");
	for (int i = 0; i < n; i++) {
		r[i] = stream_open(graph[i]);
		struct module *m = stream_read_only(r[i]);
		module_verify_or_die(m);
		check_planned(m, graph[i], a->out);
		e[i] = (struct emission){
			.target = ranked.n ? &ranked.a[i].t : target_host(), .embed = embed, .bare = bare, .graph = module_digest(m)};
		if (n > 1) {
			e[i].of_several = &ranked;
			e[i].number = i + 1;
		}
		if (i)
			e[i].weights = e[i - 1].weights;
		else if (a->out)
			check_out(e, a->out);
		emission_make(&e[i], m, &traces, bare ? 1 : threads, no_fallback);
		if (bare)
			bare_check(&e[i]);
	}
	emissions_join(e, n);
	if (embed && e->weights.bytes > EMBED_MAX)
		die(EX_BADUSE, "--embed: %" PRId64 " bytes of weights are too many for a C file", e->weights.bytes);
	if (a->out && !no_compile)
		tell_open(e->M->m);
	model_report_opaque(e->M, false); /* behind all faults of use: those are one line */
	for (int i = 0; i < n; i++)
		put_tables(&e[i], &ranked);
	if (n > 1)
		tell_weights(e, n, report);
	if (a->out)
		write_model(e, n, a->out);
	for (int i = 0; i < n; i++)
		stream_close(r[i]);
	return EX_GOOD;
}

static const struct argp_option options[] = {
	{"jobs", 'j', "N", 0, "compilers at a time (default: as many as CPUs)", -1},
	{"no-compile", OPT_NO_COMPILE, 0, 0, "write C, header and weights only"},
	{"embed", OPT_EMBED, 0, 0, "put the weights into the C file"},
	{"freestanding", OPT_FREESTANDING, 0, 0,
	 "C for a machine without an operating system, weights and memory in it, and STEM.a; --report says what it takes"},
	{"print-traces", OPT_PRINT_TRACES, 0, 0, "print the trace of every kernel on standard output", -1},
	{"trace", OPT_TRACE, "FILE", 0, "for kernels whose digest it names, the traces in FILE (as --print-traces prints them)"},
	{"target", OPT_TARGET, "NAME", 0,
	 "make code for this target: %s (default: native); several with commas between them, or repeated: one library for all, of a graph each"},
	{"threads", OPT_THREADS, "N", 0, "the library uses at most N threads (default: as planned)"},
	{"link", OPT_LINK, "FILE", 0,
	 "an object or a library with functions of your own (ge-shape --extern), linked into STEM.so; repeated: all"},
	{"no-fallback", OPT_NO_FALLBACK, 0, 0, "refuse a graph of which a part would run on the slow path"},
	{"report", OPT_REPORT, 0, 0, "print a table of kernels on standard output", -1},
	{0},
};

static const char *names(int key) { return target_names(); }

const struct tool tool = {
	.name = "ge-emit",
	.summary = "Write a planned graph as C, and compile it to a library.",
	.args_doc = "[FILE..] -o STEM",
	.flags = TOOL_STEM | TOOL_IN_STREAM,
	.max_files = TARGETS_MAX,
	.options = options,
	.option = option,
	.names = names,
	.run = run,
};
