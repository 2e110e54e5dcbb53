// SPDX-License-Identifier: MIT
/*
 * ipclift save: the registry into a file; see savefile.h.
 *
 * The file has no name until it is complete, so that a killed save leaves
 * nothing, except at the moment at which it replaces another file: the next
 * save to that path removes what is left then.
 *
 * The objects of each kind are listed first, at one moment, then each one that
 * still exists is written (inspect/dump.h); one that is removed meanwhile is
 * taken out of the file again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object/control.h"
#include "shm/shmattach.h"
#include "inspect/shmview.h"
#include "tool/view/objects.h"
#include "tool/registry.h"
#include "tool/savefile.h"
#include "tool/view/table.h"

struct writer {
	FILE *f;
	u64 sum;
	int registry; /* descriptor of its file: segments are read there */
	int failed;   /* errno */
	char *slice;
	u64 n_objects, n_bytes;
};

static void put(struct writer *w, const void *bytes, u64 n)
{
	w->sum = save_sum(w->sum, bytes, n);
	w->n_bytes += n;
	if (!w->failed && fwrite(bytes, 1, n, w->f) != n)
		w->failed = errno ? errno : EIO;
}

/* A record of up to three parts, each a multiple of 8 bytes. */
static void put_record(struct writer *w, u32 type, const void *a, u64 n_a,
	const void *b, u64 n_b, const void *c, u64 n_c)
{
	const struct save_record head = {type, 0, n_a + n_b + n_c};

	put(w, &head, sizeof(head));
	put(w, a, n_a);
	put(w, b, n_b);
	put(w, c, n_c);
}

static void save_limits(struct writer *w, const struct caller *c)
{
	struct save_limit l;
	u32 i;

	for (i = 0; i < n_controls; i++) {
		if (strstr(controls[i].name, "_next_id"))
			continue;
		l = (struct save_limit){.value = control_get(c, &controls[i])};
		snprintf(l.name, sizeof(l.name), "%s", controls[i].name);
		put_record(w, SAVE_LIMIT, &l, sizeof(l), "", 0, "", 0);
	}
	l = (struct save_limit){
		"mq_rlimit", (u64)caller_header(c)->limits.mq_rlimit};
	put_record(w, SAVE_LIMIT, &l, sizeof(l), "", 0, "", 0);
}

/* ---- objects ---- */

static int save_sem(struct writer *w, struct caller *c, struct save_object *o)
{
	struct dump_sem *sems = calloc(o->n, sizeof(*sems));
	s64 n = sems ? dump_sems(c, o->id, sems, o->n) : -ENOMEM;

	/* The set was replaced after its size was read. */
	if (n >= 0 && n != (s64)o->n)
		n = -EIDRM;
	if (n > 0)
		put_record(w, SAVE_OBJECT, o, sizeof(*o), sems,
			(u64)n * sizeof(*sems), "", 0);
	free(sems);
	return n < 0 ? (int)n : 0;
}

/* The size may change before the messages are read. */
static int save_msg(struct writer *w, struct caller *c, struct save_object *o)
{
	struct dump_msgqueue q;
	u64 cap = 4096;
	char *text;
	s64 n;

	for (;;) {
		text = malloc(cap);
		n = text ? dump_messages(c, o->id, &q, text, cap) : -ENOMEM;
		if (n <= (s64)cap)
			break;
		free(text);
		cap = (u64)n * 2;
	}
	if (n >= 0)
		put_record(w, SAVE_OBJECT, o, sizeof(*o), &q, sizeof(q), text,
			(u64)n);
	free(text);
	return n < 0 ? (int)n : 0;
}

/* The bytes of a slice without the zeros at its end, padded with some. */
static u64 slice_size(char *slice, u64 n)
{
	memset(slice + n, 0, -n & 7);
	n = (n + 7) & ~7ULL;
	while (n && !*(u64 *)(void *)(slice + n - 8))
		n -= 8;
	return n;
}

static int save_pages(
	struct writer *w, struct caller *c, const struct save_object *o)
{
	struct save_data d = {.id = o->id};
	u64 size;
	s64 n;

	for (;; d.off += (u64)n) {
		n = shm_next_data(c, o->id, w->registry, d.off);
		if (n < 0 || (u64)n >= o->size)
			return n < 0 ? (int)n : 0;
		d.off = (u64)n;
		n = shm_copy(
			c, o->id, w->registry, d.off, w->slice, SAVE_SLICE, 0);
		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		size = slice_size(w->slice, (u64)n);
		if (size)
			put_record(w, SAVE_DATA, &d, sizeof(d), w->slice, size,
				"", 0);
	}
}

static int save_shm(struct writer *w, struct caller *c, struct save_object *o)
{
	struct dump_segment p;
	int err = dump_segment(c, o->id, &p);

	if (err)
		return err;
	put_record(w, SAVE_OBJECT, o, sizeof(*o), &p, sizeof(p), "", 0);
	return save_pages(w, c, o);
}

static int save_mq(struct writer *w, struct caller *c, struct save_object *o,
	const struct mq_view *v)
{
	struct {
		struct dump_mqueue q;
		char name[SAVE_NAME];
	} head = {0};
	u64 cap = 4096;
	char *text;
	s64 n;

	memcpy(head.name, v->name, v->name_len);
	for (;;) {
		text = malloc(cap);
		n = text ? dump_mq_messages(c, &v->desc, &head.q, text, cap)
			 : -ENOMEM;
		if (n <= (s64)cap)
			break;
		free(text);
		cap = (u64)n * 2;
	}
	if (n >= 0)
		put_record(w, SAVE_OBJECT, o, sizeof(*o), &head, sizeof(head),
			text, (u64)n);
	free(text);
	return n < 0 ? (int)n : 0;
}

/* What is written from here on can be removed again. */
struct mark {
	u64 sum, n_bytes;
};

static void take_back(struct writer *w, const struct mark *m)
{
	w->sum = m->sum;
	w->n_bytes = m->n_bytes;
	if (!w->failed && fseeko(w->f, (off_t)m->n_bytes, SEEK_SET))
		w->failed = errno;
}

static int save_contents(
	struct writer *w, struct caller *c, const struct object *o)
{
	struct save_object s = {.kind = o->kind, .id = o->id, .key = o->key};
	int err = dump_perm(c, o->kind,
		o->kind == FAC_MQ ? IDENT_ID(o->mq.desc.ident) : o->id,
		&s.perm);

	if (err)
		return err;
	switch (o->kind) {
	case FAC_SEM:
		s.n = o->sem.nsems;
		return save_sem(w, c, &s);
	case FAC_MSG:
		return save_msg(w, c, &s);
	case FAC_SHM:
		s.size = o->shm.size;
		return save_shm(w, c, &s);
	default:
		s.n = o->mq.maxmsg;
		s.size = o->mq.msgsize;
		return save_mq(w, c, &s, &o->mq);
	}
}

static int save_one(struct writer *w, struct caller *c, const struct object *o,
	const struct dump_name *name)
{
	const struct mark m = {w->sum, w->n_bytes};
	int err;

	/* Objects that only their users can reach end with them. */
	if ((o->kind == FAC_MQ && o->mq.unlinked) ||
		(o->kind == FAC_SHM && (o->shm.mode & SHM_MODE_DEST))) {
		fprintf(stderr,
			"ipclift save: %s is removed already, not "
			"saved\n",
			object_name(o));
		return 0;
	}
	err = save_contents(w, c, o);
	if (!dump_is_there(c, o->kind, name)) {
		take_back(w, &m);
		return 0;
	}
	if (err)
		return failure("%s: %s", object_name(o), strerror(-err));
	w->n_objects++;
	return 0;
}

/* Space for so many objects of a kind at first: the usual range of ids, a
 * megabyte. */
#define FIRST_NAMES (2u << IDX_BITS_NORMAL)

/* The objects of a kind at one moment. */
struct moment {
	struct dump_name *names;
	s64 n;
	struct save_ids ids;
};

static int list_kind(struct caller *c, enum facility f, struct moment *ret)
{
	u64 cap = caller_header(c)->ids[f].in_use;

	/* With more objects the walk is repeated: the count may be damaged. */
	if (cap > FIRST_NAMES)
		cap = FIRST_NAMES;
	ret->ids.kind = f;
	do {
		cap += 64;
		free(ret->names);
		ret->names = calloc(cap, sizeof(*ret->names));
		if (!ret->names)
			return failure("%s", strerror(ENOMEM));
		ret->n = dump_list(c, f, ret->names, cap, &ret->ids.ids);
		if (ret->n < 0)
			return failure("%s: %s", facility_names[f],
				strerror((int)-ret->n));
	} while (ret->n > (s64)cap && (cap = (u64)ret->n));
	return 0;
}

static int save_kind(struct writer *w, struct caller *c, enum facility f,
	const struct moment *m)
{
	struct object o;
	int err = 0;
	s64 i;

	for (i = 0; i < m->n && !err && !w->failed; i++)
		if (object_named(c, f, &m->names[i], &o))
			err = save_one(w, c, &o, &m->names[i]);
	return err;
}

/* ---- the whole ---- */

static int save_all(struct writer *w, struct caller *c)
{
	const struct header *h = caller_header(c);
	struct save_head head = {.version = SAVE_VERSION,
		.order = SAVE_ORDER,
		.idx_bits = h->idx_bits,
		.profile = h->profile,
		.time = sys_realtime_sec()};
	const struct save_record end = {SAVE_END, 0, 8};
	struct moment m[N_FAC] = {0};
	int err = 0, f;

	memcpy(head.magic, SAVE_MAGIC, 8);
	put(w, &head, sizeof(head));
	save_limits(w, c);
	for (f = 0; f < N_FAC && !err; f++)
		err = list_kind(c, (enum facility)f, &m[f]);
	for (f = 0; f < N_FAC; f++)
		put_record(
			w, SAVE_IDS, &m[f].ids, sizeof(m[f].ids), "", 0, "", 0);
	for (f = 0; f < N_FAC && !err; f++)
		err = save_kind(w, c, (enum facility)f, &m[f]);
	for (f = 0; f < N_FAC; f++)
		free(m[f].names);
	put(w, &end, sizeof(end));
	put(w, &(u64){w->sum}, 8);
	return err;
}

/* ---- the file ---- */

/* The name of an incomplete file, if it must have one; its writer holds an
 * flock(2) on it. */
#define LEFT ".ipclift-save-"
static char temporary[PATH_MAX];

/* Remove what killed saves to this path have left. */
static void remove_left(const char *path)
{
	char parent[PATH_MAX], prefix[PATH_MAX + sizeof(LEFT)];
	const char *slash = strrchr(path, '/');
	struct dirent *e;
	DIR *d;
	int fd;

	snprintf(parent, sizeof(parent), "%s", path);
	snprintf(prefix, sizeof(prefix), "%s" LEFT, slash ? slash + 1 : path);
	d = opendir(dirname(parent));
	while (d && (e = readdir(d))) {
		if (strncmp(e->d_name, prefix, strlen(prefix)))
			continue;
		fd = openat(dirfd(d), e->d_name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
			unlinkat(dirfd(d), e->d_name, 0);
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
}

static void remove_temporary(void)
{
	if (*temporary)
		unlink(temporary);
}

static void on_end(int signo)
{
	remove_temporary();
	raise(signo);
}

/* For a file system without O_TMPFILE. */
static int open_named(const char *path)
{
	static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE,
		SIGXCPU, SIGXFSZ, SIGALRM};
	const struct sigaction sa = {
		.sa_handler = on_end, .sa_flags = SA_RESETHAND | SA_NODEFER};
	struct sigaction was;
	sigset_t all, before;
	size_t i;
	int fd;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	snprintf(temporary, sizeof(temporary), "%s" LEFT "XXXXXX", path);
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		*temporary = 0;
	else
		flock(fd, LOCK_EX | LOCK_NB);
	atexit(remove_temporary);
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!sigaction(ends[i], NULL, &was) &&
			was.sa_handler == SIG_DFL)
			sigaction(ends[i], &sa, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return fd;
}

/* A new file in the directory of path; -1 with errno. */
static int open_file(const char *path)
{
	char dir[PATH_MAX];
	int fd = -1;

	snprintf(dir, sizeof(dir), "%s", path);
	/* It gets its name by that path. */
	if (!access("/proc/self/fd", X_OK))
		fd = open(dirname(dir), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	return fd < 0 ? open_named(path) : fd;
}

/* Replace another file: by way of a second name, which exists only while
 * signals are blocked. */
static int replace(int fd, const char *self, const char *path)
{
	sigset_t all, before;
	int i, err = -1;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	flock(fd, LOCK_EX | LOCK_NB);
	for (i = 0; err && i < 100; i++) {
		snprintf(temporary, sizeof(temporary), "%s" LEFT "%d-%d", path,
			(int)getpid(), i);
		err = linkat(
			AT_FDCWD, self, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW);
		if (err && errno != EEXIST)
			break;
	}
	if (!err) {
		err = rename(temporary, path);
		i = errno;
		if (err)
			unlink(temporary);
		errno = i;
	}
	*temporary = 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

/* The file is complete: give it its name. */
static int name_file(int fd, const char *path)
{
	char self[64];
	int err;

	if (*temporary) {
		err = rename(temporary, path);
		if (!err)
			*temporary = 0;
		return err;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (!linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW))
		return 0;
	return errno == EEXIST ? replace(fd, self, path) : -1;
}

static int write_file(
	struct writer *w, struct caller *c, int fd, const char *path)
{
	int err = save_all(w, c);

	/* What was removed may have been longer than what followed. */
	if (!w->failed &&
		(fflush(w->f) || ftruncate(fd, (off_t)w->n_bytes) || fsync(fd)))
		w->failed = errno;
	if (!err && !w->failed && name_file(fd, path))
		w->failed = errno;
	if (!err && w->failed)
		err = failure("%s: %s", path, strerror(w->failed));
	if (err)
		remove_temporary();
	return err;
}

/* May there be a file of that name? Space for what is appended to it, too. */
static int path_is_right(const char *path)
{
	struct stat st;

	if (strlen(path) + 48 >= PATH_MAX) {
		failure("%s: %s", path, strerror(ENAMETOOLONG));
		return 0;
	}
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		failure("%s: is no regular file", path);
		return 0;
	}
	return 1;
}

static int save_to(struct caller *c, const char *path, const char *registry)
{
	struct writer w = {.sum = SAVE_SUM_START};
	struct stat st;
	int fd, err;

	if (!path_is_right(path))
		return EXIT_FAILED;
	remove_left(path);
	w.registry = open(registry,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (w.registry < 0 || fstat(w.registry, &st))
		return failure("%s: %s", registry, strerror(errno));
	if (!registry_is_file(&st))
		return failure("%s: was replaced by another file", registry);
	w.slice = malloc(SAVE_SLICE + 8);
	fd = w.slice ? open_file(path) : -1;
	w.f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!w.f)
		return failure("%s: %s", path, strerror(errno));
	err = write_file(&w, c, fd, path);
	fclose(w.f);
	close(w.registry);
	free(w.slice);
	if (!err)
		printf("%llu objects, %s\n", (unsigned long long)w.n_objects,
			human_bytes(w.n_bytes));
	return err;
}

static int save_main(int argc, char **argv)
{
	struct caller *c;
	int err;

	if (argc != 1)
		return usage_error("name one file");
	c = registry_open_read_only(&err);
	return c ? save_to(c, argv[0], registry_path()) : err;
}

const struct command save_command = {
	.name = "save",
	.summary = "save a registry and its contents to a file",
	.usage = "[OPTIONS] FILE",
	.about = "Save limits, and every set, queue, message and segment with "
		 "its id, key,\n"
		 "owner, times and contents. Programs may continue meanwhile: "
		 "the list of each\n"
		 "kind's objects is of one moment, and so are the contents of "
		 "each object, except\n"
		 "the bytes of a segment. To have everything of one moment, "
		 "stop the programs\n"
		 "first. Not saved, because they belong to processes: "
		 "SEM_UNDO, attachments,\n"
		 "sleepers, mq_notify, and objects that are removed but still "
		 "in use.\n"
		 "FILE appears when it is complete; until then it has no name.",
	.is = COMMAND_ON_REGISTRY,
	.main = save_main,
};
