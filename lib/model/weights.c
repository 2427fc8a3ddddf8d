/* The weights of a model: which bytes, each once, at which offset. */
#include <stdlib.h>
#include <string.h>
#include "model/weights.h"
#include "model/control.h"
#include "common/msg.h"
#include "common/outfile.h"
#include "graph/pass.h"

/* The buffer of constant `number` of a kernel; 0: no stage reads it any more. */
static buf_id const_buf(struct loop_prog *p, int number)
{
	for (buf_id b = 1; b < p->bufs.n; b++)
		if (lbuf(p, b)->scope == SCOPE_CONST && lbuf(p, b)->operand == number)
			return b;
	return 0;
}

static int64_t buf_bytes(struct loop_prog *p, buf_id b) { return buf_elems(p, b) * (int64_t)dtype_size(lbuf(p, b)->dtype); }

/* Constant `number` of a call as its kernel wants it; *owned: to be freed. */
static const void *const_data(struct model *M, const struct call *c, int number, void **owned)
{
	struct module *m = M->m;
	struct loop_prog *p = M->kernels.a[c->kernel].prog;
	buf_id b = const_buf(p, number);
	const void *data = tensor_verified(m, val(m, c->cval[number])->tensor);

	*owned = NULL;
	if (!lbuf(p, b)->layout.n)
		return data;
	*owned = xmalloc((size_t)buf_bytes(p, b));
	buf_pack(p, b, data, *owned);
	mapping_forget(data, val(m, c->cval[number])->tensor->nbytes);
	return *owned;
}

/* Of the bytes as they are stored. They are made for this, once. */
static struct digest stored_digest(struct weight *x)
{
	void *owned;

	if (!x->made) {
		x->stored = x->value || x->data ? x->digest : digest_bytes(weight_data(x, &owned), (size_t)x->bytes);
		if (!x->value && !x->data)
			free(owned);
		x->made = true;
	}
	return x->stored;
}

/* Constants in other layouts, or of other shapes, may be the same bytes. */
static bool same_bytes(struct weight *x, struct weight *y)
{
	if (x->bytes != y->bytes || digest_eq(x->digest, y->digest))
		return x->bytes == y->bytes;
	return !digest_eq(x->form, y->form) && digest_eq(stored_digest(x), stored_digest(y));
}

static int64_t room(const struct weight *x) { return (x->bytes + WEIGHTS_ALIGN - 1) / WEIGHTS_ALIGN * WEIGHTS_ALIGN; }

int64_t weights_alone(const struct weights *w, int i)
{
	int64_t bytes = WEIGHTS_HEAD;

	for (size_t k = 0; k < w->a.n; k++)
		if (w->a.a[k].users >> i & 1)
			bytes += room(&w->a.a[k]);
	return bytes;
}

const char *weight_layer(const struct weight *w, struct arena *a)
{
	struct module *m = w->of->m;

	if (w->data)
		return "steps on the slow path";
	return w->value ? sym_str(val(m, w->value)->name) : node_where(m, w->call->node, a);
}

const char *weight_order(const struct weight *w, struct arena *a)
{
	if (w->data || w->value)
		return "row-major order";
	struct loop_prog *p = w->of->kernels.a[w->call->kernel].prog;
	const struct loop_buf *b = lbuf(p, const_buf(p, w->number));
	return arena_printf(a, "order %s", layout_str(&b->layout, b->rank, a));
}

/* Offset of these bytes, with room made for them if they are new. */
static int64_t add(struct weights *w, struct model *M, struct weight x)
{
	x.of = M;
	x.users = 1u << (w->nmodels - 1);
	for (size_t i = 0; i < w->a.n; i++)
		if (same_bytes(&w->a.a[i], &x)) {
			w->a.a[i].users |= x.users;
			return w->a.a[i].offset;
		}
	x.offset = w->bytes;
	w->bytes += room(&x);
	vec_push(&w->a, x);
	return x.offset;
}

int64_t weights_value(struct weights *w, struct model *M, val_id v)
{
	struct tensor *t = val(M->m, v)->tensor;

	return add(w, M, (struct weight){.digest = tensor_digest(M->m, t), .bytes = (int64_t)t->nbytes, .value = v});
}

static struct digest form_digest(const struct loop_buf *b)
{
	struct digest_state *s = digest_new();
	struct arena a = {0};
	const char *layout = layout_str(&b->layout, b->rank, &a);

	digest_add(s, b->shape, sizeof *b->shape * (size_t)b->rank);
	digest_add(s, layout, strlen(layout));
	arena_release(&a);
	return digest_end(s);
}

/* A digest of the bytes of a constant in a layout, without making them: of its row-major bytes and the form. */
static struct digest packed_digest(struct module *m, val_id v, struct digest form)
{
	struct digest both[2] = {tensor_digest(m, val(m, v)->tensor), form};

	return digest_bytes(both, sizeof both);
}

static int64_t add_const(struct weights *w, struct model *M, const struct call *c, int number)
{
	struct loop_prog *p = M->kernels.a[c->kernel].prog;
	buf_id b = const_buf(p, number);

	if (!b)
		return -1;
	if (!lbuf(p, b)->layout.n)
		return weights_value(w, M, c->cval[number]);
	struct digest form = form_digest(lbuf(p, b));
	return add(w, M,
		   (struct weight){
			   .digest = packed_digest(M->m, c->cval[number], form),
			   .form = form,
			   .bytes = buf_bytes(p, b),
			   .call = c,
			   .number = number,
		   });
}

/* Where the constants of a kernel's call are. */
static int64_t *add_consts(struct weights *w, struct model *M, const struct call *c)
{
	int64_t *at = xcalloc((size_t)c->nconst + 1, sizeof *at);

	for (int i = 0; i < c->nconst; i++)
		at[i] = add_const(w, M, c, i);
	return at;
}

bool weights_for_otherwise(struct module *m, val_id v) { return v && val(m, v)->kind == VAL_CONST && dtype_is_int(val(m, v)->type.dtype); }

static void add_call(struct weights *w, struct model *M, uint32_t c)
{
	const struct call *x = &M->calls.a[c];
	const struct node *n = node(M->m, x->node);

	for (uint32_t i = 0; x->alone && i < node(M->m, x->alone)->nin; i++)
		if (call_operand(M, x, i) && val(M->m, call_operand(M, x, i))->kind == VAL_CONST &&
		    val(M->m, call_operand(M, x, i))->type.dtype != DT_STR)
			weights_value(w, M, call_operand(M, x, i));
	for (uint32_t i = 0; x->otherwise && i < node(M->m, x->otherwise->alone)->nin; i++)
		if (weights_for_otherwise(M->m, call_operand(M, x->otherwise, i)))
			weights_value(w, M, call_operand(M, x->otherwise, i));
	w->of_call[c] = add_consts(w, M, x);
	w->of_version[c] = x->version ? xcalloc(call_versions(x), sizeof **w->of_version) : NULL;
	size_t number = 0;
	for (const struct call *v = x->version; v; v = v->version)
		w->of_version[c][number++] = add_consts(w, M, v);
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && val(M->m, n->in[i])->kind != VAL_CONST && value_home(M, n->in[i]).kind == HOME_CONST)
			weights_value(w, M, M->root[n->in[i]]);
}

static void add_opaque(struct weights *w, struct model *M)
{
	size_t n;
	char *data = model_opaque_stream(M, &n);

	w->opaque_bytes = (int64_t)n;
	w->opaque = add(w, M, (struct weight){.digest = digest_bytes(data, n), .bytes = (int64_t)n, .data = data});
}

static struct digest digest_of_all(const struct weights *w)
{
	struct digest_state *s = digest_new();

	for (size_t i = 0; i < w->a.n; i++) {
		char hex[33];
		digest_hex(w->a.a[i].digest, hex);
		digest_add(s, hex, 32);
		digest_add(s, &w->a.a[i].bytes, sizeof w->a.a[i].bytes);
	}
	return digest_end(s);
}

/* The outputs of a section that are constants. */
static void add_outputs(struct weights *w, struct model *M, const struct section *s)
{
	const struct graph *g = graph(M->m, s->graph);

	for (size_t k = 0; k < g->out.n; k++)
		if (value_home(M, g->out.a[k]).kind == HOME_CONST)
			weights_value(w, M, M->root[g->out.a[k]]);
}

void weights_lay_out(struct weights *w, struct model *M)
{
	const struct graph *g = graph(M->m, M->m->main);

	w->bytes = w->bytes ? w->bytes : WEIGHTS_HEAD;
	w->opaque = w->opaque_bytes = 0;
	w->nmodels++;
	w->of_call = xcalloc(M->calls.n + 1, sizeof *w->of_call);
	w->of_version = xcalloc(M->calls.n + 1, sizeof *w->of_version);
	for (uint32_t c = 0; c < M->calls.n; c++)
		add_call(w, M, c);
	for (size_t i = 0; i < g->in.n; i++)
		if (val(M->m, g->in.a[i])->tensor)
			weights_value(w, M, g->in.a[i]);
	for (size_t s = 0; s < M->sections.n; s++)
		add_outputs(w, M, &M->sections.a[s]);
	if (M->nopaque)
		add_opaque(w, M);
	w->digest = digest_of_all(w);
}

const void *weight_data(const struct weight *w, void **owned)
{
	struct model *M = w->of;

	*owned = NULL;
	if (w->data)
		return w->data;
	if (w->value)
		return tensor_verified(M->m, val(M->m, w->value)->tensor);
	return const_data(M, w->call, w->number, owned);
}
