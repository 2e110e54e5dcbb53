// SPDX-License-Identifier: MIT
/*
 * unshare(2) and setns(2), and what a thread sees to that has come into another
 * IPC namespace by them or by clone(2); world.h.
 */
#include <linux/sched.h>
#include <signal.h>
#include "base/file.h"
#include "entry/environment.h"
#include "entry/file/fd.h"
#include "entry/log.h"
#include "entry/notify_thread.h"
#include "entry/sysv.h"
#include "entry/world.h"
#include "registry/ipcns.h"
#include "sem/undo.h"

static void set_base(void)
{
	const struct world *w = world_of(process_shm());
	const char *path = environment_get("IPCLIFT_REGISTRY");
	char own[64], why[512];

	if (world_base()[0])
		return;
	if (w->region.base) {
		world_set_base(w->region.path, w->ns != 0);
		return;
	}
	if (!path || !*path) {
		region_default_path(own, sizeof(own), why, sizeof(why));
		path = own;
	}
	world_set_base(path, 0);
}

/* The only thread: what it owes of SEM_UNDO is the process's. */
static int is_alone(void)
{
	struct file_stat st;

	return !sys_call(__NR_stat, "/proc/self/task", &st) && st.nlink == 3;
}

/* As at exit: the kernel does so to who leaves, unless other threads have the
 * list with him. */
static void undo_leave(struct caller *c)
{
	if (!process_page.generation || !c->task ||
		c->generation != process_page.generation || !is_alone())
		return;
	section_begin(c);
	undo_apply_own(c);
	section_end(c);
}

/* The next call asks, and every descriptor whose it is. */
static void moved(void)
{
	undo_leave(&process_caller);
	world_moved = 1;
	fd_ask_again();
	if (!process_caller.in_section && !process_caller.interrupt)
		process_caller.generation = 0;
}

static u64 own_number(void)
{
	u64 n = 0;

	ipcns_number(IPCNS_OWN, &n);
	return n;
}

u64 world_before(int may_move)
{
	if (!may_move)
		return 0;
	set_base();
	return own_number();
}

static void complain(int err)
{
	char why[WORLD_PATH_CAP + 256];
	size_t n = str_add(why, sizeof(why), 0, world_base());

	n = str_add(why, sizeof(why), n,
		": this new IPC namespace gets no registry of its own, its "
		"programs share this one: ");
	str_add(why, sizeof(why), n, str_error(-err));
	log_complain(why);
}

void world_made(void)
{
	const u64 all = ~0ULL;
	u64 mask, n = 0;
	int err;

	sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
	err = ipcns_number(IPCNS_OWN, &n);
	if (!err)
		err = ipcns_make(world_base(), n);
	if (err)
		complain(err);
	moved();
	sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

static void joined(int surely, u64 before)
{
	if (surely || own_number() != before)
		moved();
}

/* ---- the calls ---- */

/* Refused to a process of several threads, but for CLONE_NEWIPC. */
static int by_unshare(int (*real)(int), int flags)
{
	int paused = notify_thread_pause(), ret;

	world_before(flags & CLONE_NEWIPC);
	ret = real(flags);
	if (!ret && (flags & CLONE_NEWIPC))
		world_made();
	else if (!ret && (flags & CLONE_SYSVSEM))
		undo_leave(&process_caller);
	notify_thread_resume(paused);
	return ret;
}

static int by_setns(int (*real)(int, int), int fd, int type)
{
	int may = !type || (type & CLONE_NEWIPC), paused, ret;
	u64 before;

	process_before_raw(__NR_setns, (u32)fd, (u32)type, 0);
	paused = notify_thread_pause();
	before = world_before(may);
	ret = real(fd, type);
	if (!ret && may)
		joined(type != 0, before);
	notify_thread_resume(paused);
	return ret;
}

static int raw_unshare(int flags)
{
	return (int)sys_call(__NR_unshare, flags);
}

static int raw_setns(int fd, int type)
{
	return (int)sys_call(__NR_setns, fd, type);
}

long entry_moving(long nr, long a, long b)
{
	return nr == __NR_unshare ? by_unshare(raw_unshare, (int)a)
				  : by_setns(raw_setns, (int)a, (int)b);
}

EXPORT int unshare(int flags)
{
	static void *next;
	int (*real)(int) = (int (*)(int))process_next(&next, "unshare");
	int ret = real ? by_unshare(real, flags) : -1;

	process_forget_credentials();
	return ret;
}

EXPORT int setns(int fd, int type)
{
	static void *next;
	int (*real)(int, int) = (int (*)(int, int))process_next(&next, "setns");
	int ret = real ? by_setns(real, fd, type) : -1;

	process_forget_credentials();
	return ret;
}
