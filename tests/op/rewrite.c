/* Rewriting: rules that undo each other come to an end with a line, and a proof finds them out. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "op/rewrite.h"
#include "tap.h"

static const char *become(struct rewrite *rw, node_id n, enum opcode op)
{
	val_id x = rw_in(rw, n, 0);

	rw_replace(rw, node(rw_module(rw), n)->out[0], rw_node(rw, n, op, 1, &x));
	return NULL;
}

static const char *to_abs(struct rewrite *rw, node_id n) { return become(rw, n, OP_Abs); }
static const char *to_neg(struct rewrite *rw, node_id n) { return become(rw, n, OP_Neg); }
static const char *to_relu(struct rewrite *rw, node_id n) { return become(rw, n, OP_Relu); }

static const struct rule there = {"there", OP_Neg, to_abs, "", MEASURE_WORK};
static const struct rule back = {"back", OP_Abs, to_neg, "", MEASURE_WORK};
static const struct rule down = {"down", OP_Neg, to_relu, "", MEASURE_WORK};

static struct module *chain(void)
{
	struct module *m = module_new();
	graph_id g = graph_new(m, intern("g"));
	val_id v = graph_add_input(m, g, intern("x"), type_make(m, DT_F32, 1, (int64_t[]){3}));

	m->main = g;
	for (int i = 0; i < 3; i++)
		v = node(m, node_new(m, g, OP_Neg, 1, &v, 1))->out[0];
	graph_add_output(m, g, v, intern("y"));
	module_name_values(m);
	return m;
}

/* Exit code and standard error of a rewriting in a process of its own. */
static int rewriting(const struct rule *a, const struct rule *b, bool prove, char *said, size_t size)
{
	int p[2], status;
	size_t n = 0;

	if (pipe(p))
		return -1;
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		struct rule_run r[2] = {{.rule = a}, {.rule = b}};
		struct pass_ctx c = {0};
		struct module *m = chain();
		dup2(p[1], 2);
		rewrite_module(m, r, 2, &c, prove);
		_exit(graph(m, m->main)->nodes.n == 3 ? 0 : 1);
	}
	close(p[1]);
	for (ssize_t k; n + 1 < size && (k = read(p[0], said + n, size - 1 - n)) > 0;)
		n += (size_t)k;
	said[n] = 0;
	close(p[0]);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
	char said[1000];

	ok(rewriting(&there, &back, false, said, sizeof said) == 0, "rules that undo each other come to an end");
	ok(strstr(said, "rules there and back") || strstr(said, "rules back and there"), "which is said");
	ok(rewriting(&there, &back, true, said, sizeof said) == 70, "a proof finds them");
	ok(strstr(said, "does not reduce the measure \"work\"") != NULL, "and says which");
	ok(rewriting(&down, &down, true, said, sizeof said) == 0 && !*said, "a rule that reduces is proved");
	return tap_done();
}
