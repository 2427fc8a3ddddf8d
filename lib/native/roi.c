/* RoiAlign and MaxRoiPool: regions of interest of an image, each brought to one size. */
#include "native/native.h"

enum { ROI_SAMPLES = 1 << 15 }; /* along an axis of a bin, at most */

/* Samples that lie in the image, along one axis of a bin: between pixels lo and hi, w of the way. */
struct roi_sample {
	int64_t lo, hi;
	double w;
};

struct roi_axis {
	double start, bin; /* of the region; extent of a bin */
	int64_t samples;   /* of a bin, also those that lie outside */
	int64_t n;         /* pixels */
};

/* Sample i of bin b; false: it lies outside. */
static bool roi_place(const struct roi_axis *a, int64_t b, int64_t i, struct roi_sample *s)
{
	double x = a->start + (double)b * a->bin + ((double)i + 0.5) * a->bin / (double)a->samples;

	if (!a->n || !(x >= -1 && x <= (double)a->n))
		return false;
	x = x < 0 ? 0 : x;
	s->lo = (int64_t)x;
	s->hi = s->lo + 1;
	if (s->lo >= a->n - 1) {
		s->hi = s->lo = a->n - 1;
		x = (double)s->lo;
	}
	s->w = x - (double)s->lo;
	return true;
}

/* Samples [*from, *to) of bin b: those that may lie in the image, and some more. */
static void roi_inside(const struct roi_axis *a, int64_t b, int64_t *from, int64_t *to)
{
	double step = a->bin / (double)a->samples, first = a->start + (double)b * a->bin;

	*from = 0;
	*to = a->samples;
	if (!(step > 0))
		return;
	*from = native_whole(floor((-1 - first) / step) - 2, 0, a->samples);
	*to = native_whole(ceil(((double)a->n - first) / step) + 2, 0, a->samples);
}

static double roi_max(double a, double b) { return a > b || a != a ? a : b; }

/* The sum over one bin of one channel, whose samples along both axes lie in the image; the caller divides. */
static double roi_sum(const double *x, int64_t width, const struct roi_sample *v, int64_t nv, const struct roi_sample *u, int64_t nu)
{
	double sum = 0;

	for (int64_t i = 0; i < nv; i++) {
		const double *lo = x + v[i].lo * width, *hi = x + v[i].hi * width;
		for (int64_t j = 0; j < nu; j++) {
			double a = (1 - u[j].w) * lo[u[j].lo] + u[j].w * lo[u[j].hi], b = (1 - u[j].w) * hi[u[j].lo] + u[j].w * hi[u[j].hi];
			sum += (1 - v[i].w) * a + v[i].w * b;
		}
	}
	return sum;
}

/* The largest of the four terms of all samples, as the reference has it. */
static double roi_largest(const double *x, int64_t width, const struct roi_sample *v, int64_t nv, const struct roi_sample *u, int64_t nu)
{
	double most = -INFINITY;

	for (int64_t i = 0; i < nv; i++) {
		const double *lo = x + v[i].lo * width, *hi = x + v[i].hi * width;
		for (int64_t j = 0; j < nu; j++) {
			most = roi_max(most, (1 - v[i].w) * (1 - u[j].w) * lo[u[j].lo]);
			most = roi_max(most, (1 - v[i].w) * u[j].w * lo[u[j].hi]);
			most = roi_max(most, v[i].w * (1 - u[j].w) * hi[u[j].lo]);
			most = roi_max(most, v[i].w * u[j].w * hi[u[j].hi]);
		}
	}
	return most;
}

struct roi_align {
	const double *x;
	int64_t channels, h, w, ph, pw;
	bool max;
	struct roi_sample *v, *u; /* room for those of a bin */
	int type;
	void *y;
};

/* The samples of a bin that lie in the image. */
static int64_t roi_samples(const struct roi_axis *a, int64_t b, struct roi_sample *s)
{
	int64_t from, to, n = 0;

	roi_inside(a, b, &from, &to);
	for (int64_t i = from; i < to; i++)
		n += roi_place(a, b, i, &s[n]);
	return n;
}

static void roi_region(const struct roi_align *r, int64_t region, int64_t image, const struct roi_axis *v, const struct roi_axis *u)
{
	int64_t all = v->samples * u->samples;

	for (int64_t i = 0; i < r->ph; i++)
		for (int64_t j = 0; j < r->pw; j++) {
			int64_t nv = roi_samples(v, i, r->v), nu = roi_samples(u, j, r->u);
			for (int64_t c = 0; c < r->channels; c++) {
				const double *x = r->x + (image * r->channels + c) * r->h * r->w;
				double y = r->max ? roi_largest(x, r->w, r->v, nv, r->u, nu) : roi_sum(x, r->w, r->v, nv, r->u, nu);
				if (r->max && nv * nu < all) /* those outside are 0 */
					y = roi_max(y, 0);
				if (!nv || !nu)
					y = 0;
				if (!r->max)
					y /= all > 0 ? (double)all : 1;
				native_set(r->type, r->y, ((region * r->channels + c) * r->ph + i) * r->pw + j, y);
			}
		}
}

/* The axis of a region from a to b. */
static struct roi_axis roi_axis(double a, double b, int64_t bins, int64_t n, bool half, int64_t ratio)
{
	double extent = b - a;

	if (!half && !(extent >= 1))
		extent = 1;
	double bin = extent / (double)bins;
	return (struct roi_axis){
		.start = a, .bin = bin, .n = n, .samples = ratio > 0 ? ratio : native_whole(ceil(bin), 0, INT64_C(1) << 30)};
}

NATIVE const char *native_RoiAlign(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *rois = &n->in[1], *image = &n->in[2];
	int64_t ratio = native_int(n, "sampling_ratio"), regions, most;
	struct roi_align r = {.ph = native_int(n, "output_height"), .pw = native_int(n, "output_width"), .type = x->type};
	double scale = native_float(n, "spatial_scale"), at[4];
	bool half = strcmp(native_str(n, "coordinate_transformation_mode"), "output_half_pixel") != 0;

	if (!native_is_float(x->type) || !native_is_float(rois->type))
		return native_no_type();
	if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != 4 || native_count(image) != rois->dims[0] || r.ph < 1 || r.pw < 1 ||
	    r.ph > INT32_MAX || r.pw > INT32_MAX || ratio > ROI_SAMPLES)
		return "images, regions and sizes do not fit each other";
	regions = rois->dims[0];
	r.channels = x->dims[1];
	r.h = x->dims[2];
	r.w = x->dims[3];
	r.max = !strcmp(native_str(n, "mode"), "max");
	r.y = n->room(n, 0, x->type, 4, (int64_t[]){regions, r.channels, r.ph, r.pw});
	most = ratio > 0 ? ratio : 2 * (r.h > r.w ? r.h : r.w) + 16;
	r.v = n->scratch(n, (size_t)most * sizeof *r.v);
	r.u = n->scratch(n, (size_t)most * sizeof *r.u);
	r.x = native_doubles(n, x);
	if (!r.y || !r.v || !r.u || !r.x)
		return native_no_room(n);
	for (int64_t i = 0; i < regions; i++) {
		int64_t b = native_get_int(image->type, image->data, i);
		if (b < 0 || b >= x->dims[0])
			return native_why(n, "region %lld of image %lld of %lld", (long long)i, (long long)b, (long long)x->dims[0]);
		for (int k = 0; k < 4; k++)
			at[k] = native_get(rois->type, rois->data, 4 * i + k) * scale - (half ? 0.5 : 0);
		struct roi_axis v = roi_axis(at[1], at[3], r.ph, r.h, half, ratio), u = roi_axis(at[0], at[2], r.pw, r.w, half, ratio);
		roi_region(&r, i, b, &v, &u);
	}
	return NULL;
}

/* ---- MaxRoiPool ---- */

/* Pixels [*from, *to) of bin b of a region of that extent. */
static void roi_bin(double start, double extent, int64_t b, int64_t bins, int64_t n, int64_t *from, int64_t *to)
{
	double bin = extent / (double)bins;

	*from = native_whole(floor((double)b * bin) + start, 0, n);
	*to = native_whole(ceil((double)(b + 1) * bin) + start, 0, n);
}

static double roi_most(int type, const void *x, int64_t at, int64_t width, const int64_t *v, const int64_t *u)
{
	double most = v[0] < v[1] && u[0] < u[1] ? -INFINITY : 0;

	for (int64_t i = v[0]; i < v[1]; i++)
		for (int64_t j = u[0]; j < u[1]; j++)
			most = roi_max(most, native_get(type, x, at + i * width + j));
	return most;
}

NATIVE const char *native_MaxRoiPool(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *rois = &n->in[1];
	int64_t ph = native_int_at(n, "pooled_shape", 0), pw = native_int_at(n, "pooled_shape", 1), v[2], u[2];
	double scale = native_float(n, "spatial_scale"), at[4];

	if (!native_is_float(x->type) || !native_is_float(rois->type))
		return native_no_type();
	if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != 5 || ph < 1 || pw < 1 || ph > INT32_MAX || pw > INT32_MAX)
		return "images, regions and sizes do not fit each other";
	void *y = n->room(n, 0, x->type, 4, (int64_t[]){rois->dims[0], x->dims[1], ph, pw});
	if (!y)
		return native_no_room(n);
	for (int64_t r = 0; r < rois->dims[0]; r++) {
		double image = trunc(native_get(rois->type, rois->data, 5 * r)); /* of -0.5 it is 0, which has to be there */
		if (!(image >= 0 && image < (double)x->dims[0]))
			return native_why(n, "region %lld of image %g of %lld", (long long)r, image, (long long)x->dims[0]);
		for (int k = 0; k < 4; k++)
			at[k] = round(native_get(rois->type, rois->data, 5 * r + 1 + k) * scale);
		for (int64_t i = 0; i < x->dims[1] * ph * pw; i++) {
			int64_t c = i / (ph * pw), from = ((int64_t)image * x->dims[1] + c) * x->dims[2] * x->dims[3];
			roi_bin(at[1], fmax(at[3] - at[1] + 1, 1), i / pw % ph, ph, x->dims[2], &v[0], &v[1]);
			roi_bin(at[0], fmax(at[2] - at[0] + 1, 1), i % pw, pw, x->dims[3], &u[0], &u[1]);
			native_set(x->type, y, r * x->dims[1] * ph * pw + i, roi_most(x->type, x->data, from, x->dims[3], v, u));
		}
	}
	return NULL;
}
