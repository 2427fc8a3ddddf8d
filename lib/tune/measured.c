/* Measurements as fields of records. */
#include "tune/measured.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/textfile.h"

static const char *samples_text(const struct measurement *m, struct arena *a)
{
	char *text;
	FILE *f = textfile_open(&text, NULL);

	for (size_t i = 0; i < m->npairs; i++)
		fprintf(f, "%s%llu/%llu", i ? " " : "", (unsigned long long)m->pair[i].candidate, (unsigned long long)m->pair[i].base);
	textfile_close(f);
	const char *copy = arena_str(a, text);
	free(text);
	return copy;
}

void measurement_put(struct kb_record *r, const struct measurement *m, struct arena *a)
{
	kb_set_field(r, "verdict", verdict_name(m->verdict), a);
	if (m->why && *m->why)
		kb_set_field(r, "why", m->why, a);
	if (!verdict_timed(m->verdict))
		return;
	kb_set_field(r, "samples", samples_text(m, a), a);
	kb_set_field(r, "ratio", arena_printf(a, "%.6g", m->ratio), a);
	kb_set_field(r, "lo", arena_printf(a, "%.6g", m->lo), a);
	kb_set_field(r, "hi", arena_printf(a, "%.6g", m->hi), a);
}

void measurement_samples(const char *text, struct measurement *m, struct arena *a)
{
	size_t max = 1;

	for (const char *q = text ? text : ""; (q = strchr(q, ' ')); q++)
		max++;
	m->pair = ARENA_ARRAY(a, struct sample_pair, max);
	m->npairs = 0;
	for (unsigned long long c, b; text && m->npairs < max && sscanf(text, "%llu/%llu", &c, &b) == 2;) {
		m->pair[m->npairs++] = (struct sample_pair){c, b};
		text = strchr(text, ' ');
		text += text != NULL;
	}
}
