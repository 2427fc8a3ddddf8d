/* The name of a model in C. Its type and its functions (NAME_open, NAME_run and so on) share one file with everything that the file
 * needs. The names of all that are taken, whether this model's file uses them or not. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "source/source_impl.h"

/* Words of C, C++ and the generated file. What the texts that it carries along declare is listed when this is built. */
static bool is_word(const char *s)
{
	/* clang-format off */
	static const char *const words[] = {
		"asm", "at", "auto", "bool", "break", "case", "catch", "char", "class", "concept", "const",
		"continue", "default", "delete", "do", "double", "else", "enum", "errno", "explicit", "export",
		"extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "linux", "long", "main",
		"mutable", "namespace", "new", "operator", "private", "protected", "public", "register", "requires",
		"restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this",
		"throw", "true", "try", "typedef", "typename", "typeof", "union", "unix", "unsigned", "using",
		"virtual", "void", "volatile", "while", "EOF", "FILE", "NULL",
		/* of tables that lib/source writes piece by piece */
		"append", "bad_index", "cpu_lacks", "embedded", "input", "lane_args", "maps", "output", "state_digest", "steps",
		"target_row", "team_worker", "weights_digest", "EMBEDDED", "MADE_FOR", "NUM_OUTPUTS", "NUM_STEPS", "PART", "SHARED",
		"STATE_BYTES", "TARGET", "TARGET_NAMES",
		/* types and macros of the C library's headers that do not end in _t */
		"f_owner_ex", "fd_mask", "file_handle", "iovec", "itimerspec", "math_errhandling", "obstack",
		"sigevent", "timespec", "timeval", "timex", "tm", "u_char", "u_int", "u_long", "u_short", "uint", "ulong",
		"ushort", "va_list",
		/* macros of headers for some CPUs only */
		"FP_FAST_FMA", "FP_FAST_FMAF", "FP_FAST_FMAL",
		/* of what kernels call: macros, types, and functions as the sources declare them */
		"first_bytes", "floordiv", "lmax", "lmin", "vf", "vi", "vm", "vgather", "vhmax", "vhmin", "vhprod", "vhsum", "vihsum", "vihmax",
		"vihmin", "vihprod", "AS_WRITTEN", "EACH_ROUNDED", "IN_STEP", "LOADS_STAY", "STAYS", "SUMS_AS_WRITTEN", "SUMS_STAY", "VIOTA", "VL",
#include "lib/source/called.inc"
#include "lib/source/declared.inc"
#include "lib/source/macros.inc"
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(s, words[i]))
			return true;
	return false;
}

static bool matches(const char *s, const char *pattern)
{
	regex_t r;

	if (regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB))
		BUG("%s", pattern);
	bool found = regexec(&r, s, 0, NULL, 0) == 0;
	regfree(&r);
	return found;
}

/* Kernels and parts of them, functions they share, shapes, and functions of one element type or number of lanes. */
static bool is_numbered(const char *s)
{
	static const char pattern[] =
		"^((k[0-9]+|steps_[0-9]+|region_[0-9]+|f_[0-9a-f]{16}|shared_[0-9]+_k[0-9]+)(_[0-9]+(_args|_work)?)?|(input|output)_(shape|dim|type)[0-9]*|"
		"transpose[0-9]+(_part)?|bf16_(get|put)|(abs|div|max2?|min2?|mod|odd|pow|sign|whole)_(bf|f|i|u)[0-9]+|"
		"v(load|store|gather|scatter|whole|wrap|round)_(bf|f|i|u)[0-9]+(_mask|_first)?)$";

	return matches(s, pattern);
}

/* The headers of the C library that the file includes have these types. Other names in _t are left alone. */
static bool is_type(const char *s)
{
	return matches(s,
		       "^((blkcnt|blksize|caddr|clock|clockid|comparison_fn|cookie_[a-z_]+|daddr|dev|div|double|error|float|fpos|"
		       "fsblkcnt|fsfilcnt|fsid|gid|id|ino|key|ldiv|lldiv|locale|loff|max_align|mode|nlink|off|pid|pthread_[a-z]+|"
		       "ptrdiff|quad|register|sigset|size|socklen|ssize|suseconds|time|timer|u_quad|uid|useconds|wchar)(64)?|"
		       "(u_?)?int(_fast|_least|max|ptr)?[0-9]*)_t$");
}

/* C keeps names that begin like this for compilers and their headers. */
static bool is_reserved(const char *s) { return *s == '_' && (s[1] == '_' || isupper((unsigned char)s[1])); }

/* Is the name taken, or that of a function, NAME_open and so on, by the file itself or by the C library? */
static bool is_taken(const char *s)
{
	static const char *const suffix[] = {
		"",
#include "lib/source/suffixes.inc"
	};
	bool found = false;

	for (size_t i = 0; i < sizeof suffix / sizeof *suffix && !found; i++) {
		char *name = xprintf("%s%s", s, suffix[i]);
		found = is_word(name) || dlsym(RTLD_DEFAULT, name) != NULL;
		free(name);
	}
	return found;
}

char *model_name(const char *stem)
{
	char *s = xprintf("%s", stem);

	for (char *p = s; *p; p++)
		if (!isalnum((unsigned char)*p))
			*p = '_';
	if (!isdigit((unsigned char)*s) && !is_reserved(s) && !is_numbered(s) && !is_type(s) && !native_owns(s) && !is_taken(s))
		return s;
	char *name = xprintf("model_%s", s);
	free(s);
	return name;
}
