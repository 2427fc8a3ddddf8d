/* ONNX's numbers of the kinds of attributes (AttributeProto.type). */
#ifndef HONE_ONNX_ATTRIBUTE_H
#define HONE_ONNX_ATTRIBUTE_H
enum onnx_attribute {
	ONNX_FLOAT = 1,
	ONNX_INT,
	ONNX_STRING,
	ONNX_TENSOR,
	ONNX_GRAPH,
	ONNX_FLOATS,
	ONNX_INTS,
	ONNX_STRINGS,
	ONNX_TENSORS,
	ONNX_GRAPHS,
	ONNX_SPARSE,
	ONNX_SPARSES,
	ONNX_TYPE,
	ONNX_TYPES
};
#endif
