// SPDX-License-Identifier: MIT
/*
 * ipclift check: do all invariants of a registry hold? What is checked, and
 * when it holds, is in inspect/check.h.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inspect/check.h"
#include "inspect/rows.h"
#include "object/reap.h"
#include "index/ids.h"
#include "registry/lock.h"
#include "registry/task.h"
#include "tool/mapcheck.h"
#include "tool/registry.h"
#include "tool/view/table.h"

static int as_json;

static const struct option_spec options[] = {
	{"json", 0, NULL, &as_json, "the faults as a JSON array"},
	{0},
};

static void add_fault(
	void *arg, enum invariant which, const char *what, u64 a, u64 b)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "invariant", json_object_new_int((int)which));
	json_object_object_add(o, "where", json_object_new_uint64(a));
	json_object_object_add(o, "value", json_object_new_uint64(b));
	json_object_object_add(o, "fault", json_object_new_string(what));
	json_object_array_add(arg, o);
}

/*
 * First a check without locks, which disturbs no program; only if that finds
 * something a check under locks. Running programs make only the sums over
 * everything undecidable, so it is repeated until there was a quiet moment: at
 * most so often, with pauses that add up to a second. Arbitrary.
 */
#define LOOKS 100
#define LOOK_PAUSE_US 10000
#define COPIES 5

/* All faults as an array, or NULL without memory. */
static json_object *find_faults(struct caller *c, int *ret_quiet)
{
	json_object *faults = json_object_new_array();
	int i, n = check_region(&c->region, add_fault, faults);

	*ret_quiet = n == 0;
	/* Another user's registry: no lock is taken, so a violation counts only
	 * if the next copy has it, too, unless there are very many. */
	for (i = 0; c->detached && n > 0 && n < (int)CHECK_MOST && i < COPIES;
		i++) {
		usleep(LOOK_PAUSE_US);
		if (registry_copy_again())
			break;
		json_object_put(faults);
		faults = json_object_new_array();
		n = check_region(&c->region, add_fault, faults);
		*ret_quiet = n == 0;
	}
	if (c->detached)
		return faults;
	for (i = 0; n >= 0 && !*ret_quiet && i < LOOKS; i++) {
		usleep(i ? LOOK_PAUSE_US : 0);
		json_object_put(faults);
		faults = json_object_new_array();
		n = check_live(c, add_fault, faults, ret_quiet);
		/* What is found under a lock counts at any time. */
		if (n > 0)
			break;
	}
	if (n >= 0)
		return faults;
	json_object_put(faults);
	return NULL;
}

/* Arbitrary: the largest number of tasks, with a record each, takes half a
 * second. */
#define REAP_MOST_NS 2000000000ULL

/* An exited process that is not reaped yet is no violation. A user who can
 * write the registry can forge tasks with any amount of work to reap, so this
 * stops after a while: the rest is no violation either. */
static void reap_the_dead(struct caller *c)
{
	const u64 end = sys_monotonic_ns() + REAP_MOST_NS;
	const struct task *t;
	u32 at = 0;

	if (caller_enroll(c))
		return;
	for (; (at = task_next(c, at)) < N_TASKS; at++) {
		t = region_task(&c->region, at);
		if (t->state != TASK_PREFORK && !task_gone(c, t))
			continue;
		if (sys_monotonic_ns() > end) {
			fprintf(stderr, "ipclift: too many exited processes: "
					"only some were cleaned up after\n");
			return;
		}
		reap_task(c, at);
	}
}

/* The kernel's PID_MAX_LIMIT: no thread has a higher number. */
#define TIDS_MOST (4u << 20)
/* A bit for each thread of the table: filled once, for there may be as many
 * words as threads. */
static unsigned char listed[TIDS_MOST / 8];

static void list_threads(const struct caller *c)
{
	u32 i = 1, tid;

	for (; (i = thread_next(&c->region, i)) < N_THREADS; i++) {
		tid = atom_load_acquire(&region_thread(&c->region, i)->tid);
		if (tid < TIDS_MOST)
			listed[tid / 8] |= (unsigned char)(1u << tid % 8);
	}
}

/* A thread that came after list_threads is in the table, too. */
static int is_listed(const struct caller *c, u32 tid)
{
	return tid >= TIDS_MOST || (listed[tid / 8] >> tid % 8 & 1) ||
	       thread_of(c, tid);
}

/* Locks whose word has the tid of a thread that takes none: before they are
 * repaired. */
static void check_word(
	struct caller *c, const struct lock *lock, u32 where, json_object *to)
{
	u32 word = atom_load_acquire(&lock->word), tid = word & SYS_TID_MASK;

	if (tid && json_object_array_length(to) < CHECK_MOST &&
		!kill((pid_t)tid, 0) && !is_listed(c, tid))
		add_fault(to, INV_LOCK,
			"held by a thread that is not in the table", where,
			word);
}

static void check_words(struct caller *c, json_object *to)
{
	struct header *h = caller_header(c);
	u32 f, i;

	list_threads(c);
	for (f = 0; f < N_FAC; f++) {
		check_word(c, &h->fac_lock[f].lock, f, to);
		for (i = 0; (i = ids_next(c, (enum facility)f, i)) < IDX_MAX;
			i++)
			check_word(c,
				&region_slot(&c->region, (enum facility)f, i)
					 ->lock,
				i, to);
	}
	check_word(c, &h->heap.lock, 0, to);
	check_word(c, &h->repair_lock.lock, 0, to);
	for (i = 0; (i = task_next(c, i)) < N_TASKS; i++)
		check_word(c, &region_task(&c->region, i)->lock, i, to);
}

/* All of from at the end of to. */
static void append(json_object *to, json_object *from)
{
	size_t i, n = json_object_array_length(from);

	for (i = 0; i < n; i++)
		json_object_array_add(to,
			json_object_get(json_object_array_get_idx(from, i)));
	json_object_put(from);
}

static int check_main(int argc, char **argv)
{
	struct caller *c;
	json_object *faults, *words;
	int err = no_words(argc, argv), n, quiet;

	c = err ? NULL : registry_open_read_only(&err);
	if (!c)
		return err;
	words = json_object_new_array();
	if (!c->detached) {
		check_words(c, words);
		reap_the_dead(c);
	}
	faults = find_faults(c, &quiet);
	if (!faults)
		return failure("%s", strerror(ENOMEM));
	append(faults, words);
	if (!c->detached)
		mapcheck(c, add_fault, faults);
	n = (int)json_object_array_length(faults);
	if (n || as_json)
		rows_print(check_columns, faults, as_json);
	else if (quiet)
		puts("all invariants hold");
	else
		puts("no fault; but the registry is too busy to check for lost "
		     "memory");
	return n ? EXIT_FAILED : EXIT_OK;
}

const struct command check_command = {
	.name = "check",
	.summary = "prove the invariants of a registry",
	.usage = "[OPTIONS]",
	.about = "Check that all invariants of a registry hold, while programs "
		 "use it: each\n"
		 "object under its lock; at a moment at which no lock is "
		 "taken, that every byte,\n"
		 "sleeper and record is in exactly one place; and that "
		 "processes have mapped the\n"
		 "segments that they have attached, as far as their "
		 "/proc/PID/maps may be read.\n"
		 "Exit status 1 if there are faults; shim/inspect/check.h "
		 "explains the numbers.",
	.options = options,
	.is = COMMAND_ON_REGISTRY,
	.main = check_main,
};
