#include <stdlib.h>
#include "common/arena.h"
#include "common/map.h"

static struct map_slot *slot_of(const struct map *m, uint32_t key)
{
	size_t i = (key * 0x9e3779b97f4a7c15u >> 20) & (m->nslots - 1);

	while (m->slot[i].key && m->slot[i].key != key)
		i = (i + 1) & (m->nslots - 1);
	return &m->slot[i];
}

uint32_t map_get(const struct map *m, uint32_t key) { return m->nslots ? slot_of(m, key)->value : 0; }

static void grow(struct map *m)
{
	struct map old = *m;

	m->nslots = old.nslots ? 2 * old.nslots : 16;
	m->slot = xcalloc(m->nslots, sizeof *m->slot);
	for (size_t i = 0; i < old.nslots; i++)
		if (old.slot[i].key)
			*slot_of(m, old.slot[i].key) = old.slot[i];
	free(old.slot);
}

void map_set(struct map *m, uint32_t key, uint32_t value)
{
	if (2 * m->n >= m->nslots)
		grow(m);
	struct map_slot *s = slot_of(m, key);
	m->n += !s->key;
	*s = (struct map_slot){key, value};
}

void map_free(struct map *m)
{
	free(m->slot);
	*m = (struct map){0};
}
