/* The arena of a planned graph, step by step: where each value lies, and from when to when. */
#include <stdlib.h>
#include "common/page.h"
#include "dot.h"
#include "model/memory_plan.h"

enum { WIDE = 1080, HIGH = 280, LEFT = 70, BOTTOM = 26, BLOCKS_MOST = 5000 };

struct picture {
	FILE *f;
	struct module *m;
	uint32_t *last; /* by value: the last step that reads it */
	size_t nstep, nblock;
	double bytes;
};

static double x_at(const struct picture *p, size_t step) { return LEFT + (double)(WIDE - LEFT) * (double)step / (double)p->nstep; }
static double y_at(const struct picture *p, double byte) { return HIGH - BOTTOM - (HIGH - BOTTOM) * byte / p->bytes; }

static void put_size(FILE *f, double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
	int u = 0;

	for (; bytes >= 1024 && u < 3; u++)
		bytes /= 1024;
	fprintf(f, "%.4g %s", bytes, units[u]);
}

/* Bytes at an offset, from a step to another. */
static void put_block(struct picture *p, const char *name, const char *color, double offset, double bytes, size_t from, size_t to)
{
	double x = x_at(p, from), y = y_at(p, offset + bytes);

	if (bytes <= 0 || p->nblock++ >= BLOCKS_MOST)
		return;
	fprintf(p->f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"><title>", x, y, x_at(p, to + 1) - x,
		y_at(p, offset) - y, color);
	page_put(p->f, name);
	fputs(": ", p->f);
	put_size(p->f, bytes);
	fprintf(p->f, " at %.0f, steps %zu to %zu</title></rect>\n", offset, from, to);
}

static void put_step(struct picture *p, size_t step, const struct node *n)
{
	int count, nworkspace;
	const int64_t *offset = attr_ints(n, "offsets", &count), *workspace = attr_ints(n, "workspace", &nworkspace);

	if (nworkspace == 2 && workspace[0] >= 0)
		put_block(p, "workspace", "var(--base)", (double)workspace[0], (double)workspace[1], step, step);
	for (int i = 0; i < count && (uint32_t)i < n->nout; i++) {
		val_id v = n->out[i];
		if (!v || offset[i] < 0)
			continue;
		const struct value *x = val(p->m, v);
		double bytes = (double)type_count(p->m, &x->type) * (double)dtype_size(x->type.dtype);
		put_block(p, sym_str(x->name), "var(--mark)", (double)offset[i], bytes, step, p->last[v] > step ? p->last[v] : step);
	}
}

static void put_axes(const struct picture *p)
{
	fprintf(p->f, "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"var(--line)\"/>", LEFT, WIDE, HIGH - BOTTOM, HIGH - BOTTOM);
	fprintf(p->f, "<text x=\"%d\" y=\"10\" text-anchor=\"end\">", LEFT - 6);
	put_size(p->f, p->bytes);
	fprintf(p->f, "</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">0</text><text x=\"%d\" y=\"%d\">step 0</text>", LEFT - 6,
		HIGH - BOTTOM, LEFT, HIGH - 8);
	fprintf(p->f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%zu</text>\n", WIDE, HIGH - 8, p->nstep - 1);
}

void write_arena(FILE *f, struct module *m)
{
	const struct graph *g = graph(m, m->main);
	struct picture p = {.f = f, .m = m, .nstep = g->nodes.n, .bytes = (double)plan_bytes(m)};

	if (p.bytes <= 0 || !p.nstep)
		return;
	p.last = xcalloc(m->values.n, sizeof *p.last);
	for (size_t i = 0; i < p.nstep; i++)
		for (uint32_t j = 0; j < node(m, g->nodes.a[i])->nin; j++)
			p.last[node(m, g->nodes.a[i])->in[j]] = (uint32_t)i;
	fputs("<h2>The arena</h2>\n<p class=\"soft\">Each block is a value, from the step that makes it to the last that reads it, or, in grey, the workspace of a step.</p>\n",
	      f);
	fprintf(f,
		"<svg class=\"arena\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\"><title>the arena over the steps of a run</title>\n",
		WIDE, HIGH, WIDE, HIGH);
	for (size_t i = 0; i < p.nstep; i++)
		put_step(&p, i, node(m, g->nodes.a[i]));
	put_axes(&p);
	fputs("</svg>\n", f);
	if (p.nblock > BLOCKS_MOST)
		fprintf(f, "<p class=\"soft\">%zu later blocks are not drawn</p>\n", p.nblock - BLOCKS_MOST);
	free(p.last);
}
