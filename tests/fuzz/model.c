/* From an ONNX file to C, as hone build goes. Seeds: small models (libonnx-testdata). */
#include "chain.h"
#include "protos.h"
#include "wires.h"

static struct module *of_model(const uint8_t *data, size_t n)
{
	return onnx_import_bytes("fuzz", data, n, true, &(struct onnx_import_opts){.no_store = true});
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed)
{
	size_t len = seed % 3 ? protos_mutate(data, n, most, seed) : 0;

	return len ? len : wires_mutate(data, n, most, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	chain_all(of_model, data, n);
	return 0;
}
