/* --pass: passes of one's own in the chain. Such a pass is a command that reads a graph stream on standard input and writes one. */
#include <stdlib.h>
#include <string.h>
#include "common/progress.h"
#include "hone.h"

/* The stage that --pass STAGE:COMMAND names, and the command; without a stage: the last that makes a graph smaller. */
static enum stage_id own_after(const char *value, const char **command)
{
	size_t n = strspn(value, "abcdefghijklmnopqrstuvwxyz");
	int s = STAGE_prune;

	*command = value;
	if (value[n] == ':') {
		char *name = xprintf("%.*s", (int)n, value);
		s = stage_find(name);
		if (s < 0)
			die(EX_BADUSE, "--pass %s: there is no stage '%s'; hone passes --list", value, name);
		if (s > STAGE_schedule)
			die(EX_BADUSE, "--pass %s: nothing comes between %s and the library", value, name);
		free(name);
		*command = value + n + 1;
	}
	if (!*(*command + strspn(*command, " \t\n")))
		die(EX_BADUSE, "--pass %s: which command?", value);
	return (enum stage_id)s;
}

void own_check(const struct hone *h)
{
	const char *command;

	for (size_t i = 0; i < h->given.n; i++)
		if (!strcmp(h->given.a[i].row->name, "pass"))
			own_after(h->given.a[i].value, &command);
}

/* The program of a command, as far as its name is fit for a file. */
static const char *own_program(struct hone *h, const char *command)
{
	const char *first = text(h, "%.*s", (int)strcspn(command, " \t\n;|&"), command), *name = base_name(first);

	return text(h, "%.*s", (int)strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"), name);
}

/* Runs the command. ge-shape reads what the command wrote, checks the graph and infers the types of new values; its messages name the file
 * "--pass PROGRAM". Where the graph changed, and is not fused yet, the stages that make it smaller run again. */
static void own_run(struct hone *h, const char *command, enum stage_id after)
{
	const char *program = own_program(h, command), *label = h->label ? text(h, "%s.", h->label) : "";
	const char *name = text(h, "%sown-%s", label, program), *next = chain_graph(h, name), *before = h->digest;
	double since = now_seconds();
	struct child own = {.in = h->last, .out = text(h, "%s/--pass %s", h->work, program)},
		     shape = {.facts = text(h, "%s/facts", h->work)};
	static const struct facts none;

	progress(h, name);
	words_add(&own.argv, "/bin/sh");
	words_add(&own.argv, "-c");
	words_add(&own.argv, command);
	int code = child_run(h, &own, NULL);
	child_tell(h, name, &none);
	if (code)
		die(EX_BADDATA, "--pass %s: the command ended with %d", command, code);
	words_add(&shape.argv, "ge-shape");
	words_add(&shape.argv, "--quiet");
	words_add(&shape.argv, text(h, "--facts=%s", shape.facts));
	given_add(h, &shape.argv, "own");
	words_add(&shape.argv, "-o");
	words_add(&shape.argv, next);
	words_add(&shape.argv, own.out);
	struct facts f = child_must(h, &shape);
	chain_line(h, name, since, &f);
	h->last = next;
	h->digest = facts_get(&f, "digest");
	words_add(&h->kept, next);
	if (after < STAGE_fuse && !(before && h->digest && !strcmp(before, h->digest)))
		chain_run(h, STAGE_fold, STAGE_prune, CLEAN, "");
}

void own_passes(struct hone *h, enum stage_id after)
{
	const char *command;

	for (size_t i = 0; i < h->given.n; i++)
		if (!strcmp(h->given.a[i].row->name, "pass") && own_after(h->given.a[i].value, &command) == after)
			own_run(h, command, after);
}
