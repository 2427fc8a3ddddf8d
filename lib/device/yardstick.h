/* Is the machine in a slow phase? Something, most likely another program on the other thread of a core, which a virtual
 * machine does not see, comes and goes in some ms to some s, and does not slow all kernels alike: one depthwise convolution took
 * 11.5 and then 14.8 us, its rival 9.6 and 11.0 (Zen 5). The yardstick is some thousand instructions of which many run at a time: alone it varies by 3%, beside
 * another program it takes 1.3 times as long. What it takes at least is known to all processes that share a file. */
#ifndef HONE_YARDSTICK_H
#define HONE_YARDSTICK_H
#include <stdbool.h>

#define YARDSTICK_SLOW 1.1 /* times what it takes alone */

struct yardstick {
	int file;
	double known; /* by others before; 0: nothing */
	double least; /* seconds, with what was seen since */
};
/* A file in which yardsticks keep what they know. seconds: what it takes alone; 0: nobody knows yet. -1: errno. */
int yardstick_file(double seconds);
void yardstick_open(struct yardstick *y, int file);
/* Notes what is seen in the file. A machine that is slow for good is taken for what it is after some hundred of these. */
void yardstick_close(const struct yardstick *y);
/* Seconds that it takes here and now, the least of so many times. */
double yardstick_take(int times);
/* It took so long, measured by someone whom the others may believe. */
void yardstick_note(struct yardstick *y, double seconds);
/* Does that say that nothing is in the way? */
bool yardstick_quiet(const struct yardstick *y, double seconds);
#endif
