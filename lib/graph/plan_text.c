/* Plans as text. */
#include "graph/plan_text.h"
#include <inttypes.h>
#include <stdlib.h>
#include "common/outfile.h"
#include "graph/textform.h"

static const char head[] = "hone-plan 1";

val_id plan_result(const struct node *n)
{
	for (uint32_t i = 0; i < n->nout; i++)
		if (n->out[i])
			return n->out[i];
	return 0;
}

struct plan_group *plan_text_add(struct plan_text *p, sym graph, uint32_t ordinal)
{
	vec_push(&p->group, (struct plan_group){.graph = graph, .ordinal = ordinal});
	return &p->group.a[p->group.n - 1];
}

static void read_head(struct scan *s, struct digest *of)
{
	enum { HEX = 32 };

	scan_lines(s);
	scan_want(s, head);
	scan_blanks(s);
	if ((size_t)(s->end - s->p) < HEX || !digest_parse(s->p, HEX, of))
		scan_die(s, "the digest of a graph expected, 32 hexadecimal digits");
	s->p += HEX;
	scan_end_of_line(s);
}

static void read_graph(struct scan *s, sym *graph, uint32_t *ordinal)
{
	*graph = scan_name(s);
	*ordinal = 1;
	if (s->p < s->end && *s->p == '#') {
		s->p++;
		int64_t n = scan_int(s);
		if (n < 2 || n > UINT32_MAX)
			scan_die(s, "graphs of one name are numbered from 2 on");
		*ordinal = (uint32_t)n;
	}
	scan_end_of_line(s);
}

/* 0: the line says nothing of threads. */
static int read_threads(struct scan *s)
{
	if (!scan_is(s, "threads"))
		return 0;
	scan_blanks(s);
	int64_t n = scan_int(s);
	if (n < 1 || n > PLAN_THREADS_MAX)
		scan_die(s, "a number of threads from 1 to %d expected", PLAN_THREADS_MAX);
	scan_blanks(s);
	return (int)n;
}

static void read_group(struct scan *s, struct plan_group *g)
{
	g->line = s->line;
	while (!scan_line_end(s))
		vec_push(&g->node, scan_name(s));
	if (!g->node.n)
		scan_die(s, "a group without nodes");
}

void plan_text_read(struct plan_text *p, const char *path)
{
	struct mapped file;
	sym graph = 0;
	uint32_t ordinal = 0;

	mapped_open(&file, path);
	struct scan s = {(const char *)file.p, (const char *)file.p + file.n, path, 1};
	*p = (struct plan_text){0};
	read_head(&s, &p->of);
	for (scan_lines(&s); s.p < s.end; scan_lines(&s)) {
		if (scan_is(&s, "graph")) {
			read_graph(&s, &graph, &ordinal);
			continue;
		}
		int threads = read_threads(&s);
		bool row_major = scan_is(&s, "row-major");
		if (!row_major)
			scan_want(&s, "group");
		if (!ordinal)
			scan_die(&s, "a group before the name of its graph");
		struct plan_group *g = plan_text_add(p, graph, ordinal);
		g->row_major = row_major;
		g->threads = threads;
		read_group(&s, g);
	}
	mapped_close(&file);
}

void plan_text_write(const struct plan_text *p, FILE *f)
{
	char hex[33];

	digest_hex(p->of, hex);
	fprintf(f, "%s %s\n", head, hex);
	for (size_t i = 0; i < p->group.n; i++) {
		const struct plan_group *g = &p->group.a[i];
		if (i == 0 || g->graph != g[-1].graph || g->ordinal != g[-1].ordinal) {
			fputs("graph ", f);
			text_put_name(f, g->graph);
			fprintf(f, g->ordinal > 1 ? "#%" PRIu32 "\n" : "\n", g->ordinal);
		}
		if (g->threads)
			fprintf(f, "threads %d ", g->threads);
		fputs(g->row_major ? "row-major" : "group", f);
		for (size_t k = 0; k < g->node.n; k++) {
			putc(' ', f);
			text_put_name(f, g->node.a[k]);
		}
		putc('\n', f);
	}
}

void plan_text_free(struct plan_text *p)
{
	for (size_t i = 0; i < p->group.n; i++)
		vec_free(&p->group.a[i].node);
	vec_free(&p->group);
}
