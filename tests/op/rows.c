/* Rows of operators: where one says that a function of lib/native computes it, the function is there. */
#include <string.h>
#include "common/tool.h"
#include "native/table.h"
#include "op/native.h"
#include "op/op.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

int main(void)
{
	for (enum opcode op = 1; op < OP_COUNT; op++) {
		const struct op *row = op_row(op);
		if (row && row->eval == eval_native)
			ok(native_find(op_name(op)) != NULL, "%s: its function is there", op_name(op));
	}
	return tap_done();
}
