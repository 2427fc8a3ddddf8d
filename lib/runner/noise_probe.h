/* Is the machine in a slow phase? Another program, on the other thread of the core for example, which a virtual machine does not see, comes
 * and goes within ms or s, and does not slow all kernels alike. The noise probe is a loop of some thousand instructions, many of
 * which run at once. Alone its time hardly varies; beside another program it takes far longer (doc/runner.md). All processes that share
 * a file know its latest times. The machine counts as quiet for NOISE_PROBE_QUIET of the time or more: a quiet phase is worth waiting
 * for. On a machine that is quiet for less, the rest of the time counts as quiet too. */
#ifndef HONE_NOISE_PROBE_H
#define HONE_NOISE_PROBE_H
#include <stdbool.h>

#define NOISE_PROBE_SLOW  1.1  /* times what it takes in a quiet phase */
#define NOISE_PROBE_QUIET 0.3  /* of the time, at least */
#define NOISE_PROBE_EVERY 0.02 /* seconds between what is noted: a long wait is not to outweigh all that was before */

struct noise_probe {
	int file;
	double quiet; /* seconds; infinite: nothing is known */
};
/* A file in which noise probes keep what was noted last. seconds: take that as what was; 0: nothing is known. -1: errno. */
int noise_probe_file(double seconds);
void noise_probe_open(struct noise_probe *y, int file);
/* Seconds that it takes here and now, the least of so many times. */
double noise_probe_take(int times);
/* It took so long at that time (seconds of any one clock), measured by someone whom the others may believe. */
void noise_probe_note(struct noise_probe *y, double seconds, double now);
/* Does that say that nothing is in the way? */
bool noise_probe_quiet(const struct noise_probe *y, double seconds);
#endif
