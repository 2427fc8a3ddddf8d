/* Stages and buffers by name. */
#include "loop/loop.h"

static void forget(struct name_index *x)
{
	map_free(&x->first);
	map_free(&x->next);
	x->seen = 0;
}

void prog_names_forget(struct loop_prog *p)
{
	forget(&p->buf_names);
	forget(&p->stage_names);
}

static void see(struct name_index *x, sym name)
{
	if (name && !map_get(&x->first, name))
		map_set(&x->first, name, (uint32_t)x->seen);
	x->seen++;
}

static struct name_index *buf_names(struct loop_prog *p)
{
	struct name_index *x = &p->buf_names;

	while (x->seen < p->bufs.n)
		see(x, p->bufs.a[x->seen].name);
	return x;
}

static struct name_index *stage_names(struct loop_prog *p)
{
	struct name_index *x = &p->stage_names;

	while (x->seen < p->stages.n)
		see(x, p->stages.a[x->seen].gone ? 0 : p->stages.a[x->seen].name);
	return x;
}

stage_id stage_find(struct loop_prog *p, const char *name) { return map_get(&stage_names(p)->first, intern(name)); }

buf_id buf_find(struct loop_prog *p, const char *name) { return map_get(&buf_names(p)->first, intern(name)); }

static sym unused(struct name_index *x, const char *name)
{
	sym s = intern(name), numbered;

	if (!map_get(&x->first, s))
		return s;
	for (uint32_t n = map_get(&x->next, s) ? map_get(&x->next, s) : 2;; n++)
		if (!map_get(&x->first, numbered = intern_printf("%s%u", name, n))) {
			map_set(&x->next, s, n);
			return numbered;
		}
}

sym stage_unused_name(struct loop_prog *p, const char *name) { return unused(stage_names(p), name); }

sym buf_unused_name(struct loop_prog *p, const char *name) { return unused(buf_names(p), name); }
