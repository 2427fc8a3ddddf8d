/* The operator list: ONNX's operators at the canonical opset, then hone's own. One line each:
 *
 *   X(name, inputs at least, at most, outputs at least, at most, traits, attributes)
 *
 * -1: any number. Attributes are "name:kind", sorted; kind i int, f float, s string, I ints, F floats,
 * S strings, t tensor, g graph, G graphs, y type; ! marks a required one.
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
	X(AffineGrid, 2, 2, 1, 1, PURE, "align_corners:i") \
	X(And, 2, 2, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(ArgMax, 1, 1, 1, 1, PURE | REDUCTION, "axis:i keepdims:i select_last_index:i") \
	X(ArgMin, 1, 1, 1, 1, PURE | REDUCTION, "axis:i keepdims:i select_last_index:i") \
	X(Asin, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Asinh, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Atan, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Atanh, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Attention, 3, 7, 1, 4, PURE, \
	  "is_causal:i kv_num_heads:i left_window_size:i q_num_heads:i qk_matmul_output_mode:i right_window_size:i scale:f softcap:f softmax_precision:i") \
	X(AveragePool, 1, 1, 1, 1, PURE, "auto_pad:s ceil_mode:i count_include_pad:i dilations:I !kernel_shape:I pads:I strides:I") \
	X(BatchNormalization, 5, 5, 1, 3, PURE, "epsilon:f momentum:f training_mode:i") \
	X(Bernoulli, 1, 1, 1, 1, RANDOM, "dtype:i seed:f") \
	X(BitCast, 1, 1, 1, 1, PURE | ELEMENTWISE, "!to:i") \
	X(BitShift, 2, 2, 1, 1, PURE | ELEMENTWISE, "!direction:s") \
	X(BitwiseAnd, 2, 2, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(BitwiseNot, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(BitwiseOr, 2, 2, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(BitwiseXor, 2, 2, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(BlackmanWindow, 1, 1, 1, 1, PURE, "output_datatype:i periodic:i") \
	X(Cast, 1, 1, 1, 1, PURE | ELEMENTWISE, "round_mode:s saturate:i !to:i") \
	X(CastLike, 2, 2, 1, 1, PURE | ELEMENTWISE, "round_mode:s saturate:i") \
	X(CausalConvWithState, 2, 4, 2, 2, PURE, "activation:s") \
	X(Ceil, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Celu, 1, 1, 1, 1, PURE | ELEMENTWISE, "alpha:f") \
	X(CenterCropPad, 2, 2, 1, 1, PURE, "axes:I") \
	X(Clip, 1, 3, 1, 1, PURE | ELEMENTWISE, "") \
	X(Col2Im, 3, 3, 1, 1, PURE, "dilations:I pads:I strides:I") \
	X(Compress, 2, 2, 1, 1, PURE | MOVE, "axis:i") \
	X(Concat, 1, -1, 1, 1, PURE | MOVE, "!axis:i") \
	X(ConcatFromSequence, 1, 1, 1, 1, PURE, "!axis:i new_axis:i") \
	X(Constant, 0, 0, 1, 1, PURE, \
	  "sparse_value:t value:t value_float:f value_floats:F value_int:i value_ints:I value_string:s value_strings:S") \
	X(ConstantOfShape, 1, 1, 1, 1, PURE, "value:t") \
	X(Conv, 2, 3, 1, 1, PURE, "auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I") \
	X(ConvInteger, 2, 4, 1, 1, PURE, "auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I") \
	X(ConvTranspose, 2, 3, 1, 1, PURE, \
	  "auto_pad:s dilations:I group:i kernel_shape:I output_padding:I output_shape:I pads:I strides:I") \
	X(Cos, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Cosh, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(CumProd, 2, 2, 1, 1, PURE, "exclusive:i reverse:i") \
	X(CumSum, 2, 2, 1, 1, PURE, "exclusive:i reverse:i") \
	X(DFT, 1, 3, 1, 1, PURE, "inverse:i onesided:i") \
	X(DeformConv, 3, 5, 1, 1, PURE, "dilations:I group:i kernel_shape:I offset_group:i pads:I strides:I") \
	X(DepthToSpace, 1, 1, 1, 1, PURE | MOVE, "!blocksize:i mode:s") \
	X(DequantizeLinear, 2, 3, 1, 1, PURE | ELEMENTWISE | UNPACK, "axis:i block_size:i output_dtype:i") \
	X(Det, 1, 1, 1, 1, PURE, "") \
	X(Div, 2, 2, 1, 1, PURE | ELEMENTWISE, "") \
	X(Dropout, 1, 3, 1, 2, RANDOM, "seed:i") \
	X(DynamicQuantizeLinear, 1, 1, 3, 3, PURE, "") \
	X(Einsum, 1, -1, 1, 1, PURE, "!equation:s") \
	X(Elu, 1, 1, 1, 1, PURE | ELEMENTWISE, "alpha:f") \
	X(Equal, 2, 2, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(Erf, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Exp, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Expand, 2, 2, 1, 1, PURE | MOVE, "") \
	X(EyeLike, 1, 1, 1, 1, PURE, "dtype:i k:i") \
	X(Flatten, 1, 1, 1, 1, PURE | MOVE, "axis:i") \
	X(Floor, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(GRU, 3, 6, 0, 2, PURE, \
	  "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i layout:i linear_before_reset:i") \
	X(Gather, 2, 2, 1, 1, PURE | MOVE, "axis:i") \
	X(GatherElements, 2, 2, 1, 1, PURE | MOVE, "axis:i") \
	X(GatherND, 2, 2, 1, 1, PURE | MOVE, "batch_dims:i") \
	X(Gelu, 1, 1, 1, 1, PURE | ELEMENTWISE, "approximate:s") \
	X(Gemm, 2, 3, 1, 1, PURE, "alpha:f beta:f transA:i transB:i") \
	X(GlobalAveragePool, 1, 1, 1, 1, PURE, "") \
	X(GlobalLpPool, 1, 1, 1, 1, PURE, "p:i") \
	X(GlobalMaxPool, 1, 1, 1, 1, PURE, "") \
	X(Greater, 2, 2, 1, 1, PURE | ELEMENTWISE, "") \
	X(GreaterOrEqual, 2, 2, 1, 1, PURE | ELEMENTWISE, "") \
	X(GridSample, 2, 2, 1, 1, PURE, "align_corners:i mode:s padding_mode:s") \
	X(GroupNormalization, 3, 3, 1, 1, PURE, "epsilon:f !num_groups:i stash_type:i") \
	X(HammingWindow, 1, 1, 1, 1, PURE, "output_datatype:i periodic:i") \
	X(HannWindow, 1, 1, 1, 1, PURE, "output_datatype:i periodic:i") \
	X(HardSigmoid, 1, 1, 1, 1, PURE | ELEMENTWISE, "alpha:f beta:f") \
	X(HardSwish, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Hardmax, 1, 1, 1, 1, PURE, "axis:i") \
	X(Identity, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(If, 1, -1, 1, -1, PURE | CONTROL, "captures:i !else_branch:g !then_branch:g") \
	X(ImageDecoder, 1, 1, 1, 1, PURE, "pixel_format:s") \
	X(InstanceNormalization, 3, 3, 1, 1, PURE, "epsilon:f") \
	X(IsInf, 1, 1, 1, 1, PURE | ELEMENTWISE, "detect_negative:i detect_positive:i") \
	X(IsNaN, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(LRN, 1, 1, 1, 1, PURE, "alpha:f beta:f bias:f !size:i") \
	X(LSTM, 3, 8, 0, 3, PURE, \
	  "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i input_forget:i layout:i") \
	X(LayerNormalization, 2, 3, 1, 3, PURE, "axis:i epsilon:f stash_type:i") \
	X(LeakyRelu, 1, 1, 1, 1, PURE | ELEMENTWISE, "alpha:f") \
	X(Less, 2, 2, 1, 1, PURE | ELEMENTWISE, "") \
	X(LessOrEqual, 2, 2, 1, 1, PURE | ELEMENTWISE, "") \
	X(LinearAttention, 3, 6, 2, 2, PURE, "chunk_size:i !kv_num_heads:i !q_num_heads:i scale:f update_rule:s") \
	X(Log, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(LogSoftmax, 1, 1, 1, 1, PURE, "axis:i") \
	X(Loop, 0, -1, 1, -1, PURE | CONTROL, "!body:g captures:i") \
	X(LpNormalization, 1, 1, 1, 1, PURE, "axis:i p:i") \
	X(LpPool, 1, 1, 1, 1, PURE, "auto_pad:s ceil_mode:i dilations:I !kernel_shape:I p:i pads:I strides:I") \
	X(MatMul, 2, 2, 1, 1, PURE, "") \
	X(MatMulInteger, 2, 4, 1, 1, PURE, "") \
	X(Max, 1, -1, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(MaxPool, 1, 1, 1, 2, PURE, "auto_pad:s ceil_mode:i dilations:I !kernel_shape:I pads:I storage_order:i strides:I") \
	X(MaxRoiPool, 2, 2, 1, 1, PURE, "!pooled_shape:I spatial_scale:f") \
	X(MaxUnpool, 2, 3, 1, 1, PURE, "!kernel_shape:I pads:I strides:I") \
	X(Mean, 1, -1, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(MeanVarianceNormalization, 1, 1, 1, 1, PURE, "axes:I") \
	X(MelWeightMatrix, 5, 5, 1, 1, PURE, "output_datatype:i") \
	X(Min, 1, -1, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(Mish, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Mod, 2, 2, 1, 1, PURE | ELEMENTWISE, "fmod:i") \
	X(Mul, 2, 2, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(Multinomial, 1, 1, 1, 1, RANDOM, "dtype:i sample_size:i seed:f") \
	X(Neg, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(NegativeLogLikelihoodLoss, 2, 3, 1, 1, PURE, "ignore_index:i reduction:s") \
	X(NonMaxSuppression, 2, 5, 1, 1, PURE, "center_point_box:i") \
	X(NonZero, 1, 1, 1, 1, PURE, "") \
	X(Not, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(OneHot, 3, 3, 1, 1, PURE, "axis:i") \
	X(Optional, 0, 1, 1, 1, PURE, "type:y") \
	X(OptionalGetElement, 1, 1, 1, 1, PURE, "") \
	X(OptionalHasElement, 0, 1, 1, 1, PURE, "") \
	X(Or, 2, 2, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(PRelu, 2, 2, 1, 1, PURE | ELEMENTWISE, "") \
	X(Pad, 2, 4, 1, 1, PURE | MOVE, "mode:s") \
	X(Pow, 2, 2, 1, 1, PURE | ELEMENTWISE, "") \
	X(QLinearConv, 8, 9, 1, 1, PURE, "auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I") \
	X(QLinearMatMul, 8, 8, 1, 1, PURE, "") \
	X(QuantizeLinear, 2, 3, 1, 1, PURE | ELEMENTWISE, "axis:i block_size:i output_dtype:i precision:i saturate:i") \
	X(RMSNormalization, 2, 2, 1, 1, PURE, "axis:i epsilon:f stash_type:i") \
	X(RNN, 3, 6, 0, 2, PURE, "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i layout:i") \
	X(RandomNormal, 0, 0, 1, 1, RANDOM, "dtype:i mean:f scale:f seed:f !shape:I") \
	X(RandomNormalLike, 1, 1, 1, 1, RANDOM, "dtype:i mean:f scale:f seed:f") \
	X(RandomUniform, 0, 0, 1, 1, RANDOM, "dtype:i high:f low:f seed:f !shape:I") \
	X(RandomUniformLike, 1, 1, 1, 1, RANDOM, "dtype:i high:f low:f seed:f") \
	X(Range, 3, 3, 1, 1, PURE, "stash_type:i") \
	X(Reciprocal, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(ReduceL1, 1, 2, 1, 1, PURE | REDUCTION, "keepdims:i noop_with_empty_axes:i") \
	X(ReduceL2, 1, 2, 1, 1, PURE | REDUCTION, "keepdims:i noop_with_empty_axes:i") \
	X(ReduceLogSum, 1, 2, 1, 1, PURE | REDUCTION, "keepdims:i noop_with_empty_axes:i") \
	X(ReduceLogSumExp, 1, 2, 1, 1, PURE | REDUCTION, "keepdims:i noop_with_empty_axes:i") \
	X(ReduceMax, 1, 2, 1, 1, PURE | REDUCTION, "keepdims:i noop_with_empty_axes:i") \
	X(ReduceMean, 1, 2, 1, 1, PURE | REDUCTION, "keepdims:i noop_with_empty_axes:i") \
	X(ReduceMin, 1, 2, 1, 1, PURE | REDUCTION, "keepdims:i noop_with_empty_axes:i") \
	X(ReduceProd, 1, 2, 1, 1, PURE | REDUCTION, "keepdims:i noop_with_empty_axes:i") \
	X(ReduceSum, 1, 2, 1, 1, PURE | REDUCTION, "keepdims:i noop_with_empty_axes:i") \
	X(ReduceSumSquare, 1, 2, 1, 1, PURE | REDUCTION, "keepdims:i noop_with_empty_axes:i") \
	X(RegexFullMatch, 1, 1, 1, 1, PURE, "pattern:s") \
	X(Relu, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Reshape, 2, 2, 1, 1, PURE | MOVE, "allowzero:i") \
	X(Resize, 1, 4, 1, 1, PURE, \
	  "antialias:i axes:I coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:i extrapolation_value:f keep_aspect_ratio_policy:s mode:s nearest_mode:s") \
	X(ReverseSequence, 2, 2, 1, 1, PURE | MOVE, "batch_axis:i time_axis:i") \
	X(RoiAlign, 3, 3, 1, 1, PURE, \
	  "coordinate_transformation_mode:s mode:s output_height:i output_width:i sampling_ratio:i spatial_scale:f") \
	X(RotaryEmbedding, 3, 4, 1, 1, PURE, "interleaved:i num_heads:i rotary_embedding_dim:i") \
	X(Round, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(STFT, 2, 4, 1, 1, PURE, "onesided:i") \
	X(Scan, 1, -1, 1, -1, PURE | CONTROL, \
	  "!body:g captures:i !num_scan_inputs:i scan_input_axes:I scan_input_directions:I scan_output_axes:I scan_output_directions:I") \
	X(Scatter, 3, 3, 1, 1, PURE | MOVE | DEPRECATED, "axis:i") \
	X(ScatterElements, 3, 3, 1, 1, PURE | MOVE, "axis:i reduction:s") \
	X(ScatterND, 3, 3, 1, 1, PURE | MOVE, "reduction:s") \
	X(Selu, 1, 1, 1, 1, PURE | ELEMENTWISE, "alpha:f gamma:f") \
	X(SequenceAt, 2, 2, 1, 1, PURE, "") \
	X(SequenceConstruct, 1, -1, 1, 1, PURE, "") \
	X(SequenceEmpty, 0, 0, 1, 1, PURE, "dtype:i") \
	X(SequenceErase, 1, 2, 1, 1, PURE, "") \
	X(SequenceInsert, 2, 3, 1, 1, PURE, "") \
	X(SequenceLength, 1, 1, 1, 1, PURE, "") \
	X(SequenceMap, 1, -1, 1, -1, PURE | CONTROL, "!body:g captures:i") \
	X(Shape, 1, 1, 1, 1, PURE | SHAPE_ONLY, "end:i start:i") \
	X(Shrink, 1, 1, 1, 1, PURE | ELEMENTWISE, "bias:f lambd:f") \
	X(Sigmoid, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Sign, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Sin, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Sinh, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Size, 1, 1, 1, 1, PURE | SHAPE_ONLY, "") \
	X(Slice, 3, 5, 1, 1, PURE | MOVE, "") \
	X(Softmax, 1, 1, 1, 1, PURE, "axis:i") \
	X(SoftmaxCrossEntropyLoss, 2, 3, 1, 2, PURE, "ignore_index:i reduction:s") \
	X(Softplus, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Softsign, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(SpaceToDepth, 1, 1, 1, 1, PURE | MOVE, "!blocksize:i mode:s") \
	X(Split, 1, 2, 1, -1, PURE | MOVE, "axis:i num_outputs:i") \
	X(SplitToSequence, 1, 2, 1, 1, PURE, "axis:i keepdims:i") \
	X(Sqrt, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Squeeze, 1, 2, 1, 1, PURE | MOVE, "") \
	X(StringConcat, 2, 2, 1, 1, PURE, "") \
	X(StringNormalizer, 1, 1, 1, 1, PURE, "case_change_action:s is_case_sensitive:i locale:s stopwords:S") \
	X(StringSplit, 1, 1, 2, 2, PURE, "delimiter:s maxsplit:i") \
	X(Sub, 2, 2, 1, 1, PURE | ELEMENTWISE, "") \
	X(Sum, 1, -1, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "") \
	X(SwiGLU, 2, 2, 1, 1, PURE, "alpha:f") \
	X(Swish, 1, 1, 1, 1, PURE | ELEMENTWISE, "alpha:f") \
	X(Tan, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(Tanh, 1, 1, 1, 1, PURE | ELEMENTWISE, "") \
	X(TensorScatter, 2, 3, 1, 1, PURE, "axis:i mode:s") \
	X(TfIdfVectorizer, 1, 1, 1, 1, PURE, \
	  "!max_gram_length:i !max_skip_count:i !min_gram_length:i !mode:s !ngram_counts:I !ngram_indexes:I pool_int64s:I pool_strings:S weights:F") \
	X(ThresholdedRelu, 1, 1, 1, 1, PURE | ELEMENTWISE, "alpha:f") \
	X(Tile, 2, 2, 1, 1, PURE | MOVE, "") \
	X(TopK, 2, 2, 2, 2, PURE, "axis:i largest:i sorted:i") \
	X(Transpose, 1, 1, 1, 1, PURE | MOVE, "perm:I") \
	X(Trilu, 1, 2, 1, 1, PURE | MOVE, "upper:i") \
	X(Unique, 1, 1, 1, 4, PURE, "axis:i sorted:i") \
	X(Unsqueeze, 2, 2, 1, 1, PURE | MOVE, "") \
	X(Upsample, 2, 2, 1, 1, PURE | DEPRECATED, "mode:s") \
	X(Where, 3, 3, 1, 1, PURE | ELEMENTWISE, "") \
	X(Xor, 2, 2, 1, 1, PURE | ELEMENTWISE | COMMUTATIVE, "")

/* Fused and PartitionedCall: graph(x...). Case: branch number i of branches (out of range: the last)
 * applied to x. MapIndex: the index of the row of `gears` that equals the operand, else an error.
 * Layout: the operand in another layout. */
#define HONE_OPS(X) \
	X(Fused, 0, -1, 0, -1, PURE | CALL, "!graph:g offsets:I trace:s workspace:I") \
	X(PartitionedCall, 0, -1, 0, -1, PURE | CALL, "!graph:g") \
	X(Case, 1, -1, 0, -1, PURE | CONTROL, "!branches:G") \
	X(MapIndex, 1, 1, 1, 1, PURE, "!gears:t") \
	X(Layout, 1, 1, 1, 1, PURE | MOVE, "layout:s")
/* clang-format on */
#endif
