#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "common/json_read.h"
#include "common/msg.h"
#include "common/outfile.h"
#include "trace.h"

/* What of an event is looked at. */
struct event {
	char name[160], cat[40], phase[4];
	double ts, dur;
	bool timed;
};

static void copy(char *out, size_t size, const struct json_in *j)
{
	strncpy(out, j->text.a, size - 1);
	out[size - 1] = 0;
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
	return !strcmp(e->cat, "kernel") || !strcmp(e->cat, "Kernel") || !strncmp(e->cat, "gpu_mem", 7);
}

/* The kind of an event, SPAN_KINDS: none. Host operators are kept apart: they count where no device is. */
static enum span_kind classify(const struct event *e, bool *device)
{
	static const char *const comm[] = {"nccl", "rccl", "hccl", "oneccl", "allreduce", "all_reduce", "reduce_scatter", "reducescatter", "allgather",
					   "all_gather", "gloo:", "horovod", NULL};
	static const char *const data[] = {"dataloader", "data_loader", NULL};
	static const char *const host[] = {"cpu_op", "operator", "Operator", NULL};
	*device = on_device(e);
	if (!strncmp(e->name, "ProfilerStep", 12))
		return *device || !strcmp(e->cat, "gpu_user_annotation") ? SPAN_KINDS : SPAN_STEP;
	if (*device)
		return contains(e->name, comm) ? SPAN_COMM : SPAN_COMPUTE;
	if (!strcmp(e->cat, "gpu_user_annotation"))
		return SPAN_KINDS;
	if (contains(e->name, data))
		return SPAN_DATA;
	if (!strncmp(e->name, "c10d::", 6)) /* the call, not the communication */
		return SPAN_KINDS;
	if (contains(e->name, comm))
		return SPAN_COMM;
	/* PyTorch's profiler without Kineto writes no categories, and nothing but operators. */
	return !e->cat[0] || contains(e->cat, host) ? SPAN_COMPUTE : SPAN_KINDS;
}

static void keep(struct trace *t, const struct event *e)
{
	bool device;
	enum span_kind k = classify(e, &device);
	if (strcmp(e->phase, "X") || !e->timed || e->dur < 0 || k == SPAN_KINDS)
		return;
	if (device && !t->device) { /* what the host said of compute and communication is no longer wanted */
		t->device = true;
		t->span[SPAN_COMPUTE].n = t->span[SPAN_COMM].n = 0;
	}
	if (t->device && !device && (k == SPAN_COMPUTE || k == SPAN_COMM))
		return;
	vec_push(&t->span[k], (struct span){e->ts, e->ts + e->dur, arena_str(&t->arena, e->name)});
}

static bool read_events(struct trace *t, struct json_in *j)
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
	while (json_next(j) != JSON_END) /* the rest has to be JSON too: a file cut short would mislead */
		;
	return true;
}

static int by_from(const void *x, const void *y)
{
	const struct span *a = x, *b = y;
	return a->from != b->from ? (a->from < b->from ? -1 : 1) : a->to < b->to ? -1 : a->to > b->to;
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

void trace_read(struct trace *t, const char *path)
{
	struct mapped m;
	struct json_in j;
	char *heap = NULL;
	const char *name = path && strcmp(path, "-") ? path : "standard input";
	*t = (struct trace){0};
	mapped_open(&m, path);
	const char *text = (const char *)m.p;
	size_t n = m.n;
	if (n > 2 && m.p[0] == 0x1f && m.p[1] == 0x8b)
		text = heap = unpacked(name, &m, &n);
	json_open(&j, name, text, n);
	if (!read_events(t, &j))
		die(EX_BADDATA, "%s: no trace: neither a list of events nor an object with traceEvents", name);
	json_close(&j);
	free(heap);
	mapped_close(&m);
	for (int k = 0; k < SPAN_KINDS; k++)
		if (t->span[k].n)
			qsort(t->span[k].a, t->span[k].n, sizeof *t->span[k].a, by_from);
	if (!t->span[SPAN_COMPUTE].n)
		die(EX_BADDATA, "%s: no operator and no kernel in it; is it a trace of training?", name);
}

void trace_free(struct trace *t)
{
	for (int k = 0; k < SPAN_KINDS; k++)
		vec_free(&t->span[k]);
	arena_release(&t->arena);
}
