/* Reports as one page of HTML: nothing from elsewhere, whole without scripts, light or dark as the reader has it. Pictures take their colours from the
 * page: var(--ink), --soft, --line, --page, --mark, --base, --better, --worse, --tint. */
#ifndef HONE_PAGE_H
#define HONE_PAGE_H
#include <stdio.h>

void page_begin(FILE *f, const char *title);
/* Text between tags, or in quotes. */
void page_put(FILE *f, const char *text);
/* A cell of a row; class "": none. */
void page_cell(FILE *f, const char *class, const char *text);
void page_end(FILE *f);
/* The whole model before and after, its digest and the command: a part of the page of a tuning. */
#define PAGE_WHOLE "whole"
/* A part of a page, between begin and end, is found by page_refill by its name. */
void page_part_begin(FILE *f, const char *name);
void page_part_end(FILE *f, const char *name);
/* The page in the file, with html in place of the first part of that name; whole or as it was. No such part: die(65). */
void page_refill(const char *path, const char *name, const char *html);
/* Begins a page with all that is on the page in that file, to go on from there. Not such a page: die(65). */
void page_go_on(FILE *f, const char *path);
#endif
