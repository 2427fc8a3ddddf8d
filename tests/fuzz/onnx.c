/* The importer under libFuzzer, and the exporter on what it accepts. Refusing is fine, a crash or a
 * BUG is not. Seeds: small models (libonnx-testdata). Every refusal leaks what it had: run with
 * -detect_leaks=0. */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/msg.h"
#include "onnx/onnx.h"

static jmp_buf refused;

static void give_up(void *arg)
{
	longjmp(refused, 1);
}

noreturn void __wrap_bug_at(const char *file, int line, const char *fmt, ...)
{
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct onnx_import_opts in = {.no_store = true};
	struct onnx_export_opts out = {0};
	int hook = die_hook(give_up, NULL);
	if (setjmp(refused))
		return 0;
	struct module *m = onnx_import_bytes("fuzz", data, n, true, &in);
	onnx_export(m, "/dev/null", &out);
	module_free(m);
	die_unhook(hook);
	return 0;
}
