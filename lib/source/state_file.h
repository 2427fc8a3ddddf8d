/* Files of states, as compiled models write and read them. Plain C of its own: its text is part of every model that keeps states, and
 * tests/fuzz reads with it.
 *
 * A head of STATE_HEAD bytes, then for each state, filled up with zeros to a multiple of STATE_ALIGN, what it is, and, filled up so too,
 * its elements. Numbers are little-endian. */
#ifndef HONE_STATE_FILE_H
#define HONE_STATE_FILE_H
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define STATE_MAGIC "honestat"
enum { STATE_VERSION = 2, STATE_HEAD = 64, STATE_ALIGN = 64 };

struct state_head {
	char magic[8];
	uint32_t version, count;
	uint64_t bytes;           /* of the file */
	unsigned char digest[16]; /* of the model */
	uint64_t sum;             /* of the whole file, in which this is 0 */
	char zero[16];
};
struct state_item { /* then the extents (-1: it has no value yet), each an int64_t, and the name without a zero at its end */
	uint32_t name, rank;
	char type[16];
	uint64_t bytes; /* of the elements */
};
struct state_like { /* what a model keeps */
	const char *name, *type;
	int rank;
	const long *shape; /* -1: any size, when it is read */
	size_t bytes;      /* not read where a size is any; */
	size_t element;    /* then: of one element */
};
struct state_found { /* of a file */
	const char *data;
	int64_t shape[64];
};

static size_t state_round(size_t n) { return (n + STATE_ALIGN - 1) / STATE_ALIGN * STATE_ALIGN; }
static size_t state_item_bytes(const struct state_like *s)
{
	return state_round(sizeof(struct state_item) + (size_t)s->rank * sizeof(int64_t) + strlen(s->name));
}

static size_t state_file_bytes(const struct state_like *s, int n)
{
	size_t bytes = STATE_HEAD;

	for (int i = 0; i < n; i++)
		bytes += state_item_bytes(&s[i]) + state_round(s[i].bytes);
	return bytes;
}

/* What says of one state what it is: state_item_bytes of it. */
static void state_item_put(const struct state_like *s, char *to)
{
	struct state_item x = {(uint32_t)strlen(s->name), (uint32_t)s->rank, "", s->bytes};

	memset(to, 0, state_item_bytes(s));
	memcpy(x.type, s->type, strnlen(s->type, sizeof x.type - 1));
	memcpy(to, &x, sizeof x);
	to += sizeof x;
	for (int i = 0; i < s->rank; i++, to += sizeof(int64_t))
		memcpy(to, &(int64_t){s->shape[i]}, sizeof(int64_t));
	memcpy(to, s->name, x.name);
}

/* Of a file of size bytes, whatever its head says of its sum. A change of one byte always changes it. */
static uint64_t state_sum(const char *file, size_t size)
{
	struct state_head head;

	memcpy(&head, file, sizeof head);
	head.sum = 0;
	uint64_t sums[4] = {weights_sum(&head, sizeof head), weights_sum(file + STATE_HEAD, size - STATE_HEAD), size, 0};
	return weights_sum(sums, sizeof sums);
}

/* to: state_file_bytes of room. */
static void state_file_write(const struct state_like *s, int n, const void *const *data, const unsigned char *digest, char *to)
{
	struct state_head head = {STATE_MAGIC, STATE_VERSION, (uint32_t)n, state_file_bytes(s, n), {0}, 0, {0}};
	char *p = to + STATE_HEAD;

	for (int i = 0; i < n; i++) {
		size_t bytes = state_item_bytes(&s[i]), all = state_round(s[i].bytes);
		state_item_put(&s[i], p);
		memset(p + bytes + s[i].bytes, 0, all - s[i].bytes);
		memcpy(p + bytes, data[i], s[i].bytes);
		p += bytes + all;
	}
	memcpy(head.digest, digest, sizeof head.digest);
	memcpy(to, &head, sizeof head);
	head.sum = state_sum(to, head.bytes);
	memcpy(to, &head, sizeof head);
}

/* State s as the file has it from p on, of so many bytes. How many it takes; 0: it is another. */
static size_t state_item_read(const struct state_like *s, const char *p, size_t left, struct state_found *found)
{
	size_t bytes = state_item_bytes(s), want = s->element;
	struct state_item x;
	char type[sizeof x.type] = "";

	if (bytes > left || s->rank > 64)
		return 0;
	memcpy(&x, p, sizeof x);
	memcpy(type, s->type, strnlen(s->type, sizeof type - 1));
	if (x.name != strlen(s->name) || x.rank != (uint32_t)s->rank || memcmp(x.type, type, sizeof type))
		return 0;
	int any = 0, none = 0, zero = 0, large = 0; /* none: it had no value yet */
	for (int i = 0; i < s->rank; i++) {
		int64_t n;
		memcpy(&n, p + sizeof x + (size_t)i * sizeof n, sizeof n);
		found->shape[i] = n;
		any |= s->shape[i] < 0;
		if (s->shape[i] < 0 ? n < -1 : n != s->shape[i])
			return 0;
		none |= n < 0;
		zero |= n == 0;
		large |= __builtin_mul_overflow(want, n > 0 ? (size_t)n : 1, &want);
	}
	if (large && any && !none && !zero)
		return 0;
	want = !any ? s->bytes : none || zero ? 0 : want;
	if (memcmp(p + sizeof x + (size_t)s->rank * sizeof(int64_t), s->name, x.name) || x.bytes != want || want > left - bytes ||
	    state_round(want) > left - bytes)
		return 0;
	found->data = p + bytes;
	return bytes + state_round(want);
}

/* Its first STATE_HEAD bytes, or all if it has fewer: may a file begin so? NULL, or why not: at most `most` bytes in why. *bytes: how long it
 * says it is. */
static const char *state_head_read(const char *file, size_t size, const unsigned char *digest, uint64_t *bytes, char *why, size_t most)
{
	struct state_head head;

	if (size < sizeof head.magic || memcmp(file, STATE_MAGIC, sizeof head.magic))
		return "not a file of states";
	if (size < STATE_HEAD)
		return "cut short: its head is not whole";
	memcpy(&head, file, sizeof head);
	if (head.version != STATE_VERSION) {
		snprintf(why, most, "its version is %lu, this library reads %d", (unsigned long)head.version, STATE_VERSION);
		return why;
	}
	if (memcmp(head.digest, digest, sizeof head.digest))
		return "it is of another model";
	*bytes = head.bytes;
	return NULL;
}

/* What a file of so many bytes has of n states. NULL, or why not: at most `most` bytes in why. */
static const char *state_file_read(const struct state_like *s, int n, const unsigned char *digest, const char *file, size_t size,
				   struct state_found *found, char *why, size_t most)
{
	struct state_head head;
	size_t at = STATE_HEAD;
	uint64_t says = 0;
	const char *bad = state_head_read(file, size, digest, &says, why, most);

	if (bad)
		return bad;
	memcpy(&head, file, sizeof head);
	if (size != says) {
		snprintf(why, most, "%s: it has %zu bytes, its head says %llu", size < says ? "cut short" : "too long", size,
			 (unsigned long long)says);
		return why;
	}
	if (head.count != (uint32_t)n || size % STATE_ALIGN || state_sum(file, size) != head.sum)
		return "its bytes are not those that were written";
	for (int i = 0; i < n; i++) {
		size_t bytes = state_item_read(&s[i], file + at, size - at, &found[i]);
		if (!bytes) {
			snprintf(why, most, "state %s is of another type or shape there", s[i].name);
			return why;
		}
		at += bytes;
	}
	return at == size ? NULL : "it holds more than these states";
}
#endif
