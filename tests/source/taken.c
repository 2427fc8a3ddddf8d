/* Names of models in C: those that the C library, C or a generated file owns get model_ before them, others stay. taken - : of each line of
 * standard input, those lines that a model may have as its name. */
#include <stdlib.h>
#include <string.h>
#include "common/tool.h"
#include "source/source.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

static bool is_free(const char *stem)
{
	char *name = model_name(stem);
	bool same = !strcmp(name, stem);

	free(name);
	return same;
}

static int print_free(void)
{
	char line[256];

	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (is_free(line))
			puts(line);
	}
	return ferror(stdin) ? 74 : 0;
}

int main(int argc, char **argv)
{
	static const char *const taken[] = {"k00", "vl", "open", "size_t", "tm", "NAN", "class", "max_f32", "_Model", "0"};
	static const char *const free_ones[] = {"k8s", "swin_t", "k", "resnet18", "model", "vision", "max_pool"};

	if (argc > 1)
		return print_free();
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		ok(!is_free(taken[i]), "%s is taken", taken[i]);
	for (size_t i = 0; i < sizeof free_ones / sizeof *free_ones; i++)
		ok(is_free(free_ones[i]), "%s is free", free_ones[i]);
	return tap_done();
}
