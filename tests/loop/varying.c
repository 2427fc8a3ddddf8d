/* Programs with parameters: what is taken for proved of them. */
#include "loop/interp.h"
#include "loop/nest.h"
#include "loop/prim.h"
#include "common/tool.h"
#include "tap.h"
#include "target/target.h"

const struct tool tool; /* the library's main() is not linked */

/* y[i] = x[i], and z[i] = y[i], of n elements. */
static struct loop_prog *copies(int64_t lo, int64_t hi, int64_t divisor, poly *n, buf_id *y)
{
	struct loop_prog *p = prog_new(target_host());
	poly index;
	buf_id x = buf_new(p, "x", DT_F32, SCOPE_IN, 1, (const int64_t[]){hi}),
	       z = buf_new(p, "z", DT_F32, SCOPE_OUT, 1, (const int64_t[]){hi});

	*y = buf_new(p, "y", DT_F32, SCOPE_SCRATCH, 1, (const int64_t[]){hi});
	*n = prog_param(p, intern("n"), lo, hi, divisor);
	for (buf_id b = x; b <= *y; b++)
		lbuf(p, b)->dim[0] = lbuf(p, b)->size[0] = *n;
	stage_id first = stage_into(p, "first", *y, "i");
	index = stage_axis(p, first, 0);
	stage_body(p, first, COMB_NONE, ex_read(p, x, 1, &index));
	stage_id second = stage_into(p, "second", z, "i");
	index = stage_axis(p, second, 0);
	stage_body(p, second, COMB_NONE, ex_read(p, *y, 1, &index));
	prog_start(p);
	return p;
}

static void fixed(void)
{
	buf_id y;
	poly n, i;
	struct loop_prog *p = copies(1, POLY_INF, 1, &n, &y);

	i = poly_of(p->P, lnest(p, lnest(p, p->root)->kid.a[0])->var);
	ok(prog_fixed(p, poly_min(p->P, poly_addc(p->P, n, -7), poly_floordiv(p->P, n, 3))), "a size of parameters alone");
	ok(!prog_fixed(p, poly_min(p->P, poly_addc(p->P, i, 64), n)), "min(i + 64, n) is i + 64 for few n, and yet no size");
	ok(!prog_fixed(p, POLY_UNKNOWN), "what is not known is no size");
	prog_free(p);
}

static void workspace(void)
{
	buf_id y;
	poly n;
	struct loop_prog *p = copies(0, POLY_INF, 1, &n, &y);

	ok(!loop_legalize(p) && !loop_verify(p), "it has a kernel");
	p->params.a[0].value = 1000;
	ok(prog_workspace(p) == 4032, "%ld bytes of workspace", (long)prog_workspace(p));
	p->params.a[0].value = 1ll << 46;
	ok(prog_workspace(p) == -1, "2^48 bytes: none has so many");
	p->params.a[0].value = 1ll << 62;
	ok(prog_workspace(p) == -1, "more than can be counted");
	p->params.a[0].value = 0;
	ok(prog_workspace(p) == 0, "none for none");
	prog_free(p);
}

/* Is the loop of the first stage one that writes all of y, if its block runs only where room + coef * i >= 0? */
static bool covered(int64_t lo, int64_t hi, int64_t divisor, int64_t tile, int64_t room)
{
	buf_id y;
	poly n, from, extent, guard[REGION_GUARDS];
	int nguard;
	struct loop_prog *p = copies(lo, hi, divisor, &n, &y);
	const char *why = tile ? prim_split(p, "first.i", 1, &tile, TAIL_PEEL) : NULL;
	nest_id l = lnest(p, p->root)->kid.a[0], block = *nest_list(p, l, 1, &nguard);

	if (room)
		vec_push(&lnest(p, block)->guard, poly_addc(p->P, poly_mulc(p->P, lnest(p, block)->bind[0], -1), room));
	from = poly_const(p->P, 0);
	extent = n;
	bool good = !why && !region_exact(p, y, p->root, &from, &extent, guard, &nguard);
	prog_free(p);
	return good;
}

/* Does each tile of n elements, of which the last may be cut off, write all of its own, if its block runs for the first `room` of them? */
static bool tiles_covered(int64_t n, int64_t tile, int64_t room)
{
	buf_id y;
	poly size, from, extent, guard[REGION_GUARDS];
	int nguard;
	struct loop_prog *p = copies(n, n, 1, &size, &y);
	const char *why = prim_split(p, "first.i", 1, &tile, TAIL_GUARD);
	nest_id outer = loop_find(p, "first.i.0"), inner = loop_find(p, "first.i.1"), block = *nest_list(p, inner, 1, &nguard);

	if (room)
		vec_push(&lnest(p, block)->guard, poly_addc(p->P, poly_mulc(p->P, poly_of(p->P, lnest(p, inner)->var), -1), room - 1));
	from = poly_mulc(p->P, poly_of(p->P, lnest(p, outer)->var), tile);
	extent = poly_const(p->P, tile);
	bool good = !why && !region_exact(p, y, outer, &from, &extent, guard, &nguard);
	prog_free(p);
	return good;
}

static void coverage(void)
{
	ok(covered(1, POLY_INF, 1, 0, 0) && covered(0, POLY_INF, 1, 0, 0), "a loop over all of it");
	ok(covered(0, POLY_INF, 1, 12, 0) && covered(1, POLY_INF, 1, 64, 0) && covered(0, POLY_INF, 12, 64, 0), "tiles of 64");
	ok(!covered(1, POLY_INF, 1, 0, 60), "not above 60");
	ok(!covered(1, POLY_INF, 1, 8, 200), "nor above 200");
	ok(covered(1, 50, 1, 0, 60) && covered(1, 61, 1, 8, 60) && !covered(1, 62, 1, 8, 60), "if it can be longer");
	ok(tiles_covered(64 << 20, 64, 0) && tiles_covered(640, 64, 0), "each of a million tiles");
	ok(!tiles_covered(64 << 20, 64, 63) && !tiles_covered(640, 64, 63), "but the last of each");
	ok(tiles_covered(630, 64, 0), "the last one is cut off");
}

/* A rest of n that is said to be in 0..most, with the fact room - rest >= 0. */
static bool rest_stands(int64_t most, int64_t room)
{
	buf_id y;
	poly n, value;
	struct loop_prog *p = copies(1, POLY_INF, 1, &n, &y);
	poly_var v = poly_var_new(p->P, intern("rest"), 0, most, 1);

	value = poly_mod(p->P, n, 8);
	vec_push(&p->rests, ((struct loop_rest){v, value, poly_addc(p->P, poly_mulc(p->P, poly_of(p->P, v), -1), room)}));
	bool stands = !loop_verify(p);
	prog_free(p);
	return stands;
}

static bool known_stands(int64_t known)
{
	buf_id y;
	poly n;
	struct loop_prog *p = copies(1, POLY_INF, 1, &n, &y);
	nest_id l = lnest(p, p->root)->kid.a[0];

	lnest(p, l)->known = poly_addc(p->P, n, known);
	bool stands = !loop_verify(p);
	prog_free(p);
	return stands;
}

static void rests(void)
{
	ok(rest_stands(7, 7), "what 8 leaves of n is in 0..7");
	ok(!rest_stands(6, 7), "not in 0..6");
	ok(!rest_stands(7, 6), "not 6 at most");
	ok(known_stands(-1) && !known_stands(-2), "what a loop with an iteration says of itself");
}

int main(void)
{
	fixed();
	workspace();
	coverage();
	rests();
	return tap_done();
}
