// SPDX-License-Identifier: MIT
/*
 * The values, undo records and sleepers of a set, for the command and the
 * mount. sem_holders and sem_sleepers take the set's lock for one pass and copy
 * out; sem_values reads as semctl does, three calls per semaphore.
 */
#ifndef IPCLIFT_INSPECT_SEMVIEW_H
#define IPCLIFT_INSPECT_SEMVIEW_H

#include "sem/sem.h"

/* What the exit of process pid would add to semaphore num. */
struct sem_holder {
	u32 pid;
	u32 num;
	s32 adj;
	/* When it last took a semaphore of this set for which it had no
	 * adjustment; realtime seconds. */
	s64 since;
};

/* A thread asleep, and the operation of its array that it is blocked at. */
struct sem_sleeper {
	u32 pid, tid;
	u32 n_sops;
	struct sop op;
	s64 since; /* realtime seconds */
};

/* One semaphore. */
struct sem_value {
	u32 num;
	u32 value;
	u32 ncnt, zcnt; /* asleep until it rises; until it is 0 */
	u32 pid;	/* that changed it last */
};

/* A set at a glance: no lock is taken, so the fields may be of different
 * moments, and may show a part of an operation. */
#define SEM_BRIEF_VALUES 16
struct sem_brief {
	u32 pid; /* of the last operation on one of the first 1,024; 0: none */
	u32 n;	 /* of the first values: */
	u16 values[SEM_BRIEF_VALUES];
};
/* 0; -EINVAL, -EACCES. */
int sem_brief(struct caller *c, s32 id, struct sem_brief *ret);

/* At most n into ret, nothing if there are more values; returns the number
 * there are. -EINVAL, -EACCES, -EIDRM, and -ENOMEM of enrolling. The values are
 * of one moment, the rest of struct sem_value is not. No lock may be held. */
s32 sem_values(struct caller *c, s32 id, struct sem_value *ret, u32 n);
s32 sem_holders(struct caller *c, s32 id, struct sem_holder *ret, u32 n);
s32 sem_sleepers(struct caller *c, s32 id, struct sem_sleeper *ret, u32 n);

#endif
