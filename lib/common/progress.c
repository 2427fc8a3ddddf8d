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

static bool wanted(void)
{
	static int terminal = -1;
	if (terminal < 0)
		terminal = isatty(STDERR_FILENO);
	return terminal && !msg_quiet;
}

void progress_start(struct progress *p, const char *what, size_t total)
{
	*p = (struct progress){.what = what, .total = total, .start = now_seconds()};
	msg_before = clear;
}

/* The estimate assumes that what is left goes as what is done went. */
void progress_step(struct progress *p, const char *item)
{
	p->done++;
	if (!wanted())
		return;
	double now = now_seconds(), spent = now - p->start;
	if (spent < 0.5 || now - p->drawn < 0.1)
		return;
	p->drawn = now;
	double left = p->done < p->total ? spent / (double)p->done * (double)(p->total - p->done) : 0;
	char text[128];
	snprintf(text, sizeof text, "%zu/%zu, %.0f s left  %.40s", p->done, p->total, left, item ? item : "");
	draw(p->what, text);
}

void progress_line(struct progress *p, const char *text)
{
	double now = now_seconds();

	if (!wanted() || now - p->start < 0.5 || now - p->drawn < 0.1)
		return;
	p->drawn = now;
	draw(p->what, text);
}

void progress_end(struct progress *p)
{
	clear();
	fflush(stderr);
	msg_before = NULL;
}
