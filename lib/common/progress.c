#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/progress.h"

static bool shown; /* a progress line stands on the terminal */

double now_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Columns that a line may have; one that is longer could not be taken back. */
static int columns(void)
{
	enum { COLUMNS = 80 };
	struct winsize w;
	bool known = !ioctl(STDERR_FILENO, TIOCGWINSZ, &w) && w.ws_col > 0;

	return (known && w.ws_col < COLUMNS ? w.ws_col : COLUMNS) - 1;
}

static void clear(void)
{
	if (shown)
		fprintf(stderr, "\r%*s\r", columns(), "");
	shown = false;
}

static void draw(const char *what, const char *text)
{
	const char *bold = getenv("NO_COLOR") ? "" : "\033[1m", *plain = *bold ? "\033[0m" : "";
	int left = columns() - (int)strlen(what) - 1;

	clear();
	fprintf(stderr, "%s%s%s %.*s", bold, what, plain, left > 0 ? left : 0, text);
	fflush(stderr);
	shown = true;
}

static bool on_terminal(void)
{
	static int terminal = -1;
	if (terminal < 0)
		terminal = isatty(STDERR_FILENO);
	return terminal;
}

/* Seconds from line to line where there is no terminal. */
static double period(void)
{
	const char *given = getenv("HONE_PROGRESS");
	char *end;
	double s = given ? strtod(given, &end) : 60;

	return given && (*end || end == given || !(s > 0)) ? INFINITY : s;
}

/* Is there something to show now? */
static bool is_due(struct progress *p, double now)
{
	static double logged; /* when the last line was, whichever work it was of */
	bool due;

	if (on_terminal()) {
		due = now - p->start >= 0.5 && now - p->drawn >= 0.1;
	} else {
		logged = logged > 0 ? logged : p->start;
		due = p->logged && now - logged >= period();
		logged = due ? now : logged;
	}
	p->drawn = due ? now : p->drawn;
	return due && !msg_quiet;
}

static void show(const struct progress *p, const char *text)
{
	if (on_terminal())
		draw(p->what, text);
	else
		warn("%s %s", p->what, text);
}

void progress_start(struct progress *p, const char *what, size_t total)
{
	*p = (struct progress){.what = what, .total = total, .start = now_seconds()};
	msg_before = clear;
}

/* The estimate assumes that what is left goes as what is done went. */
void progress_step(struct progress *p, const char *item)
{
	double now = now_seconds(), spent = now - p->start;

	p->done++;
	if (!is_due(p, now))
		return;
	double left = p->done < p->total ? spent / (double)p->done * (double)(p->total - p->done) : 0;
	char text[128];
	snprintf(text, sizeof text, "%zu/%zu, %.0f s left  %.40s", p->done, p->total, left, item ? item : "");
	show(p, text);
}

void progress_line(struct progress *p, const char *text)
{
	if (is_due(p, now_seconds()))
		show(p, text);
}

void progress_end(struct progress *p)
{
	clear();
	fflush(stderr);
	msg_before = NULL;
}
