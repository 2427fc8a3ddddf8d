/* Kinds of CPU: names and rows that say them, sections of text that are theirs, rows of instructions that can be read. */
#include <stdlib.h>
#include <string.h>
#include "common/tool.h"
#include "graph/types.h"
#include "loop/instr.h"
#include "loop/math.h"
#include "tap.h"
#include "target/backend.h"
#include "target/generic/generic.h"
#include "target/x86/x86.h"

const struct tool tool; /* the library's main() is not linked */

static const char caches[] = "l1=32K;l2=1024K;l3=32768K";

/* A target's row is that target, whatever this machine is. */
static void rows_are_their_targets(const struct backend *b)
{
	for (const struct level *l = b->level; l && l->name; l++) {
		struct target t, again;
		bool found = target_find(l->name, &t) && t.of == b && t.features == l->features;
		char *row = strdup(target_row(&t));
		ok(found && target_find(row, &again) && again.of == b && again.features == t.features &&
			   again.vector_bytes == t.vector_bytes && again.vector_regs == t.vector_regs && !strcmp(target_row(&again), row),
		   "%s: its row is it", l->name);
		ok(strstr(target_names(), l->name) != NULL, "%s is among the names", l->name);
		ok(!strstr(row, ";arch=") == b->unnamed, "%s: the row says the kind of CPU, but of the first there was", l->name);
		free(row);
	}
}

static void rows_of_others(void)
{
	char row[128];
	struct target t;

	snprintf(row, sizeof row, "cpu=x;features=fma,avx2;%s", caches);
	ok(target_find(row, &t) && t.of == backend_find("x86", 3) && t.vector_bytes == 32, "a row of before there were kinds");
	snprintf(row, sizeof row, "cpu=x;features=fma,avx2;%s;arch=generic", caches);
	ok(!target_find(row, &t) && strstr(target_why_not(row), "x86's, not generic's"), "features of another kind: why");
	snprintf(row, sizeof row, "cpu=x;arch=pdp11;features=;%s", caches);
	ok(!target_find(row, &t), "a kind that is not here is no target");
	snprintf(row, sizeof row, "cpu=x;arch=arm;features=dotprod;l1=32K;l2=512K");
	ok(target_find(row, &t) && t.l3 == t.l2, "a machine without a third cache: what its second holds is all");
	snprintf(row, sizeof row, "cpu=x;arch=arm;features=dotprod;l1=32K");
	ok(!target_find(row, &t), "a row without a second one");
	snprintf(row, sizeof row, "cpu=x;features=fma,avx512;%s", caches);
	ok(!target_find(row, &t) && !strcmp(target_why_not(row), "the row has avx512 without avx2"), "a row that contradicts itself: why");
	snprintf(row, sizeof row, "cpu=x;arch=arm;features=sve256,sve512;%s", caches);
	ok(!target_find(row, &t) && !strcmp(target_why_not(row), "the row has sve256 and sve512"), "vectors of two lengths: why");
	static const char *const faulty[][2] = {
		{"cpu=x;arch=vax;features=;l1=32K;l2=512K", "no such kind of CPU"},
		{"cpu=x;features=fma;l1=32K;l1=64K;l2=512K", "l1 twice"},
		{"cpu=x;arch=arm;arch=x86;features=;l1=32K;l2=512K", "arch twice"},
		{"cpu=x;features=fma;l1=-4K;l2=512K", "l1=-4K, which is no size"},
		{"cpu=x;features=fma;l1=32K", "lacks l2"},
		{"cpu=x;features=fma;l1=32K;l2=512K;rates=fma256:-5", "rates that are none"},
	};
	for (size_t i = 0; i < sizeof faulty / sizeof *faulty; i++)
		ok(!target_find(faulty[i][0], &t) && strstr(target_why_not(faulty[i][0]), faulty[i][1]), "a row with %s: why",
		   faulty[i][1]);
	ok(!strncmp(target_why_not("vax"), "there are native, ", 18), "else the names that there are");
}

static bool has_flag(const char *features, const char *flag)
{
	char row[128];
	struct target t;

	snprintf(row, sizeof row, "cpu=x;features=%s;%s", features, caches);
	return target_find(row, &t) && strstr(target_cflags(&t), flag);
}

static void flags_of_features(void)
{
	ok(has_flag("fma,avx2,avx512,vbmi", "-mavx512vbmi") && !has_flag("fma,avx2,avx512", "vbmi"), "vbmi: its flag");
	ok(has_flag("fma,avx2,avxvnni", "-march=x86-64-v3 -mavxvnni") && !has_flag("fma,avx2", "vnni"), "avxvnni: its flag, with AVX2");
	ok(has_flag("fma,avx2,avx512,vnni,bf16", " -mavx512vnni -mavx512bf16") && !has_flag("fma,avx2,avx512,vnni", "bf16"),
	   "bf16: its flag, with AVX-512");
}

static void rates_of_rows(void)
{
	char row[160];
	struct target t, again;

	snprintf(row, sizeof row, "cpu=x;features=fma,avx2;%s;rates=fma256:118.5,vdpbf16ps:200,l2:96", caches);
	bool found = target_find(row, &t);
	ok(found && target_fma_rate(&t) == 118.5e9 && target_rate(&t, "l2") == 96e9, "a row says rates");
	ok(!target_rate(&t, "vdpbf16ps") && !target_rate(&t, "memory"), "none of what it lacks, or what is not known");
	ok(!strstr(target_row(&t), "rates"), "they are no part of what it is");
	again = t;
	ok(rates_parse(&again, rates_text(&t), strlen(rates_text(&t))) && !memcmp(again.rate, t.rate, sizeof t.rate),
	   "their text is read again");
	ok(!rates_parse(&again, "l2:96,l2:97", 11), "a rate twice is none");
	ok(instr_dot(&t, DT_BF16, DT_BF16, false) == 0, "no dot product of bf16 without the instruction");
	snprintf(row, sizeof row, "cpu=x;features=fma,avx2,avx512,bf16;%s", caches);
	ok(target_find(row, &t) && !instr_dot(&t, DT_BF16, DT_BF16, false), "nor where it was not measured");
	snprintf(row, sizeof row, "cpu=x;features=fma,avx2,avx512,bf16;%s;rates=fma512:200,vdpbf16ps:110", caches);
	ok(target_find(row, &t) && !instr_dot(&t, DT_BF16, DT_BF16, false), "nor where it was, and is slower");
	snprintf(row, sizeof row, "cpu=x;features=fma,avx2,avx512,bf16;%s;rates=fma512:118,vdpbf16ps:236", caches);
	ok(target_find(row, &t) && instr_dot(&t, DT_BF16, DT_BF16, false) == instr_find(&t, "vdpbf16ps"), "else it is taken");
	snprintf(row, sizeof row, "cpu=x;arch=arm;features=bf16;%s;rates=fma128:20,bfdot:40", caches);
	ok(target_find(row, &t) && instr_rate(&t, DT_BF16) == 40e9 && !instr_rate(&t, DT_F16) &&
		   instr_dot(&t, DT_BF16, DT_BF16, false) == instr_find(&t, "bfdot"),
	   "rates of another kind of CPU, by the type that they are of");
	snprintf(row, sizeof row, "cpu=x;features=fma,avx2;%s;rates=fma256:much", caches);
	ok(!target_find(row, &t), "a rate that is no number");
}

static void ports_of_rates(void)
{
	struct target t;
	char row[160];

	for (int wide = 118; wide <= 236; wide += 118) {
		snprintf(row, sizeof row, "cpu=x;features=fma,avx2,avx512;%s;rates=fma256:118,fma512:%d", caches, wide);
		ok(target_find(row, &t) && !t.ports && t.fma_ports == 2, "a row says itself how many ports there are");
		t.of->measured(&t);
		ok(t.ports == (wide == 118) && t.fma_ports == (wide == 118 ? 1 : 2), "of this machine its rates do");
	}
}

/* clock: additions that wait for each other, one a cycle. */
static void ports_of_a_clock(void)
{
	static const struct {
		const char *features;
		int rate, ports;
	} cases[] = {{"dotprod", 20, 1}, {"dotprod", 47, 2},  {"dotprod", 71, 3},
		     {"dotprod", 95, 4}, {"dotprod", 190, 4}, {"sve256", 95, 2}};
	char row[160];
	struct target t;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(row, sizeof row, "cpu=x;arch=arm;features=%s;%s;rates=fma128:%d,clock:3", cases[i].features, caches,
			 cases[i].rate);
		bool found = target_find(row, &t);
		t.of->measured(&t);
		ok(found && t.fma_ports == cases[i].ports, "%d operations at a clock of 3, %s: %d ports", cases[i].rate, cases[i].features,
		   t.fma_ports);
	}
	snprintf(row, sizeof row, "cpu=x;arch=arm;features=;fma128=3;%s;rates=fma128:95,clock:3", caches);
	bool found = target_find(row, &t);
	t.of->measured(&t);
	ok(found && t.fma_ports == 3, "what is known of a machine is not measured");
	ok(target_find("armv8.6-a+4x128", &t) && t.fma_ports == 4 && strstr(target_row(&t), ";fma128=4;"), "a name for four ports");
}

static void ports_of_rows(void)
{
	struct target t;
	char row[160];

	for (int ports = 1; ports <= 5; ports++) {
		snprintf(row, sizeof row, "cpu=x;arch=arm;features=dotprod;fma128=%d;%s", ports, caches);
		bool found = target_find(row, &t);
		ok(found == (ports <= 4) && (!found || (t.fma_ports == ports && !!strstr(target_row(&t), "fma128") == (ports != 2))),
		   "%d ports of AArch64", ports);
	}
	snprintf(row, sizeof row, "cpu=x;arch=arm;features=sve256;fma128=4;%s", caches);
	ok(target_find(row, &t) && t.fma_ports == 2, "longer vectors have two");
}

static const char *written(const struct target *t, const char *text)
{
	char *out;
	size_t n;
	FILE *f = open_memstream(&out, &n);

	target_text(f, t, text);
	fclose(f);
	return out;
}

static void sections(void)
{
	static const struct text_section own[] = {
		{"front", "#if A\na\n#else\n", true}, {"whole", "w\n", false}, {"inner", "i\n", false}, {NULL}};
	static const struct backend none, some = {.text = own};
	static const char text[] = "0 @# @NAME@\n@{front\n1\n@{inner\n2\n@}\n3\n@}\n@{whole\n4\n@{inner\n5\n@}\n@}\n@{other\n6\n@}\n7\n";
	struct target a = {.of = &none, .vector_bytes = 16}, b = {.of = &some, .vector_bytes = 32};

	ok(!strcmp(written(&a, text), "0 4 @NAME@\n1\n2\n3\n4\n5\n6\n7\n"), "text without sections of one's own");
	ok(!strcmp(written(&b, text), "0 8 @NAME@\n#if A\na\n#else\n1\ni\n3\n#endif\nw\n6\n7\n"), "in front, instead, within another");
	ok(!strcmp(written(&b, ""), ""), "no text");
}

static bool has_section(const char *text, const char *name)
{
	char start[64];

	snprintf(start, sizeof start, "@{%s\n", name);
	return text && strstr(text, start);
}

/* Is it a section of ge-emit's texts of libraries, or of hone's of bundles? */
static bool of_library(const char *name)
{
	static const char *const all[] = {"asks", "eight_halves", "flush_denormals", "flush_no_more", "flush_always", "pause", "process"};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(all[i], name))
			return true;
	return false;
}

static void sections_are_there(const struct backend *b)
{
	for (const struct text_section *s = b->text; s && s->name; s++) {
		bool there = of_library(s->name) || has_section(generic_prelude, s->name);
		for (enum math_fn fn = 1; fn < FN_COUNT; fn++)
			there = there || has_section(math_row(fn)->helper, s->name);
		ok(there, "%s: there is a section %s", b->name, s->name);
	}
}

static bool is_dtype(const char *name) { return !name || dtype_parse(name, strlen(name)) != DT_NONE; }

static void instructions(const struct backend *b)
{
	struct target t = {.of = b};

	for (const struct instr *r = b->instr; r && r->name; r++) {
		int n = instr_find(&t, r->name);
		ok(n && instr_row(n) == r && is_dtype(r->out.dtype) && r->out.dtype && is_dtype(r->in[0].dtype) &&
			   is_dtype(r->in[1].dtype) && r->helper &&
			   (r->accumulator != NULL) == (r->comb != NULL && !r->whole), /* sums that are set need none */
		   "%s: instruction %s", b->name, r->name);
	}
}

static void what_runs_here(void)
{
	struct target t = *target_host();
	const char *lacks;

	ok(target_find("native", &t) && t.of == backend_here() && !target_pass_for(&t), "this machine passes for itself");
	ok(target_find("generic", &t) && !target_pass_for(&t) && target_host()->of == &backend_generic, "and for any");
	ok(backend_here() == t.of || backend_here()->detect, "which does not change what it is");
	lacks = target_find("x86-64", &t) ? target_pass_for(&t) : NULL;
	ok(lacks && !strcmp(lacks, "x86"), "then no more for another kind: it lacks %s", lacks ? lacks : "nothing");
}

int main(void)
{
	ok(backends[0] == &backend_generic, "the generic kind is the first");
	for (const struct backend *const *b = backends; *b; b++) {
		ok(backend_find((*b)->name, strlen((*b)->name)) == *b, "%s by name", (*b)->name);
		rows_are_their_targets(*b);
		sections_are_there(*b);
		instructions(*b);
	}
	rows_of_others();
	flags_of_features();
	rates_of_rows();
	ports_of_rates();
	ports_of_a_clock();
	ports_of_rows();
	sections();
	ok(!instr_find(&(struct target){.of = &backend_generic}, "vpdpbusd") && instr_find(NULL, "vpdpbusd") &&
		   !instr_find(NULL, "no such"),
	   "instructions of one kind are no other's");
	what_runs_here();
	return tap_done();
}
