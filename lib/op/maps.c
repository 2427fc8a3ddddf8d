/* Maps: ZipMap of ai.onnx.ml, which makes one of each row of scores. */
#include "graph/kinds.h"
#include "op/strings.h"

const struct attr *zip_keys(const struct node *n)
{
	const struct attr *numbers = attr_find(n, "classlabels_int64s"), *words = attr_find(n, "classlabels_strings");
	bool is_numbers = numbers && numbers->kind == ATTR_INTS && numbers->n, is_words = words && words->kind == ATTR_STRS && words->n;

	if (n->op != OP_ZipMap || is_numbers == is_words)
		return NULL;
	return is_numbers ? numbers : words;
}

static const char *shape_zip(struct infer *I)
{
	const struct attr *keys = zip_keys(I->n);
	const struct type *x = &I->in[0];
	struct type map = type_none();
	int64_t n;

	if (!keys)
		return "keys are either 'classlabels_int64s' or 'classlabels_strings'";
	if (x->rank != RANK_UNKNOWN && x->rank != 1 && x->rank != 2)
		return rule_why(I, "scores of rank %d, takes 1 or 2", x->rank);
	if (x->rank > 0 && poly_is_const(rule_polys(I), x->dims[x->rank - 1], &n) && n != keys->n)
		return rule_why(I, "%lld scores a row for %u keys", (long long)n, keys->n);
	map.other = intern(keys->kind == ATTR_INTS ? "map(int64,tensor(float))" : "map(string,tensor(float))");
	I->out[0] = type_sequence(&map);
	return NULL;
}

static struct tensor *keys_tensor(struct eval *e, const struct attr *keys)
{
	int64_t n = keys->n;
	struct text *word;
	struct tensor *t;

	if (keys->kind == ATTR_INTS) {
		t = tensor_new(e->tmp, DT_I64, 1, &n);
		memcpy((void *)t->data, keys->u.ints, t->nbytes);
		return t;
	}
	word = eval_scratch(e, sizeof *word * (size_t)(n + 1));
	for (int64_t i = 0; i < n; i++)
		word[i] = (struct text){sym_str(keys->u.strs[i]), sym_len(keys->u.strs[i])};
	return texts_tensor(e->tmp, 1, &n, word);
}

static const char *eval_zip(struct eval *e)
{
	const struct attr *keys = zip_keys(e->n);
	const struct tensor *x = e->in[0];
	int64_t rows = x->rank == 2 ? x->dims[0] : 1, n = keys ? (int64_t)keys->n : -1;

	if (x->dtype != DT_F32)
		return "scores are f32";
	if ((x->rank != 1 && x->rank != 2) || x->dims[x->rank - 1] != n)
		return eval_why(e, "%lld scores a row for %lld keys", x->rank ? (long long)x->dims[x->rank - 1] : 0, (long long)n);
	struct tensor **row = eval_scratch(e, sizeof *row * (size_t)(rows + 1)), *pair[2] = {keys_tensor(e, keys)};
	for (int64_t i = 0; i < rows; i++) {
		pair[1] = tensor_new(e->tmp, DT_F32, 1, &n);
		memcpy((void *)pair[1]->data, (const float *)x->data + i * n, pair[1]->nbytes);
		row[i] = tensor_wrap(e->tmp, KIND_MAP, DT_F32, 2, pair);
	}
	eval_give(e, 0, tensor_wrap(e->tmp, KIND_SEQUENCE, DT_F32, (size_t)rows, row));
	return NULL;
}

const struct op ops_maps[] = {
	{OP_ZipMap, shape_zip, eval_zip},
	{0},
};
