// SPDX-License-Identifier: MIT
/*
 * Biased locks and the deaths of others (registry/bias.h, recover.c).
 *
 * An object is biased to P, which is stopped inside an operation at each of its
 * stores in turn. A takes the lock's word and is killed before it has stored
 * its name beside it, so the name that the next owner B finds there is P's. B
 * must not roll back what P, who is alive, is doing: it waits until P is out.
 *
 * And the journal of whoever recovers never lists a lock that it does not hold.
 *
 * The other way without the lock, one compare-and-swap: stopped before it, it
 * must not reach another set that came to stand in the same place, of whatever
 * generation (24 bits of it were compared once).
 *
 * Prints a line a scenario.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "inspect/check.h"
#include "msg/msg.h"
#include "object/limits.h"
#include "registry/bias.h"
#include "registry/event.h"
#include "registry/lock.h"
#include "sem/sem.h"

#define POINTS_MAX 200
#define BIASED_AFTER 2000 /* calls; more than enough */
#define WAIT_MS 5000

static struct cred cred = {.euid = ~0u};
static struct caller me;
static unsigned failures;
static s32 id;
static struct slot *slot;

static void fail(const char *what, unsigned at)
{
	printf("FAIL %s (stopped at %u)\n", what, at);
	failures++;
}

/* ---- crash points ---- */

static enum {
	OFF,
	STOPS_INSIDE,	 /* at the stop_at-th store with the journal in use */
	DIES_UNNAMED,	 /* the word is ours, lock.journal is another's */
	DIES_IN_JOURNAL, /* before the commit */
	MUST_HOLD,	 /* what the journal lists */
	STOPS_AT_ONCE,
} mode;
static unsigned stop_at, n_points, n_wrong;

static int all_held(void)
{
	const struct journal *j = me.journal;
	u32 i;

	for (i = 0; j && i < j->n_locks; i++) {
		const struct lock *lock = region_at(&me.region, j->locks[i]);

		if ((lock->word & SYS_TID_MASK) != me.tid)
			return 0;
	}
	return 1;
}

void crash_point(void)
{
	switch (mode) {
	case OFF:
		break;
	case STOPS_INSIDE:
		if (me.journal->n && ++n_points == stop_at)
			raise(SIGSTOP);
		break;
	case DIES_UNNAMED:
		if ((slot->lock.word & SYS_TID_MASK) == me.tid &&
			slot->lock.journal != me.thread)
			kill(getpid(), SIGKILL);
		break;
	case DIES_IN_JOURNAL:
		if (me.journal->n == 2)
			kill(getpid(), SIGKILL);
		break;
	case MUST_HOLD:
		n_wrong += !all_held();
		break;
	case STOPS_AT_ONCE:
		mode = OFF;
		raise(SIGSTOP);
		break;
	}
}

/* ---- processes ---- */

static void open_registry(void)
{
	struct region_options opt = {
		.idx_bits = IDX_BITS_NORMAL, .profile = LIMITS_ROOMY};
	char path[64], why[256];

	snprintf(path, sizeof(path), "/dev/shm/bias-crash-%d", getpid());
	limits_init(&opt.limits, opt.profile, opt.idx_bits);
	me = (struct caller){.cred = &cred};
	if (region_map(&me.region, path, &opt, why, sizeof(why))) {
		printf("no registry: %s\n", why);
		exit(2);
	}
	unlink(path);
	caller_refresh(&me);
	if (caller_enroll(&me))
		exit(2);
}

static pid_t start(void (*fn)(void), unsigned mode_of_child)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	caller_refresh(&me);
	caller_enroll(&me);
	mode = mode_of_child;
	fn();
	_exit(0);
}

static int wait_for(pid_t pid)
{
	int status = 0;

	waitpid(pid, &status, WUNTRACED);
	return status;
}

/* B has come to where it waits for P; or it has not waited. */
static int revoking(pid_t b)
{
	const struct timespec ms = {0, 1000000};
	int i, status;

	for (i = 0; i < WAIT_MS; i++) {
		if (atom_load_acquire(&slot->bias) & BIAS_REVOKING)
			return 1;
		if (waitpid(b, &status, WNOHANG))
			return 0;
		nanosleep(&ms, NULL);
	}
	return 0;
}

/* ---- an array of two semaphores; their sum stays 1000 ---- */

static int move(s16 by)
{
	struct sop sops[] = {{0, (s16)-by, SEM_IPC_NOWAIT}, {1, by, 0}};

	return sem_op(&me, id, sops, 2, NULL);
}

static void sem_make(void)
{
	id = sem_get(&me, 0, 2, 0600);
	slot = region_slot(&me.region, FAC_SEM, id & (IDX_PER_PAGE - 1));
}

/* Until it is biased, an even number of times. */
static void sem_use(void)
{
	const u16 values[] = {500, 500};
	struct sop sop = {0, 0, SEM_IPC_NOWAIT};
	int i;

	sem_setall(&me, id, values, 2);
	for (i = 0; i % 2 || (i < BIASED_AFTER && slot->bias != me.bias_id);
		i++) {
		sop.op = i % 2 ? -1 : 1;
		sem_op(&me, id, &sop, 1, NULL);
	}
}

static void sem_change(void)
{
	move(1);
}

static int sem_right(void)
{
	u16 v[2] = {0};

	sem_getall(&me, id, v, 2);
	if (v[0] == 498 && v[1] == 502)
		return 1;
	printf("values %u %u\n", v[0], v[1]);
	return 0;
}

static void sem_end(void)
{
	sem_remove(&me, id);
}

/* ---- a queue ---- */

static void msg_make(void)
{
	id = msg_get(&me, 0, 0600);
	slot = region_slot(&me.region, FAC_MSG, id & (IDX_PER_PAGE - 1));
}

static const struct message {
	long type;
	char text[100];
} message = {1, "text"};

static void send(void)
{
	msg_send(&me, id, &message, sizeof(message.text), SEM_IPC_NOWAIT, 0);
}

static int receive(void)
{
	struct message got = {0};

	return msg_receive(&me, id, &got, sizeof(got.text), 0, SEM_IPC_NOWAIT,
		       0) == sizeof(got.text) &&
	       !memcmp(&got, &message, sizeof(got));
}

static void msg_use(void)
{
	int i;

	for (i = 0; i < BIASED_AFTER && slot->bias != me.bias_id; i++) {
		send();
		receive();
	}
}

static void msg_change(void)
{
	send();
}

static int msg_right(void)
{
	int n = 0;

	while (receive())
		n++;
	if (n == 2)
		return 1;
	printf("messages %d\n", n);
	return 0;
}

static void msg_end(void)
{
	msg_remove(&me, id);
}

/* ---- P, A, B ---- */

static const struct scenario {
	const char *name;
	void (*make)(void), (*use)(void), (*change)(void);
	int (*right)(void);
	void (*end)(void);
} scenarios[] = {
	{"array on a biased set", sem_make, sem_use, sem_change, sem_right,
		sem_end},
	{"message on a biased queue", msg_make, msg_use, msg_change, msg_right,
		msg_end},
};
static const struct scenario *scn;

static void owner(void)
{
	mode = OFF;
	scn->use();
	if (slot->bias != me.bias_id)
		_exit(1);
	mode = STOPS_INSIDE;
	scn->change();
}

static void other(void)
{
	scn->change();
}

/* 0: P was not stopped any more. */
static int run(unsigned at)
{
	pid_t p, a, b;
	int status;

	stop_at = at;
	scn->make();
	p = start(owner, STOPS_INSIDE);
	status = wait_for(p);
	if (!WIFSTOPPED(status)) {
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			fail("never biased", at);
		scn->end();
		return 0;
	}
	a = start(other, DIES_UNNAMED);
	status = wait_for(a);
	if (!WIFSIGNALED(status))
		fail("A was not killed", at);
	b = start(other, OFF);
	if (!revoking(b))
		fail("B did not wait for P", at);
	kill(p, SIGCONT);
	waitpid(p, &status, 0);
	waitpid(b, NULL, 0);
	if (!scn->right())
		fail("P's operation was rolled back under it", at);
	scn->end();
	return 1;
}

/* ---- recovery ---- */

static void dies_in_two_locks(void)
{
	struct header *h = caller_header(&me);

	lock_acquire(&me, &slot->lock);
	lock_acquire(&me, &h->heap.lock);
	journal_set64(&me, region_at(&me.region, EVENTS_OFF), 6);
	journal_set64(&me, region_at(&me.region, EVENTS_OFF + 8), 6);
	journal_set64(&me, region_at(&me.region, EVENTS_OFF + 16), 6);
}

static void recovery(void)
{
	struct header *h = caller_header(&me);
	pid_t pid;

	sem_make();
	/* So that the journal has a stale entry at the outer place. */
	lock_acquire(&me, &h->fac_lock[FAC_MQ].lock);
	lock_release(&me, &h->fac_lock[FAC_MQ].lock);
	pid = start(dies_in_two_locks, DIES_IN_JOURNAL);
	waitpid(pid, NULL, 0);
	mode = MUST_HOLD;
	if (lock_acquire(&me, &slot->lock) != 1)
		fail("the owner's death was not seen", 0);
	lock_release(&me, &slot->lock);
	mode = OFF;
	if (n_wrong)
		fail("the journal lists a lock that is not held", 0);
	if (lock_acquire(&me, &h->heap.lock) != 1)
		fail("the owner's death was not seen", 0);
	lock_release(&me, &h->heap.lock);
	sem_end();
}

/* ---- a compare-and-swap that comes too late ---- */

static void up(void)
{
	struct sop sop = {0, 1, 0};

	_exit(sem_op(&me, id, &sop, 1, NULL) ? 1 : 0);
}

/* The set of id is gone, and so many sets later another stands in its place. */
static void another_set(u64 creations)
{
	struct id_table *t = &caller_header(&me)->ids[FAC_SEM];
	s32 idx = id & (IDX_PER_PAGE - 1);

	sem_remove(&me, id);
	t->gen += creations - 1;
	t->next_id = id + (s32)IDX_PER_PAGE;
	id = sem_get(&me, 0, 2, 0600);
	if ((id & (s32)(IDX_PER_PAGE - 1)) != idx)
		fail("not the same place", 0);
}

static void late(void)
{
	int status, bits;
	pid_t pid;

	for (bits = 1; bits <= 40; bits++) {
		id = sem_get(&me, 0, 2, 0600);
		pid = start(up, STOPS_AT_ONCE);
		if (!WIFSTOPPED(wait_for(pid)))
			fail("not stopped", bits);
		another_set(1ULL << bits);
		kill(pid, SIGCONT);
		status = wait_for(pid);
		if (!WIFEXITED(status) || !WEXITSTATUS(status))
			fail("an operation on a removed set succeeded", bits);
		if (sem_getval(&me, id, 0))
			fail("it reached another set", bits);
		sem_remove(&me, id);
	}
}

/* ---- membarrier(2) is refused ---- */

static void deny_membarrier(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(1);
}

static struct slot *two[2];
static s32 two_ids[2];

static void revoke_both(void)
{
	struct sop sops[] = {{0, 1, 0}, {0, -1, 0}};
	int i;

	deny_membarrier();
	for (i = 0; i < 2; i++)
		sem_op(&me, two_ids[i], sops, 2, NULL);
}

static unsigned n_events(u32 code)
{
	struct event e;
	unsigned n = 0;
	u64 seq;

	for (seq = 1; seq <= caller_header(&me)->event_seq; seq++)
		n += event_get(&me.region, seq, &e) && e.code == code;
	return n;
}

/* Two sets are biased to us; a process without the barrier takes both. It says
 * so once, and nothing is biased any more. */
static void barrier(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		sem_make();
		sem_use();
		two[i] = slot;
		two_ids[i] = id;
		if (slot->bias != me.bias_id)
			fail("never biased", 0);
	}
	waitpid(start(revoke_both, OFF), NULL, 0);
	for (i = 0; i < 2; i++)
		if (two[i]->bias)
			fail("not revoked", 0);
	if (!caller_header(&me)->bias_off)
		fail("biasing goes on", 0);
	if (n_events(EVENT_NO_BARRIER) != 1)
		fail("not one event", n_events(EVENT_NO_BARRIER));
	sem_use();
	if (slot->bias)
		fail("biased again", 0);
	for (i = 0; i < 2; i++)
		sem_remove(&me, two_ids[i]);
}

int main(void)
{
	unsigned i, at;

	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(100);
	open_registry();
	for (i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		scn = &scenarios[i];
		for (at = 1; at < POINTS_MAX && failures < 5 && run(at); at++)
			;
		printf("%s: %u points\n", scn->name, at - 1);
	}
	recovery();
	printf("recovery\n");
	late();
	printf("compare-and-swap\n");
	barrier();
	printf("no barrier\n");
	if (check_region(&me.region, NULL, NULL))
		fail("check", 0);
	printf("%u failures\n", failures);
	return failures != 0;
}
