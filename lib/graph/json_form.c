/* Modules as JSON, for jq and other programs: the text form in pieces. Names, types, constants and values of attributes are strings, each
 * a piece of the text form as ge-dump prints it, so the two say the same; doc/ge-stream.5 has the keys. */
#include <stdlib.h>
#include <string.h>
#include "common/json.h"
#include "common/json_read.h"
#include "common/msg.h"
#include "common/textfile.h"
#include "graph/text.h"
#include "graph/textform.h"

enum { JSON_FORM_VERSION = 1 };

/* ---- out ---- */

struct json_out {
	FILE *f;
	struct text_writer w; /* its file is that of the piece that is written */
	char *piece;
};

static void piece_begin(struct json_out *o) { o->w.f = textfile_open(&o->piece, NULL); }

static void piece_end(struct json_out *o)
{
	textfile_close(o->w.f);
	json_str(o->f, o->piece);
	free(o->piece);
}

static void put_value(struct json_out *o, val_id v)
{
	piece_begin(o);
	text_put_value(&o->w, v);
	piece_end(o);
}

static void put_type(struct json_out *o, const struct type *t)
{
	if (t->dtype == DT_NONE && t->rank == RANK_UNKNOWN && !t->layout && !t->other)
		return;
	fputs(",\"type\":", o->f);
	piece_begin(o);
	text_put_type(&o->w, t);
	piece_end(o);
}

static void put_node(struct json_out *o, const struct node *n)
{
	fputs("{\"op\":", o->f);
	piece_begin(o);
	text_put_op(&o->w, n);
	piece_end(o);
	fputs(",\"in\":[", o->f);
	for (uint32_t i = 0; i < n->nin; i++) {
		fputs(i ? "," : "", o->f);
		put_value(o, n->in[i]);
	}
	fputs("],\"out\":[", o->f);
	for (uint32_t i = 0; i < n->nout; i++) {
		fputs(i ? ",{\"name\":" : "{\"name\":", o->f);
		put_value(o, n->out[i]);
		if (n->out[i])
			put_type(o, &val(o->w.m, n->out[i])->type);
		putc('}', o->f);
	}
	fputs("],\"attrs\":{", o->f);
	for (uint32_t i = 0; i < n->nattr; i++) {
		fputs(i ? "," : "", o->f);
		piece_begin(o);
		text_put_name(o->w.f, n->attr[i].name);
		piece_end(o);
		putc(':', o->f);
		piece_begin(o);
		text_put_attr_value(&o->w, &n->attr[i]);
		piece_end(o);
	}
	putc('}', o->f);
	if (n->name) {
		fputs(",\"name\":", o->f);
		piece_begin(o);
		text_put_string(o->w.f, sym_str(n->name), sym_len(n->name));
		piece_end(o);
	}
	putc('}', o->f);
}

static void put_inputs(struct json_out *o, const struct graph *g)
{
	fputs(",\n  \"inputs\":[", o->f);
	for (size_t i = 0; i < g->in.n; i++) {
		const struct value *v = val(o->w.m, g->in.a[i]);
		fputs(i ? ",\n   {\"name\":" : "\n   {\"name\":", o->f);
		put_value(o, g->in.a[i]);
		put_type(o, &v->type);
		if (v->overridable && v->tensor) {
			fputs(",\"default\":", o->f);
			piece_begin(o);
			text_put_tensor(o->w.f, o->w.m, v->tensor);
			piece_end(o);
		}
		putc('}', o->f);
	}
	putc(']', o->f);
}

static void put_graph(struct json_out *o, graph_id id)
{
	const struct graph *g = graph(o->w.m, id);

	fputs("\n {\"name\":", o->f);
	piece_begin(o);
	text_put_label(&o->w, id);
	piece_end(o);
	put_inputs(o, g);
	fputs(",\n  \"nodes\":[", o->f);
	for (size_t i = 0; i < g->nodes.n; i++) {
		fputs(i ? ",\n   " : "\n   ", o->f);
		put_node(o, node(o->w.m, g->nodes.a[i]));
	}
	fputs("],\n  \"outputs\":[", o->f);
	for (size_t i = 0; i < g->out.n; i++) {
		fputs(i ? ",\n   {\"name\":" : "\n   {\"name\":", o->f);
		piece_begin(o);
		text_put_name(o->w.f, g->out_name.a[i]);
		piece_end(o);
		fputs(",\"value\":", o->f);
		put_value(o, g->out.a[i]);
		putc('}', o->f);
	}
	fputs("]}", o->f);
}

/* The lines before the graphs, those that begin with this word, as a list; of "NAME = VALUE" NAME is a key where pairs are wanted. */
static void put_lines(FILE *f, char *head, const char *word, bool pairs)
{
	size_t n = strlen(word);
	const char *sep = "";

	fprintf(f, ",\n \"%s\":%c", word, pairs ? '{' : '[');
	for (char *line = head, *end; (end = strchr(line, '\n')); line = end + 1) {
		char *rest = line + n + 1, *at = rest;
		if (strncmp(line, word, n) || line[n] != ' ')
			continue;
		*end = 0;
		fprintf(f, "%s\n  ", sep);
		for (bool quoted = false; pairs && (quoted || *at != ' '); at++) {
			quoted ^= *at == '"';
			at += *at == '\\';
		}
		if (pairs) {
			*at = 0;
			json_str(f, rest);
			putc(':', f);
			*at = ' ';
			rest = at + strlen(" = ");
		}
		json_str(f, rest);
		*end = '\n';
		sep = ",";
	}
	putc(pairs ? '}' : ']', f);
}

void json_form_write(FILE *f, struct module *m)
{
	struct json_out o = {.f = f};
	char *head;
	FILE *h = textfile_open(&head, NULL);

	text_writer_open(&o.w, h, m);
	text_put_head(&o.w);
	textfile_close(h);
	fprintf(f, "{\"hone-json\":%d", JSON_FORM_VERSION);
	put_lines(f, head, "module", false);
	put_lines(f, head, "provenance", false);
	put_lines(f, head, "meta", true);
	put_lines(f, head, "symbol", false);
	put_lines(f, head, "const", true);
	free(head);
	fputs(",\n \"graphs\":[", f);
	for (size_t i = 0; i < o.w.order.n; i++) {
		fputs(i ? "," : "", f);
		put_graph(&o, o.w.order.a[i]);
	}
	fputs("]}\n", f);
	text_writer_close(&o.w);
}

/* ---- in: the text form is put together again, and its reader says what is wrong ---- */

static noreturn void form_die(const struct json_in *j, const char *wanted)
{
	die(EX_BADDATA, "%s:%zu: %s wanted", j->path, (size_t)(j->p - j->start), wanted);
}

static void want(struct json_in *j, enum json_token t, const char *what)
{
	if (json_next(j) != t)
		form_die(j, what);
}

/* The next string, in a text of its own: pieces hold no line feed. */
static char *read_piece(struct json_in *j)
{
	want(j, JSON_STRING, "a string");
	if (strlen(j->text.a) + 1 < j->text.n || strchr(j->text.a, '\n'))
		form_die(j, "a string of one line");
	return xstrdup(j->text.a);
}

/* Fields of one object, each a string: those of names[], in any order, into field[]; free them. */
static void read_fields(struct json_in *j, int n, const char *const *names, char **field)
{
	enum json_token t;

	for (int i = 0; i < n; i++)
		field[i] = NULL;
	while ((t = json_next(j)) == JSON_KEY) {
		int i = 0;
		while (i < n && strcmp(j->text.a, names[i]))
			i++;
		if (i == n || field[i])
			form_die(j, i == n ? "another key" : "each key once");
		field[i] = read_piece(j);
	}
	if (!field[0])
		form_die(j, names[0]);
}

static void free_fields(int n, char **field)
{
	for (int i = 0; i < n; i++)
		free(field[i]);
}

static const char *or_none(const char *s) { return s ? s : ""; }

/* A list of values with types, or of inputs: each between before and after. */
static void read_values(struct json_in *j, FILE *f, const char *before, const char *after)
{
	static const char *const names[] = {"name", "type", "default"};
	enum json_token t;
	bool first = true;

	want(j, JSON_ARRAY, "a list");
	while ((t = json_next(j)) == JSON_OBJECT) {
		char *x[3];
		read_fields(j, 3, names, x);
		fprintf(f, "%s%s%s%s%s%s%s%s", first || *after ? "" : ", ", before, x[0], x[1] ? ": " : "", or_none(x[1]),
			x[2] ? " = " : "", or_none(x[2]), after);
		free_fields(3, x);
		first = false;
	}
	if (t != JSON_ARRAY_END)
		form_die(j, "an object");
}

static void read_strings(struct json_in *j, FILE *f)
{
	enum json_token t;
	const char *sep = "";

	want(j, JSON_ARRAY, "a list");
	for (; (t = json_next(j)) == JSON_STRING; sep = ", ")
		fprintf(f, "%s%s", sep, j->text.a);
	if (t != JSON_ARRAY_END)
		form_die(j, "a string");
}

/* "KEY": "VALUE" as before KEY eq VALUE after, with sep between two. */
static void read_pairs(struct json_in *j, FILE *f, const char *before, const char *eq, const char *after, const char *sep)
{
	enum json_token t;

	want(j, JSON_OBJECT, "an object");
	for (const char *s = ""; (t = json_next(j)) == JSON_KEY; s = sep) {
		fprintf(f, "%s%s%s%s", s, before, j->text.a, eq);
		char *value = read_piece(j);
		fprintf(f, "%s%s", value, after);
		free(value);
	}
}

/* Parts of what is read, each a text; the order in the file is free, in the text it is not. */
enum { PARTS_MAX = 8 };
struct parts {
	int n;
	char *text[PARTS_MAX];
};

static int part_of(struct json_in *j, const struct parts *p, const char *const *names)
{
	int i = 0;

	while (i < p->n && strcmp(j->text.a, names[i]))
		i++;
	if (i == p->n || p->text[i])
		form_die(j, i == p->n ? "another key" : "each key once");
	return i;
}

static void read_node(struct json_in *j, FILE *to)
{
	static const char *const names[] = {"out", "op", "in", "attrs", "name"};
	struct parts p = {.n = 5};

	while (json_next(j) == JSON_KEY) {
		int i = part_of(j, &p, names);
		FILE *f = textfile_open(&p.text[i], NULL);
		switch (i) {
		case 0: read_values(j, f, "", ""); break;
		case 2: read_strings(j, f); break;
		case 3: read_pairs(j, f, "", "=", "", " "); break;
		default: {
			char *s = read_piece(j);
			fputs(s, f);
			free(s);
		}
		}
		textfile_close(f);
	}
	if (!p.text[1])
		form_die(j, "op");
	const char *out = or_none(p.text[0]), *attrs = or_none(p.text[3]);
	fprintf(to, "  %s%s= %s(%s)%s%s%s%s%s\n", out, *out ? " " : "", p.text[1], or_none(p.text[2]), *attrs ? " {" : "", attrs,
		*attrs ? "}" : "", p.text[4] ? " " : "", or_none(p.text[4]));
	free_fields(p.n, p.text);
}

static void read_outputs(struct json_in *j, FILE *f)
{
	static const char *const names[] = {"name", "value"};
	enum json_token t;

	want(j, JSON_ARRAY, "a list");
	while ((t = json_next(j)) == JSON_OBJECT) {
		char *x[2];
		read_fields(j, 2, names, x);
		fprintf(f, "  output %s = %s\n", x[0], or_none(x[1]));
		free_fields(2, x);
	}
	if (t != JSON_ARRAY_END)
		form_die(j, "an object");
}

static void read_nodes(struct json_in *j, FILE *f)
{
	enum json_token t;

	want(j, JSON_ARRAY, "a list");
	while ((t = json_next(j)) == JSON_OBJECT)
		read_node(j, f);
	if (t != JSON_ARRAY_END)
		form_die(j, "an object");
}

static void read_graph(struct json_in *j, FILE *to)
{
	static const char *const names[] = {"name", "inputs", "nodes", "outputs"};
	struct parts p = {.n = 4};

	while (json_next(j) == JSON_KEY) {
		int i = part_of(j, &p, names);
		FILE *f;
		if (i == 0) {
			p.text[0] = read_piece(j);
			continue;
		}
		f = textfile_open(&p.text[i], NULL);
		i == 1 ? read_values(j, f, "  input ", "\n") : i == 2 ? read_nodes(j, f) : read_outputs(j, f);
		textfile_close(f);
	}
	if (!p.text[0])
		form_die(j, "name");
	fprintf(to, "graph %s {\n%s%s%s}\n", p.text[0], or_none(p.text[1]), or_none(p.text[2]), or_none(p.text[3]));
	free_fields(p.n, p.text);
}

static void read_graphs(struct json_in *j, FILE *f)
{
	enum json_token t;

	want(j, JSON_ARRAY, "a list");
	while ((t = json_next(j)) == JSON_OBJECT)
		read_graph(j, f);
	if (t != JSON_ARRAY_END)
		form_die(j, "an object");
}

static void read_lines(struct json_in *j, FILE *f, const char *word)
{
	enum json_token t;

	want(j, JSON_ARRAY, "a list");
	while ((t = json_next(j)) == JSON_STRING)
		fprintf(f, "%s %s\n", word, j->text.a);
	if (t != JSON_ARRAY_END)
		form_die(j, "a string");
}

static void read_module(struct json_in *j, FILE *to)
{
	static const char *const names[] = {"hone-json", "module", "provenance", "meta", "symbol", "const", "graphs"};
	struct parts p = {.n = 7};

	while (json_next(j) == JSON_KEY) {
		int i = part_of(j, &p, names);
		FILE *f = textfile_open(&p.text[i], NULL);
		switch (i) {
		case 0:
			if (json_next(j) != JSON_NUMBER || j->number != JSON_FORM_VERSION)
				form_die(j, "\"hone-json\": 1");
			break;
		case 3: read_pairs(j, f, "meta ", " = ", "\n", ""); break;
		case 5: read_pairs(j, f, "const ", " = ", "\n", ""); break;
		case 6: read_graphs(j, f); break;
		default: read_lines(j, f, names[i]); break;
		}
		textfile_close(f);
	}
	if (!p.text[0])
		form_die(j, "hone-json");
	fprintf(to, "hone-text %d\n", TEXT_VERSION);
	for (int i = 1; i < p.n; i++)
		fputs(or_none(p.text[i]), to);
	free_fields(p.n, p.text);
}

static const char *past_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
		p++;
	return p;
}

char *json_form_text(const char *path, const char *p, size_t n, size_t *size)
{
	struct json_in j = {0};
	char *text;
	FILE *f = textfile_open(&text, size);

	for (const char *at = p, *end = p + n; (at = past_blanks(at, end)) < end; at = j.p) {
		json_close(&j);
		json_open(&j, path, at, (size_t)(end - at));
		j.start = p;
		want(&j, JSON_OBJECT, "an object");
		read_module(&j, f);
	}
	json_close(&j);
	textfile_close(f);
	return text;
}
