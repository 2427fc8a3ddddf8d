/* A step that runs sections: a control operator whose bodies are steps themselves. */
#ifndef HONE_CONTROL_H
#define HONE_CONTROL_H
#include "graph/bodies.h"
#include "model/model.h"

/* What a body reads or writes that is no operand or result of the step lies at the start of the step's workspace. Behind it, from `arena`
 * on, are the arenas of the bodies, all at one place. */
struct control {
	enum body_use use;
	uint32_t nbody;
	graph_id *body;
	struct looping loop;
	bool values; /* sizes vary, or a run has to compare them: operands and results pass as values, and nothing of what follows is there */
	uint32_t slot;    /* values: body output k has this slot + k, scanned operand i this slot + outputs + i, while the step runs */
	uint32_t *result; /* values: the slot of result k, its own or one while the step runs */
	int64_t *spare;   /* body output k has room there, -1: it is a result. Carried: room beside the result */
	int64_t *other;   /* carried value i: second room, where there is no result */
	bool fitted;      /* a Case that makes operands fit its branches, in the main graph: operands and results may vary in size */
	int64_t *fit;     /* then: operand i behind the first has room there, padded; -1: it is never */
	int64_t *slice;   /* scanned operand i: room for a slice, -1: it is read in place */
	int64_t arena;    /* where the bodies' arenas begin */
};

/* Axis i of the lists "fit" or "cut"; -1: none. */
int64_t fitted_axis(const struct node *n, const char *list, uint32_t i);
/* Element i of an attribute's list, 0 if there is none. */
int64_t scan_number(const struct node *n, const char *name, uint32_t i);
/* Does each step of a BODY_MAP take an element of operand i, not the whole? */
bool mapped_operand(struct module *m, const struct node *n, uint32_t i);
/* A tensor of that shape, seen along an axis: `outer` times `n` slices of `bytes`. */
struct slices {
	int64_t outer, n, bytes;
};
struct slices slices_of(struct module *m, val_id v, int64_t axis);
#endif
