// SPDX-License-Identifier: MIT
/*
 * Children whose making was not seen: by a system call instruction of the
 * application's own. Such a child has attached what its parent had, and nobody
 * counts that until it makes a served call. So whoever is about to drop the last
 * known attachment of a segment looks whether such a child has it, in
 * /proc/PID/maps of processes that are not known, and counts it: before the pages
 * could be given away. That is expensive, so it is done only with a reason:
 *
 *	its parent       the reason
 *	is the caller    it has children (waitid)
 *	died, or called  its image lock is still held (image.h)
 *	exec, with it
 *	detached it      its image lock is noted in shm_segment.past, and held: if
 *	                 the parent lives, its children are looked at; if it is
 *	                 gone, or in another image, everybody is
 *
 * past has space for SHM_PAST images; those whose locks are not held any more are
 * replaced. If there is none to replace, the last becomes IMAGE_UNKNOWN: then
 * everybody is looked at.
 *
 * Not found: a grandchild whose own parent has ended, while the process that
 * detached the segment lives on; what another user's process has, except by root;
 * anything without /proc.
 */
#include "base/file.h"
#include "shm/shmattach.h"
#include "shm/shmfork.h"
#include "registry/region/mapped.h"

#define P_ALL 0
#define WNOHANG_WEXITED_WNOWAIT_WALL 0x41000005

static int has_children(void)
{
	return sys_call(__NR_waitid, P_ALL, 0, NULL,
		       WNOHANG_WEXITED_WNOWAIT_WALL, NULL) != -ECHILD;
}

/* A child that is being counted. */
struct found {
	struct shm_fork f; /* task 0: nothing of it found yet */
	u32 pid;
	u64 image;  /* of its parent, if known */
	int opened; /* mapped_open has found out which file is the registry */
};

/* If pages of the live segment in s overlap the part: 1, and the entry that the
 * child has for it. Else 0. */
static int overlaps(struct caller *c, const struct slot *s,
	const struct mapped_part *part, struct shm_entry *ret)
{
	u64 ident = atom_load_acquire(&s->ident), off, len;
	const struct shm_segment *seg = shm_body(c, s);

	if (!(ident & IDENT_LIVE) || !seg)
		return 0;
	off = seg->off;
	len = seg->pages * SYS_PAGE;
	if (part->off >= off + len || part->off + part->len <= off)
		return 0;
	*ret = (struct shm_entry){
		.ident = ident,
		.slot_idx = region_slot_idx(&c->region, FAC_SHM, s),
		.addr = part->addr + off - part->off,
		.read_only = !(part->prot & 2),
	};
	return 1;
}

/* 0: it has been counted already. */
static int count_part(
	struct caller *c, struct found *found, const struct mapped_part *part)
{
	struct shm_entry e;
	struct slot *s;
	u32 idx = 0;

	for (; (idx = ids_next(c, FAC_SHM, idx)) < IDX_MAX; idx++) {
		s = region_slot(&c->region, FAC_SHM, idx);
		if (!overlaps(c, s, part, &e))
			continue;
		/* Expensive, and most have nothing: so only now. */
		if (!found->f.task &&
			(task_child_named(c, found->pid) ||
				task_child_expected(c, found->pid)))
			return 0;
		if (!found->f.task)
			found->f = shm_found_begin(c);
		shm_found_has(c, &found->f, s, &e);
	}
	return 1;
}

/* Count all that a process has, if nobody has. */
static void look_at(
	struct caller *c, struct mapped *m, struct found *found, u32 pid)
{
	struct mapped_part part;
	int more = 1;

	if (pid == c->pid || task_is_known(c, pid))
		return;
	/* Only once there is one to be looked at: that is expensive. */
	if (!found->opened) {
		if (mapped_open(m, c, c->pid))
			return;
		mapped_close(m);
		found->opened = 1;
	}
	if (mapped_reopen(m, pid))
		return;
	found->pid = pid;
	found->f = (struct shm_fork){0, 0};
	while (more && mapped_next(m, &part))
		if (part.prot && part.off >= REGION_SIZE)
			more = count_part(c, found, &part);
	mapped_close(m);
	shm_found_end(c, &found->f, pid, found->image);
}

/* The children of one thread: the file is "1 2 3 ". Read in pieces, for a process
 * may come here in its first call, on a small stack. */
static void children_of_thread(struct caller *c, struct mapped *m,
	struct found *found, const char *dir, int tid)
{
	char path[64], buf[128], *p;
	size_t len = str_add(path, sizeof(path), 0, dir);
	u32 pid = 0;
	long fd, n;

	len = str_add(path, sizeof(path), len, "/");
	len = str_add_u64(path, sizeof(path), len, (u64)tid);
	str_add(path, sizeof(path), len, "/children");
	fd = sys_call(__NR_open, path, 02000000 /* O_CLOEXEC */, 0);
	if (fd < 0)
		return;
	while ((n = sys_call(__NR_read, fd, buf, sizeof(buf))) > 0)
		for (p = buf; p < buf + n; p++) {
			if (*p >= '0' && *p <= '9') {
				pid = pid * 10 + (u32)(*p - '0');
				continue;
			}
			if (pid)
				look_at(c, m, found, pid);
			pid = 0;
		}
	sys_call(__NR_close, fd);
}

/* Those of a process; 0: everybody. */
static void look_at_children(struct caller *c, u32 parent, u64 image)
{
	struct found found = {.image = image};
	struct file_dir dir;
	struct mapped m;
	const char *name;
	char path[40];
	size_t n = str_add(path, sizeof(path), 0, "/proc");
	int number;

	if (parent) {
		n = str_add(path, sizeof(path), n, "/");
		n = str_add_u64(path, sizeof(path), n, parent);
		str_add(path, sizeof(path), n, "/task");
	}
	if (file_dir_open(&dir, path))
		return;
	while ((name = file_dir_next(&dir))) {
		number = file_number(name);
		if (number > 0 && parent)
			children_of_thread(c, &m, &found, path, number);
		else if (number > 0)
			look_at(c, &m, &found, (u32)number);
	}
	file_dir_close(&dir);
}

/* In a section: a handler must not find a child half counted. */
static void look(struct caller *c, u32 parent, u64 image)
{
	section_begin(c);
	look_at_children(c, parent, image);
	section_end(c);
}

/* An exiting process is no longer known but holds its image's lock until its
 * memory is gone: so the lock is tested a few times more before everybody is
 * looked at, which takes longer. Arbitrary. */
#define END_LOOKS 4
#define END_WAIT_NS 50000 /* doubled each time */

static int held_for_long(const struct caller *c, u64 image)
{
	struct sys_timespec wait = {.nsec = END_WAIT_NS};
	int i;

	for (i = 0; i < END_LOOKS && image != IMAGE_UNKNOWN; i++) {
		sys_call(__NR_nanosleep, &wait, NULL);
		if (!image_held(c, image))
			return 0;
		wait.nsec *= 2;
	}
	return 1;
}

/* Look for children of an image that detached the segment. */
static void look_for_past(struct caller *c, u64 image)
{
	const struct task *t = image_task(c, image);

	if (image == image_own(c) || !image_held(c, image))
		return;
	if (image != IMAGE_UNKNOWN && t->image == image &&
		t->state == TASK_LIVE && !task_gone(c, t))
		look(c, t->pid, image);
	else if (held_for_long(c, image))
		look(c, 0, image);
}

void shm_count_unseen(struct caller *c, struct slot *s, u64 ident)
{
	const struct shm_segment *seg = shm_body(c, s);
	u64 past[SHM_PAST];
	u32 i;

	if (has_children())
		look(c, c->pid, image_own(c));
	for (i = 0; seg && i < SHM_PAST; i++)
		past[i] = atom_load_relaxed(&seg->past[i]);
	if (!seg || atom_load_acquire(&s->ident) != ident)
		return;
	for (i = 0; i < SHM_PAST; i++)
		if (past[i])
			look_for_past(c, past[i]);
}

void shm_count_orphans(struct caller *c, struct task *t)
{
	/* A task made by shm_found_end has its parent's image, whose lock a living
	 * parent holds: then only children of its own are found. */
	if (t != task_own(c) || t->image != image_own(c))
		if (image_held(c, t->image) && held_for_long(c, t->image))
			look(c, 0, t->image);
}

void shm_past_add(struct caller *c, struct shm_segment *seg)
{
	u64 own = image_own(c);
	u32 i;

	if (!own)
		return;
	for (i = 0; i < SHM_PAST; i++)
		if (seg->past[i] == own || seg->past[i] == IMAGE_UNKNOWN)
			return;
	for (i = 0; i < SHM_PAST; i++)
		if (!image_held(c, seg->past[i]))
			break;
	if (i < SHM_PAST)
		atom_store_release(&seg->past[i], own);
	else
		atom_store_release(&seg->past[SHM_PAST - 1], IMAGE_UNKNOWN);
}

/* Also 1 in a vfork child, which attaches in its parent's memory. */
static int has_image(const struct caller *c)
{
	return image_own(c) || !c->image_found;
}

void shm_image_succeed(struct caller *c)
{
	/* End what the image before exec had attached: its lock is gone. */
	if (unlikely(!has_image(c)) && task_own(c)->image)
		reap_task(c, c->task);
}

void shm_image_make(struct caller *c)
{
	/* We may be the child of a handler that forked and returned here before
	 * the lock was taken: then its task is new and needs one. */
	if (unlikely(!has_image(c)))
		image_make(c);
}
