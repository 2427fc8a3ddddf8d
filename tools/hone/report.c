/* The result of a build for programs. */
#include <math.h>
#include <string.h>
#include "common/json.h"
#include "common/progress.h"
#include "hone.h"

static void put_text(FILE *f, const char *name, const char *value)
{
	json_str(f, name);
	fputs(": ", f);
	if (value)
		json_str(f, value);
	else
		fputs("null", f);
}

static void put_number(FILE *f, const char *name, double value)
{
	json_str(f, name);
	fputs(": ", f);
	json_num(f, value);
}

static void put_list(FILE *f, const char *name, const struct words *w)
{
	fprintf(f, ",\n \"%s\": [", name);
	for (size_t i = 0; i < w->n; i++) {
		fputs(i ? ", " : "", f);
		json_str(f, w->a[i]);
	}
	fputs("]", f);
}

static void put_stages(const struct hone *h, FILE *f)
{
	fputs(",\n \"stages\": [", f);
	for (size_t i = 0; i < h->lines.n; i++) {
		const struct stage_line *l = &h->lines.a[i];
		fputs(i ? ",\n  {" : "\n  {", f);
		put_text(f, "name", l->name);
		fputs(", ", f);
		put_number(f, "nodes", l->nodes < 0 ? NAN : l->nodes);
		fputs(", ", f);
		put_number(f, "groups", l->groups < 0 ? NAN : l->groups);
		fputs(", ", f);
		put_number(f, "seconds", l->seconds);
		fputs("}", f);
	}
	fputs("]", f);
}

static void put_files(struct hone *h, FILE *f)
{
	static const char *const suffix[] = {"so", "a", "h", "c", "weights"};
	bool any = false;

	fputs(",\n \"files\": [", f);
	for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++) {
		const char *path = text(h, "%s.%s", h->stem, suffix[i]);
		if (!file_bytes(path) || given_is(h, "dry-run"))
			continue;
		fputs(any ? ", {" : "{", f);
		put_text(f, "path", path);
		fputs(", ", f);
		put_number(f, "bytes", file_bytes(path));
		fputs("}", f);
		any = true;
	}
	fputs("]", f);
}

static void put_check(const struct checked *c, FILE *f)
{
	fputs(",\n \"check\": ", f);
	if (!c->said) {
		fputs("null", f);
		return;
	}
	fprintf(f, "{\"equal\": %s, ", c->code == EX_GOOD ? "true" : c->code == EX_DIFFERENT ? "false" : "null");
	put_text(f, "worst", facts_get(&c->facts, "worst"));
	fputs(", ", f);
	put_number(f, "off", facts_value(&c->facts, "off"));
	fputs(", ", f);
	put_number(f, "tolerance", facts_value(&c->facts, "tolerance"));
	fputs(", ", f);
	put_number(f, "runs", facts_value(&c->facts, "runs"));
	fputs(", ", f);
	put_text(f, "said", c->said);
	fputs("}", f);
}

void build_json(struct hone *h, FILE *f)
{
	fputs("{", f);
	put_text(f, "model", h->model);
	fputs(", ", f);
	put_text(f, "stem", h->stem);
	fputs(", ", f);
	put_number(f, "seconds", now_seconds() - h->start);
	put_stages(h, f);
	put_list(f, "gears", &h->gear_notes);
	put_list(f, "plan", &h->plan_notes);
	put_list(f, "join", &h->join_notes);
	put_list(f, "schedule", &h->schedule_notes);
	put_list(f, "remarks", &h->remarks);
	put_files(h, f);
	put_check(&h->check, f);
	fputs(",\n \"coverage\": ", f);
	if (h->coverage.is_known)
		coverage_json(h, f);
	else
		fputs("null", f);
	fputs("}\n", f);
}
