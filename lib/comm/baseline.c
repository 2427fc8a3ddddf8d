#include <math.h>
#include "comm/plan.h"
#include "common/msg.h"

static const double MiB = 1 << 20;

const char *baseline_name(enum baseline b)
{
	static const char *const name[] = {"none", "single", "ddp", "hccl", "horovod", "mg-wfbp", "fixed"};
	return name[b];
}

/* A segment closes when it has enough bytes: `first` for the first one, `size` for the others. */
static void close_at(struct plan *p, const struct grads *g, double first, double size)
{
	double bytes = 0;
	p->last.n = 0;
	for (size_t i = 0; i < g->at.n; i++) {
		bytes += g->at.a[i].bytes;
		if (bytes >= (p->last.n ? size : first) || i + 1 == g->at.n) {
			vec_push(&p->last, (uint32_t)i);
			bytes = 0;
		}
	}
}

/* As many tensors as fit; a tensor that is too large goes alone. */
static void close_before(struct plan *p, const struct grads *g, double size)
{
	double bytes = 0;
	for (size_t i = 0; i < g->at.n; i++) {
		bytes += g->at.a[i].bytes;
		if (i + 1 == g->at.n || bytes + g->at.a[i + 1].bytes > size) {
			vec_push(&p->last, (uint32_t)i);
			bytes = 0;
		}
	}
}

static double total(const struct grads *g)
{
	double bytes = 0;
	for (size_t i = 0; i < g->at.n; i++)
		bytes += g->at.a[i].bytes;
	return bytes;
}

/* The next tensor joins the segment if it is ready before the segment's all-reduce would have started up. */
static void merge_greedily(struct plan *p, const struct grads *g, const struct curve *c)
{
	double startup = curve_at(c, 0), end = 0, bytes = 0;
	for (size_t i = 0; i < g->at.n; i++) {
		double start = fmax(end, g->at.a[i].ready);
		bytes += g->at.a[i].bytes;
		if (i + 1 < g->at.n && g->at.a[i + 1].ready < start + startup)
			continue;
		end = start + curve_at(c, bytes);
		bytes = 0;
		vec_push(&p->last, (uint32_t)i);
	}
}

double plan_fixed_size(const struct grads *g, const struct curve *c)
{
	struct plan p = {0};
	double best = INFINITY, found = 0, all = total(g);
	for (int half = 24; half == 24 || exp2((half - 1) / 2.0) < all; half++) { /* from 4 KiB */
		double size = floor(exp2(half / 2.0));
		close_at(&p, g, size, size);
		double end = plan_cost(&p, g, c).end;
		if (end <= best)
			best = end, found = size;
	}
	plan_free(&p);
	return found;
}

void plan_baseline(struct plan *p, enum baseline b, const struct grads *g, const struct curve *c)
{
	double size;
	p->last.n = 0;
	switch (b) {
	case BASE_NONE:
		for (size_t i = 0; i < g->at.n; i++)
			vec_push(&p->last, (uint32_t)i);
		return;
	case BASE_SINGLE: close_at(p, g, INFINITY, INFINITY); return;
	case BASE_DDP: close_at(p, g, MiB, 25 * MiB); return;
	case BASE_HCCL: close_at(p, g, 0.9654 * total(g), INFINITY); return;
	case BASE_HOROVOD: close_before(p, g, 64 * MiB); return;
	case BASE_MGWFBP: merge_greedily(p, g, c); return;
	case BASE_FIXED:
		size = plan_fixed_size(g, c);
		close_at(p, g, size, size);
		return;
	case BASELINE_COUNT: break;
	}
	BUG("baseline %d", b);
}
