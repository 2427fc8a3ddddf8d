/* The main() of every tool: options common to all, the tool's own, and the way out. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/arena.h"
#include "common/facts.h"
#include "common/outfile.h"
#include "common/shown.h"
#include "common/tool.h"
#include "common/vec.h"

/* Keys no letter of a tool's own collides with. */
enum { KEY_WHY = 0x10001, KEY_JSON, KEY_QUIET, KEY_FACTS, KEY_SUMMARY };

static const struct {
	unsigned flag; /* of struct tool; 0: every tool has it */
	struct argp_option option;
} common[] = {
	{TOOL_OUT, {NULL, 'o', "FILE", 0, "write to FILE, whole or not at all", -2}},
	{TOOL_STEM, {NULL, 'o', "STEM", 0, "write STEM.c, STEM.h and so on, each whole or not at all", -2}},
	{TOOL_WHY, {"why", KEY_WHY, 0, 0, "say on standard error what was done to each node, or why not", -2}},
	{TOOL_JSON, {"json", KEY_JSON, 0, 0, "report as JSON", -2}},
	{0, {"quiet", KEY_QUIET, 0, 0, "no notes and no progress", -2}},
	{0, {"summary", KEY_SUMMARY, 0, OPTION_HIDDEN, "print what the tool is for, in one sentence", -2}},
	{0, {"facts", KEY_FACTS, "FILE", 0, "write notes and what else was found into FILE, as JSON", -2}},
};
enum { NCOMMON = sizeof common / sizeof *common };

static struct argp argp;
static VEC(const char *) recorded; /* by index of own option: what was given, in order */
static struct arena arena;
static struct tool_args args;

static const struct argp_option *own_option(int key, size_t *index)
{
	const struct argp_option *o = tool.options;
	for (size_t i = 0; o && (o[i].name || o[i].key || o[i].doc || o[i].group); i++) {
		if (o[i].key != key || o[i].flags & OPTION_DOC)
			continue;
		while (i > 0 && o[i].flags & OPTION_ALIAS)
			i--;
		*index = i;
		return &o[i];
	}
	return NULL;
}

/* Values may hold blanks; in the record a blank separates options. */
static const char *quoted(const char *s)
{
	char *out = arena_alloc(&arena, 4 * strlen(s) + 1), *p = out;
	for (; *s; s++) {
		if ((unsigned char)*s <= ' ' || *s == 0x7f || *s == '\\')
			p += sprintf(p, "\\x%02x", (unsigned char)*s);
		else
			*p++ = *s;
	}
	return out;
}

static void record(const struct argp_option *o, size_t index, const char *value)
{
	if (o->group < 0)
		return;
	while (recorded.n <= index)
		vec_push(&recorded, NULL);
	const char *text = o->name ? arena_printf(&arena, "--%s", o->name) : arena_printf(&arena, "-%c", o->key);
	if (value)
		text = arena_printf(&arena, "%s=%s", text, quoted(value));
	const char *before = recorded.a[index];
	recorded.a[index] = before ? arena_printf(&arena, "%s %s", before, text) : text;
}

static int finish(int code)
{
	facts_end();
	if (fflush(stdout) || ferror(stdout) || fclose(stdout))
		die_errno(EX_IO, "standard output: writing failed");
	return code;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
	size_t index;
	const struct argp_option *own = own_option(key, &index);
	if (own) {
		error_t e = tool.option ? tool.option(key, value) : ARGP_ERR_UNKNOWN;
		if (e == 0)
			record(own, index, value);
		return e;
	}
	switch (key) {
	case 'o': args.out = strcmp(value, "-") ? value : NULL; return 0;
	case KEY_WHY: args.why = true; return 0;
	case KEY_JSON: args.json = true; return 0;
	case KEY_SUMMARY: puts(tool.summary); exit(finish(EX_GOOD));
	case KEY_FACTS: facts_begin(value); return 0;
	case 'q':
	case KEY_QUIET: msg_quiet = true; return 0;
	case ARGP_KEY_ARG:
		if (tool.max_files >= 0 && args.nfile >= tool.max_files)
			argp_error(state, "unexpected argument '%s'", shown(value));
		args.file[args.nfile++] = value;
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static void version(FILE *f, struct argp_state *state)
{
	(void)state;
	fprintf(f, "%s (hone) %s\n", tool.name, HONE_VERSION);
}

/* The tool's own table and behind it the common options; a letter the tool took is its own. */
static struct argp_option *option_table(void)
{
	VEC(struct argp_option) v = {0};
	size_t index;
	for (const struct argp_option *o = tool.options; o && (o->name || o->key || o->doc || o->group); o++) {
		vec_push(&v, *o);
		const char *names = o->doc && tool.names ? strstr(o->doc, "%s") : NULL;
		if (names)
			v.a[v.n - 1].doc = xprintf("%.*s%s%s", (int)(names - o->doc), o->doc, tool.names(o->key), names + 2);
	}
	for (int i = 0; i < NCOMMON; i++) {
		struct argp_option o = common[i].option;
		if (common[i].flag && !(tool.flags & common[i].flag))
			continue;
		if (o.key == 'o' && own_option('o', &index))
			continue;
		if (o.key == KEY_QUIET && !own_option('q', &index))
			o.key = 'q';
		vec_push(&v, o);
	}
	vec_push(&v, (struct argp_option){0});
	return v.a;
}

noreturn void tool_usage(void)
{
	argp_help(&argp, stderr, ARGP_HELP_STD_USAGE, (char *)tool.name);
	die_silent(EX_BADUSE);
}

static void join_options(void)
{
	const char *all = "";
	for (size_t i = 0; i < recorded.n; i++)
		if (recorded.a[i])
			all = arena_printf(&arena, "%s%s%s", all, *all ? " " : "", recorded.a[i]);
	args.options = (char *)all;
}

static error_t accept(int key, char *value, struct argp_state *state)
{
	(void)key, (void)value, (void)state;
	return 0;
}

static void join_command(int argc, char **argv)
{
	struct arena a = {0};

	args.command = tool.name;
	for (int i = 1; i < argc; i++)
		args.command = xprintf("%s %s", args.command, shell_word(argv[i], &a));
	arena_release(&a);
}

/* Names of options stand in argp's own messages as they were given. Where argp would refuse, and a name has what a terminal does not just
 * print, the message is made here. */
static void check_names(int argc, char **argv)
{
	struct argp quiet = {.options = argp.options, .parser = accept};
	const char *odd = NULL;

	for (int i = argc; --i > 0;)
		odd = *argv[i] == '-' && strcmp(argv[i], shown(argv[i])) ? argv[i] : odd;
	if (!odd)
		return;
	char **copy = xcalloc((size_t)argc + 1, sizeof *copy); /* argp changes their order */
	memcpy(copy, argv, sizeof *copy * (size_t)argc);
	if (argp_parse(&quiet, argc, copy, ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT, NULL, NULL))
		die(EX_BADUSE, "options that cannot be read, '%s' among them", shown(odd));
	free(copy);
}

/* Where standard input, output or error is closed, what is opened next would take its place. Something is put there that
 * cannot be read, or written. */
static void fill_places(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			_exit(EX_SYSTEM);
}

int main(int argc, char **argv)
{
	fill_places();
	mapping_guard();
	msg_tool = tool.name;
	signal(SIGPIPE, SIG_DFL); /* some parents leave them ignored */
	signal(SIGCHLD, SIG_DFL);
	signal(SIGXFSZ, SIG_IGN); /* writing fails then, and what was begun is taken away */
	argp_err_exit_status = EX_BADUSE;
	argp_program_version_hook = version;
	argv[0] = (char *)tool.name; /* not the path, in messages about options */
	if (tool.verbs)
		return finish(tool.verbs(argc, argv));
	args.file = xcalloc((size_t)argc + 1, sizeof *args.file);
	argp = (struct argp){
		.options = option_table(),
		.parser = parse,
		.args_doc = tool.args_doc,
		.doc = xprintf("%s%s%s", tool.summary, tool.more ? "\v" : "", tool.more ? tool.more : ""),
	};
	check_names(argc, argv);
	join_command(argc, argv); /* argp puts options before files */
	if (argp_parse(&argp, argc, argv, 0, NULL, NULL))
		tool_usage();
	join_options();
	if (tool.flags & TOOL_IN_STREAM && args.nfile == 0 && isatty(STDIN_FILENO))
		tool_usage();
	return finish(tool.run(&tool, &args));
}
