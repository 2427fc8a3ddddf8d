/* The reader of files of states under libFuzzer: it reads nothing outside the file, and what it takes is written as it was read. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include "refuse.h"
#include "source/checksum.in"
#include "source/state_file.h"

static const long shape[] = {2, 3}, one[] = {5}, open[] = {-1, 3}, now[] = {4, 3};
static const struct state_like like[] = {
	{"h", "f32", 2, shape, 24}, {"a longer name", "i64", 1, one, 40}, {"", "bool", 0, shape, 1}, {"open", "f32", 2, open, 0, 4}};
static const struct state_like then[] = {
	{"h", "f32", 2, shape, 24}, {"a longer name", "i64", 1, one, 40}, {"", "bool", 0, shape, 1}, {"open", "f32", 2, now, 48, 4}};
enum { N = sizeof like / sizeof *like };
static const unsigned char digest[16] = {1, 2, 3};

/* A file that is right but for what the input changes in it: at a place, a byte. */
static char *mended(const uint8_t *data, size_t n, size_t size)
{
	char elements[64], *file = malloc(size);
	const void *const from[] = {elements, elements, elements, elements};

	for (size_t i = 0; i < sizeof elements; i++)
		elements[i] = n ? (char)data[i % n] : 0;
	state_file_write(then, N, from, digest, file);
	for (size_t i = 0; i + 2 < n && i < 12; i += 3)
		file[(data[i] << 8 | data[i + 1]) % size] = (char)data[i + 2];
	if (n && data[0] & 1) { /* a sum that fits the rest */
		struct state_head head;
		memcpy(&head, file, sizeof head);
		head.sum = state_sum(file, size);
		memcpy(file, &head, sizeof head);
	}
	return file;
}

static void read_it(const char *file, size_t size)
{
	struct state_found found[N];
	char why[100];
	const char *bad = state_file_read(like, N, digest, file, size, found, why, sizeof why);

	if (bad) {
		must(*bad);
		return;
	}
	struct state_like again[N];
	const void *from[N];
	long extent[N][2] = {{0}};
	for (int i = 0; i < N; i++) {
		again[i] = like[i];
		for (int k = 0; k < like[i].rank; k++)
			extent[i][k] = (long)found[i].shape[k];
		again[i].shape = extent[i];
		if (i == N - 1)
			again[i].bytes = extent[i][0] < 0 ? 0 : (size_t)extent[i][0] * 12;
		from[i] = found[i].data;
		must(found[i].data >= file + STATE_HEAD && found[i].data + again[i].bytes <= file + size);
	}
	must(size == state_file_bytes(again, N));
	char *copy = malloc(size);
	state_file_write(again, N, from, digest, copy);
	must(!state_file_read(like, N, digest, copy, size, found, why, sizeof why));
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	size_t size = state_file_bytes(then, N);
	char *file = mended(data, n, size), *copy = malloc(n + 1);

	memcpy(copy, data, n);
	read_it(copy, n);
	read_it(file, size);
	free(copy);
	file = realloc(file, size - n % size); /* cut short */
	read_it(file, size - n % size);
	free(file);
	return 0;
}
