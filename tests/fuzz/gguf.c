/* The importer of GGUF files under libFuzzer, and the exporter on what it accepts, with operators whole and as ONNX's own. Refusing is fine,
 * a crash or a BUG is not. Seeds: seeds/gguf, by tests/model/gguf_models.py. */
#include <string.h>
#include "onnx/onnx.h"
#include "refuse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct onnx_export_opts out = {0};
	uint8_t *copy = xmalloc(n + 4);

	memcpy(copy, data, n);
	memcpy(copy, "GGUF", 4); /* else it is an ONNX file, which has a target of its own */
	for (int whole = 0; whole < 2; whole++) {
		struct onnx_import_opts in = {.no_store = true, .keep_foreign = whole};
		struct module *volatile m = NULL;
		if (!REFUSED(m = onnx_import_bytes("fuzz", copy, n < 4 ? 4 : n, true, &in); onnx_export(m, "/dev/null", &out)))
			module_free(m);
	}
	free(copy);
	return 0;
}
