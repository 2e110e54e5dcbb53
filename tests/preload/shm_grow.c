// SPDX-License-Identifier: MIT
/*
 * shm_grow: mremap(2) that makes an attachment longer. What lies behind the
 * segment's end is there and says SIGBUS, whatever is done to it, and never shows
 * another segment; nattch, shmdt and munmap take the whole as the kernel does.
 */
#include "shm.h"

#define PAGES 4
#define MAYMOVE MREMAP_MAYMOVE
#define FIXED (MREMAP_MAYMOVE | MREMAP_FIXED)
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

static sigjmp_buf back;
static volatile char kind;
static int id;

static void on_fault(int sig, siginfo_t *info, void *uc)
{
	(void)uc;
	kind = sig == SIGBUS && info->si_code == BUS_ADRERR	? '!'
	       : sig == SIGSEGV && info->si_code == SEGV_MAPERR ? '-'
	       : sig == SIGSEGV && info->si_code == SEGV_ACCERR ? 'x'
								: '?';
	siglongjmp(back, 1);
}

static char reads(const char *at)
{
	if (sigsetjmp(back, 1))
		return kind;
	return *(const volatile char *)at;
}

static char writes(char *at)
{
	if (sigsetjmp(back, 1))
		return kind;
	*(volatile char *)at = 'b';
	return '.';
}

/* What its pages show: "abcd" a segment's, '!' SIGBUS, '-' nothing mapped, 'x' no
 * access. */
static void shows(const char *at, const char *want)
{
	char got[64];
	size_t i, n = strlen(want);

	for (i = 0; i < n; i++)
		got[i] = reads(at + i * PAGE);
	got[n] = 0;
	if (strcmp(got, want)) {
		t_failed = 1;
		t_say("FAIL pages %s, not %s", got, want);
	} else {
		t_say("ok   pages %s", want);
	}
}

static int made(void)
{
	int seg = s_seg(PAGES * PAGE), i;
	char *p = s_at(seg);

	for (i = 0; i < PAGES; i++)
		memset(p + i * PAGE, 'a' + i, PAGE);
	shmdt(p);
	return seg;
}

/* A place with 60 free pages behind it. */
static char *place(void)
{
	char *p = mmap(
		NULL, 64 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(p, 64 * PAGE);
	return p;
}

static char *at_place(int flags)
{
	return shmat(id, place(), flags);
}

static void in_place(char *p)
{
	t_true(p != BAD);
	t_true(mremap(p, 4 * PAGE, 8 * PAGE, 0) == p);
	s_nattch(id, 1);
	shows(p, "abcd!!!!");
	t_true(writes(p + PAGE) == '.' && writes(p + 5 * PAGE) == '!');
	t_true(mremap(p, 8 * PAGE, 10 * PAGE, MAYMOVE) == p);
	shows(p, "abcd!!!!!!");
	t_true(mremap(p, 10 * PAGE, 3 * PAGE, 0) == p);
	shows(p, "abc-------");
	t_true(mremap(p, 3 * PAGE, 6 * PAGE, 0) == p);
	shows(p, "abcd!!");
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
	shows(p, "------");
	t_err(shmdt(p), EINVAL);
}

static void blocked(void)
{
	char *p = at_place(0), *q, *b;

	t_story("something behind it");
	b = mmap(p + 6 * PAGE, PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	t_true(b == p + 6 * PAGE && mremap(p, 4 * PAGE, 6 * PAGE, 0) == p);
	t_true(mremap(p, 6 * PAGE, 8 * PAGE, 0) == BAD && errno == ENOMEM);
	q = mremap(p, 6 * PAGE, 8 * PAGE, MAYMOVE);
	t_true(q != BAD && q != p);
	s_nattch(id, 1);
	shows(p, "----");
	shows(q, "abcd!!!!");
	munmap(b, PAGE);
	t_err(shmdt(p), EINVAL);
	t_eq(shmdt(q), 0);
	s_nattch(id, 0);
}

static void moved(void)
{
	char *p = at_place(0), *to = p + 20 * PAGE, *q;

	t_story("to an address");
	t_true(mremap(p, 4 * PAGE, 7 * PAGE, FIXED, to) == to);
	s_nattch(id, 1);
	shows(to, "abcd!!!-");
	t_err(shmdt(p), EINVAL);
	t_eq(shmdt(to), 0);
	t_story("a part, which shows what follows it");
	p = at_place(0);
	t_true(mremap(p + PAGE, PAGE, 4 * PAGE, 0) == BAD && errno == ENOMEM);
	q = mremap(p + PAGE, PAGE, 5 * PAGE, MAYMOVE);
	t_true(q != BAD);
	s_nattch(id, 3);
	shows(q, "bcd!!");
	shows(p, "a-cd");
	t_eq(shmdt(q - PAGE), 0);
	s_nattch(id, 2);
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
	t_story("the end, and then what lies beyond it");
	p = at_place(0);
	t_true(mremap(p + 3 * PAGE, PAGE, 3 * PAGE, 0) == p + 3 * PAGE);
	shows(p, "abcd!!");
	to = p + 20 * PAGE;
	t_true(mremap(p + 4 * PAGE, 2 * PAGE, 4 * PAGE, FIXED, to) == to);
	s_nattch(id, 2);
	shows(p, "abcd--");
	shows(to, "!!!!-");
	t_eq(shmdt(p), 0);
	s_nattch(id, 1);
	t_eq(munmap(to, 4 * PAGE), 0);
	s_nattch(id, 0);
}

static void again(void)
{
	char *p = at_place(0), *q;

	t_story("once more, longer");
	q = mremap(p, 0, 8 * PAGE, MAYMOVE);
	t_true(q != BAD);
	s_nattch(id, 2);
	shows(q, "abcd!!!!");
	memset(q + PAGE, 'B', 1);
	shows(p, "aBcd");
	memset(p + PAGE, 'b', 1);
	t_eq(shmdt(q), 0);
	t_true(mremap(p, 4 * PAGE, 6 * PAGE, 0) == p);
	q = mremap(p, 6 * PAGE, 6 * PAGE, MAYMOVE | MREMAP_DONTUNMAP, NULL);
	t_true(q != BAD);
	s_nattch(id, 2);
	shows(p, "abcd!!");
	shows(q, "abcd!!");
	t_eq(shmdt(p), 0);
	t_eq(shmdt(q), 0);
	s_nattch(id, 0);
}

static void read_only(void)
{
	char *p = at_place(SHM_RDONLY);

	t_story("read only");
	t_true(mremap(p, 4 * PAGE, 6 * PAGE, 0) == p);
	shows(p, "abcd!!");
	t_true(writes(p) == 'x' && writes(p + 5 * PAGE) == 'x');
	t_err(mprotect(p + 5 * PAGE, PAGE, PROT_READ | PROT_WRITE), EACCES);
	t_eq(shmdt(p), 0);
}

static void changed(void)
{
	char *p = at_place(0);

	t_story("its end without access, a hole in it");
	t_true(mremap(p, 4 * PAGE, 8 * PAGE, 0) == p);
	t_eq(mprotect(p + 6 * PAGE, 2 * PAGE, PROT_NONE), 0);
	shows(p, "abcd!!xx");
	t_eq(munmap(p + 5 * PAGE, PAGE), 0);
	s_nattch(id, 2);
	t_eq(shmdt(p), 0);
	shows(p, "------xx");
	s_nattch(id, 1);
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
	t_story("its beginning unmapped");
	p = at_place(0);
	t_true(mremap(p, 4 * PAGE, 8 * PAGE, 0) == p);
	t_eq(munmap(p, 4 * PAGE), 0);
	s_nattch(id, 1);
	shows(p, "----!!!!");
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
	shows(p, "--------");
	t_story("locked");
	p = at_place(0);
	t_eq(mlock(p, 4 * PAGE), 0);
	t_true(mremap(p, 4 * PAGE, 8 * PAGE, 0) == p);
	shows(p, "abcd!!!!");
	t_eq(shmdt(p), 0);
}

static void forked(void)
{
	char *p = at_place(0);
	int status;
	pid_t pid;

	t_story("in a child, and removed");
	t_true(mremap(p, 4 * PAGE, 8 * PAGE, 0) == p);
	pid = fork();
	if (!pid) {
		s_nattch(id, 2);
		shows(p, "abcd!!!!");
		t_eq(shmdt(p), 0);
		shows(p, "--------");
		_exit(t_failed);
	}
	t_true(waitpid(pid, &status, 0) == pid && !status);
	s_nattch(id, 1);
	s_rm(id);
	shows(p, "abcd!!!!");
	s_nattch(id, 1);
	t_eq(shmdt(p), 0);
	t_err(shmctl(id, IPC_STAT, &(struct shmid_ds){0}), EINVAL);
	id = made();
}

/* Others' segments, attached where the system puts them, before and after. */
static void neighbours(void)
{
	char *others[8], *p, *q = BAD;
	int i;

	t_story("among others");
	p = s_at(id);
	for (i = 0; i < 8; i++) {
		int seg = s_seg(PAGES * PAGE);

		others[i] = s_at(seg);
		memset(others[i], '1' + i, PAGES * PAGE);
		s_rm(seg);
		if (i == 3) {
			q = mremap(p, 4 * PAGE, 40 * PAGE, MAYMOVE);
			t_true(q != BAD);
		}
	}
	shows(q, "abcd!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!");
	for (i = 0; i < 8; i++)
		t_true(others[i][0] == '1' + i &&
			others[i][PAGES * PAGE - 1] == '1' + i);
	t_eq(shmdt(q), 0);
	for (i = 0; i < 8; i++)
		t_true(others[i][PAGE] == '1' + i && !shmdt(others[i]));
	p = s_at(id);
	shows(p, "abcd");
	t_eq(shmdt(p), 0);
}

/* Where the system puts it, as long as what follows is free. */
static void at_home(void)
{
	char *p = s_at(id), *q, *r;
	int seg;

	t_story("where the system puts it");
	q = mremap(p, 4 * PAGE, 64 * PAGE, MAYMOVE);
	t_true(q != BAD);
	shows(q, "abcd!!!!");
	seg = s_seg(PAGES * PAGE);
	r = s_at(seg);
	memset(r, 'z', PAGES * PAGE);
	shows(q + 4 * PAGE, "!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!");
	shows(r, "zzzz");
	t_eq(munmap(q + 2 * PAGE, 3 * PAGE), 0);
	s_nattch(id, 2);
	shows(q, "ab---!!!");
	t_eq(munmap(q + 2 * PAGE, 62 * PAGE), 0);
	s_nattch(id, 1);
	shows(q, "ab--");
	shows(r, "zzzz");
	t_eq(shmdt(q), 0);
	s_nattch(id, 0);
	t_eq(shmdt(r), 0);
	s_rm(seg);
	t_story("and back");
	p = s_at(id);
	shows(p, "abcd");
	t_eq(shmdt(p), 0);
}

/* Two, one behind the other: what begins in the one and ends in the other. */
static void two(void)
{
	char *p = at_place(0), *q, *to = p + 20 * PAGE;

	t_story("two, the second behind the first");
	q = shmat(id, p + 4 * PAGE, 0);
	t_true(q == p + 4 * PAGE);
	t_true(mremap(p + 2 * PAGE, 6 * PAGE, 8 * PAGE, MAYMOVE) == BAD &&
		errno == EFAULT);
	t_true(mremap(p + 2 * PAGE, 6 * PAGE, 6 * PAGE, FIXED, to) == BAD &&
		errno == EFAULT);
	t_true(mremap(p + 2 * PAGE, 6 * PAGE, 6 * PAGE, 0) == p + 2 * PAGE);
	s_nattch(id, 2);
	t_true(mremap(p + 2 * PAGE, 6 * PAGE, 5 * PAGE, 0) == p + 2 * PAGE);
	s_nattch(id, 2);
	shows(p, "abcdabc--");
	t_err(mprotect(p + 6 * PAGE, 2 * PAGE, PROT_NONE), ENOMEM);
	s_nattch(id, 3);
	shows(p, "abcdabx--");
	t_eq(shmdt(p), 0);
	t_eq(shmdt(q), 0);
	s_nattch(id, 0);
	p = at_place(0);
	t_true(mremap(p, 0, 4 * PAGE, FIXED, p + PAGE) == p + PAGE);
	s_nattch(id, 2);
	shows(p, "aabcd-");
	t_eq(shmdt(p), 0);
	t_eq(shmdt(p + PAGE), 0);
	s_nattch(id, 0);
}

static void refused(void)
{
	char *p = at_place(0), *to = p + 20 * PAGE;

	t_story("refused");
	t_true(mremap(p, 8 * PAGE, 12 * PAGE, MAYMOVE) == BAD &&
		errno == EFAULT);
	t_true(mremap(p, 4 * PAGE, 8 * PAGE, FIXED, p + 2 * PAGE) == BAD &&
		errno == EINVAL);
	t_true(mremap(p, 4 * PAGE, 8 * PAGE, FIXED, to + 1) == BAD &&
		errno == EINVAL);
	t_true(mremap(p, 4 * PAGE, 8 * PAGE, MAYMOVE | MREMAP_DONTUNMAP,
		       NULL) == BAD &&
		errno == EINVAL);
	s_nattch(id, 1);
	shows(p, "abcd");
	t_eq(shmdt(p), 0);
}

int main(void)
{
	struct sigaction act = {
		.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	t_begin();
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	id = made();
	t_story("in place");
	in_place(at_place(0));
	blocked();
	moved();
	again();
	read_only();
	changed();
	forked();
	neighbours();
	at_home();
	two();
	refused();
	s_rm(id);
	return t_end();
}
