/* SPDX-License-Identifier: MIT
 *
 * herd: three sleepers are woken that were granted in one hold of the lock.
 * Sleeper 0 has no timer and is woken by a call of its own; sleeper 2 is moved
 * to the word of sleeper 1, and one call wakes both. Sleeper 1 may be awake
 * already, or wake by itself (a signal). Any two of the processes may be killed
 * anywhere.
 *
 * Models: wake_herd, wake_requeued, wait_recheck, wait_end (registry/wait.c);
 * FUTEX_CMP_REQUEUE; the kernel's exit_robust_list.
 *
 * Properties, when nothing moves any more (Monitor):
 * - nobody sleeps, if no sleeper was killed: nobody has needed a timer;
 * - who has no timer does not sleep, whoever was killed;
 * - no word has the name of the waker.
 *
 * Faults: FAULT_1 FAULT_2 FAULT_3 FAULT_4
 * FAULT_1 the word of sleeper 1 is done at once, like the others
 * FAULT_2 who finds that there is something to look for wakes nobody
 * FAULT_3 who has no timer is moved, too
 * FAULT_4 the word of a moved one is not pending while it is marked done
 */

#define NAME 1
#define RECHECK 9
#define DONE 10
#define NOWHERE 7

byte word[3] = NAME;
byte at[3]; /* the word that it sleeps on */
bool dead[3], listed[3] = true;
byte most = 2, pend = NOWHERE, deaths = 0, sleepers_killed = 0;
bool gone = false;

#define DIE if :: atomic { deaths < most -> deaths++ }; goto killed :: true fi

inline wake_all(w) {
	atomic {
		if :: at[0] == w -> at[0] = NOWHERE :: else fi;
		if :: at[1] == w -> at[1] = NOWHERE :: else fi;
		if :: at[2] == w -> at[2] = NOWHERE :: else fi
	}
}
/* The first one that came there: its own sleeper, if it is still there. */
inline wake_first(w) {
	if
	:: at[w] == w -> at[w] = NOWHERE
	:: else ->
		if
		:: at[2] == w -> at[2] = NOWHERE
		:: at[2] != w && at[0] == w -> at[0] = NOWHERE
		:: else
		fi
	fi
}
inline last_store(s, value) {
#ifdef FAULT_4
	listed[s] = false;
#else
	atomic { pend = s; listed[s] = false };
#endif
	DIE;
	word[s] = value; DIE
}
inline move(s) {
	last_store(s, DONE);
	atomic {
		if :: at[s] == s && word[s] == DONE -> at[s] = 1 :: else fi
	};
	DIE
}
inline mark(s) {
	atomic {
		if
		:: listed[s] && pend != s && word[s] == NAME ->
			word[s] = RECHECK; wake_first(s)
		:: else
		fi
	}
}

proctype Waker() {
#ifdef FAULT_3
	move(0);
#else
	last_store(0, DONE);
	atomic { wake_first(0) }; DIE;
#endif
	move(2);
#ifdef FAULT_1
	last_store(1, DONE);
#else
	last_store(1, RECHECK);
#endif
	wake_all(1); DIE;
	pend = NOWHERE;
	goto out;
killed:	mark(0); mark(1); mark(2);
	atomic {
		if
		:: pend != NOWHERE && word[pend] == NAME ->
			word[pend] = RECHECK; wake_first(pend)
		:: pend != NOWHERE && word[pend] != NAME -> wake_first(pend)
		:: else
		fi
	};
out:	gone = true
}

/* Asleep with a timer, a third one having died: a valid end. */
proctype Sleeper(byte me) {
end_asleep:
	do
	:: atomic { at[me] != NOWHERE && deaths < most ->
		deaths++; sleepers_killed++; at[me] = NOWHERE; dead[me] = true };
		goto out
	:: atomic { me == 1 && at[me] != NOWHERE -> at[me] = NOWHERE } /* signal */
	:: at[me] == NOWHERE ->
		if
		:: word[me] == DONE -> goto out
		:: word[me] == RECHECK ->
			if
			:: atomic { deaths < most ->
				deaths++; sleepers_killed++; dead[me] = true };
				goto out
			:: true
			fi;
#ifndef FAULT_2
			wake_all(me);
#endif
			word[me] = DONE
		:: word[me] == NAME -> word[me] != NAME
		fi
	od;
out:	skip
}

init {
	atomic {
		if :: most = 1 :: most = 2 :: most = 0 fi;
		at[0] = 0; at[1] = 1; at[2] = 2;
		run Waker(); run Sleeper(0); run Sleeper(1); run Sleeper(2)
	}
	timeout ->
	atomic {
		assert(gone);
		assert(dead[0] || (at[0] == NOWHERE && word[0] == DONE));
		assert(sleepers_killed || (at[1] == NOWHERE && at[2] == NOWHERE));
		assert(word[0] != NAME && word[1] != NAME && word[2] != NAME)
	}
}
