/* Calls without a kernel that a function of lib/native computes. */
#include <stdlib.h>
#include "model/model_impl.h"
#include "op/native.h"

static bool row_major(struct module *m, const struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && val(m, n->in[i])->type.layout)
			return false;
	for (uint32_t k = 0; k < n->nout; k++)
		if (n->out[k] && val(m, n->out[k])->type.layout)
			return false;
	return true;
}

node_id native_node(struct module *m, node_id group)
{
	node_id id = group_alone(m, group);

	return id && node_native(node(m, id)) && row_major(m, node(m, group)) && row_major(m, node(m, id)) ? id : 0;
}

void model_report_native(struct model *M)
{
	char *text;
	uint32_t named = calls_named(M, KERNEL_NATIVE, &text);

	if (named)
		note("%u of %zu steps native: %s", named, M->calls.n, text);
	free(text);
}
