/* Statistics as text (tools/ge-calibrate/ge-calibrate.1): each number is written in one way only, so equal statistics are equal bytes. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/outfile.h"
#include "common/textfile.h"
#include "quant/statistics.h"

/* ---- out ---- */

static void write_name(FILE *f, const char *name)
{
	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		if (*p <= ' ' || *p == '%' || *p == 0x7f)
			fprintf(f, "%%%02x", *p);
		else
			putc(*p, f);
}

/* A sign and the digits of base 16, without zeros in front. */
static void write_sum(FILE *f, const struct exact *s)
{
	bool negative = s->limb[EXACT_LIMBS - 1] >> 63, begun = false;
	uint64_t limb[EXACT_LIMBS], borrow = negative;

	for (int i = 0; i < EXACT_LIMBS; i++) {
		limb[i] = negative ? ~s->limb[i] + borrow : s->limb[i];
		borrow = borrow && !limb[i];
	}
	if (negative)
		putc('-', f);
	for (int i = EXACT_LIMBS - 1; i >= 0; i--)
		if (begun) {
			fprintf(f, "%016" PRIx64, limb[i]);
		} else if (limb[i] || !i) {
			fprintf(f, "%" PRIx64, limb[i]);
			begun = true;
		}
}

static void write_bins(FILE *f, const struct value_stat *v)
{
	int64_t first, last, zeros = 0;

	value_stat_bins(v, &first, &last);
	fprintf(f, "histogram %d %" PRId64, v->exponent, first);
	for (int64_t i = first; i <= last; i++) {
		uint64_t n = value_stat_bin(v, i);
		if (!n) {
			zeros++;
			continue;
		}
		if (zeros)
			fprintf(f, " .%" PRId64, zeros);
		fprintf(f, " %" PRIu64, n);
		zeros = 0;
	}
	putc('\n', f);
}

static void write_value(FILE *f, const struct value_stat *v)
{
	fputs("value ", f);
	write_name(f, v->name);
	fprintf(f, "\nelements %" PRIu64 " %" PRIu64 " %" PRIu64 "\nrange %a %a\nchannels %d %u\n", v->count, v->nans, v->infinite,
		(double)v->min, (double)v->max, v->axis, v->channels);
	for (uint32_t c = 0; c < v->channels; c++) {
		fprintf(f, "%a %a ", (double)v->channel[c].min, (double)v->channel[c].max);
		write_sum(f, &v->channel[c].sum);
		putc('\n', f);
	}
	write_bins(f, v);
}

static void write_rows(const struct statistics *s, FILE *f)
{
	char hex[33];

	digest_hex(s->model, hex);
	fprintf(f, "hone-statistics 2\nmodel %s\n", hex);
	digest_hex(s->library, hex);
	if (s->by_library)
		fprintf(f, "library %s\n", hex);
	fprintf(f, "samples %" PRIu64 "\nseen %" PRIu32 "\n", s->samples, s->seen.n);
	for (uint32_t i = 0; i < s->seen.n; i++) {
		digest_hex(s->seen.least[i], hex);
		fprintf(f, "%s\n", hex);
	}
	for (size_t i = 0; i < s->values.n; i++)
		write_value(f, s->values.a[i]);
	fprintf(f, "end %zu ", s->values.n);
}

void statistics_write(const struct statistics *s, FILE *f)
{
	char *text, hex[33];
	size_t n;
	FILE *memory = textfile_open(&text, &n);

	write_rows(s, memory);
	textfile_close(memory);
	digest_hex(digest_bytes(text, n), hex);
	fwrite(text, 1, n, f);
	fprintf(f, "%s\n", hex);
	free(text);
}

/* ---- in ---- */

struct text_in {
	const char *path;
	const unsigned char *p, *end;
	int line, version;
	struct arena *arena;
};

static noreturn void bad(const struct text_in *t, const char *why) { die(EX_BADDATA, "%s:%d: %s", t->path, t->line, why); }

static bool take(struct text_in *t, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n) != 0)
		return false;
	t->p += n;
	return true;
}

static void want(struct text_in *t, const char *word)
{
	if (!take(t, word))
		bad(t, t->p == t->end ? "the file ends here" : "statistics do not go on so");
}

static void want_end_of_line(struct text_in *t)
{
	want(t, "\n");
	t->line++;
}

/* The current word, up to a blank, cut to the length that a number may have. */
static const char *word(struct text_in *t, char *to, size_t size)
{
	size_t n = 0;

	while (t->p<t->end && * t->p> ' ') {
		if (n + 1 == size)
			bad(t, "a number with too many digits");
		to[n++] = (char)*t->p++;
	}
	to[n] = 0;
	return to;
}

static uint64_t natural(struct text_in *t)
{
	char text[24], *end;

	word(t, text, sizeof text);
	errno = 0;
	uint64_t v = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || v > INT64_MAX)
		bad(t, "a count is needed here");
	return v;
}

static int64_t integer(struct text_in *t) { return take(t, "-") ? -(int64_t)natural(t) : (int64_t)natural(t); }

static float real(struct text_in *t)
{
	char text[40], *end;

	word(t, text, sizeof text);
	double v = strtod(text, &end);
	if (!*text || *end || isnan(v) || (double)(float)v != v || (v == 0 && signbit(v)))
		bad(t, "a 32-bit float is needed here");
	return (float)v;
}

static struct exact sum(struct text_in *t)
{
	bool negative = take(t, "-");
	char text[16 * EXACT_LIMBS + 1];
	struct exact s = {0};

	word(t, text, sizeof text);
	size_t n = strlen(text);
	if (!n || strspn(text, "0123456789abcdef") != n)
		bad(t, "a sum is needed here, in base 16");
	for (size_t i = 0; i < n; i++) {
		char c = text[n - 1 - i];
		s.limb[i / 16] |= (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10) << 4 * (i % 16);
	}
	if (s.limb[EXACT_LIMBS - 1] >> 63 || (negative && n == 1 && *text == '0'))
		bad(t, "a sum that no run has");
	uint64_t carry = negative;
	for (int i = 0; negative && i < EXACT_LIMBS; i++) {
		s.limb[i] = ~s.limb[i] + carry;
		carry = carry && !s.limb[i];
	}
	return s;
}

static const char *name(struct text_in *t)
{
	const unsigned char *from = t->p;

	while (t->p<t->end && * t->p> ' ')
		t->p++;
	char *to = arena_alloc(t->arena, (size_t)(t->p - from) + 1), *q = to;
	for (const unsigned char *p = from; p < t->p; p++) {
		char hex[3] = {0}, *end = hex;
		if (*p == '%' && t->p - p > 2) {
			memcpy(hex, p + 1, 2);
			*q = (char)strtol(hex, &end, 16);
			p += 2;
		} else {
			*q = (char)*p;
		}
		if ((*p == '%') || (*hex && (end != hex + 2 || !*q)))
			bad(t, "a name with a % that no two digits follow");
		q++;
	}
	return to;
}

static void read_bins(struct text_in *t, struct value_stat *v)
{
	int64_t first, last, e = integer(t);

	if (e < EXACT_UNIT || e > 128)
		bad(t, "a width that no histogram has");
	v->exponent = (int)e;
	want(t, " ");
	int64_t at = integer(t);
	value_stat_bins(v, &first, &last);
	if (at != first || last - first >= STAT_BINS)
		bad(t, "the histogram begins elsewhere than its range");
	while (take(t, " ")) {
		bool zeros = take(t, ".");
		uint64_t n = natural(t);
		if (!n || at > last || (zeros && n > (uint64_t)(last - at)))
			bad(t, "bins outside the range");
		if (!zeros)
			v->bins[(uint64_t)at % STAT_BINS] = n;
		at += zeros ? (int64_t)n : 1;
	}
	want_end_of_line(t);
}

static void read_channels(struct text_in *t, struct value_stat *v)
{
	int64_t axis = integer(t);

	want(t, " ");
	uint64_t n = natural(t);
	/* a channel has a line of six bytes at least */
	if (axis < -1 || axis >= RANK_MAX || (axis < 0) != !n || n > STAT_CHANNELS_MAX || n > (uint64_t)(t->end - t->p) / 6)
		bad(t, "so many channels are not there");
	want_end_of_line(t);
	v->axis = (int)axis;
	v->channels = (uint32_t)n;
	v->channel = ARENA_ARRAY(t->arena, struct channel_stat, n + 1);
	for (uint32_t c = 0; c < n; c++) {
		v->channel[c].min = real(t);
		want(t, " ");
		v->channel[c].max = real(t);
		want(t, " ");
		v->channel[c].sum = sum(t);
		want_end_of_line(t);
	}
}

static struct value_stat *read_value(struct text_in *t)
{
	struct value_stat *v = ARENA_NEW(t->arena, struct value_stat);

	v->name = name(t);
	want_end_of_line(t);
	want(t, "elements ");
	v->count = natural(t);
	want(t, " ");
	v->nans = natural(t);
	want(t, " ");
	v->infinite = natural(t);
	want_end_of_line(t);
	want(t, "range ");
	v->min = real(t);
	want(t, " ");
	v->max = real(t);
	want_end_of_line(t);
	want(t, "channels ");
	read_channels(t, v);
	want(t, "histogram ");
	read_bins(t, v);
	const char *why = value_stat_check(v);
	if (why)
		bad(t, why);
	return v;
}

static struct digest digest(struct text_in *t)
{
	struct digest d;
	char hex[40];

	word(t, hex, sizeof hex);
	if (!digest_parse(hex, strlen(hex), &d))
		bad(t, "a digest is needed here");
	want_end_of_line(t);
	return d;
}

static void read_seen(struct text_in *t, struct seen *s)
{
	want(t, "seen ");
	uint64_t n = natural(t);
	want_end_of_line(t);
	if (n > SEEN_MOST)
		bad(t, "so many digests of samples are not kept");
	for (; s->n < n; s->n++) {
		s->least[s->n] = digest(t);
		if (s->n && digest_cmp(s->least[s->n - 1], s->least[s->n]) >= 0)
			bad(t, "digests of samples are not in order");
	}
}

static void read_end(struct text_in *t, const struct statistics *s, const unsigned char *begin)
{
	want(t, "end ");
	if (natural(t) != s->values.n)
		bad(t, "values are missing");
	if (t->version > 1) {
		want(t, " ");
		struct digest here = digest_bytes(begin, (size_t)(t->p - begin));
		if (!digest_eq(digest(t), here))
			bad(t, "bytes were altered: they have another digest than the last line says");
	} else {
		want_end_of_line(t);
		warn("%s: statistics of version 1, in which altered bytes are not found; ge-calibrate writes version 2", t->path);
	}
	if (t->p != t->end)
		bad(t, "something follows the end");
}

void statistics_read(struct statistics *s, const char *path)
{
	struct mapped m;

	mapped_open(&m, path);
	struct text_in t = {path, m.p, m.p + m.n, 1, 2, &s->arena};
	if (take(&t, "hone-statistics 1\n"))
		t.version = 1;
	else if (!take(&t, "hone-statistics 2\n"))
		bad(&t, "not statistics of ge-calibrate, or of another version");
	t.line++;
	want(&t, "model ");
	s->model = digest(&t);
	if ((s->by_library = take(&t, "library ")))
		s->library = digest(&t);
	want(&t, "samples ");
	s->samples = natural(&t);
	want_end_of_line(&t);
	if (t.version > 1)
		read_seen(&t, &s->seen);
	while (take(&t, "value "))
		vec_push(&s->values, read_value(&t));
	read_end(&t, s, m.p);
	mapped_close(&m);
}
