/* Which of two forms each of many things has, so that all costs least: exactly, by a minimum cut. Each thing has a cost in either form,
 * each value that one makes and others read a cost of being turned from the one form into the other: paid once in each direction,
 * however many readers want it. */
#ifndef HONE_CHOICE_H
#define HONE_CHOICE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum form { FORM_HIGH, FORM_LOW };
/* A cost that nothing pays. Others are at most 2^40, and there are at most 2^20 of them. */
#define CHOICE_NEVER ((int64_t)1 << 61)

struct choice_value {
	uint32_t maker;
	uint32_t nreaders;
	const uint32_t *reader; /* of things; one may stand twice */
	int64_t down, up;       /* from high to low, from low to high */
};
struct choice {
	uint32_t nthings, nvalues;
	const int64_t (*cost)[2]; /* of thing i in form f */
	const struct choice_value *value;
};
/* The least cost, and a choice that has it: of those, one with as few low things as there can be. CHOICE_NEVER: there is none. */
int64_t choice_least(const struct choice *c, bool *low);
/* What a choice costs; CHOICE_NEVER at most. */
int64_t choice_cost(const struct choice *c, const bool *low);
#endif
