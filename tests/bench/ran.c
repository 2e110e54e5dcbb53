// SPDX-License-Identifier: MIT
/*
 * ran: which instructions of a library a program runs.
 *
 *	ran LIBRARY PROGRAM [ARGUMENT...]
 *
 * PROGRAM and all its children are stepped through. Prints a line for each
 * address, relative to the file LIBRARY (as /proc/PID/maps names it), at which
 * an instruction was run, in hexadecimal and in the order of addresses. See
 * tests/bench/first_text.
 */
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include "bench.h"

#define PIDS 64
#define TEXT_MAX (4ul << 20)
#define LOOK_EACH 1000 /* steps; arbitrary */

static struct process {
	pid_t pid;
	unsigned long base; /* 0: the library is not mapped yet */
	unsigned long steps;
} processes[PIDS];
static const char *library;
static char ran[TEXT_MAX];

static struct process *process_of(pid_t pid)
{
	struct process *p = processes;

	while (p < processes + PIDS - 1 && p->pid && p->pid != pid)
		p++;
	p->pid = pid;
	return p;
}

static void look(struct process *p)
{
	char path[64], line[4096];
	unsigned long from, at;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", p->pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, library) &&
			sscanf(line, "%lx-%*x %*s %lx", &from, &at) == 2 && !at)
			p->base = from;
	if (f)
		fclose(f);
}

static void step(struct process *p)
{
	struct user_regs_struct regs;

	if (!p->base && p->steps++ % LOOK_EACH == 0)
		look(p);
	if (p->base && !ptrace(PTRACE_GETREGS, p->pid, NULL, &regs) &&
		regs.rip - p->base < TEXT_MAX)
		ran[regs.rip - p->base] = 1;
}

static void follow(pid_t first)
{
	pid_t pid;
	int status;
	long sig;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		struct process *p = process_of(pid);

		if (!WIFSTOPPED(status)) {
			p->base = 0;
			must(pid != first || !status, "the program's status");
			continue;
		}
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			p->base = p->steps = 0;
		sig = WSTOPSIG(status);
		if (sig == SIGTRAP || sig == SIGSTOP)
			sig = 0;
		step(p);
		ptrace(PTRACE_SINGLESTEP, pid, NULL, sig);
	}
}

int main(int argc, char **argv)
{
	unsigned long i;
	pid_t pid;

	if (argc < 3)
		options_wrong(argv);
	library = argv[1];
	pid = fork();
	if (!pid) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execv(argv[2], argv + 2);
		_exit(1);
	}
	must(waitpid(pid, NULL, 0) == pid &&
			!ptrace(PTRACE_SETOPTIONS, pid, NULL,
				PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
					PTRACE_O_TRACECLONE |
					PTRACE_O_TRACEEXEC) &&
			!ptrace(PTRACE_SINGLESTEP, pid, NULL, 0),
		"ptrace");
	follow(pid);
	for (i = 0; i < TEXT_MAX; i++)
		if (ran[i])
			printf("%lx\n", i);
	return 0;
}
