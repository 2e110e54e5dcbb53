// SPDX-License-Identifier: MIT
/*
 * Several registries in one process; see world.h.
 */
#include "entry/world.h"
#include "registry/identity.h"
#include "registry/ipcns.h"
#include "registry/journal/journal.h"

#define PATH_CAP WORLD_PATH_CAP

int world_moved;
static struct {
	struct world at[WORLDS - 1];
	char path[WORLDS - 1][PATH_CAP];
	char base[PATH_CAP];
} others SYS_FAR_BSS;
/* Read in each first call, and so not in the struct. */
static u32 n_others;
static int base_set;

const char *world_base(void)
{
	return base_set ? others.base : "";
}

void world_set_base(const char *path, int has_number)
{
	size_t n;

	if (others.base[0])
		return;
	base_set = 1;
	str_add(others.base, PATH_CAP, 0, path);
	for (n = str_len(path); has_number && n && path[n] != '/'; n--)
		;
	if (has_number) /* ".ns" */
		others.base[n > 3 && n < PATH_CAP ? n - 3 : 0] = 0;
}

/* ---- which one ---- */

struct ask_call {
	const char *path;
	u64 ns, number;
	int err;
};

static void ask_call(void *arg)
{
	struct ask_call *a = arg;

	a->err = ipcns_of_thread(a->path, &a->ns, &a->number);
}

/* The one line that says why there is no registry; err. */
static int refuse(char *why, size_t cap, const char *path, int err)
{
	size_t n = 0;

	if (err == -EACCES) {
		n = str_add(why, cap, n, path);
		n = str_add(why, cap, n,
			".ns: whether this IPC namespace has a registry of its "
			"own cannot be seen: ");
	} else {
		n = str_add(why, cap, n,
			"no free descriptor to ask which IPC namespace this "
			"is: ");
	}
	str_add(why, cap, n, str_error(-err));
	return err;
}

int world_map(struct world *w, const char *path,
	const struct region_options *options, char *why, size_t cap)
{
	struct region_options opt = *options;
	char name[IPCNS_PATH_SIZE(path)];
	u64 ns = 0, number;
	int err = ipcns_of_thread(path, &ns, &number);

	/* Of a path that is out of reach altogether region_map says so. */
	if (err == -EACCES && sys_call(__NR_access, path, 0 /* F_OK */) == err)
		err = 0;
	if (err)
		return refuse(why, cap, path, err);
	if (ns) {
		ipcns_path(path, ns, name);
		path = name;
	}
	if (w >= others.at && w < others.at + WORLDS - 1)
		opt.name = others.path[w - others.at];
	w->ns = ns;
	w->number = number;
	return region_map(&w->region, path, &opt, why, cap);
}

struct world *world_each(struct world *first, u32 *at)
{
	u32 i = (*at)++;

	if (i == 0 && first->region.base)
		return first;
	if (i == 0)
		i = (*at)++;
	return i <= n_others ? &others.at[i - 1] : NULL;
}

struct world *world_here(struct world *first, int *ret_err)
{
	struct ask_call a = {.path = others.base};
	struct world *w;
	u32 at = 0;

	ask_call(&a);
	if (a.err == -EMFILE)
		sys_with_descriptors(ask_call, &a);
	*ret_err = a.err == -EACCES ? a.err : -ENOSPC;
	while ((w = world_each(first, &at)))
		if (w->region.base && (a.err == -EACCES ? w->number == a.number
							: w->ns == a.ns))
			return w;
	if (a.err == -EACCES)
		return NULL;
	if (!first->region.base)
		return first;
	/* One that could not be mapped is tried again. */
	if (n_others && !others.at[n_others - 1].region.base)
		return &others.at[n_others - 1];
	if (n_others == WORLDS - 1)
		return NULL;
	return &others.at[n_others++];
}

void world_inherit(struct world *first)
{
	struct world *w;
	u32 at = 0;

	while ((w = world_each(first, &at)))
		w->inherited = 1;
}

/* ---- switching ---- */

void world_leave(struct caller *c, u32 generation)
{
	struct world *w = world_of(c->shm);
	struct sys_robust_head *robust = c->robust;
	u32 async = c->async;

	/* Not the parent's records in a fork child. */
	if (w && c->thread && generation && w->generation == generation &&
		c->tid == (u32)sys_gettid()) {
		w->tid = c->tid;
		w->thread = c->thread;
		w->task = c->task;
	}
	__builtin_memset(c, 0, sizeof(*c));
	c->robust = robust;
	c->async = async;
}

void world_return(struct caller *c, struct world *w)
{
	const struct thread *th = region_thread(&c->region, w->thread);
	int own = w->tid == c->tid && w->generation == c->generation;

	w->generation = c->generation;
	w->tid = 0;
	if (!own || th->tid != c->tid ||
		!identity_same(th->birth, identity_birth(c->tid)))
		return;
	c->thread = w->thread;
	c->task = w->task;
	caller_set_bias_id(c);
	journal_find(c);
}
