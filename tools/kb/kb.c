/* kb: what was measured, and remembered. */
#include <string.h>
#include "common/option.h"
#include "target/target.h"
#include "op/task.h"
#include "verbs.h"

struct kb_options opt = {.keep = 3};

/* Options that are not for every verb. */
enum takes { T_TARGET = 1, T_FOR = 2, T_SALVAGE = 4, T_KEEP = 8, T_DRY_RUN = 16, T_OUT = 32, T_WHY = 64, T_JSON = 128, T_HERE = 256 };
static const char *const takes_names[] = {"--target", "--for", "--salvage", "--keep", "--dry-run", "-o", "--why", "--json", "--here"};
static unsigned given;

static const struct {
	const char *name;
	int (*run)(const struct tool *t, struct tool_args *a);
	unsigned takes; /* enum takes */
} verbs[] = {
	{"ls", kb_ls, T_TARGET | T_JSON},
	{"get", kb_get, T_JSON},
	{"best", kb_best_verb, T_TARGET | T_JSON},
	{"why", kb_why, T_TARGET | T_JSON},
	{"put", kb_put_verb, T_JSON | T_HERE},
	{"apply", kb_apply, T_TARGET | T_OUT | T_WHY},
	{"merge", kb_merge, T_JSON},
	{"dump", kb_dump, T_TARGET | T_FOR | T_SALVAGE | T_OUT | T_JSON},
	{"load", kb_load, T_JSON | T_HERE},
	{"fsck", kb_fsck, 0},
	{"stat", kb_stat_verb, T_JSON},
	{"gc", kb_gc, T_KEEP | T_DRY_RUN | T_JSON},
};

enum { KEY_KB = 0x20001, KEY_TARGET, KEY_FOR, KEY_KEEP, KEY_SALVAGE, KEY_HERE };
static const struct argp_option options[] = {
	{"kb", KEY_KB, "FILE", 0, "the knowledge base, in place of HONE_KB and the one in the home directory", -1},
	{"target", KEY_TARGET, "NAME", 0, "best, why, ls, apply, dump --for: for this target, not this machine: %s", 0},
	{"for", KEY_FOR, "MODEL.g", 0, "dump: only the best records of this model's tasks", -1},
	{"salvage", KEY_SALVAGE, 0, 0, "dump: of a damaged file, what is whole", 0},
	{"keep", KEY_KEEP, "N", 0, "gc: the N best of each task, target and default stay whole (3)", 0},
	{"here", KEY_HERE, 0, 0, "put, load: these were measured here, whatever they say; hone tune does not time them again", 0},
	{"dry-run", 'n', 0, 0, "gc: say what would be done", 0},
	{0},
};

static error_t option(int key, char *arg)
{
	switch (key) {
	case KEY_KB: opt.kb = arg; return 0;
	case KEY_TARGET: opt.target = arg, given |= T_TARGET; return 0;
	case KEY_FOR: opt.for_file = arg, given |= T_FOR; return 0;
	case KEY_HERE: opt.here = true, given |= T_HERE; return 0;
	case KEY_SALVAGE: opt.salvage = true, given |= T_SALVAGE; return 0;
	case KEY_KEEP:
		given |= T_KEEP;
		opt.keep = option_count("--keep", arg, 0, ULONG_MAX);
		return 0;
	case 'n': opt.dry_run = true, given |= T_DRY_RUN; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

void task_hex(const char *text, char out[33]) { digest_hex(task_digest(text), out); }

const char *kb_target(void)
{
	static char *row;
	struct target t;

	if (!opt.target)
		return target_row(target_host());
	if (!row) /* a row is taken as it is: its compiler is not this machine's */
		row = xstrdup(strchr(opt.target, '=') || !target_find(opt.target, &t) ? opt.target : target_row(&t));
	return row;
}

/* What a verb would leave without effect is a mistake. */
static void check_options(const char *verb, unsigned takes, const struct tool_args *a)
{
	given |= (a->out ? T_OUT : 0) | (a->why ? T_WHY : 0) | (a->json ? T_JSON : 0);
	for (size_t i = 0; i < sizeof takes_names / sizeof *takes_names; i++)
		if (given & ~takes & 1u << i)
			die(EX_BADUSE, "%s: %s takes no such option; kb --help says what is for which verb", takes_names[i], verb);
	if (opt.for_file && opt.salvage)
		die(EX_BADUSE, "--for and --salvage do not go together");
	if (opt.target && takes & T_FOR && !opt.for_file)
		die(EX_BADUSE, "--target: dump takes it with --for only");
}

static int run(const struct tool *t, struct tool_args *a)
{
	if (a->nfile == 0)
		tool_usage();
	const char *name = a->file[0];
	a->file++, a->nfile--;
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (!strcmp(verbs[i].name, name)) {
			check_options(name, verbs[i].takes, a);
			return verbs[i].run(t, a);
		}
	die(EX_BADUSE, "%s: no such verb; kb --help lists them", name);
}

static const char *names(int key) { return target_names(); }

const struct tool tool = {
	.name = "kb",
	.summary = "What was measured, and remembered: look at it, add to it, apply it.",
	.args_doc = "VERB [ARGUMENT...]",
	.more = "Verbs:\n"
		"  ls [TASK]        list tasks, or the records of one\n"
		"  get ID|TASK      print records\n"
		"  best TASK        print the record that wins\n"
		"  why TASK         say which record wins, and over which\n"
		"  put              keep records from standard input as they come\n"
		"  apply [MODEL.g]  give the kernels of a model their best traces\n"
		"  merge FILE...    add what other files hold\n"
		"  dump             print all records, sorted, as text\n"
		"  load [FILE...]   read what dump printed\n"
		"  fsck [FILE]      check every page and record\n"
		"  stat             count records by kind, verdict and target\n"
		"  gc               shorten records that can no longer win",
	.flags = TOOL_OUT | TOOL_WHY | TOOL_JSON,
	.max_files = -1,
	.options = options,
	.option = option,
	.names = names,
	.run = run,
};
