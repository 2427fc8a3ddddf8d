/* ONNX in and out. The only user of protobuf-c. */
#ifndef HONE_ONNX_H
#define HONE_ONNX_H
#include "graph/module.h"

struct onnx_import_opts {
	bool overridable_const; /* IR < 4: weights listed as inputs are constants all the same */
	bool copy;              /* copy weights into the blob store instead of referring to the file */
	bool no_maps;           /* a ZipMap is left out: scores stay a tensor */
	bool keep_foreign;      /* operators of other domains stay whole (Foreign) */
	bool no_store;          /* do not touch the blob store: data stays mapped (tools that only look) */
};
#define UNNAMED_SIZE "unnamed size" /* key in a module's meta: a symbol whose size has no name in the file */

/* An ONNX or, as its first bytes say, a GGUF file. path "-": standard input (weights are then copied). Converted to the canonical opset, bodies
 * closed, functions expanded. Bad data: die(65) naming file and offset or node. */
struct module *onnx_import(const char *path, const struct onnx_import_opts *o);
/* The same from n bytes that outlive the module. heap: they are in memory, not those of the file
 * path, so weights are copied and external data is refused. */
struct module *onnx_import_bytes(const char *path, const void *p, size_t n, bool heap, const struct onnx_import_opts *o);

/* Writes m as ONNX, and changes it on the way. opset 0: that of the file it came from, or of none the lowest >= 13 at
 * which each node means the same. external: weights go into a file beside it (needed above 2 GB). Fused and calls are
 * inlined. */
struct onnx_export_opts {
	int opset;
	const char *external; /* file name, or NULL */
};
void onnx_export(struct module *m, const char *path, const struct onnx_export_opts *o);

/* A tensor in a file of its own (.pb), as ONNX's test data has them. Not one: die(65). */
struct tensor *onnx_read_tensor(const char *path, struct arena *a);

/* By name: it ends in ".onnx" or ".gguf". */
bool onnx_is_path(const char *path);
/* A module from FILE: .onnx and .gguf are imported (not stored), anything else is a graph stream of one
 * module. It has passed the checker. */
struct module *module_read_any(const char *path);
/* The same, but operators of other domains stay whole: for who shows or writes a model and does not run it. */
struct module *module_read_whole(const char *path);
#endif
