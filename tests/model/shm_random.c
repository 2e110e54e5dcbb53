// SPDX-License-Identifier: MIT
/*
 * shm_random: random shared memory calls by a few processes, written down so
 * that two worlds can be compared (compare.sh --bin).
 *
 *	shm_random [--calls N] [--seed S]
 *
 * Three actors, two of them root and one another user, do what the driver tells
 * them, one call at a time. Addresses are given in an arena of free address
 * space or chosen by the system, and written down as such; pieces are unmapped
 * in the arena only, where the system puts nothing of its own. Besides the four
 * calls they poke and peek at attached pages (a fault is a result), munmap and
 * mprotect pieces, and fork children that detach some and exit or are killed.
 *
 * Not written down: shm_rss, since a new segment may be made of pages that are
 * resident already.
 */
#define _GNU_SOURCE
#include "../option.h"

#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SHM_STAT_ANY
#define SHM_STAT_ANY 15
#endif
#define ACTORS 3
#define OTHER_UID 65534
#define PAGE 4096
#define ARENA 0x10000000000ul
#define ARENA_PAGES 160
#define KEYS 6
#define KNOWN 24
#define PLACES 40

enum kind { GET, AT, DT, CTL, POKE, PEEK, UNMAP, PROTECT, FORK, END };

struct call {
	enum kind kind;
	int id, key, flg, cmd, mode, uid, value, kill;
	size_t size;
	uintptr_t addr;
	int n_detach;
	uintptr_t detach[3];
};

struct result {
	long ret;
	int err;
	struct shmid_ds ds, during;
	union {
		struct shminfo lim;
		struct shm_info sum;
	} info;
	pid_t child;
};

static struct actor {
	pid_t pid;
	int to, from;
	uintptr_t place[PLACES]; /* what shmat returned to it */
	long pages[PLACES];
} actors[ACTORS];

static uint64_t state;
static int known[KNOWN];
static int sized[KNOWN * 4]; /* ids and their pages */
static long size_of[KNOWN * 4];

static uint32_t rnd(uint32_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (uint32_t)((state * 0x2545f4914f6cdd1dULL >> 32) % below);
}

/* ---- an actor ---- */

static sigjmp_buf fault;

static void on_fault(int sig)
{
	(void)sig;
	siglongjmp(fault, 1);
}

static int access_byte(const struct call *c)
{
	volatile char *p = (char *)c->addr;

	if (sigsetjmp(fault, 1)) {
		errno = EFAULT;
		return -1;
	}
	if (c->kind == POKE)
		*p = (char)c->value;
	return *p;
}

static void by_child(const struct call *c, struct result *r)
{
	int ready[2], go[2];
	char x = 0;

	if (pipe(ready) || pipe(go))
		_exit(3);
	r->child = fork();
	if (!r->child) {
		for (int i = 0; i < c->n_detach; i++)
			shmdt((void *)c->detach[i]);
		if (write(ready[1], &x, 1) != 1 || read(go[0], &x, 1) != 1)
			_exit(1);
		_exit(0);
	}
	if (read(ready[0], &x, 1) != 1)
		_exit(3);
	shmctl(c->id, IPC_STAT, &r->during);
	if (c->kill)
		kill(r->child, SIGKILL);
	else if (write(go[1], &x, 1) != 1)
		_exit(3);
	waitpid(r->child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	close(go[0]);
	close(go[1]);
	r->ret = shmctl(c->id, IPC_STAT, &r->ds);
}

static void ctl(const struct call *c, struct result *r)
{
	r->ds.shm_perm.mode = (unsigned short)c->mode;
	r->ds.shm_perm.uid = (uid_t)c->uid;
	if (c->cmd == IPC_INFO || c->cmd == SHM_INFO)
		r->ret = shmctl(c->id, c->cmd, (void *)&r->info);
	else
		r->ret = shmctl(c->id, c->cmd, &r->ds);
}

static void run(const struct call *c, struct result *r)
{
	memset(r, 0, sizeof(*r));
	errno = 0;
	switch (c->kind) {
	case GET:
		r->ret = shmget(c->key, c->size, c->flg);
		break;
	case AT:
		r->ret = (long)shmat(c->id, (void *)c->addr, c->flg);
		break;
	case DT:
		r->ret = shmdt((void *)c->addr);
		break;
	case CTL:
		ctl(c, r);
		break;
	case UNMAP:
		r->ret = munmap((void *)c->addr, c->size);
		break;
	case PROTECT:
		r->ret = mprotect((void *)c->addr, c->size, c->value);
		break;
	case FORK:
		by_child(c, r);
		break;
	default:
		r->ret = access_byte(c);
	}
	r->err = r->ret == -1 ? errno : 0;
}

static _Noreturn void actor(int n, int in, int out)
{
	struct rlimit lock = {64 << 10, 64 << 10};
	struct call c;
	struct result r;

	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
	setrlimit(RLIMIT_MEMLOCK, &lock);
	if (n == 2 && (setgroups(0, NULL) ||
			      setresgid(OTHER_UID, OTHER_UID, OTHER_UID) ||
			      setresuid(OTHER_UID, OTHER_UID, OTHER_UID)))
		_exit(3);
	while (read(in, &c, sizeof(c)) == sizeof(c) && c.kind != END) {
		run(&c, &r);
		if (write(out, &r, sizeof(r)) != sizeof(r))
			break;
	}
	_exit(0);
}

static void start(int n)
{
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		exit(3);
	actors[n] = (struct actor){.to = to[1], .from = from[0]};
	actors[n].pid = fork();
	if (!actors[n].pid)
		actor(n, to[0], from[1]);
	close(to[0]);
	close(from[1]);
}

/* An actor ends, and another takes its part: all its attachments go. */
static void restart(int n, int by_kill)
{
	struct call c = {.kind = END};

	if (by_kill)
		kill(actors[n].pid, SIGKILL);
	else if (write(actors[n].to, &c, sizeof(c)) != sizeof(c))
		exit(3);
	waitpid(actors[n].pid, NULL, 0);
	close(actors[n].to);
	close(actors[n].from);
	start(n);
}

/* ---- making calls up ---- */

static int some_id(void)
{
	int id = known[rnd(KNOWN)];

	return rnd(40) ? id : id + 32768 * (int)rnd(3) - (int)rnd(2);
}

static size_t some_size(void)
{
	static const size_t odd[] = {
		0, 1, 4095, 4096, 4097, (size_t)-1, 1ul << 62};

	return rnd(12) ? 1 + rnd(20 * PAGE) : odd[rnd(7)];
}

static int some_at_flags(void)
{
	return (rnd(4) ? 0 : SHM_RDONLY) | (rnd(5) ? 0 : SHM_RND) |
	       (rnd(6) ? 0 : SHM_REMAP);
}

static int some_cmd(void)
{
	static const int cmds[] = {IPC_STAT, IPC_STAT, IPC_STAT, IPC_RMID,
		IPC_RMID, IPC_SET, IPC_INFO, SHM_INFO, SHM_STAT, SHM_STAT_ANY,
		SHM_LOCK, SHM_UNLOCK, 99};

	return cmds[rnd(sizeof(cmds) / sizeof(cmds[0]))];
}

/* An attachment of the actor, or an address of the arena. */
static uintptr_t some_place(const struct actor *a, long *ret_pages)
{
	int i, n = (int)rnd(PLACES);

	for (i = 0; i < PLACES && rnd(15); i++, n = (n + 1) % PLACES)
		if (a->place[n]) {
			*ret_pages = a->pages[n];
			return a->place[n];
		}
	*ret_pages = 8;
	return ARENA + (uintptr_t)rnd(ARENA_PAGES) * PAGE;
}

static void make(struct call *c, const struct actor *a)
{
	uint32_t dice = rnd(100);
	long pages = 1;

	memset(c, 0, sizeof(*c));
	c->id = some_id();
	if (dice < 18) {
		c->kind = GET;
		c->key = (int)rnd(KEYS);
		c->size = some_size();
		c->flg = (rnd(6) ? IPC_CREAT : 0) | (rnd(6) ? 0 : IPC_EXCL) |
			 (int)(rnd(3) ? 0666 : rnd(512));
	} else if (dice < 42) {
		c->kind = AT;
		c->flg = some_at_flags();
		if (rnd(2))
			c->addr = ARENA + rnd(ARENA_PAGES) * PAGE +
				  (rnd(4) ? 0 : rnd(PAGE));
	} else if (dice < 60) {
		c->kind = DT;
		c->addr = some_place(a, &pages);
		/* Behind a place of the system's choice may be another. */
		if (!rnd(12))
			c->addr += c->addr < ARENA + ARENA_PAGES * PAGE
					   ? rnd(3) * 2048
					   : 2048;
	} else if (dice < 78) {
		c->kind = CTL;
		c->cmd = some_cmd();
		c->mode = (int)(rnd(3) ? 0666 : rnd(1024));
		c->uid = rnd(4) ? 0 : OTHER_UID;
	} else if (dice < 90) {
		c->kind = dice < 85 ? POKE : PEEK;
		c->addr = some_place(a, &pages);
		c->addr += rnd((uint32_t)pages) * PAGE + rnd(8) * 512;
		c->value = (int)rnd(100);
	} else if (dice < 95) {
		c->kind = dice < 93 ? UNMAP : PROTECT;
		do {
			c->addr = some_place(a, &pages);
		} while (c->addr >= ARENA + ARENA_PAGES * PAGE);
		c->addr += rnd((uint32_t)pages) * PAGE;
		c->size = PAGE * (c->kind == UNMAP ? 1 + rnd(3) : 1);
		c->value = rnd(2) ? PROT_READ | PROT_WRITE : PROT_READ;
	} else {
		c->kind = FORK;
		c->kill = (int)rnd(2);
		c->n_detach = (int)rnd(3);
		for (int i = 0; i < c->n_detach; i++)
			c->detach[i] = some_place(a, &pages);
	}
}

/* ---- writing down ---- */

static const char *role(int pid)
{
	static const char *const names[] = {"0", "1", "2"};

	if (!pid)
		return "none";
	for (int i = 0; i < ACTORS; i++)
		if (actors[i].pid == pid)
			return names[i];
	return "gone";
}

static void say_addr(const struct actor *a, uintptr_t addr)
{
	if (addr >= ARENA && addr < ARENA + 2 * ARENA_PAGES * PAGE) {
		printf("arena+%#lx", (unsigned long)(addr - ARENA));
		return;
	}
	for (int i = 0; i < PLACES; i++)
		if (a->place[i] && addr >= a->place[i] &&
			addr < a->place[i] + (uintptr_t)a->pages[i] * PAGE) {
			printf("place%d+%#lx", i,
				(unsigned long)(addr - a->place[i]));
			return;
		}
	printf("%s", addr ? "somewhere" : "NULL");
}

static void say_ds(const struct shmid_ds *d)
{
	printf(" key %d seq %d mode %o uid %u cuid %u size %lu nattch %lu"
	       " cpid %s lpid %s times %d%d%d",
		d->shm_perm.__key, (int)d->shm_perm.__seq, d->shm_perm.mode,
		d->shm_perm.uid, d->shm_perm.cuid, (unsigned long)d->shm_segsz,
		(unsigned long)d->shm_nattch, role(d->shm_cpid),
		role(d->shm_lpid), d->shm_atime != 0, d->shm_dtime != 0,
		d->shm_ctime != 0);
}

static void say(int n, const struct call *c, const struct result *r)
{
	static const char *const kinds[] = {"get", "at", "dt", "ctl", "poke",
		"peek", "unmap", "protect", "fork"};
	const struct actor *a = &actors[n];

	printf("%d %s ", n, kinds[c->kind]);
	if (c->kind == GET)
		printf("key %d size %lu flg %o", c->key, (unsigned long)c->size,
			(unsigned)c->flg);
	else if (c->kind == AT || c->kind == CTL || c->kind == FORK)
		printf("id %d cmd %d flg %o kill %d ", c->id, c->cmd,
			(unsigned)c->flg, c->kill);
	if (c->kind != GET && c->kind != CTL && c->kind != FORK)
		say_addr(a, c->addr);
	printf(" = ");
	if (r->ret == -1) {
		printf("errno %d\n", r->err);
		return;
	}
	if (c->kind == AT)
		printf("attached");
	else
		printf("%ld", r->ret);
	if (c->kind == FORK) {
		say_ds(&r->during);
		say_ds(&r->ds);
	}
	if (c->kind == CTL && (c->cmd == IPC_STAT || c->cmd == SHM_STAT ||
				      c->cmd == SHM_STAT_ANY))
		say_ds(&r->ds);
	if (c->kind == CTL && c->cmd == IPC_INFO)
		printf(" mni %lu", r->info.lim.shmmni);
	if (c->kind == CTL && c->cmd == SHM_INFO)
		printf(" used %d tot %lu", r->info.sum.used_ids,
			r->info.sum.shm_tot);
	printf("\n");
}

static void learn(int id)
{
	struct shmid_ds ds;
	unsigned n = (unsigned)id % (KNOWN * 4);

	if (shmctl(id, IPC_STAT, &ds))
		exit(3);
	sized[n] = id;
	size_of[n] = (long)((ds.shm_segsz + PAGE - 1) / PAGE);
}

static long pages_of(int id)
{
	unsigned n = (unsigned)id % (KNOWN * 4);

	return sized[n] == id ? size_of[n] : 1;
}

static void remember(int n, const struct call *c, const struct result *r)
{
	struct actor *a = &actors[n];
	int i;

	if (r->ret == -1)
		return;
	if (c->kind == GET) {
		known[rnd(KNOWN)] = (int)r->ret;
		learn((int)r->ret);
	}
	for (i = 0; c->kind == DT && i < PLACES; i++)
		if (a->place[i] == c->addr)
			a->place[i] = 0;
	if (c->kind == AT) {
		i = (int)rnd(PLACES);
		a->place[i] = (uintptr_t)r->ret;
		a->pages[i] = pages_of(c->id);
	}
}

int main(int argc, char **argv)
{
	long calls = 200000, seed = 1, i;
	const struct option_of options[] = {
		{"calls", .number = &calls},
		{"seed", .number = &seed},
		{0},
	};
	struct call c;
	struct result r;
	int n;

	options_only(argc, argv, options);
	state = ((uint64_t)seed + 1) * 0x9e3779b97f4a7c15ULL;
	/* The registry, if there is one, is made and inherited by root. */
	shmctl(0, IPC_INFO, (void *)&r.info);
	for (n = 0; n < ACTORS; n++)
		start(n);
	for (i = 0; i < calls; i++) {
		n = (int)rnd(ACTORS);
		if (!rnd(400)) {
			int by_kill = (int)rnd(2);

			printf("%d restarts %d\n", n, by_kill);
			fflush(stdout);
			restart(n, by_kill);
			continue;
		}
		make(&c, &actors[n]);
		if (write(actors[n].to, &c, sizeof(c)) != sizeof(c) ||
			read(actors[n].from, &r, sizeof(r)) != sizeof(r)) {
			printf("%d died\n", n);
			return 1;
		}
		say(n, &c, &r);
		remember(n, &c, &r);
	}
	for (n = 0; n < ACTORS; n++)
		restart(n, 1);
	printf("%ld calls\n", calls);
	fflush(stdout);
	for (n = 0; n < ACTORS; n++)
		kill(actors[n].pid, SIGKILL);
	return 0;
}
