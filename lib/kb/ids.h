/* Ids of records: as keys of LMDB, most significant byte first, so that they sort as numbers do; and their sum modulo 2^128, which
 * tells whether a file holds what it should. */
#ifndef HONE_IDS_H
#define HONE_IDS_H
#include "common/digest.h"

static inline void to_key(struct digest d, unsigned char key[16])
{
	for (int i = 0; i < 8; i++) {
		key[i] = (unsigned char)(d.hi >> (56 - 8 * i));
		key[8 + i] = (unsigned char)(d.lo >> (56 - 8 * i));
	}
}

static inline struct digest of_key(const unsigned char *key)
{
	struct digest d = {0, 0};
	for (int i = 0; i < 8; i++) {
		d.hi = d.hi << 8 | key[i];
		d.lo = d.lo << 8 | key[8 + i];
	}
	return d;
}

static inline struct digest sum_of(struct digest a, struct digest b)
{
	struct digest s = {a.hi + b.hi, a.lo + b.lo};
	s.hi += s.lo < a.lo;
	return s;
}

static inline struct digest difference(struct digest a, struct digest b)
{
	struct digest s = {a.hi - b.hi, a.lo - b.lo};
	s.hi -= a.lo < b.lo;
	return s;
}
#endif
