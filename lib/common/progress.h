/* Progress with an estimate of the time left, on a terminal only (standard error), never with --quiet; NO_COLOR is kept. */
#ifndef HONE_PROGRESS_H
#define HONE_PROGRESS_H
#include <stdbool.h>
#include <stddef.h>

struct progress {
	const char *what;
	size_t done, total;
	double start, drawn;
	bool logged; /* without a terminal it is a line of its own, every minute or every $HONE_PROGRESS seconds; 0: never */
};
void progress_start(struct progress *p, const char *what, size_t total);
void progress_step(struct progress *p, const char *item); /* one more is done; item may be NULL */
/* For work that knows more of itself than a count: this text behind the name, at most ten times a second. */
void progress_line(struct progress *p, const char *text);
void progress_end(struct progress *p); /* clears the line */
double now_seconds(void);              /* monotonic */
#endif
