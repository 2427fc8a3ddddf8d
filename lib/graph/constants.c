/* Type and shape are compared, then the digest, then the bytes. A digest is computed only where another constant has the same type and
 * shape, and known already where the data is in the blob store. */
#include "graph/constants.h"
#include <stdlib.h>

static uint64_t shape_hash(const struct tensor *t)
{
	uint64_t head[3] = {t->dtype, (uint64_t)t->rank, t->nbytes};
	return hash64(t->dims, sizeof *t->dims * (size_t)t->rank, hash64(head, sizeof head, 0));
}

/* The earlier constant equal to v, or 0 and v is remembered. */
static val_id find(struct module *m, val_id *slots, size_t nslots, val_id v)
{
	struct tensor *t = val(m, v)->tensor;
	struct digest d = tensor_digest(m, t);
	size_t i = d.lo & (nslots - 1);
	for (; slots[i]; i = (i + 1) & (nslots - 1)) {
		struct tensor *x = val(m, slots[i])->tensor;
		if (digest_eq(tensor_digest(m, x), d) && tensor_equal(m, x, t))
			return slots[i];
	}
	slots[i] = v;
	return 0;
}

val_id *constants_first(struct module *m)
{
	size_t nslots = 64;
	while (nslots < 2 * m->values.n)
		nslots *= 2;
	val_id *first = xcalloc(m->values.n, sizeof *first), *slots = xcalloc(nslots, sizeof *slots);
	uint32_t *like = xcalloc(nslots, sizeof *like); /* how many of this shape; collisions cost a digest */
	for (int round = 0; round < 2; round++) {
		for (val_id v = 1; v < m->values.n; v++) {
			const struct value *x = val(m, v);
			if (x->kind != VAL_CONST || x->overridable)
				continue;
			uint32_t *count = &like[shape_hash(x->tensor) & (nslots - 1)];
			if (round == 0)
				++*count;
			else if (*count > 1)
				first[v] = find(m, slots, nslots, v);
		}
	}
	free(like);
	free(slots);
	return first;
}
