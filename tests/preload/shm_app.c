// SPDX-License-Identifier: MIT
/*
 * shm_app: what a program does to its attachments beside shmdt: mlock and
 * mlockall, madvise, mremap, remap_file_pages, and fork by number. A segment
 * that is attached where another one was has nothing of its flags.
 */
#include "shm.h"

#define PAGES 5

static int id;

/* A number of kB in /proc/self/status. */
static long status_kb(const char *name)
{
	char line[256];
	size_t n = strlen(name);
	long kb = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, n) && line[n] == ':')
			kb = strtol(line + n + 1, NULL, 10);
	if (f)
		fclose(f);
	return kb;
}

static void locked(void)
{
	char *p = s_at(id);

	t_story("mlock of a part, of the whole; shmdt ends it");
	t_eq(mlock(p + PAGE, PAGE), 0);
	s_nattch(id, 3);
	t_eq(status_kb("VmLck"), 4);
	t_eq(munlock(p + PAGE, PAGE), 0);
	s_nattch(id, 3);
	t_eq(mlock(p + 100, PAGES * PAGE - 100), 0);
	t_eq(status_kb("VmLck"), 4 * PAGES);
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
	t_eq(status_kb("VmLck"), 0);
	p = s_at(id);
	t_eq(status_kb("VmLck"), 0);
	t_eq(mlock2(p, PAGE, MLOCK_ONFAULT), 0);
	s_nattch(id, 2);
	t_eq(shmdt(p), 0);
	t_eq(status_kb("VmLck"), 0);
}

static void advised(const char *name, int advice, int parts)
{
	char *p = s_at(id);

	t_say("%s", name);
	t_eq(madvise(p + PAGE, PAGE, advice), 0);
	s_nattch(id, parts);
	t_eq(madvise(p, PAGES * PAGE, advice), 0);
	s_nattch(id, parts);
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
}

static void advice(void)
{
	t_story("madvise of a part");
	advised("DONTFORK", MADV_DONTFORK, 3);
	advised("DOFORK", MADV_DOFORK, 1);
	advised("DONTDUMP", MADV_DONTDUMP, 3);
	advised("DODUMP", MADV_DODUMP, 1);
	advised("RANDOM", MADV_RANDOM, 3);
	advised("SEQUENTIAL", MADV_SEQUENTIAL, 3);
	advised("NORMAL", MADV_NORMAL, 1);
	advised("WILLNEED", MADV_WILLNEED, 1);
	advised("DONTNEED", MADV_DONTNEED, 1);
}

static void not_forked(void)
{
	char *p = s_at(id), *q;

	t_story("MADV_DONTFORK is the segment's, not the place's");
	t_eq(madvise(p, PAGES * PAGE, MADV_DONTFORK), 0);
	t_eq(s_write_dies(p), 1000 + SIGSEGV);
	s_nattch(id, 1);
	t_eq(shmdt(p), 0);
	p = s_at(id);
	t_eq(s_write_dies(p), 0);
	q = s_at(id);
	t_eq(madvise(p + PAGE, PAGE, MADV_DONTFORK), 0);
	s_nattch(id, 4);
	t_eq(s_write_dies(p + PAGE), 1000 + SIGSEGV);
	t_eq(s_write_dies(p), 0);
	t_eq(s_write_dies(q + PAGE), 0);
	t_eq(shmdt(q), 0);
	t_eq(madvise(p, PAGE, MADV_DONTFORK), 0);
	q = s_at(id);
	t_eq(s_write_dies(q), 0);
	t_eq(s_write_dies(q + PAGE), 0);
	t_eq(shmdt(p), 0);
	t_eq(shmdt(q), 0);
	s_nattch(id, 0);
}

/* What its parent has locked is not locked in a child, wherever it moves it. */
static void move_in_child(char *p, char *to)
{
	char *q = mremap(p, PAGES * PAGE, PAGES * PAGE,
		MREMAP_MAYMOVE | MREMAP_FIXED, to);

	t_true(q == to);
	t_eq(status_kb("VmLck"), 0);
	t_eq(shmdt(q), 0);
	_exit(t_failed);
}

static void unlocked_in_child(void)
{
	char *p = s_at(id), *to = s_hole(PAGES + 2) + PAGE;
	pid_t pid;

	t_story("locked, and moved by a child");
	t_eq(mlock(p, PAGES * PAGE), 0);
	pid = t_fork();
	if (pid == 0)
		move_in_child(p, to);
	t_eq(t_join(pid), 0);
	t_eq(status_kb("VmLck"), 4 * PAGES);
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
}

static void moved(void)
{
	char *p = s_at(id), *to = s_hole(PAGES + 2) + PAGE, *q;

	t_story("mremap: moved, in part, once more, shorter");
	p[0] = 'a';
	q = mremap(p, PAGES * PAGE, PAGES * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		to);
	t_true(q == to && q[0] == 'a');
	s_nattch(id, 1);
	t_err(shmdt(p), EINVAL);
	t_eq(shmdt(q), 0);
	s_nattch(id, 0);

	p = s_at(id);
	p[PAGE] = 'b';
	q = mremap(p + PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	t_true(q == to && q[0] == 'b');
	s_nattch(id, 3);
	t_eq(s_read_dies(p + PAGE), 1000 + SIGSEGV);
	t_err(shmdt(q), EINVAL);
	t_eq(shmdt(p), 0);
	s_nattch(id, 1);
	t_eq(shmdt(q - PAGE), 0);
	s_nattch(id, 0);

	p = s_at(id);
	q = mremap(p, 0, PAGES * PAGE, MREMAP_MAYMOVE);
	t_true(q != BAD && q != p);
	s_nattch(id, 2);
	q[0] = 'c';
	t_eq(p[0], 'c');
	t_eq(shmdt(q), 0);
	t_true(mremap(p, PAGES * PAGE, 2 * PAGE, 0) == p);
	s_nattch(id, 1);
	t_eq(s_read_dies(p + 2 * PAGE), 1000 + SIGSEGV);
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
}

static void moved_with_flags(void)
{
	char *p = s_at(id), *to = s_hole(PAGES + 2) + PAGE;

	t_story("mremap takes the flags along, and one fragment at a time");
	t_eq(madvise(p + 2 * PAGE, 2 * PAGE, MADV_DONTFORK), 0);
	s_nattch(id, 3);
	t_true(mremap(p + PAGE, 2 * PAGE, 2 * PAGE,
		       MREMAP_MAYMOVE | MREMAP_FIXED, to) == BAD &&
		errno == EFAULT);
	t_true(mremap(p + 2 * PAGE, 2 * PAGE, 2 * PAGE,
		       MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	s_nattch(id, 3);
	t_eq(s_write_dies(to), 1000 + SIGSEGV);
	t_eq(s_write_dies(p), 0);
	t_eq(shmdt(to - 2 * PAGE), 0);
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
}

static void no_access(void)
{
	char *p = s_at(id);

	t_story("mlock marks what it cannot fill");
	t_eq(mprotect(p, PAGES * PAGE, PROT_NONE), 0);
	t_err(mlock(p + PAGE, PAGE), ENOMEM);
	s_nattch(id, 3);
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
}

static void shuffled(void)
{
	char *p = s_at(id);

	t_story("remap_file_pages");
	p[0] = '0';
	p[3 * PAGE] = '3';
	t_eq(remap_file_pages(p, PAGE, 0, 3, 0), 0);
	s_nattch(id, 2);
	t_eq(p[0], '3');
	p[0] = 'x';
	t_eq(p[3 * PAGE], 'x');
	t_err(remap_file_pages(p, PAGE, PROT_READ, 3, 0), EINVAL);
	t_eq(munmap(p, PAGE), 0);
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
	p = shmat(id, NULL, SHM_RDONLY);
	t_err(remap_file_pages(p, PAGE, 0, 3, 0), EINVAL);
	s_nattch(id, 1);
	t_eq(shmdt(p), 0);
	p = s_at(id);
	t_eq(p[0], '0');
	t_eq(p[3 * PAGE], 'x');
	t_eq(shmdt(p), 0);
}

static void by_number(void)
{
	int pipe_to[2], i;
	char *p = s_at(id), c;
	pid_t pid;

	t_story("a child by number has its parent's attachments");
	for (i = 0; i < 2; i++) {
		if (pipe(pipe_to))
			exit(97);
		pid = i ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)
			: syscall(SYS_fork);
		if (!pid) {
			close(pipe_to[1]);
			while (read(pipe_to[0], &c, 1) < 0)
				;
			syscall(SYS_exit_group, 0);
		}
		close(pipe_to[0]);
		s_nattch(id, 2);
		close(pipe_to[1]);
		t_eq(t_join(pid), 0);
		s_nattch(id, 1);
	}
	t_eq(syscall(SYS_munmap, p, PAGE), 0);
	t_eq(syscall(SYS_mlock, p + 2 * PAGE, PAGE), 0);
	s_nattch(id, 3);
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
}

static void all_locked(void)
{
	char *p = s_at(id);

	t_story("mlockall: what there is and what will be");
	t_eq(mlockall(MCL_CURRENT), 0);
	t_true(status_kb("VmLck") > 4 * PAGES);
	t_true(status_kb("VmLck") < 64 << 10);
	s_nattch(id, 1);
	t_eq(munlockall(), 0);
	t_eq(status_kb("VmLck"), 0);
	t_eq(mlockall(MCL_CURRENT | MCL_FUTURE), 0);
	t_true(status_kb("VmLck") < 64 << 10);
	t_eq(shmdt(p), 0);
	p = s_at(id);
	p[0] = 1;
	t_eq(mlockall(MCL_CURRENT | MCL_ONFAULT), 0);
	t_err(mlockall(MCL_ONFAULT), EINVAL);
	t_err(mlockall(8), EINVAL);
	t_eq(munlockall(), 0);
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
}

int main(void)
{
	alarm(T_LIMIT);
	id = s_seg(PAGES * PAGE);
	locked();
	advice();
	not_forked();
	unlocked_in_child();
	moved();
	moved_with_flags();
	no_access();
	shuffled();
	by_number();
	all_locked();
	s_rm(id);
	return s_end();
}
