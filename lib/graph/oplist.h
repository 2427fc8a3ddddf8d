/* The operator list: ONNX's operators at the canonical opset, then hone's own. One line each:
 *
 *   X(name, inputs at least, at most, outputs at least, at most, traits, attributes)
 *
 * -1: any number. Attributes are "name:kind" or "name:kind=default", sorted; kind i int, f float, s string,
 * I ints, F floats, S strings, t tensor, g graph, G graphs, y type; ! marks a required one. A default of one
 * number stands for a list of it, as long as is wanted. Defaults stand nowhere else: attr_i, attr_f and attr_s ask here.
 * accuracy_level of DequantizeLinear is hone's own: 4 lets rows that are multiplied with these weights be rounded to bytes (ge-integer).
 * Bodies are closed: an operator with bodies has in `captures` how many of its last operands are values of
 * its graph that the bodies use; they are the last inputs of each body, in the same order. */
#ifndef HONE_OPLIST_H
#define HONE_OPLIST_H

enum { CANONICAL_OPSET = 28 };

/* clang-format off: an operator is a line */
#define ONNX_OPS(X) \
	X(Abs, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Acos, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Acosh, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Add, 2, 2, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(AffineGrid, 2, 2, 1, 1, PURE, "align_corners:i=0") \
	X(And, 2, 2, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(ArgMax, 1, 1, 1, 1, PURE | REDUCTION | ANCHOR, "axis:i=0 keepdims:i=1 select_last_index:i=0") \
	X(ArgMin, 1, 1, 1, 1, PURE | REDUCTION | ANCHOR, "axis:i=0 keepdims:i=1 select_last_index:i=0") \
	X(Asin, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Asinh, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Atan, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Atanh, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Attention, 3, 9, 1, 4, PURE, \
	  "is_causal:i=0 kv_num_heads:i left_window_size:i=-1 q_num_heads:i " \
	  "qk_matmul_output_mode:i=0 right_window_size:i=-1 scale:f softcap:f=0 softmax_precision:i") \
	X(AveragePool, 1, 1, 1, 1, PURE | ANCHOR | WINDOW, \
	  "auto_pad:s=NOTSET ceil_mode:i=0 count_include_pad:i=0 dilations:I=1 !kernel_shape:I pads:I=0 strides:I=1") \
	X(BatchNormalization, 5, 5, 1, 3, PURE | ANY_LAYOUT | CHANNELWISE, "epsilon:f=1e-5 momentum:f=0.9 training_mode:i=0") \
	X(Bernoulli, 1, 1, 1, 1, RANDOM, "dtype:i seed:f") \
	X(BitCast, 1, 1, 1, 1, PURE | ELEMENTWISE, "!to:i") \
	X(BitShift, 2, 2, 1, 1, PURE | ELEMENTWISE, "!direction:s") \
	X(BitwiseAnd, 2, 2, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(BitwiseNot, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(BitwiseOr, 2, 2, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(BitwiseXor, 2, 2, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(BlackmanWindow, 1, 1, 1, 1, PURE, "output_datatype:i=1 periodic:i=1") \
	X(Cast, 1, 1, 1, 1, PURE | ELEMENTWISE, "round_mode:s=up saturate:i=1 !to:i") \
	X(CastLike, 2, 2, 1, 1, PURE | ELEMENTWISE, "round_mode:s=up saturate:i=1") \
	X(CausalConvWithState, 2, 4, 2, 2, PURE, "activation:s=none") \
	X(Ceil, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Celu, 1, 1, 1, 1, PURE | ELEMENTWISE, "alpha:f=1") \
	X(CenterCropPad, 2, 2, 1, 1, PURE, "axes:I") \
	X(Clip, 1, 3, 1, 1, PURE | ELEMENTWISE, "") \
	X(Col2Im, 3, 3, 1, 1, PURE, "dilations:I=1 pads:I=0 strides:I=1") \
	X(Compress, 2, 2, 1, 1, PURE | MOVE, "axis:i") \
	X(Concat, 1, -1, 1, 1, PURE | MOVE | ANCHOR | ANY_LAYOUT, "!axis:i") \
	X(ConcatFromSequence, 1, 1, 1, 1, PURE, "!axis:i new_axis:i=0") \
	X(Constant, 0, 0, 1, 1, PURE, \
	  "sparse_value:t value:t value_float:f value_floats:F value_int:i value_ints:I value_string:s value_strings:S") \
	X(ConstantOfShape, 1, 1, 1, 1, PURE, "value:t") \
	X(Conv, 2, 3, 1, 1, PURE | ANCHOR | WINDOW, "auto_pad:s=NOTSET dilations:I=1 group:i=1 kernel_shape:I pads:I=0 strides:I=1") \
	X(ConvInteger, 2, 4, 1, 1, PURE | ANCHOR | WINDOW, \
	  "auto_pad:s=NOTSET dilations:I=1 group:i=1 kernel_shape:I pads:I=0 strides:I=1") \
	X(ConvTranspose, 2, 3, 1, 1, PURE | ANCHOR | WINDOW, \
	  "auto_pad:s=NOTSET dilations:I=1 group:i=1 kernel_shape:I output_padding:I=0 output_shape:I pads:I=0 strides:I=1") \
	X(Cos, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Cosh, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(CumProd, 2, 2, 1, 1, PURE, "exclusive:i=0 reverse:i=0") \
	X(CumSum, 2, 2, 1, 1, PURE, "exclusive:i=0 reverse:i=0") \
	X(DFT, 1, 3, 1, 1, PURE, "inverse:i=0 onesided:i=0") \
	X(DeformConv, 3, 5, 1, 1, PURE | ANCHOR | WINDOW, "dilations:I=1 group:i=1 kernel_shape:I offset_group:i=1 pads:I=0 strides:I=1") \
	X(DepthToSpace, 1, 1, 1, 1, PURE | MOVE | ANY_LAYOUT, "!blocksize:i mode:s=DCR") \
	X(DequantizeLinear, 2, 3, 1, 1, PURE | ELEMENTWISE | UNPACK, "accuracy_level:i axis:i=1 block_size:i=0 output_dtype:i=0") \
	X(Det, 1, 1, 1, 1, PURE, "") \
	X(Div, 2, 2, 1, 1, PURE | ELEMENTWISE, "") \
	X(Dropout, 1, 3, 1, 2, RANDOM, "seed:i") \
	X(DynamicQuantizeLinear, 1, 1, 3, 3, PURE, "") \
	X(Einsum, 1, -1, 1, 1, PURE | ANCHOR, "!equation:s") \
	X(Elu, 1, 1, 1, 1, PURE | ELEMENTWISE, "alpha:f=1") \
	X(Equal, 2, 2, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(Erf, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Exp, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Expand, 2, 2, 1, 1, PURE | MOVE, "") \
	X(EyeLike, 1, 1, 1, 1, PURE, "dtype:i k:i=0") \
	X(Flatten, 1, 1, 1, 1, PURE | MOVE | VIEW, "axis:i=1") \
	X(Floor, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(GRU, 3, 6, 0, 2, PURE | RECURRENT, \
	  "activation_alpha:F activation_beta:F activations:S clip:f direction:s=forward hidden_size:i layout:i=0 linear_before_reset:i=0") \
	X(Gather, 2, 2, 1, 1, PURE | MOVE, "axis:i=0") \
	X(GatherElements, 2, 2, 1, 1, PURE | MOVE, "axis:i=0") \
	X(GatherND, 2, 2, 1, 1, PURE | MOVE, "batch_dims:i=0") \
	X(Gelu, 1, 1, 1, 1, PURE | ELEMENTWISE, "approximate:s=none") \
	X(Gemm, 2, 3, 1, 1, PURE | ANCHOR, "alpha:f=1 beta:f=1 transA:i=0 transB:i=0") \
	X(GlobalAveragePool, 1, 1, 1, 1, PURE | ANCHOR | ANY_LAYOUT, "") \
	X(GlobalLpPool, 1, 1, 1, 1, PURE | ANCHOR | ANY_LAYOUT, "p:i=2") \
	X(GlobalMaxPool, 1, 1, 1, 1, PURE | ANCHOR | ANY_LAYOUT, "") \
	X(Greater, 2, 2, 1, 1, PURE | ELEMENTWISE, "") \
	X(GreaterOrEqual, 2, 2, 1, 1, PURE | ELEMENTWISE, "") \
	X(GridSample, 2, 2, 1, 1, PURE, "align_corners:i=0 mode:s=linear padding_mode:s=zeros") \
	X(GroupNormalization, 3, 3, 1, 1, PURE | ANCHOR | ANY_LAYOUT, "epsilon:f=1e-5 !num_groups:i stash_type:i=1") \
	X(HammingWindow, 1, 1, 1, 1, PURE, "output_datatype:i=1 periodic:i=1") \
	X(HannWindow, 1, 1, 1, 1, PURE, "output_datatype:i=1 periodic:i=1") \
	X(HardSigmoid, 1, 1, 1, 1, PURE | ELEMENTWISE, "alpha:f=0.2 beta:f=0.5") \
	X(HardSwish, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Hardmax, 1, 1, 1, 1, PURE, "axis:i=-1") \
	X(Identity, 1, 1, 1, 1, PURE | ELEMENTWISE | VIEW, "") \
	X(If, 1, -1, 1, -1, PURE | CONTROL, "captures:i=0 !else_branch:g !then_branch:g") \
	X(ImageDecoder, 1, 1, 1, 1, PURE, "pixel_format:s=RGB") \
	X(InstanceNormalization, 3, 3, 1, 1, PURE | ANCHOR | ANY_LAYOUT, "epsilon:f=1e-5") \
	X(IsInf, 1, 1, 1, 1, PURE | ELEMENTWISE, "detect_negative:i=1 detect_positive:i=1") \
	X(IsNaN, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(LRN, 1, 1, 1, 1, PURE | ANCHOR | ANY_LAYOUT, "alpha:f=0.0001 beta:f=0.75 bias:f=1 !size:i") \
	X(LSTM, 3, 8, 0, 3, PURE | RECURRENT, \
	  "activation_alpha:F activation_beta:F activations:S clip:f direction:s=forward hidden_size:i input_forget:i=0 layout:i=0") \
	X(LayerNormalization, 2, 3, 1, 3, PURE | ANCHOR, "axis:i=-1 epsilon:f=1e-5 stash_type:i=1") \
	X(LeakyRelu, 1, 1, 1, 1, PURE | ELEMENTWISE, "alpha:f=0.01") \
	X(Less, 2, 2, 1, 1, PURE | ELEMENTWISE, "") \
	X(LessOrEqual, 2, 2, 1, 1, PURE | ELEMENTWISE, "") \
	X(LinearAttention, 3, 6, 2, 2, PURE, "chunk_size:i=64 !kv_num_heads:i !q_num_heads:i scale:f=0 update_rule:s=gated_delta") \
	X(Log, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(LogSoftmax, 1, 1, 1, 1, PURE | ANCHOR, "axis:i=-1") \
	X(Loop, 0, -1, 1, -1, PURE | CONTROL, "!body:g captures:i=0") \
	X(LpNormalization, 1, 1, 1, 1, PURE | ANCHOR, "axis:i=-1 p:i=2") \
	X(LpPool, 1, 1, 1, 1, PURE | ANCHOR | WINDOW, \
	  "auto_pad:s=NOTSET ceil_mode:i=0 dilations:I=1 !kernel_shape:I p:i=2 pads:I=0 strides:I=1") \
	X(MatMul, 2, 2, 1, 1, PURE | ANCHOR, "") \
	X(MatMulInteger, 2, 4, 1, 1, PURE | ANCHOR, "") \
	X(Max, 1, -1, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(MaxPool, 1, 1, 1, 2, PURE | ANCHOR | WINDOW, \
	  "auto_pad:s=NOTSET ceil_mode:i=0 dilations:I=1 !kernel_shape:I pads:I=0 storage_order:i=0 strides:I=1") \
	X(MaxRoiPool, 2, 2, 1, 1, PURE, "!pooled_shape:I spatial_scale:f=1") \
	X(MaxUnpool, 2, 3, 1, 1, PURE, "!kernel_shape:I pads:I=0 strides:I=1") \
	X(Mean, 1, -1, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(MeanVarianceNormalization, 1, 1, 1, 1, PURE | ANCHOR, "axes:I=0,2,3") \
	X(MelWeightMatrix, 5, 5, 1, 1, PURE, "output_datatype:i=1") \
	X(Min, 1, -1, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(Mish, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Mod, 2, 2, 1, 1, PURE | ELEMENTWISE, "fmod:i=0") \
	X(Mul, 2, 2, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(Multinomial, 1, 1, 1, 1, RANDOM, "dtype:i=6 sample_size:i=1 seed:f") \
	X(Neg, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(NegativeLogLikelihoodLoss, 2, 3, 1, 1, PURE, "ignore_index:i reduction:s=mean") \
	X(NonMaxSuppression, 2, 5, 1, 1, PURE, "center_point_box:i=0") \
	X(NonZero, 1, 1, 1, 1, PURE, "") \
	X(Not, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(OneHot, 3, 3, 1, 1, PURE, "axis:i=-1") \
	X(Optional, 0, 1, 1, 1, PURE, "type:y") \
	X(OptionalGetElement, 1, 1, 1, 1, PURE, "") \
	X(OptionalHasElement, 0, 1, 1, 1, PURE, "") \
	X(Or, 2, 2, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(PRelu, 2, 2, 1, 1, PURE | ELEMENTWISE, "") \
	X(Pad, 2, 4, 1, 1, PURE | MOVE | ANY_LAYOUT, "mode:s=constant") \
	X(Pow, 2, 2, 1, 1, PURE | ELEMENTWISE, "") \
	X(QLinearConv, 8, 9, 1, 1, PURE | ANCHOR, "auto_pad:s=NOTSET dilations:I=1 group:i=1 kernel_shape:I pads:I=0 strides:I=1") \
	X(QLinearMatMul, 8, 8, 1, 1, PURE | ANCHOR, "") \
	X(QuantizeLinear, 2, 3, 1, 1, PURE | ELEMENTWISE, "axis:i=1 block_size:i=0 output_dtype:i=0 precision:i=0 saturate:i=1") \
	X(RMSNormalization, 2, 2, 1, 1, PURE | ANCHOR, "axis:i=-1 epsilon:f=1e-5 stash_type:i=1") \
	X(RNN, 3, 6, 0, 2, PURE | RECURRENT, \
	  "activation_alpha:F activation_beta:F activations:S clip:f direction:s=forward hidden_size:i layout:i=0") \
	X(RandomNormal, 0, 0, 1, 1, RANDOM, "dtype:i=1 mean:f=0 scale:f=1 seed:f !shape:I") \
	X(RandomNormalLike, 1, 1, 1, 1, RANDOM, "dtype:i mean:f=0 scale:f=1 seed:f") \
	X(RandomUniform, 0, 0, 1, 1, RANDOM, "dtype:i=1 high:f=1 low:f=0 seed:f !shape:I") \
	X(RandomUniformLike, 1, 1, 1, 1, RANDOM, "dtype:i high:f=1 low:f=0 seed:f") \
	X(Range, 3, 3, 1, 1, PURE, "stash_type:i=1") \
	X(Reciprocal, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(ReduceL1, 1, 2, 1, 1, PURE | REDUCTION | ANCHOR, "keepdims:i=1 noop_with_empty_axes:i=0") \
	X(ReduceL2, 1, 2, 1, 1, PURE | REDUCTION | ANCHOR, "keepdims:i=1 noop_with_empty_axes:i=0") \
	X(ReduceLogSum, 1, 2, 1, 1, PURE | REDUCTION | ANCHOR, "keepdims:i=1 noop_with_empty_axes:i=0") \
	X(ReduceLogSumExp, 1, 2, 1, 1, PURE | REDUCTION | ANCHOR, "keepdims:i=1 noop_with_empty_axes:i=0") \
	X(ReduceMax, 1, 2, 1, 1, PURE | REDUCTION | ANCHOR, "keepdims:i=1 noop_with_empty_axes:i=0") \
	X(ReduceMean, 1, 2, 1, 1, PURE | REDUCTION | ANCHOR, "keepdims:i=1 noop_with_empty_axes:i=0") \
	X(ReduceMin, 1, 2, 1, 1, PURE | REDUCTION | ANCHOR, "keepdims:i=1 noop_with_empty_axes:i=0") \
	X(ReduceProd, 1, 2, 1, 1, PURE | REDUCTION | ANCHOR, "keepdims:i=1 noop_with_empty_axes:i=0") \
	X(ReduceSum, 1, 2, 1, 1, PURE | REDUCTION | ANCHOR, "keepdims:i=1 noop_with_empty_axes:i=0") \
	X(ReduceSumSquare, 1, 2, 1, 1, PURE | REDUCTION | ANCHOR, "keepdims:i=1 noop_with_empty_axes:i=0") \
	X(RegexFullMatch, 1, 1, 1, 1, PURE, "pattern:s") \
	X(Relu, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Reshape, 2, 2, 1, 1, PURE | MOVE | VIEW, "allowzero:i=0") \
	X(Resize, 1, 4, 1, 1, PURE | ANY_LAYOUT, \
	  "antialias:i=0 axes:I coordinate_transformation_mode:s=half_pixel cubic_coeff_a:f=-0.75 exclude_outside:i=0 " \
	  "extrapolation_value:f=0 keep_aspect_ratio_policy:s=stretch mode:s=nearest nearest_mode:s=round_prefer_floor") \
	X(ReverseSequence, 2, 2, 1, 1, PURE | MOVE, "batch_axis:i=1 time_axis:i=0") \
	X(RoiAlign, 3, 3, 1, 1, PURE, \
	  "coordinate_transformation_mode:s=half_pixel mode:s=avg output_height:i=1 output_width:i=1 sampling_ratio:i=0 spatial_scale:f=1") \
	X(RotaryEmbedding, 3, 4, 1, 1, PURE, "interleaved:i=0 num_heads:i rotary_embedding_dim:i=0") \
	X(Round, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(STFT, 2, 4, 1, 1, PURE, "onesided:i=1") \
	X(Scan, 1, -1, 1, -1, PURE | CONTROL, \
	  "!body:g captures:i=0 !num_scan_inputs:i scan_input_axes:I scan_input_directions:I scan_output_axes:I scan_output_directions:I") \
	X(Scatter, 3, 3, 1, 1, PURE | MOVE | DEPRECATED, "axis:i=0") \
	X(ScatterElements, 3, 3, 1, 1, PURE | MOVE, "axis:i=0 reduction:s=none") \
	X(ScatterND, 3, 3, 1, 1, PURE | MOVE, "reduction:s=none") \
	X(Selu, 1, 1, 1, 1, PURE | ELEMENTWISE, "alpha:f=1.6732632 gamma:f=1.050701") \
	X(SequenceAt, 2, 2, 1, 1, PURE, "") \
	X(SequenceConstruct, 1, -1, 1, 1, PURE, "") \
	X(SequenceEmpty, 0, 0, 1, 1, PURE, "dtype:i") \
	X(SequenceErase, 1, 2, 1, 1, PURE, "") \
	X(SequenceInsert, 2, 3, 1, 1, PURE, "") \
	X(SequenceLength, 1, 1, 1, 1, PURE, "") \
	X(SequenceMap, 1, -1, 1, -1, PURE | CONTROL, "!body:g captures:i=0") \
	X(Shape, 1, 1, 1, 1, PURE | SHAPE_ONLY, "end:i start:i=0") \
	X(Shrink, 1, 1, 1, 1, PURE | ELEMENTWISE, "bias:f=0 lambd:f=0.5") \
	X(Sigmoid, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Sign, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Sin, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Sinh, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Size, 1, 1, 1, 1, PURE | SHAPE_ONLY, "") \
	X(Slice, 3, 5, 1, 1, PURE | MOVE | ANY_LAYOUT, "") \
	X(Softmax, 1, 1, 1, 1, PURE | ANCHOR, "axis:i=-1") \
	X(SoftmaxCrossEntropyLoss, 2, 3, 1, 2, PURE, "ignore_index:i reduction:s=mean") \
	X(Softplus, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Softsign, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(SpaceToDepth, 1, 1, 1, 1, PURE | MOVE | ANY_LAYOUT, "!blocksize:i mode:s=DCR") \
	X(Split, 1, 2, 1, -1, PURE | MOVE | ANY_LAYOUT, "axis:i=0 num_outputs:i") \
	X(SplitToSequence, 1, 2, 1, 1, PURE, "axis:i=0 keepdims:i=1") \
	X(Sqrt, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Squeeze, 1, 2, 1, 1, PURE | MOVE | VIEW, "") \
	X(StringConcat, 2, 2, 1, 1, PURE, "") \
	X(StringNormalizer, 1, 1, 1, 1, PURE, "case_change_action:s=NONE is_case_sensitive:i=0 locale:s stopwords:S") \
	X(StringSplit, 1, 1, 2, 2, PURE, "delimiter:s maxsplit:i") \
	X(Sub, 2, 2, 1, 1, PURE | ELEMENTWISE, "") \
	X(Sum, 1, -1, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(SwiGLU, 2, 2, 1, 1, PURE, "alpha:f=1") \
	X(Swish, 1, 1, 1, 1, PURE | ELEMENTWISE, "alpha:f=1") \
	X(Tan, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Tanh, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(TensorScatter, 2, 3, 1, 1, PURE, "axis:i=-2 mode:s=linear") \
	X(TfIdfVectorizer, 1, 1, 1, 1, PURE, \
	  "!max_gram_length:i !max_skip_count:i !min_gram_length:i !mode:s !ngram_counts:I !ngram_indexes:I pool_int64s:I pool_strings:S weights:F") \
	X(ThresholdedRelu, 1, 1, 1, 1, PURE | ELEMENTWISE, "alpha:f=1") \
	X(Tile, 2, 2, 1, 1, PURE | MOVE, "") \
	X(TopK, 2, 2, 2, 2, PURE, "axis:i=-1 largest:i=1 sorted:i=1") \
	X(Transpose, 1, 1, 1, 1, PURE | MOVE, "perm:I") \
	X(Trilu, 1, 2, 1, 1, PURE | MOVE, "upper:i=1") \
	X(Unique, 1, 1, 1, 4, PURE, "axis:i sorted:i=1") \
	X(Unsqueeze, 2, 2, 1, 1, PURE | MOVE | VIEW, "") \
	X(Upsample, 2, 2, 1, 1, PURE | DEPRECATED, "mode:s=nearest") \
	X(Where, 3, 3, 1, 1, PURE | ELEMENTWISE, "") \
	X(Xor, 2, 2, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "")

/* Fused and PartitionedCall: graph(x...). Case: branch number i of branches (out of range: the last)
 * applied to x. With `fit` and `cut`, an axis or -1 for each operand and each result, branches take and give tensors of known sizes:
 * an operand gets zeros behind it along its axis until it has the branch's size, and a result is cut along its axis to the size that the
 * operands had. MapIndex: the index of the row of `gears` that equals the operand, else an error; rows ascend. With `axes`, the sizes
 * looked for are those of axes of the operands instead (`of`: which operand, without: the first). up: the last size of the row may be
 * larger. open: the number of rows where there is none. names: of the sizes, for messages. counts: how often each row is expected.
 * Layout: the operand in another layout. Demand: its first operand; an error, which says why, unless all of the
 * second are true. Trees: scores [N, targets] of rows [N, F] by decision trees; lib/native/trees.c says how they are written.
 * Foreign: the operator `optype` of another domain, whole as the file has it; its own attributes are called attr:NAME; operands and results that are not
 * given leave gaps in the positions `operands` and `results`. graph(x...) is what it computes, in operators that are here. typed: the file says the
 * types of its results.
 * Inverse: of square matrices. DynamicQuantizeLSTM: LSTM whose products read the state as DynamicQuantizeLinear rounds it in each step, all sequences together. With
 * operand 8, R is of codes, and that is the scale of each direction, or of each row. Without W, X is what the input gives to the gates of all
 * directions, one direction after the other.
 * MurmurHash3: the hash of each element's bytes, a u32; with positive=0 its bits as an i32.
 * Tokenize: the matches of a regular expression in each string, of `least` characters and more, along a new last axis, filled up with `pad`; with
 * `mark` between a start and an end. Operands 1 and 2 are the classes and the states of its automaton (struct regex_table). separators: what lies
 * between the matches instead; each two further operands are an expression that cuts the pieces which those before it leave.
 * ZipMap: that of ai.onnx.ml.
 * Find: for each element of the first operand the position of its equal in the second, which is in ascending order, each element once; the number
 * of elements where there is none. NaN equals NaN, and is last.
 * Coupling: probabilities [N, classes] of those [N, classes * (classes - 1) / 2] that the first of a pair i < j is right if one of both is. */
#define HONE_OPS(X) \
	X(Fused, 0, -1, 0, -1, PURE | CALL, "!graph:g offsets:I picoseconds:i row_major:i threads:i trace:s workspace:I") \
	X(PartitionedCall, 0, -1, 0, -1, PURE | CALL, "!graph:g") \
	X(Case, 1, -1, 0, -1, PURE | CONTROL, "!branches:G cut:I fit:I") \
	X(MapIndex, 1, -1, 1, 1, PURE, "axes:I counts:I !gears:t names:S of:I open:i=0 up:i=0") \
	X(Layout, 1, 1, 1, 1, PURE | MOVE, "layout:s") \
	X(Demand, 2, 2, 1, 1, PURE, "!why:s") \
	X(Find, 2, 2, 1, 1, PURE, "") \
	X(Coupling, 1, 1, 1, 1, PURE, "!classes:i") \
	X(DynamicQuantizeLSTM, 1, 9, 0, 3, PURE | RECURRENT, \
	  "activation_alpha:F activation_beta:F activations:S clip:f direction:s=forward hidden_size:i input_forget:i=0 layout:i=0") \
	X(Extern, 0, -1, 1, -1, PURE, "!function:s !of:s rule:s") \
	X(Inverse, 1, 1, 1, 1, PURE, "") \
	X(MurmurHash3, 1, 1, 1, 1, PURE, "positive:i=1 seed:i=0") \
	X(Foreign, 0, -1, 0, -1, PURE | CALL, "!domain:s !graph:g operands:I !optype:s results:I typed:i=0") \
	X(Tokenize, 3, -1, 1, 1, PURE, "least:i=1 mark:i=0 !pad:s separators:i=0") \
	X(Trees, 6, 6, 1, 1, PURE, "aggregate:s=SUM comparison:s=MIXED !targets:i") \
	X(ZipMap, 1, 1, 1, 1, PURE, "classlabels_int64s:I classlabels_strings:S")
/* clang-format on */
#endif
