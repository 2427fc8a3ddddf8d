/* A CPU that nothing is known of: vectors of four floats, as the compiler makes them. */
#include "target/generic/generic.h"

static const struct level levels[] = {{"generic", 0}, {NULL, 0}};

const struct backend backend_generic = {
	.name = "generic",
	.anywhere = true,
	.level = levels,
	.instr = generic_instr,
};
