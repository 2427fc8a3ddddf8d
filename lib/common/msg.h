/* Messages on standard error and the ways a tool ends. Exit codes are sysexits. */
#ifndef HONE_MSG_H
#define HONE_MSG_H
#include <setjmp.h>
#include <stdbool.h>
#include <stdnoreturn.h>

enum exit_code {
	EX_GOOD = 0,
	EX_DIFFERENT = 1, /* run-cmp, ge-diff: the two differ */
	EX_BADUSE = 64,   /* usage */
	EX_BADDATA = 65,  /* bad data */
	EX_NOIN = 66,     /* no such input */
	EX_NOTAVAIL = 69, /* needs what this program, machine or build does not have */
	EX_BUG = 70,      /* our bug */
	EX_SYSTEM = 71,   /* the operating system said no */
	EX_IO = 74,       /* reading or writing failed */
};

extern const char *msg_tool;     /* name printed before each message */
extern bool msg_quiet;           /* --quiet: no notes, no progress */
extern void (*msg_before)(void); /* called before each message: progress clears its line; may be NULL */

/* "tool: WHAT" on standard error, then exit(code). WHAT is "FILE:OFFSET: graph/node: reason; hint".
 * Control characters in names that came from files are printed as \xNN. Before exiting, runs the
 * hook (at most once): a stream writer ends its stream with an abort record there, an output
 * file removes its temporary. */
noreturn void die(enum exit_code code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
noreturn void die_errno(enum exit_code code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Ends the process without a word: someone upstream has said it already (abort records). */
noreturn void die_silent(enum exit_code code);
/* Our own mistake: message with file and line, exit 70. */
#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
noreturn void bug_at(const char *file, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* always printed */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* not with --quiet */

/* Where our code runs inside a program of somebody else (steps of compiled models) it must not end the process:
 * while a thread has a trap, its die and BUG leave the message there and jump to it instead, and warnings and notes
 * are dropped. Memory in use is lost unless its owner can find it again (eval_abandon). Set `msg_trap = &t` after
 * setjmp(t.at), and NULL when done. */
struct msg_trap {
	jmp_buf at;
	enum exit_code code;
	char why[400];
};
extern __thread struct msg_trap *msg_trap;

/* Registers f(arg) to run before die ends the process; the newest runs first. Returns a handle. */
int die_hook(void (*f)(void *arg), void *arg);
void die_unhook(int handle);
#endif
