// SPDX-License-Identifier: MIT
/*
 * sem_undo: what SEM_UNDO releases, on which sets, and when.
 *
 * Every process keeps one adjustment a semaphore; whichever way it ends, its
 * adjustments are applied before its parent's waitpid returns. The actors are
 * children; this process itself never uses SEM_UNDO. Run as "sem_undo image
 * ID" it is the new image of a process that has executed it while it held
 * adjustments (exec_keeps).
 */
#include "t.h"
#include <sys/resource.h>

static void *end_process(void *arg)
{
	(void)arg;
	_exit(7);
}

/* A child that runs the block and then ends by _exit with its failures. */
#define ACTOR                                            \
	for (pid_t t_who = t_fork(), t_once = 1; t_once; \
		t_once = t_as_end(t_who))                \
		if (t_who == 0)

static void plain_exit(void)
{
	int id = t_set(3, VALS(10, 10, 10)), child, me = getpid();

	t_story("S12: given back at exit, what had no SEM_UNDO is not");
	child = t_fork();
	if (child == 0) {
		t_eq(semop(id, OPS({0, -3, U})), 0);
		t_eq(semop(id, OPS({0, 1, U})), 0);
		t_eq(semop(id, OPS({0, -1, 0})), 0);
		t_err(semop(id, OPS({2, 0, U | NW})), EAGAIN);
		_exit(t_failed);
	}
	t_eq(t_join(child), 0);
	t_row(id, GETVAL, "9 10 10");
	t_pid_is(id, 0, child);
	t_pid_is(id, 1, me);
	t_pid_is(id, 2, me);

	t_story("an adjustment of 0 leaves the pid alone");
	child = t_fork();
	if (child == 0) {
		t_eq(semop(id, OPS({0, -3, U}, {1, -1, U})), 0);
		t_eq(semop(id, OPS({1, 1, U})), 0);
		t_eq(t_join(t_sleeper(id, OPS({0, 1, 0}, {0, -1, 0}, {1, -1, 0},
						  {1, 1, 0}))),
			0);
		_exit(t_failed);
	}
	t_eq(t_join(child), 0);
	t_row(id, GETVAL, "9 10 10");
	t_true(semctl(id, 0, GETPID) == child);
	t_true(semctl(id, 1, GETPID) != child);
	t_rm(id);
}

/* A record that a failed call has made is as good as any, for a process that
 * then has the set to itself. */
static void refused_before(void)
{
	int id = t_set(1, NULL), child;

	t_story("a call that failed, many without undo, and then one with it");
	child = t_fork();
	if (child == 0) {
		t_err(semop(id, OPS({0, -1, U | NW})), EAGAIN);
		for (int i = 0; i < 3000; i++)
			t_quiet(semop(id, OPS({0, i % 2 ? -1 : 1, 0})) == 0);
		for (int i = 0; i < 5; i++)
			t_eq(semop(id, OPS({0, 1, U})), 0);
		_exit(t_failed);
	}
	t_eq(t_join(child), 0);
	t_row(id, GETVAL, "0");
	t_pid_is(id, 0, child);
	t_rm(id);
}

static void ways_to_end(void)
{
	static const char *const names[] = {
		"exit",
		"_exit",
		"SIGKILL",
		"SIGTERM",
		"SIGABRT",
		"SIGSEGV",
		"_exit from a thread",
	};
	const struct rlimit no_core = {0, 0};
	int id = t_set(1, NULL), ready = t_set(1, NULL), child;

	t_story("whichever way a process ends");
	for (int way = 0; way < 7; way++) {
		semctl(id, 0, SETVAL, 5);
		child = t_fork();
		if (child == 0) {
			setrlimit(RLIMIT_CORE, &no_core);
			semop(id, OPS({0, -4, U}));
			semop(ready, OPS({0, 1, 0}));
			if (way == 0)
				exit(7);
			if (way == 1)
				_exit(7);
			if (way == 4)
				abort();
			if (way == 5)
				raise(SIGSEGV);
			if (way == 6) {
				pthread_t thread;

				pthread_create(
					&thread, NULL, end_process, NULL);
			}
			for (;;)
				pause();
		}
		semop(ready, OPS({0, -1, 0}));
		if (way == 2)
			kill(child, SIGKILL);
		if (way == 3)
			kill(child, SIGTERM);
		t_say("%s: ends with %d", names[way], t_join(child));
		t_row(id, GETVAL, "5");
		t_pid_is(id, 0, child);
	}
	t_rm(ready);
	t_rm(id);
}

static void s13_set_commands_clear(void)
{
	int id = t_set(3, VALS(10, 10, 10)), go = t_set(1, NULL), child;

	t_story("S13: SETVAL by another process clears that adjustment");
	child = t_fork();
	if (child == 0) {
		semop(id, OPS({0, -3, U}, {1, -3, U}));
		_exit(t_code(semop(go, OPS({0, -1, 0}))));
	}
	t_wait_blocked(go, 0, GETNCNT, 1);
	t_row(id, GETVAL, "7 7 10");
	t_eq(semctl(id, 0, SETVAL, 5), 0);
	t_eq(semop(go, OPS({0, 1, 0})), 0);
	t_eq(t_join(child), 0);
	t_row(id, GETVAL, "5 10 10");

	t_story("SETALL clears all of them");
	child = t_fork();
	if (child == 0) {
		semop(id, OPS({0, -3, U}, {1, -3, U}));
		_exit(t_code(semop(go, OPS({0, -1, 0}))));
	}
	t_wait_blocked(go, 0, GETNCNT, 1);
	t_eq(semctl(id, 0, SETALL, VALS(1, 2, 3)), 0);
	t_eq(semop(go, OPS({0, 1, 0})), 0);
	t_eq(t_join(child), 0);
	t_row(id, GETVAL, "1 2 3");
	t_true(semctl(id, 0, GETPID) == getpid());

	t_story("what is done after SETVAL counts again");
	child = t_fork();
	if (child == 0) {
		semop(id, OPS({2, -1, U}));
		semctl(id, 2, SETVAL, 8);
		semop(id, OPS({2, -2, U}));
		_exit(0);
	}
	t_eq(t_join(child), 0);
	t_row(id, GETVAL, "1 2 8");

	t_story("SETVAL that fails clears nothing");
	child = t_fork();
	if (child == 0) {
		semop(id, OPS({2, -1, U}));
		t_err(semctl(id, 2, SETVAL, 32768), ERANGE);
		t_err(semctl(id, 0, SETALL, VALS(1, 2, 32768)), ERANGE);
		_exit(t_failed);
	}
	t_eq(t_join(child), 0);
	t_row(id, GETVAL, "1 2 8");
	t_rm(go);
	t_rm(id);
}

static void s14_s15_clamp_and_range(void)
{
	int id = t_set(1, NULL);

	t_story("S14: adj goes down to -32768; the exit clamps to 0");
	ACTOR
	{
		t_eq(semop(id, OPS({0, 32767, U})), 0);
		t_eq(semop(id, OPS({0, -1, 0})), 0);
		t_eq(semop(id, OPS({0, 1, U})), 0);
		t_eq(semop(id, OPS({0, -1, 0})), 0);
		t_err(semop(id, OPS({0, 1, U})), ERANGE);
		t_row(id, GETVAL, "32766");
	}
	t_row(id, GETVAL, "0");

	t_story("S15: adj goes up to 32767; the exit clamps to 32767");
	t_eq(semctl(id, 0, SETVAL, 32767), 0);
	ACTOR
	{
		t_eq(semop(id, OPS({0, -32767, U})), 0);
		t_eq(semop(id, OPS({0, 1, 0})), 0);
		t_err(semop(id, OPS({0, -1, U})), ERANGE);
		t_row(id, GETVAL, "1");
		t_eq(semop(id, OPS({0, 5, 0})), 0);
	}
	t_row(id, GETVAL, "32767");

	t_story("the range counts within one call, and failing changes "
		"nothing");
	ACTOR
	{
		t_err(semop(id, OPS({0, -32767, U}, {0, 32767, 0}, {0, -1, U})),
			ERANGE);
		t_row(id, GETVAL, "32767");
		t_eq(semop(id, OPS({0, -32767, U}, {0, 32767, 0}, {0, -1, 0})),
			0);
		t_eq(semop(id, OPS({0, 1, U}, {0, -1, U})), 0);
	}
	t_row(id, GETVAL, "32767");

	t_story("a decrement of 32768 can never be undone");
	t_err(semop(id, OPS({0, -32768, U | NW})), EAGAIN);
	t_story("a value that others took meanwhile is not waited for");
	t_eq(semctl(id, 0, SETVAL, 0), 0);
	ACTOR
	{
		t_eq(semop(id, OPS({0, 5, U})), 0);
		t_eq(t_join(t_sleeper(id, OPS({0, -3, 0}))), 0);
	}
	t_row(id, GETVAL, "0");
	t_rm(id);
}

static void fork_does_not_inherit(void)
{
	int id = t_set(1, VALS(5)), child;

	t_story("fork inherits no adjustment");
	child = t_fork();
	if (child == 0) {
		int grandchild;

		t_eq(semop(id, OPS({0, -1, U})), 0);
		grandchild = t_fork();
		if (grandchild == 0)
			_exit(0);
		t_eq(t_join(grandchild), 0);
		t_row(id, GETVAL, "4");
		grandchild = t_fork();
		if (grandchild == 0) {
			semop(id, OPS({0, -2, U}));
			_exit(semctl(id, 0, GETVAL));
		}
		t_eq(t_join(grandchild), 2);
		t_row(id, GETVAL, "4");
		t_pid_is(id, 0, grandchild);
		_exit(t_failed);
	}
	t_eq(t_join(child), 0);
	t_row(id, GETVAL, "5");
	t_pid_is(id, 0, child);

	t_story("a child that outlives its parent keeps its own");
	child = t_fork();
	if (child == 0) {
		semop(id, OPS({0, -1, U}));
		if (t_fork() == 0) {
			semop(id, OPS({0, -1, U}));
			while (semctl(id, 0, GETVAL) != 4)
				t_nap();
			/* our parent is gone, and it gave back its own */
			semop(id, OPS({0, 10, 0}));
			_exit(0);
		}
		while (semctl(id, 0, GETVAL) != 3)
			t_nap();
		_exit(0);
	}
	t_eq(t_join(child), 0);
	t_eq(semop(id, OPS({0, -15, 0})), 0);
	t_row(id, GETVAL, "0");
	t_rm(id);
}

/* The new image: one more decrement, which the same process undoes. */
static int image(int id)
{
	int val = semctl(id, 0, GETVAL);
	int ranged = semop(id, OPS({1, -1, U | NW})) == -1 && errno == ERANGE;

	if (semop(id, OPS({0, -2, U})) < 0)
		return 200;
	return val * 10 + ranged;
}

static void exec_keeps(void)
{
	int id = t_set(2, VALS(9, 32767)), child;
	char text[16];

	t_story("exec keeps the adjustments, and they go on adding up");
	snprintf(text, sizeof(text), "%d", id);
	child = t_fork();
	if (child == 0) {
		semop(id, OPS({0, -1, U}));
		semop(id, OPS({1, -32767, U}));
		semop(id, OPS({1, 1, 0}));
		execl("/proc/self/exe", "sem_undo", "image", text,
			(char *)NULL);
		_exit(201);
	}
	t_eq(t_join(child), 81);
	t_row(id, GETVAL, "9 32767");
	t_pid_is(id, 0, child);
	t_pid_is(id, 1, child);
	t_rm(id);
}

struct crew {
	int id, go;
	pthread_t main;
};

static void *take_one(void *arg)
{
	struct crew *crew = arg;

	return (void *)(long)semop(crew->id, OPS({0, -1, U}));
}

static void *add_and_overflow(void *arg)
{
	struct crew *crew = arg;

	if (semop(crew->id, OPS({1, -1, U})) == 0)
		return NULL;
	return (void *)(long)errno;
}

/* The last thread: waits until the main thread is a zombie, then tells. */
static void *outlive_main(void *arg)
{
	struct crew *crew = arg;
	char path[64], text[256], *state;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
	do {
		t_nap();
		memset(text, 0, sizeof(text));
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
			_exit(99);
		close(fd);
		state = strrchr(text, ')');
	} while (!state || state[2] != 'Z');
	/* the main thread is gone; the process and its undo are not */
	semop(crew->go, OPS({0, 1, 0}));
	semop(crew->go, OPS({1, -1, 0}));
	/* not a return: musl 1.2.3 hangs then, in a process made by fork */
	syscall(SYS_exit, 0);
	return NULL;
}

/* A child that owes 2 and whose main thread has gone, while another lives. */
static pid_t outlived(struct crew *crew)
{
	pid_t child = t_fork();

	if (child == 0) {
		pthread_t thread;

		semop(crew->id, OPS({0, -2, U}));
		pthread_create(&thread, NULL, outlive_main, crew);
		pthread_exit(NULL);
	}
	t_eq(semop(crew->go, OPS({0, -1, 0})), 0);
	t_row(crew->id, GETVAL, "3 32767");
	return child;
}

static void threads_share(void)
{
	static struct crew crew;
	int id = t_set(2, VALS(5, 32767)), go = t_set(2, NULL), child;

	crew.id = id;
	crew.go = go;
	t_story("threads share; one that ends gives nothing back");
	child = t_fork();
	if (child == 0) {
		pthread_t thread;
		void *ret;

		pthread_create(&thread, NULL, take_one, &crew);
		pthread_join(thread, &ret);
		t_eq((long)ret, 0);
		t_row(id, GETVAL, "4 32767");
		t_eq(semop(id, OPS({1, -32767, U})), 0);
		t_eq(semop(id, OPS({1, 32767, 0})), 0);
		pthread_create(&thread, NULL, add_and_overflow, &crew);
		pthread_join(thread, &ret);
		t_true((long)ret == ERANGE);
		t_row(id, GETVAL, "4 32767");
		t_eq(semop(id, OPS({0, 1, U})), 0);
		t_eq(semop(id, OPS({0, -1, U})), 0);
		_exit(t_failed);
	}
	t_eq(t_join(child), 0);
	t_row(id, GETVAL, "5 32767");
	t_pid_is(id, 0, child);

	t_story("nor does the main thread, while another lives");
	child = outlived(&crew);
	t_pid_is(id, 0, child);
	t_eq(semop(go, OPS({1, 1, 0})), 0);
	t_eq(t_join(child), 0);
	t_row(id, GETVAL, "5 32767");

	t_story("killed after its main thread has gone");
	child = outlived(&crew);
	kill(child, SIGKILL);
	t_eq(t_join(child), 1000 + SIGKILL);
	t_row(id, GETVAL, "5 32767");
	t_rm(go);
	t_rm(id);
}

static void removed_set(void)
{
	const key_t key = 0x7d01;
	int id, new_id, go = t_set(1, NULL), child;

	t_story("IPC_RMID drops the record; a new set of that key is safe");
	id = semget(key, 2, IPC_CREAT | 0600);
	t_eq(semctl(id, 0, SETALL, VALS(5, 5)), 0);
	child = t_fork();
	if (child == 0) {
		semop(id, OPS({0, -1, U}, {1, -1, U}));
		_exit(t_code(semop(go, OPS({0, -1, 0}))));
	}
	t_wait_blocked(go, 0, GETNCNT, 1);
	t_rm(id);
	new_id = semget(key, 2, IPC_CREAT | IPC_EXCL | 0600);
	t_true(new_id >= 0 && new_id != id);
	t_eq(semop(go, OPS({0, 1, 0})), 0);
	t_eq(t_join(child), 0);
	t_row(new_id, GETVAL, "0 0");
	t_pid_is(new_id, 0, 0);
	t_true(t_stat(new_id).sem_otime == 0);
	t_rm(new_id);
	t_rm(go);
}

static void permission_does_not_matter(void)
{
	int id = t_set(1, VALS(5)), child;
	struct semid_ds ds = t_stat(id);

	t_story("a process that became somebody else still gives back");
	child = t_fork();
	if (child == 0) {
		t_eq(semop(id, OPS({0, -2, U})), 0);
		t_become(T_OTHER_UID, T_OTHER_UID);
		t_err(semop(id, OPS({0, 1, U})), EACCES);
		_exit(t_failed);
	}
	t_eq(t_join(child), 0);
	t_row(id, GETVAL, "5");
	t_pid_is(id, 0, child);

	t_story("so does one whose right was taken away");
	ds.sem_perm.mode = 0666;
	t_eq(semctl(id, 0, IPC_SET, &ds), 0);
	child = t_fork();
	if (child == 0) {
		t_become(T_OTHER_UID, T_OTHER_UID);
		t_eq(semop(id, OPS({0, -2, U})), 0);
		semop(id, OPS({0, -100, U}));
		_exit(0);
	}
	t_wait_blocked(id, 0, GETNCNT, 1);
	t_row(id, GETVAL, "3");
	ds.sem_perm.mode = 0;
	t_eq(semctl(id, 0, IPC_SET, &ds), 0);
	kill(child, SIGKILL);
	t_eq(t_join(child), 1000 + SIGKILL);
	t_row(id, GETVAL, "5");
	t_row(id, GETNCNT, "0");
	t_rm(id);
}

/* A call with SEM_UNDO makes the record even if it fails. */
static void record_made_by_failure(void)
{
	static const char *const names[] = {
		"no right",
		"no such semaphore",
		"would block",
		"out of range",
		"timeout",
		"without SEM_UNDO",
	};
	struct timespec zero = {0, 0};
	int id, child;

	t_story("a failed call with SEM_UNDO sets otime when it exits");
	for (int how = 0; how < 6; how++) {
		id = semget(IPC_PRIVATE, 1, 0604);
		child = t_fork();
		if (child == 0) {
			if (how == 0) {
				t_become(T_OTHER_UID, T_OTHER_UID);
				semop(id, OPS({0, 1, U}));
			}
			if (how == 1)
				semop(id, OPS({1, 1, U}));
			if (how == 2)
				semop(id, OPS({0, -1, U | NW}));
			if (how == 3)
				semop(id, OPS({0, 32767, 0}, {0, 1, U}));
			if (how == 4)
				semtimedop(id, OPS({0, -1, U}), &zero);
			if (how == 5)
				semop(id, OPS({0, -1, NW}));
			t_say("%s: %s", names[how], t_errname(errno));
			t_true(t_stat(id).sem_otime == 0);
			_exit(t_failed);
		}
		t_eq(t_join(child), 0);
		if (how < 5)
			t_true(t_stat(id).sem_otime != 0);
		else
			t_true(t_stat(id).sem_otime == 0);
		t_row(id, GETVAL, "0");
		t_pid_is(id, 0, 0);
		t_rm(id);
	}
}

static void wakes(void)
{
	int id = t_set(2, NULL), go = t_set(1, NULL), child, w, z;

	t_story("what an exit gives back wakes sleepers, the whole set at "
		"once");
	t_eq(semctl(id, 0, SETALL, VALS(2, 0)), 0);
	child = t_fork();
	if (child == 0) {
		semop(id, OPS({0, -2, U}, {1, 1, U}));
		_exit(t_code(semop(go, OPS({0, -1, 0}))));
	}
	t_wait_blocked(go, 0, GETNCNT, 1);
	t_row(id, GETVAL, "0 1");
	w = t_sleeper(id, OPS({0, -2, 0}, {1, 0, 0}, {1, 3, 0}));
	t_wait_blocked(id, 0, GETNCNT, 1);
	z = t_sleeper(id, OPS({1, 0, 0}));
	t_wait_blocked(id, 1, GETZCNT, 1);
	t_eq(semop(go, OPS({0, 1, 0})), 0);
	t_eq(t_join(child), 0);
	t_row(id, GETVAL, "0 3");
	t_pid_is(id, 0, w);
	t_pid_is(id, 1, w);
	t_row(id, GETNCNT, "0 0");
	t_row(id, GETZCNT, "0 0");
	t_eq(t_join(w), 0);
	t_eq(t_join(z), 0);

	t_story("killed holder, sleeping successor, nobody else about");
	t_eq(semctl(id, 0, SETALL, VALS(0, 0)), 0);
	child = t_fork();
	if (child == 0) {
		semop(id, OPS({0, 1, 0}, {0, -1, U}));
		semop(go, OPS({0, 1, 0}));
		for (;;)
			pause();
	}
	t_eq(semop(go, OPS({0, -1, 0})), 0);
	w = t_sleeper(id, OPS({0, -1, U}));
	t_wait_blocked(id, 0, GETNCNT, 1);
	kill(child, SIGKILL);
	t_eq(t_join(w), 0);
	t_eq(t_join(child), 1000 + SIGKILL);
	t_row(id, GETVAL, "1");
	t_pid_is(id, 0, w);

	t_story("and we ourselves asleep on what the killed one holds");
	t_eq(semctl(id, 0, SETALL, VALS(0, 0)), 0);
	child = t_fork();
	if (child == 0) {
		semop(id, OPS({0, 1, 0}, {0, -1, U}));
		semop(go, OPS({0, 1, 0}));
		for (;;)
			pause();
	}
	t_eq(semop(go, OPS({0, -1, 0})), 0);
	w = t_fork();
	if (w == 0) {
		while (semctl(id, 0, GETNCNT) != 1)
			t_nap();
		kill(child, SIGKILL);
		_exit(0);
	}
	t_eq(semop(id, OPS({0, -1, 0})), 0);
	t_true(semctl(id, 0, GETPID) == getpid());
	t_eq(t_join(child), 1000 + SIGKILL);
	t_eq(t_join(w), 0);
	t_row(id, GETVAL, "0");
	t_rm(go);
	t_rm(id);
}

static void sleepers(void)
{
	int id = t_set(1, NULL), child, wrong = 0;

	t_story("a sleeper has nothing to give back until it is completed");
	child = t_sleeper(id, OPS({0, -1, U}));
	t_wait_blocked(id, 0, GETNCNT, 1);
	kill(child, SIGKILL);
	t_eq(t_join(child), 1000 + SIGKILL);
	t_row(id, GETVAL, "0");
	t_true(t_stat(id).sem_otime != 0);

	t_story("completed, then killed or ended: it gives back");
	for (int i = 0; i < 30; i++) {
		child = t_sleeper(id, OPS({0, -1, U}));
		wrong += !t_poll(id, 0, GETNCNT, 1);
		wrong += semop(id, OPS({0, 1, 0})) != 0;
		if (i & 1)
			kill(child, SIGKILL);
		t_join(child);
		wrong += semctl(id, 0, GETVAL) != 1;
		semctl(id, 0, SETVAL, 0);
	}
	t_true(wrong == 0);
	t_rm(id);
}

static void always_before_waitpid(void)
{
	int id = t_set(2, VALS(1, 0)), child, wrong = 0;

	t_story("done before waitpid returns, 200 times");
	for (int i = 0; i < 200; i++) {
		child = t_fork();
		if (child == 0)
			_exit(t_code(semop(id, OPS({0, -1, U}, {1, 3, U}))));
		wrong += t_join(child) != 0;
		wrong += semctl(id, 0, GETVAL) != 1;
		wrong += semctl(id, 1, GETVAL) != 0;
		wrong += semctl(id, 0, GETPID) != child;
	}
	t_true(wrong == 0);

	t_story("and SIGKILL, 50 times");
	for (int i = 0; i < 50; i++) {
		child = t_fork();
		if (child == 0) {
			semop(id, OPS({0, -1, U}, {1, 1, 0}));
			for (;;)
				pause();
		}
		semop(id, OPS({1, -1, 0}));
		kill(child, SIGKILL);
		wrong += t_join(child) != 1000 + SIGKILL;
		wrong += semop(id, OPS({0, -1, NW}, {0, 1, 0})) != 0;
		wrong += semctl(id, 0, GETVAL) != 1;
	}
	t_true(wrong == 0);
	t_rm(id);
}

static void many_sets(void)
{
	int ids[40], child, wrong = 0;

	t_story("40 sets of one process, a few of them removed");
	for (int i = 0; i < 40; i++)
		ids[i] = t_set(3, VALS(1, 2, 3));
	child = t_fork();
	if (child == 0) {
		for (int i = 0; i < 40; i++)
			wrong += semop(ids[i], OPS({1, -2, U}, {2, -1, U},
						       {0, 4, U})) != 0;
		for (int i = 0; i < 40; i += 7)
			wrong += semctl(ids[i], 0, IPC_RMID) != 0;
		_exit(wrong);
	}
	t_eq(t_join(child), 0);
	for (int i = 0; i < 40; i++) {
		if (i % 7 == 0) {
			wrong += semctl(ids[i], 0, GETVAL) != -1;
			continue;
		}
		wrong += semctl(ids[i], 0, GETVAL) != 1;
		wrong += semctl(ids[i], 1, GETVAL) != 2;
		wrong += semctl(ids[i], 2, GETVAL) != 3;
		t_rm(ids[i]);
	}
	t_true(wrong == 0);
}

/*
 * The same set order as sem_wake's S17 but seen in the values: whenever the
 * set used first is whole again, the one used last must be.
 */
static void most_recent_first(void)
{
	int first = t_set(1, NULL), last = semget(IPC_PRIVATE, 2000, 0600);
	int go = t_set(1, NULL), child, early = 0;

	t_story("the set used last is undone first, 20 times");
	for (int i = 0; i < 20; i++) {
		semctl(first, 0, SETVAL, 1);
		semctl(last, 0, SETVAL, 1);
		child = t_fork();
		if (child == 0) {
			/* odd rounds: made in the other order, used again */
			if (i & 1)
				semop(last, OPS({0, -1, U}, {0, 1, U}));
			semop(first, OPS({0, -1, U}));
			semop(last, OPS({0, -1, U}));
			_exit(t_code(semop(go, OPS({0, -1, 0}))));
		}
		t_quiet(t_poll(go, 0, GETNCNT, 1));
		t_quiet(semctl(first, 0, GETVAL) == 0);
		t_quiet(semctl(last, 0, GETVAL) == 0);
		t_quiet(semop(go, OPS({0, 1, 0})) == 0);
		for (int done = 0; !done;) {
			done = semctl(first, 0, GETVAL) == 1;
			if (done && semctl(last, 0, GETVAL) != 1)
				early++;
		}
		t_quiet(t_join(child) == 0);
	}
	t_true(early == 0);
	t_rm(go);
	t_rm(first);
	t_rm(last);
}

/* As at the end, and what follows counts anew; by name and by number. Who waits
 * for what is given back goes on. */
static void given_up(void)
{
	int id = t_set(2, VALS(5, 0)), number;
	pid_t child, sleeper;

	for (number = 0; number < 2; number++) {
		t_story(number ? "given up by number" : "given up by unshare");
		child = t_fork();
		if (child == 0) {
			t_eq(semop(id, OPS({0, -3, U})), 0);
			sleeper = t_sleeper(id, OPS({0, -5, 0}, {0, 5, 0}));
			if (number)
				t_eq(syscall(SYS_unshare, CLONE_SYSVSEM), 0);
			else
				t_eq(unshare(CLONE_SYSVSEM), 0);
			t_eq(t_join(sleeper), 0);
			t_row(id, GETVAL, "5 0");
			t_eq(semop(id, OPS({0, -1, U}, {1, 1, 0})), 0);
			t_row(id, GETVAL, "4 1");
			t_eq(semop(id, OPS({1, -1, 0})), 0);
			_exit(t_failed);
		}
		t_eq(t_join(child), 0);
		t_row(id, GETVAL, "5 0");
	}
	t_rm(id);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "image") == 0)
		return image(atoi(argv[2]));
	t_begin();
	plain_exit();
	given_up();
	refused_before();
	ways_to_end();
	s13_set_commands_clear();
	s14_s15_clamp_and_range();
	fork_does_not_inherit();
	exec_keeps();
	threads_share();
	removed_set();
	permission_does_not_matter();
	record_made_by_failure();
	wakes();
	sleepers();
	always_before_waitpid();
	many_sets();
	most_recent_first();
	return t_end();
}
