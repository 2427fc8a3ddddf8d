/* NonMaxSuppression: of each class the boxes by falling score, without those that overlap one that was taken. A heap, since few of many
 * are taken. A box whose score equals the threshold stays, by the standard's words. */
#include "native/native.h"

struct nms_box {
	double y0, x0, y1, x1, area;
};

/* What was taken: image, class, box. */
struct nms_taken {
	int64_t n, room, *a;
};

static struct nms_box nms_box(const struct native_tensor *t, int64_t i, bool center)
{
	double v[4];
	struct nms_box b;

	native_load(t->type, t->data, 4 * i, 4, v);
	if (center) /* x, y, width, height */
		b = (struct nms_box){v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2, 0};
	else
		b = (struct nms_box){fmin(v[0], v[2]), fmin(v[1], v[3]), fmax(v[0], v[2]), fmax(v[1], v[3]), 0};
	b.area = (b.y1 - b.y0) * (b.x1 - b.x0);
	return b;
}

/* Below so much of the most that boxes may share, no rounding makes a quotient of it. */
#define NMS_NEARLY (1 - 1e-9)

/* A box with NaN has no area. The quotient is computed only where it may be above most. */
static bool nms_overlaps(const struct nms_box *a, const struct nms_box *b, double most)
{
	if (!(a->area > 0 && b->area > 0))
		return false;
	double h = (a->y1 < b->y1 ? a->y1 : b->y1) - (a->y0 > b->y0 ? a->y0 : b->y0);
	double w = (a->x1 < b->x1 ? a->x1 : b->x1) - (a->x0 > b->x0 ? a->x0 : b->x0);
	double both = h * w, all = a->area + b->area - both;

	return h > 0 && w > 0 && !(both < NMS_NEARLY * most * all) && both / all > most;
}

/* A word that is larger the earlier a box comes: by its score, then by its number. */
static uint64_t nms_word(float score, uint32_t i)
{
	uint32_t bits;

	score += 0.0f;
	memcpy(&bits, &score, sizeof bits);
	bits ^= (uint32_t)((int32_t)bits >> 31) | 0x80000000u;
	return (uint64_t)bits << 32 | (UINT32_MAX - i);
}

static void nms_sink(uint64_t *heap, int64_t n, int64_t i)
{
	uint64_t x = heap[i];

	for (int64_t k; (k = 2 * i + 1) < n; i = k) {
		k += k + 1 < n && heap[k + 1] > heap[k];
		if (heap[k] <= x)
			break;
		heap[i] = heap[k];
	}
	heap[i] = x;
}

/* The boxes that may be taken, as a heap. How many. */
static int64_t nms_heap(const struct native_tensor *scores, int64_t first, int64_t boxes, double least, uint64_t *heap)
{
	const float *known = scores->type == NATIVE_F32 ? (const float *)scores->data + first : NULL;
	int64_t n = 0;

	for (int64_t i = 0; i < boxes; i++) {
		float s = known ? known[i] : (float)native_get(scores->type, scores->data, first + i);
		heap[n] = nms_word(s, (uint32_t)i);
		n += s >= least;
	}
	for (int64_t i = n / 2 - 1; i >= 0; i--)
		nms_sink(heap, n, i);
	return n;
}

static bool nms_take(struct native *n, struct nms_taken *t, int64_t image, int64_t class, int64_t box)
{
	if (t->n == t->room) {
		int64_t room = 2 * t->room + 64, *a = n->scratch(n, 3 * (size_t)room * sizeof *a);
		if (!a)
			return false;
		if (t->n)
			memcpy(a, t->a, 3 * (size_t)t->n * sizeof *a);
		t->a = a;
		t->room = room;
	}
	int64_t *to = t->a + 3 * t->n++;
	to[0] = image;
	to[1] = class;
	to[2] = box;
	return true;
}

enum { NMS_BLOCK = 32 };

struct nms {
	int64_t boxes, most;
	bool center;
	double overlap, least;
	struct nms_box *box; /* those that were looked at */
	uint64_t *heap;
	double *y0, *x0, *y1, *x1, *area; /* of what was taken of the class; up to a whole block, boxes that meet none */
};

/* Box number i of its class is taken. */
static void nms_edges(const struct nms *s, int64_t i, const struct nms_box *b)
{
	for (int64_t k = i; i % NMS_BLOCK == 0 && k < i + NMS_BLOCK; k++)
		s->y0[k] = s->x0[k] = s->y1[k] = s->x1[k] = s->area[k] = -INFINITY;
	s->y0[i] = b->y0;
	s->x0[i] = b->x0;
	s->y1[i] = b->y1;
	s->x1[i] = b->x1;
	s->area[i] = b->area;
}

/* As wide as the registers are: wider ones are compared element by element. */
typedef double nms_edge __attribute__((vector_size(__BIGGEST_ALIGNMENT__), aligned(8)));
typedef int64_t nms_mask __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
enum { NMS_LANES = sizeof(nms_edge) / sizeof(double) };

/* Does a box of the block that begins at i meet it? */
static bool nms_meets(const struct nms *s, int64_t i, const struct nms_box *b)
{
	nms_mask meets = {0};
	int64_t any = 0;

	for (int64_t k = i; k < i + NMS_BLOCK; k += NMS_LANES)
		meets |= (*(const nms_edge *)(s->y1 + k) > b->y0) & (*(const nms_edge *)(s->y0 + k) < b->y1) &
			 (*(const nms_edge *)(s->x1 + k) > b->x0) & (*(const nms_edge *)(s->x0 + k) < b->x1);
	for (int k = 0; k < NMS_LANES; k++)
		any |= meets[k];
	return any;
}

/* How far each of NMS_LANES boxes taken, from p to q, goes along with one from b0 to b1. */
static void nms_along(nms_edge *to, const double *p, const double *q, double b0, double b1)
{
	const nms_edge none = {0}, from = *(const nms_edge *)p, end = *(const nms_edge *)q;
	nms_mask later = from > b0, sooner = end < b1;

	*to = (nms_edge)((sooner & (nms_mask)end) | (~sooner & (nms_mask)(none + b1))) -
	      (nms_edge)((later & (nms_mask)from) | (~later & (nms_mask)(none + b0)));
}

/* May a box of the block that begins at i overlap it by more than the most? Wrong only by yes. */
static bool nms_may_overlap(const struct nms *s, int64_t i, const struct nms_box *b)
{
	nms_mask may = {0};
	int64_t any = 0;

	for (int64_t k = i; k < i + NMS_BLOCK; k += NMS_LANES) {
		nms_edge h, w, both;
		nms_along(&h, s->y0 + k, s->y1 + k, b->y0, b->y1);
		nms_along(&w, s->x0 + k, s->x1 + k, b->x0, b->x1);
		both = h * w;
		const nms_edge area = *(const nms_edge *)(s->area + k);
		may |= (area > 0) & (h > 0) & (w > 0) & ~(both < NMS_NEARLY * s->overlap * (area + b->area - both));
	}
	for (int k = 0; k < NMS_LANES; k++)
		any |= may[k];
	return any;
}

/* Does it overlap a box that was taken of its class, from number `begin` of all on? */
static bool nms_covered(const struct nms *s, const struct nms_taken *t, int64_t begin, const struct nms_box *b)
{
	for (int64_t i = 0, n = b->area > 0 ? t->n - begin : 0; i < n; i += NMS_BLOCK) {
		if (!nms_meets(s, i, b) || !nms_may_overlap(s, i, b))
			continue;
		for (int64_t k = i; k < n && k < i + NMS_BLOCK; k++)
			if (nms_overlaps(b, &s->box[t->a[3 * (begin + k) + 2]], s->overlap))
				return true;
	}
	return false;
}

static bool nms_class(struct native *n, const struct nms *s, int64_t image, int64_t class, int64_t classes, struct nms_taken *t)
{
	int64_t held = nms_heap(&n->in[1], (image * classes + class) * s->boxes, s->boxes, s->least, s->heap), begin = t->n;

	while (held && t->n - begin < s->most) {
		int64_t i = UINT32_MAX - (uint32_t)s->heap[0];
		s->heap[0] = s->heap[--held];
		nms_sink(s->heap, held, 0);
		s->box[i] = nms_box(&n->in[0], image * s->boxes + i, s->center);
		if (nms_covered(s, t, begin, &s->box[i]))
			continue;
		nms_edges(s, t->n - begin, &s->box[i]);
		if (!nms_take(n, t, image, class, i))
			return false;
	}
	return true;
}

NATIVE const char *native_NonMaxSuppression(struct native *n)
{
	const struct native_tensor *boxes = &n->in[0], *scores = &n->in[1];
	struct nms s = {.most = native_number(n, 2, 0),
			.overlap = native_real(n, 3, 0),
			.least = native_real(n, 4, -INFINITY),
			.center = native_int(n, "center_point_box") != 0};
	struct nms_taken t = {0};

	if (!native_is_float(boxes->type) || !native_is_float(scores->type))
		return native_no_type();
	if (boxes->rank != 3 || scores->rank != 3 || boxes->dims[2] != 4 || boxes->dims[0] != scores->dims[0] ||
	    boxes->dims[1] != scores->dims[2] || boxes->dims[1] >= UINT32_MAX)
		return "boxes and scores do not fit each other";
	s.boxes = boxes->dims[1];
	s.box = n->scratch(n, (size_t)s.boxes * sizeof *s.box);
	s.heap = n->scratch(n, (size_t)s.boxes * sizeof *s.heap + 8);
	s.y0 = n->scratch(n, 5 * ((size_t)s.boxes + NMS_BLOCK) * sizeof *s.y0);
	if (!s.box || !s.heap || !s.y0)
		return native_no_room(n);
	s.x0 = s.y0 + s.boxes + NMS_BLOCK;
	s.y1 = s.x0 + s.boxes + NMS_BLOCK;
	s.x1 = s.y1 + s.boxes + NMS_BLOCK;
	s.area = s.x1 + s.boxes + NMS_BLOCK;
	for (int64_t b = 0; b < boxes->dims[0] && s.most > 0; b++)
		for (int64_t c = 0; c < scores->dims[1]; c++)
			if (!nms_class(n, &s, b, c, scores->dims[1], &t))
				return native_no_room(n);
	int64_t *y = n->room(n, 0, NATIVE_I64, 2, (int64_t[]){t.n, 3});
	if (!y)
		return native_no_room(n);
	if (t.n)
		memcpy(y, t.a, 3 * (size_t)t.n * sizeof *y);
	return NULL;
}
