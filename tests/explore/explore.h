// SPDX-License-Identifier: MIT
/*
 * The explorer: two to four actors (processes) make a few calls each on a small
 * registry, in all orders that a bound allows, and after each of these runs
 * everything must be as if the calls had been made one after the other.
 *
 *   explore.c  the command
 *   search.c   which runs: the bounds, what need not be tried twice
 *   run.c      one run: a scenario under a schedule
 *   turn.c     the baton, and which actors sleep
 *   process.c  the actors as processes and threads of the kernel
 *   walk.c     the kernel's walk of a robust list, in steps
 *   stop.c     what a stop does to the calls that it interrupts
 *   image.c    the registry as it was before a run
 *   judge.c    is the result of a run right?
 *   calls.c    an actor makes a call
 *   sem.c...   scenarios of a facility, and the sequential model of its calls
 *
 * and below the instrumented core (hook.h), in the actors:
 *
 *   actor.c    the thread that is an actor
 *   handler.c  its signal handler
 *   point.c    the points
 *   memory.c   accesses to memory
 *   syscall.c  system calls
 *   machine.c  time, CPU, /proc
 *
 * A schedule is a list of decisions, written with dots between them: an actor's
 * letter, A to H, with the number of points that it passes before another one
 * runs (none: until it sleeps or ends); `b` after the number: its store buffer
 * is not drained meanwhile; sX: a signal comes to X, which runs its handler,
 * or, in a section, does so at its end; kX: X is killed (SIGKILL) where it is;
 * wXn: X dies, but the kernel's walk of its robust list stops after n entries,
 * and continues when X is named the next time; tX: X is stopped (SIGSTOP) where
 * it is or sleeps, and stays so while others run; cX, with a number as after X
 * alone: it is continued (SIGCONT), and runs. After the last decision each runs
 * until it sleeps or ends, the first that can first; once none can, a stopped
 * one is continued (tXn: after n timeouts of others, if there are so many).
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <stdio.h>
#include "actor.h"
#include "sem/sem.h"

/* ---- scenarios ---- */

enum call_op {
	CALL_NONE,
	CALL_SEMOP,
	CALL_SETVAL,
	CALL_SETALL,
	CALL_GETVAL,
	CALL_GETALL,
	CALL_SEMRM,
	CALL_SEMSET, /* IPC_SET; arg: the mode */
	CALL_SEMGET,
	CALL_NCNT,
	CALL_MSGSND,
	CALL_MSGRCV,
	CALL_MSGRM,
	CALL_MSGGET,
	CALL_MSGSTAT,
	CALL_MSGSET,
	CALL_MSGACK,
	CALL_MSGBACK,	 /* give back what is on lease */
	CALL_BATCH,	 /* from now on a receive acknowledges nothing */
	CALL_LEASES_END, /* of the process, which ends in order */
	CALL_MQSEND,
	CALL_MQRECV,
	CALL_MQNOTIFY,
	CALL_MQUNLINK,
	CALL_MQCLOSE,	  /* arg: 1 = another file gets its number */
	CALL_NUMBER_SEND, /* by the number, as a program */
	CALL_NUMBER_RECEIVE,
	CALL_MQOPEN,
	CALL_NOTIFY,	  /* arg: NOTIFY_* */
	CALL_NOTIFY_EXEC, /* before exec, which closes the queue */
	CALL_NOTIFY_WAIT,
	CALL_MQATTR,
	CALL_MQPOLL, /* arg: 1 = stays in poll */
	CALL_MQACK,
	CALL_MQBACK,
	CALL_SHMGET,
	CALL_SHMAT,
	CALL_SHMDT,
	CALL_SHMRM,
	CALL_SHMSET,  /* IPC_SET; arg: the mode */
	CALL_SHMLOCK, /* arg: 1 = SHM_LOCK, 0 = SHM_UNLOCK */
	CALL_SHMSTAT,
	CALL_SHMFORK,
	CALL_SHMUNMAP, /* munmap of what is attached */
	CALL_SHMAGAIN, /* mremap of it: once more, elsewhere */
	CALL_SHMSEEN,  /* what the process has mapped, by the kernel's word */
	CALL_FORK,     /* arg: the child's actor; 1 = nobody waits for it */
	CALL_GC,       /* all that actors left which are gone, as ipclift gc */
};

/* Of CALL_NOTIFY. */
enum {
	NOTIFY_SIGNAL,
	NOTIFY_THREAD, /* the caller is the helper thread */
	NOTIFY_NOT,    /* take it back */
};

struct call {
	enum call_op op;
	s32 obj; /* which of the scenario's objects; keys: the key */
	s64 arg[3];
	u32 n;
	struct sop sops[3];
};

#define MESSAGE_MOST 4096u /* longest message of a script */

#define ACTOR_FIRST 1u /* its calls up to its sleep come first, unexplored */
#define ACTOR_EXITS 2u /* ends after its last call; else stays, idle */
#define ACTOR_NO_BARRIER 4u /* membarrier is refused to it */
#define ACTOR_TSO 8u	    /* its stores may be late */
#define ACTOR_IMMORTAL 16u  /* is not killed */
#define ACTOR_WALK 32u	 /* dies only so that the kernel's walk is in steps */
#define ACTOR_STEADY 64u /* is not preempted */
/* When it ends its number is at once that of a process that makes no call: of
 * another one, or of its own next program image (exec: the same start). A thread's
 * number is another process's once the thread has ended. */
#define ACTOR_REUSED 128u
#define ACTOR_EXECS 256u
/* Is there from another actor's CALL_FORK on. */
#define ACTOR_CHILD 512u
/* A thread of the process of the actor before it. ACTOR_EXITS then ends the
 * thread, of the actor before it, too; whoever kills one kills both. */
#define ACTOR_THREAD 1024u
/* Has no records in the registry before its first call. */
#define ACTOR_NEW 2048u
/* Who has the number of the actor before it from that one's end on, and makes
 * calls: the next program image of its process, if that ACTOR_EXECS; another
 * process, if it is ACTOR_REUSED. With ACTOR_NEW, for nothing before its calls is
 * explored. */
#define ACTOR_NEXT 8192u
#define ACTOR_NEWCOMER (ACTOR_NEXT | ACTOR_NEW)
/* Its handler is set with SA_RESTART. */
#define ACTOR_RESTARTS 4096u
/* With ACTOR_EXITS: its process ends with it, and all threads of that. */
#define ACTOR_ENDS 16384u
/* With ACTOR_CHILD, of a handler: returns from that into the call that it
 * interrupted, and makes its own calls then. */
#define ACTOR_RETURNS 32768u

/* Is refused robust lists: the kernel marks nothing when it dies. */
#define ACTOR_NO_LIST 65536u

struct actor_def {
	u32 flags;
	void (*prelude)(struct caller *c);
	struct call calls[MAX_CALLS];
	/* Of its signal handler, which runs once at most: wherever the
	 * schedule has the signal come, or not at all. */
	struct call handler;
};

struct model; /* a state of the facility's sequential model */

struct facility_model {
	u32 size;
	void (*init)(void *m);
	/* Does the call fit here, with this result (known: it returned)? Makes
	 * it. */
	int (*apply)(void *m, u32 actor, const struct call *k, int known,
		s64 result, const s64 *out);
	void (*death)(void *m, u32 actor);
	/* Is this what the registry shows at the end? why: a line. */
	int (*final)(const void *m, char *why, u32 cap);
};

struct scenario {
	const char *name;
	const struct facility_model *model;
	void (*setup)(struct caller *c);
	struct actor_def actors[MAX_ACTORS];
	const char *about;
	u32 preemptions, kills; /* bounds of its own; 0 = the usual */
	u32 max_kills_0;	/* 1: nobody is killed */
	u32 stops;		/* so many processes are stopped, at most */
	/* At most so many times somebody else than by default goes on where an
	 * actor has come to rest; 0 = any number. */
	u32 turns;
	/* Looks at the registry once everybody has come to rest; into observed
	 * of the facility. c is the controller's, on the registry or its copy.
	 */
	void (*look)(struct caller *c);
	/* Behind it, once it is known who sleeps; may take what is there. */
	void (*drain)(struct caller *c);
	/* Before each run, with the registry as the setup left it: what the
	 * scenario keeps outside of it. */
	void (*reset)(void);
	/* At rest, before anybody looks. */
	void (*rest)(void);
};

extern const struct scenario sem_scenarios[], msg_scenarios[], mq_scenarios[],
	shm_scenarios[], key_scenarios[], lease_scenarios[], notify_scenarios[],
	both_scenarios[];

/* mq.c's queue, with n messages of priority 1, names 1 to n; its descriptor. */
struct mq_desc;
void mq_queue_make(struct caller *c, u32 n, u32 max);
struct mq_desc mq_queue(const struct caller *c);
/* One more, "r", of the calls with object 1. */
void mq_second_make(struct caller *c, u32 max);
struct mq_desc mq_second(const struct caller *c);
/* Its calls are by this descriptor from now on, the one before is closed; NULL:
 * by none. */
void mq_queue_use(const struct mq_desc *d);

/* In the actor: make one call. */
s64 call_make(struct caller *c, const struct call *k, s64 *out);
/* How many calls of this thread are under way: the handler's has buffers of its
 * own. */
extern __thread u32 call_depth;
s64 mq_call_make(struct caller *c, const struct call *k, s64 *out);
s64 notify_call_make(struct caller *c, const struct call *k);
s64 shm_call_make(struct caller *c, const struct call *k, s64 *out);
/* shm.c's segments 0 and 1, known to all; by id. */
void shm_two_make(struct caller *c);
s32 shm_id_of(u32 obj);
extern s32 object_id[8]; /* set by a scenario's setup */
/* An object that is none of the scenario's: a set of one semaphore, which only
 * handlers' calls of COUNT change: how often these were made, the judge sees.
 */
#define OTHER 7
#define COUNT                              \
	{                                  \
		CALL_SEMOP, OTHER, {0}, 1, \
		{                          \
			{                  \
				0, 1, 0    \
			}                  \
		}                          \
	}
/* The caller's child begins, as actor i. */
#define MAKE_CHILD(i)                                \
	{                                            \
		.op = CALL_FORK, .arg = {(i), 0, 0 } \
	}
#define MAKE_CHILD_SLOWLY(i)                         \
	{                                            \
		.op = CALL_FORK, .arg = {(i), 1, 0 } \
	}
void other_make(struct caller *c);
/* Takes its lock once: whoever died with it is recovered from. */
void other_visit(struct caller *c);
s64 other_value(struct caller *c);
static inline int is_other(const struct call *k)
{
	return k->op == CALL_SEMOP && k->obj == OTHER;
}

/* ---- runs ---- */

enum decision_kind {
	GO,   /* the actor goes on, for n points (GO_ON: all it can) */
	KILL, /* it is killed */
	WALK, /* it dies, and n entries of its robust list are marked */
	STOP, /* it is stopped, for n timeouts at least */
};
#define GO_ON 0xfffu
#define MAX_DECISIONS 28u

struct decision {
	u32 kind : 4, actor : 4, n : 12, keep : 1, signal : 1, resume : 1;
};
struct schedule {
	unsigned char n, preemptions, kills, turns, stops;
	u32 size; /* of what its last kill forestalled: a store of */
	u64 off;  /* so many bytes there; size 0: something else */
	struct decision d[MAX_DECISIONS];
};

/* A stretch in which one actor ran. */
struct segment {
	u32 actor, from, to; /* points */
	u32 runnable;	     /* who else could have, at its start */
	u32 alive;	     /* who could have been killed there */
	u32 signalable;	     /* to whom a signal could have come */
	u32 stoppable;	     /* who could have been stopped */
	u32 sleeping;	     /* of these, in a sleep that a stop ends */
	u32 stopped;	     /* who was */
	u32 resumed;	     /* the actor was continued at its start */
	u64 hash;	     /* of the state at its start */
	int by_default;	     /* not a decision of the schedule */
	int killed;	     /* not a stretch: a death, or a stop */
	int stops;	     /* a stop */
};
#define MAX_SEGMENTS 256u

enum verdict {
	FINE,
	VOID, /* the schedule asks for what cannot be */
	ASLEEP,
	STUCK,
	ENDLESS,
	CRASHED,
	INVARIANT,
	WRONG,
	REPAIR,
	N_VERDICTS,
};
extern const char *const verdict_names[N_VERDICTS];

struct run {
	const struct scenario *scn;
	u32 n_actors;
	u32 n_segments;
	struct segment segments[MAX_SEGMENTS];
	struct schedule done; /* all decisions, those by default too */
	u32 n_explicit;	      /* so many of them were given */
	enum verdict verdict;
	char text[2048];
};
extern struct run run;
extern struct caller driver, probe_caller;
extern const char *explore_dir;

void run_setup(const struct scenario *scn);
/* chooser: asked for each decision after those of s (NULL: by default);
 * returns 0 to go on by default. */
void run_schedule(const struct schedule *s,
	int (*chooser)(u32 runnable, u32 alive, struct decision *ret));
/* In the actor: make actor i. slow: the fork has lasted so long that nobody waits
 * for it any more. Its number, or -errno; 0 in a child that returns. */
s64 run_fork(struct caller *c, u32 i, int slow);
/* In such a child, before its first call: it is a process of its own. */
void run_take_over(struct caller *c);
/* The actor that is the next program image of the process that actor leader
 * leads; MAX_ACTORS: none. */
u32 run_next_image(u32 leader);
/* To whom a signal may come: bits. */
u32 run_signalable(void);
/* Who may be stopped, who is: bits. */
u32 run_stoppable(void);
u32 run_stopped(void);
/* Until whoever is idle has handled the signals that were sent to it. */
void signals_settle(void);
void run_init(void);
void run_deinit(void);

/* ---- judging ---- */

/* At rest. 1: somebody sleeps who could go on (time may help it); else
 * run.verdict is set. last: time does not help. */
int judge(int last);
void judge_init(void);
/* Pages of the registry that are in use; of another file from now on. */
void image_begin(const char *registry);
void image_scan(void);
void image_restore(void);
void image_save(void);
void image_copy(char *to);
void segments_reset(void);
/* The actor is stopped, in whatever call; continued. */
void stops_begin(struct actor *a);
void stops_end(struct actor *a);
/* It goes on: is it awake? */
void stops_over(struct actor *a);
/* Does a stop end the call, where it sleeps, with EINTR? */
int stops_end_call(const struct call *k);
/* The call was ended by a stop, as it may be: nothing was done. */
int stops_ended(const struct actor *a, u32 which, const struct call *k);
/* Is there a call that a stop should have ended, or a sleeper that was counted
 * and should not have been? text: a line. */
int stops_wrong(char *text, u32 cap);
const struct call *judge_call(u32 actor, u32 call);
/* Of an actor's fork child, which only is there. */
#define CHILD_PID 250u

/* ---- search ---- */

struct bounds {
	u32 preemptions, kills, stops;
	double seconds; /* for the scenario; 0 = no limit */
	u64 seed;	/* != 0: at random */
	int keep_going, verbose;
};
struct found {
	u64 runs, deaths, stops, pruned, voids, diverged;
	u32 by_verdict[N_VERDICTS];
	u32 late;     /* conflicts that showed up late */
	u32 complete; /* sum of preemptions and kills that was done wholly */
	int exhausted;
	double seconds;
	char first[512];
	char first_text[2100];
};
void search(
	const struct scenario *scn, const struct bounds *b, struct found *ret);
void schedule_text(const struct schedule *s, char *buf, u32 cap);
int schedule_parse(const char *text, struct schedule *ret);
double seconds_now(void);
/* Memory that the actors do not inherit: to fork would copy its tables. */
void *own_memory(u64 size);
void report_trace(FILE *to);

#endif
