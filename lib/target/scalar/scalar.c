/* A CPU without vectors, whatever it is: one float at a time. The least that a kind of CPU says of itself. */
#include "target/backend.h"

static const struct level levels[] = {{"scalar", 0}, {NULL, 0}};

static void derive(struct target *t)
{
	t->vector_bytes = sizeof(float);
	t->vector_regs = 16;
	t->fma_ports = 1;
	t->fma_latency = 4;
	t->load_ports = 2;
}

const struct backend backend_scalar = {.name = "scalar", .anywhere = true, .level = levels, .derive = derive};
