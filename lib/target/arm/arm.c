/* The backend's row. */
#include "target/arm/arm.h"
#include <elf.h>
#include <linux/audit.h>
#include "common/intern.h"

static const struct feature features[] = {
	{"dotprod", {"DOTPROD"}},
	{"fp16", {"FP16"}},
	{"i8mm", {"I8MM"}},
	{"bf16", {"BF16"}},
	{"sve256", {"SVE256"}, .excludes = ARM_SVE512},
	{"sve512", {"SVE512"}, .excludes = ARM_SVE256},
	{NULL, {NULL}},
};

enum { NEON = 16 /* bytes of a vector */, PORTS = 2 /* as most have */, PORTS_MOST = 4 };
enum { V8_2 = ARM_DOTPROD | ARM_FP16, V8_6 = V8_2 | ARM_I8MM | ARM_BF16 };
static const struct level levels[] = {
	{"aarch64", 0},
	{"armv8.2-a", V8_2},
	{"armv8.6-a", V8_6},
	{"armv8.2-a+sve256", V8_2 | ARM_SVE256},
	{"armv8.2-a+sve512", V8_2 | ARM_SVE512},
	{"armv8.6-a+sve256", V8_6 | ARM_SVE256},
	{"armv8.6-a+4x128", V8_6, PORTS_MOST},
	{NULL, 0},
};

static void derive(struct target *t)
{
	enum { TWICE = 32, FOUR_TIMES = 64, REGISTERS = 32, LATENCY = 4, LOADS = 2, LOADS_MOST = 3 };

	t->vector_bytes = t->features & ARM_SVE512 ? FOUR_TIMES : t->features & ARM_SVE256 ? TWICE : NEON;
	t->vector_regs = REGISTERS;
	t->ports = t->vector_bytes == NEON ? t->ports : 0; /* of longer vectors there are two */
	t->fma_ports = t->ports ? t->ports : PORTS;
	t->fma_latency = LATENCY;
	t->load_ports = t->fma_ports > PORTS ? LOADS_MOST : LOADS;
	t->masks = t->features & ARM_SVE;
	t->by_element = t->stores_two = t->vector_bytes == NEON;
	t->loads_apart = t->begins_sums = t->hands_on_nan = true;
}

/* The ports by rates: multiply-adds of vectors of 16 bytes in a cycle, which additions that wait for each other count. */
static void measured(struct target *t)
{
	enum { OPERATIONS = 2 * NEON / sizeof(float) };
	double clock = target_rate(t, "clock"), ports = clock > 0 ? target_rate(t, "fma128") / (OPERATIONS * clock) : 0;

	if (t->ports || ports <= 0)
		return;
	t->ports = ports < 1 ? 1 : ports > PORTS_MOST ? PORTS_MOST : (int)(ports + 0.5);
	t->ports = t->ports == PORTS ? 0 : t->ports;
	derive(t);
}

/* The dot products are optional before 8.4, and halves everywhere: each is named. Instructions on vectors of SVE are those of the length
 * that is named, which the compiler then knows. */
static const char *flags(const struct target *t)
{
	unsigned have = t->features;

	if (!have)
		return "";
	return sym_str(intern_printf(" -march=armv8.2-a%s%s%s%s%s", have & ARM_DOTPROD ? "+dotprod" : "", have & ARM_FP16 ? "+fp16" : "",
				     have & ARM_I8MM ? "+i8mm" : "", have & ARM_BF16 ? "+bf16" : "",
				     have & ARM_SVE512   ? "+sve -msve-vector-bits=512"
				     : have & ARM_SVE256 ? "+sve -msve-vector-bits=256"
							 : ""));
}

static const struct elf_machine elf[] = {{EM_AARCH64, R_AARCH64_IRELATIVE, R_AARCH64_COPY, R_AARCH64_TLSDESC}, {0}};

const struct backend backend_arm = {
	.name = "arm",
	.feature = features,
	.level = levels,
	.detect = arm_detect,
	.measured = measured,
	.ports = "fma128",
	.ports_most = PORTS_MOST,
	.f16 = 0,
	.derive = derive,
	.process =
		{
			.rate = arm_rates,
			.read = arm_read,
			.flush_denormals = arm_flush_denormals,
			.litter = arm_litter,
			.call = arm_call,
			.guard = &arm_guard,
			.rounding = arm_rounding,
			.audit_arch = AUDIT_ARCH_AARCH64,
		},
	.triplet = "aarch64-linux-gnu",
	.elf = elf,
	.flags = flags,
	.asks = "CPU_HAS_%s",
	.text = arm_text,
	.typed = arm_typed_text,
	.instr = arm_instr,
};
