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
