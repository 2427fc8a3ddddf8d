/* Columns and their product with the weights, in elements T: included by deform.c once a type. */

/* What the taps of all channels of a group of the weights read at places [p, p + m): column[channel and tap][place]. */
static void FN(columns)(const struct deform *d, const T *x, int64_t image, int64_t g, int64_t p, int64_t m, T *column)
{
	int64_t each = d->channels / d->group, shared = d->channels / d->offset_group, size = 1, pixel[1 << DEFORM_AXES];
	double weight[1 << DEFORM_AXES], at[DEFORM_AXES];

	for (int a = 0; a < d->axes; a++)
		size *= d->dims[a];
	for (int64_t c = g * each; c < (g + 1) * each;) {
		int64_t og = c / shared, end = (og + 1) * shared < (g + 1) * each ? (og + 1) * shared : (g + 1) * each;
		for (int64_t k = 0; k < d->taps; k++)
			for (int64_t i = 0; i < m; i++) {
				deform_place(d, image, og, k, p + i, at);
				int n = deform_read_at(d, at, pixel, weight);
				double mask = d->mask ? native_get(d->mask->type, d->mask->data,
								   ((image * d->offset_group + og) * d->taps + k) * d->places + p + i)
						      : 1;
				for (int64_t b = c; b < end; b++) {
					const T *from = x + (image * d->channels + b) * size;
					double sum = 0;
					for (int j = 0; j < n; j++)
						sum += weight[j] * (double)from[pixel[j]];
					column[((b - g * each) * d->taps + k) * DEFORM_BLOCK + i] = (T)(mask * sum);
				}
			}
		c = end;
	}
}

/* Result channel r of a group at m places: its weights times the columns, on top of the bias. */
static void FN(product)(const T *w, int64_t rows, const T *column, T bias, int64_t m, T *y)
{
	T sum[DEFORM_BLOCK];

	for (int i = 0; i < DEFORM_BLOCK; i++)
		sum[i] = bias;
	for (int64_t k = 0; k < rows; k++)
		for (int i = 0; i < DEFORM_BLOCK; i++)
			sum[i] += w[k] * column[k * DEFORM_BLOCK + i];
	memcpy(y, sum, (size_t)m * sizeof *y);
}

static void FN(block)(const struct deform *d, const T *x, const T *w, const T *bias, int64_t image, int64_t g, int64_t p, T *column,
		      void *y)
{
	int64_t each = d->results / d->group, rows = d->channels / d->group * d->taps, m = d->places - p;
	T row[DEFORM_BLOCK];

	m = m < DEFORM_BLOCK ? m : DEFORM_BLOCK;
	FN(columns)(d, x, image, g, p, m, column);
	for (int64_t r = g * each; r < (g + 1) * each; r++) {
		int64_t to = (image * d->results + r) * d->places + p;
		FN(product)(w + r * rows, rows, column, bias ? bias[r] : 0, m, row);
		for (int64_t i = 0; i < m; i++)
			native_set(d->type, y, to + i, (double)row[i]);
	}
}

static const char *FN(run)(struct native *n, const struct deform *d, void *y)
{
	int64_t rows = d->channels / d->group * d->taps;
	bool single = sizeof(T) == sizeof(float);
	const T *x = single ? (const T *)(const void *)native_floats(n, &n->in[0]) : (const T *)(const void *)native_doubles(n, &n->in[0]);
	const T *w = single ? (const T *)(const void *)native_floats(n, &n->in[1]) : (const T *)(const void *)native_doubles(n, &n->in[1]);
	const T *bias = NULL;
	T *column = n->scratch(n, (size_t)rows * DEFORM_BLOCK * sizeof *column);

	if (native_has(n, 3))
		bias = single ? (const T *)(const void *)native_floats(n, &n->in[3])
			      : (const T *)(const void *)native_doubles(n, &n->in[3]);
	if (!x || !w || !column || (native_has(n, 3) && !bias))
		return native_no_room(n);
	memset(column, 0, (size_t)rows * DEFORM_BLOCK * sizeof *column);
	for (int64_t image = 0; image < d->images; image++)
		for (int64_t g = 0; g < d->group; g++)
			for (int64_t p = 0; p < d->places; p += DEFORM_BLOCK)
				FN(block)(d, x, w, bias, image, g, p, column, y);
	return NULL;
}
