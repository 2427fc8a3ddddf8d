/* The distance of tasks, by their texts alone. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "search/search.h"

static bool digit(char c) { return isdigit((unsigned char)c) != 0; }

/* A number that stands alone or in a shape, not part of a word (f32) or the name of a value (%1, $1, #1). */
static bool number_at(const char *text, const char *s)
{
	if (!digit(*s) || s == text)
		return digit(*s);
	if (s[-1] == 'x')
		return s - 1 > text && digit(s[-2]);
	return !isalnum((unsigned char)s[-1]) && !strchr("_%$#", s[-1]);
}

/* Not by strtod alone: 0x16 is a shape. */
static double number(const char **s)
{
	char *end;
	double x = **s == '0' && (*s)[1] == 'x' ? 0 : strtod(*s, &end);

	*s = **s == '0' && (*s)[1] == 'x' ? *s + 1 : end;
	return x;
}

static double distance(const char *a, const char *end_a, const char *b, const char *end_b)
{
	const char *s = a, *t = b;
	double sum = 0;

	while (s < end_a && t < end_b) {
		if (number_at(a, s) && number_at(b, t)) {
			double x = number(&s), y = number(&t);
			if (x != y)
				sum += x > 0 && y > 0 ? fabs(log2(x / y)) : 1 + fabs(x - y);
		} else if (*s++ != *t++) {
			return INFINITY;
		}
	}
	return s == end_a && t == end_b ? sum : INFINITY;
}

double task_distance(const char *a, const char *b) { return distance(a, a + strlen(a), b, b + strlen(b)); }

double task_distance_first(const char *a, const char *b) { return distance(a, a + strcspn(a, ";>"), b, b + strcspn(b, ";>")); }
