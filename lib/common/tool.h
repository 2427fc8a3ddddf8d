/* The one main() of all tools. A tool is a folder tools/NAME with NAME.c that defines
 * `const struct tool tool`. */
#ifndef HONE_TOOL_H
#define HONE_TOOL_H
#include <argp.h>
#include <stdbool.h>
#include "common/msg.h"

#define HONE_VERSION "0.1.0"

/* The release and the commit, "0.1.0+2345.e4d8dada12": for people, and in libraries. Only in hone and ge-emit. Provenance, records and
 * emitted C name the release alone, so that commits which change nothing of them leave them the same bytes. */
extern const char hone_build[];

enum tool_flags {
	TOOL_OUT = 1,       /* takes -o FILE */
	TOOL_WHY = 2,       /* takes --why */
	TOOL_JSON = 4,      /* takes --json */
	TOOL_STEM = 16,     /* takes -o STEM: files of its own begin so */
	TOOL_IN_STREAM = 8, /* [FILE], else standard input; prints usage (64) if that is a terminal */
};

/* What the command line said, common part. */
struct tool_args {
	int nfile;
	char **file;     /* arguments that are not options */
	const char *out; /* -o, or NULL */
	bool why, json;
	/* Options of the tool's own (all of them change the result unless their argp doc group is
	 * negative), "--name=value" in the order of the table, joined by blanks: for provenance. */
	char *options;
	const char *command; /* the command line as it was, for a shell to read */
};

struct tool {
	const char *name;
	const char *summary;  /* one sentence; first line of --help */
	const char *args_doc; /* as in argp: "[FILE]" */
	const char *more;     /* text after the options in --help, or NULL */
	unsigned flags;
	int max_files;                     /* more arguments are a usage error; -1: any number */
	const struct argp_option *options; /* own options, or NULL */
	/* One own option; returns 0, or ARGP_ERR_UNKNOWN. A bad value: die(EX_BADUSE). */
	error_t (*option)(int key, char *arg);
	/* The names that an own option takes, where a list has them: they stand for "%s" in its help. NULL: no option asks. */
	const char *(*names)(int key);
	int (*run)(const struct tool *t, struct tool_args *a); /* exit code */
	const void *data;                                      /* for run: e.g. the pass (graph/pass.h) */
	/* In place of options and run: a tool of verbs, which reads its command line itself. NULL: it is none. */
	int (*verbs)(int argc, char **argv);
};
extern const struct tool tool;

/* Prints the usage and ends with 64. */
noreturn void tool_usage(void);
#endif
