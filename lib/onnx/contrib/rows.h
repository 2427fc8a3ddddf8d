/* The operators of com.microsoft by kind. A row says how its node becomes ONNX's operators. */
#ifndef HONE_CONTRIB_ROWS_H
#define HONE_CONTRIB_ROWS_H
#include "onnx/contrib.h"

struct contrib_row {
	const char *name;
	uint32_t needed;                   /* operands that must be given, from the first on */
	bool (*expand)(struct contrib *x); /* false: not in a form that ONNX has words for; nothing was made */
};

/* Each ends with a row without a name. */
extern const struct contrib_row contrib_activations[], contrib_attentions[], contrib_blocks[], contrib_convs[], contrib_experts[],
	contrib_norms[], contrib_others[], contrib_products[], contrib_quantised[], contrib_recurrent[];

/* activations.c: v after the activation that attribute `activation` names, if there is one; its numbers are in attributes "activation_alpha",
 * "activation_beta", "activation_gamma", or one after the other in "activation_params". import_die: there is no such activation. */
val_id contrib_activated(struct contrib *x, val_id v);
/* Can contrib_activated read it? */
bool contrib_activation_known(struct contrib *x);

/* heads.c: what operators of attention share. Values of four axes are [batch, heads, rows, numbers]. */
val_id contrib_heads(struct contrib *x, val_id v, int64_t heads); /* [batch, rows, heads * numbers] to four axes */
val_id contrib_flat(struct contrib *x, val_id v);                 /* and back */
val_id contrib_arange(struct contrib *x, val_id n, enum dtype t); /* 0, 1, ... n - 1; n: i64[1] */
/* first[b] + 0, 1, ... rows - 1: i64 [batch, rows]. first: i64 [batch] or [1]; batch, rows: i64[1]. */
val_id contrib_positions(struct contrib *x, val_id first, val_id batch, val_id rows);
/* v of four axes, turned by the tables cos and sin at positions [batch, rows]. */
val_id contrib_rotary(struct contrib *x, val_id v, val_id cos, val_id sin, val_id positions, bool interleaved);

struct contrib_attention {
	enum dtype type;         /* of q */
	val_id q, k, v;          /* four axes; more heads of q than of k and v are in groups */
	val_id scale_k, scale_v; /* of k and v that are codes; 0: they are numbers */
	val_id past_k, past_v;   /* 0: none */
	val_id bias;             /* added to scores; 0: none */
	val_id padding;          /* a mask that contrib_padding_known knows, i32; 0: none */
	double hidden;           /* what is added to scores of padding */
	val_id valid;            /* i64 [batch]: rows of k and v in use; 0: all */
	bool causal;
	int64_t window; /* keys that a query sees, up to its own; 0: all */
	double softcap; /* 0: none */
	int scores;     /* what result 3 is, as ONNX's qk_matmul_output_mode has it; 0: it is not wanted */
};
/* n_bits.c: MatMulNBits; grouped.c: GroupQueryAttention. */
bool contrib_matmul_n_bits(struct contrib *x);
bool contrib_grouped_query(struct contrib *x);
/* Of three or two axes, which are 1 where a key is seen; or of one, the ends of sentences, or ends and then starts. */
bool contrib_padding_known(struct contrib *x, val_id mask);
/* What attention gives, keys and values with the past, and scores; the scale is attribute `scale` of the node. */
const val_id *contrib_attend(struct contrib *x, const struct contrib_attention *a);

#endif
