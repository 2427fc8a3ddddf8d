/* Rates: their names, their text, and the file that keeps them. */
#define _GNU_SOURCE
#include "target/rate.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "common/arena.h"
#include "common/digest.h"
#include "common/intern.h"
#include "common/msg.h"
#include "common/outfile.h"
#include "common/textfile.h"
#include "target/backend.h"

/* Rates that every kind of CPU has stand first. */
static const char *const common[RATE_OWN] = {[RATE_L2] = "l2", [RATE_MEMORY] = "memory", [RATE_SHARED] = "shared"};

const struct rate *rate_row(const struct backend *of, int i)
{
	const struct rate *r = of->process.rate;

	for (i -= RATE_OWN; r && r->name && i > 0; i--)
		r++;
	return r && r->name ? r : NULL;
}

const char *rate_name(const struct target *t, int i)
{
	if (i < RATE_OWN)
		return common[i];
	const struct rate *r = i < RATES_MAX ? rate_row(backend_of(t), i) : NULL;
	return r ? r->name : NULL;
}

double target_rate(const struct target *t, const char *name)
{
	const char *of;

	for (int i = 0; (of = rate_name(t, i)); i++)
		if (!strcmp(of, name)) {
			unsigned needs = i < RATE_OWN ? 0 : rate_row(backend_of(t), i)->features;
			return (t->features & needs) == needs ? t->rate[i] : 0;
		}
	return 0;
}

double target_fma_rate(const struct target *t)
{
	return target_rate(t, t->vector_bytes == 64 ? "fma512" : t->vector_bytes == 32 ? "fma256" : "fma128");
}

/* ---- as text ---- */

enum { GIGA = 1000000000 };
static const double GIGA_MOST = 1e9; /* thousands of millions a second */

static bool parse_rate(struct target *t, const char *s, size_t n)
{
	const char *colon = memchr(s, ':', n), *name;
	char *end;

	if (!colon)
		return false;
	double v = strtod(colon + 1, &end);
	if (end != s + n || !(v >= 1 / GIGA_MOST) || !(v <= GIGA_MOST)) /* beyond any machine: sums of times would overflow */
		return false;
	for (int i = 0; (name = rate_name(t, i)); i++)
		if (strlen(name) == (size_t)(colon - s) && !strncmp(name, s, (size_t)(colon - s))) {
			if (t->rate[i] > 0)
				return false; /* twice */
			t->rate[i] = v * GIGA;
		}
	return true;
}

bool rates_parse(struct target *t, const char *text, size_t n)
{
	memset(t->rate, 0, sizeof t->rate);
	for (const char *end = text + n; text < end;) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		size_t k = (size_t)((comma ? comma : end) - text);
		if (!parse_rate(t, text, k))
			return false;
		text += k + (comma != NULL);
	}
	return true;
}

const char *rates_text(const struct target *t)
{
	sym s = intern("");
	const char *name;

	for (int i = 0; (name = rate_name(t, i)); i++)
		if (t->rate[i] > 0)
			s = intern_printf("%s%s%s:%.4g", sym_str(s), *sym_str(s) ? "," : "", name, t->rate[i] / GIGA);
	return sym_str(s);
}

/* ---- what a process used ---- */

static struct target noted;
static bool is_noted;

void rates_note(const struct target *t)
{
	noted = *t;
	is_noted = true;
}

const char *rates_digest(const struct target *t)
{
	const char *text = rates_text(t);
	char hex[33];

	if (!*text)
		return "built-in";
	digest_hex(digest_bytes(text, strlen(text)), hex);
	return sym_str(intern_printf("%.16s", hex));
}

const char *rates_used(void) { return is_noted ? rates_digest(&noted) : NULL; }

/* ---- the file ---- */

const char *rates_path(void)
{
	const char *env = getenv("HONE_RATES");

	if (env && *env)
		return env;
	if ((env = getenv("XDG_DATA_HOME")) && *env == '/')
		return sym_str(intern_printf("%s/hone/rates", env));
	return (env = getenv("HOME")) && *env ? sym_str(intern_printf("%s/.local/share/hone/rates", env)) : NULL;
}

enum { FILE_MOST = 16 << 20 }; /* a line a machine */

/* NULL: there is none, and no rates are known. */
static FILE *open_rates(const char *path)
{
	struct stat st;

	if (!path || stat(path, &st))
		return NULL;
	if (S_ISFIFO(st.st_mode) || S_ISDIR(st.st_mode))
		die(EX_NOIN, "%s: is no file of rates", path);
	return fopen(path, "re");
}

/* The next line; the file does not go on for ever. */
static bool next_line(FILE *f, const char *path, char **line, size_t *size, size_t *read)
{
	if (!textfile_line(f, path, line, size))
		return false;
	*read += strlen(*line) + 1;
	if (*read > FILE_MOST)
		die(EX_BADDATA, "%s: is no file of rates: more than %d bytes", path, FILE_MOST);
	return true;
}

/* What the line of a machine begins with. */
static const char *line_start(const struct target *t) { return sym_str(intern_printf("%s;rates=", target_cpu(t))); }

void rates_read(struct target *t)
{
	const char *path = rates_path(), *start = line_start(t);
	FILE *f = open_rates(path);
	char *line = NULL;
	size_t size = 0, read = 0;
	bool found = false;

	while (f && next_line(f, path, &line, &size, &read)) {
		if (strncmp(line, start, strlen(start)))
			continue;
		if (found)
			die(EX_BADDATA, "%s: %.80s: a machine twice", path, line);
		found = true;
		if (!rates_parse(t, line + strlen(start), strcspn(line + strlen(start), "\n")))
			die(EX_BADDATA, "%s: %.80s: rates are NAME:NUMBER, each once; run-dev --probe measures them", path, line);
	}
	free(line);
	if (f)
		fclose(f);
}

static void make_directories(const char *path)
{
	char *copy = xstrdup(path);

	for (char *s = copy + 1; (s = strchr(s, '/')); *s++ = '/') {
		*s = 0;
		if (mkdir(copy, 0777) && errno != EEXIST)
			die(EX_IO, "%s: %s", copy, strerror(errno));
	}
	free(copy);
}

void rates_write(const struct target *t)
{
	const char *path = rates_path(), *start = line_start(t);
	struct outfile out;
	char *line = NULL;
	size_t size = 0, read = 0;

	if (!path)
		die(EX_IO, "no home for the rates; HONE_RATES names their file");
	make_directories(path);
	FILE *f = open_rates(path);
	outfile_open(&out, path, false);
	while (f && next_line(f, path, &line, &size, &read))
		if (strncmp(line, start, strlen(start)))
			fputs(line, out.f);
	fprintf(out.f, "%s%s\n", start, rates_text(t));
	free(line);
	if (f)
		fclose(f);
	outfile_close(&out);
}
