#define _GNU_SOURCE
#include "device/target.h"
#include "common/arena.h"
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
		if (!cache_field(i, "type", type, sizeof type) || !cache_field(i, "size", size, sizeof size) ||
		    type[0] == 'I')
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

static void read_features(struct target *t)
{
	t->vector_bytes = 16;
	t->vector_regs = 16;
	t->fma_ports = 2;
	t->fma_latency = 4;
#ifdef __x86_64__
	__builtin_cpu_init();
	if (__builtin_cpu_supports("fma"))
		t->features |= TF_FMA;
	if (__builtin_cpu_supports("avx2") && (t->features & TF_FMA)) {
		t->features |= TF_AVX2;
		t->vector_bytes = 32;
	}
	if ((t->features & TF_AVX2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512cd")) {
		t->features |= TF_AVX512;
		t->vector_bytes = 64;
		t->vector_regs = 32;
		if (__builtin_cpu_supports("avx512vnni"))
			t->features |= TF_VNNI;
#if __GNUC__ >= 13
		if (__builtin_cpu_supports("avx512fp16"))
			t->features |= TF_FP16;
#endif
	}
#endif
}

const struct target *target_host(void)
{
	static struct target t;
	static bool known;
	cpu_set_t set;

	if (known)
		return &t;
	read_cpu_name(&t);
	read_features(&t);
	read_caches(&t);
	CPU_ZERO(&set);
	t.cores = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
	known = true;
	return &t;
}

/* Level names of the x86-64 psABI instead of -march=native: the same features give the same code on every machine.
 * Contraction makes FMAs; nothing may trap, so selects need no branches; integers wrap as ONNX's do. What gcc's -O2 does
 * beyond these finds nothing in code that has been scheduled already, and takes half of the time (resnet50, mobilenet_v2,
 * efficientnet_b0, squeezenet1_1, bert_base: equal within 1%). */
const char *target_cflags(const struct target *t)
{
	static char flags[8][320];
	int avx512 = !!(t->features & TF_AVX512), vnni = !!(t->features & TF_VNNI), fp16 = !!(t->features & TF_FP16);
	int avx2 = !!(t->features & TF_AVX2);
	char *s = flags[avx512 ? 2 + vnni + 2 * fp16 : avx2];

	if (!s[0])
		snprintf(s, sizeof flags[0],
			 "-std=gnu11 -fno-math-errno -fno-trapping-math -ffp-contract=fast -fwrapv -fno-tree-vectorize"
			 "%s%s%s%s",
			 strcasestr(target_compiler_version(), "clang") ?
				 " -O2 -Wno-ignored-optimization-argument" :
				 " -O1 -fexpensive-optimizations -fschedule-insns2 -fno-tree-ccp",
			 avx512 ? " -march=x86-64-v4 -mprefer-vector-width=512" :
			 avx2   ? " -march=x86-64-v3" :
				  "",
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
		char *command = xprintf("echo __VERSION__ | %s -E -P -x c - 2>/dev/null", target_compiler());
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

const char *target_row(const struct target *t)
{
	static char row[320];
	static const char *const names[] = {"fma", "avx2", "avx512", "vnni", "fp16"};
	size_t n = (size_t)snprintf(row, sizeof row, "cpu=%s;features=", t->cpu);

	for (int i = 0; i < 5; i++)
		if (t->features >> i & 1)
			n += (size_t)snprintf(row + n, sizeof row - n, "%s%s", row[n - 1] == '=' ? "" : ",", names[i]);
	snprintf(row + n, sizeof row - n, ";l1=%lldK;l2=%lldK;l3=%lldK;cores=%d;compiler=%s %s", (long long)t->l1 >> 10,
		 (long long)t->l2 >> 10, (long long)t->l3 >> 10, t->cores, target_compiler(), target_compiler_version());
	return row;
}
