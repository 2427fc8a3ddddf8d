/* Adversarial inputs in the inputs of a task: which elements dominate their lines in some seed. */
#include <math.h>
#include <stdlib.h>
#include "common/rng.h"
#include "runner/adversarial.h"
#include "tap.h"

enum { FAR = 1000 };

struct seen {
	int seeds, elements, places; /* that dominate in some seed: elements their line, places some line */
};

/* Lines are `places` elements, `stride` apart; those of one line are together in a block of places
 * * stride. */
static struct seen look(const struct oracle_task *t, int64_t places, int64_t stride, int sign)
{
	int64_t n = t->t[0].n;
	int all = adversarial_seeds(t);
	struct seen r = {.seeds = all ? all - 1 : 0};
	float *x = malloc((size_t)n * sizeof *x);
	bool *element = calloc((size_t)n, sizeof *element), *place = calloc((size_t)places, sizeof *place);
	struct rng rng = {1};

	for (int seed = 0; seed < r.seeds; seed++) {
		for (int64_t i = 0; i < n; i++)
			x[i] = (float)rng_normal(&rng);
		adversarial_add(t, 0, x, seed, all);
		for (int64_t line = 0; line < n / places; line++) {
			float *at = x + line / stride * places * stride + line % stride;
			double first = -INFINITY, second = -INFINITY;
			int64_t k = 0;
			for (int64_t i = 0; i < places; i++) {
				double v = sign * at[i * stride];
				second = fmax(second, fmin(first, v));
				k = v > first ? i : k;
				first = fmax(first, v);
			}
			if (first - second < FAR)
				continue;
			r.elements += !element[at + k * stride - x];
			r.places += !place[k];
			element[at + k * stride - x] = place[k] = true;
		}
	}
	free(x);
	free(element);
	free(place);
	return r;
}

static struct seen look_at(int rank, const int64_t *shape, double maximum, int64_t places, int64_t stride, int sign)
{
	struct oracle_tensor t[2] = {{DT_F32, 1, rank}};

	for (int i = 0; i < rank; i++)
		t[0].n *= t[0].shape[i] = shape[i];
	t[1] = t[0];
	return look(&(struct oracle_task){1, 1, t, 1, maximum, NULL}, places, stride, sign);
}

#define SHAPE(...) \
	(int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }

int main(void)
{
	static const char *const which[] = {"least", "", "largest"};

	for (int sign = -1; sign <= 1; sign += 2) {
		struct seen x = look_at(SHAPE(9, 103), 103, 103, 1, sign);
		ok(x.elements == 927, "softmax of 9 x 103, %s: %d of 927 dominate in %d seeds", which[sign + 1], x.elements, x.seeds);
		x = look_at(SHAPE(2, 31, 5), 31, 31, 5, sign);
		ok(x.elements == 310, "along the middle axis of 2 x 31 x 5, %s: %d of 310", which[sign + 1], x.elements);
		x = look_at(SHAPE(1, 6, 7, 8), 56, 56, 1, sign);
		ok(x.elements == 336, "along two axes together of 6 x 7 x 8, %s: %d of 336", which[sign + 1], x.elements);
		x = look_at(SHAPE(1, 100), 100, 100, 1, sign);
		ok(x.elements == 100, "one line of 100, %s: %d", which[sign + 1], x.elements);
		x = look_at(SHAPE(30, 65), 0, 65, 1, sign);
		ok(x.places == 65 && x.seeds == ADVERSARIAL_SEEDS, "no maximum, 30 x 65, %s: %d of 65 places in %d seeds", which[sign + 1],
		   x.places, x.seeds);
		x = look_at(SHAPE(30, 65), 0, 30, 65, sign);
		ok(x.places == 30, "and along the other axis: %d of 30", x.places);
		x = look_at(SHAPE(64, 1000), 1000, 1000, 1, sign);
		ok(x.places >= 7 * 64, "64 x 1000, %s: %d places in %d seeds", which[sign + 1], x.places, x.seeds);
		x = look_at(SHAPE(5000), 5000, 5000, 1, sign);
		ok(x.elements == x.seeds && x.seeds == 104, "one line of 5000, %s: %d in %d seeds", which[sign + 1], x.elements, x.seeds);
	}
	struct seen large = look_at(SHAPE(1000, 1000), 1000, 1000, 1, 1);
	ok(large.seeds == 0, "none for a million");
	struct seen scalar = look_at(SHAPE(1, 1), 0, 1, 1, 1);
	ok(scalar.seeds == ADVERSARIAL_SEEDS, "one element");
	struct oracle_tensor t[2] = {{DT_F32, 100, 1, {100}}, {DT_F32, 100, 1, {100}}};
	struct oracle_task task = {1, 1, t, 1, 0, NULL};
	float v[100];
	int seeds = adversarial_seeds(&task), good = 0;
	for (int i = 0; i < 100; i++)
		v[i] = (float)(i - 50) / 16;
	adversarial_add(&task, 0, v, seeds - 1, seeds);
	for (int i = 0; i < 100; i++)
		good += v[i] == 8 * (float)(i - 50) / 16;
	ok(good == 100, "the last seed: all numbers eight times as large");
	return tap_done();
}
