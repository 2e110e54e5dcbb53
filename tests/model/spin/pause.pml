/* SPDX-License-Identifier: MIT
 *
 * pause: a wake pass over two sleepers, one in each hold of the lock, which
 * others may have in between (lock_pause). Sleeper 0 came when nobody slept and
 * has no timer; the first hold may let either through (another semaphore,
 * arrays). A fourth process takes the lock for something of its own. Any two may
 * be killed anywhere.
 *
 * That one of those granted is kept back makes the waker's death be noticed at
 * once; without it the timers do, so its absence is no fault here.
 *
 * Models: lock_pause (registry/lock.c); wait_pause_begin, wait_pause_end,
 * wait_grant, wait_flush (registry/wait.c); sem_pass, sem_lock_any,
 * class_recheck (sem/); sleep_pending, after_waker_death (object/sleep.c). The
 * removal of a set goes the same way, with header.removing for pass_pending.
 *
 * Properties:
 * - no living sleeper sleeps on after the commit, whoever was killed (Monitor);
 * - who takes the lock for something of its own finds no pass under way
 *   (Other);
 * - nobody waits for a word whose owner is gone (invalid end states).
 *
 * Faults: FAULT_1 FAULT_2 FAULT_3
 * FAULT_1 the lock is given back as after a whole operation, not marked
 * FAULT_2 whom the alarm named sleeps on over the pause
 * FAULT_3 whom the alarm named is not pending while it is woken
 */

#define FREE 0
#define ASLEEP 8
#define MARKED 9
#define DONE 10
#define QUEUED 1
#define GRANTED 2
#define NONE 2

/* Names: the waker is 1, sleeper s is s + 2, the other one 5. */
#define NAME(s) ((s) + 2)
#define IS_NAME(w) ((w) >= 1 && (w) <= 5)

byte lock = 0, deaths = 0;
bool died = false, committed = false, pending_pass = false;
byte state[2], word[2];
bool asleep[2], dead[2], timer[2], returned[2];
byte alarm_at = NONE; /* the waker's */
byte alarm_was;
bool promised[12]; /* name * 2 + sleeper */
byte pend[6];

#define DIE if :: atomic { deaths < 2 -> deaths++ }; goto killed :: true fi

inline take(me) {
	atomic { lock == 0 -> lock = me; died = false }
}
inline flush_one(me, s) {
	if
	:: promised[me * 2 + s] ->
		atomic { pend[me] = s + 1; promised[me * 2 + s] = false };
		DIE;
		word[s] = DONE; DIE;
		asleep[s] = false; pend[me] = 0
	:: else
	fi
}
/* All but the last one, which is kept. */
inline flush_most(me) {
	if
	:: kept == 1 -> flush_one(me, 0)
	:: kept == 0 -> flush_one(me, 1)
	:: else
	fi
}
inline alarm_let_go(me) {
	if
	:: me == 1 && alarm_at != NONE ->
#ifdef FAULT_2
		atomic { word[alarm_at] = alarm_was; alarm_at = NONE }
#else
#ifndef FAULT_3
		/* It is pending until it is awake. */
		pend[me] = alarm_at + 1; DIE;
#endif
		word[alarm_at] = MARKED; DIE;
		atomic { asleep[alarm_at] = false; pend[me] = 0; alarm_at = NONE }
#endif
	:: else
	fi
}
/* One of those that are queued and alive is let through; the operations are
 * told apart in alarm.pml. */
inline grant(me) {
	if
	:: state[0] == QUEUED && !dead[0] -> s = 0
	:: state[1] == QUEUED && !dead[1] -> s = 1
	:: else -> s = NONE
	fi;
	if
	:: s != NONE ->
		if
		:: me == 1 && alarm_at == s -> alarm_at = NONE
		:: else -> word[s] = me
		fi;
		promised[me * 2 + s] = true; DIE;
		state[s] = GRANTED; kept = s; DIE
	:: else
	fi
}
inline left(ret) {
	atomic {
		ret = (state[0] == QUEUED && !dead[0]) ||
			(state[1] == QUEUED && !dead[1])
	}
}
/* sem_pass: the lock is held. */
inline pass(me) {
	do
	:: !pending_pass -> break
	:: else ->
		grant(me);
		left(more);
		if
		:: !more ->
			pending_pass = false; DIE;
			if
			:: me == 1 && alarm_at != NONE ->
				atomic { word[alarm_at] = alarm_was; alarm_at = NONE }
			:: else
			fi
		:: else ->
			alarm_let_go(me); DIE;
#ifdef FAULT_1
			lock = 0;
#else
			atomic { lock = 0; died = true };
#endif
			DIE;
			flush_most(me); DIE;
			take(me); DIE
		fi
	od
}
inline give(me) {
	lock = 0; DIE;
	flush_one(me, 0); flush_one(me, 1)
}
inline mark(me, s) {
	atomic {
		if
		:: word[s] == me -> word[s] = MARKED; asleep[s] = false
		:: else
		fi
	}
}
inline kernel(me) {
	mark(me, 0); mark(me, 1);
	atomic {
		if
		:: pend[me] && !IS_NAME(word[pend[me] - 1]) ->
			asleep[pend[me] - 1] = false
		:: else
		fi;
		if :: lock == me -> lock = 0; died = true :: else fi
	}
}

proctype Waker() {
	byte s, kept = NONE;
	bool more;

	take(1); DIE;
	/* The oldest that is alive. */
	atomic {
		if
		:: !dead[0] -> alarm_at = 0
		:: dead[0] && !dead[1] -> alarm_at = 1
		:: else
		fi;
		if
		:: alarm_at != NONE ->
			alarm_was = word[alarm_at]; word[alarm_at] = 1
		:: else
		fi
	};
	DIE;
	atomic { committed = true; pending_pass = true }; DIE;
	pass(1);
	give(1);
	goto out;
killed:	kernel(1);
out:	skip
}

/* In the queue from the beginning. */
proctype Sleeper(byte me) {
	byte s, kept = NONE;
	bool more;

again:	if
	:: word[me] == DONE -> goto granted
	:: word[me] == MARKED -> goto look
	:: IS_NAME(word[me]) -> !IS_NAME(word[me]); goto again
	:: atomic { word[me] == FREE -> word[me] = ASLEEP }; goto again
	:: atomic { word[me] == ASLEEP -> asleep[me] = true };
end_sleep:	if
		:: !asleep[me] -> goto again
		:: atomic { deaths < 2 && asleep[me] -> deaths++ }; goto killed
		/* A slice is over: the lock is marked, and free. */
		:: timer[me] && asleep[me] && state[me] == QUEUED &&
		   lock == 0 && died -> asleep[me] = false; goto look
		fi
	fi;
look:	take(NAME(me)); DIE;
	pass(NAME(me));
	if
	:: word[me] == MARKED && state[me] == QUEUED -> word[me] = FREE
	:: word[me] == MARKED && state[me] != QUEUED -> word[me] = DONE
	:: else
	fi;
	DIE;
	give(NAME(me));
	goto again;
granted:
	assert(state[me] == GRANTED);
	returned[me] = true;
	goto out;
killed:	dead[me] = true;
	kernel(NAME(me));
out:	skip
}

/* Takes the lock as everybody does: first what a marked one leaves to be done. */
proctype Other() {
	byte s, kept = NONE;
	bool more, told;

	if
	:: committed
	:: true
	fi;
	atomic { lock == 0 -> lock = 5; told = died; died = false }; DIE;
	if
	:: told -> pass(5)
	:: else
	fi;
	assert(!pending_pass);
	give(5);
	goto out;
killed:	kernel(5);
out:	skip
}

init {
	atomic {
		state[0] = QUEUED; state[1] = QUEUED;
		timer[1] = true;
		run Waker(); run Sleeper(0); run Sleeper(1);
		run Other()
	}
	timeout ->
	atomic {
		assert(!committed || dead[0] || returned[0]);
		assert(!committed || dead[1] || returned[1])
	}
}
