/* Values of the file, the tokenizer's too, as metadata of the model: key and text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/json.h"
#include "common/textfile.h"
#include "common/vec.h"
#include "onnx/gguf/gguf.h"

typedef VEC(char) chars;

/* A NUL within becomes U+2400, as in all names of models. */
static void put_string(FILE *f, struct gguf_text t, chars *room)
{
	room->n = 0;
	for (size_t i = 0; i < t.n; i++)
		for (const char *s = t.p[i] ? (char[]){t.p[i], 0} : "\xe2\x90\x80"; *s; s++)
			vec_push(room, *s);
	vec_push(room, 0);
	json_str(f, room->a);
}

static void put_number(FILE *f, int type, const unsigned char *p)
{
	if (type == GGUF_BOOL)
		fputs(gguf_int_at(type, p) ? "true" : "false", f);
	else if (type == GGUF_F32 || type == GGUF_F64)
		fprintf(f, "%.*g", type == GGUF_F32 ? 9 : 17, gguf_number_at(type, p));
	else if (type == GGUF_U64)
		fprintf(f, "%llu", (unsigned long long)gguf_int_at(type, p));
	else
		fprintf(f, "%lld", (long long)gguf_int_at(type, p));
}

static void put_array(FILE *f, const struct gguf_value *v)
{
	const unsigned char *p = v->at;
	chars room = {0};

	putc('[', f);
	for (uint64_t i = 0; i < v->count; i++) {
		if (i)
			putc(',', f);
		if (v->element == GGUF_STRING) {
			put_string(f, gguf_text_at(&p), &room);
		} else {
			put_number(f, v->element, p);
			p += gguf_type_size(v->element);
		}
	}
	putc(']', f);
	vec_free(&room);
}

static ProtobufCBinaryData text_of(const struct gguf_value *v, struct arena *a)
{
	const unsigned char *p = v->at;
	char *s = NULL;
	size_t n = 0;

	if (v->type == GGUF_STRING) {
		struct gguf_text t = gguf_text_at(&p);
		return (ProtobufCBinaryData){t.n, (uint8_t *)t.p};
	}
	FILE *f = textfile_open(&s, &n);
	if (v->type == GGUF_ARRAY)
		put_array(f, v);
	else
		put_number(f, v->type, p);
	textfile_close(f);
	ProtobufCBinaryData d = {n, arena_copy(a, s, n)};
	free(s);
	return d;
}

void gguf_props(const struct gguf *g, Onnx__ModelProto *to, struct arena *a)
{
	to->metadata_props = ARENA_ARRAY(a, Onnx__StringStringEntryProto *, g->nvalue + 1);
	for (size_t i = 0; i < g->nvalue; i++) {
		Onnx__StringStringEntryProto *e = ARENA_NEW(a, Onnx__StringStringEntryProto);
		*e = (Onnx__StringStringEntryProto)ONNX__STRING_STRING_ENTRY_PROTO__INIT;
		e->key = (ProtobufCBinaryData){g->value[i].key.n, (uint8_t *)g->value[i].key.p};
		e->value = text_of(&g->value[i], a);
		to->metadata_props[to->n_metadata_props++] = e;
	}
}
