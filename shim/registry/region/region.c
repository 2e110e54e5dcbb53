// SPDX-License-Identifier: MIT
/*
 * Making, checking and mapping the registry file.
 *
 * Creation is decided under flock: a file of size 0, or one that a creator left
 * who died before the last store (regionfile_unfinished), is initialised by the
 * process that holds the lock. The magic is the commit point. Everything else
 * in the file starts as zeros, so there is little to write. Where the magic is,
 * no lock is asked for: whoever may read the file may hold it for as long as he
 * likes.
 *
 * A program's first call waits for this, so it makes as few system calls as it
 * can.
 */
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/mman.h>
#include <linux/openat2.h>
#include <linux/random.h>
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "registry/identity.h"
#include "registry/region/region.h"
#include "registry/region/regionfile.h"
#include "registry/region/regionhome.h"
#include "base/statfs.h"
#include "base/sys.h"

#define PROT_RW (PROT_READ | PROT_WRITE)
/* A file that is replaced while it is opened is looked for so often. */
#define OPEN_TRIES 100
/* Making a registry takes less than a millisecond: so often a new file's lock
 * is asked for, with naps, that it is five seconds. Arbitrary. */
#define LOCK_TRIES 500
#define LOCK_NAP_NS 10000000

/* What identifies this boot and this pid namespace. */
struct place {
	int canonical;	/* the path is absolute and has no link in it */
	int boot_known; /* boot_id was read */
	u64 boot_id[2];
	u64 pid_ns;
};

/* What never changes once the magic is stored, in one number: a file whose
 * beginning was overwritten, by another program or in part, is told from one
 * that an older or newer version made. The limits and tables behind are not in
 * it. */
static u64 identity_sum(const struct header *h)
{
	const u64 fields[] = {LAYOUT_MAGIC, h->version, h->word_size,
		h->file_size, h->boot_id[0], h->boot_id[1], h->booted,
		h->pid_ns, h->owner, h->idx_bits, h->profile};
	u64 sum = 0xcbf29ce484222325ULL;
	unsigned i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		sum = (sum ^ fields[i]) * 0x100000001b3ULL;
	return sum;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* 0, or the error of open(2). Without /proc the id is 0. */
static int boot_id(u64 ret_id[2])
{
	char buf[64];
	unsigned n = 0;
	char *p;
	long len;

	ret_id[0] = ret_id[1] = 0;
	len = sys_read_file(
		"/proc/sys/kernel/random/boot_id", buf, sizeof(buf));
	if (len == -EMFILE || len == -ENFILE || len == -ENOMEM)
		return len;
	for (p = buf; len > 0 && *p && n < 32; p++) {
		int d = hex_digit(*p);

		if (d < 0)
			continue;
		ret_id[n / 16] = ret_id[n / 16] << 4 | (unsigned)d;
		n++;
	}
	return 0;
}

/* The second of the boot, by a clock that may be set. */
static s64 boot_second(void)
{
	return (sys_realtime_ns() - (s64)sys_boottime_ns()) / 1000000000;
}

/* The inode of our pid namespace, or 0 where /proc does not tell. */
static u64 pid_namespace(void)
{
	char buf[64];
	u64 v = identity_namespace();
	long n, i;

	if (v)
		return v;
	n = sys_call(__NR_readlink, "/proc/self/ns/pid", buf, sizeof(buf) - 1);
	for (i = 0; i < n; i++)
		if (buf[i] >= '0' && buf[i] <= '9')
			v = v * 10 + (buf[i] - '0');
	return v;
}

/* The one line that says why a file is not used, "path: text"; and the
 * error. */
static int refuse(
	char *why, size_t cap, const char *path, const char *text, int error)
{
	size_t n = str_add(why, cap, 0, path);

	n = str_add(why, cap, n, ": ");
	str_add(why, cap, n, text);
	return error;
}

/* The same, with what the system said. */
static int refuse_for(
	char *why, size_t cap, const char *path, const char *text, int error)
{
	size_t n;

	refuse(why, cap, path, text, error);
	for (n = 0; why[n]; n++)
		;
	n = str_add(why, cap, n, ": ");
	str_add(why, cap, n, str_error(-error));
	return error;
}

/* A place in the address space that programs leave alone, above ASan's shadow
 * and far below the stack and the libraries; somewhere else in each registry.
 */
static u64 choose_home(void)
{
	u64 r = 0;

	sys_call(__NR_getrandom, &r, sizeof(r), GRND_NONBLOCK);
	return (0x200000000000ULL + ((r & 0x3ffffff) << 18)) & ~0x3fffffULL;
}

/*
 * All that is not zero in a new registry. By the holder of the file's lock,
 * whom nobody else maps yet: they wait for the lock while there is no magic. So
 * only two stores have an order. The version comes first, since a file of the
 * right size that has it, and nothing else but zeros, is one whose maker died
 * (regionfile_unfinished); the magic comes last and is the commit point.
 */
static void write_header(struct header *h, u64 file_size,
	const struct region_options *opt, const struct place *place, long fd)
{
	unsigned f;

	/* First, and what tells one that is not finished
	 * (regionfile_unfinished). */
	atom_store_release(&h->version, LAYOUT_VERSION);
	h->word_size = sizeof(void *);
	h->file_size = file_size;
	h->boot_id[0] = place->boot_id[0];
	h->boot_id[1] = place->boot_id[1];
	h->booted = boot_second();
	h->pid_ns = place->pid_ns;
	h->owner = sys_call(__NR_geteuid);
	h->idx_bits = opt->idx_bits;
	h->profile = opt->profile;
	h->created = sys_realtime_sec();
	h->limits = opt->limits;
	if (opt->complete)
		opt->complete(&h->limits, opt->idx_bits);
	for (f = 0; f < N_FAC; f++) {
		h->ids[f].last_idx = -1;
		h->ids[f].next_id = -1;
		h->ids[f].n_buckets = 1;
		h->ids[f].gen = 1;
	}
	h->heap.bump = HEAP_OFF;
	h->heap.keep = regionfile_heap_keep(fd);
	h->on_disk = regionfile_on_disk(fd);
	h->shm.near = REGION_SIZE;
	h->shm.far = REGION_SIZE + WINDOW_HOME;
	h->shm.home = choose_home();
	h->thread_high = 1;
	h->event_seq = 0;
	h->stamp = 1;
	h->identity_sum = identity_sum(h);
	atom_store_release(&h->magic, LAYOUT_MAGIC);
}

#define NO_REGISTRY                                              \
	"is not an ipclift registry; remove it or name another " \
	"with IPCLIFT_REGISTRY"
#define WRONG_SIZE                                        \
	"is not an ipclift registry (its size is wrong: " \
	"truncated, or another kind of file)"
#define OTHER_VERSION                                                      \
	"was made by another version of ipclift; end its programs and "    \
	"remove it (ipclift save of that version and restore of this one " \
	"carry its objects over), or name another with IPCLIFT_REGISTRY"
#define OTHER_NAMESPACE                                                     \
	"belongs to another pid namespace: process ids would be mistaken; " \
	"give each namespace (container) a registry of its own with "       \
	"IPCLIFT_REGISTRY"

/* All that can be wrong with a file that has a magic. */
static int header_check(const struct header *h, u64 size,
	const struct place *place, const char *path, char *why, size_t cap)
{
	if (h->magic != LAYOUT_MAGIC)
		return refuse(why, cap, path, NO_REGISTRY, -EINVAL);
	if (h->version != LAYOUT_VERSION || h->word_size != sizeof(void *))
		return refuse(why, cap, path, OTHER_VERSION, -EPROTO);
	if (h->identity_sum != identity_sum(h) ||
		(h->idx_bits != IDX_BITS_NORMAL &&
			h->idx_bits != IDX_BITS_EXTENDED))
		return refuse(why, cap, path,
			"is damaged (identity sum); remove it", -EINVAL);
	if (h->file_size != size)
		return refuse(why, cap, path, WRONG_SIZE, -EINVAL);
	if (place->boot_known && (place->boot_id[0] != h->boot_id[0] ||
					 place->boot_id[1] != h->boot_id[1]))
		return refuse(why, cap, path,
			"was made before the last boot; its objects ended with "
			"it: remove the file",
			-ESTALE);
	if (place->pid_ns != h->pid_ns)
		return refuse(why, cap, path, OTHER_NAMESPACE, -EXDEV);
	return 0;
}

/* The file's name, absolute and without links: the program may change its
 * directory, and others where a link leads. */
static const char *remember_path(const char *path, int canonical, long fd,
	const struct region_options *opt)
{
	static char only[REGION_NAME_CAP] SYS_FAR_BSS;
	/* A thread may have descriptors of its own. */
	static const char *const dirs[] = {
		"/proc/thread-self/fd/", "/proc/self/fd/"};
	char link[40];
	long len = -1;
	char *name = opt->name ? opt->name : only;
	size_t n, i;

	if (canonical && str_len(path) < REGION_NAME_CAP) {
		/* Copied, though that touches a page: the program may change
		 * its environment, or free what the name stands in. */
		str_add(name, REGION_NAME_CAP, 0, path);
		return name;
	}
	for (i = 0; i < 2 && len <= 0; i++) {
		n = str_add(link, sizeof(link), 0, dirs[i]);
		str_add_u64(link, sizeof(link), n, fd);
		len = sys_call(__NR_readlink, link, name, REGION_NAME_CAP - 1);
	}
	name[len > 0 ? len : 0] = 0;
	return name;
}

#define LINKED "is a symbolic link; name the file itself"
#define PLANTED                                                           \
	"is in a directory that is not its owner's alone: somebody else " \
	"may have put it there"

/* Of a file that is not ours, by its name without links: 0, or -EACCES. */
static __attribute__((cold, noinline)) int check_home(
	long fd, const char *path, char *why, size_t cap)
{
	char name[REGION_NAME_CAP], dir[REGIONHOME_CAP];

	remember_path(path, 0, fd, &(struct region_options){.name = name});
	return regionhome_is_owners(name[0] ? name : path, dir)
		       ? 0
		       : refuse(why, cap, path, PLANTED, -EACCES);
}

/*
 * A page of a mapping of a file on a disk that is missing is read alone, not with
 * its neighbours. Those would make one large folio of the page cache, of 128 KiB,
 * and a store to a folio that has been written to the disk needs space for all of
 * it: for what MADV_REMOVE has made a hole of, too, and in a full file system it
 * ends in SIGBUS (ext4 of Linux 6.18). What is duplicated from the mapping by
 * mremap(2) is as it is. Not on tmpfs, which has no such need, since pages of
 * mappings that are read at random are the first that the kernel takes when memory
 * is short.
 */
static void advise(const struct header *h, void *at, u64 len)
{
	if (unlikely(h->on_disk))
		sys_call(__NR_madvise, at, len, MADV_RANDOM);
}

char *region_map_read_only(const struct region *region)
{
	struct file_stat st;
	long fd = sys_call(
		__NR_open, region->path, O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	void *at = NULL;

	if (fd < 0)
		return NULL;
	if (!sys_call(__NR_fstat, fd, &st) && st.dev == region->dev &&
		st.ino == region->ino)
		at = sys_mmap(NULL, SYS_PAGE, PROT_NONE,
			MAP_SHARED | MAP_NORESERVE, fd, REGION_SIZE - SYS_PAGE);
	sys_call(__NR_close, fd);
	if (!at || (unsigned long)at > -4096UL)
		return NULL;
	advise((const struct header *)region->base, at, SYS_PAGE);
	/* What is duplicated from it has its flags. */
	sys_call(__NR_munlock, at, SYS_PAGE);
	return at;
}

/*
 * Under mlockall(MCL_FUTURE) a mapping is filled to its last page, or refused
 * to one who may not lock so much: so a page is mapped, unlocked, and then
 * grows.
 */
static long map_file(long fd)
{
	void *at = sys_mmap(
		NULL, SYS_PAGE, PROT_RW, MAP_SHARED | MAP_NORESERVE, fd, 0);
	long grown;

	if ((unsigned long)at > -4096UL)
		return (long)at;
	sys_call(__NR_munlock, at, SYS_PAGE);
	grown = sys_call(
		__NR_mremap, at, SYS_PAGE, REGION_SIZE, MREMAP_MAYMOVE);
	if ((unsigned long)grown > -4096UL)
		sys_call(__NR_munmap, at, SYS_PAGE);
	else
		sys_call(__NR_madvise, grown, REGION_SIZE, MADV_DONTDUMP);
	return grown;
}

/* What is read of a header before the file is mapped: 0 of a new one. */
struct glance {
	u64 magic, version_and_word, file_size, boot_id[2];
	s64 booted;
};
_Static_assert(
	offsetof(struct header, booted) == offsetof(struct glance, booted),
	"the beginning of struct header");

/* Without the lock: a magic that is read here was stored last, so all before it
 * stands; one that is not there is looked for again with the lock held. */
static struct glance glance_at(long fd, const struct file_stat *st)
{
	struct glance g = {0};

	if (st->size)
		sys_call(__NR_pread64, fd, &g, sizeof(g), 0);
	return g;
}

/* Open without O_CREAT first: where fs.protected_regular is set, a registry
 * that its owner shares in a sticky directory may be opened only so. */
static long open_or_make(const char *path, int make, int *canonical)
{
	int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	const struct open_how how = {
		.flags = (u64)flags, .resolve = RESOLVE_NO_SYMLINKS};
	char dir[REGIONHOME_CAP];
	struct file_stat st;
	long fd;
	int i;

	/* Spares asking for the name afterwards. */
	if (!*canonical && path[0] == '/') {
		fd = sys_call(__NR_openat2, -1, path, &how, sizeof(how));
		*canonical = fd >= 0;
		if (fd >= 0)
			return fd;
	}
	for (i = 0; i < OPEN_TRIES; i++) {
		fd = sys_call(__NR_open, path, flags, 0);
		if (fd != -ENOENT || !make)
			return fd;
		if (!regionhome_is_owners(path, dir))
			return -EACCES;
		fd = sys_call(__NR_open, path, flags | O_CREAT | O_EXCL, 0600);
		if (fd >= 0 && !sys_call(__NR_fstat, fd, &st) &&
			(st.mode & 0600) != 0600)
			/* A umask that leaves its own user out. */
			sys_call(__NR_fchmod, fd, 0600);
		/* Somebody was faster, or it is a link that leads nowhere. */
		if (fd != -EEXIST)
			return fd;
	}
	return fd;
}

/*
 * Open what is at path, or make it, and refuse what must not be written to: a
 * link, another kind of file, another user's that he has not shared, one in a
 * directory where a third one could have put it. Only what the directory and
 * fstat(2) say is looked at; the content comes later, for a file that is
 * nobody's registry may block or change on read.
 */
static int open_checked(const char *path, const struct region_options *opt,
	struct place *place, long *ret_fd, struct file_stat *ret_st, char *why,
	size_t cap)
{
	long fd = open_or_make(path, !opt->must_exist, &place->canonical), err;
	u32 uid = sys_call(__NR_geteuid);
	char dir[REGIONHOME_CAP];
	struct file_stat st;

	if (fd == -ELOOP)
		return refuse(why, cap, path, LINKED, -EINVAL);
	if (fd == -ENOENT)
		return refuse(why, cap, path,
			opt->must_exist ? "no such registry"
					: "its directory does not exist",
			-ENOENT);
	if (fd == -EMFILE || fd == -ENFILE)
		return refuse_for(why, cap, path,
			"no free file descriptor to open it", fd);
	if (fd == -EACCES && !regionhome_is_owners(path, dir))
		return refuse(why, cap, path, PLANTED, -EACCES);
	if (fd < 0)
		return refuse_for(why, cap, path,
			"cannot be opened for reading and writing", fd);
	err = sys_call(__NR_fstat, fd, &st);
	if (!err && (st.mode & FILE_TYPE) != FILE_REGULAR)
		err = refuse(why, cap, path, "is not a regular file", -EINVAL);
	else if (!err && !opt->any_owner && st.uid != uid && !(st.mode & 022))
		err = refuse(why, cap, path,
			"is owned by another user and not shared (group or "
			"world writable) on purpose",
			-EACCES);
	else if (!err && st.uid != uid)
		err = check_home(fd, path, why, cap);
	if (err) {
		sys_call(__NR_close, fd);
		return err;
	}
	*ret_fd = fd;
	*ret_st = st;
	return 0;
}

#define REPLACED 1
#define BOOT_ID_NEEDED 2

/*
 * With the file locked if it may be new: initialise it, else check it. *st, and
 * magic, are as found then. REPLACED: it was removed before we had the lock,
 * and its name may be another's.
 *
 * In this order, for a file that is refused is never written: what its size and
 * magic say; whether the file system has the space, since a store to a page
 * that it cannot give is SIGBUS; the size; the first pages; the mapping; the
 * header.
 */
static int map_opened(struct region *region, long fd, struct file_stat *st,
	u64 magic, const char *path, const struct region_options *opt,
	const struct place *place, char *why, size_t cap)
{
	long at, err = 0;

	if (!st->nlink)
		return REPLACED;
	if (st->size != 0 && st->size < (s64)REGION_SIZE)
		return refuse(why, cap, path, WRONG_SIZE, -EINVAL);
	/* Whoever made it died before he had written it, perhaps. */
	if (!magic && opt->must_exist)
		return refuse(why, cap, path, "is empty", -ENODATA);
	if (!magic && st->size && !regionfile_unfinished(fd, (u64)st->size))
		return refuse(why, cap, path, NO_REGISTRY, -EINVAL);
	if (!magic && regionfile_no_space(fd))
		return refuse(why, cap, path,
			"no room for a registry in its file system (512 KiB "
			"at least)",
			-ENOSPC);
	if (st->size == 0) {
		err = regionfile_grow(fd);
		if (err)
			return refuse(why, cap, path,
				"cannot grow to its (sparse) size: file size "
				"limit of the file system or RLIMIT_FSIZE",
				err);
		sys_call(__NR_fstat, fd, st);
	}
	if (!magic && regionfile_first_pages(fd))
		return refuse(
			why, cap, path, "no room in its file system", -ENOSPC);
	at = map_file(fd);
	if (at == -ENOMEM || at == -EAGAIN)
		return refuse(why, cap, path,
			"cannot be mapped: it needs 32 GiB of address space "
			"(not memory); raise RLIMIT_AS (ulimit -v)",
			-ENOMEM);
	if (at < 0 && at > -4096)
		return refuse_for(why, cap, path, "cannot be mapped", at);
	if (magic)
		err = header_check(
			(struct header *)at, st->size, place, path, why, cap);
	else
		write_header((struct header *)at, st->size, opt, place, fd);
	if (err) {
		sys_call(__NR_munmap, at, REGION_SIZE);
		return err;
	}
	advise((const struct header *)at, (void *)at, REGION_SIZE);
	region->base = (char *)at;
	region->file_size = st->size;
	region->owner = st->uid;
	region->path = remember_path(path, place->canonical, fd, opt);
	region->dev = st->dev;
	region->ino = st->ino;
	return 0;
}

/* For the one who makes a registry of it, which takes no time. 0, or the error
 * of flock(2). */
static long lock_new(long fd)
{
	const struct sys_timespec nap = {0, LOCK_NAP_NS};
	long err;
	int i;

	for (i = 0; i < LOCK_TRIES; i++) {
		err = sys_call(__NR_flock, fd, LOCK_EX | LOCK_NB);
		if (err != -EAGAIN && err != -EINTR)
			return err;
		sys_call(__NR_nanosleep, &nap, NULL);
	}
	return err;
}

/*
 * The file had no magic: with its lock, so that of several that start at once
 * one makes the registry and the others find it made. size, links and magic are
 * read again, for another one may have finished it, or removed it, meanwhile.
 * Who dies with the lock leaves it free and the file unfinished, for the next
 * one to do again from the start.
 */
static int map_new(struct region *region, long fd, struct file_stat *st,
	const char *path, const struct region_options *opt,
	const struct place *place, char *why, size_t cap)
{
	long err;

	if (lock_new(fd))
		return refuse(why, cap, path,
			"is new, and somebody keeps it locked", -EAGAIN);
	err = sys_call(__NR_fstat, fd, st);
	if (err)
		err = refuse(why, cap, path, "fstat failed", err);
	else
		err = map_opened(region, fd, st, glance_at(fd, st).magic, path,
			opt, place, why, cap);
	/* The mapping keeps the open file, and with it the lock. */
	sys_call(__NR_flock, fd, LOCK_UN);
	return err;
}

/*
 * Was the registry made since the last boot, as can be told without the boot
 * id? What lies in a tmpfs does not outlive a boot, but may have been copied
 * there: then the clocks say another second of the boot. That they differ may
 * also mean that the clock was set.
 */
static int surely_of_this_boot(long fd, const struct glance *g)
{
	s64 apart = g->booted - boot_second();
	struct sys_statfs fs;

	return g->magic == LAYOUT_MAGIC && apart >= -1 && apart <= 1 &&
	       !sys_call(__NR_fstatfs, fd, &fs) && fs.type == SYS_TMPFS;
}

/*
 * One try: 0, an error, REPLACED or BOOT_ID_NEEDED. Three ways, the frequent
 * one first: the file has a magic and was made in this boot, so it is only
 * checked; it may be of an earlier boot, for which boot_id must be read first;
 * it has no magic.
 */
static int map_once(struct region *region, const char *path,
	const struct region_options *opt, struct place *place, char *why,
	size_t cap)
{
	struct file_stat st;
	struct glance g;
	long fd = -1;
	int err;

	err = open_checked(path, opt, place, &fd, &st, why, cap);
	if (err)
		return err;
	g = glance_at(fd, &st);
	if (!place->boot_known && !surely_of_this_boot(fd, &g))
		err = BOOT_ID_NEEDED;
	else if (g.magic)
		err = map_opened(
			region, fd, &st, g.magic, path, opt, place, why, cap);
	else
		err = map_new(region, fd, &st, path, opt, place, why, cap);
	sys_call(__NR_close, fd);
	return err;
}

/* Another thread may fork at any moment, and the child takes a region that has
 * a base for whole: the base is stored last, and by no copy before. */
static void publish(struct region *region, struct region *made)
{
	char *base = made->base;

	made->base = NULL;
	*region = *made;
	__atomic_store_n(&region->base, base, __ATOMIC_RELEASE);
}

int region_map(struct region *region, const char *path,
	const struct region_options *opt, char *why, size_t cap)
{
	struct region made = {0};
	struct place place = {0};
	int err, i;

	why[0] = 0;
	place.pid_ns = pid_namespace();
	for (i = 0; i < OPEN_TRIES; i++) {
		place.canonical = opt->canonical;
		err = map_once(&made, path, opt, &place, why, cap);
		if (err == BOOT_ID_NEEDED) {
			/* While the file is not open: the last free descriptor
			 * may be in use then, and a registry without a boot id
			 * would be refused by all. */
			if (boot_id(place.boot_id))
				return refuse(why, cap, path,
					"no free file descriptor to open it",
					-EMFILE);
			place.boot_known = 1;
			continue;
		}
		if (!err)
			publish(region, &made);
		if (err != REPLACED)
			return err;
	}
	return refuse(why, cap, path, "is replaced all the time", -EAGAIN);
}

/* ---- a copy ---- */

/* In the copy only, where nobody else is: as the kernel leaves the lock of an
 * owner that died, so that whoever takes it rolls back its journal, which was
 * copied at about the same moment. */
static void let_go(struct lock *lock)
{
	if (lock->word & SYS_TID_MASK)
		lock->word = SYS_OWNER_DIED | SYS_WAITERS;
}

/* The locks of n rows of a table, the first one's at `at`; in holes of the file
 * they are free. */
static void let_rows_go(
	const struct region *r, struct holes *holes, u64 at, u64 stride, u64 n)
{
	const u64 first = at, end = at + n * stride;
	u64 next;

	while (at < end) {
		next = holes_next(holes, at);
		if (next >= end)
			break;
		if (next != at) {
			at = first +
			     (next - first + stride - 1) / stride * stride;
			continue;
		}
		let_go((struct lock *)(void *)(r->base + at));
		at += stride;
	}
}

/* All that a thread may hold. */
static void let_all_go(const struct region *r, long fd)
{
	struct header *h = region_header(r);
	struct holes holes = {.fd = (int)fd};
	u64 n;
	u32 f;

	for (f = 0; f < N_FAC; f++)
		let_go(&h->fac_lock[f].lock);
	let_go(&h->repair_lock.lock);
	let_go(&h->control_lock.lock);
	let_go(&h->heap.lock);
	let_rows_go(r, &holes, TASKS_OFF + offsetof(struct task, lock),
		sizeof(struct task), N_TASKS);
	for (f = 0; f < N_FAC; f++) {
		n = (u64)h->ids[f].max_idx + 1;
		let_rows_go(r, &holes,
			SLOTS_OFF((u64)f) + offsetof(struct slot, lock),
			SLOT_STRIDE(f), n < IDX_MAX ? n : IDX_MAX);
	}
}

/* What is there of the region: holes are not read, so none is filled. */
static long copy_extents(long fd, char *to)
{
	s64 at = 0, end, n;

	while (at < (s64)REGION_SIZE) {
		at = sys_call(__NR_lseek, fd, at, SEEK_DATA);
		if (at == -ENXIO)
			break;
		end = at < 0 ? at : sys_call(__NR_lseek, fd, at, SEEK_HOLE);
		if (end < 0)
			return end;
		if (end > (s64)REGION_SIZE)
			end = REGION_SIZE;
		for (; at < end; at += n) {
			n = sys_call(__NR_pread64, fd, to + at, end - at, at);
			if (n <= 0)
				return n ? n : -EIO;
		}
	}
	return 0;
}

/*
 * Map a file that is only to be looked at. copy: its extents into private
 * memory, where the locks that were held become those of exited owners; else
 * the file itself, read-only. The header that is checked is that of the
 * mapping, not of a read before: what counts is what will be used.
 */
static long look_at(struct region *region, long fd, const char *path, int copy,
	const struct file_stat *st, const struct place *place, char *why,
	size_t cap)
{
	char *at;
	long err;

	if ((st->mode & FILE_TYPE) != FILE_REGULAR)
		return refuse(why, cap, path, "is not a regular file", -EINVAL);
	if (st->size < (s64)REGION_SIZE && (st->size || !copy))
		return refuse(why, cap, path, WRONG_SIZE, -EINVAL);
	if (!glance_at(fd, st).magic)
		return refuse(why, cap, path, "is empty", -ENODATA);
	at = copy ? sys_mmap(NULL, REGION_SIZE, PROT_RW,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
		  : sys_mmap(NULL, REGION_SIZE, PROT_READ,
			    MAP_SHARED | MAP_NORESERVE, fd, 0);
	if ((unsigned long)at > -4096UL)
		return refuse_for(why, cap, path, "cannot be mapped", (long)at);
	err = copy ? copy_extents(fd, at) : 0;
	if (err)
		refuse_for(why, cap, path, "cannot be read", err);
	else
		err = header_check((struct header *)(void *)at, st->size, place,
			path, why, cap);
	if (!err && !copy)
		advise((struct header *)(void *)at, at, REGION_SIZE);
	if (err) {
		sys_call(__NR_munmap, at, REGION_SIZE);
		return err;
	}
	region->base = at;
	region->file_size = st->size;
	region->owner = st->uid;
	region->dev = st->dev;
	region->ino = st->ino;
	/* Nothing beside the file is touched either. */
	region->path = "";
	if (copy)
		let_all_go(region, fd);
	return 0;
}

/* A descriptor for one who only looks, and what tells whether the file is of
 * this machine's here and now; -errno with why. */
static long open_to_inspect(const char *path, struct place *place,
	struct file_stat *st, char *why, size_t cap)
{
	long fd, err;

	*place = (struct place){0};
	why[0] = 0;
	if (boot_id(place->boot_id))
		return refuse_for(why, cap, path,
			"no free file descriptor to open it", -EMFILE);
	/* Without /proc it is not told to be of an earlier boot: to look at one
	 * harms nobody, to remove one that is in use does. */
	place->boot_known = place->boot_id[0] || place->boot_id[1];
	place->pid_ns = pid_namespace();
	fd = sys_call(__NR_open, path,
		O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	if (fd == -ELOOP)
		return refuse(why, cap, path, LINKED, -EINVAL);
	if (fd == -ENOENT)
		return refuse(why, cap, path, "no such registry", (int)fd);
	if (fd < 0)
		return refuse_for(
			why, cap, path, "cannot be opened for reading", fd);
	err = sys_call(__NR_fstat, fd, st);
	if (!err && st->uid != (u32)sys_call(__NR_geteuid))
		err = check_home(fd, path, why, cap);
	if (!err)
		return fd;
	sys_call(__NR_close, fd);
	return err;
}

int region_inspect(struct region *region, const char *path, int copy, char *why,
	size_t cap)
{
	struct place place;
	struct file_stat st;
	long fd = open_to_inspect(path, &place, &st, why, cap), err;

	if (fd < 0)
		return (int)fd;
	err = look_at(region, fd, path, copy, &st, &place, why, cap);
	sys_call(__NR_close, fd);
	return (int)err;
}

int region_peek(const char *path, struct header *ret, char *why, size_t cap)
{
	struct place place;
	struct file_stat st;
	long fd = open_to_inspect(path, &place, &st, why, cap), n;

	if (fd < 0)
		return (int)fd;
	n = sys_call(__NR_pread64, fd, ret, sizeof(*ret), 0);
	sys_call(__NR_close, fd);
	if (n != sizeof(*ret) || ret->magic != LAYOUT_MAGIC)
		return refuse(why, cap, path, NO_REGISTRY, -ENODATA);
	return header_check(ret, st.size, &place, path, why, cap);
}

int region_check_namespace(const struct region *region, char *why, size_t cap)
{
	u64 here = pid_namespace();

	if (!here || here == region_header(region)->pid_ns)
		return 0;
	return refuse(why, cap, "the registry", OTHER_NAMESPACE, -EXDEV);
}

int region_default_path(char *path, size_t cap, char *why, size_t why_cap)
{
	u32 uid = sys_call(__NR_geteuid);
	size_t n = str_add(path, cap, 0, REGIONHOME_PREFIX);
	struct file_stat st;
	long err;

	n = str_add_u64(path, cap, n, uid);
	err = sys_call(__NR_mkdir, path, 0700);
	if (err == -EEXIST)
		err = sys_call(__NR_lstat, path, &st);
	else if (!err) {
		/* A umask that leaves its own user out. */
		sys_call(__NR_chmod, path, 0700);
		st = (struct file_stat){.mode = FILE_DIRECTORY, .uid = uid};
	}
	if (err)
		return refuse_for(why, why_cap, path,
			"cannot be made; name a registry with "
			"IPCLIFT_REGISTRY",
			err);
	if ((st.mode & FILE_TYPE) != FILE_DIRECTORY || st.uid != uid ||
		(st.mode & 022))
		return refuse(why, why_cap, path,
			"is not a directory that only you can write; name "
			"another registry with IPCLIFT_REGISTRY",
			-EACCES);
	str_add(path, cap, n, "/default");
	return 0;
}
