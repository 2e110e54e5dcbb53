// SPDX-License-Identifier: MIT
/*
 * See unit.h.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "shm/shmmap.h"
#include "registry/wait.h"
#include "unit.h"

struct caller me;
struct cred me_cred = {.euid = ~0u};
static struct shm_process process;
static int file = -1;
static unsigned long long state = UNIT_SEED;

unsigned unit_random(void)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 33;
}

static void open_registry(u32 idx_bits, u32 profile)
{
	struct region_options opt = {.idx_bits = idx_bits, .profile = profile};
	char path[64], why[256];

	snprintf(path, sizeof(path), "/dev/shm/unit-%d", getpid());
	unlink(path);
	limits_init(&opt.limits, opt.profile, opt.idx_bits);
	me = (struct caller){.cred = &me_cred, .shm = &process};
	cr_assert_eq(region_map(&me.region, path, &opt, why, sizeof(why)), 0,
		"%s", why);
	file = open(path, O_RDWR | O_CLOEXEC);
	cr_assert_geq(file, 0);
	caller_refresh(&me);
	cr_assert_eq(caller_enroll(&me), 0);
}

void unit_init(void)
{
	open_registry(IDX_BITS_NORMAL, LIMITS_KERNEL);
	unlink(me.region.path);
}

void unit_init_named(void)
{
	open_registry(IDX_BITS_NORMAL, LIMITS_KERNEL);
}

void unit_init_extended(void)
{
	open_registry(IDX_BITS_EXTENDED, LIMITS_ROOMY);
	unlink(me.region.path);
}

static void say(void *arg, enum invariant which, const char *what, u64 a, u64 b)
{
	(void)arg;
	cr_log_error("invariant %d: %s %lu %lu (seed %u)", which, what, a, b,
		UNIT_SEED);
}

int unit_file(void)
{
	return file;
}

void unit_fini(void)
{
	char dir[80];

	close(file);
	unlink(me.region.path);
	/* Where POSIX queues had their FIFOs. */
	snprintf(dir, sizeof(dir), "%s.mq", me.region.path);
	rmdir(dir);
	cr_expect_eq(check_region(&me.region, say, NULL), 0);
}

void unit_forked(void)
{
	caller_refresh(&me);
	caller_enroll(&me);
}

void unit_filter(int nr, unsigned answer)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(90);
}

static u32 n_queued(void)
{
	u32 i, n = 0;

	for (i = 1; i < caller_header(&me)->thread_high; i++)
		n += atom_load_acquire(
			     &region_thread(&me.region, i)->waiter.state) ==
		     WAIT_QUEUED;
	return n;
}

pid_t unit_sleeper(void (*fn)(s32 id), s32 id, u32 n)
{
	pid_t pid = fork();

	if (!pid) {
		/* A test that crashes leaves nobody asleep. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		unit_forked();
		fn(id);
		_exit(0);
	}
	while (n_queued() != n)
		arch_pause();
	return pid;
}
