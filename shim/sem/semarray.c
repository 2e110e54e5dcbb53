// SPDX-License-Identifier: MIT
/*
 * One array; see semarray.h. It is applied in place under the journal, and
 * rolled back if some operation blocks or overflows. Under the set's lock.
 */
#include "sem/semarray.h"

HOT int array_try(struct caller *c, struct semset *set, const struct array *a,
	u32 *ret_op)
{
	struct sem *sems = sem_array(set), *sem;
	int err = 0;
	u32 i, first = 0;
	s64 now;

	for (i = 0; i < a->n; i++) {
		/* A sleeper's are in the file, and may be damaged. */
		const struct sop *op = &a->sops[i];
		u32 num = atom_load_relaxed(&op->num);
		s32 value;

		if (unlikely(num >= a->n_sems)) {
			err = -EIO;
			break;
		}
		if (!i)
			first = num;
		sem = &sems[num];
		value = SEM_VALUE(sem->lo);
		err = sem_value_step(&value, op->op);
		if (!err && (op->flg & SEM_FLG_UNDO))
			err = likely(a->undo != NULL)
				      ? undo_adjust(
						c, set, a->undo, num, op->op)
				      : -EIO;
		if (err)
			break;
		journal_set64(c, &sem->lo, lo_make(sem->lo, value, a->pid));
	}
	if (err) {
		journal_abort(c);
		*ret_op = i;
		return err;
	}
	sem = &sems[first];
	now = sys_realtime_sec();
	if (unlikely(SEM_OTIME(sem->hi) != now))
		journal_set64(c, &sem->hi, hi_stamp(sem->hi, now));
	return 0;
}

u32 array_entries(u32 n, int undo)
{
	/* Words, their undo, the time, the queue links and the waiter. */
	return n * (1 + (undo ? UNDO_ENTRIES : 0)) + 16;
}
