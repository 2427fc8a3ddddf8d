/* StringNormalizer: strings in one case, without stopwords. */
#include <locale.h>
#include <wchar.h>
#include <wctype.h>
#include "native/native.h"

/* The cases of letters are Unicode's; 0: the locale is not needed yet, or not there. */
struct normalize {
	locale_t l;
	bool failed;
};

/* The character of k bytes at s; k 0: the byte is of none. */
static uint32_t normalize_decode(const unsigned char *s, size_t n, size_t *k)
{
	uint32_t c;

	*k = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
	*k = *k > n ? 0 : *k;
	c = *k < 2 ? s[0] : s[0] & (0x7f >> *k);
	for (size_t i = 1; i < *k; i++) {
		if ((s[i] & 0xc0) != 0x80)
			*k = 0;
		else
			c = c << 6 | (s[i] & 0x3f);
	}
	return c;
}

static size_t normalize_encode(uint32_t c, char *to)
{
	size_t k = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	to[0] = (char)(k == 1 ? c : (0xf00 >> k & 0xff) | c >> 6 * (k - 1));
	for (size_t i = 1; i < k; i++)
		to[i] = (char)(0x80 | (c >> 6 * (k - 1 - i) & 0x3f));
	return k;
}

/* Writes s in one case to `to`, which has room for twice its bytes: how many. Bytes that are not UTF-8 stay. */
static size_t normalize_case(struct normalize *z, const struct native_string *s, bool upper, char *to)
{
	size_t n = 0;

	for (size_t i = 0, k; i < s->n; i += k ? k : 1) {
		unsigned char b = (unsigned char)s->s[i];
		uint32_t c = b;
		k = 1;
		if (b < 0x80) {
			to[n++] = (char)(upper ? (b >= 'a' && b <= 'z' ? b - 32 : b) : b >= 'A' && b <= 'Z' ? b + 32 : b);
			continue;
		}
		c = normalize_decode((const unsigned char *)s->s + i, s->n - i, &k);
		if (!z->l && !z->failed)
			z->failed = !(z->l = newlocale(LC_CTYPE_MASK, "C.UTF-8", 0));
		if (k && z->l)
			n += normalize_encode((uint32_t)(upper ? towupper_l((wint_t)c, z->l) : towlower_l((wint_t)c, z->l)), to + n);
		else
			for (size_t j = 0; j < (k ? k : 1); j++)
				to[n++] = s->s[i + j];
	}
	return n;
}

/* s in one case, in scratch; s NULL: there is no memory. */
static struct native_string normalize_copy(struct native *n, struct normalize *z, struct native_string s, bool upper)
{
	char *to = n->scratch(n, 2 * s.n + 1);

	return (struct native_string){to, to ? normalize_case(z, &s, upper, to) : 0};
}

/* Is s one of the stopwords, which are in lower case unless `exact`? */
static bool normalize_stops(const struct native_string *stop, int nstop, struct native_string s)
{
	for (int i = 0; i < nstop; i++)
		if (stop[i].n == s.n && (!s.n || !memcmp(stop[i].s, s.s, s.n)))
			return true;
	return false;
}

static const char *normalize_run(struct native *n, struct normalize *z)
{
	const struct native_tensor *x = &n->in[0];
	const struct native_attr *stops = native_attr(n, "stopwords");
	const struct native_string *in = x->data;
	const char *action = native_str(n, "case_change_action");
	const bool exact = native_int(n, "is_case_sensitive") != 0, change = *action == 'L' || *action == 'U';
	int64_t count = native_count(x), kept = 0;
	int nstop = stops ? stops->n : 0;
	struct native_string *out = n->scratch(n, sizeof *out * (size_t)(count + 1)),
			     *stop = n->scratch(n, sizeof *stop * (size_t)(nstop + 1)), *y;

	if (!out || !stop)
		return native_no_room(n);
	for (int i = 0; i < nstop; i++) {
		stop[i] = (struct native_string){stops->strs[i], strlen(stops->strs[i])};
		if (!exact && !(stop[i] = normalize_copy(n, z, stop[i], false)).s)
			return native_no_room(n);
	}
	size_t bytes = 0;
	for (int64_t i = 0; i < count; i++) {
		struct native_string s = in[i];
		if (nstop && !exact && !(s = normalize_copy(n, z, s, false)).s)
			return native_no_room(n);
		if (normalize_stops(stop, nstop, s))
			continue;
		out[kept++] = in[i];
		bytes += change ? 2 * in[i].n : 0;
	}
	if (!kept)
		out[kept++] = (struct native_string){"", 0};
	if (!(y = n->texts(n, 0, x->rank, x->rank == 2 ? (int64_t[]){1, kept} : (int64_t[]){kept, 0}, bytes)))
		return native_no_room(n);
	char *to = (char *)(y + kept);
	for (int64_t i = 0; i < kept; i++) {
		y[i] = out[i];
		if (!change)
			continue;
		y[i] = (struct native_string){to, normalize_case(z, &out[i], *action == 'U', to)};
		to += 2 * out[i].n;
	}
	return NULL;
}

NATIVE const char *native_StringNormalizer(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	struct normalize z = {0};
	const char *why;

	if (x->type != NATIVE_STR)
		return native_no_type();
	if (x->rank < 1 || x->rank > 2 || (x->rank == 2 && x->dims[0] != 1))
		return "operand 0 is neither [n] nor [1,n]";
	why = normalize_run(n, &z);
	if (z.l)
		freelocale(z.l);
	return why ? why : z.failed ? "the locale C.UTF-8 is not there" : NULL;
}
