/* SPDX-License-Identifier: MIT
 *
 * lease: one message, a thread that sleeps for it, a sender that hands it over, a
 * handler that interrupts the thread before its call has returned and receives
 * too, another thread of its process that ends the process in order, and another
 * process that receives. The receiver's process may be killed anywhere, and so may
 * the sender.
 *
 * Models: lease_own, lease_ours, lease_orphans, undelivered
 * (object/lease.c); hand_over_leased (msg/msgqueue.c, mq/mqio.c); receive_wait
 * (msg/msgrecv.c), sleep_in (mq/mqwait.c); put_back (msg/msglease.c,
 * mq/mqlease.c). What is one journaled operation under the queue's lock is one
 * atomic step.
 *
 * Properties:
 * - the message is acknowledged only if the call has given it to the application
 *   (gone);
 * - it is in one place: nobody else gets it while its receiver lives (Other);
 * - once the process is gone the message is acknowledged, or somebody else can
 *   receive it (end).
 *
 * Faults: FAULT_1 FAULT_2 FAULT_3 FAULT_4
 * FAULT_1 a handler acknowledges what the call that it interrupted has
 * FAULT_2 the end of the process acknowledges what a sleeping thread was handed
 * FAULT_3 who looks takes a thread that is not to be seen for a process that is gone
 * FAULT_4 the message leaves its sender before it is in the receiver's record
 */

mtype = { SENDER, NOWHERE, QUEUE, HELD, GONE, OTHER };
mtype where = SENDER;
bool asleep = true; /* the receiver stands in the queue */
bool granted = false, named = true, copied = false, handled = false;
bool thread_ended = false;
bool killed = false, ended = false; /* the receiver's process */
bool sender_killed = false;
#define ALIVE (!killed && !ended)

/* hand_over_leased, or into the queue. */
proctype Sender() {
	if
	:: sender_killed = true
	:: atomic {
		where == SENDER && asleep && ALIVE ->
		asleep = false;
#ifdef FAULT_4
		where = NOWHERE
	   };
	   if
	   :: sender_killed = true; goto out
	   :: true
	   fi;
	   atomic { where = HELD; granted = true }
#else
		where = HELD; granted = true
	   }
#endif
	:: atomic { where == SENDER && (!asleep || !ALIVE) -> where = QUEUE }
	fi;
out:	skip
}

/* lease_own of a call in a handler. */
inline handler() {
	if
	:: !handled ->
		handled = true;
		atomic {
			if
#ifdef FAULT_1
			:: ALIVE && where == HELD -> where = GONE
#else
			:: ALIVE && where == HELD && !named -> where = GONE
#endif
			:: else
			fi
		}
	:: true
	fi
}

proctype Receiver() {
	if
	:: !ALIVE || sender_killed -> goto out
	:: granted
	fi;
	handler();
	if
	:: !ALIVE -> goto out
	:: ALIVE -> copied = true
	fi;
	handler();
	named = false;
	handler();
	/* It receives again, or ends, or neither. */
	if
	:: atomic { ALIVE && where == HELD -> where = GONE }
	:: thread_ended = true
	:: true
	fi;
out:	skip
}

/* lease_ours, and the process is gone. */
proctype Ends() {
	if
	:: true
	:: atomic {
		ALIVE ->
		if
#ifdef FAULT_2
		:: where == HELD -> where = GONE
#else
		:: where == HELD && named -> where = QUEUE
		:: where == HELD && !named -> where = GONE
#endif
		:: else
		fi;
		ended = true
	   }
	fi
}

proctype Killer() {
	if
	:: true
	:: atomic { ALIVE -> killed = true }
	fi
}

/* lease_orphans, and it receives. */
proctype Other() {
	do
	:: atomic {
		where == HELD &&
#ifdef FAULT_3
		(!ALIVE || thread_ended) ->
#else
		!ALIVE ->
#endif
		assert(!ALIVE);
		where = QUEUE
	   }
	:: atomic { where == QUEUE -> where = OTHER; break }
	:: where == GONE -> break
	:: timeout -> break
	od
}

init {
	atomic {
		run Sender(); run Receiver(); run Ends(); run Killer();
		run Other()
	}
	do
	:: where == GONE -> assert(copied); break
	:: timeout ->
		assert(where != NOWHERE);
		assert(ALIVE || where != HELD);
		break
	od
}
