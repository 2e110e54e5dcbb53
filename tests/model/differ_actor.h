// SPDX-License-Identifier: MIT
/*
 * differ_actor.h: the actors' half: a thread that waits for a step, takes it,
 * and writes how it ended as text. What actors and controller share is one
 * memory file, so that it survives exec. A step is commanded through plain
 * futexes, which the calls under test have no part in.
 */
#ifndef DIFFER_ACTOR_H
#define DIFFER_ACTOR_H

#include "differ_step.h"
#include "transcript.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ACTORS 6
#define OBJECTS 3 /* of each kind */
#define SLOTS 3	  /* descriptors and attachments of a process */
#define SEMS_MAX 5
#define ROLES_MAX 65536
#define TEXT_SIZE 240
#define SHARED_FD 900 /* arbitrary, out of the way of what is opened later */
#define SOPS_MOST 501 /* one more than SEMOPM */
#define KEY_BASE 0x1f0
#define MQ_SIZE 16
#define BUFFER_SIZE 4096

enum { SEM, MSG, SHM, N_KINDS };

struct actor {
	_Atomic uint32_t go;   /* steps commanded, by the controller */
	_Atomic uint32_t done; /* steps ended, by the actor */
	_Atomic uint32_t born; /* lives: the times that it has, by the actor */
	pid_t pid, tid;
	int process; /* the actor that the process began as */
	struct step step;
	char text[TEXT_SIZE];
};

/* Notifications that a process has got, by its handler. */
struct notified {
	_Atomic uint32_t n;
	int code, pid, value;
};

struct role {
	pid_t pid;
	int actor;
};

static struct shared {
	_Atomic uint32_t bell; /* counts whatever the controller waits for */
	_Atomic uint32_t n_roles;
	int id[N_KINDS][OBJECTS], n_sems[OBJECTS];
	struct actor actors[ACTORS];
	struct notified notified[ACTORS];
	struct role roles[ROLES_MAX];
} * shared;

/* Of one process; fork copies it, exec begins anew. */
static mqd_t mq_of[SLOTS];
static struct attached {
	unsigned char *at;
	bool readonly;
} attached[SLOTS];
static int process_actor;

static __thread unsigned char buffer[sizeof(long) + BUFFER_SIZE];

static void shared_map(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED,
		SHARED_FD, 0);
	if (shared == MAP_FAILED)
		_exit(90);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void bell_ring(void)
{
	atomic_fetch_add(&shared->bell, 1);
	futex_wake(&shared->bell);
}

/* --- roles ---------------------------------------------------------- */

static void role_add(pid_t pid, int actor)
{
	uint32_t i = atomic_fetch_add(&shared->n_roles, 1) % ROLES_MAX;

	shared->roles[i].actor = actor;
	shared->roles[i].pid = pid;
}

/* A number of a thread or a process as a word that is the same in two runs. */
static const char *role_name(int pid)
{
	static const char *const names[] = {
		"D", "A0", "A1", "A2", "A3", "A4", "A5"};
	uint32_t n = atomic_load(&shared->n_roles);
	uint32_t first = n > ROLES_MAX ? n - ROLES_MAX : 0;

	if (!pid)
		return "0";
	for (uint32_t i = n; i-- > first;)
		if (shared->roles[i % ROLES_MAX].pid == pid)
			return names[shared->roles[i % ROLES_MAX].actor + 1];
	return "other";
}

/* --- how a call ended ----------------------------------------------- */

static char *text_end(char *text)
{
	return text + strlen(text);
}

#define text_add(text, ...)      \
	snprintf(text_end(text), \
		TEXT_SIZE - (size_t)(text_end(text) - (text)), __VA_ARGS__)

static const char *error_word(int err)
{
	static const struct {
		int err;
		const char *name;
	} names[] = {
		{ENOMSG, "ENOMSG"},
		{EIDRM, "EIDRM"},
		{EBADF, "EBADF"},
		{EBUSY, "EBUSY"},
		{EMSGSIZE, "EMSGSIZE"},
		{ETIMEDOUT, "ETIMEDOUT"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].err == err)
			return names[i].name;
	return errno_name(err);
}

static long result_text(char *text, long ret)
{
	if (ret == -1)
		text_add(text, " = %s", error_word(errno));
	else
		text_add(text, " = %ld", ret);
	return ret;
}

/* A message's text is one letter, as often as it is long. */
static void letter_fill(unsigned char *p, long size, const struct step *s)
{
	memset(p, 'a' + (int)((s->arg[1] * 7 + s->arg[2] * 3 + s->actor) % 26),
		size > BUFFER_SIZE ? BUFFER_SIZE : size);
}

static void letter_text(char *text, const unsigned char *p, long size)
{
	bool same = true;

	for (long i = 1; i < size; i++)
		same = same && p[i] == p[0];
	if (size > 0)
		text_add(text, " %c%s", p[0], same ? "" : " MIXED");
	if (size < BUFFER_SIZE && p[size] != 0xee)
		text_add(text, " OVERRUN");
}

static const struct timespec *wait_time(
	long wait, clockid_t clock, struct timespec *t)
{
	static const long add[] = {
		[WAIT_FAR] = 100000, [WAIT_NOT] = 0, [WAIT_SHORT] = 0};

	t->tv_sec = t->tv_nsec = 0;
	if (wait == WAIT_EVER)
		return NULL;
	if (clock == CLOCK_REALTIME && wait != WAIT_NOT)
		clock_gettime(clock, t);
	t->tv_sec += add[wait];
	t->tv_nsec += wait == WAIT_SHORT ? 2000000 : 0;
	if (t->tv_nsec >= 1000000000) {
		t->tv_sec++;
		t->tv_nsec -= 1000000000;
	}
	return t;
}

/* --- semaphores ------------------------------------------------------ */

static int id_of(int kind, long n)
{
	return shared->id[kind][(unsigned long)n % OBJECTS];
}

static long get_run(const struct step *s)
{
	long n = (unsigned long)s->arg[0] % OBJECTS;
	int kind = s->verb == SEMGET ? SEM : s->verb == MSGGET ? MSG : SHM, id;

	if (kind == SEM)
		id = semget(
			KEY_BASE + (key_t)n, (int)s->arg[1], IPC_CREAT | 0600);
	else if (kind == MSG)
		id = msgget(KEY_BASE + (key_t)n, IPC_CREAT | 0600);
	else
		id = shmget(KEY_BASE + (key_t)n, 4096 * (size_t)s->arg[1],
			IPC_CREAT | 0600);
	if (id >= 0)
		shared->id[kind][n] = id;
	return id;
}

static long semop_run(const struct step *s)
{
	struct sembuf sops[SOPS_MOST];
	struct timespec t;
	size_t n = 0;

	for (long r = 0; r < s->arg[2]; r++)
		for (int i = 0; i < s->n_sops && n < SOPS_MOST; i++)
			sops[n++] = s->sops[i];
	if (s->arg[1] == WAIT_EVER)
		return semop(id_of(SEM, s->arg[0]), sops, n);
	return semtimedop(id_of(SEM, s->arg[0]), sops, n,
		wait_time(s->arg[1], CLOCK_MONOTONIC, &t));
}

/* Units made and taken again; how many could not be taken. */
static long semwarm_run(const struct step *s)
{
	struct sembuf up = {(unsigned short)s->arg[1], 1, IPC_NOWAIT};
	struct sembuf down = {(unsigned short)s->arg[1], -1, IPC_NOWAIT};
	long missed = 0;

	for (long i = 0; i < s->arg[2]; i++) {
		if (semop(id_of(SEM, s->arg[0]), &up, 1))
			return -1;
		missed += semop(id_of(SEM, s->arg[0]), &down, 1) != 0;
	}
	return missed;
}

static void values_text(char *text, int id, int n)
{
	unsigned short value[32000];

	memset(value, 0, sizeof(value));
	if (result_text(text, semctl(id, 0, GETALL, value)))
		return;
	for (int i = 0; i < n; i++)
		text_add(text, " %u", value[i]);
}

static void semstat_text(char *text, int id)
{
	struct semid_ds ds;

	memset(&ds, 0, sizeof(ds));
	if (result_text(text, semctl(id, 0, IPC_STAT, &ds)) == 0)
		text_add(text, " n%lu o%d c%d mode %o",
			(unsigned long)ds.sem_nsems, ds.sem_otime != 0,
			ds.sem_ctime != 0, ds.sem_perm.mode);
}

static long setall_run(const struct step *s)
{
	unsigned short value[32000];

	for (int i = 0; i < 32000; i++)
		value[i] = i < 8 ? s->arg[1] >> 4 * i & 15 : 0;
	return semctl(id_of(SEM, s->arg[0]), 0, SETALL, value);
}

static long semset_run(const struct step *s)
{
	struct semid_ds ds;

	memset(&ds, 0, sizeof(ds));
	ds.sem_perm.mode = (unsigned short)s->arg[1];
	return semctl(id_of(SEM, s->arg[0]), 0, IPC_SET, &ds);
}

static void sem_run(const struct step *s, char *text)
{
	static const int cmds[] = {[GETVAL_V] = GETVAL,
		[GETNCNT_V] = GETNCNT,
		[GETZCNT_V] = GETZCNT};
	int id = id_of(SEM, s->arg[0]), n = (int)s->arg[1];

	switch (s->verb) {
	case SEMGET:
		if (result_text(text, get_run(s)) >= 0)
			shared->n_sems[(unsigned long)s->arg[0] % OBJECTS] = n;
		break;
	case SEMOP:
		result_text(text, semop_run(s));
		break;
	case SEMWARM:
		result_text(text, semwarm_run(s));
		break;
	case SETVAL_V:
		result_text(text, semctl(id, n, SETVAL, (int)s->arg[2]));
		break;
	case SETALL_V:
		result_text(text, setall_run(s));
		break;
	case GETPID_V:
		n = semctl(id, n, GETPID);
		text_add(text, " = %s",
			n < 0 ? error_word(errno) : role_name(n));
		break;
	case GETALL_V:
		values_text(text, id,
			shared->n_sems[(unsigned long)s->arg[0] % OBJECTS]);
		break;
	case SEMSET:
		result_text(text, semset_run(s));
		break;
	case SEMSTAT:
		semstat_text(text, id);
		break;
	case SEMRM:
		result_text(text, semctl(id, 0, IPC_RMID));
		break;
	default:
		result_text(text, semctl(id, n, cmds[s->verb]));
	}
}

/* --- message queues -------------------------------------------------- */

static int msg_flags(long flags)
{
	return (flags & F_NOWAIT ? IPC_NOWAIT : 0) |
	       (flags & F_CUT ? MSG_NOERROR : 0) |
	       (flags & F_EXCEPT ? MSG_EXCEPT : 0) |
	       (flags & F_COPY ? MSG_COPY : 0);
}

static long msgsnd_run(const struct step *s)
{
	memcpy(buffer, &s->arg[1], sizeof(long));
	letter_fill(buffer + sizeof(long), s->arg[2], s);
	return msgsnd(id_of(MSG, s->arg[0]), buffer, (size_t)s->arg[2],
		msg_flags(s->arg[3]));
}

static void msgrcv_text(const struct step *s, char *text)
{
	long type, ret;

	memset(buffer, 0xee, sizeof(buffer));
	ret = result_text(
		text, msgrcv(id_of(MSG, s->arg[0]), buffer, (size_t)s->arg[1],
			      s->arg[2], msg_flags(s->arg[3])));
	if (ret < 0)
		return;
	memcpy(&type, buffer, sizeof(long));
	text_add(text, " type %ld", type);
	letter_text(text, buffer + sizeof(long), ret);
}

static long msgwarm_run(const struct step *s)
{
	struct {
		long type;
		char text[8];
	} m = {1, "warm"};
	int id = id_of(MSG, s->arg[0]);
	long missed = 0;

	for (long i = 0; i < s->arg[1]; i++) {
		missed += msgsnd(id, &m, 4, IPC_NOWAIT) != 0;
		missed += msgrcv(id, &m, 8, 0, IPC_NOWAIT | MSG_NOERROR) < 0;
	}
	return missed;
}

static long msgset_run(const struct step *s)
{
	struct msqid_ds ds;

	memset(&ds, 0, sizeof(ds));
	ds.msg_perm.mode = 0600;
	ds.msg_qbytes = (msglen_t)s->arg[1];
	return msgctl(id_of(MSG, s->arg[0]), IPC_SET, &ds);
}

static void msgstat_text(char *text, int id)
{
	struct msqid_ds ds;

	memset(&ds, 0, sizeof(ds));
	if (result_text(text, msgctl(id, IPC_STAT, &ds)))
		return;
	text_add(text, " bytes %lu num %lu of %lu", ds.__msg_cbytes,
		ds.msg_qnum, ds.msg_qbytes);
	text_add(text, " ls %s", role_name(ds.msg_lspid));
	text_add(text, " lr %s s%d r%d c%d", role_name(ds.msg_lrpid),
		ds.msg_stime != 0, ds.msg_rtime != 0, ds.msg_ctime != 0);
}

static void msg_run(const struct step *s, char *text)
{
	int id = id_of(MSG, s->arg[0]);

	switch (s->verb) {
	case MSGGET:
		result_text(text, get_run(s));
		break;
	case MSGSND:
		result_text(text, msgsnd_run(s));
		break;
	case MSGRCV:
		msgrcv_text(s, text);
		break;
	case MSGWARM:
		result_text(text, msgwarm_run(s));
		break;
	case MSGSET:
		result_text(text, msgset_run(s));
		break;
	case MSGSTAT:
		msgstat_text(text, id);
		break;
	default:
		result_text(text, msgctl(id, IPC_RMID, NULL));
	}
}

/* --- POSIX queues ------------------------------------------------------ */

static const char *mq_name(long n)
{
	static const char *const names[] = {"/q0", "/q1", "/q2"};

	return names[(unsigned long)n % OBJECTS];
}

static mqd_t mq_at(long slot)
{
	return mq_of[(unsigned long)slot % SLOTS];
}

static long mqclose_run(long slot)
{
	long ret = mq_close(mq_at(slot));

	mq_of[(unsigned long)slot % SLOTS] = -1;
	return ret;
}

/* A slot that is in use is closed before. */
static long mqopen_run(const struct step *s)
{
	struct mq_attr attr = {.mq_maxmsg = s->arg[3], .mq_msgsize = s->arg[4]};
	long f = s->arg[2];
	int flags = (f & F_READ		  ? O_RDONLY
			    : f & F_WRITE ? O_WRONLY
					  : O_RDWR) |
		    (f & F_COPY ? O_CREAT : 0) | (f & F_EXCL ? O_EXCL : 0) |
		    (f & F_NOWAIT ? O_NONBLOCK : 0);
	mqd_t q;

	if (mq_at(s->arg[0]) != -1)
		mqclose_run(s->arg[0]);
	q = mq_open(mq_name(s->arg[1]), flags, 0600, &attr);
	mq_of[(unsigned long)s->arg[0] % SLOTS] = q;
	return q == -1 ? -1 : 0;
}

static long mqsend_run(const struct step *s)
{
	struct timespec t;

	letter_fill(buffer, s->arg[2], s);
	if (s->arg[3] == WAIT_EVER)
		return mq_send(mq_at(s->arg[0]), (char *)buffer,
			(size_t)s->arg[2], (unsigned)s->arg[1]);
	return mq_timedsend(mq_at(s->arg[0]), (char *)buffer, (size_t)s->arg[2],
		(unsigned)s->arg[1], wait_time(s->arg[3], CLOCK_REALTIME, &t));
}

static void mqrecv_text(const struct step *s, char *text)
{
	struct timespec t;
	unsigned prio = 77777;
	long ret;

	memset(buffer, 0xee, sizeof(buffer));
	if (s->arg[1] == WAIT_EVER)
		ret = mq_receive(
			mq_at(s->arg[0]), (char *)buffer, BUFFER_SIZE, &prio);
	else
		ret = mq_timedreceive(mq_at(s->arg[0]), (char *)buffer,
			BUFFER_SIZE, &prio,
			wait_time(s->arg[1], CLOCK_REALTIME, &t));
	if (result_text(text, ret) < 0)
		return;
	text_add(text, " prio %u", prio);
	letter_text(text, buffer, ret);
}

/* O_NONBLOCK for the time of it: nothing here sleeps. */
static long mqwarm_run(const struct step *s)
{
	struct mq_attr attr = {.mq_flags = O_NONBLOCK}, old;
	mqd_t q = mq_at(s->arg[0]);
	long missed = 0;

	if (mq_setattr(q, &attr, &old))
		return -1;
	for (long i = 0; i < s->arg[1]; i++) {
		missed += mq_send(q, "warm", 4, 9) != 0;
		missed += mq_receive(q, (char *)buffer, BUFFER_SIZE, NULL) < 0;
	}
	old.mq_flags &= O_NONBLOCK;
	mq_setattr(q, &old, NULL);
	return missed;
}

static void mqattr_text(char *text, mqd_t q)
{
	struct mq_attr a;

	if (result_text(text, mq_getattr(q, &a)) == 0)
		text_add(text, " %ld of %ld size %ld flags %#lx", a.mq_curmsgs,
			a.mq_maxmsg, a.mq_msgsize, a.mq_flags);
}

static long mqblock_run(const struct step *s)
{
	struct mq_attr a = {.mq_flags = s->arg[1] ? O_NONBLOCK : 0};

	return mq_setattr(mq_at(s->arg[0]), &a, NULL);
}

#define NOTIFY_SIGNAL (SIGRTMIN + 2)

static long mqnotify_run(const struct step *s)
{
	struct sigevent e;

	memset(&e, 0, sizeof(e));
	e.sigev_notify = s->arg[1] == 2 ? SIGEV_NONE : SIGEV_SIGNAL;
	e.sigev_signo = NOTIFY_SIGNAL;
	e.sigev_value.sival_int = (int)s->arg[0] + 10 * s->actor;
	return mq_notify(mq_at(s->arg[0]), s->arg[1] ? &e : NULL);
}

static void mqpoll_text(char *text, mqd_t q)
{
	struct pollfd p = {.fd = q, .events = POLLIN | POLLOUT};

	if (q == -1)
		text_add(text, " none");
	else if (result_text(text, poll(&p, 1, 0)) > 0)
		text_add(text, " %#x", (unsigned)p.revents);
}

static void mq_run(const struct step *s, char *text)
{
	switch (s->verb) {
	case MQOPEN:
		result_text(text, mqopen_run(s));
		break;
	case MQCLOSE:
		result_text(text, mqclose_run(s->arg[0]));
		break;
	case MQUNLINK:
		result_text(text, mq_unlink(mq_name(s->arg[0])));
		break;
	case MQSEND:
		result_text(text, mqsend_run(s));
		break;
	case MQRECV:
		mqrecv_text(s, text);
		break;
	case MQWARM:
		result_text(text, mqwarm_run(s));
		break;
	case MQATTR:
		mqattr_text(text, mq_at(s->arg[0]));
		break;
	case MQBLOCK:
		result_text(text, mqblock_run(s));
		break;
	case MQNOTIFY:
		result_text(text, mqnotify_run(s));
		break;
	default:
		mqpoll_text(text, mq_at(s->arg[0]));
	}
}

/* --- segments ---------------------------------------------------------- */

static struct attached *attached_at(long slot)
{
	return &attached[(unsigned long)slot % SLOTS];
}

static long shmdt_run(struct attached *a)
{
	long ret = shmdt(a->at);

	a->at = NULL;
	return ret;
}

static long shmat_run(const struct step *s)
{
	struct attached *a = attached_at(s->arg[0]);
	void *at;

	if (a->at)
		shmdt_run(a);
	at = shmat(id_of(SHM, s->arg[1]), NULL, s->arg[2] ? SHM_RDONLY : 0);
	if (at == (void *)-1)
		return -1;
	a->at = at;
	a->readonly = s->arg[2];
	return 0;
}

static void shmstat_text(char *text, int id)
{
	struct shmid_ds ds;

	memset(&ds, 0, sizeof(ds));
	if (result_text(text, shmctl(id, IPC_STAT, &ds)))
		return;
	text_add(text, " n %lu size %lu mode %o key %d a%d d%d c%d",
		(unsigned long)ds.shm_nattch, (unsigned long)ds.shm_segsz,
		ds.shm_perm.mode, ds.shm_perm.__key != 0, ds.shm_atime != 0,
		ds.shm_dtime != 0, ds.shm_ctime != 0);
	text_add(text, " c %s", role_name(ds.shm_cpid));
	text_add(text, " l %s", role_name(ds.shm_lpid));
}

static void peek_text(const struct step *s, char *text)
{
	struct attached *a = attached_at(s->arg[0]);

	if (!a->at || (s->verb == POKE && a->readonly)) {
		text_add(text, " none");
		return;
	}
	if (s->verb == POKE)
		a->at[100] = (unsigned char)s->arg[1];
	text_add(text, " %u", a->at[100]);
}

static void shm_run(const struct step *s, char *text)
{
	switch (s->verb) {
	case SHMGET:
		result_text(text, get_run(s));
		break;
	case SHMAT:
		result_text(text, shmat_run(s));
		break;
	case SHMDT:
		if (attached_at(s->arg[0])->at)
			result_text(text, shmdt_run(attached_at(s->arg[0])));
		else
			text_add(text, " none");
		break;
	case SHMRM:
		result_text(
			text, shmctl(id_of(SHM, s->arg[0]), IPC_RMID, NULL));
		break;
	case SHMSTAT:
		shmstat_text(text, id_of(SHM, s->arg[0]));
		break;
	default:
		peek_text(s, text);
	}
}

/* --- lives ------------------------------------------------------------- */

static void actor_run(int i, uint32_t done);

static void actor_born(int i)
{
	struct actor *a = &shared->actors[i];

	a->pid = getpid();
	a->tid = (pid_t)syscall(SYS_gettid);
	a->process = process_actor;
	role_add(a->tid, i);
	atomic_fetch_add(&a->born, 1);
	bell_ring();
}

static void on_signal(int sig)
{
	(void)sig;
}

static void on_notified(int sig, siginfo_t *info, void *context)
{
	struct notified *n = &shared->notified[process_actor];

	(void)sig;
	(void)context;
	n->code = info->si_code;
	n->pid = info->si_pid;
	n->value = info->si_value.sival_int;
	atomic_fetch_add(&n->n, 1);
}

/* What the controller cannot know: it does not wait for grandchildren. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	fprintf(stderr, "differ: actor %d: signal %d at %p, by %d\n",
		process_actor, sig, info->si_addr, info->si_code);
	(void)context;
	_exit(1);
}

static void process_begin(int i)
{
	struct sigaction act = {.sa_handler = on_signal};

	process_actor = i;
	sigaction(SIGUSR1, &act, NULL);
	act.sa_flags = SA_RESTART;
	sigaction(SIGUSR2, &act, NULL);
	act.sa_flags = SA_SIGINFO;
	act.sa_sigaction = on_notified;
	sigaction(NOTIFY_SIGNAL, &act, NULL);
	act.sa_sigaction = on_fault;
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
}

static void *thread_main(void *arg)
{
	int i = (int)(intptr_t)arg;

	actor_born(i);
	actor_run(i, atomic_load(&shared->actors[i].go));
	return NULL;
}

static void thread_run(const struct step *s, char *text)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	text_add(text, " = %d",
		pthread_create(
			&t, &attr, thread_main, (void *)(intptr_t)s->arg[0]));
	pthread_attr_destroy(&attr);
}

static void fork_run(const struct step *s, char *text)
{
	int i = (int)s->arg[0];
	pid_t pid = fork();

	if (!pid) {
		process_begin(i);
		actor_born(i);
		actor_run(i, atomic_load(&shared->actors[i].go));
		_exit(0);
	}
	text_add(text, " = %d", pid < 0 ? -1 : 0);
}

static void exec_run(const struct step *s, char *text)
{
	char actor[16], process[16];

	snprintf(actor, sizeof(actor), "%d", s->actor);
	snprintf(process, sizeof(process), "%d", process_actor);
	/* "self" would be the leader, which may have ended. */
	execl("/proc/thread-self/exe", "differ", "--actor", actor, process,
		(char *)NULL);
	text_add(text, " exec failed");
}

static void life_run(const struct step *s, char *text)
{
	switch (s->verb) {
	case FORK:
		fork_run(s, text);
		break;
	case THREAD:
		thread_run(s, text);
		break;
	case EXEC:
		exec_run(s, text);
		break;
	case EXIT:
		_exit(0);
	case QUIT:
		pthread_exit(NULL);
	default:
		text_add(text, " = %d",
			setpriority(PRIO_PROCESS, shared->actors[s->actor].tid,
				(int)s->arg[0]));
	}
}

static void step_run(const struct step *s, char *text)
{
	text[0] = 0;
	if (s->verb < SEMGET)
		life_run(s, text);
	else if (s->verb < MSGGET)
		sem_run(s, text);
	else if (s->verb < MQOPEN)
		msg_run(s, text);
	else if (s->verb < SHMGET)
		mq_run(s, text);
	else
		shm_run(s, text);
}

/* Takes steps from the one after number done on. */
static void actor_run(int i, uint32_t done)
{
	struct actor *a = &shared->actors[i];

	for (;;) {
		while (atomic_load(&a->go) == done)
			syscall(SYS_futex, &a->go, FUTEX_WAIT, done, NULL, NULL,
				0);
		step_run(&a->step, a->text);
		atomic_store(&a->done, ++done);
		bell_ring();
	}
}

/* The image that an actor's exec leads to: its step ends here. */
static _Noreturn void actor_exec_main(int i, int process)
{
	struct actor *a;

	shared_map();
	a = &shared->actors[i];
	for (int j = 0; j < SLOTS; j++)
		mq_of[j] = -1;
	process_begin(process);
	actor_born(i);
	strcpy(a->text, " = exec");
	atomic_store(&a->done, atomic_load(&a->go));
	bell_ring();
	actor_run(i, atomic_load(&a->go));
	_exit(0);
}

#endif
