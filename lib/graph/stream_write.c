/* Modules to streams. What is written depends on what the module says and on nothing else: graphs in
 * the order of module_graph_order, tables in the order in which the graphs mention their entries. */
#include <stdlib.h>
#include <string.h>
#include "common/facts.h"
#include "common/msg.h"
#include "common/outfile.h"
#include "graph/blob.h"
#include "graph/mp.h"
#include "graph/stream.h"
#include "graph/symbols.h"

struct encoder {
	struct module *m;
	bool store; /* put large tensors into the blob store */
	struct mp_out head, consts, graphs;
	VEC(uint32_t) string_of; /* by symbol: its number in the string table, from 1 */
	VEC(sym) strings;
	VEC(const struct type *) types;
	uint32_t *type_slots; /* open addressing: number in types, from 1; 0: free */
	size_t ntype_slots;
	int32_t *ref; /* by value: its number in its graph, or minus its number among the constants */
	int32_t nconsts;
	uint32_t *graph_of;         /* by graph: its number */
	VEC(struct tensor *) large; /* for packing: one of each digest, in order of first mention */
	size_t nrecords;            /* without blobs and end */
	struct arena scratch;
};

static void put_sym(struct encoder *e, struct mp_out *o, sym s)
{
	if (s && (s >= e->string_of.n || !e->string_of.a[s])) {
		while (e->string_of.n <= s)
			vec_push(&e->string_of, 0);
		vec_push(&e->strings, s);
		e->string_of.a[s] = (uint32_t)e->strings.n;
	}
	mp_put_int(o, s ? e->string_of.a[s] : 0);
}

static uint64_t type_hash(const struct type *t)
{
	uint32_t fields[4] = {t->dtype, (uint32_t)t->rank, t->layout, t->other};
	uint64_t h = hash64(fields, sizeof fields, 0);
	return t->rank > 0 ? hash64(t->dims, sizeof *t->dims * (size_t)t->rank, h) : h;
}

static void grow_types(struct encoder *e)
{
	free(e->type_slots);
	e->ntype_slots = e->ntype_slots ? 2 * e->ntype_slots : 256;
	e->type_slots = xcalloc(e->ntype_slots, sizeof *e->type_slots);
	for (uint32_t k = 0; k < e->types.n; k++) {
		size_t i = type_hash(e->types.a[k]) & (e->ntype_slots - 1);
		while (e->type_slots[i])
			i = (i + 1) & (e->ntype_slots - 1);
		e->type_slots[i] = k + 1;
	}
}

/* Number of t in the type table; 0 when nothing is known. */
static void put_type(struct encoder *e, struct mp_out *o, const struct type *t)
{
	if (t->dtype == DT_NONE && t->rank == RANK_UNKNOWN && !t->layout && !t->other) {
		mp_put_int(o, 0);
		return;
	}
	if (2 * (e->types.n + 1) > e->ntype_slots)
		grow_types(e);
	size_t i = type_hash(t) & (e->ntype_slots - 1);
	while (e->type_slots[i] && !type_equal(e->types.a[e->type_slots[i] - 1], t))
		i = (i + 1) & (e->ntype_slots - 1);
	if (!e->type_slots[i]) {
		vec_push(&e->types, t);
		e->type_slots[i] = (uint32_t)e->types.n;
	}
	mp_put_int(o, e->type_slots[i]);
}

/* dtype, dims, and bytes or [digest, length]. */
static void put_tensor(struct encoder *e, struct mp_out *o, struct tensor *t)
{
	const char *name = dtype_name(t->dtype);
	mp_put_str(o, name, strlen(name));
	mp_put_array(o, (size_t)t->rank);
	for (int i = 0; i < t->rank; i++)
		mp_put_int(o, t->dims[i]);
	if (t->nbytes <= STREAM_INLINE) {
		mp_put_bin(o, tensor_data(e->m, t), t->nbytes);
		return;
	}
	mp_put_array(o, 2);
	mp_put_digest(o, tensor_digest(e->m, t));
	mp_put_int(o, (int64_t)t->nbytes);
	vec_push(&e->large, t);
	if (e->store && t->data)
		blob_put_known(t->digest, t->data, t->nbytes);
}

static int32_t const_ref(struct encoder *e, val_id v)
{
	struct value *x = val(e->m, v);
	mp_put_record(&e->consts, 5, "const");
	put_sym(e, &e->consts, x->name);
	put_tensor(e, &e->consts, x->tensor);
	e->nrecords++;
	return e->ref[v] = -++e->nconsts;
}

static void put_ref(struct encoder *e, graph_id g, val_id v)
{
	int32_t ref = e->ref[v];
	const struct value *x = val(e->m, v);
	if (v && !ref && x->kind == VAL_CONST)
		ref = const_ref(e, v);
	if (v && (!ref || (x->kind != VAL_CONST && x->graph != g)))
		BUG("value '%s' is used in graph '%s' before it is made there", sym_str(x->name), sym_str(graph(e->m, g)->name));
	mp_put_int(&e->graphs, ref);
}

static void put_graph_ref(struct encoder *e, graph_id g)
{
	if (!g || !e->graph_of[g])
		BUG("graph '%s' is used before it is written", g ? sym_str(graph(e->m, g)->name) : "");
	mp_put_int(&e->graphs, e->graph_of[g]);
}

static const char attr_letters[] = {
	[ATTR_INT] = 'i',  [ATTR_FLOAT] = 'f',  [ATTR_STR] = 's',   [ATTR_INTS] = 'I',   [ATTR_FLOATS] = 'F',
	[ATTR_STRS] = 'S', [ATTR_TENSOR] = 't', [ATTR_GRAPH] = 'g', [ATTR_GRAPHS] = 'G', [ATTR_TYPE] = 'y',
};

static void put_attr(struct encoder *e, const struct attr *a)
{
	struct mp_out *o = &e->graphs;
	put_sym(e, o, a->name);
	mp_put_str(o, &attr_letters[a->kind], 1);
	if (a->kind == ATTR_INTS || a->kind == ATTR_FLOATS || a->kind == ATTR_STRS || a->kind == ATTR_GRAPHS)
		mp_put_array(o, a->n);
	switch ((enum attr_kind)a->kind) {
	case ATTR_INT: mp_put_int(o, a->u.i); break;
	case ATTR_FLOAT: mp_put_float(o, a->u.f); break;
	case ATTR_STR: mp_put_bin(o, a->u.s, a->n); break;
	case ATTR_INTS:
		for (uint32_t i = 0; i < a->n; i++)
			mp_put_int(o, a->u.ints[i]);
		break;
	case ATTR_FLOATS:
		for (uint32_t i = 0; i < a->n; i++)
			mp_put_float(o, a->u.floats[i]);
		break;
	case ATTR_STRS:
		for (uint32_t i = 0; i < a->n; i++)
			put_sym(e, o, a->u.strs[i]);
		break;
	case ATTR_TENSOR:
		mp_put_array(o, 3);
		put_tensor(e, o, a->u.tensor);
		break;
	case ATTR_GRAPH: put_graph_ref(e, a->u.graph); break;
	case ATTR_GRAPHS:
		for (uint32_t i = 0; i < a->n; i++)
			put_graph_ref(e, a->u.graphs[i]);
		break;
	case ATTR_TYPE: put_type(e, o, a->u.type); break;
	}
}

static sym op_sym(enum opcode op)
{
	static sym names[OP_COUNT];
	if (!names[op])
		names[op] = intern(op_name(op));
	return names[op];
}

static void put_node(struct encoder *e, graph_id g, node_id id, int32_t *count)
{
	struct mp_out *o = &e->graphs;
	const struct node *n = node(e->m, id);
	mp_put_record(o, 7, "node");
	put_sym(e, o, n->op == OP_OTHER ? n->optype : op_sym(n->op));
	put_sym(e, o, n->op == OP_OTHER ? n->domain : intern(op_info(n->op)->domain));
	put_sym(e, o, n->name);
	mp_put_array(o, n->nin);
	for (uint32_t i = 0; i < n->nin; i++)
		put_ref(e, g, n->in[i]);
	mp_put_array(o, 2 * (size_t)n->nout);
	for (uint32_t i = 0; i < n->nout; i++) {
		const struct value *v = val(e->m, n->out[i]);
		put_sym(e, o, n->out[i] ? v->name : 0);
		if (!n->out[i]) {
			mp_put_int(o, 0);
			continue;
		}
		put_type(e, o, &v->type);
		e->ref[n->out[i]] = ++*count;
	}
	mp_put_array(o, 3 * (size_t)n->nattr);
	for (uint32_t i = 0; i < n->nattr; i++)
		put_attr(e, &n->attr[i]);
	e->nrecords++;
}

static void put_graph(struct encoder *e, graph_id id)
{
	struct mp_out *o = &e->graphs;
	const struct graph *g = graph(e->m, id);
	int32_t count = 0;
	mp_put_record(o, 3, "graph");
	put_sym(e, o, g->name);
	mp_put_array(o, 3 * g->in.n);
	for (size_t i = 0; i < g->in.n; i++) {
		const struct value *v = val(e->m, g->in.a[i]);
		put_sym(e, o, v->name);
		put_type(e, o, &v->type);
		if (v->overridable && v->tensor) {
			mp_put_array(o, 3);
			put_tensor(e, o, v->tensor);
		} else {
			mp_put_nil(o);
		}
		e->ref[g->in.a[i]] = ++count;
	}
	for (size_t i = 0; i < g->nodes.n; i++)
		put_node(e, id, g->nodes.a[i], &count);
	mp_put_record(o, 2, "return");
	mp_put_array(o, 2 * g->out.n);
	for (size_t i = 0; i < g->out.n; i++) {
		put_sym(e, o, g->out_name.a[i]);
		put_ref(e, id, g->out.a[i]);
	}
	e->nrecords += 2;
}

/* [name, least, greatest, divisor] of each symbol that a type mentions, sorted by name. */
static void put_symbols(struct encoder *e)
{
	struct mp_out *o = &e->head;
	struct polys *P = e->m->dims;
	struct symbols s = {0};
	for (size_t t = 0; t < e->types.n; t++)
		symbols_mark(&s, e->m, e->types.a[t]);
	symbols_sort(&s, e->m);
	mp_put_record(o, 2, "symbols");
	mp_put_array(o, s.list.n);
	for (size_t i = 0; i < s.list.n; i++) {
		int64_t lo, hi;
		sym name = poly_var_name(P, s.list.a[i]);
		poly_var_range(P, s.list.a[i], &lo, &hi);
		mp_put_array(o, 4);
		mp_put_str(o, sym_str(name), sym_len(name));
		mp_put_int(o, lo);
		mp_put_int(o, hi);
		mp_put_int(o, poly_var_divisor(P, s.list.a[i]));
	}
	symbols_free(&s);
}

/* [dtype, dims or nil, layout, other]. A dimension is an integer, text, or nil. */
static void put_types(struct encoder *e)
{
	struct mp_out *o = &e->head;
	mp_put_record(o, 2, "types");
	mp_put_array(o, e->types.n);
	for (size_t k = 0; k < e->types.n; k++) {
		const struct type *t = e->types.a[k];
		const char *name = dtype_name(t->dtype);
		mp_put_array(o, 4);
		mp_put_str(o, name, strlen(name));
		if (t->rank == RANK_UNKNOWN)
			mp_put_nil(o);
		else
			mp_put_array(o, (size_t)t->rank);
		for (int i = 0; i < t->rank; i++) {
			int64_t c;
			if (t->dims[i] == POLY_UNKNOWN) {
				mp_put_nil(o);
			} else if (poly_is_const(e->m->dims, t->dims[i], &c)) {
				mp_put_int(o, c);
			} else {
				const char *s = poly_str(e->m->dims, t->dims[i], &e->scratch);
				mp_put_str(o, s, strlen(s));
			}
		}
		mp_put_str(o, sym_str(t->layout), sym_len(t->layout));
		mp_put_str(o, sym_str(t->other), sym_len(t->other));
	}
}

static void put_head(struct encoder *e)
{
	struct mp_out *o = &e->head;
	struct module *m = e->m;
	mp_put_record(o, 4, "module");
	mp_put_int(o, m->ir_version);
	mp_put_int(o, m->opset);
	mp_put_array(o, 2 * m->meta.n);
	for (size_t i = 0; i < m->meta.n; i++) {
		mp_put_str(o, sym_str(m->meta.a[i].key), sym_len(m->meta.a[i].key));
		mp_put_str(o, sym_str(m->meta.a[i].value), sym_len(m->meta.a[i].value));
	}
	mp_put_record(o, 2, "strings");
	mp_put_array(o, e->strings.n);
	for (size_t i = 0; i < e->strings.n; i++)
		mp_put_str(o, sym_str(e->strings.a[i]), sym_len(e->strings.a[i]));
	put_symbols(e);
	put_types(e);
	e->nrecords += 4;
}

/* The body: head, consts, graphs, in this order. */
static void encode(struct encoder *e, struct module *m, bool store)
{
	struct graph_list order = {0};
	*e = (struct encoder){.m = m, .store = store};
	if (!m->main)
		BUG("a module without a main graph");
	module_name_values(m);
	symbols_name(m);
	mp_out_init(&e->head);
	mp_out_init(&e->consts);
	mp_out_init(&e->graphs);
	e->ref = xcalloc(m->values.n, sizeof *e->ref);
	e->graph_of = xcalloc(m->graphs.n, sizeof *e->graph_of);
	module_graph_order(m, &order);
	for (size_t i = 0; i < order.n; i++) {
		put_graph(e, order.a[i]);
		e->graph_of[order.a[i]] = (uint32_t)i + 1;
	}
	put_head(e);
	vec_free(&order);
}

static void encoder_free(struct encoder *e)
{
	mp_out_free(&e->head);
	mp_out_free(&e->consts);
	mp_out_free(&e->graphs);
	vec_free(&e->string_of);
	vec_free(&e->strings);
	vec_free(&e->types);
	vec_free(&e->large);
	free(e->type_slots);
	free(e->ref);
	free(e->graph_of);
	arena_release(&e->scratch);
}

static struct digest body_digest(const struct encoder *e)
{
	struct digest_state *s = digest_new();
	digest_add(s, e->head.b.a, e->head.b.n);
	digest_add(s, e->consts.b.a, e->consts.b.n);
	digest_add(s, e->graphs.b.a, e->graphs.b.n);
	return digest_end(s);
}

struct digest module_digest(struct module *m)
{
	struct encoder e;
	encode(&e, m, false);
	struct digest d = body_digest(&e);
	encoder_free(&e);
	return d;
}

/* Where the bytes of one module go, counted and hashed on their way. */
struct sink {
	FILE *f;          /* or, if NULL, */
	struct mp_out o;  /* memory */
	const char *name; /* of f, for messages */
	struct digest_state *hash;
	size_t n;
};

static void sink_put(struct sink *s, const void *p, size_t n)
{
	if (n == 0)
		return;
	s->n += n;
	if (s->hash)
		digest_add(s->hash, p, n);
	if (!s->f) {
		vec_reserve(&s->o.b, s->o.b.n + n);
		memcpy(s->o.b.a + s->o.b.n, p, n);
		s->o.b.n += n;
	} else if (fwrite(p, 1, n, s->f) != n) {
		die_errno(EX_IO, "%s: writing failed", s->name);
	}
}

static int by_digest(const void *a, const void *b)
{
	return digest_cmp((*(struct tensor *const *)a)->digest, (*(struct tensor *const *)b)->digest);
}

/* One blob: digest, padding, bytes. The padding puts the bytes at a multiple of 64 from the header on,
 * so that a file of one module can be used mapped. */
static void put_blob(struct sink *s, const struct module *m, struct tensor *t)
{
	static const char zeros[64];
	struct mp_out o;
	if (t->nbytes > UINT32_MAX)
		die(EX_NOTAVAIL, "%s: a tensor of %zu bytes is too large for a packed stream (4 GB); leave it in the blob store",
		    m->source ? m->source : "stream", t->nbytes);
	const void *data = tensor_verified(m, t);
	mp_out_init(&o);
	mp_put_record(&o, 4, "blob");
	mp_put_digest(&o, t->digest);
	size_t length_bytes = t->nbytes < 1 << 8 ? 2 : t->nbytes < 1 << 16 ? 3 : 5;
	size_t before = s->n + o.b.n + 2 + length_bytes;
	mp_put_bin(&o, zeros, -before & 63);
	msgpack_pack_bin(&o.k, t->nbytes);
	sink_put(s, o.b.a, o.b.n);
	sink_put(s, data, t->nbytes);
	mapping_forget(data, t->nbytes);
	mp_out_free(&o);
}

static size_t put_blobs(struct sink *s, struct encoder *e)
{
	size_t n = 0;
	if (e->large.n)
		qsort(e->large.a, e->large.n, sizeof *e->large.a, by_digest);
	for (size_t i = 0; i < e->large.n; i++) {
		if (i && by_digest(&e->large.a[i - 1], &e->large.a[i]) == 0)
			continue;
		put_blob(s, e->m, e->large.a[i]);
		n++;
	}
	return n;
}

static void put_module(struct sink *s, struct module *m, bool pack)
{
	struct encoder e;
	struct mp_out o;
	encode(&e, m, !pack);
	s->n = 0;
	s->hash = digest_new();
	mp_out_init(&o);
	mp_put_record(&o, 4, "hone");
	mp_put_int(&o, STREAM_VERSION);
	mp_put_digest(&o, body_digest(&e));
	mp_put_array(&o, m->provenance.n);
	for (size_t i = 0; i < m->provenance.n; i++)
		mp_put_str(&o, m->provenance.a[i], strlen(m->provenance.a[i]));
	sink_put(s, o.b.a, o.b.n);
	sink_put(s, e.head.b.a, e.head.b.n);
	sink_put(s, e.consts.b.a, e.consts.b.n);
	sink_put(s, e.graphs.b.a, e.graphs.b.n);
	size_t nrecords = 1 + e.nrecords + (pack ? put_blobs(s, &e) : 0);
	struct digest d = digest_end(s->hash);
	s->hash = NULL;
	o.b.n = 0;
	mp_put_record(&o, 3, "end");
	mp_put_int(&o, (int64_t)nrecords);
	mp_put_digest(&o, d);
	sink_put(s, o.b.a, o.b.n);
	mp_out_free(&o);
	encoder_free(&e);
}

char *stream_bytes(struct module *m, bool pack, size_t *n)
{
	struct sink s = {0};
	mp_out_init(&s.o);
	put_module(&s, m, pack);
	*n = s.o.b.n;
	return s.o.b.a;
}

struct stream_writer {
	struct outfile out;
	bool pack;
	int hook;
};

static void write_abort(void *arg)
{
	struct stream_writer *w = arg;
	struct mp_out o;
	if (w->out.f != stdout)
		return;
	mp_out_init(&o);
	mp_put_record(&o, 1, "abort");
	fwrite(o.b.a, 1, o.b.n, stdout);
	fflush(stdout);
	mp_out_free(&o);
}

/* A name that is another format's would deceive whoever reads the file. */
static void refuse_name(const char *path)
{
	const char *end = path ? strrchr(path, '.') : NULL;

	if (end && !strcmp(end, ".onnx"))
		die(EX_BADUSE, "%s: this writes a graph stream; for ONNX: ... | ge-export -o %s", path, path);
}

struct stream_writer *stream_create(const char *path, bool pack)
{
	struct stream_writer *w = xcalloc(1, sizeof *w);

	refuse_name(path);
	w->pack = pack;
	outfile_open(&w->out, path, true);
	w->hook = die_hook(write_abort, w);
	return w;
}

/* Facts about the graph that is written (nodes, groups), so that a driver need not read it. */
static void tell_counts(struct module *m)
{
	struct graph_list order = {0};
	size_t nodes = 0, groups = 0;
	char hex[33];

	module_graph_order(m, &order);
	for (size_t k = 0; k < order.n; k++) {
		const struct graph *g = graph(m, order.a[k]);
		nodes += g->nodes.n;
		for (size_t i = 0; i < g->nodes.n; i++)
			groups += node(m, g->nodes.a[i])->op == OP_Fused;
	}
	vec_free(&order);
	digest_hex(module_digest(m), hex);
	facts_number("nodes", (double)(nodes - groups));
	facts_number("groups", (double)groups);
	facts_text("digest", hex);
}

void stream_write(struct stream_writer *w, struct module *m)
{
	struct sink s = {.f = w->out.f, .name = w->out.path ? w->out.path : "standard output"};
	put_module(&s, m, w->pack);
	if (facts_wanted())
		tell_counts(m);
}

void stream_write_bytes(struct stream_writer *w, const void *p, size_t n)
{
	sink_put(&(struct sink){.f = w->out.f, .name = w->out.path ? w->out.path : "standard output"}, p, n);
}

void stream_finish(struct stream_writer *w)
{
	die_unhook(w->hook);
	outfile_close(&w->out);
	free(w);
}
