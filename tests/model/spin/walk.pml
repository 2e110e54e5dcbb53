/* SPDX-License-Identifier: MIT
 *
 * walk: the kernel walks the robust list of a waker that was killed under the
 * object's lock, while others go on with the words that stand on it. The list
 * is: the word of a queued sleeper (an alarm, or a grant not yet committed), and
 * behind it what must be found: lifeline, robust mutexes of the application.
 * The lock stands in front (LOCK_FIRST: a lock under it was wanted, so it had
 * to go on the list), or is pending and comes last.
 *
 * Models: obligation_begin, wait_crash_guard (registry/wait.c);
 * leave_queue (object/sleep.c);
 * lock_acquire's robust_push; exit_robust_list of the kernel, which reads a
 * node's next before it marks the word, one node after the other.
 *
 * Property: all that stands on the dead one's list is marked (Kernel); nobody
 * waits for ever (invalid end states).
 *
 * Variants: LOCK_FIRST
 * Faults: FAULT_1+LOCK_FIRST FAULT_2+LOCK_FIRST
 * FAULT_1 obligation_begin() pushes a word that carries another's name
 * FAULT_2 the sleeper leaves the queue over another's name, and sleeps anew
 */

/* Nodes, and the heads of the two wakers' lists. */
#define LOCK 0
#define WORD 1
#define LIFE 2
#define HEAD1 3
#define HEAD2 4
/* Of the word. */
#define FREE 0
#define MARKED 9
#define DONE 10

byte next[5], word = 1, lock = 1;
bool life_marked = false, leaves = false, granted = false;

active proctype Kernel() {
	byte at, then;

	atomic {
#ifdef LOCK_FIRST
		next[HEAD1] = LOCK; next[LOCK] = WORD;
#else
		next[HEAD1] = WORD;
#endif
		next[WORD] = LIFE; next[LIFE] = HEAD1;
		next[HEAD2] = HEAD2
	};
	at = next[HEAD1];
	do
	:: at == HEAD1 || at == HEAD2 -> break
	:: else ->
		then = next[at];
		if
		:: at == LOCK -> lock = 0
		:: at == WORD ->
			atomic { if :: word == 1 -> word = MARKED :: else fi }
		:: at == LIFE -> life_marked = true
		fi;
		at = then
	od;
#ifndef LOCK_FIRST
	lock = 0;	/* pending */
#endif
	assert(life_marked)
}

/* The next owner of the lock, which lets the sleeper through. */
active proctype Waker() {
	atomic { lock == 0 -> lock = 2 };
#ifndef FAULT_1
	word == 2 || word == FREE || word == MARKED || word == DONE;
#endif
	next[WORD] = next[HEAD2];
	next[HEAD2] = WORD;
	word = 2;
	lock = 0;
	next[HEAD2] = next[WORD];
	atomic { word = DONE; granted = true }
}

/* Is interrupted, and sleeps again. */
active proctype Sleeper() {
	if
	:: atomic { lock == 0 -> lock = 3 };
		if
		:: granted || word == 2 -> lock = 0
		:: else ->
#ifndef FAULT_2
			word != 1;
#endif
			word = FREE;
			lock = 0
		fi
	:: true
	fi
}
