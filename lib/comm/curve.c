#include <math.h>
#include "comm/curve.h"
#include "comm/lines.h"
#include "common/msg.h"

static void check_point(const struct curve *c, const struct lines *l, struct curve_point p)
{
	if (!c->at.n)
		return;
	struct curve_point before = c->at.a[c->at.n - 1];
	if (p.bytes == before.bytes)
		die(EX_BADDATA, "%s:%zu: bytes %.15g twice", l->path, l->number, p.bytes);
	if (p.bytes < before.bytes)
		die(EX_BADDATA, "%s:%zu: bytes fall from %.15g to %.15g; sort by them", l->path, l->number, before.bytes, p.bytes);
	if (p.us < before.us)
		die(EX_BADDATA,
		    "%s:%zu: us falls from %.15g to %.15g; a curve never falls: measure again, or give both points the higher one", l->path,
		    l->number, before.us, p.us);
}

static void read_lines(struct curve *c, struct lines *l)
{
	char *field[2];
	int n;
	*c = (struct curve){0};
	while (lines_next(l, field, 2, &n)) {
		struct curve_point p;
		if (n == 0)
			continue;
		if (n != 2)
			die(EX_BADDATA, "%s:%zu: %d field%s; expected bytes<TAB>us", l->path, l->number, n, n == 1 ? "" : "s");
		if (!lines_number(field[0], &p.bytes))
			die(EX_BADDATA, "%s:%zu: bytes '%.40s': expected a number that is not negative", l->path, l->number, field[0]);
		if (!lines_number(field[1], &p.us))
			die(EX_BADDATA, "%s:%zu: us '%.40s': expected a number that is not negative", l->path, l->number, field[1]);
		check_point(c, l, p);
		vec_push(&c->at, p);
	}
	if (c->at.n < 2)
		die(EX_BADDATA, "%s:%zu: %s; a curve takes two, or --alpha and --beta in place of it", l->path, l->number,
		    c->at.n ? "one point" : "no point");
	lines_close(l);
	curve_pieces(c);
}

void curve_read(struct curve *c, const char *path)
{
	struct lines l;
	lines_open(&l, path);
	read_lines(c, &l);
}

void curve_parse(struct curve *c, const char *name, const char *text)
{
	struct lines l;
	lines_text(&l, name, text);
	read_lines(c, &l);
}

void curve_linear(struct curve *c, double alpha, double beta)
{
	static const double far = 0x1p50;
	*c = (struct curve){0};
	if (!(alpha >= 0) || !(beta >= 0) || !isfinite(alpha + beta * far))
		die(EX_BADUSE, "--alpha %g --beta %g: expected numbers that are not negative", alpha, beta);
	vec_push(&c->at, (struct curve_point){0, alpha});
	vec_push(&c->at, (struct curve_point){far, alpha + beta * far});
	vec_push(&c->piece, (struct curve_piece){0, alpha, beta});
}

void curve_pieces(struct curve *c)
{
	c->piece.n = 0;
	for (size_t i = 0; i + 1 < c->at.n; i++) {
		struct curve_point p = c->at.a[i], q = c->at.a[i + 1];
		double b = (q.us - p.us) / (q.bytes - p.bytes), a = p.us - b * p.bytes;
		if (i == 0 && a < 0) { /* the line would be negative at 0 bytes */
			vec_push(&c->piece, (struct curve_piece){0, 0, 0});
			vec_push(&c->piece, (struct curve_piece){-a / b, a, b});
		} else {
			vec_push(&c->piece, (struct curve_piece){i ? p.bytes : 0, a, b});
		}
	}
}

double curve_at(const struct curve *c, double bytes)
{
	size_t lo = 0, n = c->piece.n; /* the last piece that begins at or before bytes is in [lo, lo + n) */
	while (n > 1) {
		size_t half = n / 2;
		lo = c->piece.a[lo + half].from <= bytes ? lo + half : lo;
		n -= half;
	}
	double us = c->piece.a[lo].a + c->piece.a[lo].b * bytes;
	return us > 0 ? us : 0;
}

double curve_inverse(const struct curve *c, double us)
{
	for (size_t i = c->piece.n; i-- > 0;) {
		const struct curve_piece *p = &c->piece.a[i];
		double here = p->a + p->b * p->from;
		if (here > us)
			continue;
		double x = p->b > 0 ? p->from + (us - here) / p->b : INFINITY;
		return i + 1 < c->piece.n ? fmin(x, p[1].from) : x;
	}
	return -1;
}

void curve_free(struct curve *c)
{
	vec_free(&c->at);
	vec_free(&c->piece);
}
