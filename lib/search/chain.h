/* Dynamic programming over a chain of stages, where what a stage costs depends on the states at its two ends. */
#ifndef HONE_CHAIN_H
#define HONE_CHAIN_H
#include <stddef.h>
#include <stdint.h>

/* The cheapest way through n stages. State 0 is before the first and after the last; states are below `states`. cost: of stage k between two
 * states, infinite where it cannot be. after[k]: the state after stage k; of equal ways one with the lowest states. Returns the cost of all
 * stages; infinite: there is no way, and all states are 0. */
double chain_best(size_t n, uint32_t states, double (*cost)(const void *of, size_t k, uint32_t before, uint32_t after), const void *of,
		  uint32_t *after);
#endif
