/* Constants in turn: how many bytes of them, and which kernels share them. */
#include "runner/cold_weights.h"
#include "runner/runner.h"
#include "target/target.h"
#include "graph/module.h"
#include "tap.h"

/* A power of two of megabytes, up to where none are left in the third level. */
static void test_bytes(void)
{
	static const struct {
		int64_t model, l3, cold_bytes; /* MB */
	} cases[] = {{1, 16, 0},     {3, 16, 4},   {20, 4, 32},     {100, 4, 32},    {100, 16, 64},
		     {100, 32, 128}, {40, 32, 64}, {1000, 32, 128}, {1000, 256, 128}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tensor half = {.nbytes = (size_t)cases[i].model << 19};
		struct module *m = module_new();
		for (int k = 0; k < 2; k++)
			vec_push(&m->values, ((struct value){.kind = VAL_CONST, .tensor = &half}));
		struct target t = {.l2 = 1 << 20, .l3 = cases[i].l3 << 20};
		ok(runner_cold_bytes(m, &t) == (uint64_t)cases[i].cold_bytes << 20, "%d MB of constants, %d MB shared: %d in turn",
		   (int)cases[i].model, (int)cases[i].l3, (int)cases[i].cold_bytes);
		module_free(m);
	}
}

/* Which kernels go through the same copies of constants. */
static void test_join(void)
{
	enum { MORE = 1100 };
	static const struct {
		const char *type[2], *what;
		int64_t n[2];
		bool join;
	} cases[] = {{{"f32", "f32"}, "as many floats", {1000, 1000}, true},
		     {{"f32", "f32"}, "some more", {MORE, 1000}, true},
		     {{"f32", "f32"}, "some less", {1000, MORE}, true},
		     {{"f32", "f32"}, "twice as many", {2000, 1000}, false},
		     {{"i64", "i64"}, "integers", {1000, 1000}, false},
		     {{"f32", "f16"}, "two types", {1000, 2000}, false},
		     {{"f32", "f32"}, "a little too many", {300000, 300000}, true},
		     {{"f32", "f32"}, "far too many", {1 << 20, 1 << 20}, false}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct runner_buf buf[2];
		struct runner_build b[2];
		struct cold_weights r[2], was[2];
		for (int k = 0; k < 2; k++) {
			buf[k] = (struct runner_buf){cases[i].type[k], 1, &cases[i].n[k], k ? "marked" : "", cases[i].n[k], 0};
			b[k] = (struct runner_build){.nconst = 1, .buf = &buf[k]};
			was[k] = r[k] = cold_of(&b[k], 1 << 20);
		}
		cold_join(r, (const struct runner_build *const[2]){&b[0], &b[1]}, 1 << 20);
		bool one = r[0].stride == r[1].stride && r[0].copies == r[1].copies && r[0].copies > 1 && r[0].foreign && !r[1].foreign &&
			   r[0].stride >= was[0].stride && r[0].stride >= was[1].stride;
		bool two = true;
		for (int k = 0; k < 2; k++)
			two = two && r[k].stride == was[k].stride && r[k].copies == was[k].copies && !r[k].foreign;
		ok(cases[i].join ? one : two, "%s: %s", cases[i].what, cases[i].join ? "one set" : "two");
	}
}

int main(void)
{
	test_bytes();
	test_join();
	return tap_done();
}
