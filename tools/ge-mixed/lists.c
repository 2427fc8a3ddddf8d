/* Which operators may be in fewer bits: a column, and files that change it. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <errno.h>
#include <string.h>
#include "common/textfile.h"
#include "mixed.h"

static uint8_t column[OP_COUNT] = {
	/* products */
	[OP_Conv] = MAY_ALLOW,
	[OP_Gemm] = MAY_ALLOW,
	[OP_MatMul] = MAY_ALLOW,
	/* what only moves or chooses elements, or is as exact in few bits as its operands are */
	[OP_Add] = MAY_INFER,
	[OP_AveragePool] = MAY_INFER,
	[OP_Clip] = MAY_INFER,
	[OP_Concat] = MAY_INFER,
	[OP_Flatten] = MAY_INFER,
	[OP_GlobalAveragePool] = MAY_INFER,
	[OP_LeakyRelu] = MAY_INFER,
	[OP_Max] = MAY_INFER,
	[OP_MaxPool] = MAY_INFER,
	[OP_Min] = MAY_INFER,
	[OP_Mul] = MAY_INFER,
	[OP_Relu] = MAY_INFER,
	[OP_Reshape] = MAY_INFER,
	[OP_Slice] = MAY_INFER,
	[OP_Split] = MAY_INFER,
	[OP_Squeeze] = MAY_INFER,
	[OP_Transpose] = MAY_INFER,
	[OP_Unsqueeze] = MAY_INFER,
	/* all others, those that add many numbers, divide or are steep among them (Softmax, LayerNormalization, Exp), stay */
};
static bool by_user[OP_COUNT]; /* the list that it is on was given */

enum may may_be(enum opcode op, enum dtype low)
{
	if (low != DT_U8 || by_user[op] || column[op] != MAY_NOT)
		return (enum may)column[op];
	return op == OP_ConvTranspose ? MAY_ALLOW : op_is(op, OP_PURE) ? MAY_INFER : MAY_NOT;
}

enum opcode integer_form(enum opcode op)
{
	static const uint16_t form[OP_COUNT] = {[OP_Conv] = OP_ConvInteger, [OP_Gemm] = OP_MatMulInteger, [OP_MatMul] = OP_MatMulInteger};

	return (enum opcode)form[op];
}

static void read_names(char *line, const char *path, int number, enum may may)
{
	static const char blanks[] = " \t\r\n,";

	line[strcspn(line, "#")] = 0;
	for (char *s = line + strspn(line, blanks); *s; s += strspn(s, blanks)) {
		size_t n = strcspn(s, blanks);
		bool last = !s[n];
		s[n] = 0;
		enum opcode op = op_find("", s);
		if (op == OP_OTHER)
			die(EX_BADDATA, "%s:%d: %s is no operator", path, number, s);
		column[op] = may;
		by_user[op] = true;
		s += n + !last;
	}
}

void may_read(const char *path, enum may may)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	if (!f)
		die(EX_NOIN, "%s: %s", path, strerror(errno));
	for (int number = 1; textfile_line(f, path, &line, &size); number++)
		read_names(line, path, number, may);
	free(line);
	fclose(f);
}
