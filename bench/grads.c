/* grads MODEL SEED [BACKWARD_US]: gradients of a model in training, as tune-grad reads them: the tensors of the real
 * architecture; times from each layer's arithmetic and traffic at batch 32, each off by about a tenth at random, and
 * scaled so that the backward pass takes BACKWARD_US, if that is given. */
#include <stdlib.h>
#include <string.h>
#include "comm/grads.h"
#include "common/rng.h"
#include "common/tool.h"

const struct tool tool = {.name = "grads"};

static const double batch = 32, flops_us = 10e6, bytes_us = 500e3; /* of the device */

struct layer {
	char *name;
	double numbers; /* of the parameter */
	double us;      /* forward time of the layer, with the first of its tensors; 0 for the others */
};
static VEC(struct layer) layers; /* in the order of the forward pass */

static void tensor(const char *name, const char *part, double numbers, double us)
{
	vec_push(&layers, (struct layer){xprintf("%s.%s", name, part), numbers, us});
}

static double cost(double flops, double numbers) { return fmax(batch * flops / flops_us, batch * numbers * 4 / bytes_us); }

/* A convolution to out x px x px, and the normalisation behind it. */
static void conv(const char *name, double in, double out, double k, double px, double groups)
{
	tensor(name, "conv.weight", out * in / groups * k * k, cost(2 * out * in / groups * k * k * px * px, 2 * out * px * px));
	tensor(name, "bn.weight", out, cost(0, 3 * out * px * px));
	tensor(name, "bn.bias", out, 0);
}

/* The normalisation in front of a convolution. */
static void norm_conv(const char *name, double in, double out, double k, double px)
{
	tensor(name, "norm.weight", in, cost(0, 3 * in * px * px));
	tensor(name, "norm.bias", in, 0);
	tensor(name, "conv.weight", out * in * k * k, cost(2 * out * in * k * k * px * px, (in + out) * px * px));
}

static void linear(const char *name, double in, double out, double rows)
{
	tensor(name, "weight", in * out, cost(2 * in * out * rows, (in + out) * rows));
	tensor(name, "bias", out, 0);
}

static void resnet50(void)
{
	static const int blocks[] = {3, 4, 6, 3};
	double in = 64, px = 56;
	conv("stem", 3, 64, 7, 112, 1);
	for (int s = 0; s < 4; s++, px /= 2) {
		double mid = 64 << s;
		for (int b = 0; b < blocks[s]; b++) {
			double now = px; /* the stride is in the 3x3 */
			conv(xprintf("stage%d.%d.a", s, b), in, mid, 1, b || !s ? now : 2 * now, 1);
			conv(xprintf("stage%d.%d.b", s, b), mid, mid, 3, now, 1);
			conv(xprintf("stage%d.%d.c", s, b), mid, 4 * mid, 1, now, 1);
			if (!b)
				conv(xprintf("stage%d.%d.down", s, b), in, 4 * mid, 1, now, 1);
			in = 4 * mid;
		}
	}
	linear("fc", 2048, 1000, 1);
}

static void densenet121(void)
{
	static const int blocks[] = {6, 12, 24, 16};
	double in = 64, px = 56;
	conv("stem", 3, 64, 7, 112, 1);
	for (int s = 0; s < 4; s++) {
		for (int b = 0; b < blocks[s]; b++, in += 32) {
			norm_conv(xprintf("block%d.%d.a", s, b), in, 128, 1, px);
			norm_conv(xprintf("block%d.%d.b", s, b), 128, 32, 3, px);
		}
		if (s < 3) {
			norm_conv(xprintf("transition%d", s), in, in / 2, 1, px);
			in /= 2, px /= 2;
		}
	}
	tensor("norm", "weight", in, cost(0, 3 * in * px * px));
	tensor("norm", "bias", in, 0);
	linear("fc", in, 1000, 1);
}

static void mobilenet_v2(void)
{
	static const struct {
		int expand, out, n, stride;
	} rows[] = {
		{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1},
	};
	double in = 32, px = 112;
	conv("stem", 3, 32, 3, 112, 1);
	for (int s = 0; s < 7; s++) {
		for (int b = 0; b < rows[s].n; b++) {
			double mid = in * rows[s].expand, before = px;
			px /= b ? 1 : rows[s].stride;
			if (rows[s].expand > 1)
				conv(xprintf("block%d.%d.expand", s, b), in, mid, 1, before, 1);
			conv(xprintf("block%d.%d.depth", s, b), mid, mid, 3, px, mid);
			conv(xprintf("block%d.%d.project", s, b), mid, rows[s].out, 1, px, 1);
			in = rows[s].out;
		}
	}
	conv("head", 320, 1280, 1, 7, 1);
	linear("fc", 1280, 1000, 1);
}

static void norm(const char *name, double width, double rows)
{
	tensor(name, "weight", width, cost(0, 3 * width * rows));
	tensor(name, "bias", width, 0);
}

static void vit_b_16(void)
{
	double d = 768, rows = 197;
	tensor("embed", "weight", 768 * d, cost(2 * 768 * d * rows, 2 * d * rows));
	tensor("embed", "bias", d, 0);
	tensor("embed", "class", d, cost(0, d * rows));
	tensor("embed", "position", d * rows, 0);
	for (int i = 0; i < 12; i++) {
		norm(xprintf("layer%d.norm1", i), d, rows);
		linear(xprintf("layer%d.qkv", i), d, 3 * d, rows);
		linear(xprintf("layer%d.out", i), d, d, rows * (1 + rows / d));
		norm(xprintf("layer%d.norm2", i), d, rows);
		linear(xprintf("layer%d.up", i), d, 4 * d, rows);
		linear(xprintf("layer%d.down", i), 4 * d, d, rows);
	}
	norm("norm", d, rows);
	linear("head", d, 1000, 1);
}

/* 58 layers of 256 experts of three matrices, of which each token visits 8, and attention: 45,066 tensors, 1 GB. */
static void mixture(void)
{
	double d = 256, ff = 24, rows = 64;
	for (int i = 0; i < 58; i++) {
		norm(xprintf("layer%d.norm1", i), d, rows);
		linear(xprintf("layer%d.qkv", i), d, 3 * d, rows);
		linear(xprintf("layer%d.out", i), d, d, rows);
		norm(xprintf("layer%d.norm2", i), d, rows);
		tensor(xprintf("layer%d.router", i), "weight", 256 * d, cost(2 * 256 * d * rows, 256 * rows));
		for (int e = 0; e < 256; e++) {
			const char *name = xprintf("layer%d.expert%d", i, e);
			tensor(name, "gate", d * ff, cost(2 * d * ff * rows / 32, d * rows / 32));
			tensor(name, "up", d * ff, cost(2 * d * ff * rows / 32, d * rows / 32));
			tensor(name, "down", d * ff, cost(2 * d * ff * rows / 32, d * rows / 32));
		}
	}
}

static const struct {
	const char *name;
	void (*layers)(void);
} models[] = {
	{"resnet50", resnet50}, {"densenet121", densenet121}, {"mobilenet_v2", mobilenet_v2}, {"vit_b_16", vit_b_16}, {"mixture", mixture},
};

int main(int argc, char **argv)
{
	struct grads g = {.estimated = true};
	struct rng r = {argc > 2 ? strtoull(argv[2], NULL, 10) : 1};
	double clock = 0, backward = argc > 3 ? strtod(argv[3], NULL) : 0;
	for (size_t i = 0; argc > 1 && i < sizeof models / sizeof *models; i++)
		if (!strcmp(models[i].name, argv[1]))
			models[i].layers();
	if (!layers.n)
		die(EX_BADUSE, "usage: grads resnet50|densenet121|mobilenet_v2|vit_b_16|mixture SEED [BACKWARD_US]");
	for (size_t end = layers.n, i; end > 0; end = i) { /* a layer's tensors are ready together, the last one first */
		for (i = end - 1; i > 0 && layers.a[i].us == 0; i--)
			;
		clock += 2 * layers.a[i].us * exp(0.1 * rng_normal(&r));
		for (size_t t = end; t-- > i;)
			vec_push(&g.at, (struct grad){layers.a[t].name, layers.a[t].numbers * 4, clock});
	}
	for (size_t i = 0; backward > 0 && i < g.at.n; i++)
		g.at.a[i].ready *= backward / clock;
	g.forward = (backward > 0 ? backward : clock) / 2;
	grads_write(&g, NULL);
	return 0;
}
