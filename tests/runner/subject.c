/* The process a candidate runs in, when it or all of the try is stopped meanwhile. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/progress.h"
#include "runner/process.h"
#include "runner/try_impl.h"
#include "tap.h"

struct started {
	struct regions regions;
	struct subject subject;
};

static bool start(struct started *x)
{
	memset(x, 0, sizeof *x);
	regions_add(&x->regions, 5000, REGION_RESULT);
	if (regions_open(&x->regions))
		return false;
	x->subject = (struct subject){.regions = &x->regions, .limits = {.memory = 80 << 20, .cpu = TRY_CPU_SECONDS}};
	return !subject_start(&x->subject);
}

static void end(struct started *x)
{
	subject_end(&x->subject);
	close(x->subject.channel);
	munmap(x->subject.shared, sizeof *x->subject.shared);
	regions_close(&x->regions);
}

static enum answer begin(struct started *x, double seconds)
{
	return subject_order(&x->subject, (struct order){.kind = ORDER_START}, seconds);
}

/* As one is that leaves its group in the moment in which that is stopped. */
static void test_stopped(void)
{
	enum { SECONDS = 20 };
	struct started x;
	int status;

	if (!ok(start(&x), "a process"))
		return;
	kill(x.subject.pid, SIGSTOP);
	ok(waitpid(x.subject.pid, &status, WUNTRACED) == x.subject.pid && WIFSTOPPED(status), "it stands still");
	double from = now_seconds();
	enum answer answer = begin(&x, SECONDS);
	double took = now_seconds() - from;
	ok(answer == ANSWER_DONE && took < SECONDS / 2, "it begins nevertheless: %d, after %g seconds", (int)answer, took);
	end(&x);
}

/* Both stand still for longer than the deadline; then there is time to answer. */
static void test_stood_still(void)
{
	enum { DEADLINE_MS = 300, WAITS_MS = 40, STILL_MS = 2000 };
	int ready[2], status = -1;
	char byte;
	pid_t parent = getpid();

	if (!ok(!pipe(ready), "a pipe"))
		return;
	pid_t try = fork();
	if (!try) {
		struct started x;
		process_begin(parent);
		bool there = start(&x) && !kill(x.subject.pid, SIGSTOP) && write(ready[1], "", 1) == 1;
		enum answer answer = there ? begin(&x, 1e-3 * DEADLINE_MS) : ANSWER_REFUSED;
		end(&x);
		_exit((int)answer);
	}
	bool there = read(ready[0], &byte, 1) == 1;
	usleep(WAITS_MS * 1000);
	kill(-try, SIGSTOP);
	usleep(STILL_MS * 1000);
	kill(-try, SIGCONT);
	waitpid(try, &status, 0);
	ok(there && WIFEXITED(status) && WEXITSTATUS(status) == ANSWER_DONE,
	   "a try that stood still for longer than its deadline goes on: %d", status);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	test_stopped();
	test_stood_still();
	return tap_done();
}
