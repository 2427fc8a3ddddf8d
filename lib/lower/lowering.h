/* Inside the lowering column: what its rows share. A row turns one node into stages; it looks at
 * the node through its operands' shapes and constants and names results by their number. */
#ifndef HONE_LOWERING_H
#define HONE_LOWERING_H
#include "loop/loop.h"
#include "lower/lower.h"
#include "loop/math.h"

/* Operands and nodes of one kernel, at most: schedules look at pairs of stages and of buffers. */
enum { KERNEL_OPERANDS_MAX = 1024, KERNEL_NODES_MAX = 256 };

/* Where a value of the group's body is: in a buffer, or (constants) in the module. */
struct place {
	buf_id buf;  /* 0: constant that nobody has read yet */
	val_id cval; /* constant of the module it stands for, or 0 */
};

struct lower {
	struct module *m;
	struct loop_prog *p;
	VEC(struct place) places;
	struct map place_of; /* value of the body -> 1 + its number in places */
	VEC(val_id) cvals;   /* constants by number */
	VEC(buf_id) late;    /* made of constants when the kernel runs, not at build time */
	graph_id body;
	const buf_id *outs; /* OUT buffer of each result of the body; taken: written already */
	bool *taken;
	const char *axes; /* names of the axes of results of axes_rank dims, from the group's anchor */
	int axes_rank;
	const char *algo;                   /* that the caller asks for; NULL: whichever a row thinks best */
	bool sketch;                        /* constants that lowering makes stay empty */
	bool taken_algo;                    /* a node has taken it */
	const char *took[KERNEL_NODES_MAX]; /* by each node so far that has a choice, choosers of them */
	int choosers;
	const char **offered; /* not NULL: only names of algorithms are asked for; noffered of them, at most max */
	int noffered, max;
	/* The node at hand. */
	node_id id;
	const struct node *n;
	int64_t (*shape)[LOOP_RANK_MAX];     /* of operand i */
	int64_t (*out_shape)[LOOP_RANK_MAX]; /* of result k */
};

/* A row: stages by a function; or, for elementwise operators, the body by an expression (map) of the
 * operands read with broadcasting, or by the function fn itself. */
struct lower_row {
	enum opcode op;
	const char *(*stages)(struct lower *L); /* NULL, or why not in words */
	ex_id (*map)(struct lower *L, const ex_id *a);
	enum math_fn fn;
	uint32_t operands; /* that map reads, the first ones; 0: all */
	uint32_t constant; /* operand number i has to be constant where bit i is set */
	/* Other algorithms than ALGO_USUAL, NULL at the end; NULL: there are none. Which of them fits the node at hand; and which
	 * it takes if nobody asks for one (also ALGO_USUAL). stages looks at low_algo. */
	const char *const *algos;
	bool (*fits)(struct lower *L, const char *algo);
	const char *(*best)(struct lower *L);
};
extern const struct lower_row lower_elementwise[], lower_matmul[], lower_conv[], lower_conv_integer[], lower_transposed[], lower_pool[],
	lower_reduce[], lower_norm[], lower_loss[], lower_move[], lower_index[], lower_scan[], lower_quant[];

/* The stages of a row that has a map or a function. */
const char *lower_map(struct lower *L, const struct lower_row *r);

/* The algorithm that the node at hand takes. The program's is called after it; where nodes take different ones, after all of them in turn,
 * ALGO_AND between two. */
const char *low_algo(struct lower *L);

const char *low_why(struct lower *L, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Operands. */
static inline bool low_has(const struct lower *L, uint32_t i) { return i < L->n->nin && L->n->in[i]; }
int low_rank(struct lower *L, uint32_t i);
enum dtype low_dtype(struct lower *L, uint32_t i);
int64_t low_count(struct lower *L, uint32_t i);
struct tensor *low_const(struct lower *L, uint32_t i);          /* NULL: not constant, or not there */
int low_ints(struct lower *L, uint32_t i, int64_t *v, int max); /* count; -1: no such constant */
bool low_scalar(struct lower *L, uint32_t i, double *c);        /* numeric constant of one element */
bool low_axis(int64_t axis, int rank, int *out);                /* in [-rank, rank), made nonnegative */
/* Element of operand i. Constants of one element become numbers in the text. */
ex_id low_read(struct lower *L, uint32_t i, const poly *index);
ex_id low_read_fill(struct lower *L, uint32_t i, const poly *index, double fill);
/* The element that broadcasting puts at index (rank polynomials, aligned at the last axis). */
ex_id low_read_bcast(struct lower *L, uint32_t i, int rank, const poly *index);
/* Operand 1-D, at index[axis]: biases and scales. */
ex_id low_read_1d(struct lower *L, uint32_t i, poly at);
/* Of a QuantizeLinear or DequantizeLinear: scale or zero point, operand i, of the element of operand 0 at index. */
ex_id low_grid(struct lower *L, uint32_t i, const poly *index);
/* The layout of operand i. Where algorithms are only asked for, what the group itself makes is not there yet: it will be row-major. */
const struct layout *low_layout(struct lower *L, uint32_t i);
bool low_is_there(struct lower *L, uint32_t i); /* does the group have it? Of another node than that at hand it may be outside */
buf_id low_buf(struct lower *L, uint32_t i);    /* its buffer, made if it is a constant not read yet */

/* Results. */
int low_out_rank(struct lower *L, uint32_t k);
enum dtype low_out_dtype(struct lower *L, uint32_t k);
static inline bool low_wants(const struct lower *L, uint32_t k) { return k < L->n->nout && L->n->out[k]; }
/* The stage that makes result k, no reduction: straight into the kernel's result if it is one. */
stage_id low_result(struct lower *L, uint32_t k, const char *name);
/* A stage of the shape of result k in scratch; reductions end here and are passed on by low_result_is. */
stage_id low_scratch(struct lower *L, uint32_t k, const char *name);
/* The same for sums and products, of low_wide operands: its elements are of the wide type. */
stage_id low_sums(struct lower *L, uint32_t k, const char *name);
/* Result k is what buffer b holds; copied where it is a result of the kernel, rounded where it has another type. */
void low_result_is(struct lower *L, uint32_t k, buf_id b);
/* Any stage in scratch. */
stage_id low_stage(struct lower *L, const char *name, enum dtype t, int rank, const int64_t *shape, const char *axes);
const char *low_axes(struct lower *L, int rank);                  /* names for results of that rank */
void low_name_axes(struct lower *L, int rank, const char *names); /* by the anchor, once */
const char *low_axes_fit(struct lower *L, int n);                 /* NULL, or why no stage has n axes */
/* All axes of stage s as polynomials. */
void low_index(struct lower *L, stage_id s, poly *index);
/* Element of the buffer of stage s at index. */
ex_id low_of(struct lower *L, stage_id s, const poly *index);

/* index of the element of `shape` whose row-major number is that of at[] in from[]. Shapes have equally many. */
void low_reshape_index(struct lower *L, int nfrom, const int64_t *from, const poly *at, int nto, const int64_t *to, poly *index);

/* n elements in whole steps, with what is missing added: in those of `longer`, a multiple of step (0: there are none), where they are fewer. */
static inline int64_t low_in_steps(int64_t n, int64_t step, int64_t longer)
{
	int64_t fewer = longer && longer % step == 0 && (n + longer - 1) / longer < (n + step - 1) / step ? longer : step;

	return (n + fewer - 1) / fewer * fewer;
}

/* Shorthand for bodies. */
static inline ex_id low_num(struct lower *L, ex_id like, double c) { return ex_const(L->p, lex(L->p, like)->dtype, c); }
static inline ex_id low_fn1(struct lower *L, enum math_fn f, ex_id a) { return ex_call(L->p, f, a, 0, 0); }
static inline ex_id low_fn2(struct lower *L, enum math_fn f, ex_id a, ex_id b) { return ex_call(L->p, f, a, b, 0); }
static inline ex_id low_fnc(struct lower *L, enum math_fn f, ex_id a, double c) { return ex_call(L->p, f, a, low_num(L, a, c), 0); }
/* Sums of f16 and bf16 are in f32, and so is what is computed of them until the result: in their own type a sum no longer grows
 * at 2048 or 256 times what is added, and one of squares overflows. Other types are as wide as they are. */
static inline enum dtype low_wide_type(enum dtype t) { return t == DT_F16 || t == DT_BF16 ? DT_F32 : t; }
static inline ex_id low_wide(struct lower *L, ex_id x) { return ex_cast(L->p, low_wide_type(lex(L->p, x)->dtype), x); }
static inline ex_id low_read_wide(struct lower *L, uint32_t i, const poly *index) { return low_wide(L, low_read(L, i, index)); }
/* A number as f32; a constant in another type is one. */
static inline ex_id low_float(struct lower *L, ex_id x)
{
	const struct ex *e = lex(L->p, x);

	return e->kind == EX_CONST ? ex_const(L->p, DT_F32, dtype_is_float(e->dtype) ? e->c : (double)e->ic) : ex_cast(L->p, DT_F32, x);
}
/* x as the type of result k. */
static inline ex_id low_round(struct lower *L, uint32_t k, ex_id x) { return ex_cast(L->p, low_out_dtype(L, k), x); }
static inline ex_id low_select(struct lower *L, ex_id c, ex_id a, ex_id b) { return ex_call(L->p, FN_SELECT, c, a, b); }
/* What is added up for a norm of that power, and the norm of the sum. */
static inline ex_id low_to_norm(struct lower *L, ex_id x, int64_t p)
{
	return p == 2 ? low_fn2(L, FN_MUL, x, x) : p == 1 ? low_fn1(L, FN_ABS, x) : low_fnc(L, FN_POW, low_fn1(L, FN_ABS, x), (double)p);
}
static inline ex_id low_from_norm(struct lower *L, ex_id sum, int64_t p)
{
	return p == 2 ? low_fn1(L, FN_SQRT, sum) : p == 1 ? sum : low_fnc(L, FN_POW, sum, 1 / (double)p);
}
#endif
