// SPDX-License-Identifier: MIT
/*
 * Probes that bpftrace, perf and systemtap find in the library (USDT): each is
 * a nop and an ELF note, where a call waits, is refused or finds that a thread
 * has died. Without systemtap's header, whose macros they are, there are none.
 * Arguments are computed even if nobody traces, so only values that exist
 * anyway are passed.
 *
 * Provider ipclift:
 *   sem_wait        id, number, sem_op, pid of the last operation on it
 *   sem_granted     id, number, result: 0 or a negative errno
 *   msg_wait        id, 1 if for space (a sender), 0 if for a message, type
 *   msg_granted     id, result
 *   mq_wait         index, 1 if for space, 0 if for a message
 *   mq_granted      index, result
 *   lock_contended  tid that holds it, offset in the registry
 *   limit           name, its value, what was asked for (0: one more)
 *   death           tid of a dead owner whose operation is finished
 *   undo            pid of a dead process whose SEM_UNDO is applied
 * A result of the library's own, SLEEP_RETRY of object/sleep.h, is -4095.
 */
#ifndef IPCLIFT_BASE_USDT_H
#define IPCLIFT_BASE_USDT_H

#ifdef IPCLIFT_USDT
#include <sys/sdt.h>
#define USDT1(name, a) STAP_PROBE1(ipclift, name, a)
#define USDT2(name, a, b) STAP_PROBE2(ipclift, name, a, b)
#define USDT3(name, a, b, c) STAP_PROBE3(ipclift, name, a, b, c)
#define USDT4(name, a, b, c, d) STAP_PROBE4(ipclift, name, a, b, c, d)
#else
#define USDT1(name, a) ((void)(a))
#define USDT2(name, a, b) ((void)(a), (void)(b))
#define USDT3(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#define USDT4(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#endif

#endif
