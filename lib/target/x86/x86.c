/* The backend's row. */
#include "target/x86/x86.h"
#include "common/intern.h"
#include <elf.h>
#include <linux/audit.h>

/* Linux keeps tiles from a process until it asks for them (arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA). */
static const char amx_allowed[] =
	"({ long no = 158; __asm__ volatile(\"syscall\" : \"+a\"(no) : \"D\"(0x1023L), \"S\"(18L) : \"rcx\", \"r11\", \"memory\"); !no; })";

static const struct feature features[] = {
	{"fma", {"fma"}},
	{"avx2", {"avx2", "bmi", "bmi2"}}, /* f16c, too, which clang cannot ask for: each CPU with bmi2 has it */
	{"avx512", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}, .needs = X86_FMA | X86_AVX2},
	{"vnni", {"avx512vnni"}, .needs = X86_AVX512},
	{"fp16", {"avx512fp16"}, .gcc = true, .needs = X86_AVX512},
	{"bf16", {"avx512bf16"}, .needs = X86_AVX512},
	{"avxvnni", {"avxvnni"}, .gcc = true, .needs = X86_AVX2},
	{"vbmi", {"avx512vbmi"}, .needs = X86_AVX512},
	{"amx", {"amx-tile", "amx-int8"}, .gcc = true, .allowed = amx_allowed, .needs = X86_AVX512 | X86_VNNI},
	{NULL, {NULL}},
};

static const struct level levels[] = {
	{"x86-64", 0},
	{"x86-64-v3", X86_FMA | X86_AVX2},
	{"x86-64-v4", X86_FMA | X86_AVX2 | X86_AVX512},
	{NULL, 0},
};

/* Two ports of 64 bytes do twice what two of 32 do; one does as much. Measured rates are within a few hundredths of that. */
static bool has_one_port(const struct target *t)
{
	double narrow = target_rate(t, "fma256"), wide = target_rate(t, "fma512");

	return wide > 0 && wide < 1.5 * narrow;
}

static void derive(struct target *t)
{
	t->vector_bytes = t->features & X86_AVX512 ? 64 : t->features & X86_AVX2 ? 32 : 16;
	t->vector_regs = t->features & X86_AVX512 ? 32 : 16;
	t->ports = t->vector_bytes == 64 ? t->ports : 0;        /* of narrower vectors there are two */
	t->fma_ports = t->load_ports = t->ports ? t->ports : 2; /* a vector that is two halves is loaded as two */
	t->fma_latency = 4;
	t->masks = t->vector_bytes == 64;
	t->lookup_operations = t->vector_bytes == 64 ? 6 : 0; /* bytes or pairs of them are permuted, or not */
}

void x86_measured(struct target *t)
{
	t->ports = t->ports ? t->ports : has_one_port(t);
	derive(t);
}

/* Level names of the psABI instead of -march=native: the same features give the same code on every machine. */
static const char *flags(const struct target *t)
{
	unsigned have = t->features;

	if (have & X86_AVX512)
		return sym_str(intern_printf(" -march=x86-64-v4 -mprefer-vector-width=512%s%s%s%s%s",
					     have & X86_VNNI ? " -mavx512vnni" : "", have & X86_FP16 ? " -mavx512fp16" : "",
					     have & X86_BF16 ? " -mavx512bf16" : "", have & X86_AVXVNNI ? " -mavxvnni" : "",
					     have & X86_VBMI ? " -mavx512vbmi" : ""));
	if (have & X86_AVX2)
		return have & X86_AVXVNNI ? " -march=x86-64-v3 -mavxvnni" : " -march=x86-64-v3";
	return "";
}

static const struct elf_machine elf[] = {{EM_X86_64, R_X86_64_IRELATIVE, R_X86_64_COPY, R_X86_64_TLSDESC}, {0}};

const struct backend backend_x86 = {
	.name = "x86",
	.unnamed = true,
	.feature = features,
	.level = levels,
	.detect = x86_detect,
	.measured = x86_measured,
	.ports = "fma512",
	.f16 = X86_AVX2,
	.derive = derive,
	.process =
		{
			.rate = x86_rates,
			.read = x86_read,
			.flush_denormals = x86_flush_denormals,
			.litter = x86_litter,
			.call = x86_call,
			.guard = &x86_guard,
			.rounding = x86_rounding,
			.audit_arch = AUDIT_ARCH_X86_64,
			.calls = x86_calls,
		},
	.triplet = "x86_64-linux-gnu",
	.elf = elf,
	.flags = flags,
	.asks = "__builtin_cpu_supports(\"%s\")",
	.text = x86_text,
	.typed = x86_typed_text,
	.instr = x86_instr,
};
