// SPDX-License-Identifier: MIT
/*
 * ops: the requests that the kernel sends to the mount (fuse/ops.c and what it
 * calls), some after each other, on a damaged registry. Each is answered once.
 *
 * Input: how many requests, their struct asked, and steps behind them.
 */
#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "entries.h"
#include "log.h"
#include "ops.h"
#include "target.h"

struct asked {
	uint8_t what, file, name, flags;
	uint16_t inode, size;
	int64_t offset;
};
#define ASKED_MAX 8u
#define N_OPEN 4u

/* ---- what the kernel knows ---- */

/* Inodes: those of a sound registry, then what answers have named. */
#define INODES_MAX 512u
static fuse_ino_t inodes[INODES_MAX];
static size_t n_inodes, n_inodes_before;

static struct open_file {
	struct fuse_file_info fi;
	fuse_ino_t ino;
	int is_open, is_dir;
} files[N_OPEN], *opening;

static int answers;

static void know(fuse_ino_t ino)
{
	if (n_inodes < INODES_MAX)
		inodes[n_inodes++] = ino;
}

static void walk(const struct node *dir, int depth)
{
	struct entries e = {0};
	const struct entry *one;
	struct node n;
	u64 i;

	if (!entries_make(&e, &target, dir))
		for (i = 2; (one = entries_at(&e, i)); i++) {
			know(one->ino);
			if (one->is_dir && depth < 3 &&
				!node_decode(one->ino, &n))
				walk(&n, depth + 1);
		}
	entries_deinit(&e);
}

static void know_all(void *arg)
{
	struct node root;

	(void)arg;
	know(NODE_ROOT);
	if (!node_decode(NODE_ROOT, &root))
		walk(&root, 0);
	n_inodes_before = n_inodes;
}

/* ---- libfuse's ---- */

const struct fuse_ctx *fuse_req_ctx(fuse_req_t req)
{
	static const struct fuse_ctx root = {0, 0, 1, 022},
				     other = {1000, 1000, 2, 022};

	return *(const int *)(const void *)req ? &other : &root;
}

static int answer(void)
{
	answers++;
	return 0;
}

int fuse_reply_err(fuse_req_t req, int err)
{
	(void)req;
	if (err < 0 || err > 200)
		abort();
	return answer();
}

void fuse_reply_none(fuse_req_t req)
{
	(void)req;
	answer();
}

int fuse_reply_entry(fuse_req_t req, const struct fuse_entry_param *e)
{
	(void)req;
	know(e->ino);
	return answer();
}

int fuse_reply_attr(fuse_req_t req, const struct stat *st, double timeout)
{
	(void)req, (void)timeout;
	return answer() + (st->st_mode == ~0u);
}

int fuse_reply_open(fuse_req_t req, const struct fuse_file_info *fi)
{
	(void)req;
	opening->fi = *fi;
	opening->is_open = 1;
	return answer();
}

int fuse_reply_create(fuse_req_t req, const struct fuse_entry_param *e,
	const struct fuse_file_info *fi)
{
	know(e->ino);
	opening->ino = e->ino;
	return fuse_reply_open(req, fi);
}

int fuse_reply_write(fuse_req_t req, size_t count)
{
	(void)req, (void)count;
	return answer();
}

/* Each byte is looked at. */
int fuse_reply_buf(fuse_req_t req, const char *buf, size_t size)
{
	unsigned sum = 0;
	size_t i;

	(void)req;
	for (i = 0; i < size; i++)
		sum += (unsigned char)buf[i];
	return answer() + (sum == ~0u);
}

int fuse_reply_statfs(fuse_req_t req, const struct statvfs *st)
{
	(void)req, (void)st;
	return answer();
}

int fuse_reply_xattr(fuse_req_t req, size_t count)
{
	(void)req, (void)count;
	return answer();
}

int fuse_reply_lseek(fuse_req_t req, off_t off)
{
	(void)req, (void)off;
	return answer();
}

int fuse_reply_poll(fuse_req_t req, unsigned revents)
{
	(void)req, (void)revents;
	return answer();
}

void fuse_pollhandle_destroy(struct fuse_pollhandle *handle)
{
	free(handle);
}

int fuse_lowlevel_notify_poll(struct fuse_pollhandle *handle)
{
	return handle == NULL;
}

size_t fuse_add_direntry(fuse_req_t req, char *buf, size_t size,
	const char *name, const struct stat *st, off_t off)
{
	size_t need = (24 + strlen(name) + 7) & ~(size_t)7;

	(void)req, (void)off;
	know(st->st_ino);
	if (need <= size)
		memset(buf, 'e', need);
	return need;
}

/* ---- requests ---- */

static const char *const names[] = {"sem", "msg", "shm", "mqueue", "sysvipc",
	"sys", "0", "1", "2", "stat", "values", "data", "messages", "many",
	"large", "full", "new", "unlinked", "locks", "", ".", "..",
	"a name with a / in it"};

static const char *name_of(const struct asked *a)
{
	return names[a->name % (sizeof(names) / sizeof(names[0]))];
}

static void with_names(
	fuse_req_t req, const struct asked *a, fuse_ino_t ino, unsigned what)
{
	const char *name = name_of(a);

	switch (what) {
	case 0:
		ops.lookup(req, ino, name);
		break;
	case 1:
		ops.unlink(req, ino, name);
		break;
	case 2:
		ops.rmdir(req, ino, name);
		break;
	case 3:
		ops.mknod(req, ino, name, S_IFREG | (a->size & 07777), 0);
		break;
	case 4:
		ops.mkdir(req, ino, name, 0700);
		break;
	case 5:
		ops.symlink(req, "to", ino, name);
		break;
	case 6:
		ops.rename(req, ino, name, NODE_ROOT, "other", 0);
		break;
	default:
		ops.link(req, NODE_ROOT, ino, name);
		break;
	}
}

static void set_attributes(
	fuse_req_t req, const struct asked *a, fuse_ino_t ino)
{
	struct stat st = {.st_mode = a->size,
		.st_uid = (uid_t)a->offset,
		.st_gid = (gid_t)(a->offset >> 8),
		.st_size = a->offset,
		.st_atim = {a->offset, 0}};

	ops.setattr(req, ino, &st, a->size, NULL);
}

static void with_inode(
	fuse_req_t req, const struct asked *a, fuse_ino_t ino, unsigned what)
{
	switch (what) {
	case 0:
		ops.getattr(req, ino, NULL);
		break;
	case 1:
		set_attributes(req, a, ino);
		break;
	case 2:
		ops.access(req, ino, a->size & 7);
		break;
	case 3:
		ops.statfs(req, ino);
		break;
	default:
		ops.listxattr(req, ino, a->size);
		break;
	}
}

static void open_one(
	fuse_req_t req, const struct asked *a, fuse_ino_t ino, unsigned what)
{
	struct fuse_file_info fi = {.flags = a->size & ~O_CREAT};

	struct node n;

	/* The kernel knows which is which. */
	opening = &files[a->file % N_OPEN];
	opening->ino = ino;
	opening->is_dir = what && !node_decode(ino, &n) && node_is_dir(&n);
	if (!what)
		ops.create(req, ino, name_of(a), 0600, &fi);
	else if (opening->is_dir)
		ops.opendir(req, ino, &fi);
	else
		ops.open(req, ino, &fi);
}

static void with_directory(fuse_req_t req, const struct asked *a,
	struct open_file *f, unsigned what)
{
	if (what % 4)
		ops.readdir(
			req, f->ino, a->size, a->offset & 0x7fffffff, &f->fi);
	else
		ops.fsyncdir(req, f->ino, 0, &f->fi);
}

static void with_file(fuse_req_t req, const struct asked *a,
	struct open_file *f, unsigned what)
{
	fuse_ino_t ino = f->ino;
	static char text[65536] = "reset";
	off_t off = a->flags & 2 ? a->offset & 0x7fffffffffffffff
				 : a->offset & 0xfff;

	switch (what) {
	case 0:
	case 1:
	case 2:
		ops.read(req, ino, (size_t)a->size << (a->flags & 4), off,
			&f->fi);
		break;
	case 3:
		ops.write(req, ino, text, a->size, off, &f->fi);
		break;
	case 4:
		ops.lseek(req, ino, a->offset,
			a->flags & 4 ? SEEK_DATA : SEEK_HOLE, &f->fi);
		break;
	case 5:
		ops.poll(req, ino, &f->fi, a->flags & 4 ? malloc(8) : NULL);
		break;
	case 6:
		ops.getattr(req, ino, &f->fi);
		break;
	default:
		ops.fsync(req, ino, 0, &f->fi);
		break;
	}
}

static void release(fuse_req_t req, struct open_file *f)
{
	f->is_open = 0;
	if (f->is_dir)
		ops.releasedir(req, f->ino, &f->fi);
	else
		ops.release(req, f->ino, &f->fi);
}

static void ask(fuse_req_t req, const struct asked *a)
{
	struct open_file *f = &files[a->file % N_OPEN];
	/* Any number, or one that was heard of. */
	fuse_ino_t ino = a->flags & 8 ? (fuse_ino_t)a->offset
				      : inodes[a->inode % n_inodes];
	unsigned what = a->what;

	if (f->is_open && what % 8 == 7)
		release(req, f);
	else if (f->is_open && f->is_dir)
		with_directory(req, a, f, what);
	else if (f->is_open)
		with_file(req, a, f, what % 8);
	else if (what % 4 == 0)
		with_names(req, a, ino, what / 4 % 8);
	else if (what % 4 == 1)
		with_inode(req, a, ino, what / 4 % 5);
	else
		open_one(req, a, ino, what / 4 % 4);
}

/* ---- an input ---- */

struct input {
	size_t n;
	struct asked asked[ASKED_MAX];
};

static void expect_answer(void)
{
	if (answers == 1)
		return;
	fprintf(stderr, "invariant: a request was answered %d times\n",
		answers);
	abort();
}

static void ask_all(void *arg)
{
	const struct input *in = arg;
	size_t i;
	int who;

	for (i = 0; i < in->n; i++) {
		answers = 0;
		who = in->asked[i].flags & 1;
		ask((fuse_req_t)(void *)&who, &in->asked[i]);
		expect_answer();
	}
	who = 0;
	for (i = 0; i < N_OPEN; i++) {
		answers = 1;
		if (files[i].is_open) {
			answers = 0;
			release((fuse_req_t)(void *)&who, &files[i]);
		}
		expect_answer();
	}
}

/* Descriptors of queues that a request had when it was left. */
static void close_left(void)
{
	struct stat st;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), i;

	close(fd);
	for (i = 3; fd > 100 && i < fd; i++)
		if (!fstat(i, &st) && S_ISFIFO(st.st_mode))
			close(i);
}

/* The bytes that are not steps. */
static size_t read_input(const uint8_t *data, size_t size, struct input *ret)
{
	ret->n = size ? data[0] % (ASKED_MAX + 1) : 0;
	if (!size || (size - 1) / sizeof(struct asked) < ret->n)
		return 0;
	memcpy(ret->asked, data + 1, ret->n * sizeof(struct asked));
	return 1 + ret->n * sizeof(struct asked);
}

static void begin(void)
{
	static char path[600];

	if (!n_inodes) {
		log_open("/dev/null");
		target_run(know_all, NULL);
	}
	snprintf(path, sizeof(path), "%s/registry", target_dir());
	target.region.path = path;
	n_inodes = n_inodes_before;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in;
	size_t head = read_input(data, size, &in);

	if (!head)
		return 0;
	begin();
	target_damage(data + head, size - head);
	target_run(ask_all, &in);
	close_left();
	return 0;
}

size_t LLVMFuzzerCustomMutator(
	uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct input in;

	return target_mutate(
		data, size, max_size, seed, read_input(data, size, &in));
}
