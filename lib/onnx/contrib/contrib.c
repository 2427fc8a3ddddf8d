/* Operators of com.microsoft, and SimplifiedLayerNormalization, which ONNX Runtime writes in ONNX's own domain, in ONNX's words. What is not
 * as they have it stays an unknown operator. */
#include <string.h>
#include "onnx/contrib/rows.h"

static const struct contrib_row *const tables[] = {
	contrib_activations, contrib_attentions, contrib_blocks,   contrib_convs,     contrib_experts,
	contrib_norms,       contrib_others,     contrib_products, contrib_quantised, contrib_recurrent,
};

static const struct contrib_row *row_of(const char *name)
{
	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
		for (const struct contrib_row *r = tables[t]; r->name; r++)
			if (!strcmp(r->name, name))
				return r;
	return NULL;
}

bool contrib_is_own(const char *domain, const char *name)
{
	return !strcmp(domain, "com.microsoft") || (!strcmp(domain, "ai.onnx") && !strcmp(name, "SimplifiedLayerNormalization"));
}

static bool expand(struct contrib *x)
{
	const char *domain = sym_str(self(x)->domain), *name = sym_str(self(x)->optype);
	const struct contrib_row *r;

	if (!strcmp(domain, "ai.onnx.ml"))
		return ml_expand(x);
	if (!strcmp(domain, "ai.onnx.preview") || !strcmp(domain, "ai.onnx.preview.training"))
		return preview_expand(x);
	if (!contrib_is_own(domain, name) || !(r = row_of(name)))
		return false;
	for (uint32_t i = 0; i < r->needed; i++)
		if (!operand(x, i))
			import_die(x->c, "operand %u is not there", i);
	return r->expand(x);
}

bool contrib_expand(struct importer *c, node_id id)
{
	struct contrib x = {c, c->m, id, c->m->nodes.n};

	if (!expand(&x))
		return false;
	for (size_t i = x.first; i < c->m->nodes.n; i++)
		contrib_name(&x, (node_id)i);
	return true;
}
