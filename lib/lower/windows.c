#include "lower/windows.h"

const char *const low_out_axes[] = {"", "n o w", "n o h w", "n o d h w"};
const char *const low_in_axes[] = {"", "n c w", "n c h w", "n c d h w"};
const char *const low_taps[][SPATIAL_MAX] = {{NULL}, {"kw"}, {"kh", "kw"}, {"kd", "kh", "kw"}};

const char *low_window(struct lower *L, const int64_t *kernel, const char *const *axes, struct window *w)
{
	int n = low_rank(L, 0) - 2;
	const char *why = window_read(L->m, L->n, n, kernel, w);

	if (why)
		return why;
	if (n < 1)
		return "no spatial axes";
	for (int i = 0; i < n; i++)
		window_extent(w, i, L->shape[0][2 + i]);
	low_name_axes(L, n + 2, axes[n]);
	return NULL;
}

bool low_window_known(struct lower *L, struct window *w)
{
	if (window_read(L->m, L->n, low_rank(L, 0) - 2, L->shape[1] + 2, w) || w->n < 1)
		return false;
	for (int i = 0; i < w->n; i++)
		window_extent(w, i, L->shape[0][2 + i]);
	return true;
}

buf_id low_turned(struct lower *L, int n, bool *copy)
{
	static const char *const axes[] = {NULL, "n w c", "n h w c", "n d h w c"};
	const struct layout *l = low_layout(L, 0);
	int64_t shape[LOOP_RANK_MAX];
	poly at[LOOP_RANK_MAX], from[LOOP_RANK_MAX];

	*copy = !l->n || l->part[l->n - 1].axis != 1;
	if (!*copy)
		return low_buf(L, 0);
	shape[0] = L->shape[0][0];
	for (int i = 0; i < n; i++)
		shape[1 + i] = L->shape[0][2 + i];
	shape[1 + n] = L->shape[0][1];
	stage_id s = low_stage(L, "turned", low_dtype(L, 0), n + 2, shape, axes[n]);
	low_index(L, s, at);
	from[0] = at[0];
	from[1] = at[1 + n];
	for (int i = 0; i < n; i++)
		from[2 + i] = at[1 + i];
	stage_body(L->p, s, COMB_NONE, low_read(L, 0, from));
	return lstage(L->p, s)->out;
}
