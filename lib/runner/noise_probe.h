/* Is the machine in a slow phase? Something, most likely another program on the other thread of a core, which a virtual
 * machine does not see, comes and goes in some ms to some s, and does not slow all kernels alike: one depthwise convolution
 * took 11.5 and then 14.8 us, its rival 9.6 and 11.0 (Zen 5). The yardstick is some thousand instructions of which many run
 * at a time: alone it varies by 3%, beside another program it takes 1.3 times (Zen 5) or twice (Cascade Lake) as long.
 * What it took lately is known to all processes that share a file. Quiet is what the machine is for a third of the time or
 * more: for that one can wait. One that is so for 5% of the time is taken as it is for the rest. */
#ifndef HONE_YARDSTICK_H
#define HONE_YARDSTICK_H
#include <stdbool.h>

#define YARDSTICK_SLOW  1.1  /* times what it takes in a quiet phase */
#define YARDSTICK_QUIET 0.3  /* of the time, at least */
#define YARDSTICK_EVERY 0.02 /* seconds between what is noted: a long wait is not to outweigh all that was before */

struct yardstick {
	int file;
	double quiet; /* seconds; infinite: nothing is known */
};
/* A file in which yardsticks keep what was noted last. seconds: take that as what was; 0: nothing is known. -1: errno. */
int yardstick_file(double seconds);
void yardstick_open(struct yardstick *y, int file);
/* Seconds that it takes here and now, the least of so many times. */
double yardstick_take(int times);
/* It took so long at that time (seconds of any one clock), measured by someone whom the others may believe. */
void yardstick_note(struct yardstick *y, double seconds, double now);
/* Does that say that nothing is in the way? */
bool yardstick_quiet(const struct yardstick *y, double seconds);
#endif
