// SPDX-License-Identifier: MIT
/*
 * The requests of the kernel; see ops.h.
 *
 * The low-level interface of libfuse, on purpose: an inode number says what it
 * names (tree.h), so no path is built, parsed or remembered for each request,
 * and no table of inodes lives as long as the mount; each open file has its own
 * text, made once; and the short count of a sysctl write is ours to answer.
 *
 * Files are opened with direct I/O: they have no size, as procfs has it, and
 * the kernel hands us each read and write with its offset. Nothing is cached
 * about what can change.
 */
#define FUSE_USE_VERSION 312
#include "ops.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "attributes.h"
#include "content.h"
#include "entries.h"
#include "escape.h"
#include "listing.h"
#include "queue.h"
#include "mq/mqueue.h"
#include "msg/msg.h"
#include "sem/sem.h"
#include "shm/shm.h"
#include "object/sysctl.h"
#include "source.h"
#include "tree.h"

/* Seconds the kernel may believe in a directory that is always there.
 * Arbitrary: it saves look-ups, no more. */
#define FIXED_TIMEOUT 60.0
/* Bytes read of a segment at a time. Arbitrary: what cat asks for. */
#define DATA_MAX (128u << 10)

/* An open file or directory. Threads of a program may share it. */
struct file {
	struct node node;
	/* One for being open, one for each thread that uses it after its reply:
	 * the kernel may have it closed as soon as it has that. */
	u32 refs;
	pthread_mutex_t lock; /* of what follows */
	int made;
	/* Of sysvipc: text are rows that came later, next_idx is behind them.
	 */
	struct listing *listing;
	u32 next_idx;
	struct mq_desc mq; /* of a queue */
	struct text text;
	struct entries entries; /* of a directory */
};

/* ---- who asks ---- */

struct request {
	struct caller *c;
	struct requester *who;
	struct node node;
};

static struct requester *requester_of(fuse_req_t req)
{
	static __thread struct requester who;
	const struct fuse_ctx *ctx = fuse_req_ctx(req);

	requester_init(&who, ctx->uid, ctx->gid, ctx->pid);
	return &who;
}

static int request_make(fuse_req_t req, fuse_ino_t ino, struct request *ret)
{
	int err = source_check();

	if (!err)
		err = node_decode(ino, &ret->node);
	if (err)
		return err;
	ret->who = requester_of(req);
	ret->c = source_caller(ret->who);
	return 0;
}

/*
 * 0 with *ret, or -errno: the registry is gone, or no such inode. What follows
 * in the same function may come back here, with another error (escape.h): it is
 * answered like any other.
 */
#define request_begin(req, ino, ret)                                \
	({                                                          \
		int escaped_ = sigsetjmp(*escape_here(), 0);        \
		escaped_ ? -escaped_ : request_make(req, ino, ret); \
	})

static void reply_error(fuse_req_t req, int err)
{
	fuse_reply_err(req, -err);
}

/* ---- names and attributes ---- */

static double timeout_of(const struct node *n)
{
	return n->fixed && node_is_dir(n) ? FIXED_TIMEOUT : 0;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param e = {0};
	struct request r;
	struct node n;
	int err = request_begin(req, parent, &r);

	if (!err)
		err = node_lookup(r.c, &r.node, name, &n);
	if (!err)
		err = node_stat(r.c, &n, &e.attr);
	if (err) {
		reply_error(req, err);
		return;
	}
	e.ino = n.ino;
	e.entry_timeout = timeout_of(&n);
	fuse_reply_entry(req, &e);
}

/* The root answers even if the registry is gone, so that it can be unmounted.
 * With an open file the kernel asks for nothing but SEEK_END, of which the
 * files of sysvipc know nothing. */
static void op_getattr(
	fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct request r;
	struct stat st;
	int err = request_begin(req, ino, &r);

	if (!err && fi && r.node.kind == NODE_SYSVIPC)
		err = -EINVAL;
	if (err == -ESTALE && ino == NODE_ROOT) {
		st = (struct stat){.st_ino = NODE_ROOT,
			.st_mode = S_IFDIR | 0555,
			.st_nlink = 2,
			.st_uid = source_uid(),
			.st_gid = source_gid()};
		err = 0;
	} else if (!err) {
		err = node_stat(r.c, &r.node, &st);
	}
	if (err)
		reply_error(req, err);
	else
		fuse_reply_attr(req, &st, 0);
}

static void op_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
	struct request r;
	u32 want = (mask & R_OK ? PERM_R : 0) | (mask & W_OK ? PERM_W : 0);
	int err = request_begin(req, ino, &r);

	if (!err)
		err = node_access(r.c, r.who, &r.node, want);
	if (!err && (mask & X_OK) && !node_is_dir(&r.node))
		err = -EACCES;
	reply_error(req, err);
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr,
	int to_set, struct fuse_file_info *fi)
{
	struct request r;
	struct stat st;
	int err = request_begin(req, ino, &r);

	if (!err)
		err = attributes_set(
			r.c, r.who, &r.node, attr, to_set, fi != NULL);
	if (!err)
		err = node_stat(r.c, &r.node, &st);
	if (err)
		reply_error(req, err);
	else
		fuse_reply_attr(req, &st, 0);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st = {
		.f_bsize = 4096, .f_frsize = 4096, .f_namemax = MQ_NAME_MAX};

	(void)ino;
	fuse_reply_statfs(req, &st);
}

/* ---- open files ---- */

static struct file *file_new(const struct node *n)
{
	struct file *f = calloc(1, sizeof(*f));

	if (f) {
		f->node = *n;
		f->refs = 1;
		pthread_mutex_init(&f->lock, NULL);
	}
	return f;
}

static struct file *file_of(const struct fuse_file_info *fi)
{
	return (struct file *)(uintptr_t)fi->fh;
}

static void file_put(struct file *f)
{
	if (__atomic_sub_fetch(&f->refs, 1, __ATOMIC_ACQ_REL))
		return;
	pthread_mutex_destroy(&f->lock);
	if (f->listing)
		listing_put(f->listing);
	text_deinit(&f->text);
	entries_deinit(&f->entries);
	free(f);
}

struct closing {
	fuse_req_t req;
	struct file *f;
};

static int close_queue(void *arg)
{
	struct closing *cl = arg;

	queue_close(
		source_check() ? NULL : source_caller(requester_of(cl->req)),
		&cl->f->mq);
	return 0;
}

/* The last use of it by the kernel. */
static void file_close(fuse_req_t req, struct file *f)
{
	if (f->node.kind == NODE_QUEUE) {
		queue_unpoll(f);
		escape_guard(close_queue, &(struct closing){req, f});
	}
	file_put(f);
}

static u32 wanted_rights(int flags)
{
	static const u32 rights[] = {PERM_R, PERM_W, PERM_R | PERM_W, 0};

	return rights[flags & O_ACCMODE];
}

/* As procfs and mqueue: no O_DIRECT, and to truncate is to write. */
static int may_open(struct request *r, int flags)
{
	if (flags & O_DIRECT)
		return -EINVAL;
	return node_access(r->c, r->who, &r->node,
		wanted_rights(flags) | (flags & O_TRUNC ? PERM_W : 0));
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct file *f = NULL;
	struct request r;
	int err = request_begin(req, ino, &r);

	if (!err)
		err = may_open(&r, fi->flags);
	if (!err) {
		f = file_new(&r.node);
		err = f ? 0 : -ENOMEM;
	}
	if (!err && r.node.kind == NODE_QUEUE)
		err = queue_open(r.c, &r.node, fi->flags, &f->mq);
	if (err) {
		if (f)
			file_put(f);
		reply_error(req, err);
		return;
	}
	fi->fh = (uintptr_t)f;
	fi->direct_io = 1;
	if (fuse_reply_open(req, fi))
		file_close(req, f);
}

static void op_release(
	fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	file_close(req, file_of(fi));
	reply_error(req, 0);
}

static void op_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
	struct fuse_pollhandle *handle)
{
	struct file *f = file_of(fi);
	struct request r;

	if (f->node.kind == NODE_QUEUE && !request_begin(req, ino, &r)) {
		fuse_reply_poll(req, queue_poll(r.c, &f->mq, f, handle));
		return;
	}
	if (handle)
		fuse_pollhandle_destroy(handle);
	fuse_reply_poll(req, POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM);
}

/* None of these has anything to be written back; the kernel's say so. */
static void op_fsync(
	fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)ino, (void)datasync, (void)fi;
	reply_error(req, -EINVAL);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	(void)ino;
	if (size)
		fuse_reply_buf(req, NULL, 0);
	else
		fuse_reply_xattr(req, 0);
}

/* ---- reading ---- */

static int make_text(struct caller *c, const struct node *n, struct text *t)
{
	u64 ident;
	int err;

	if (n->view) {
		err = n->view(c, t);
	} else {
		/* It may be gone since it was opened. */
		err = node_slot(c, n, &ident) ? n->part(c, n->id, t) : -ENOENT;
		/* Gone while it was looked at. */
		if (err == -EINVAL || err == -EIDRM)
			err = -ENOENT;
	}
	return !err && t->failed ? -ENOMEM : err;
}

static size_t listing_len(const struct file *f)
{
	return f->listing ? f->listing->text.len : 0;
}

/* Made anew; its lock is held. */
static int make_file_text(struct file *f, struct caller *c)
{
	int err;

	f->text.len = 0;
	f->text.failed = 0;
	if (f->node.kind != NODE_SYSVIPC)
		return make_text(c, &f->node, &f->text);
	if (f->listing)
		listing_put(f->listing);
	f->listing = NULL;
	err = listing_get(c, f->node.fac, &f->listing);
	if (!err)
		f->next_idx = f->listing->next_idx;
	return err;
}

/* The text of an open file: made when it is first read from the beginning, and
 * made anew when somebody goes back there. Who has read a sysvipc file to its
 * end and goes on is given what came since with a higher idx, as the kernel
 * does it. Its lock is held. */
static int file_text(struct file *f, struct caller *c, off_t offset)
{
	int err = 0;

	if (!f->made || !offset) {
		err = make_file_text(f, c);
		f->made = !err;
	} else if (f->listing &&
		   (size_t)offset >= listing_len(f) + f->text.len) {
		err = content_sysvipc(c, f->node.fac, &f->next_idx, &f->text);
	}
	return err;
}

/* What there is at an offset: of the listing, or behind it. */
static size_t text_at(const struct file *f, size_t offset, const char **ret)
{
	size_t len = listing_len(f);
	const struct text *t = &f->text;

	if (offset < len) {
		t = &f->listing->text;
	} else {
		offset -= len;
		if (offset > t->len)
			offset = t->len;
	}
	*ret = t->buf ? t->buf + offset : "";
	return t->len - offset;
}

struct reading {
	struct file *f;
	struct caller *c;
	off_t offset;
};

static int file_text_of(void *arg)
{
	struct reading *r = arg;

	return file_text(r->f, r->c, r->offset);
}

static void read_text(fuse_req_t req, struct file *f, struct caller *c,
	size_t size, off_t offset)
{
	const char *at;
	size_t n;
	int err;

	__atomic_add_fetch(&f->refs, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&f->lock);
	err = escape_guard(file_text_of, &(struct reading){f, c, offset});
	if (err) {
		reply_error(req, err);
	} else {
		n = text_at(f, (size_t)offset, &at);
		fuse_reply_buf(req, at, n < size ? n : size);
	}
	pthread_mutex_unlock(&f->lock);
	file_put(f);
}

/* SEEK_DATA and SEEK_HOLE, the others being the kernel's own: what the files of
 * procfs answer, which have no size, and those of mqueue. */
static void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
	struct fuse_file_info *fi)
{
	const struct file *f = file_of(fi);
	const struct node *n = &f->node;
	struct mq_stat st;
	struct request r;
	volatile off_t size = 0;

	if (n->kind == NODE_QUEUE && !request_begin(req, ino, &r) &&
		!mq_stat(r.c, &f->mq, &st))
		size = (off_t)st.size;
	if (n->kind == NODE_SYSVIPC || (off < 0 && whence == SEEK_DATA))
		reply_error(req, -EINVAL);
	else if (off >= size)
		reply_error(req, -ENXIO);
	else
		fuse_reply_lseek(req, whence == SEEK_DATA ? off : size);
}

static void read_sysctl(fuse_req_t req, const struct node *n, struct caller *c,
	size_t size, off_t offset)
{
	char buf[SYSCTL_TEXT_MAX];
	s64 len = sysctl_read(c, n->sysctl, offset, buf,
		size < sizeof(buf) ? size : sizeof(buf));

	if (len < 0)
		reply_error(req, (int)len);
	else
		fuse_reply_buf(req, buf, (size_t)len);
}

/* At any offset what it says now. */
static void read_queue(fuse_req_t req, const struct file *f, struct caller *c,
	size_t size, off_t offset)
{
	char line[MQ_STATUS_SIZE];
	int len = content_queue(c, &f->mq, line);
	size_t n;

	if (len < 0) {
		reply_error(req, len);
		return;
	}
	n = offset < len ? (size_t)(len - offset) : 0;
	if (n > size)
		n = size;
	if (n)
		mq_touch(c, &f->mq);
	fuse_reply_buf(req, n ? line + offset : NULL, n);
}

/* The generation is looked at before and after: an id may come again. */
static ssize_t data_of(const struct node *n, struct caller *c, char *buf,
	size_t size, off_t offset)
{
	ssize_t len = -ENOENT;
	u64 ident;

	if (node_slot(c, n, &ident))
		len = content_data(c, n->id, buf, size, (u64)offset);
	return node_slot(c, n, &ident) ? len : -ENOENT;
}

static void read_data(fuse_req_t req, const struct node *n, struct caller *c,
	size_t size, off_t offset)
{
	char *buf;
	ssize_t len;

	if (size > DATA_MAX)
		size = DATA_MAX;
	buf = malloc(size ? size : 1);
	len = buf ? data_of(n, c, buf, size, offset) : -ENOMEM;
	if (len < 0)
		reply_error(req, (int)len);
	else
		fuse_reply_buf(req, buf, (size_t)len);
	free(buf);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
	struct fuse_file_info *fi)
{
	struct file *f = file_of(fi);
	struct request r;
	int err = request_begin(req, ino, &r);

	if (err)
		reply_error(req, err);
	else if (f->node.kind == NODE_SYSCTL)
		read_sysctl(req, &f->node, r.c, size, offset);
	else if (f->node.kind == NODE_DATA)
		read_data(req, &f->node, r.c, size, offset);
	else if (f->node.kind == NODE_QUEUE)
		read_queue(req, f, r.c, size, offset);
	else
		read_text(req, f, r.c, size, offset);
}

/* ---- writing ---- */

static s64 write_node(struct request *r, const struct node *n, const char *buf,
	size_t size, off_t offset)
{
	switch (n->kind) {
	case NODE_SYSCTL:
		return sysctl_write(r->c, n->sysctl, offset, buf, size);
	case NODE_LOCKS:
		return offset ? (s64)size : content_set_locks(r->c, buf, size);
	case NODE_QUEUE:
		return -EINVAL;
	default:
		return -EIO;
	}
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf,
	size_t size, off_t offset, struct fuse_file_info *fi)
{
	struct file *f = file_of(fi);
	struct request r;
	s64 n = request_begin(req, ino, &r);

	if (!n)
		n = write_node(&r, &f->node, buf, size, offset);
	if (n < 0)
		reply_error(req, (int)n);
	else
		fuse_reply_write(req, (size_t)n);
}

/* ---- directories ---- */

static void op_opendir(
	fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct file *f = NULL;
	struct request r;
	struct stat st;
	int err = request_begin(req, ino, &r);

	if (!err)
		err = node_stat(r.c, &r.node, &st);
	if (!err) {
		f = file_new(&r.node);
		err = f ? 0 : -ENOMEM;
	}
	if (err) {
		reply_error(req, err);
		return;
	}
	fi->fh = (uintptr_t)f;
	if (fuse_reply_open(req, fi))
		file_put(f);
}

/* The entries from a place on that fit into size bytes at buf: how many bytes
 * they take. */
static size_t pack_entries(fuse_req_t req, const struct entries *entries,
	u64 place, char *buf, size_t size)
{
	const struct entry *e;
	size_t n = 0, len;

	while ((e = entries_at(entries, place++))) {
		struct stat st = {.st_ino = e->ino,
			.st_mode = e->is_dir ? S_IFDIR : S_IFREG};

		len = fuse_add_direntry(
			req, buf + n, size - n, e->name, &st, (off_t)place);
		if (len > size - n)
			break;
		n += len;
	}
	return n;
}

/* Who begins, or rewinds, is shown what is there now. */
static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size,
	off_t offset, struct fuse_file_info *fi)
{
	struct file *f = file_of(fi);
	struct request r;
	char *buf = malloc(size);
	int err = buf ? 0 : -ENOMEM;

	__atomic_add_fetch(&f->refs, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&f->lock);
	if (!err && (!offset || !f->made)) {
		err = request_begin(req, ino, &r);
		if (!err)
			err = entries_make(&f->entries, r.c, &f->node);
		f->made = !err;
	}
	if (err)
		reply_error(req, err);
	else
		fuse_reply_buf(req, buf,
			pack_entries(req, &f->entries, (u64)offset, buf, size));
	pthread_mutex_unlock(&f->lock);
	file_put(f);
	free(buf);
}

/* As the kernel's directories: those of procfs have no fsync. */
static void op_fsyncdir(
	fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)ino, (void)datasync;
	reply_error(req, file_of(fi)->node.kind == NODE_QUEUES ? 0 : -EINVAL);
}

/* ---- removing ---- */

/* What is always there stays: of whom may write the directory, or not. */
static int refuse_removal(struct request *r)
{
	int err =
		r->node.fixed ? node_access(r->c, r->who, &r->node, PERM_W) : 0;

	return err ? err : -EPERM;
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct request r;
	struct node n;
	int err = request_begin(req, parent, &r);

	if (!err && r.node.kind == NODE_QUEUES)
		err = mqueue_unlink(r.c, name, strlen(name));
	else if (!err && !(err = node_lookup(r.c, &r.node, name, &n)))
		err = refuse_removal(&r);
	reply_error(req, err);
}

static int remove_object(struct caller *c, const struct node *n)
{
	u64 ident;
	int err = 0;

	if (!node_slot(c, n, &ident))
		return -ENOENT;
	if (n->fac == FAC_SEM)
		err = sem_remove(c, n->id);
	else if (n->fac == FAC_MSG)
		err = msg_remove(c, n->id);
	else
		err = shm_remove(c, n->id);
	return err == -EINVAL || err == -EIDRM ? -ENOENT : err;
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct request r;
	struct node n;
	int err = request_begin(req, parent, &r);

	if (!err)
		err = node_lookup(r.c, &r.node, name, &n);
	if (!err && n.kind == NODE_OBJECT)
		err = remove_object(r.c, &n);
	else if (!err)
		err = node_is_dir(&n) ? refuse_removal(&r) : -ENOTDIR;
	reply_error(req, err);
}

/* ---- making queues ---- */

/* A queue of this name in mqueue/, open. */
static int make_queue(struct request *r, const char *name, int flags,
	mode_t mode, struct mq_desc *ret, struct fuse_entry_param *e)
{
	struct node n;
	int err;

	if (flags & O_DIRECT)
		return -EINVAL;
	err = queue_create(r->c, name, flags, mode, &n, ret);
	if (err)
		return err;
	err = node_stat(r->c, &n, &e->attr);
	if (err)
		queue_close(r->c, ret);
	e->ino = n.ino;
	return err;
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name,
	mode_t mode, dev_t dev)
{
	struct fuse_entry_param e = {0};
	struct mq_desc d = {.fd = -1};
	struct request r;
	int err = request_begin(req, parent, &r);

	(void)dev;
	if (!err && r.node.kind != NODE_QUEUES)
		err = -ENOENT;
	else if (!err && !S_ISREG(mode))
		err = -EPERM;
	if (!err)
		err = make_queue(&r, name, O_RDWR | O_EXCL, mode, &d, &e);
	if (err) {
		reply_error(req, err);
		return;
	}
	queue_close(r.c, &d);
	fuse_reply_entry(req, &e);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name,
	mode_t mode, struct fuse_file_info *fi)
{
	struct fuse_entry_param e = {0};
	struct mq_desc d = {.fd = -1};
	struct file *f = NULL;
	struct node n;
	struct request r;
	int err = request_begin(req, parent, &r);

	if (!err && r.node.kind != NODE_QUEUES)
		err = -ENOENT;
	if (!err)
		err = make_queue(&r, name, fi->flags, mode, &d, &e);
	if (!err && (node_decode(e.ino, &n) || !(f = file_new(&n)))) {
		queue_close(r.c, &d);
		err = -ENOMEM;
	}
	if (err) {
		reply_error(req, err);
		return;
	}
	f->mq = d;
	fi->fh = (uintptr_t)f;
	fi->direct_io = 1;
	if (fuse_reply_create(req, &e, fi))
		file_close(req, f);
}

/* ---- what the tree does not have ---- */

/* procfs and mqueue differ in the error. */
static void refuse_new(fuse_req_t req, fuse_ino_t parent)
{
	struct request r;
	int err = request_begin(req, parent, &r);

	if (!err)
		err = r.node.kind == NODE_QUEUES ? -EPERM : -ENOENT;
	reply_error(req, err);
}

static void op_mkdir(
	fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)name, (void)mode;
	refuse_new(req, parent);
}

static void op_symlink(
	fuse_req_t req, const char *link, fuse_ino_t parent, const char *name)
{
	(void)link, (void)name;
	refuse_new(req, parent);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
	fuse_ino_t new_parent, const char *new_name, unsigned flags)
{
	(void)name, (void)new_parent, (void)new_name, (void)flags;
	refuse_new(req, parent);
}

static void op_link(
	fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	(void)ino, (void)name;
	refuse_new(req, parent);
}

const struct fuse_lowlevel_ops ops = {
	.lookup = op_lookup,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.access = op_access,
	.statfs = op_statfs,
	.open = op_open,
	.read = op_read,
	.lseek = op_lseek,
	.poll = op_poll,
	.fsync = op_fsync,
	.listxattr = op_listxattr,
	.write = op_write,
	.release = op_release,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.releasedir = op_release,
	.fsyncdir = op_fsyncdir,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.symlink = op_symlink,
	.rename = op_rename,
	.link = op_link,
	.create = op_create,
};
