// SPDX-License-Identifier: MIT
/*
 * The row types; see rows.h. A line a field: heading of the table, name in
 * JSON, side, meaning; then where the value is; then name and width in the
 * mount.
 */
#include "inspect/rows.h"

#include <stdio.h>
#include <string.h>

#include "inspect/leaseview.h"
#include "inspect/lockview.h"
#include "inspect/mqview.h"
#include "inspect/msgview.h"
#include "inspect/semview.h"
#include "inspect/shmview.h"
#include "inspect/taskview.h"
#include "inspect/waitview.h"
#include "object/limits.h"
#include "registry/event.h"
#include "render/eventtext.h"
#include "shm/shmattach.h"

#define AT(type, member) offsetof(struct type, member)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The ends of most rows: since when, and who. */
#define SINCE(type, about)                                                    \
	{"SINCE", "since", '<', about, COLUMN_TIME, AT(type, since), "SINCE", \
		19},                                                          \
	{                                                                     \
		"AGE", "age", 'a', "seconds since then", COLUMN_AGE,          \
			AT(type, since)                                       \
	}
#define COMMAND(type, member)                                       \
	{                                                           \
		"COMMAND", "command", '<', "the process's name",    \
			COLUMN_COMMAND, AT(type, member), "COMMAND" \
	}
#define PID(type)                                                        \
	{                                                                \
		"PID", "pid", '>', "process", COLUMN_U32, AT(type, pid), \
			"PID", 7                                         \
	}
#define THREAD(type)                                                       \
	{                                                                  \
		"THREAD", "tid", '>', "thread", COLUMN_U32, AT(type, tid), \
			"TID", 7                                           \
	}

/* A line a field: */
/* clang-format off */

/* ---- objects ---- */

/* What is said of every kind, in words, is added by tool/view/objects.c; the
 * numbers of one kind are in its STAT_FIELDs below. */
const struct column object_columns[] = {
	{"KIND", "kind", '<', "sem, msg, shm or mq"},
	{"ID", "label", 's', NULL}, {NULL, "id", 0, "not of mq", COLUMN_NUMBER},
	{NULL, "name", 0, "mq: with its slash"},
	{"KEY", "key", '<', "hexadecimal; null of mq"},
	{"OWNER", "owner", '<', "user's name, or number"},
	{"PERMS", "perms", '>', "octal"},
	{"USED", "used", '<', "when an operation was last done on it"},
	{"CHANGED", "changed", '<', "when owner, mode or size last changed",
		.wide = 110},
	{"LAST PID", "lastpid", '>',
		"process of the last operation (of a set "
		"on one of its first 1,024 semaphores); not of mq",
		COLUMN_NUMBER, .wide = 110},
	{"CREATOR", "creator", '<', "user that made it; not of mq",
		.wide = 130},
	{NULL, "waiting", 0, "threads asleep on it; not of shm", COLUMN_NUMBER},
	{NULL, "semvals", 0, "sem: values of the first 16, as words"},
	{"HOLDS", "holds", 's', NULL},
	{.field = "", .kind = COLUMN_INCLUDE, .of = sem_stat_columns},
	{NULL, "messages", 0, "msg, mq: messages", COLUMN_NUMBER},
	{NULL, "bytes", 0, "msg, mq: bytes in them", COLUMN_NUMBER},
	{.field = "", .kind = COLUMN_INCLUDE, .of = msg_stat_columns},
	{.field = "", .kind = COLUMN_INCLUDE, .of = shm_stat_columns},
	{NULL, "removed", 0, "shm: removed, but attached", COLUMN_BOOL},
	{NULL, "locked", 0, "shm: SHM_LOCK", COLUMN_BOOL},
	{NULL, "maxmsg", 0, "mq: the most messages", COLUMN_NUMBER},
	{NULL, "msgsize", 0, "mq: bytes of the largest", COLUMN_NUMBER},
	{NULL, "unlinked", 0, "mq: its name is gone", COLUMN_BOOL}, {0}};

/* A line of a `stat` file of the mount: the fields of semid_ds and its kin. One
 * kind's with a meaning are in the JSON of ls and show, too. */
#define STAT_SHOWN(label, what, type, member, meaning)               \
	{                                                            \
		.field = label, .about = meaning, .kind = what,      \
		.at = AT(type, member), .name = label                \
	}
#define STAT_FIELD(label, what, type, member) \
	STAT_SHOWN(label, what, type, member, NULL)

static const struct column object_stat_columns[] = {
	STAT_FIELD("key", COLUMN_KEY, object_stat, key),
	STAT_FIELD("id", COLUMN_S32, object_stat, id),
	STAT_FIELD("perms", COLUMN_MODE, object_stat, mode),
	STAT_FIELD("uid", COLUMN_U32, object_stat, uid),
	STAT_FIELD("gid", COLUMN_U32, object_stat, gid),
	STAT_FIELD("cuid", COLUMN_U32, object_stat, cuid),
	STAT_FIELD("cgid", COLUMN_U32, object_stat, cgid), {0}};

/* It stands first in each. */
#define STAT                                                                   \
	{                                                                      \
		.field = "", .kind = COLUMN_INCLUDE, .of = object_stat_columns \
	}

/* ---- semaphores ---- */

const struct column sem_value_columns[] = {
	{"NUM", "num", '>', "which semaphore, from 0", COLUMN_U32,
		AT(sem_value, num), "NUM", 6},
	{"VALUE", "value", '>', "its value", COLUMN_U32, AT(sem_value, value),
		"VALUE", 6},
	{"WAIT", "ncnt", '>', "threads that wait for it to rise", COLUMN_U32,
		AT(sem_value, ncnt), "NCNT", 6},
	{"WAIT FOR 0", "zcnt", '>', "threads that wait for 0", COLUMN_U32,
		AT(sem_value, zcnt), "ZCNT", 6},
	{"LAST PID", "pid", '>', "process that last changed it", COLUMN_U32,
		AT(sem_value, pid), "PID", 7},
	{"COMMAND", "command", '<', "that process's name", COLUMN_COMMAND,
		AT(sem_value, pid)},
	{0}};

const struct column sem_holder_columns[] = {PID(sem_holder),
	{"NUM", "num", '>', "semaphore", COLUMN_U32, AT(sem_holder, num), "NUM",
		6},
	{"AT ITS DEATH", "undo", '>', "what its death would add (SEM_UNDO)",
		COLUMN_SIGNED, AT(sem_holder, adj), "UNDO", 7},
	SINCE(sem_holder, "when it last took one, having none"),
	COMMAND(sem_holder, pid), {0}};

const struct column sem_sleeper_columns[] = {PID(sem_sleeper),
	THREAD(sem_sleeper),
	{"NUM", "num", '>', "semaphore that it is blocked at", COLUMN_U16,
		AT(sem_sleeper, op.num), "NUM", 6},
	{"OPERATION", "op", '>', "sem_op of that operation", COLUMN_SIGNED16,
		AT(sem_sleeper, op.op), "OP", 7},
	{NULL, "nsops", 0, "operations of its call", COLUMN_U32,
		AT(sem_sleeper, n_sops), "NSOPS", 5},
	SINCE(sem_sleeper, "when it fell asleep"), COMMAND(sem_sleeper, pid),
	{0}};

const struct column sem_stat_columns[] = {STAT,
	STAT_SHOWN("nsems", COLUMN_U32, sem_stat, nsems,
		"sem: semaphores"),
	STAT_FIELD("otime", COLUMN_TIME, sem_stat, otime),
	STAT_FIELD("ctime", COLUMN_TIME, sem_stat, ctime), {0}};

static const struct column show_sem_columns[] = {
	{.field = "", .kind = COLUMN_INCLUDE, .of = object_columns},
	{NULL, "values", 0, "each semaphore", COLUMN_ROWS,
		.of = sem_value_columns},
	{NULL, "holders", 0, "who has undo", COLUMN_ROWS,
		.of = sem_holder_columns},
	{NULL, "waiters", 0, "who sleeps", COLUMN_ROWS,
		.of = sem_sleeper_columns},
	{0}};

/* ---- message queues ---- */

static const char *msg_call(const void *row, int brief)
{
	const struct msg_sleeper *s = row;

	(void)brief;
	return s->want == MSG_WANT_SPACE ? "msgsnd" : "msgrcv";
}

static const char *msg_want(const void *row, int brief)
{
	static const char *const words[] = {[MSG_WANT_ANY] = "any",
		[MSG_WANT_TYPE] = "type",
		[MSG_WANT_NOT_TYPE] = "not",
		[MSG_WANT_UP_TO] = "up-to",
		[MSG_WANT_SPACE] = "room"};
	static const char *const formats[] = {[MSG_WANT_ANY] = "any message",
		[MSG_WANT_TYPE] = "type %lld",
		[MSG_WANT_NOT_TYPE] = "not type %lld",
		[MSG_WANT_UP_TO] = "type <= %lld",
		[MSG_WANT_SPACE] = "room"};
	const struct msg_sleeper *s = row;
	static char text[48];

	if (s->want >= ARRAY_SIZE(words))
		return "?";
	if (brief)
		return words[s->want];
	snprintf(text, sizeof(text), formats[s->want], (long long)s->type);
	return text;
}

const struct column msg_entry_columns[] = {
	{NULL, "num", 0, "place in the queue, from 0", COLUMN_INDEX, 0, "NUM",
		8},
	{"MTYPE", "mtype", '>', "type", COLUMN_S64, AT(msg_entry, type), "TYPE",
		20},
	{"SIZE", "size", 'b', "bytes", COLUMN_U64, AT(msg_entry, size), "SIZE",
		10},
	{0}};

const struct column msg_sleeper_columns[] = {PID(msg_sleeper),
	THREAD(msg_sleeper),
	{"IN", "call", '<', "msgsnd or msgrcv", COLUMN_WORD, .word = msg_call},
	{"FOR", "for", 's', "what it waits for, in words", COLUMN_WORD, 0,
		"FOR", -5, msg_want},
	{NULL, "mtype", 0, "type wanted; of a sender its own", COLUMN_S64,
		AT(msg_sleeper, type), "TYPE", 12},
	{"SIZE", "size", 'b', "bytes of its buffer; of a sender's message",
		COLUMN_U64, AT(msg_sleeper, size), "SIZE", 10},
	SINCE(msg_sleeper, "when it fell asleep"), COMMAND(msg_sleeper, pid),
	{0}};

const struct column lease_columns[] = {PID(lease_view), THREAD(lease_view),
	{"TYPE", "type", '>', "the message's type; mq: its priority", COLUMN_S64,
		AT(lease_view, type)},
	{"SIZE", "size", 'b', "bytes", COLUMN_U64, AT(lease_view, size)},
	SINCE(lease_view, "when it was received"), COMMAND(lease_view, pid),
	{0}};

const struct column msg_stat_columns[] = {STAT,
	STAT_FIELD("cbytes", COLUMN_U64, msg_stat, cbytes),
	STAT_FIELD("qnum", COLUMN_U64, msg_stat, qnum),
	STAT_SHOWN("qbytes", COLUMN_U64, msg_stat, qbytes,
		"msg: the most bytes"),
	STAT_SHOWN("lspid", COLUMN_PROCESS, msg_stat, lspid,
		"msg: process of the last msgsnd"),
	STAT_SHOWN("lrpid", COLUMN_PROCESS, msg_stat, lrpid,
		"msg: process of the last msgrcv"),
	STAT_FIELD("stime", COLUMN_TIME, msg_stat, stime),
	STAT_FIELD("rtime", COLUMN_TIME, msg_stat, rtime),
	STAT_FIELD("ctime", COLUMN_TIME, msg_stat, ctime), {0}};

static const struct column show_msg_columns[] = {
	{.field = "", .kind = COLUMN_INCLUDE, .of = object_columns},
	{NULL, "list", 0, "messages, oldest first", COLUMN_ROWS,
		.of = msg_entry_columns},
	{NULL, "waiters", 0, "who sleeps", COLUMN_ROWS,
		.of = msg_sleeper_columns},
	{NULL, "leases", 0, "received, and not acknowledged", COLUMN_ROWS,
		.of = lease_columns},
	{0}};

/* ---- segments ---- */

static const char *shm_access(const void *row, int brief)
{
	const struct shm_attachment *a = row;

	if (brief)
		return a->read_only ? "ro" : "rw";
	return a->read_only ? "read" : "read, write";
}

const struct column shm_attachment_columns[] = {PID(shm_attachment),
	{"COUNT", "count", '>', "fragments that nattch counts", COLUMN_U32,
		AT(shm_attachment, count), "PIECES", 6},
	{"ACCESS", "access", '<', "read, or read, write", COLUMN_WORD, 0,
		"MODE", -4, shm_access},
	{"ADDRESS", "address", '<', "where it began, hexadecimal",
		COLUMN_ADDRESS, AT(shm_attachment, addr), "ADDRESS", 18},
	SINCE(shm_attachment, "when it was attached, or inherited by fork"),
	COMMAND(shm_attachment, pid), {0}};

const struct column shm_stat_columns[] = {STAT,
	STAT_SHOWN("size", COLUMN_U64, shm_stat, size,
		"shm: bytes"),
	STAT_SHOWN("nattch", COLUMN_U64, shm_stat, nattch,
		"shm: attachments"),
	STAT_SHOWN("cpid", COLUMN_PROCESS, shm_stat, cpid,
		"shm: process that made it"),
	STAT_SHOWN("lpid", COLUMN_PROCESS, shm_stat, lpid,
		"shm: process of the last shmat or shmdt"),
	STAT_FIELD("atime", COLUMN_TIME, shm_stat, atime),
	STAT_FIELD("dtime", COLUMN_TIME, shm_stat, dtime),
	STAT_FIELD("ctime", COLUMN_TIME, shm_stat, ctime), {0}};

static const struct column show_shm_columns[] = {
	{.field = "", .kind = COLUMN_INCLUDE, .of = object_columns},
	{NULL, "attachments", 0, "who has it attached", COLUMN_ROWS,
		.of = shm_attachment_columns},
	{0}};

/* ---- POSIX queues ---- */

static const char *mq_call(const void *row, int brief)
{
	const struct mq_sleeper *s = row;

	(void)brief;
	return s->sending ? "mq_send" : "mq_receive";
}

const struct column mq_entry_columns[] = {
	{"PRIORITY", "priority", '>', "priority", COLUMN_U32,
		AT(mq_entry, prio)},
	{"SIZE", "size", 'b', "bytes", COLUMN_U32, AT(mq_entry, len)}, {0}};

const struct column mq_sleeper_columns[] = {PID(mq_sleeper), THREAD(mq_sleeper),
	{"IN", "call", '<', "mq_send or mq_receive", COLUMN_WORD,
		.word = mq_call},
	{"PRIORITY", "priority", '>', "of its message; null of a receiver",
		COLUMN_OR_NULL, AT(mq_sleeper, prio)},
	{"SIZE", "size", 'b', "bytes of its message; null of a receiver",
		COLUMN_OR_NULL, AT(mq_sleeper, len)},
	SINCE(mq_sleeper, "when it fell asleep"), COMMAND(mq_sleeper, pid),
	{0}};

static const struct column notify_columns[] = {
	{NULL, "pid", 0, "process", COLUMN_NUMBER},
	{NULL, "command", 0, "its name"},
	{NULL, "how", 0, "signal, none or thread, as sigev_notify"},
	{NULL, "signo", 0, "which signal", COLUMN_NUMBER}, {0}};

static const struct column show_mq_columns[] = {
	{.field = "", .kind = COLUMN_INCLUDE, .of = object_columns},
	{NULL, "open", 0, "some process has it open", COLUMN_BOOL},
	{NULL, "notify", 0, "who is told of the next message (mq_notify)",
		COLUMN_OBJECT, .of = notify_columns},
	{NULL, "list", 0, "messages, next first", COLUMN_ROWS,
		.of = mq_entry_columns},
	{NULL, "waiters", 0, "who sleeps", COLUMN_ROWS,
		.of = mq_sleeper_columns},
	{NULL, "leases", 0, "received, and not acknowledged", COLUMN_ROWS,
		.of = lease_columns},
	{0}};

/* ---- the whole registry ---- */

/* "sem 5", "mq /name", "task 12"; brief: as in the mount's tree, sem/5,
 * mq/name. */
static const char *lock_name(const void *row, int brief)
{
	const struct lock_view *l = row;
	static char path[sizeof(l->name)];
	const char *from = l->name;
	char *to = path;

	if (!brief)
		return l->name;
	for (; *from; from++)
		if (*from != ' ')
			*to++ = *from;
		else if (from[1] != '/')
			*to++ = '/';
	*to = 0;
	return path;
}

static const char *wait_on(const void *row, int brief)
{
	const struct wait_edge *e = row;
	static char text[40];

	(void)brief;
	if (e->facility == FAC_SEM)
		snprintf(text, sizeof(text), "sem %d.%u", e->id, e->num);
	else
		snprintf(text, sizeof(text), "%s %d",
			facility_names[e->facility], e->id);
	return text;
}

static const char *wait_for(const void *row, int brief)
{
	const struct wait_edge *e = row;
	static char text[24];

	(void)brief;
	switch (e->what) {
	case WAIT_FOR_UNITS:
		snprintf(text, sizeof(text), "%lld", -(long long)e->op);
		return text;
	case WAIT_FOR_ZERO:
		return "0";
	case WAIT_FOR_MESSAGE:
		return "message";
	default:
		return "room";
	}
}

const struct column wait_columns[] = {PID(wait_edge),
	{"COMMAND", "command", 's', "the process's name", COLUMN_COMMAND,
		AT(wait_edge, pid)},
	{NULL, "tid", 0, "thread", COLUMN_U32, AT(wait_edge, tid)},
	{"ON", "on", '<', "sem ID.NUMBER, msg ID or mq INDEX", COLUMN_WORD,
		.word = wait_on},
	{"FOR", "for", '<', "units (0: for zero), message or room", COLUMN_WORD,
		.word = wait_for},
	{"HELD BY", "holder", '>', "process whose death would give it back",
		COLUMN_PEER, AT(wait_edge, holder)},
	{"COMMAND", "holder_command", '<', "that process's name",
		COLUMN_COMMAND, AT(wait_edge, holder)},
	SINCE(wait_edge, "when it fell asleep"),
	{NULL, "deadlock", 0, "it is one of those that wait for each other",
		COLUMN_BOOL, AT(wait_edge, in_circle)},
	{0}};

const struct column lock_columns[] = {
	{"max", "max", '>', "longest hold, ns", COLUMN_U32, AT(lock_view, max_ns), "MAX_NS", 10},
	{"total", "total", '>', "all holds, ns", COLUMN_U64, AT(lock_view, total_ns), "TOTAL_NS", 14},
	{"count", "count", '>', "times taken", COLUMN_U64, AT(lock_view, count), "COUNT", 10},
	{"avg", "avg", '>', "total / count, ns", COLUMN_U64, AT(lock_view, avg_ns), "AVG_NS", 9},
	{"cnt_hold", "cnt_hold", '>', "takers that had to sleep", COLUMN_U32, AT(lock_view, cnt_hold), "CNT_HOLD", 9},
	{"cnt_lock", "cnt_lock", '>', "takers that found it held", COLUMN_U32, AT(lock_view, cnt_lock), "CNT_LOCK", 9},
	{"name", "name", '<', "what it guards", COLUMN_WORD, 0, "LOCK", -24, lock_name, .first = 1},
	{NULL, "owner", 0, "thread that has it", COLUMN_PEER, AT(lock_view, owner), "OWNER", 7},
	{0}};

static const char *task_life(const void *row, int brief)
{
	static const char *const words[] = {[TASK_LIFE_NONE] = "none",
		[TASK_LIFE_LINKED] = "linked",
		[TASK_LIFE_FIRED] = "fired",
		[TASK_LIFE_REFUSED] = "refused"};
	const struct task_view *v = row;

	(void)brief;
	return v->life < ARRAY_SIZE(words) ? words[v->life] : "?";
}

static const char *task_state(const void *row, int brief)
{
	const struct task_view *v = row;
	static char text[24];

	if (v->state == TASK_PREFORK && v->child)
		snprintf(text, sizeof(text), brief ? "child:%u" : "child %u",
			v->child);
	else if (v->state == TASK_PREFORK)
		return brief ? "fork" : "forking";
	else if (brief)
		return v->gone ? "gone" : "live";
	else
		return v->gone ? "dead" : "alive";
	return text;
}

/* NULL where it has ended, or is a thread of the kernel. */
static const char *task_arguments(const void *row, int brief)
{
	const struct task_view *v = row;
	static char text[480];

	(void)brief;
	return !v->gone && process_arguments_read(v->pid, text, sizeof(text))
		       ? text
		       : NULL;
}

const struct column task_columns[] = {PID(task_view),
	{"STATE", "state", '<',
		"alive, dead (nobody has met what it left), "
		"forking, or child PID (what a child will inherit)",
		COLUMN_WORD, 0, "STATE", -5, task_state},
	{"THREADS", "threads", '>', "those that ever took a lock or slept",
		COLUMN_U32, AT(task_view, n_threads), "THREADS", 7},
	{"UNDO", "undo", '>', "sets to which its death would give back",
		COLUMN_U32, AT(task_view, n_undo), "UNDO", 6},
	{"ATTACHED", "attached", '>', "attachments of segments", COLUMN_U32,
		AT(task_view, n_attach), "SHM", 6},
	{"LIFELINE", "lifeline", '<', "none, linked, fired or refused",
		COLUMN_WORD, 0, "LIFELINE", -8, task_life},
	{"STARTED", "started", '<', "time", COLUMN_TIME, AT(task_view, started),
		"STARTED", -19},
	{NULL, "age", 'a', "seconds since then", COLUMN_AGE,
		AT(task_view, started)},
	{"COMMAND", "command", 's', "the process's name", COLUMN_COMMAND,
		AT(task_view, pid), "COMMAND"},
	{"ARGUMENTS", "args", 's', "the process's, and its name, by blanks",
		COLUMN_WORD, .word = task_arguments, .wide = 110},
	{NULL, "images", 0, "programs so far (exec)", COLUMN_U32,
		AT(task_view, epoch)},
	{0}};

static const char *event_command(const void *row, int brief)
{
	const struct event *e = &((const struct event_view *)row)->event;
	static char name[sizeof(e->command) + 1];

	(void)brief;
	memcpy(name, e->command, sizeof(e->command));
	return name;
}

static const char *event_kind_word(const void *row, int brief)
{
	(void)brief;
	return event_kinds[event_kind(
		&((const struct event_view *)row)->event)];
}

/* For the table a limit's is shorter: the remedy must not be cut off. */
static const char *event_words(const void *row, int brief)
{
	const struct event_view *v = row;
	static char text[EVENT_TEXT_MAX];
	size_t used;

	if (brief || v->event.code != EVENT_LIMIT) {
		event_text(v->h, &v->event, text, sizeof(text));
		return text;
	}
	used = (size_t)snprintf(text, sizeof(text),
		"limit %s=%lld: ", limit_name(v->event.arg[0]),
		(long long)v->event.arg[1]);
	limit_remedy(v->h, &v->event, text + used, sizeof(text) - used);
	return text;
}

const struct column event_columns[] = {
	{"TIME", "time", '<', "time", COLUMN_TIME, AT(event_view, event.time), "TIME", -19},
	{"PID", "pid", '>', "process that asked, or noticed", COLUMN_U32, AT(event_view, event.pid), "PID", 7},
	{"COMMAND", "command", '<', "its name then", COLUMN_WORD, 0, "COMMAND", -15, event_command},
	{"TIMES", "count", '>', NULL, COLUMN_NUMBER},
	{NULL, "kind", 0, "limit, death, room or other", COLUMN_WORD, .word = event_kind_word},
	{"EVENT", "event", '<', "what happened, in words", COLUMN_WORD, 0, "EVENT", 0, event_words},
	{NULL, "limit", 0, "kind limit: its name"},
	{NULL, "value", 0, "kind limit: its value then", COLUMN_NUMBER},
	{NULL, "asked", 0, "kind limit: what was asked for", COLUMN_NUMBER},
	{NULL, "remedy", 0, "kind limit: the command that raises it"},
	{0}};

const struct column check_columns[] = {
	{"INVARIANT", "invariant", '>', "number in shim/inspect/check.h",
		COLUMN_NUMBER},
	{"WHERE", "where", '>', "offset or index", COLUMN_NUMBER},
	{"VALUE", "value", '>', "what was found there", COLUMN_NUMBER},
	{"FAULT", "fault", '<', "in words"}, {0}};

const struct column registry_columns[] = {
	{"NAME", "name", 's', "as --name takes it, else the path"},
	{NULL, "path", 0, "its file"},
	{"OWNER", "owner", '<', "user's name, or number"},
	{"MODE", "mode", '<', "of the file, octal"},
	{"LIMITS", "limits", '<', "kernel or roomy, with extended ids or not"},
	{"OBJECTS", "objects", '>', "of all kinds", COLUMN_NUMBER},
	{"PROCESSES", "processes", '>',
		"that use it, as far as can be seen; "
		"null of one that cannot be used",
		COLUMN_NUMBER},
	{"BYTES", "bytes", 'b', "of memory", COLUMN_NUMBER},
	{"STATE", "state", '<',
		"ok, other version, other boot, other pid "
		"namespace or damaged"},
	{NULL, "created", 0, "time"}, {0}};

static const struct column finding_columns[] = {
	{NULL, "level", 0, "ok, warning or fault"},
	{NULL, "text", 0, "what was found"},
	{NULL, "mend", 0, "the command, or the words, that mend it"}, {0}};

static const struct column doctor_columns[] = {
	{NULL, "served", 0, "no fault was found", COLUMN_BOOL},
	{NULL, "findings", 0, "in the order of looking", COLUMN_ROWS,
		.of = finding_columns},
	{0}};

/* ---- bench ---- */

static const struct column machine_columns[] = {
	{NULL, "version", 0, "of ipclift"}, {NULL, "date", 0, "time"},
	{NULL, "kernel", 0, "its name and release"},
	{NULL, "cpu", 0, "its model"},
	{NULL, "cpus", 0, "how many", COLUMN_NUMBER},
	{NULL, "quick", 0, "--quick", COLUMN_BOOL},
	{NULL, "load_before", 0, "load average", COLUMN_NUMBER},
	{NULL, "load_after", 0, "load average", COLUMN_NUMBER},
	{NULL, "seconds", 0, "that it took", COLUMN_NUMBER},
	{NULL, "cpus_of_others", 0, "that others used meanwhile",
		COLUMN_NUMBER},
	{NULL, "cpus_stolen", 0, "by the hypervisor", COLUMN_NUMBER}, {0}};

static const struct column series_columns[] = {
	{NULL, "n", 0, "samples", COLUMN_NUMBER},
	{NULL, "min", 0, "least", COLUMN_NUMBER},
	{NULL, "max", 0, "greatest", COLUMN_NUMBER},
	{NULL, "median", 0, "the middle one", COLUMN_NUMBER},
	{NULL, "mean", 0, "mean", COLUMN_NUMBER},
	{NULL, "stddev", 0, "standard deviation", COLUMN_NUMBER},
	{NULL, "samples", 0, "all, as numbers", COLUMN_ROWS}, {0}};

static const struct column figure_columns[] = {
	{NULL, "table", 0, "T1 to T5, or calls"},
	{NULL, "work", 0, "what is done"},
	{NULL, "measure", 0, "what is measured of it"},
	{NULL, "unit", 0, "of the samples"},
	{NULL, "x", 0, "size: keys, depth, processes", COLUMN_NUMBER},
	{NULL, "value", 0, "what is shown: best or median"},
	{NULL, "worlds", 0, "a series each by name: kernel, shim, others",
		COLUMN_MAP, .of = series_columns},
	{0}};

static const struct column bench_lock_columns[] = {
	{NULL, "table", 0, "as in figures"}, {NULL, "work", 0, "as in figures"},
	{NULL, "x", 0, "as in figures", COLUMN_NUMBER},
	{NULL, "locks", 0, "as ipclift locks prints them", COLUMN_ROWS,
		.of = lock_columns},
	{0}};

static const struct column compare_columns[] = {
	{NULL, "table", 0, "as in figures"}, {NULL, "work", 0, "as in figures"},
	{NULL, "measure", 0, "as in figures"},
	{NULL, "x", 0, "as in figures", COLUMN_NUMBER},
	{NULL, "world", 0, "kernel or shim"},
	{NULL, "old_mean", 0, "mean", COLUMN_NUMBER},
	{NULL, "new_mean", 0, "mean", COLUMN_NUMBER},
	{NULL, "change_percent", 0, "of the means", COLUMN_NUMBER},
	{NULL, "interval_percent", 0, "at 95 %", COLUMN_NUMBER},
	{NULL, "verdict", 0, "in words"}, {0}};

static const struct column bench_columns[] = {
	{NULL, "ipclift_bench", 0, "version of this format", COLUMN_NUMBER},
	{NULL, "machine", 0, "where and when", COLUMN_OBJECT,
		.of = machine_columns},
	{NULL, "figures", 0, "what was measured", COLUMN_ROWS,
		.of = figure_columns},
	{NULL, "locks", 0, "of one run more", COLUMN_ROWS,
		.of = bench_lock_columns},
	{NULL, "notes", 0, "what could not be measured, as strings",
		COLUMN_ROWS},
	{NULL, "compare", 0, "with --compare", COLUMN_ROWS,
		.of = compare_columns},
	{0}};

/* ---- top: live, and with --once ---- */

#define TOP_WIDE 110
#define TOP_WIDER 120

const struct column top_object_columns[] = {
	{"KIND", "kind", '<', "sem, msg, shm or mq", .width = 4},
	{"ID", "id", '<', "or the name of a POSIX queue"},
	{"KEY", "key", '<', "in hexadecimal", .width = 10, .wide = TOP_WIDE},
	{"OWNER", "owner", '<', "user", .width = 8},
	{"OPS/S", "ops_per_second", 'r', "takings of its lock", COLUMN_NUMBER, .width = 8},
	{"SENT/S", "sent_per_second", 'r', "messages", COLUMN_NUMBER, .width = 7},
	{"HELD/S", "held_per_second", 'r', "takers that found it held", COLUMN_NUMBER, .width = 7, .wide = TOP_WIDE},
	{"SLEPT/S", "slept_per_second", 'r', "takers that slept", COLUMN_NUMBER, .width = 7, .wide = TOP_WIDE},
	{"DEPTH", "depth", '>', "semaphores, messages or attachments", COLUMN_NUMBER, .width = 6},
	{"BYTES", "bytes", 'b', "of messages or the segment", COLUMN_NUMBER, .width = 10},
	{"FULL%", "full_percent", '%', "of its own limit", COLUMN_NUMBER, .width = 5, .wide = TOP_WIDE},
	{"LEASED", "leased", '>', "messages received and not acknowledged", COLUMN_NUMBER, .width = 6, .wide = TOP_WIDER},
	{"WAIT", "waiters", '>', "threads asleep on it", COLUMN_NUMBER, .width = 4},
	{"OLDEST", "oldest_waiter_seconds", 'a', "for how long the first", COLUMN_NUMBER, .width = 7},
	{"USED", "used_seconds_ago", 'a', "the last operation", COLUMN_NUMBER, .width = 7, .wide = TOP_WIDE},
	{0}};

const struct column top_process_columns[] = {
	{"PID", "pid", '>', "process", COLUMN_NUMBER, .width = 8},
	{"COMMAND", "command", '<', "its name"},
	{"THREADS", "threads", '>', "that made calls", COLUMN_NUMBER, .width = 7},
	{"WAITING", "waiting", '>', "of these asleep", COLUMN_NUMBER, .width = 7},
	{"OLDEST", "oldest_wait_seconds", 'a', "for how long the first", COLUMN_NUMBER, .width = 7},
	{"HOLDS", "holds", '>', "sets that its death would change", COLUMN_NUMBER, .width = 5},
	{"LEASED", "leased", '>', "messages it has not acknowledged", COLUMN_NUMBER, .width = 6, .wide = TOP_WIDE},
	{"ON", "on", '<', "what it waits for", .width = 14},
	{"HELD BY", "holder", '<', "the process that has it", .width = 8},
	{"STATE", "state", '<', "alive, or dead: it left something", .width = 5},
	{0}};

const struct column top_lock_columns[] = {
	{"LOCK", "lock", '<', "as ipclift locks prints it"},
	{"TAKEN/S", "taken_per_second", 'r', "rate", COLUMN_NUMBER, .width = 8},
	{"HELD/S", "held_per_second", 'r', "found held", COLUMN_NUMBER, .width = 8},
	{"SLEPT/S", "slept_per_second", 'r', "slept for", COLUMN_NUMBER, .width = 8},
	{"HELD", "held", '>', "found held, so far", COLUMN_NUMBER, .width = 9},
	{"SLEPT", "slept", '>', "slept for, so far", COLUMN_NUMBER, .width = 8},
	{"TIME%", "time_percent", '%', "of the interval held, with locks --on", COLUMN_NUMBER, .width = 6},
	{"MAX NS", "max_ns", '>', "longest hold, with locks --on", COLUMN_NUMBER, .width = 10, .wide = TOP_WIDE},
	{"OWNER", "owner", '>', "thread that has it", COLUMN_NUMBER, .width = 8, .wide = TOP_WIDE},
	{0}};

static const struct column top_deadlock_columns[] = {
	{NULL, "pid", 0, "who waits", COLUMN_NUMBER},
	{NULL, "holder", 0, "for which process", COLUMN_NUMBER},
	{NULL, "id", 0, "of the set", COLUMN_NUMBER},
	{NULL, "semaphore", 0, "its number", COLUMN_NUMBER},
	{0}};

static const struct column top_columns[] = {{NULL, "registry", 0, "its path"},
	{NULL, "time", 0, "seconds since 1970", COLUMN_NUMBER},
	{NULL, "seconds", 0, "between the two looks", COLUMN_NUMBER},
	{NULL, "objects", 0, "by rate", COLUMN_ROWS, .of = top_object_columns},
	{NULL, "processes", 0, "by wait", COLUMN_ROWS,
		.of = top_process_columns},
	{NULL, "locks", 0, "by what they cost", COLUMN_ROWS,
		.of = top_lock_columns},
	{NULL, "deadlocks", 0, "each wait in a circle", COLUMN_ROWS,
		.of = top_deadlock_columns},
	{0}};

const struct row_type row_types[] = {
	{"ls", 1, object_columns},
	{"show sem", 0, show_sem_columns},
	{"show msg", 0, show_msg_columns},
	{"show shm", 0, show_shm_columns},
	{"show mq", 0, show_mq_columns},
	{"waits", 1, wait_columns},
	{"locks", 1, lock_columns},
	{"tasks", 1, task_columns},
	{"events", 1, event_columns},
	{"check", 1, check_columns},
	{"registries", 1, registry_columns},
	{"doctor", 0, doctor_columns},
	{"bench", 0, bench_columns},
	{"top", 0, top_columns},
};
const unsigned n_row_types = ARRAY_SIZE(row_types);
