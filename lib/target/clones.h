/* A C function that is compiled several times, for CPUs with wider vectors: the program takes the best that this CPU can run as it starts.
 * CLONES_WIDE adds and multiplies in steps of their own, so that all of its clones compute the same bits. CLONES_FUSED also has a clone
 * that multiplies and adds in one step: the same bits only where products are exact. */
#ifndef HONE_CLONES_H
#define HONE_CLONES_H
#ifdef __clang__
#define IN_ONE_STEP
#else
#define IN_ONE_STEP __attribute__((optimize("fp-contract=fast")))
#endif
#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__
#define CLONES_WIDE  __attribute__((target_clones("avx", "default")))
#define CLONES_FUSED __attribute__((target_clones("fma", "avx", "default"))) IN_ONE_STEP
#else
#define CLONES_WIDE
#define CLONES_FUSED IN_ONE_STEP
#endif
#endif
