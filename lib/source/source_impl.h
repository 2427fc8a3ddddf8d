/* Between the files of lib/source. Each writes its section of the C file to f. */
#ifndef HONE_SOURCE_IMPL_H
#define HONE_SOURCE_IMPL_H
#include <stdio.h>
#include "source/source.h"

#define WEIGHTS_MAGIC "honewts2" /* the weights file begins so */

/* ---- text.c ---- */
extern const char runtime_text[], bare_text[], native_runtime_text[], team_text[], few_text[], header_text[], checksum_text[],
	sections_text[], values_text[], values_run_text[], state_text[], append_text[], undo_text[], lend_text[], maps_text[], sizes_text[],
	gears_text[], flow_text[], lists_text[], lists_native_text[], several_text[]; /* templates in this folder, NAME.in */
extern const char opaque_text[], abi_text[], value_text[], state_file_text[];         /* headers that a compiled model carries along */
/* s as a C string in quotes. */
void put_string(FILE *f, const char *s);
void put_bytes(FILE *f, const char *s, size_t n); /* any bytes may be within */
/* s inside a comment, which it cannot end. */
void put_comment(FILE *f, const char *s);
/* The template up to (not including) the line that is `until`; returns what follows that line. Lines that begin with
 * @THREADS@ are for libraries of several threads, those with @NATIVE@ for libraries with native steps, with
 * @SHAPED@ for those that have sizes that only a run knows, with @LISTED@ for those that have sequences or optionals of numbers, with
 * @TEXTS@ for those with strings among their outputs that may lie in inputs, with @FLOWS@ for those with branches or loops of values whose size varies, with @KEPT@
 * for those that keep states, with @GROWS@ for those that append to states, with @SEVERAL@ for those for several targets,
 * with @EMBED@ or @BESIDE@ for those with weights in them or in a file, with @BARE@ or @HOSTED@ for those of a machine without or with an
 * operating system. */
const char *put_template(struct emission *e, FILE *f, const char *text, const char *until);
/* Of the node, else of its first result. */
const char *call_name(struct emission *e, uint32_t c);

/* ---- several.c ---- */
/* The names of the library's targets in their order, each written by put. */
void put_target_names(const struct emission *e, FILE *f, const char *between, void (*put)(FILE *f, const char *s));
/* e with the names of the library's own type and functions. */
struct emission emission_of_all(const struct emission *e);
/* The part that chooses one of n targets: what callers see, and the tables of the targets. */
void put_front(struct emission *e, int n, FILE *f, const char *header);
/* In the code for one of several targets, behind its includes: its functions have names that no other target's have, and are its alone. At its
 * end: they are offered to the part that chooses. */
void put_own_names(struct emission *e, FILE *f);
void put_offer(struct emission *e, FILE *f);
void put_embedded(FILE *f); /* the declaration of weights that lie in the part that chooses */

/* ---- share.c ---- */
/* Finds the kernels that targets share. */
void emissions_share(struct emission *e, int n);
bool outline_wanted(const struct emission *e, size_t outline); /* does a function in the code for this target call it? */

/* ---- source.c ---- */
/* The header's declarations, from the file or, where its name cannot be written, in place. */
void put_header_include(const struct emission *e, FILE *f, const char *header);

/* ---- native.c ---- */
const char *native_text(const char *file);     /* of lib/native, without the includes of its room */
bool native_owns(const char *name);            /* may lib/native, or what runs its functions, have that name? */
void put_natives(struct emission *e, FILE *f); /* functions of lib/native */
void put_native_attrs(struct emission *e, FILE *f, uint32_t c);
void put_native_texts(struct emission *e, FILE *f, uint32_t c); /* strings that are its constants, unless a call before it has them */
/* May what is in the strings of v, an output, lie in an input or in a value of this run? Does the model have such outputs? */
bool text_borrowed(struct emission *e, val_id v);
bool puts_texts(struct emission *e);
/* Is an input of strings? */
bool takes_texts(const struct emission *e);
/* Call c as x: itself, or what is native in its place and reads no constants. */
void put_native_call(struct emission *e, FILE *f, uint32_t c, const struct call *x);

/* ---- sizes.c ---- */
/* Learns the symbols that the inputs of a section tell, and compares other sizes. */
void put_sizes_of_inputs(struct emission *e, FILE *f, const struct section *s);
/* The same behind call c, which is no kernel's. */
void put_sizes_of_call(struct emission *e, FILE *f, uint32_t c);
/* A block with room for the results of call c, a kernel's, and in it one for results with elements. Then, for the call itself or another
 * in its place: what its kernel does not take is refused, and room for the workspace; and the kernel's parameters. */
void put_sized_open(struct emission *e, FILE *f, uint32_t c);
void put_sized_checks(struct emission *e, FILE *f, uint32_t c, const struct call *x);
/* Call c, a view whose sizes are known. */
void put_view(struct emission *e, FILE *f, uint32_t c);
void put_sized_params(struct emission *e, FILE *f, const struct call *x);
/* A condition: of these sizes the native call is in place of call c. `large` is declared before it. */
void put_otherwise(struct emission *e, FILE *f, uint32_t c);

/* What a run needs to tell the sizes of states that have no value yet. */
void put_state_sizes(struct emission *e, FILE *f);

/* ---- append.c ---- */
void put_append_tables(struct emission *e, FILE *f);
/* Call c, which appends to a state. */
void put_append_call(struct emission *e, FILE *f, uint32_t c);
/* If v, a result of call x, may take the place of a state: as a condition, what gives v's slot its memory, true if it fails. Behind a
 * gear's operands. */
bool put_lend(struct emission *e, FILE *f, const struct call *x, val_id v);
/* What native call x put into a state in place is counted. */
void put_wrote(struct emission *e, FILE *f, const struct call *x);

/* ---- maps.c ---- */
void put_maps_call(struct emission *e, FILE *f, uint32_t c);

/* ---- lists.c ---- */
void put_list_tables(struct emission *e, FILE *f);
/* The type of a value, as its struct hone_value says it: of what is no tensor a negative number. */
int value_type_number(struct emission *e, val_id v);
/* Results of call c, which the slow path made, that are lists get their blocks. */
void put_lists_of_call(struct emission *e, FILE *f, uint32_t c);

/* ---- control.c ---- */
/* A control call that is written. */
struct control_step {
	struct emission *e;
	FILE *f;
	uint32_t c;
	const struct call *call;
	const struct control *x;
	const struct node *n;
	const char *last;         /* what laps take, as C */
	const struct graph *body; /* of a Loop or Scan, else NULL */
	uint32_t loop;            /* 1: Loop, whose body gives the condition before its results */
};
struct control_step control_step(struct emission *e, FILE *f, const struct section *s, uint32_t c);
/* Call c of section s, a control call. */
void put_control_call(struct emission *e, FILE *f, const struct section *s, uint32_t c);
/* The call of the section of a body, as C. */
void put_run(struct emission *e, FILE *f, const struct section *s, uint32_t c, graph_id body);
void put_choice(struct emission *e, FILE *f, const struct call *x); /* of branches: the number of one */
void put_limits(struct emission *e, FILE *f, const struct call *x); /* of a loop: trips, and go and more of a Loop */

/* ---- gears.c ---- */
/* A Case that makes operands fit its branches; and what such calls need. */
void put_fitted_call(struct emission *e, FILE *f, const struct section *s, uint32_t c);
void put_fitted_text(struct emission *e, FILE *f);

/* ---- flow.c ---- */
/* The same on values. */
void put_flow_call(struct emission *e, FILE *f, const struct section *s, uint32_t c);
/* The end of a body: output k, of varying size, goes to the caller's slot. */
void put_flow_output(struct emission *e, FILE *f, const struct section *s, size_t k);

/* ---- kernels.c, tables.c, steps.c, weights.c ---- */
void put_kernels(struct emission *e, FILE *f);
void put_tables(struct emission *e, FILE *f);
/* The text that asks a CPU, for the functions that put_cpu_check writes: each is of this name, and says what e's target needs and the
 * CPU lacks. */
void put_cpu_asks(struct emission *e, FILE *f);
void put_cpu_check(struct emission *e, FILE *f, const char *name);
void put_steps(struct emission *e, FILE *f);
/* As C: where v is for call c (NULL: for no call); the workspace of call c, from `offset` on. */
void put_place(struct emission *e, FILE *f, const struct call *c, val_id v);
void put_workspace(struct emission *e, FILE *f, uint32_t c, int64_t offset);
void put_value(struct emission *e, FILE *f, val_id v);         /* one of varying size: a struct hone_value */
void put_value_pointer(struct emission *e, FILE *f, val_id v); /* of any: a const struct hone_value * */
void put_weights(struct emission *e, FILE *f);                 /* as a C array, for --embed */
#endif
