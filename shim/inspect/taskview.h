// SPDX-License-Identifier: MIT
/*
 * The processes of a registry, for the command and the mount, which read their
 * names from /proc.
 */
#ifndef IPCLIFT_INSPECT_TASKVIEW_H
#define IPCLIFT_INSPECT_TASKVIEW_H

#include "registry/task.h"

struct task_view {
	u32 idx;
	u32 pid;
	u32 state;     /* TASK_LIVE or TASK_PREFORK: see child */
	u32 child;     /* prefork: what the parent pid forks, 0 = not known */
	u64 start;     /* clock ticks since boot, as /proc/PID/stat has it; 0 if
			* that does not say */
	s64 started;   /* the same in realtime seconds */
	u32 n_threads; /* that ever slept or took a lock, and live */
	u32 n_undo;    /* sets it has a SEM_UNDO record for */
	u32 n_attach;  /* attachments of segments */
	u32 life;      /* TASK_LIFE_* */
	u32 life_tid;  /* the thread that the lifeline is of */
	u32 epoch;     /* program images so far */
	u32 gone;      /* its process has exited and is not reaped yet */
};
/* The lifeline, by whose mark others notice the process's death. */
enum {
	TASK_LIFE_NONE,	   /* not needed: neither undo nor attachments so far */
	TASK_LIFE_LINKED,  /* on the robust list of life_tid */
	TASK_LIFE_FIRED,   /* that thread ended, or called exec */
	TASK_LIFE_REFUSED, /* robust lists are: others check now and then */
};

/* Tasks whose threads one pass over the records counts. Arbitrary. */
#define TASK_WALK_STEP 1024u
/* The position of a walk over the tasks; begin with zeros. */
struct task_walk {
	u32 at;	     /* the next index to look at */
	u32 from;    /* threads[] is of the tasks from here */
	u32 counted; /* up to here */
	u32 threads[TASK_WALK_STEP];
};

/*
 * The next task: 1, or 0 at the end, -ENOMEM of enrolling. Takes the task's
 * lock for one pass. The thread records are read once per TASK_WALK_STEP
 * indexes, not once per task: the largest number of both takes a second or two,
 * most of it to check whether threads exist.
 */
int task_view_next(
	struct caller *c, struct task_walk *at, struct task_view *ret);

#endif
