// SPDX-License-Identifier: MIT
/*
 * An actor makes one call of its script.
 */
#include "explore.h"

s64 call_make(struct caller *c, const struct call *k, s64 *out)
{
	s32 id = object_id[k->obj];
	struct sop sops[3];
	u16 values[16];
	s64 ret;
	u32 i;

	switch (k->op) {
	case CALL_SEMOP:
		for (i = 0; i < k->n; i++)
			sops[i] = k->sops[i];
		return sem_op(c, id, sops, k->n, NULL);
	case CALL_SETVAL:
		return sem_setval(c, id, (s32)k->arg[0], (s32)k->arg[1]);
	case CALL_SETALL:
		for (i = 0; i < 3; i++)
			values[i] = (u16)k->arg[i];
		return sem_setall(c, id, values, 3);
	case CALL_GETVAL:
		return sem_getval(c, id, (s32)k->arg[0]);
	case CALL_GETALL:
		ret = sem_getall(c, id, values, 3);
		for (i = 0; i < 3; i++)
			out[i] = values[i];
		return ret < 0 ? ret : 0;
	case CALL_SEMRM:
		return sem_remove(c, id);
	case CALL_SEMGET:
		return sem_get(c, k->obj, (s32)k->arg[0], (s32)k->arg[1]);
	case CALL_NCNT:
		return sem_getncnt(c, id, (s32)k->arg[0]);
	default:
		return -ENOSYS;
	}
}
