/* Kernels of groups, by their texts: what is lowered and scheduled, by default for vectors of any length and otherwise,
 * gives the evaluator's numbers in the interpreter; with the default schedule here, compiled as well. Types of elements are what
 * differs most. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/tool.h"
#include "loop/interp.h"
#include "loop/prim.h"
#include "sched/schedule.h"
#include "task_kernel.h"
#include "near.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

enum { LENGTHS = 3, SCHEDULES = 1 + LENGTHS + 6 };
static int schedules = SCHEDULES; /* $KERNELS_SCHEDULES has another number */
enum flags { WRAPS = 1 };         /* integers that doubles do not hold: not for the interpreter */

static const struct text texts[] = {
	/* sums in halves: of ones more than 2048 or 256, of squares more than 65504 */
	{"MatMul bf16 4x1024 1024x8", .9, 1.1},
	{"MatMul f16 3x3000 3000x17", .9, 1.1},
	{"MatMul bf16 3x700 700x40c"},
	{"MatMul f16 2x9x33 2x33x20; Relu %0"},
	{"MatMul f16 700 700", .9, 1.1},
	{"Gemm{alpha=0.5 transB=1} bf16 5x700 9x700c 9c", .9, 1.1},
	{"Gemm f16 33x300 300x17"},
	{"Conv{pads=1,1,1,1} f16 1x40x7x7 9x40x3x3c 9c; Relu %0", 9, 11},
	{"Conv{strides=2,2} bf16 2x300x5x5 6x300x1x1c", .9, 1.1},
	{"Conv{group=20 pads=1,1,1,1} f16 1x20x9x9 20x1x3x3c 20c", 99, 101},
	{"Conv{group=2} bf16 1x8x12 6x4x3c"},
	/* vectors across what is innermost in memory, groups */
	{"Conv{pads=1,1 strides=2} f32 1x40x5 33x40x3c"},
	{"Conv{strides=7} f32 2x1x131 35x1x30c 35c; Relu %0"},
	{"Conv{strides=16,16} f32 2x3x48x64 24x3x16x16c 24c"},
	{"Conv{pads=3,3,3,3 strides=2,2} f32 1x3x21x25 20x3x7x7c 20c; Relu %0"},
	{"Conv{pads=1,1,1,1 strides=2,2} f32 1x19x12x13 33x19x3x3c 33c; Add %0 1x33x6x7; Relu %1"},
	{"Conv{group=40 pads=1,1,1,1 strides=2,2} f32 2x40x11x12 40x1x3x3c 40c; Swish %0"},
	{"Conv{group=33 pads=2,2,2,2 strides=2,2} f32 1x33x14x15 33x1x5x5c"},
	{"Conv{group=24 pads=3,3,3,3} f32 1x24x9x8 24x1x7x7c 24c"},
	{"Conv{group=32 pads=1,1,1,1 strides=2,2} f32 2x32x19x23 32x1x3x3c 32c; Clip %0 f32=0 f32=6"},
	{"Conv{group=24 pads=3,3,3,3} f32 1x24x17x20 24x1x7x7c 24c; Relu %0"},
	{"Conv{group=40 pads=4,4,4,4} f32 1x40x7x21 40x1x9x9c; Relu %0"},
	{"Conv{group=32 pads=2,3,2,3 strides=2,1} f32 1x32x15x15 32x1x5x7c 32c"},
	{"Conv{group=3 pads=1,1,1,1} f32 1x48x9x7 48x16x3x3c 48c; Relu %0"},
	{"Conv{group=5 pads=1,1,1,1} f32 1x40x5x20 40x8x3x3c"},
	{"Conv{group=2 pads=1,1,1,1 strides=2,2} f32 1x12x20x33 36x6x3x3c 36c; Relu %0"},
	{"Conv{group=4 pads=2,2} f32 1x64x50 64x16x5c"},
	{"Conv{group=3} f32 1x48x6x6 96x16x1x1c"},
	{"MatMul f32 40x70c 70x3"},
	{"ConvTranspose{strides=2,2} f16 1x50x5x5 50x6x3x3c 6c", 9, 11},
	{"ReduceSum{keepdims=0} f16 4096x8 i64=0,", .9, 1.1},
	{"ReduceSum{keepdims=0} bf16 7x1000 i64=1,", .9, 1.1},
	{"ReduceMean f16 3x4x5000 i64=-1,", 9, 11},
	{"ReduceProd{keepdims=0} bf16 9x300 i64=1,", .99, 1.01},
	{"ReduceL1{keepdims=0} f16 3x4000 i64=1,", -1.1, -.9},
	{"ReduceL2{keepdims=0} f16 3x4000 i64=1,", 9, 11},
	{"ReduceSumSquare{keepdims=0} bf16 3x4000 i64=1,", .9, 1.1},
	{"ReduceLogSum{keepdims=0} f16 3x40000 i64=1,", 9, 11},
	{"ReduceLogSumExp{keepdims=0} bf16 3x4000 i64=1,", 9, 11},
	{"ReduceMax{keepdims=0} f16 5x70 i64=1,"},
	{"ReduceMin{keepdims=0} bf16 70x33 i64=0,"},
	{"GlobalAveragePool f16 1x3x112x112", 9, 11},
	{"GlobalMaxPool bf16 1x3x12x12"},
	{"AveragePool{kernel_shape=40,40} f16 1x4x40x40", 59, 61},
	{"AveragePool{kernel_shape=3,3 pads=1,1,1,1} bf16 1x20x11x11"},
	{"MaxPool{kernel_shape=3,3 pads=1,1,1,1 strides=2,2} f16 1x20x11x11"},
	{"Softmax f16 3x3000"},
	{"Softmax{axis=0} bf16 700x3"},
	{"LogSoftmax f16 3x3000"},
	{"LayerNormalization f16 64x1024 1024c 1024c", -20, 20},
	{"LayerNormalization bf16 7x300 300", 9, 11},
	{"RMSNormalization f16 9x1024 1024c", 9, 11},
	{"InstanceNormalization bf16 2x3x20x20 3c 3c", 1, 11},
	{"GroupNormalization{num_groups=2} f16 2x6x20x20 6c 6c", 1, 11},
	{"BatchNormalization f16 2x6x5x5 6c 6c 6c 6c", 9, 11},
	{"BatchNormalization bf16 2x6x5x5 6 6 6 6", 1, 2},
	{"CumSum f16 3000x4 i64=0", .9, 1.1},
	{"CumSum{reverse=1} bf16 500x4 i64=0", .9, 1.1},
	/* groups that fill no vectors; codes of one axis and of three, channels innermost */
	{"ConvInteger{group=3 pads=1,1,1,1} u8 1x36x7x7@0,2,3,1 i8 36x12x3x3c u8=3; Cast{to=1} %0; Mul %1 f32 36x1x1c -> %2@0,2,3,1"},
	{"ConvInteger{group=2 dilations=2 pads=2,2} u8 1x48x50@0,2,1 i8 48x24x3c u8=9; Cast{to=1} %0; Mul %1 f32 48x1c -> %2@0,2,1"},
	{"ConvInteger{group=12 pads=2,2,2,2} u8 2x12x14x15 i8 12x1x5x5c u8=9; Cast{to=1} %0; Mul %1 f32 12x1x1c"},
	/* windows that do not overlap: rows of a matrix, filled where their length is odd; in either layout, with borders, gaps, one axis */
	{"ConvInteger{strides=8,8} u8 1x3x32x40@0,2,3,1 i8 24x3x8x8c u8=131; Cast{to=1} %0; Mul %1 f32 24x1x1c; QuantizeLinear %2 =900 u8=9"},
	{"ConvInteger{strides=5,5} u8 2x3x15x20 i8 9x3x5x5c u8=7; Cast{to=1} %0; Mul %1 f32 9x1x1c"},
	{"ConvInteger{pads=1,2,3,2 strides=4,5} u8 1x3x18x21@0,2,3,1 i8 16x3x4x4c u8=3; Cast{to=1} %0 -> %1@0,2,3,1"},
	{"ConvInteger{dilations=2 strides=6} u8 1x5x60@0,2,1 i8 16x5x3c u8=3; Cast{to=1} %0 -> %1@0,2,1"},
	{"ConvInteger{strides=2,2} u8 1x12x9x8@0,2,3,1 i8 16x12x1x1c u8=3; Cast{to=1} %0 -> %1@0,2,3,1"},
	/* line by line, with borders, gaps between rows, of one axis and of three */
	{"ConvInteger{strides=2,2} u8 1x6x8x14 i8 9x6x2x2c u8=3; Cast{to=1} %0; Mul %1 f32 9x1x1c"},
	{"ConvInteger{pads=1,1,0,1 strides=2,2} u8 2x5x9x31 i8 16x5x2x2c u8=131; Cast{to=1} %0 -> %1@0,2,3,1"},
	{"ConvInteger{dilations=2,1 strides=4,4} u8 1x3x12x20 i8 16x3x2x4c u8=7; Cast{to=1} %0 -> %1@0,2,3,1"},
	{"ConvInteger{strides=4} u8 1x5x52 i8 16x5x4c u8=3; Cast{to=1} %0 -> %1@0,2,1"},
	{"ConvInteger{strides=2,2,2} u8 1x3x4x6x10 i8 16x3x2x2x2c u8=3; Cast{to=1} %0 -> %1@0,2,3,4,1"},
	/* bytes that lie across are turned in blocks, the last ones moved back */
	{"ConvInteger{pads=2,2} u8 1x41x37 i8 16x41x5c u8=9; Cast{to=1} %0 -> %1@0,2,1"},
	{"ConvInteger{pads=1,1,1,1} i8 1x24x5x17 i8 16x24x3x3c i8=-9; Cast{to=1} %0 -> %1@0,2,3,1"},
	{"Conv{strides=4,4} bf16 1x3x16x24@0,2,3,1 16x3x4x4c 16c; Relu %0"},
	{"Conv{strides=4,4} bf16 1x3x16x24 16x3x4x4c"},
	{"ConvInteger{strides=2,1,1} u8 1x8x7x6x5@0,2,3,4,1 i8 16x8x3x3x3c u8=3; Cast{to=1} %0 -> %1@0,2,3,4,1"},
	/* and with results in rows */
	{"ConvInteger{pads=1,1,1,1} u8 1x16x20x21@0,2,3,1 i8 24x16x3x3c u8; Cast{to=1} %0; Mul %1 f32=0.5"},
	{"Conv{group=8 pads=1,1,1,1} f32 1x32x7x9@0,2,3,1 32x4x3x3c; Relu %0 -> %1@0,2,3,1"},
	{"Conv{pads=3,3} f32 1x32x60@0,2,1 1x32x7c"},
	/* several products, part by part: in a row, of one operand, with what goes past one */
	{"Conv{group=24 pads=1,1,1,1} f32 1x24x9x11@0,2,3,1 24x1x3x3c 24c; Clip %0 f32=0 f32=6; Conv %1 40x24x1x1c 40c -> %2@0,2,3,1"},
	{"Conv{pads=1,1,1,1} f32 1x20x14x14 24x20x3x3c 24c; Relu %0; Conv{pads=1,1,1,1} %1 20x24x3x3c; Add %2 1x20x14x14"},
	{"MatMul f32 7x40 40x33c; Sigmoid %0; MatMul f32 7x40 40x33c; Mul %1 %2; MatMul %3 33x20c"},
	{"MatMul f32 6x20 20x48c; MatMul %0 48x48c; Mul %1 %0"},
	{"ConvInteger{group=24 pads=1,1,1,1} u8 1x24x9x11@0,2,3,1 i8 24x1x3x3c u8=3; Cast{to=1} %0; Mul %1 f32 24x1x1c; QuantizeLinear %2 =900 u8=9; "
	 "ConvInteger %3 i8 40x24x1x1c u8=9; Cast{to=1} %4 -> %5@0,2,3,1"},
	{"Conv{pads=1,1,1,1} f32 1x20x14x14@0,2,3,1 24x20x3x3c 24c; MaxPool{kernel_shape=3,3 pads=1,1,1,1 strides=2,2} %0; Conv %1 20x24x1x1c -> %2@0,2,3,1"},
	{"MatMul f32 9x40 40x48c; LayerNormalization %0 48c 48c; MatMul %1 48x33c; Softmax %2; MatMul %3 33x20c"},
	{"ConvTranspose{strides=2,2} f32 1x20x5x5 20x6x3x3c 6c; Relu %0; Conv{pads=1,1,1,1} %1 8x6x3x3c"},
	{"Conv f32 2x20x7x9 24x20x1x1c 24c; Relu %0; Conv{group=24 pads=1,1,1,1} %1 24x1x3x3c 24c; Conv %2 40x24x1x1c 40c"},
	{"Conv{group=24 pads=2,2,2,2 strides=2,2} f32 1x24x13x11 24x1x5x5c; Clip %0 f32=0 f32=6; Conv{strides=2,2} %1 20x24x1x1c"},
	{"Conv f32 1x24x9x11@0,2,3,1 40x24x1x1c 40c; Relu %0; GlobalAveragePool %1; Conv %2 40x40x1x1c; Sigmoid %3; Mul %1 %4 -> %5@0,2,3,1"},
	{"LSTM{hidden_size=9} f32 7x2x30 1x36x30c 1x36x9c 1x72c; MatMul %0 9x20c"},
	{"MatMul f32 2x3x16x8 2x3x8x16; Relu %0; MatMul %1 2x3x16x8"},
	{"Conv{group=24 pads=1,1,1,1} f32 2x24x9x11@0,2,3,1 24x1x3x3c 24c; Clip %0 f32=0 f32=6; Conv{group=2} %1 40x12x1x1c 40c; Conv{pads=2,2,2,2} %2 8x40x5x5c -> %3@0,2,3,1"},
	{"LSTM{hidden_size=9} f16 7x2x300 1x36x300c 1x36x9c 1x72c"},
	{"GRU{direction=reverse hidden_size=9} bf16 7x2x30 1x27x30c 1x27x9c 1x54c -> %0 %0.1"},
	{"LSTM{hidden_size=70} f32 5x1x30 1x280x30 1x280x70 1x560"},
	{"GRU{hidden_size=40} f32 5x1x30 1x120x30 1x120x40 1x240"},
	{"GRU{hidden_size=40} f32 5x3x30 1x120x30 1x120x40 1x240"},
	{"LSTM{hidden_size=70} f32 1x1x30 1x280x30 1x280x70 1x560"},
	{"hone.DynamicQuantizeLSTM{direction=bidirectional hidden_size=40} f32 5x3x30 2x160x30c 2x160x40c 2x320c _ 2x3x40"},
	{"hone.DynamicQuantizeLSTM{direction=bidirectional hidden_size=41} f32 5x3x30 2x164x30c i8 2x164x41c f32 2x328c _ 2x3x41 _ _ 2x1=.002,.003"},
	{"hone.DynamicQuantizeLSTM{hidden_size=40} f32 5x1x30 1x160x30c i8 1x160x40c f32 1x320c _ _ _ _ 1x1=.002"},
	{"hone.DynamicQuantizeLSTM{direction=bidirectional hidden_size=21} f32 4x2x168 _ i8 2x84x21c f32 2x168c _ 2x2x21 _ _ 2x1=.002,.003"},
	{"GRU{hidden_size=40 linear_before_reset=1} f32 1x1x30 1x120x30 1x120x40 1x240 _ 1x1x40"},
	{"ArgMax{keepdims=0} f16 7x60"},
	/* rows that are read where they lie */
	{"MatMul f32 3x40x200 200"},
	{"MatMul f32 3x40x200 3x200x1"},
	{"MatMul f16 3x40x200 3x200x1"},
	{"Gemm{transB=1} f32 1x64 64x64 64"},
	{"Gemm{transA=1 transB=1} f32 70x1 33x70"},
	/* the largest and the least of all there is */
	{"ReduceMax{keepdims=0} bool 64x100 i64=1,", 0, .5},
	{"ReduceMin{keepdims=0} bool 64x100 i64=1,", 1, 1},
	{"ReduceMax{keepdims=0} bool 100x64 i64=0,", 0, .5},
	{"ReduceMax{keepdims=0} i8 64x100 i64=1,", -128, -100},
	{"ReduceMin{keepdims=0} u8 64x100 i64=1,", 200, 255},
	{"ReduceMax{keepdims=0} i32 64x100 i64=1,", -2147483648.0, -2e9},
	{"ReduceMin{keepdims=0} u32 64x100 i64=1,", 4e9, 4294967295.0},
	{"ReduceMax{keepdims=0} i64 64x100 i64=1,", -1e15, -1e14},
	{"ReduceMin{keepdims=0} u64 64x100 i64=1,", 1e14, 1e15},
	/* powers of integers */
	{"Pow i32 40 f32=0.5", 0, 100},
	{"Pow i32 40 f32 40", 1, 9},
	{"Pow u32 40 f64=0.5", 0, 255},
	{"Pow i64 40 i64=3", -1000, 1000},
	{"Pow i32 40 i64 40", 0, 9},
	{"Pow i64 40 i64=13", 0, 1e6, WRAPS},
	{"Pow i32 40 i32 40", -40, 40, WRAPS},
	{"Pow u64 40 u8 40", 0, 80, WRAPS},
	{"Pow i64 5 i64=-1", -2, 2},
	{"Pow i64 40 i32=-3", 0, 1},
	{"Pow f16 40 f32=0.3", 1, 1000},
	{"Pow f32 40 i64 40", 1, 5},
	/* places that the type of the index cannot tell apart */
	{"OneHot u8 40 i64=300 f32=0,1", 0, 255},
	{"OneHot i8 40 i64=200 f32=0,1", -128, 127},
	{"OneHot f16 40 i64=3000 f32=0,1", 0, 3000},
	{"OneHot bf16 40 i64=700 f32=0,1", -700, 700},
	{"OneHot i64 40 i64=70 f32=0,1", -80, 80},
	{"OneHot f32 40 i64=70 i8=0,1", -70, 70},
	{"LRN{size=5} f32 2x20x5x7", -3, 3},
	{"LRN{size=4 alpha=0.5 beta=0.6} f32 1x3x40", -3, 3},
	{"LRN{size=100 alpha=2 beta=0.25 bias=0.5} f32 2x9x3x3", -3, 3},
	{"LRN{size=3 beta=0.5} f16 1x5x33", -3, 3},
	/* a reduction along one of several axes of a size; few columns */
	{"LogSoftmax{axis=2} f32 1x4x26x26", -9, 9},
	{"Softmax{axis=0} f32 26x26x26", -9, 9},
	{"Softmax{axis=1} f32 8x50x3", -9, 9},
	{"Softmax{axis=0} f32 40x2", -9, 9},
	/* windows so large that their last axis is combined after the others */
	{"MaxPool{kernel_shape=5,5 pads=2,2,2,2} f32 1x20x13x13"},
	{"MaxPool{kernel_shape=13,13 pads=6,6,6,6 strides=2,2} f32 2x3x27x27"},
	{"MaxPool{kernel_shape=33,9 pads=4,4,4,4 dilations=1,2} f32 1x2x40x33"},
	{"MaxPool{kernel_shape=9,9 strides=2,1} f16 2x3x20x21"},
	{"MaxPool{kernel_shape=3,3,3 pads=1,1,1,1,1,1 strides=2,2,2} f32 1x3x12x13x14"},
	{"AveragePool{kernel_shape=7,9 pads=3,3,3,3 strides=2,1} f32 1x5x26x30"},
	{"AveragePool{kernel_shape=9,9 pads=4,4,4,4} f32 2x3x1x31"},
	{"AveragePool{kernel_shape=9,1} f32 1x8x300x1"},
	/* elements that only move, of every size, in blocks and what is left of them */
	{"Transpose{perm=1,0} u8 33x50"},
	{"Transpose{perm=0,2,1} i8 3x9x37"},
	{"Transpose{perm=1,0} bool 5x70"},
	{"Transpose{perm=2,1,0} f16 3x17x21"},
	{"Transpose{perm=1,0} bf16 6x40"},
	{"Transpose{perm=1,0} i32 33x50"},
	{"Transpose{perm=1,0} i64 7x9"},
	{"Transpose{perm=1,0} f64 33x6"},
	{"Transpose{perm=1,0,2} u16 3x4x50"},
	{"Transpose{perm=0,2,1} f32 2x3x111"},
	{"Transpose{perm=1,0} f32 6x100"},
	{"Transpose{perm=1,0} f32 2x33"},
	/* scales, some that lead to the same size */
	{"Resize{coordinate_transformation_mode=asymmetric nearest_mode=floor} f32 1x3x5x5 _ =1,1,2,3"},
	{"Resize{axes=2,3} f32 1x3x5x5 _ =2,2"},
	{"Resize{coordinate_transformation_mode=asymmetric nearest_mode=floor} f32 1x3x5x5 _ =1,1,1.1,1.1"},
	{"Resize{coordinate_transformation_mode=asymmetric nearest_mode=floor} f32 1x1x4x4 _ =1,1,2.1,2.1"},
	{"Resize{mode=linear} f16 1x3x5x5 _ f32=1,1,2.1,2.1"},
	{"Resize{mode=cubic} f64 1x3x5x5 _ f32=1,1,0.5,2.1"},
	{"Resize f32 1x3x5x5 _ _ i64=1,3,10,5"},
	/* between layouts: turned before the last axis grows */
	{"Resize{mode=linear} f32 1x10x5x7@0,2,3,1 _ f32=1,1,3,2.1"},
	{"Resize{mode=linear} f16 1x10x5x7 _ f32=1,1,2.1,3; Relu %0 -> %1@0,2,3,1"},
	{"Resize{mode=cubic} f32 1x10x5x7@0,2,3,1 _ f32=1,1,0.6,2.1"},
	/* constants beyond int */
	{"Mul u32 40 =2654435761; Cast{to=7} %0", 0, 4294967295.0, WRAPS},
	{"Add u32 40 =4294967295; Cast{to=7} %0", 0, 100, WRAPS},
	{"Mul i32 40 =-2147483648; Cast{to=7} %0", 0, 100, WRAPS},
	{"Add i64 40 =9223372036854775807", -100, 0, WRAPS},
	/* axes: as many as there may be */
	{"ReduceSum f32 2x2x2x2x2x2x2x2"},
	{"ReduceSum{keepdims=0} f32 2x2x2x2x2x2x2x2x2x2x2x2"},
	{"Softmax f32 2x2x2x2x2x2x2x2x2x2x2x2"},
	{"GlobalAveragePool f32 2x2x2x2x2x2x2x2x2"},
	/* losses: a label out of range is told, one that is ignored is not read */
	{"SoftmaxCrossEntropyLoss f32 40x70 i64 40", 0, 69},
	{"SoftmaxCrossEntropyLoss{ignore_index=2 reduction=sum} f32 3x7x5@0,2,1 i32 3x5 f32 7", 0, 6},
	{"SoftmaxCrossEntropyLoss{ignore_index=0} f16 30x9 i64 30 f16 9", 0, 8},
	{"NegativeLogLikelihoodLoss{ignore_index=-100 reduction=none} f32 2x9x3x5 i64 2x3x5", 0, 8},
	{"LogSoftmax{axis=1} f32 33x20; NegativeLogLikelihoodLoss %0 i64 33 f32 20", 0, 19},
	/* rows so short that very many of them fill the first level of cache */
	{"ReduceSum{keepdims=0} f32 4096x10 i64=1,"},
	{"LayerNormalization f32 900x20 20c 20c"},
};

/* Products of bytes, whose stages depend on the signs that a target's instructions take: every sign of both operands, with zero points and
 * without, known and not; 1x1, borders, groups, a channel each. */
static const struct text codes[] = {
	{"ConvInteger u8 1x12x2x7 i8 9x12x1x1c u8=3 i8=-5"},
	{"ConvInteger u8 1x5x3x5 i8 9x5x1x1c"},
	{"ConvInteger u8 1x16x2x5 i8 13x16x1x1c u8=3"},
	{"ConvInteger{strides=2,2} i8 1x12x3x7@0,2,3,1 i8 8x12x1x1c i8=-4"},
	{"ConvInteger{pads=1,1,1,1} u8 1x4x3x7 i8 8x4x3x3c u8=131"},
	{"ConvInteger{pads=1,1,1,1} u8 1x8x3x4@0,2,3,1 u8 9x8x3x3c u8=7 u8=200; Cast{to=1} %0 -> %1@0,2,3,1"},
	{"ConvInteger{pads=1,1,1,1} i8 1x7x3x3 i8 8x7x3x3c i8=9 i8 8c"},
	{"ConvInteger{pads=0,1,2,1} i8 1x4x3x5 u8 5x4x3x3c i8 scalar u8=128"},
	{"ConvInteger{group=2 pads=1,1,1,1} u8 1x8x3x4 i8 8x4x3x3c u8=3"},
	{"ConvInteger{group=4 pads=1,1,1,1} i8 1x12x3x3@0,2,3,1 i8 16x3x3x3c i8=5"},
	{"ConvInteger{group=16 pads=1,1,1,1} u8 1x16x4x5@0,2,3,1 i8 16x1x3x3c u8=7"},
	{"ConvInteger{group=16 pads=1,1,1,1} i8 1x16x4x5@0,2,3,1 u8 16x1x3x3c i8=7 u8=128"},
	{"ConvInteger{group=5 pads=1,1} u8 1x5x9 i8 5x1x3c u8 scalar"},
	{"ConvInteger{strides=4,4} u8 1x3x4x8 i8 9x3x4x4c u8=7"},
	{"ConvInteger{pads=1,1,1,1} u8 1x8x3x4@0,2,3,1 i8 9x8x3x3c u8=3; Cast{to=1} %0; Mul %1 f32 9x1x1c; QuantizeLinear %2 f32=900 u8=9"},
	{"MatMulInteger u8 7x20 i8 20x33c u8=3 i8 33c"},
	{"MatMulInteger u8 13x16 i8 16x19c u8=3; Cast{to=1} %0; Mul %1 f32 19c"},
	{"MatMulInteger i8 7x21 i8 21x9 i8=-3"},
	{"MatMulInteger i8 2x5x8 u8 2x8x9 i8 scalar u8 scalar"},
};
/* Instructions for products of bytes with signs alone, of two rows at once, without the one or the other sign, of words; none. */
static const char *const takers[] = {
	"armv8.2-a", "armv8.6-a", "armv8.6-a+sve256", "cpu=x;features=fma,avx2,avx512,vnni;l1=32K;l2=1024K", "x86-64-v3", "generic",
};

/* What is left to the evaluator, and why. */
static const char *const refused[][2] = {
	{"ReduceSum f32 2x2x2x2x2x2x2x2x2", "18 axes in one stage"},
	{"ReduceLogSumExp f32 2x2x2x2x2x2x2x2x2x2x2x2", "24 axes in one stage"},
	{"GlobalAveragePool f32 2x2x2x2x2x2x2x2x2x2", "18 axes in one stage"},
	{"LayerNormalization{axis=0} f32 2x2x2x2x2x2x2x2x2 2x2x2x2x2x2x2x2x2 -> %0 %0.1", "18 axes in one stage"},
	{"Resize{mode=linear} i32 1x3x5x5 _ f32=1,1,2,2", "weighted sums of integers"},
};

static struct arena a;
static struct rng rng = {5};
static struct target lengths[LENGTHS]; /* this machine, with vectors of 16, 32 and 64 bytes */

static const char *tensor_differs(const struct tensor *y, const struct tensor *r)
{
	bool real = dtype_is_float(r->dtype);
	size_t size = dtype_size(r->dtype);
	int64_t n = tensor_count(r);
	double most = 0;

	for (int64_t i = 0; i < n && real; i++)
		most = fmax(most, size_of(tensor_get(r, i)));
	for (int64_t i = 0; i < n; i++) {
		double u = tensor_get(y, i), v = tensor_get(r, i);
		bool same = real ? off_by(u, v) <= epsilon(r->dtype) * size_of(v) + 1e-5 * most
				 : !memcmp((const char *)y->data + (size_t)i * size, (const char *)r->data + (size_t)i * size, size);
		if (!same)
			return arena_printf(&a, "element %lld is %.9g, not %.9g", (long long)i, u, v);
	}
	return NULL;
}

/* ---- schedules ---- */

static const char *try_schedule(struct kernel *k, const struct target *t, const struct samples *want, struct samples *got,
				struct lowered *l, const char **trace)
{
	const char *why;

	*l = lower_group(k->m, task_node(k->m), t, NULL, &why);
	if (why)
		return why;
	*trace = arena_str(&a, schedule_with(l->prog, want, got));
	samples_keep(got, &a);
	if ((why = loop_legalize(l->prog)) || (why = loop_verify(l->prog)) || (k->t->flags & WRAPS))
		return why;
	void **at = storage(k->m, k->in, l, &a);
	why = loop_interp(l->prog, at);
	return why ? why : differs(k, l->prog, at, tensor_differs);
}

static bool try_schedules(struct kernel *k)
{
	struct samples want = {0}, met = {0};
	const char *why = NULL, *trace = "";

	for (int i = 0; i < schedules && !why; i++) {
		struct samples got = {0};
		struct lowered l;
		const struct target *t = i ? &lengths[i % LENGTHS] : target_host();
		why = try_schedule(k, t, &want, &got, &l, &trace);
		if (!i)
			k->low = l;
		else if (l.prog)
			prog_free(l.prog);
		if (got.n > met.n) {
			vec_free(&met);
			met = got;
		} else {
			vec_free(&got);
		}
		if (i >= LENGTHS)
			decide(&met, &want, &rng, 1);
	}
	if (why)
		why = arena_str(&a, why); /* it may lie in the program */
	ok(!why, "%s%s%s", k->t->text, why ? ": " : "", why ? why : "");
	if (why)
		printf("# %s\n", trace);
	vec_free(&want);
	vec_free(&met);
	return !why;
}

/* By default and otherwise, for one target. */
static const char *try_taker(struct kernel *k, const char *name, const char **trace)
{
	struct samples want = {0}, met = {0}, got = {0};
	const char *why = NULL;
	struct target t;

	if (!target_find(name, &t))
		return target_why_not(name);
	for (int otherwise = 0; otherwise < 2 && !why; otherwise++) {
		struct lowered l;
		why = try_schedule(k, &t, &want, otherwise ? &got : &met, &l, trace);
		why = why ? arena_str(&a, why) : NULL; /* it may lie in the program */
		if (l.prog)
			prog_free(l.prog);
		decide(&met, &want, &rng, 1);
	}
	vec_free(&want);
	vec_free(&met);
	vec_free(&got);
	return why;
}

static void try_codes(void)
{
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
		struct kernel k;
		kernel_begin(&k, &codes[i], &a);
		for (size_t n = 0; n < sizeof takers / sizeof *takers; n++) {
			const char *trace = "", *why = try_taker(&k, takers[n], &trace);
			ok(!why, "%s: %s%s%s", takers[n], codes[i].text, why ? ": " : "", why ? why : "");
			if (why)
				printf("# %s\n", trace);
		}
		module_free(k.m);
	}
}

/* A reduction of any kind, type, shape, axes. */
static const char *random_reduction(void)
{
	static const char *const ops[] = {"Sum", "Max", "Min", "SumSquare", "Mean", "Prod", "L1", "L2", "LogSum", "LogSumExp"};
	static const char *const types[] = {"bool", "i8", "u8", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"};
	int type = (int)rng_range(&rng, 0, 10), rank = (int)rng_range(&rng, 1, 4);
	int op = (int)(type == 0 ? rng_range(&rng, 1, 2) : rng_range(&rng, 0, type < 7 ? 3 : 9));
	char *shape = arena_str(&a, ""), *axes = arena_str(&a, "");

	for (int d = 0; d < rank; d++) {
		shape = arena_printf(&a, "%s%s%d", shape, d ? "x" : "", (int)rng_range(&rng, 1, rank < 3 ? 150 : 20));
		if (rng_range(&rng, 0, 1) || (d + 1 == rank && !*axes))
			axes = arena_printf(&a, "%s%d,", axes, d);
	}
	if (strchr(axes, ',') != strrchr(axes, ','))
		axes[strlen(axes) - 1] = 0;
	return arena_printf(&a, "Reduce%s%s %s %s i64=%s", ops[op], rng_range(&rng, 0, 1) ? "{keepdims=0}" : "", types[type], shape, axes);
}

static void try_random(void)
{
	enum { TEXTS = 150 };

	for (int i = 0; i < TEXTS; i++) {
		struct text t = {random_reduction(), .5, 1.5}; /* integers: 0 and 1 */
		struct kernel k;
		kernel_begin(&k, &t, &a);
		if (try_schedules(&k))
			prog_free(k.low.prog);
		module_free(k.m);
	}
}

/* ---- compiled ---- */

static void try_compiled(const struct kernel *k, int n)
{
	struct kernel *some = ARENA_ARRAY(&a, struct kernel, n);
	int count = 0;

	for (int i = 0; i < n; i++)
		if (compiler_takes(k[i].t->text))
			some[count++] = k[i];
	k = some;
	n = count;
	void *lib = compile(k, n, target_host(), "kernels");
	if (!ok(lib != NULL, "%d kernels compile", n))
		return;
	for (int i = 0; i < n; i++) {
		struct loop_prog *p = k[i].low.prog;
		void **at = storage(k[i].m, k[i].in, &k[i].low, &a);
		run_kernel(lib, i, p, at);
		const char *why = differs(&k[i], p, at, tensor_differs);
		ok(!why, "compiled: %s%s%s", k[i].t->text, why ? ": " : "", why ? why : "");
	}
}

/* ---- what has no kernel ---- */

static void try_refused(const char *text, const char *reason)
{
	const char *why;
	struct module *m = task_module(text, 1, &a, &why);
	struct lowered l = lower_group(m, task_node(m), target_host(), NULL, &why);

	ok(!l.prog && strstr(why, reason), "%s: %s", text, why ? why : "it has a kernel");
	module_free(m);
}

int main(int argc, char **argv)
{
	enum { TEXTS = sizeof texts / sizeof *texts };
	static struct kernel k[TEXTS];
	int n = 0;

	msg_tool = "kernels";
	if (getenv("KERNELS_SCHEDULES"))
		schedules = atoi(getenv("KERNELS_SCHEDULES"));
	for (int i = 0; i < LENGTHS; i++) {
		lengths[i] = *target_host();
		lengths[i].vector_bytes = 16 << i;
	}
	for (size_t i = 0; i < sizeof refused / sizeof *refused && argc < 2; i++)
		try_refused(refused[i][0], refused[i][1]);
	for (int i = 0; i < TEXTS; i++) {
		if (argc > 1 && strncmp(texts[i].text, argv[1], strlen(argv[1])))
			continue;
		kernel_begin(&k[n], &texts[i], &a);
		n += try_schedules(&k[n]);
	}
	if (argc < 2)
		try_random();
	if (argc < 2 || !strcmp(argv[1], "codes"))
		try_codes();
	if (n)
		try_compiled(k, n);
	return tap_done();
}
