#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/arena.h"
#include "common/facts.h"
#include "common/msg.h"
#include "common/shown.h"

const char *msg_tool = "hone";
bool msg_quiet;
void (*msg_before)(void);
__thread struct msg_trap *msg_trap;

enum { HOOKS_MAX = 64 };
static struct hook {
	void (*f)(void *arg);
	void *arg;
	int handle;
} hooks[HOOKS_MAX];
static int nhooks, last_handle;
static bool dying;

/* One line in one write, so that messages of tools in a pipe do not mix. Names come from files:
 * control characters must not reach the terminal. With --facts it is a fact of that name, too; a note is nothing else. */
static void say(const char *fact, const char *fmt, va_list ap, const char *tail)
{
	char *text = NULL, *line = NULL;
	size_t size = 0;
	int error = errno;

	if (msg_trap) {
		int n = vsnprintf(msg_trap->why, sizeof msg_trap->why, fmt, ap);
		if (n >= 0 && (size_t)n < sizeof msg_trap->why)
			snprintf(msg_trap->why + n, sizeof msg_trap->why - (size_t)n, "%s", tail);
		return;
	}
	FILE *f = open_memstream(&line, &size);
	if (!f || vasprintf(&text, fmt, ap) < 0) {
		fprintf(stderr, "%s: %s\n", msg_tool, fmt);
		return;
	}
	if (fact && facts_wanted()) {
		char *told = xprintf("%s%s", text, tail);
		facts_add(fact, told);
		free(told);
	}
	fprintf(f, "%s: ", msg_tool);
	put_shown(f, text);
	fprintf(f, "%s\n", tail);
	fclose(f);
	if (!fact || strcmp(fact, "note") || !facts_wanted()) {
		if (msg_before)
			msg_before();
		fwrite(line, 1, size, stderr);
		fflush(stderr);
	}
	free(line);
	free(text);
	errno = error;
}

/* A hook that dies itself (a full disk while cleaning up) adds no second message. */
static noreturn void end(enum exit_code code)
{
	static enum exit_code first;

	if (msg_trap) {
		struct msg_trap *t = msg_trap;
		msg_trap = NULL;
		t->code = code;
		longjmp(t->at, 1);
	}
	if (!dying)
		first = code;
	dying = true;
	while (nhooks > 0) {
		struct hook h = hooks[--nhooks];
		h.f(h.arg);
	}
	exit(first);
}

noreturn void die(enum exit_code code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	if (!dying)
		say("error", fmt, ap, "");
	va_end(ap);
	end(code);
}

noreturn void die_errno(enum exit_code code, const char *fmt, ...)
{
	char tail[256];
	va_list ap;
	snprintf(tail, sizeof tail, ": %s", strerror(errno));
	va_start(ap, fmt);
	if (!dying)
		say("error", fmt, ap, tail);
	va_end(ap);
	end(code);
}

noreturn void die_silent(enum exit_code code) { end(code); }

noreturn void bug_at(const char *file, int line, const char *fmt, ...)
{
	char tail[256];
	va_list ap;
	snprintf(tail, sizeof tail, " (%s:%d; this is a bug in %s)", file, line, msg_tool);
	va_start(ap, fmt);
	if (!dying)
		say("error", fmt, ap, tail);
	va_end(ap);
	end(EX_BUG);
}

void warn(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say(NULL, fmt, ap, "");
	va_end(ap);
}

void note(const char *fmt, ...)
{
	va_list ap;
	if (msg_quiet)
		return;
	va_start(ap, fmt);
	say("note", fmt, ap, "");
	va_end(ap);
}

int die_hook(void (*f)(void *arg), void *arg)
{
	if (nhooks == HOOKS_MAX)
		BUG("more than %d die hooks", HOOKS_MAX);
	hooks[nhooks++] = (struct hook){f, arg, ++last_handle};
	return last_handle;
}

void die_unhook(int handle)
{
	for (int i = 0; i < nhooks; i++) {
		if (hooks[i].handle != handle)
			continue;
		memmove(&hooks[i], &hooks[i + 1], (size_t)(nhooks - i - 1) * sizeof *hooks);
		nhooks--;
		return;
	}
}
