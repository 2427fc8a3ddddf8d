/* What has vectors: types that fit lanes of 32 bits, and functions of them. */
#include "loop/math.h"
#include "loop/nest.h"

static bool beyond_lanes(struct loop_prog *p, ex_id e, void *arg)
{
	const struct ex *x = lex(p, e);

	switch (x->kind) {
	case EX_CONST:
	case EX_INDEX: return false;
	case EX_CALL: return !math_in_lanes(x->fn, lex(p, x->a[x->fn == FN_SELECT])->dtype);
	case EX_CAST: {
		enum dtype from = lex(p, x->a[0])->dtype;
		bool twice = (x->dtype == DT_F16 || x->dtype == DT_BF16) && from == DT_I32; /* rounded */
		return math_lanes(x->dtype) == LANE_NONE || twice || (math_lanes(from) == LANE_NONE && lex(p, x->a[0])->kind != EX_INDEX);
	}
	default: return math_lanes(x->dtype) == LANE_NONE;
	}
}

bool stage_in_lanes(struct loop_prog *p, stage_id s)
{
	enum dtype t = lbuf(p, lstage(p, s)->out)->dtype;
	bool sum = lstage(p, s)->comb == COMB_SUM || lstage(p, s)->comb == COMB_PROD;

	if (t == DT_F32)
		return true;
	return math_lanes(t) != LANE_NONE && !(t == DT_BOOL && sum) && !ex_find(p, lstage(p, s)->body, beyond_lanes, NULL);
}
