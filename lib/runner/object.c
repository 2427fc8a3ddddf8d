#define _GNU_SOURCE
#include "runner/object.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "target/backend.h"

#ifndef DT_RELR
enum { DT_RELRSZ = 35, DT_RELR = 36, DT_RELRENT = 37 };
#endif
enum { LOADS_MAX = 16, TAGS = 40, WORD = 8, PAGE = 4096 };
#define RUNS "it runs code when it is loaded: "
static const char no_library[] = "it is no library that can be read";

struct object {
	const unsigned char *p;
	size_t n;
	const struct elf_machine *machine;
	Elf64_Phdr load[LOADS_MAX], dynamic;
	int nload;
	uint64_t tag[TAGS]; /* by number; 0: it is not there */
	uint64_t gnu_hash;
};

/* What lies at an address. False: the file does not have it, or it can be written, and so may be something else when it is read. */
static bool take(const struct object *o, uint64_t addr, void *to, size_t n, uint32_t flags)
{
	for (int i = 0; i < o->nload; i++) {
		const Elf64_Phdr *l = &o->load[i];
		uint64_t at = addr - l->p_vaddr;
		if (addr < l->p_vaddr || at > l->p_filesz || n > l->p_filesz - at || l->p_flags & PF_W & ~flags)
			continue;
		memcpy(to, o->p + l->p_offset + at, n);
		return true;
	}
	return false;
}

static bool get(const struct object *o, uint64_t addr, void *to, size_t n) { return take(o, addr, to, n, 0); }

static const char *read_segments(struct object *o)
{
	Elf64_Ehdr h;
	uint64_t end = 0;

	if (o->n < sizeof h)
		return no_library;
	memcpy(&h, o->p, sizeof h);
	if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_type != ET_DYN ||
	    h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phoff > o->n || h.e_phnum > (o->n - h.e_phoff) / sizeof(Elf64_Phdr))
		return no_library;
	if (!(o->machine = backend_elf(h.e_machine)))
		return "it is for a machine that is not known";
	for (int i = 0; i < h.e_phnum; i++) {
		Elf64_Phdr s;
		memcpy(&s, o->p + h.e_phoff + (size_t)i * sizeof s, sizeof s);
		if (s.p_type == PT_DYNAMIC && o->dynamic.p_type)
			return no_library;
		if (s.p_type == PT_DYNAMIC)
			o->dynamic = s;
		if (s.p_type != PT_LOAD)
			continue;
		if (o->nload == LOADS_MAX || s.p_offset > o->n || s.p_filesz > o->n - s.p_offset || s.p_memsz < s.p_filesz ||
		    s.p_vaddr > INT64_MAX || s.p_memsz > INT64_MAX - s.p_vaddr)
			return no_library;
		if (s.p_vaddr / PAGE * PAGE < end || (s.p_vaddr - s.p_offset) % PAGE) /* pages of one are no others' */
			return no_library;
		end = s.p_vaddr + s.p_memsz;
		o->load[o->nload++] = s;
	}
	return o->dynamic.p_type ? NULL : no_library;
}

/* Those that are in the process already. */
static bool is_usual(const char *name)
{
	static const char *const usual[] = {"libc.", "libm.", "libmvec.", "libgcc_s.", "ld-linux", "ld-musl"};

	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		if (!strncmp(name, usual[i], strlen(usual[i])))
			return !strchr(name, '/');
	return false;
}

static const char *check_needed(const struct object *o, uint64_t at)
{
	enum { MOST = 64 };
	char name[MOST];

	for (size_t i = 0; i < MOST && o->tag[DT_STRTAB]; i++) {
		if (!get(o, o->tag[DT_STRTAB] + at + i, &name[i], 1))
			break;
		if (!name[i])
			return is_usual(name) ? NULL : "it needs a library that is none of C's";
	}
	return no_library;
}

static const char *check_tag(const struct object *o, const Elf64_Dyn *d)
{
	switch (d->d_tag) {
	case DT_INIT: return RUNS "_init";
	case DT_FINI: return RUNS "_fini, at its end";
	case DT_INIT_ARRAY:
	case DT_PREINIT_ARRAY: return RUNS "a constructor";
	case DT_FINI_ARRAY: return RUNS "a destructor, at its end";
	case DT_NEEDED: return check_needed(o, d->d_un.d_val);
	case DT_PLTRELSZ:
	case DT_PLTGOT:
	case DT_STRTAB:
	case DT_SYMTAB:
	case DT_RELA:
	case DT_RELASZ:
	case DT_RELAENT:
	case DT_STRSZ:
	case DT_SYMENT:
	case DT_SONAME:
	case DT_RPATH:
	case DT_SYMBOLIC:
	case DT_PLTREL:
	case DT_JMPREL:
	case DT_BIND_NOW:
	case DT_RUNPATH:
	case DT_FLAGS:
	case DT_RELR:
	case DT_RELRSZ:
	case DT_RELRENT:
	case DT_GNU_HASH:
	case DT_TLSDESC_PLT:
	case DT_TLSDESC_GOT:
	case DT_VERSYM:
	case DT_RELACOUNT:
	case DT_FLAGS_1:
	case DT_VERDEF:
	case DT_VERDEFNUM:
	case DT_VERNEED:
	case DT_VERNEEDNUM: return NULL;
	default: return d->d_tag >= DT_LOPROC && d->d_tag <= DT_LOPROC + 0xff ? NULL : no_library; /* the processor's */
	}
}

/* It can be written, but no relocation does. Twice: names are found once all tags are known. Of two alike the loader takes the
 * last. A source may add to the list as to any section. */
static const char *read_dynamic(struct object *o)
{
	const char *why = NULL;
	Elf64_Dyn d;

	for (int turn = 0; turn < 2; turn++)
		for (uint64_t at = o->dynamic.p_vaddr;; at += sizeof d) {
			if (at - o->dynamic.p_vaddr + sizeof d > o->dynamic.p_memsz || !take(o, at, &d, sizeof d, PF_W))
				return no_library;
			if (d.d_tag == DT_NULL)
				break;
			if (turn && (why = check_tag(o, &d)))
				return why;
			if (d.d_tag > 0 && d.d_tag < TAGS)
				o->tag[d.d_tag] = d.d_un.d_val;
			if (d.d_tag == DT_GNU_HASH)
				o->gnu_hash = d.d_un.d_val;
		}
	return NULL;
}

/* ---- symbols ---- */

static const char *check_symbol(const struct object *o, uint64_t i)
{
	Elf64_Sym s;

	if (i > UINT32_MAX || !get(o, o->tag[DT_SYMTAB] + i * sizeof s, &s, sizeof s))
		return no_library;
	return ELF64_ST_TYPE(s.st_info) == STT_GNU_IFUNC ? RUNS "an indirect function" : NULL;
}

/* How many symbols can be found by name: those up to the end of the last chain. False: it is garbled. */
static bool count_symbols(const struct object *o, uint64_t *count)
{
	uint32_t h[4], last = 0, v;

	if (!get(o, o->gnu_hash, h, sizeof h))
		return false;
	uint64_t bucket = o->gnu_hash + sizeof h + (uint64_t)h[2] * WORD, first = bucket + (uint64_t)h[0] * sizeof v;
	for (uint32_t i = 0; i < h[0]; i++) {
		if (!get(o, bucket + (uint64_t)i * sizeof v, &v, sizeof v) || (v && v < h[1]))
			return false;
		last = v > last ? v : last;
	}
	uint64_t n = h[1];
	for (bool ends = !last; !ends; n++) {
		n = n < last ? last : n;
		if (!get(o, first + (n - h[1]) * sizeof v, &v, sizeof v))
			return false;
		ends = v & 1;
	}
	*count = n;
	return true;
}

static const char *check_symbols(const struct object *o)
{
	const char *why = NULL;
	uint64_t n;

	if (!count_symbols(o, &n))
		return no_library;
	for (uint64_t i = 0; i < n && !why; i++)
		why = check_symbol(o, i);
	return why;
}

/* ---- relocations ---- */

/* Its data, and not the list of what the loader is to do. */
static const char *check_target(const struct object *o, uint64_t addr, uint64_t size)
{
	const Elf64_Phdr *d = &o->dynamic;

	for (int i = 0; i < o->nload; i++) {
		const Elf64_Phdr *l = &o->load[i];
		uint64_t at = addr - l->p_vaddr;
		bool in = l->p_flags & PF_W && addr >= l->p_vaddr && l->p_memsz >= size && at <= l->p_memsz - size;
		if (in && (addr + size <= d->p_vaddr || addr >= d->p_vaddr + d->p_memsz))
			return NULL;
	}
	return "a relocation that is not of its data";
}

static const char *check_relocations(const struct object *o, uint64_t addr, uint64_t size)
{
	const char *why = NULL;
	Elf64_Rela r;

	for (uint64_t i = 0; i * sizeof r < size && !why; i++) {
		if (!get(o, addr + i * sizeof r, &r, sizeof r))
			return no_library;
		uint64_t type = ELF64_R_TYPE(r.r_info);
		if (type == o->machine->irelative)
			return RUNS "an indirect function";
		if (type == o->machine->copy)
			return no_library;
		if (type == 0 && r.r_offset == 0)
			continue; /* none */
		if (!(why = check_symbol(o, ELF64_R_SYM(r.r_info))))
			why = check_target(o, r.r_offset, type == o->machine->descriptor ? 2 * WORD : WORD);
	}
	return why;
}

/* Packed ones: an address, then bits for the 63 words behind it, and for the 63 behind those. */
static const char *check_packed(const struct object *o)
{
	enum { BITS = 63 };
	const char *why = NULL;
	uint64_t word, at = 0;

	for (uint64_t i = 0; i * sizeof word < o->tag[DT_RELRSZ] && !why; i++) {
		if (!get(o, o->tag[DT_RELR] + i * sizeof word, &word, sizeof word))
			return no_library;
		if (!(word & 1)) {
			why = check_target(o, word, WORD);
			at = word + WORD;
			continue;
		}
		for (uint64_t k = 0; k < BITS && !why; k++)
			if (word >> (k + 1) & 1)
				why = check_target(o, at + k * WORD, WORD);
		at += BITS * WORD;
	}
	return why;
}

const char *object_check_bytes(const unsigned char *p, size_t n)
{
	struct object o = {.p = p, .n = n};
	const char *why;

	if ((why = read_segments(&o)))
		return why;
	if ((why = read_dynamic(&o)) || (why = check_symbols(&o)) || (why = check_relocations(&o, o.tag[DT_RELA], o.tag[DT_RELASZ])) ||
	    (why = check_relocations(&o, o.tag[DT_JMPREL], o.tag[DT_PLTRELSZ])))
		return why;
	return check_packed(&o);
}

const char *object_check(const char *path, struct arena *a)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st = {0};
	void *p = fd >= 0 && !fstat(fd, &st) && st.st_size ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	bool empty = fd >= 0 && S_ISREG(st.st_mode) && !st.st_size;
	const char *why = p == MAP_FAILED ? arena_printf(a, "%s: %s", path, empty ? "the linker left it empty" : strerror(errno)) : NULL;

	if (fd >= 0)
		close(fd);
	if (why)
		return why;
	why = object_check_bytes(p, (size_t)st.st_size);
	munmap(p, (size_t)st.st_size);
	return why;
}
