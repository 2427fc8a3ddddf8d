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
	ok(!parse("\x91\xa5" "abort", 7, &fault) && fault.aborted, "an abort record in place of a module");
	/* in place of the end: of 3 elements, "end", a count, bin of 16 */
	memcpy(p, bytes, n);
	size_t at = n - 18 - 1 - 4 - 1;
	memcpy(p + at, "\x91\xa5" "abort", 7);
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
	module_free(m);
	free(bytes);
	return tap_done();
}
