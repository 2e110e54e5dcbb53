// SPDX-License-Identifier: MIT
/*
 * app_race SCENE ROUNDS: first calls at the same moment. The program itself
 * makes none before its children do, so each child is a process that finds no
 * registry. Between rounds the registry is removed (IPCLIFT_REGISTRY).
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEY 0x55
#define PROCESSES 50
#define THREADS 64

#define CHECK(cond)                                                           \
	do {                                                                  \
		if (!(cond)) {                                                \
			fprintf(stderr, "line %d: %s (errno %d)\n", __LINE__, \
				#cond, errno);                                \
			_exit(1);                                             \
		}                                                             \
	} while (0)

static struct shared {
	volatile int ready, go;
	int id[PROCESSES + THREADS];
} * shared;

static struct sembuf up = {0, 1, 0}, down = {0, -1, 0};
static struct sembuf up_u = {0, 1, SEM_UNDO}, down_u = {0, -1, SEM_UNDO};

static void fresh(void)
{
	unlink(getenv("IPCLIFT_REGISTRY"));
	shared->ready = shared->go = 0;
}

static int first(int i)
{
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	while (!shared->go)
		;
	shared->id[i] = semget(KEY, 1, IPC_CREAT | 0600);
	return shared->id[i] < 0 || semop(shared->id[i], &up, 1);
}

static void start(int n)
{
	while (shared->ready < n)
		usleep(100);
	shared->go = 1;
}

/* Run in a child, so that the program stays without IPC: all got one set. */
static int agreed(int n)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		alarm(20);
		for (int i = 0; i < n; i++)
			CHECK(shared->id[i] == shared->id[0]);
		CHECK(semget(KEY, 0, 0) == shared->id[0]);
		CHECK(semctl(shared->id[0], 0, GETVAL) == n);
		CHECK(!semctl(shared->id[0], 0, IPC_RMID));
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void processes(void)
{
	int status;

	for (int i = 0; i < PROCESSES; i++)
		if (fork() == 0) {
			alarm(20);
			_exit(first(i));
		}
	start(PROCESSES);
	while (wait(&status) > 0)
		CHECK(status == 0);
	CHECK(agreed(PROCESSES));
}

static void *a_thread(void *arg)
{
	return (void *)(long)first((int)(long)arg);
}

static void threads(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		pthread_t t[THREADS];
		void *ret;

		alarm(20);
		for (long i = 0; i < THREADS; i++)
			CHECK(!pthread_create(
				&t[i], NULL, a_thread, (void *)i));
		start(THREADS);
		for (int i = 0; i < THREADS; i++)
			CHECK(!pthread_join(t[i], &ret) && !ret);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(agreed(THREADS));
}

static volatile int stop;

static void *worker(void *arg)
{
	int id = *(int *)arg;

	while (!stop)
		if (semop(id, &up_u, 1) || semop(id, &down_u, 1) ||
			semop(id, &up, 1) || semop(id, &down, 1))
			return arg;
	return NULL;
}

/* Fork while other threads are inside served calls. */
static void forks(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int id = semget(KEY, 1, IPC_CREAT | 0600);
		pthread_t t[3];
		void *ret;

		alarm(20);
		for (int i = 0; i < 3; i++)
			pthread_create(&t[i], NULL, worker, &id);
		for (int i = 0; i < 100; i++) {
			pid_t child = fork();

			if (child == 0) {
				alarm(10);
				_exit(semop(id, &up, 1) ||
					semop(id, &up_u, 1) ||
					semop(id, &down, 1));
			}
			CHECK(waitpid(child, &status, 0) == child && !status);
		}
		stop = 1;
		for (int i = 0; i < 3; i++)
			CHECK(!pthread_join(t[i], &ret) && !ret);
		for (int i = 0; i < 1000 && semctl(id, 0, GETVAL); i++)
			usleep(1000);
		CHECK(semctl(id, 0, GETVAL) == 0);
		_exit(semctl(id, 0, IPC_RMID) != 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void *first_of_all(void *arg)
{
	(void)arg;
	shared->go = 1;
	shared->id[0] = semget(KEY, 1, IPC_CREAT | 0600);
	return NULL;
}

/* Fork while another thread makes the process's first call. */
static void fork_in_first(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct timespec t = {0, rand() % 200000};
		pthread_t thread;
		pid_t child;

		alarm(20);
		pthread_create(&thread, NULL, first_of_all, NULL);
		while (!shared->go)
			;
		nanosleep(&t, NULL);
		child = fork();
		if (child == 0) {
			int id = semget(KEY, 1, IPC_CREAT | 0600);

			alarm(10);
			_exit(id < 0 || semop(id, &up_u, 1) ||
				semop(id, &down_u, 1) || semop(id, &up, 1));
		}
		CHECK(waitpid(child, &status, 0) == child && !status);
		pthread_join(thread, NULL);
		CHECK(shared->id[0] >= 0 && !semop(shared->id[0], &down, 1));
		_exit(semctl(shared->id[0], 0, GETVAL) != 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* The creator is killed; whoever comes next has a registry all the same. */
static void kills(void)
{
	struct timespec t = {0, rand() % 400000};
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int id;

		shared->go = 1;
		id = semget(KEY, 1, IPC_CREAT | 0600);
		semop(id, &up_u, 1);
		pause();
	}
	while (!shared->go)
		;
	nanosleep(&t, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	pid = fork();
	if (pid == 0) {
		int id = semget(KEY, 1, IPC_CREAT | 0600);

		alarm(5);
		CHECK(id >= 0);
		CHECK(!semop(id, &up_u, 1) && !semop(id, &down_u, 1));
		CHECK(semctl(id, 0, GETVAL) == 0);
		CHECK(!semctl(id, 0, IPC_RMID));
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*play)(void);
	} scenes[] = {
		{"processes", processes},
		{"threads", threads},
		{"forks", forks},
		{"fork_in_first", fork_in_first},
		{"kills", kills},
	};
	void (*play)(void) = NULL;

	if (argc != 3 || !getenv("IPCLIFT_REGISTRY"))
		return 2;
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		if (!strcmp(argv[1], scenes[i].name))
			play = scenes[i].play;
	if (!play)
		return 2;
	srand(1); /* fixed; what is random is the moment */
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < atoi(argv[2]); i++) {
		fresh();
		play();
	}
	return 0;
}
