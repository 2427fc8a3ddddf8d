#define _GNU_SOURCE
#include "target/target.h"
#include "common/arena.h"
#include "common/msg.h"
#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_cpu_name(struct target *t)
{
	char line[256];
	FILE *f = fopen("/proc/cpuinfo", "re");

	snprintf(t->cpu, sizeof t->cpu, "unknown");
	while (f && fgets(line, sizeof line, f)) {
		char *colon = strchr(line, ':');
		if (!strncmp(line, "model name", 10) && colon) {
			colon += strspn(colon, ": \t");
			colon[strcspn(colon, "\n")] = 0;
			snprintf(t->cpu, sizeof t->cpu, "%.63s", colon);
			break;
		}
	}
	if (f)
		fclose(f);
}

/* One field of /sys/.../cache/indexN; false if the file is not there. */
static bool cache_field(int index, const char *field, char *out, int size)
{
	char path[96];
	FILE *f;
	bool good;

	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, field);
	f = fopen(path, "re");
	if (!f)
		return false;
	good = fgets(out, size, f) != NULL;
	fclose(f);
	return good;
}

static void read_caches(struct target *t)
{
	char level[16], type[32], size[32], *end;

	t->l1 = 32 << 10; /* where the kernel tells nothing */
	t->l2 = 1 << 20;
	t->l3 = 16 << 20;
	for (int i = 0; cache_field(i, "level", level, sizeof level); i++) {
		if (!cache_field(i, "type", type, sizeof type) || !cache_field(i, "size", size, sizeof size) || type[0] == 'I')
			continue;
		int64_t n = strtoll(size, &end, 10);
		n <<= *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
		if (n <= 0)
			continue;
		if (level[0] == '1')
			t->l1 = n;
		else if (level[0] == '2')
			t->l2 = n;
		else if (level[0] == '3')
			t->l3 = n;
	}
}

static const char *const feature_names[] = {"fma", "avx2", "avx512", "vnni", "fp16"};
enum { NFEATURES = sizeof feature_names / sizeof *feature_names };

/* What follows from the features. */
static void set_features(struct target *t, unsigned features)
{
	t->features = features;
	t->vector_bytes = features & TF_AVX512 ? 64 : features & TF_AVX2 ? 32 : 16;
	t->vector_regs = features & TF_AVX512 ? 32 : 16;
	t->fma_ports = t->vector_bytes == 64 && t->fma512 ? t->fma512 : 2;
	t->fma_latency = 4;
}

/* Zen 4, family 19h, is the only one of AMD's with AVX-512 whose units are of 32 bytes. */
static int read_fma512(unsigned features)
{
#ifdef __x86_64__
	enum { FAMILY_FIRST = 0xf, FAMILY_ZEN4 = 0x19 };
	unsigned a, b, c, d;

	if ((features & TF_AVX512) && __builtin_cpu_is("amd") && __get_cpuid(1, &a, &b, &c, &d) && (a >> 8 & 0xf) == FAMILY_FIRST &&
	    FAMILY_FIRST + (a >> 20 & 0xff) == FAMILY_ZEN4)
		return 1;
#endif
	return 0;
}

static unsigned read_features(void)
{
	unsigned have = 0;
#ifdef __x86_64__
	__builtin_cpu_init();
	if (__builtin_cpu_supports("fma"))
		have |= TF_FMA;
	if (__builtin_cpu_supports("avx2") && (have & TF_FMA))
		have |= TF_AVX2;
	if ((have & TF_AVX2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd")) {
		have |= TF_AVX512;
		if (__builtin_cpu_supports("avx512vnni"))
			have |= TF_VNNI;
#if __GNUC__ >= 13
		if (__builtin_cpu_supports("avx512fp16"))
			have |= TF_FP16;
#endif
	}
#endif
	return have;
}

static struct target host;
static bool known;

static void pass_for_named(const char *name)
{
	struct target t;

	if (!name || !*name)
		return;
	if (!target_find(name, &t))
		die(EX_BADUSE, "HONE_TARGET=%s: there are " TARGET_NAMES, name);
	const char *lacks = target_pass_for(&t);
	if (lacks)
		die(EX_NOTAVAIL, "HONE_TARGET=%s: this machine lacks %s", name, lacks);
}

struct target target_filled(const struct target *t)
{
	static const struct target usual = {.vector_bytes = 16,
					    .vector_regs = 16,
					    .fma_ports = 2,
					    .fma_latency = 4,
					    .l1 = 32 << 10,
					    .l2 = 1 << 20,
					    .l3 = 16 << 20,
					    .cores = 1,
					    .hertz = 4e9,
					    .l1_a_cycle = 56,
					    .l2_a_cycle = 28,
					    .far_a_cycle = 5,
					    .call_cycles = 29};
	struct target f = t ? *t : usual;

#define FILL(field) f.field = f.field ? f.field : usual.field
	FILL(vector_bytes), FILL(vector_regs), FILL(fma_ports), FILL(fma_latency), FILL(l1), FILL(l2), FILL(l3), FILL(cores);
	FILL(hertz), FILL(l1_a_cycle), FILL(l2_a_cycle), FILL(far_a_cycle), FILL(call_cycles);
#undef FILL
	return f;
}

const struct target *target_host(void)
{
	unsigned features;
	cpu_set_t set;

	if (known)
		return &host;
	read_cpu_name(&host);
	host.fma512 = read_fma512(features = read_features());
	set_features(&host, features);
	read_caches(&host);
	CPU_ZERO(&set);
	host.cores = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
	known = true;
	pass_for_named(getenv("HONE_TARGET"));
	return &host;
}

const char *target_pass_for(const struct target *t)
{
	static char lacks[64];
	unsigned missing = t->features & ~target_host()->features;

	for (int i = 0, n = 0; i < NFEATURES; i++)
		if (missing >> i & 1)
			n += snprintf(lacks + n, sizeof lacks - (size_t)n, "%s%s", n ? "," : "", feature_names[i]);
	if (missing)
		return lacks;
	host = *t;
	return NULL;
}

/* ---- by name ---- */

static unsigned parse_features(const char *s, size_t n)
{
	unsigned have = 0;

	for (const char *end = s + n; s < end; s += strcspn(s, ",;"), s += *s == ',')
		for (int i = 0; i < NFEATURES; i++)
			if (strcspn(s, ",;") == strlen(feature_names[i]) && !strncmp(s, feature_names[i], strlen(feature_names[i])))
				have |= 1u << i;
	return have;
}

/* A count as a row has it: digits, then unit or nothing, then the field's end. */
static bool parse_count(const char *s, const char *unit, int64_t least, int64_t most, int64_t *out)
{
	char *end;

	*out = strtoll(s, &end, 10);
	if (*s < '0' || *s > '9' || *out < least || *out > most || strncmp(end, unit, strlen(unit)))
		return false;
	end += strlen(unit);
	return *end == ';' || !*end;
}

static bool parse_row(const char *row, struct target *t)
{
	enum {
		CPU = 1,
		FEATURES = 2,
		L1 = 4,
		L2 = 8,
		L3 = 16,
		ALL = 31,
		/* cores: older programs say that */ KILOBYTES_MAX = 1 << 30,
		CORES_MAX = 1 << 20,
		PORTS_USUAL = 2
	};
	unsigned have = 0, features = 0;
	int64_t n;

	t->fma512 = 0;
	for (const char *s = row; *s; s += strcspn(s, ";"), s += *s == ';') {
		const char *v = s + strcspn(s, "=;");
		size_t key = (size_t)(v - s);
		if (*v != '=')
			continue;
		v++;
		if (key == 3 && !strncmp(s, "cpu", 3)) {
			snprintf(t->cpu, sizeof t->cpu, "%.*s", (int)strcspn(v, ";"), v);
			have |= CPU;
		} else if (key == 8 && !strncmp(s, "features", 8)) {
			features = parse_features(v, strcspn(v, ";"));
			have |= FEATURES;
		} else if (key == 6 && !strncmp(s, "fma512", 6)) {
			if (!parse_count(v, "", 1, PORTS_USUAL, &n))
				return false;
			t->fma512 = n < PORTS_USUAL ? (int)n : 0;
		} else if (key == 5 && !strncmp(s, "cores", 5) && parse_count(v, "", 1, CORES_MAX, &n)) {
			t->cores = (int)n;
		} else if (key == 2 && s[0] == 'l' && s[1] >= '1' && s[1] <= '3' && parse_count(v, "K", 1, KILOBYTES_MAX, &n)) {
			*(s[1] == '1' ? &t->l1 : s[1] == '2' ? &t->l2 : &t->l3) = n << 10;
			have |= (unsigned)L1 << (s[1] - '1');
		}
	}
	set_features(t, features);
	return have == ALL;
}

bool target_find(const char *name, struct target *out)
{
	static const struct {
		const char *name;
		unsigned features;
	} level[] = {{"x86-64", 0}, {"x86-64-v3", TF_FMA | TF_AVX2}, {"x86-64-v4", TF_FMA | TF_AVX2 | TF_AVX512}};

	*out = *target_host();
	if (!strcmp(name, "native"))
		return true;
	for (size_t i = 0; i < sizeof level / sizeof *level; i++) {
		if (!strcmp(name, level[i].name)) {
			set_features(out, level[i].features);
			return true;
		}
	}
	return parse_row(name, out);
}

/* Level names of the x86-64 psABI instead of -march=native: the same features give the same code on every machine.
 * Contraction makes FMAs; nothing may trap, so selects need no branches; integers wrap as ONNX's do. What gcc's -O2 does
 * beyond these finds nothing in code that has been scheduled already, and takes half of the time (resnet50, mobilenet_v2,
 * efficientnet_b0, squeezenet1_1, bert_base: equal within 1%). Bounds of loops guessed from what they access change
 * nothing and took 6% of the compiler's time on Winograd; registers given to a function at once, not loop by loop, another 9%
 * (and a step of an LSTM spills less: 0.85 of its time). Where loops begin is worth up to 5% of a kernel (Zen 3), and changes with what
 * stands before them: where all begin alike, schedules differ by what they do. */
const char *target_cflags(const struct target *t)
{
	static char flags[8][352];
	int avx512 = !!(t->features & TF_AVX512), vnni = !!(t->features & TF_VNNI), fp16 = !!(t->features & TF_FP16);
	int avx2 = !!(t->features & TF_AVX2);
	char *s = flags[avx512 ? 2 + vnni + 2 * fp16 : avx2];

	if (!s[0])
		snprintf(
			s, sizeof flags[0],
			"-std=gnu11 -fno-math-errno -fno-trapping-math -ffp-contract=fast -fwrapv -fno-tree-vectorize -falign-functions=64 -falign-loops=64"
			"%s%s%s%s",
			strcasestr(target_compiler_version(), "clang") ? " -O2 -Wno-ignored-optimization-argument"
								       : " -O1 -fexpensive-optimizations -fschedule-insns2 -fno-tree-ccp"
									 " -fno-aggressive-loop-optimizations -fira-region=one",
			avx512 ? " -march=x86-64-v4 -mprefer-vector-width=512"
			: avx2 ? " -march=x86-64-v3"
			       : "",
			vnni ? " -mavx512vnni" : "", fp16 ? " -mavx512fp16" : "");
	return s;
}

const char *target_compiler(void)
{
	const char *cc = getenv("CC");

	return cc && *cc ? cc : "gcc";
}

const char *target_compiler_version(void)
{
	static char version[64];

	if (!version[0]) {
		char *command = xprintf("%s -E -P -x c - 2>/dev/null <<'E'\n__VERSION__\nE", target_compiler());
		FILE *f = popen(command, "re");
		if (f && fscanf(f, " \"%63[^\"]", version) != 1)
			version[0] = 0;
		if (f)
			pclose(f);
		free(command);
		if (!version[0])
			snprintf(version, sizeof version, "unknown");
	}
	return version;
}

bool target_compiles(void) { return strcmp(target_compiler_version(), "unknown") != 0; }

const char *target_row(const struct target *t)
{
	static char row[320];
	size_t n = (size_t)snprintf(row, sizeof row, "cpu=%s;features=", t->cpu);

	for (int i = 0; i < NFEATURES; i++)
		if (t->features >> i & 1)
			n += (size_t)snprintf(row + n, sizeof row - n, "%s%s", row[n - 1] == '=' ? "" : ",", feature_names[i]);
	if (t->vector_bytes == 64 && t->fma512)
		n += (size_t)snprintf(row + n, sizeof row - n, ";fma512=%d", t->fma512);
	snprintf(row + n, sizeof row - n, ";l1=%lldK;l2=%lldK;l3=%lldK;compiler=%s %s", (long long)t->l1 >> 10, (long long)t->l2 >> 10,
		 (long long)t->l3 >> 10, target_compiler(), target_compiler_version());
	return row;
}
