#include <string.h>
#include "graph/kinds.h"

static bool starts(const char *s, size_t n, const char *with) { return strlen(with) < n && !memcmp(s, with, strlen(with)); }

/* The kind that n bytes of text say, which end in ')'; *skip: where the text of the inside begins. */
static enum kind kind_of(const char *s, size_t n, size_t *skip)
{
	static const struct {
		const char *word;
		enum kind kind;
	} words[] = {{"tensor(", KIND_TENSOR}, {"seq(", KIND_SEQUENCE}, {"optional(", KIND_OPTIONAL}, {"map(", KIND_MAP}};

	*skip = 0;
	if (!n || s[n - 1] != ')')
		return KIND_OTHER;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (!starts(s, n, words[i].word))
			continue;
		*skip = strlen(words[i].word);
		if (words[i].kind == KIND_MAP) {
			const char *comma = memchr(s, ',', n);
			if (!comma)
				return KIND_OTHER;
			*skip = (size_t)(comma + 1 - s);
		}
		return words[i].kind;
	}
	return KIND_OTHER;
}

enum kind type_kind(const struct type *t)
{
	size_t skip;

	return t->other ? kind_of(sym_str(t->other), sym_len(t->other), &skip) : KIND_TENSOR;
}

struct type type_inside(const struct type *t)
{
	const char *s = sym_str(t->other);
	size_t n = sym_len(t->other), skip;
	struct type in = {.rank = t->rank, .dims = t->dims};

	if (!t->other || kind_of(s, n, &skip) == KIND_OTHER)
		return type_none();
	s += skip;
	n -= skip + 1;
	switch (kind_of(s, n, &skip)) {
	case KIND_TENSOR: in.dtype = dtype_from_onnx(onnx_type_number(s + skip, n - skip - 1)); return in.dtype ? in : type_none();
	case KIND_OTHER: return type_none();
	default: in.other = intern_n(s, n); return in;
	}
}

struct type type_innermost(const struct type *t)
{
	struct type in = *t;

	while (in.other)
		in = type_inside(&in);
	return in;
}

bool type_lists_numbers(const struct type *t)
{
	struct type in = *t;
	enum kind k;

	while ((k = type_kind(&in)) == KIND_SEQUENCE || k == KIND_OPTIONAL)
		in = type_inside(&in);
	return t->other && !in.other && dtype_size(in.dtype);
}

enum dtype type_map_key(const struct type *t)
{
	const char *s = sym_str(t->other), *comma = strchr(s, ',');

	return type_kind(t) == KIND_MAP ? dtype_from_onnx(onnx_type_number(s + 4, (size_t)(comma - s) - 4)) : DT_NONE;
}

static struct type wrapped(const char *word, const struct type *of)
{
	struct type t = {.rank = of->rank, .dims = of->dims};

	if (of->other)
		t.other = intern_printf("%s(%s)", word, sym_str(of->other));
	else if (of->dtype)
		t.other = intern_printf("%s(tensor(%s))", word, onnx_type_name(dtype_to_onnx(of->dtype)));
	else
		return type_none();
	return t;
}

struct type type_sequence(const struct type *of) { return wrapped("seq", of); }
struct type type_optional(const struct type *of) { return wrapped("optional", of); }
