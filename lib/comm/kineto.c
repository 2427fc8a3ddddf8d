#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "common/json_read.h"
#include "common/msg.h"
#include "common/outfile.h"
#include "comm/kineto.h"

/* The parts of an event that are used. */
struct event {
	char name[160], cat[40], phase[4], collective[40];
	double ts, dur, correlation, device;
	bool timed;
};

static void copy(char *out, size_t size, const struct json_in *j)
{
	strncpy(out, j->text.a, size - 1);
	out[size - 1] = 0;
}

static void read_args(struct json_in *j, struct event *e)
{
	for (enum json_token t; (t = json_next(j)) == JSON_KEY;) {
		char key[20];
		copy(key, sizeof key, j);
		t = json_next(j);
		if (t == JSON_NUMBER && !strcmp(key, "correlation"))
			e->correlation = j->number;
		else if (t == JSON_NUMBER && !strcmp(key, "device"))
			e->device = j->number;
		else if (t == JSON_STRING && !strcmp(key, "Collective name"))
			copy(e->collective, sizeof e->collective, j);
		else
			json_skip(j, t);
	}
}

static struct event read_event(struct json_in *j)
{
	struct event e = {0};
	for (enum json_token t; (t = json_next(j)) == JSON_KEY;) {
		char key[12];
		copy(key, sizeof key, j);
		t = json_next(j);
		if (t == JSON_STRING && !strcmp(key, "name"))
			copy(e.name, sizeof e.name, j);
		else if (t == JSON_STRING && !strcmp(key, "cat"))
			copy(e.cat, sizeof e.cat, j);
		else if (t == JSON_STRING && !strcmp(key, "ph"))
			copy(e.phase, sizeof e.phase, j);
		else if (t == JSON_NUMBER && !strcmp(key, "ts"))
			e.ts = j->number;
		else if (t == JSON_NUMBER && !strcmp(key, "dur"))
			e.dur = j->number, e.timed = true;
		else if (t == JSON_OBJECT && !strcmp(key, "args"))
			read_args(j, &e);
		else
			json_skip(j, t);
	}
	return e;
}

static bool contains(const char *s, const char *const *words)
{
	for (; *words; words++)
		if (strcasestr(s, *words))
			return true;
	return false;
}

static bool on_device(const struct event *e)
{
	static const char *const cats[] = {"kernel", "Kernel", "Memcpy", "Memset", "gpu_memcpy", "gpu_memset", NULL};
	for (const char *const *c = cats; *c; c++)
		if (!strcmp(e->cat, *c))
			return true;
	return false;
}

/* The kind of an event; SPAN_KINDS: none. *device: it is on a device. Operators of the host count only if there is no device. */
static enum span_kind classify(const struct event *e, bool *device)
{
	static const char *const comm[] = {
		"nccl",          "rccl",      "hccl",       "oneccl", "allreduce", "all_reduce", "reduce_scatter",
		"reducescatter", "allgather", "all_gather", "gloo:",  "horovod",   NULL};
	static const char *const data[] = {"dataloader", "data_loader", NULL};
	static const char *const host[] = {"cpu_op", "operator", "Operator", NULL};
	*device = on_device(e);
	if (!strncmp(e->name, "ProfilerStep", 12))
		return *device || !strcmp(e->cat, "gpu_user_annotation") ? SPAN_KINDS : SPAN_STEP;
	if (*device && strstr(e->name, "HtoD"))
		return SPAN_DATA;
	if (*device)
		return contains(e->name, comm) || e->collective[0] ? SPAN_COMM : SPAN_COMPUTE;
	/* PyTorch's profiler without Kineto writes no categories, and nothing but operators. Python's functions are there too if stacks
	 * were recorded; some have such names and last as long as a thread. */
	bool operator= !e->cat[0] || contains(e->cat, host);
	if (!operator&& strcmp(e->cat, "user_annotation"))
		return SPAN_KINDS;
	if (contains(e->name, data))
		return SPAN_DATA;
	if (!strncmp(e->name, "c10d::", 6)) /* the call of the host, not the communication itself */
		return SPAN_KINDS;
	if (contains(e->name, comm))
		return SPAN_COMM;
	return operator? SPAN_COMPUTE : SPAN_KINDS;
}

/* Communication that may be of gradients. A kernel whose name does not tell (ncclDevKernel_Generic) may be. */
static bool reduces(const struct event *e)
{
	static const char *const others[] = {"gather", "broadcast", "scatter", "send", "recv", "alltoall", "all_to_all", "barrier", NULL};
	const char *name = e->collective[0] ? e->collective : e->name;
	return strcasestr(name, "reduce") || !contains(name, others);
}

static void keep(struct kineto *t, const struct event *e)
{
	bool device;
	enum span_kind k = classify(e, &device);
	if (strcmp(e->phase, "X") || !e->timed || e->dur < 0)
		return;
	if (!device && e->correlation > 0 && (strcasestr(e->cat, "runtime") || strcasestr(e->cat, "driver")))
		vec_push(&t->launch, (struct launch){e->correlation, e->ts});
	if (k == SPAN_KINDS)
		return;
	if (device && !t->device) { /* the host's spans of compute and communication are dropped */
		t->device = true;
		t->span[SPAN_COMPUTE].n = t->span[SPAN_COMM].n = 0;
	}
	if (t->device && !device && (k == SPAN_COMPUTE || k == SPAN_COMM))
		return;
	vec_push(&t->span[k], (struct span){.from = e->ts,
					    .to = e->ts + e->dur,
					    .name = arena_str(&t->arena, e->name),
					    .reduces = reduces(e),
					    .id = device ? e->correlation : 0,
					    .device = device ? (int)fmax(0, fmin(e->device, 1e6)) : -1});
}

static bool read_events(struct kineto *t, struct json_in *j)
{
	enum json_token k = json_next(j);
	if (k == JSON_OBJECT) {
		while ((k = json_next(j)) == JSON_KEY) {
			if (!strcmp(j->text.a, "traceEvents")) {
				k = json_next(j);
				break;
			}
			json_skip(j, json_next(j));
		}
	}
	if (k != JSON_ARRAY)
		return false;
	while ((k = json_next(j)) != JSON_ARRAY_END) {
		if (k == JSON_OBJECT) {
			struct event e = read_event(j);
			keep(t, &e);
		} else {
			json_skip(j, k);
		}
	}
	while (json_next(j) != JSON_END) /* the rest must be JSON, too: a truncated file would mislead */
		;
	return true;
}

static int by_from(const void *x, const void *y)
{
	const struct span *a = x, *b = y;
	return a->from != b->from ? (a->from < b->from ? -1 : 1) : a->to < b->to ? -1 : a->to > b->to;
}

static int by_id(const void *x, const void *y)
{
	const struct launch *a = x, *b = y;
	return a->id != b->id ? (a->id < b->id ? -1 : 1) : (a->at > b->at) - (a->at < b->at);
}

/* The time when the host launched it; INFINITY: not in the trace. */
static double launched(const struct kineto *t, double id)
{
	size_t lo = 0, hi = id > 0 ? t->launch.n : 0;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (t->launch.a[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return id > 0 && lo < t->launch.n && t->launch.a[lo].id == id ? t->launch.a[lo].at : INFINITY;
}

/* Keeps the device that communicates most or, if none communicates, computes most. */
static void choose_device(struct kineto *t)
{
	struct use {
		int device;
		size_t calls;
		double us;
	};
	VEC(struct use) use = {0};
	for (int k = 0; k <= SPAN_COMM; k++)
		for (size_t i = 0, u; i < t->span[k].n; i++) {
			const struct span *s = &t->span[k].a[i];
			for (u = 0; u < use.n && use.a[u].device != s->device; u++)
				;
			if (u == use.n)
				vec_push(&use, (struct use){.device = s->device});
			use.a[u].calls += k == SPAN_COMM;
			use.a[u].us += s->to - s->from;
		}
	struct use *best = use.a;
	for (struct use *u = use.a; u < use.a + use.n; u++)
		if (u->calls > best->calls ||
		    (u->calls == best->calls && (u->us > best->us || (u->us == best->us && u->device < best->device))))
			best = u;
	t->devices = (int)use.n;
	t->chosen = use.n ? best->device : 0;
	vec_free(&use);
	for (int k = 0; t->devices > 1 && k < SPAN_KINDS; k++) {
		size_t n = 0;
		for (size_t i = 0; i < t->span[k].n; i++)
			if (t->span[k].a[i].device < 0 || t->span[k].a[i].device == t->chosen)
				t->span[k].a[n++] = t->span[k].a[i];
		t->span[k].n = n;
	}
}

/* Moves the steps to the times when the device took them. Steps that launched nothing are dropped. */
static void steps_on_device(struct kineto *t)
{
	size_t steps = t->span[SPAN_STEP].n, found = 0, n = 0;
	struct span *step = t->span[SPAN_STEP].a;
	if (!steps || !t->launch.n)
		return;
	double *end = xmalloc(steps * sizeof *end), before = -INFINITY;
	for (size_t s = 0; s < steps; s++)
		end[s] = -INFINITY;
	for (int k = 0; k <= SPAN_DATA; k++)
		for (size_t i = 0; i < t->span[k].n; i++) {
			const struct span *x = &t->span[k].a[i];
			double at = x->device < 0 ? INFINITY : launched(t, x->id);
			size_t lo = 0, hi = steps; /* steps [0, lo) begin at or before the launch */
			while (lo < hi) {
				size_t mid = (lo + hi) / 2;
				if (step[mid].from <= at)
					lo = mid + 1;
				else
					hi = mid;
			}
			if (at == INFINITY)
				continue;
			if (!lo)
				before = fmax(before, x->to);
			else if (at < step[lo - 1].to)
				end[lo - 1] = fmax(end[lo - 1], x->to), found++;
		}
	for (size_t s = 0; found && s < steps; s++) {
		double from = n ? step[n - 1].to : fmax(step[s].from, before);
		if (end[s] > from)
			step[n++] = (struct span){.from = from, .to = end[s], .name = step[s].name};
	}
	if (found)
		t->span[SPAN_STEP].n = n;
	free(end);
}

/* gzip, in memory. */
static char *unpacked(const char *path, const struct mapped *m, size_t *n)
{
	z_stream z = {.next_in = (unsigned char *)m->p, .avail_in = (unsigned)m->n};
	VEC(char) out = {0};
	int code = inflateInit2(&z, 15 + 16);
	while (code == Z_OK) {
		vec_reserve(&out, out.n + (1 << 20));
		z.next_out = (unsigned char *)out.a + out.n;
		z.avail_out = (unsigned)(out.cap - out.n > 1u << 30 ? 1u << 30 : out.cap - out.n);
		size_t room = z.avail_out;
		code = inflate(&z, Z_NO_FLUSH);
		out.n += room - z.avail_out;
	}
	if (code != Z_STREAM_END)
		die(EX_BADDATA, "%s:%zu: gzip: %s", path, (size_t)z.total_in, code == Z_BUF_ERROR ? "it stops in the middle" : "damaged");
	inflateEnd(&z);
	*n = out.n;
	return out.a;
}

void kineto_read(struct kineto *t, const char *path)
{
	struct mapped m;
	struct json_in j;
	char *heap = NULL;
	const char *name = path && strcmp(path, "-") ? path : "standard input";
	*t = (struct kineto){0};
	mapped_open(&m, path);
	const char *text = (const char *)m.p;
	size_t n = m.n;
	if (n > 2 && m.p[0] == 0x1f && m.p[1] == 0x8b)
		text = heap = unpacked(name, &m, &n);
	size_t blanks = 0;
	while (blanks < n && strchr(" \t\r\n", text[blanks]) && text[blanks])
		blanks++;
	if (blanks < n && text[blanks] != '{' && text[blanks] != '[')
		die(EX_BADDATA, "%s: no trace: no JSON; PyTorch's profiler writes one (export_chrome_trace)", name);
	json_open(&j, name, text, n);
	if (!read_events(t, &j))
		die(EX_BADDATA, "%s: no trace: neither a list of events nor an object with traceEvents", name);
	json_close(&j);
	free(heap);
	mapped_close(&m);
	for (int k = 0; k < SPAN_KINDS; k++)
		if (t->span[k].n)
			qsort(t->span[k].a, t->span[k].n, sizeof *t->span[k].a, by_from);
	if (t->launch.n)
		qsort(t->launch.a, t->launch.n, sizeof *t->launch.a, by_id);
	if (t->device) {
		choose_device(t);
		steps_on_device(t);
	}
	if (!t->span[SPAN_COMPUTE].n)
		die(EX_BADDATA, "%s: no operator and no kernel in it; is it a trace of training?", name);
}

void kineto_free(struct kineto *t)
{
	for (int k = 0; k < SPAN_KINDS; k++)
		vec_free(&t->span[k]);
	vec_free(&t->launch);
	arena_release(&t->arena);
}
