/* SPDX-License-Identifier: MIT
 *
 * grant: direct hand-off. Two sleepers wait for a unit each, the first of them
 * twice; two wakers bring one each. Wakers are killed anywhere, both of them;
 * the second sleeper is killed, or interrupted by a signal, in its sleep.
 *
 * Models: wait_begin, wait_grant, wait_flush, wait_sleep, wait_for_waker,
 * wait_recheck (registry/wait.c); after_waker_death, leave_queue
 * (object/sleep.c); mq_notify_wait (mq/mqnotify.c); the kernel's
 * exit_robust_list. Recovery is one step: recover.pml looks into it.
 *
 * Properties:
 * - who returns was granted in this very sleep (assert in Sleeper);
 * - units are conserved: given = taken + value (Monitor);
 * - nobody sleeps who was granted, or who could go on (Monitor);
 * - nobody waits for a word whose owner is gone (invalid end states).
 *
 * Faults: FAULT_1 FAULT_2 FAULT_3 FAULT_4
 * FAULT_1 after a waker's death the sleeper overwrites whatever stands in its
 *	word, a living waker's name too
 * FAULT_2 a sleeper that finds itself granted when it leaves the queue does not
 *	wait for the waker's last store
 * FAULT_3 the grant is committed before the word is on the waker's list
 * FAULT_4 the word is not pending while it is marked done
 */

/* Of a word; a waker's name is its number, 1 or 2. */
#define FREE 0
#define ASLEEP 4
#define MARKED 8
#define DONE 9
/* Of a sleeper's record. */
#define IDLE 0
#define QUEUED 1
#define GRANTED 2

byte lock = 0;
bool died = false;
byte val = 0, given = 0, taken = 0, signals = 0;
byte state[2], word[2], stamp[2], next_stamp = 1;
bool asleep[2], dead[2];
/* The journal of each waker: its operation is under way, what it changed. */
bool jn[3];
byte jval[3], jstate0[3], jstate1[3];
byte pending[3]; /* sleeper + 1 */
bool gone[3];

#define IS_WAKER(w) ((w) == 1 || (w) == 2)

inline rollback(w) {
	if
	:: jn[w] && gone[w] ->
		val = jval[w]; state[0] = jstate0[w]; state[1] = jstate1[w];
		jn[w] = false
	:: else
	fi
}
inline take(me) {
	atomic {
		lock == 0 -> lock = me;
		if :: died -> rollback(1); rollback(2); died = false :: else fi
	}
}
/* Sleepers never die with the lock, so a plain store gives it back. */
inline give() { lock = 0 }

inline wake(s) { asleep[s] = false }

inline mark(me, s) {
	atomic {
		if :: word[s] == me -> word[s] = MARKED; wake(s) :: else fi
	}
}
inline kernel_pending(me) {
	atomic {
		if
		:: pending[me] && !IS_WAKER(word[pending[me] - 1]) ->
			wake(pending[me] - 1)
		:: else
		fi
	}
}

inline first_queued(ret) {
	atomic {
		ret = 2;
		if
		:: state[0] == QUEUED && !dead[0] &&
		   !(state[1] == QUEUED && !dead[1] && stamp[1] < stamp[0]) ->
			ret = 0
		:: else ->
			if
			:: state[1] == QUEUED && !dead[1] -> ret = 1
			:: else
			fi
		fi
	}
}

#define DIE if :: true -> goto killed :: true fi

proctype Waker(byte me) {
	byte s;

	take(me); DIE;
	first_queued(s);
	atomic {
		jval[me] = val; jstate0[me] = state[0]; jstate1[me] = state[1];
		jn[me] = true
	}
	if
	:: s == 2 -> val++; DIE; atomic { jn[me] = false; given++ }; DIE
	:: else ->
#ifndef FAULT_3
		word[s] = me; DIE;
#endif
		state[s] = GRANTED; DIE;
		atomic { jn[me] = false; given++ }; DIE;
#ifdef FAULT_3
		word[s] = me; DIE
#endif
	fi;
	give(); DIE;
	if
	:: s == 2
	:: else ->
#ifndef FAULT_4
		pending[me] = s + 1; DIE;
#endif
		word[s] = DONE; DIE;
		wake(s); DIE;
		pending[me] = 0
	fi;
	goto out;
killed:	/* the list, then what is pending; the lock comes last */
	mark(me, 0); mark(me, 1); kernel_pending(me);
out:	atomic {
		gone[me] = true;
		if :: lock == me -> lock = 0; died = true :: else fi
	}
}

proctype Sleeper(byte me; byte times; bool mortal) {
	byte name = 10 + me;
	bool leaving;

	do
	:: times == 0 -> break
	:: else ->
		times--;
		leaving = false;
		take(name);
		if
		:: val > 0 -> atomic { val--; taken++ }; give()
		:: else ->
			word[me] = FREE;
			atomic {
				state[me] = QUEUED;
				stamp[me] = next_stamp; next_stamp++
			}
			give();
again:			if
			:: word[me] == DONE -> goto granted
			:: word[me] == MARKED ->
				take(name);
				atomic {
#ifdef FAULT_1
					if
#else
					if
					:: word[me] != MARKED
#endif
					:: word[me] == MARKED && state[me] == QUEUED -> word[me] = FREE
					:: word[me] == MARKED && state[me] != QUEUED -> word[me] = DONE
#ifdef FAULT_1
					:: word[me] != MARKED && state[me] == QUEUED -> word[me] = FREE
					:: word[me] != MARKED && state[me] != QUEUED -> word[me] = DONE
#endif
					fi
				}
				give();
				goto again
			:: IS_WAKER(word[me]) ->
				!IS_WAKER(word[me]);
				goto again
			:: atomic { word[me] == FREE -> word[me] = ASLEEP };
				goto again
			:: atomic { word[me] == ASLEEP -> asleep[me] = true };
end_sleep:			if
				:: !asleep[me] -> goto again
				:: atomic { mortal && asleep[me] -> dead[me] = true };
					goto out
				:: atomic { signals < 1 && asleep[me] -> signals++ };
					goto leave
				fi
			fi;
leave:			take(name);
			if
			:: state[me] == QUEUED ->
				atomic { state[me] = IDLE; word[me] = DONE; leaving = true };
				give()
			:: else ->
				give();
#ifndef FAULT_2
				!IS_WAKER(word[me])
#endif
			fi;
			asleep[me] = false;
granted:		if
			:: leaving
			:: else ->
				assert(state[me] == GRANTED);
				atomic { state[me] = IDLE; taken++ }
			fi
		fi
	od;
out:	skip
}

init {
	atomic {
		run Waker(1); run Waker(2);
		run Sleeper(0, 2, false); run Sleeper(1, 1, true)
	}
	/* Nothing moves any more. */
	timeout ->
	atomic {
		assert(gone[1] && gone[2]);
		/* What a killed waker left half done before anybody slept. */
		if :: died -> rollback(1); rollback(2) :: else fi;
		assert(dead[0] || !(asleep[0] && state[0] != QUEUED));
		assert(dead[1] || !(asleep[1] && state[1] != QUEUED));
		assert(!(val > 0 && ((state[0] == QUEUED && !dead[0]) ||
			(state[1] == QUEUED && !dead[1]))));
		/* Granted to the dead: lost with it, as in the kernel. */
		assert(given == taken + val + (dead[1] && state[1] == GRANTED))
	}
}
