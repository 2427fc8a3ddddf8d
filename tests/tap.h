/* Test programs: ok(condition, "what"); the program's exit code is tap_done(). */
#ifndef HONE_TAP_H
#define HONE_TAP_H
#include <stdarg.h>
#include <stdio.h>
static int tap_failed;
__attribute__((format(printf, 2, 3), unused)) static int ok(int cond, const char *fmt, ...)
{
	va_list ap;
	printf(cond ? "ok - " : "not ok - ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	tap_failed += !cond;
	return cond;
}
__attribute__((unused)) static int tap_done(void) { return tap_failed != 0; }
#endif
