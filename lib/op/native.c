/* The evaluator's side of lib/native. */
#include "op/native.h"
#include "common/digest.h"
#include "common/msg.h"
#include "op/regex.h"
#include "op/rules.h"
#include "op/strings.h"

#define SAME(id, ...) _Static_assert((int)NATIVE_##id == (int)DT_##id, "the numbers of types");
DTYPES(SAME, SAME)
#undef SAME
_Static_assert(sizeof(struct native_string) == sizeof(struct text) && offsetof(struct native_string, n) == offsetof(struct text, n),
	       "strings");
_Static_assert((int)NATIVE_RANK_MAX == (int)RANK_MAX, "axes");

const struct native_row *node_native(const struct node *n)
{
	static const struct native_row own = {.op = "Extern"};
	const struct op *row = op_row(n->op);

	if (n->op == OP_Extern)
		return &own;
	return row && row->eval && (n->op != OP_RegexFullMatch || match_fits(n)) ? native_find(op_name(n->op)) : NULL;
}

const char *native_function_name(struct module *m, const struct node *n)
{
	return n->op == OP_Extern ? attr_s(n, "function") : arena_printf(&m->arena, "native_%s", op_name(n->op));
}

const char *native_demand(const struct node *n) { return demands[n->op].operands; }

bool native_in_place(const struct node *n)
{
	return node_native(n) && (n->op == OP_TensorScatter || n->op == OP_ScatterND || n->op == OP_ScatterElements);
}

bool native_of_nothing(const struct node *n) { return op_is(n->op, OP_RECURRENT); }

bool native_shares_out(const struct node *n) { return n->op == OP_Attention; }

/* Keys and values, as caches keep them, and caches that change; shapes are the same in any order. */
bool native_takes_first(const struct node *n, uint32_t i)
{
	return n->op == OP_Shape || n->op == OP_Size || (n->op == OP_Attention && (i == 1 || i == 2 || i == 7 || i == 8)) ||
	       (n->op == OP_TensorScatter && i == 0);
}

int node_puts_rows(const struct node *n, int rank) { return n->op == OP_TensorScatter ? native_axis(attr_i(n, "axis"), rank) : -1; }

static void given_attr(struct module *m, const struct attr *a, struct native_attr *x, struct arena *arena)
{
	x->given = true;
	x->n = 1;
	switch ((enum attr_kind)a->kind) {
	case ATTR_INT: x->i = a->u.i; break;
	case ATTR_FLOAT: x->f = a->u.f; break;
	case ATTR_STR: x->s = a->u.s, x->n = (int)a->n; break;
	case ATTR_INTS: x->ints = a->u.ints; break;
	case ATTR_FLOATS: x->floats = a->u.floats; break;
	case ATTR_TENSOR: {
		struct native_tensor *t = ARENA_NEW(arena, struct native_tensor);
		const struct tensor *v = a->u.tensor;
		*t = (struct native_tensor){(int)v->dtype, v->rank, v->dims, (void *)tensor_data(m, a->u.tensor)};
		x->tensor = t;
		break;
	}
	case ATTR_STRS: {
		const char **s = ARENA_ARRAY(arena, const char *, a->n + 1);
		for (uint32_t i = 0; i < a->n; i++)
			s[i] = sym_str(a->u.strs[i]);
		x->strs = s;
		break;
	}
	default: break;
	}
	if (a->kind == ATTR_INTS || a->kind == ATTR_FLOATS || a->kind == ATTR_STRS)
		x->n = (int)a->n;
}

static void default_attr(struct op_attr *d, struct native_attr *x, struct arena *arena)
{
	int64_t *ints;
	float *floats;
	int n = 0;

	x->n = 1;
	switch (d->kind) {
	case 'i': x->i = op_attr_int(d); break;
	case 'f': x->f = (float)op_attr_float(d); break;
	case 's': x->s = arena_printf(arena, "%.*s", (int)d->ndef, d->def), x->n = (int)d->ndef; break;
	case 'I':
		x->ints = ints = ARENA_ARRAY(arena, int64_t, d->ndef);
		for (; d->ndef; op_attr_step(d))
			ints[n++] = op_attr_int(d);
		x->n = n;
		break;
	case 'F':
		x->floats = floats = ARENA_ARRAY(arena, float, d->ndef);
		for (; d->ndef; op_attr_step(d))
			floats[n++] = (float)op_attr_float(d);
		x->n = n;
		break;
	}
}

static struct native_attr table_attr(struct arena *a, const char *name, int rank, int64_t rows, int64_t columns, int32_t *v)
{
	struct native_tensor *t = ARENA_NEW(a, struct native_tensor);

	*t = (struct native_tensor){NATIVE_I32, rank, arena_copy(a, (int64_t[]){rows, columns}, 2 * sizeof(int64_t)), v};
	return (struct native_attr){.name = name, .given = true, .n = 1, .tensor = t};
}

/* RegexFullMatch: the automaton of its pattern, in place of the pattern. */
static int match_attrs(const struct node *n, struct arena *a, struct native_attr **attr)
{
	struct regex_table t;

	if (!match_table(n, a, &t))
		return 0;
	*attr = ARENA_ARRAY(a, struct native_attr, 2);
	(*attr)[0] = table_attr(a, "first", 1, t.classes, 0, t.first);
	(*attr)[1] = table_attr(a, "next", 2, t.states, t.classes + 1, t.next);
	return 2;
}

/* Extern: what the file gave the operator. */
static int extern_attrs(struct module *m, const struct node *n, struct arena *a, struct native_attr **attr)
{
	int count = 0;

	*attr = ARENA_ARRAY(a, struct native_attr, n->nattr);
	for (uint32_t i = 0; i < n->nattr; i++) {
		const char *name = sym_str(n->attr[i].name);
		if (op_attr_kind(n->op, name))
			continue;
		(*attr)[count].name = name;
		given_attr(m, &n->attr[i], &(*attr)[count++], a);
	}
	return count;
}

int native_attrs(struct module *m, const struct node *n, struct arena *a, struct native_attr **attr)
{
	const char *p = op_info(n->op)->attrs;
	struct op_attr d;
	int count = 0;

	if (n->op == OP_RegexFullMatch)
		return match_attrs(n, a, attr);
	if (n->op == OP_Extern)
		return extern_attrs(m, n, a, attr);
	*attr = ARENA_ARRAY(a, struct native_attr, strlen(p) / 3 + 1);
	while (op_attr_next(&p, &d)) {
		struct native_attr *x = *attr + count;
		const char *name = arena_printf(a, "%.*s", (int)d.len, d.name);
		const struct attr *given = attr_find(n, name);
		*x = (struct native_attr){.name = name};
		if (given)
			given_attr(m, given, x, a);
		else if (d.def)
			default_attr(&d, x, a);
		count += given || d.def;
	}
	return count;
}

uint64_t native_step(struct module *m, const struct node *n)
{
	const char *name = n->nout && n->out[0] ? sym_str(val(m, n->out[0])->name) : "";

	return hash64(name, strlen(name), 0);
}

bool native_takes_texts(const struct node *n)
{
	switch (n->op) {
	case OP_Compress:
	case OP_Concat:
	case OP_Equal:
	case OP_Expand:
	case OP_Find:
	case OP_Flatten:
	case OP_Gather:
	case OP_GatherElements:
	case OP_GatherND:
	case OP_Identity:
	case OP_MurmurHash3:
	case OP_RegexFullMatch:
	case OP_Reshape:
	case OP_Shape:
	case OP_Size:
	case OP_Slice:
	case OP_Split:
	case OP_Squeeze:
	case OP_StringConcat:
	case OP_StringNormalizer:
	case OP_StringSplit:
	case OP_Tile:
	case OP_TfIdfVectorizer:
	case OP_Tokenize:
	case OP_Transpose:
	case OP_Unsqueeze:
	case OP_Where: return true;
	default: return false;
	}
}

/* Strings are an array of the evaluator's while the function runs (put_texts). */
static struct native_string *texts(struct native *n, int i, int rank, const int64_t *dims, size_t bytes)
{
	struct eval *e = n->ctx;
	struct native_string *v = eval_scratch(e, sizeof *v * (size_t)(native_count_of(rank, dims) + 1) + bytes);

	if (i < n->nout)
		n->out[i] = (struct native_tensor){NATIVE_STR, rank, arena_copy(e->tmp, dims, sizeof *dims * (size_t)rank), v};
	return v;
}

static void put_texts(struct native *n)
{
	for (int i = 0; i < n->nout; i++)
		if (n->out[i].type == NATIVE_STR && n->out[i].data)
			eval_texts(n->ctx, i, n->out[i].rank, n->out[i].dims, n->out[i].data);
}

static void *room(struct native *n, int i, int type, int rank, const int64_t *dims)
{
	if (type == NATIVE_STR)
		return texts(n, i, rank, dims, 0);
	struct tensor *t = eval_out_raw(n->ctx, i, (enum dtype)type, rank, dims);

	if (i < n->nout)
		n->out[i] = (struct native_tensor){type, rank, t->dims, tensor_bytes(t)};
	return tensor_bytes(t);
}

static const char *share(struct native *n, int i, int rank, const int64_t *dims)
{
	eval_view(n->ctx, i, 0, rank, dims);
	return NULL;
}

static void *scratch(struct native *n, size_t bytes)
{
	enum { ALIGN = 64 };
	char *p = eval_scratch(n->ctx, bytes + ALIGN);

	return p + (ALIGN - (uintptr_t)p % ALIGN) % ALIGN;
}

/* Nothing is kept from call to call. */
static void *memo(struct native *n, size_t bytes)
{
	void *p = scratch(n, bytes);

	return memset(p, 0, bytes);
}

void native_memory_of(struct native *n, struct eval *e)
{
	n->room = room;
	n->texts = texts;
	n->scratch = scratch;
	n->memo = memo;
	n->ctx = e;
}

const char *eval_native(struct eval *e)
{
	struct native_tensor *in = eval_scratch(e, sizeof *in * (e->n->nin + 1)), *out = eval_scratch(e, sizeof *out * (e->n->nout + 1));
	struct native n = {.in = in,
			   .nin = (int)e->n->nin,
			   .out = out,
			   .nout = (int)e->n->nout,
			   .room = room,
			   .texts = texts,
			   .share = share,
			   .scratch = scratch,
			   .memo = memo,
			   .ctx = e};
	struct native_attr *attr;

	for (uint32_t i = 0; i < e->n->nin; i++) {
		const struct tensor *t = e->in[i];
		bool words = t && t->dtype == DT_STR && t->kind == KIND_TENSOR && !op_is(e->n->op, OP_VIEW);
		if (t && !dtype_size(t->dtype) && !native_takes_texts(e->n))
			return native_no_type();
		in[i] = t ? (struct native_tensor){(int)t->dtype, t->rank, t->dims, words ? texts_of(e->tmp, t) : (void *)t->data}
			  : (struct native_tensor){0};
	}
	for (uint32_t k = 0; k < e->n->nout; k++)
		out[k] = (struct native_tensor){.type = e->n->out[k] ? (int)DT_COUNT : NATIVE_NONE};
	n.nattr = native_attrs(e->m, e->n, e->tmp, &attr);
	n.attr = attr;
	n.step = native_step(e->m, e->n);
	const struct native_row *f = native_find(op_name(e->n->op));
	if (!f)
		BUG("%s: no function in lib/native", op_name(e->n->op));
	const char *why = f->run(&n);
	if (!why)
		put_texts(&n);
	return why == n.why ? eval_why(e, "%s", why) : why;
}
