/* Selecting and sorting words, each unlike the others: included by topk.c once a type. WORD is the type, FN(name) names its functions;
 * FN(words) is there. */

/* a[0..n), the largest first. */
static void FN(insert)(WORD *a, int64_t n)
{
	for (int64_t i = 1; i < n; i++) {
		WORD x = a[i];
		int64_t k = i;
		for (; k > 0 && a[k - 1] < x; k--)
			a[k] = a[k - 1];
		a[k] = x;
	}
}

/* Merges a[0..m) and a[m..n), which are in order, into `to`, from both ends at once. Neither part is used up before half of the result
 * is written. */
static void FN(merge)(const WORD *a, int64_t m, int64_t n, WORD *to)
{
	const WORD *x = a, *y = a + m, *u = a + m - 1, *v = a + n - 1;
	WORD *front = to, *back = to + n - 1;

	for (int64_t i = 0; i < n / 2; i++) {
		bool first = *x > *y, last = *v < *u;
		*front++ = first ? *x : *y;
		x += first;
		y += !first;
		*back-- = last ? *v : *u;
		v -= last;
		u -= !last;
	}
	if (n % 2)
		*front = x <= u ? *x : *y;
}

/* Halves that differ by one at most, so that merging may go from both ends. */
static void FN(merge_sort)(WORD *a, int64_t n, WORD *scratch)
{
	enum { FEW = 12 };

	if (n <= FEW) {
		FN(insert)(a, n);
		return;
	}
	FN(merge_sort)(a, n / 2, scratch);
	FN(merge_sort)(a + n / 2, n - n / 2, scratch);
	FN(merge)(a, n / 2, n, scratch);
	memcpy(a, scratch, sizeof *a * (size_t)n);
}

/* By bytes, from byte `from` to the highest. Words with equal bytes keep their order. */
static void FN(radix_sort)(WORD *a, int64_t n, int from, WORD *scratch)
{
	WORD *x = a, *y = scratch;

	for (int b = from; b < (int)sizeof *a; b++) {
		int64_t at[256] = {0}, sum = 0;
		for (int64_t i = 0; i < n; i++)
			at[(uint8_t)(x[i] >> 8 * b)]++;
		if (at[(uint8_t)(x[0] >> 8 * b)] == n)
			continue;
		for (int d = 255; d >= 0; d--) {
			int64_t count = at[d];
			at[d] = sum;
			sum += count;
		}
		for (int64_t i = 0; i < n; i++)
			y[at[(uint8_t)(x[i] >> 8 * b)]++] = x[i];
		WORD *z = x;
		x = y;
		y = z;
	}
	if (x != a)
		memcpy(a, x, sizeof *a * (size_t)n);
}

/* Sorts by what takes fewer steps: radix sort, a pass for each byte with the clearing and adding of counts, or merge sort, a pass for
 * each halving. settled: words with equal upper halves are in order already. */
static void FN(sort)(WORD *a, int64_t n, bool settled, WORD *scratch)
{
	int half = (int)sizeof *a / 2, from = settled ? half : 0, halvings = 0;

	while (n >> halvings)
		halvings++;
	if ((int64_t)((int)sizeof *a - from) * (2 * n + 256) < n * halvings)
		FN(radix_sort)(a, n, from, scratch);
	else
		FN(merge_sort)(a, n, scratch);
}

/* Moves the words greater than x, which is a[0], to the front, followed by x. Returns how many there are. */
static int64_t FN(partition)(WORD *a, int64_t n)
{
	WORD x = a[0];
	int64_t m = 0;

	for (int64_t i = 1; i < n; i++) {
		WORD y = a[i];
		bool more = y > x;
		a[i] = a[m + 1];
		a[m + 1] = y;
		m += more;
	}
	a[0] = a[m];
	a[m] = x;
	return m;
}

/* Makes a[0..k) the largest k, with a[k - 1] the least of them; 0 < k <= n. (Hoare 1961; if it takes too many steps, it sorts instead.) */
static void FN(select)(WORD *a, int64_t n, int64_t k, WORD *scratch)
{
	int rounds = 0;

	for (int64_t bits = n; bits; bits >>= 1)
		rounds += 3;
	while (n > 1) {
		if (!rounds--) {
			FN(merge_sort)(a, n, scratch);
			return;
		}
		WORD p = a[0], q = a[n / 2], r = a[n - 1];
		int64_t middle = (p > q) == (q > r) ? n / 2 : (p > q) == (p > r) ? n - 1 : 0;
		WORD x = a[middle];
		a[middle] = a[0];
		a[0] = x;
		int64_t m = FN(partition)(a, n);
		if (m == k - 1)
			return;
		if (m >= k) {
			n = m;
		} else {
			a += m + 1;
			n -= m + 1;
			k -= m + 1;
		}
	}
}

/* For a small k: the best words so far are kept in order; inserting another moves half of them. */
static void FN(few)(const struct topk_row *r, WORD *w)
{
	WORD block[TOPK_BLOCK];
	int step = topk_step_of(r);

	for (int64_t i = 0; i < r->k; i++)
		w[i] = 0;
	for (int64_t j = 0; j < r->n;) {
		if (w[r->k - 1] && (j = topk_skip(r, j, FN(place)(w[r->k - 1]))) == r->n)
			break;
		int m = r->n - j < step ? (int)(r->n - j) : step, n = FN(words)(r, j, m, w[r->k - 1], block);
		for (int i = 0; i < n; i++) {
			int64_t at = r->k - 1;
			if (block[i] < w[at])
				continue;
			for (; at > 0 && w[at - 1] < block[i]; at--)
				w[at] = w[at - 1];
			w[at] = block[i];
		}
		j += m;
	}
}

/* Puts the k first words into w[0..k), in order; w and scratch hold topk_room_of words. */
static void FN(front)(const struct topk_row *r, WORD *w, WORD *scratch)
{
	enum { LOOKED_AT = 3, FEW = 4 * LOOKED_AT }; /* how often a selection looks at each of the 2 k words of its buffer, about */
	WORD least = 0;
	int64_t held = 0, room = topk_room_of(r);
	int step = topk_step_of(r);
	bool settled = true;

	if (r->k <= FEW) {
		FN(few)(r, w);
		return;
	}
	for (int64_t j = 0; j < r->n;) {
		if (least && (j = topk_skip(r, j, FN(place)(least))) == r->n)
			break;
		int m = r->n - j < step ? (int)(r->n - j) : step;
		held += FN(words)(r, j, m, least, w + held);
		j += m;
		if (held + step <= room)
			continue;
		FN(select)(w, held, r->k, scratch);
		held = r->k;
		least = w[held - 1];
		settled = false;
	}
	if (held > r->k)
		FN(select)(w, held, r->k, scratch);
	FN(sort)(w, r->k, settled && held == r->k, scratch);
}
