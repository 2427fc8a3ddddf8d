/* Offsets in an arena: what lives at the same time does not overlap, arenas are near their bound, the same every time. */
#include <stdlib.h>
#include <string.h>
#include "model/assign.h"
#include "common/rng.h"
#include "common/tool.h"
#include "tap.h"

const struct tool tool = {.name = "assign"};

enum { CASES = 40, PAGE = 4096 };

static bool overlap(int64_t a, int64_t n, int64_t b, int64_t m) { return a < b + m && b < a + n; }

static bool sound(const struct block *b, size_t n, int64_t all, int64_t values)
{
	for (size_t i = 0; i < n; i++) {
		if (b[i].offset < 0 || b[i].offset % BLOCK_ALIGN || b[i].offset + b[i].bytes > all ||
		    (!b[i].workspace && b[i].offset + b[i].bytes > values))
			return false;
		for (size_t k = 0; k < i; k++)
			if (b[i].first <= b[k].last && b[k].first <= b[i].last && overlap(b[i].offset, b[i].bytes, b[k].offset, b[k].bytes))
				return false;
	}
	return true;
}

/* A chain with branches: most values live from one call to the next, some longer; some calls have workspace. */
static size_t random_blocks(struct block *b, struct rng *r, size_t n)
{
	size_t k = 0;

	for (uint32_t call = 0; k < n; call++) {
		int64_t bytes = BLOCK_ALIGN * rng_range(r, 1, (int64_t)1 << rng_range(r, 1, 12));
		uint32_t last = call + (uint32_t)(rng_range(r, 0, 3) ? 1 : rng_range(r, 1, 12));
		b[k] = (struct block){.bytes = bytes, .first = call, .last = last};
		for (uint32_t c = call; c <= last; c += last - call)
			vec_push(&b[k].calls, c);
		k++;
		if (k < n && !rng_range(r, 0, 2)) {
			b[k] = (struct block){.bytes = BLOCK_ALIGN * rng_range(r, 1, 2000), .first = call, .last = call, .workspace = true};
			vec_push(&b[k].calls, call);
			k++;
		}
	}
	return k;
}

static void forget(struct block *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		vec_free(&b[i].calls);
}

static void test_random(void)
{
	struct rng r = {7};
	int unsound = 0, near = 0, twice = 0;

	for (int c = 0; c < CASES; c++) {
		struct block b[80];
		int64_t before[80], values, again;
		size_t n = random_blocks(b, &r, (size_t)rng_range(&r, 1, 80));
		int64_t all = assign_offsets(b, n, &values), bound = assign_bound(b, n);
		unsound += !sound(b, n, all, values) || values < bound;
		near += (double)values <= 1.05 * (double)bound + PAGE;
		for (size_t i = 0; i < n; i++)
			before[i] = b[i].offset;
		twice += assign_offsets(b, n, &again) != all || again != values;
		for (size_t i = 0; i < n; i++)
			twice += b[i].offset != before[i];
		forget(b, n);
	}
	ok(unsound == 0, "%d of %d arenas are unsound", unsound, CASES);
	ok(near >= CASES * 95 / 100, "%d of %d are within 5%% and a page of the bound", near, CASES);
	ok(twice == 0, "twice is the same");
}

/* So many alive at once that gaps are not looked for. */
static void test_many(void)
{
	enum { MANY = 20000 };
	struct block *b = xcalloc(MANY, sizeof *b);
	int64_t values, all;

	for (uint32_t i = 0; i < MANY; i++) {
		b[i] = (struct block){.bytes = BLOCK_ALIGN, .first = i, .last = MANY};
		vec_push(&b[i].calls, i);
		vec_push(&b[i].calls, MANY);
	}
	all = assign_offsets(b, MANY, &values);
	ok(all == (int64_t)MANY * BLOCK_ALIGN && values == all && assign_bound(b, MANY) == all, "all of %d alive at once", MANY);
	forget(b, MANY);
	free(b);
	ok(assign_offsets(NULL, 0, &values) == 0 && values == 0, "no block");
}

/* Sizes of whole pages: what one call touches begins elsewhere in its page. */
static void test_pages(void)
{
	struct block b[8] = {{0}};
	int64_t values;
	int like = 0;

	for (uint32_t i = 0; i < 8; i++) {
		b[i] = (struct block){.bytes = PAGE * (i + 1), .first = 0, .last = 1};
		vec_push(&b[i].calls, 0);
	}
	assign_offsets(b, 8, &values);
	for (int i = 0; i < 8; i++)
		for (int k = 0; k < i; k++)
			like += b[i].offset % PAGE == b[k].offset % PAGE;
	ok(like == 0, "no two begin alike in their page");
	forget(b, 8);
}

int main(void)
{
	test_random();
	test_many();
	test_pages();
	return tap_done();
}
