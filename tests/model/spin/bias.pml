/* SPDX-License-Identifier: MIT
 *
 * bias: an object is biased to P, which enters by plain stores that go through
 * a store buffer (sb; Flush empties it), does an operation of two journaled
 * words, and does another one, by the lock if the bias is gone by then. A takes
 * the lock, revokes, operates, and may be killed after any of its stores. B does
 * the same after it, and is not killed.
 *
 * Models: bias_enter, bias_journal_begin, bias_leave, bias_revoke with
 * barrier_refused (registry/bias.h, bias.c), lock_recover_biased, lock_acquire,
 * lock_release (lock.c), recover_lock (lock.c), the kernel's mark
 * OWNER_DIED on a lock's word and on bias_word.
 *
 * Property: x + y is 0 once all are done: no operation is half done, rolled back
 * under a thread that lives, or lost. And nobody waits for ever.
 *
 * That a store is out of the buffer after BARRIER_NS is an assumption here, not
 * a result: REFUSED waits until it is empty, as the barrier does.
 *
 * Variants: P_DIES REFUSED P_DIES+REFUSED
 * Faults: FAULT_1 FAULT_2 FAULT_3 FAULT_4+P_DIES FAULT_5
 * FAULT_1 what a bias lists in the journal looks like a held lock
 * FAULT_2 membarrier is refused and nothing done about it
 * FAULT_3 the revoker does not wait until the owner is out
 * FAULT_4 the journal of a bias owner that died inside is not rolled back
 * FAULT_5 the bias is ended before the owner is out (and the revoker dies)
 */

mtype = { X, Y, OLD_X, OLD_Y, N, LIST, BUSY };
chan sb = [12] of { mtype, short };

#define HELD 1
#ifdef FAULT_1
#define BIASED HELD
#else
#define BIASED 2
#endif
/* Of slot.bias: P's, or being revoked. */
#define OWN 1
#define REVOKING 3
/* Of bias_at and bias_word, which are one here. */
#define INSIDE 1
#define DIED 2
/* Threads. */
#define ID_P 1
#define ID_A 2
#define ID_B 3

short x = 0, y = 0;
byte bias = OWN, busy = 0;
byte word = 0;		/* the lock's: a thread */
bool owner_died = false;
byte name = ID_P;	/* lock.journal: P had it when it was biased */
/* P's journal and A's. B's is never looked at. */
short p_n = 0, p_list = 0, p_old_x, p_old_y;
short a_n = 0, a_list = 0, a_old_x, a_old_y;
/* Stores of P's that it sees already and others do not. */
byte in_x = 0, in_y = 0;
bool p_ended = false, a_ended = false;

active proctype Flush() {
	mtype what;
	short v;

end:	do
	:: atomic { sb?what,v ->
		if
		:: what == X -> x = v; in_x--
		:: what == Y -> y = v; in_y--
		:: what == OLD_X -> p_old_x = v
		:: what == OLD_Y -> p_old_y = v
		:: what == N -> p_n = v
		:: what == LIST -> p_list = v
		:: what == BUSY -> busy = v
		fi }
	od
}

inline barrier() {
#ifdef REFUSED
	/* biasing ends; BARRIER_NS pass */
	empty(sb)
#else
#ifdef FAULT_2
	skip
#else
	empty(sb)
#endif
#endif
}

#define A_MAY_DIE if :: atomic { true -> word = 0; owner_died = true; \
	goto gone } :: skip fi
#define MAY_DIE(me) if :: me == ID_A -> A_MAY_DIE :: else fi

/* With the lock held by another than P. */
inline revoke(me) {
	if
	:: bias != 0 ->
		bias = REVOKING;
#ifdef FAULT_5
		bias = 0;
#endif
		MAY_DIE(me);
		barrier();
		MAY_DIE(me);
#ifndef FAULT_3
		busy != INSIDE;
#endif
		if
		:: busy == DIED ->
#ifndef FAULT_4
			if
			:: p_n > 0 && p_list == BIASED ->
				x = p_old_x;
				MAY_DIE(me);
				y = p_old_y;
				MAY_DIE(me);
				p_n = 0
			:: else
			fi;
#endif
			MAY_DIE(me);
			busy = 0
		:: else
		fi;
		bias = 0
	:: else
	fi
}

inline recover() {
	if
	:: owner_died ->
		if
		:: name == ID_P ->
			if
			:: p_n > 0 && p_list == HELD ->
				x = p_old_x; y = p_old_y; p_n = 0
			:: else
			fi
		:: name == ID_A ->
			if
			:: a_n > 0 && a_list == HELD ->
				x = a_old_x; y = a_old_y; a_n = 0
			:: else
			fi
		:: else
		fi;
		owner_died = false
	:: else
	fi
}

inline take(me) { atomic { word == 0 -> word = me } }

#ifdef P_DIES
/* Entering the kernel to die empties the store buffer. */
#define P_MAY_DIE if :: atomic { empty(sb) -> \
	if :: busy == INSIDE -> busy = DIED :: else fi; goto dead } :: skip fi
#else
#define P_MAY_DIE skip
#endif

active proctype P() {
	short t_x = 0, t_y = 0;
	byte i = 0;

	do
	:: i < 2 ->
		i++;
		sb!BUSY,INSIDE;
		P_MAY_DIE;
		if
		:: bias != OWN -> sb!BUSY,0; goto by_lock
		:: else
		fi;
		sb!LIST,BIASED;
		/* What it has stored itself it sees at once. */
		if :: atomic { in_x == 0 -> t_x = x } :: in_x > 0 fi;
		if :: atomic { in_y == 0 -> t_y = y } :: in_y > 0 fi;
		sb!OLD_X,t_x;
		sb!OLD_Y,t_y;
		sb!N,1;
		P_MAY_DIE;
		t_x = t_x - 1;
		atomic { in_x++; sb!X,t_x };
		P_MAY_DIE;
		t_y = t_y + 1;
		atomic { in_y++; sb!Y,t_y };
		P_MAY_DIE;
		sb!N,0;
		sb!LIST,0;
		P_MAY_DIE;
		sb!BUSY,0
	:: else -> goto dead
	od;
by_lock:
	/* A locked instruction empties the buffer. */
	empty(sb);
	take(ID_P);
	p_list = HELD;
	recover();
	name = ID_P;
	bias = 0;	/* BIAS_OWN: nobody can be inside */
	p_old_x = x; p_old_y = y; p_n = 1;
	x = x - 1;
	y = y + 1;
	p_n = 0;
	p_list = 0;
	word = 0;
dead:	p_ended = true
}

active proctype A() {
	take(ID_A);
	A_MAY_DIE;
	a_list = HELD;
	A_MAY_DIE;
	recover();
	name = ID_A;
	A_MAY_DIE;
	revoke(ID_A);
	A_MAY_DIE;
	a_old_x = x; a_old_y = y; a_n = 1;
	A_MAY_DIE;
	x = x + 5;
	A_MAY_DIE;
	y = y - 5;
	A_MAY_DIE;
	a_n = 0;
	A_MAY_DIE;
	a_list = 0;
	word = 0;
gone:	a_ended = true
}

active proctype B() {
	short t;

	a_ended;
	take(ID_B);
	recover();
	name = ID_B;
	revoke(ID_B);
	t = x; x = t + 7;
	t = y; y = t - 7;
	word = 0;
	p_ended && empty(sb);
	assert(x + y == 0);
gone:	skip
}
