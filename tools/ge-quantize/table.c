/* Tables of which rows are taken (embeddings): rows of bytes with a scale each. The rows that are taken become floats. */
#include <string.h>
#include "build.h"

/* Codes and scales of a table, made once for all that take rows of it. */
static void make_codes(struct build *b, val_id v, struct rounded_weights *r)
{
	struct tensor *t = val(b->m, v)->tensor;
	int64_t shape[RANK_MAX] = {t->dims[0]};
	struct arena a = {0};

	*r = (struct rounded_weights){.outer = 1, .n = t->dims[0], .inner = 1};
	for (int k = 1; k < t->rank; k++) {
		r->inner *= t->dims[k];
		shape[k] = 1;
	}
	weights_round(r, tensor_data(b->m, t), 8, false, &a);
	b->codes[v] = constant(b, v, "q", DT_I8, t->rank, t->dims, r->q);
	b->scales[v] = constant(b, v, "scale", DT_F32, t->rank, shape, r->scale);
	arena_release(&a);
}

void quantize_table(struct build *b, node_id id, const struct layer *l)
{
	struct node n = *node(b->m, id);
	val_id table = n.in[0];

	if (!b->codes[table]) {
		struct rounded_weights r;
		make_codes(b, table, &r);
		b->table_error[table] = r.power > 0 ? r.error / r.power : 0;
	}
	if (b->err)
		b->err[l - b->p->layers.a].weight_error = b->table_error[table];
	val_id codes = add_node(b, OP_Gather, 2, (val_id[]){b->codes[table], n.in[1]}),
	       scale = add_node(b, OP_Gather, 2, (val_id[]){b->scales[table], n.in[1]}), wide = add_node(b, OP_Cast, 1, &codes);
	node(b->m, val(b->m, codes)->def)->name = n.name;
	attr_set_int(b->m, val(b->m, wide)->def, "to", dtype_to_onnx(DT_F32));
	val_id y = add_node(b, OP_Mul, 2, (val_id[]){wide, scale});
	val(b->m, y)->name = val(b->m, n.out[0])->name;
	vec_push(&b->replaced, (struct replaced){id, y});
}
