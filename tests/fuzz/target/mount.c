// SPDX-License-Identifier: MIT
/*
 * mount: what those who use the mount hand it (inode numbers, names, texts
 * written to its files), on a damaged registry, of which each file is then
 * made.
 *
 * Input: struct asked, so many bytes of name or text, and steps behind them.
 */
#include <string.h>

#include "content.h"
#include "entries.h"
#include "object/sysctl.h"
#include "requester.h"
#include "target.h"
#include "tree.h"

struct asked {
	uint64_t ino;
	int64_t offset;
	uint8_t want, n_text, pad[6];
};

struct input {
	struct asked asked;
	char text[256];
};

/* ---- what is asked ---- */

static void make_one(struct requester *who, const struct node *n)
{
	struct text t = {0};
	struct stat st;
	u32 idx = 0;

	node_stat(&target, n, &st);
	node_access(&target, who, n, PERM_R);
	if (n->kind == NODE_SYSVIPC)
		content_sysvipc(&target, n->fac, &idx, &t);
	else if (n->kind == NODE_VIEW || n->kind == NODE_LOCKS)
		n->view(&target, &t);
	else if (n->kind == NODE_PART)
		n->part(&target, n->id, &t);
	text_deinit(&t);
}

static void walk(struct requester *who, const struct node *dir, int depth)
{
	struct entries e = {0};
	const struct entry *one;
	struct node n;
	u64 i;

	if (!entries_make(&e, &target, dir))
		for (i = 2; (one = entries_at(&e, i)); i++)
			if (!node_decode(one->ino, &n)) {
				make_one(who, &n);
				if (one->is_dir && depth < 5)
					walk(who, &n, depth + 1);
			}
	entries_deinit(&e);
}

static void ask(void *arg)
{
	struct input *in = arg;
	size_t len = in->asked.n_text;
	struct requester who = {0};
	struct node n, child;
	struct stat st;

	requester_init(&who, 1000, 1000, 0);
	if (!node_decode(in->asked.ino, &n)) {
		node_stat(&target, &n, &st);
		node_access(&target, &who, &n, in->asked.want & 7);
		if (!node_lookup(&target, &n, in->text, &child))
			make_one(&who, &child);
		if (n.kind == NODE_SYSCTL)
			sysctl_write(&target, n.sysctl, in->asked.offset,
				in->text, len);
		if (n.kind == NODE_LOCKS)
			content_set_locks(&target, in->text, len);
	}
	if (in->asked.want & 8 && !node_decode(NODE_ROOT, &n))
		walk(&who, &n, 0);
	requester_deinit(&who);
}

/* The bytes that are not steps. */
static size_t read_input(const uint8_t *data, size_t size, struct input *ret)
{
	size_t n;

	*ret = (struct input){0};
	if (size < sizeof(ret->asked))
		return 0;
	memcpy(&ret->asked, data, sizeof(ret->asked));
	n = ret->asked.n_text;
	if (n > size - sizeof(ret->asked))
		n = size - sizeof(ret->asked);
	ret->asked.n_text = (uint8_t)n;
	memcpy(ret->text, data + sizeof(ret->asked), n);
	return sizeof(ret->asked) + n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in;
	size_t head = read_input(data, size, &in);

	target_damage(data + head, size - head);
	target_run(ask, &in);
	return 0;
}

size_t LLVMFuzzerCustomMutator(
	uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct input in;

	return target_mutate(
		data, size, max_size, seed, read_input(data, size, &in));
}
