/* The command line: verbs and their options, what each is for, and help. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/filename.h"
#include "common/nearest.h"
#include "common/option.h"
#include "common/shown.h"
#include "hone.h"

enum {
	MODELS = V_BUILD | V_TUNE | V_PASSES | V_BENCH | V_ADVISE | V_BISECT | V_BUNDLE,
	LIBRARIES = V_BUILD | V_TUNE | V_BUNDLE,
	ALL = MODELS | V_SIMPLIFY | V_QUANTIZE | V_TRAIN
};

static const struct verb verbs[] = {
	{"build", V_BUILD, "hone build [OPTION...] MODEL.onnx [-o STEM]",
	 "hone build compiles a model to a library: STEM.so, .a, .h, .c and .weights, and\n"
	 "the graph after each pass in STEM.d.",
	 build},
	{"tune", V_TUNE, "hone tune [OPTION...] MODEL.onnx [-o STEM]",
	 "hone tune searches for faster schedules on this machine, then compiles as hone\n"
	 "build does. Stopped (Ctrl-C) it uses the best so far; run again it goes on.",
	 tune},
	{"simplify", V_SIMPLIFY, "hone simplify [OPTION...] IN.onnx OUT.onnx",
	 "hone simplify writes a smaller model that computes the same.", simplify},
	{"quantize", V_QUANTIZE, "hone quantize [OPTION...] MODEL.onnx --data SAMPLES -o OUT.onnx",
	 "hone quantize writes a model that computes nearly the same on bytes.", quantize},
	{"train", V_TRAIN, "hone train [OPTION...] MODEL.onnx --data X.npy --labels Y.npy --loss NAME -o OUT.onnx",
	 "hone train writes the model with weights that were trained on samples.", train},
	{"bench", V_BENCH, "hone bench [OPTION...] MODEL.onnx...",
	 "hone bench builds models and times them, in turns with ONNX Runtime where it is\ninstalled, and prints a table.", bench},
	{"advise", V_ADVISE, "hone advise [OPTION...] MODEL.onnx|LIBRARY.so",
	 "hone advise times each step of a run, and says what bounds it and what to try.", advise},
	{"bisect", V_BISECT, "hone bisect [OPTION...] MODEL.onnx [-o STEM]",
	 "hone bisect finds the stage after which a build computes other numbers, and the\nsmallest part of the model that shows it.",
	 bisect},
	{"bundle", V_BUNDLE, "hone bundle [OPTION...] MODEL.onnx [-o FOLDER]",
	 "hone bundle makes a folder with the library, samples of what it computes, and a\nprogram that checks it on another machine.",
	 bundle},
	{"passes", V_PASSES, "hone passes [OPTION...] MODEL [-o FILE.g]",
	 "hone passes runs the passes of hone build, up to one of them, and writes the graph.", passes},
	{0},
};

static const struct option_row rows[] = {
	{"set", 0, "NAME=SIZE,...", ALL, "shape check", "give symbols their sizes"},
	{"shape", 0, "INPUT:1x3x224x224", ALL, "shape check", "give an input its shape"},
	{"const", 0, "INPUT=VALUE,...", ALL, "shape check", "make an input a constant: a number or a list"},
	{"const-inputs", 0, NULL, ALL, "import", "inputs with a default are constants"},
	{"no-maps", 0, NULL, ALL, "import", "leave every ZipMap out: scores stay a tensor"},
	{"quiet", 'q', NULL, ALL, "", "no report and no progress"},

	{"", 'o', "FOLDER", V_BUNDLE, "", "where to (MODEL.bundle)"},
	{"", 'o', "STEM", V_BUILD | V_TUNE, "", "where to; without, MODEL in this directory"},
	{"outputs", 0, "NAME,...", MODELS, "shape", "values within the model become outputs, too"},
	{"alias", 0, "INPUT=OUTPUT", MODELS, "narrow layout plan",
	 "the library keeps a state: each run's OUTPUT becomes\nthe next run's INPUT"},
	{"last", 0, "OUTPUT", MODELS, "narrow",
	 "only the last place of OUTPUT along its last axis but\none: of a language model's logits, the last token's"},
	{"state-type", 0, "TYPE", MODELS, "narrow", "caches that are kept are of TYPE: f16, bf16 or i8"},
	{"embed", 0, NULL, LIBRARIES, "emit", "put the weights into the C file"},
	{"freestanding", 0, NULL, V_BUNDLE, "",
	 "for a machine without an operating system: C with weights\nand memory in it, which calls nothing"},
	{"gears", 0, "NAME=SIZE,...", MODELS, "gears", "a graph for each of these sizes in one library, as\nge-gears takes them"},
	{"histogram", 0, "FILE", MODELS, "gears", "gears chosen by how often sizes come: lines\nNAME=SIZE COUNT"},
	{"", 'k', "N", MODELS, "gears", "how many of these"},
	{"times", 0, "FILE", MODELS, "gears", "measured times of sizes, in place of the cost model's"},
	{"exact", 0, NULL, MODELS, "integer", "divide where a quantised model divides by a scale"},
	{"accuracy-level", 0, "N", MODELS, "integer",
	 "4: rows times weights of few bits in blocks may be rounded\nto bytes, where that is faster; 1: they may not"},
	{"level-seconds", 0, "S", LIBRARIES, "",
	 "processor time for telling how far rounded rows change\nthe outputs (20); 0: do not tell"},
	{"integers", 0, NULL, MODELS, "", "compute every quantised node in integers"},
	{"mixed", 0, NULL, MODELS, "", "nodes in the type that was measured to be the fastest,\nas ge-mixed says"},
	{"error", 0, "X", MODELS, "mixed-choice", "--mixed: outputs change by X of their largest element\nat most"},
	{"no-fallback", 0, NULL, MODELS, "plan first-plan", "refuse a model of which a part would run on the slow path"},
	{"target", 0, "NAME,...", MODELS, "integer recall share join schedule mixed",
	 "made for one of the targets that ge-emit --help lists,\nor a row as kb prints them; build: for each of several"},
	{"model", 0, "FILE", MODELS, "schedule",
	 "schedules, for one thread, by a cost model that tune-model\nmade; none: the default ones"},
	{"kb", 0, "FILE", V_BUILD | V_PASSES | V_BENCH | V_ADVISE | V_BISECT | V_BUNDLE, "recall schedule mixed-choice",
	 "the knowledge base: what tunings measured to be faster"},
	{"no-kb", 0, NULL, V_BUILD | V_PASSES | V_BENCH | V_ADVISE | V_BISECT | V_BUNDLE, "schedule", "leave that out"},
	{"threads", 0, "N", MODELS, "plan first-plan library", "the library uses at most N threads (1)"},
	{"lanes", 0, "N", MODELS, "plan", "branches side by side, N at a time; 1: none (where\nthat is faster)"},
	{"jobs", 'j', "N", LIBRARIES, "emit compiler", "compilers at a time"},
	{"extern", 0, "DOMAIN.OP=FUNCTION[:RULE]", MODELS, "shape own",
	 "that operator, which hone does not know, is computed by a\nC function; RULE: types of its results, as by ge-shape"},
	{"link", 0, "FILE", LIBRARIES | V_BENCH, "emit compiler", "an object or a library with such functions"},
	{"pass", 0, "[STAGE:]COMMAND", MODELS, "",
	 "a pass of your own after that stage (prune): COMMAND reads\na graph stream and writes one; repeated: in this order"},
	{"keep", 0, NULL, LIBRARIES, "", "keep the passes' graphs of a failed build, too"},
	{"dry-run", 0, NULL, V_BUILD, "", "compile nothing: say what would run each step, and why"},
	{"json", 0, NULL, V_BUILD, "", "the report is JSON"},
	{"check", 0, NULL, V_BUILD, "", "compare the library with the model on ten random inputs"},
	{"check-seconds", 0, "S", V_BUILD, "", "processor time for that (300)"},
	{"range", 0, "INPUT=LO:HI", V_BUILD | V_BISECT | V_BUNDLE, "compare", "range of a random input of the check"},
	{"input", 'i', "FILE.npz", V_BISECT, "", "inputs with which the numbers are other ones; without,\nten random ones"},
	{"seconds", 0, "S", V_BISECT, "", "time to make the part smaller (60)"},
	{"stages", 0, NULL, V_BISECT, "", "compare after each stage; print how far each is"},
	{"report", 0, "FILE", V_BISECT, "", "--stages, and the same as HTML with a bar for each stage"},
	{"", 'o', "STEM", V_BISECT, "", "where the part goes (MODEL.bisect)"},

	{"graph", 0, NULL, V_TUNE, "", "first try other groups of nodes, on parts of the model,\nfor a third of --seconds (tune-graph)"},
	{"learn", 0, NULL, V_TUNE, "", "then learn from what was timed, for builds and tunings on\nthis machine (tune-model learn)"},
	{"seconds", 0, "S", V_TUNE, "tune", "stop after so long"},
	{"trials", 0, "N", V_TUNE, "tune", "schedules to try for each task (32)"},
	{"runner", 0, "COMMAND", V_TUNE, "tune measure", "where kernels are timed; repeated: side by side"},
	{"report", 0, "FILE", V_TUNE, "tune", "curves, table and where the time went, as HTML"},
	{"only", 0, "WHAT", V_TUNE, "tune", "tune these nodes or tasks; repeated"},
	{"skip", 0, "WHAT", V_TUNE, "tune", "do not tune these"},
	{"strategy", 0, "NAME", V_TUNE, "tune", "which schedules are tried next"},
	{"cost-model", 0, "NAME", V_TUNE, "tune", "what ranks schedules before they are timed"},
	{"scheduler", 0, "NAME", V_TUNE, "tune", "which task is next"},
	{"kb", 0, "FILE", V_TUNE, "regroup recall tune measure mixed-choice", "the knowledge base"},
	{"seed", 0, "N", V_TUNE, "tune", "of what is random in the search"},
	{"cold-weights", 0, "MB", V_TUNE, "regroup tune measure", "megabytes of weights that timed calls go through"},
	{"rotation", 0, "MB", V_TUNE, "regroup tune measure", NULL, "cold-weights"},
	{"json", 0, NULL, V_TUNE, "", "the report is tune-op's, as JSON"},

	{"range", 0, "INPUT=LO:HI", V_SIMPLIFY, "check", "range of a random input of the check"},
	{"check-set", 0, "WHAT", V_SIMPLIFY, "check",
	 "for the check only: a size (NAME=2), the shape of an\ninput (INPUT:1x3) or its value (INPUT=2,2)", "give"},
	{"check", 0, "COMMAND", V_SIMPLIFY, "", "COMMAND NEW OLD says if they are the same (0)"},
	{"check-seconds", 0, "S", V_SIMPLIFY, "check", "processor time of the check (300); then the model is\nwritten unchecked",
	 "seconds"},
	{"no-check", 0, NULL, V_SIMPLIFY, "", "do not check"},
	{"no-grow", 0, NULL, V_SIMPLIFY, "", "the file does not become larger"},
	{"opset", 0, "N", V_SIMPLIFY | V_QUANTIZE, "export", "write this opset"},
	{"external", 0, "FILE", V_SIMPLIFY, "export", "write weights into FILE beside OUT.onnx (needed above\n2 GB)"},

	{"data", 0, "SAMPLES", V_QUANTIZE, "", "a .npy, a .npz or a directory of them; repeated: all"},
	{"range", 0, "LO:HI", V_QUANTIZE, "calibrate samples", "how files of other names are read, as by ge-calibrate"},
	{"whole", 0, NULL, V_QUANTIZE, "calibrate samples", "a file is one sample"},
	{"", 'o', "OUT.onnx", V_QUANTIZE, "", "where to"},
	{"metric", 0, "COMMAND", V_QUANTIZE, "quantize", "COMMAND MODEL.onnx prints how good the model is"},
	{"drop", 0, "D", V_QUANTIZE, "quantize", "how much of that may be lost (0.5)"},
	{"seconds", 0, "S", V_QUANTIZE, "quantize", "end the search for that then, with the best so far"},
	{"method", 0, "NAME", V_QUANTIZE, "quantize half", "how ranges are chosen, as ge-quantize takes it"},
	{"percentile", 0, "P", V_QUANTIZE, "quantize half", "of a hundred elements, P lie inside"},
	{"weights", 0, "BITS", V_QUANTIZE, "quantize half", "8 or 4"},
	{"activations", 0, "KIND", V_QUANTIZE, "quantize half", "static, dynamic or none"},
	{"no-correction", 0, NULL, V_QUANTIZE, "quantize half", "leave biases as they are"},
	{"only", 0, "WHAT", V_QUANTIZE, "quantize half", "quantise only these layers; repeated"},
	{"skip", 0, "WHAT", V_QUANTIZE, "quantize half", "leave these layers in float"},
	{"equalize", 0, NULL, V_QUANTIZE, "balance",
	 "make the ranges of channels alike first, by products that\nmake them; without, where that takes most of the error"},
	{"no-equalize", 0, NULL, V_QUANTIZE, "", "not by itself"},
	{"smooth", 0, "A", V_QUANTIZE, "balance", "the same by normalisations; A of it goes into weights"},

	{"data", 0, "FILE.npy", V_TRAIN, "", "samples, one after the other along axis 0"},
	{"labels", 0, "FILE.npy", V_TRAIN, "training", "what is right of each"},
	{"loss", 0, "NAME", V_TRAIN, "grad training", "what is made small: ce (classes), mse, bce (of logits), l1"},
	{"output", 0, "NAME", V_TRAIN, "grad", "of this output"},
	{"freeze", 0, "PATTERN", V_TRAIN, "grad", "weights of such names stay as they are; repeated"},
	{"", 'o', "OUT.onnx", V_TRAIN, "", "where to"},
	{"epochs", 0, "N", V_TRAIN, "", "how often all samples come (10)"},
	{"batch", 0, "N", V_TRAIN, "", "samples a step (32)"},
	{"optimizer", 0, "NAME", V_TRAIN, "optim", "sgd, adam, adamw (without) or lamb, as ge-optim has them"},
	{"lr", 0, "R", V_TRAIN, "optim", "the rate (0.001)"},
	{"momentum", 0, "M", V_TRAIN, "optim", "of sgd (0)"},
	{"nesterov", 0, NULL, V_TRAIN, "optim", "with it"},
	{"decay", 0, "D", V_TRAIN, "optim", "weights decay by so much (0)"},
	{"schedule", 0, "NAME", V_TRAIN, "optim", "of the rate: constant, cosine or linear"},
	{"warmup", 0, "N", V_TRAIN, "optim", "steps at first in which the rate grows (0)"},
	{"clip-norm", 0, "N", V_TRAIN, "optim", "the norm of all derivatives is N at most"},
	{"clip-value", 0, "V", V_TRAIN, "optim", "each derivative is from -V to V"},
	{"validate", 0, "PART", V_TRAIN, "training", "hold out this part of the samples, and keep the weights\nthat are best on it"},
	{"seed", 0, "N", V_TRAIN, "training", "of the order of samples (0)"},
	{"minutes", 0, "M", V_TRAIN, "", "no epoch begins after so long"},
	{"checkpoint", 0, "FILE", V_TRAIN, "training", "go on from it, and leave there what each epoch made"},
	{"threads", 0, "N", V_TRAIN, "library", "use at most N threads (1)"},

	{"sizes", 0, "NAME=SIZE,...", V_BENCH, "", "a library for each of these sizes; repeated: each with\neach"},
	{"seconds", 0, "S", V_BENCH, "bench", "time of each library (2), and as much of the peer"},
	{"peer-wait", 0, "S", V_BENCH, "peer", "how long ONNX Runtime may take for an answer (60)"},
	{"range", 0, "INPUT=LO:HI", V_BENCH | V_ADVISE, "bench advise", "range of a random input"},
	{"seed", 0, "N", V_BENCH | V_ADVISE, "bench advise", "of the random inputs (0)"},
	{"alone", 0, NULL, V_BENCH, "", "without ONNX Runtime"},
	{"", 'o', "FILE", V_BENCH, "", "the table as a file: .txt, .md, .csv or .json"},
	{"json", 0, NULL, V_BENCH, "", "the report is JSON"},

	{"seconds", 0, "S", V_ADVISE, "advise", "time of the library (2)"},
	{"profile", 0, "FILE.json", V_ADVISE, "advise", "the timed runs as trace events, for ui.perfetto.dev"},
	{"report", 0, "FILE", V_ADVISE, "", "findings, a picture and all steps, as HTML"},
	{"json", 0, NULL, V_ADVISE, "", "the report is JSON"},

	{"", 'o', "FILE.g", V_PASSES, "", "where to; without, standard output"},
	{"from", 0, "STAGE", V_PASSES, "", "MODEL is a graph that has the stages before this"},
	{"until", 0, "STAGE", V_PASSES, "", "the last stage (plan)"},
	{"list", 0, NULL, V_PASSES, "", "print the stages and their tools, no graph"},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- what was given ---- */

static bool is_named(const struct option_row *r, const char *name)
{
	return !strcmp(r->name, name) || (r->letter && name[0] == r->letter && !name[1]);
}

bool given_is(const struct hone *h, const char *option)
{
	for (size_t i = 0; i < h->given.n; i++)
		if (is_named(h->given.a[i].row, option))
			return true;
	return false;
}

const char *given_value(const struct hone *h, const char *option)
{
	const char *v = NULL;

	for (size_t i = 0; i < h->given.n; i++)
		if (is_named(h->given.a[i].row, option))
			v = h->given.a[i].value;
	return v;
}

void words_add(struct words *w, const char *word) { vec_push(w, word); }

/* Is it one of the words of the list? */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ' ') && (!p[n] || p[n] == ' '))
			return true;
	return false;
}

void given_add(const struct hone *h, struct words *w, const char *to)
{
	for (size_t i = 0; i < h->given.n; i++) {
		const struct option_row *r = h->given.a[i].row;
		const char *name = r->as ? r->as : r->name, *value = h->given.a[i].value;
		if (!has_word(r->to, to))
			continue;
		if (!*r->name)
			words_add(w, xprintf("-%c%s", r->letter, value ? value : ""));
		else
			words_add(w, value ? xprintf("--%s=%s", name, value) : xprintf("--%s", name));
	}
}

/* ---- reading ---- */

void verbs_offer(struct nearest *n)
{
	for (const struct verb *v = verbs; v->name; v++)
		nearest_offer(n, v->name);
}

const struct verb *verb_find(const char *name)
{
	for (const struct verb *v = verbs; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

/* The row of --name, or of -x: n characters. */
static const struct option_row *row_of(const struct verb *v, const char *name, size_t n, char letter)
{
	for (const struct option_row *r = rows; r < rows + ROWS; r++)
		if (r->verbs & v->id && (letter ? r->letter == letter : n > 0 && strlen(r->name) == n && !strncmp(r->name, name, n)))
			return r;
	return NULL;
}

/* Refuses an option that the verb does not have, with what may be meant: its name at other tools, or the nearest of the verb's own. */
static noreturn void no_option(const struct verb *v, const char *word)
{
	static const char *const others[][2] = {{"overwrite-input-shape", "shape"},
						{"input-shape", "shape"},
						{"shapes", "shape"},
						{"optShapes", "gears"},
						{"output", "o"},
						{"fp16", "mixed"},
						{"best", "mixed"},
						{"int8", "integers"},
						{"verbose", "keep"},
						{"iterations", "seconds"},
						{"duration", "seconds"}};
	size_t n = strcspn(word + 2, "=");
	char *name = word[1] == '-' ? xprintf("%.*s", (int)n, word + 2) : "";
	struct nearest near = {.word = name};

	for (const struct option_row *r = rows; r < rows + ROWS; r++)
		if (r->verbs & v->id && r->help)
			nearest_offer(&near, r->name);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strcmp(name, others[i][0]) && (row_of(v, others[i][1], strlen(others[i][1]), 0) || !others[i][1][1]))
			near.best = others[i][1];
	if (*name && near.best)
		die(EX_BADUSE, "%s %s: no such option; %s%s? hone help %s", v->name, word, near.best[1] ? "--" : "-", near.best, v->name);
	die(EX_BADUSE, "%s %s: no such option; hone help %s", v->name, word, v->name);
}

/* One option at argv[i]; returns the index of what follows it. */
static int read_option(struct hone *h, int argc, char **argv, int i)
{
	const char *word = argv[i], *value = NULL;
	bool is_long = word[1] == '-';
	size_t n = is_long ? strcspn(word + 2, "=") : 1;
	const struct option_row *r = row_of(h->verb, word + 2, n, is_long ? 0 : word[1]);

	if (!r || (!is_long && !r->arg && word[2]) || (is_long && !r->arg && word[2 + n]))
		no_option(h->verb, word);
	if (r->arg && is_long && word[2 + n])
		value = word + 2 + n + 1;
	else if (r->arg && !is_long && word[2])
		value = word + 2;
	else if (r->arg && ++i == argc)
		die(EX_BADUSE, "%s needs a value; hone help %s", word, h->verb->name);
	else if (r->arg)
		value = argv[i];
	vec_push(&h->given, (struct given){r, value});
	return i + 1;
}

static void take_file(struct hone *h, const char *file)
{
	if (h->verb->id == V_BENCH)
		words_add(&h->models, *file == '-' ? text(h, "./%s", file) : file);
	if (!h->model)
		h->model = file;
	else if (h->verb->id == V_SIMPLIFY && !h->stem)
		h->stem = file;
	else if (h->verb->id != V_BENCH)
		die(EX_BADUSE, "%s: an argument too many; hone help %s", file, h->verb->name);
}

/* The name of a model's file without folder, .onnx, .gguf and .pb. */
static const char *stem_of(struct hone *h, const char *model)
{
	const char *name = base_name(model);

	if (filename_ends(name, ".onnx") || filename_ends(name, ".gguf"))
		name = text(h, "%.*s", (int)strlen(name) - 5, name);
	return filename_ends(name, ".pb") ? text(h, "%.*s", (int)strlen(name) - 3, name) : name;
}

static void check_places(struct hone *h)
{
	const char *name = h->verb->name, *o = given_value(h, "o");

	if (!h->model)
		die(EX_BADUSE, "%s: which model? hone help %s", name, name);
	h->stem = h->stem ? h->stem : o;
	if (!h->stem && h->verb->id == V_SIMPLIFY)
		die(EX_BADUSE, "simplify: where to? hone simplify IN.onnx OUT.onnx");
	if (!h->stem && h->verb->id & (V_QUANTIZE | V_TRAIN))
		die(EX_BADUSE, "%s: where to? -o OUT.onnx", name);
	if (!h->stem && h->verb->id & (V_BISECT | V_BUNDLE))
		h->stem = text(h, "%s.%s", stem_of(h, h->model), name);
	if (h->verb->id == V_BUNDLE && h->stem[1] && !*base_name(h->stem)) /* FOLDER/ */
		h->stem = text(h, "%.*s", (int)strlen(h->stem) - 1, h->stem);
	if (!h->stem && h->verb->id & LIBRARIES)
		h->stem = stem_of(h, h->model);
	if (h->verb->id & LIBRARIES && filename_ends(base_name(h->stem), ".so"))
		h->stem = text(h, "%.*s", (int)strlen(h->stem) - 3, h->stem);
	if (h->verb->id & LIBRARIES && (!*base_name(h->stem) || !strcmp(base_name(h->stem), ".") || !strcmp(base_name(h->stem), "..")))
		die(EX_BADUSE, "-o %s: names a directory; -o takes the stem of the files, e.g. %s%smodel", h->stem, h->stem,
		    *h->stem && !*base_name(h->stem) ? "" : "/");
	if (h->verb->id & (V_SIMPLIFY | V_QUANTIZE | V_TRAIN) && !filename_ends(h->stem, ".onnx"))
		die(EX_BADUSE, "%s: what a model goes to ends in .onnx", h->stem);
	if (*h->model == '-' && (h->model[1] || h->verb->id != V_PASSES))
		h->model = text(h, "./%s", h->model);
	if (h->stem && *h->stem == '-' && (h->stem[1] || h->verb->id != V_PASSES))
		h->stem = text(h, "./%s", h->stem);
}

bool options_read(struct hone *h, int argc, char **argv)
{
	bool only_files = false;

	h->line = "hone";
	for (int i = 1; i < argc; i++)
		h->line = text(h, "%s %s", h->line, shell_word(argv[i], &h->arena));
	for (int i = 2; i < argc;) {
		if (only_files || *argv[i] != '-' || (!argv[i][1] && h->verb->id == V_PASSES)) {
			take_file(h, argv[i++]);
		} else if (!strcmp(argv[i], "--")) {
			only_files = true;
			i++;
		} else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-?")) {
			help_print(h->verb);
			return false;
		} else {
			i = read_option(h, argc, argv, i);
		}
	}
	h->quiet = given_is(h, "quiet");
	/* Builds of a make -j write to one place. */
	const char *make = getenv("MAKEFLAGS");
	if (make && h->model && strstr(make, "-j"))
		h->line_name = base_name(h->model);
	msg_quiet = h->quiet;
	if (given_is(h, "list"))
		return true;
	h->level_seconds =
		given_is(h, "level-seconds") ? option_number("--level-seconds", given_value(h, "level-seconds"), 0, INFINITY) : 20;
	if (given_is(h, "check-seconds"))
		option_number("--check-seconds", given_value(h, "check-seconds"), 0, INFINITY);
	if (given_is(h, "target") && given_is(h, "runner"))
		die(EX_BADUSE, "--target: a runner says itself what it is");
	if (given_is(h, "error") && !given_is(h, "mixed"))
		die(EX_BADUSE, "--error: how far --mixed may change outputs; without, it changes none");
	own_check(h);
	check_places(h);
	targets_read(h);
	return true;
}

/* ---- help ---- */

static void put_row(const struct option_row *r)
{
	enum { COLUMN = 31 };
	char left[64];
	const char *arg = r->arg ? r->arg : "";

	if (!*r->name)
		snprintf(left, sizeof left, "  -%c %s", r->letter, arg);
	else if (r->letter)
		snprintf(left, sizeof left, "  -%c, --%s%s%s", r->letter, r->name, *arg ? " " : "", arg);
	else
		snprintf(left, sizeof left, "  --%s%s%s", r->name, *arg ? " " : "", arg);
	bool is_long = strlen(left) >= COLUMN;
	printf("%-*s%s", COLUMN, left, is_long ? "\n" : "");
	for (const char *p = r->help, *end; *p; p = end + (*end == '\n')) {
		end = p + strcspn(p, "\n");
		printf("%*s%.*s\n", p == r->help && !is_long ? 0 : COLUMN, "", (int)(end - p), p);
	}
}

static void put_section(unsigned which, const struct verb *of)
{
	for (const struct option_row *r = rows; r < rows + ROWS; r++)
		if (r->help && r->verbs == which && (!of || r->verbs & of->id))
			put_row(r);
}

/* Rows are shown in groups of those that the same verbs have. */
static void put_sections(const struct verb *of)
{
	unsigned shown_before[ROWS], n = 0;

	for (const struct option_row *r = rows; r < rows + ROWS; r++) {
		bool again = !r->help || (of && !(r->verbs & of->id));
		for (unsigned i = 0; i < n && !again; i++)
			again = shown_before[i] == r->verbs;
		if (again)
			continue;
		shown_before[n++] = r->verbs;
		putchar('\n');
		if (r->verbs != ALL && !of) {
			const char *sep = "";
			for (const struct verb *v = verbs; v->name; v++)
				if (r->verbs & v->id) {
					printf("%shone %s", sep, v->name);
					sep = ", ";
				}
			printf(":\n");
		}
		put_section(r->verbs, of);
	}
}

void help_print(const struct verb *v)
{
	if (v) {
		printf("Usage: %s\n\n%s\n", v->usage, v->summary);
		put_sections(v);
		return;
	}
	for (v = verbs; v->name; v++)
		printf("%s%s\n", v == verbs ? "Usage: " : "  or:  ", v->usage);
	printf("  or:  hone TOOL [ARGUMENT...]\n  or:  hone help [VERB|TOOL]\n\n");
	for (v = verbs; v->name; v++)
		printf("%s\n", v->summary);
	put_sections(NULL);
}
