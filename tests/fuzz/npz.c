/* The reader of .npy and .npz files, and what takes values of every kind from their arrays, under libFuzzer. What it takes is written, and
 * read again as it was. */
#define _GNU_SOURCE
#include <string.h>
#include <zlib.h>
#include "op/npy.h"
#include "op/op.h"
#include "op/values.h"
#include "text.h"

static const char model[] =
	"hone-text 1\nmodule ir=8 opset=20\nsymbol n 0 inf\nsymbol k 0 inf\ngraph main {\n  input x: f32[n,3]\n  input i: i64[k]\n  input t: str[k]\n"
	"  input s: ?[*]%\"seq(tensor(float))\"\n  input q: ?[*]%\"seq(seq(tensor(string)))\"\n"
	"  input o: ?[*]%\"optional(tensor(float))\"\n  input p: ?[*]%\"optional(seq(tensor(int64)))\"\n"
	"  input m: ?[*]%\"map(int64,tensor(float))\"\n  output x = x\n}\n";
static char path[32];
static int fd = -1;

static void put(const void *p, size_t n)
{
	if (fd >= 0)
		close(fd);
	fd = memfd_create("input", MFD_CLOEXEC);
	must(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	snprintf(path, sizeof path, "/dev/fd/%d", fd);
}

static uint32_t le(const unsigned char *p, int n)
{
	uint32_t v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

/* Stored members get the sums that their bytes have: else no mutant of them would be looked at. */
static void mend(unsigned char *p, size_t n)
{
	for (size_t i = 0; i + 46 <= n; i++) {
		unsigned char *e = p + i;
		uint32_t at = le(e + 42, 4), size = le(e + 24, 4), skip, sum;
		if (memcmp(e, "PK\1\2", 4) || le(e + 10, 2) || at > n || n - at < 30)
			continue;
		skip = 30 + le(p + at + 26, 2) + le(p + at + 28, 2);
		if (skip > n - at || size > n - at - skip)
			continue;
		sum = (uint32_t)crc32_z(0, p + at + skip, size);
		for (int k = 0; k < 4; k++)
			e[16 + k] = (unsigned char)(sum >> 8 * k);
	}
}

static bool same(const struct tensor *x, const struct tensor *y)
{
	struct npy_type t;
	const char *why;

	if (!tensor_like(x, y))
		return false;
	t = npy_type_of(x, &why);
	return !t.kind || (x->nbytes == y->nbytes && (!x->nbytes || !memcmp(x->data, y->data, x->nbytes)));
}

static void written_again(int n, const struct named_tensor *v, struct arena *a)
{
	struct named_tensor *again;
	char out[] = "/tmp/fuzz-npz-XXXXXX";
	int file = mkstemp(out), k = 0;

	must(file >= 0);
	close(file);
	if (!REFUSED(npz_write(out, n, v))) {
		must(!REFUSED(k = npz_read(out, a, &again)));
		must(k == n);
		for (int i = 0; i < n; i++)
			must(!strcmp(v[i].name, again[i].name) && same(v[i].t, again[i].t));
	}
	unlink(out);
}

static void as_inputs(struct arena *a)
{
	struct input_spec spec = {0};
	static struct module *m;
	char link[64]; /* the name says what it is */
	struct tensor **in = NULL;

	if (!m)
		m = read_text(model, sizeof model - 1);
	snprintf(link, sizeof link, "/tmp/fuzz-%d.npz", (int)getpid());
	must(!symlink(path, link));
	vec_push(&spec.files, link);
	if (!REFUSED(in = inputs_make(m, &spec, a)))
		for (size_t i = 0; i < graph(m, m->main)->in.n; i++)
			must(tensor_size(in[i]) < 1 << 30);
	unlink(link);
	vec_free(&spec.files);
}

static void rows(struct arena *a)
{
	struct npy_rows *r = NULL;

	if (REFUSED(r = npy_rows_open(path)))
		return;
	for (int64_t i = 0; r->rank && i < r->dims[0] && i < 3; i++)
		must(npy_rows_read(r, i, 1, a)->dims[0] == 1);
	npy_rows_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena a = {0};
	struct named_tensor *v;
	unsigned char *p = malloc(n + 1);
	int count = 0;

	memcpy(p, data, n);
	mend(p, n);
	put(p, n);
	free(p);
	if (n && data[0] == 0x93) {
		struct tensor *t = NULL;
		if (!REFUSED(t = npy_read(path, &a)))
			written_again(1, &(struct named_tensor){(char *)"x", t}, &a);
		rows(&a);
	} else if (!REFUSED(count = npz_read(path, &a, &v))) {
		written_again(count, v, &a);
		as_inputs(&a);
	}
	arena_release(&a);
	return 0;
}
