/* A CPU that nothing is known of: vectors of four floats, as the compiler makes them. */
#include "target/generic/generic.h"
#include <elf.h>

static const struct level levels[] = {{"generic", 0}, {NULL, 0}};

#ifndef R_RISCV_TLSDESC
enum { R_RISCV_TLSDESC = 12 };
#endif
/* Machines that have no folder: what runs anywhere runs on them, too. */
static const struct elf_machine elf[] = {
	{EM_RISCV, R_RISCV_IRELATIVE, R_RISCV_COPY, R_RISCV_TLSDESC},
	{EM_PPC64, R_PPC64_IRELATIVE, R_PPC64_COPY, 0},
	{EM_S390, R_390_IRELATIVE, R_390_COPY, 0},
	{0},
};

const struct backend backend_generic = {
	.name = "generic",
	.anywhere = true,
	.level = levels,
	.elf = elf,
	.instr = generic_instr,
};
