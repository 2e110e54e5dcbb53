/* SPDX-License-Identifier: MIT
 *
 * bias_again: the lock is biased to X, then to Y, perhaps to X again: each goes
 * in by its bias, or takes the lock, revokes the other's, operates, and may
 * have the lock biased to it. So a thread that has seen its bias may store long
 * after it was taken back. With X_DIES X may be killed between any two stores
 * while it holds no lock; the kernel marks what is pending.
 *
 * Models: bias_enter, bias_leave, bias_go_in, bias_go_out, bias_look,
 * bias_grant (registry/bias.h), bias_revoke, wait_until_out (bias.c). The store
 * buffer is that of bias.pml.
 *
 * Property: nobody is in the object beside another one; only a dead owner's
 * operation is rolled back; nobody waits for ever.
 *
 * Variants: X_DIES
 * Faults: FAULT_1 FAULT_2+X_DIES FAULT_3+X_DIES
 * FAULT_1 the tid is stored in the slot, and the revoker waits for it to be 0
 * FAULT_2 it is the slot's word that the kernel marks, not the owner's own
 * FAULT_3 the mark is not looked at
 */

#define X 1
#define Y 2
#define DIED 9
#define REVOKING 4

#ifdef FAULT_1
#define WORD(t) busy
#else
#ifdef FAULT_2
#define WORD(t) busy
#else
#define WORD(t) mark[t]
#endif
#endif

byte bias = X, busy = 0, word = 0, inside = 0;
byte mark[3];		/* thread.bias_word */
bool at[3], dead[3];
byte pending = 0;	/* X's list_op_pending is its WORD */

#ifdef X_DIES
#define MAY_DIE if :: atomic { me == X -> dead[X] = true; \
	if :: pending && WORD(X) == X -> WORD(X) = DIED :: else fi; \
	goto gone } :: skip fi
/* Inside: what it has not committed is rolled back before anybody goes in. */
#define MAY_DIE_INSIDE if :: atomic { me == X -> dead[X] = true; inside--; \
	if :: pending && WORD(X) == X -> WORD(X) = DIED :: else fi; \
	goto gone } :: skip fi
#else
#define MAY_DIE skip
#define MAY_DIE_INSIDE skip
#endif

inline go_in() { inside++; assert(inside == 1) }

inline leave() {
	at[me] = false;
	MAY_DIE;
	WORD(me) = 0;
	if :: me == X -> pending = 0 :: else fi
}

inline wait_until_out() {
#ifdef FAULT_1
	busy == 0 || busy == DIED
#else
#ifdef FAULT_3
	!at[owner]
#else
	if
	:: !at[owner]
	:: at[owner] && WORD(owner) == DIED -> assert(dead[owner])
	fi
#endif
#endif
}

proctype Thread(byte me) {
	byte i = 0, owner;

	do
	:: i < 3 ->
		i++;
		MAY_DIE;
		if :: bias != me -> goto by_lock :: bias == me fi;
		MAY_DIE;
		if :: me == X -> pending = 1 :: else fi;
		WORD(me) = me;
		MAY_DIE;
		at[me] = true;
		MAY_DIE;
		if
		:: bias == me ->
			go_in();
			MAY_DIE_INSIDE;
			inside--;
			leave();
			goto next
		:: else -> leave()
		fi;
by_lock:	atomic { word == 0 -> word = me };
		owner = bias & 3;
		if
		:: owner != 0 && owner != me ->
			bias = owner | REVOKING;
			wait_until_out();
#ifdef FAULT_2
			if :: busy == DIED -> busy = 0 :: else fi
#endif
		:: else
		fi;
		bias = 0;
		go_in();
		inside--;
		if :: bias = me :: skip fi;
		word = 0;
next:		skip
	:: else -> break
	od;
gone:	skip
}

init { atomic { run Thread(X); run Thread(Y) } }
