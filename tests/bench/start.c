// SPDX-License-Identifier: MIT
/*
 * start: what a process's first call costs.
 *
 *	start [--times N] WAY CALL
 *	start make
 *
 * WAY: `first`, a fork child whose parent has made no IPC call; `child`, one
 * whose parent has made the same call before; `exec`, a program that another one
 * executes. CALL: `nothing`, the process only ends; semget, semop, undo, msg,
 * mq_open, shmat. Of N (200) such processes, one after the other, the least and
 * the median us from fork to the end of waiting, and how many page faults each
 * had: prints `least median faults`. With N = 1 only the process is made: for
 * strace and perf. `make` makes the objects, which the first call is to find.
 * See tests/bench/starts.
 */
#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include "bench.h"

#define KEY 0x57a27
#define NAME "/start"

struct text {
	long mtype;
	char mtext[8];
};

static int set = -1, queue = -1, segment = -1;

static void call_nothing(void)
{
}

static void call_semget(void)
{
	must((set = semget(KEY, 1, 0)) >= 0, "semget");
}

static void semop_with(short flags)
{
	if (set < 0)
		call_semget();
	must(!semop(set, &(struct sembuf){0, 1, flags}, 1), "semop");
	must(!semop(set, &(struct sembuf){0, -1, flags}, 1), "semop");
}

static void call_semop(void)
{
	semop_with(0);
}

static void call_undo(void)
{
	semop_with(SEM_UNDO);
}

static void call_msg(void)
{
	struct text text = {1, "text"};

	if (queue < 0)
		must((queue = msgget(KEY, 0)) >= 0, "msgget");
	must(!msgsnd(queue, &text, 8, 0), "msgsnd");
	must(msgrcv(queue, &text, 8, 0, 0) == 8, "msgrcv");
}

static void call_mq_open(void)
{
	mqd_t mq = mq_open(NAME, O_RDWR);

	must(mq != (mqd_t)-1, "mq_open");
	must(!mq_close(mq), "mq_close");
}

static void call_shmat(void)
{
	char *at;

	if (segment < 0)
		must((segment = shmget(KEY, 1, 0)) >= 0, "shmget");
	at = shmat(segment, NULL, 0);
	must(at != (void *)-1, "shmat");
	*at = 1;
	must(!shmdt(at), "shmdt");
}

static const struct {
	const char *name;
	void (*call)(void);
} calls[] = {
	{"nothing", call_nothing},
	{"semget", call_semget},
	{"semop", call_semop},
	{"undo", call_undo},
	{"msg", call_msg},
	{"mq_open", call_mq_open},
	{"shmat", call_shmat},
};
#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

static void make(void)
{
	struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 64};

	must(semget(KEY, 1, IPC_CREAT | 0600) >= 0, "semget");
	must(msgget(KEY, IPC_CREAT | 0600) >= 0, "msgget");
	must(shmget(KEY, 4096, IPC_CREAT | 0600) >= 0, "shmget");
	must(mq_open(NAME, O_RDWR | O_CREAT, 0600, &attr) != (mqd_t)-1,
		"mq_open");
}

static long faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return u.ru_minflt;
}

static void one(
	char **argv, const char *way, const char *name, void (*call)(void))
{
	int status, exec = !strcmp(way, "exec");
	pid_t pid = exec ? vfork() : fork();

	if (!pid && exec) {
		execl("/proc/self/exe", argv[0], "made", name, NULL);
		_exit(1);
	}
	if (!pid) {
		call();
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && !status, name);
}

int main(int argc, char **argv)
{
	static long times = 200;
	static const struct option_of options[] = {
		{"times", .number = &times}, {0}};
	int i = options_read(argc, argv, options);
	double *us, begun;
	long before;
	size_t n, k;

	if (argc - i == 1 && !strcmp(argv[i], "make")) {
		make();
		return 0;
	}
	for (k = 0; argc - i == 2 && k < N_CALLS; k++)
		if (!strcmp(argv[i + 1], calls[k].name))
			break;
	if (argc - i != 2 || k == N_CALLS || times < 1)
		options_wrong(argv);
	case_name = calls[k].name;
	if (!strcmp(argv[i], "made")) {
		calls[k].call();
		return 0;
	}
	if (!strcmp(argv[i], "child"))
		calls[k].call();
	us = malloc((size_t)times * sizeof(*us));
	before = faults();
	for (n = 0; n < (size_t)times; n++) {
		begun = now_ns();
		one(argv, argv[i], calls[k].name, calls[k].call);
		us[n] = (now_ns() - begun) / 1000;
	}
	before = faults() - before;
	qsort(us, n, sizeof(*us), by_size);
	printf("%.1f %.1f %.1f\n", us[0], us[n / 2], (double)before / n);
	return 0;
}
