/* Lowering: the body of a Fused node as stages. Rows are in lower_*.c, one file a family. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "graph/pass.h"
#include "loop/interp.h"
#include "lower/lowering.h"
#include "loop/sampling.h"

static const struct lower_row *const families[] = {
	lower_elementwise, lower_matmul, lower_conv, lower_conv_integer, lower_transposed, lower_pool,  lower_reduce,
	lower_norm,        lower_loss,   lower_move, lower_index,        lower_scan,       lower_quant,
};
static const struct lower_row *rows[OP_COUNT];

__attribute__((constructor)) static void rows_fill(void)
{
	for (size_t f = 0; f < sizeof families / sizeof *families; f++)
		for (const struct lower_row *r = families[f]; r->op; r++)
			rows[r->op] = r;
}

bool lower_has(enum opcode op) { return (unsigned)op < OP_COUNT && rows[op]; }

bool lower_has_constants(struct module *m, const struct node *n)
{
	for (uint32_t i = 0; lower_has(n->op) && i < n->nin; i++)
		if (rows[n->op]->constant >> i & 1 && n->in[i] && val(m, n->in[i])->kind != VAL_CONST)
			return false;
	return true;
}

const char *low_why(struct lower *L, const char *fmt, ...)
{
	char buf[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof buf, fmt, ap);
	va_end(ap);
	return arena_str(&L->m->arena, buf);
}

/* ---- operands ---- */

static struct place *add_place(struct lower *L, val_id v, buf_id buf, val_id constant)
{
	vec_push(&L->places, (struct place){buf, constant});
	map_set(&L->place_of, v, (uint32_t)L->places.n);
	return &L->places.a[L->places.n - 1];
}

static struct place *place_of(struct lower *L, val_id v)
{
	uint32_t at = map_get(&L->place_of, v);
	return at ? &L->places.a[at - 1] : add_place(L, v, 0, val(L->m, v)->kind == VAL_CONST ? v : 0);
}

static const struct type *in_type(struct lower *L, uint32_t i) { return &val(L->m, L->n->in[i])->type; }

int low_rank(struct lower *L, uint32_t i) { return in_type(L, i)->rank; }
enum dtype low_dtype(struct lower *L, uint32_t i) { return in_type(L, i)->dtype; }
int64_t low_count(struct lower *L, uint32_t i) { return type_count(L->m, in_type(L, i)); }
int low_out_rank(struct lower *L, uint32_t k) { return val(L->m, L->n->out[k])->type.rank; }
enum dtype low_out_dtype(struct lower *L, uint32_t k) { return val(L->m, L->n->out[k])->type.dtype; }

struct tensor *low_const(struct lower *L, uint32_t i)
{
	if (!low_has(L, i))
		return NULL;
	val_id c = place_of(L, L->n->in[i])->cval;
	return c ? val(L->m, c)->tensor : NULL;
}

int low_ints(struct lower *L, uint32_t i, int64_t *v, int max)
{
	struct tensor *t = low_const(L, i);

	if (!t && i < L->n->nin && L->n->in[i] && type_count(L->m, &val(L->m, L->n->in[i])->type) == 0)
		return 0; /* known without being constant */
	return t ? tensor_ints(L->m, t, v, max) : -1;
}

/* Constant t of one element as an expression; false: not a number of a type that texts hold. */
static bool const_number(struct lower *L, struct tensor *t, ex_id *e)
{
	const void *p = tensor_data(L->m, t);
	int64_t i;

	if (t->dtype == DT_F32) {
		*e = ex_const(L->p, t->dtype, *(const float *)p);
	} else if (t->dtype == DT_F64) {
		*e = ex_const(L->p, t->dtype, *(const double *)p);
	} else if (tensor_ints(L->m, t, &i, 1) == 1) {
		*e = ex_const_int(L->p, t->dtype, i);
	} else {
		return false;
	}
	return true;
}

bool low_scalar(struct lower *L, uint32_t i, double *c)
{
	struct tensor *t = low_const(L, i);
	ex_id e;

	if (!t || tensor_count(t) != 1 || !const_number(L, t, &e))
		return false;
	*c = dtype_is_float(t->dtype) ? lex(L->p, e)->c : (double)lex(L->p, e)->ic;
	return true;
}

bool low_axis(int64_t axis, int rank, int *out)
{
	if (axis < -(int64_t)rank || axis >= rank)
		return false;
	*out = (int)(axis < 0 ? axis + rank : axis);
	return true;
}

static buf_id new_buf(struct lower *L, const char *name, enum scope s, val_id v)
{
	const struct type *t = &val(L->m, v)->type;
	int64_t shape[LOOP_RANK_MAX];

	type_dims(L->m, t, shape);
	buf_id b = buf_new(L->p, name, t->dtype, s, t->rank, shape);
	if (t->layout)
		layout_parse(&lbuf(L->p, b)->layout, t->rank, sym_str(t->layout));
	return b;
}

bool low_is_there(struct lower *L, uint32_t i)
{
	struct place *q = place_of(L, L->n->in[i]);
	return q->buf || q->cval;
}

buf_id low_buf(struct lower *L, uint32_t i)
{
	struct place *q = place_of(L, L->n->in[i]);

	if (!q->buf) {
		if (!q->cval)
			BUG("operand %u of %s is nowhere", i, op_name(L->n->op));
		q->buf = new_buf(L, "w", SCOPE_CONST, q->cval);
		vec_push(&L->cvals, q->cval);
	}
	return q->buf;
}

const struct layout *low_layout(struct lower *L, uint32_t i)
{
	static const struct layout row_major;

	return low_is_there(L, i) ? &lbuf(L->p, low_buf(L, i))->layout : &row_major;
}

static bool folded(struct lower *L, uint32_t i, ex_id *e)
{
	struct tensor *t = low_const(L, i);
	return t && tensor_count(t) == 1 && const_number(L, t, e);
}

ex_id low_read(struct lower *L, uint32_t i, const poly *index)
{
	ex_id e;
	if (folded(L, i, &e))
		return e;
	return ex_read(L->p, low_buf(L, i), low_rank(L, i), index);
}

ex_id low_read_fill(struct lower *L, uint32_t i, const poly *index, double fill)
{
	return ex_read_fill(L->p, low_buf(L, i), low_rank(L, i), index, fill);
}

ex_id low_read_bcast(struct lower *L, uint32_t i, int rank, const poly *index)
{
	poly at[LOOP_RANK_MAX];
	int r = low_rank(L, i);

	for (int k = 0; k < r; k++)
		at[k] = L->shape[i][k] == 1 || k < r - rank ? poly_const(L->p->P, 0) : index[rank - r + k];
	return low_read(L, i, at);
}

ex_id low_read_1d(struct lower *L, uint32_t i, poly at)
{
	if (L->shape[i][0] == 1)
		at = poly_const(L->p->P, 0);
	return low_read(L, i, &at);
}

/* ---- results ---- */

static const char *const axis_names[] = {
	"", "i", "m n", "b m n", "b h m n", "a b c d e", "a b c d e f", "a b c d e f g", "a b c d e f g h",
};

const char *low_axes(struct lower *L, int rank)
{
	if (L->axes && L->axes_rank == rank)
		return L->axes;
	return rank < (int)(sizeof axis_names / sizeof *axis_names) ? axis_names[rank] : "";
}

void low_name_axes(struct lower *L, int rank, const char *names)
{
	if (!L->axes) {
		L->axes = names;
		L->axes_rank = rank;
	}
}

const char *low_axes_fit(struct lower *L, int n)
{
	return n <= LOOP_AXES_MAX ? NULL : low_why(L, "%d axes in one stage, at most %d are supported", n, LOOP_AXES_MAX);
}

stage_id low_stage(struct lower *L, const char *name, enum dtype t, int rank, const int64_t *shape, const char *axes)
{
	return stage_new(L->p, name, t, SCOPE_SCRATCH, rank, shape, axes);
}

stage_id low_scratch(struct lower *L, uint32_t k, const char *name)
{
	int r = low_out_rank(L, k);
	return low_stage(L, name, low_out_dtype(L, k), r, L->out_shape[k], low_axes(L, r));
}

stage_id low_sums(struct lower *L, uint32_t k, const char *name)
{
	int r = low_out_rank(L, k);
	return low_stage(L, name, low_wide_type(low_out_dtype(L, k)), r, L->out_shape[k], low_axes(L, r));
}

/* The first result of the body that is v and has not been written, or -1. */
static int free_output(struct lower *L, val_id v)
{
	const struct graph *g = graph(L->m, L->body);
	for (size_t i = 0; L->outs && i < g->out.n; i++)
		if (g->out.a[i] == v && !L->taken[i])
			return (int)i;
	return -1;
}

stage_id low_result(struct lower *L, uint32_t k, const char *name)
{
	val_id v = L->n->out[k];
	int o = free_output(L, v);
	stage_id s;

	if (o < 0) {
		s = low_scratch(L, k, name);
	} else {
		L->taken[o] = true;
		s = stage_into(L->p, name, L->outs[o], low_axes(L, low_out_rank(L, k)));
	}
	place_of(L, v)->buf = lstage(L->p, s)->out;
	return s;
}

void low_index(struct lower *L, stage_id s, poly *index)
{
	for (int i = 0; i < lstage(L->p, s)->nspatial; i++)
		index[i] = stage_axis(L->p, s, i);
}

ex_id low_of(struct lower *L, stage_id s, const poly *index)
{
	buf_id b = lstage(L->p, s)->out;
	return ex_read(L->p, b, lbuf(L->p, b)->rank, index);
}

static void copy_into(struct lower *L, buf_id from, buf_id to)
{
	int rank = lbuf(L->p, to)->rank;
	stage_id s = stage_into(L->p, "copy", to, low_axes(L, rank));
	poly index[LOOP_RANK_MAX];

	low_index(L, s, index);
	stage_body(L->p, s, COMB_NONE, ex_read(L->p, from, rank, index));
}

static void round_result(struct lower *L, uint32_t k, buf_id b)
{
	stage_id s = low_result(L, k, "round");
	poly index[LOOP_RANK_MAX];

	low_index(L, s, index);
	stage_body(L->p, s, COMB_NONE, low_round(L, k, ex_read(L->p, b, lbuf(L->p, b)->rank, index)));
}

void low_result_is(struct lower *L, uint32_t k, buf_id b)
{
	val_id v = L->n->out[k];
	int o = free_output(L, v);

	if (lbuf(L->p, b)->dtype != low_out_dtype(L, k)) {
		round_result(L, k, b);
		return;
	}
	place_of(L, v)->buf = b;
	if (o >= 0) {
		L->taken[o] = true;
		copy_into(L, b, L->outs[o]);
	}
}

/* ---- index arithmetic ---- */

/* Neighbouring axes whose products agree are taken together, so that axes a Reshape leaves alone keep their
 * own variable and only the others get floor and mod. */
void low_reshape_index(struct lower *L, int nfrom, const int64_t *from, const poly *at, int nto, const int64_t *to, poly *index)
{
	struct polys *P = L->p->P;
	int i = 0, j = 0;

	while (i < nfrom || j < nto) {
		int i0 = i, j0 = j;
		int64_t a = i < nfrom ? from[i++] : 1, b = j < nto ? to[j++] : 1;
		while (a != b && (i < nfrom || j < nto))
			if (j == nto || (a < b && i < nfrom))
				a *= from[i++];
			else
				b *= to[j++];
		poly linear = poly_const(P, 0);
		for (int k = i0; k < i; k++)
			linear = poly_add(P, poly_mulc(P, linear, from[k]), at[k]);
		for (int k = j - 1; k >= j0; k--) {
			index[k] = k == j0 ? linear : poly_mod(P, linear, to[k]);
			linear = poly_floordiv(P, linear, to[k]);
		}
	}
}

/* ---- the driver ---- */

const char *lower_map(struct lower *L, const struct lower_row *r)
{
	enum { OPERANDS_MAX = 64 };
	ex_id a[OPERANDS_MAX];
	poly index[LOOP_RANK_MAX];
	char name[64];
	size_t i;

	if (L->n->nin > OPERANDS_MAX)
		return low_why(L, "%u operands, at most %d are supported", L->n->nin, OPERANDS_MAX);
	for (i = 0; op_name(L->n->op)[i] && i < sizeof name - 1; i++)
		name[i] = (char)(op_name(L->n->op)[i] | 32);
	name[i] = 0;
	stage_id s = low_result(L, 0, name);
	low_index(L, s, index);
	for (uint32_t k = 0; k < L->n->nin; k++)
		a[k] = L->n->in[k] && (!r->operands || k < r->operands) ? low_read_bcast(L, k, low_out_rank(L, 0), index) : 0;
	ex_id body = r->map ? r->map(L, a) : ex_call(L->p, r->fn, a[0], L->n->nin > 1 ? a[1] : 0, L->n->nin > 2 ? a[2] : 0);
	stage_body(L->p, s, COMB_NONE, body);
	return NULL;
}

/* Types of a value: static, of numbers, of a rank that loops have. */
static const char *check_type(struct lower *L, val_id v, int64_t *dims)
{
	const struct type *t = &val(L->m, v)->type;
	struct layout l;

	if (t->other || !type_static(L->m, t))
		return low_why(L, "%s has type %s, not a tensor of known shape", sym_str(val(L->m, v)->name),
			       type_str(L->m, t, &L->m->arena));
	if (!(dtype_is_float(t->dtype) || dtype_is_int(t->dtype) || t->dtype == DT_BOOL))
		return low_why(L, "elements of type %s", dtype_name(t->dtype));
	if (t->rank > LOOP_RANK_MAX)
		return low_why(L, "rank %d, at most %d is supported", t->rank, LOOP_RANK_MAX);
	if (t->layout && layout_parse(&l, t->rank, sym_str(t->layout)))
		return low_why(L, "layout \"%s\" cannot be read", sym_str(t->layout));
	type_dims(L->m, t, dims);
	return NULL;
}

/* ---- algorithms ---- */

/* The row's own name of the algorithm; NULL: the row has none of that name that fits. */
static const char *low_offers(struct lower *L, const struct lower_row *r, const char *algo)
{
	if (!strcmp(algo, ALGO_USUAL))
		return ALGO_USUAL;
	for (int i = 0; r->algos && r->algos[i]; i++)
		if (!strcmp(r->algos[i], algo))
			return r->fits(L, algo) ? r->algos[i] : NULL;
	return NULL;
}

/* The algorithm that the caller asks of the node at hand: one for all nodes, or the one that is named in the node's place; NULL: none. */
static const char *asked_of_node(struct lower *L)
{
	const char *at = L->algo, *end = at ? strstr(at, ALGO_AND) : NULL;

	if (!end)
		return at;
	for (int i = 1; i < L->choosers && end; i++) {
		at = end + strlen(ALGO_AND);
		end = strstr(at, ALGO_AND);
	}
	return end ? arena_printf(&L->p->arena, "%.*s", (int)(end - at), at) : at;
}

const char *low_algo(struct lower *L)
{
	const struct lower_row *r = rows[L->n->op];
	const char *asked = asked_of_node(L), *algo = asked ? low_offers(L, r, asked) : r->best ? r->best(L) : NULL;

	algo = algo ? algo : ALGO_USUAL;
	if (r->algos)
		L->took[L->choosers - 1] = algo;
	return algo;
}

/* The name of the program, after the algorithms that its nodes have taken. */
static const char *name_of_algos(struct lower *L)
{
	bool one = true, all = L->algo && !strstr(L->algo, ALGO_AND);
	const char *name = ALGO_USUAL, *list = NULL;

	for (int i = 0; i < L->choosers; i++) {
		one &= !strcmp(L->took[i], L->took[0]);
		if (strcmp(L->took[i], ALGO_USUAL))
			name = L->took[i];
	}
	for (int i = 0; i < L->choosers && !one && !all; i++)
		list = list ? arena_printf(&L->p->arena, "%s" ALGO_AND "%s", list, L->took[i]) : L->took[i];
	return list ? list : name;
}

static void offer(struct lower *L, const struct lower_row *r)
{
	for (int i = 0; r->algos && r->algos[i]; i++) {
		bool twice = !r->fits(L, r->algos[i]);
		for (int k = 0; k < L->noffered; k++)
			twice |= !strcmp(L->offered[k], r->algos[i]);
		if (!twice && L->noffered < L->max)
			L->offered[L->noffered++] = r->algos[i];
	}
}

static const char *lower_node(struct lower *L, node_id id)
{
	const struct lower_row *r = rows[node(L->m, id)->op];
	const char *why;

	L->id = id;
	L->n = node(L->m, id);
	if (!r)
		return "this operator has no lowering";
	L->shape = arena_alloc(&L->p->arena, sizeof *L->shape * L->n->nin);
	L->out_shape = arena_alloc(&L->p->arena, sizeof *L->out_shape * L->n->nout);
	for (uint32_t i = 0; i < L->n->nin; i++)
		if (L->n->in[i] && (why = check_type(L, L->n->in[i], L->shape[i])))
			return why;
	for (uint32_t k = 0; k < L->n->nout; k++) {
		if (!L->n->out[k])
			continue;
		if ((why = check_type(L, L->n->out[k], L->out_shape[k])))
			return why;
		if (type_count(L->m, &val(L->m, L->n->out[k])->type) == 0)
			return "its result has no elements";
	}
	if (L->n->nin && L->n->in[0] && !op_is(L->n->op, OP_MOVE) && low_count(L, 0) == 0)
		return "its operand has no elements";
	if (L->offered) {
		offer(L, r);
		return NULL;
	}
	if (r->algos)
		L->took[L->choosers++] = ALGO_USUAL;
	L->taken_algo |= L->algo && low_offers(L, r, asked_of_node(L));
	return r->stages ? r->stages(L) : lower_map(L, r);
}

/* Operands and results of the kernel become buffers. */
static const char *bind(struct lower *L, node_id fused, buf_id *outs)
{
	const struct node *f = node(L->m, fused);
	const struct graph *g = graph(L->m, L->body);
	int64_t dims[LOOP_RANK_MAX];
	const char *why;

	if (g->in.n != f->nin || g->out.n != f->nout)
		return "operands and results of the node are not those of its graph";
	if (f->nin + f->nout > KERNEL_OPERANDS_MAX)
		return low_why(L, "%u operands and results, a kernel takes at most %d", f->nin + f->nout, KERNEL_OPERANDS_MAX);
	if (g->nodes.n > KERNEL_NODES_MAX)
		return low_why(L, "%zu nodes, a kernel has at most %d", g->nodes.n, KERNEL_NODES_MAX);
	for (size_t i = 0; i < g->in.n; i++) {
		val_id outer = f->in[i], v = g->in.a[i];
		if (outer && val(L->m, outer)->kind == VAL_CONST) {
			add_place(L, v, 0, outer);
			continue;
		}
		if ((why = check_type(L, v, dims)))
			return why;
		add_place(L, v, new_buf(L, "x", SCOPE_IN, v), 0);
	}
	for (size_t k = 0; k < g->out.n; k++) {
		if ((why = check_type(L, g->out.a[k], dims)))
			return why;
		outs[k] = new_buf(L, "y", SCOPE_OUT, g->out.a[k]);
	}
	L->outs = outs;
	return NULL;
}

/* Results that are operands, constants, or another result too. */
static void finish_results(struct lower *L)
{
	const struct graph *g = graph(L->m, L->body);

	for (size_t k = 0; k < g->out.n; k++) {
		if (L->taken[k])
			continue;
		struct node copy = {.nin = 1, .in = &(val_id){g->out.a[k]}};
		L->n = &copy;
		copy_into(L, low_buf(L, 0), L->outs[k]);
	}
}

/* ---- stages of constants ---- */

struct stages {
	struct stage *a;
	size_t n, cap;
};

static void note_variable(struct loop_prog *p, ex_id read, void *arg)
{
	bool *known = arg; /* by buffer; [0]: nothing else has been read */
	known[0] &= known[lex(p, read)->buf];
}

static void note_read(struct loop_prog *p, ex_id read, void *arg) { ((bool *)arg)[lex(p, read)->buf] = true; }

static bool is_late(const struct lower *L, buf_id b)
{
	for (size_t i = 0; i < L->late.n; i++)
		if (L->late.a[i] == b)
			return true;
	return false;
}

/* Takes the stages that read constants only out of the program. now: they; known: buffers with constants. */
static void split_stages(struct lower *L, struct stages *now, bool *known)
{
	struct loop_prog *p = L->p;

	vec_push(now, (struct stage){0});
	for (buf_id b = 1; b < p->bufs.n; b++)
		known[b] = lbuf(p, b)->scope == SCOPE_CONST;
	for (size_t before = 0; before != p->stages.n;) { /* a stage may stand before one that it reads */
		size_t kept = 1;
		before = p->stages.n;
		for (size_t i = 1; i < before; i++) {
			struct stage s = p->stages.a[i];
			known[0] = lbuf(p, s.out)->scope == SCOPE_SCRATCH && !is_late(L, s.out);
			ex_reads(p, s.body, note_variable, known);
			if (known[0])
				vec_push(now, s);
			else
				p->stages.a[kept++] = s;
			known[s.out] |= known[0];
		}
		p->stages.n = kept;
	}
	prog_names_forget(p);
}

/* What the stages in now write and others read becomes constants of the module. */
static void evaluate(struct lower *L, struct stages *now)
{
	struct loop_prog *p = L->p, some = *p;
	void **data = ARENA_ARRAY(&p->arena, void *, p->bufs.n);

	if (now->n == 1)
		return;
	some.stages.a = now->a;
	some.stages.n = now->n;
	some.bufs.n = 1; /* not what the others write: its size varies */
	struct digest both[2] = {p->constants, prog_digest(&some)};
	p->constants = digest_bytes(both, sizeof both);
	some.bufs.n = p->bufs.n;
	bool *read = ARENA_ARRAY(&p->arena, bool, p->bufs.n), *wanted = ARENA_ARRAY(&p->arena, bool, p->bufs.n);
	for (size_t i = 1; i < p->stages.n; i++)
		ex_reads(p, p->stages.a[i].body, note_read, wanted);
	for (size_t i = 1; i < now->n; i++)
		ex_reads(p, now->a[i].body, note_read, read);
	for (buf_id b = 1; b < p->bufs.n && !L->sketch; b++) /* only what is read is loaded from the store */
		if (read[b] && lbuf(p, b)->scope == SCOPE_CONST)
			data[b] = (void *)tensor_data(L->m, val(L->m, L->cvals.a[lbuf(p, b)->operand])->tensor);
	for (size_t i = 1; i < now->n && !L->sketch; i++) {
		buf_id b = now->a[i].out;
		lbuf(p, b)->scope = SCOPE_OUT; /* the evaluator leaves results of that scope only */
		data[b] = arena_alloc(wanted[b] ? &L->m->arena : &p->arena, (size_t)buf_elems(p, b) * dtype_size(lbuf(p, b)->dtype));
	}
	if (!L->sketch && !stages_eval_rows(&some, data))
		stages_eval(&some, data);
	for (size_t i = 1; i < now->n; i++) {
		struct loop_buf *x = lbuf(p, now->a[i].out);
		x->scope = wanted[now->a[i].out] ? SCOPE_CONST : SCOPE_SCRATCH;
		if (!wanted[now->a[i].out])
			continue;
		x->data = data[now->a[i].out];
		x->operand = (int)L->cvals.n;
		vec_push(&L->cvals, const_new(L->m, 0, x->dtype, x->rank, x->shape, x->data,
					      (size_t)buf_elems(p, now->a[i].out) * dtype_size(x->dtype)));
	}
}

/* Numbers the constants that stages still read, in the order of their buffers; the others are no operands. */
static void number_constants(struct lower *L)
{
	struct loop_prog *p = L->p;
	bool *read = ARENA_ARRAY(&p->arena, bool, p->bufs.n);
	val_id *old = arena_copy(&p->arena, L->cvals.a, L->cvals.n * sizeof *old);

	for (size_t i = 1; i < p->stages.n; i++)
		ex_reads(p, p->stages.a[i].body, note_read, read);
	L->cvals.n = 0;
	for (buf_id b = 1; b < p->bufs.n; b++) {
		struct loop_buf *x = lbuf(p, b);
		if (x->scope != SCOPE_CONST)
			continue;
		if (read[b]) {
			vec_push(&L->cvals, old[x->operand]);
			x->operand = (int)L->cvals.n - 1;
		} else {
			x->scope = SCOPE_SCRATCH;
		}
	}
}

/* Drops the stages of constants whose results nobody reads: another stage has taken the constants themselves. */
static void drop_unread(struct lower *L, struct stages *now)
{
	struct loop_prog *p = L->p;
	bool *wanted = ARENA_ARRAY(&p->arena, bool, p->bufs.n);
	struct stage *kept = ARENA_ARRAY(&p->arena, struct stage, now->n);
	size_t n = now->n;

	for (size_t i = 1; i < p->stages.n; i++)
		ex_reads(p, p->stages.a[i].body, note_read, wanted);
	for (size_t i = now->n; i-- > 1;) {
		if (!wanted[now->a[i].out])
			continue;
		ex_reads(p, now->a[i].body, note_read, wanted);
		kept[--n] = now->a[i];
	}
	memcpy(now->a + 1, kept + n, (now->n - n) * sizeof *kept);
	now->n -= n - 1;
}

/* Stages that read constants only are computed here and now. */
static void evaluate_constant_stages(struct lower *L)
{
	struct stages now = {0};

	split_stages(L, &now, ARENA_ARRAY(&L->p->arena, bool, L->p->bufs.n));
	if (now.n > 1) {
		drop_unread(L, &now);
		evaluate(L, &now);
		number_constants(L);
	}
	vec_free(&now);
}

/* All but the program. */
static void release(struct lower *L)
{
	vec_free(&L->places);
	vec_free(&L->cvals);
	vec_free(&L->late);
	map_free(&L->place_of);
}

const char *lower_why_not(struct module *m, node_id id, const struct target *t)
{
	struct lower L = {.m = m, .p = prog_new(t), .body = node(m, id)->graph, .sketch = true};
	const struct node *n = node(m, id);
	int64_t dims[LOOP_RANK_MAX];
	const char *why = NULL;

	for (uint32_t i = 0; i < n->nin && !why; i++)
		if (n->in[i] && val(m, n->in[i])->kind != VAL_CONST && !(why = check_type(&L, n->in[i], dims)))
			add_place(&L, n->in[i], new_buf(&L, "x", SCOPE_IN, n->in[i]), 0);
	why = why ? why : lower_node(&L, id);
	prog_free(L.p);
	release(&L);
	return why;
}

int group_algorithms(struct module *m, node_id n, const struct target *t, const char **out, int max)
{
	struct lower L = {.m = m, .p = prog_new(t), .body = attr_graph(node(m, n), "graph"), .offered = out, .max = max};
	const struct graph *g = graph(m, L.body);

	if (max > 0)
		out[L.noffered++] = ALGO_USUAL;
	const char *why = bind(&L, n, ARENA_ARRAY(&L.p->arena, buf_id, g->out.n));
	for (size_t i = 0; !why && i < g->nodes.n; i++)
		why = lower_node(&L, g->nodes.a[i]);
	prog_free(L.p);
	release(&L);
	return why ? 0 : L.noffered;
}

enum { WHOLE, SKETCH, STAGES };

static struct lowered lower_all(struct module *m, node_id n, const struct target *t, const char *algo, int what, const char **why)
{
	struct lower L = {.m = m, .p = prog_new(t), .body = attr_graph(node(m, n), "graph"), .algo = algo, .sketch = what != WHOLE};
	struct lowered out = {.prog = L.p};
	const struct graph *g = graph(m, L.body);
	buf_id *outs = ARENA_ARRAY(&L.p->arena, buf_id, g->out.n);
	node_id at = n;

	L.taken = ARENA_ARRAY(&L.p->arena, bool, g->out.n);
	*why = bind(&L, n, outs);
	for (size_t i = 0; !*why && i < g->nodes.n; i++) {
		L.p->part = (uint32_t)i + 1;
		*why = lower_node(&L, at = g->nodes.a[i]);
	}
	if (!*why && algo && strcmp(algo, ALGO_USUAL) && !L.taken_algo) {
		at = n;
		*why = low_why(&L, "no operator in it offers the algorithm %s", algo);
	}
	if (!*why) {
		finish_results(&L);
		L.p->algo = name_of_algos(&L);
		L.p->part = 0;
		evaluate_constant_stages(&L);
		if (what != STAGES) {
			prog_collapse(L.p);
			prog_start(L.p);
		}
		out.nconst = (int)L.cvals.n;
		out.cval = arena_copy(&L.p->arena, L.cvals.a, L.cvals.n * sizeof *L.cvals.a);
	} else {
		*why = low_why(&L, "%s: %s", node_where(m, at, &m->arena), *why);
		prog_free(out.prog);
		out.prog = NULL;
	}
	release(&L);
	return out;
}

struct lowered lower_group(struct module *m, node_id n, const struct target *t, const char *algo, const char **why)
{
	return lower_all(m, n, t, algo, WHOLE, why);
}

struct lowered lower_sketch(struct module *m, node_id n, const struct target *t, const char *algo, const char **why)
{
	return lower_all(m, n, t, algo, SKETCH, why);
}

struct lowered lower_stages(struct module *m, node_id n, const struct target *t, const char *algo, const char **why)
{
	return lower_all(m, n, t, algo, STAGES, why);
}
