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

/* a[0..m) and a[m..n) are in order; into to, from both ends at once. Neither runs out before half of all is written. */
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

/* By bytes `from` to the highest, the lowest first: those that are equal stay in order. */
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

/* What takes fewer steps: to put every word in a place once a byte, after clearing and adding counts, or once a halving. settled:
 * words that are equal in the upper half are in order. */
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

/* Moves words greater than x, which is a[0], to the front; how many there are. x stands behind them. */
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

/* a[0..k) are the largest k, and a[k - 1] the least of them; 0 < k <= n. (Hoare 1961; a walk that goes badly ends in sorting.) */
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

/* The same for few: the best so far stay in order, and each that belongs among them moves half of them. */
static void FN(few)(const struct row *r, WORD *w)
{
	WORD block[BLOCK];
	int step = step_of(r);

	for (int64_t i = 0; i < r->k; i++)
		w[i] = 0;
	for (int64_t j = 0; j < r->n;) {
		if (w[r->k - 1] && (j = skip(r, j, FN(place)(w[r->k - 1]))) == r->n)
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

/* The k words in front are w[0..k), in order; w and scratch hold room_of words. */
static void FN(front)(const struct row *r, WORD *w, WORD *scratch)
{
	enum { LOOKED_AT = 3, FEW = 4 * LOOKED_AT }; /* how often a selection looks at a word of its buffer, which is 2 k of them */
	WORD least = 0;
	int64_t held = 0, room = room_of(r);
	int step = step_of(r);
	bool settled = true;

	if (r->k <= FEW) {
		FN(few)(r, w);
		return;
	}
	for (int64_t j = 0; j < r->n;) {
		if (least && (j = skip(r, j, FN(place)(least))) == r->n)
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
