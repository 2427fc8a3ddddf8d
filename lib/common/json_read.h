/* JSON in, token by token: nothing is kept, so a file may be large. What is not JSON ends in die(65) with file and offset. */
#ifndef HONE_JSON_READ_H
#define HONE_JSON_READ_H
#include <stdbool.h>
#include <stddef.h>
#include "common/vec.h"

enum json_token { JSON_END, JSON_OBJECT, JSON_OBJECT_END, JSON_ARRAY, JSON_ARRAY_END, JSON_KEY, JSON_STRING, JSON_NUMBER, JSON_WORD };
enum { JSON_DEPTH = 256 };

struct json_in {
	const char *path; /* for messages */
	const char *start, *p, *end;
	VEC(char) text; /* of a key, a string (escapes undone, NUL-terminated), or true, false, null */
	double number;
	int depth;
	bool object[JSON_DEPTH]; /* what is open */
	bool first, after_key;   /* nothing of what is open has been read; a value comes next */
};
/* n bytes that outlive j. */
void json_open(struct json_in *j, const char *path, const char *text, size_t n);
enum json_token json_next(struct json_in *j);
/* The value that begins with token t, which json_next gave, to its end. */
void json_skip(struct json_in *j, enum json_token t);
void json_close(struct json_in *j);
#endif
