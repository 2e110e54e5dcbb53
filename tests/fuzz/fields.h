// SPDX-License-Identifier: MIT
/*
 * The fields of a registry that mutate.c damages, by struct, as layout.h has
 * them; for it alone. tests/fields.py says what is left out, and why; and of a
 * segment its pages are.
 */
#ifndef IPCLIFT_TESTS_FUZZ_FIELDS_H
#define IPCLIFT_TESTS_FUZZ_FIELDS_H

#include "mutate.h"

#define FIELD(type, member, kind)                                           \
	{                                                                   \
#type "." #member, (uint32_t)offsetof(struct type, member), \
			(uint32_t)sizeof(((struct type *)0)->member), kind  \
	}
#define END_OF_FIELDS \
	{             \
		0     \
	}

#define LOCK_FIELDS(type, at) \
	FIELD(type, at.word, K_LOCK), FIELD(type, at.journal, K_THREAD)

static const struct field header_fields[] = {FIELD(header, profiling, K_ANY),
	FIELD(header, control_open, K_ANY),
	LOCK_FIELDS(header, fac_lock[0].lock),
	LOCK_FIELDS(header, fac_lock[1].lock),
	LOCK_FIELDS(header, fac_lock[2].lock),
	LOCK_FIELDS(header, fac_lock[3].lock),
	LOCK_FIELDS(header, repair_lock.lock),
	LOCK_FIELDS(header, control_lock.lock), LOCK_FIELDS(header, heap.lock),
	FIELD(header, on_disk, K_COUNT), FIELD(header, thread_high, K_COUNT),
	FIELD(header, thread_hint, K_THREAD), FIELD(header, unmarked, K_COUNT),
	FIELD(header, event_seq, K_COUNT), FIELD(header, removing[0], K_IDX),
	FIELD(header, removing[1], K_IDX), FIELD(header, removing[2], K_IDX),
	FIELD(header, removing[3], K_IDX), FIELD(header, mq_orphans, K_IDX),
	FIELD(header, mq_fifo[0], K_ANY),
	FIELD(header, control_taken.from, K_COUNT),
	FIELD(header, limits.semmsl, K_COUNT),
	FIELD(header, limits.semopm, K_COUNT),
	FIELD(header, limits.msgmax, K_COUNT),
	FIELD(header, limits.mq_queues_max, K_COUNT), END_OF_FIELDS};
static const struct field heap_fields[] = {FIELD(heap, bump, K_REF),
	FIELD(heap, used, K_COUNT), FIELD(heap, large, K_COUNT),
	FIELD(heap, keep, K_COUNT), FIELD(heap, free_head[0], K_REF),
	FIELD(heap, free_head[1], K_REF), FIELD(heap, free_head[4], K_REF),
	FIELD(heap, free_head[7], K_REF), FIELD(heap, free_head[19], K_REF),
	FIELD(heap, free_head[39], K_REF), END_OF_FIELDS};
static const struct field span_fields[] = {FIELD(heap_span, state, K_COUNT),
	FIELD(heap_span, class, K_COUNT), FIELD(heap_span, next, K_COUNT),
	FIELD(heap_span, prev, K_COUNT), END_OF_FIELDS};
static const struct field slabs_fields[] = {
	FIELD(msg_slabs, partial[0], K_LINK),
	FIELD(msg_slabs, partial[1], K_LINK), FIELD(msg_slabs, full[0], K_LINK),
	FIELD(msg_slabs, idle[0], K_LINK), FIELD(msg_slabs, moving, K_REF),
	END_OF_FIELDS};
static const struct field shm_state_fields[] = {FIELD(shm_state, near, K_REF),
	FIELD(shm_state, far, K_REF), FIELD(shm_state, reserved, K_COUNT),
	FIELD(shm_state, pool, K_COUNT), FIELD(shm_state, next_run, K_REF),
	FIELD(shm_state, dest, K_IDX), FIELD(shm_state, home, K_ANY),
	FIELD(shm_state, bare[3], K_REF), FIELD(shm_state, kept[3], K_REF),
	FIELD(shm_state, kept[7], K_REF), END_OF_FIELDS};
static const struct field ids_fields[] = {FIELD(id_table, in_use, K_COUNT),
	FIELD(id_table, seq, K_COUNT), FIELD(id_table, last_idx, K_COUNT),
	FIELD(id_table, cursor, K_COUNT), FIELD(id_table, next_id, K_COUNT),
	FIELD(id_table, max_idx, K_COUNT), FIELD(id_table, n_keys, K_COUNT),
	FIELD(id_table, n_buckets, K_COUNT), FIELD(id_table, key_seq, K_COUNT),
	FIELD(id_table, slots_ready, K_COUNT), FIELD(id_table, pages[0], K_ANY),
	END_OF_FIELDS};
static const struct field task_fields[] = {FIELD(task, pid, K_PID),
	FIELD(task, state, K_COUNT), FIELD(task, life, K_LOCK),
	FIELD(task, exec_life, K_LOCK), LOCK_FIELDS(task, lock),
	FIELD(task, undo_head, K_REF), FIELD(task, spare, K_REF),
	FIELD(task, spare_size, K_COUNT), FIELD(task, shm_head, K_REF),
	FIELD(task, shm_free, K_REF), END_OF_FIELDS};
static const struct field thread_fields[] = {FIELD(thread, tid, K_PID),
	FIELD(thread, task, K_COUNT), FIELD(thread, spare, K_REF),
	FIELD(thread, spare_size, K_COUNT),
	FIELD(thread, blocks.tier[0], K_REF),
	FIELD(thread, blocks.tier[2], K_REF), FIELD(thread, blocks.big, K_REF),
	FIELD(thread, blocks.big_cap, K_COUNT), FIELD(thread, bias_at, K_REF),
	FIELD(thread, bias_word, K_LOCK), END_OF_FIELDS};
static const struct field journal_fields[] = {FIELD(journal, n, K_COUNT),
	FIELD(journal, n_locks, K_COUNT), FIELD(journal, locks[0], K_REF),
	FIELD(journal, publish_off, K_REF), FIELD(journal, ext, K_REF),
	FIELD(journal, cap, K_COUNT), FIELD(journal, entries[0].off, K_REF),
	END_OF_FIELDS};
static const struct field waiter_fields[] = {FIELD(waiter, word, K_LOCK),
	FIELD(waiter, state, K_COUNT), FIELD(waiter, slot_idx, K_IDX),
	FIELD(waiter, alive, K_LOCK), FIELD(waiter, ident, K_ANY),
	FIELD(waiter, next, K_THREAD), FIELD(waiter, prev, K_THREAD),
	FIELD(waiter, facility, K_COUNT), FIELD(waiter, kind, K_COUNT),
	FIELD(waiter, n_sops, K_COUNT), FIELD(waiter, block_op, K_COUNT),
	FIELD(waiter, queue_num, K_COUNT), FIELD(waiter, undo, K_REF),
	FIELD(waiter, ext, K_REF), FIELD(waiter, ext_cap, K_COUNT),
	FIELD(waiter, sops[0], K_ANY), FIELD(waiter, msg.max_size, K_COUNT),
	FIELD(waiter, msg_len, K_COUNT), END_OF_FIELDS};
static const struct field slot_fields[] = {LOCK_FIELDS(slot, lock),
	FIELD(slot, ident, K_ANY), FIELD(slot, body, K_REF),
	FIELD(slot, key, K_ANY), FIELD(slot, next, K_IDX),
	FIELD(slot, size, K_COUNT), FIELD(slot, mode, K_ANY),
	FIELD(slot, uid, K_ANY), FIELD(slot, bias, K_THREAD), END_OF_FIELDS};
static const struct field semset_fields[] = {
	FIELD(semset, complex.head, K_THREAD),
	FIELD(semset, complex.tail, K_THREAD),
	FIELD(semset, zero_arrays.head, K_THREAD),
	FIELD(semset, undo_all, K_LINK), FIELD(semset, undo_active, K_LINK),
	FIELD(semset, n_active, K_COUNT), FIELD(semset, n_adj, K_COUNT),
	FIELD(semset, n_waiters, K_COUNT), FIELD(semset, pass_pending, K_COUNT),
	END_OF_FIELDS};
static const struct field sem_fields[] = {FIELD(sem, lo, K_ANY),
	FIELD(sem, hi, K_ANY), FIELD(sem, alter.head, K_THREAD),
	FIELD(sem, alter.tail, K_THREAD), END_OF_FIELDS};
static const struct field undo_fields[] = {FIELD(undo, task_next, K_REF),
	FIELD(undo, ident, K_ANY), FIELD(undo, slot_idx, K_IDX),
	FIELD(undo, task, K_COUNT), FIELD(undo, set_next, K_REF),
	FIELD(undo, set_prev, K_REF), FIELD(undo, active_next, K_REF),
	FIELD(undo, active_prev, K_REF), FIELD(undo, n_nonzero, K_COUNT),
	FIELD(undo, is_active, K_COUNT), FIELD(undo, n_sems, K_COUNT),
	FIELD(undo, cap, K_COUNT), END_OF_FIELDS};
static const struct field msgqueue_fields[] = {FIELD(msgqueue, count, K_COUNT),
	FIELD(msgqueue, ends, K_LINK), FIELD(msgqueue, types, K_LINK),
	FIELD(msgqueue, pending, K_COUNT), FIELD(msgqueue, qbytes, K_COUNT),
	FIELD(msgqueue, receivers.head, K_THREAD),
	FIELD(msgqueue, receivers.tail, K_THREAD),
	FIELD(msgqueue, senders.head, K_THREAD),
	FIELD(msgqueue, senders.tail, K_THREAD),
	FIELD(msgqueue, new_chunk, K_REF), FIELD(msgqueue, n_large, K_COUNT),
	FIELD(msgqueue, class[0].partial, K_LINK),
	FIELD(msgqueue, class[0].n_chunks, K_COUNT),
	FIELD(msgqueue, class[1].partial, K_LINK),
	FIELD(msgqueue, class[2].partial, K_LINK),
	FIELD(msgqueue, class[3].partial, K_LINK),
	FIELD(msgqueue, class[3].full, K_LINK),
	FIELD(msgqueue, class[5].partial, K_LINK),
	FIELD(msgqueue, class[5].idle, K_LINK),
	FIELD(msgqueue, class[7].partial, K_LINK),
	FIELD(msgqueue, class[7].full, K_LINK), FIELD(msgqueue, warm[0], K_REF),
	FIELD(msgqueue, warm[1], K_REF), FIELD(msgqueue, warm[2], K_REF),
	FIELD(msgqueue, n_warm[0], K_COUNT),
	FIELD(msgqueue, n_warm[2], K_COUNT), END_OF_FIELDS};
static const struct field msg_fields[] = {FIELD(msg, node.key, K_ANY),
	FIELD(msg, node.up, K_LINK), FIELD(msg, node.left, K_LINK),
	FIELD(msg, node.right, K_LINK), FIELD(msg, node.user, K_LINK),
	FIELD(msg, next, K_LINK), FIELD(msg, prev, K_LINK),
	FIELD(msg, type_next, K_LINK), FIELD(msg, size, K_COUNT),
	FIELD(msg, chunk, K_LINK), FIELD(msg, stamp, K_COUNT), END_OF_FIELDS};
static const struct field msg_block_fields[] = {FIELD(msg_block, ref, K_REF),
	FIELD(msg_block, cap, K_COUNT), END_OF_FIELDS};
static const struct field chunk_fields[] = {FIELD(msg_chunk, state, K_LINK),
	FIELD(msg_chunk, next, K_LINK), FIELD(msg_chunk, prev, K_LINK),
	FIELD(msg_chunk, class, K_COUNT), FIELD(msg_chunk, n_cells, K_COUNT),
	FIELD(msg_chunk, size, K_COUNT), END_OF_FIELDS};
static const struct field slab_fields[] = {FIELD(msg_slab, used, K_ANY),
	FIELD(msg_slab, next, K_LINK), FIELD(msg_slab, prev, K_LINK),
	END_OF_FIELDS};
static const struct field segment_fields[] = {FIELD(shm_segment, size, K_COUNT),
	FIELD(shm_segment, pages, K_COUNT), FIELD(shm_segment, off, K_REF),
	FIELD(shm_segment, run, K_REF), FIELD(shm_segment, attach_all, K_REF),
	FIELD(shm_segment, nattch, K_COUNT), FIELD(shm_segment, flags, K_ANY),
	FIELD(shm_segment, touched, K_ANY),
	FIELD(shm_segment, dest_next, K_IDX),
	FIELD(shm_segment, dest_prev, K_IDX),
	FIELD(shm_segment, tidy_at, K_COUNT), END_OF_FIELDS};
static const struct field run_fields[] = {FIELD(shm_run, next, K_REF),
	FIELD(shm_run, off, K_REF), FIELD(shm_run, class, K_COUNT),
	FIELD(shm_run, kept, K_COUNT), END_OF_FIELDS};
static const struct field attach_fields[] = {
	FIELD(shm_attach, task_next, K_REF),
	FIELD(shm_attach, free_next, K_REF), FIELD(shm_attach, ident, K_ANY),
	FIELD(shm_attach, slot_idx, K_IDX), FIELD(shm_attach, task, K_COUNT),
	FIELD(shm_attach, seg_next, K_REF), FIELD(shm_attach, seg_prev, K_REF),
	FIELD(shm_attach, count, K_COUNT), FIELD(shm_attach, epoch, K_COUNT),
	END_OF_FIELDS};
static const struct field mqueue_fields[] = {FIELD(mqueue, maxmsg, K_COUNT),
	FIELD(mqueue, msgsize, K_COUNT),
	FIELD(mqueue, receivers.head, K_THREAD),
	FIELD(mqueue, receivers.tail, K_THREAD),
	FIELD(mqueue, senders.head, K_THREAD), FIELD(mqueue, polled, K_ANY),
	FIELD(mqueue, level, K_COUNT), FIELD(mqueue, notify.state, K_COUNT),
	FIELD(mqueue, notify.how, K_COUNT), FIELD(mqueue, notify.task, K_COUNT),
	FIELD(mqueue, notify.thread, K_THREAD),
	FIELD(mqueue, unlinked, K_COUNT), FIELD(mqueue, orphan_next, K_IDX),
	FIELD(mqueue, orphan_prev, K_IDX), FIELD(mqueue, name_len, K_COUNT),
	FIELD(mqueue, body_size, K_COUNT), END_OF_FIELDS};
static const struct field prioq_fields[] = {FIELD(prioq, count, K_COUNT),
	FIELD(prioq, ends, K_ANY), FIELD(prioq, first, K_COUNT),
	FIELD(prioq, n_free, K_COUNT), FIELD(prioq, made, K_COUNT),
	FIELD(prioq, cap, K_COUNT), FIELD(prioq, shift, K_COUNT),
	FIELD(prioq, stride, K_COUNT), FIELD(prioq, inline_data, K_COUNT),
	FIELD(prioq, table_off, K_COUNT), FIELD(prioq, free_off, K_COUNT),
	FIELD(prioq, n_leaves, K_COUNT), FIELD(prioq, hand, K_COUNT),
	FIELD(prioq, levels, K_REF), END_OF_FIELDS};
static const struct field levels_fields[] = {FIELD(prio_levels, any, K_ANY),
	FIELD(prio_levels, top[0], K_ANY), FIELD(prio_levels, live[0], K_ANY),
	FIELD(prio_levels, live[10], K_ANY), FIELD(prio_levels, leaf[0], K_REF),
	FIELD(prio_levels, leaf[10], K_REF), END_OF_FIELDS};
static const struct field item_fields[] = {FIELD(prio_item, next, K_COUNT),
	FIELD(prio_item, len, K_COUNT), END_OF_FIELDS};
static const struct field block_fields[] = {FIELD(prio_block, data, K_REF),
	FIELD(prio_block, cap, K_COUNT), END_OF_FIELDS};
/*
 * What came later. In tables of their own behind the others, and fields of the
 * structs above too: the inputs in corpus/ name fields by their numbers.
 */
static const struct field header_more_fields[] = {
	FIELD(header, msg_remains, K_REF), FIELD(header, profiled, K_ANY),
	FIELD(header, bias_off, K_ANY), FIELD(header, mq_changed, K_ANY),
	FIELD(header, stamp, K_COUNT), FIELD(header, kernel_keys_ns[1], K_ANY),
	FIELD(header, control[0].token[0], K_ANY),
	FIELD(header, control[0].which, K_COUNT),
	FIELD(header, control_taken.n, K_COUNT),
	FIELD(header, control_taken.v[0], K_COUNT),
	FIELD(header, told[0].value, K_COUNT),
	FIELD(header, told[0].pid, K_PID),
	FIELD(header, event_count[0], K_COUNT),
	FIELD(header, task_pages[0], K_ANY),
	FIELD(header, task_pages[TASK_PAGES / 64 - 1], K_ANY),
	FIELD(header, limits.semmns, K_COUNT),
	FIELD(header, limits.semmni, K_COUNT),
	FIELD(header, limits.msgmnb, K_COUNT),
	FIELD(header, limits.msgmni, K_COUNT),
	FIELD(header, limits.shmmax, K_COUNT),
	FIELD(header, limits.shmall, K_COUNT),
	FIELD(header, limits.shmmni, K_COUNT),
	FIELD(header, limits.mq_msg_max, K_COUNT),
	FIELD(header, limits.mq_msgsize_max, K_COUNT),
	FIELD(header, heap.kept, K_COUNT), FIELD(header, heap.filled, K_COUNT),
	FIELD(header, shm.n_kept, K_COUNT),
	FIELD(header, shm.overcommitted, K_COUNT),
	FIELD(header, shm.space, K_COUNT),
	FIELD(header, msg_slabs.full[2], K_LINK),
	FIELD(header, msg_slabs.partial[2], K_LINK),
	FIELD(header, msg_slabs.idle[2], K_LINK), END_OF_FIELDS};
/* The identity: a registry is refused, or is not. */
static const struct field identity_fields[] = {FIELD(header, version, K_COUNT),
	FIELD(header, file_size, K_COUNT), FIELD(header, boot_id[0], K_ANY),
	FIELD(header, pid_ns, K_ANY), FIELD(header, owner, K_ANY),
	FIELD(header, idx_bits, K_COUNT), FIELD(header, identity_sum, K_ANY),
	FIELD(header, magic, K_ANY), END_OF_FIELDS};
static const struct field pending_fields[] = {FIELD(mq_pending, state, K_LOCK),
	FIELD(mq_pending, task, K_COUNT), FIELD(mq_pending, pid, K_PID),
	FIELD(mq_pending, start, K_ANY), FIELD(mq_pending, stamp, K_COUNT),
	FIELD(mq_pending, signo, K_COUNT), FIELD(mq_pending, how, K_COUNT),
	FIELD(mq_pending, sock, K_COUNT), END_OF_FIELDS};
static const struct field lease_fields[] = {FIELD(lease, next, K_REF),
	FIELD(lease, state, K_COUNT), FIELD(lease, task, K_COUNT),
	FIELD(lease, pid, K_PID), FIELD(lease, tid, K_PID),
	FIELD(lease, thread, K_THREAD), FIELD(lease, start, K_ANY),
	FIELD(lease, stamp, K_COUNT), FIELD(lease, since, K_ANY),
	FIELD(lease, msg, K_LINK), FIELD(lease, item, K_COUNT),
	FIELD(lease, prio, K_COUNT), FIELD(lease, len, K_COUNT),
	FIELD(lease, data, K_REF), FIELD(lease, cap, K_COUNT), END_OF_FIELDS};
static const struct field msg_leases_fields[] = {
	FIELD(msgqueue, leases.used, K_REF),
	FIELD(msgqueue, leases.free, K_REF),
	FIELD(msgqueue, leases.spare, K_REF), FIELD(msgqueue, leasing, K_COUNT),
	FIELD(msgqueue, stamp, K_REF), FIELD(msgqueue, lrpid, K_PID),
	FIELD(msgqueue, n_warm[1], K_COUNT),
	FIELD(msgqueue, class[7].n_chunks, K_COUNT), END_OF_FIELDS};
static const struct field mq_leases_fields[] = {
	FIELD(mqueue, leases.used, K_REF), FIELD(mqueue, leases.free, K_REF),
	FIELD(mqueue, leases.spare, K_REF),
	FIELD(mqueue, leases.stamp, K_COUNT), FIELD(mqueue, leasing, K_COUNT),
	FIELD(mqueue, senders.tail, K_THREAD), FIELD(mqueue, notify.pid, K_PID),
	FIELD(mqueue, notify.sock, K_COUNT),
	FIELD(mqueue, notify.notify_thread, K_COUNT),
	FIELD(mqueue, notify.image, K_COUNT), FIELD(mqueue, ino, K_ANY),
	FIELD(mqueue, token[0], K_ANY), FIELD(mqueue, charge, K_COUNT),
	FIELD(mqueue, ruid, K_ANY), END_OF_FIELDS};
static const struct field event_fields[] = {FIELD(event, seq, K_COUNT),
	FIELD(event, time, K_ANY), FIELD(event, pid, K_PID),
	FIELD(event, code, K_COUNT), FIELD(event, arg[0], K_COUNT),
	FIELD(event, arg[1], K_COUNT), FIELD(event, asked, K_COUNT),
	FIELD(event, command, K_ANY), END_OF_FIELDS};
static const struct field task_more_fields[] = {FIELD(task, start, K_ANY),
	FIELD(task, life_birth, K_ANY), FIELD(task, life_tid, K_PID),
	FIELD(task, image, K_ANY), FIELD(task, epoch, K_COUNT),
	FIELD(task, mm, K_ANY), FIELD(task, prefork, K_ANY),
	FIELD(task, candidate, K_PID), FIELD(task, notifier, K_LOCK),
	FIELD(task, displaced, K_COUNT), FIELD(task, use_seq, K_COUNT),
	END_OF_FIELDS};
static const struct field thread_more_fields[] = {FIELD(thread, birth, K_ANY),
	FIELD(thread, start, K_ANY), FIELD(thread, claims, K_COUNT),
	FIELD(thread, run_claim, K_COUNT), FIELD(thread, run, K_REF),
	FIELD(thread, ready, K_REF), FIELD(thread, ready_size, K_COUNT),
	FIELD(thread, ready_filled, K_COUNT), FIELD(thread, boost, K_LOCK),
	FIELD(thread, blocks.tier[1], K_REF), END_OF_FIELDS};
static const struct field waiter_more_fields[] = {
	FIELD(waiter, result, K_COUNT), FIELD(waiter, granted_next, K_THREAD),
	FIELD(waiter, n_requeuers, K_COUNT), FIELD(waiter, pid, K_PID),
	FIELD(waiter, since, K_ANY), FIELD(waiter, msg.mode, K_COUNT),
	FIELD(waiter, msg.where, K_COUNT), FIELD(waiter, msg.size, K_COUNT),
	FIELD(waiter, msg.lease, K_REF), FIELD(waiter, lease_mq, K_REF),
	FIELD(waiter, msg_prio, K_COUNT), FIELD(waiter, sched_prio, K_COUNT),
	END_OF_FIELDS};
static const struct field sem_more_fields[] = {FIELD(sem, zero.head, K_THREAD),
	FIELD(sem, zero.tail, K_THREAD), FIELD(sem, all, K_REF),
	FIELD(sem, arrays, K_ANY), END_OF_FIELDS};
static const struct field segment_more_fields[] = {
	FIELD(shm_segment, creator, K_THREAD),
	FIELD(shm_segment, locker, K_ANY), FIELD(shm_segment, past[0], K_ANY),
	END_OF_FIELDS};
static const struct field cell_fields[] = {
	FIELD(msg, free_next, K_LINK), END_OF_FIELDS};
/* Behind the others, so that an input of the corpus goes on meaning the same
 * places: the fields that had no row before tests/fields.py asked for one each. */
static const struct field header_last_fields[] = {
	FIELD(header, told[0].time, K_COUNT),
	FIELD(header, shm.space_ns, K_COUNT),
	FIELD(header, limits.shm_rmid_forced, K_ANY),
	FIELD(header, limits.mq_msg_default, K_COUNT),
	FIELD(header, limits.mq_msgsize_default, K_COUNT),
	FIELD(header, limits.mq_rlimit, K_ANY),
	FIELD(header, heap.lock.count, K_COUNT),
	FIELD(header, heap.free_head[30], K_REF),
	FIELD(header, heap.free_head[60], K_REF), END_OF_FIELDS};
static const struct field identity_last_fields[] = {
	FIELD(header, word_size, K_COUNT), FIELD(header, booted, K_ANY),
	FIELD(header, profile, K_COUNT), FIELD(header, created, K_ANY),
	END_OF_FIELDS};
static const struct field ids_last_fields[] = {FIELD(id_table, total, K_COUNT),
	FIELD(id_table, gen, K_COUNT), END_OF_FIELDS};
static const struct field slot_last_fields[] = {FIELD(slot, ctime, K_ANY),
	FIELD(slot, gid, K_ANY), FIELD(slot, cgid, K_ANY),
	FIELD(slot, cuid, K_ANY), FIELD(slot, lock.count, K_COUNT),
	FIELD(slot, lock.n_found_held, K_COUNT),
	FIELD(slot, lock.n_held_wanted, K_COUNT),
	FIELD(slot, lock.by_bias, K_COUNT), FIELD(slot, lock.streak, K_COUNT),
	END_OF_FIELDS};
static const struct field semset_last_fields[] = {
	FIELD(semset, last_tid, K_PID), FIELD(semset, last_cpu, K_COUNT),
	FIELD(semset, partner_cpu, K_COUNT), FIELD(semset, spin, K_COUNT),
	FIELD(semset, bias_backoff, K_COUNT),
	FIELD(semset, idle_count, K_COUNT), END_OF_FIELDS};
static const struct field sem_last_fields[] = {
	FIELD(sem, idle_count, K_COUNT), END_OF_FIELDS};
static const struct field sem_values_fields[] = {
	FIELD(sem_values, cap, K_COUNT), FIELD(sem_values, pid, K_PID),
	FIELD(sem_values, n, K_COUNT), FIELD(sem_values, value[0], K_ANY),
	END_OF_FIELDS};
static const struct field undo_last_fields[] = {FIELD(undo, stamp, K_COUNT),
	FIELD(undo, since, K_ANY), FIELD(undo, adj[0], K_ANY),
	FIELD(undo, active_stamp, K_COUNT), END_OF_FIELDS};
static const struct field segment_last_fields[] = {
	FIELD(shm_segment, cpid, K_PID), FIELD(shm_segment, lpid, K_PID),
	FIELD(shm_segment, atime, K_ANY), FIELD(shm_segment, dtime, K_ANY),
	FIELD(shm_segment, creator_start, K_ANY), END_OF_FIELDS};
static const struct field attach_last_fields[] = {
	FIELD(shm_attach, since, K_ANY), FIELD(shm_attach, addr, K_REF),
	END_OF_FIELDS};
static const struct field task_last_fields[] = {FIELD(task, claim, K_PID),
	FIELD(task, life_type, K_ANY), FIELD(task, life_waiters, K_ANY),
	FIELD(task, alive_ns, K_COUNT), FIELD(task, exec_used, K_COUNT),
	FIELD(task, exec_type, K_ANY), FIELD(task, exec_waiters, K_ANY),
	END_OF_FIELDS};
static const struct field thread_last_fields[] = {
	FIELD(thread, journal.publish_val, K_ANY),
	FIELD(thread, journal.entries[0].old, K_ANY),
	FIELD(thread, journal.entries[1].off, K_REF),
	FIELD(thread, journal.entries[1].old, K_ANY),
	FIELD(thread, journal.n, K_COUNT), FIELD(thread, journal.ext, K_REF),
	END_OF_FIELDS};
static const struct field journal_ext_fields[] = {
	FIELD(journal_ext, cap, K_COUNT), FIELD(journal_ext, old, K_REF),
	FIELD(journal_ext, old_size, K_COUNT),
	FIELD(journal_ext, entries[0].off, K_REF),
	FIELD(journal_ext, entries[0].old, K_ANY), END_OF_FIELDS};
static const struct field waiter_last_fields[] = {
	FIELD(waiter, has_timer, K_ANY), FIELD(waiter, wants_wake, K_ANY),
	FIELD(waiter, slept, K_COUNT), FIELD(waiter, stamp, K_COUNT),
	FIELD(waiter, sops[0].num, K_COUNT), FIELD(waiter, sops[0].op, K_ANY),
	FIELD(waiter, sops[0].flg, K_ANY), FIELD(waiter, msg.want, K_ANY),
	FIELD(waiter, msg.type, K_ANY), FIELD(waiter, msg.stamp, K_COUNT),
	END_OF_FIELDS};
static const struct field msgqueue_last_fields[] = {
	FIELD(msgqueue, lspid, K_PID), FIELD(msgqueue, stime, K_ANY),
	FIELD(msgqueue, rtime, K_ANY),
	FIELD(msgqueue, users.thread[0], K_THREAD),
	FIELD(msgqueue, users.thread[1], K_THREAD),
	FIELD(msgqueue, users.backoff, K_COUNT),
	FIELD(msgqueue, users.streaming, K_COUNT),
	FIELD(msgqueue, users.recent.thread, K_THREAD),
	FIELD(msgqueue, users.recent.cpu, K_COUNT),
	FIELD(msgqueue, users.other.thread, K_THREAD),
	FIELD(msgqueue, users.other.cpu, K_COUNT),
	FIELD(msgqueue, users.spin[1], K_COUNT), END_OF_FIELDS};
static const struct field mqueue_last_fields[] = {FIELD(mqueue, mtime, K_ANY),
	FIELD(mqueue, atime, K_ANY), FIELD(mqueue, ctime, K_ANY),
	FIELD(mqueue, set_mtime, K_ANY), FIELD(mqueue, file_size, K_COUNT),
	FIELD(mqueue, dev, K_ANY), FIELD(mqueue, name[0], K_ANY),
	FIELD(mqueue, name[MQ_NAME_MAX], K_ANY),
	FIELD(mqueue, notify.signo, K_COUNT),
	FIELD(mqueue, notify.start, K_ANY), FIELD(mqueue, notify.value, K_ANY),
	FIELD(mqueue, notify.sender_pid, K_PID),
	FIELD(mqueue, notify.sender_uid, K_ANY),
	FIELD(mqueue, notify.closes, K_COUNT),
	FIELD(mqueue, notify.sock_ino, K_ANY),
	FIELD(mqueue, notify.cookie[0], K_ANY),
	FIELD(mqueue, notify.stamp, K_COUNT),
	FIELD(mqueue, users.thread[0], K_THREAD),
	FIELD(mqueue, users.thread[1], K_THREAD),
	FIELD(mqueue, users.backoff, K_COUNT),
	FIELD(mqueue, users.streaming, K_COUNT),
	FIELD(mqueue, users.recent.thread, K_THREAD),
	FIELD(mqueue, users.recent.cpu, K_COUNT),
	FIELD(mqueue, users.other.thread, K_THREAD),
	FIELD(mqueue, users.other.cpu, K_COUNT),
	FIELD(mqueue, users.spin[0], K_COUNT), END_OF_FIELDS};
static const struct field pending_last_fields[] = {
	FIELD(mq_pending, value, K_ANY), FIELD(mq_pending, sender_pid, K_PID),
	FIELD(mq_pending, sender_uid, K_ANY),
	FIELD(mq_pending, sock_ino, K_ANY), FIELD(mq_pending, cookie[0], K_ANY),
	END_OF_FIELDS};
/* Words that belong to no struct. */
static const struct field ref_fields[] = {
	{"ref in a table", 0, 8, K_REF}, END_OF_FIELDS};
static const struct field word_fields[] = {
	{"word in a table", 0, 4, K_IDX}, END_OF_FIELDS};
static const struct field bitmap_fields[] = {
	{"word of a bitmap", 0, 8, K_ANY}, END_OF_FIELDS};

#endif
