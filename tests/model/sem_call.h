// SPDX-License-Identifier: MIT
/*
 * sem_call.h: one semaphore call as a value: made up by one process, run by
 * another, its result sent back and written down as a line of text. What
 * cannot be the same in two runs is made so: times are 0 or 1, pids are
 * roles. Plain system headers only.
 */
#ifndef SEM_CALL_H
#define SEM_CALL_H

#include "transcript.h"

#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <time.h>

#ifndef SEM_STAT
#define SEM_STAT 18
#define SEM_INFO 19
#endif
#ifndef SEM_STAT_ANY
#define SEM_STAT_ANY 20
#endif

#define SOPS_MAX 501 /* one more than SEMOPM */
#define SHOWN_MAX 8  /* values of a set written one by one; else a hash */
#define VALUES_MAX 65536

enum call_kind { CALL_GET, CALL_OP, CALL_CTL };
enum call_time { TIME_NONE, TIME_GIVEN, TIME_FAULT };

struct call {
	enum call_kind kind;
	bool fault; /* the buffer argument points nowhere */
	int id;
	key_t key; /* CALL_GET */
	int n_sems, flg;
	int num, cmd, val;   /* CALL_CTL; val also seeds the values of SETALL */
	int n_known;	     /* size of the set, for GETALL */
	int big_at;	     /* SETALL: the value there is 32768; -1: none */
	int uid, gid, mode;  /* IPC_SET */
	enum call_time time; /* CALL_OP */
	long sec, nsec;
	uint64_t n_sops;
	struct sembuf sops[SOPS_MAX];
};

struct result {
	int ret, err;
	struct semid_ds ds;
	struct seminfo info;
	unsigned short value[SHOWN_MAX];
	uint64_t values_hash;
};

static inline const char *cmd_name(int cmd)
{
	static char text[16];
	static const char *const names[] = {
		[IPC_RMID] = "IPC_RMID",
		[IPC_SET] = "IPC_SET",
		[IPC_STAT] = "IPC_STAT",
		[IPC_INFO] = "IPC_INFO",
		[GETPID] = "GETPID",
		[GETVAL] = "GETVAL",
		[GETALL] = "GETALL",
		[GETNCNT] = "GETNCNT",
		[GETZCNT] = "GETZCNT",
		[SETVAL] = "SETVAL",
		[SETALL] = "SETALL",
		[SEM_STAT] = "SEM_STAT",
		[SEM_INFO] = "SEM_INFO",
		[SEM_STAT_ANY] = "SEM_STAT_ANY",
	};
	int n = (int)(sizeof(names) / sizeof(names[0]));

	if (cmd >= 0 && cmd < n && names[cmd])
		return names[cmd];
	snprintf(text, sizeof(text), "%#x", cmd);
	return text;
}

/* An address that nothing is mapped at; volatile, for compilers that know. */
static inline void *nowhere(void)
{
	static volatile uintptr_t address = 8;

	return (void *)address;
}

static inline int ctl_values(const struct call *c, struct result *r)
{
	static unsigned short value[VALUES_MAX];
	void *p = c->fault ? nowhere() : value;
	int n = c->n_known, ret;

	if (c->cmd == SETALL) {
		for (int i = 0; i < VALUES_MAX; i++)
			value[i] = (unsigned short)((c->val + i * 7) % 5);
		if (c->big_at >= 0 && c->big_at < VALUES_MAX)
			value[c->big_at] = 32768;
		return semctl(c->id, c->num, SETALL, p);
	}
	ret = semctl(c->id, c->num, GETALL, p);
	if (!ret) {
		memcpy(r->value, value, sizeof(r->value));
		r->values_hash = fnv1a(0, value, n * sizeof(*value));
	}
	return ret;
}

static inline int ctl_run(const struct call *c, struct result *r)
{
	struct semid_ds ds = {.sem_perm = {.uid = (uid_t)c->uid,
				      .gid = (gid_t)c->gid,
				      .mode = (unsigned short)c->mode}};

	switch (c->cmd) {
	case GETALL:
	case SETALL:
		return ctl_values(c, r);
	case SETVAL:
		return semctl(c->id, c->num, SETVAL, c->val);
	case IPC_SET:
		return semctl(
			c->id, c->num, IPC_SET, c->fault ? nowhere() : &ds);
	case IPC_INFO:
	case SEM_INFO:
		return semctl(c->id, c->num, c->cmd,
			c->fault ? nowhere() : (void *)&r->info);
	default:
		return semctl(c->id, c->num, c->cmd,
			c->fault ? nowhere() : (void *)&r->ds);
	}
}

static inline int op_run(const struct call *c)
{
	struct timespec t = {c->sec, c->nsec};
	struct sembuf *sops = c->fault ? nowhere() : (void *)c->sops;
	const struct timespec *time = c->time == TIME_GIVEN ? &t : nowhere();

	if (c->time == TIME_NONE)
		return semop(c->id, sops, c->n_sops);
	return semtimedop(c->id, sops, c->n_sops, time);
}

static inline void call_run(const struct call *c, struct result *r)
{
	memset(r, 0, sizeof(*r));
	errno = 0;
	if (c->kind == CALL_GET)
		r->ret = semget(c->key, c->n_sems, c->flg);
	else if (c->kind == CALL_OP)
		r->ret = op_run(c);
	else
		r->ret = ctl_run(c, r);
	r->err = r->ret == -1 ? errno : 0;
}

static inline void op_say(const struct call *c)
{
	uint64_t n = c->n_sops & 0xffffffff;

	say("semop(%d, ", c->id);
	if (c->fault)
		say("nowhere");
	for (uint64_t i = 0; !c->fault && i < n && i < 6; i++)
		say("{%u,%d%s%s}", c->sops[i].sem_num, c->sops[i].sem_op,
			c->sops[i].sem_flg & IPC_NOWAIT ? ",N" : "",
			c->sops[i].sem_flg & SEM_UNDO ? ",U" : "");
	say(", %llu", (unsigned long long)c->n_sops);
	if (c->time == TIME_GIVEN)
		say(", %ld.%09ld", c->sec, c->nsec);
	say("%s)", c->time == TIME_FAULT ? ", nowhere" : "");
}

static inline void call_say(const struct call *c)
{
	if (c->kind == CALL_GET) {
		say("semget(%#x, %d, %#o)", (unsigned)c->key, c->n_sems,
			(unsigned)c->flg);
	} else if (c->kind == CALL_OP) {
		op_say(c);
	} else {
		say("semctl(%d, %d, %s", c->id, c->num, cmd_name(c->cmd));
		if (c->cmd == SETVAL || c->cmd == SETALL)
			say(", %d", c->val);
		if (c->cmd == IPC_SET)
			say(", %d:%d %#o", c->uid, c->gid, (unsigned)c->mode);
		say("%s)", c->fault ? ", nowhere" : "");
	}
}

static inline void ds_say(const struct semid_ds *ds)
{
	const struct ipc_perm *p = &ds->sem_perm;

	say(" key %#x seq %d mode %#o uid %d gid %d cuid %d cgid %d nsems %lu"
	    " otime %d ctime %d",
		(unsigned)p->__key, (int)p->__seq, (unsigned)p->mode,
		(int)p->uid, (int)p->gid, (int)p->cuid, (int)p->cgid,
		(unsigned long)ds->sem_nsems, ds->sem_otime != 0,
		ds->sem_ctime != 0);
}

static inline void info_say(const struct seminfo *i)
{
	say(" map %d mni %d mns %d mnu %d msl %d opm %d ume %d usz %d vmx %d"
	    " aem %d",
		i->semmap, i->semmni, i->semmns, i->semmnu, i->semmsl,
		i->semopm, i->semume, i->semusz, i->semvmx, i->semaem);
}

/* role_name() is the caller's: a pid as a word that two runs share */
static inline void result_say(const struct call *c, const struct result *r,
	const char *(*role_name)(int pid))
{
	if (r->ret == -1) {
		say(" = %s\n", errno_name(r->err));
		return;
	}
	if (c->kind == CALL_CTL && c->cmd == GETPID)
		say(" = %s", role_name(r->ret));
	else
		say(" = %d", r->ret);
	if (c->kind != CALL_CTL) {
		say("\n");
		return;
	}
	switch (c->cmd) {
	case GETALL:
		if (c->n_known > SHOWN_MAX)
			say(" hash %016llx",
				(unsigned long long)r->values_hash);
		for (int i = 0; c->n_known <= SHOWN_MAX && i < c->n_known; i++)
			say(" %u", r->value[i]);
		break;
	case IPC_STAT:
	case SEM_STAT:
	case SEM_STAT_ANY:
		ds_say(&r->ds);
		break;
	case IPC_INFO:
	case SEM_INFO:
		info_say(&r->info);
		break;
	}
	say("\n");
}

#endif
