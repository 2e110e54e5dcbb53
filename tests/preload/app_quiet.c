// SPDX-License-Identifier: MIT
/*
 * app_quiet SCENE: what the shim does not change in a process, one scene per
 * run. Exit status 0, or the line of the check that failed, which is also
 * printed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "raw.h"

#define CHECK(cond)                                                           \
	do {                                                                  \
		if (!(cond)) {                                                \
			fprintf(stderr, "line %d: %s (errno %d)\n", __LINE__, \
				#cond, errno);                                \
			exit(1);                                              \
		}                                                             \
	} while (0)

/* sigset and its kin are what is tested. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static struct sembuf up = {0, 1, 0}, down = {0, -1, 0};
static struct sembuf up_u = {0, 1, SEM_UNDO}, down_u = {0, -1, SEM_UNDO};
static int set = -1;

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int make(int n)
{
	int id = semget(IPC_PRIVATE, n, 0600);

	CHECK(id >= 0);
	return id;
}

static void pair(void)
{
	CHECK(!semop(set, &up, 1) && !semop(set, &down, 1));
	CHECK(!semop(set, &up_u, 1) && !semop(set, &down_u, 1));
}

static void descriptors(void)
{
	int before = count_fds(), fd = dup(0);

	close(fd);
	set = make(1);
	pair();
	CHECK(count_fds() == before);
	CHECK(dup(0) == fd);
	/* All closed, as daemons do. */
	for (fd = 0; fd < 1024; fd++)
		close(fd);
	pair();
	semctl(set, 0, IPC_RMID);
	set = semget(IPC_PRIVATE, 1, 0600);
	_exit(set < 0 || semctl(set, 0, IPC_RMID));
}

static void daemons(void)
{
	int done = make(1);

	set = make(1);
	CHECK(!semop(set, &up_u, 1));
	if (fork() == 0) {
		CHECK(!daemon(0, 0));
		pair();
		_exit(semop(done, &up, 1));
	}
	CHECK(!semop(done, &down, 1));
	CHECK(semctl(set, 0, GETVAL) == 1);
	wait(NULL);
	semctl(done, 0, IPC_RMID);
}

static void bomb(void)
{
	int status, n = 0;

	set = make(1);
	for (int i = 0; i < 500; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0)
			_exit(semop(set, &up, 1) || semop(set, &up_u, 1));
	}
	while (wait(&status) > 0)
		n += status == 0;
	CHECK(n == 500);
	for (int i = 0; i < 1000 && semctl(set, 0, GETVAL) != 500; i++)
		usleep(1000);
	CHECK(semctl(set, 0, GETVAL) == 500);
}

static void *with_undo(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++)
		if (semop(set, &down_u, 1) || semop(set, &up_u, 1))
			return arg;
	return &set;
}

static void *big_array(void *arg)
{
	static struct sembuf sops[500];
	struct timespec soon = {0, 1000000};

	for (int i = 0; i < 500; i++)
		sops[i] = (struct sembuf){
			(unsigned short)(i % 250), i < 250 ? 1 : -1, SEM_UNDO};
	for (int i = 0; i < 10; i++)
		if (semop(set, sops, 500))
			return arg;
	/* And asleep, until the time is over. */
	if (semtimedop(set, &down, 1, &soon) != -1 || errno != EAGAIN)
		return arg;
	return semctl(set, 0, GETVAL) ? arg : &set;
}

static pthread_attr_t small_stack(void)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	CHECK(!pthread_attr_setstacksize(
		&attr, PTHREAD_STACK_MIN < 16384 ? 16384 : PTHREAD_STACK_MIN));
	return attr;
}

static void threads(void)
{
	static pthread_t t[1000];
	pthread_attr_t attr = small_stack();
	void *ret;

	set = make(1);
	CHECK(!semop(set, &up, 1));
	for (int i = 0; i < 1000; i++)
		CHECK(!pthread_create(&t[i], &attr, with_undo, NULL));
	for (int i = 0; i < 1000; i++)
		CHECK(!pthread_join(t[i], &ret) && ret == &set);
	CHECK(semctl(set, 0, GETVAL) == 1);
}

/* Signals on such a stack: the kernel's frame takes a good part of it, so the
 * handler that calls semop has a stack of its own. */
static volatile sig_atomic_t handled, wrong;

static void on_usr1(int sig)
{
	(void)sig;
	wrong += semop(set, &up_u, 1) || semop(set, &down_u, 1);
	handled++;
}

static void *alternative(void *arg)
{
	stack_t alt = {.ss_sp = malloc(65536), .ss_size = 65536};
	struct timespec hour = {3600, 0};

	if (sigaltstack(&alt, NULL))
		return arg;
	for (int i = 0; i < 2000; i++) {
		pthread_kill(pthread_self(), SIGUSR1);
		if (semop(set, &up_u, 1) || semop(set, &down_u, 1))
			return arg;
	}
	if (semtimedop(set, &down, 1, &hour) != -1 || errno != EINTR)
		return arg;
	return &set;
}

static void stacks(void)
{
	struct sigaction act = {
		.sa_handler = on_usr1, .sa_flags = SA_ONSTACK | SA_RESTART};
	pthread_attr_t attr = small_stack();
	pthread_t t;
	void *ret;

	set = make(250);
	CHECK(!pthread_create(&t, &attr, big_array, NULL));
	CHECK(!pthread_join(t, &ret) && ret == &set);
	sigaction(SIGUSR1, &act, NULL);
	CHECK(!pthread_create(&t, &attr, alternative, NULL));
	while (semctl(set, 0, GETNCNT) != 1)
		usleep(1000);
	pthread_kill(t, SIGUSR1);
	CHECK(!pthread_join(t, &ret) && ret == &set && !wrong);
	CHECK(handled == 2001);
}

static void chrooted(void)
{
	set = make(1);
	pair();
	CHECK(!chroot("/proc/self/fdinfo") && !chdir("/"));
	pair();
	if (fork() == 0) {
		pair();
		_exit(semop(set, &up_u, 1));
	}
	wait(NULL);
	usleep(50000);
	CHECK(semctl(set, 0, GETVAL) == 0);
}

static void unshared(void)
{
	int status;

	set = make(1);
	CHECK(!unshare(CLONE_FS | CLONE_FILES | CLONE_NEWNS | CLONE_NEWUTS));
	pair();
	if (fork() == 0) {
		if (!no_user_namespaces())
			CHECK(!unshare(CLONE_NEWUSER));
		pair();
		_exit(0);
	}
	CHECK(wait(&status) > 0 && !status);
}

/* Only read, write, _exit and sigreturn: what needs no kernel still works. */
static void strict(void)
{
	int status;
	pid_t pid;

	set = make(2);
	pair();
	pid = fork();
	if (pid == 0) {
		pair();
		prctl(PR_SET_SECCOMP, 1 /* strict */);
		for (int i = 0; i < 100; i++)
			if (semop(set, &up, 1) || semop(set, &down, 1))
				syscall(SYS_exit, 2);
		syscall(SYS_exit, semctl(set, 0, GETVAL));
	}
	CHECK(wait(&status) == pid && status == 0);
}

static void three_fds(void)
{
	struct rlimit three = {3, 3};
	int to[2], status;
	pid_t pid;
	char c;

	set = make(1);
	CHECK(!pipe(to));
	pid = fork();
	if (pid == 0) {
		/* Full from the start: its start time cannot be read. */
		dup2(to[0], 0);
		dup2(to[1], 1);
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
		setrlimit(RLIMIT_NOFILE, &three);
		pair();
		CHECK(!semop(set, &up_u, 1));
		CHECK(write(1, "x", 1) == 1);
		raise(SIGSTOP);
		_exit(0);
	}
	CHECK(read(to[0], &c, 1) == 1);
	CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	/* It lives: what it holds is not given back. */
	pair();
	CHECK(semctl(set, 0, GETVAL) == 1);
	if (fork() == 0)
		_exit(semop(set, &up, 1));
	wait(&status);
	CHECK(semctl(set, 0, GETVAL) == 2);
	kill(pid, SIGCONT);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 1000 && semctl(set, 0, GETVAL) != 1; i++)
		usleep(1000);
	CHECK(semctl(set, 0, GETVAL) == 1);
}

/* ---- vfork, clone, spawn ---- */

static int vm_child(void *arg)
{
	(void)arg;
	if (semop(set, &up_u, 1) || semctl(set, 0, GETPID) != getpid())
		_exit(1);
	_exit(0);
}

static void children(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	volatile pid_t inner;
	pid_t pid;
	int status;

	/* The very first call is made by a vfork child. */
	signal(SIGUSR1, on_usr1);
	pid = vfork();
	if (pid == 0) {
		set = semget(0x33, 2, IPC_CREAT | 0600);
		_exit(set < 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	CHECK(signal(SIGUSR1, on_usr1) == on_usr1);
	pair();
	raise(SIGUSR1);
	CHECK(handled == 1 && !wrong);
	CHECK(semctl(set, 0, GETPID) == getpid());

	/* vfork in vfork, each with an adjustment. */
	pid = vfork();
	if (pid == 0) {
		semop(set, &up_u, 1);
		inner = vfork();
		if (inner == 0) {
			semop(set, &up_u, 1);
			_exit(semctl(set, 0, GETPID) != getpid());
		}
		waitpid(inner, &status, 0);
		semop(set, &up, 1);
		_exit(status || semctl(set, 0, GETPID) != getpid());
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	pair();
	CHECK(semctl(set, 0, GETPID) == getpid());
	CHECK(semctl(set, 0, GETVAL) == 1);
	CHECK(!semop(set, &down, 1));

	/* One that is killed in its sleep. */
	pid = vfork();
	if (pid == 0) {
		timer_t timer;
		struct sigevent ev = {
			.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
		struct itimerspec at = {.it_value = {0, 30000000}};

		semop(set, &up_u, 1);
		timer_create(CLOCK_MONOTONIC, &ev, &timer);
		timer_settime(timer, 0, &at, NULL);
		semop(set, &(struct sembuf){1, -1, 0}, 1);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	pair();
	CHECK(semctl(set, 0, GETPID) == getpid());
	CHECK(semctl(set, 0, GETVAL) == 0 && semctl(set, 1, GETNCNT) == 0);

	pid = clone(vm_child, stack + sizeof(stack),
		CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	pair();
	CHECK(semctl(set, 0, GETPID) == getpid());
	CHECK(semctl(set, 0, GETVAL) == 0);
}

/* ---- handlers ---- */

static void other(int sig, siginfo_t *info, void *uc)
{
	(void)sig, (void)info, (void)uc;
}

static void same_action(int sig, const struct sigaction *want)
{
	struct sigaction got;

	CHECK(!sigaction(sig, NULL, &got));
	CHECK(got.sa_handler == want->sa_handler);
	/* glibc shows its SA_RESTORER. */
	CHECK((got.sa_flags & ~0x04000000) == want->sa_flags);
	for (int s = 1; s < 64; s++)
		CHECK(sigismember(&got.sa_mask, s) ==
			sigismember(&want->sa_mask, s));
}

static void set_both(int sig, const struct sigaction *act)
{
	struct sigaction old;

	CHECK(!sigaction(sig, act, &old));
	same_action(sig, act);
}

static const int some_flags[] = {0, SA_RESTART, SA_NODEFER, SA_ONSTACK,
	SA_NOCLDSTOP, SA_RESETHAND | SA_NODEFER, SA_RESTART | SA_ONSTACK};

static struct sigaction action(int i)
{
	struct sigaction act = {.sa_flags = some_flags[i / 2]};

	if (i & 1) {
		act.sa_sigaction = other;
		act.sa_flags |= SA_SIGINFO;
	} else {
		act.sa_handler = on_usr1;
	}
	sigaddset(&act.sa_mask, SIGTERM + i % 3);
	return act;
}

/* What is executed has no handlers, before its first call and after. */
static void bare(void)
{
	struct sigaction got;

	for (int twice = 0; twice < 2; twice++) {
		for (int sig = 1; sig < 32; sig++)
			CHECK(!sigaction(sig, NULL, &got) &&
				(got.sa_handler == SIG_DFL ||
					got.sa_handler == SIG_IGN));
		set = set < 0 ? make(1) : set;
	}
}

static void handlers(void)
{
	struct sigaction act, dfl = {.sa_handler = SIG_DFL}, old;
	extern char **environ;
	char *self[] = {"app_quiet", "bare", NULL};
	void (*h)(int);
	pid_t pid;
	int status;

	for (int i = 0; i < 14; i++) {
		act = action(i);
		set_both(SIGRTMIN + i, &act);
	}
	set = make(1);
	pair();
	for (int i = 0; i < 14; i++) {
		act = action(i);
		same_action(SIGRTMIN + i, &act);
		act = action(13 - i);
		set_both(SIGRTMIN + i, &act);
		CHECK(!sigaction(SIGRTMIN + i, &dfl, &old));
		CHECK(old.sa_handler == act.sa_handler &&
			(old.sa_flags & ~0x04000000) == act.sa_flags);
		same_action(SIGRTMIN + i, &dfl);
		CHECK(!sigaction(SIGRTMIN + i, &act, NULL));
	}
	/* signal and its kin say what was before. */
	CHECK(signal(SIGUSR1, on_usr1) == SIG_DFL);
	CHECK(signal(SIGUSR1, SIG_IGN) == on_usr1);
	CHECK(signal(SIGUSR1, on_usr1) == SIG_IGN);
#ifdef __GLIBC__
	h = sysv_signal(SIGUSR1, on_usr1);
	CHECK(h == on_usr1 && !sigaction(SIGUSR1, NULL, &old));
	CHECK((old.sa_flags & (SA_RESETHAND | SA_NODEFER | SA_SIGINFO)) ==
		(SA_RESETHAND | SA_NODEFER));
	handled = 0;
	raise(SIGUSR1);
	CHECK(handled == 1);
	CHECK(signal(SIGUSR1, on_usr1) == SIG_DFL);
	CHECK(ssignal(SIGUSR1, on_usr1) == on_usr1);
	CHECK(sigset(SIGUSR1, SIG_HOLD) == on_usr1);
	CHECK(sigset(SIGUSR1, on_usr1) == SIG_HOLD);
	CHECK(sigset(SIGUSR1, SIG_DFL) == on_usr1);
	CHECK(signal(SIGUSR1, on_usr1) == SIG_DFL);
#else
	(void)h;
#endif
	errno = 0;
	CHECK(signal(SIGKILL, on_usr1) == SIG_ERR && errno == EINVAL);
	CHECK(sigaction(99, &dfl, NULL) == -1 && errno == EINVAL);
	CHECK(!siginterrupt(SIGUSR1, 1));
	CHECK(!sigaction(SIGUSR1, NULL, &old));
	CHECK(old.sa_handler == on_usr1 &&
		!(old.sa_flags & (SA_RESTART | SA_SIGINFO)));
	/* By number, with a bad pointer too. */
	CHECK(syscall(SYS_rt_sigaction, SIGUSR1, NULL, (void *)8, 8) == -1);
	CHECK(syscall(SYS_rt_sigaction, SIGUSR1, (void *)8, NULL, 8) == -1 &&
		errno == EFAULT);
	/* A vfork child reads the handlers, resets its own, and spares ours. */
	pid = vfork();
	if (pid == 0) {
		if (sigaction(SIGUSR1, NULL, &old) ||
			old.sa_handler != on_usr1 ||
			signal(SIGUSR1, SIG_IGN) != on_usr1)
			_exit(1);
		signal(SIGUSR1, SIG_DFL);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	handled = 0;
	raise(SIGUSR1);
	CHECK(handled == 1 && !wrong);
	/* And what is executed or spawned has none. */
	CHECK(!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, self, environ));
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	CHECK(!system("exit 0"));
	act = action(13);
	same_action(SIGRTMIN, &act);
}

/* The first call of a program and that of a child: the names of the thread mark
 * where each begins and ends in a list of system calls. */
static void first_calls(void)
{
	int status;
	pid_t pid;

	prctl(PR_SET_NAME, "begin");
	set = semget(IPC_PRIVATE, 1, 0600);
	prctl(PR_SET_NAME, "made");
	CHECK(set >= 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_NAME, "child");
		status = semop(set, &up, 1);
		prctl(PR_SET_NAME, "done");
		_exit(status != 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

/* Who only looks for a key, of any facility, does no more in its first call
 * than map the registry. */
static void finders(void)
{
	prctl(PR_SET_NAME, "begin");
	CHECK(shmget(0x7e577e57, 1, 0600) < 0 && errno == ENOENT);
	prctl(PR_SET_NAME, "sought");
	CHECK(semget(0x7e577e57, 1, 0600) < 0 && errno == ENOENT);
	CHECK(msgget(0x7e577e57, 0600) < 0 && errno == ENOENT);
	prctl(PR_SET_NAME, "found");
}

/* Opening and closing a queue that somebody has open. */
static void reopened(void)
{
	const char *name = "/app-reopened";
	mqd_t q = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, NULL), again;

	CHECK(q != -1);
	prctl(PR_SET_NAME, "begin");
	again = mq_open(name, O_RDWR);
	CHECK(again != -1 && !mq_close(again));
	prctl(PR_SET_NAME, "closed");
	CHECK(!mq_unlink(name) && !mq_close(q));
}

static long faults(int who)
{
	struct rusage used;

	return getrusage(who, &used) ? -1 : used.ru_minflt;
}

/* Prints how many pages a fork costs parent and child, neither of which makes a
 * call: more than its own share means that something was stored or looked up. */
static void forks(void)
{
	const int n = 100;
	long before = 0;
	int status, i;
	pid_t pid;

	/* The first looks up what the others need. */
	for (i = 0; i <= n; i++) {
		if (i == 1)
			before = faults(RUSAGE_SELF) + faults(RUSAGE_CHILDREN);
		pid = fork();
		if (pid == 0)
			_exit(0);
		CHECK(waitpid(pid, &status, 0) == pid && !status);
	}
	printf("%ld\n", (faults(RUSAGE_SELF) + faults(RUSAGE_CHILDREN) -
				before + n / 2) /
				n);
}

/* Prints how many pages a fork child's first call costs it and its parent, which
 * has made none. */
static void firsts(void)
{
	const key_t key = 0x1f127;
	const int n = 100;
	int status, i, set;
	long before = 0;
	pid_t pid;

	for (i = 0; i <= n; i++) {
		if (i == 1)
			before = faults(RUSAGE_SELF) + faults(RUSAGE_CHILDREN);
		pid = fork();
		if (pid == 0) {
			set = semget(key, 1, IPC_CREAT | 0600);
			CHECK(!semop(set, &(struct sembuf){0, 1, 0}, 1));
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && !status);
	}
	printf("%ld\n", (faults(RUSAGE_SELF) + faults(RUSAGE_CHILDREN) -
				before + n / 2) /
				n);
	CHECK(!semctl(semget(key, 1, 0600), 0, IPC_RMID));
}

static void nothing(void)
{
}

/* Prints how many pages the start of this program costs, if it makes no call. */
static void starts(void)
{
	const int n = 100;
	int status, i;
	pid_t pid;

	for (i = 0; i < n; i++) {
		pid = vfork();
		if (pid == 0) {
			execl("/proc/self/exe", "quiet", "nothing", NULL);
			_exit(1);
		}
		CHECK(waitpid(pid, &status, 0) == pid && !status);
	}
	printf("%ld\n", (faults(RUSAGE_CHILDREN) + n / 2) / n);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*play)(void);
	} scenes[] = {
		{"descriptors", descriptors},
		{"daemons", daemons},
		{"bomb", bomb},
		{"threads", threads},
		{"stacks", stacks},
		{"chrooted", chrooted},
		{"unshared", unshared},
		{"strict", strict},
		{"three_fds", three_fds},
		{"children", children},
		{"handlers", handlers},
		{"bare", bare},
		{"first_calls", first_calls},
		{"finders", finders},
		{"reopened", reopened},
		{"forks", forks},
		{"firsts", firsts},
		{"nothing", nothing},
		{"starts", starts},
	};

	alarm(60);
	signal(SIGCONT, SIG_DFL);
	signal(SIGUSR1, SIG_DFL); /* who started us may ignore it */
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		if (argc == 2 && !strcmp(argv[1], scenes[i].name)) {
			scenes[i].play();
			CHECK(set < 0 || !semctl(set, 0, IPC_RMID));
			return 0;
		}
	return 2;
}
