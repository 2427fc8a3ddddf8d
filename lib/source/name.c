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

/* Words of C, C++ or the generated file, and words that models are often called. */
static bool is_word(const char *s)
{
	/* clang-format off */
	static const char *const words[] = {
		"asm", "at", "auto", "bool", "break", "case", "catch", "char", "class", "concept", "const", "continue",
		"default", "delete", "do", "double", "else", "enum", "errno", "explicit", "export", "extern", "fail",
		"false", "float", "floordiv", "for", "friend", "goto", "if", "inline", "input", "int", "lap", "linux",
		"lmax", "lmin", "long", "main", "mutable", "namespace", "new", "operator", "output", "private",
		"protected", "public", "reason", "register", "requires", "restrict", "return", "run", "short", "signed",
		"sizeof", "static", "step", "steps", "struct", "switch", "team", "template", "this", "throw", "true",
		"try", "typedef", "typename", "typeof", "union", "unix", "unsigned", "using", "vf", "vi", "virtual", "vm",
		"void", "volatile", "while", "A", "AT", "EOF", "FILE", "B", "IN", "LAP", "LAP_IN", "LOOP_MAX", "NULL", "OUT", "PART", "THREADS", "W",
		/* of the runtime and its tables */
		"bad_index", "cpu_lacks", "embedded", "hone_model", "hone_opaque", "hone_opaque_close", "hone_opaque_open",
		"hone_opaque_run", "hone_opaque_run_values", "hone_slot", "hone_value", "is_known", "opaque_run_values", "result_room", "results",
		"run_values", "slot_room", "slot_view", "slot_copy", "slot_move", "slot_bytes", "slot_grow", "COLLECTED_MAX", "take_inputs", "check_shape", "loop_max", "endless", "hone_opts", "hone_step", "hone_tensor", "in_range", "index_outside", "map_weights", "memory_new", "opaque",
		"cut_result", "fit_operand", "fit_result", "fitted", "fitted_product", "NUM_SLOTS", "NUM_SYMBOLS", "table_run_values",
		"kept", "lane_args", "state", "append", "maps", "maps_make", "map_row", "grown", "laid", "state_append", "state_grow", "state_lay", "state_moved", "state_rows", "state_set", "state_shown", "table_moved",
		"table_value",
		"state_first", "state_first_size", "state_found", "state_given", "state_is_open", "state_item_read", "state_keep", "state_make_room", "state_of_input", "state_of_output", "state_begin", "state_digest", "state_end", "state_file_bytes", "state_file_read", "state_file_write", "state_head", "state_item",
		"state_item_bytes", "state_item_put", "state_like", "state_list", "state_open", "state_place", "state_publish", "state_put", "state_read", "state_round",
		"state_take", "table_load", "table_reset", "table_save", "HONE_STATE_FILE_H", "NUM_STATES", "STATE_ALIGN", "STATE_BYTES", "STATE_HEAD",
		"STATE_MAGIC", "STATE_VERSION", "hone_state",
		"opaque_close", "opaque_open", "opaque_run", "seconds_now", "shape_bytes", "shape_endless", "TENSOR", "LAID", "copy_apart", "table", "table_close", "table_open", "table_preset", "table_run",
		"size_check", "size_floor", "size_learn", "size_least", "size_most", "size_plus", "size_refuse", "size_any", "size_result", "size_settle", "size_times",
		"size_work", "size_view", "size_settle_empty", "size_differs", "size_unknown", "slot_record", "RECORD",
		"table_run_timed", "table_verify", "team_claim", "team_close", "team_forked", "team_forks", "team_is_here", "team_main", "team_open", "team_pause", "team_run", "team_share",
		"team_size", "team_start_round", "team_wait", "team_watch", "team_worker", "weights_digest", "weights_head", "weights_sum", "ARENA_BYTES",
		"BAD_INDEX", "EMBEDDED", "HONE_MODEL_ABI", "HONE_MODEL_ABI_H", "HONE_OPAQUE_H", "HONE_OPTS", "IN_PART", "KERNEL",
		"MADE_FOR", "MADE_WITH", "NUM_INPUTS", "NUM_OUTPUTS", "NUM_STEPS", "OPAQUE_AT", "OPAQUE_BYTES", "TEAM_SPIN",
		"VECTOR_BYTES", "WEIGHTS_AT", "WEIGHTS_BYTES", "WEIGHTS_MAGIC", "WEIGHTS_SUM", "_GNU_SOURCE",
		/* types and macros of the C library's headers that do not end in _t */
		"f_owner_ex", "fd_mask", "file_handle", "iovec", "itimerspec", "math_errhandling", "obstack",
		"sigevent", "timespec", "timeval", "timex", "tm", "u_char", "u_int", "u_long", "u_short", "uint", "ulong",
		"ushort", "va_list",
		/* of what kernels call: macros, types, and functions as the sources declare them */
		"vgather", "vhmax", "vhmin", "vhprod", "vhsum", "vihsum", "vihmax", "vihmin", "vihprod", "AS_WRITTEN",
		"EACH_ROUNDED", "IN_STEP", "LOADS_STAY", "STAYS", "SUMS_AS_WRITTEN", "SUMS_STAY", "VIOTA", "VL",
#include "lib/source/called.inc"
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
		"^((k[0-9]+|steps_[0-9]+|region_[0-9]+|flow_[a-z]+|f_[0-9a-f]{16})(_[0-9]+(_args|_work)?)?|(input|output)_(shape|dim|type)[0-9]*|"
		"transpose[0-9]+(_part)?|bf16_(get|put)|(abs|div|max2?|min2?|mod|odd|pow|sign|whole)_(bf|f|i|u)[0-9]+|"
		"v(load|store|gather|scatter|whole|wrap|round)_(bf|f|i|u)[0-9]+(_mask)?)$";

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

/* Does the C library have that name, or NAME_open and so on? */
static bool is_of_library(const char *s)
{
	static const char *const suffix[] = {
		"",       "_open",       "_run",        "_run_values",  "_close",       "_error",      "_verify",
		"_reset", "_state_save", "_state_load", "_state_bytes", "_state_write", "_state_read", "_state_value"};
	bool found = false;

	for (size_t i = 0; i < sizeof suffix / sizeof *suffix && !found; i++) {
		char *name = xprintf("%s%s", s, suffix[i]);
		found = dlsym(RTLD_DEFAULT, name) != NULL;
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
	if (!isdigit((unsigned char)*s) && !is_word(s) && !is_numbered(s) && !is_type(s) && !native_owns(s) && !is_of_library(s))
		return s;
	char *name = xprintf("model_%s", s);
	free(s);
	return name;
}
