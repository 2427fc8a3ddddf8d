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
	t->fma_ports = t->load_ports = 2;
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
					    .load_ports = 2,
					    .issue = 5,
					    .ahead = 300,
					    .decoded = 4000,
					    .l1 = 32 << 10,
					    .l2 = 1 << 20,
					    .l3 = 16 << 20,
					    .cores = 1,
					    .hertz = 4e9,
					    .l2_a_cycle = 56,
					    .l3_a_cycle = 16,
					    .memory_a_cycle = 8,
					    .exit_cycles = 20,
					    .line_cycles = 200,
					    .call_cycles = 29};
	struct target f = t ? *t : usual;

#define FILL(field) f.field = f.field ? f.field : usual.field
	FILL(vector_bytes), FILL(vector_regs), FILL(fma_ports), FILL(fma_latency), FILL(load_ports), FILL(l1), FILL(l2), FILL(l3),
		FILL(cores);
	FILL(hertz), FILL(l2_a_cycle), FILL(l3_a_cycle), FILL(memory_a_cycle), FILL(call_cycles);
	FILL(issue), FILL(ahead), FILL(decoded), FILL(exit_cycles), FILL(line_cycles);
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

static const char *row_fault; /* why the row that was read last is none; NULL: it was one, or no row at all */

static bool is_faulty(const char *why)
{
	row_fault = why;
	return false;
}

/* The bit of a feature by its name, which ends at a comma or with the field; 0: this kind of CPU has none of the name. */
static unsigned feature_bit(const struct backend *of, const char *s)
{
	for (int i = 0; of->feature && of->feature[i].name; i++)
		if (strcspn(s, ",;") == strlen(of->feature[i].name) && !strncmp(s, of->feature[i].name, strlen(of->feature[i].name)))
			return 1u << i;
	return 0;
}

/* A name that no kind of CPU has is skipped: newer programs may know it. */
static bool parse_features(const struct backend *of, const char *s, size_t n, unsigned *have)
{
	*have = 0;
	for (const char *end = s + n; s < end; s += strcspn(s, ",;"), s += *s == ',') {
		unsigned bit = feature_bit(of, s);
		*have |= bit;
		for (const struct backend *const *b = backends; *b && !bit; b++)
			if (feature_bit(*b, s))
				return is_faulty(sym_str(intern_printf("the row has %.*s, which is %s's, not %s's", (int)strcspn(s, ",;"),
								       s, (*b)->name, of->name)));
	}
	return true;
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

enum { ROW_CPU, ROW_FEATURES, ROW_L1, ROW_L2, ROW_NEEDED, ROW_L3 = ROW_NEEDED, ROW_ARCH, ROW_CORES, ROW_RATES, ROW_FIELDS };
static const char *const row_field[ROW_FIELDS] = {"cpu", "features", "l1", "l2", "l3", "arch", "cores", "rates"};

/* The number of the field that begins at s and has `key` characters; ROW_FIELDS: it is another. */
static int field_number(const char *s, size_t key)
{
	int i = 0;

	while (i < ROW_FIELDS && (key != strlen(row_field[i]) || strncmp(s, row_field[i], key)))
		i++;
	return i;
}

/* Field i, whose value is v, to t or features. */
static bool parse_field(const struct backend *of, int i, const char *v, struct target *t, unsigned *features)
{
	enum { KILOBYTES_MAX = 1 << 30, CORES_MAX = 1 << 20 };
	int64_t n = 0;

	switch (i) {
	case ROW_CPU: snprintf(t->cpu, sizeof t->cpu, "%.*s", (int)strcspn(v, ";"), v); return true;
	case ROW_FEATURES: return parse_features(of, v, strcspn(v, ";"), features);
	case ROW_CORES: /* older programs say that */
		if (!parse_count(v, "", 1, CORES_MAX, &n))
			break;
		t->cores = (int)n;
		return true;
	case ROW_L1:
	case ROW_L2:
	case ROW_L3:
		if (!parse_count(v, "K", 1, KILOBYTES_MAX, &n))
			break;
		*(i == ROW_L1 ? &t->l1 : i == ROW_L2 ? &t->l2 : &t->l3) = n << 10;
		return true;
	default: return true;
	}
	return is_faulty(sym_str(intern_printf("the row has %s=%.*s, which is no %s", row_field[i], (int)strcspn(v, ";"), v,
					       i == ROW_CORES ? "number of cores" : "size, as 32K is")));
}

/* The fields of a row; *have: bit i, field i is there. */
static bool parse_fields(const struct backend *of, const char *row, struct target *t, unsigned *have, unsigned *features,
			 const char **rates)
{
	enum { PORTS_USUAL = 2 };
	int most = of->ports_most ? of->ports_most : PORTS_USUAL;
	int64_t n;

	for (const char *s = row; *s; s += strcspn(s, ";"), s += *s == ';') {
		const char *v = s + strcspn(s, "=;");
		size_t key = (size_t)(v - s);
		int i = field_number(s, key);
		if (*v++ != '=')
			continue;
		if (i < ROW_FIELDS && *have >> i & 1)
			return is_faulty(sym_str(intern_printf("the row has %s twice", row_field[i])));
		*have |= i < ROW_FIELDS ? 1u << i : 0;
		if (i == ROW_RATES)
			*rates = v;
		if (!parse_field(of, i, v, t, features))
			return false;
		if (!of->ports || key != strlen(of->ports) || strncmp(s, of->ports, key))
			continue;
		if (!parse_count(v, "", 1, most, &n))
			return is_faulty(
				sym_str(intern_printf("the row has %s other than 1 %s %d", of->ports, most > 2 ? "to" : "or", most)));
		t->ports = n != PORTS_USUAL ? (int)n : 0;
	}
	return true;
}

static bool parse_row(const char *row, struct target *t)
{
	const struct backend *of = parse_arch(row);
	unsigned have = 0, features = 0;
	const char *rates = NULL, *why;

	if (!strchr(row, '='))
		return false;
	if (!of)
		return is_faulty("there is no such kind of CPU (arch)");
	t->ports = 0;
	if (!parse_fields(of, row, t, &have, &features, &rates))
		return false;
	for (int i = 0; i < ROW_NEEDED; i++)
		if (!(have >> i & 1))
			return is_faulty(sym_str(intern_printf("the row lacks %s", row_field[i])));
	if ((why = contradiction(of, features)))
		return is_faulty(why);
	set_features(t, of, features);
	memset(t->rate, 0, sizeof t->rate);
	if (!rates || !*rates)
		rates_read(t);
	if (!(have >> ROW_L3 & 1)) /* not every machine has one */
		t->l3 = t->l2;
	return !rates || !*rates || rates_parse(t, rates, strcspn(rates, ";")) || is_faulty("the row has rates that are none");
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
	row_fault = NULL;
	*out = *target_host();
	if (!strcmp(name, "native"))
		return true;
	for (const struct backend *const *b = backends; *b; b++)
		for (const struct level *l = (*b)->level; l && l->name; l++)
			if (!strcmp(name, l->name)) {
				if (*b != backend_here() && !(*b)->anywhere)
					set_foreign(out, name);
				out->ports = l->ports ? l->ports : out->ports;
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

	return !target_find(name, &t) && row_fault ? row_fault : sym_str(intern_printf("there are %s", target_names()));
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
