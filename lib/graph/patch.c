/* A patch edits the text of a stream, where names stand for numbers: a node more moves the numbers of all values after it in the stream,
 * in the text it is a line. Streams that their text does not bring back (weights in them, or another writer's order) are edited as bytes. */
#include "graph/patch.h"
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/textfile.h"
#include "graph/check.h"
#include "graph/delta.h"
#include "graph/mp.h"
#include "graph/stream.h"
#include "graph/text.h"

enum { PATCH_VERSION = 1, PIECE = 1 << 30 /* bytes of an edit: a msgpack length has 32 bits */ };

/* The text of all modules of a stream. */
static struct bytes text_of(const struct bytes *stream, const char *name)
{
	struct bytes text;
	FILE *f = textfile_open(&text.p, &text.n);
	struct stream_reader *r = stream_open_bytes(stream->p, stream->n, name);

	for (struct module *m; (m = stream_read(r)); module_free(m)) {
		module_check_or_die(m);
		text_write(f, m);
	}
	stream_close(r);
	textfile_close(f);
	return text;
}

/* The stream of a text. */
static struct bytes stream_of(const struct bytes *text, const char *name)
{
	VEC(char) out = {0};
	struct text_reader *r = text_open_bytes(text->p, text->n, name);

	for (struct module *m; (m = text_read(r)); module_free(m)) {
		size_t n;
		module_check_or_die(m);
		char *p = stream_bytes(m, false, &n);
		vec_reserve(&out, out.n + n);
		memcpy(out.a + out.n, p, n);
		out.n += n;
		free(p);
	}
	text_close(r);
	return (struct bytes){out.a, out.n};
}

static bool same(const struct bytes *a, const struct bytes *b) { return a->n == b->n && !memcmp(a->p, b->p, a->n); }

static struct digest digest_of(const struct bytes *b) { return digest_bytes(b->p, b->n); }

struct writer {
	struct mp_out o;
	size_t nrecords;
};

static void put_edit(const struct edit *e, void *arg)
{
	struct writer *w = arg;
	size_t from = 0;

	do { /* one, unless it adds more than a piece */
		size_t n = e->nadd - from < PIECE ? e->nadd - from : PIECE;
		mp_put_record(&w->o, 4, "edit");
		mp_put_int(&w->o, from ? 0 : e->skip);
		mp_put_int(&w->o, from ? 0 : (int64_t)e->keep);
		mp_put_bin(&w->o, e->add + from, n);
		from += n;
		w->nrecords++;
	} while (from < e->nadd);
}

static void put_end(struct writer *w)
{
	struct digest sum = digest_bytes(w->o.b.a, w->o.b.n);

	mp_put_record(&w->o, 3, "end");
	mp_put_int(&w->o, (int64_t)w->nrecords);
	mp_put_digest(&w->o, sum);
}

/* Edits of `from` that make `to`; the two are the streams, or their texts. */
static struct bytes written(const char *form, struct digest base, struct digest result, const struct bytes *from, const struct bytes *to)
{
	struct writer w = {.nrecords = 1};

	mp_out_init(&w.o);
	mp_put_record(&w.o, 7, "hone-patch");
	mp_put_int(&w.o, PATCH_VERSION);
	mp_put_str(&w.o, form, strlen(form));
	mp_put_digest(&w.o, base);
	mp_put_digest(&w.o, result);
	mp_put_int(&w.o, (int64_t)to->n);
	mp_put_digest(&w.o, digest_of(to));
	delta_make(from->p, from->n, to->p, to->n, put_edit, &w);
	put_end(&w);
	return (struct bytes){w.o.b.a, w.o.b.n};
}

struct bytes patch_make(const struct bytes *a, const char *a_name, const struct bytes *b, const char *b_name)
{
	struct bytes from = text_of(a, a_name), to = text_of(b, b_name), back = stream_of(&to, b_name), patch;

	if (same(b, &back))
		patch = written("text", digest_of(a), digest_of(b), &from, &to);
	else
		patch = written("bytes", digest_of(a), digest_of(b), a, b);
	free(from.p);
	free(to.p);
	free(back.p);
	back = patch_apply(&patch, "the patch", a, a_name);
	if (!same(b, &back))
		BUG("a patch that does not make its result");
	free(back.p);
	return patch;
}

struct reader {
	struct mp_in r;
	const char *name;
	bool text;
	struct digest base, result, made;
	size_t length; /* of what the edits make */
};

static noreturn void broken(const struct reader *d) { die(EX_BADDATA, "%s:%zu: %s", d->name, d->r.at, d->r.why); }

/* The kind of the next record, and its number of elements, kind included. */
static const char *get_kind(struct mp_in *r, uint32_t *n, size_t *length)
{
	*n = mp_array(r);
	return mp_str(r, length);
}

static bool is(const char *s, size_t n, const char *word) { return n == strlen(word) && !memcmp(s, word, n); }

static void read_header(struct reader *d)
{
	struct mp_in *r = &d->r;
	uint32_t n;
	size_t length;
	const char *kind = get_kind(r, &n, &length);

	if (r->why || !is(kind, length, "hone-patch"))
		die(EX_BADDATA, "%s: not a patch of ge-diff --patch", d->name);
	int64_t version = mp_int(r, 0, INT32_MAX);
	if (!r->why && version != PATCH_VERSION)
		die(EX_BADDATA, "%s: a patch of version %lld, this program reads %d", d->name, (long long)version, PATCH_VERSION);
	size_t at = mp_at(r);
	const char *form = mp_str(r, &length);
	d->text = is(form, length, "text");
	if (n != 7 || (!d->text && !is(form, length, "bytes")))
		mp_fail(r, at, "a form that is neither text nor bytes");
	d->base = mp_digest(r);
	d->result = mp_digest(r);
	d->length = (size_t)mp_int(r, 0, INT64_MAX);
	d->made = mp_digest(r);
	if (r->why)
		broken(d);
}

/* Applies the edits to the base, into out->p. With out->p NULL only the length is found, out->n. */
static void edit(struct reader *d, const struct bytes *base, struct bytes *out)
{
	struct mp_in *r = &d->r;
	size_t at = 0, nrecords = 1, length, add;
	uint32_t n;

	for (;;) {
		size_t begin = mp_at(r);
		const char *kind = get_kind(r, &n, &length);
		if (!r->why && is(kind, length, "end") && n == 3) {
			int64_t count = mp_int(r, 0, INT64_MAX);
			struct digest sum = mp_digest(r);
			if (!r->why && (count != (int64_t)nrecords || !digest_eq(sum, digest_bytes(r->base, begin)) || mp_left(r)))
				mp_fail(r, begin, "the checksum does not match; bytes have changed on their way");
			break;
		}
		if (r->why || !is(kind, length, "edit") || n != 4) {
			mp_fail(r, begin, "an edit or the end expected");
			break;
		}
		at += (size_t)mp_int(r, -(int64_t)at, (int64_t)(base->n - at));
		size_t keep = (size_t)mp_int(r, 0, (int64_t)(base->n - at));
		const void *p = mp_bin(r, &add);
		if (!r->why && (keep > d->length - out->n || add > d->length - out->n - keep))
			mp_fail(r, begin, "edits make more than %zu bytes", d->length);
		if (r->why)
			break;
		if (out->p) {
			memcpy(out->p + out->n, base->p + at, keep);
			if (add)
				memcpy(out->p + out->n + keep, p, add);
		}
		out->n += keep + add;
		at += keep;
		nrecords++;
	}
	if (!r->why && out->n != d->length)
		mp_fail(r, mp_at(r), "edits make %zu bytes, not %zu", out->n, d->length);
	if (r->why)
		broken(d);
}

/* A base that is no stream, or was aborted, is told as that. */
static noreturn void another(const struct reader *d, const struct bytes *base, const char *name)
{
	char want[33], have[33];

	free(text_of(base, name).p);
	digest_hex(d->base, want);
	digest_hex(digest_of(base), have);
	die(EX_BADDATA, "%s: a patch of another stream: its base is %s, %s is %s", d->name, want, name, have);
}

bool patch_begins(const unsigned char *p, size_t n)
{
	static const char begin[] = "\x97\xaahone-patch";
	return !memcmp(p, begin, n < sizeof begin - 1 ? n : sizeof begin - 1);
}

struct bytes patch_apply(const struct bytes *patch, const char *name, const struct bytes *base, const char *base_name)
{
	struct reader d = {.name = name};
	struct bytes from = *base, counted = {0}, out = {0};

	mp_in_init(&d.r, patch->p, patch->n);
	read_header(&d);
	if (!digest_eq(digest_of(base), d.base))
		another(&d, base, base_name);
	if (d.text)
		from = text_of(base, base_name);
	struct mp_in edits = d.r;
	edit(&d, &from, &counted);
	out.p = xmalloc(counted.n + 1);
	d.r = edits;
	edit(&d, &from, &out);
	if (!digest_eq(digest_of(&out), d.made))
		die(EX_BADDATA, "%s: its edits do not make what it says; another version of hone may have written it", name);
	if (d.text) {
		struct bytes text = out;
		out = stream_of(&text, name);
		free(from.p);
		free(text.p);
	}
	if (!digest_eq(digest_of(&out), d.result))
		die(EX_BADDATA, "%s: what it makes has another digest; another version of hone may have written it", name);
	return out;
}
