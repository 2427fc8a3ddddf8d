/* DeformConv: a block of places at a time, what each tap of the window reads there is gathered into columns, and the weights multiply
 * those. */
#include "native/native.h"

enum { DEFORM_AXES = 4, DEFORM_BLOCK = 128 };

struct deform {
	int axes, type;
	int64_t images, channels, results, taps, places, group, offset_group;
	int64_t dims[DEFORM_AXES], out[DEFORM_AXES], kernel[DEFORM_AXES], stride[DEFORM_AXES], dilation[DEFORM_AXES], pad[DEFORM_AXES];
	const struct native_tensor *offset, *mask;
};

static const char *deform_axis(const struct native *n, struct deform *d, int a)
{
	int64_t end = native_int_at(n, "pads", d->axes + a), extent;
	const struct native_attr *kernel = native_attr(n, "kernel_shape");

	d->dims[a] = n->in[0].dims[2 + a];
	d->kernel[a] = n->in[1].dims[2 + a];
	d->stride[a] = native_int_at(n, "strides", a);
	d->dilation[a] = native_int_at(n, "dilations", a);
	d->pad[a] = native_int_at(n, "pads", a);
	if (kernel && (kernel->n != d->axes || kernel->ints[a] != d->kernel[a]))
		return "kernel_shape is not that of the weights";
	if (d->stride[a] < 1 || d->dilation[a] < 1 || d->pad[a] < 0 || end < 0 || d->dilation[a] > INT32_MAX || d->pad[a] > INT32_MAX ||
	    end > INT32_MAX || d->kernel[a] > INT32_MAX || d->kernel[a] < 1)
		return "a window that there is not";
	extent = d->dims[a] + d->pad[a] + end - (d->kernel[a] - 1) * d->dilation[a] - 1;
	d->out[a] = extent < 0 ? 0 : extent / d->stride[a] + 1;
	d->taps *= d->kernel[a];
	return NULL;
}

static bool deform_fits(const struct deform *d, const struct native_tensor *t, int axes)
{
	bool fits = t->rank == d->axes + 2 && t->dims[0] == d->images && t->dims[1] == d->offset_group * d->taps * axes;

	for (int a = 0; a < d->axes; a++)
		fits = fits && t->dims[2 + a] == d->out[a];
	return fits;
}

static const char *deform_read(const struct native *n, struct deform *d)
{
	const struct native_tensor *x = &n->in[0], *w = &n->in[1];
	const char *why;

	if (x->rank < 3 || w->rank != x->rank || n->in[2].rank != x->rank)
		return "images and weights do not fit each other";
	if (x->rank > DEFORM_AXES + 2)
		return "no evaluator for so many axes";
	*d = (struct deform){.axes = x->rank - 2,
			     .type = x->type,
			     .images = x->dims[0],
			     .channels = x->dims[1],
			     .results = w->dims[0],
			     .taps = 1,
			     .places = 1,
			     .group = native_int(n, "group"),
			     .offset_group = native_int(n, "offset_group")};
	d->offset = &n->in[2];
	d->mask = native_has(n, 4) ? &n->in[4] : NULL;
	for (int a = 0; a < d->axes; a++)
		if ((why = deform_axis(n, d, a)))
			return why;
	for (int a = 0; a < d->axes; a++)
		d->places *= d->out[a];
	if (d->group < 1 || d->offset_group < 1 || d->channels % d->group || d->results % d->group || d->channels % d->offset_group ||
	    w->dims[1] != d->channels / d->group)
		return "the channels do not fit the groups";
	if (!deform_fits(d, d->offset, d->axes) || (d->mask && !deform_fits(d, d->mask, 1)))
		return "offsets or masks do not fit the result";
	if (native_has(n, 3) && native_count(&n->in[3]) != d->results)
		return "the bias does not fit the weights";
	return NULL;
}

/* Where a tap reads: pixels and weights, those outside left out. How many. */
static int deform_read_at(const struct deform *d, const double *at, int64_t *pixel, double *weight)
{
	int n = 1;

	pixel[0] = 0;
	weight[0] = 1;
	for (int a = 0; a < d->axes; a++) {
		double low = floor(at[a]), w = at[a] - low;
		int kept = 0, held = n;
		int64_t p[1 << DEFORM_AXES];
		double q[1 << DEFORM_AXES];
		if (!(low >= -1 && low < (double)d->dims[a]))
			return 0;
		for (int k = 0; k < 2; k++) {
			int64_t i = (int64_t)low + k;
			for (int j = 0; j < held && i >= 0 && i < d->dims[a]; j++) {
				p[kept] = pixel[j] * d->dims[a] + i;
				q[kept++] = weight[j] * (k ? w : 1 - w);
			}
		}
		memcpy(pixel, p, (size_t)kept * sizeof *p);
		memcpy(weight, q, (size_t)kept * sizeof *q);
		n = kept;
	}
	return n;
}

/* Tap k of an offset group, for place p of an image: where it reads. */
static void deform_place(const struct deform *d, int64_t image, int64_t group, int64_t k, int64_t p, double *at)
{
	int64_t tap = k, place = p;

	for (int a = d->axes - 1; a >= 0; a--) {
		int64_t row = (image * d->offset_group + group) * d->taps * d->axes + k * d->axes + a;
		at[a] = (double)(place % d->out[a] * d->stride[a] - d->pad[a] + tap % d->kernel[a] * d->dilation[a]) +
			native_get(d->offset->type, d->offset->data, row * d->places + p);
		place /= d->out[a];
		tap /= d->kernel[a];
	}
}

#define T        float
#define FN(name) deform_##name##_f32
#include "native/deform_columns.h"
#undef T
#undef FN
#define T        double
#define FN(name) deform_##name##_f64
#include "native/deform_columns.h"
#undef T
#undef FN

NATIVE const char *native_DeformConv(struct native *n)
{
	int64_t dims[DEFORM_AXES + 2];
	struct deform d;
	const char *why = deform_read(n, &d);

	if (why)
		return why;
	for (int i = 0; i < n->nin; i++)
		if (n->in[i].type && !native_is_float(n->in[i].type))
			return native_no_type();
	dims[0] = d.images;
	dims[1] = d.results;
	memcpy(dims + 2, d.out, (size_t)d.axes * sizeof *dims);
	void *y = n->room(n, 0, d.type, d.axes + 2, dims);
	if (!y)
		return native_no_room(n);
	return d.type == NATIVE_F32 ? deform_run_f32(n, &d, y) : deform_run_f64(n, &d, y);
}
