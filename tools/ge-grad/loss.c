/* Losses, in nodes that kernels compute. */
#include <string.h>
#include "ge-grad.h"

static val_id un(struct grad *d, enum opcode op, val_id a) { return grad_make(d, op, 1, &a); }
static val_id bin(struct grad *d, enum opcode op, val_id a, val_id b) { return grad_make(d, op, 2, (val_id[]){a, b}); }

static val_id mean(struct grad *d, val_id v)
{
	val_id y = un(d, OP_ReduceMean, v);

	attr_set_int(d->m, val(d->m, y)->def, "keepdims", 0);
	return y;
}

static noreturn void unfit(struct grad *d, val_id v, const char *why)
{
	die(EX_BADDATA, "%s: the loss of '%s', which is %s: %s", d->m->source ? d->m->source : "standard input",
	    sym_str(val(d->m, v)->name), type_str(d->m, grad_type(d, v), &d->m->arena), why);
}

static val_id labels_input(struct grad *d, struct type t) { return graph_add_input(d->m, d->graph, intern("labels"), t); }

/* Classes are along axis 1; a label is the number of one. */
static val_id cross_entropy(struct grad *d, val_id v)
{
	struct type t = *grad_type(d, v), label = t;
	int64_t classes, across[RANK_MAX], one = 1;

	if (t.rank < 2 || !t.dims[1] || !poly_is_const(d->m->dims, t.dims[1], &classes) || classes < 2)
		unfit(d, v, "its axis 1 has no known number of classes");
	label.dtype = DT_I64;
	label.rank = t.rank - 1;
	label.dims = ARENA_ARRAY(&d->m->arena, dim, t.rank);
	for (int k = 0; k < t.rank; k++)
		if (k != 1)
			label.dims[k - (k > 1)] = t.dims[k];
	int64_t *class = ARENA_ARRAY(&d->m->arena, int64_t, classes);
	for (int64_t k = 0; k < classes; k++)
		class[k] = k;
	for (int k = 0; k < t.rank - 1; k++)
		across[k] = k ? 1 : classes;
	val_id all = const_copy(d->m, 0, DT_I64, t.rank - 1, across, class, (size_t)classes * sizeof *class);
	val_id is = bin(d, OP_Equal, bin(d, OP_Unsqueeze, labels_input(d, label), grad_ints(d, 1, &one)), all);
	val_id log = un(d, OP_LogSoftmax, v);
	attr_set_int(d->m, val(d->m, log)->def, "axis", 1);
	val_id chosen =
		bin(d, OP_ReduceSum, grad_make(d, OP_Where, 3, (val_id[]){is, log, grad_scalar(d, t.dtype, 0)}), grad_ints(d, 1, &one));
	return un(d, OP_Neg, mean(d, chosen));
}

static val_id difference(struct grad *d, val_id v) { return bin(d, OP_Sub, v, labels_input(d, *grad_type(d, v))); }

static val_id squares(struct grad *d, val_id v)
{
	val_id off = difference(d, v);

	return mean(d, bin(d, OP_Mul, off, off));
}

static val_id distances(struct grad *d, val_id v) { return mean(d, un(d, OP_Abs, difference(d, v))); }

/* Binary cross entropy of logits x and labels y from 0 to 1: log(1 + exp(x)) - x * y. */
static val_id binary(struct grad *d, val_id v)
{
	val_id y = labels_input(d, *grad_type(d, v));

	return mean(d, bin(d, OP_Sub, un(d, OP_Softplus, v), bin(d, OP_Mul, v, y)));
}

static const struct {
	const char *name;
	val_id (*make)(struct grad *d, val_id v);
} losses[] = {{"ce", cross_entropy}, {"mse", squares}, {"bce", binary}, {"l1", distances}};
enum { LOSSES = sizeof losses / sizeof *losses };

bool loss_is(const char *name)
{
	for (int i = 0; i < LOSSES; i++)
		if (!strcmp(losses[i].name, name))
			return true;
	return false;
}

const char *loss_names(void) { return "ce, mse, bce, l1"; }

static void check_free(struct grad *d, const char *name)
{
	const struct graph *g = graph(d->m, d->graph);

	for (size_t i = 0; i < g->in.n; i++)
		if (val(d->m, g->in.a[i])->name == intern(name))
			graph_die(d->m, 0, "an input is called '%s' already", name);
	for (size_t i = 0; i < g->out.n; i++)
		if (g->out_name.a[i] == intern(name))
			graph_die(d->m, 0, "an output is called '%s' already", name);
}

val_id loss_make(struct grad *d, const char *loss, val_id v)
{
	const struct type *t = grad_type(d, v);

	check_free(d, "labels");
	check_free(d, "loss");
	if (!dtype_is_float(t->dtype) || t->rank < 0)
		unfit(d, v, "it is no tensor of floats of a known rank");
	for (int i = 0; i < LOSSES; i++)
		if (!strcmp(losses[i].name, loss))
			return losses[i].make(d, v);
	BUG("loss %s", loss);
}
