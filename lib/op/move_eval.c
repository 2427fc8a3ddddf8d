/* Evaluators of operators that only move elements. */
#include "op/move.h"

int64_t slice_clip(int64_t d, int64_t *start, int64_t end, int64_t step)
{
	int64_t s = *start, lo = step < 0 ? -1 : 0, hi = step < 0 ? d - 1 : d;

	s = s < 0 ? s + d : s;
	end = end < 0 ? end + d : end;
	s = s < 0 ? 0 : s; /* backwards too: where numpy takes nothing the standard's words take the first */
	s = s > hi ? hi : s;
	end = end < lo ? lo : end > hi ? hi : end;
	*start = s;
	if (step > 0)
		return end > s ? (end - s - 1) / step + 1 : 0;
	return s > end ? 1 - (s - end - 1) / step : 0; /* -step may not exist */
}

int64_t split_chunk(int64_t d, int64_t n, int64_t i)
{
	int64_t chunk = (d + n - 1) / n, left = d - chunk * i;

	return left < 0 ? 0 : left < chunk ? left : chunk;
}

/* Writes a dense block of these dims from a strided source (strides in elements). */
static void copy_strided(char *dst, const char *src, size_t size, int rank, const int64_t *dims, const int64_t *stride)
{
	int64_t at[2 * RANK_MAX] = {0}, off = 0, n, s;

	for (int i = 0; i < rank; i++)
		if (dims[i] == 0)
			return;
	n = rank ? dims[rank - 1] : 1;
	s = rank ? stride[rank - 1] : 1;
	for (;;) {
		const char *p = src + off * (int64_t)size;
		if (s == 1) {
			memcpy(dst, p, (size_t)n * size);
			dst += (size_t)n * size;
		} else if (size == 4) {
			for (int64_t i = 0; i < n; i++, dst += 4, p += s * 4)
				memcpy(dst, p, 4);
		} else {
			for (int64_t i = 0; i < n; i++, dst += size, p += s * (int64_t)size)
				memcpy(dst, p, size);
		}
		int k = rank - 2;
		for (; k >= 0; k--) {
			off += stride[k];
			if (++at[k] < dims[k])
				break;
			off -= at[k] * stride[k];
			at[k] = 0;
		}
		if (k < 0)
			return;
	}
}

static void strides_of(const struct tensor *x, int64_t *stride)
{
	int64_t s = 1;

	for (int i = x->rank - 1; i >= 0; i--) {
		stride[i] = s;
		s *= x->dims[i];
	}
}

static const char *no_strings(struct eval *e, const struct tensor *x)
{
	return dtype_size(x->dtype) ? NULL : eval_why(e, "no evaluator for %s", dtype_name(x->dtype));
}

/* ---- other dims, the same elements ---- */

static const char *view_checked(struct eval *e, int rank, const int64_t *dims)
{
	int64_t n = 1;
	bool none = false, many = false;

	for (int i = 0; i < rank; i++) {
		if (dims[i] < 0)
			return eval_why(e, "an extent of %lld", (long long)dims[i]);
		none |= !dims[i];
		many |= __builtin_mul_overflow(n, dims[i], &n);
	}
	n = none ? 0 : many ? INT64_MAX : n;
	if (n != tensor_count(e->in[0]))
		return eval_why(e, "%lld elements do not reshape to %lld", (long long)tensor_count(e->in[0]), (long long)n);
	eval_view(e, 0, 0, rank, dims);
	return NULL;
}

const char *eval_reshape(struct eval *e)
{
	const struct tensor *x = e->in[0];
	const int64_t *v;
	int n = eval_ints(e, 1, &v), hole = -1;
	int64_t dims[RANK_MAX], rest = 1;

	if (n < 0 || n > RANK_MAX)
		return "no shape, or its rank is too large";
	bool none = false, many = false;
	for (int i = 0; i < n; i++) {
		dims[i] = v[i];
		if (v[i] == 0 && !attr_i(e->n, "allowzero")) {
			if (i >= x->rank)
				return "a 0 in the shape lies outside the rank";
			dims[i] = x->dims[i];
		}
		if (v[i] == -1)
			hole = i;
		else
			many |= __builtin_mul_overflow(rest, dims[i], &rest);
		none |= !dims[i];
	}
	if (many && !none)
		return "a shape of more elements than can be";
	rest = none ? 0 : rest;
	if (hole >= 0 && rest && tensor_count(x) % rest)
		return eval_why(e, "%lld elements are no multiple of %lld", (long long)tensor_count(x), (long long)rest);
	if (hole >= 0)
		dims[hole] = rest ? tensor_count(x) / rest : 0;
	return view_checked(e, n, dims);
}

const char *eval_flatten(struct eval *e)
{
	const struct tensor *x = e->in[0];
	int64_t a = attr_i(e->n, "axis"), dims[2] = {1, 1};

	a = a < 0 ? a + x->rank : a;
	for (int i = 0; i < x->rank; i++)
		dims[i >= a] *= x->dims[i];
	return view_checked(e, 2, dims);
}

const char *eval_squeeze(struct eval *e)
{
	const struct tensor *x = e->in[0];
	const int64_t *axes = NULL;
	int count = eval_ints(e, 1, &axes), n = 0, axis;
	bool drop[RANK_MAX] = {0};
	int64_t dims[RANK_MAX];

	for (int i = 0; i < count; i++) {
		if (!rule_axis(axes[i], x->rank, &axis) || x->dims[axis] != 1)
			return "an axis is outside the rank or not of extent 1";
		drop[axis] = true;
	}
	for (int i = 0; i < x->rank; i++)
		if (!(count < 0 ? x->dims[i] == 1 : drop[i]))
			dims[n++] = x->dims[i];
	return view_checked(e, n, dims);
}

const char *eval_unsqueeze(struct eval *e)
{
	const struct tensor *x = e->in[0];
	const int64_t *axes = NULL;
	int count = eval_ints(e, 1, &axes), axis, from = 0;
	bool added[RANK_MAX] = {0};
	int64_t dims[RANK_MAX];

	if (count < 0 || x->rank + count > RANK_MAX)
		return "no axes, or the rank is too large";
	for (int i = 0; i < count; i++) {
		if (!rule_axis(axes[i], x->rank + count, &axis) || added[axis])
			return "an axis is outside the rank or given twice";
		added[axis] = true;
	}
	for (int i = 0; i < x->rank + count; i++)
		dims[i] = added[i] ? 1 : x->dims[from++];
	return view_checked(e, x->rank + count, dims);
}

/* ---- strided copies ---- */

const char *eval_transpose(struct eval *e)
{
	const struct tensor *x = e->in[0];
	int count;
	const int64_t *perm = attr_ints(e->n, "perm", &count);
	int64_t dims[RANK_MAX], from[RANK_MAX], stride[RANK_MAX];
	const char *why = no_strings(e, x);

	if (why || (perm && count != x->rank))
		return why ? why : "perm does not fit the rank";
	strides_of(x, from);
	for (int i = 0; i < x->rank; i++) {
		int a = perm ? (int)perm[i] : x->rank - 1 - i;
		if (a < 0 || a >= x->rank)
			return "perm is not a permutation";
		dims[i] = x->dims[a];
		stride[i] = from[a];
	}
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, dims);
	copy_strided(tensor_bytes(y), x->data, dtype_size(x->dtype), x->rank, dims, stride);
	return NULL;
}

const char *eval_slice(struct eval *e)
{
	const struct tensor *x = e->in[0];
	const int64_t *starts, *ends, *axes = NULL, *steps = NULL;
	int n = eval_ints(e, 1, &starts), axis;
	int64_t dims[RANK_MAX], stride[RANK_MAX], off = 0;
	bool seen[RANK_MAX] = {0};
	const char *why = no_strings(e, x);
	int na = eval_ints(e, 3, &axes), ns = eval_ints(e, 4, &steps);

	if (why)
		return why;
	if (eval_ints(e, 2, &ends) != n || (na >= 0 && na != n) || (ns >= 0 && ns != n) || n > x->rank)
		return "starts, ends, axes and steps are not equally many";
	strides_of(x, stride);
	memcpy(dims, x->dims, sizeof *dims * (size_t)x->rank);
	for (int i = 0; i < n; i++) {
		int64_t start = starts[i], step = ns >= 0 ? steps[i] : 1;
		if (!rule_axis(na >= 0 ? axes[i] : i, x->rank, &axis) || !step || seen[axis])
			return "an axis is outside the rank or given twice, or a step is 0";
		seen[axis] = true;
		dims[axis] = slice_clip(x->dims[axis], &start, ends[i], step);
		off += dims[axis] ? start * stride[axis] : 0;
		stride[axis] = dims[axis] > 1 ? stride[axis] * step : 0;
	}
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, dims);
	copy_strided(tensor_bytes(y), (const char *)x->data + off * (int64_t)dtype_size(x->dtype), dtype_size(x->dtype), x->rank, dims,
		     stride);
	return NULL;
}

const char *eval_expand(struct eval *e)
{
	const struct tensor *x = e->in[0];
	const int64_t *shape;
	int n = eval_ints(e, 1, &shape);
	struct bcast b;
	int64_t from[RANK_MAX], stride[RANK_MAX];
	const char *why = no_strings(e, x);

	if (why)
		return why;
	if (n < 0 || n > RANK_MAX)
		return "no shape, or its rank is too large";
	for (int i = 0; i < n; i++)
		if (shape[i] < 0)
			return eval_why(e, "an extent of %lld", (long long)shape[i]);
	if ((why = bcast_init(&b, 2, (int[]){x->rank, n}, (const int64_t *const[]){x->dims, shape}, e->tmp)))
		return why;
	strides_of(x, from);
	for (int i = 0; i < b.out_rank; i++) {
		int at = i - (b.out_rank - x->rank);
		stride[i] = at < 0 || x->dims[at] == 1 ? 0 : from[at];
	}
	struct tensor *y = eval_out(e, 0, x->dtype, b.out_rank, b.out_dims);
	copy_strided(tensor_bytes(y), x->data, dtype_size(x->dtype), b.out_rank, b.out_dims, stride);
	return NULL;
}

const char *eval_tile(struct eval *e)
{
	const struct tensor *x = e->in[0];
	const int64_t *rep;
	int64_t from[RANK_MAX], dims[RANK_MAX], d2[2 * RANK_MAX], s2[2 * RANK_MAX];
	const char *why = no_strings(e, x);

	if (why)
		return why;
	if (eval_ints(e, 1, &rep) != x->rank)
		return "repeats do not fit the rank";
	strides_of(x, from);
	for (int i = 0; i < x->rank; i++) {
		if (rep[i] < 0)
			return "a repeat is negative";
		if (__builtin_mul_overflow(x->dims[i], rep[i], &dims[i]))
			return "a result of more elements than can be";
		d2[2 * i] = rep[i];
		s2[2 * i] = 0;
		d2[2 * i + 1] = x->dims[i];
		s2[2 * i + 1] = from[i];
	}
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, dims);
	copy_strided(tensor_bytes(y), x->data, dtype_size(x->dtype), 2 * x->rank, d2, s2);
	return NULL;
}

/* Both ways an image is a tensor of six axes, three of them transposed. */
const char *eval_depth_to_space(struct eval *e)
{
	const struct tensor *x = e->in[0];
	int64_t b = attr_i(e->n, "blocksize");
	bool crd = !strcmp(attr_s(e->n, "mode"), "CRD");

	if (x->rank != 4 || b < 1 || b > BLOCKSIZE_MAX || x->dims[1] % (b * b))
		return "channels do not divide by blocksize squared";
	int64_t N = x->dims[0], C = x->dims[1] / (b * b), H = x->dims[2], W = x->dims[3], p = H * W;
	struct tensor *y = eval_out(e, 0, x->dtype, 4, (int64_t[]){N, C, H * b, W * b});
	int64_t sc = crd ? b * b * p : p, s1 = crd ? b * p : C * b * p, s2 = crd ? p : C * p;
	copy_strided(tensor_bytes(y), x->data, dtype_size(x->dtype), 6, (int64_t[]){N, C, H, b, W, b},
		     (int64_t[]){C * b * b * p, sc, W, s1, 1, s2});
	return NULL;
}

const char *eval_space_to_depth(struct eval *e)
{
	const struct tensor *x = e->in[0];
	int64_t b = attr_i(e->n, "blocksize");
	bool crd = !strcmp(attr_s(e->n, "mode"), "CRD");

	if (x->rank != 4 || b < 1 || b > BLOCKSIZE_MAX || x->dims[2] % b || x->dims[3] % b)
		return "the image does not divide by blocksize";
	int64_t N = x->dims[0], C = x->dims[1], H = x->dims[2] / b, W = x->dims[3] / b, row = W * b;
	struct tensor *y = eval_out(e, 0, x->dtype, 4, (int64_t[]){N, C * b * b, H, W});
	if (crd)
		copy_strided(tensor_bytes(y), x->data, dtype_size(x->dtype), 6, (int64_t[]){N, C, b, b, H, W},
			     (int64_t[]){C * H * b * row, H * b * row, row, 1, b * row, b});
	else
		copy_strided(tensor_bytes(y), x->data, dtype_size(x->dtype), 6, (int64_t[]){N, b, b, C, H, W},
			     (int64_t[]){C * H * b * row, row, 1, H * b * row, b * row, b});
	return NULL;
}

/* ---- Concat, Split ---- */

const char *eval_concat(struct eval *e)
{
	const struct tensor *x = e->in[0];
	int64_t dims[RANK_MAX], done = 0;
	size_t size = dtype_size(x->dtype);
	int axis;
	const char *why = no_strings(e, x);

	if (why)
		return why;
	if (!rule_axis(attr_i(e->n, "axis"), x->rank, &axis))
		return "axis outside the rank";
	memcpy(dims, x->dims, sizeof *dims * (size_t)x->rank);
	dims[axis] = 0;
	for (uint32_t i = 0; i < e->n->nin; i++) {
		const struct tensor *t = e->in[i];
		for (int k = 0; t->rank == x->rank && k < x->rank; k++)
			if (k != axis && t->dims[k] != x->dims[k])
				return eval_why(e, "operand %u has another extent at axis %d", i, k);
		if (t->rank != x->rank || t->dtype != x->dtype)
			return eval_why(e, "operand %u has another rank or type", i);
		dims[axis] += t->dims[axis];
	}
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, dims);
	struct axes3 s = split_at(y, axis);
	for (uint32_t i = 0; i < e->n->nin; i++) {
		size_t run = (size_t)(e->in[i]->dims[axis] * s.inner) * size;
		for (int64_t o = 0; o < s.outer; o++)
			memcpy(tensor_bytes(y) + (size_t)(o * s.n * s.inner + done) * size, tensor_bytes(e->in[i]) + (size_t)o * run, run);
		done += e->in[i]->dims[axis] * s.inner;
	}
	return NULL;
}

const char *eval_split(struct eval *e)
{
	const struct tensor *x = e->in[0];
	const int64_t *sizes = NULL;
	int count = eval_ints(e, 1, &sizes), axis;
	int64_t dims[RANK_MAX], done = 0;
	size_t size = dtype_size(x->dtype);
	const char *why = no_strings(e, x);

	if (why)
		return why;
	if (!rule_axis(attr_i(e->n, "axis"), x->rank, &axis) || (count >= 0 && count != (int)e->n->nout))
		return "axis outside the rank, or sizes do not fit the results";
	memcpy(dims, x->dims, sizeof *dims * (size_t)x->rank);
	struct axes3 s = split_at(x, axis);
	for (uint32_t i = 0; i < e->n->nout; i++) {
		dims[axis] = count >= 0 ? sizes[i] : split_chunk(s.n, e->n->nout, i);
		if (dims[axis] < 0 || done + dims[axis] > s.n)
			return "the sizes do not add up to the extent";
		struct tensor *y = eval_out(e, (int)i, x->dtype, x->rank, dims);
		size_t run = (size_t)(dims[axis] * s.inner) * size;
		for (int64_t o = 0; o < s.outer; o++)
			memcpy(tensor_bytes(y) + (size_t)o * run, tensor_bytes(e->in[0]) + (size_t)((o * s.n + done) * s.inner) * size,
			       run);
		done += dims[axis];
	}
	return done == s.n ? NULL : "the sizes do not add up to the extent";
}

/* ---- Pad: a table per axis says where each index comes from ---- */

/* Index in the operand for index i of the result, along an axis of extent n padded by b at its begin; -1: the fill value. */
static int64_t pad_source(char mode, int64_t i, int64_t b, int64_t n)
{
	int64_t at = i - b;

	if (at >= 0 && at < n)
		return at;
	switch (mode) {
	case 'e': return at < 0 ? 0 : n - 1;
	case 'w': return n ? ((at % n) + n) % n : -1;
	case 'r': {
		int64_t period = n > 1 ? 2 * (n - 1) : 1;
		at = ((at % period) + period) % period;
		return at < n ? at : period - at;
	}
	default: return -1;
	}
}

const char *eval_pad(struct eval *e)
{
	const struct tensor *x = e->in[0], *fill = eval_in(e, 2);
	const int64_t *pads, *axes = NULL;
	int np = eval_ints(e, 1, &pads), na = eval_ints(e, 3, &axes), axis, rank = x->rank;
	int64_t begin[RANK_MAX] = {0}, dims[RANK_MAX], from[RANK_MAX], at[RANK_MAX] = {0}, *table[RANK_MAX];
	char mode = *attr_s(e->n, "mode"), zero[16] = {0};
	bool seen[RANK_MAX] = {0};
	size_t size = dtype_size(x->dtype);
	const char *why = no_strings(e, x);

	if (why)
		return why;
	na = na < 0 ? rank : na;
	if (np != 2 * na)
		return "pads do not fit the axes";
	memcpy(dims, x->dims, sizeof *dims * (size_t)rank);
	for (int i = 0; i < na; i++) {
		if (!rule_axis(axes ? axes[i] : i, rank, &axis) || seen[axis])
			return "an axis is outside the rank or given twice";
		seen[axis] = true;
		begin[axis] = pads[i];
		if (__builtin_add_overflow(dims[axis], pads[i], &dims[axis]) ||
		    __builtin_add_overflow(dims[axis], pads[na + i], &dims[axis]) || dims[axis] < 0 ||
		    (dims[axis] && !x->dims[axis] && mode != 'c'))
			return "pads leave a negative extent, or there is nothing to repeat";
	}
	struct tensor *y = eval_out(e, 0, x->dtype, rank, dims);
	if (!tensor_count(y))
		return NULL;
	strides_of(x, from);
	for (int k = 0; k < rank; k++) {
		table[k] = eval_scratch(e, sizeof(int64_t) * (size_t)dims[k]);
		for (int64_t i = 0; i < dims[k]; i++)
			table[k][i] = pad_source(mode, i, begin[k], x->dims[k]);
	}
	const char *f = fill ? fill->data : zero;
	char *o = tensor_bytes(y);
	for (int64_t i = 0, n = tensor_count(y); i < n; i++, o += size) {
		int64_t off = 0;
		for (int k = 0; off >= 0 && k < rank; k++)
			off = table[k][at[k]] < 0 ? -1 : off + table[k][at[k]] * from[k];
		memcpy(o, off < 0 ? f : (const char *)x->data + (size_t)off * size, size);
		for (int k = rank - 1; k >= 0 && ++at[k] == dims[k]; k--)
			at[k] = 0;
	}
	return NULL;
}

/* ---- Trilu, ReverseSequence ---- */

const char *eval_trilu(struct eval *e)
{
	const struct tensor *x = e->in[0];
	bool upper = attr_i(e->n, "upper");
	int64_t k = eval_int(e, 1, 0);
	size_t size = dtype_size(x->dtype);

	if (x->rank < 2 || !size)
		return "takes matrices of numbers";
	int64_t R = x->dims[x->rank - 2], C = x->dims[x->rank - 1], n = tensor_count(x);
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, x->dims);
	for (int64_t i = 0; i < n; i++) {
		int64_t r = i / C % R, c = i % C;
		if (upper ? c - r >= k : c - r <= k)
			memcpy(tensor_bytes(y) + (size_t)i * size, (const char *)x->data + (size_t)i * size, size);
	}
	return NULL;
}

const char *eval_reverse_sequence(struct eval *e)
{
	const struct tensor *x = e->in[0];
	int64_t b = attr_i(e->n, "batch_axis"), t = attr_i(e->n, "time_axis");
	const int64_t *len;
	size_t size = dtype_size(x->dtype);

	if (x->rank < 2 || b < 0 || b > 1 || t != 1 - b || !size || eval_ints(e, 1, &len) != x->dims[b])
		return "axes or lengths do not fit";
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, x->dims);
	int64_t inner = 1;
	for (int i = 2; i < x->rank; i++)
		inner *= x->dims[i];
	size_t run = (size_t)inner * size;
	for (int64_t i = 0; i < x->dims[0]; i++)
		for (int64_t j = 0; j < x->dims[1]; j++) {
			int64_t batch = b ? j : i, time = b ? i : j, n = len[batch];
			int64_t src = time < n ? n - 1 - time : time, si = b ? src : i, sj = b ? j : src;
			if (n < 0 || n > x->dims[t])
				return "a length is outside the time axis";
			memcpy(tensor_bytes(y) + (size_t)(i * x->dims[1] + j) * run,
			       (const char *)x->data + (size_t)(si * x->dims[1] + sj) * run, run);
		}
	return NULL;
}
