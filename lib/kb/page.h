/* The form of LMDB's pages, data version 1 (mdb.c: MDB_page, MDB_meta, MDB_node, MDB_db), in the byte order of the machine,
 * 64-bit. */
#ifndef HONE_KB_PAGE_H
#define HONE_KB_PAGE_H
#include <stdint.h>
#include <string.h>

enum {
	PAGE_HEAD = 16,  /* pgno 8, pad 2, flags 2, lower 2 and upper 2 (overflow: pages 4) */
	META_MAGIC = 16, /* offsets in a head page */
	META_VERSION = 20,
	META_ADDRESS = 24,
	META_DB = 40, /* the database of free pages; the main database is 48 bytes behind it */
	META_LAST = 136,
	META_TXN = 144,
	META_END = 152,
};
enum { MAGIC = (int)0xbeefc0de, PSIZE_MIN = 512, PSIZE_MAX = 32768 };
enum { P_BRANCH = 1, P_LEAF = 2, P_OVERFLOW = 4, P_META = 8, P_DIRTY = 16, P_LEAF2 = 32, P_SUBP = 64 };
/* Node: lo 2, hi 2, flags 2, key size 2, key, data. Branches: lo, hi and flags are a page number. */
enum { NODE_HEAD = 8, F_BIGDATA = 1, F_SUBDATA = 2, F_DUPDATA = 4 };
/* Database: pad 4, flags 2, depth 2, then branch, leaf and overflow pages, entries, root. */
enum { DB_SIZE = 48, DB_FLAGS = 4, DB_DEPTH = 6, DB_BRANCH = 8, DB_LEAF = 16, DB_OVERFLOW = 24, DB_ENTRIES = 32, DB_ROOT = 40 };

static inline uint16_t u16(const unsigned char *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

static inline uint32_t u32(const unsigned char *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

static inline uint64_t u64(const unsigned char *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return v;
}
#endif
