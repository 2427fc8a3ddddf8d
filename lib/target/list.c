/* Lists of targets. */
#include "target/list.h"
#include <string.h>
#include "common/arena.h"
#include "common/intern.h"
#include "common/msg.h"
#include "target/backend.h"

const struct backend *targets_kind(const struct target_list *l)
{
	for (int i = 0; i < l->n; i++)
		if (!backend_of(&l->a[i].t)->anywhere)
			return backend_of(&l->a[i].t);
	return l->n ? backend_of(&l->a[0].t) : backend_here();
}

/* Code for any CPU is made by this machine's compiler: it goes with this machine's kind alone. */
static bool goes_with(const struct target_list *l, const struct target *t)
{
	const struct backend *of = backend_of(t), *kind = targets_kind(l);

	if (!l->n || of == kind)
		return true;
	return (of->anywhere && kind == backend_here()) || (kind->anywhere && of == backend_here());
}

static bool same_target(const struct named_target *x, const struct named_target *y)
{
	sym row = intern(target_row(&x->t));

	return !strcmp(x->name, y->name) || !strcmp(sym_str(row), target_row(&y->t));
}

static void add(struct target_list *l, const char *name)
{
	struct named_target x = {.name = name};

	if (!target_find(name, &x.t))
		die(EX_BADUSE, "--target=%s: %s", name, target_why_not(name));
	if (!strcmp(name, "native"))
		x.name = sym_str(intern(target_row(&x.t)));
	for (int i = 0; i < l->n; i++)
		if (same_target(&l->a[i], &x))
			die(EX_BADUSE, "--target=%s: is among the targets already", name);
	if (!goes_with(l, &x.t))
		die(EX_BADUSE, "--target=%s: a library is for one kind of CPU, and %s is for another (%s)", name, l->a[0].name,
		    targets_kind(l)->name);
	if (l->n == TARGETS_MAX)
		die(EX_BADUSE, "--target=%s: a library has code for at most %d targets", name, TARGETS_MAX);
	l->a[l->n++] = x;
}

/* Commas divide names; in a row they divide its features. */
void targets_add(struct target_list *l, const char *arg)
{
	if (strchr(arg, '=') || !*arg) {
		add(l, arg);
		return;
	}
	for (const char *s = arg, *end; s; s = *end ? end + 1 : NULL) {
		end = s + strcspn(s, ",");
		add(l, sym_str(intern_printf("%.*s", (int)(end - s), s)));
	}
}

/* Does x come before y, which was given after it? */
static bool is_first(const struct target *x, const struct target *y)
{
	int more = __builtin_popcount(x->features) - __builtin_popcount(y->features);

	return x->vector_bytes != y->vector_bytes ? x->vector_bytes > y->vector_bytes : more >= 0;
}

void targets_rank(const struct target_list *l, int *order)
{
	for (int i = 0; i < l->n; i++) {
		int k = i;
		for (; k > 0 && !is_first(&l->a[order[k - 1]].t, &l->a[i].t); k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
}
