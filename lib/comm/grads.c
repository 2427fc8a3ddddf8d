#include <math.h>
#include <string.h>
#include "comm/grads.h"
#include "comm/lines.h"
#include "common/msg.h"
#include "common/outfile.h"
#include "common/shown.h"

static const double bytes_max = 0x1p53; /* up to here sums of whole numbers are exact */

static void read_comment(struct grads *g, const struct lines *l, const char *text)
{
	text += strspn(text, " ");
	if (l->number == 1 && !strcmp(text, "estimated"))
		g->estimated = true;
	if (!strncmp(text, "forward ", 8) && !lines_number(text + 8, &g->forward))
		die(EX_BADDATA, "%s:%zu: forward '%.40s': expected us, a number that is not negative", l->path, l->number, text + 8);
}

void grads_read(struct grads *g, const char *path)
{
	struct lines l;
	char *field[3];
	int n;
	double ready = 0, sum = 0;
	*g = (struct grads){0};
	lines_open(&l, path);
	while (lines_next(&l, field, 3, &n)) {
		struct grad t = {.name = field[0]};
		if (n == 0) {
			read_comment(g, &l, field[0]);
			continue;
		}
		if (n != 3)
			die(EX_BADDATA, "%s:%zu: %d field%s; expected name<TAB>bytes<TAB>ready_us", l.path, l.number, n, n == 1 ? "" : "s");
		if (!lines_number(field[1], &t.bytes) || t.bytes != floor(t.bytes))
			die(EX_BADDATA, "%s:%zu: %.60s: bytes '%.40s': expected a whole number that is not negative", l.path, l.number,
			    t.name, field[1]);
		if (!lines_number(field[2], &t.ready))
			die(EX_BADDATA, "%s:%zu: %.60s: ready '%.40s': expected us, a number that is not negative", l.path, l.number,
			    t.name, field[2]);
		if (t.ready < ready)
			die(EX_BADDATA, "%s:%zu: %.60s: ready falls from %.15g to %.15g; sort the tensors by it", l.path, l.number, t.name,
			    ready, t.ready);
		if ((sum += t.bytes) > bytes_max)
			die(EX_BADDATA, "%s:%zu: %.60s: more than 2^53 bytes in all", l.path, l.number, t.name);
		ready = t.ready;
		vec_push(&g->at, t);
	}
	g->text = l.text;
}

void grads_write(const struct grads *g, const char *path)
{
	struct outfile o;
	outfile_open(&o, path, false);
	if (g->estimated)
		fputs("# estimated\n", o.f);
	if (g->forward > 0)
		fprintf(o.f, "# forward %.3f\n", g->forward);
	for (size_t i = 0; i < g->at.n; i++)
		fprintf(o.f, "%s\t%.0f\t%.3f\n", shown(g->at.a[i].name), g->at.a[i].bytes, g->at.a[i].ready);
	outfile_close(&o);
}

void grads_free(struct grads *g)
{
	vec_free(&g->at);
	free(g->text);
}

void grads_reverse(struct grads *g, const char *path)
{
	if (!g->at.n)
		return;
	double backward = g->at.a[g->at.n - 1].ready;
	if (g->forward <= 0)
		die(EX_BADDATA, "%s: no line '# forward US', which the gathering is to hide behind", path ? path : "standard input");
	for (size_t i = 0; i < g->at.n; i++)
		g->at.a[i].ready = backward > 0 ? g->at.a[i].ready * (g->forward / backward) : 0;
}
