// SPDX-License-Identifier: MIT
/*
 * Making and refusing registry files. Whatever is refused says why in one
 * line, and is not written to: its bytes and size are compared.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "unit.h"

static char dir[64], path[96];
static char why[512];

static void dir_init(void)
{
	snprintf(dir, sizeof(dir), "/dev/shm/unit-dir-XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/r", dir);
}

static void dir_fini(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	(void)!system(cmd);
}

TestSuite(region, .init = dir_init, .fini = dir_fini, .timeout = 30);

/* A skipped test gets no .fini. */
#define skip(reason)                  \
	do {                          \
		dir_fini();           \
		cr_skip_test(reason); \
	} while (0)

static int map_it(struct region *r, int must_exist)
{
	struct region_options opt = {
		.idx_bits = IDX_BITS_NORMAL, .must_exist = must_exist};

	limits_init(&opt.limits, LIMITS_KERNEL, opt.idx_bits);
	r->base = NULL;
	return region_map(r, path, &opt, why, sizeof(why));
}

static void unmap(struct region *r)
{
	if (r->base)
		munmap(r->base, REGION_SIZE);
}

/* FNV over the first MiB, and the size and times of modification. */
static unsigned long checksum(void)
{
	static unsigned char buf[1 << 20];
	unsigned long sum = 0xcbf29ce484222325UL;
	struct stat st;
	ssize_t n, i;
	int fd = open(path, O_RDONLY | O_NONBLOCK);

	cr_assert_geq(fd, 0);
	fstat(fd, &st);
	n = S_ISREG(st.st_mode) ? read(fd, buf, sizeof(buf)) : 0;
	for (i = 0; i < n; i++)
		sum = (sum ^ buf[i]) * 0x100000001b3UL;
	close(fd);
	sum = (sum ^ st.st_size) * 0x100000001b3UL;
	sum = (sum ^ st.st_mtim.tv_sec) * 0x100000001b3UL;
	return (sum ^ st.st_mtim.tv_nsec) * 0x100000001b3UL;
}

static void refused(int error, const char *part)
{
	unsigned long before = checksum();
	struct region r;
	int err = map_it(&r, 0);

	cr_assert_eq(err, error, "%d: %s", err, why);
	cr_assert_null(r.base);
	cr_assert_not_null(strstr(why, part), "%s", why);
	cr_assert_not_null(strstr(why, path), "%s", why);
	cr_assert_null(strchr(why, '\n'));
	cr_assert_eq(checksum(), before, "it was written to");
}

static void make(void)
{
	struct region r;

	cr_assert_eq(map_it(&r, 0), 0, "%s", why);
	unmap(&r);
}

static void poke(u64 off, const void *bytes, size_t n)
{
	int fd = open(path, O_RDWR);

	cr_assert_eq(pwrite(fd, bytes, n, off), (ssize_t)n);
	close(fd);
}

static void make_traced(struct region *r)
{
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) || raise(SIGSTOP))
		_exit(2);
	_exit(map_it(r, 0) != 0);
}

/*
 * Who forks a process that is in its first call leaves its child whatever of
 * the region is stored by then, and nobody who goes on: with a base, it must be
 * whole. Looked at behind each instruction of the call, up to that store.
 */
Test(region, base_comes_with_all_the_rest)
{
	volatile struct region *r = mmap(NULL, sizeof(*r),
		PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct region then = {0};
	int status, steps = 0;
	pid_t pid = fork();

	if (pid == 0)
		make_traced((struct region *)r);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (!WIFSTOPPED(status))
		skip("ptrace is refused");
	while (!then.base && WIFSTOPPED(status)) {
		ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		then = *r;
		steps++;
	}
	cr_assert_not_null(then.base, "%d instructions", steps);
	cr_assert_gt(steps, 100);
	ptrace(PTRACE_CONT, pid, 0, 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	cr_assert_eq(then.base, r->base);
	cr_assert_eq(then.file_size, r->file_size);
	cr_assert_eq(then.owner, r->owner);
	cr_assert_eq(then.path, r->path);
	cr_assert_not_null(then.path);
	cr_assert_eq(then.dev, r->dev);
	cr_assert_eq(then.ino, r->ino);
	munmap((void *)r, sizeof(*r));
}

Test(region, sixteen_processes_at_once_make_one_registry)
{
	pid_t pids[16];
	struct region r;
	int i, status, fds[2];
	char byte;

	cr_assert_eq(pipe(fds), 0);
	for (i = 0; i < 16; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			close(fds[1]);
			(void)!read(fds[0], &byte, 1);
			if (map_it(&r, 0))
				_exit(1);
			__atomic_fetch_add(
				&region_header(&r)->stamp, 1, __ATOMIC_SEQ_CST);
			_exit(0);
		}
	}
	close(fds[1]);
	for (i = 0; i < 16; i++) {
		waitpid(pids[i], &status, 0);
		cr_assert_eq(status, 0);
	}
	cr_assert_eq(map_it(&r, 1), 0);
	cr_assert_eq(region_header(&r)->stamp, 17, "1 at creation, then 16");
	unmap(&r);
}

Test(region, the_file_is_private_and_sparse_and_no_descriptor_stays)
{
	struct region r;
	struct stat st;
	int fd = dup(0);

	close(fd);
	cr_assert_eq(map_it(&r, 0), 0);
	cr_assert_eq(dup(0), fd, "the lowest free descriptor is still free");
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	cr_assert_geq(st.st_size, (off_t)REGION_SIZE);
	cr_assert_lt(st.st_blocks, 1024);
	unmap(&r);
}

Test(region, empty_file_is_made_into_one)
{
	close(open(path, O_CREAT | O_WRONLY, 0600));
	make();
}

Test(region, empty_file_is_refused_where_one_must_exist)
{
	struct region r;

	close(open(path, O_CREAT | O_WRONLY, 0600));
	cr_assert_eq(map_it(&r, 1), -ENODATA);
	cr_assert_eq(truncate(path, REGION_SIZE), 0);
	cr_assert_eq(map_it(&r, 1), -ENODATA);
	/* Nor written: whoever uses it first makes it. */
	make();
	unlink(path);
	cr_assert_eq(map_it(&r, 1), -ENOENT);
	cr_assert_not_null(strstr(why, "no such registry"));
}

Test(region, a_creator_that_died_is_taken_over)
{
	close(open(path, O_CREAT | O_WRONLY, 0600));
	cr_assert_eq(truncate(path, REGION_SIZE), 0);
	make();
}

Test(region, truncated_file)
{
	make();
	cr_assert_eq(truncate(path, 1 << 20), 0);
	refused(-EINVAL, "size is wrong");
}

Test(region, random_bytes_of_any_size)
{
	unsigned buf[4096], i;
	int fd = open(path, O_CREAT | O_RDWR, 0600);

	for (i = 0; i < 4096; i++)
		buf[i] = unit_random() | 1;
	cr_assert_eq(write(fd, buf, sizeof(buf)), (ssize_t)sizeof(buf));
	refused(-EINVAL, "size is wrong");
	cr_assert_eq(ftruncate(fd, REGION_SIZE), 0);
	refused(-EINVAL, "not an ipclift registry");
	close(fd);
}

Test(region, random_bytes_behind_a_true_magic)
{
	u64 magic = LAYOUT_MAGIC;
	u32 version = LAYOUT_VERSION, word = 8;
	unsigned buf[4096], i;
	int fd = open(path, O_CREAT | O_RDWR, 0600);

	for (i = 0; i < 4096; i++)
		buf[i] = unit_random();
	memcpy(buf, &magic, 8);
	memcpy(buf + 2, &version, 4);
	memcpy(buf + 3, &word, 4);
	cr_assert_eq(write(fd, buf, sizeof(buf)), (ssize_t)sizeof(buf));
	cr_assert_eq(ftruncate(fd, REGION_SIZE), 0);
	close(fd);
	refused(-EINVAL, "damaged");
}

Test(region, another_layout_version)
{
	u32 version = LAYOUT_VERSION + 1;

	make();
	poke(8, &version, 4);
	refused(-EPROTO, "another version");
}

Test(region, one_bit_of_the_identity_changed)
{
	u32 owner = 4242;

	make();
	poke(offsetof(struct header, owner), &owner, 4);
	refused(-EINVAL, "damaged");
}

Test(region, symbolic_link)
{
	char target[160];
	struct region r;
	struct stat st;

	snprintf(target, sizeof(target), "%s/target", dir);
	cr_assert_eq(symlink(target, path), 0);
	cr_assert_eq(map_it(&r, 0), -EINVAL);
	cr_assert_not_null(strstr(why, "symbolic link"));
	cr_assert_eq(stat(target, &st), -1);
}

Test(region, directory_and_fifo)
{
	struct region r;

	cr_assert_eq(mkdir(path, 0700), 0);
	cr_assert_eq(map_it(&r, 0), -EISDIR);
	cr_assert_not_null(strstr(why, path));
	rmdir(path);
	cr_assert_eq(mkfifo(path, 0600), 0);
	refused(-EINVAL, "not a regular file");
}

Test(region, no_directory)
{
	struct region r;

	snprintf(path, sizeof(path), "%s/none/r", dir);
	cr_assert_eq(map_it(&r, 0), -ENOENT);
	cr_assert_not_null(strstr(why, "directory does not exist"), "%s", why);
}

/* In a child, as another user. */
static int as_nobody(int (*f)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (setresgid(65534, 65534, 65534) ||
			setresuid(65534, 65534, 65534))
			_exit(99);
		_exit(f());
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static int try_to_map(void)
{
	struct region r;

	return -map_it(&r, 0);
}

Test(region, another_owner)
{
	if (geteuid() != 0)
		skip("changing the user needs root");
	make();
	cr_assert_eq(chmod(dir, 0777), 0);
	cr_assert_eq(as_nobody(try_to_map), EACCES, "no right to open it");
	cr_assert_eq(chown(path, 65534, 65534), 0);
	refused(-EACCES, "owned by another user");
	cr_assert_eq(chmod(path, 0666), 0);
	make();
}

Test(region, read_only_file)
{
	unsigned long before;

	if (geteuid() != 0)
		skip("root may write read-only files: needs setuid");
	make();
	cr_assert_eq(chown(path, 65534, 65534), 0);
	cr_assert_eq(chmod(path, 0400), 0);
	cr_assert_eq(chmod(dir, 0777), 0);
	before = checksum();
	cr_assert_eq(as_nobody(try_to_map), EACCES);
	cr_assert_eq(checksum(), before);
}

static int in_child(int (*f)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(f());
	waitpid(pid, &status, 0);
	cr_assert(WIFEXITED(status), "killed by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

static int map_in_little_space(void)
{
	struct rlimit few = {1UL << 30, 1UL << 30};
	struct region r;

	setrlimit(RLIMIT_AS, &few);
	return map_it(&r, 0) == -ENOMEM && strstr(why, "RLIMIT_AS") ? 0 : 1;
}

Test(region, too_little_address_space)
{
#ifdef __SANITIZE_ADDRESS__
	skip("the sanitizer itself needs more");
#endif
	cr_assert_eq(in_child(map_in_little_space), 0);
	make();
}

static int map_with_small_files(void)
{
	struct rlimit few = {1 << 20, 1 << 20};
	struct region r;

	setrlimit(RLIMIT_FSIZE, &few);
	return map_it(&r, 0) == -EFBIG && strstr(why, "RLIMIT_FSIZE") ? 0 : 1;
}

Test(region, too_small_files_and_no_sigxfsz)
{
	cr_assert_eq(in_child(map_with_small_files), 0);
}

static int map_in_other_pid_namespace(void)
{
	pid_t pid;
	int status;

	if (unshare(CLONE_NEWPID))
		return 77;
	pid = fork();
	if (pid == 0) {
		struct region r;

		_exit(map_it(&r, 0) == -EXDEV && strstr(why, "pid namespace")
				? 0
				: 1);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

Test(region, another_pid_namespace)
{
	unsigned long before;
	int status;

	make();
	before = checksum();
	status = in_child(map_in_other_pid_namespace);
	if (status == 77)
		skip("unshare of pid namespaces needs root");
	cr_assert_eq(status, 0);
	cr_assert_eq(checksum(), before);
}
