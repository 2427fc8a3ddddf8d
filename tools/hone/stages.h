/* THE list of passes: the stages of a build, in their order. hone runs it (chain.c), hone passes --list prints it, and the Makefile takes
 * the passes of test programs from it (tests/passes.h).
 *
 * STAGE(name, tool, when, parts, options): name is that of its line in the report and of its graph in STEM.d; when says in which builds it
 * runs; parts are those of the list that run again on other graphs; options are words that this stage always gives its tool. */
#ifndef STAGE
#define STAGE(name, tool, when, parts, options)
#endif
/* clang-format off */
STAGE(import,   ge_import,   FROM_ONNX, 0,                     "")
STAGE(shape,    ge_shape,    ALWAYS,    SIZES,                 "")
STAGE(fold,     ge_fold,     ALWAYS,    CLEAN | CASTS,         "") /* the next three run again until the third changes nothing: a branch */
STAGE(simplify, ge_simplify, ALWAYS,    CLEAN | CASTS,         "") /* that takes its If's place shows what was hidden in it */
STAGE(deadedge, ge_deadedge, ALWAYS,    CLEAN | REPEATS,       "")
STAGE(fewest,   ge_simplify, FOR_FILE,  CLEAN,                 "--fewest")
STAGE(cse,      ge_cse,      ALWAYS,    CLEAN,                 "")
STAGE(dedup,    ge_dedup,    ALWAYS,    CLEAN,                 "")
STAGE(prune,    ge_prune,    ALWAYS,    CLEAN | CASTS,         "")
STAGE(narrow,   ge_narrow,   FOR_RUNS,  0,                     "") /* if it changed something, CLEAN again */
STAGE(gears,    ge_gears,    GEARS,     0,                     "") /* then CLEAN again: its sizes make things constant */
STAGE(mixed,    ge_mixed,    MIXED,     0,                     "") /* of CASTS and KERNELS of both forms; then CASTS again */
STAGE(integer,  ge_integer,  ALWAYS,    KERNELS,               "")
STAGE(regroup,  tune_graph,  REGROUPED, SEARCHES,              "") /* then the next two change nothing, but for layouts of states */
STAGE(recall,   tune_graph,  RECALLED,  0,                     "--recall") /* the same of what is known */
STAGE(fuse,     ge_fuse,     ALWAYS,    KERNELS,               "")
STAGE(layout,   ge_layout,   ALWAYS,    KERNELS,               "")
STAGE(share,    ge_gears,    GEARS,     0,                     "--share")
STAGE(join,     ge_join,     JOINED,    0,                     "")
STAGE(schedule, ge_schedule, PREDICTED, 0,                     "") /* for several threads: what the default schedules take */
STAGE(tune,     tune_op,     TUNED,     SEARCHES,              "")
STAGE(plan,     ge_plan,     ALWAYS,    REPORTS,               "")
STAGE(emit,     ge_emit,     COMPILED,  REPORTS,               "")
/* clang-format on */
#undef STAGE
