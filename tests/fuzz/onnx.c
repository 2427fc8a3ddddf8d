/* The importer under libFuzzer, and the exporter on what it accepts. Refusing is fine, a crash or a BUG is not. Seeds:
 * small models (libonnx-testdata). */
#include "onnx/onnx.h"
#include "refuse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct onnx_import_opts in = {.no_store = true};
	struct onnx_export_opts out = {0};
	struct module *volatile m = NULL;

	if (!REFUSED(m = onnx_import_bytes("fuzz", data, n, true, &in); onnx_export(m, "/dev/null", &out)))
		module_free(m);
	return 0;
}
