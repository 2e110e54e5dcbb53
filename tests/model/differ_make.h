// SPDX-License-Identifier: MIT
/*
 * differ_make.h: random steps. An episode is of one kind, which says how often
 * which call is made; what sleeps is known, so that there is mostly somebody
 * asleep and somebody awake.
 */
#ifndef DIFFER_MAKE_H
#define DIFFER_MAKE_H

#include "choice.h"
#include "differ_world.h"

struct episode {
	uint32_t sem, msg, mq, shm; /* per mille of calls */
	uint32_t look, life, undo, warm;
	int n_actors, n_objects, n_sems, favourite;
};

static struct episode episode;
static bool exists[N_KINDS][OBJECTS];

static void episode_pick(void)
{
	static const struct episode kinds[] = {
		{.sem = 1000},
		{.sem = 1000},
		{.sem = 1000, .undo = 700},
		{.msg = 1000},
		{.msg = 1000},
		{.mq = 1000},
		{.mq = 1000},
		{.shm = 800, .sem = 200, .undo = 400},
		{.sem = 300, .msg = 300, .mq = 300, .shm = 100},
	};
	static const uint32_t looks[] = {300, 100, 20, 5};
	static const uint32_t ends[] = {10, 30, 100};

	episode = PICK_OF(kinds);
	episode.look = PICK_OF(looks);
	episode.life = PICK_OF(ends);
	if (!episode.undo)
		episode.undo = chance(500) ? 300 : 0;
	episode.warm = chance(300) ? 60 : 5;
	episode.n_actors = 2 + (int)pick(ACTORS - 1);
	episode.n_objects = 1 + (int)pick(OBJECTS);
	episode.n_sems = 1 + (int)pick(chance(600) ? 2 : SEMS_MAX);
	/* one who makes most of the calls, so that locks are biased to it */
	episode.favourite = chance(400) ? (int)pick(episode.n_actors) : -1;
	memset(exists, 0, sizeof(exists));
}

static int n_idle(void)
{
	int n = 0;

	for (int i = 0; i < ACTORS; i++)
		n += lives[i].alive && !lives[i].pending;
	return n;
}

static int idle_pick(void)
{
	int i = episode.favourite;

	if (i >= 0 && lives[i].alive && !lives[i].pending && !chance(250))
		return i;
	do
		i = (int)pick(ACTORS);
	while (!lives[i].alive || lives[i].pending);
	return i;
}

static int pending_pick(void)
{
	int from = (int)pick(ACTORS);

	for (int k = 0; k < ACTORS; k++) {
		int i = (from + k) % ACTORS;

		if (lives[i].alive && lives[i].pending)
			return i;
	}
	return -1;
}

static int dead_pick(void)
{
	for (int i = 0; i < episode.n_actors; i++)
		if (!lives[i].alive)
			return i;
	return -1;
}

/* An object, rather one that somebody sleeps on. */
static long object_pick(void)
{
	int i = chance(500) ? pending_pick() : -1;

	if (i >= 0 && shared->actors[i].step.verb < MQOPEN)
		return shared->actors[i].step.arg[0] % episode.n_objects;
	return (long)pick((uint32_t)episode.n_objects);
}

static long wait_pick(void)
{
	uint32_t x = pick(1000);

	return x < 750	 ? WAIT_EVER
	       : x < 880 ? WAIT_FAR
	       : x < 990 ? WAIT_NOT
			 : WAIT_SHORT;
}

static void args(struct step *s, int verb, long a, long b, long c, long d)
{
	s->verb = verb;
	s->n_args = (int)strlen(verbs[verb].kinds);
	s->arg[0] = a;
	s->arg[1] = b;
	s->arg[2] = c;
	s->arg[3] = d;
}

/* --- semaphores -------------------------------------------------------- */

static void sop_make(struct sembuf *sop, bool last_awake)
{
	static const short far[] = {32767, -32768, -32767, 32766, 16384};

	sop->sem_num = (unsigned short)pick((uint32_t)episode.n_sems);
	if (chance(2))
		sop->sem_num = (unsigned short)episode.n_sems;
	if (chance(220))
		sop->sem_op = 0;
	else if (chance(8))
		sop->sem_op = PICK_OF(far);
	else
		sop->sem_op =
			(short)((1 + pick(chance(750) ? 1 : 3)) *
				(chance(last_awake ? 800 : 480) ? 1 : -1));
	sop->sem_flg =
		(short)((chance(last_awake ? 900 : 120) ? IPC_NOWAIT : 0) |
			(chance(episode.undo) ? SEM_UNDO : 0));
}

static void semop_make(struct step *s)
{
	static const long often[] = {9, 22, 33, 70, 126, 501};
	bool last = n_idle() == 1;
	uint32_t x = pick(1000);

	args(s, SEMOP, object_pick(), last ? WAIT_NOT : wait_pick(), 1, 0);
	if (chance(15))
		s->arg[2] = PICK_OF(often);
	s->n_sops = x < 600   ? 1
		    : x < 800 ? 2
		    : x < 960 ? 3 + (int)pick(3)
			      : 6 + (int)pick(LIST_MAX - 5);
	for (int i = 0; i < s->n_sops; i++)
		sop_make(&s->sops[i], last);
}

static long values_pick(void)
{
	long v = 0;

	for (int i = 0; i < SEMS_MAX; i++)
		v |= (long)pick(chance(500) ? 1 : 4) << 4 * i;
	return v;
}

static void sem_make(struct step *s)
{
	static const int reads[] = {GETVAL_V, GETVAL_V, GETPID_V, GETNCNT_V,
		GETZCNT_V, GETALL_V, SEMSTAT};
	long o = object_pick(), n = (long)pick((uint32_t)episode.n_sems);
	uint32_t x = pick(1000);

	if (!exists[SEM][o] && !chance(50))
		args(s, SEMGET, o, episode.n_sems, 0, 0);
	else if (x < episode.warm)
		args(s, SEMWARM, o, n, 20 + pick(100), 0);
	else if (x < 780)
		semop_make(s);
	else if (x < 860)
		args(s, SETVAL_V, o, n, chance(20) ? 32767 : pick(4), 0);
	else if (x < 900)
		args(s, SETALL_V, o, values_pick(), 0, 0);
	else if (x < 985)
		args(s, PICK_OF(reads), o, n, 0, 0);
	else if (x < 993)
		args(s, SEMRM, o, 0, 0, 0);
	else
		args(s, SEMSET, o, chance(500) ? 0600 : 0660, 0, 0);
}

/* --- message queues ---------------------------------------------------- */

static long size_pick(void)
{
	static const long sizes[] = {0, 1, 5, 5, 10, 10, 20, 21, 300};

	return PICK_OF(sizes);
}

static void msgsnd_make(struct step *s, long q)
{
	args(s, MSGSND, q, 1 + pick(4), size_pick(),
		n_idle() == 1 || chance(200) ? F_NOWAIT : 0);
	if (chance(3))
		s->arg[1] = (long)pick(2) - 1;
	if (chance(3))
		s->arg[2] = 8193;
}

static void msgrcv_make(struct step *s, long q)
{
	static const long types[] = {
		0, 0, 0, 0, 1, 2, 3, 4, -1, -2, -3, -4, -9};
	static const long sizes[] = {400, 400, 400, 400, 20, 10, 5, 0};

	args(s, MSGRCV, q, PICK_OF(sizes), PICK_OF(types),
		(n_idle() == 1 || chance(250) ? F_NOWAIT : 0) |
			(chance(200) ? F_CUT : 0) |
			(chance(120) ? F_EXCEPT : 0));
	if (chance(60)) {
		s->arg[2] = (long)pick(5);
		s->arg[3] = F_COPY | F_NOWAIT | (chance(300) ? F_CUT : 0);
	}
}

static void msg_make(struct step *s)
{
	static const long bytes[] = {10, 20, 20, 40, 41, 100, 16384, 0};
	long q = object_pick();
	uint32_t x = pick(1000);

	if (!exists[MSG][q] && !chance(50))
		args(s, MSGGET, q, 0, 0, 0);
	else if (x < episode.warm / 2)
		args(s, MSGWARM, q, 20 + pick(100), 0, 0);
	else if (x < 440)
		msgsnd_make(s, q);
	else if (x < 900)
		msgrcv_make(s, q);
	else if (x < 950)
		args(s, MSGSET, q, PICK_OF(bytes), 0, 0);
	else if (x < 990)
		args(s, MSGSTAT, q, 0, 0, 0);
	else
		args(s, MSGRM, q, 0, 0, 0);
}

/* --- POSIX queues -------------------------------------------------------- */

static void mqopen_make(struct step *s, long slot)
{
	args(s, MQOPEN, slot, (long)pick((uint32_t)episode.n_objects),
		(chance(950) ? F_COPY : 0) | (chance(30) ? F_EXCL : 0) |
			(chance(100) ? F_NOWAIT : 0) |
			(chance(100)	      ? F_READ
				: chance(100) ? F_WRITE
					      : 0),
		1 + (long)pick(3));
	s->arg[4] = MQ_SIZE;
}

/* Of the process that the actor is in: a guess is enough. */
static void mq_make(struct step *s)
{
	long slot = (long)pick(SLOTS);
	bool last = n_idle() == 1;
	uint32_t x = pick(1000);

	if (x < 130)
		mqopen_make(s, slot);
	else if (x < 150)
		args(s, MQCLOSE, slot, 0, 0, 0);
	else if (x < 160)
		args(s, MQUNLINK, (long)pick((uint32_t)episode.n_objects), 0, 0,
			0);
	else if (x < 500)
		args(s, MQSEND, slot, pick(3), pick(MQ_SIZE + 1),
			last ? WAIT_NOT : wait_pick());
	else if (x < 840)
		args(s, MQRECV, slot, last ? WAIT_NOT : wait_pick(), 0, 0);
	else if (x < 840 + episode.warm / 2)
		args(s, MQWARM, slot, 20 + pick(50), 0, 0);
	else if (x < 900)
		args(s, MQATTR, slot, 0, 0, 0);
	else if (x < 915)
		args(s, MQBLOCK, slot, chance(300), 0, 0);
	else if (x < 960)
		args(s, MQNOTIFY, slot, chance(750) ? 1 + chance(200) : 0, 0,
			0);
	else
		args(s, MQPOLL, slot, 0, 0, 0);
}

/* --- segments ------------------------------------------------------------ */

static void shm_make(struct step *s)
{
	long o = (long)pick((uint32_t)episode.n_objects);
	long slot = (long)pick(SLOTS);
	uint32_t x = pick(1000);

	if (!exists[SHM][o] && !chance(50))
		args(s, SHMGET, o, 1 + pick(3), 0, 0);
	else if (x < 300)
		args(s, SHMAT, slot, o, chance(150), 0);
	else if (x < 480)
		args(s, SHMDT, slot, 0, 0, 0);
	else if (x < 580)
		args(s, SHMRM, o, 0, 0, 0);
	else if (x < 720)
		args(s, SHMSTAT, o, 0, 0, 0);
	else if (x < 860)
		args(s, POKE, slot, pick(256), 0, 0);
	else
		args(s, PEEK, slot, 0, 0, 0);
}

/* --- lives --------------------------------------------------------------- */

/* Of somebody that sleeps; false if nobody does. */
static bool signal_make(struct step *s)
{
	s->actor = pending_pick();
	if (s->actor < 0)
		return false;
	if (chance(250))
		args(s, STOP, 0, 0, 0, 0);
	else
		args(s, SIG, pick(3), 0, 0, 0);
	return true;
}

static bool birth_make(struct step *s)
{
	int i = dead_pick();

	if (i < 0)
		return false;
	if (!n_idle() || chance(400)) {
		s->actor = i;
		args(s, START, 0, 0, 0, 0);
		return true;
	}
	s->actor = idle_pick();
	args(s, chance(500) ? FORK : THREAD, i, 0, 0, 0);
	return true;
}

static bool end_make(struct step *s)
{
	static const int ends[] = {EXIT, EXIT, QUIT, EXEC, NICE};

	s->actor = (int)pick(ACTORS);
	if (!lives[s->actor].alive)
		return false;
	if (lives[s->actor].pending || chance(300)) {
		args(s, KILL, 0, 0, 0, 0);
		return true;
	}
	args(s, PICK_OF(ends), pick(3), 0, 0, 0);
	return true;
}

static void call_make(struct step *s)
{
	uint32_t x = pick(1000);

	s->actor = idle_pick();
	if (x < episode.sem)
		sem_make(s);
	else if (x < episode.sem + episode.msg)
		msg_make(s);
	else if (x < episode.sem + episode.msg + episode.mq)
		mq_make(s);
	else
		shm_make(s);
}

static void step_make(struct step *s)
{
	memset(s, 0, sizeof(*s));
	if (dead_pick() >= 0 && chance(200) && birth_make(s))
		return;
	if (chance(episode.life) && end_make(s))
		return;
	if (chance(n_idle() > 1 ? 12 : 200) && signal_make(s))
		return;
	if (!n_idle()) {
		if (!birth_make(s)) {
			s->actor = pending_pick();
			args(s, chance(500) ? KILL : SIG, 0, 0, 0, 0);
		}
		return;
	}
	if (chance(episode.look)) {
		args(s, LOOK, 0, 0, 0, 0);
		return;
	}
	call_make(s);
}

#endif
