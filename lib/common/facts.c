#include "common/facts.h"
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "common/json.h"
#include "common/json_read.h"
#include "common/msg.h"
#include "common/outfile.h"

typedef VEC(struct fact) fact_list;

static fact_list told;
static const char *told_path;
static pid_t teller; /* a fork tells nothing */

static void write_value(FILE *f, const struct fact *x)
{
	if (x->text)
		json_str(f, x->text);
	else
		json_num(f, x->number);
}

/* Each name has a list of its values, also where there is one. */
static void write_facts(FILE *f)
{
	const char *sep = "{";

	for (size_t i = 0; i < told.n; i++) {
		const struct fact *x = &told.a[i];
		bool earlier = false;
		for (size_t k = 0; k < i && !earlier; k++)
			earlier = !strcmp(told.a[k].name, x->name);
		if (earlier)
			continue;
		fprintf(f, "%s", sep);
		json_str(f, x->name);
		putc(':', f);
		const char *comma = "[";
		for (size_t k = i; k < told.n; k++)
			if (!strcmp(told.a[k].name, x->name)) {
				fprintf(f, "%s", comma);
				write_value(f, &told.a[k]);
				comma = ",";
			}
		putc(']', f);
		sep = ",\n ";
	}
	fprintf(f, "%s\n", told.n ? "}" : "{}");
}

void facts_end(void)
{
	struct outfile out;
	const char *path = told_path;

	if (!path || getpid() != teller)
		return;
	told_path = NULL;
	outfile_open(&out, path, false);
	write_facts(out.f);
	outfile_close(&out);
}

static void end_by_die(void *arg)
{
	(void)arg;
	facts_end();
}

void facts_begin(const char *path)
{
	told_path = path;
	teller = getpid();
	die_hook(end_by_die, NULL);
}

bool facts_wanted(void) { return told_path != NULL; }

static void tell(struct fact x, bool more)
{
	if (!told_path)
		return;
	for (size_t i = 0; !more && i < told.n; i++)
		if (!strcmp(told.a[i].name, x.name)) {
			told.a[i] = x;
			return;
		}
	vec_push(&told, x);
}

void facts_number(const char *name, double v) { tell((struct fact){name, NULL, v}, false); }
void facts_text(const char *name, const char *text) { tell((struct fact){name, xstrdup(text), 0}, false); }
void facts_add(const char *name, const char *text) { tell((struct fact){name, xstrdup(text), 0}, true); }

/* ---- reading ---- */

static void parse_value(struct json_in *j, enum json_token t, const char *name, fact_list *all)
{
	switch (t) {
	case JSON_OBJECT:
		while ((t = json_next(j)) == JSON_KEY) {
			char *inner = *name ? xprintf("%s.%s", name, j->text.a) : xstrdup(j->text.a);
			parse_value(j, json_next(j), inner, all);
		}
		return;
	case JSON_ARRAY:
		while ((t = json_next(j)) != JSON_ARRAY_END)
			parse_value(j, t, name, all);
		return;
	case JSON_STRING: vec_push(all, (struct fact){name, xstrdup(j->text.a), 0}); return;
	case JSON_NUMBER: vec_push(all, (struct fact){name, NULL, j->number}); return;
	default: vec_push(all, (struct fact){name, NULL, !strcmp(j->text.a, "null") ? NAN : !strcmp(j->text.a, "true")});
	}
}

struct facts facts_parse(const char *path, const char *text, size_t text_size)
{
	struct json_in j;
	fact_list all = {0};

	json_open(&j, path, text, text_size);
	parse_value(&j, json_next(&j), "", &all);
	json_close(&j);
	return (struct facts){all.n, all.a};
}

struct facts facts_read(const char *path)
{
	struct mapped m;

	if (access(path, F_OK))
		return (struct facts){0};
	mapped_open(&m, path);
	struct facts f = facts_parse(path, (const char *)m.p, m.n);
	mapped_close(&m);
	return f;
}

const char *facts_get(const struct facts *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->a[i].text && !strcmp(f->a[i].name, name))
			return f->a[i].text;
	return NULL;
}

double facts_value(const struct facts *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (!f->a[i].text && !strcmp(f->a[i].name, name))
			return f->a[i].number;
	return NAN;
}
