#include "form.h"
#include <inttypes.h>
#include <string.h>
#include "loop/interp.h"
#include "loop/prim.h"
#include "search/predict.h"

/* Elements of a group of four bytes that lie side by side, as instructions want them, are one word. */
static void as_words(struct loop_buf *x)
{
	struct layout *l = &x->layout;
	struct layout_part *last = l->n ? &l->part[l->n - 1] : NULL;
	enum dtype word = DT_I32;

	if (!last || last->div != 1 || last->mod < 2 || (size_t)last->mod * dtype_size(x->dtype) != dtype_size(word))
		return;
	for (int i = 0; i < l->n - 1; i++)
		if (l->part[i].axis == last->axis && l->part[i].div == last->mod && !l->part[i].mod &&
		    x->shape[last->axis] % last->mod == 0) {
			x->shape[last->axis] /= last->mod;
			x->dtype = word;
			l->part[i].div = 1;
			l->n--;
			return;
		}
}

/* Constants are in the order of the kernel's; those that the lowering computes follow from the others and their name. */
static const char *weights_text(const struct lowered *l, size_t nvalues, int64_t *bytes, struct arena *a)
{
	struct loop_prog *p = l->prog;
	const char *s = "";

	*bytes = 0;
	for (buf_id b = 1; b < p->bufs.n; b++) {
		struct loop_buf x = *lbuf(p, b);
		int64_t size = x.scope == SCOPE_CONST ? buf_elems(p, b) * (int64_t)dtype_size(x.dtype) : 0;
		if (size < WEIGHTS_MIN || x.operand < 0 || x.operand >= l->nconst)
			continue;
		val_id v = l->cval[x.operand];
		*bytes += size;
		as_words(&x);
		s = arena_printf(a, "%s%" PRIu32 " %s %s", s, v < nvalues ? v : 0, v < nvalues ? "" : sym_str(x.name), dtype_name(x.dtype));
		for (int i = 0; i < x.rank; i++)
			s = arena_printf(a, "%s%s%" PRId64, s, i ? "x" : " ", x.shape[i]);
		s = arena_printf(a, "%s %s\n", s, x.layout.n ? layout_str(&x.layout, x.rank, a) : "-");
	}
	return s;
}

/* The node scheduled with these decisions. algo NULL: the one that the lowering thinks best. */
static struct form scheduled(struct module *m, node_id n, const struct target *t, const char *algo, const struct samples *want,
			     struct arena *a)
{
	size_t nvalues = m->values.n;
	struct form f = {0};
	struct scheduled s = group_schedule(m, n, t, algo, want, &f.got);

	if (!s.low.prog)
		return f;
	f.algo = arena_str(a, s.low.prog->algo);
	f.trace = trace_stamp(s.trace, s.stages, a);
	samples_keep(&f.got, a);
	f.text = weights_text(&s.low, nvalues, &f.bytes, a);
	f.cost = s.seconds;
	if (loop_legalize(s.low.prog) || loop_verify(s.low.prog))
		f.trace = NULL;
	prog_free(s.low.prog);
	return f;
}

struct form form_own(struct module *m, node_id n, const struct target *t, struct arena *a) { return scheduled(m, n, t, NULL, NULL, a); }

/* Without sample i. */
static struct samples without(const struct samples *x, size_t i, struct arena *a)
{
	struct samples y = {.a = ARENA_ARRAY(a, struct sample, x->n + 1)};

	for (size_t k = 0; k < x->n; k++)
		if (k != i)
			y.a[y.n++] = x->a[k];
	return y;
}

/* The node scheduled by one algorithm so that it reads weights as `like` does; without a trace: it cannot. */
static struct form form_by(struct module *m, node_id n, const struct target *t, const char *algo, const struct form *like, struct arena *a)
{
	struct samples want = like->got;
	struct form best = scheduled(m, n, t, algo, &want, a);

	if (!best.trace || strcmp(best.text, like->text))
		return (struct form){0};
	for (size_t i = 0; i < want.n; i++) { /* what the form does not need is decided anew */
		struct samples fewer = without(&want, i, a);
		struct form f = scheduled(m, n, t, algo, &fewer, a);
		if (!f.trace || strcmp(f.text, like->text) || f.cost > best.cost)
			continue;
		best = f;
		want = fewer;
		i--;
	}
	return best;
}

/* The algorithm that the lowering thinks best has it, if it reads weights so. */
struct form form_like(struct module *m, node_id n, const struct target *t, const struct form *like, const struct form *own, struct arena *a)
{
	if (own->trace && !strcmp(own->text, like->text))
		return *own;
	struct form f = form_by(m, n, t, own->algo, like, a);
	return f.trace || !strcmp(own->algo, like->algo) ? f : form_by(m, n, t, like->algo, like, a);
}
