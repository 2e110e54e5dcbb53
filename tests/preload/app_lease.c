// SPDX-License-Identifier: MIT
/*
 * app_lease KIND: what a receiver from a queue with leases has is lost neither
 * with it nor by it. For leases.sh, under the shim with IPCLIFT_LEASE=KIND (msg
 * or mq).
 *
 * A line a check, "ok TEXT" or "FAIL TEXT"; exit status 1 if one failed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LARGEST 60000
/* Less than this it takes to notice a death: LEASE_SLICE_NS and a busy machine.
 */
#define SOON_MS 5000

static int by_mq, failed;
static int id = -1; /* msqid or mqd_t */
static int (*ack)(int kind, int id);

static struct text {
	long type;
	char bytes[LARGEST];
} text;

static void check(const char *what, int is)
{
	printf("%s %s\n", is ? "ok" : "FAIL", what);
	fflush(stdout);
	failed |= !is;
}

static void make(void)
{
	struct mq_attr attr = {.mq_maxmsg = 10, .mq_msgsize = LARGEST};

	if (!by_mq) {
		id = msgget(IPC_PRIVATE, 0600);
	} else {
		mq_unlink("/lease");
		id = mq_open("/lease", O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	}
	if (id < 0) {
		perror("make");
		exit(2);
	}
}

static void drop(void)
{
	if (!by_mq) {
		msgctl(id, IPC_RMID, NULL);
	} else {
		mq_close(id);
		mq_unlink("/lease");
	}
}

/* Message n, of so many bytes, each of which says which it is. */
static int put(int n, size_t size, int type)
{
	static struct text t;

	t.type = type;
	memset(t.bytes, n, size);
	return by_mq ? mq_send(id, t.bytes, size, (unsigned)type)
		     : msgsnd(id, &t, size, 0);
}

/* The number of the message that is received, -1 without one, -2 if it is not
 * whole. */
static int get(int block)
{
	struct timespec now = {0};
	ssize_t size, i;

	if (by_mq)
		size = block ? mq_receive(id, text.bytes, LARGEST, NULL)
			     : mq_timedreceive(
				       id, text.bytes, LARGEST, NULL, &now);
	else
		size = msgrcv(id, &text, LARGEST, 0, block ? 0 : IPC_NOWAIT);
	if (size < 1)
		return -1;
	for (i = 1; i < size; i++)
		if (text.bytes[i] != text.bytes[0])
			return -2;
	return text.bytes[0];
}

static int count(void)
{
	struct msqid_ds ds;
	struct mq_attr attr;

	if (by_mq)
		return mq_getattr(id, &attr) ? -1 : (int)attr.mq_curmsgs;
	return msgctl(id, IPC_STAT, &ds) ? -1 : (int)ds.msg_qnum;
}

/* ---- a child that receives, and then does as it is told ---- */

static struct shared {
	volatile int got, n, left;
	volatile int slept; /* the signal came at the end of a sleep */
} * sh;

static void nap(void)
{
	const struct timespec ms = {0, 1000000};

	nanosleep(&ms, NULL);
}

/* It receives `n` messages, then does what `then` says. */
static pid_t child(int n, void (*then)(void))
{
	pid_t pid;

	sh->n = 0;
	pid = fork();
	if (pid)
		return pid;
	for (; n; n--) {
		sh->got = get(1);
		sh->n++;
	}
	if (then)
		then();
	for (;;)
		pause();
}

/* Until it has received n. */
static int has(int n)
{
	int ms;

	for (ms = 0; sh->n < n && ms < SOON_MS; ms++)
		nap();
	return sh->n >= n ? sh->got : -1;
}

static int end(pid_t pid, int sig)
{
	int status = 0;

	if (sig)
		kill(pid, sig);
	waitpid(pid, &status, 0);
	return status;
}

static void exits(void)
{
	exit(0);
}
static void exits_at_once(void)
{
	_exit(0);
}
static void exits_by_number(void)
{
	syscall(SYS_exit_group, 0);
}
static void quick(void)
{
	quick_exit(0);
}
static void aborts(void)
{
	abort();
}
static void acknowledges(void)
{
	sh->got = ack(by_mq ? 3 : 1, id);
	sh->n++;
}
static void forks(void)
{
	pid_t pid = fork();

	if (!pid)
		exit(0);
	waitpid(pid, NULL, 0);
	sh->n++;
}
static void vforks(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	sh->n++;
}
static void executes(void)
{
	execlp("sleep", "sleep", "100", NULL);
}

/* ---- the same process's next program image ---- */

static void next_image(const char *what)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", id);
	execl("/proc/self/exe", "lease", by_mq ? "mq" : "msg", what, number,
		NULL);
}
static void next_looks(void)
{
	next_image("look");
}
static void next_receives(void)
{
	next_image("receive");
}

static int next_main(const char *what, const char *number)
{
	id = by_mq ? mq_open("/lease", O_RDWR) : atoi(number);
	if (!strcmp(what, "look"))
		return count();
	return get(0);
}

/* ---- the cases ---- */

static void killed(void)
{
	pid_t pid;

	make();
	put(1, 10, 1);
	put(2, 10, 1);
	pid = child(1, NULL);
	check("the first message is received", has(1) == 1);
	check("it counts no more", count() == 1);
	end(pid, SIGKILL);
	check("its receiver is killed: it is first again", get(0) == 1);
	check("then the second comes", get(0) == 2);
	check("and no other", get(0) == -1 && count() == 0);
	drop();
}

static void receives_again(void)
{
	pid_t pid;

	make();
	put(1, 10, 1);
	put(2, 10, 1);
	pid = child(2, NULL);
	has(2);
	end(pid, SIGKILL);
	check("who receives again keeps the last only",
		get(0) == 2 && get(0) == -1);
	put(3, 10, 1);
	pid = child(1, acknowledges);
	has(2);
	check("ipclift_ack says 0", sh->got == 0);
	end(pid, SIGKILL);
	check("what is acknowledged is gone", get(0) == -1);
	drop();
}

/* then: how it ends; back: whether the message comes back. */
static void ends(const char *how, void (*then)(void), int sig, int back)
{
	char what[80];
	pid_t pid;

	make();
	put(1, 10, 1);
	pid = child(1, then);
	has(1);
	end(pid, sig);
	snprintf(what, sizeof(what), "%s: it %s", how,
		back ? "comes back" : "is acknowledged");
	check(what, get(0) == (back ? 1 : -1));
	drop();
}

static void of_others(void)
{
	pid_t pid;

	make();
	put(1, 10, 1);
	pid = child(1, forks);
	has(2);
	check("a child's exit acknowledges nothing of its parent's",
		get(0) == -1);
	end(pid, SIGKILL);
	check("nor takes it from it", get(0) == 1);
	put(2, 10, 1);
	pid = child(1, vforks);
	has(2);
	end(pid, SIGKILL);
	check("nor a vfork child's", get(0) == 2);
	put(3, 10, 1);
	pid = child(1, executes);
	has(1);
	usleep(200000);
	check("over exec it stays", get(0) == -1);
	end(pid, SIGKILL);
	check("and comes back afterwards", get(0) == 3);
	drop();
}

static void next_images(void)
{
	pid_t pid;

	make();
	put(1, 10, 1);
	pid = child(1, next_looks);
	check("the next program image finds it on lease", end(pid, 0) == 0);
	check("and acknowledges it by its end", get(0) == -1);
	put(1, 10, 1);
	put(2, 10, 1);
	pid = child(1, next_receives);
	check("or receives the next", WEXITSTATUS(end(pid, 0)) == 2);
	check("and acknowledges both", get(0) == -1);
	drop();
}

static void sleepers(size_t size)
{
	char what[80];
	pid_t a, b;

	make();
	a = child(1, NULL);
	usleep(100000);
	put(1, size, 1);
	snprintf(what, sizeof(what), "%zu bytes handed to a sleeper", size);
	check(what, has(1) == 1);
	check("they count nowhere", count() == 0);
	b = child(1, NULL);
	usleep(100000);
	end(a, SIGKILL);
	snprintf(what, sizeof(what), "%zu bytes reach the next sleeper", size);
	check(what, has(1) == 1);
	end(b, SIGKILL);
	check("and the next receiver", get(0) == 1 && get(0) == -1);
	drop();
}

/* A call that receives, and finds nothing that it may take. */
static void a_look(void)
{
	pid_t pid = fork();

	if (!pid) {
		/* Of a POSIX queue it takes the first, and dies with it. */
		if (by_mq)
			get(0);
		else
			msgrcv(id, &text, LARGEST, 99, IPC_NOWAIT);
		raise(SIGKILL);
	}
	waitpid(pid, NULL, 0);
}

/* Taken in order by four that are killed in the order that `order` says, one of
 * them after some of them have come back. */
static void order(const char *which, size_t size)
{
	pid_t pid[4];
	char what[80];
	int i, n, good = 1;

	make();
	for (i = 0; i < 6; i++)
		put(i + 1, size, 1);
	for (i = 0; i < 4; i++) {
		pid[i] = child(1, NULL);
		good &= has(1) == i + 1;
	}
	for (i = 0; which[i]; i++) {
		if (which[i] == '.') {
			a_look();
			continue;
		}
		end(pid[which[i] - '1'], SIGKILL);
	}
	for (i = 0; i < 6; i++) {
		n = get(0);
		good &= n == i + 1;
	}
	snprintf(what, sizeof(what), "killed as %s, of %zu bytes: in order",
		which, size);
	check(what, good && get(0) == -1);
	drop();
}

static void polls(void)
{
	struct pollfd p = {.events = POLLIN};
	pid_t pid;

	make();
	p.fd = id;
	put(1, 10, 1);
	check("poll: it is there", poll(&p, 1, 0) == 1);
	pid = child(1, NULL);
	has(1);
	check("poll: it is received", poll(&p, 1, 0) == 0);
	end(pid, SIGKILL);
	check("poll: it is there again", poll(&p, 1, 0) == 1);
	check("and is received", get(0) == 1);
	drop();
}

/* A handler that interrupts the sleep receives, too. */
static void on_usr1(int sig)
{
	(void)sig;
	sh->got = get(0);
	sh->n++;
	for (;;)
		pause();
}

static void handlers(void)
{
	pid_t pid;

	make();
	signal(SIGUSR1, on_usr1);
	pid = child(1, NULL);
	usleep(100000);
	/* Both are pending when it goes on: it was handed the first, and the
	 * handler runs before its call returns. */
	kill(pid, SIGSTOP);
	waitpid(pid, NULL, WUNTRACED);
	kill(pid, SIGUSR1);
	put(1, 10, 1);
	put(2, 10, 1);
	kill(pid, SIGCONT);
	check("a handler receives", has(1) > 0);
	end(pid, SIGKILL);
	check("what its call had not returned is not lost", get(0) == 1);
	check("nor what it had itself", get(0) == 2 && get(0) == -1);
	signal(SIGUSR1, SIG_DFL);
	drop();
}

/* The interrupted code has just made a system call: of a child that is in
 * get(1), its sleep. If the signal came behind that, the call had returned its
 * message, or was about to, and what follows is another case. */
static int has_slept(void *context)
{
	const ucontext_t *uc = context;
	const unsigned char *pc = (void *)uc->uc_mcontext.gregs[REG_RIP];

	return !sh->n && pc[-2] == 0x0f && pc[-1] == 0x05;
}

/* It receives twice, and acknowledges thereby the first of the two alone. */
static void on_usr2(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	sh->slept = has_slept(context);
	get(0);
	sh->got = get(0);
	sh->n++;
	for (;;)
		pause();
}

static sigjmp_buf out_of_it;
static void leaves(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	sh->slept = has_slept(context);
	siglongjmp(out_of_it, 1);
}

/* It leaves the call by siglongjmp, receives twice more, and ends in order. */
static void left_and_ends(void)
{
	sh->left = 0;
	if (!sigsetjmp(out_of_it, 1))
		get(1);
	else
		sh->left = 1;
	get(0);
	sh->got = get(0);
	sh->n++;
	exit(0);
}

#define TRIES 200

/* A sleeper that has been handed the first message, and has a signal before its
 * call returns: it shares our CPU and does not preempt us. If we lost the CPU in
 * between, sh->slept says so. */
static pid_t handed(
	void (*handler)(int, siginfo_t *, void *), void (*then)(void))
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	const struct sched_param none = {0};
	cpu_set_t one, was;
	pid_t pid;
	int i;

	sched_getaffinity(0, sizeof(was), &was);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	make();
	sh->got = sh->slept = 0;
	sigaction(SIGUSR2, &sa, NULL);
	pid = child(!then, then);
	sched_setscheduler(pid, SCHED_BATCH, &none);
	usleep(20000);
	for (i = 1; i <= 3; i++)
		put(i, 10, 1);
	kill(pid, SIGUSR2);
	sched_setaffinity(0, sizeof(was), &was);
	return pid;
}

static void handlers_again(void)
{
	int i, one, two, three;
	pid_t pid = 0;

	for (i = 0; i < TRIES; i++) {
		pid = handed(on_usr2, NULL);
		has(1);
		if (sh->slept && sh->got == 3)
			break;
		end(pid, SIGKILL);
		drop();
	}
	check("a handler receives twice", i < TRIES);
	end(pid, SIGKILL);
	one = get(0);
	two = get(0);
	three = get(0);
	check("what its call had not returned is not lost, nor its last",
		one == 1 && two == 3 && three == -1);
	drop();
	for (i = 0; i < TRIES; i++) {
		pid = handed(leaves, left_and_ends);
		end(pid, has(1) < 0 ? SIGKILL : 0);
		if (sh->left && sh->slept && sh->got == 3)
			break;
		drop();
	}
	check("a handler leaves the call by siglongjmp", i < TRIES);
	check("what that had not returned goes back in the end",
		get(0) == 1 && get(0) == -1);
	signal(SIGUSR2, SIG_DFL);
	drop();
}

static void *receives(void *arg)
{
	(void)arg;
	sh->got = get(1);
	sh->n++;
	for (;;)
		pause();
	return NULL;
}

/* The process ends in order while a thread of it has been handed a message, and
 * not run since: with one CPU for all, it does not before the end. */
static void ends_beside_a_thread(void)
{
	cpu_set_t one;
	pthread_t t;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	pthread_create(&t, NULL, receives, NULL);
	usleep(100000);
	put(1, 10, 1);
	_exit(sh->n ? 1 : 0);
}

static void threads(void)
{
	int status, n, i;
	pid_t pid;

	for (i = n = 0; i < 20; i++) {
		make();
		pid = child(0, ends_beside_a_thread);
		status = end(pid, 0);
		/* Received, or still there. */
		n += (WIFEXITED(status) && WEXITSTATUS(status)) || sh->n ||
		     get(0) == 1;
		drop();
	}
	check("an end in order loses nothing of a thread that slept", n == 20);
}

/* Two messages of one process, the first of which an asleep receiver gets
 * first. */
static void holds_two(void)
{
	pthread_t t;

	pthread_create(&t, NULL, receives, NULL);
	while (sh->n < 1)
		nap();
	sh->got = get(1);
	sh->n++;
}

static void two_threads(void)
{
	pid_t a, b;

	make();
	put(1, 10, 1);
	put(2, 10, 1);
	a = child(0, holds_two);
	check("two threads have one each", has(2) == 2);
	b = child(1, NULL);
	usleep(100000);
	end(a, SIGKILL);
	check("the first comes first to a sleeper", has(1) == 1);
	end(b, SIGKILL);
	check("and is first again", get(0) == 1 && get(0) == 2);
	drop();
}

int main(int argc, char **argv)
{
	by_mq = argc > 1 && !strcmp(argv[1], "mq");
	ack = (int (*)(int, int))dlsym(RTLD_DEFAULT, "ipclift_ack");
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!ack || sh == MAP_FAILED) {
		puts("FAIL no ipclift_ack");
		return 1;
	}
	if (argc > 3)
		return next_main(argv[2], argv[3]);
	killed();
	receives_again();
	ends("exit", exits, 0, 0);
	ends("_exit", exits_at_once, 0, 0);
	ends("quick_exit", quick, 0, 0);
	ends("exit_group by number", exits_by_number, 0, 0);
	ends("abort", aborts, 0, 1);
	ends("SIGTERM", NULL, SIGTERM, 1);
	of_others();
	next_images();
	sleepers(10);
	sleepers(2000);
	sleepers(7000);
	sleepers(50000);
	if (by_mq)
		polls();
	handlers();
	handlers_again();
	threads();
	two_threads();
	order("1234", 10);
	order("4321", 10);
	order("2.1.43", 10);
	order("3.4.2.1", 600);
	order("2.41.3", 30000);
	return failed;
}
