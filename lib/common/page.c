/* Reports as one page of HTML. */
#define _GNU_SOURCE
#include "common/page.h"
#include <string.h>
#include "common/msg.h"
#include "common/outfile.h"
#include "common/shown.h"

static const char style[] =
	":root{--ink:#1b1f24;--soft:#5c6670;--line:#d9dee3;--page:#fff;--mark:#1f6feb;--base:#9aa4ae;--better:#17803d;--worse:#b42318;--tint:#f4f6f8}"
	"@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#98a2ac;--line:#343b43;--page:#14181c;--mark:#6cb0ff;"
	"--base:#66707a;--better:#58c27d;--worse:#ff8f7d;--tint:#1c2127}}"
	"body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:1120px;margin:2rem auto;padding:0 1rem}"
	"h1{font-size:1.35rem;margin:0 0 .3rem}h2{font-size:1.05rem;margin:2rem 0 .6rem}p{margin:.2rem 0;overflow-wrap:anywhere}.soft{color:var(--soft)}"
	".sum{font-size:1.05rem;margin:.8rem 0}"
	"figure{display:inline-block;width:220px;margin:0 1rem .9rem 0}figcaption{font-size:.8rem;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}"
	"svg{display:block;max-width:100%;height:auto}svg text{font:10px system-ui,sans-serif;fill:var(--soft)}"
	".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.86rem;width:100%}"
	"th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid var(--line)}"
	"td:last-child{min-width:15rem}th{font-weight:600;color:var(--soft)}td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}"
	"td.v{white-space:nowrap}td.better{color:var(--better);font-weight:600}td.worse{color:var(--worse);font-weight:600}code{font:.78rem ui-monospace,monospace;color:var(--soft);overflow-wrap:anywhere}"
	".pair{display:flex;flex-wrap:wrap;gap:1rem}.pair figure{width:auto;flex:0 1 auto;margin:0}"
	"svg text.op{fill:var(--ink)}"
	"@media print{:root{--ink:#1b1f24;--soft:#5c6670;--line:#d9dee3;--page:#fff;--mark:#1f6feb;--base:#9aa4ae;--better:#17803d;--worse:#b42318;--tint:#f4f6f8}"
	"body{margin:0;max-width:none}.wide,pre{overflow:visible}pre{white-space:pre-wrap}tr,figure{break-inside:avoid}}"
	"details summary{cursor:pointer}pre{font:.75rem ui-monospace,monospace;background:var(--tint);padding:.5rem;overflow-x:auto;margin:.3rem 0}";

void page_put(FILE *f, const char *s)
{
	for (int k; *s; s += k ? k : 1) {
		k = shown_length(s, 4);
		switch (*s) {
		case '&': fputs("&amp;", f); break;
		case '<': fputs("&lt;", f); break;
		case '>': fputs("&gt;", f); break;
		case '"': fputs("&quot;", f); break;
		default:
			if (k)
				fwrite(s, 1, (size_t)k, f);
			else if (*s == '\n' || *s == '\t')
				putc(*s, f);
			else
				fprintf(f, "\\x%02x", (unsigned char)*s);
		}
	}
}

void page_cell(FILE *f, const char *class, const char *s)
{
	fprintf(f, "<td%s%s%s>", *class ? " class=\"" : "", class, *class ? "\"" : "");
	page_put(f, s);
	fputs("</td>", f);
}

static const char body[] = "</style></head><body>\n", end[] = "</body></html>\n";

void page_begin(FILE *f, const char *title)
{
	fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n<title>",
	      f);
	page_put(f, title);
	fprintf(f, "</title>\n<style>%s%s", style, body);
}

void page_end(FILE *f) { fputs(end, f); }

void page_go_on(FILE *f, const char *path)
{
	struct mapped m;
	size_t n = strlen(end);

	mapped_open(&m, path);
	if (m.n < n || memcmp((const char *)m.p + m.n - n, end, n))
		die(EX_BADDATA, "%s: not a page of a report", path);
	fwrite(m.p, 1, m.n - n, f);
	mapped_close(&m);
}

void page_part_begin(FILE *f, const char *name) { fprintf(f, "<!-- %s -->\n", name); }

void page_part_end(FILE *f, const char *name) { fprintf(f, "<!-- end of %s -->\n", name); }

static size_t find_mark(const struct mapped *m, size_t from, const char *format, const char *name)
{
	char mark[80];
	int n = snprintf(mark, sizeof mark, format, name);
	const unsigned char *at = memmem(m->p + from, m->n - from, mark, (size_t)n);

	if (!at)
		die(EX_BADDATA, "%s: a page without a part '%s'", m->path, name);
	return (size_t)(at - m->p);
}

void page_refill(const char *path, const char *name, const char *html)
{
	struct mapped m;
	struct outfile o;

	mapped_open(&m, path);
	size_t begin = find_mark(&m, 0, "<!-- %s -->\n", name), stop = find_mark(&m, begin, "<!-- end of %s -->\n", name);
	outfile_open(&o, path, false);
	fwrite(m.p, 1, begin, o.f);
	page_part_begin(o.f, name);
	fputs(html, o.f);
	fwrite(m.p + stop, 1, m.n - stop, o.f);
	outfile_close(&o);
	mapped_close(&m);
}
