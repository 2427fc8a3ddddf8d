/* The readers of gradient tuning under libFuzzer; the first byte chooses: gradients, a curve, a plan, a profiler's
 * timeline, hosts. What they take keeps what their headers promise. Seeds: such files behind a byte 0 to 4. */
#define _GNU_SOURCE
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "comm/kineto.h"
#include "comm/curve.h"
#include "comm/grads.h"
#include "comm/plan.h"
#include "refuse.h"

/* tools/tune-grad; each is smaller. */
void team_hosts(void *team, const char *path);
union room {
	max_align_t align;
	char bytes[4096];
} opt, team;

static const char *file_of(const void *p, size_t n, int *fd)
{
	static char path[64];

	*fd = memfd_create("input", MFD_CLOEXEC);
	must(*fd >= 0 && write(*fd, p, n) == (ssize_t)n);
	snprintf(path, sizeof path, "/dev/fd/%d", *fd);
	return path;
}

static void try_grads(const char *path)
{
	struct grads g = {0};

	if (REFUSED(grads_read(&g, path)))
		return;
	for (size_t i = 0; i < g.at.n; i++)
		must(g.at.a[i].name && g.at.a[i].bytes >= 0 && isfinite(g.at.a[i].bytes) && (!i || g.at.a[i].ready >= g.at.a[i - 1].ready));
	grads_free(&g);
}

static void try_curve(const char *text)
{
	struct curve c = {0};

	if (REFUSED(curve_parse(&c, "curve", text)))
		return;
	must(c.at.n >= 2 && c.piece.n >= 1 && c.piece.a[0].from == 0);
	for (size_t i = 1; i < c.at.n; i++)
		must(c.at.a[i].bytes > c.at.a[i - 1].bytes && c.at.a[i].us >= c.at.a[i - 1].us);
	for (double bytes = 0; bytes < 1e12; bytes = 2 * bytes + 1)
		must(curve_at(&c, bytes) >= 0 && !isnan(curve_inverse(&c, bytes)));
	curve_free(&c);
}

static void try_plan(const char *text)
{
	struct grad tensor[] = {{"a", 8, 0}, {"b", 16, 1}, {"c", 4, 5}, {"d", 4, 5}};
	struct grads g = {.at = {tensor, 4, 4}};
	struct plan p = {0};

	if (!REFUSED(plan_parse(&p, "plan", text, &g)))
		plan_free(&p);
}

static void try_timeline(const char *path)
{
	struct kineto t = {0};

	if (REFUSED(kineto_read(&t, path)))
		return;
	for (int k = 0; k < SPAN_KINDS; k++)
		for (size_t i = 0; i < t.span[k].n; i++)
			must(t.span[k].a[i].to >= t.span[k].a[i].from && (!i || t.span[k].a[i].from >= t.span[k].a[i - 1].from));
	kineto_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	int fd;

	if (!n)
		return 0;
	const char *path = file_of(data + 1, n - 1, &fd);
	char *text = malloc(n);
	memcpy(text, data + 1, n - 1);
	text[n - 1] = 0;
	switch (data[0] % 5) {
	case 0: try_grads(path); break;
	case 1: try_curve(text); break;
	case 2: try_plan(text); break;
	case 3: try_timeline(path); break;
	default: team = (union room){0}, (void)REFUSED(team_hosts(&team, path));
	}
	free(text);
	close(fd);
	return 0;
}
