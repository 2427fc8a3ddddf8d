/* What each layer takes longer in float, from timed runs of three libraries: all layers on bytes, every other one, and the others.
 *
 * So each layer is timed as a float between neighbours of bytes, with what turns its operands and results into one and the other. */
#define _GNU_SOURCE
#include <stdnoreturn.h>
#include <string.h>
#include "common/json_read.h"
#include "common/msg.h"
#include "common/outfile.h"
#include "quantize.h"

struct step {
	const char *node;
	double seconds;
};

struct steps {
	const char *path;
	VEC(struct step) step;
};

static noreturn void bad(const char *path) { die(EX_BADDATA, "%s: no times of steps; run-dev --bench --kernels --json writes them", path); }

static void read_step(struct json_in *j, struct steps *s, struct arena *a)
{
	struct step x = {"", -1};

	for (enum json_token t; (t = json_next(j)) == JSON_KEY;) {
		bool node = !strcmp(j->text.a, "node"), seconds = !strcmp(j->text.a, "seconds");
		t = json_next(j);
		if (node && t == JSON_STRING)
			x.node = arena_str(a, j->text.a);
		else if (seconds && t == JSON_NUMBER)
			x.seconds = j->number;
		else
			json_skip(j, t);
	}
	if (!(x.seconds >= 0))
		bad(s->path);
	vec_push(&s->step, x);
}

static void read_steps(struct steps *s, const char *path, struct arena *a)
{
	struct mapped m;
	struct json_in j;
	enum json_token t;

	s->path = path;
	mapped_open(&m, path);
	json_open(&j, path, (const char *)m.p, m.n);
	if (json_next(&j) != JSON_OBJECT)
		bad(path);
	while (json_next(&j) == JSON_KEY) {
		bool steps = !strcmp(j.text.a, "steps");
		t = json_next(&j);
		if (!steps || t != JSON_ARRAY) {
			json_skip(&j, t);
			continue;
		}
		while ((t = json_next(&j)) == JSON_OBJECT)
			read_step(&j, s, a);
		if (t != JSON_ARRAY_END)
			bad(path);
	}
	json_close(&j);
	mapped_close(&m);
	if (!s->step.n)
		bad(path);
}

/* A step of its own that makes bytes of the value, or floats. */
static bool is_cast_of(const char *step, const char *value)
{
	size_t n = strlen(value);

	return n && !strncmp(step, value, n) && (!strcmp(step + n, "_bytes") || !strcmp(step + n, "_read"));
}

static double seconds_of(const struct steps *s, struct module *m, const struct layer *l, size_t *found)
{
	const struct node *n = node(m, l->node);
	double sum = 0;

	for (size_t i = 0; i < s->step.n; i++) {
		const struct step *x = &s->step.a[i];
		bool own = !strcmp(x->node, l->name), cast = false;
		for (uint32_t k = 0; k < n->nin + n->nout && !own; k++) {
			val_id v = k < n->nin ? n->in[k] : n->out[k - n->nin];
			cast |= v && is_cast_of(x->node, sym_str(val(m, v)->name));
		}
		*found += own;
		sum += own || cast ? x->seconds : 0;
	}
	return sum;
}

void times_read(struct plan *p, const char *const file[3])
{
	struct steps of[3] = {0};
	struct module *m = plan_module(p);
	size_t found = 0;

	for (int i = 0; i < 3; i++)
		read_steps(&of[i], file[i], &p->arena);
	for (size_t i = 0; i < p->layers.n; i++) {
		struct layer *l = &p->layers.a[i];
		double bytes = seconds_of(&of[0], m, l, &found), floats = seconds_of(&of[alternates(i, 1) ? 2 : 1], m, l, &found);
		l->microseconds = 1e6 * (floats - bytes);
	}
	if (p->layers.n && !found)
		die(EX_BADDATA, "%s: times of another model; no step has a layer's name", of[0].path);
	p->timed = true;
	for (int i = 0; i < 3; i++)
		vec_free(&of[i].step);
	module_free(m);
}
