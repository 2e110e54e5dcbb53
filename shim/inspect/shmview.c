// SPDX-License-Identifier: MIT
/*
 * Reading a segment; see shmview.h.
 */
#include "inspect/shmview.h"
#include "object/perm.h"
#include "shm/shmattach.h"

/* The segment with its lock held, if the caller has these rights. */
static int view_lock(struct caller *c, s32 id, u32 want, struct slot **ret,
	struct shm_segment **ret_seg)
{
	struct shm_stat st;
	struct slot *s;
	u64 ident;
	int err;

	/* Sweeps exited tasks, and has the right to read checked. */
	err = want & PERM_R ? shm_stat(c, id, OBJECT_BY_ID, &st)
			    : caller_enroll(c);
	if (err)
		return err;
	err = object_allowed(c, FAC_SHM, id, want, &s, &ident);
	if (!err)
		err = shm_settle(c, s, ident, ret_seg);
	*ret = s;
	return err;
}

s32 shm_attachments(struct caller *c, s32 id, struct shm_attachment *ret, u32 n)
{
	const struct shm_attach *rec;
	struct shm_segment *seg;
	struct walk w = {0};
	struct slot *s;
	u32 found = 0;
	int err = view_lock(c, id, PERM_R, &s, &seg);

	if (err)
		return err;
	for (rec = shm_attach_at(c, seg->attach_all);
		rec && walk_goes_on(c, &w, region_off(&c->region, rec));
		rec = shm_attach_at(c, rec->seg_next)) {
		const struct task *t = region_task(&c->region, rec->task);
		u32 child = t->state == TASK_PREFORK ? (u32)t->prefork : 0;

		if (found < n)
			ret[found] = (struct shm_attachment){
				.pid = child ? child : t->pid,
				.count = rec->count,
				.addr = SHM_ATTACH_ADDR(rec->addr),
				.since = rec->since,
				.read_only =
					(rec->addr & SHM_ATTACH_RDONLY) != 0};
		found++;
	}
	lock_release(c, &s->lock);
	return (s32)found;
}

static s64 copy(struct caller *c, struct shm_segment *seg, int fd, u64 off,
	char *buf, u64 len, int write)
{
	u64 size = seg->size, at = seg->off;

	if (off >= size)
		return 0;
	if (len > size - off)
		len = size - off;
	if (!shm_in_file(c, at, size / SYS_PAGE + (size % SYS_PAGE != 0)))
		return -EIO;
	if (!write)
		return sys_call(__NR_pread64, fd, buf, len, at + off);
	if (!seg->touched)
		atom_store_release(&seg->touched, 1);
	return sys_call(__NR_pwrite64, fd, buf, len, at + off);
}

s64 shm_copy(struct caller *c, s32 id, int fd, u64 off, void *buf, u64 len,
	int write)
{
	struct shm_segment *seg;
	struct slot *s;
	int err = view_lock(c, id, write ? PERM_W : PERM_R, &s, &seg);
	s64 n;

	if (err)
		return err;
	n = copy(c, seg, fd, off, buf, len, write);
	lock_release(c, &s->lock);
	return n;
}

#define SEEK_DATA 3

s64 shm_next_data(struct caller *c, s32 id, int fd, u64 off)
{
	struct shm_segment *seg;
	struct slot *s;
	u64 from, size;
	s64 at;
	int err = view_lock(c, id, PERM_R, &s, &seg);

	if (err)
		return err;
	from = seg->off;
	size = seg->size;
	lock_release(c, &s->lock);
	if (off >= size)
		return (s64)size;
	at = sys_call(__NR_lseek, fd, from + off, SEEK_DATA);
	if (at == -ENXIO)
		return (s64)size;
	/* If holes are not known they are read. */
	if (at < 0)
		return (s64)off;
	return (u64)at - from < size ? at - (s64)from : (s64)size;
}
