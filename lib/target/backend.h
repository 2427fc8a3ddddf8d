/* What a kind of CPU is. A backend is a folder of lib/target that defines `const struct backend backend_FOLDER`; the Makefile finds
 * it, and nothing else names it. What it leaves out is as the generic backend has it: C that any CPU runs. */
#ifndef HONE_BACKEND_H
#define HONE_BACKEND_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "target/instr.h"
#include "target/rate.h"
#include "target/target.h"

enum { FEATURE_TAKES = 6 };
struct feature {
	const char *name;                 /* in rows */
	const char *takes[FEATURE_TAKES]; /* names of what a CPU is asked for (backend.asks); ends with NULL */
	bool gcc;                         /* clang cannot ask for them */
	const char *allowed;              /* a condition in C that must hold, too: the kernel lets a process use it. NULL: none */
	unsigned needs, excludes;         /* features that are there, or not, where it is: a row that says otherwise is none */
};
/* A target that has a name: this machine with these features, no more and no fewer. */
struct level {
	const char *name;
	unsigned features;
	int ports; /* as target.ports; 0: as this machine has where it is of the kind, else as most have */
};
/* The backend's own text for a section: of the generic prelude, of a function's text in loop/math.c, of a library (ge-emit). */
struct text_section {
	const char *name, *text;
	bool in_front; /* text is "#if .." to "#else": the generic text follows, and "#endif"; else it stands instead */
};
struct call_name {
	long number;
	const char *name;
};
/* A machine in ELF files (EM_..), and the relocations that a library of kernels has no need of: those that call a function for their
 * value; that copy as much as they like; that write two words. */
struct elf_machine {
	unsigned machine;
	uint32_t irelative, copy, descriptor;
};
typedef void guarded_fn(const void *const *in, const void *const *constants, void *const *out, char *workspace);

/* How this process does by hand what C cannot say. NULL: not at all. */
struct backend_process {
	const struct rate *rate; /* loops of single instructions (target/rate.h); ends with no name */
	/* Loads n bytes, a multiple of 4096, and does nothing with them. NULL: as C does. */
	void (*read)(const void *p, size_t n);
	void (*flush_denormals)(void);
	/* Puts the LITTER_BYTES there into registers that no caller keeps anything in. */
	void (*litter)(const void *bytes);
	/* f called on the stack that guard says, with the numbers there in the registers that it must keep. The value is 0 if registers and
	 * stack pointer are what they were. Nothing that f may have changed is used to find out. */
	uint64_t (*call)(guarded_fn *f, const void *const *in, const void *const *constants, void *const *out, char *workspace);
	struct guard_words *guard;
	/* How numbers are rounded, without what any code may change. */
	uint64_t (*rounding)(void);
	/* The sandbox: what the kernel calls this machine (AUDIT_ARCH_..; 0: not asked), and system calls that others do not have. */
	uint32_t audit_arch;
	const struct call_name *calls; /* ends with no name */
};
enum { LITTER_BYTES = 1024, GUARD_KEPT = 10 }; /* the most registers that a kind of CPU has a function keep */
struct guard_words {
	uint64_t caller; /* its stack pointer, while the kernel has the processor */
	uint64_t stack;  /* where the kernel's begins */
	uint64_t kept[GUARD_KEPT];
};

struct backend {
	const char *name; /* as its folder; rows have it as arch= */
	bool unnamed;     /* rows without arch= are its: older ones name none */
	bool anywhere;    /* what is made for it runs on any CPU */

	/* ---- the machine ---- */
	const struct feature *feature; /* bit i of target.features; ends with no name */
	const struct level *level;     /* ends with no name */
	/* Does this process run on one? Then t has its features and ports. NULL: no. */
	bool (*detect)(struct target *t);
	/* What follows from this machine's measured rates, where detect does not say it. NULL: nothing. */
	void (*measured)(struct target *t);
	const char *ports; /* the field of rows that says target.ports, which derive takes; NULL: all CPUs of this kind have as many */
	int ports_most;    /* the largest number in that field; 0: as most have, 2 */
	unsigned f16;      /* features with which vectors of f16 become f32 by an instruction; 0: none do */
	/* What follows from the features: vectors, registers, multiply-adds a cycle. */
	void (*derive)(struct target *t);
	struct backend_process process; /* where detect says yes */

	/* ---- what is made for it ---- */
	/* Where its tools run on a machine of another kind: they are TRIPLET-gcc, TRIPLET-ld and so on, clang --target=TRIPLET. NULL: there
	 * are none. */
	const char *triplet;
	const struct elf_machine *elf;                /* of its libraries; ends with no machine. NULL: none of its own */
	const char *(*flags)(const struct target *t); /* for the C compiler, each after a blank; valid for the life of the process */
	/* A condition in C: this CPU has what a feature takes, whose name is put in for %s. The text section "asks" stands before it. */
	const char *asks;
	const struct text_section *text;  /* ends with no name */
	const struct text_section *typed; /* more of it: of generic/typed.c */
	const struct instr *instr;        /* besides the generic ones; ends with no name */
};

extern const struct backend backend_generic;
extern const struct backend *const backends[]; /* the generic one first; ends with NULL */
/* t's; this machine's where t is NULL or says none. */
const struct backend *backend_of(const struct target *t);
/* This machine's, whatever it passes for. */
const struct backend *backend_here(void);
/* The row of a library's machine, whichever backend has it; NULL: none does. */
const struct elf_machine *backend_elf(unsigned machine);
/* By name; NULL: none. */
const struct backend *backend_find(const char *name, size_t n);
/* Text of the generic prelude or of a function: sections between lines "@{NAME" and "@}" may be the target's own; "@#" is the number of
 * floats in a vector. */
void target_text(FILE *f, const struct target *t, const char *text);
/* Vectors, masks and what is done with them: the start of every file of kernels. */
void target_prelude(FILE *f, const struct target *t);
/* Vectors of int; loads and stores of them for elements of an integer type, of f16, and (with u16) of bf16: functions, each on its own.
 * type as in "u8", ctype as in C. */
void target_ints(FILE *f, const struct target *t);
void target_memory(FILE *f, const struct target *t, const char *type, const char *ctype);
void target_f16(FILE *f, const struct target *t);
void target_bf16(FILE *f, const struct target *t);
/* Are vectors of f16 widened by an instruction, not one element after the other? */
bool target_widens_f16(const struct target *t);
#endif
