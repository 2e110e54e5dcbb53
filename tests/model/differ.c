// SPDX-License-Identifier: MIT
/*
 * differ: random scripts of calls that block, over several processes and
 * threads; for each step who sleeps, who was woken, and what each got.
 *
 *	differ [--seed S] [--steps N] [--length N]	makes a script and runs it
 *	differ --script FILE				runs one
 *	differ --follow FILE				runs what another run wrote
 *
 * What it writes is a script again: results are indented, and not read. Run on
 * the kernel, and with --follow under a shim, it shows by `cmp` whether the
 * shim is the kernel; differ.sh does that and makes small what differs. FILE
 * may be `-`. It wants fresh IPC and process namespaces.
 *
 * A controller commands up to six actors (differ_actor.h), one step at a time,
 * and waits after each until all are asleep (differ_world.h). `= N` begins an
 * episode: all actors are killed, all objects removed. Where the kernel
 * decides by the order in which tasks happen to run, the step is marked `free`
 * and its episode ends there; the follower goes by the marks that it reads. A
 * step that cannot be taken (its actor sleeps, or is dead) is skipped.
 */
#define _GNU_SOURCE
#include "../option.h"
#include "differ_make.h"

/* How long what a death lets go may take: sleepers look so often. */
#define LATE_MS 3000

static long seed = 1, n_steps = 5000, length = 250, first_episode = 1;
static const char *script_name, *follow_name;

/* --- results ------------------------------------------------------------- */

static void ends_tell(const struct step *s)
{
	for (int i = 0; i < ACTORS; i++) {
		if (!lives[i].alive || !lives[i].pending)
			continue;
		if (step_ended(i)) {
			lives[i].pending = false;
			printf("  A%d%s\n", i, shared->actors[i].text);
		} else if (i == s->actor && s->verb >= FIRST_OF_ACTOR) {
			printf("  A%d sleeps\n", i);
		}
	}
}

static void notified_tell(void)
{
	for (int i = 0; i < ACTORS; i++) {
		struct notified *n = &shared->notified[i];
		uint32_t now = atomic_load(&n->n);

		if (now == lives[i].n_notified)
			continue;
		printf("  A%d notified %u code %d value %d by %s\n", i,
			now - lives[i].n_notified, n->code, n->value,
			role_name(n->pid));
		lives[i].n_notified = now;
	}
}

static void sem_look(int o)
{
	int id = shared->id[SEM][o], n = shared->n_sems[o];
	unsigned short value[SEMS_MAX] = {0};
	char text[TEXT_SIZE] = "";

	if (n > SEMS_MAX || semctl(id, 0, GETALL, value))
		return;
	printf("  sem %d:", o);
	for (int i = 0; i < n; i++)
		printf(" %u/%s/%d/%d", value[i],
			role_name(semctl(id, i, GETPID)),
			semctl(id, i, GETNCNT), semctl(id, i, GETZCNT));
	semstat_text(text, id);
	printf("%s\n", text);
}

static void mq_look(int o)
{
	mqd_t q = mq_open(mq_name(o), O_RDONLY | O_NONBLOCK);
	char text[TEXT_SIZE] = "";

	if (q == -1)
		return;
	mqattr_text(text, q);
	mqpoll_text(text, q);
	mq_close(q);
	printf("  mq %d:%s\n", o, text);
}

static void look_tell(void)
{
	char text[TEXT_SIZE];

	for (int o = 0; o < OBJECTS; o++) {
		if (exists[SEM][o])
			sem_look(o);
		if (exists[MSG][o]) {
			text[0] = 0;
			msgstat_text(text, shared->id[MSG][o]);
			printf("  msg %d:%s\n", o, text);
		}
		mq_look(o);
		if (shared->id[SHM][o] != -1) {
			text[0] = 0;
			shmstat_text(text, shared->id[SHM][o]);
			printf("  shm %d:%s\n", o, text);
		}
	}
}

/* --- one step ---------------------------------------------------------- */

static bool step_possible(const struct step *s)
{
	int i = s->actor;

	if (i < 0 || i >= ACTORS)
		return false;
	switch (s->verb) {
	case LOOK:
		return true;
	case START:
		return !lives[i].alive && !n_alive_in(i);
	case KILL:
		return lives[i].alive;
	case SIG:
	case STOP:
		return lives[i].alive && lives[i].pending;
	case FORK:
		/* processes are known by the actor that they began as */
		if (s->arg[0] < 0 || s->arg[0] >= ACTORS ||
			n_alive_in((int)s->arg[0]))
			return false;
		/* fall through */
	case THREAD:
		if (s->arg[0] < 0 || s->arg[0] >= ACTORS ||
			lives[s->arg[0]].alive)
			return false;
		break;
	case MSGWARM:
		/* senders would compete with it */
		for (int j = 0; j < ACTORS; j++)
			if (sleeper_step(j) && sleeper_step(j)->verb == MSGSND)
				return false;
		break;
	}
	return lives[i].alive && !lives[i].pending;
}

static void exists_follow(const struct step *s)
{
	static const struct {
		int get, rm, kind;
	} of[] = {{SEMGET, SEMRM, SEM}, {MSGGET, MSGRM, MSG},
		{SHMGET, SHMRM, SHM}};

	for (int k = 0; k < N_KINDS; k++) {
		if (s->verb == of[k].get)
			exists[of[k].kind][s->arg[0] % OBJECTS] = true;
		if (s->verb == of[k].rm)
			exists[of[k].kind][s->arg[0] % OBJECTS] = false;
	}
}

static bool is_death(const struct step *s)
{
	return s->verb == KILL || s->verb == EXIT || s->verb == QUIT;
}

static void life_step(const struct step *s)
{
	int i = s->actor;
	uint32_t before;

	switch (s->verb) {
	case FORK:
	case THREAD:
		before = life_prepare((int)s->arg[0]);
		actor_command(i, s);
		born_await((int)s->arg[0], before);
		break;
	case EXEC:
		before = atomic_load(&shared->actors[i].born);
		for (int j = 0; j < ACTORS; j++)
			if (j != i && lives[j].process == lives[i].process)
				life_forget(j);
		actor_command(i, s);
		born_await(i, before);
		lives[i].pending = true;
		break;
	case QUIT:
		actor_command(i, s);
		if (n_alive_in(lives[i].process) > 1)
			thread_await(i);
		else
			process_await(i);
		break;
	case EXIT:
		actor_command(i, s);
		process_await(i);
		break;
	default:
		actor_command(i, s);
	}
}

/*
 * Two processes die, or begin a new image, and nobody looks in between: the
 * kernel has taken back what the first had before the second is gone, the shim
 * takes back both at the next look, and which pid comes last it cannot know. So
 * somebody looks.
 */
static void deaths_part(const struct step *s)
{
	struct shmid_ds ds;
	static bool unseen;

	for (int o = 0; unseen && o < OBJECTS; o++) {
		if (shared->id[SEM][o] != -1)
			semctl(shared->id[SEM][o], 0, GETVAL);
		if (shared->id[SHM][o] != -1)
			shmctl(shared->id[SHM][o], IPC_STAT, &ds);
	}
	unseen = s->verb != LOOK;
}

static void step_begin(const struct step *s)
{
	static const int signals[] = {SIGUSR1, SIGUSR2, SIGURG};
	struct actor *a = &shared->actors[s->actor];

	switch (s->verb) {
	case START:
		actor_start(s->actor);
		break;
	case KILL:
		kill(a->pid, SIGKILL);
		process_await(s->actor);
		break;
	case SIG:
		syscall(SYS_tgkill, a->pid, a->tid,
			signals[(unsigned long)s->arg[0] % 3]);
		break;
	case STOP:
		process_stop(s->actor);
		break;
	case LOOK:
		look_tell();
		break;
	default:
		life_step(s);
	}
}

/* What another run wrote of a step. */
struct expected {
	bool free;
	int n_told; /* ends of calls, and notifications */
};

/* How many lines ends_tell() and notified_tell() would write. */
static int n_to_tell(const struct step *s)
{
	int n = 0;

	for (int i = 0; i < ACTORS; i++) {
		n += atomic_load(&shared->notified[i].n) != lives[i].n_notified;
		n += lives[i].alive && lives[i].pending &&
		     (step_ended(i) ||
			     (i == s->actor && s->verb >= FIRST_OF_ACTOR));
	}
	return n;
}

/* Of the follower: sleepers whom a death lets go, but not at once; sleepers
 * that looked for exited tasks, and therefore slept on, when they were
 * stopped. */
static struct {
	long n, worst_us, n_stops;
} late;

static void late_await(const struct step *s, int n_told)
{
	long long from = clock_us(), us = 0;

	if (n_to_tell(s) >= n_told)
		return;
	while (n_to_tell(s) < n_told && us < LATE_MS * 1000LL) {
		if (s->verb == STOP) {
			process_stop(s->actor);
			late.n_stops++;
			us += LATE_MS * 1000LL / 3;
		} else {
			bell_await(atomic_load(&shared->bell), 1000);
			us = clock_us() - from;
		}
		quiet_await(-1);
	}
	if (s->verb == STOP)
		return;
	late.n++;
	late.worst_us = us > late.worst_us ? (long)us : late.worst_us;
}

/* expected: NULL unless another run is followed. True if the step was free. */
static bool step_take(const struct step *s, const struct expected *expected)
{
	char text[LINE_SIZE];

	step_no++;
	step_text(s, text, sizeof(text));
	puts(text);
	if (!step_possible(s)) {
		puts("  skip");
		return false;
	}
	exists_follow(s);
	if (is_death(s) || s->verb == EXEC || s->verb == LOOK)
		deaths_part(s);
	step_begin(s);
	quiet_await(s->verb >= FIRST_OF_ACTOR ? s->actor : -1);
	if (expected ? expected->free : kernel_was_free(s)) {
		puts("  free");
		return true;
	}
	if (expected && (is_death(s) || s->verb == STOP))
		late_await(s, expected->n_told);
	ends_tell(s);
	notified_tell();
	return false;
}

/* --- episodes --------------------------------------------------------------
 */

static void episode_clear(void)
{
	for (int i = 0; i < ACTORS; i++)
		if (lives[i].alive) {
			kill(shared->actors[i].pid, SIGKILL);
			process_await(i);
		}
	for (int o = 0; o < OBJECTS; o++) {
		semctl(semget(KEY_BASE + o, 0, 0), 0, IPC_RMID);
		msgctl(msgget(KEY_BASE + o, 0), IPC_RMID, NULL);
		shmctl(shmget(KEY_BASE + o, 0, 0), IPC_RMID, NULL);
		mq_unlink(mq_name(o));
		for (int k = 0; k < N_KINDS; k++)
			shared->id[k][o] = -1;
		shared->n_sems[o] = 0;
	}
	memset(exists, 0, sizeof(exists));
	/* what died unheard */
	for (int i = 0; i < ACTORS; i++)
		lives[i].n_notified = atomic_load(&shared->notified[i].n);
	fflush(stdout);
}

static void episode_begin(long number)
{
	episode_clear();
	printf("= %ld\n", number);
}

static void step_look(struct step *ret_step)
{
	memset(ret_step, 0, sizeof(*ret_step));
	ret_step->verb = LOOK;
}

static void episodes_make(void)
{
	struct step s;

	for (long e = first_episode; step_no < n_steps; e++) {
		choice_seed(seed * 1000003 + e);
		episode_begin(e);
		episode_pick();
		for (long i = 0; i < length; i++) {
			if (i < length - 1)
				step_make(&s);
			else
				step_look(&s);
			if (step_take(&s, NULL))
				break;
		}
	}
}

/* The next line that is no result, and what the results before it were. */
static bool line_read(FILE *f, char *line, struct expected *ret_before)
{
	struct expected before = {false, 0};
	bool got = false;

	while (!got && fgets(line, LINE_SIZE, f)) {
		got = line[0] != ' ' && line[0] != '\n';
		before.free = before.free || !strcmp(line, "  free\n");
		before.n_told += !strncmp(line, "  A", 3);
	}
	*ret_before = before;
	return got;
}

/*
 * With follow, marks are obeyed; else they are made, and what follows one in
 * its episode is left out. A step's results stand behind it: one line ahead.
 */
static void script_run(const char *name, bool follow)
{
	FILE *f = strcmp(name, "-") ? fopen(name, "r") : stdin;
	char line[LINE_SIZE], next[LINE_SIZE];
	bool more, skipping = false;
	struct expected told;
	struct step s;

	if (!f)
		give_up(name);
	more = line_read(f, line, &told);
	while (more) {
		more = line_read(f, next, &told);
		if (line[0] == '=') {
			episode_begin(atol(line + 1));
			skipping = false;
		} else if (line[0] != '#' && !skipping) {
			if (!step_parse(line, &s))
				give_up("no step");
			skipping =
				step_take(&s, follow ? &told : NULL) && !follow;
		}
		if (more)
			memcpy(line, next, sizeof(line));
	}
}

/* --- the command ------------------------------------------------------------
 */

static void shared_make(void)
{
	int fd = memfd_create("differ", 0);

	if (fd < 0 || dup2(fd, SHARED_FD) < 0 ||
		ftruncate(SHARED_FD, sizeof(*shared)))
		give_up("memfd_create");
	close(fd);
	shared_map();
}

int main(int argc, char **argv)
{
	static const struct option_of options[] = {
		{"seed", .number = &seed},
		{"steps", .number = &n_steps},
		{"length", .number = &length},
		{"episode", .number = &first_episode},
		{"script", .text = &script_name},
		{"follow", .text = &follow_name},
		{0},
	};

	if (argc == 4 && !strcmp(argv[1], "--actor"))
		actor_exec_main(atoi(argv[2]), atoi(argv[3]));
	options_only(argc, argv, options);
	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	shared_make();
	if (follow_name)
		script_run(follow_name, true);
	else if (script_name)
		script_run(script_name, false);
	else
		episodes_make();
	episode_clear();
	printf("# %ld steps\n", step_no);
	if (late.n + late.n_stops)
		fprintf(stderr,
			"%ld sleepers let go late after a death, by %ld ms at "
			"worst; %ld stops passed by\n",
			late.n, late.worst_us / 1000, late.n_stops);
	return 0;
}
