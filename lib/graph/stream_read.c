/* Streams to modules. Nothing in the input is believed: every count is held against the bytes that are
 * left, every number against its table, every length against its shape. */
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/outfile.h"
#include "graph/mp.h"
#include "graph/stream.h"
#include "graph/symbols.h"

struct opname {
	sym domain;
	enum opcode op;
	bool known; /* op is the one of this name in domain */
};

struct decoder {
	struct mp_in r;
	struct module *m;
	size_t begin, body, body_end; /* offsets of the module and its body */
	size_t nrecords;
	struct digest digest; /* of the body, says the header */
	sym *strings;         /* [0] empty */
	struct opname *ops;   /* by string */
	uint32_t nstrings;
	struct type *types; /* [0] nothing known */
	uint32_t ntypes;
	VEC(val_id) consts; /* [0] unused, as in refs */
	VEC(val_id) refs;   /* values of the graph being read */
	VEC(val_id) ins;
	VEC(graph_id) graphs;       /* [0] unused */
	VEC(struct tensor *) large; /* waiting for blobs */
	bool aborted;
};

static sym get_name(struct decoder *d)
{
	struct mp_in *r = &d->r;
	size_t at = mp_at(r), n;
	const char *s = mp_str(r, &n);
	if (memchr(s, 0, n)) {
		mp_fail(r, at, "a name has a NUL byte in it");
		return 0;
	}
	return intern_n(s, n);
}

static uint32_t get_string_number(struct decoder *d) { return (uint32_t)mp_int(&d->r, 0, d->nstrings); }

static sym get_sym(struct decoder *d) { return d->strings[get_string_number(d)]; }

static struct type get_type(struct decoder *d) { return d->types[mp_int(&d->r, 0, d->ntypes)]; }

/* The kind of the next record, of n elements; the reader stands behind it. */
static const char *get_record(struct decoder *d, uint32_t *n, size_t *at)
{
	static const char *const kinds[] = {"hone",  "module", "strings", "symbols", "types", "const",
					    "graph", "node",   "return",  "blob",    "end",   "abort"};
	struct mp_in *r = &d->r;
	size_t len;
	*at = mp_at(r);
	if (!r->why && mp_left(r) == 0)
		mp_fail(r, *at, "the stream stops without an end record; the tool that wrote it was killed, or the file is cut");
	*n = mp_array(r);
	const char *s = mp_str(r, &len);
	d->nrecords++;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (r->why || len != strlen(kinds[i]) || memcmp(s, kinds[i], len))
			continue;
		if (!strcmp(kinds[i], "abort")) {
			d->aborted = true;
			mp_fail(r, *at, "aborted");
		}
		return kinds[i];
	}
	mp_fail(r, *at, "an unknown record");
	return "";
}

/* The next record must be of this kind and length. */
static void want_record(struct decoder *d, const char *kind, uint32_t len)
{
	size_t at;
	uint32_t n;
	const char *got = get_record(d, &n, &at);
	if (!d->r.why && (strcmp(got, kind) || n != len))
		mp_fail(&d->r, at, "a record '%s' of %u elements expected, '%s' of %u found", kind, len, got, n);
}

static void read_header(struct decoder *d)
{
	struct mp_in *r = &d->r;
	want_record(d, "hone", 4);
	size_t at = mp_at(r);
	int64_t version = mp_int(r, 0, INT64_MAX);
	if (!r->why && version != STREAM_VERSION)
		mp_fail(r, at, "stream version %lld, this program reads %d", (long long)version, STREAM_VERSION);
	d->digest = mp_digest(r);
	for (uint32_t i = mp_array(r); i > 0; i--) {
		at = mp_at(r);
		sym line = get_name(d);
		if (!r->why && !line)
			mp_fail(r, at, "an empty line of provenance");
		if (!r->why)
			vec_push(&d->m->provenance, sym_str(line));
	}
	d->body = mp_at(r);
}

static void read_module_record(struct decoder *d)
{
	struct mp_in *r = &d->r;
	want_record(d, "module", 4);
	d->m->ir_version = mp_int(r, 0, INT32_MAX);
	d->m->opset = mp_int(r, 0, INT32_MAX);
	size_t at = mp_at(r);
	uint32_t n = mp_array(r);
	if (n % 2)
		mp_fail(r, at, "an odd number of keys and values");
	for (uint32_t i = 0; i < n && !r->why; i += 2) {
		sym key = get_name(d), value = get_name(d);
		vec_push(&d->m->meta, (struct meta){key, value});
	}
}

static void read_strings(struct decoder *d)
{
	struct mp_in *r = &d->r;
	want_record(d, "strings", 2);
	uint32_t n = mp_array(r);
	d->strings = xcalloc((size_t)n + 1, sizeof *d->strings);
	d->ops = xcalloc((size_t)n + 1, sizeof *d->ops);
	d->nstrings = n;
	for (uint32_t i = 1; i <= n && !r->why; i++)
		d->strings[i] = get_name(d);
}

static void read_symbols(struct decoder *d)
{
	struct mp_in *r = &d->r;
	want_record(d, "symbols", 2);
	for (uint32_t i = mp_array(r); i > 0 && !r->why; i--) {
		size_t at = mp_at(r);
		mp_array_of(r, 4, "a symbol");
		sym name = get_name(d);
		int64_t lo = mp_int(r, INT64_MIN, INT64_MAX), hi = mp_int(r, lo, INT64_MAX);
		int64_t divisor = mp_int(r, 1, INT64_MAX);
		if (!r->why && (!name || poly_var_find(d->m->dims, name)))
			mp_fail(r, at, "a symbol without a name, or declared twice");
		if (!r->why)
			poly_var_new(d->m->dims, name, lo, hi, divisor);
	}
}

static dim get_dim(struct decoder *d)
{
	struct mp_in *r = &d->r;
	size_t at = mp_at(r), n;
	dim e;
	if (mp_nil(r))
		return POLY_UNKNOWN;
	if (!mp_is_str(r))
		return poly_const(d->m->dims, mp_int(r, 0, INT64_MAX));
	const char *s = mp_str(r, &n), *why = dim_parse(d->m, s, n, &e);
	if (why)
		mp_fail(r, at, "a bad dimension '%.*s': %s", n < 40 ? (int)n : 40, s, why);
	return e;
}

/* Number of dimensions of a shape. */
static int get_rank(struct decoder *d)
{
	size_t at = mp_at(&d->r);
	uint32_t n = mp_array(&d->r);
	if (n > RANK_MAX)
		mp_fail(&d->r, at, "%u dimensions, at most %d are possible", n, RANK_MAX);
	return d->r.why ? 0 : (int)n;
}

static enum dtype get_dtype(struct decoder *d, bool may_be_none)
{
	size_t at = mp_at(&d->r), n;
	const char *s = mp_str(&d->r, &n);
	enum dtype t = dtype_parse(s, n);
	if (t == DT_NONE && !(may_be_none && n == 1 && *s == '?'))
		mp_fail(&d->r, at, "an unknown element type '%.*s'", n < 20 ? (int)n : 20, s);
	return t;
}

static void read_types(struct decoder *d)
{
	struct mp_in *r = &d->r;
	want_record(d, "types", 2);
	uint32_t n = mp_array(r);
	d->types = xcalloc((size_t)n + 1, sizeof *d->types);
	d->types[0] = type_none();
	d->ntypes = n;
	for (uint32_t k = 1; k <= n && !r->why; k++) {
		struct type *t = &d->types[k];
		*t = type_none();
		mp_array_of(r, 4, "a type");
		t->dtype = get_dtype(d, true);
		if (!mp_nil(r)) {
			t->rank = get_rank(d);
			t->dims = ARENA_ARRAY(&d->m->arena, dim, t->rank);
		}
		for (int i = 0; i < t->rank && !r->why; i++)
			t->dims[i] = get_dim(d);
		t->layout = get_name(d);
		t->other = get_name(d);
	}
}

static struct tensor *get_tensor(struct decoder *d)
{
	struct mp_in *r = &d->r;
	struct arena *a = &d->m->arena;
	struct tensor *t = ARENA_NEW(a, struct tensor);
	t->dtype = get_dtype(d, false);
	t->rank = get_rank(d);
	t->dims = ARENA_ARRAY(a, int64_t, t->rank);
	for (int i = 0; i < t->rank && !r->why; i++)
		t->dims[i] = mp_int(r, 0, INT64_MAX);
	size_t at = mp_at(r);
	if (mp_is_array(r)) {
		mp_array_of(r, 2, "a reference to a blob");
		t->digest = mp_digest(r);
		t->nbytes = (size_t)mp_int(r, 0, INT64_MAX);
		t->has_digest = true;
		if (!r->why)
			vec_push(&d->large, t);
	} else {
		const void *p = mp_bin(r, &t->nbytes);
		t->data = arena_copy(a, p, t->nbytes);
	}
	const char *why = r->why ? NULL : tensor_check(t);
	if (why)
		mp_fail(r, at, "%s", why);
	return t;
}

/* Behind the record's kind. */
static void read_const(struct decoder *d)
{
	sym name = get_sym(d);
	struct tensor *t = get_tensor(d);
	if (!d->r.why)
		vec_push(&d->consts, const_tensor(d->m, name, t));
}

static val_id get_ref(struct decoder *d, bool may_be_absent)
{
	size_t at = mp_at(&d->r);
	int64_t k = mp_int(&d->r, -(int64_t)(d->consts.n - 1), INT32_MAX);
	if (k < 0)
		return d->consts.a[-k];
	if (d->r.why || (k == 0 && may_be_absent))
		return 0;
	if (k == 0 || (size_t)k >= d->refs.n) {
		mp_fail(&d->r, at, "value %lld is used before it is made", (long long)k);
		return 0;
	}
	return d->refs.a[k];
}

static graph_id get_graph_ref(struct decoder *d)
{
	/* the last of the list is the graph being read: no graph calls itself */
	size_t at = mp_at(&d->r);
	int64_t k = mp_int(&d->r, 1, INT32_MAX);
	if (!d->r.why && (size_t)k + 1 >= d->graphs.n)
		mp_fail(&d->r, at, "graph %lld is used before it ends", (long long)k);
	return d->r.why ? 0 : d->graphs.a[k];
}

static void get_array_attr(struct decoder *d, struct attr *a, char kind)
{
	struct mp_in *r = &d->r;
	struct arena *m = &d->m->arena;
	uint32_t n = a->n = mp_array(r);
	int64_t *ints = kind == 'I' ? ARENA_ARRAY(m, int64_t, n) : NULL;
	float *floats = kind == 'F' ? ARENA_ARRAY(m, float, n) : NULL;
	uint32_t *ids = kind == 'S' || kind == 'G' ? ARENA_ARRAY(m, uint32_t, n) : NULL;
	for (uint32_t i = 0; i < n && !r->why; i++) {
		switch (kind) {
		case 'I': ints[i] = mp_int(r, INT64_MIN, INT64_MAX); break;
		case 'F': floats[i] = mp_float(r); break;
		case 'S': ids[i] = get_sym(d); break;
		case 'G': ids[i] = get_graph_ref(d); break;
		}
	}
	switch (kind) {
	case 'I': a->kind = ATTR_INTS, a->u.ints = ints; break;
	case 'F': a->kind = ATTR_FLOATS, a->u.floats = floats; break;
	case 'S': a->kind = ATTR_STRS, a->u.strs = ids; break;
	case 'G': a->kind = ATTR_GRAPHS, a->u.graphs = ids; break;
	}
}

static void get_attr(struct decoder *d, struct attr *a)
{
	struct mp_in *r = &d->r;
	size_t at, n;
	a->name = get_sym(d);
	at = mp_at(r);
	const volatile char *p = mp_str(r, &n);
	char kind = n == 1 ? *p : 0;
	switch (kind) {
	case 'i': a->kind = ATTR_INT, a->u.i = mp_int(r, INT64_MIN, INT64_MAX); break;
	case 'f': a->kind = ATTR_FLOAT, a->u.f = mp_float(r); break;
	case 's': {
		const void *bytes = mp_bin(r, &n);
		char *s = arena_alloc(&d->m->arena, n + 1);
		a->kind = ATTR_STR, a->n = (uint32_t)n, a->u.s = memcpy(s, bytes, n);
		break;
	}
	case 'I':
	case 'F':
	case 'S':
	case 'G': get_array_attr(d, a, kind); break;
	case 't':
		mp_array_of(r, 3, "a tensor");
		a->kind = ATTR_TENSOR, a->u.tensor = get_tensor(d);
		break;
	case 'g': a->kind = ATTR_GRAPH, a->u.graph = get_graph_ref(d); break;
	case 'y':
		a->kind = ATTR_TYPE, a->u.type = ARENA_NEW(&d->m->arena, struct type);
		*a->u.type = get_type(d);
		break;
	default: mp_fail(r, at, "an unknown kind of attribute");
	}
}

static enum opcode get_op(struct decoder *d, sym *domain, sym *name)
{
	size_t at = mp_at(&d->r);
	uint32_t k = get_string_number(d);
	*name = d->strings[k];
	*domain = get_sym(d);
	struct opname *o = &d->ops[k];
	if (!o->known || o->domain != *domain)
		*o = (struct opname){*domain, op_find(sym_str(*domain), sym_str(*name)), true};
	bool ours = !*domain || !strcmp(sym_str(*domain), "hone");
	if (!d->r.why && o->op == OP_OTHER && (ours || !*name))
		mp_fail(&d->r, at, "an unknown operator '%.60s'%s", sym_str(*name), *domain ? " of domain hone" : "");
	return o->op;
}

static void read_attrs(struct decoder *d, node_id id)
{
	struct mp_in *r = &d->r;
	size_t at = mp_at(r);
	uint32_t n = mp_array(r);
	if (n % 3)
		mp_fail(r, at, "attributes are names, kinds and values");
	n = r->why ? 0 : n / 3;
	struct attr *a = ARENA_ARRAY(&d->m->arena, struct attr, n);
	for (uint32_t i = 0; i < n && !r->why; i++) {
		at = mp_at(r);
		get_attr(d, &a[i]);
		if (i && !r->why && strcmp(sym_str(a[i - 1].name), sym_str(a[i].name)) >= 0)
			mp_fail(r, at, "attributes are not sorted");
	}
	node(d->m, id)->attr = a;
	node(d->m, id)->nattr = r->why ? 0 : n;
}

static void read_node(struct decoder *d, graph_id g)
{
	struct mp_in *r = &d->r;
	sym domain, optype;
	enum opcode op = get_op(d, &domain, &optype);
	sym name = get_sym(d);
	d->ins.n = 0;
	for (uint32_t i = mp_array(r); i > 0 && !r->why; i--)
		vec_push(&d->ins, get_ref(d, true));
	size_t at = mp_at(r);
	uint32_t nout = mp_array(r);
	if (nout % 2)
		mp_fail(r, at, "results are names and types");
	if (r->why)
		return;
	nout /= 2;
	node_id id = node_new(d->m, g, op, (int)d->ins.n, d->ins.a, (int)nout);
	struct node *n = node(d->m, id);
	n->name = name;
	if (op == OP_OTHER) {
		n->domain = domain;
		n->optype = optype;
	}
	for (uint32_t i = 0; i < nout && !r->why; i++) {
		sym s = get_sym(d);
		struct type t = get_type(d);
		if (!s) {
			n->out[i] = 0;
			continue;
		}
		val(d->m, n->out[i])->name = s;
		val(d->m, n->out[i])->type = t;
		vec_push(&d->refs, n->out[i]);
	}
	read_attrs(d, id);
}

static graph_id read_graph(struct decoder *d)
{
	struct mp_in *r = &d->r;
	graph_id g = graph_new(d->m, get_sym(d));
	vec_push(&d->graphs, g);
	d->refs.n = 1;
	size_t at = mp_at(r);
	uint32_t n = mp_array(r);
	if (n % 3)
		mp_fail(r, at, "inputs are names, types and defaults");
	for (uint32_t i = 0; i < n && !r->why; i += 3) {
		sym name = get_sym(d);
		val_id v = graph_add_input(d->m, g, name, get_type(d));
		if (!mp_nil(r)) {
			mp_array_of(r, 3, "a default");
			val(d->m, v)->tensor = get_tensor(d);
			val(d->m, v)->overridable = true;
		}
		vec_push(&d->refs, v);
	}
	return g;
}

static void read_return(struct decoder *d, graph_id g)
{
	struct mp_in *r = &d->r;
	size_t at = mp_at(r);
	uint32_t n = mp_array(r);
	if (n % 2)
		mp_fail(r, at, "outputs are names and values");
	for (uint32_t i = 0; i < n && !r->why; i += 2) {
		sym name = get_sym(d);
		val_id v = get_ref(d, false);
		if (!r->why)
			graph_add_output(d->m, g, v, name);
	}
}

static int by_digest(const void *a, const void *b)
{
	return digest_cmp((*(struct tensor *const *)a)->digest, (*(struct tensor *const *)b)->digest);
}

/* Gives the bytes to the tensors that wait for them; they are used where they lie if aligned. */
static void read_blob(struct decoder *d, size_t at)
{
	struct mp_in *r = &d->r;
	size_t n;
	struct digest digest = mp_digest(r);
	mp_bin(r, &n);
	const void *p = mp_bin(r, &n);
	size_t lo = 0, hi = d->large.n;
	if (r->why)
		return;
	if (!digest_eq(digest_bytes(p, n), digest)) {
		mp_fail(r, at, "a blob's bytes do not have its digest");
		return;
	}
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (digest_cmp(d->large.a[mid]->digest, digest) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == d->large.n || !digest_eq(d->large.a[lo]->digest, digest)) {
		mp_fail(r, at, "a blob that no tensor refers to");
		return;
	}
	if ((uintptr_t)p % 16)
		p = arena_copy(&d->m->arena, p, n);
	for (; lo < d->large.n && digest_eq(d->large.a[lo]->digest, digest) && !r->why; lo++) {
		struct tensor *t = d->large.a[lo];
		if (t->nbytes != n)
			mp_fail(r, at, "a blob of %zu bytes where %zu are wanted", n, t->nbytes);
		t->data = t->dtype == DT_STR ? arena_copy(&d->m->arena, p, n) : p; /* its lengths must stay as they are checked */
		const char *why = tensor_check(t);
		if (why)
			mp_fail(r, at, "%s", why);
	}
}

static void read_end(struct decoder *d, size_t at)
{
	struct mp_in *r = &d->r;
	int64_t n = mp_int(r, 0, INT64_MAX);
	struct digest sum = mp_digest(r);
	if (r->why)
		return;
	if (d->body_end == 0)
		d->body_end = at;
	if (n != (int64_t)d->nrecords - 1)
		mp_fail(r, at, "%lld records announced, %zu read", (long long)n, d->nrecords - 1);
	else if (!digest_eq(sum, digest_bytes(r->base + d->begin, at - d->begin)))
		mp_fail(r, at, "the checksum does not match; bytes have changed on their way");
	else if (!digest_eq(d->digest, digest_bytes(r->base + d->body, d->body_end - d->body)))
		mp_fail(r, at, "the body's digest is not the one in the header");
	else if (d->graphs.n < 2)
		mp_fail(r, at, "a module without a graph");
}

/* Constants, then graphs, then blobs, then the end. */
static void read_records(struct decoder *d)
{
	enum { CONSTS, BETWEEN, IN_GRAPH, BLOBS, DONE } state = CONSTS;
	struct mp_in *r = &d->r;
	graph_id g = 0;
	while (!r->why && state != DONE) {
		size_t at;
		uint32_t n;
		const char *kind = get_record(d, &n, &at);
		if (state == IN_GRAPH && !strcmp(kind, "node") && n == 7) {
			read_node(d, g);
		} else if (state == IN_GRAPH && !strcmp(kind, "return") && n == 2) {
			read_return(d, g);
			state = BETWEEN;
		} else if (state == CONSTS && !strcmp(kind, "const") && n == 5) {
			read_const(d);
		} else if (state <= BETWEEN && !strcmp(kind, "graph") && n == 3) {
			g = read_graph(d);
			state = IN_GRAPH;
		} else if ((state == BETWEEN || state == BLOBS) && !strcmp(kind, "blob") && n == 4) {
			if (state == BETWEEN && d->large.n)
				qsort(d->large.a, d->large.n, sizeof *d->large.a, by_digest);
			if (state == BETWEEN)
				d->body_end = at;
			state = BLOBS;
			read_blob(d, at);
		} else if ((state == BETWEEN || state == BLOBS) && !strcmp(kind, "end") && n == 3) {
			read_end(d, at);
			state = DONE;
		} else {
			mp_fail(r, at, "a record '%s' of %u elements has no place here", kind, n);
		}
	}
	d->m->main = g;
}

struct module *stream_parse(const void *p, size_t n, size_t *pos, const char *source, struct stream_fault *fault)
{
	struct decoder d = {.m = module_new(), .begin = *pos};
	mp_in_init(&d.r, p, n);
	d.r.p += *pos;
	d.m->source = source;
	vec_push(&d.consts, 0);
	vec_push(&d.refs, 0);
	vec_push(&d.graphs, 0);
	read_header(&d);
	read_module_record(&d);
	read_strings(&d);
	read_symbols(&d);
	read_types(&d);
	read_records(&d);
	*pos = mp_at(&d.r);
	free(d.strings);
	free(d.ops);
	free(d.types);
	vec_free(&d.consts);
	vec_free(&d.refs);
	vec_free(&d.ins);
	vec_free(&d.graphs);
	vec_free(&d.large);
	if (!d.r.why)
		return d.m;
	module_free(d.m);
	fault->offset = d.r.at;
	fault->aborted = d.aborted;
	snprintf(fault->why, sizeof fault->why, "%s", d.r.why);
	return NULL;
}

struct stream_reader {
	struct mapped in;
	const char *name;
	size_t pos;
	size_t nmodules;
};

/* As far as there are bytes. */
static bool begins(const unsigned char *p, size_t n, const char *with)
{
	size_t len = strlen(with);
	return !memcmp(p, with, n < len ? n : len);
}

bool stream_begins(const unsigned char *p, size_t n)
{
	return begins(p, n, "\x94\xa4hone") || begins(p, n,
						      "\x91\xa5"
						      "abort");
}

struct stream_reader *stream_open_bytes(const void *p, size_t n, const char *name)
{
	struct stream_reader *r = xcalloc(1, sizeof *r);
	r->name = sym_str(intern(name));
	r->in = (struct mapped){.p = p, .n = n};
	return r;
}

struct stream_reader *stream_open(const char *path)
{
	struct mapped in;
	mapped_open_if(&in, path, stream_begins);
	return stream_open_bytes(in.p, in.n, path && strcmp(path, "-") ? path : "standard input");
}

/* What people give by mistake, by its first bytes. */
static const char *guess(const unsigned char *p, size_t n)
{
	static const struct {
		const char *begin, *hint;
	} known[] = {
		{"version https://git-lfs", "it is a git-LFS pointer, not the file; run git lfs pull"},
		{"<", "it looks like HTML or XML"},
		{"PK\x03\x04", "it is a zip file"},
		{"\x1f\x8b", "it is compressed by gzip; gunzip it first"},
		{"\x28\xb5\x2f\xfd", "it is compressed by zstd; unzstd it first"},
		{"\x93NUMPY", "it is an .npy file"},
		{"hone-text", "it is the text form; ge-load reads it"},
		{"\x7f"
		 "ELF",
		 "it is a program or library"},
		{"\x08", "it looks like an ONNX model; ge-import reads it"},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (n >= strlen(known[i].begin) && !memcmp(p, known[i].begin, strlen(known[i].begin)))
			return known[i].hint;
	return NULL;
}

struct module *stream_read(struct stream_reader *r)
{
	struct stream_fault f;
	const unsigned char *p = r->in.p + r->pos;
	size_t left = r->in.n - r->pos;
	if (left == 0 && r->nmodules)
		return NULL;
	if (left == 0)
		die(EX_BADDATA, "%s:0: empty; a graph stream expected", r->name);
	if (!stream_begins(p, left)) {
		const char *hint = r->nmodules ? NULL : guess(p, left);
		die(EX_BADDATA, "%s:%zu: %s%s%s", r->name, r->pos, r->nmodules ? "garbage after the end of a module" : "not a graph stream",
		    hint ? "; " : "", hint ? hint : "");
	}
	struct module *m = stream_parse(r->in.p, r->in.n, &r->pos, r->name, &f);
	if (!m && f.aborted)
		die_silent(EX_BADDATA);
	if (!m)
		die(EX_BADDATA, "%s:%zu: %s", r->name, f.offset, f.why);
	r->nmodules++;
	return m;
}

struct module *stream_read_only(struct stream_reader *r)
{
	struct module *m = stream_read(r);
	if (stream_read(r))
		die(EX_BADDATA, "%s: several modules; this tool takes one", r->name);
	return m;
}

void stream_close(struct stream_reader *r) { free(r); /* the mapping stays: modules refer to it */ }
