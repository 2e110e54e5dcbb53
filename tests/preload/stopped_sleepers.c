// SPDX-License-Identifier: MIT
/*
 * stopped_sleepers: a process that is stopped in its sleep (Ctrl-Z, docker
 * pause) is no sleeper any more: what it waits for goes to the next one, or
 * stays; when it is continued semop fails with EINTR, and a call on a message
 * queue begins again, behind the others.
 *
 * Two sleepers of each kind, the first one stopped; then a sleeper alone.
 */
#include "msg.h"
#include "mq.h"

static int set, queue;
static mqd_t q;

static void stop(pid_t pid)
{
	int status;

	kill(pid, SIGSTOP);
	t_true(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
}

/* --- semaphores --------------------------------------------------------- */

static pid_t sem_sleeper(struct sembuf *ops, size_t n)
{
	pid_t pid = t_fork();

	if (!pid)
		_exit(t_code(semop(set, ops, n)));
	t_asleep(pid);
	return pid;
}

static void sem_two(struct sembuf *ops, size_t n, struct sembuf *post,
	size_t n_post, const char *left)
{
	pid_t a = sem_sleeper(ops, n), b = sem_sleeper(ops, n);

	stop(a);
	t_eq(semop(set, post, n_post), 0);
	t_eq(t_join(b), 0);
	t_row(set, GETVAL, left);
	t_row(set, GETNCNT, "0 0");
	t_row(set, GETZCNT, "0 0");
	kill(a, SIGCONT);
	t_eq(t_join(a), EINTR);
	t_row(set, GETVAL, left);
}

static void semaphores(void)
{
	pid_t a;

	t_story("semop: a unit goes to the second of two");
	sem_two(OPS({0, -1, 0}), OPS({0, 1, 0}), "0 0");
	sem_two(OPS({0, -1, U}), OPS({0, 1, 0}), "1 0");
	t_eq(semctl(set, 0, SETVAL, 0), 0);
	t_story("semop: arrays");
	sem_two(OPS({0, -1, 0}, {1, -1, 0}), OPS({0, 1, 0}, {1, 1, 0}), "0 0");

	t_story("semop: the only sleeper is stopped, the unit stays");
	a = sem_sleeper(OPS({0, -1, 0}));
	t_row(set, GETNCNT, "1 0");
	stop(a);
	t_row(set, GETNCNT, "0 0");
	t_eq(semop(set, OPS({0, 1, 0})), 0);
	t_row(set, GETVAL, "1 0");
	kill(a, SIGCONT);
	t_eq(t_join(a), EINTR);
	t_row(set, GETVAL, "1 0");

	t_story("semop: a stopped wait for zero");
	a = sem_sleeper(OPS({0, 0, 0}, {1, 1, 0}));
	t_row(set, GETZCNT, "1 0");
	stop(a);
	t_row(set, GETZCNT, "0 0");
	t_eq(semop(set, OPS({0, -1, NW})), 0);
	t_row(set, GETVAL, "0 0");
	kill(a, SIGCONT);
	t_eq(t_join(a), EINTR);
	t_row(set, GETVAL, "0 0");

	t_story("semop: stopped, passed over and killed");
	a = sem_sleeper(OPS({0, -1, U}));
	stop(a);
	t_eq(semop(set, OPS({0, 1, 0})), 0);
	kill(a, SIGKILL);
	waitpid(a, NULL, 0);
	t_row(set, GETVAL, "1 0");
	t_eq(semctl(set, 0, SETVAL, 0), 0);
}

/* --- System V messages -------------------------------------------------- */

static void messages(void)
{
	pid_t a, b;

	queue = m_queue();
	t_story("msgrcv: a message goes to the second of two");
	a = m_receiver(queue, 64, 0, 0, "late");
	b = m_receiver(queue, 64, 0, 0, "soon");
	stop(a);
	t_eq(m_send(queue, 1, "soon", 0), 0);
	t_eq(t_join(b), 0);
	m_holds(queue, 0, 0);
	kill(a, SIGCONT);
	t_asleep(a);
	t_eq(m_send(queue, 1, "late", 0), 0);
	t_eq(t_join(a), 0);

	t_story("msgrcv: the only receiver is stopped, the message stays");
	a = m_receiver(queue, 64, 0, 0, "kept");
	stop(a);
	t_eq(m_send(queue, 1, "kept", 0), 0);
	m_holds(queue, 1, 4);
	kill(a, SIGCONT);
	t_eq(t_join(a), 0);
	m_holds(queue, 0, 0);

	t_story("msgsnd: space goes to the second of two");
	t_eq(m_set(queue, 0, 0600, 4), 0);
	t_eq(m_send(queue, 1, "full", 0), 0);
	a = m_sender(queue, 1, "aaaa");
	b = m_sender(queue, 1, "bbbb");
	stop(a);
	m_takes(queue, 64, 0, 0, "1:full");
	t_eq(t_join(b), 0);
	kill(a, SIGCONT);
	t_asleep(a);
	m_takes(queue, 64, 0, 0, "1:bbbb");
	t_eq(t_join(a), 0);
	m_takes(queue, 64, 0, 0, "1:aaaa");
	m_rm(queue);
}

/* --- removed, or refused, meanwhile ------------------------------------- */

static void removed(void)
{
	pid_t a, b;

	t_story("semop: the set is removed while it is stopped");
	set = t_set(2, NULL);
	a = sem_sleeper(OPS({0, -1, 0}));
	b = sem_sleeper(OPS({0, -1, 0}, {1, -1, 0}));
	stop(a);
	t_rm(set);
	t_eq(t_join(b), EIDRM);
	kill(a, SIGCONT);
	t_eq(t_join(a), EINTR);

	t_story("msgrcv, msgsnd: the call begins anew, and the queue is gone");
	queue = m_queue();
	a = m_receiver(queue, 64, 1, 0, "none");
	b = m_receiver(queue, 64, 2, 0, "none");
	stop(a);
	m_rm(queue);
	t_eq(t_join(b), EIDRM);
	kill(a, SIGCONT);
	t_eq(t_join(a), EINVAL);
	queue = m_queue();
	t_eq(m_set(queue, 0, 0600, 4), 0);
	t_eq(m_send(queue, 1, "full", 0), 0);
	a = m_sender(queue, 1, "aaaa");
	stop(a);
	m_rm(queue);
	kill(a, SIGCONT);
	t_eq(t_join(a), EINVAL);

	t_story("msgrcv: a message that is too long came and went");
	queue = m_queue();
	a = m_receiver(queue, 4, 0, 0, "fits");
	stop(a);
	t_eq(m_send(queue, 1, "too long", 0), 0);
	m_takes(queue, 64, 0, 0, "1:too long");
	kill(a, SIGCONT);
	t_asleep(a);
	t_eq(m_send(queue, 1, "fits", 0), 0);
	t_eq(t_join(a), 0);
	m_rm(queue);
}

/* --- POSIX queues ------------------------------------------------------- */

static pid_t mq_taker(int wanted)
{
	pid_t pid = t_fork();

	if (!pid) {
		char buf[32];
		ssize_t n = mq_receive(q, buf, sizeof(buf), NULL);

		_exit(n < 0 ? errno : buf[0] == wanted ? 0 : 96);
	}
	t_asleep(pid);
	return pid;
}

static pid_t mq_giver(const char *text)
{
	pid_t pid = t_fork();

	if (!pid)
		_exit(q_put(q, text, 0) ? errno : 0);
	t_asleep(pid);
	return pid;
}

static void posix_queues(void)
{
	char buf[32];
	pid_t a, b;

	q = q_open(NAME, RW, 1, 32);
	t_story("mq_receive: a message goes to the second of two");
	a = mq_taker('l');
	b = mq_taker('s');
	stop(a);
	t_eq(q_put(q, "soon", 0), 0);
	t_eq(t_join(b), 0);
	t_eq(q_count(q), 0);
	kill(a, SIGCONT);
	t_asleep(a);
	t_eq(q_put(q, "late", 0), 0);
	t_eq(t_join(a), 0);

	t_story("mq_receive: the only receiver is stopped, the message stays");
	a = mq_taker('k');
	stop(a);
	t_eq(q_put(q, "kept", 0), 0);
	t_eq(q_count(q), 1);
	kill(a, SIGCONT);
	t_eq(t_join(a), 0);
	t_eq(q_count(q), 0);

	t_story("mq_notify: the only receiver is stopped, so it is told");
	struct sigevent ev = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct timespec second = {1, 0};
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	a = mq_taker('t');
	t_eq(mq_notify(q, &ev), 0);
	stop(a);
	t_eq(q_put(q, "told", 0), 0);
	t_eq(sigtimedwait(&usr1, NULL, &second), SIGUSR1);
	kill(a, SIGCONT);
	t_eq(t_join(a), 0);
	t_eq(q_count(q), 0);

	t_story("mq_send: space goes to the second of two");
	t_eq(q_put(q, "full", 0), 0);
	a = mq_giver("aaaa");
	b = mq_giver("bbbb");
	stop(a);
	t_eq(mq_receive(q, buf, sizeof(buf), NULL), 4);
	t_eq(t_join(b), 0);
	t_eq(mq_receive(q, buf, sizeof(buf), NULL), 4);
	t_true(buf[0] == 'b');
	kill(a, SIGCONT);
	t_eq(t_join(a), 0);
	t_eq(mq_receive(q, buf, sizeof(buf), NULL), 4);
	t_true(buf[0] == 'a');
	q_done(q);
}

int main(void)
{
	t_begin();
	set = t_set(2, NULL);
	semaphores();
	t_rm(set);
	messages();
	removed();
	posix_queues();
	return t_end();
}
