/* Stages and buffers by name: numbered when the name is taken, found when others are gone, quickly when there are many. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "loop/loop.h"
#include "loop/prim.h"
#include "target/target.h"
#include "tap.h"

static const int64_t shape[] = {4};

static stage_id copy_of(struct loop_prog *p, const char *name, buf_id from, enum scope s)
{
	stage_id c = stage_new(p, name, DT_F32, s, 1, shape, "i");
	stage_body(p, c, COMB_NONE, ex_read(p, from, 1, (poly[]){stage_axis(p, c, 0)}));
	return c;
}

static const char *name_of(struct loop_prog *p, stage_id s) { return sym_str(lstage(p, s)->name); }

static void numbers(void)
{
	struct loop_prog *p = prog_new(target_host());
	buf_id x = buf_new(p, "x", DT_F32, SCOPE_IN, 1, shape);
	stage_id a = copy_of(p, "s", x, SCOPE_SCRATCH), b = copy_of(p, "s", lstage(p, a)->out, SCOPE_SCRATCH);
	stage_id c = copy_of(p, "s", lstage(p, b)->out, SCOPE_OUT);

	ok(!strcmp(name_of(p, a), "s") && !strcmp(name_of(p, b), "s2") && !strcmp(name_of(p, c), "s3"), "s, s2, s3");
	ok(stage_find(p, "s2") == b && buf_find(p, "s3") == lstage(p, c)->out && buf_find(p, "x") == x, "each is found");
	ok(!stage_find(p, "x") && !stage_find(p, "s4") && !stage_find(p, ""), "what is not there is not");
	prog_start(p);
	ok(!prim_inline(p, "s2") && !stage_find(p, "s2") && stage_find(p, "s3") == c, "a stage that is inlined is not found");
	ok(buf_find(p, "s2") == lstage(p, b)->out, "its buffer is");
	stage_id again = copy_of(p, "s", x, SCOPE_SCRATCH);
	ok(!strcmp(name_of(p, again), "s2") && stage_find(p, "s2") == again, "and its name is free");
	ok(!strcmp(sym_str(lbuf(p, lstage(p, again)->out)->name), "s22"), "that of its buffer is not");
	prog_free(p);
}

/* Seconds for n buffers of one name, each found again. */
static double seconds_for(int n, int *wrong)
{
	struct loop_prog *p = prog_new(target_host());
	clock_t start = clock();

	for (int i = 0; i < n; i++)
		buf_new(p, "x", DT_F32, SCOPE_IN, 1, shape);
	for (buf_id b = 1; b < p->bufs.n; b++)
		*wrong += buf_find(p, sym_str(lbuf(p, b)->name)) != b || lbuf(p, b)->operand != (int)b - 1;
	prog_free(p);
	return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static void many(void)
{
	int wrong = 0;
	double few = seconds_for(4000, &wrong), all = seconds_for(40000, &wrong);

	ok(!wrong, "44,000 buffers of one name: numbered, found");
	ok(all < 1 || all < 40 * few, "ten times as many take ten times as long, not a hundred times: %.3f and %.3f s", few, all);
}

int main(void)
{
	numbers();
	many();
	return tap_done();
}
