// SPDX-License-Identifier: MIT
/*
 * mixed_storm: all four kinds at once, by processes and threads that fork,
 * vfork, exec, are cancelled, stopped, interrupted by handlers that make such
 * calls too, and are killed: one, a group, all.
 *
 *	mixed_storm [--kills N] [--round N] [--procs P] [--seed S]
 *		[--check COMMAND] [--full FILE]
 *
 * A round of --round kills, until there were --kills in all: P workers of a few
 * threads; the parent kills and replaces them, stops and continues others, then
 * kills all. Beside them a herd sleeps, is woken, and is killed (mixed_herd.h).
 * When all are dead:
 *
 * - What was taken with SEM_UNDO is released: each semaphore has its first
 *   value. Units moved without SEM_UNDO have the same sum as before. No sleeper
 *   is counted.
 * - A message (System V, POSIX) is received at most once, complete, and in the
 *   order of its sender and type; one that msgsnd or mq_send accepted arrives,
 *   except those that receivers were about to get when they died.
 * - No segment is attached, no removed one is left; the segment in which all
 *   count has the right sum.
 * - Private objects that are left (their maker died before it removed them) can
 *   be removed, and then there is none.
 * - COMMAND exits with 0 (for instance `ipclift check`).
 *
 * --full: FILE, on the file system that the registry is on, grows until there
 * is no space left, or next to none, and is emptied again, at random between
 * two kills. A call may then fail with ENOSPC or ENOMEM, but nothing else of
 * the above changes. There is no herd.
 *
 * Meanwhile no call that cannot block, or whose time is limited, takes more
 * than STUCK_MS.
 * Prints one line; the exit status is 1 if any of that is wrong.
 */
#define _GNU_SOURCE
#include "mixed_calls.h"
#include "mixed_herd.h"

#include <dirent.h>

/* ---- the process itself ---- */

static void read_files(void)
{
	static const char *const names[] = {"/proc/sysvipc/sem",
		"/proc/sysvipc/msg", "/proc/sysvipc/shm",
		"/proc/sys/kernel/sem"};
	char buf[4096];
	int fd;

	op_begin(14);
	fd = open(names[rnd(4)], O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && read(fd, buf, sizeof(buf)) > 0)
		;
	if (fd >= 0)
		close(fd);
	op_end();
}

static void any_call(void);

static void forked(void)
{
	pid_t pid = fork();
	int status, i, n = (int)rnd(10);

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (life_begin())
			for (i = 0; i < n; i++)
				any_call();
		_exit(0);
	}
	if (pid < 0)
		return;
	if (!rnd(3)) {
		sleep_us(rnd(400));
		kill(pid, SIGKILL);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

static void vforked(void)
{
	int status;
	pid_t pid = vfork();

	if (!pid) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(0);
	}
	if (pid > 0)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
}

static void become_new(void)
{
	char number[24];

	snprintf(number, sizeof(number), "%ld", seed);
	execl(sh->self, "mixed_storm", "--worker", number, (char *)NULL);
}

static void alarm_handler(int sig)
{
	struct sembuf take = {0, -1, SEM_UNDO | IPC_NOWAIT};
	struct sembuf give = {0, 1, SEM_UNDO};
	struct sembuf mine = {3, 1, IPC_NOWAIT};
	struct msqid_ds ds;
	int was = errno;

	(void)sig;
	if (in_handler++ == 0 && me) {
		if (!semop(sh->undo_set, &take, 1))
			semop(sh->undo_set, &give, 1);
		semop(sh->wait_set, &mine, 1);
		msgctl(sh->queue, IPC_STAT, &ds);
	}
	in_handler--;
	errno = was;
}

static void any_call(void)
{
	switch (rnd(64)) {
	case 0:
		forked();
		break;
	case 1:
		if (!rnd(4))
			vforked();
		break;
	case 2:
		if (!rnd(10))
			become_new();
		break;
	case 3:
	case 4:
		private_set();
		break;
	case 5:
		private_queue();
		break;
	case 6:
	case 7:
		private_segment();
		break;
	case 8:
		read_files();
		break;
	case 9:
	case 10:
	case 11:
	case 12:
		use_mq();
		break;
	case 13:
	case 14:
	case 15:
		count_up();
		break;
	case 16:
		private_mq();
		break;
	case 17:
		if (rnd(2))
			large_messages();
		else
			long_array();
		break;
	case 18 ... 23:
		wait_and_post();
		break;
	case 24 ... 31:
		move();
		break;
	case 32 ... 39:
		send_msg();
		break;
	case 40 ... 49:
		receive_msg();
		break;
	default:
		tokens();
	}
}

/* Also of one that is cancelled in the midst of a call: it is not stuck. */
static void life_end(void *arg)
{
	(void)arg;
	me->since = 0;
	munmap(last_seen, LIVES * sizeof(*last_seen));
}

static void *thread_main(void *arg)
{
	int i, n;

	(void)arg;
	if (!life_begin())
		return NULL;
	n = 20 + (int)rnd(2000);
	pthread_cleanup_push(life_end, NULL);
	for (i = 0; i < n; i++)
		any_call();
	pthread_cleanup_pop(1);
	return NULL;
}

/* Its threads end, are cancelled, and are followed by others. */
static _Noreturn void worker(void)
{
	struct itimerval every = {{0, 0}, {0, 0}};
	struct sigaction sa = {.sa_handler = alarm_handler};
	pthread_t t[3];
	uint32_t n, i;

	if (!life_begin())
		_exit(0);
	if (rnd(2))
		sa.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &sa, NULL);
	sa.sa_handler = interrupt_by_alarm;
	sigaction(SIGUSR1, &sa, NULL);
	if (rnd(2)) {
		every.it_interval.tv_usec = every.it_value.tv_usec =
			500 + (long)rnd(5000);
		setitimer(ITIMER_REAL, &every, NULL);
	}
	for (;;) {
		n = rnd(4);
		for (i = 0; i < n; i++)
			if (pthread_create(&t[i], NULL, thread_main, NULL))
				n = i;
		for (i = 0; i < 100; i++)
			any_call();
		for (i = 0; i < n; i++) {
			if (rnd(2))
				pthread_cancel(t[i]);
			else
				pthread_detach(t[i]), t[i] = 0;
		}
		for (i = 0; i < n; i++)
			if (t[i])
				pthread_join(t[i], NULL);
	}
}

/* ---- the parent ---- */

static pid_t workers[MAX_PROCS];
static long n_killed, n_filled;
static const char *filler;

static void fill(bool full)
{
	int fd = open(filler, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	off_t end = 0, step;

	if (fd < 0 || ftruncate(fd, 0))
		storm_die(filler);
	for (step = 4 << 20; full && step >= 4096; step /= 2)
		while (!fallocate(fd, 0, end, step))
			end += step;
	n_filled += full;
	/* A few pages, which the next calls need. */
	end -= 4096 * (off_t)rnd(12);
	if (full && end > 0 && rnd(2) && ftruncate(fd, end))
		storm_die(filler);
	close(fd);
}

static void spawn(long i)
{
	pid_t pid = fork();

	/* A fork that shares attachments needs memory of the registry. */
	if (pid < 0 && no_space()) {
		fill(false);
		pid = fork();
	}
	if (pid < 0)
		storm_die("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		worker();
	}
	setpgid(pid, pid);
	workers[i] = pid;
}

/* Waits for pid, -1: any, by waitpid's flags; false if there is none. Nobody
 * may have died but of us. */
static bool reap(pid_t pid, int flags)
{
	int status;
	pid_t got = waitpid(pid, &status, flags);

	if (got > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		n_killed++;
	/* SIGALRM and SIGUSR1: exec has put the handlers away. */
	if (got > 0 && WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL &&
		WTERMSIG(status) != SIGALRM && WTERMSIG(status) != SIGUSR1)
		violation("died of signal", WTERMSIG(status), got);
	return got > 0;
}

/* Everybody of the worker's group; orphans come to us as their subreaper. */
static void kill_group(long i)
{
	kill(-workers[i], SIGKILL);
	kill(workers[i], SIGKILL);
	reap(workers[i], 0);
}

static void reap_orphans(void)
{
	while (reap(-1, WNOHANG))
		;
}

/* After exec: the threads that were in a call are gone, not stuck in it. */
static void end_other_threads(void)
{
	uint32_t n = atomic_load(&sh->lives), pid = (uint32_t)getpid(), i;
	uint64_t born = birth_of(pid);

	for (i = 0; i < n && i < LIVES; i++)
		if (sh->life[i].pid == pid && sh->life[i].born == born)
			sh->life[i].since = 0;
}

static void look_for_stuck(void)
{
	uint32_t n = atomic_load(&sh->lives), i;
	double now = now_ms(), since;

	for (i = n > 4096 ? n - 4096 : 0; i < n && i < LIVES; i++) {
		since = sh->life[i].since;
		if (since == 0 || now - since < STUCK_MS || !sh->life[i].op ||
			birth_of(sh->life[i].pid) != sh->life[i].born)
			continue;
		violation("stuck in call", sh->life[i].op, sh->life[i].pid);
		if (getenv("STORM_KEEP"))
			pause();
		kill((pid_t)sh->life[i].pid, SIGKILL);
		sh->life[i].since = 0;
	}
}

static void storm(long round)
{
	long k, i;

	if (!filler)
		herd_start(round);
	for (i = 0; i < n_procs; i++)
		spawn(i);
	for (k = 0; k < n_round; k++) {
		if (rnd(4))
			storm_pause(&rng);
		else
			sleep_us(rnd(20000));
		if (filler && rnd(6) < 3)
			fill(rnd(3));
		i = (long)rnd((uint32_t)n_procs);
		switch (rnd(6)) {
		case 0:
			kill(workers[i], SIGSTOP);
			sleep_us(rnd(5000));
			kill(workers[i], SIGCONT);
			break;
		case 1:
			kill(workers[i], SIGKILL);
			reap(workers[i], 0);
			kill(-workers[i], SIGKILL);
			spawn(i);
			break;
		default:
			kill_group(i);
			spawn(i);
		}
		reap_orphans();
		if (k % 64 == 0)
			look_for_stuck();
	}
	if (!filler)
		herd->stop = 1;
	/* All at once. */
	for (i = 0; i < n_procs; i++)
		kill(-workers[i], SIGKILL);
	for (i = 0; i < n_procs; i++)
		kill(workers[i], SIGKILL);
	while (reap(-1, 0) || errno == EINTR)
		;
	if (filler)
		fill(false);
	else
		n_killed += herd->kills;
}

/* What was sent in the last round is gone. */
static void forget_lives(void)
{
	memset(sh->life, 0, atomic_load(&sh->lives) * sizeof(*sh->life));
	memset(sh->disorder, 0, sizeof(sh->disorder));
	atomic_store(&sh->lives, 1);
	me->pid = (uint32_t)getpid();
	me->born = birth_of(me->pid);
}

static void look_at_sems(void)
{
	unsigned short v[N_SEMS];
	int i, sum = 0;

	if (semctl(sh->undo_set, 0, GETALL, v))
		violation("GETALL", errno, 0);
	for (i = 0; i < N_SEMS; i++)
		if (v[i] != TOKENS)
			violation("tokens", i, v[i]);
	if (semctl(sh->move_set, 0, GETALL, v))
		violation("GETALL", errno, 0);
	for (i = 0; i < N_SEMS; i++)
		sum += v[i];
	if (sum != UNITS)
		violation("units at the end", sum, UNITS);
	for (i = 0; i < N_SEMS; i++) {
		const int sets[] = {sh->undo_set, sh->move_set, sh->wait_set};
		size_t k;

		for (k = 0; k < 3; k++)
			if (semctl(sets[k], i, GETNCNT) ||
				semctl(sets[k], i, GETZCNT))
				violation("waiting at the end", (long)k, i);
	}
}

static void look_at_messages(void)
{
	struct packet p;
	mqd_t q = shared_mq(O_NONBLOCK);
	long missing[N_VIA] = {0}, allowed[N_VIA] = {0};
	uint32_t i, n = atomic_load(&sh->lives);
	ssize_t size;
	int via;

	memset(last_seen, 0, LIVES * sizeof(*last_seen));
	while ((size = msgrcv(sh->queue, &p, sizeof(p.body), 0, IPC_NOWAIT)) >=
		0)
		note_packet(&p.body, size, VIA_MSG);
	if (errno != ENOMSG)
		violation("msgrcv at the end", errno, 0);
	while ((size = mq_receive(q, (char *)&p.body, sizeof(p.body), NULL)) >=
		0)
		note_packet(&p.body, size, VIA_MQ);
	if (errno != EAGAIN)
		violation("mq_receive at the end", errno, 0);
	mq_close(q);
	for (i = 0; i < n && i < LIVES; i++)
		for (via = 0; via < N_VIA; via++) {
			uint32_t sent = sh->life[i].accepted[via];
			uint64_t all = sent >= 64 ? ~0ULL : (1ULL << sent) - 1;
			uint64_t got = sh->life[i].got[via];

			missing[via] += __builtin_popcountll(all & ~got);
			allowed[via] += sh->life[i].receiving[via] != 0;
			/* What it was sending when it died. */
			if (sent < 63 && got & ~all & ~(1ULL << sent))
				violation("from nowhere", i, via);
		}
	/* What a cancelled receiver was handed goes back to where it was, or is
	 * gone with it. */
	for (via = 0; via < N_VIA; via++)
		if (sh->disorder[via] > allowed[via])
			violation(via ? "mq: out of order, allowed"
				      : "msg: out of order, allowed",
				sh->disorder[via], allowed[via]);
		else if (missing[via] > allowed[via])
			violation(via ? "mq: messages missing, allowed"
				      : "msg: messages missing, allowed",
				missing[via], allowed[via]);
}

/* POSIX queues whose makers died before they removed them. */
static void remove_queues(void)
{
	DIR *dir = opendir("/dev/mqueue");
	const char *prefix = sh->mq_name + 1;
	char name[300];
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		if (strncmp(e->d_name, prefix, strlen(prefix)) ||
			e->d_name[strlen(prefix)] != '-')
			continue;
		snprintf(name, sizeof(name), "/%s", e->d_name);
		if (mq_unlink(name) && errno != ENOENT)
			violation("mq_unlink at the end", errno, 0);
	}
	if (dir)
		closedir(dir);
}

/* Remove what workers made and left. */
static void remove_private(void)
{
	struct seminfo si;
	struct msginfo mi;
	struct shm_info hi;
	struct semid_ds sd;
	struct msqid_ds md;
	struct shmid_ds hd;
	int high, i, id;

	high = semctl(0, 0, SEM_INFO, &si);
	for (i = 0; i <= high; i++) {
		id = semctl(i, 0, SEM_STAT, &sd);
		if (id >= 0 && id != sh->undo_set && id != sh->move_set &&
			id != sh->wait_set)
			semctl(id, 0, IPC_RMID);
	}
	high = msgctl(0, MSG_INFO, (struct msqid_ds *)&mi);
	for (i = 0; i <= high; i++) {
		id = msgctl(i, MSG_STAT, &md);
		if (id >= 0 && id != sh->queue)
			msgctl(id, IPC_RMID, NULL);
	}
	high = shmctl(0, SHM_INFO, (struct shmid_ds *)&hi);
	for (i = 0; i <= high; i++) {
		id = shmctl(i, SHM_STAT, &hd);
		if (id < 0)
			continue;
		if (hd.shm_nattch)
			violation("attached", id, (long)hd.shm_nattch);
		if (hd.shm_perm.mode & SHM_DEST)
			violation("removed but there", id, 0);
		if (id != sh->counted)
			shmctl(id, IPC_RMID, NULL);
	}
	remove_queues();
	semctl(0, 0, SEM_INFO, &si);
	msgctl(0, MSG_INFO, (struct msqid_ds *)&mi);
	shmctl(0, SHM_INFO, (struct shmid_ds *)&hi);
	if (si.semusz != 3 || mi.msgpool != 1 || hi.used_ids != 1)
		violation("objects left", si.semusz * 100 + mi.msgpool,
			hi.used_ids);
}

/* Who is killed in count_up may have counted or not. */
static void look_at_counted(void)
{
	uint64_t begun = sh->counts_begun, done = sh->counts_done, sum = 0;
	const uint32_t *p = shmat(sh->counted, NULL, SHM_RDONLY);

	if (p == (void *)-1) {
		violation("shmat at the end", errno, 0);
		return;
	}
	for (int i = 0; i < COUNT_PAGES; i++)
		sum += p[i * 1024];
	if (sum < done || sum > begun)
		violation("counted, done", (long)sum, (long)done);
	shmdt(p);
}

static void make_objects(void)
{
	unsigned short v[N_SEMS];
	char *p;
	int i;

	sh->undo_set = semget(IPC_PRIVATE, N_SEMS, 0600);
	sh->move_set = semget(IPC_PRIVATE, N_SEMS, 0600);
	sh->wait_set = semget(IPC_PRIVATE, N_SEMS, 0600);
	sh->queue = msgget(IPC_PRIVATE, 0600);
	sh->counted = shmget(IPC_PRIVATE, COUNT_PAGES * 4096, 0600);
	snprintf(sh->mq_name, sizeof(sh->mq_name), "/mixed-%d", (int)getpid());
	if (sh->undo_set < 0 || sh->move_set < 0 || sh->wait_set < 0 ||
		sh->queue < 0 || sh->counted < 0)
		storm_die("objects");
	p = shmat(sh->counted, NULL, 0);
	if (p == (void *)-1)
		storm_die("shmat");
	memset(p, 0, COUNT_PAGES * 4096);
	shmdt(p);
	for (i = 0; i < N_SEMS; i++)
		v[i] = TOKENS;
	semctl(sh->undo_set, 0, SETALL, v);
	for (i = 0; i < N_SEMS; i++)
		v[i] = UNITS / N_SEMS;
	semctl(sh->move_set, 0, SETALL, v);
}

static void remove_objects(void)
{
	semctl(sh->undo_set, 0, IPC_RMID);
	semctl(sh->move_set, 0, IPC_RMID);
	semctl(sh->wait_set, 0, IPC_RMID);
	msgctl(sh->queue, IPC_RMID, NULL);
	shmctl(sh->counted, IPC_RMID, NULL);
	mq_unlink(sh->mq_name);
}

/* The arena is inherited through exec as a descriptor of this number. */
#define ARENA_FD 200

static void arena_make(void)
{
	int fd = memfd_create("mixed_storm", 0);

	if (fd < 0 || ftruncate(fd, sizeof(*sh)) || dup2(fd, ARENA_FD) < 0)
		storm_die("arena");
	close(fd);
}

static void arena_map(void)
{
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED,
		ARENA_FD, 0);
	if (sh == MAP_FAILED)
		storm_die("mmap");
}

static const struct option_of options[] = {
	{"kills", .number = &n_kills},
	{"round", .number = &n_round},
	{"procs", .number = &n_procs},
	{"seed", .number = &seed},
	{"check", .text = &check_command},
	{"full", .text = &filler},
	{0},
};

int main(int argc, char **argv)
{
	long round;
	uint64_t lives = 0;
	double start = now_ms();
	ssize_t n;

	if (argc == 3 && !strcmp(argv[1], "--worker")) {
		seed = atol(argv[2]);
		arena_map();
		end_other_threads();
		worker();
	}
	options_only(argc, argv, options);
	if (n_procs < 1 || n_procs > MAX_PROCS)
		options_wrong(argv);
	arena_make();
	arena_map();
	sh->full = filler != NULL;
	n = readlink("/proc/self/exe", sh->self, sizeof(sh->self) - 1);
	if (n < 0)
		storm_die("readlink");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!life_begin())
		return 2;
	make_objects();
	for (round = 0; n_killed < n_kills && !sh->violations; round++) {
		lives += atomic_load(&sh->lives);
		forget_lives();
		storm(round);
		look_at_sems();
		remove_private();
		look_at_messages();
		look_at_counted();
		if (check_command && system(check_command))
			violation("check", round, 0);
	}
	if (!sh->violations || !getenv("STORM_KEEP"))
		remove_objects();
	lives += atomic_load(&sh->lives);
	printf("%s mixed_storm: %ld rounds, %ld killed, %llu lives, "
	       "%llu calls, seed %ld, %.1f s\n",
		sh->violations ? "FAIL" : "ok", round, n_killed,
		(unsigned long long)lives, (unsigned long long)sh->calls, seed,
		(now_ms() - start) / 1e3);
	if (filler)
		printf("the file system %ld times full, %llu calls refused\n",
			n_filled, (unsigned long long)sh->refused);
	return sh->violations != 0;
}
