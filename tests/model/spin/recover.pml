/* SPDX-License-Identifier: MIT
 *
 * recover: D holds two locks and is killed in an operation that changes a word
 * under each. Three come by the one, in turn, and one by the other; the first two
 * of the three may be killed after any of their stores, in the recovery too. D's
 * record is taken over by a new thread N as soon as nothing is to be rolled back
 * in it, and N operates under a lock of its own.
 *
 * Models: lock_acquire, lock_release (registry/lock.c), recover_lock,
 * recover_journal (lock.c), recover_rollback (journal/recover.c), journal_set64, journal_commit
 * (journal/journal.h), nothing_under_way and thread_try (task.c), the kernel's
 * mark OWNER_DIED.
 *
 * Properties: at the end D's operation has happened wholly or not at all, and
 * so has each operation of those who came after, N's as well: nothing is rolled
 * back twice, and nothing that is not a dead one's. A lock that was marked is
 * recovered before its new owner goes on (assertions); nobody waits for ever.
 *
 * Variants: ONE
 * Faults: FAULT_1 FAULT_2 FAULT_3 FAULT_4 FAULT_5 FAULT_6 FAULT_7+ONE
 * ONE: D has the first lock only, and changes one word.
 * FAULT_1 two roll one journal back at once: no repair lock
 * FAULT_2 who has waited for the repair lock does not ask again
 * FAULT_3 the count is cleared before the old values are back
 * FAULT_4 the journal that lock.journal names is believed to list the lock
 * FAULT_5 lock.journal is stored before the recovery
 * FAULT_6 whether one lock is listed or more is looked at last: by then the
 *	record may be N's
 * FAULT_7 what is listed is looked at before the count of entries: the one may be
 *	D's and the other N's
 */

#define N_LOCKS 3	/* 0 and 1: D's; 2: N's */
#define REPAIR 3
#define NOBODY 0
#define ID_D 1
#define ID_N 2
#define ID_FIRST 3	/* of those who come by lock 0: 3 4 5; by lock 1: 6 */

/* Words that the locks protect. D adds 1 to 0 and 1; others add 10. */
byte val[N_LOCKS];
byte word[4];		/* owner */
bool died[4];
byte name[N_LOCKS];	/* lock.journal: a record */
/* Records; that of D is N's later. Only D's operation has two entries. */
byte n[8], old[8];
byte old_b;		/* D's second entry, of val[1] */
byte first[8];		/* which word the first entry is of */
bool lists[24];		/* record * 3 + lock */
bool d_dead = false, d_committed = false;
byte ended = 0, done_a = 0, done_b = 0;
byte turn[2];		/* comers of a lock that have been there */

#define LISTS(r, l) lists[(r) * 3 + (l)]

/* Takes a word, and tells whether its last owner had died. */
inline take(l, me, ret) {
	atomic { word[l] == NOBODY ->
		word[l] = me; ret = died[l]; died[l] = false }
}

/* All that me has is marked by the kernel, in any order. */
inline die(me, l) {
	atomic {
		if :: word[l] == me -> word[l] = NOBODY; died[l] = true
		   :: else fi;
		if :: word[REPAIR] == me ->
			word[REPAIR] = NOBODY; died[REPAIR] = true
		   :: else fi
	}
}
#define MAY_DIE if :: may_die -> if :: goto dead :: skip fi :: else fi

inline rollback(r) {
#ifdef FAULT_3
	n[r] = 0;
	MAY_DIE;
#endif
	/* Newest first. */
	if
	:: n[r] == 2 -> val[1] = old_b; MAY_DIE
	:: else
	fi;
	val[first[r]] = old[r];
	MAY_DIE;
	n[r] = 0
}

#define N_LISTED(r) (LISTS(r, 0) + LISTS(r, 1) + LISTS(r, 2))

inline by_repair() {
#ifndef FAULT_1
	take(REPAIR, me, repair_dead);
	MAY_DIE;
#endif
	if
#ifndef FAULT_2
	:: n[r] > 0 && LISTS(r, l) ->
#else
	:: true ->
#endif
		rollback(r)
#ifndef FAULT_2
	:: else
#endif
	fi;
	MAY_DIE;
#ifndef FAULT_1
	word[REPAIR] = NOBODY
#else
	skip
#endif
}

/* Comes by lock l, adds 10, goes. */
proctype Comer(byte me, l, nth; bool may_die) {
	bool was_dead, repair_dead;
	byte r, listed;

	turn[l] == nth;
	take(l, me, was_dead);
	MAY_DIE;
	LISTS(me, l) = true;
	MAY_DIE;
#ifdef FAULT_5
	r = name[l];
	name[l] = me;
	MAY_DIE;
#endif
	if
	:: was_dead ->
#ifndef FAULT_5
		r = name[l];
#endif
		if
#ifdef FAULT_4
		:: r != me && n[r] > 0 -> rollback(r)
#endif
#ifdef FAULT_6
		:: r != me && n[r] > 0 && LISTS(r, l) ->
			if
			:: N_LISTED(r) == 1 -> rollback(r)
			:: else -> by_repair()
			fi
#elif defined(FAULT_7)
		:: r != me ->
			listed = N_LISTED(r);
			if
			:: listed == 1 && LISTS(r, l) ->
				if
				:: n[r] > 0 -> rollback(r)
				:: else
				fi
			:: listed != 1 && LISTS(r, l) && n[r] > 0 ->
				by_repair()
			:: else
			fi
#else
		:: r != me && n[r] > 0 ->
			listed = N_LISTED(r);
			if
			/* Alone: nobody else rolls it back. */
			:: LISTS(r, l) && listed == 1 -> rollback(r)
			:: LISTS(r, l) && listed != 1 -> by_repair()
			:: else
			fi
#endif
		:: else
		fi
	:: else
	fi;
	MAY_DIE;
	name[l] = me;
	MAY_DIE;
	old[me] = val[l]; first[me] = l;
	n[me] = 1;
	MAY_DIE;
	val[l] = val[l] + 10;
	MAY_DIE;
	atomic { n[me] = 0; if :: l == 0 -> done_a++ :: else -> done_b++ fi };
	MAY_DIE;
	LISTS(me, l) = false;
	atomic { word[l] = NOBODY; ended++; goto over };
dead:	die(me, l);
	ended++;
over:	turn[l]++
}

active proctype D() {
	atomic {
#ifndef ONE
		word[1] = ID_D; LISTS(ID_D, 1) = true; name[1] = ID_D;
#endif
		word[0] = ID_D; LISTS(ID_D, 0) = true; name[0] = ID_D
	};
	first[ID_D] = 0; old[ID_D] = val[0];
	n[ID_D] = 1;
	if :: goto dead :: skip fi;
	val[0] = val[0] + 1;
	if :: goto dead :: skip fi;
#ifndef ONE
	old_b = val[1];
	n[ID_D] = 2;
	if :: goto dead :: skip fi;
	val[1] = val[1] + 1;
	if :: goto dead :: skip fi;
#endif
	atomic { n[ID_D] = 0; d_committed = true };
dead:	/* The kernel comes to one lock after the other. */
	d_dead = true;
	if
	:: atomic { word[0] = NOBODY; died[0] = true };
#ifndef ONE
		atomic { word[1] = NOBODY; died[1] = true }
	:: atomic { word[1] = NOBODY; died[1] = true };
		atomic { word[0] = NOBODY; died[0] = true }
#endif
	fi
}

/* Takes D's record over. */
active proctype Newcomer() {
	bool was_dead;

	d_dead && n[ID_D] == 0;
	/* n_locks: one store. */
	atomic { LISTS(ID_D, 0) = false; LISTS(ID_D, 1) = false };
	take(2, ID_N, was_dead);
	LISTS(ID_D, 2) = true;
	name[2] = ID_D;
	first[ID_D] = 2; old[ID_D] = val[2];
	n[ID_D] = 1;
	val[2] = val[2] + 10;
	n[ID_D] = 0;
	LISTS(ID_D, 2) = false;
	word[2] = NOBODY;
	ended++
}

init {
	/* When D has its locks. */
	word[0] == ID_D || d_dead;
	run Comer(ID_FIRST, 0, 0, true);
	run Comer(ID_FIRST + 1, 0, 1, true);
	run Comer(ID_FIRST + 2, 0, 2, false);
	run Comer(ID_FIRST + 3, 1, 0, false);
	ended == 5;
	assert(val[0] == d_committed + 10 * done_a);
#ifdef ONE
	assert(val[1] == 10 * done_b);
#else
	assert(val[1] == d_committed + 10 * done_b);
#endif
	assert(val[2] == 10)
}
