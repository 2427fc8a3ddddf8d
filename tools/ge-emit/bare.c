/* Models for machines without an operating system: which ones there are, and what they take of flash, memory and stack. */
#define _GNU_SOURCE
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "common/facts.h"
#include "common/shown.h"
#include "common/textfile.h"
#include "ge-emit.h"
#include "graph/pass.h"

void bare_check(struct emission *e)
{
	struct model *M = e->M;

	if (M->shaped)
		die(EX_NOTAVAIL, "--freestanding: a size is known only in a run; give it (hone bundle --set NAME=SIZE)");
	if (M->states.n)
		die(EX_NOTAVAIL, "--freestanding: the model keeps states; without --alias they are inputs and outputs");
	for (uint32_t c = 0; c < M->calls.n; c++) {
		const struct call *x = &M->calls.a[c];
		if (!call_has_kernel(x))
			die(EX_NOTAVAIL, "--freestanding: %s is no kernel: %s", node_where(M->m, x->node, &M->m->arena),
			    x->control ? "a branch or a loop, whose limits come from the environment"
			    : x->why   ? x->why
				       : "C that asks for memory");
	}
}

/* ---- what it takes ---- */

/* Little-endian fields of an object for 32 or 64 bits. */
struct object {
	unsigned char *p;
	size_t n;
	bool wide;
};

static uint64_t field(const struct object *o, uint64_t at, int bytes)
{
	uint64_t x = 0;

	for (int i = bytes; i-- > 0;)
		x = x << 8 | (at + (uint64_t)i < o->n ? o->p[at + (uint64_t)i] : 0);
	return x;
}

/* A field that is as wide as an address. */
static uint64_t word(const struct object *o, uint64_t at32, uint64_t at64) { return field(o, o->wide ? at64 : at32, o->wide ? 8 : 4); }

struct section_head {
	uint64_t type, flags, offset, size, link;
};

static struct section_head section_at(const struct object *o, uint64_t i)
{
	uint64_t at = word(o, offsetof(Elf32_Ehdr, e_shoff), offsetof(Elf64_Ehdr, e_shoff)) +
		      i * (o->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));

	return (struct section_head){field(o, at + 4, 4), word(o, at + offsetof(Elf32_Shdr, sh_flags), at + offsetof(Elf64_Shdr, sh_flags)),
				     word(o, at + offsetof(Elf32_Shdr, sh_offset), at + offsetof(Elf64_Shdr, sh_offset)),
				     word(o, at + offsetof(Elf32_Shdr, sh_size), at + offsetof(Elf64_Shdr, sh_size)),
				     field(o, at + (o->wide ? offsetof(Elf64_Shdr, sh_link) : offsetof(Elf32_Shdr, sh_link)), 4)};
}

/* The names that the object leaves to others, with blanks between them. */
static const char *open_names(const struct object *o, const struct section_head *symbols, struct arena *a)
{
	struct section_head names = section_at(o, symbols->link);
	uint64_t each = o->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	const char *list = "";

	for (uint64_t at = symbols->offset + each; at + each <= symbols->offset + symbols->size; at += each) {
		uint64_t section = field(o, at + (o->wide ? offsetof(Elf64_Sym, st_shndx) : offsetof(Elf32_Sym, st_shndx)), 2);
		uint64_t name = names.offset + field(o, at, 4);
		if (section == SHN_UNDEF && name < o->n && o->p[name])
			list = arena_printf(a, "%s%s%s", list, *list ? " " : "", (const char *)o->p + name);
	}
	return list;
}

static struct object read_object(const char *path)
{
	FILE *f = fopen(path, "r");
	struct stat st;
	struct object o = {0};

	if (!f || fstat(fileno(f), &st))
		die_errno(EX_IO, "%s", path);
	o.n = (size_t)st.st_size;
	o.p = xmalloc(o.n + 1);
	if (fread(o.p, 1, o.n, f) != o.n)
		die_errno(EX_IO, "%s", path);
	fclose(f);
	o.p[o.n] = 0;
	o.wide = o.n > EI_CLASS && o.p[EI_CLASS] == ELFCLASS64;
	return o;
}

static bool is_kernel(const struct emission *e, const char *name)
{
	for (size_t i = 0; i < e->functions.a.n; i++)
		if (!strcmp(e->functions.a.a[i].name, name))
			return true;
	return false;
}

/* The deepest stack of a run, as gcc counts frames (-fstack-usage): run, steps, a kernel, and what either calls. */
struct depth {
	uint64_t run, steps, kernel, other;
};
enum {
	LEVELS = 4,      /* of calls, whose return addresses may not be counted, */
	STACK_ALIGN = 16 /* nor what aligns a frame to longer vectors than the calls do */
};

static void add_frame(const struct emission *e, struct depth *d, const char *function, uint64_t bytes)
{
	uint64_t *most = !strcmp(function, "steps") ? &d->steps : is_kernel(e, function) ? &d->kernel : &d->other;

	if (!strncmp(function, e->name, strlen(e->name)) && function[strlen(e->name)] == '_')
		most = &d->run;
	*most = bytes > *most ? bytes : *most;
}

static void read_frames(const struct emission *e, const char *path, struct depth *d)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t size;

	while (f && textfile_line(f, path, &line, &size)) {
		char *tab = strchr(line, '\t'), *name;
		if (!tab)
			continue;
		*tab = 0;
		name = strrchr(line, ':');
		add_frame(e, d, name ? name + 1 : line, strtoull(tab + 1, NULL, 10));
	}
	free(line);
	if (f)
		fclose(f);
}

void bare_measure(struct emission *e, const char *dir, const char *stem, struct bare_needs *needs)
{
	struct arena *a = &e->M->m->arena;
	struct object o = read_object(arena_printf(a, "%s/%s.o", dir, stem));
	struct depth d = {0};
	uint64_t count = field(&o, o.wide ? offsetof(Elf64_Ehdr, e_shnum) : offsetof(Elf32_Ehdr, e_shnum), 2);
	for (uint64_t i = 1; i < count; i++) {
		struct section_head s = section_at(&o, i);
		bool kept = s.flags & SHF_ALLOC && s.type != SHT_NOBITS;
		needs->flash += kept ? s.size : 0;
		needs->ram += s.flags & SHF_ALLOC && s.flags & SHF_WRITE ? s.size : 0;
		if (s.type == SHT_SYMTAB)
			needs->calls = open_names(&o, &s, a);
	}
	for (int part = 0; part <= e->functions.nparts; part++)
		read_frames(e, arena_printf(a, "%s/%s.%d.su", dir, stem, part), &d);
	uint64_t vector = (uint64_t)e->target->vector_bytes, more = (o.wide ? 8 : 4) + (vector > STACK_ALIGN ? vector : 0);
	needs->stack = d.run + d.steps + d.kernel + d.other + LEVELS * more;
	free(o.p);
}

void bare_tell(const struct emission *e, const struct bare_needs *x, bool report)
{
	facts_text("compiler", target_compiler(e->target));
	facts_text("flags", arena_printf(&e->M->m->arena, BARE_CFLAGS " %s", target_cflags(e->target)));
	facts_number("flash", (double)x->flash);
	facts_number("ram", (double)x->ram);
	facts_number("stack", (double)x->stack);
	facts_text("calls", x->calls);
	if (report)
		printf("flash %" PRIu64 " bytes, RAM %" PRIu64 " bytes, stack %" PRIu64 " bytes; calls %s\n", x->flash, x->ram, x->stack,
		       *x->calls ? shown(x->calls) : "nothing");
}
