// SPDX-License-Identifier: MIT
/*
 * Registrations for notification (mq_notify) and the end of a queue: the model,
 * and the scenarios. The queue, "q" of mq.c, is open only if the scenario opens
 * it: in each actor's process by a descriptor of its own, so it can be closed
 * there, and the queue is removed when the last one is closed. Its FIFO is a
 * file: what a run unlinks is linked again before the next one.
 *
 * For SIGEV_THREAD the helper thread is an actor, with the calls that
 * entry/mq.c's makes (helper_run): it registers, and waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "explore.h"
#include "mq/mqueue.h"

#define MOST 4u
#define FIFO_NAME 4096

enum ended {
	NOT_REGISTERED,
	WAITS,
	FIRED,
	REMOVED,
};

struct notify_model {
	int named, exists;
	u32 n, max, deaths;
	u32 open;	/* processes that have it open: bits of their leaders */
	u32 registrant; /* actor + 1 */
	u32 by_thread;
	enum ended thread[MAX_ACTORS];
	u32 signalled[MAX_ACTORS];
};

static struct {
	int named, exists;
	u32 n, signalled[MAX_ACTORS];
} shown;
static u32 n_start;
static char fifo[FIFO_NAME], kept[FIFO_NAME];

/* Of the process; of the thread that registers. */
static struct mq_desc own = {.fd = -1};
static struct mq_number number;
static __thread int registered;

/* ---- calls ---- */

static struct mq_desc here(const struct caller *c)
{
	struct mq_desc d = own;

	d.s = mq_queue(c).s;
	return d;
}

static s64 open_queue(struct caller *c)
{
	int ret = mqueue_open(c, "q", 1, MQ_O_RDWR, 0, NULL, &own);

	if (ret < 0)
		return ret;
	own.access = MQ_O_RDWR;
	number = (struct mq_number){own.ident, MQ_NUMBER_OURS, 1};
	own.number = &number;
	own.changes = 1;
	mq_queue_use(&own);
	return 0;
}

/* All are: none comes over exec. */
static int opened_here(int fd)
{
	return fd >= 0;
}

static s64 notify(struct caller *c, u32 how)
{
	const struct mq_event by_signal = {.signo = SIGUSR2};
	const struct mq_event by_thread = {.how = SIGEV_THREAD};
	struct mq_desc d = here(c);
	s64 ret;

	if (d.fd < 0)
		return -EBADF;
	if (how != NOTIFY_NOT)
		mq_notify_after_exec(c, &d, opened_here);
	ret = mq_set_notify(c, &d,
		how == NOTIFY_SIGNAL   ? &by_signal
		: how == NOTIFY_THREAD ? &by_thread
				       : NULL);
	registered = how == NOTIFY_THREAD && !ret;
	return ret;
}

/* A pipe of two slots, which the queue's number is of from then on. */
static int foreign[2] = {-1, -1};

/* As entry/file/fd.c has it. */
static s64 close_queue(struct caller *c, int number_used_again)
{
	struct mq_desc d = here(c);
	int fd = d.fd;

	if (fd < 0)
		return -EBADF;
	mq_unregister(c, &d);
	atom_store_release(&number.changes, number.changes + 1);
	atom_store_release(&number.info, 0);
	own.fd = -1;
	mq_closing(c, &d);
	raw_syscall(__NR_close, fd, 0, 0, 0, 0, 0);
	if (number_used_again)
		dup2(foreign[1], fd);
	mq_closed(c, &d);
	return 0;
}

/* As entry/mq.c has it. */
static s64 by_number(struct caller *c, const struct call *k)
{
	char text[MESSAGE_MOST] = "";
	struct mq_desc d;
	u32 prio;
	s64 ret;

	do {
		d = here(c);
		if (d.fd < 0)
			return -EBADF;
		ret = k->op == CALL_NUMBER_SEND
			      ? mqueue_send(c, &d, text, 8, 1, NULL)
			      : mqueue_receive(
					c, &d, text, sizeof(text), &prio, NULL);
	} while (ret == -MQ_ERESTART);
	return ret;
}

s64 notify_call_make(struct caller *c, const struct call *k)
{
	struct mq_desc d = here(c);

	switch (k->op) {
	case CALL_NOTIFY:
		return notify(c, (u32)k->arg[0]);
	case CALL_NOTIFY_WAIT:
		return registered ? mq_notify_wait(c, &d) : -EINVAL;
	case CALL_NOTIFY_EXEC:
		mq_notify_executing(c, &d, 1);
		return 0;
	case CALL_MQOPEN:
		return open_queue(c);
	case CALL_NUMBER_SEND:
	case CALL_NUMBER_RECEIVE:
		return by_number(c, k);
	case CALL_MQCLOSE:
		return close_queue(c, (int)k->arg[0]);
	default:
		return -ENOSYS;
	}
}

/* ---- setups ---- */

/* The process has it open. Its threads come after it. */
static void opened(struct caller *c)
{
	if (own.fd < 0 && open_queue(c))
		abort();
}

/* Before a run, and before somebody looks. */
static void link_again(void)
{
	if (link(kept, fifo) && errno != EEXIST)
		abort();
}

static void make(struct caller *c, u32 n, int is_polled)
{
	char at[64];
	ssize_t len;
	int fd;

	own.fd = -1;
	mq_queue_make(c, n, 2);
	fd = mq_queue(c).fd;
	snprintf(at, sizeof(at), "/proc/self/fd/%d", fd);
	len = readlink(at, fifo, sizeof(fifo) - 1);
	if (len < 0)
		abort();
	fifo[len] = 0;
	snprintf(kept, sizeof(kept), "%s/fifo", explore_dir);
	unlink(kept);
	if (link(fifo, kept))
		abort();
	if (is_polled) {
		struct mq_desc d = mq_queue(c);

		mq_watch(c, &d, MQ_POLLED_IN | MQ_POLLED_OUT);
	}
	mq_queue_use(NULL);
	n_start = n;
}

static void empty(struct caller *c)
{
	make(c, 0, 0);
}

static void with_foreign(struct caller *c, u32 n)
{
	close(foreign[0]);
	close(foreign[1]);
	if (pipe(foreign) || fcntl(foreign[1], F_SETPIPE_SZ, 8192) < 0)
		abort();
	make(c, n, 1);
}

static void empty_polled(struct caller *c)
{
	with_foreign(c, 0);
}

static void one_polled(struct caller *c)
{
	with_foreign(c, 1);
}

/* ---- what the registry shows ---- */

static void rest(void)
{
	u32 i;
	int n = 0;

	signals_settle();
	for (i = 0; i < run.n_actors; i++)
		shown.signalled[i] = ctl->actors[i].signals;
	link_again();
	if (foreign[0] >= 0 && !ioctl(foreign[0], FIONREAD, &n) && n)
		snprintf(ctl->failure, sizeof(ctl->failure),
			"%d bytes in a foreign pipe", n);
}

static void look(struct caller *c)
{
	struct mq_desc d = mq_queue(c), found;
	struct mq_stat st;

	/* Also removes one that nobody has open. */
	shown.named = mq_find_name(c, "q", 1, &found) == 0;
	mq_lock_any(c, d.s);
	lock_release(c, &d.s->lock);
	mq_closed(c, &d);
	shown.exists = mq_stat(c, &d, &st) == 0;
	shown.n = shown.exists ? st.curmsgs : 0;
}

/* ---- the model ---- */

static int has_open(u32 actor)
{
	const struct actor_def *def = run.scn->actors;

	/* A thread's is its process's, a child's its parent's. */
	while (actor && (def[actor].flags & ACTOR_THREAD))
		actor--;
	return def[actor].prelude == opened;
}

static void init(void *m)
{
	struct notify_model *q = m;
	u32 i;

	q->named = q->exists = 1;
	q->n = n_start;
	q->max = 2;
	for (i = 0; i < run.n_actors; i++)
		if (has_open(i))
			q->open |= 1u << ctl->actors[i].leader;
}

static void drop(struct notify_model *q, enum ended how)
{
	if (q->registrant && q->by_thread)
		q->thread[q->registrant - 1] = how;
	q->registrant = 0;
}

static void drop_of_process(struct notify_model *q, u32 leader)
{
	if (q->registrant && ctl->actors[q->registrant - 1].leader == leader)
		drop(q, REMOVED);
}

static void tidy(struct notify_model *q)
{
	if (!q->named && !q->open)
		q->exists = 0;
}

static int apply_notify(
	struct notify_model *q, u32 actor, u32 how, int known, s64 result)
{
	u32 leader = ctl->actors[actor].leader;

	if (!(q->open & 1u << leader))
		return !known || result == -EBADF;
	if (how == NOTIFY_NOT) {
		drop_of_process(q, leader);
		return !known || result == 0;
	}
	if (q->registrant)
		return !known || result == -EBUSY;
	q->registrant = actor + 1;
	q->by_thread = how == NOTIFY_THREAD;
	if (q->by_thread)
		q->thread[actor] = WAITS;
	return !known || result == 0;
}

static int apply_wait(
	const struct notify_model *q, u32 actor, int known, s64 result)
{
	switch (q->thread[actor]) {
	case FIRED:
		return !known || result == 1;
	case REMOVED:
		return !known || result == 0;
	case NOT_REGISTERED:
		return !known || result == -EINVAL;
	default:
		return 0;
	}
}

static int apply(void *m, u32 actor, const struct call *k, int known,
	s64 result, const s64 *out)
{
	struct notify_model *q = m;
	u32 leader = ctl->actors[actor].leader;

	(void)out;
	switch (k->op) {
	case CALL_NOTIFY:
		return apply_notify(q, actor, (u32)k->arg[0], known, result);
	case CALL_NOTIFY_WAIT:
		return apply_wait(q, actor, known, result);
	case CALL_NOTIFY_EXEC:
		return 1;
	case CALL_MQOPEN:
		if (!q->named)
			return !known || result == -ENOENT;
		q->open |= 1u << leader;
		return !known || result == 0;
	/* A call that has begun has the queue open until it ends. */
	case CALL_NUMBER_RECEIVE:
		if (known && result == -EBADF)
			return !(q->open & 1u << leader);
		if (!q->n)
			return 0;
		q->n--;
		return !known || result == 8;
	case CALL_NUMBER_SEND:
		if (known && result == -EBADF)
			return !(q->open & 1u << leader);
		/* fall through */
	case CALL_MQSEND:
		if (q->n == q->max)
			return 0;
		if (!q->n++ && q->registrant) {
			if (!q->by_thread)
				q->signalled[q->registrant - 1]++;
			drop(q, FIRED);
		}
		return !known || result == 0;
	case CALL_MQUNLINK:
		if (!q->named)
			return !known || result == -ENOENT;
		q->named = 0;
		tidy(q);
		return !known || result == 0;
	case CALL_MQCLOSE:
		if (!(q->open & 1u << leader))
			return !known || result == -EBADF;
		drop_of_process(q, leader);
		q->open &= ~(1u << leader);
		tidy(q);
		return !known || result == 0;
	case CALL_FORK:
		if (q->open & 1u << leader)
			q->open |= 1u << k->arg[0];
		return !known || result > 0;
	default:
		return 0;
	}
}

static void death(void *m, u32 actor)
{
	struct notify_model *q = m;
	u32 leader = ctl->actors[actor].leader;

	q->deaths++;
	/* A thread's own death alone leaves the queue open. */
	if (actor != leader)
		return;
	drop_of_process(q, leader);
	q->open &= ~(1u << leader);
	tidy(q);
}

static int final(const void *m, char *why, u32 cap)
{
	const struct notify_model *q = m;
	u32 i;

	snprintf(why, cap,
		"the registry has: named %d, there %d, %u messages; the model "
		"%d, %d, %u",
		shown.named, shown.exists, shown.n, q->named, q->exists, q->n);
	if (q->named != shown.named || q->exists != shown.exists ||
		(q->exists && q->n != shown.n))
		return 0;
	for (i = 0; i < run.n_actors; i++) {
		if (ctl->actors[i].state == ACTOR_DEAD)
			continue;
		if (shown.signalled[i] < q->signalled[i] ||
			shown.signalled[i] > q->signalled[i] + q->deaths) {
			snprintf(why, cap, "%c got %u signals, not %u", 'A' + i,
				shown.signalled[i], q->signalled[i]);
			return 0;
		}
	}
	return 1;
}

static const struct facility_model model = {
	sizeof(struct notify_model), init, apply, death, final};

/* ---- scenarios ---- */

#define CALL(op_, a, b, name)                    \
	{                                        \
		.op = op_, .arg = { a, b, name } \
	}
#define SEND CALL(CALL_MQSEND, 1, 8, 11)
#define UNLINK CALL(CALL_MQUNLINK, 0, 0, 0)
#define CLOSE CALL(CALL_MQCLOSE, 0, 0, 0)
#define BY_SIGNAL CALL(CALL_NOTIFY, NOTIFY_SIGNAL, 0, 0)
#define BY_THREAD \
	CALL(CALL_NOTIFY, NOTIFY_THREAD, 0, 0), CALL(CALL_NOTIFY_WAIT, 0, 0, 0)
#define CLOSE_AND_OPEN CALL(CALL_MQCLOSE, 1, 0, 0)
#define NUMBER_SEND CALL(CALL_NUMBER_SEND, 0, 0, 0)
#define NUMBER_RECEIVE CALL(CALL_NUMBER_RECEIVE, 0, 0, 0)
#define OPEN CALL(CALL_MQOPEN, 0, 0, 0)
#define EXECUTING CALL(CALL_NOTIFY_EXEC, 0, 0, 0)
#define TAKE_BACK CALL(CALL_NOTIFY, NOTIFY_NOT, 0, 0)
/* Registered, and asleep, from the beginning. */
#define HELPER (ACTOR_THREAD | ACTOR_FIRST)
#define SCENARIO_OF(n, s)                                               \
	.name = "notify." n, .model = &model, .setup = s, .look = look, \
	.reset = link_again, .rest = rest
#define SCENARIO(n) SCENARIO_OF(n, empty)

const struct scenario notify_scenarios[] = {
	{SCENARIO("thread-send"), .actors = {{ACTOR_FIRST, opened, {BY_THREAD}},
					  {0, opened, {SEND}}}},
	{SCENARIO("thread-register-send"),
		.actors = {{0, opened, {BY_THREAD}}, {0, opened, {SEND}}}},
	{SCENARIO("thread-thread"),
		.actors = {{0, opened, {BY_THREAD}}, {0, opened, {BY_THREAD}},
			{0, opened, {SEND}}}},
	{SCENARIO("thread-unlink"),
		.actors = {{ACTOR_FIRST, opened, {BY_THREAD}},
			{.calls = {UNLINK}}}},
	{SCENARIO("thread-unlink-close"),
		.actors = {{ACTOR_FIRST, opened, {BY_THREAD}},
			{0, opened, {UNLINK, CLOSE}}}},
	{SCENARIO("thread-register-unlink"),
		.actors = {{0, opened, {BY_THREAD}}, {.calls = {UNLINK}}}},
	/* B is the helper thread of A's process. */
	{SCENARIO("helper-close"),
		.actors = {{0, opened, {CLOSE}}, {HELPER, NULL, {BY_THREAD}},
			{0, opened, {SEND}}}},
	{SCENARIO("helper-close-unlink"),
		.actors = {{0, opened, {CLOSE}}, {HELPER, NULL, {BY_THREAD}},
			{.calls = {UNLINK}}}},
	{SCENARIO("helper-take-back"),
		.actors = {{0, opened, {TAKE_BACK}},
			{HELPER, NULL, {BY_THREAD}}, {0, opened, {SEND}}}},
	{SCENARIO("helper-exits"),
		.actors = {{ACTOR_EXITS, opened, {SEND}},
			{HELPER | ACTOR_EXITS, NULL, {BY_THREAD}},
			{.calls = {UNLINK}}}},
	{SCENARIO("helper-reused"),
		.actors = {{ACTOR_REUSED, opened, {CLOSE}},
			{HELPER, NULL, {BY_THREAD}}, {0, opened, {BY_SIGNAL}}}},
	{SCENARIO("signal-unlink"),
		.actors = {{ACTOR_FIRST, opened, {BY_SIGNAL}},
			{.calls = {UNLINK}}, {0, opened, {SEND}}}},
	{SCENARIO("signal-close"), .actors = {{0, opened, {BY_SIGNAL, CLOSE}},
					   {0, opened, {SEND}}}},
	{SCENARIO("close-close"),
		.actors = {{0, opened, {CLOSE}}, {0, opened, {UNLINK, CLOSE}}}},
	/* B uses the number that A closes, and that is another file's then. */
	{SCENARIO_OF("number-send", empty_polled),
		.actors = {{0, opened, {CLOSE_AND_OPEN}},
			{ACTOR_THREAD, NULL, {NUMBER_SEND}},
			{ACTOR_IMMORTAL, opened, {NUMBER_SEND}}}},
	{SCENARIO_OF("number-receive", one_polled),
		.actors = {{0, opened, {CLOSE_AND_OPEN}},
			{ACTOR_THREAD, NULL, {NUMBER_RECEIVE}},
			{ACTOR_IMMORTAL, opened, {NUMBER_SEND}}}},
	{SCENARIO_OF("number-sleeper", empty_polled),
		.actors = {{0, opened, {CLOSE_AND_OPEN}},
			{ACTOR_THREAD | ACTOR_FIRST, NULL, {NUMBER_RECEIVE}},
			{.flags = ACTOR_IMMORTAL,
				.prelude = opened,
				.calls = {NUMBER_SEND, NUMBER_SEND}}}},
	/* B is A's next program image. */
	{SCENARIO("exec-send"), .actors = {{ACTOR_EXITS | ACTOR_EXECS, opened,
						   {BY_SIGNAL, EXECUTING}},
					{ACTOR_NEXT | ACTOR_NEW, NULL, {OPEN}},
					{0, opened, {SEND}}}},
	{SCENARIO("exec-registers"),
		.actors = {{ACTOR_EXITS | ACTOR_EXECS, opened,
				   {BY_SIGNAL, EXECUTING}},
			{ACTOR_NEXT | ACTOR_NEW, NULL, {OPEN, BY_SIGNAL}},
			{0, opened, {SEND}}}},
	{SCENARIO("exec-other-registers"),
		.actors = {{ACTOR_EXITS | ACTOR_EXECS, opened,
				   {BY_SIGNAL, EXECUTING}},
			{ACTOR_NEXT | ACTOR_NEW, NULL, {OPEN}},
			{0, opened, {BY_SIGNAL}}}},
	{SCENARIO("exec-thread"),
		.actors = {{ACTOR_FIRST | ACTOR_EXECS, opened, {BY_THREAD}},
			{ACTOR_NEXT | ACTOR_NEW, NULL, {OPEN, BY_THREAD}},
			{0, opened, {SEND}}}},
	{SCENARIO("exec-unlink"),
		.actors = {{ACTOR_EXITS | ACTOR_EXECS, opened,
				   {BY_SIGNAL, EXECUTING}},
			{ACTOR_NEXT | ACTOR_NEW, NULL, {UNLINK}},
			{0, opened, {CLOSE}}}},
	/* A's signal handler makes a call, too. */
	{SCENARIO("handler-registers"),
		.actors = {{0, opened, {SEND},
				   CALL(CALL_NOTIFY, NOTIFY_SIGNAL, 0, 0)},
			{0, opened, {BY_SIGNAL}}}},
	{SCENARIO("handler-take-back"),
		.actors = {{0, opened, {BY_SIGNAL, CLOSE}, TAKE_BACK},
			{0, opened, {SEND}}}},
	{SCENARIO("handler-unlink"),
		.actors = {{0, opened, {BY_SIGNAL, CLOSE}, UNLINK},
			{0, opened, {SEND, CLOSE}}}},
	/* B is A's child: it has the queue open, and is not registered. */
	{SCENARIO("child-send"),
		.actors = {{0, opened, {BY_SIGNAL, MAKE_CHILD(1)}},
			{ACTOR_CHILD, NULL, {SEND}}}},
	{SCENARIO("child-close"),
		.actors = {{0, opened, {BY_SIGNAL, MAKE_CHILD(1)}},
			{ACTOR_CHILD, NULL, {CLOSE}}, {0, opened, {SEND}}}},
	{SCENARIO("child-unlink"),
		.actors = {{0, opened, {BY_SIGNAL, MAKE_CHILD(1), CLOSE}},
			{ACTOR_CHILD, NULL, {CLOSE}}, {.calls = {UNLINK}}}},
	{SCENARIO("child-registers"),
		.actors = {{0, opened, {BY_SIGNAL, MAKE_CHILD(1), CLOSE}},
			{ACTOR_CHILD, NULL, {BY_THREAD}}, {0, opened, {SEND}}}},
	{0},
};
