/* The decoder against every cut and every flipped bit of a small stream, with a page behind the bytes
 * that must not be touched; digests; blobs in the stream. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "graph/blob.h"
#include "graph/stream.h"
#include "graph/text.h"
#include "tap.h"

static const char text[] =
	"hone-text 1\n"
	"module ir=10 opset=28\n"
	"provenance \"ge-import 0.1.0\"\n"
	"meta \"producer_name\" = \"pytorch\"\n"
	"symbol batch 0 inf\n"
	"symbol \"odd name\" 1 512 step 8\n"
	"const w1 = f32[4,3,3,3] blob:00112233445566778899aabbccddeeff\n"
	"const b1 = f32[4] [1, 0.1, -0, nan]\n"
	"const one = i64[1] [-1]\n"
	"const s = str[2] [\"a\\x00b\", \"\\xff\\n\"]\n"
	"graph then {\n  output y = @one\n}\n"
	"graph then#2 {\n  y: i64[1] = Neg(@one)\n  output y = y\n}\n"
	"graph main {\n"
	"  input input: f32[batch,3,\"odd name\",floor((batch + 3)/2)]\n"
	"  input cond: bool[] = bool[] [1]\n"
	"  output: f32[batch,4,?,min(batch, \"odd name\")] = Conv(input, @w1, @b1) {pads=[1,1,1,1]} \"conv one\"\n"
	"  m = If(cond) {else_branch=graph then then_branch=graph then#2}\n"
	"  r = com.microsoft.Gelu(output, -, @s) {e=floats[] f=[1.0,2.5] g=[\"a\",\"b\"] h=1e-05 i=3"
	" j=\"bin\\x00\\n\" k=[graph then,graph then#2] t=f32[2] [1, 2] y=type f32[batch]@\"0 1\"}\n"
	"  a, -, c: i64[?] = Split(r) {num_outputs=3}\n"
	"  output output = output\n  output m = m\n  output \"\" = @b1\n}\n";

static struct module *from_text(const char *s)
{
	FILE *f = fopen("module.txt", "w");
	fputs(s, f);
	fclose(f);
	struct text_reader *r = text_open("module.txt");
	struct module *m = text_read(r);
	text_close(r);
	return m;
}

/* Room that ends where its last page does. */
static char *guarded(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (n + page - 1) / page * page;
	char *p = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(p + room, page, PROT_NONE);
	return p + room;
}

static struct module *parse(const char *p, size_t n, struct stream_fault *fault)
{
	size_t pos = 0;
	return stream_parse(p, n, &pos, "test", fault);
}

static void test_cuts(const char *bytes, size_t n)
{
	char *end = guarded(n);
	size_t bad = 0;
	for (size_t cut = 0; cut < n; cut++) {
		struct stream_fault fault;
		memcpy(end - cut, bytes, cut);
		struct module *m = parse(end - cut, cut, &fault);
		bad += m || fault.aborted || fault.offset > cut || !*fault.why;
		module_free(m);
	}
	ok(bad == 0, "cut at each of %zu bytes: refused, with a place", n);
}

static void test_flips(const char *bytes, size_t n)
{
	char *end = guarded(n), *p = end - n;
	size_t bad = 0;
	memcpy(p, bytes, n);
	for (size_t bit = 0; bit < 8 * n; bit++) {
		struct stream_fault fault;
		p[bit / 8] ^= (char)(1 << bit % 8);
		struct module *m = parse(p, n, &fault);
		bad += m || fault.offset > n || !*fault.why;
		module_free(m);
		p[bit / 8] ^= (char)(1 << bit % 8);
	}
	ok(bad == 0, "each of %zu bits flipped: refused, with a place", 8 * n);
}

static void test_round_trip(const char *bytes, size_t n)
{
	struct stream_fault fault;
	size_t again;
	struct module *m = parse(bytes, n, &fault);
	if (!ok(m != NULL, "what was written is read"))
		return;
	char *p = stream_bytes(m, false, &again);
	ok(again == n && !memcmp(p, bytes, n), "written again: the same bytes");
	struct digest before = module_digest(m);
	vec_push(&m->provenance, "another 1");
	free(p);
	p = stream_bytes(m, false, &again);
	ok(again != n && digest_eq(before, module_digest(m)), "provenance is no part of the digest");
	free(p);
	m->nodes.a[1].name = intern("other");
	ok(!digest_eq(before, module_digest(m)), "a name is part of it");
	module_free(m);
}

static void test_abort(const char *bytes, size_t n)
{
	struct stream_fault fault;
	char *p = malloc(n + 16);
	ok(!parse("\x91\xa5"
		  "abort",
		  7, &fault) &&
		   fault.aborted,
	   "an abort record in place of a module");
	/* in place of the end: of 3 elements, "end", a count, bin of 16 */
	memcpy(p, bytes, n);
	size_t at = n - 18 - 1 - 4 - 1;
	memcpy(p + at,
	       "\x91\xa5"
	       "abort",
	       7);
	ok(!parse(p, at + 7, &fault) && fault.aborted, "an abort record in place of the end");
	free(p);
}

static void test_pack(void)
{
	float data[1000];
	struct stream_fault fault;
	size_t n, nref;
	for (int i = 0; i < 1000; i++)
		data[i] = (float)i;
	struct module *m = module_new();
	graph_id g = graph_new(m, intern("main"));
	m->main = g;
	val_id a = const_copy(m, intern("a"), DT_F32, 2, (int64_t[]){10, 100}, data, sizeof data);
	val_id b = const_copy(m, intern("b"), DT_F32, 1, (int64_t[]){1000}, data, sizeof data);
	graph_add_output(m, g, a, intern("a"));
	graph_add_output(m, g, b, intern("b"));
	char *ref = stream_bytes(m, false, &nref);
	char *packed = stream_bytes(m, true, &n);
	ok(n > sizeof data && n < sizeof data + 1000 && nref < 1000, "packed: %zu bytes, equal tensors once; unpacked: %zu", n, nref);
	struct module *p = parse(packed, n, &fault), *r = parse(ref, nref, &fault);
	ok(p && r && digest_eq(module_digest(p), module_digest(r)), "the same body, packed or not");
	ok(p && !memcmp(val(p, 1)->tensor->data, data, sizeof data), "a packed tensor's bytes are in memory");
	ok(r && !val(r, 1)->tensor->data && !memcmp(tensor_data(r, val(r, 1)->tensor), data, sizeof data),
	   "an unpacked one's come from the store");
	test_cuts(packed, n);
	packed[n - 500] ^= 1;
	ok(!parse(packed, n, &fault), "a changed blob: %s", fault.why);
	module_free(m);
	module_free(p);
	module_free(r);
	free(ref);
	free(packed);
}

/* What is written of a module depends on what is reachable, not on how it came about. */
static void test_reachable(const char *bytes, size_t n)
{
	struct stream_fault fault;
	size_t again;
	struct module *m = parse(bytes, n, &fault);
	const_copy(m, intern("unused"), DT_U8, 1, (int64_t[]){1}, "x", 1);
	graph_new(m, intern("unused"));
	module_symbol(m, intern("unused"));
	char *p = stream_bytes(m, false, &again);
	ok(again == n && !memcmp(p, bytes, n), "what nothing reaches is not written");
	module_free(m);
	free(p);
}

static void test_unnamed_symbols(void)
{
	struct module *m = module_new();
	graph_id g = m->main = graph_new(m, intern("main"));
	poly v = poly_of(m->dims, poly_var_new(m->dims, 0, 1, 9, 1));
	struct type t = type_make(m, DT_F32, 1, (int64_t[]){-1});
	struct stream_fault fault;
	t.dims[0] = poly_addc(m->dims, v, 1);
	graph_add_output(m, g, graph_add_input(m, g, intern("x"), t), intern("x"));
	size_t n, again;
	char *p = stream_bytes(m, false, &n);
	struct module *r = parse(p, n, &fault);
	char *q = r ? stream_bytes(r, false, &again) : NULL;
	ok(q && n == again && !memcmp(p, q, n), "a symbol without a name gets one that lasts");
	module_free(m);
	module_free(r);
	free(p);
	free(q);
}

/* Names that look like something else come back from the text form as they were. */
static void test_odd_names(void)
{
	static const char *const names[] = {"-",     "a b",    "a#2",   "@a",        "\"",  "\\",    "caf\xc3\xa9", "\xff\xfe",
					    "input", "output", "graph", "const",     "}",   "a:",    ":a",          "0x1",
					    "1.5",   "f32[",   "inf",   "nan",       "a=b", "floor", "min(a, b)",   "type",
					    "blob:", "\n",     "\x01",  "hone-text", "=",   "#",     "a,b"};
	enum { N = sizeof names / sizeof *names };
	struct module *m = module_new();
	graph_id body[N], g;
	for (int i = 0; i < N; i++) {
		body[i] = graph_new(m, i % 2 ? intern(names[i]) : intern("twice"));
		graph_add_output(m, body[i], graph_add_input(m, body[i], intern(names[i]), type_none()), intern(names[i]));
	}
	m->main = g = graph_new(m, intern("main"));
	for (int i = 0; i < N; i++) {
		sym name = intern(names[i]);
		struct type t = type_make(m, DT_F32, 1, (int64_t[]){-1});
		t.dims[0] = poly_addc(m->dims, poly_of(m->dims, module_symbol(m, name)), 1);
		val_id in[2] = {graph_add_input(m, g, intern_printf("in %s", names[i]), t)};
		in[1] = const_copy(m, intern_printf("const %s", names[i]), DT_F32, 1, (int64_t[]){1}, &(float){0.1f}, 4);
		node_id n = node_new(m, g, OP_OTHER, 2, in, 1);
		node(m, n)->domain = intern(names[(i + 1) % N]);
		node(m, n)->optype = name;
		node(m, n)->name = name;
		attr_set(m, n, (struct attr){.name = name, .kind = ATTR_STR, .n = 2, .u.s = names[i][1] ? names[i] : "a\0"});
		attr_set(m, n, (struct attr){.name = intern("g"), .kind = ATTR_GRAPH, .u.graph = body[i]});
		val(m, node(m, n)->out[0])->name = name;
		graph_add_output(m, g, node(m, n)->out[0], name);
	}
	size_t size, again;
	char *p = stream_bytes(m, false, &size), *q;
	FILE *f = fopen("module.txt", "w");
	text_write(f, m);
	fclose(f);
	struct text_reader *r = text_open("module.txt");
	struct module *back = text_read(r);
	q = stream_bytes(back, false, &again);
	ok(size == again && !memcmp(p, q, size), "%d odd names through the text form", N);
	text_close(r);
	module_free(m);
	module_free(back);
	free(p);
	free(q);
}

/* Every bit pattern of the small types, and hard ones of the large. */
static void test_numbers(void)
{
	static const uint64_t f64[] = {0,
				       1,
				       1ull << 63,
				       0x7ff0000000000000,
				       0xfff0000000000000,
				       0x7ff8000000000000,
				       0x7ff0000000000001,
				       0xfff8000000000000,
				       0x3fb999999999999a,
				       0x7fefffffffffffff,
				       0x0010000000000000,
				       0x000fffffffffffff,
				       0x3ff0000000000001};
	static const uint32_t f32[] = {0,          1,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
				       0xffc00000, 0x3dcccccd, 0x7f7fffff, 0x00800000, 0x007fffff, 0x3f800001, 0x4b800001};
	struct module *m = module_new();
	graph_id g = m->main = graph_new(m, intern("main"));
	for (int t = DT_NONE + 1; t < DT_COUNT; t++) {
		size_t size = dtype_size(t);
		if (size != 2 && size != 1)
			continue;
		int per = (int)(STREAM_INLINE / size), nblocks = t == DT_BOOL ? 1 : (int)((size == 2 ? 65536 : 256) / (size_t)per);
		for (int b = 0; b < nblocks; b++) {
			uint16_t x[STREAM_INLINE];
			uint8_t y[STREAM_INLINE];
			for (int i = 0; i < per; i++) {
				x[i] = (uint16_t)(b * per + i);
				y[i] = (uint8_t)(t == DT_BOOL ? i % 2 : b * per + i);
			}
			val_id v = const_copy(m, 0, t, 1, (int64_t[]){per}, size == 2 ? (void *)x : y, STREAM_INLINE);
			graph_add_output(m, g, v, intern("y"));
		}
	}
	graph_add_output(m, g, const_copy(m, 0, DT_F64, 1, (int64_t[]){sizeof f64 / 8}, f64, sizeof f64), 0);
	graph_add_output(m, g, const_copy(m, 0, DT_C64, 1, (int64_t[]){sizeof f32 / 8}, f32, sizeof f32), 0);
	graph_add_output(m, g, const_copy(m, 0, DT_F32, 1, (int64_t[]){sizeof f32 / 4}, f32, sizeof f32), 0);
	graph_add_output(m, g, const_copy(m, 0, DT_I64, 1, (int64_t[]){sizeof f64 / 8}, f64, sizeof f64), 0);
	graph_add_output(m, g, const_copy(m, 0, DT_U64, 1, (int64_t[]){sizeof f64 / 8}, f64, sizeof f64), 0);
	graph_add_output(m, g, const_copy(m, 0, DT_I32, 1, (int64_t[]){sizeof f32 / 4}, f32, sizeof f32), 0);
	node_id n = node_new(m, g, OP_OTHER, 0, NULL, 0);
	node(m, n)->domain = node(m, n)->optype = intern("odd");
	attr_set(m, n, (struct attr){.name = intern("all"), .kind = ATTR_FLOATS, .n = 14, .u.floats = (const float *)f32});
	for (int i = 0; i < 14; i++) {
		float v;
		memcpy(&v, &f32[i], 4);
		attr_set(m, n, (struct attr){.name = intern_printf("f%d", i), .kind = ATTR_FLOAT, .u.f = v});
	}
	attr_set(m, n, (struct attr){.name = intern("least"), .kind = ATTR_INT, .u.i = INT64_MIN});
	size_t size, again;
	char *p = stream_bytes(m, false, &size), *q;
	FILE *f = fopen("module.txt", "w");
	text_write(f, m);
	fclose(f);
	struct text_reader *r = text_open("module.txt");
	struct module *back = text_read(r);
	q = stream_bytes(back, false, &again);
	ok(size == again && !memcmp(p, q, size), "every 8- and 16-bit number, hard floats: the same bits");
	text_close(r);
	module_free(m);
	module_free(back);
	free(p);
	free(q);
}

/* A reference into a file counts as long as the file stays as it was. */
static void test_reference(void)
{
	static char data[3000];
	const char *why;
	for (int i = 0; i < 3000; i++)
		data[i] = (char)(i * 7);
	FILE *f = fopen("weights.bin", "w");
	fwrite(data, 1, sizeof data, f);
	fclose(f);
	struct digest d = digest_bytes(data + 1001, 1000);
	struct blob_ref r[2] = {{.offset = 1001, .length = 1000}, {.offset = 8, .length = 8}};
	blob_refer("weights.bin", data, 2, r);
	ok(digest_eq(r[0].digest, d) && digest_eq(r[1].digest, digest_bytes(data + 8, 8)), "references have their digests");
	const void *p = blob_map(d, 1000, true, &why);
	ok(p && !memcmp(p, data + 1001, 1000) && (uintptr_t)p % 8 == 0, "a reference into a file, aligned");
	ok(blob_has(d, 1000) && !blob_has(d, 999) && !blob_map(d, 999, false, &why), "its length is held against what is asked");
	f = fopen("weights.bin", "a");
	fputc('x', f);
	fclose(f);
	ok(!blob_has(d, 1000), "the file has changed: not there");
}

int main(void)
{
	size_t n;
	struct module *m = from_text(text);
	char *bytes = stream_bytes(m, false, &n);
	test_round_trip(bytes, n);
	test_cuts(bytes, n);
	test_flips(bytes, n);
	test_abort(bytes, n);
	test_reachable(bytes, n);
	test_pack();
	test_unnamed_symbols();
	test_odd_names();
	test_numbers();
	test_reference();
	module_free(m);
	free(bytes);
	return tap_done();
}
