/* Reports as one page of HTML: nothing from elsewhere, whole without scripts, light or dark as the reader has it. Pictures take their colours from the
 * page: var(--ink), --soft, --line, --page, --mark, --base, --better, --tint. */
#ifndef HONE_PAGE_H
#define HONE_PAGE_H
#include <stdio.h>

void page_begin(FILE *f, const char *title);
/* Text between tags, or in quotes. */
void page_put(FILE *f, const char *text);
/* A cell of a row; class "": none. */
void page_cell(FILE *f, const char *class, const char *text);
void page_end(FILE *f);
/* Begins a page with all that is on the page in that file, to go on from there. Not such a page: die(65). */
void page_go_on(FILE *f, const char *path);
#endif
