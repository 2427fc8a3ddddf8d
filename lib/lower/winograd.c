/* The stages of Winograd's convolutions. */
#include "lower/winograd.h"
#include <math.h>
#include <string.h>
#include "loop/math.h"

enum { POINTS_MAX = 6, TAPS = 3 };

static const struct {
	const char *name, *of_lines;
	int tile;
} algo[] = {{"winograd2", "winograd2_lines", 2}, {"winograd4", "winograd4_lines", 4}};

int winograd_tile(const char *name)
{
	for (size_t i = 0; i < sizeof algo / sizeof *algo; i++)
		if (!strcmp(name, algo[i].name) || !strcmp(name, algo[i].of_lines))
			return algo[i].tile;
	return 0;
}

const char *winograd_of_lines(const char *name)
{
	for (size_t i = 0; i < sizeof algo / sizeof *algo; i++)
		if (!strcmp(name, algo[i].name))
			return algo[i].of_lines;
	return name;
}

/* Matrix of F(m x m, 3x3): rows x cols, row by row. */
struct matrix {
	int rows, cols;
	const double *c;
};

/* F(4x4, 3x3) takes the values of polynomials at 0, a, -a, b, -b and infinity. With a and b on both sides of 1 their powers stay near 1, and the
 * error is half that of the points 1 and 2. All numbers of the two transforms at run time are exact in f32. */
#define A1 .75
#define B1 1.5
#define A2 (A1 * A1)
#define B2 (B1 * B1)
#define A0 (1 / (2 * A2 * (A2 - B2)))
#define B0 (1 / (2 * B2 * (B2 - A2)))

static struct matrix input_matrix(int m)
{
	static const double two[] = {1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1};
	static const double four[] = {A2 * B2, 0,        -A2 - B2, 0,  1, 0, 0, -A1 * B2, -B2, A1,  1, 0, 0, A1 * B2, -B2, -A1,      1, 0,
				      0,       -B1 * A2, -A2,      B1, 1, 0, 0, B1 * A2,  -A2, -B1, 1, 0, 0, A2 * B2, 0,   -A2 - B2, 0, 1};
	return (struct matrix){m + 2, m + 2, m == 2 ? two : four};
}

static struct matrix weight_matrix(int m)
{
	static const double two[] = {1, 0, 0, .5, .5, .5, .5, -.5, .5, 0, 0, 1};
	static const double four[] = {1 / (A2 * B2), 0,       0,  A0,       A0 * A1, A0 * A2, A0, -A0 * A1, A0 * A2, B0,
				      B0 * B1,       B0 * B2, B0, -B0 * B1, B0 * B2, 0,       0,  1};
	return (struct matrix){m + 2, TAPS, m == 2 ? two : four};
}

static struct matrix output_matrix(int m)
{
	static const double two[] = {1, 1, 1, 0, 0, 1, -1, -1};
	static const double four[] = {1, 1,  1,  1,  1,  0, 0, A1,      -A1,      B1,      -B1,      0,
				      0, A2, A2, B2, B2, 0, 0, A1 * A2, -A1 * A2, B1 * B2, -B1 * B2, 1};
	return (struct matrix){m, m + 2, m == 2 ? two : four};
}

/* sum + c*e, where sum may be none yet */
static ex_id add_term(struct loop_prog *p, ex_id sum, double c, ex_id e)
{
	enum dtype t = lex(p, e)->dtype;

	if (fabs(c) != 1) {
		e = ex_call(p, FN_MUL, e, ex_const(p, t, sum ? fabs(c) : c), 0);
		c = sum ? c : 1;
	}
	if (!sum)
		return c < 0 ? ex_call(p, FN_NEG, e, 0, 0) : e;
	return ex_call(p, c < 0 ? FN_SUB : FN_ADD, sum, e, 0);
}

/* Terms of row r of A times v whose sign in row `other` is the same (or not). Rows that differ in signs only share
 * these two parts, columns that go together in all rows are added first: both are computed once. */
static ex_id row_part(struct loop_prog *p, struct matrix A, int r, int other, bool same, const ex_id *v)
{
	const double *a = A.c + r * A.cols, *b = A.c + other * A.cols;
	ex_id sum = 0;

	for (int j = 0; j < A.cols; j++) {
		if (!a[j] || (a[j] == b[j]) != same)
			continue;
		bool pair = other == r && j + 1 < A.cols;
		for (int k = 0; pair && k < A.rows; k++)
			pair = fabs(A.c[k * A.cols + j]) == fabs(A.c[k * A.cols + j + 1]);
		if (pair) {
			sum = add_term(p, sum, a[j], ex_call(p, a[j] == a[j + 1] ? FN_ADD : FN_SUB, v[j], v[j + 1], 0));
			j++;
		} else {
			sum = add_term(p, sum, a[j], v[j]);
		}
	}
	return sum;
}

static ex_id row_times(struct loop_prog *p, struct matrix A, int r, const ex_id *v)
{
	for (int k = 0; k < A.rows; k++) {
		bool twin = k != r, differ = false;
		for (int j = 0; twin && j < A.cols; j++) {
			twin = fabs(A.c[k * A.cols + j]) == fabs(A.c[r * A.cols + j]);
			differ |= A.c[k * A.cols + j] == A.c[r * A.cols + j] && A.c[r * A.cols + j];
		}
		if (twin && differ) {
			int first = k < r ? k : r, second = k < r ? r : k;
			ex_id same = row_part(p, A, first, second, true, v), other = row_part(p, A, first, second, false, v);
			return ex_call(p, first == r ? FN_ADD : FN_SUB, same, other, 0);
		}
	}
	return row_part(p, A, r, r, true, v);
}

/* Row `which` (an index) of A times v. */
static ex_id times(struct loop_prog *p, struct matrix A, poly which, const ex_id *v)
{
	ex_id e = row_times(p, A, A.rows - 1, v);

	for (int r = A.rows - 2; r >= 0; r--) {
		poly up_to = poly_addc(p->P, poly_mulc(p->P, which, -1), r);
		e = ex_guard(p, 1, &up_to, row_times(p, A, r, v), e);
	}
	return e;
}

buf_id winograd_weights(struct loop_prog *p, int m, buf_id w, enum dtype t)
{
	struct polys *P = p->P;
	struct matrix G = weight_matrix(m);
	int64_t n = G.rows, o = lbuf(p, w)->shape[0], c = lbuf(p, w)->shape[1];
	ex_id v[TAPS] = {0};

	stage_id rows = stage_new(p, "taps", DT_F64, SCOPE_SCRATCH, 4, (int64_t[]){n, TAPS, c, o}, "x k c o");
	for (int k = 0; k < TAPS; k++) {
		poly at[4] = {stage_axis(p, rows, 3), stage_axis(p, rows, 2), poly_const(P, k), stage_axis(p, rows, 1)};
		v[k] = ex_cast(p, DT_F64, ex_read(p, w, 4, at));
	}
	stage_body(p, rows, COMB_NONE, times(p, G, stage_axis(p, rows, 0), v));
	stage_id u = stage_new(p, "U", t, SCOPE_SCRATCH, 3, (int64_t[]){n * n, c, o}, "s c o");
	poly s = stage_axis(p, u, 0);
	for (int k = 0; k < TAPS; k++) {
		poly at[4] = {poly_floordiv(P, s, n), poly_const(P, k), stage_axis(p, u, 1), stage_axis(p, u, 2)};
		v[k] = ex_read(p, lstage(p, rows)->out, 4, at);
	}
	stage_body(p, u, COMB_NONE, ex_cast(p, t, times(p, G, poly_mod(P, s, n), v)));
	return lstage(p, u)->out;
}

/* What all the stages know. */
struct winograd {
	struct loop_prog *p;
	int m, n;                   /* results and points of a tile, along one axis */
	int64_t images, high, wide; /* images; tiles of one */
	bool lines;                 /* tiles have three axes: image, line, tile of the line */
	enum dtype t;
};

enum { TILE_AXES = 3 };

/* A stage with axes `before`, those of tiles, and channels. names: with one axis of tiles, and with three. */
static stage_id tiles_stage(const struct winograd *q, const char *name, int nbefore, const int64_t *before, int64_t channels,
			    const char *const names[2])
{
	int64_t shape[LOOP_RANK_MAX], *at = shape;

	for (int i = 0; i < nbefore; i++)
		*at++ = before[i];
	*at++ = q->lines ? q->images : q->images * q->high * q->wide;
	if (q->lines) {
		*at++ = q->high;
		*at++ = q->wide;
	}
	*at++ = channels;
	return stage_new(q->p, name, q->t, SCOPE_SCRATCH, (int)(at - shape), shape, names[q->lines]);
}

/* Element of b, indexed by what is before the tile, the tile and the channel of stage s, whose first axis of tiles is number `first`. */
static ex_id read_tile(const struct winograd *q, buf_id b, int nbefore, const poly *before, stage_id s, int first)
{
	poly at[LOOP_RANK_MAX];
	int n = (q->lines ? TILE_AXES : 1) + 1;

	memcpy(at, before, sizeof *at * (size_t)nbefore);
	for (int i = 0; i < n; i++)
		at[nbefore + i] = stage_axis(q->p, s, first + i);
	return ex_read(q->p, b, nbefore + n, at);
}

/* Do the channels of a pixel, axis 1, follow each other in memory? */
static bool channels_last(const struct loop_buf *x)
{
	int last = x->layout.n ? x->layout.n - 1 : x->rank - 1;

	while (last > 0 && x->shape[x->layout.n ? x->layout.part[last].axis : last] == 1)
		last--;
	return (x->layout.n ? x->layout.part[last].axis : last) == 1;
}

/* The input, zero around it: all that whole tiles read. Its memory is in the order of the input. Where channels are not last, there is a copy
 * in any case, which a schedule transposes. */
static buf_id padded(struct winograd *q, buf_id x, const int64_t *begin)
{
	struct loop_prog *p = q->p;
	const int64_t *in = lbuf(p, x)->shape;
	int64_t h = q->high * q->m + 2, w = q->wide * q->m + 2;

	if (!begin[0] && !begin[1] && h <= in[2] && w <= in[3] && channels_last(lbuf(p, x)))
		return x;
	stage_id s = stage_new(p, "pad", q->t, SCOPE_SCRATCH, 4, (int64_t[]){in[0], in[1], h, w}, "n c h w");
	lbuf(p, lstage(p, s)->out)->layout = lbuf(p, x)->layout;
	poly at[4] = {stage_axis(p, s, 0), stage_axis(p, s, 1), poly_addc(p->P, stage_axis(p, s, 2), -begin[0]),
		      poly_addc(p->P, stage_axis(p, s, 3), -begin[1])};
	stage_body(p, s, COMB_NONE, ex_read_fill(p, x, 4, at, 0));
	return lstage(p, s)->out;
}

static buf_id points(struct winograd *q, buf_id x)
{
	struct loop_prog *p = q->p;
	struct polys *P = p->P;
	int64_t n = q->n, c = lbuf(p, x)->shape[1];
	ex_id v[POINTS_MAX] = {0};

	stage_id rows = tiles_stage(q, "rows", 2, (int64_t[]){n, n}, c, (const char *const[]){"x j t c", "i j n y x c"});
	poly t = stage_axis(p, rows, 2), line = q->lines ? POLY_UNKNOWN : poly_floordiv(P, t, q->wide);
	poly image = q->lines ? t : poly_floordiv(P, line, q->high), y = q->lines ? stage_axis(p, rows, 3) : poly_mod(P, line, q->high);
	poly tile = q->lines ? stage_axis(p, rows, 4) : poly_mod(P, t, q->wide);
	for (int k = 0; k < n; k++) {
		poly h = poly_addc(P, poly_mulc(P, y, q->m), k), w = poly_add(P, poly_mulc(P, tile, q->m), stage_axis(p, rows, 1));
		v[k] = ex_read(p, x, 4, (poly[]){image, stage_axis(p, rows, lstage(p, rows)->nspatial - 1), h, w});
	}
	stage_body(p, rows, COMB_NONE, times(p, input_matrix(q->m), stage_axis(p, rows, 0), v));
	stage_id s = tiles_stage(q, "points", 1, (int64_t[]){n * n}, c, (const char *const[]){"s t c", "s n y x c"});
	poly which = stage_axis(p, s, 0);
	for (int k = 0; k < n; k++)
		v[k] = read_tile(q, lstage(p, rows)->out, 2, (poly[]){poly_floordiv(P, which, n), poly_const(P, k)}, s, 1);
	stage_body(p, s, COMB_NONE, times(p, input_matrix(q->m), poly_mod(P, which, n), v));
	return lstage(p, s)->out;
}

static buf_id product(struct winograd *q, buf_id x, buf_id u)
{
	struct loop_prog *p = q->p;
	int64_t c = lbuf(p, u)->shape[1];
	stage_id s = tiles_stage(q, "product", 1, lbuf(p, u)->shape, lbuf(p, u)->shape[2], (const char *const[]){"s t o", "s n y x o"});
	int o = lstage(p, s)->nspatial - 1;
	poly i = stage_reduce(p, s, "c", c), at[LOOP_RANK_MAX];
	for (int k = 0; k < o; k++)
		at[k] = stage_axis(p, s, k);
	at[o] = i;
	ex_id a = ex_read(p, x, o + 1, at), b = ex_read(p, u, 3, (poly[]){at[0], i, stage_axis(p, s, o)});

	stage_body(p, s, COMB_SUM, ex_call(p, FN_MUL, a, b, 0));
	return lstage(p, s)->out;
}

static stage_id results(struct winograd *q, buf_id product, const int64_t *out, const char *axes)
{
	struct loop_prog *p = q->p;
	struct polys *P = p->P;
	int64_t n = q->n;
	ex_id v[POINTS_MAX] = {0};

	stage_id back = tiles_stage(q, "back", 2, (int64_t[]){q->m, n}, out[1], (const char *const[]){"y j t o", "i j n y x o"});
	for (int k = 0; k < n; k++)
		v[k] = read_tile(q, product, 1, (poly[]){poly_addc(P, stage_axis(p, back, 1), k * n)}, back, 2);
	stage_body(p, back, COMB_NONE, times(p, output_matrix(q->m), stage_axis(p, back, 0), v));
	stage_id s = stage_new(p, "conv", q->t, SCOPE_SCRATCH, 4, out, axes);
	poly h = stage_axis(p, s, 2), w = stage_axis(p, s, 3);
	poly y = poly_floordiv(P, h, q->m), x = poly_floordiv(P, w, q->m), row = poly_mod(P, h, q->m), o = stage_axis(p, s, 1);
	poly line = q->lines ? POLY_UNKNOWN : poly_add(P, poly_mulc(P, stage_axis(p, s, 0), q->high), y);
	poly tile = q->lines ? POLY_UNKNOWN : poly_add(P, poly_mulc(P, line, q->wide), x);
	for (int k = 0; k < n; k++)
		v[k] = q->lines ? ex_read(p, lstage(p, back)->out, 6, (poly[]){row, poly_const(P, k), stage_axis(p, s, 0), y, x, o})
				: ex_read(p, lstage(p, back)->out, 4, (poly[]){row, poly_const(P, k), tile, o});
	stage_body(p, s, COMB_NONE, times(p, output_matrix(q->m), poly_mod(P, w, q->m), v));
	return s;
}

stage_id winograd_stages(struct loop_prog *p, int m, bool lines, buf_id x, buf_id u, const int64_t *begin, const int64_t *out,
			 const char *axes)
{
	struct winograd q = {p, m, m + 2, out[0], (out[2] + m - 1) / m, (out[3] + m - 1) / m, lines, lbuf(p, x)->dtype};

	x = padded(&q, x, begin);
	return results(&q, product(&q, points(&q, x), u), out, axes);
}
