/* What the runner's client reads, under libFuzzer: hello and answers, as they come through a socket. The file is included
 * for a runner without a process. Seeds: what a service said (t-fuzz.sh records it). */
#include "../../lib/runner/client.c"
#include "refuse.h"

enum { LONGEST = 60000, ANSWERS_MAX = 10000 };

static struct runner *runner_of(int fd)
{
	struct runner *r = xcalloc(1, sizeof *r);

	r->fd = fd;
	r->command = xstrdup("fuzz");
	r->heard = now_seconds();
	r->last = INT64_MAX; /* all has been asked for */
	r->open = ANSWERS_MAX;
	mp_out_init(&r->out);
	return r;
}

static void check_answer(const struct runner_answer *x)
{
	const struct measurement *y = &x->result;

	must(!x->ended || x->why);
	must(y->verdict <= VERDICT_COUNT && y->npairs <= RUNNER_PAIRS_MAX);
	for (size_t i = 0; i < y->npairs; i++)
		must(y->pair[i].candidate <= INT64_MAX && y->pair[i].base <= INT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena a = {0};
	struct runner_answer x;
	int fd[2];

	if (n > LONGEST) /* what a socket holds */
		return 0;
	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) && send(fd[1], data, n, 0) == (ssize_t)n && !shutdown(fd[1], SHUT_WR));
	struct runner *r = runner_of(fd[0]);
	if (greet(r, 1, NULL)) {
		must(r->target && r->compiler && r->jobs > 0 && r->machine.cores > 0 && r->machine.vector_bytes >= 16);
		int k = 0;
		while (k < ANSWERS_MAX && runner_wait(&r, 1, 1, &a, &x) == 0 && !x.ended) {
			check_answer(&x);
			k++;
		}
		must(k == ANSWERS_MAX || x.ended);
	} else {
		must(r->ended && r->why);
	}
	runner_close(r);
	close(fd[1]);
	arena_release(&a);
	return 0;
}
