// SPDX-License-Identifier: MIT
/*
 * The user's directory of registries; see home.h.
 */
#include "tool/home.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "registry/identity.h"
#include "registry/region/holes.h"
#include "registry/region/region.h"
#include "registry/region/regionhome.h"

#define PRIVATE_PREFIX "private."
#define NAME_MAX_LEN 64 /* arbitrary: enough for a name, short for a path */

unsigned home_uid(void)
{
	return (unsigned)sys_call(__NR_geteuid);
}

/* In a directory that others can write they could replace files. By a system
 * call of our own: under fakeroot libc's shows other owners. */
static int is_users_alone(int fd, unsigned uid)
{
	struct stat st;

	return !sys_call(__NR_fstat, fd, &st) && S_ISDIR(st.st_mode) &&
	       st.st_uid == uid && !(st.st_mode & 022);
}

int home_open(int make, char *path)
{
	int fd;

	snprintf(path, HOME_PATH_MAX, REGIONHOME_PREFIX "%u", home_uid());
	if (make && mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOTDIR || errno == ELOOP ? -EACCES : -errno;
	if (!is_users_alone(fd, home_uid())) {
		close(fd);
		return -EACCES;
	}
	return fd;
}

int home_share(void)
{
	char path[HOME_PATH_MAX];
	int fd = home_open(1, path), err = 0;

	if (fd < 0)
		return fd;
	if (fchmod(fd, 0711))
		err = -errno;
	close(fd);
	return err;
}

/* The user with this name or number: 1 with *ret. */
static int user_of(const char *word, unsigned *ret)
{
	const struct passwd *user;
	char *end;

	*ret = (unsigned)strtoul(word, &end, 10);
	if (isdigit((unsigned char)*word) && !*end)
		return 1;
	user = getpwnam(word);
	if (user)
		*ret = user->pw_uid;
	return user != NULL;
}

static const char *name_fault(const char *name)
{
	const char *p;

	if (!*name)
		return "is empty";
	if (strlen(name) > NAME_MAX_LEN)
		return "is longer than 64 characters";
	if (*name == '.' || *name == '-')
		return "begins with '.' or '-'";
	if (!strncmp(name, PRIVATE_PREFIX, strlen(PRIVATE_PREFIX)))
		return "begins with 'private.', which is for --private";
	for (p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			return "has characters other than letters, digits, "
			       "'.', '_' and '-'";
	return NULL;
}

const char *home_name_path(const char *name, char *path)
{
	const char *slash = strchr(name, '/'), *fault;
	unsigned uid = home_uid();
	char owner[64];

	if (slash) {
		snprintf(owner, sizeof(owner), "%.*s", (int)(slash - name),
			name);
		if (!user_of(owner, &uid))
			return "names no user before the '/'";
		name = slash + 1;
	}
	fault = name_fault(name);
	if (!fault)
		snprintf(path, HOME_PATH_MAX, REGIONHOME_PREFIX "%u/%s", uid,
			name);
	return fault;
}

int home_name_of(const char *path, char *name)
{
	const struct passwd *user;
	const char *last;
	unsigned uid;

	if (!regionhome_of(path, &uid, &last) || name_fault(last))
		return 0;
	user = uid == home_uid() ? NULL : getpwuid(uid);
	if (uid == home_uid())
		snprintf(name, HOME_PATH_MAX, "%s", last);
	else if (user)
		snprintf(name, HOME_PATH_MAX, "%.60s/%s", user->pw_name, last);
	else
		snprintf(name, HOME_PATH_MAX, "%u/%s", uid, last);
	return 1;
}

static int keeper_lock(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &lock);
}

int home_make_private(char *path)
{
	char dir_path[HOME_PATH_MAX];
	int dir = home_open(1, path), fd, err = 0;

	if (dir < 0)
		return dir;
	snprintf(dir_path, sizeof(dir_path), "%s", path);
	flock(dir, LOCK_EX);
	snprintf(path, HOME_PATH_MAX, "%.200s/" PRIVATE_PREFIX "XXXXXX",
		dir_path);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		snprintf(path, HOME_PATH_MAX, "%s", dir_path);
	} else if (keeper_lock(fd)) {
		err = -errno;
		home_remove(path);
		snprintf(path, HOME_PATH_MAX, "%s", dir_path);
		close(fd);
	}
	close(dir);
	return err ? err : fd;
}

/* ---- who uses a registry ---- */

/* Is the process of an entry of the task table alive? */
static int task_alive(const struct task *t)
{
	return t->pid && t->state &&
	       !identity_process_gone(t->pid, t->start, 1);
}

/* The living processes of the task table, at most cap: their pids in ret, which
 * may be NULL. Reads the allocated parts of the sparse table; needs no
 * mapping. */
static unsigned tasks_alive(int fd, u32 *ret, unsigned cap)
{
	static struct task chunk[256];
	const u64 end = TASKS_OFF + (u64)N_TASKS * sizeof(struct task);
	struct holes holes = {.fd = fd};
	u64 at = TASKS_OFF;
	unsigned found = 0;
	struct stat st;

	/* A device has no end, and may block or change when it is read. */
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	while (at < end && (at = holes_next(&holes, at)) < end) {
		ssize_t n, i;

		at -= (at - TASKS_OFF) % sizeof(struct task);
		n = pread(fd, chunk, sizeof(chunk), (off_t)at);
		if (n <= 0)
			break;
		for (i = 0; i < n / (ssize_t)sizeof(struct task); i++) {
			if (at + (u64)i * sizeof(struct task) >= end ||
				!task_alive(&chunk[i]))
				continue;
			if (ret)
				ret[found] = chunk[i].pid;
			if (++found == cap)
				return found;
		}
		at += sizeof(chunk);
	}
	return found;
}

/* Does /proc/PID/FILE contain text? 0 if it may not be read. */
static int proc_mentions(const char *pid, const char *file, const char *text)
{
	size_t have = 0, len = strlen(text);
	static char buf[65536];
	char name[64];
	ssize_t n;
	int fd, found = 0;

	snprintf(name, sizeof(name), "/proc/%.20s/%s", pid, file);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	while (!found && (n = read(fd, buf + have, sizeof(buf) - have)) > 0) {
		have += (size_t)n;
		found = memmem(buf, have, text, len) != NULL;
		/* The text may span two reads. */
		if (have > len) {
			memmove(buf, buf + have - len, len);
			have = len;
		}
	}
	close(fd);
	return found;
}

int home_in_use(const char *path, int or_may)
{
	char own[16], variable[PATH_MAX + 32];
	struct dirent *e;
	int fd, used;
	DIR *proc;

	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	used = tasks_alive(fd, NULL, 1) > 0;
	close(fd);
	proc = used ? NULL : opendir("/proc");
	if (!proc)
		return used;
	snprintf(own, sizeof(own), "%d", (int)getpid());
	snprintf(variable, sizeof(variable), "IPCLIFT_REGISTRY=%s", path);
	while (!used && (e = readdir(proc)))
		if (isdigit((unsigned char)e->d_name[0]) &&
			strcmp(e->d_name, own) != 0)
			used = proc_mentions(e->d_name, "maps", path) ||
			       (or_may && proc_mentions(e->d_name, "environ",
						  variable));
	closedir(proc);
	return used;
}

static int is_among(const u32 *pids, unsigned n, u32 pid)
{
	unsigned i;

	for (i = 0; i < n && pids[i] != pid; i++)
		;
	return i < n;
}

/* Which files processes have mapped shared, as far as we may read that:
 * collected once for a list of registries, since it takes each process's
 * maps. */
static struct shared_file {
	u32 pid;
	char *path;
} * shared_files;
static size_t n_shared_files;
static int shared_for_good, shared_taken;

void home_scan_once(void)
{
	shared_for_good = 1;
}

static void forget_shared(void)
{
	while (n_shared_files)
		free(shared_files[--n_shared_files].path);
	free(shared_files);
	shared_files = NULL;
}

/* Grows at powers of two. A file has many parts mapped, one after the other. */
static void add_shared(u32 pid, const char *path)
{
	const size_t n = n_shared_files;
	struct shared_file *more;

	if (n && shared_files[n - 1].pid == pid &&
		!strcmp(shared_files[n - 1].path, path))
		return;
	if (!(n & (n - 1))) {
		more = realloc(shared_files, (n ? 2 * n : 1) * sizeof(*more));
		if (!more)
			return;
		shared_files = more;
	}
	shared_files[n] = (struct shared_file){pid, strdup(path)};
	n_shared_files += shared_files[n].path != NULL;
}

static void take_shared_of(const char *pid)
{
	char name[64], *line = NULL, perms[8];
	size_t cap = 0;
	int at;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%.20s/maps", pid);
	f = fopen(name, "re");
	while (f && getline(&line, &cap, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		at = 0;
		if (sscanf(line, "%*s %7s %*s %*s %*s %n", perms, &at) == 1 &&
			at && perms[3] == 's' && line[at] == '/')
			add_shared((u32)atoi(pid), line + at);
	}
	free(line);
	if (f)
		fclose(f);
}

static void take_shared(void)
{
	struct dirent *e;
	DIR *proc;

	if (shared_for_good && shared_taken)
		return;
	shared_taken = 1;
	forget_shared();
	proc = opendir("/proc");
	while (proc && (e = readdir(proc)))
		if (isdigit((unsigned char)e->d_name[0]))
			take_shared_of(e->d_name);
	if (proc)
		closedir(proc);
}

/* How many processes beside these have the file mapped. */
static unsigned count_mapped(const char *path, const u32 *pids, unsigned n_pids)
{
	char full[PATH_MAX];
	unsigned n = 0;
	size_t i;
	u32 last = 0;

	if (!realpath(path, full))
		return 0;
	take_shared();
	for (i = 0; i < n_shared_files; i++) {
		if (shared_files[i].pid == last ||
			strcmp(shared_files[i].path, full) != 0 ||
			is_among(pids, n_pids, shared_files[i].pid))
			continue;
		last = shared_files[i].pid;
		n++;
	}
	return n;
}

unsigned home_count_mapped(const char *path)
{
	return count_mapped(path, NULL, 0);
}

unsigned home_count_users(const char *path)
{
	static u32 pids[N_TASKS];
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	unsigned n;

	if (fd < 0)
		return 0;
	n = tasks_alive(fd, pids, N_TASKS);
	close(fd);
	/* A process that has only looked up keys is in no table. */
	return n + count_mapped(path, pids, n);
}

DIR *home_open_beside(int at, const char *dir)
{
	int fd = openat(
		at, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !d)
		close(fd);
	return d;
}

static void empty_and_remove(int at, const char *dir)
{
	DIR *d = home_open_beside(at, dir);
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d)))
		unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	unlinkat(at, dir, AT_REMOVEDIR);
}

/* Those of IPC namespaces, with their queues. */
static void remove_namespaces(const char *path)
{
	char dir[PATH_MAX + 8], mq[300];
	struct dirent *e;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s.ns", path);
	d = home_open_beside(AT_FDCWD, dir);
	if (!d)
		return;
	while ((e = readdir(d))) {
		snprintf(mq, sizeof(mq), "%s.mq", e->d_name);
		if (*e->d_name != '.')
			empty_and_remove(dirfd(d), mq);
	}
	closedir(d);
	empty_and_remove(AT_FDCWD, dir);
}

int home_remove(const char *path)
{
	int err = unlink(path) ? -errno : 0;
	char dir[PATH_MAX + 8];

	if (err && err != -ENOENT)
		return err;
	snprintf(dir, sizeof(dir), "%s.mq", path);
	empty_and_remove(AT_FDCWD, dir);
	remove_namespaces(path);
	return err;
}

/* ---- listing ---- */

void home_each_in(
	const char *dir, void (*fn)(const char *path, void *arg), void *arg)
{
	char path[PATH_MAX];
	struct dirent **names;
	struct stat st;
	int n = scandir(dir, &names, NULL, alphasort), i;

	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%.2000s/%s", dir,
			names[i]->d_name);
		/* Even opening a fifo or a device is not harmless. */
		if (!lstat(path, &st) && S_ISREG(st.st_mode))
			fn(path, arg);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

struct hint {
	char *text;
	size_t cap, len;
	int n;
};

static void add_name(const char *path, void *arg)
{
	static struct header h;
	char name[HOME_PATH_MAX], why[512];
	struct hint *t = arg;

	if (!home_name_of(path, name) || t->len + strlen(name) + 4 > t->cap ||
		region_peek(path, &h, why, sizeof(why)))
		return;
	t->len += (size_t)snprintf(t->text + t->len, t->cap - t->len, "%s%s",
		t->n++ ? ", " : "; there are: ", name);
}

void home_hint(char *text, size_t cap)
{
	struct hint t = {text, cap, 0, 0};
	char home[HOME_PATH_MAX];
	int fd = home_open(0, home);

	text[0] = 0;
	if (fd >= 0) {
		close(fd);
		home_each_in(home, add_name, &t);
	}
	if (!t.n)
		snprintf(text, cap, "; ipclift run or create makes one");
}

/* ---- abandoned private registries ---- */

static void sweep_one(int dir, const char *dir_path, const char *name)
{
	char path[HOME_PATH_MAX];
	int fd =
		openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	snprintf(path, sizeof(path), "%.120s/%.100s", dir_path, name);
	if (!keeper_lock(fd) && !home_in_use(path, 1))
		home_remove(path);
	close(fd);
}

/* The FIFOs of a removed registry: PATH.mq without PATH. */
static void sweep_fifos(int dir, const char *dir_path, const char *name)
{
	size_t len = strlen(name) - strlen(".mq");
	char path[HOME_PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%.120s/%.*s", dir_path, (int)len, name);
	if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOENT)
		home_remove(path);
}

static int ends_in_mq(const char *name)
{
	size_t len = strlen(name);

	return len > 3 && !strcmp(name + len - 3, ".mq");
}

void home_sweep(void)
{
	char dir_path[HOME_PATH_MAX];
	int fd = home_open(0, dir_path);
	struct dirent *e;
	DIR *dir;

	if (fd < 0)
		return;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return;
	}
	/* If another process is sweeping, that is as good. */
	if (!flock(fd, LOCK_EX | LOCK_NB))
		while ((e = readdir(dir)))
			if (!strncmp(e->d_name, PRIVATE_PREFIX,
				    strlen(PRIVATE_PREFIX)))
				(ends_in_mq(e->d_name) ? sweep_fifos
						       : sweep_one)(
					fd, dir_path, e->d_name);
	closedir(dir);
}
