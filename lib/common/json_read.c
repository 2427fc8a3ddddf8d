#include <math.h>
#include <stdint.h>
#include <string.h>
#include "common/json_read.h"
#include "common/msg.h"

void json_open(struct json_in *j, const char *path, const char *text, size_t n)
{
	*j = (struct json_in){.path = path, .start = text, .p = text, .end = text + n, .first = true};
}

static noreturn void bad(const struct json_in *j, const char *why)
{
	die(EX_BADDATA, "%s:%td: no JSON: %s", j->path, j->p - j->start, j->p >= j->end ? "it stops in the middle" : why);
}

static void blanks(struct json_in *j)
{
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\t' || *j->p == '\n' || *j->p == '\r'))
		j->p++;
}

static unsigned hex4(struct json_in *j)
{
	unsigned v = 0;
	if (j->end - j->p < 4) {
		j->p = j->end;
		bad(j, "");
	}
	for (int i = 0; i < 4; i++, j->p++) {
		char c = *j->p;
		if (c >= '0' && c <= '9')
			v = 16 * v + (unsigned)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			v = 16 * v + (unsigned)((c | 32) - 'a' + 10);
		else
			bad(j, "expected four hexadecimal digits");
	}
	return v;
}

static void push_utf8(struct json_in *j, uint32_t c)
{
	if (c < 0x80) {
		vec_push(&j->text, (char)c);
		return;
	}
	int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	vec_push(&j->text, (char)((0xff00u >> (more + 1)) | (c >> (6 * more))));
	while (more--)
		vec_push(&j->text, (char)(0x80 | (c >> (6 * more) & 0x3f)));
}

static void escape(struct json_in *j)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	if (j->p >= j->end)
		bad(j, "");
	char c = *j->p++;
	const char *at = c ? strchr(from, c) : NULL;
	if (at) {
		vec_push(&j->text, to[at - from]);
		return;
	}
	if (c != 'u') {
		j->p--;
		bad(j, "unknown escape");
	}
	uint32_t v = hex4(j);
	if (v >= 0xd800 && v < 0xdc00 && j->end - j->p >= 6 && j->p[0] == '\\' && j->p[1] == 'u') {
		const char *back = j->p;
		j->p += 2;
		uint32_t low = hex4(j);
		if (low >= 0xdc00 && low < 0xe000)
			v = 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
		else
			j->p = back;
	}
	push_utf8(j, v ? v : 0xfffd);
}

static void string(struct json_in *j)
{
	j->text.n = 0;
	for (j->p++;;) {
		const char *run = j->p;
		while (j->p < j->end && *j->p != '"' && *j->p != '\\' && (unsigned char)*j->p >= ' ')
			j->p++;
		size_t n = (size_t)(j->p - run);
		vec_reserve(&j->text, j->text.n + n + 1);
		memcpy(j->text.a + j->text.n, run, n);
		j->text.n += n;
		if (j->p >= j->end || (unsigned char)*j->p < ' ')
			bad(j, "a control character in a string");
		if (*j->p++ == '"')
			break;
		escape(j);
	}
	vec_push(&j->text, 0);
}

static void number(struct json_in *j)
{
	char text[64], *stop;
	size_t n = 0;
	while (n < sizeof text - 1 && j->p + n < j->end && strchr("+-.0123456789eE", j->p[n]) && j->p[n]) {
		text[n] = j->p[n];
		n++;
	}
	text[n] = 0;
	j->number = strtod(text, &stop);
	if (stop == text || *stop || !isfinite(j->number))
		bad(j, "a malformed number");
	j->p += n;
}

static enum json_token word(struct json_in *j)
{
	static const char *const words[] = {"true", "false", "null", "NaN", "Infinity", "-Infinity"}; /* the last three: Python's */
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i]);
		if ((size_t)(j->end - j->p) < n || memcmp(j->p, words[i], n))
			continue;
		j->p += n;
		j->text.n = 0;
		vec_reserve(&j->text, n + 1);
		memcpy(j->text.a, words[i], n + 1);
		return JSON_WORD;
	}
	bad(j, "expected a value");
}

static enum json_token open_level(struct json_in *j, bool object)
{
	if (j->depth == JSON_DEPTH)
		bad(j, "nested too deep");
	j->object[j->depth++] = object;
	j->first = true;
	j->p++;
	return object ? JSON_OBJECT : JSON_ARRAY;
}

static enum json_token value(struct json_in *j)
{
	j->first = j->after_key = false;
	switch (*j->p) {
	case '{': return open_level(j, true);
	case '[': return open_level(j, false);
	case '"': string(j); return JSON_STRING;
	}
	if ((*j->p >= '0' && *j->p <= '9') || (*j->p == '-' && j->end - j->p > 1 && j->p[1] != 'I')) {
		number(j);
		return JSON_NUMBER;
	}
	return word(j);
}

/* In an object or an array, at what follows a value or the opening bracket. */
static enum json_token element(struct json_in *j)
{
	bool object = j->object[j->depth - 1];
	if (*j->p == (object ? '}' : ']')) {
		j->p++;
		j->depth--;
		j->first = false;
		return object ? JSON_OBJECT_END : JSON_ARRAY_END;
	}
	if (!j->first) {
		if (*j->p != ',')
			bad(j, object ? "expected ',' or '}'" : "expected ',' or ']'");
		j->p++;
		blanks(j);
		if (j->p >= j->end)
			bad(j, "");
	}
	if (!object)
		return value(j);
	if (*j->p != '"')
		bad(j, "expected a name in quotes");
	string(j);
	blanks(j);
	if (j->p >= j->end || *j->p != ':')
		bad(j, "expected ':'");
	j->p++;
	j->after_key = true;
	return JSON_KEY;
}

enum json_token json_next(struct json_in *j)
{
	blanks(j);
	if (j->depth == 0 && !j->first) {
		if (j->p < j->end)
			bad(j, "something behind the value");
		return JSON_END;
	}
	if (j->p >= j->end)
		bad(j, "");
	return j->depth == 0 || j->after_key ? value(j) : element(j);
}

void json_skip(struct json_in *j, enum json_token t)
{
	int depth = j->depth - 1;
	if (t == JSON_OBJECT || t == JSON_ARRAY)
		while (j->depth > depth)
			json_next(j);
}

void json_close(struct json_in *j) { vec_free(&j->text); }
