/* Steps that make maps of rows of scores. */
#include <inttypes.h>
#include "op/op.h"
#include "source/source_impl.h"

void put_maps_call(struct emission *e, FILE *f, uint32_t c)
{
	const struct call *x = &e->M->calls.a[c];
	const struct attr *keys = zip_keys(node(e->M->m, x->alone));
	bool words = keys->kind == ATTR_STRS;

	fprintf(f, "\tif (maps_make(%" PRIu32 ", &m->slot[%" PRIu32 "], ", c, value_home(e->M, node(e->M->m, x->node)->out[0]).index);
	put_value_pointer(e, f, call_operand(e->M, x, 0));
	fprintf(f, ", %d, %" PRIu32 ", (const %s[]){", words ? (int)DT_STR : (int)DT_I64, keys->n, words ? "struct hone_text" : "int64_t");
	for (uint32_t i = 0; i < keys->n; i++) {
		if (words) {
			fprintf(f, "{");
			put_string(f, sym_str(keys->u.strs[i]));
			fprintf(f, ", %zu}, ", (size_t)sym_len(keys->u.strs[i]));
		} else {
			fprintf(f, keys->u.ints[i] == INT64_MIN ? "INT64_MIN, " : "%" PRId64 ", ", keys->u.ints[i]);
		}
	}
	fprintf(f, "}))\n\t\treturn -1;\n");
}
