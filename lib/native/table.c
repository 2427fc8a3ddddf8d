#include "native/table.h"

#define ROW(op, file) NATIVE native_function native_##op;
#include "lib/native/table.inc"
#undef ROW

static const struct native_row rows[] = {
#define ROW(op, file) {#op, file, native_##op},
#include "lib/native/table.inc"
#undef ROW
};

const struct native_row *native_find(const char *op)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(rows[i].op, op))
			return &rows[i];
	return NULL;
}
