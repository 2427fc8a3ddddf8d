/* The machine that code is made for: found at run time, never assumed. */
#ifndef HONE_TARGET_H
#define HONE_TARGET_H
#include <stdbool.h>
#include <stdint.h>

struct backend;
enum { RATE_L2, RATE_MEMORY, RATE_SHARED, RATE_OWN /* the first of the backend's own */, RATES_MAX = 32 };
struct target {
	const struct backend *of;   /* what kind of CPU (target/backend.h); NULL: as this machine */
	char cpu[64];               /* model name as the kernel says it */
	unsigned features;          /* of its kind's */
	int vector_bytes;           /* 64, 32 or 16; 4: one lane */
	int vector_regs;            /* 32 or 16 */
	int fma_ports, fma_latency; /* what the analytic model assumes: multiply-adds of vector_bytes a cycle, cycles of one */
	int load_ports;             /* and loads of vector_bytes a cycle */
	int issue, ahead, decoded;  /* instructions: started in a cycle; that it looks ahead; that it keeps decoded */
	int ports;                  /* ports for whole vectors, where CPUs of its kind have more or fewer (backend.ports); 0: as most */
	int64_t l1, l2, l3;         /* bytes of data cache one core sees */
	int cores;
	/* Rates that the cost of a schedule is counted with; 0 until target_filled says them. */
	double hertz;           /* cycles a second */
	double l2_a_cycle;      /* bytes a cycle that one core reads from the second-level cache, */
	double l3_a_cycle;      /* from the third, */
	double memory_a_cycle;  /* and from memory */
	double rate[RATES_MAX]; /* operations or bytes a second as they were measured (target/rate.h); 0: not known. No part of the row */
	bool masks;             /* it has masked stores that cost what whole ones do */
	bool by_element;        /* it multiplies vectors by an element of a register: nothing spreads a number over a vector first */
	bool begins_sums;       /* a sum is better begun by its first product than by a zero, which takes a unit that multiplies */
	bool loads_apart;       /* what is multiplied comes from registers: each load is an instruction of its own */
	bool stores_two;        /* one instruction stores two vectors side by side and takes such a unit once: any store takes one */
	bool hands_on_nan;      /* its maximum and minimum of two are an instruction each, whose result is NaN where either operand is */
	int lookup_operations;  /* of a vector of codes in a table of bytes; 0: one lane after the other */
	double exit_cycles;     /* to leave a loop so long that the branch is not foreseen */
	double line_cycles;     /* to fetch a line of a cache that another core wrote */
	double call_cycles;     /* of a function (exp, erf) once a tile of sums, beside which nothing else runs */
};
/* t, NULL for nothing known, and what it does not say as most machines have it. */
struct target target_filled(const struct target *t);
/* This machine; or what it is to pass for, by HONE_TARGET (a name as target_find takes; a process ends that cannot). */
const struct target *target_host(void);
/* By name: "native" is this machine; a backend's level ("x86-64-v3", "generic") is this machine with the features of that
 * level, no more and no fewer; or a row as target_row makes them, on another machine too: what it says is taken, fields
 * that are not known are skipped; rates that it does not say are those measured on such a CPU here. false: none of these. */
bool target_find(const char *name, struct target *out);
/* Why not, where target_find finds none: what is wrong with a row, else "there are" and the names. */
const char *target_why_not(const char *name);
const char *target_names(void); /* "native, .., or a row as kb prints them", for messages */
/* From now on this machine passes for t: target_host is that. NULL, or the features that it lacks, or the kind of CPU. */
const char *target_pass_for(const struct target *t);
/* One line that tells targets apart: "cpu=AMD EPYC;features=fma,avx2,avx512;fma512=1;l1=32K;l2=1024K;l3=32768K;compiler=gcc 12.2.0";
 * the ports (there fma512) where they are known to be fewer; arch=NAME after cpu for kinds of CPU but the first there was. Valid for the life of the process. */
const char *target_row(const struct target *t);
/* Its start, which says the CPU: "cpu=AMD EPYC;features=fma,avx2,avx512". Valid for the life of the process. */
const char *target_cpu(const struct target *t);
/* Flags for the C compiler ("-march=native ..." spelled out), valid for the life of the process. */
const char *target_cflags(const struct target *t);
/* The programs that make code for t (NULL: this machine). For this kind of CPU: $CC, which is asked for the others, else gcc and the others
 * by their names. For another kind: those that $HONE_CROSS begins the names of, as in HONE_CROSS=aarch64-linux-gnu-; without it, $CC
 * --target=.. where CC is a clang, and what begins with the usual name of that kind. An emulated process, too, takes those without $CC: the
 * machine's own make code for the machine. Valid for the life of the process. */
const char *target_compiler(const struct target *t);             /* a command: words with blanks between */
const char *target_compiler_version(const struct target *t);     /* as it says itself; "unknown" where it does not run */
bool target_compiles(const struct target *t);                    /* is the compiler there? */
const char *target_tool(const struct target *t, const char *of); /* "ar", "objcopy" */
/* NULL, or why the compiler's code is not for t: it makes code for another kind of CPU. For messages. */
const char *target_why_no_code(const struct target *t);
/* Is t of another kind of CPU than this machine: made here, run elsewhere? */
bool target_is_foreign(const struct target *t);
/* Does an emulator of another kind of CPU run this process? Then what it computes is right, and what it takes says nothing. */
bool target_is_emulated(void);
/* FLOP/s of fused multiply-adds on vectors of that many bytes, measured over about that time. 0: no such instructions here. */
double peak_flops(int vector_bytes, double seconds);
#define TARGET_NO_COMPILER "%s: no C compiler that runs here; %s names another" /* for messages, with the variable */
const char *target_compiler_variable(const struct target *t);
#endif
