/* Numbers by number: struct map m = {0}; map_set(&m, 7, 3); map_get(&m, 7); map_free(&m). */
#ifndef HONE_MAP_H
#define HONE_MAP_H
#include <stddef.h>
#include <stdint.h>

struct map {
	struct map_slot {
		uint32_t key, value;
	} * slot;         /* open addressing; key 0: free */
	size_t n, nslots; /* nslots: a power of two */
};

uint32_t map_get(const struct map *m, uint32_t key);       /* 0: it is not there */
void map_set(struct map *m, uint32_t key, uint32_t value); /* key: not 0 */
void map_free(struct map *m);                              /* it is empty then */
#endif
