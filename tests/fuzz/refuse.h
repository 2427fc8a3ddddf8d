/* For fuzz targets of readers that end the process: REFUSED(...) runs the statements and is true if they died, which is
 * fine. A BUG is none: link with --wrap=bug_at. What was refused stays in memory: run long with -fork=1. */
#ifndef HONE_FUZZ_REFUSE_H
#define HONE_FUZZ_REFUSE_H
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/msg.h"

const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; /* what was refused is left behind */ }

noreturn void __wrap_bug_at(const char *file, int line, const char *fmt, ...);
noreturn void __wrap_bug_at(const char *file, int line, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fprintf(stderr, "%s:%d: ", file, line);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	abort();
}

__attribute__((unused)) static struct msg_trap refused;
#define REFUSED(...) \
	(setjmp(refused.at) ? (msg_trap = NULL, true) : ((void)(msg_trap = &refused), ({ __VA_ARGS__; }), msg_trap = NULL, false))

__attribute__((unused)) static void must(bool good)
{
	if (!good)
		abort();
}
#endif
