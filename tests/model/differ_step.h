// SPDX-License-Identifier: MIT
/*
 * differ_step.h: one step of a script as a value and as a line of text, each
 * made from the other:
 *
 *	ACTOR VERB [ARGUMENT]... [SEM:OP[FLAGS]]...
 *
 * An argument is a number, or letters for flags. `1 semop 0 0 1 0:-1u 1:0n`
 * lets actor 1 take a unit of semaphore 0 with SEM_UNDO and wait without
 * sleeping for zero of semaphore 1.
 */
#ifndef DIFFER_STEP_H
#define DIFFER_STEP_H

#include <mqueue.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

#define ARGS_MAX 5
#define LIST_MAX 12 /* sops of a step, before they are repeated */
#define LINE_SIZE 400

/* Steps of the controller come first, then those that an actor takes. */
enum verb {
	START,
	KILL,
	SIG,
	STOP,
	LOOK,
	FORK,
	THREAD,
	EXEC,
	EXIT,
	QUIT,
	NICE,
	SEMGET,
	SEMOP,
	SEMWARM,
	SETVAL_V,
	SETALL_V,
	GETVAL_V,
	GETPID_V,
	GETNCNT_V,
	GETZCNT_V,
	GETALL_V,
	SEMSET,
	SEMSTAT,
	SEMRM,
	MSGGET,
	MSGSND,
	MSGRCV,
	MSGWARM,
	MSGSET,
	MSGSTAT,
	MSGRM,
	MQOPEN,
	MQCLOSE,
	MQUNLINK,
	MQSEND,
	MQRECV,
	MQWARM,
	MQATTR,
	MQBLOCK,
	MQNOTIFY,
	MQPOLL,
	SHMGET,
	SHMAT,
	SHMDT,
	SHMRM,
	SHMSTAT,
	POKE,
	PEEK,
	N_VERBS
};
#define FIRST_OF_ACTOR FORK

/* How long a call may sleep. */
enum wait { WAIT_EVER, WAIT_FAR, WAIT_NOT, WAIT_SHORT };

struct step {
	int actor, verb, n_args, n_sops;
	long arg[ARGS_MAX];
	struct sembuf sops[LIST_MAX];
};

/* kinds: d a number, f flags; more: sops may follow */
static const struct {
	const char *name, *kinds;
	bool list;
} verbs[N_VERBS] = {
	[START] = {"start", ""},
	[KILL] = {"kill", ""},
	[SIG] = {"sig", "d"}, /* 0 USR1, 1 USR2 with SA_RESTART, 2 ignored */
	[STOP] = {"stop", ""},
	[LOOK] = {"look", ""},
	[FORK] = {"fork", "d"}, /* the new actor */
	[THREAD] = {"thread", "d"},
	[EXEC] = {"exec", ""},
	[EXIT] = {"exit", ""},
	[QUIT] = {"quit", ""}, /* the thread */
	[NICE] = {"nice", "d"},
	[SEMGET] = {"semget", "dd"},	  /* set, size */
	[SEMOP] = {"semop", "ddd", true}, /* set, wait, times the list */
	[SEMWARM] = {"semwarm", "ddd"},	  /* set, number, times +1 -1 */
	[SETVAL_V] = {"setval", "ddd"},	  /* set, number, value */
	[SETALL_V] = {"setall", "dd"},	  /* set, a hex digit a value */
	[GETVAL_V] = {"getval", "dd"},
	[GETPID_V] = {"getpid", "dd"},
	[GETNCNT_V] = {"getncnt", "dd"},
	[GETZCNT_V] = {"getzcnt", "dd"},
	[GETALL_V] = {"getall", "d"},
	[SEMSET] = {"semset", "dd"}, /* set, mode */
	[SEMSTAT] = {"semstat", "d"},
	[SEMRM] = {"semrm", "d"},
	[MSGGET] = {"msgget", "d"},
	[MSGSND] = {"msgsnd", "dddf"}, /* queue, type, size, flags */
	[MSGRCV] = {"msgrcv", "dddf"}, /* queue, size, type, flags */
	[MSGWARM] = {"msgwarm", "dd"}, /* queue, times */
	[MSGSET] = {"msgset", "dd"},   /* queue, qbytes */
	[MSGSTAT] = {"msgstat", "d"},
	[MSGRM] = {"msgrm", "d"},
	[MQOPEN] = {"mqopen", "ddfdd"}, /* slot, name, flags, maxmsg, size */
	[MQCLOSE] = {"mqclose", "d"},
	[MQUNLINK] = {"mqunlink", "d"},
	[MQSEND] = {"mqsend", "dddd"}, /* slot, priority, size, wait */
	[MQRECV] = {"mqrecv", "dd"},   /* slot, wait */
	[MQWARM] = {"mqwarm", "dd"},   /* slot, times */
	[MQATTR] = {"mqattr", "d"},
	[MQBLOCK] = {"mqblock", "dd"},	 /* slot, 1: O_NONBLOCK */
	[MQNOTIFY] = {"mqnotify", "dd"}, /* slot; 0 off, 1 signal, 2 none */
	[MQPOLL] = {"mqpoll", "d"},
	[SHMGET] = {"shmget", "dd"}, /* segment, pages */
	[SHMAT] = {"shmat", "ddd"},  /* slot, segment, 1: SHM_RDONLY */
	[SHMDT] = {"shmdt", "d"},    /* slot */
	[SHMRM] = {"shmrm", "d"},
	[SHMSTAT] = {"shmstat", "d"},
	[POKE] = {"poke", "dd"}, /* slot, value */
	[PEEK] = {"peek", "d"},
};

/* Letters for flags; each verb looks only at its own. */
#define F_NOWAIT 1 /* n */
#define F_CUT 2	   /* e: MSG_NOERROR */
#define F_EXCEPT 4 /* x */
#define F_COPY 8   /* c; O_CREAT */
#define F_EXCL 16  /* q */
#define F_READ 32  /* r: O_RDONLY */
#define F_WRITE 64 /* w: O_WRONLY */
static const char flag_letters[] = "nexcqrw";

static inline int flags_text(char *to, size_t size, long flags)
{
	char text[sizeof(flag_letters)] = "-";
	int n = 0;

	for (int i = 0; flag_letters[i]; i++)
		if (flags & 1L << i)
			text[n++] = flag_letters[i];
	text[n ? n : 1] = 0;
	return snprintf(to, size, " %s", text);
}

/* Without a newline; size is at least LINE_SIZE. */
static inline void step_text(const struct step *s, char *to, size_t size)
{
	const char *kinds = verbs[s->verb].kinds;
	int n = snprintf(to, size, "%d %s", s->actor, verbs[s->verb].name);

	for (int i = 0; kinds[i]; i++)
		n += kinds[i] == 'f'
			     ? flags_text(to + n, size - n, s->arg[i])
			     : snprintf(to + n, size - n, " %ld", s->arg[i]);
	for (int i = 0; i < s->n_sops; i++)
		n += snprintf(to + n, size - n, " %u:%d%s%s",
			s->sops[i].sem_num, s->sops[i].sem_op,
			s->sops[i].sem_flg & SEM_UNDO ? "u" : "",
			s->sops[i].sem_flg & IPC_NOWAIT ? "n" : "");
}

static inline bool sop_parse(const char *word, struct sembuf *ret_sop)
{
	char *end;

	ret_sop->sem_num = (unsigned short)strtoul(word, &end, 10);
	if (*end != ':')
		return false;
	ret_sop->sem_op = (short)strtol(end + 1, &end, 10);
	ret_sop->sem_flg = (short)((strchr(end, 'u') ? SEM_UNDO : 0) |
				   (strchr(end, 'n') ? IPC_NOWAIT : 0));
	return true;
}

static inline long arg_parse(const char *word, char kind)
{
	long flags = 0;

	if (kind == 'd')
		return strtol(word, NULL, 0);
	for (int i = 0; flag_letters[i]; i++)
		if (strchr(word, flag_letters[i]))
			flags |= 1L << i;
	return flags;
}

static inline bool verb_parse(const char *word, int *ret_verb)
{
	for (int v = 0; v < N_VERBS; v++)
		if (!strcmp(verbs[v].name, word)) {
			*ret_verb = v;
			return true;
		}
	return false;
}

/* line is cut into words. */
static inline bool step_parse(char *line, struct step *ret_step)
{
	char *save = NULL, *word = strtok_r(line, " \n", &save);
	struct step s;

	memset(&s, 0, sizeof(s));
	if (!word)
		return false;
	s.actor = atoi(word);
	word = strtok_r(NULL, " \n", &save);
	if (!word || !verb_parse(word, &s.verb))
		return false;
	for (const char *k = verbs[s.verb].kinds; *k; k++) {
		word = strtok_r(NULL, " \n", &save);
		if (!word)
			return false;
		s.arg[s.n_args++] = arg_parse(word, *k);
	}
	while ((word = strtok_r(NULL, " \n", &save)) != NULL)
		if (!verbs[s.verb].list || s.n_sops == LIST_MAX ||
			!sop_parse(word, &s.sops[s.n_sops++]))
			return false;
	*ret_step = s;
	return true;
}

#endif
