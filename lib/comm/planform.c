/* Gradient plans as text, in the forms that frameworks take. */
#include <math.h>
#include <string.h>
#include "comm/lines.h"
#include "comm/plan.h"
#include "common/json.h"
#include "common/msg.h"
#include "common/outfile.h"

static void read_lines(struct plan *p, struct lines *l, const struct grads *g)
{
	char *field[1];
	int n;
	*p = (struct plan){0};
	while (lines_next(l, field, 1, &n)) {
		double v;
		if (n == 0)
			continue;
		if (n != 1 || !lines_number(field[0], &v) || v != floor(v))
			die(EX_BADDATA, "%s:%zu: '%.40s': expected the index of a segment's last tensor", l->path, l->number, field[0]);
		if (v >= (double)g->at.n)
			die(EX_BADDATA, "%s:%zu: tensor %.0f: there are %zu; is the plan of another grads file?", l->path, l->number, v,
			    g->at.n);
		if (p->last.n && v <= p->last.a[p->last.n - 1])
			die(EX_BADDATA, "%s:%zu: tensor %.0f after tensor %u; a segment ends behind the one before", l->path, l->number, v,
			    p->last.a[p->last.n - 1]);
		vec_push(&p->last, (uint32_t)v);
	}
	size_t covered = p->last.n ? p->last.a[p->last.n - 1] + (size_t)1 : 0;
	if (covered != g->at.n)
		die(EX_BADDATA, "%s:%zu: ends at tensor %zu of %zu; the last line is the last tensor's index", l->path, l->number, covered,
		    g->at.n);
	lines_close(l);
}

void plan_read(struct plan *p, const char *path, const struct grads *g)
{
	struct lines l;
	lines_open(&l, path);
	read_lines(p, &l, g);
}

void plan_parse(struct plan *p, const char *name, const char *text, const struct grads *g)
{
	struct lines l;
	lines_text(&l, name, text);
	read_lines(p, &l, g);
}

static double segment_bytes(const struct plan *p, const struct grads *g, size_t s)
{
	double bytes = 0;
	for (size_t i = s ? p->last.a[s - 1] + (size_t)1 : 0; i <= p->last.a[s]; i++)
		bytes += g->at.a[i].bytes;
	return bytes;
}

static void write_idx(FILE *f, const struct plan *p, const struct grads *g, const struct curve *c)
{
	for (size_t s = 0; s < p->last.n; s++)
		fprintf(f, "%u\n", p->last.a[s]);
}

static void write_size(FILE *f, const struct plan *p, const struct grads *g, const struct curve *c)
{
	for (size_t s = 0; s < p->last.n; s++)
		fprintf(f, "%.0f\n", segment_bytes(p, g, s));
}

static void write_hccl(FILE *f, const struct plan *p, const struct grads *g, const struct curve *c)
{
	if (p->last.n > HCCL_MAX)
		die(EX_BADUSE, "hccl: %zu segments, and HCCL takes %d; -k %d", p->last.n, HCCL_MAX, HCCL_MAX);
	fputs("set_split_strategy_by_idx([", f);
	for (size_t s = 0; s < p->last.n; s++)
		fprintf(f, "%s%u", s ? ", " : "", p->last.a[s]);
	fputs("])\n", f);
}

static void write_ddp(FILE *f, const struct plan *p, const struct grads *g, const struct curve *c)
{
	fputc('[', f);
	for (size_t s = 0; s < p->last.n; s++)
		fprintf(f, "%s%.0f", s ? ", " : "", segment_bytes(p, g, s));
	fputs("]\n", f);
}

static void write_names(FILE *f, const struct plan *p, const struct grads *g, size_t s)
{
	size_t first = s ? p->last.a[s - 1] + (size_t)1 : 0;
	fputc('[', f);
	for (size_t i = first; i <= p->last.a[s]; i++) {
		fputs(i > first ? ", " : "", f);
		json_str(f, g->at.a[i].name);
	}
	fputc(']', f);
}

static void write_horovod(FILE *f, const struct plan *p, const struct grads *g, const struct curve *c)
{
	fputc('[', f);
	for (size_t s = 0; s < p->last.n; s++) {
		fputs(s ? ",\n " : "", f);
		write_names(f, p, g, s);
	}
	fputs("]\n", f);
}

static void write_json(FILE *f, const struct plan *p, const struct grads *g, const struct curve *c)
{
	struct plan_cost cost = plan_cost(p, g, c);
	double end = 0;
	fprintf(f, "{\"tensors\": %zu, \"end_us\": %.3f, \"tail_us\": %.3f, \"busy_us\": %.3f, \"bound_us\": %.3f, \"segments\": [",
		g->at.n, cost.end, cost.tail, cost.busy, plan_lower_bound(g, c));
	for (size_t s = 0; s < p->last.n; s++) {
		double bytes = segment_bytes(p, g, s), start = fmax(end, g->at.a[p->last.a[s]].ready);
		end = start + curve_at(c, bytes);
		fprintf(f, "%s\n {\"last\": %u, \"bytes\": %.0f, \"ready_us\": %.3f, \"start_us\": %.3f, \"end_us\": %.3f, \"names\": ",
			s ? "," : "", p->last.a[s], bytes, g->at.a[p->last.a[s]].ready, start, end);
		write_names(f, p, g, s);
		fputc('}', f);
	}
	fputs("]}\n", f);
}

void plan_print(FILE *f, const struct plan *p, const struct grads *g, const struct curve *c, const char *form)
{
	static const struct {
		const char *name;
		void (*write)(FILE *f, const struct plan *p, const struct grads *g, const struct curve *c);
	} forms[] = {
		{"idx", write_idx}, {"size", write_size},       {"hccl", write_hccl},
		{"ddp", write_ddp}, {"horovod", write_horovod}, {"json", write_json},
	};
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		if (!strcmp(forms[i].name, form)) {
			forms[i].write(f, p, g, c);
			return;
		}
	}
	die(EX_BADUSE, "-f %s: expected idx, size, hccl, ddp, horovod or json", form);
}

void plan_write(const struct plan *p, const struct grads *g, const struct curve *c, const char *form, const char *path)
{
	struct outfile o;
	outfile_open(&o, path, false);
	plan_print(o.f, p, g, c, form);
	outfile_close(&o);
}
