// SPDX-License-Identifier: MIT
/*
 * ipclift restore: recreate a saved registry; see savefile.h.
 *
 * The whole file is read into private memory, and its checksum compared, before
 * anything is changed: a process that may write it may truncate or change it
 * meanwhile, and a mapping would then end us by SIGBUS in the middle. While
 * objects are created all limits are off; ids are set by *_next_id.
 *
 * An object is created with all its contents or not at all. One that cannot be
 * is reported and left out, and the next one follows. A signal ends the command
 * between two objects, so that limits and ids are right.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object/control.h"
#include "object/limits.h"
#include "shm/shmattach.h"
#include "inspect/shmview.h"
#include "registry/region/region.h"
#include "tool/home.h"
#include "tool/view/objects.h"
#include "tool/registry.h"
#include "tool/savefile.h"

static int force;

static const struct option_spec options[] = {
	{"force", 'f', NULL, &force,
		"first remove all objects of the registry, even if\n"
		"programs use it"},
	{0},
};

struct reader {
	const char *path;
	const char *bytes;
	u64 size;
	struct save_head head;
	struct caller *c;
	int registry; /* descriptor of its file */
	/* The segment that was made last, of which data may follow; NULL: it
	 * was left out. */
	const struct save_object *segment;
	struct save_object object; /* that is being made, or is `segment` */
	u64 n_made, n_left_out;
};

static volatile sig_atomic_t stopped;

/* ---- the file ---- */

static int bad_file(const struct reader *r, const char *why)
{
	return failure("%s: %s", r->path, why);
}

/* A record: its head, and where in the file its bytes are. */
struct record {
	struct save_record head;
	const char *bytes;
};

/* The record at *at, which is advanced to the next; 0 at the end. */
static int next_record(const struct reader *r, u64 *at, struct record *ret)
{
	const u64 left = r->size - *at;

	*ret = (struct record){0};
	if (left < sizeof(ret->head))
		return 0;
	memcpy(&ret->head, r->bytes + *at, sizeof(ret->head));
	if (ret->head.size % 8 || ret->head.size > left - sizeof(ret->head))
		return 0;
	ret->bytes = r->bytes + *at + sizeof(ret->head);
	*at += sizeof(ret->head) + ret->head.size;
	return 1;
}

/* Is it complete, of a known version, and is its checksum right? */
static int check_file(struct reader *r)
{
	const struct save_head *head = &r->head;
	struct record rec;
	u64 at = sizeof(*head), sum;
	int got;

	if (r->size >= sizeof(*head))
		memcpy(&r->head, r->bytes, sizeof(*head));
	if (r->size < sizeof(*head) || memcmp(head->magic, SAVE_MAGIC, 8) != 0)
		return bad_file(r, "was not made by ipclift save");
	if (head->order != SAVE_ORDER || head->version != SAVE_VERSION)
		return bad_file(r, "is of another version or machine");
	do
		got = next_record(r, &at, &rec);
	while (got && rec.head.type != SAVE_END);
	if (!got || rec.head.size != 8 || at != r->size)
		return bad_file(r, "is cut off or damaged");
	sum = save_sum(SAVE_SUM_START, r->bytes, r->size - 8);
	if (sum != *(const u64 *)(const void *)rec.bytes)
		return bad_file(r, "is damaged: its checksum is wrong");
	if (head->idx_bits != IDX_BITS_NORMAL &&
		head->idx_bits != IDX_BITS_EXTENDED)
		return bad_file(r, "is damaged: ids of no known size");
	return 0;
}

/* All of it, or why not; size: what the file said that it has. */
static int read_bytes(struct reader *r, int fd, u64 size)
{
	char *to = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ssize_t n = 1;

	if (to == MAP_FAILED)
		return failure("%s: %s", r->path, strerror(errno));
	r->bytes = to;
	r->size = size;
	for (u64 at = 0; at < size && n > 0; at += (u64)n) {
		do
			n = read(fd, to + at, size - at);
		while (n < 0 && errno == EINTR);
	}
	if (n < 0)
		return failure("%s: %s", r->path, strerror(errno));
	return n ? 0 : bad_file(r, "was cut off while it was read");
}

static int read_file(struct reader *r, const char *path)
{
	struct stat st;
	int err = 0;
	/* A FIFO may have no writer: do not wait for one. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	r->path = path;
	if (fd < 0 || fstat(fd, &st))
		return failure("%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode)) {
		close(fd);
		return failure("%s: is no regular file", path);
	}
	if (st.st_size)
		err = read_bytes(r, fd, (u64)st.st_size);
	close(fd);
	return err ? err : check_file(r);
}

/* ---- limits and ids ---- */

static void lift_limits(struct caller *c)
{
	struct limits *l = &caller_header(c)->limits;

	limits_init(l, LIMITS_ROOMY, caller_header(c)->idx_bits);
	l->semmsl = 65535;
	l->semmns = INT_MAX;
	l->msgmax = INT_MAX;
	l->msgmnb = INT_MAX;
	l->shmmax = l->shmall = ~0ULL;
	l->shm_rmid_forced = 0;
	l->mq_queues_max = INT_MAX;
}

static int restore_limit(struct reader *r, const char *from)
{
	const struct control *k;
	struct save_limit l;
	char name[sizeof(l.name) + 1];

	memcpy(&l, from, sizeof(l));
	snprintf(name, sizeof(name), "%.*s", (int)sizeof(l.name), l.name);
	if (!strcmp(name, "mq_rlimit")) {
		caller_header(r->c)->limits.mq_rlimit = l.value != 0;
		return 0;
	}
	k = control_find(name);
	if (!k || control_set(r->c, k, l.value))
		return failure("limit %s: not of this registry", name);
	return 0;
}

static int restore_ids(struct reader *r, const char *from)
{
	struct save_ids ids;

	memcpy(&ids, from, sizeof(ids));
	if (ids.kind >= N_FAC ||
		!load_ids(r->c, (enum facility)ids.kind, &ids.ids))
		return 0;
	return failure(
		"ids of %s: not of this registry", facility_names[ids.kind]);
}

/* ---- objects ---- */

static int lost(const struct save_object *o, const char *why)
{
	return failure("%s %d: %s", facility_names[o->kind], o->id, why);
}

static void request_id(struct caller *c, enum facility f, s32 id)
{
	atom_store_release(&caller_header(c)->ids[f].next_id, id);
}

/* *get(2) of its kind; flags: the mode and others of that call. */
static int get(struct reader *r, const struct save_object *o, s32 flags)
{
	if (o->kind == FAC_SEM)
		return sem_get(r->c, o->key, (s32)o->n, flags);
	if (o->kind == FAC_MSG)
		return msg_get(r->c, o->key, flags);
	return shm_get(r->c, o->key, o->size, flags);
}

static void take_away(struct reader *r, u32 kind, int id)
{
	if (kind == FAC_SEM)
		sem_remove(r->c, id);
	else if (kind == FAC_MSG)
		msg_remove(r->c, id);
	else
		shm_remove(r->c, id);
}

/* Make it, empty, with its id: 0, or EXIT_FAILED after a message. */
static int make(struct reader *r, const struct save_object *o, s32 flags)
{
	int id, ours = 1;

	request_id(r->c, (enum facility)o->kind, o->id);
	id = get(r, o, flags | 0600 | OBJ_CREAT | OBJ_EXCL);
	/* A key that only an object of the kernel has is free here. */
	if (id == -EEXIST && get(r, o, 0) == -ENOENT) {
		id = get(r, o, flags | 0600 | OBJ_CREAT);
		ours = 0;
	}
	if (id == o->id)
		return 0;
	request_id(r->c, (enum facility)o->kind, -1);
	if (id >= 0 && ours)
		take_away(r, o->kind, id);
	return lost(o, id >= 0	       ? "its id is taken"
		       : id == -EEXIST ? "its key is taken"
				       : strerror(-id));
}

static int restore_sem(struct reader *r, const struct save_object *o,
	const char *from, u64 size)
{
	struct dump_sem *sems;
	int err;

	if (size != (u64)o->n * sizeof(*sems))
		return lost(o, "damaged");
	if (make(r, o, 0))
		return EXIT_FAILED;
	sems = malloc(size);
	if (sems)
		memcpy(sems, from, size);
	err = sems ? load_sems(r->c, o->id, sems, o->n) : -ENOMEM;
	free(sems);
	if (!err)
		return 0;
	take_away(r, o->kind, o->id);
	return lost(o, "its values cannot be set");
}

/* A message, and where in the file its bytes are. */
struct message {
	struct dump_message head;
	const char *bytes;
};

/* The message at *at, which is advanced: 0 at the end, -1 if damaged. */
static int next_message(
	const char *from, u64 size, u64 *at, struct message *ret)
{
	if (*at == size)
		return 0;
	if (size - *at < sizeof(ret->head))
		return -1;
	memcpy(&ret->head, from + *at, sizeof(ret->head));
	if (ret->head.size > size ||
		dump_message_space(ret->head.size) > size - *at)
		return -1;
	ret->bytes = from + *at + sizeof(ret->head);
	*at += dump_message_space(ret->head.size);
	return 1;
}

static int restore_messages(struct reader *r, const struct save_object *o,
	const char *from, u64 size)
{
	struct message m;
	u64 at = 0;
	char *buf;
	int got, err = 0;

	while (!err && (got = next_message(from, size, &at, &m)) > 0) {
		/* struct msgbuf: the type, then the text. */
		buf = malloc(8 + m.head.size);
		if (!buf)
			return lost(o, strerror(ENOMEM));
		memcpy(buf, &m.head.type, 8);
		memcpy(buf + 8, m.bytes, m.head.size);
		err = msg_send(
			r->c, o->id, buf, m.head.size, MSG_IPC_NOWAIT, 0);
		free(buf);
	}
	return err ? lost(o, strerror(-err)) : got < 0 ? lost(o, "damaged") : 0;
}

static int fill_msg(struct reader *r, const struct save_object *o,
	const char *from, u64 size)
{
	struct dump_msgqueue q;
	struct dump_msgqueue open = {.qbytes = 0xffffffff};
	int err;

	if (load_msgqueue(r->c, o->id, &open))
		return lost(o, "cannot be filled");
	memcpy(&q, from, sizeof(q));
	err = restore_messages(r, o, from + sizeof(q), size - sizeof(q));
	if (!err && load_msgqueue(r->c, o->id, &q))
		err = lost(o, "its times cannot be set");
	return err;
}

static int restore_msg(struct reader *r, const struct save_object *o,
	const char *from, u64 size)
{
	int err;

	if (size < sizeof(struct dump_msgqueue))
		return lost(o, "damaged");
	if (make(r, o, 0))
		return EXIT_FAILED;
	err = fill_msg(r, o, from, size);
	if (err)
		take_away(r, o->kind, o->id);
	return err;
}

#define SHM_NORESERVE_FLAG 010000

static int restore_shm(struct reader *r, const struct save_object *o,
	const char *from, u64 size)
{
	struct dump_segment p;

	if (size != sizeof(p))
		return lost(o, "damaged");
	memcpy(&p, from, sizeof(p));
	if (make(r, o, p.noreserve ? SHM_NORESERVE_FLAG : 0))
		return EXIT_FAILED;
	r->segment = o;
	if (!load_segment(r->c, o->id, &p))
		return 0;
	take_away(r, o->kind, o->id);
	return lost(o, "its times cannot be set");
}

static int write_data(
	struct reader *r, const struct save_data *d, const char *from, u64 size)
{
	u64 done = 0;
	s64 n;

	/* The last slice is padded: bytes beyond the segment are dropped. */
	while (done < size) {
		n = shm_copy(r->c, d->id, r->registry, d->off + done,
			(char *)from + done, size - done, 1);
		if (n <= 0)
			return (int)n;
		done += (u64)n;
	}
	return 0;
}

/* The data after a segment; dropped if the segment was left out. */
static void restore_data(struct reader *r, const char *from, u64 size)
{
	const struct save_object *o = r->segment;
	struct save_data d;
	int err;

	memcpy(&d, from, sizeof(d));
	if (!o || d.id != o->id)
		return;
	err = write_data(r, &d, from + sizeof(d), size - sizeof(d));
	if (!err)
		return;
	lost(o, strerror(-err));
	take_away(r, o->kind, o->id);
	r->segment = NULL;
	r->n_made--;
	r->n_left_out++;
}

static int fill_mq(struct reader *r, const struct save_object *o,
	const struct mq_desc *d, const char *from, u64 size)
{
	static const struct sys_timespec past = {0, 0};
	struct message m;
	u64 at = 0;
	int got, err = 0;
	u32 n = 0;

	/* There may be more than mq_maxmsg: some were put back from leases. */
	while (next_message(from, size, &at, &m) > 0)
		n++;
	if (n > o->n)
		err = load_mq_room(r->c, d, o->n + MQ_SPARE_ITEMS);
	at = 0;
	got = 0;
	while (!err && (got = next_message(from, size, &at, &m)) > 0)
		err = (u64)m.head.type < MQ_N_PRIOS
			      ? mqueue_send(r->c, d, m.bytes, m.head.size,
					(u32)m.head.type, &past)
			      : -EINVAL;
	if (!err && n > o->n)
		err = load_mq_room(r->c, d, o->n);
	return err ? lost(o, strerror(-err)) : got < 0 ? lost(o, "damaged") : 0;
}

/* Set its owner, and those bits of its mode that a queue can have. */
static int finish_mq(struct reader *r, const struct save_object *o,
	const struct mq_desc *d, const struct dump_mqueue *q)
{
	struct dump_perm perm = o->perm;

	perm.mode &= 07777;
	return load_mqueue(r->c, d, &perm, q)
		       ? lost(o, "its owner cannot be set")
		       : 0;
}

static int restore_mq(struct reader *r, const struct save_object *o,
	const char *from, u64 size)
{
	struct {
		struct dump_mqueue q;
		char name[SAVE_NAME];
	} head;
	const struct mq_limits_attr attr = {o->n, (s64)o->size};
	struct mq_desc d;
	size_t len;
	int fd, err;

	if (size < sizeof(head))
		return lost(o, "damaged");
	memcpy(&head, from, sizeof(head));
	if (head.name[SAVE_NAME - 1])
		return lost(o, "damaged");
	len = strlen(head.name);
	if (!len)
		return lost(o, "a queue without a name");
	fd = mqueue_open(r->c, head.name, len,
		MQ_O_CREAT | MQ_O_EXCL | MQ_O_RDWR, 0600, &attr, &d);
	if (fd == -EACCES || fd == -ENAMETOOLONG)
		return failure(
			"mq /%s: no queue can have that name", head.name);
	if (fd < 0)
		return failure("mq /%s: %s", head.name, strerror(-fd));
	err = fill_mq(r, o, &d, from + sizeof(head), size - sizeof(head));
	if (!err)
		err = finish_mq(r, o, &d, &head.q);
	if (err)
		mqueue_unlink(r->c, head.name, len);
	mq_closing(r->c, &d);
	close(fd);
	mq_closed(r->c, &d);
	return err;
}

/* For other kinds than POSIX queues: set the owner, and those bits of the mode
 * that it can have while it is not in use. */
static int finish(struct reader *r, const struct save_object *o)
{
	struct dump_perm perm = o->perm;

	perm.mode &= o->kind == FAC_SHM ? 0777 | SHM_MODE_LOCKED : 0777;
	if (!load_perm(r->c, (enum facility)o->kind, o->id, &perm))
		return 0;
	take_away(r, o->kind, o->id);
	return lost(o, "its owner cannot be set");
}

static int make_object(struct reader *r, const struct save_object *o,
	const char *from, u64 size)
{
	int err;

	if (o->kind == FAC_MQ)
		return restore_mq(r, o, from, size);
	err = o->kind == FAC_SEM   ? restore_sem(r, o, from, size)
	      : o->kind == FAC_MSG ? restore_msg(r, o, from, size)
				   : restore_shm(r, o, from, size);
	return err ? err : finish(r, o);
}

static void restore_object(struct reader *r, const char *from, u64 size)
{
	struct save_object *o = &r->object;
	int err;

	r->segment = NULL;
	if (size >= sizeof(*o))
		memcpy(o, from, sizeof(*o));
	if (stopped)
		err = EXIT_FAILED;
	else if (size < sizeof(*o) || o->kind >= N_FAC)
		err = bad_file(r, "has an object of no known kind");
	else
		err = make_object(r, o, from + sizeof(*o), size - sizeof(*o));
	if (err)
		r->segment = NULL;
	r->n_made += !err;
	r->n_left_out += !!err;
}

/* ---- all ---- */

/* Objects and their data; then limits and ids, which objects would change. */
static int restore_all(struct reader *r)
{
	struct record rec;
	u64 at = sizeof(struct save_head);
	int err = 0;

	lift_limits(r->c);
	while (next_record(r, &at, &rec)) {
		if (rec.head.type == SAVE_OBJECT)
			restore_object(r, rec.bytes, rec.head.size);
		else if (rec.head.type == SAVE_DATA &&
			 rec.head.size >= sizeof(struct save_data))
			restore_data(r, rec.bytes, rec.head.size);
	}
	at = sizeof(struct save_head);
	while (next_record(r, &at, &rec)) {
		if (rec.head.type == SAVE_LIMIT &&
			rec.head.size == sizeof(struct save_limit))
			err |= restore_limit(r, rec.bytes);
		if (rec.head.type == SAVE_IDS &&
			rec.head.size == sizeof(struct save_ids))
			err |= restore_ids(r, rec.bytes);
	}
	return err;
}

static int count_one(struct caller *c, const struct object *o, void *arg)
{
	(void)c, (void)o;
	++*(u64 *)arg;
	return 0;
}

static int remove_one(struct caller *c, const struct object *o, void *arg)
{
	(void)arg;
	return object_destroy(c, o);
}

/* Nothing may be there already. */
static int make_space(struct reader *r, const struct save_head *head)
{
	u64 n = 0;
	int err;

	if (caller_header(r->c)->idx_bits != head->idx_bits)
		return failure("the registry has ids of another size: remove "
			       "it, or use another");
	err = object_each(r->c, 15, count_one, &n);
	if (err || !n)
		return err;
	if (!force)
		return failure("the registry holds %llu objects: --force "
			       "removes them first",
			(unsigned long long)n);
	return object_each(r->c, 15, remove_one, NULL);
}

/* The registry is created if there is none, with the saved range of ids. */
static int open_target(struct reader *r, const struct save_head *head)
{
	const char *path = registry_path();
	char home[HOME_PATH_MAX];
	struct region_options made = {
		.idx_bits = head->idx_bits, .profile = head->profile};
	struct stat st;
	int fd;

	if (!path)
		return EXIT_USAGE;
	fd = home_open(0, home);
	if (fd == -ENOENT && !strncmp(path, home, strlen(home)))
		fd = home_open(1, home);
	if (fd >= 0)
		close(fd);
	if (!registry_may_change(path))
		return EXIT_FAILED;
	limits_init(&made.limits, made.profile, made.idx_bits);
	r->c = registry_open_path(path, &made);
	if (!r->c)
		return EXIT_FAILED;
	r->registry = open(
		path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (r->registry < 0 || fstat(r->registry, &st))
		return failure("%s: %s", path, strerror(errno));
	return registry_is_file(&st) ? 0
				     : failure("%s: was replaced by another "
					       "file",
					       path);
}

static void on_stop(int signo)
{
	(void)signo;
	stopped = 1;
}

/* For the first signal; a second one ends us at once. */
static void stop_by_signals(void)
{
	static const int ends[] = {SIGHUP, SIGINT, SIGTERM};
	const struct sigaction sa = {
		.sa_handler = on_stop, .sa_flags = SA_RESETHAND | SA_RESTART};
	struct sigaction was;
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!sigaction(ends[i], NULL, &was) &&
			was.sa_handler == SIG_DFL)
			sigaction(ends[i], &sa, NULL);
}

/* Report what was created, and return the exit status. */
static int tell(const struct reader *r, int err)
{
	printf("%llu objects", (unsigned long long)r->n_made);
	if (r->n_left_out)
		printf(", %llu left out", (unsigned long long)r->n_left_out);
	putchar('\n');
	fflush(stdout);
	if (stopped)
		return failure("stopped by a signal before the end");
	return r->n_left_out ? EXIT_FAILED : err;
}

static int restore_file(struct reader *r, const char *path)
{
	int err = read_file(r, path);

	if (err)
		return err;
	err = open_target(r, &r->head);
	if (!err)
		err = make_space(r, &r->head);
	if (err)
		return err;
	stop_by_signals();
	return tell(r, restore_all(r));
}

static int restore_main(int argc, char **argv)
{
	struct reader r = {.registry = -1};
	int err;

	if (argc != 1)
		return usage_error("name one file");
	err = restore_file(&r, argv[0]);
	if (r.size)
		munmap((void *)(uintptr_t)r.bytes, r.size);
	if (r.registry >= 0)
		close(r.registry);
	return err;
}

const struct command restore_command = {
	.name = "restore",
	.summary = "recreate a saved registry",
	.usage = "[OPTIONS] FILE",
	.about = "Create the objects of a file that ipclift save wrote, with "
		 "their ids, in a\n"
		 "registry that is empty or does not exist. New ids continue "
		 "where they were. The\n"
		 "file is read into memory, and its checksum compared, before "
		 "anything is changed.\n"
		 "An object that cannot be restored completely is reported and "
		 "left out; the exit\n"
		 "status is 1 then. What belongs to processes is not restored: "
		 "SEM_UNDO,\n"
		 "attachments, sleepers, notifications.",
	.options = options,
	.is = COMMAND_ON_REGISTRY,
	.main = restore_main,
};
