#define _GNU_SOURCE
#include "target/backend.h"
#include "common/arena.h"
#include "common/intern.h"
#include "common/msg.h"
#include "target/rate.h"
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
	t->l3 = 0;
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
	if (!t->l3)
		t->l3 = cache_field(0, "level", level, sizeof level) ? t->l2 : 16 << 20;
}

/* What follows from the kind of CPU and its features. */
static void set_features(struct target *t, const struct backend *of, unsigned features)
{
	t->of = of;
	t->features = features;
	t->ports = of->ports ? t->ports : 0;
	t->masks = t->by_element = t->loads_apart = t->begins_sums = t->stores_two = t->hands_on_nan = false;
	t->lookup_operations = 0;
	if (of->derive) {
		of->derive(t);
		return;
	}
	t->vector_bytes = t->vector_regs = 16;
	t->fma_ports = 2;
	t->fma_latency = 4;
}

static struct target host;
static bool known;

static void pass_for_named(const char *name)
{
	struct target t;

	if (!name || !*name)
		return;
	if (!target_find(name, &t))
		die(EX_BADUSE, "HONE_TARGET=%s: %s", name, target_why_not(name));
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
					    .l2_a_cycle = 56,
					    .l3_a_cycle = 16,
					    .memory_a_cycle = 8,
					    .call_cycles = 29};
	struct target f = t ? *t : usual;

#define FILL(field) f.field = f.field ? f.field : usual.field
	FILL(vector_bytes), FILL(vector_regs), FILL(fma_ports), FILL(fma_latency), FILL(l1), FILL(l2), FILL(l3), FILL(cores);
	FILL(hertz), FILL(l2_a_cycle), FILL(l3_a_cycle), FILL(memory_a_cycle), FILL(call_cycles);
#undef FILL
	f.lookup_operations = f.lookup_operations ? f.lookup_operations : 2 * f.vector_bytes / 4; /* out of the vector and into another */
	return f;
}

const struct target *target_host(void)
{
	cpu_set_t set;

	if (known)
		return &host;
	if (backend_here()->detect)
		backend_here()->detect(&host);
	if (!*host.cpu)
		read_cpu_name(&host);
	set_features(&host, backend_here(), host.features);
	read_caches(&host);
	CPU_ZERO(&set);
	host.cores = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
	known = true;
	rates_read(&host);
	if (backend_here()->measured)
		backend_here()->measured(&host);
	pass_for_named(getenv("HONE_TARGET"));
	rates_note(&host);
	return &host;
}

const char *target_pass_for(const struct target *t)
{
	const struct backend *of = backend_of(t), *ours = backend_of(target_host());
	unsigned missing = of->anywhere ? 0 : t->features & ~target_host()->features;

	if (of != ours && !of->anywhere)
		return of->name;
	sym lacks = intern("");
	for (int i = 0; missing && of->feature[i].name; i++)
		if (missing >> i & 1)
			lacks = intern_printf("%s%s%s", sym_str(lacks), *sym_str(lacks) ? "," : "", of->feature[i].name);
	if (missing)
		return sym_str(lacks);
	host = *t;
	return NULL;
}

/* ---- by name ---- */

static unsigned parse_features(const struct backend *of, const char *s, size_t n)
{
	unsigned have = 0;

	for (const char *end = s + n; s < end; s += strcspn(s, ",;"), s += *s == ',')
		for (int i = 0; of->feature && of->feature[i].name; i++)
			if (strcspn(s, ",;") == strlen(of->feature[i].name) &&
			    !strncmp(s, of->feature[i].name, strlen(of->feature[i].name)))
				have |= 1u << i;
	return have;
}

/* The backend that a row says; NULL: none that is here. */
static const struct backend *parse_arch(const char *row)
{
	static const char key[] = "arch=";

	for (const char *s = row; *s; s += strcspn(s, ";"), s += *s == ';')
		if (!strncmp(s, key, strlen(key)))
			return backend_find(s + strlen(key), strcspn(s + strlen(key), ";"));
	for (const struct backend *const *b = backends; *b; b++)
		if ((*b)->unnamed)
			return *b;
	return NULL;
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

/* Two features, or a feature and the lack of another, that no CPU has; NULL: there are none. */
static const char *contradiction(const struct backend *of, unsigned have)
{
	for (int i = 0; of->feature && of->feature[i].name; i++)
		for (int k = 0; have >> i & 1 && of->feature[k].name; k++) {
			bool lacks = of->feature[i].needs >> k & 1 && !(have >> k & 1);
			if (lacks || (of->feature[i].excludes & have) >> k & 1)
				return sym_str(intern_printf("the row has %s %s %s", of->feature[i].name, lacks ? "without" : "and",
							     of->feature[k].name));
		}
	return NULL;
}

static const char *row_contradiction; /* in the row that was read last */

static bool parse_row(const char *row, struct target *t)
{
	enum {
		CPU = 1,
		FEATURES = 2,
		L1 = 4,
		L2 = 8,
		L3 = 16,
		NEEDED = CPU | FEATURES | L1 | L2,
		/* cores: older programs say that */ KILOBYTES_MAX = 1 << 30,
		CORES_MAX = 1 << 20,
		PORTS_USUAL = 2
	};
	const struct backend *of = parse_arch(row);
	unsigned have = 0, features = 0;
	const char *rates = "";
	int64_t n;

	if (!of)
		return false;
	t->ports = 0;
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
			features = parse_features(of, v, strcspn(v, ";"));
			have |= FEATURES;
		} else if (of->ports && key == strlen(of->ports) && !strncmp(s, of->ports, key)) {
			if (!parse_count(v, "", 1, PORTS_USUAL, &n))
				return false;
			t->ports = n < PORTS_USUAL ? (int)n : 0;
		} else if (key == 5 && !strncmp(s, "rates", 5)) {
			rates = v;
		} else if (key == 5 && !strncmp(s, "cores", 5) && parse_count(v, "", 1, CORES_MAX, &n)) {
			t->cores = (int)n;
		} else if (key == 2 && s[0] == 'l' && s[1] >= '1' && s[1] <= '3' && parse_count(v, "K", 1, KILOBYTES_MAX, &n)) {
			*(s[1] == '1' ? &t->l1 : s[1] == '2' ? &t->l2 : &t->l3) = n << 10;
			have |= (unsigned)L1 << (s[1] - '1');
		}
	}
	if ((row_contradiction = contradiction(of, features)))
		return false;
	set_features(t, of, features);
	memset(t->rate, 0, sizeof t->rate);
	if (!*rates)
		rates_read(t);
	if (!(have & L3)) /* not every machine has one */
		t->l3 = t->l2;
	return (have & NEEDED) == NEEDED && (!*rates || rates_parse(t, rates, strcspn(rates, ";")));
}

/* A machine of another kind than this one: nothing of it is known but its name. */
static void set_foreign(struct target *t, const char *name)
{
	const struct target usual = target_filled(NULL);

	snprintf(t->cpu, sizeof t->cpu, "%s", name);
	t->l1 = usual.l1;
	t->l2 = usual.l2;
	t->l3 = usual.l3;
	t->ports = 0;
	memset(t->rate, 0, sizeof t->rate);
}

static bool find_named(const char *name, struct target *out)
{
	row_contradiction = NULL;
	*out = *target_host();
	if (!strcmp(name, "native"))
		return true;
	for (const struct backend *const *b = backends; *b; b++)
		for (const struct level *l = (*b)->level; l && l->name; l++)
			if (!strcmp(name, l->name)) {
				if (*b != backend_here() && !(*b)->anywhere)
					set_foreign(out, name);
				set_features(out, *b, l->features);
				return true;
			}
	return parse_row(name, out);
}

bool target_find(const char *name, struct target *out)
{
	bool found = find_named(name, out);

	if (found)
		rates_note(out);
	return found;
}

const char *target_why_not(const char *name)
{
	struct target t;

	return !target_find(name, &t) && row_contradiction ? row_contradiction : sym_str(intern_printf("there are %s", target_names()));
}

const char *target_names(void)
{
	sym names = intern("native");

	for (const struct backend *const *b = backends; *b; b++)
		for (const struct level *l = (*b)->level; l && l->name; l++)
			names = intern_printf("%s, %s", sym_str(names), l->name);
	return sym_str(intern_printf("%s, or a row as kb prints them", sym_str(names)));
}

const char *target_cpu(const struct target *t)
{
	const struct backend *of = backend_of(t);
	sym s = intern_printf("cpu=%s%s%s;features=", t->cpu, of->unnamed ? "" : ";arch=", of->unnamed ? "" : of->name);
	const char *comma = "";

	for (int i = 0; of->feature && of->feature[i].name; i++)
		if (t->features >> i & 1) {
			s = intern_printf("%s%s%s", sym_str(s), comma, of->feature[i].name);
			comma = ",";
		}
	return sym_str(s);
}

const char *target_row(const struct target *t)
{
	static char row[352];
	size_t n = (size_t)snprintf(row, sizeof row, "%s", target_cpu(t));

	if (t->ports)
		n += (size_t)snprintf(row + n, sizeof row - n, ";%s=%d", backend_of(t)->ports, t->ports);
	snprintf(row + n, sizeof row - n, ";l1=%lldK;l2=%lldK;l3=%lldK;compiler=%s %s", (long long)t->l1 >> 10, (long long)t->l2 >> 10,
		 (long long)t->l3 >> 10, target_compiler(t), target_compiler_version(t));
	return row;
}
