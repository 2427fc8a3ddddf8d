/* A pass of one's own: log(1 + exp(x)) becomes Softplus(x), which does not overflow.
 *
 * Needs nothing, keeps shapes, leaves the old nodes to ge-prune. README.md says how it is built and used. */
#include "op/pass.h"

/* The node that computes v, if its operator is op; else NULL. */
static struct node *made_by(struct module *m, val_id v, enum opcode op)
{
	struct node *n = v && val(m, v)->kind == VAL_NODE ? node(m, val(m, v)->def) : NULL;

	return n && n->op == op ? n : NULL;
}

static bool is_one(struct module *m, val_id v)
{
	struct tensor *t = val(m, v)->tensor;

	return t && t->dtype == DT_F32 && tensor_count(t) == 1 && t->rank <= 1 && *(const float *)tensor_data(m, t) == 1;
}

static void run(struct module *m, const struct pass_ctx *c)
{
	for (node_id i = 1; i < m->nodes.n; i++) {
		struct node *sum = node(m, i)->op == OP_Log ? made_by(m, node(m, i)->in[0], OP_Add) : NULL;
		for (int k = 0; sum && k < 2; k++) {
			struct node *e = made_by(m, sum->in[k], OP_Exp);
			if (!e || !is_one(m, sum->in[!k]))
				continue;
			node(m, i)->op = OP_Softplus;
			node(m, i)->in[0] = e->in[0];
			pass_why(c, m, i, "was log(1 + exp(x))");
			break;
		}
	}
}

static const struct pass pass = {run, "Needs nothing, keeps shapes, leaves unused nodes."};
const struct tool tool = {.name = "softplus", .summary = "Replace log(1 + exp(x)) by Softplus.", PASS_TOOL(pass)};
