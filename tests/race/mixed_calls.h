// SPDX-License-Identifier: MIT
/*
 * mixed_calls.h - what a life of mixed_storm does with each of the four kinds,
 * and the arena in which it writes that down. Included by mixed_storm.c only,
 * which says what all this is for.
 */
#ifndef IPCLIFT_TESTS_RACE_MIXED_CALLS_H
#define IPCLIFT_TESTS_RACE_MIXED_CALLS_H

#include "../option.h"
#include "storm.h"

#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

#define LIVES (1u << 15) /* of a round; some thousands are used */
#define MAX_PROCS 64
#define N_SEMS 4
#define TOKENS 40
#define UNITS 1000
#define TYPES 3
#define SEQS 64u       /* messages of one life, a bit each */
#define STUCK_MS 10000 /* arbitrary: far beyond what a loaded machine does */
#define COUNT_PAGES 8

enum { VIA_MSG, VIA_MQ, N_VIA };

/* One thread's life; written by it, got by all. */
struct life {
	_Atomic uint64_t got[N_VIA];
	volatile uint32_t accepted[N_VIA];
	volatile uint32_t receiving[N_VIA];
	volatile uint32_t pid, op;
	volatile uint64_t born; /* of the process, for pids are used again */
	volatile double since;	/* of op; 0: none */
};

struct arena {
	_Atomic uint32_t lives;
	_Atomic uint32_t violations;
	_Atomic uint64_t calls;
	_Atomic uint64_t refused; /* for want of space */
	_Atomic uint32_t disorder[N_VIA];
	_Atomic uint64_t counts_begun, counts_done; /* in the segment */
	volatile int closing;
	int full; /* the registry's file system is, now and then */
	int undo_set, move_set, wait_set, queue, counted;
	char mq_name[64];
	char self[512];
	struct life life[LIVES];
};

struct packet {
	long type; /* of System V; also in the body */
	struct body {
		uint32_t life, seq;
		uint32_t type, sum;
		char pad[24];
	} body;
};

static struct arena *sh;
static __thread struct life *me;
static __thread struct storm_rng rng;
static __thread uint8_t (*last_seen)[N_VIA][TYPES];
static __thread uint32_t in_handler;
static long n_round = 200, n_kills = 1000, n_procs = 12, seed = 1;
static const char *check_command;

static void violation(const char *what, long a, long b)
{
	char line[200];
	int n = snprintf(line, sizeof(line), "VIOLATION %s %ld %ld (pid %d)\n",
		what, a, b, (int)getpid());

	atomic_fetch_add(&sh->violations, 1);
	if (write(2, line, (size_t)n) < 0)
		_exit(3);
}

/* The call failed because the file system is full. Its caller goes on. */
static bool no_space(void)
{
	if (!sh->full || (errno != ENOSPC && errno != ENOMEM))
		return false;
	atomic_fetch_add_explicit(&sh->refused, 1, memory_order_relaxed);
	return true;
}

/* A sleeper's call ended because its object was removed, or never began. */
static bool removed(void)
{
	return errno == EIDRM || errno == EINVAL || no_space();
}

static uint32_t rnd(uint32_t below)
{
	return storm_random(&rng, below);
}

static void op_begin(uint32_t op)
{
	me->op = op;
	me->since = now_ms();
}

static void op_end(void)
{
	me->since = 0;
	atomic_fetch_add_explicit(&sh->calls, 1, memory_order_relaxed);
}

/* When that process began, in ticks since the boot; 0: there is none. */
static uint64_t birth_of(uint32_t pid)
{
	char path[40], text[1024], *p;
	unsigned long long born = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	p = strrchr(text, ')');
	if (p)
		sscanf(p,
			") %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			"%*s %*s %*s %*s %*s %*s %llu",
			&born);
	return born;
}

static bool life_begin(void)
{
	uint32_t i = atomic_fetch_add(&sh->lives, 1);

	if (i >= LIVES)
		return false;
	me = &sh->life[i];
	me->pid = (uint32_t)getpid();
	me->born = birth_of(me->pid);
	storm_seed(&rng, (uint64_t)seed, i);
	last_seen =
		mmap(NULL, LIVES * sizeof(*last_seen), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return last_seen != MAP_FAILED;
}

/* ---- semaphores ---- */

static struct timespec some_ms(uint32_t most)
{
	return (struct timespec){0, 100000 + (long)rnd(most * 1000000)};
}

/* A few units, with SEM_UNDO; given back mostly, else the process's death
 * does. */
static void tokens(void)
{
	struct sembuf ops[3];
	struct timespec t = some_ms(20);
	size_t n = 1 + rnd(3), i;
	int timed = (int)rnd(2), got;

	for (i = 0; i < n; i++)
		ops[i] =
			(struct sembuf){(unsigned short)((rnd(2) + i) % N_SEMS),
				(short)-(1 + (int)rnd(3)), SEM_UNDO};
	if (!rnd(4))
		ops[0].sem_flg |= IPC_NOWAIT;
	op_begin(timed ? 1 : 0);
	got = semtimedop(sh->undo_set, ops, n, timed ? &t : NULL);
	op_end();
	if (got)
		return;
	if (!rnd(3))
		sleep_us(rnd(500));
	if (!rnd(40))
		return;
	for (i = 0; i < n; i++)
		ops[i].sem_op = (short)-ops[i].sem_op;
	op_begin(2);
	while (semop(sh->undo_set, ops, n))
		if (!no_space()) {
			violation("giving back failed", errno, 0);
			break;
		}
	op_end();
}

static void move(void)
{
	unsigned short a = (unsigned short)rnd(N_SEMS);
	unsigned short b = (unsigned short)((a + 1 + rnd(N_SEMS - 1)) % N_SEMS);
	struct sembuf ops[2] = {{a, -1, 0}, {b, 1, 0}};
	struct timespec t = some_ms(3);
	unsigned short vals[N_SEMS];
	int i, sum = 0;

	op_begin(3);
	if (!rnd(6)) {
		if (!semctl(sh->move_set, 0, GETALL, vals)) {
			for (i = 0; i < N_SEMS; i++)
				sum += vals[i];
			if (sum != UNITS)
				violation("units", sum, UNITS);
		} else if (!no_space()) {
			violation("GETALL failed", errno, 0);
		}
	} else {
		ops[0].sem_op = (short)-(1 + (int)rnd(3) * 100);
		ops[1].sem_op = (short)-ops[0].sem_op;
		semtimedop(sh->move_set, ops, 2, &t);
	}
	op_end();
}

static void wait_and_post(void)
{
	struct sembuf ops[3];
	struct timespec t = some_ms(4);
	unsigned short zero[N_SEMS] = {0};
	struct semid_ds ds;
	size_t n = 1 + rnd(3), i;

	for (i = 0; i < n; i++)
		ops[i] = (struct sembuf){(unsigned short)rnd(N_SEMS),
			(short)((int)rnd(4) - 2), rnd(4) ? 0 : SEM_UNDO};
	op_begin(4);
	switch (rnd(12)) {
	case 0:
		semctl(sh->wait_set, 0, SETALL, zero);
		break;
	case 1:
		semctl(sh->wait_set, (int)rnd(N_SEMS), SETVAL, (int)rnd(3));
		break;
	case 2:
		semctl(sh->wait_set, 0, IPC_STAT, &ds);
		if (!semctl(sh->wait_set, 0, IPC_STAT, &ds))
			semctl(sh->wait_set, 0, IPC_SET, &ds);
		break;
	case 3:
		semctl(sh->wait_set, (int)rnd(N_SEMS), GETNCNT);
		semctl(sh->wait_set, (int)rnd(N_SEMS), GETZCNT);
		semctl(sh->wait_set, (int)rnd(N_SEMS), GETPID);
		break;
	default:
		semtimedop(sh->wait_set, ops, n, &t);
	}
	op_end();
}

/* A set of one's own, long enough alone to be served by the short way, and a
 * child that sleeps on it when it goes. */
static void private_set(void)
{
	int id = semget(IPC_PRIVATE, 1 + (int)rnd(3), 0600), status, i;
	int n = (int)rnd(300);
	struct sembuf up = {0, 1, 0}, down = {0, -1, 0};
	pid_t pid = -1;

	if (id < 0)
		return;
	if (rnd(2))
		up.sem_flg = down.sem_flg = SEM_UNDO;
	op_begin(5);
	for (i = 0; i < n; i++)
		if (semop(id, i & 1 ? &down : &up, 1)) {
			if (!no_space())
				violation("alone", errno, i);
			break;
		}
	if (i & 1)
		semop(id, &down, 1);
	op_end();
	if (!rnd(3))
		pid = fork();
	if (!pid) {
		semop(id, &down, 1);
		_exit(removed() ? 0 : 1);
	}
	if (rnd(2))
		sleep_us(rnd(300));
	op_begin(6);
	semctl(id, 0, IPC_RMID);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
		WEXITSTATUS(status))
		violation("sleeper of a removed set", status, 0);
	op_end();
}

/* More operations than a sleeper's record and a journal have places for, on
 * a set of one's own; with SEM_UNDO, so that what is left of it is undone. */
#define LONG_SOPS 70

static void long_array(void)
{
	int id = semget(IPC_PRIVATE, LONG_SOPS, 0600), i;
	struct sembuf ops[LONG_SOPS];
	struct timespec t = some_ms(1);
	short flags = rnd(2) ? SEM_UNDO : 0;

	if (id < 0)
		return;
	for (i = 0; i < LONG_SOPS; i++)
		ops[i] = (struct sembuf){(unsigned short)i, 1, flags};
	op_begin(15);
	if (semop(id, ops, LONG_SOPS)) {
		if (!no_space())
			violation("long array", errno, 0);
		goto remove;
	}
	/* The last one blocks: nothing of it has happened. */
	for (i = 0; i < LONG_SOPS; i++)
		ops[i].sem_op = (short)(i == LONG_SOPS - 1 ? -2 : -1);
	if (!semtimedop(id, ops, LONG_SOPS, &t))
		violation("long array went on", 0, 0);
	if (semctl(id, 0, GETVAL) != 1)
		violation("a part of a long array", semctl(id, 0, GETVAL), 0);
remove:
	semctl(id, 0, IPC_RMID);
	op_end();
}

/* ---- messages ---- */

static uint32_t body_sum(const struct body *b)
{
	return (b->life * 2654435761u) ^ (b->seq << 20) ^ b->type;
}

static bool next_packet(struct packet *p, int via)
{
	uint32_t seq = me->accepted[via];
	uint32_t life = (uint32_t)(me - sh->life);

	if (seq >= SEQS)
		return false;
	p->type = 1 + seq % TYPES;
	p->body = (struct body){
		.life = life, .seq = seq, .type = (uint32_t)p->type};
	p->body.sum = body_sum(&p->body);
	memset(p->body.pad, (int)(life + seq), sizeof(p->body.pad));
	return true;
}

static void note_packet(const struct body *b, ssize_t size, int via)
{
	uint8_t *last;
	size_t i;

	if (size != sizeof(*b) || b->life >= LIVES || b->seq >= SEQS ||
		b->sum != body_sum(b)) {
		violation("torn", size, via);
		return;
	}
	for (i = 0; i < sizeof(b->pad); i++)
		if (b->pad[i] != (char)(b->life + b->seq))
			violation("torn text", (long)i, via);
	if (atomic_fetch_or(&sh->life[b->life].got[via], 1ULL << b->seq) >>
			b->seq &
		1)
		violation("doubled", b->life, b->seq);
	last = &last_seen[b->life][via][b->type - 1];
	if (*last > b->seq)
		atomic_fetch_add(&sh->disorder[via], 1);
	*last = (uint8_t)b->seq;
}

static void interrupt_by_alarm(int sig)
{
	(void)sig;
}

static void send_msg(void)
{
	struct packet p;

	if (!next_packet(&p, VIA_MSG))
		return;
	/* Blocked for ever, if nobody receives: others do, or we die. */
	op_begin(rnd(2) ? 7 : 0);
	if (!msgsnd(sh->queue, &p, sizeof(p.body), me->op ? IPC_NOWAIT : 0))
		me->accepted[VIA_MSG]++;
	op_end();
}

static void receive_msg(void)
{
	static const long wanted[] = {0, 1, 2, 3, -2, -3};
	struct packet p;
	ssize_t n;
	long want = wanted[rnd(6)];

	op_begin(rnd(3) ? 8 : 0);
	me->receiving[VIA_MSG] = 1;
	n = msgrcv(sh->queue, &p, sizeof(p.body), want,
		(me->op ? IPC_NOWAIT : 0) |
			(want > 0 && !rnd(4) ? MSG_EXCEPT : 0));
	if (n >= 0)
		note_packet(&p.body, n, VIA_MSG);
	me->receiving[VIA_MSG] = 0;
	op_end();
}

static void private_queue(void)
{
	int id = msgget(IPC_PRIVATE, 0600), status;
	struct packet p = {.type = 1};
	struct msqid_ds ds;
	pid_t pid;
	int i, n = (int)rnd(200);

	if (id < 0)
		return;
	op_begin(9);
	for (i = 0; i < n; i++)
		if ((msgsnd(id, &p, sizeof(p.body), IPC_NOWAIT) ||
			    msgrcv(id, &p, sizeof(p.body), 0, IPC_NOWAIT) !=
				    sizeof(p.body)) &&
			!no_space())
			violation("alone on a queue", errno, i);
	msgctl(id, IPC_STAT, &ds);
	if (ds.msg_qnum)
		violation("messages left", (long)ds.msg_qnum, 0);
	op_end();
	pid = rnd(3) ? -1 : fork();
	if (!pid) {
		msgrcv(id, &p, sizeof(p.body), 7, 0);
		_exit(removed() ? 0 : 1);
	}
	op_begin(10);
	msgctl(id, IPC_RMID, NULL);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
		WEXITSTATUS(status))
		violation("sleeper of a removed queue", status, 0);
	op_end();
}

/* Messages of many sizes, whole at the other end, on a queue of one's own. */
#define LARGE_MOST 40000

static void large_messages(void)
{
	struct {
		long type;
		unsigned char text[LARGE_MOST];
	} *m = malloc(sizeof(*m));
	int id = m ? msgget(IPC_PRIVATE, 0600) : -1;
	size_t size, i;
	int n;

	op_begin(16);
	for (n = 1 + (int)rnd(4); n > 0 && id >= 0; n--) {
		size = rnd(5) ? rnd(LARGE_MOST) : rnd(200);
		m->type = 1 + (long)rnd(3);
		memset(m->text, (int)size, size);
		/* More than the queue takes at once, elsewhere. */
		if (msgsnd(id, m, size, IPC_NOWAIT))
			continue;
		memset(m->text, 0, size);
		if (msgrcv(id, m, sizeof(m->text), 0, IPC_NOWAIT) !=
			(ssize_t)size)
			violation("a large message's size", (long)size, errno);
		for (i = 0; i < size; i++)
			if (m->text[i] != (unsigned char)size)
				break;
		if (i < size)
			violation(
				"a large message's text", (long)size, (long)i);
	}
	if (id >= 0)
		msgctl(id, IPC_RMID, NULL);
	op_end();
	free(m);
}

static mqd_t shared_mq(int flags)
{
	struct mq_attr a = {.mq_maxmsg = 8, .mq_msgsize = sizeof(struct body)};

	return mq_open(sh->mq_name, O_RDWR | O_CREAT | flags, 0600, &a);
}

static struct timespec mq_deadline(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += 100000 + (long)rnd(4000000);
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

static void notified(union sigval value)
{
	(void)value;
}

/* A registration of any kind. */
static struct sigevent any_event(void)
{
	static const int how[] = {SIGEV_SIGNAL, SIGEV_THREAD, SIGEV_NONE};
	struct sigevent ev = {.sigev_signo = SIGUSR1};

	ev.sigev_notify = how[rnd(3)];
	if (ev.sigev_notify == SIGEV_THREAD)
		ev.sigev_notify_function = notified;
	return ev;
}

/* A queue of one's own, small or large messages, with a registration, somebody
 * who polls, a child that sleeps on it; its name goes before, after or while
 * the last descriptor does, or stays when its maker is killed. */
static void private_mq(void)
{
	struct mq_attr a = {.mq_maxmsg = 1 + (long)rnd(4),
		.mq_msgsize = rnd(2) ? 24 : 5000};
	char name[96], text[5000] = {0};
	struct sigevent ev = any_event();
	int status, ep = -1, dup_of = -1;
	struct epoll_event e = {.events = EPOLLIN};
	struct timespec t;
	pid_t pid;
	mqd_t q;

	snprintf(name, sizeof(name), "%s-%u-%u", sh->mq_name,
		(unsigned)(me - sh->life), rnd(1000000));
	op_begin(17);
	q = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600, &a);
	if (q == (mqd_t)-1) {
		op_end();
		return;
	}
	if (rnd(2))
		mq_notify(q, &ev);
	if (!rnd(3)) {
		ep = epoll_create1(EPOLL_CLOEXEC);
		epoll_ctl(ep, EPOLL_CTL_ADD, (int)q, &e);
	}
	if (!rnd(3))
		dup_of = dup((int)q);
	op_end();
	pid = rnd(2) ? -1 : fork();
	if (!pid) {
		/* The description is its maker's, too, whose calls have limits
		 * of their own. */
		struct mq_attr block = {0};

		mq_setattr(q, &block, NULL);
		if (rnd(2))
			mq_send(q, text, 1, 0);
		for (;;)
			mq_receive(q, text, sizeof(text), NULL);
	}
	op_begin(18);
	if (!rnd(3))
		mq_unlink(name);
	t = mq_deadline();
	if (!mq_timedsend(q, text, (size_t)a.mq_msgsize, rnd(3), &t) && ep >= 0)
		epoll_wait(ep, &e, 1, 0);
	if (rnd(2))
		mq_timedreceive(q, text, sizeof(text), NULL, &t);
	if (!rnd(3))
		mq_notify(q, rnd(2) ? NULL : &ev);
	op_end();
	if (pid > 0)
		kill(pid, SIGKILL);
	if (pid > 0)
		waitpid(pid, &status, 0);
	op_begin(19);
	mq_close(q);
	if (dup_of >= 0)
		close(dup_of);
	if (ep >= 0)
		close(ep);
	mq_unlink(name);
	op_end();
}

static void use_mq(void)
{
	mqd_t q = shared_mq(rnd(3) ? 0 : O_NONBLOCK);
	struct timespec t;
	struct sigevent ev = any_event();
	struct packet p;
	unsigned prio;
	int i, n = 1 + (int)rnd(12);
	ssize_t size;

	if (q == (mqd_t)-1)
		return;
	for (i = 0; i < n; i++) {
		t = mq_deadline();
		op_begin(11);
		switch (rnd(9)) {
		case 0: {
			struct pollfd pf = {.fd = (int)q,
				.events = rnd(2) ? POLLIN : POLLOUT};

			poll(&pf, 1, (int)rnd(3));
			break;
		}
		case 1:
			mq_notify(q, rnd(2) ? &ev : NULL);
			break;
		case 2: {
			struct mq_attr a;

			mq_getattr(q, &a);
			break;
		}
		case 3:
		case 4:
		case 5:
			if (next_packet(&p, VIA_MQ) &&
				!mq_timedsend(q, (char *)&p.body,
					sizeof(p.body), (unsigned)p.type, &t))
				me->accepted[VIA_MQ]++;
			break;
		default:
			me->receiving[VIA_MQ] = 1;
			size = mq_timedreceive(
				q, (char *)&p.body, sizeof(p.body), &prio, &t);
			if (size >= 0 && prio != p.body.type)
				violation("priority", prio, p.body.type);
			if (size >= 0)
				note_packet(&p.body, size, VIA_MQ);
			me->receiving[VIA_MQ] = 0;
		}
		op_end();
	}
	mq_close(q);
}

/* ---- segments ---- */

static void count_up(void)
{
	uint32_t *p;

	op_begin(12);
	p = shmat(sh->counted, NULL, 0);
	if (p == (void *)-1) {
		if (!no_space())
			violation("shmat", errno, 0);
	} else {
		atomic_fetch_add(&sh->counts_begun, 1);
		__atomic_fetch_add(
			&p[rnd(COUNT_PAGES) * 1024], 1, __ATOMIC_SEQ_CST);
		atomic_fetch_add(&sh->counts_done, 1);
		if (rnd(10))
			shmdt(p);
	}
	op_end();
}

static void private_segment(void)
{
	int id = shmget(IPC_PRIVATE, 4096 * (1 + rnd(20)), 0600), status;
	char *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
	pid_t pid;

	if (p == (void *)-1)
		return;
	/* Pages come at the first touch, which is SIGBUS where there is none. */
	if (sh->full && madvise(p, 4096, MADV_POPULATE_WRITE)) {
		shmdt(p);
		shmctl(id, IPC_RMID, NULL);
		return;
	}
	if (rnd(2))
		shmctl(id, IPC_RMID, NULL);
	if (p[0])
		violation("a used page", p[0], 0);
	p[0] = 1;
	pid = rnd(3) ? -1 : fork();
	if (!pid) {
		p[0]++;
		if (rnd(2))
			shmdt(p);
		_exit(0);
	}
	if (pid > 0 && rnd(3))
		kill(pid, SIGKILL);
	op_begin(13);
	shmdt(p);
	shmctl(id, IPC_RMID, NULL);
	if (pid > 0)
		waitpid(pid, &status, 0);
	op_end();
}

#endif
