// SPDX-License-Identifier: MIT
/*
 * plain: calls of a program that uses no IPC, most of which the library defines
 * too and passes on.
 *
 *	plain [--rounds N] [--round-ms MS] [--turns N] CASE | --list
 *
 * Prints `CASE ns`, of one call or, of a pair as open and close, of both. With
 * --turns the case is done so often and nothing is printed: for callgrind. See
 * tests/bench/plain_calls, which compares them.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include "bench.h"

extern char **environ;

static int zero, null, epoll, pair[2];
static char byte[64];
static long turns;

/* A function that does the call n times. */
#define TURNS(name, call)                        \
	static void name(long n)                 \
	{                                        \
		for (; n > 0; n--)               \
			must((call), case_name); \
	}

TURNS(do_read, read(zero, byte, 1) == 1)
TURNS(do_write, write(null, byte, 1) == 1)
TURNS(do_readv, readv(zero, &(struct iovec){byte, 1}, 1) == 1)
TURNS(do_open, !close(open("/dev/null", O_RDONLY | O_CLOEXEC)))
TURNS(do_dup, !close(dup(null)))
TURNS(do_fcntl, fcntl(null, F_GETFL) >= 0)
TURNS(do_fstat, !fstat(null, &(struct stat){0}))
TURNS(do_stat, !stat("/dev/null", &(struct stat){0}))
TURNS(do_poll, poll(&(struct pollfd){.fd = null, .events = POLLOUT}, 1, 0) == 1)
TURNS(do_epoll, epoll_wait(epoll, &(struct epoll_event){0}, 1, 0) == 1)
TURNS(do_send, send(pair[0], byte, 1, 0) == 1 && recv(pair[1], byte, 1, 0) == 1)
TURNS(do_mmap,
	!munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		4096))
TURNS(do_sigaction, !sigaction(SIGUSR1, NULL, &(struct sigaction){0}))
TURNS(do_syscall, syscall(SYS_getppid) > 0)

static void do_select(long n)
{
	fd_set set;

	for (; n > 0; n--) {
		FD_ZERO(&set);
		FD_SET(null, &set);
		must(select(null + 1, NULL, &set, NULL, &(struct timeval){0}) ==
				1,
			"select");
	}
}

static void *nothing(void *arg)
{
	return arg;
}

static void do_thread(long n)
{
	pthread_t t;

	for (; n > 0; n--)
		must(!pthread_create(&t, NULL, nothing, NULL) &&
				!pthread_join(t, NULL),
			"pthread_create");
}

static void await(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0) == pid && !status, case_name);
}

static void do_fork(long n)
{
	pid_t pid;

	for (; n > 0; n--) {
		pid = fork();
		if (!pid)
			_exit(0);
		await(pid);
	}
}

/* The dynamic loader's work on the library is in it. */
static void do_spawn(long n)
{
	char *argv[] = {"true", NULL};
	pid_t pid;

	for (; n > 0; n--) {
		must(!posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ),
			"posix_spawn");
		await(pid);
	}
}

static const struct {
	const char *name;
	void (*run)(long n);
} calls[] = {{"read", do_read}, {"write", do_write}, {"readv", do_readv},
	{"open-close", do_open}, {"dup-close", do_dup}, {"fcntl", do_fcntl},
	{"fstat", do_fstat}, {"stat", do_stat}, {"poll", do_poll},
	{"select", do_select}, {"epoll_wait", do_epoll}, {"send-recv", do_send},
	{"mmap-munmap", do_mmap}, {"sigaction", do_sigaction},
	{"syscall", do_syscall}, {"thread", do_thread}, {"fork", do_fork},
	{"spawn", do_spawn}};

#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

static void one_call(void)
{
	size_t i = 0;

	while (strcmp(calls[i].name, case_name))
		i++;
	if (turns)
		calls[i].run(turns);
	else
		report("", best_of(calls[i].run));
}

static const struct option_of options[] = {
	{"turns", .number = &turns},
	BENCH_OPTIONS,
	{0},
};

int main(int argc, char **argv)
{
	struct bench benches[N_CALLS + 1] = {0};

	for (size_t i = 0; i < N_CALLS; i++)
		benches[i] = (struct bench){calls[i].name, one_call};
	zero = open("/dev/zero", O_RDONLY);
	null = open("/dev/null", O_WRONLY);
	epoll = epoll_create1(0);
	/* One that is ready for ever. */
	must(zero >= 0 && null >= 0 && epoll >= 0 &&
			!socketpair(AF_UNIX, SOCK_STREAM, 0, pair) &&
			!epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0],
				&(struct epoll_event){.events = EPOLLOUT}),
		"plain");
	bench_main(argc, argv, options, benches, NULL);
	return 0;
}
