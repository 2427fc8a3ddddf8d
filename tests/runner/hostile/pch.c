/* build error */
/* A file as a header that was compiled before. */
#pragma GCC pch_preprocess "/etc/passwd"
#error not here
