#include <stdio.h>
#include <string.h>
#include <stdint.h>
#include <stdbool.h>
#include "common/msg.h"
#include "common/vec.h"
#include "onnx/wire.h"

enum { GRAPH_DEPTH_MAX = 64, DEPTH_MAX = 4 * GRAPH_DEPTH_MAX };
enum { VARINT = 0, FIX64 = 1, BYTES = 2, GROUP = 3, GROUP_END = 4, FIX32 = 5 };

enum message {
	NONE,
	MODEL,
	GRAPH,
	NODE,
	ATTRIBUTE,
	TENSOR,
	SPARSE,
	TYPE,
	TYPE_TENSOR,
	TYPE_WRAPPED,
	TYPE_MAP,
	TYPE_OPAQUE,
	SHAPE,
	DIMENSION,
	VALUE_INFO,
	FUNCTION,
	OPSET,
	ENTRY,
	MESSAGES
};

static const char *const message_name[MESSAGES] = {
	"",
	"ModelProto",
	"GraphProto",
	"NodeProto",
	"AttributeProto",
	"TensorProto",
	"SparseTensorProto",
	"TypeProto",
	"TypeProto.Tensor",
	"TypeProto.Sequence",
	"TypeProto.Map",
	"TypeProto.Opaque",
	"TensorShapeProto",
	"Dimension",
	"ValueInfoProto",
	"FunctionProto",
	"OperatorSetIdProto",
	"StringStringEntryProto",
};

/* How a field that is kept is written: its wire type, a message, numbers packed or one by one. */
enum kind { DROP, K_VARINT, K_FIX32, K_BYTES, K_MESSAGE, K_VARINTS, K_FIX32S, K_FIX64S, K_RAW };
struct field {
	uint8_t kind, sub; /* enum kind, enum message */
};
enum { FIELD_MAX = 26 };

/* lib/onnx/onnx.proto as a table; the two agree field by field. */
static const struct field fields[MESSAGES][FIELD_MAX] = {
	[MODEL] = {[1] = {K_VARINT},
		   [2] = {K_BYTES},
		   [3] = {K_BYTES},
		   [4] = {K_BYTES},
		   [5] = {K_VARINT},
		   [6] = {K_BYTES},
		   [7] = {K_MESSAGE, GRAPH},
		   [8] = {K_MESSAGE, OPSET},
		   [14] = {K_MESSAGE, ENTRY},
		   [25] = {K_MESSAGE, FUNCTION}},
	[GRAPH] = {[1] = {K_MESSAGE, NODE},
		   [2] = {K_BYTES},
		   [5] = {K_MESSAGE, TENSOR},
		   [11] = {K_MESSAGE, VALUE_INFO},
		   [12] = {K_MESSAGE, VALUE_INFO},
		   [13] = {K_MESSAGE, VALUE_INFO},
		   [15] = {K_MESSAGE, SPARSE}},
	[NODE] = {[1] = {K_BYTES},
		  [2] = {K_BYTES},
		  [3] = {K_BYTES},
		  [4] = {K_BYTES},
		  [5] = {K_MESSAGE, ATTRIBUTE},
		  [7] = {K_BYTES},
		  [8] = {K_BYTES}},
	[ATTRIBUTE] = {[1] = {K_BYTES},
		       [2] = {K_FIX32},
		       [3] = {K_VARINT},
		       [4] = {K_BYTES},
		       [5] = {K_MESSAGE, TENSOR},
		       [6] = {K_MESSAGE, GRAPH},
		       [7] = {K_FIX32S},
		       [8] = {K_VARINTS},
		       [9] = {K_BYTES},
		       [10] = {K_MESSAGE, TENSOR},
		       [11] = {K_MESSAGE, GRAPH},
		       [14] = {K_MESSAGE, TYPE},
		       [15] = {K_MESSAGE, TYPE},
		       [20] = {K_VARINT},
		       [21] = {K_BYTES},
		       [22] = {K_MESSAGE, SPARSE},
		       [23] = {K_MESSAGE, SPARSE}},
	[TENSOR] = {[1] = {K_VARINTS},
		    [2] = {K_VARINT},
		    [4] = {K_FIX32S},
		    [5] = {K_VARINTS},
		    [6] = {K_BYTES},
		    [7] = {K_VARINTS},
		    [8] = {K_BYTES},
		    [9] = {K_RAW},
		    [10] = {K_FIX64S},
		    [11] = {K_VARINTS},
		    [13] = {K_MESSAGE, ENTRY},
		    [14] = {K_VARINT}},
	[SPARSE] = {[1] = {K_MESSAGE, TENSOR}, [2] = {K_MESSAGE, TENSOR}, [3] = {K_VARINTS}},
	[TYPE] = {[1] = {K_MESSAGE, TYPE_TENSOR},
		  [4] = {K_MESSAGE, TYPE_WRAPPED},
		  [5] = {K_MESSAGE, TYPE_MAP},
		  [7] = {K_MESSAGE, TYPE_OPAQUE},
		  [8] = {K_MESSAGE, TYPE_TENSOR},
		  [9] = {K_MESSAGE, TYPE_WRAPPED}},
	[TYPE_TENSOR] = {[1] = {K_VARINT}, [2] = {K_MESSAGE, SHAPE}},
	[TYPE_WRAPPED] = {[1] = {K_MESSAGE, TYPE}},
	[TYPE_MAP] = {[1] = {K_VARINT}, [2] = {K_MESSAGE, TYPE}},
	[TYPE_OPAQUE] = {[1] = {K_BYTES}, [2] = {K_BYTES}},
	[SHAPE] = {[1] = {K_MESSAGE, DIMENSION}},
	[DIMENSION] = {[1] = {K_VARINT}, [2] = {K_BYTES}},
	[VALUE_INFO] = {[1] = {K_BYTES}, [2] = {K_MESSAGE, TYPE}},
	[FUNCTION] = {[1] = {K_BYTES},
		      [4] = {K_BYTES},
		      [5] = {K_BYTES},
		      [6] = {K_BYTES},
		      [7] = {K_MESSAGE, NODE},
		      [9] = {K_MESSAGE, OPSET},
		      [10] = {K_BYTES},
		      [11] = {K_MESSAGE, ATTRIBUTE},
		      [13] = {K_BYTES}},
	[OPSET] = {[1] = {K_BYTES}, [2] = {K_VARINT}},
	[ENTRY] = {[1] = {K_BYTES}, [2] = {K_BYTES}},
};

/* The file is mapped, and may change while it is scanned: what was looked at is what is kept, no byte is fetched twice. */
struct scan {
	const char *path;
	const unsigned char *p;
	size_t n, at; /* the file; next byte to read */
	VEC(unsigned char) out;
	int depth, graphs;
	const char *looks; /* what the file seems to be, for a file that fails early; or NULL */
};

noreturn static void fail(const struct scan *s, size_t at, const char *what)
{
	if (s->looks)
		die(EX_BADDATA, "%s:0: %s", s->path, s->looks);
	die(EX_BADDATA, "%s:%zu: %s", s->path, at, what);
}

noreturn static void fail_in(const struct scan *s, size_t at, enum message m, const char *what)
{
	char text[256];
	snprintf(text, sizeof text, "%s (in a %s); damaged, or not an ONNX model", what, message_name[m]);
	fail(s, at, text);
}

static uint64_t varint(struct scan *s, size_t end, enum message m)
{
	size_t start = s->at;
	uint64_t v = 0;
	for (int shift = 0; shift < 64; shift += 7) {
		if (s->at >= end)
			fail_in(s, start, m, "a number runs past the end of its message");
		unsigned char c = s->p[s->at++];
		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return v;
	}
	fail_in(s, start, m, "a number of more than 10 bytes");
}

static void put(struct scan *s, const void *p, size_t n)
{
	vec_reserve(&s->out, s->out.n + n);
	memcpy(s->out.a + s->out.n, p, n);
	s->out.n += n;
}

static void put_varint(struct scan *s, uint64_t v)
{
	unsigned char b[10];
	int n = 0;
	for (; v >= 0x80; v >>= 7)
		b[n++] = (unsigned char)(v | 0x80);
	b[n++] = (unsigned char)v;
	put(s, b, (size_t)n);
}

/* Lengths of messages are known only after their contents: five bytes, filled in later. */
static void set_length(unsigned char *b, size_t n)
{
	for (int i = 0; i < 4; i++, n >>= 7)
		b[i] = (unsigned char)(n | 0x80);
	b[4] = (unsigned char)n;
}

static size_t length(struct scan *s, size_t end, enum message m, uint64_t number)
{
	size_t at = s->at;
	uint64_t n = varint(s, end, m);
	if (n > end - s->at) {
		char text[200];
		if (end == s->n && m == MODEL && number == 7)
			snprintf(text, sizeof text,
				 "cut short: the graph has %llu bytes, the file ends after %zu of "
				 "them",
				 (unsigned long long)n, end - s->at);
		else if (end == s->n && m == MODEL)
			snprintf(text, sizeof text,
				 "field %llu of ModelProto needs %llu bytes, the file has %zu "
				 "more; cut short, or not an ONNX model",
				 (unsigned long long)number, (unsigned long long)n, end - s->at);
		else
			snprintf(text, sizeof text,
				 "field %llu of %s needs %llu bytes, its message has %zu more; "
				 "damaged, or not an ONNX model",
				 (unsigned long long)number, message_name[m], (unsigned long long)n, end - s->at);
		fail(s, at, text);
	}
	return (size_t)n;
}

/* The n bytes of packed numbers at p, a copy of those at s->at, must be whole numbers. */
static void check_packed(const struct scan *s, enum kind k, const unsigned char *p, size_t n, enum message m)
{
	if ((k == K_FIX32S && n % 4) || (k == K_FIX64S && n % 8))
		fail_in(s, s->at, m, "packed numbers that do not fill their field");
	if (k == K_VARINTS && n && p[n - 1] & 0x80)
		fail_in(s, s->at + n - 1, m, "packed numbers that end within a number");
	if (k == K_VARINTS) {
		int run = 0;
		for (size_t i = 0; i < n; i++) {
			run = p[i] & 0x80 ? run + 1 : 0;
			if (run >= 10)
				fail_in(s, s->at + i, m, "a number of more than 10 bytes");
		}
	}
}

static bool wire_type_fits(enum kind k, int wire)
{
	switch (k) {
	case DROP: return true;
	case K_VARINT: return wire == VARINT;
	case K_FIX32: return wire == FIX32;
	case K_VARINTS: return wire == VARINT || wire == BYTES;
	case K_FIX32S: return wire == FIX32 || wire == BYTES;
	case K_FIX64S: return wire == FIX64 || wire == BYTES;
	default: return wire == BYTES;
	}
}

static void scan_message(struct scan *s, enum message m, size_t end);

static void scan_bytes(struct scan *s, enum message m, struct field f, uint64_t number, uint64_t tag, size_t end)
{
	size_t n = length(s, end, m, number);
	if (f.kind == K_RAW) {
		put_varint(s, 1000 << 3 | VARINT);
		put_varint(s, s->at);
		put_varint(s, 1001 << 3 | VARINT);
		put_varint(s, n);
		s->at += n;
	} else if (f.kind == K_MESSAGE) {
		put_varint(s, tag);
		size_t hole = s->out.n;
		put(s, "\0\0\0\0", 5);
		scan_message(s, f.sub, s->at + n);
		set_length(s->out.a + hole, s->out.n - hole - 5);
	} else if (f.kind != DROP) {
		put_varint(s, tag);
		put_varint(s, n);
		put(s, s->p + s->at, n);
		check_packed(s, f.kind, s->out.a + s->out.n - n, n, m);
		s->at += n;
	} else {
		s->at += n;
	}
}

static void scan_message(struct scan *s, enum message m, size_t end)
{
	if (m == GRAPH && ++s->graphs > GRAPH_DEPTH_MAX)
		fail(s, s->at, "graphs are nested more than 64 deep; no sound model is");
	if (++s->depth > DEPTH_MAX)
		fail(s, s->at, "messages are nested more than 256 deep; no sound model is");
	while (s->at < end) {
		size_t at = s->at;
		uint64_t tag = varint(s, end, m), number = tag >> 3;
		int wire = tag & 7;
		struct field f = number < FIELD_MAX ? fields[m][number] : (struct field){DROP};
		if (number == 0 || number > 536870911)
			fail_in(s, at, m, "field number out of range");
		if (wire > FIX32 || wire == GROUP || wire == GROUP_END)
			fail_in(s, at, m, "an unknown kind of field");
		if (!wire_type_fits(f.kind, wire))
			fail_in(s, at, m, "a field of the wrong kind");
		if (wire == BYTES) {
			scan_bytes(s, m, f, number, tag, end);
			continue;
		}
		size_t from = s->at;
		uint64_t v = 0;
		if (wire == VARINT)
			v = varint(s, end, m);
		else if ((size_t)(wire == FIX32 ? 4 : 8) > end - s->at)
			fail_in(s, at, m, "a number runs past the end of its message");
		else
			s->at += wire == FIX32 ? 4 : 8;
		if (f.kind == DROP)
			continue;
		put_varint(s, tag);
		if (wire == VARINT)
			put_varint(s, v);
		else
			put(s, s->p + from, s->at - from);
	}
	s->depth--;
	s->graphs -= m == GRAPH;
}

static bool starts(const unsigned char *p, size_t n, const char *with) { return n >= strlen(with) && !memcmp(p, with, strlen(with)); }

/* Files that people have instead of the model they wanted. */
static const char *other_kind(const unsigned char *p, size_t n)
{
	size_t i = 0;
	if (starts(p, n, "version https://git-lfs"))
		return "a git-LFS pointer, not the model; fetch it with `git lfs pull`";
	if (starts(p, n, "PK\3\4") || starts(p, n, "PK\5\6"))
		return "a zip archive (perhaps a .keras, .pt, .npz or a download), not an ONNX model; "
		       "unpack it or export it to ONNX; `python3 -m hone.keras FILE` builds one of Keras";
	if (starts(p, n, "\x1f\x8b") || starts(p, n, "\x28\xb5\x2f\xfd") ||
	    starts(p, n,
		   "\xfd"
		   "7zXZ") ||
	    starts(p, n, "BZh"))
		return "a compressed file; decompress it first";
	if (starts(p, n, "\x89HDF"))
		return "an HDF5 file (perhaps Keras), not an ONNX model; `python3 -m hone.keras FILE` exports and builds it";
	if (n >= 8 && !memcmp(p + 4, "ORTM", 4))
		return "an ONNX Runtime .ort file; use the .onnx it was made from";
	if (n >= 8 && !memcmp(p + 4, "TFL3", 4))
		return "a TensorFlow Lite file, not an ONNX model; `python3 -m hone.keras FILE` exports and builds it";
	if (starts(p, n, "hone-text"))
		return "the text form of a graph, not an ONNX model; ge-load reads it";
	if (starts(p, n, "\x93NUMPY"))
		return "a NumPy array, not an ONNX model";
	while (i < n && (p[i] == ' ' || p[i] == '\n' || p[i] == '\r' || p[i] == '\t'))
		i++;
	if (i < n && p[i] == '<')
		return "HTML or XML, not an ONNX model; a download that met a web page?";
	if (i < n && p[i] == '{')
		return "JSON text, not an ONNX model";
	return NULL;
}

void wire_scan(const char *path, const unsigned char *p, size_t n, struct skeleton *out)
{
	struct scan s = {.path = path, .p = p, .n = n, .looks = other_kind(p, n)};
	if (n == 0)
		die(EX_BADDATA, "%s:0: empty file; was the download or the copy interrupted?", path);
	scan_message(&s, MODEL, n);
	if (s.looks)
		fail(&s, 0, "");
	if (s.out.n > INT32_MAX)
		die(EX_NOTAVAIL, "%s: more than 2 GB besides raw_data; write its tensors as raw_data", path);
	out->p = s.out.a;
	out->n = s.out.n;
}
