/* Memory of a kernel's buffers: where they are timed, that it is not the same pages each
 * time, and that none is left behind. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runner/region.h"
#include "tap.h"

/* What its parent writes the process under test finds where it is timed, and its parent what results are there. */
static void check_timed(const struct regions *g)
{
	enum { RESULT, INPUT, CONSTANT };
	char *timed[3];
	bool same = true;

	for (int i = 0; i < 3; i++) {
		timed[i] = region_theirs(g, i, PLACE_TIMED);
		strcpy(region_ours(g, i, PLACE_TIMED), "parent");
	}
	ok(timed[RESULT] >= g->arena && timed[INPUT] > timed[RESULT] && timed[INPUT] + 5000 < g->arena + g->arena_size &&
		   (uintptr_t)g->arena % (2 << 20) == 0,
	   "results and inputs are timed in one piece, where large pages may lie");
	ok(timed[CONSTANT] == (char *)g->r.a[CONSTANT].theirs + region_offset(g, CONSTANT, PLACE_TIMED), "constants where they are");
	regions_to_timed(g, true);
	ok(!strcmp(timed[INPUT], "parent") && !*timed[RESULT] && !strcmp(timed[CONSTANT], "parent"), "inputs go there alone");
	regions_to_timed(g, false);
	for (int i = 0; i < 2; i++) {
		same &= !strcmp(timed[i], "parent");
		strcpy(timed[i], "child");
	}
	ok(same, "results too");
	regions_from_timed(g);
	ok(!strcmp(region_ours(g, RESULT, PLACE_TIMED), "child") && !strcmp(region_ours(g, INPUT, PLACE_TIMED), "parent"),
	   "results come back");
}

/* What was mapped for one try is not there when the process for the next is forked. */
static void test_regions(void)
{
	struct regions g = {0};
	unsigned char there;

	regions_add(&g, 5000, REGION_RESULT);
	regions_add(&g, 5000, REGION_INPUT);
	regions_add(&g, 5000, REGION_CONSTANT);
	const char *why = regions_open(&g);
	if (!ok(!why && !regions_map_theirs(&g, 1) && !regions_map_ours(&g), "regions"))
		return;
	check_timed(&g);
	char *ours[] = {g.r.a[0].ours, g.r.a[1].ours, g.reserve, g.arena};
	int left = 0;
	regions_close(&g);
	for (int i = 0; i < 4; i++)
		left += mincore((void *)((uintptr_t)ours[i] & ~(uintptr_t)4095), 1, &there) == 0 || errno != ENOMEM;
	ok(!left, "closed, none of them is mapped: %d", left);
}

/* Number of the page that lies there, by the system; 0: it does not say, or it is not part of a large page. */
static uint64_t large_page(const char *p)
{
	enum { PAGE = 4096, PAGES = 512 };
	uint64_t entry[2] = {0};
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	bool read = fd >= 0 && pread(fd, entry, sizeof entry, (off_t)((uintptr_t)p / PAGE * sizeof *entry)) == sizeof entry;
	uint64_t page = entry[0] & ((1ULL << 55) - 1);

	if (fd >= 0)
		close(fd);
	return read && page % PAGES == 0 && (entry[1] & ((1ULL << 55) - 1)) == page + 1 ? page : 0;
}

/* One process after another: which large page is memory timed in? */
static void test_pages(void)
{
	enum { RUNS = 40, FEWEST = 5 };
	uint64_t *page = mmap(NULL, RUNS * sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int distinct = 0, large = 0;

	for (int i = 0; i < RUNS; i++) {
		struct regions g = {0};
		regions_add(&g, 5000, REGION_RESULT);
		pid_t child = regions_open(&g) ? -1 : fork();
		if (!child) {
			page[i] = regions_map_theirs(&g, (uint64_t)i * 7) ? 0 : large_page(g.arena);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		regions_close(&g);
		large += page[i] != 0;
		bool seen = false;
		for (int k = 0; k < i; k++)
			seen |= page[k] == page[i];
		distinct += !seen;
	}
	if (large < RUNS)
		skip("which pages are timed in", "the system does not say, or gives no large ones");
	else
		ok(distinct >= FEWEST, "%d processes are timed in %d different large pages", RUNS, distinct);
}

int main(void)
{
	test_regions();
	test_pages();
	return tap_done();
}
