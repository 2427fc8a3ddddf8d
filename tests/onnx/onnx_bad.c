/* Files that are not sound: one clear line and the right exit code, never a crash. And odd ones
 * that are. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <stdbool.h>
#include <unistd.h>
#include "onnx/wire.h"
#include "pb.h"
#include "tap.h"

enum { FLOAT = 1, INT64 = 7 };

static struct pb value_info(const char *name, size_t n)
{
	struct pb v = {0}, t = {0}, tensor = {0}, shape = {0}, d = {0};
	pb_int(&d, 1, 2);
	pb_msg(&shape, 1, d);
	pb_int(&tensor, 1, FLOAT);
	pb_msg(&tensor, 2, shape);
	pb_msg(&t, 1, tensor);
	pb_raw(&v, 1, name, n);
	pb_msg(&v, 2, t);
	return v;
}

static struct pb node(const char *op, const char *in, const char *out)
{
	struct pb n = {0};
	if (in)
		pb_str(&n, 1, in);
	pb_str(&n, 2, out);
	pb_str(&n, 4, op);
	return n;
}

/* A float tensor of two elements without its data. */
static struct pb tensor(const char *name, int type)
{
	struct pb t = {0};
	pb_int(&t, 1, 2);
	pb_int(&t, 2, (uint64_t)type);
	pb_str(&t, 8, name);
	return t;
}

static void entry(struct pb *to, int field, const char *key, const char *value)
{
	struct pb e = {0};
	pb_str(&e, 1, key);
	pb_str(&e, 2, value);
	pb_msg(to, field, e);
}

static void opset(struct pb *model, const char *domain, int version)
{
	struct pb o = {0};
	pb_str(&o, 1, domain);
	pb_int(&o, 2, (uint64_t)version);
	pb_msg(model, 8, o);
}

/* x -> inside -> y. */
static struct pb model_of(struct pb graph)
{
	struct pb m = {0};
	pb_int(&m, 1, 8);
	pb_str(&graph, 2, "g");
	pb_msg(&graph, 11, value_info("x", 1));
	pb_msg(&graph, 12, value_info("y", 1));
	pb_msg(&m, 7, graph);
	opset(&m, "", 17);
	return m;
}

static struct pb one_node(struct pb n)
{
	struct pb g = {0};
	pb_msg(&g, 1, n);
	return model_of(g);
}

/* y = x + w */
static struct pb with_tensor(struct pb t)
{
	struct pb g = {0}, n = node("Add", "x", "y");
	pb_str(&n, 1, "w");
	pb_msg(&g, 1, n);
	pb_msg(&g, 5, t);
	return model_of(g);
}

/* Runs the command on t.onnx: exit code, and if it is not 0, one line on standard error that holds the text and
 * no file t.g. */
static bool says(const char *command, int code, const char *text)
{
	char err[4096];
	int status = system(command);
	FILE *f = fopen("err", "r");
	size_t n = fread(err, 1, sizeof err - 1, f);
	fclose(f);
	err[n] = 0;
	char *line = strchr(err, '\n');
	bool one = code == 0 ? n == 0 : line && !line[1];
	bool good =
		WIFEXITED(status) && WEXITSTATUS(status) == code && strstr(err, text) && one && (code == 0) == (access("t.g", F_OK) == 0);
	if (!good)
		printf("# %s: status %d, said: %s\n", command, status, err);
	unlink("t.g");
	return good;
}

/* What ge-import says of it, every tool that reads models says. */
static void expect(const char *what, struct pb file, int code, const char *text)
{
	static const char *const readers[] = {"ge-stat --json t.onnx 2>err", "ge-dump t.onnx -o t.g 2>err", "run-ref t.onnx 2>err",
					      "run-cmp t.onnx t.onnx 2>err", "hone build -q t.onnx -o t 2>err"};
	pb_save(file, "t.onnx");
	bool good = says("ge-import t.onnx -o t.g 2>err", code, text);
	for (size_t i = 0; code && i < sizeof readers / sizeof *readers; i++)
		good &= says(readers[i], code, text);
	ok(good, "%s", what);
}

static struct pb external(const char *location, const char *offset, const char *length)
{
	struct pb t = tensor("w", FLOAT);
	pb_int(&t, 14, 1);
	entry(&t, 13, "location", location);
	if (offset)
		entry(&t, 13, "offset", offset);
	if (length)
		entry(&t, 13, "length", length);
	return with_tensor(t);
}

static void external_data(void)
{
	FILE *f = fopen("w.bin", "wb");
	fwrite("0123456789abcdef", 1, 16, f);
	fclose(f);
	mkdir("sub", 0777);
	ok(link("w.bin", "sub/w.bin") == 0 && symlink("../w.bin", "sub/link.bin") == 0 && symlink("sub", "sublink") == 0 &&
		   mkfifo("pipe", 0666) == 0,
	   "files for external data");
	expect("external data", external("w.bin", "8", "8"), 0, "");
	expect("external data below", external("sub/w.bin", NULL, NULL), 0, "");
	expect("external data past the end", external("w.bin", "12", "8"), 65, "which has 16");
	expect("external data at an offset of 2^64", external("w.bin", "18446744073709551608", "8"), 65, "which has 16");
	struct pb twice = tensor("w", FLOAT);
	pb_int(&twice, 14, 1);
	entry(&twice, 13, "location", "sub/w.bin");
	entry(&twice, 13, "location", "w.bin");
	expect("external data in two places", with_tensor(twice), 65, "its location twice");
	expect("external offset no number", external("w.bin", "0x8", "8"), 65, "not a number");
	expect("external length that does not fit", external("w.bin", "0", "16"), 65, "8 bytes by its type");
	expect("external data above", external("../w.bin", NULL, NULL), 65, "leaves the model's directory");
	expect("external data above, hidden", external("sub/../../w.bin", NULL, NULL), 65, "leaves the model's directory");
	expect("external data at an absolute path", external("/etc/passwd", NULL, NULL), 65, "not a relative path");
	expect("external data nowhere", external("", NULL, NULL), 65, "not a relative path");
	expect("external data behind a link", external("sub/link.bin", NULL, NULL), 65, "link");
	expect("external data behind a link to a directory", external("sublink/w.bin", NULL, NULL), 65, "link");
	expect("external data in a pipe", external("pipe", NULL, NULL), 65, "not a regular file");
	expect("external data in a directory", external("sub", NULL, NULL), 65, "not a regular file");
	expect("external data missing", external("gone.bin", NULL, NULL), 66, "gone.bin");
}

static void tensors(void)
{
	struct pb t = tensor("w", FLOAT);
	pb_raw(&t, 9, "01234567", 8);
	expect("raw data", with_tensor(t), 0, "");
	t = tensor("w", FLOAT);
	pb_raw(&t, 9, "0123456", 7);
	expect("raw data of the wrong size", with_tensor(t), 65, "8 bytes by its type and shape, 7");
	t = tensor("w", FLOAT);
	pb_raw(&t, 9, "01234567", 8);
	pb_raw(&t, 4, "01234567", 8);
	expect("data in two fields", with_tensor(t), 65, "more than one field");
	t = tensor("w", FLOAT);
	pb_raw(&t, 4, "0123456", 7);
	expect("packed floats cut short", with_tensor(t), 65, "do not fill");
	t = tensor("w", FLOAT);
	expect("no data", with_tensor(t), 65, "2 elements by its shape, 0");
	t = tensor("w", FLOAT);
	pb_int(&t, 1, (uint64_t)-1);
	expect("a negative dimension", with_tensor(t), 65, "negative dimension");
	t = tensor("w", FLOAT);
	pb_int(&t, 1, 1ull << 62);
	pb_int(&t, 1, 1ull << 62);
	expect("more elements than can be", with_tensor(t), 65, "larger than memory");
	t = tensor("w", 22);
	pb_raw(&t, 9, "0123456", 7);
	expect("4-bit integers of another shape", with_tensor(t), 65, "1 bytes by its type and shape, 7 in its data");
	t = tensor("w", 23);
	pb_raw(&t, 9, "0123456", 7);
	expect("4-bit floats of another shape", with_tensor(t), 65, "1 bytes by its type and shape, 7 in its data");
	t = tensor("w", 99);
	expect("no such type", with_tensor(t), 69, "type 99");
	struct pb g = {0}, n = node("Cast", "x", "y"), to = {0};
	pb_str(&to, 1, "to");
	pb_int(&to, 3, 21);
	pb_int(&to, 20, 2);
	pb_msg(&n, 5, to);
	pb_msg(&g, 1, n);
	expect("a cast to 4-bit integers", model_of(g), 0, "");
	g = (struct pb){0}, n = node("Add", "x", "y");
	t = tensor("w", INT64);
	pb_raw(&t, 9, "0123456789abcdef", 16);
	pb_str(&n, 1, "w");
	pb_msg(&g, 1, n);
	pb_msg(&g, 5, t);
	pb_msg(&g, 11, value_info("w", 1));
	expect("an initializer of another type than the input", model_of(g), 65,
	       "initializer 'w' is of int64, the input of that name of float");
	t = tensor("w", 0);
	expect("a tensor without a type", with_tensor(t), 65, "no element type");
}

static struct pb sparse(int64_t index)
{
	struct pb s = {0}, v = {0}, i = {0}, g = {0}, n = node("Add", "x", "y");
	pb_int(&v, 1, 1);
	pb_int(&v, 2, FLOAT);
	pb_str(&v, 8, "w");
	pb_raw(&v, 9, "0123", 4);
	pb_int(&i, 1, 1);
	pb_int(&i, 2, INT64);
	pb_raw(&i, 9, &index, 8);
	pb_msg(&s, 1, v);
	pb_msg(&s, 2, i);
	pb_int(&s, 3, 2);
	pb_str(&n, 1, "w");
	pb_msg(&g, 1, n);
	pb_msg(&g, 15, s);
	return model_of(g);
}

/* If within If within If ... */
static struct pb nested(int depth)
{
	struct pb g = {0};
	pb_msg(&g, 1, node("Identity", "x", "z"));
	pb_msg(&g, 12, value_info("z", 1));
	while (depth--) {
		struct pb n = node("If", "c", "z"), a = {0}, b = {0}, up = {0};
		pb_str(&a, 1, "then_branch");
		pb_raw(&a, 6, g.p, g.n);
		pb_int(&a, 20, 5);
		pb_str(&b, 1, "else_branch");
		pb_int(&b, 20, 5);
		pb_msg(&b, 6, (struct pb){0});
		pb_msg(&n, 5, a);
		pb_msg(&n, 5, b);
		pb_msg(&up, 1, n);
		pb_msg(&up, 12, value_info("z", 1));
		free(g.p);
		g = up;
	}
	return model_of(g);
}

/* f0 calls f1 calls f2 ...; the last one calls `last`. */
static struct pb chain(int length, const char *last)
{
	struct pb m = one_node((struct pb){0});
	char name[16], next[16];
	m.n = 0;
	struct pb g = {0}, n = node("f0", "x", "y");
	pb_str(&n, 7, "own");
	pb_msg(&g, 1, n);
	m = model_of(g);
	opset(&m, "own", 1);
	for (int i = 0; i < length; i++) {
		struct pb f = {0};
		snprintf(name, sizeof name, "f%d", i);
		snprintf(next, sizeof next, "f%d", i + 1);
		pb_str(&f, 1, name);
		pb_str(&f, 4, "a");
		pb_str(&f, 5, "b");
		pb_str(&f, 10, "own");
		bool end = i == length - 1;
		n = node(end ? last : next, "a", "b");
		if (!end || last[0] == 'f')
			pb_str(&n, 7, "own");
		pb_msg(&f, 7, n);
		struct pb o = {0};
		pb_str(&o, 1, "");
		pb_int(&o, 2, 17);
		pb_msg(&f, 9, o);
		pb_msg(&m, 25, f);
	}
	return m;
}

static void attr_graph(struct pb *node, const char *name, struct pb graph)
{
	struct pb a = {0};
	pb_str(&a, 1, name);
	pb_raw(&a, 6, graph.p, graph.n);
	pb_int(&a, 20, 5);
	pb_msg(node, 5, a);
}

/* So many nodes that read what is around them. */
static struct pb body(int count)
{
	struct pb g = {0};
	char name[16];
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof name, "z%d", i);
		pb_msg(&g, 1, node("Relu", "a", name));
	}
	pb_msg(&g, 12, value_info("z0", 2));
	return g;
}

/* Each function calls the next twice: 2^n nodes, or as many Ifs with branches of so many nodes. */
static struct pb doubling(int length, int branch)
{
	struct pb g = {0}, n = node("f0", "x", "y");
	char name[16], next[16];
	pb_str(&n, 7, "own");
	pb_msg(&g, 1, n);
	struct pb m = model_of(g);
	for (int i = 0; i < length; i++) {
		struct pb f = {0};
		snprintf(name, sizeof name, "f%d", i);
		snprintf(next, sizeof next, "f%d", i + 1);
		bool end = i == length - 1;
		pb_str(&f, 1, name);
		pb_str(&f, 4, "a");
		pb_str(&f, 5, "c");
		pb_str(&f, 10, "own");
		for (int k = 0; k < 2; k++) {
			n = node(!end ? next : branch ? "If" : "Relu", k ? "b" : "a", k ? "c" : "b");
			if (!end) {
				pb_str(&n, 7, "own");
			} else if (branch) {
				struct pb b = body(branch);
				attr_graph(&n, "then_branch", b);
				attr_graph(&n, "else_branch", b);
				free(b.p);
			}
			pb_msg(&f, 7, n);
		}
		pb_msg(&m, 25, f);
	}
	return m;
}

static void graphs(void)
{
	struct pb g = {0}, n, a = {0}, m;
	expect("a sound model", one_node(node("Relu", "x", "y")), 0, "");
	expect("an undefined name", one_node(node("Relu", "nobody", "y")), 65, "g/y (Relu): 'nobody' is not defined");
	expect("an output nobody defines", one_node(node("Relu", "x", "z")), 65, "'y' is not defined");
	pb_msg(&g, 1, node("Relu", "b", "y"));
	pb_msg(&g, 1, node("Relu", "a", "b"));
	pb_msg(&g, 1, node("Relu", "x", "a"));
	expect("nodes in any order", model_of(g), 0, "");
	g = (struct pb){0};
	pb_msg(&g, 1, node("Relu", "b", "a"));
	pb_msg(&g, 1, node("Relu", "a", "b"));
	pb_msg(&g, 1, node("Relu", "x", "y"));
	expect("a cycle", model_of(g), 65, "cycle");
	g = (struct pb){0};
	pb_msg(&g, 1, node("Relu", "x", "y"));
	pb_msg(&g, 1, node("Relu", "x", "y"));
	expect("a name defined twice", model_of(g), 65, "'y' is defined twice");
	g = (struct pb){0};
	pb_msg(&g, 1, node("Relu", "b", "a"));
	pb_msg(&g, 1, node("Relu", "a", "b"));
	pb_msg(&g, 1, node("Relu", "x", "b"));
	expect("a name defined twice that closes a cycle", model_of(g), 65, "'b' is defined twice");
	expect("too few operands", one_node(node("Conv", "x", "y")), 65, "Conv");
	g = (struct pb){0};
	pb_msg(&g, 1, node("Softmax", "x", "a"));
	pb_msg(&g, 1, node("Add", NULL, "y"));
	m = model_of(g);
	opset(&m, "", 11);
	expect("no operands, beside a node whose conversion needs types", m, 65, "(Add): 0 operands, not 2");
	n = node("Sum", "x", "y");
	pb_str(&n, 1, "");
	pb_str(&n, 1, "x");
	expect("an operand that is left out", one_node(n), 65, "(Sum): operand 1 is missing");
	n = node("LeakyRelu", "x", "y");
	pb_str(&a, 1, "alpha");
	pb_int(&a, 3, 1);
	pb_str(&a, 4, "one");
	pb_msg(&n, 5, a);
	expect("an attribute with two values", one_node(n), 65, "two values");
	n = node("Relu", "x", "y");
	pb_str(&n, 7, "com.example");
	expect("another domain", one_node(n), 0, "");
	n = node("Fused", "x", "y");
	pb_str(&n, 7, "hone");
	expect("our own domain", one_node(n), 65, "'hone'");
	expect("graphs 3 deep, one empty", nested(3), 65, "");
	expect("graphs 3,000 deep", nested(3000), 65, "more than 64 deep");
	expect("a function", chain(1, "Relu"), 0, "");
	expect("functions 50 deep", chain(50, "Relu"), 0, "");
	expect("functions 3,000 deep", chain(3000, "Relu"), 65, "more than 100 deep");
	expect("functions in a circle", chain(3, "f1"), 65, "calls itself");
	expect("functions that double", doubling(10, 0), 0, "");
	expect("functions that explode", doubling(60, 0), 65, "expand to more");
	expect("functions of Ifs", doubling(3, 2), 0, "");
	expect("functions of Ifs that explode", doubling(7, 10000), 65, "expand to more");
	expect("a sparse initializer", sparse(1), 0, "");
	expect("a sparse index out of range", sparse(2), 65, "out of range");
	expect("a negative sparse index", sparse(-1), 65, "out of range");
	m = one_node(node("Relu", "x", "y"));
	opset(&m, "", 29);
	expect("a newer opset", m, 65, "newer than 28");
	m = one_node(node("Relu", "x", "y"));
	opset(&m, "ai.onnx", 0);
	expect("an opset too old", m, 65, "no opset of ai.onnx");
}

static void wire(void)
{
	struct pb m = {0};
	pb_int(&m, 1, 8);
	expect("no graph", m, 65, "no graph");
	m = (struct pb){0};
	pb_int(&m, 7, 8);
	expect("a graph that is a number", m, 65, "wrong kind");
	m = (struct pb){0};
	pb_bytes(&m, "\x0b\x0c", 2);
	expect("a group", m, 65, "t.onnx:0: an unknown kind of field");
	m = (struct pb){0};
	pb_bytes(&m, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12);
	expect("a number of 11 bytes", m, 65, "t.onnx:1: ");
	m = (struct pb){0};
	pb_bytes(&m, "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10);
	expect("a length of 2^62", m, 65, "cut short");
	m = (struct pb){0};
	pb_bytes(&m, "\x02\x00", 2);
	expect("field 0", m, 65, "field number");
}

static void odd_names(void)
{
	struct pb g = {0}, n = {0};
	pb_str(&n, 1, "x");
	pb_raw(&n, 2, "a\0b", 3);
	pb_str(&n, 4, "Relu");
	pb_msg(&g, 1, n);
	n = (struct pb){0};
	pb_str(&n, 1, "x");
	pb_raw(&n, 2, "a\0c", 3);
	pb_str(&n, 4, "Abs");
	pb_msg(&g, 1, n);
	n = (struct pb){0};
	pb_raw(&n, 1, "a\0b", 3);
	pb_raw(&n, 1, "a\0c", 3);
	pb_str(&n, 2, "y");
	pb_str(&n, 3, "new\nline");
	pb_str(&n, 4, "Add");
	pb_msg(&g, 1, n);
	expect("names with NUL stay apart", model_of(g), 0, "");
	g = (struct pb){0};
	n = (struct pb){0};
	pb_str(&n, 1, "nobody");
	pb_str(&n, 2, "y");
	pb_str(&n, 3, "Frob\nnicate");
	pb_str(&n, 4, "Relu");
	pb_msg(&g, 1, n);
	expect("a newline in a message", model_of(g), 65, "Frob\\x0anicate");
}

static volatile unsigned char changing[24];
static volatile bool enough;

static void *change(void *unused)
{
	while (!enough)
		changing[1] ^= 0x80;
	return unused;
}

/* A mapped file that another program writes: what the scan looked at is what it keeps. The number is 1, and a field of no meaning
 * behind it; or it takes that field's tag as well, and a name is behind it. Both are sound, a mixture is not. */
static void file_that_changes(void)
{
	pthread_t writer;
	long mixed = 0;

	memcpy((void *)changing,
	       "\x08\x01\xf2\x01\x12\x11"
	       "abcdefghijklmnopq",
	       23);
	pthread_create(&writer, NULL, change, NULL);
	for (int i = 0; i < 300000; i++) {
		struct skeleton s;
		wire_scan("t.onnx", (const unsigned char *)changing, 23, &s);
		mixed += s.n == 2 ? s.p[1] != 1 : s.n != 23 || s.p[1] != 0x81;
		free(s.p);
	}
	enough = true;
	pthread_join(writer, NULL);
	ok(!mixed, "a file that changes while it is scanned (%ld mixtures)", mixed);
}

int main(void)
{
	file_that_changes();
	graphs();
	tensors();
	external_data();
	wire();
	odd_names();
	return tap_done();
}
