// SPDX-License-Identifier: MIT
/*
 * Initialisation at the first served call, and what keeps it right over fork,
 * vfork and exec.
 *
 * Nothing runs before the first call and nothing is torn down after the last:
 * another library's constructor may call before ours would have run, and its
 * destructor after. There is no constructor. The first call may come from a
 * signal handler or from several threads at once, so initialisation holds a
 * lock with all signals blocked.
 *
 * A fork child finds the wiped page empty and makes itself a new caller on the
 * inherited mapping. A vfork child shares everything with its suspended
 * parent: the interposed vfork makes the child's first call start afresh and
 * gives the parent its caller back.
 *
 * Credentials are cached for the process; the interposed set*id calls forget
 * them.
 */
#include "entry/process.h"
#include "ipc/limits.h"
#include "ipc/perm.h"

#define MADV_WIPEONFORK 18
#define AT_SECURE 23
#define SIG_SETMASK 2
#define RTLD_NEXT ((void *)-1L)

extern char **environ __attribute__((weak));
extern void *dlsym(void *, const char *) __attribute__((weak));
extern unsigned long getauxval(unsigned long) __attribute__((weak));

struct wiped_page process_page __attribute__((aligned(4096)));
__thread struct caller process_caller;

static struct {
	struct region region;
	struct cred cred;
	u32 init_lock;
	u32 generations;
	u32 routes;
	int parsed;
	int complained;
	int log_fd_ok;
	char path[4096]; /* of the registry, absolute */
} process = {.routes = 0xffffffff, .cred = {.euid = 0xffffffff}};

static const char *config(const char *name)
{
	char **e = &environ ? environ : NULL;
	size_t n = str_len(name), i;

	if (getauxval && getauxval(AT_SECURE))
		return NULL;
	for (; e && *e; e++) {
		for (i = 0; i < n && (*e)[i] == name[i]; i++)
			;
		if (i == n && (*e)[n] == '=')
			return *e + n + 1;
	}
	return NULL;
}

/* ---- routes ---- */

static int word_is(const char *s, size_t n, const char *word)
{
	size_t i;

	for (i = 0; i < n && word[i]; i++)
		if (s[i] != word[i])
			return 0;
	return i == n && !word[i];
}

/* "sem,mq" serves just these; "-shm" serves all but that. */
static u32 parse_routes(const char *s)
{
	static const char *const names[N_FAC] = {"sem", "msg", "shm", "mq"};
	u32 plus = 0, minus = 0, f;
	size_t n;

	while (s && *s) {
		int not = *s == '-';

		s += not;
		for (n = 0; s[n] && s[n] != ','; n++)
			;
		for (f = 0; f < N_FAC; f++)
			if (word_is(s, n, names[f]))
				*(not ? &minus : &plus) |= 1u << f;
		s += n + (s[n] == ',');
	}
	return (plus ? plus : 0xf) & ~minus;
}

int process_routes(enum facility f)
{
	if (unlikely(!__atomic_load_n(&process.parsed, __ATOMIC_ACQUIRE))) {
		process.routes = parse_routes(config("IPCLIFT_ROUTE"));
		__atomic_store_n(&process.parsed, 1, __ATOMIC_RELEASE);
	}
	return process.routes >> f & 1;
}

/* ---- the registry ---- */

static void complain(const char *why)
{
	char line[600];
	size_t n;

	if (process.complained)
		return;
	process.complained = 1;
	n = str_add(line, sizeof(line), 0, "ipclift: ");
	n = str_add(line, sizeof(line), n, why);
	n = str_add(line, sizeof(line), n, "\n");
	sys_call(__NR_write, 2, line, n);
}

/* The host may change its directory later. */
static void keep_path(const char *path)
{
	char *to = process.path;
	size_t n = 0, cap = sizeof(process.path);

	if (path[0] != '/') {
		if (sys_call(__NR_getcwd, to, cap) < 0)
			return;
		n = str_add(to, cap, str_len(to), "/");
	}
	if (n + str_len(path) + 1 > cap)
		return;
	str_add(to, cap, n, path);
	process.region.path = to;
}

static int map_registry(void)
{
	const char *path = config("IPCLIFT_REGISTRY");
	const char *limits = config("IPCLIFT_LIMITS");
	const char *ids = config("IPCLIFT_IDS");
	struct region_options opt = {.idx_bits = IDX_BITS_NORMAL,
		.profile = LIMITS_ROOMY};
	char own[64], why[512];
	int err;

	if (limits && str_equal(limits, "kernel"))
		opt.profile = LIMITS_KERNEL;
	if (ids && str_equal(ids, "extended"))
		opt.idx_bits = IDX_BITS_EXTENDED;
	limits_init(&opt.limits, opt.profile, opt.idx_bits);
	if (!path || !*path) {
		err = region_default_path(own, sizeof(own));
		path = own;
	}
	err = region_map(&process.region, path, &opt, why, sizeof(why));
	if (err)
		complain(why);
	else
		keep_path(path);
	return err;
}

static void init_lock(u64 *ret_mask)
{
	const u64 all = ~0ULL;
	u32 tid = sys_gettid(), seen = 0;

	sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &all, ret_mask, 8);
	while (!__atomic_compare_exchange_n(&process.init_lock, &seen, tid, 0,
		__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		/* A fork in mid-initialisation leaves it locked by a thread
		 * that this process does not have. */
		if (sys_call(__NR_tgkill, sys_getpid(), seen, 0) == -ESRCH)
			__atomic_compare_exchange_n(&process.init_lock, &seen,
				0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		sys_call(__NR_sched_yield);
		seen = 0;
	}
}

static void init_unlock(const u64 *mask)
{
	__atomic_store_n(&process.init_lock, 0, __ATOMIC_RELEASE);
	sys_call(__NR_rt_sigprocmask, SIG_SETMASK, mask, NULL, 8);
}

struct caller *process_caller_slow(int *ret_errno)
{
	struct caller *c = &process_caller;
	u64 mask;
	int err = 0;

	init_lock(&mask);
	if (!process.region.base) {
		err = map_registry();
		if (!err)
			signal_wrap_all();
	}
	if (!err && !process_page.generation) {
		sys_call(__NR_madvise, &process_page, sizeof(process_page),
			MADV_WIPEONFORK);
		process_page.pid = sys_getpid();
		__atomic_store_n(&process_page.generation,
			++process.generations, __ATOMIC_RELEASE);
	}
	if (!err) {
		c->region = process.region;
		c->cred = &process.cred;
		caller_refresh(c);
		c->generation = process_page.generation;
	}
	init_unlock(&mask);
	*ret_errno = -err;
	return err ? NULL : c;
}

int process_active(void)
{
	return process.region.base != NULL;
}

void *process_next(void **cache, const char *name)
{
	void *p = __atomic_load_n(cache, __ATOMIC_ACQUIRE);

	if (likely(p != NULL))
		return p;
	p = dlsym ? dlsym(RTLD_NEXT, name) : NULL;
	__atomic_store_n(cache, p, __ATOMIC_RELEASE);
	return p;
}

/* ---- vfork ---- */

static __thread struct caller before_vfork
	__attribute__((tls_model("initial-exec")));

__attribute__((visibility("hidden"), used)) void process_vfork_before(void)
{
	before_vfork = process_caller;
}

/* In the child (result 0) and, after it is gone, in the parent. */
__attribute__((visibility("hidden"), used)) void process_vfork_after(long ret)
{
	if (ret == 0)
		process_caller.generation = 0;
	else
		process_caller = before_vfork;
}

/*
 * The return address must survive in a register: the child runs on the same
 * stack and overwrites the slot it was in. The kernel keeps %rdx for both.
 */
__asm__(".text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	"vfork:\n"
	"	subq $8, %rsp\n"
	"	call process_vfork_before\n"
	"	addq $8, %rsp\n"
	"	popq %rdx\n"
	"	movl $58, %eax\n"
	"	syscall\n"
	"	pushq %rdx\n"
	"	pushq %rax\n"
	"	subq $8, %rsp\n"
	"	movq %rax, %rdi\n"
	"	call process_vfork_after\n"
	"	addq $8, %rsp\n"
	"	popq %rax\n"
	"	cmpq $-4095, %rax\n"
	"	jb 1f\n"
	"	movq %rax, %rdi\n"
	"	jmp process_return_error\n"
	"1:	ret\n"
	".size vfork, . - vfork\n");

__attribute__((visibility("hidden"), used)) long process_return_error(long ret)
{
	return process_return(ret);
}

/* ---- dlopen ---- */

/*
 * RTLD_DEEPBIND would bind a module's semop past the shim. The call is a tail
 * jump so that libc still sees the host's return address (it resolves the
 * caller's RUNPATH by it).
 */
#define RTLD_DEEPBIND 8

typedef void *(*dlopen_fn)(const char *, int);
EXPORT void *dlopen(const char *file, int mode)
{
	static void *next;
	dlopen_fn real = (dlopen_fn)process_next(&next, "dlopen");

	return real(file, mode & ~RTLD_DEEPBIND);
}

/* ---- credentials ---- */

void process_forget_credentials(void)
{
	cred_forget(&process.cred);
}

#define FORGETS(name, params, args)                                            \
	EXPORT int name params                                                 \
	{                                                                      \
		static void *next;                                             \
		int(*real) params = process_next(&next, #name);                \
		int ret = real ? real args : -1;                               \
                                                                               \
		cred_forget(&process.cred);                                    \
		return ret;                                                    \
	}

FORGETS(setuid, (u32 a), (a))
FORGETS(setgid, (u32 a), (a))
FORGETS(seteuid, (u32 a), (a))
FORGETS(setegid, (u32 a), (a))
FORGETS(setreuid, (u32 a, u32 b), (a, b))
FORGETS(setregid, (u32 a, u32 b), (a, b))
FORGETS(setresuid, (u32 a, u32 b, u32 c), (a, b, c))
FORGETS(setresgid, (u32 a, u32 b, u32 c), (a, b, c))
FORGETS(setfsuid, (u32 a), (a))
FORGETS(setfsgid, (u32 a), (a))
FORGETS(setgroups, (size_t n, const u32 *list), (n, list))
FORGETS(initgroups, (const char *user, u32 group), (user, group))
FORGETS(capset, (void *head, const void *data), (head, data))
