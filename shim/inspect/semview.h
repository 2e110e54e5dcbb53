// SPDX-License-Identifier: MIT
/*
 * Who holds undo on a set, and who sleeps on it: for the command and the
 * mount. Each function takes the set's lock for one pass and copies out.
 */
#ifndef IPCLIFT_INSPECT_SEMVIEW_H
#define IPCLIFT_INSPECT_SEMVIEW_H

#include "sem/sem.h"

/* What process pid's death would add to semaphore num. */
struct sem_holder {
	u32 pid;
	u32 num;
	s32 adj;
	/* When it last took a semaphore of this set of which it held nothing;
	 * realtime seconds. */
	s64 since;
};

/* A thread asleep, and the operation of its array that it is blocked at. */
struct sem_sleeper {
	u32 pid, tid;
	u32 n_sops;
	struct sop op;
	s64 since; /* realtime seconds */
};

/* At most n into ret; the number there are. -EINVAL, -EACCES, -EIDRM, and
 * -ENOMEM of enrolling. */
s32 sem_holders(struct caller *c, s32 id, struct sem_holder *ret, u32 n);
s32 sem_sleepers(struct caller *c, s32 id, struct sem_sleeper *ret, u32 n);

#endif
