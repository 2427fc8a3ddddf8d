/* Classify the held-out scans with the compiled model; print the accuracy. */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include "digits.h"

static FILE *open_npy(const char *path) /* a .npy file, at its data */
{
	unsigned char head[10];
	FILE *f = fopen(path, "rb");
	if (!f || fread(head, sizeof head, 1, f) != 1 || fseek(f, head[8] | head[9] << 8, SEEK_CUR))
		err(1, "%s", path);
	return f;
}

int main(void)
{
	float image[8 * 8], logits[10];
	int64_t label;
	int n = 0, right = 0;
	FILE *images = open_npy("images.npy"), *labels = open_npy("labels.npy");
	digits *model = digits_open("digits.weights", NULL);
	if (!model)
		errx(1, "digits.weights: cannot open the model");
	while (fread(image, sizeof image, 1, images) == 1 &&
	       fread(&label, sizeof label, 1, labels) == 1) {
		int best = 0;
		if (digits_run(model, (const void *[]){image}, (void *[]){logits}))
			errx(1, "image %d: the model failed", n);
		for (int i = 1; i < 10; i++)
			best = logits[i] > logits[best] ? i : best;
		right += best == label;
		n++;
	}
	digits_close(model);
	printf("%d of %d right: %.2f%%\n", right, n, 100.0 * right / n);
}
