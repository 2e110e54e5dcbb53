// SPDX-License-Identifier: MIT
/*
 * Names of a directory; see entries.h.
 */
#include "entries.h"

#include <errno.h>
#include <string.h>

static int add(void *arg, const char *name, u64 ino, int is_dir)
{
	struct entries *e = arg;
	size_t len = strlen(name) + 1;
	size_t size = (sizeof(struct entry) + len + 7) & ~(size_t)7;
	struct entry *at = (struct entry *)text_reserve(&e->packed, size);

	if (!at)
		return -ENOMEM;
	text_add(&e->starts, (const char *)&e->packed.len, sizeof(size_t));
	if (e->starts.failed)
		return -ENOMEM;
	*at = (struct entry){ino, (u32)is_dir};
	memcpy(at->name, name, len);
	e->packed.len += size;
	return 0;
}

int entries_make(struct entries *e, struct caller *c, const struct node *dir)
{
	int err;

	entries_deinit(e);
	err = add(e, ".", dir->ino, 1);
	if (!err)
		err = add(e, "..", NODE_ROOT, 1);
	return err ? err : node_list(c, dir, add, e);
}

const struct entry *entries_at(const struct entries *e, u64 number)
{
	if (number >= e->starts.len / sizeof(size_t))
		return NULL;
	return (const struct entry *)(e->packed.buf +
				      ((const size_t *)e->starts.buf)[number]);
}

void entries_deinit(struct entries *e)
{
	text_deinit(&e->packed);
	text_deinit(&e->starts);
}
