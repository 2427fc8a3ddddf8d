/* Activation functions of RNN, GRU and LSTM, by the names that ONNX gives them. */
#ifndef HONE_NATIVE_RECURRENT_FUNCTIONS_H
#define HONE_NATIVE_RECURRENT_FUNCTIONS_H

enum recurrent_kind {
	RECURRENT_KIND_NONE,
	RECURRENT_KIND_RELU,
	RECURRENT_KIND_TANH,
	RECURRENT_KIND_SIGMOID,
	RECURRENT_KIND_AFFINE,
	RECURRENT_KIND_LEAKY,
	RECURRENT_KIND_THRESHOLDED,
	RECURRENT_KIND_SCALED_TANH,
	RECURRENT_KIND_HARD_SIGMOID,
	RECURRENT_KIND_ELU,
	RECURRENT_KIND_SOFTSIGN,
	RECURRENT_KIND_SOFTPLUS,
};

enum { RECURRENT_FUNCTIONS_MAX = 6 };

struct recurrent_function {
	const char *name;
	enum recurrent_kind kind;
	bool takes_alpha, takes_beta; /* lists of values have some only for functions that take them */
	double alpha, beta;           /* defaults */
};

static const struct recurrent_function recurrent_functions[] = {
	{"Relu", RECURRENT_KIND_RELU},
	{"Tanh", RECURRENT_KIND_TANH},
	{"Sigmoid", RECURRENT_KIND_SIGMOID},
	{"Affine", RECURRENT_KIND_AFFINE, true, true, 1, 0},
	{"LeakyRelu", RECURRENT_KIND_LEAKY, true, false, 0.01f, 0},
	{"ThresholdedRelu", RECURRENT_KIND_THRESHOLDED, true, false, 1, 0},
	{"ScaledTanh", RECURRENT_KIND_SCALED_TANH, true, true, 1, 1},
	{"HardSigmoid", RECURRENT_KIND_HARD_SIGMOID, true, true, 0.2f, 0.5},
	{"Elu", RECURRENT_KIND_ELU, true, false, 1, 0},
	{"Softsign", RECURRENT_KIND_SOFTSIGN, false, false, 0, 0},
	{"Softplus", RECURRENT_KIND_SOFTPLUS, false, false, 0, 0},
};

/* NULL: there is none of this name; capitals do not count. */
static inline const struct recurrent_function *recurrent_function_find(const char *name)
{
	for (size_t i = 0; i < sizeof recurrent_functions / sizeof *recurrent_functions; i++) {
		const char *a = recurrent_functions[i].name, *b = name;
		while (*a && (*a | 32) == (*b | 32))
			a++, b++;
		if (!*a && !*b)
			return &recurrent_functions[i];
	}
	return NULL;
}
#endif
