/* Read scans (8x8 floats each) from standard input; print the digit that each shows, a line each. */
#include <err.h>
#include <stdio.h>
#include "digits.h"

int main(void)
{
	float image[8 * 8], logits[10];
	digits *model = digits_open("digits.weights", NULL);
	if (!model)
		errx(1, "digits.weights: %s", digits_error());
	while (fread(image, sizeof image, 1, stdin) == 1) {
		int best = 0;
		if (digits_run(model, (const void *[]){image}, (void *[]){logits}))
			errx(1, "%s", digits_error());
		for (int i = 1; i < 10; i++)
			best = logits[i] > logits[best] ? i : best;
		printf("%d\n", best);
	}
	digits_close(model);
}
