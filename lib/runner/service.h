/* The runner's service: the other end of runner/runner.h. */
#ifndef HONE_SERVE_H
#define HONE_SERVE_H
#include "runner/oracle.h"

/* Reads requests from standard input and answers on standard output until the input ends. Builds run side by side, one a
 * core, at a low priority; tries one at a time, on the last core, whose build stands still meanwhile; all of them do where
 * they are in the way (try.h). noise probe: seconds that it took up to now; 0: nobody knows. Artifacts lie in a
 * directory of its own in TMPDIR, which goes when the process does, however it ends. Exit code; a frame that is none:
 * die(65), another version: die(69). */
int runner_serve(const struct oracle *o, double noise_probe, double build_seconds);
#endif
