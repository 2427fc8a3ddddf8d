/* XGBoost's C interface (c_api.h of version 1.7, of which only these functions are called), and its text dump of trees as ours. */
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cost/trees.h"
#include "xgboost.h"

typedef void *handle;
typedef uint64_t count;
#define FUNCTIONS(X) \
	X(const char *, XGBGetLastError, (void)) \
	X(int, XGDMatrixCreateFromMat, (const float *, count rows, count columns, float missing, handle *)) \
	X(int, XGDMatrixSetFloatInfo, (handle, const char *field, const float *, count)) \
	X(int, XGDMatrixFree, (handle)) \
	X(int, XGBoosterCreate, (const handle *, count, handle *)) \
	X(int, XGBoosterSetParam, (handle, const char *name, const char *value)) \
	X(int, XGBoosterUpdateOneIter, (handle, int number, handle)) \
	X(int, XGBoosterDumpModelEx, (handle, const char *names, int statistics, const char *form, count *, const char ***)) \
	X(int, XGBoosterFree, (handle))
static struct {
#define X(type, name, arguments) type(*name) arguments;
	FUNCTIONS(X)
#undef X
} xgb;

static void load(void)
{
	static const char name[] = "libxgboost.so.0";
	void *so = xgb.XGBoosterFree ? NULL : dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (xgb.XGBoosterFree)
		return;
	if (!so)
		die(EX_NOTAVAIL, "%s: not here; training needs XGBoost's C library (Debian: libxgboost0)", name);
#define X(type, is, arguments) \
	if (!(*(void **)&xgb.is = dlsym(so, #is))) \
		die(EX_NOTAVAIL, "%s: it has no function " #is, name);
	FUNCTIONS(X)
#undef X
}

static void must(int failed, const char *what)
{
	if (failed)
		die(EX_SYSTEM, "XGBoost: %s: %s", what, xgb.XGBGetLastError());
}

static void set(handle b, const char *name, const char *value) { must(xgb.XGBoosterSetParam(b, name, value), name); }

/* ---- trees ---- */

/* A node of a dump: "3:[f12<40] yes=7,no=8,missing=7", or "9:leaf=0.25". */
struct dumped {
	int column, yes, no;
	double value; /* of a leaf; else what the column is compared with */
};

static int read_tree(const char *s, struct dumped **out)
{
	struct dumped *node = NULL;
	int n = 0;

	for (; *s; s += strcspn(s, "\n"), s += *s == '\n') {
		struct dumped x = {.column = -1};
		int number, most;
		s += strspn(s, "\t\n");
		if (sscanf(s, "%d:[f%d<%lf] yes=%d,no=%d", &number, &x.column, &x.value, &x.yes, &x.no) != 5) {
			x.column = -1;
			if (sscanf(s, "%d:leaf=%lf", &number, &x.value) != 2)
				die(EX_NOTAVAIL, "XGBoost: a line of its dump cannot be read: %.60s", s);
		}
		most = x.column < 0 ? number : x.yes > x.no ? x.yes : x.no;
		if (number < 0 || most > 1 << 20 || x.column >= COLUMN_COUNT)
			die(EX_NOTAVAIL, "XGBoost: a line of its dump cannot be read: %.60s", s);
		most = most > number ? most : number;
		if (most >= n) {
			node = xrealloc(node, (size_t)(most + 1) * sizeof *node);
			memset(node + n, 0, (size_t)(most + 1 - n) * sizeof *node);
			n = most + 1;
		}
		node[number] = x;
	}
	*out = node;
	return n;
}

static int size_of(const struct dumped *t, int at) { return t[at].column < 0 ? 1 : 1 + size_of(t, t[at].yes) + size_of(t, t[at].no); }

/* Node `at` becomes number n, those below it follow. Returns the next number. */
static int write_node(FILE *f, const struct dumped *t, int at, int n)
{
	char name[COLUMN_NAME];

	if (t[at].column < 0) {
		fprintf(f, "%d = %lld\n", n, llround(t[at].value));
		return n + 1;
	}
	fprintf(f, "%d %s %lld %d\n", n, column_name(t[at].column, name), (long long)ceil(t[at].value), n + 1 + size_of(t, t[at].yes));
	n = write_node(f, t, t[at].yes, n + 1);
	return write_node(f, t, t[at].no, n);
}

void xgboost_train(const struct training *t, const struct examples *e, const bool *use, const float *y, const float *w, FILE *f)
{
	handle data, b;
	count rows = 0, n;
	const char **dump;
	char number[32];

	load();
	float *x = xcalloc(e->a.n * COLUMN_COUNT + 1, sizeof *x), *label = xcalloc(e->a.n + 1, sizeof *label),
	      *weight = xcalloc(e->a.n + 1, sizeof *weight);
	for (size_t i = 0; i < e->a.n; i++) {
		struct columns c;
		columns_of(&e->a.a[i].f, &e->a.a[e->first.a[e->a.a[i].group]].f, &c);
		for (int k = 0; k < COLUMN_COUNT && use[i]; k++)
			x[rows * COLUMN_COUNT + (count)k] = (float)c.a[k];
		label[rows] = y[i];
		weight[rows] = w[i];
		rows += use[i];
	}
	must(xgb.XGDMatrixCreateFromMat(x, rows, COLUMN_COUNT, NAN, &data), "matrix");
	must(xgb.XGDMatrixSetFloatInfo(data, "label", label, rows), "labels");
	must(xgb.XGDMatrixSetFloatInfo(data, "weight", weight, rows), "weights");
	must(xgb.XGBoosterCreate(&data, 1, &b), "booster");
	static const char *const settings[][2] = {
		{"objective", "reg:squarederror"},
		{"tree_method", "hist"},
		{"nthread", "1"},
		{"base_score", "0"},
		{"eta", "0.06"},
		{"subsample", "0.8"},
		{"colsample_bytree", "0.6"},
		{"min_child_weight", "2"},
		{"verbosity", "0"},
	};
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		set(b, settings[i][0], settings[i][1]);
	snprintf(number, sizeof number, "%d", t->depth);
	set(b, "max_depth", number);
	snprintf(number, sizeof number, "%" PRIu64, t->seed);
	set(b, "seed", number);
	for (int i = 0; i < t->trees; i++)
		must(xgb.XGBoosterUpdateOneIter(b, i, data), "a round");
	must(xgb.XGBoosterDumpModelEx(b, "", 0, "text", &n, &dump), "dump");
	fprintf(f, "member\n");
	for (count i = 0; i < n; i++) {
		struct dumped *tree;
		fprintf(f, "tree\n");
		if (read_tree(dump[i], &tree))
			write_node(f, tree, 0, 0);
		free(tree);
	}
	xgb.XGBoosterFree(b);
	xgb.XGDMatrixFree(data);
	free(x);
	free(label);
	free(weight);
}
