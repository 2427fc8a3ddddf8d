/* What this user measured, from this machine. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "common/whole.h"
#include "kb/kb.h"
#include "kb/path.h"

enum { KEY_BYTES = 32 };

/* Reads the key from its file, which is made if there is none. false: it cannot be. */
static bool read_key(const char *path, char key[KEY_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool good = fd >= 0 && read_whole(fd, key, KEY_BYTES);

	if (fd >= 0)
		close(fd);
	return good;
}

/* Written whole, then renamed: a second process reads the first one's key. */
static void make_key(const char *path)
{
	char key[KEY_BYTES], *temporary = xprintf("%s.%d", path, (int)getpid());
	int fd = getrandom(key, sizeof key, 0) == sizeof key ? open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;

	if (fd >= 0) {
		if (write_whole(fd, key, sizeof key))
			(void)!link(temporary, path);
		close(fd);
		unlink(temporary);
	}
	free(temporary);
}

/* The key, beside the custom layer. It is bound to the machine, as several may share a home directory. */
static struct secret {
	char key[KEY_BYTES], machine[64];
	bool known;
} secret;

static const struct secret *take_key(bool make)
{
	struct arena a = {0};
	const char *kb = custom_path(&a), *path = kb ? arena_printf(&a, "%s.key", kb) : NULL;

	if (!secret.known && path && !(secret.known = read_key(path, secret.key)) && make) {
		make_parents(path);
		make_key(path);
		secret.known = read_key(path, secret.key);
	}
	int fd = *secret.machine ? -1 : open("/etc/machine-id", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!read(fd, secret.machine, sizeof secret.machine);
		close(fd);
	}
	arena_release(&a);
	return &secret;
}

static struct digest seal_of(const struct kb_record *r, bool make)
{
	const struct secret *x = take_key(make);
	struct digest_state *d = digest_new();

	digest_add(d, x->key, sizeof x->key);
	digest_add(d, x->machine, sizeof x->machine);
	for (size_t i = 0; i < r->n; i++) {
		if (!strcmp(r->a[i].name, "seal"))
			continue;
		digest_add(d, r->a[i].name, strlen(r->a[i].name) + 1);
		digest_add(d, r->a[i].value, strlen(r->a[i].value) + 1);
	}
	digest_add(d, x->key, sizeof x->key);
	return digest_end(d);
}

void kb_seal(struct kb_record *r, struct arena *a)
{
	char hex[33];

	digest_hex(seal_of(r, true), hex);
	kb_set_field(r, "seal", hex, a);
}

bool kb_is_ours(const struct kb_record *r)
{
	const char *seal = kb_get_field(r, "seal");
	char hex[33];

	if (!seal)
		return false;
	digest_hex(seal_of(r, false), hex);
	return !strcmp(seal, hex);
}
