/* Test programs: ok(condition, "what"); skip("what", "why") for what cannot be done here; the program's exit code is tap_done(), which prints the plan. */
#ifndef HONE_TAP_H
#define HONE_TAP_H
#include <stdarg.h>
#include <stdio.h>
static int tap_failed, tap_count;
__attribute__((format(printf, 2, 3), unused)) static int ok(int cond, const char *fmt, ...)
{
	va_list ap;
	printf(cond ? "ok - " : "not ok - ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	tap_count++;
	tap_failed += !cond;
	return cond;
}
__attribute__((unused)) static void skip(const char *what, const char *why)
{
	printf("ok - %s # SKIP %s\n", what, why);
	tap_count++;
}
__attribute__((unused)) static int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}
#endif
