/* --histogram: how long each of its sizes takes, which ge-gears wants to know. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/textfile.h"
#include "hone.h"

/* Seconds of the model at these sizes, by the cost model. */
static double time_at(struct hone *h, const char *size)
{
	struct chain_mark m = chain_aside(h, "sizes");
	struct words set = {0};
	struct child c = {.facts = text(h, "%s/facts", h->work)};

	h->count = 0;
	words_add(&set, text(h, "--set=%s", size));
	chain_stage(h, STAGE_shape, "", &set);
	chain_run(h, STAGE_fold, STAGE_prune, CLEAN, "");
	chain_run(h, STAGE_integer, STAGE_layout, KERNELS, "");
	words_add(&c.argv, "ge-gears");
	words_add(&c.argv, "--time");
	given_add(h, &c.argv, "share");
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	words_add(&c.argv, "-o");
	words_add(&c.argv, "/dev/null");
	words_add(&c.argv, "--");
	words_add(&c.argv, h->last);
	struct facts f = child_must(h, &c);
	chain_back(h, &m);
	return facts_value(&f, "seconds");
}

/* Lines of the histogram, NAME=SIZE COUNT, as lines NAME=SIZE SECONDS; ge-gears says what is wrong with others. */
static void time_sizes(struct hone *h, const char *histogram, const char *times)
{
	FILE *in = fopen(histogram, "r"), *out = fopen(times, "w");
	char *line = NULL;
	size_t size;

	if (!in)
		die_errno(EX_NOIN, "%s", histogram);
	if (!out)
		no_space();
	while (textfile_line(in, histogram, &line, &size)) {
		char *save = NULL, *hash = strchr(line, '#');
		if (hash)
			*hash = 0;
		const char *word = strtok_r(line, " \t\r\n", &save);
		if (!word)
			continue;
		word = text(h, "%s", word);
		progress(h, text(h, "times of %s", word));
		fprintf(out, "%s %.9g\n", word, time_at(h, word));
	}
	free(line);
	fclose(in);
	if (fclose(out))
		no_space();
}

void gears_words(struct hone *h, struct words *w)
{
	const char *histogram = given_value(h, "histogram"), *times = text(h, "%s/times", h->work);

	if (!histogram || given_is(h, "times"))
		return;
	time_sizes(h, histogram, times);
	words_add(w, text(h, "--times=%s", times));
}
