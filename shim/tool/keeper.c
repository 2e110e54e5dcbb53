// SPDX-License-Identifier: MIT
/*
 * Front and keeper of a private registry; see keeper.h.
 */
#include "tool/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tool/command.h"
#include "tool/home.h"

/* One datagram between the two. */
struct note {
	enum {
		NOTE_SIGNAL,  /* front to keeper: pass value on */
		NOTE_STOPPED, /* keeper to front: by signal value */
		NOTE_ENDED,   /* keeper to front: with exit status value; */
		NOTE_LAST,    /* and all others too: keeper ends as well */
	} kind;
	int value;
};

struct privacy {
	char path[HOME_PATH_MAX];
	int (*exec)(char **argv);
	int lock_fd; /* keeps the file; shared by front and keeper */
	int note_fd; /* our end of the pair */
	pid_t keeper;
	pid_t program;		/* known to keeper only */
	sigset_t mask;		/* as we were started */
	struct sigaction child; /* and of SIGCHLD */
};

static void note_send(int fd, int kind, int value)
{
	struct note n = {kind, value};

	/* If the other has exited, it need not know. */
	send(fd, &n, sizeof(n), MSG_NOSIGNAL);
}

static int exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

/* ---- keeper ---- */

static void remove_registry(const struct privacy *p)
{
	/* A process that we did not start may use it, for any time. */
	while (home_in_use(p->path, 1))
		nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
	home_remove(p->path);
}

/* Take the program's status, and every orphan's. 1 once all are gone. *ret is
 * the program's exit status as soon as it is known, else left alone. */
static int reap(const struct privacy *p, int *ret)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != p->program)
			continue;
		if (WIFSTOPPED(status))
			note_send(p->note_fd, NOTE_STOPPED, WSTOPSIG(status));
		else
			*ret = exit_status(status);
	}
	return pid < 0 && errno == ECHILD;
}

static _Noreturn void keeper_loop(struct privacy *p, int signal_fd)
{
	struct pollfd fds[2] = {{.fd = signal_fd, .events = POLLIN},
		{.fd = p->note_fd, .events = POLLIN}};
	struct signalfd_siginfo si;
	int status = -1, told = 0;
	struct note n;

	for (;;) {
		int done = reap(p, &status);

		if (done)
			remove_registry(p);
		if (status >= 0 && !told) {
			told = 1;
			note_send(p->note_fd, done ? NOTE_LAST : NOTE_ENDED,
				status);
		}
		if (done)
			_exit(0);
		poll(fds, 2, -1);
		if (fds[0].revents && read(signal_fd, &si, sizeof(si)) < 0)
			continue;
		if (!fds[1].revents)
			continue;
		if (recv(p->note_fd, &n, sizeof(n), MSG_DONTWAIT) ==
			sizeof(n)) {
			if (n.kind == NOTE_SIGNAL && status < 0)
				kill(p->program, n.value);
		} else if (errno != EAGAIN) {
			/* Front was killed, or has exited with its status. */
			fds[1].fd = -1;
			if (status < 0)
				kill(p->program, SIGKILL);
		}
	}
}

/* Keep no pipe and no directory in use. */
static void let_go(struct privacy *p)
{
	int null, i;

	/* Moved first: they may have any number now. */
	p->lock_fd = fcntl(p->lock_fd, F_DUPFD_CLOEXEC, 10);
	p->note_fd = fcntl(p->note_fd, F_DUPFD_CLOEXEC, 10);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (i = 0; i < 3; i++)
		dup2(null, i);
	dup2(p->lock_fd, 3);
	dup2(p->note_fd, 4);
	p->lock_fd = 3;
	p->note_fd = 4;
	close_range(5, ~0u, 0);
	if (chdir("/"))
		return;
}

static _Noreturn void program_start(const struct privacy *p, char **argv)
{
	sigaction(SIGCHLD, &p->child, NULL);
	sigprocmask(SIG_SETMASK, &p->mask, NULL);
	_exit(p->exec(argv));
}

static _Noreturn void keeper_start(struct privacy *p, char **argv)
{
	sigset_t chld;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	p->program = fork();
	if (!p->program)
		program_start(p, argv);
	if (p->program < 0) {
		failure("fork: %s", strerror(errno));
		note_send(p->note_fd, NOTE_LAST, 125);
		home_remove(p->path);
		_exit(1);
	}
	/* The program stays in the session, where the terminal's signals reach
	 * it. */
	setsid();
	prctl(PR_SET_NAME, "ipclift-keeper");
	let_go(p);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	keeper_loop(p, signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK));
}

/* ---- front ---- */

/* Was it sent by the terminal, so to the program as well? */
static int from_terminal(const struct signalfd_siginfo *si)
{
	return si->ssi_code == SI_KERNEL &&
	       (si->ssi_signo == SIGINT || si->ssi_signo == SIGQUIT ||
		       si->ssi_signo == SIGTSTP || si->ssi_signo == SIGWINCH);
}

/* Keeper was killed: its children are now ours. */
static int take_over(struct privacy *p)
{
	int status, last = 128 + SIGKILL;
	pid_t pid;

	while ((pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR)
		if (pid > 0 && pid != p->keeper)
			last = exit_status(status);
	remove_registry(p);
	return last;
}

static int front_loop(struct privacy *p, int signal_fd)
{
	struct pollfd fds[2] = {{.fd = signal_fd, .events = POLLIN},
		{.fd = p->note_fd, .events = POLLIN}};
	struct signalfd_siginfo si;
	struct note n;

	for (;;) {
		poll(fds, 2, -1);
		if (fds[0].revents && read(signal_fd, &si, sizeof(si)) > 0 &&
			!from_terminal(&si))
			note_send(p->note_fd, NOTE_SIGNAL, (int)si.ssi_signo);
		if (!fds[1].revents)
			continue;
		if (recv(p->note_fd, &n, sizeof(n), 0) != sizeof(n))
			return take_over(p);
		if (n.kind == NOTE_LAST)
			waitpid(p->keeper, NULL, 0);
		if (n.kind == NOTE_ENDED || n.kind == NOTE_LAST)
			return n.value;
		/* So that the shell sees the job stopped; it continues us. */
		if (n.kind == NOTE_STOPPED)
			kill(getpid(), SIGSTOP);
	}
}

int keeper_run(
	char **argv, int (*prepare)(void), int (*exec)(char **argv), int ours)
{
	struct privacy p = {.lock_fd = -1, .exec = exec};
	sigset_t all, mine;
	int pair[2];

	p.lock_fd = home_make_private(p.path);
	if (p.lock_fd < 0) {
		failure("no private registry in %s: %s", p.path,
			p.lock_fd == -EACCES
				? "it is not a directory that only you can "
				  "write"
				: strerror(-p.lock_fd));
		return ours;
	}
	if (setenv("IPCLIFT_REGISTRY", p.path, 1) ||
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		failure("%s", strerror(errno));
		home_remove(p.path);
		return ours;
	}
	if (prepare()) {
		home_remove(p.path);
		return ours;
	}
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &p.mask);
	/* If it were inherited as ignored, there would be no statuses to wait
	 * for. */
	sigaction(
		SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &p.child);
	p.keeper = fork();
	if (p.keeper == 0) {
		close(pair[0]);
		p.note_fd = pair[1];
		keeper_start(&p, argv);
	}
	close(pair[1]);
	p.note_fd = pair[0];
	if (p.keeper < 0) {
		failure("fork: %s", strerror(errno));
		home_remove(p.path);
		return ours;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	mine = all;
	sigdelset(&mine, SIGCHLD);
	return front_loop(&p, signalfd(-1, &mine, SFD_CLOEXEC));
}
