/* Between the files of run-dev. */
#ifndef HONE_RUN_DEV_H
#define HONE_RUN_DEV_H
#include <stdbool.h>
#include "op/npy.h"
#include "runner/against.h"
#include "runner/library.h"
#include "runner/oracle.h"
/* Tasks as lib/op writes them, evaluated by its rows and, element by element, by the stages of lib/loop. */
extern const struct oracle task_oracle;
/* Measures the rates of this machine for about that many seconds in all, and prints those that the file of rates has then. Without force,
 * what varies, or is far less than on record, is not kept: a warning. */
void probe(double seconds, bool force, bool json);

/* ---- against.c ---- */
/* Times a library against another that takes and gives the same (else 65), and prints what was measured. */
void against(const char *path, const char *base, const struct against *how, const struct input_spec *spec, bool json);

/* ---- peer.c ---- */
struct peer;
/* Starts the command, hands it these inputs, and waits until it has run once. One that ends early, or needs more than `patience` seconds for an
 * answer: die(69); what it says otherwise than run-dev(1) has it: die(65). The peer stays for the life of the process. */
struct peer *peer_begin(const char *command, double patience, int n, const struct named_tensor *in);
const char *peer_name(const struct peer *p);
/* Lets it run for that long; as struct other_turns wants it. */
void peer_turn(void *peer, double seconds, double *own, size_t n);
struct peer_times {
	struct timing run;   /* of the peer */
	struct timing ratio; /* of the library's median to the peer's, turn by turn */
	double differs;      /* the largest difference of an output, to its largest element */
};
/* Ends it. out: what the library gave for the same inputs. */
struct peer_times peer_end(struct peer *p, int n, const struct named_tensor *out, struct arena *a);

/* ---- report.c ---- */
/* The peer that was timed beside the library, and what opening the library took. */
struct beside {
	const char *peer; /* NULL: none */
	struct peer_times times;
	double load;        /* seconds */
	double memory;      /* the most bytes that the process had before it was timed: without what timing takes */
	double memory_rate; /* bytes a second that the core reads from memory; 0: not measured */
};
/* The most memory that this process had so far, in bytes. */
double most_memory(void);
/* The runner of a step: "kernel", "native", "slow path", or "flow": a branch, a loop, a state that grows. */
const char *step_runner(const struct hone_step *s);
/* Inputs and outputs of the library, and what it was made for. */
void print_model(const struct hone_model *m);
void print_bench(const struct hone_model *m, const struct bench *b, const struct beside *o);
/* A line a kernel, the longest first; b was timed step by step. */
void print_kernels(const struct hone_model *m, const struct bench *b, struct arena *a);
/* All of it as one object; kernels: with those, and with each step. */
void print_json(const struct hone_model *m, const struct bench *b, const struct beside *o, bool kernels, struct arena *a);

/* ---- profile.c ---- */
/* The last runs that were timed step by step, as trace events in JSON: what Perfetto and chrome://tracing read. */
void profile_write(const char *path, const struct hone_model *m, const struct bench *b);

/* ---- steps.c ---- */
struct step_spec {
	long steps;              /* 0: --steps was not given */
	const char *load, *save; /* files of states, or NULL */
	const char *sets;        /* sizes, or NULL */
};
/* Runs steps times, with the state that the library keeps; the outputs of all, with an axis of so many in front; of states
 * whose size is open the last. Says how many bytes of states a step writes. What does not fit, a state that is refused, a run that
 * fails: die. */
struct tensor **steps_run(struct library *l, const struct input_spec *spec, const struct step_spec *s, struct arena *a);
#endif
