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

static bool nms_overlaps(const struct nms_box *a, const struct nms_box *b, double most)
{
	double h = fmin(a->y1, b->y1) - fmax(a->y0, b->y0), w = fmin(a->x1, b->x1) - fmax(a->x0, b->x0), both = h * w;

	if (!(h > 0 && w > 0 && a->area > 0 && b->area > 0))
		return false;
	return both / (a->area + b->area - both) > most;
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
	int64_t n = 0;

	for (int64_t i = 0; i < boxes; i++) {
		float s = (float)native_get(scores->type, scores->data, first + i);
		if (s >= least)
			heap[n++] = nms_word(s, (uint32_t)i);
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

struct nms {
	int64_t boxes, most;
	double overlap, least;
	struct nms_box *box;
	uint64_t *heap;
};

static bool nms_class(struct native *n, const struct nms *s, int64_t image, int64_t class, int64_t classes, struct nms_taken *t)
{
	int64_t held = nms_heap(&n->in[1], (image * classes + class) * s->boxes, s->boxes, s->least, s->heap), begin = t->n;

	while (held && t->n - begin < s->most) {
		int64_t i = UINT32_MAX - (uint32_t)s->heap[0], k = begin;
		s->heap[0] = s->heap[--held];
		nms_sink(s->heap, held, 0);
		while (k < t->n && !nms_overlaps(&s->box[i], &s->box[t->a[3 * k + 2]], s->overlap))
			k++;
		if (k == t->n && !nms_take(n, t, image, class, i))
			return false;
	}
	return true;
}

NATIVE const char *native_NonMaxSuppression(struct native *n)
{
	const struct native_tensor *boxes = &n->in[0], *scores = &n->in[1];
	struct nms s = {.most = native_number(n, 2, 0), .overlap = native_real(n, 3, 0), .least = native_real(n, 4, -INFINITY)};
	struct nms_taken t = {0};
	bool center = native_int(n, "center_point_box") != 0;

	if (!native_is_float(boxes->type) || !native_is_float(scores->type))
		return native_no_type();
	if (boxes->rank != 3 || scores->rank != 3 || boxes->dims[2] != 4 || boxes->dims[0] != scores->dims[0] ||
	    boxes->dims[1] != scores->dims[2] || boxes->dims[1] >= UINT32_MAX)
		return "boxes and scores do not fit each other";
	s.boxes = boxes->dims[1];
	s.box = n->scratch(n, (size_t)s.boxes * sizeof *s.box);
	s.heap = n->scratch(n, (size_t)s.boxes * sizeof *s.heap + 8);
	if (!s.box || !s.heap)
		return native_no_room(n);
	for (int64_t b = 0; b < boxes->dims[0] && s.most > 0; b++) {
		for (int64_t i = 0; i < s.boxes; i++)
			s.box[i] = nms_box(boxes, b * s.boxes + i, center);
		for (int64_t c = 0; c < scores->dims[1]; c++)
			if (!nms_class(n, &s, b, c, scores->dims[1], &t))
				return native_no_room(n);
	}
	int64_t *y = n->room(n, 0, NATIVE_I64, 2, (int64_t[]){t.n, 3});
	if (!y)
		return native_no_room(n);
	if (t.n)
		memcpy(y, t.a, 3 * (size_t)t.n * sizeof *y);
	return NULL;
}
