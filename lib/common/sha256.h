/* SHA-256 (FIPS 180-4): the digest of a file that other programs make too, as sha256sum does. Digests of hone's own are in common/digest.h. */
#ifndef HONE_SHA256_H
#define HONE_SHA256_H
#include <stddef.h>

/* The digest of n bytes, as 64 hex digits and a NUL. */
void sha256_hex(const void *p, size_t n, char out[65]);
/* The digest of a file's bytes. Missing: die(66); it cannot be read: die(74). */
void sha256_file(const char *path, char out[65]);
#endif
