// SPDX-License-Identifier: MIT
/*
 * Rows of /proc/sysvipc and status lines; see render.h.
 */
#include "render/render.h"
#include "base/row.h"

const char *render_head(enum facility f)
{
	static const char *const heads[] = {
		[FAC_SEM] = "       key      semid perms      nsems   uid   gid"
			    "  cuid  cgid      otime      ctime\n",
		[FAC_MSG] = "       key      msqid perms      cbytes       qnum"
			    " lspid lrpid   uid   gid  cuid  cgid      stime"
			    "      rtime      ctime\n",
		[FAC_SHM] = "       key      shmid perms                  size"
			    "  cpid  lpid nattch   uid   gid  cuid  cgid"
			    "      atime      dtime      ctime"
			    "                   rss                  swap\n",
	};

	return heads[f];
}

/* A blank and a column. */
static void column(struct row *r, u64 v, int width)
{
	row_char(r, ' ');
	row_unsigned(r, v, width);
}

static void key_id_mode(struct row *r, s32 key, s32 id, u32 mode)
{
	row_signed(r, key, 10);
	row_char(r, ' ');
	row_signed(r, id, 10);
	row_text(r, "  ");
	row_octal(r, mode, 4);
}

static void owners(struct row *r, u32 uid, u32 gid, u32 cuid, u32 cgid)
{
	column(r, uid, 5);
	column(r, gid, 5);
	column(r, cuid, 5);
	column(r, cgid, 5);
}

static size_t row_end(struct row *r)
{
	row_char(r, '\n');
	return r->len;
}

size_t render_sem_row(const struct sem_stat *st, char *buf)
{
	struct row r = {buf, 0};

	key_id_mode(&r, st->key, st->id, st->mode);
	column(&r, st->nsems, 10);
	owners(&r, st->uid, st->gid, st->cuid, st->cgid);
	column(&r, (u64)st->otime, 10);
	column(&r, (u64)st->ctime, 10);
	return row_end(&r);
}

size_t render_msg_row(const struct msg_stat *st, char *buf)
{
	struct row r = {buf, 0};

	key_id_mode(&r, st->key, st->id, st->mode);
	row_char(&r, ' ');
	column(&r, st->cbytes, 10);
	column(&r, st->qnum, 10);
	column(&r, st->lspid, 5);
	column(&r, st->lrpid, 5);
	owners(&r, st->uid, st->gid, st->cuid, st->cgid);
	column(&r, (u64)st->stime, 10);
	column(&r, (u64)st->rtime, 10);
	column(&r, (u64)st->ctime, 10);
	return row_end(&r);
}

size_t render_shm_row(const struct shm_stat *st, u64 rss, u64 swap, char *buf)
{
	struct row r = {buf, 0};

	key_id_mode(&r, st->key, st->id, st->mode);
	column(&r, st->size, 21);
	column(&r, st->cpid, 5);
	column(&r, st->lpid, 5);
	row_char(&r, ' ');
	column(&r, st->nattch, 5);
	owners(&r, st->uid, st->gid, st->cuid, st->cgid);
	column(&r, (u64)st->atime, 10);
	column(&r, (u64)st->dtime, 10);
	column(&r, (u64)st->ctime, 10);
	column(&r, rss, 21);
	column(&r, swap, 21);
	return row_end(&r);
}

size_t render_mq_line(const struct mq_status *st, char *buf)
{
	char line[128];
	struct row r = {line, 0};

	row_text(&r, "QSIZE:");
	row_unsigned_left(&r, st->bytes, 10);
	row_text(&r, " NOTIFY:");
	row_unsigned_left(&r, st->notify, 5);
	row_text(&r, " SIGNO:");
	row_unsigned_left(&r, st->signo, 5);
	row_text(&r, " NOTIFY_PID:");
	row_unsigned_left(&r, st->notify_pid, 6);
	row_end(&r);
	if (r.len > MQ_STATUS_SIZE - 1)
		r.len = MQ_STATUS_SIZE - 1;
	__builtin_memcpy(buf, line, r.len);
	return r.len;
}

/* The row of the object at idx: its length, 0 if there is none any more. */
static size_t row_of(struct caller *c, enum facility f, u32 idx, char *buf)
{
	union {
		struct sem_stat sem;
		struct msg_stat msg;
		struct shm_stat shm;
	} st;

	switch (f) {
	case FAC_SEM:
		if (sem_stat(c, (s32)idx, OBJECT_BY_IDX_ANY, &st.sem) >= 0)
			return render_sem_row(&st.sem, buf);
		break;
	case FAC_MSG:
		if (msg_stat(c, (s32)idx, OBJECT_BY_IDX_ANY, &st.msg) >= 0)
			return render_msg_row(&st.msg, buf);
		break;
	case FAC_SHM:
		if (shm_stat(c, (s32)idx, OBJECT_BY_IDX_ANY, &st.shm) >= 0)
			return render_shm_row(&st.shm,
				shm_resident(c, idx) * SYS_PAGE, 0, buf);
		break;
	default:
		break;
	}
	return 0;
}

s64 render_rows(
	struct caller *c, enum facility f, u32 *idx, char *buf, size_t cap)
{
	size_t len = 0;
	int err = caller_enroll(c);
	u32 next, onlooker = c->onlooker;

	if (err)
		return err;
	/* Like the mount, a program that reads this under the shim should
	 * neither queue for a lock nor be preempted while it has one. */
	c->onlooker = 1;
	while (len + RENDER_ROW_MAX <= cap) {
		next = ids_next(c, f, *idx);
		if (next >= IDX_MAX)
			break;
		len += row_of(c, f, next, buf + len);
		*idx = next + 1;
	}
	c->onlooker = onlooker;
	return (s64)len;
}
