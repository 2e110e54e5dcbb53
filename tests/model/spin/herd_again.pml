/* SPDX-License-Identifier: MIT
 *
 * herd_again: a sleeper that one waker is about to move to another's word
 * (herd.pml) has gone on by itself, sleeps again and is granted again, by a
 * second waker: it is that later sleep which is moved. The second sleep has no
 * timer unless a waker is about to requeue the sleeper; the first sleep has
 * one, or the waker would not move it. Any three of the processes may be killed
 * anywhere.
 *
 * Models: requeue_to, last_store, wake_herd, wake_one (registry/wait.c);
 * sleep_slice_set (object/sleep.h), which looks before the sleeper is queued;
 * FUTEX_CMP_REQUEUE; the kernel's exit_robust_list.
 *
 * Properties, when nothing moves any more:
 * - the sleeper is awake and done, or asleep with a timer, or killed;
 * - if nobody was killed it is awake.
 *
 * Faults: FAULT_1 FAULT_2 FAULT_3
 * FAULT_1 who moves does not say so
 * FAULT_2 who moves says so only behind its store
 * FAULT_3 who moves takes it back before it has moved
 */

#define FREE 0    /* queued, about to sleep */
#define WAITERS 1 /* asleep */
#define NAME_1 2  /* of the first waker */
#define NAME_2 3
#define RECHECK 9
#define DONE 10
#define NOWHERE 7

byte word = NAME_1;       /* the sleeper's */
byte first_word = NAME_1; /* of the first of the herd */
byte at = 0;              /* the sleeper sleeps on: 0 its word, 1 the first's */
bool timer = true, queued_again = false;
bool first_asleep = true;
byte n_requeuers = 0, deaths = 0, ended = 0;

#define DIE if :: atomic { deaths < 3 -> deaths++ }; goto killed :: true fi

inline wake_own() {
	if :: at == 0 -> at = NOWHERE :: else fi
}
/* Who came first to the first one's word: that one, if it is still there. */
inline wake_one_at_first() {
	if
	:: first_asleep -> first_asleep = false
	:: !first_asleep && at == 1 -> at = NOWHERE
	:: else
	fi
}
inline wake_all_at_first() {
	atomic {
		first_asleep = false;
		if :: at == 1 -> at = NOWHERE :: else fi
	}
}

proctype Mover() {
	bool pending = false, first_pending = false;

#if !defined(FAULT_1) && !defined(FAULT_2)
	n_requeuers++; DIE;
#endif
	pending = true;
	word = DONE; DIE;
#ifdef FAULT_2
	n_requeuers++; DIE;
#endif
#ifdef FAULT_3
	n_requeuers--; DIE;
#endif
	atomic { if :: at == 0 && word == DONE -> at = 1 :: else fi }; DIE;
#if !defined(FAULT_1) && !defined(FAULT_3)
	n_requeuers--; DIE;
#endif
	atomic { pending = false; first_pending = true }; DIE;
	first_word = RECHECK; DIE;
	wake_all_at_first();
	goto out;
killed:	atomic {
		if
		:: pending && word == NAME_1 -> word = RECHECK; wake_own()
		:: pending && word != NAME_1 -> wake_own()
		:: !pending && !first_pending && word == NAME_1 ->
			word = RECHECK; wake_own()
		:: else
		fi;
		if :: first_word == NAME_1 -> first_word = RECHECK :: else fi;
		wake_one_at_first()
	};
out:	ended++
}

/* Wakes whoever sleeps on its word when it finds RECHECK there. */
proctype First() {
	if
	:: atomic { first_asleep && deaths < 3 ->
		deaths++; first_asleep = false }
	:: first_word == RECHECK && !first_asleep ->
		if
		:: atomic { deaths < 3 -> deaths++ }
		:: wake_all_at_first()
		fi
	fi
}

/* Grants the second sleep, and wakes by a call of its own if it is needed. */
proctype Granter() {
	bool asleep, pending = false;

	queued_again;
	atomic {
		if
		:: word == FREE || word == WAITERS ->
			asleep = (word == WAITERS); word = NAME_2
		fi
	};
	DIE;
	pending = true;
	word = DONE; DIE;
	atomic { if :: asleep -> wake_own() :: else fi };
	goto out;
killed:	atomic {
		if :: word == NAME_2 -> word = RECHECK :: else fi;
		wake_own()
	};
out:	ended++
}

proctype Sleeper() {
	/* The first sleep ends: woken, or by its timer. */
	at = NOWHERE;
	word == DONE || word == RECHECK;
	/* Under the object's lock: whether it may be moved, then queued. */
	timer = (n_requeuers > 0);
	word = FREE;
	queued_again = true;
	atomic {
		if
		:: word == FREE -> word = WAITERS; at = 0
		:: else
		fi
	};
end_asleep:
	if
	:: at == NOWHERE -> skip
	:: atomic { deaths < 3 -> deaths++; at = NOWHERE }
	fi
}

init {
	atomic { run Mover(); run First(); run Granter(); run Sleeper() }
	timeout ->
	atomic {
		assert(ended == 2);
		assert(at == NOWHERE || timer);
		assert(deaths > 0 || at == NOWHERE)
	}
}
