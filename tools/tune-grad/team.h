/* The processes of calibrate and run: one a rank, started here or behind a command such as ssh, each told what to do by a line on
 * its standard input and answering by a line on its standard output. One that ends, or reports a fault, ends the tool with one
 * message; the others end as their standard input closes. */
#ifndef HONE_TEAM_H
#define HONE_TEAM_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define RANK_HELLO "hone-rank 1" /* a rank's first line; the number is the version of what is said between them */

struct member {
	char *addr;    /* host:port of its ring socket */
	char *command; /* what starts it, in front of tune-grad; NULL: here */
	char *host;    /* where ssh starts it; NULL: the command is the user's, or mpirun */
	pid_t pid;
	int fd;     /* its standard input and output */
	int err;    /* its standard error */
	char *line; /* the answer; size bytes of room, have of them read */
	size_t size, have;
	bool answered, closed;
};
struct team {
	int ranks, n; /* n: members that are talked to; all ranks, or with MPI only the first */
	struct member *m;
	double timeout;
	double work; /* with MPI: s that what they do together may take beyond the timeout; a ring sees itself that it is stuck */
};

/* Adds the ranks of a file, one a line: address[:port], then what starts a command there. Faults: die(65). */
void team_hosts(struct team *t, const char *path);
/* Starts the ranks that the options name and joins them to a ring. */
void team_start(struct team *t);
/* Says a line to every member. */
void team_say(struct team *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Waits for every member's answer, in m[].line; each begins with word and a blank, which are cut off. Within timeout seconds;
 * with `working` the first may take any time, as a ring that is stuck says so itself. */
void team_hear(struct team *t, const char *word, bool working);
void team_end(struct team *t);
#endif
