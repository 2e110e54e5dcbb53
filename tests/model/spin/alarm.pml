/* SPDX-License-Identifier: MIT
 *
 * alarm: one operation lets two sleepers through, by one operation each after
 * its commit: a wake pass. Sleeper 0 came when nobody slept, and sleeps without
 * a timer; sleeper 1 came later and looks for itself now and then. The waker
 * and either sleeper may be killed anywhere, two of the three.
 *
 * Models: wait_crash_guard, wait_crash_guard_end, wait_grant, wait_flush (registry/wait.c);
 * sem_crash_guard, sem_pass, sem_lock_any (sem/); msgqueue_crash_guard, msgqueue_wake
 * (msg/msgqueue.c); is_pending, after_waker_death (object/sleep.c).
 * With REMOVAL: class_crash_guard, class_empty, finish_removal of an IPC_RMID.
 *
 * Properties:
 * - no living sleeper sleeps on after the commit, whoever was killed (Monitor);
 * - units are conserved (Monitor);
 * - nobody waits for a word whose owner is gone (invalid end states).
 *
 * Variants: REMOVAL
 * Faults: FAULT_1 FAULT_2 FAULT_3 FAULT_4 FAULT_1+REMOVAL FAULT_2+REMOVAL
 * FAULT_1 sleeper 1 does not look for itself
 * FAULT_2 nobody is alarmed
 * FAULT_3 sleeper 1 is alarmed, not the oldest
 * FAULT_4 the alarm ends before the pass
 */

#define FREE 0
#define ASLEEP 8
#define MARKED 9
#define DONE 10
#define IDLE 0
#define QUEUED 1
#define GRANTED 2
#define NONE 2

/* Names: the waker is 1, sleeper s is s + 2. */
#define NAME(s) ((s) + 2)
#define IS_NAME(w) ((w) >= 1 && (w) <= 3)

byte lock = 0, deaths = 0;
bool died = false, committed = false, pass_pending = false;
byte val = 0;
byte state[2], word[2];
bool asleep[2], dead[2], returned[2];
/* Of the operation under way: one at a time, they have the lock. */
bool jn = false;
byte jval, jstate, jslot;
/* By name. */
byte alarm_at[4] = NONE, alarm_was[4], pending[4];
bool promised[8]; /* name * 2 + sleeper */

inline take(me) {
	atomic {
		lock == 0 -> lock = me;
		recover = died;
		if
		:: died && jn -> val = jval; state[jslot] = jstate; jn = false
		:: else
		fi;
		died = false
	}
}
inline alarm_end(me) {
	if
	:: alarm_at[me] != NONE ->
		atomic { word[alarm_at[me]] = alarm_was[me]; alarm_at[me] = NONE }
	:: else
	fi
}
#define DIE if :: atomic { deaths < 2 -> deaths++ }; goto killed :: true fi
#ifdef REMOVAL
#define LETS_THROUGH true
#else
#define LETS_THROUGH (val > 0)
#endif

/* Let sleeper s through, if it can go on. */
inline try(me, s) {
	if
	:: state[s] == QUEUED && !dead[s] && LETS_THROUGH ->
		atomic { jval = val; jstate = state[s]; jslot = s; jn = true };
		if
		:: alarm_at[me] == s -> alarm_at[me] = NONE
		:: else -> word[s] = me
		fi;
		promised[me * 2 + s] = true; DIE;
		if :: val > 0 -> val-- :: else fi;
		state[s] = GRANTED; DIE;
		jn = false; DIE
	:: else
	fi
}
inline pass(me) {
	try(me, 0); try(me, 1);
	pass_pending = false; DIE;
	alarm_end(me)
}
inline flush_one(me, s) {
	if
	:: promised[me * 2 + s] ->
		atomic { pending[me] = s + 1; promised[me * 2 + s] = false }; DIE;
		word[s] = DONE; DIE;
		asleep[s] = false; pending[me] = 0
	:: else
	fi
}
/* Outermost release, and the wake-ups behind it. */
inline give(me) {
	lock = 0; DIE;
	flush_one(me, 0); flush_one(me, 1)
}
inline mark(me, s) {
	atomic {
		if :: word[s] == me -> word[s] = MARKED; asleep[s] = false :: else fi
	}
}
inline kernel(me) {
	mark(me, 0); mark(me, 1);
	atomic {
		if
		:: pending[me] && !IS_NAME(word[pending[me] - 1]) ->
			asleep[pending[me] - 1] = false
		:: else
		fi;
		if :: lock == me -> lock = 0; died = true :: else fi
	}
}

proctype Waker() {
	bool recover;

	take(1); DIE;
#ifndef FAULT_2
	/* The oldest that is alive. */
	atomic {
		if
#ifdef FAULT_3
		:: !dead[1] -> alarm_at[1] = 1
		:: dead[1] && !dead[0] -> alarm_at[1] = 0
#else
		:: !dead[0] -> alarm_at[1] = 0
		:: dead[0] && !dead[1] -> alarm_at[1] = 1
#endif
		:: else
		fi;
		if
		:: alarm_at[1] != NONE ->
			alarm_was[1] = word[alarm_at[1]]; word[alarm_at[1]] = 1
		:: else
		fi
	};
	DIE;
#endif
	atomic {
		committed = true;
#ifndef REMOVAL
		val = 2;
#endif
		pass_pending = true
	};
	DIE;
#ifdef FAULT_4
	alarm_end(1); DIE;
#endif
	pass(1);
	give(1);
	goto out;
killed:	kernel(1);
out:	skip
}

/* In the queue from the beginning. */
proctype Sleeper(byte me) {
	bool recover;

again:	if
	:: word[me] == DONE -> goto granted
	:: word[me] == MARKED -> goto look
	:: IS_NAME(word[me]) -> !IS_NAME(word[me]); goto again
	:: atomic { word[me] == FREE -> word[me] = ASLEEP }; goto again
	:: atomic { word[me] == ASLEEP -> asleep[me] = true };
end_sleep:	if
		:: !asleep[me] -> goto again
		:: atomic { deaths < 2 && asleep[me] -> deaths++ }; goto killed
#ifndef FAULT_1
		/* A slice is over, and there is something to look after. */
		:: me == 1 && asleep[me] && state[me] == QUEUED && lock == 0 &&
#ifdef REMOVAL
		   committed
#else
		   died
#endif
		   -> asleep[me] = false; goto look
#endif
		fi
	fi;
look:	take(NAME(me)); DIE;
	if
#ifdef REMOVAL
	:: committed && state[me] == QUEUED -> pass(NAME(me))
#else
	:: recover && pass_pending -> pass(NAME(me))
#endif
	:: else
	fi;
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

init {
	atomic {
		state[0] = QUEUED; state[1] = QUEUED;
		run Waker(); run Sleeper(0); run Sleeper(1)
	}
	timeout ->
	atomic {
		assert(!committed || dead[0] || returned[0]);
		assert(!committed || dead[1] || returned[1]);
#ifndef REMOVAL
		/* What it would be after recovery. */
		if :: died && jn -> val = jval; state[jslot] = jstate :: else fi;
		assert(!committed || val + (state[0] == GRANTED) +
			(state[1] == GRANTED) == 2)
#endif
	}
}
