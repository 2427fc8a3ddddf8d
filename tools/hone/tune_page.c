/* The page of a tuning: what hone tune alone knows, in the part that tune-op left for it. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include "common/page.h"
#include "common/sha256.h"
#include "common/shown.h"
#include "common/textfile.h"
#include "hone.h"

static const char *time_text(struct hone *h, double seconds)
{
	return seconds < 1e-3 ? text(h, "%.4g us", 1e6 * seconds) : text(h, "%.4g ms", 1e3 * seconds);
}

void tune_page(struct hone *h, double before, double after)
{
	struct stat st;
	char digest[65] = "", *html;

	if (!given_is(h, "report"))
		return;
	if (!stat(h->model, &st) && S_ISREG(st.st_mode))
		sha256_file(h->model, digest);
	FILE *f = textfile_open(&html, NULL);
	if (isfinite(before) && isfinite(after))
		fprintf(f, "<p class=\"sum\">Whole model, measured: %s before, %s after (%+.1f%%)</p>\n", time_text(h, before),
			time_text(h, after), 100 * (after / before - 1));
	else
		fputs("<p class=\"sum\">Whole model: not measured here; the line below is predicted from its tasks.</p>\n", f);
	fputs("<p class=\"soft\">", f);
	page_put(f, base_name(h->model));
	fprintf(f, "%s<code>%s</code></p>\n<p class=\"soft\"><code>", *digest ? ", SHA-256 " : "", digest);
	page_put(f, h->line);
	fputs("</code></p>\n", f);
	textfile_close(f);
	page_refill(given_value(h, "report"), PAGE_WHOLE, html);
}
