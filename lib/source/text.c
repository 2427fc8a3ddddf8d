/* Text of the C file: what is the same in all models, and names and strings that come from a model. */
#include <string.h>
#include "source/source_impl.h"
#include "common/shown.h"
#include "graph/pass.h"

const char runtime_text[] =
#include "lib/source/runtime.in.inc"
	;
const char bare_text[] =
#include "lib/source/bare.in.inc"
	;
const char native_runtime_text[] =
#include "lib/source/native.in.inc"
	;
const char team_text[] =
#include "lib/source/team.in.inc"
	;
const char few_text[] =
#include "lib/source/few.in.inc"
	;
const char header_text[] =
#include "lib/source/header.in.inc"
	;
const char checksum_text[] =
#include "lib/source/checksum.in.inc"
	;
const char values_text[] =
#include "lib/source/values.in.inc"
	;
const char sizes_text[] =
#include "lib/source/sizes.in.inc"
	;
const char values_run_text[] =
#include "lib/source/values_run.in.inc"
	;
const char state_text[] =
#include "lib/source/state.in.inc"
	;
const char append_text[] =
#include "lib/source/append.in.inc"
	;
const char undo_text[] =
#include "lib/source/undo.in.inc"
	;
const char lend_text[] =
#include "lib/source/lend.in.inc"
	;
const char maps_text[] =
#include "lib/source/maps.in.inc"
	;
const char lists_text[] =
#include "lib/source/lists.in.inc"
	;
const char lists_native_text[] =
#include "lib/source/lists_native.in.inc"
	;
const char state_file_text[] =
#include "lib/source/state_file.h.inc"
	;
const char flow_text[] =
#include "lib/source/flow.in.inc"
	;
const char value_text[] =
#include "lib/op/hone_value.h.inc"
	;
const char sections_text[] =
#include "lib/source/sections.in.inc"
	;
const char gears_text[] =
#include "lib/source/gears.in.inc"
	;
const char several_text[] =
#include "lib/source/several.in.inc"
	;
const char opaque_text[] =
#include "lib/op/opaque.h.inc"
	;
const char abi_text[] =
#include "lib/runner/model_abi.h.inc"
	;

void put_string(FILE *f, const char *s) { put_bytes(f, s, strlen(s)); }

void put_bytes(FILE *f, const char *s, size_t n)
{
	fputc('"', f);
	for (const char *end = s + n, *p = s; p < end;) {
		int k = shown_length(p, (size_t)(end - p));
		if (*p == '"' || *p == '\\')
			fprintf(f, "\\%c", *p);
		else if (k == 0 || *p == '?') /* trigraphs */
			fprintf(f, "\\%03o", (unsigned char)*p);
		else
			fwrite(p, 1, (size_t)k, f);
		p += k ? k : 1;
	}
	fputc('"', f);
}

void put_comment(FILE *f, const char *s)
{
	for (int k; *s; s += k ? k : 1) {
		k = shown_length(s, 4);
		if (k == 0 || (*s == '*' && s[1] == '/') || (*s == '/' && s[1] == '*'))
			fputc('?', f);
		else
			fwrite(s, 1, (size_t)k, f);
	}
}

/* What stands for a word of the template that text begins with; returns what follows the word, or text where it begins with none. */
static const char *put_placeholder(struct emission *e, FILE *f, const char *text)
{
	static const char name[] = "@NAME@", model[] = "@MODEL@", table[] = "@TABLE@", targets[] = "@TARGETS@", made_of[] = "@MADE_OF@";

	if (*text != '@')
		return text;
	if (!strncmp(text, name, strlen(name))) {
		fputs(e->name, f);
		return text + strlen(name);
	}
	if (!strncmp(text, model, strlen(model))) {
		fputs(e->model ? e->model : e->name, f);
		return text + strlen(model);
	}
	if (!strncmp(text, table, strlen(table))) {
		fputs(e->number ? "static const struct hone_model target_table" : "const struct hone_model hone_model", f);
		return text + strlen(table);
	}
	if (!strncmp(text, targets, strlen(targets))) {
		put_target_names(e, f, ", ", put_comment);
		return text + strlen(targets);
	}
	if (!strncmp(text, made_of, strlen(made_of))) {
		char graph[33], weights[33];
		digest_hex(e->graph, graph);
		digest_hex(e->weights.digest, weights);
		fprintf(f,
			"#ifndef HONE_BUILD\n#define HONE_BUILD \"%s\"\n#endif\n#define MADE_OF \"hone \" HONE_BUILD \", graph %s, weights %s\"\n",
			HONE_VERSION, graph, weights);
		return text + strlen(made_of);
	}
	return text;
}

const char *put_template(struct emission *e, FILE *f, const char *text, const char *until)
{
	const struct {
		const char *mark;
		bool wanted;
	} marks[] = {{"@THREADS@", e->functions.threads > 1},
		     {"@NATIVE@", e->M->natives},
		     {"@SHAPED@", e->M->shaped},
		     {"@LISTED@", e->M->listed},
		     {"@TEXTS@", puts_texts(e)},
		     {"@WORDED@", takes_texts(e)},
		     {"@FLOWS@", e->M->kin},
		     {"@KEPT@", e->M->states.n},
		     {"@GROWS@", e->M->nappend},
		     {"@SEVERAL@", e->of_several != NULL},
		     {"@BARE@", e->bare},
		     {"@HOSTED@", !e->bare},
		     {"@EMBED@", e->embed},
		     {"@BESIDE@", !e->embed}};

	while (*text) {
		size_t k = 0;
		while (k < sizeof marks / sizeof *marks && strncmp(text, marks[k].mark, strlen(marks[k].mark)))
			k++;
		if (k < sizeof marks / sizeof *marks) {
			text += marks[k].wanted ? strlen(marks[k].mark) : strcspn(text, "\n") + 1;
			continue;
		}
		if (until && !strncmp(text, until, strlen(until)))
			return text + strcspn(text, "\n") + 1;
		const char *after = put_placeholder(e, f, text);
		if (after == text)
			fputc(*text++, f);
		else
			text = after;
	}
	return text;
}

const char *call_name(struct emission *e, uint32_t c)
{
	struct module *m = e->M->m;
	const struct node *n = node(m, e->M->calls.a[c].node);

	return n->name ? sym_str(n->name) : n->nout ? sym_str(val(m, n->out[0])->name) : "";
}
