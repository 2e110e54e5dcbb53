// SPDX-License-Identifier: MIT
/*
 * The system calls that are more than one instruction: memory checks and small
 * files.
 */
#include <linux/fcntl.h>
#include <linux/mman.h>
#include "base/sys.h"
#include "base/str.h"

void *sys_mmap(void *addr, size_t len, int prot, int flags, int fd, long off)
{
	return (void *)sys_call(__NR_mmap, addr, len, prot, flags, fd, off);
}

void *sys_mmap_private(size_t len)
{
	return sys_mmap(NULL, len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/*
 * MADV_POPULATE_READ reads the page as we are about to. Before Linux 5.14, and
 * where it says anything but yes: rt_sigprocmask with an invalid `how` copies
 * the new set in before it looks at how: EFAULT tells that the 8 bytes cannot
 * be read, EINVAL that they can. Nothing changes either way. (Not the only
 * probe, for valgrind reports what is not initialised there.)
 */
static int probe_read(const void *p)
{
	if (!sys_call(__NR_madvise, (uintptr_t)p & ~(SYS_PAGE - 1), SYS_PAGE,
		    MADV_POPULATE_READ))
		return 1;
	return sys_call(__NR_rt_sigprocmask, ~0u, p, NULL, 8) != -EFAULT;
}

/* One probe for each page of [p, p+len). */
static int range_ok(const void *p, size_t len, int (*probe)(uintptr_t))
{
	uintptr_t at = (uintptr_t)p, end = at + len;

	if (len == 0)
		return 1;
	if (end < at || end > ARCH_USER_TOP)
		return 0;
	for (; at < end; at = (at & ~(SYS_PAGE - 1)) + SYS_PAGE)
		if (!probe(at))
			return 0;
	return 1;
}

static int probe_read_at(uintptr_t at)
{
	/* The aligned word around `at` lies in the same page. */
	return probe_read((void *)(at & ~7UL));
}

/* Several pages at once: 1 if it could be said that they are good. */
static int pages_good(const void *p, size_t len, int advice)
{
	uintptr_t from = (uintptr_t)p & ~(SYS_PAGE - 1),
		  end = (uintptr_t)p + len;

	return end > (uintptr_t)p && end <= ARCH_USER_TOP &&
	       end - from > SYS_PAGE &&
	       !sys_call(__NR_madvise, from,
		       (end - from + SYS_PAGE - 1) & ~(SYS_PAGE - 1), advice);
}

int sys_readable(const void *p, size_t len)
{
	return pages_good(p, len, MADV_POPULATE_READ) ||
	       range_ok(p, len, probe_read_at);
}

/*
 * FUTEX_WAKE_OP adds 0 to the word at `at` in one atomic step: it faults like
 * a write and changes nothing, even if another thread writes there meanwhile.
 */
static int probe_write_at(uintptr_t at)
{
	const unsigned op_add_0 = 1u << 28 | 0x5a5;
	uint32_t own = 0;

	return sys_call(__NR_futex, &own, 5 /* FUTEX_WAKE_OP */ | 128, 0, 0,
		       at & ~3UL, op_add_0) != -EFAULT;
}

int sys_writable(const void *p, size_t len)
{
	return pages_good(p, len, MADV_POPULATE_WRITE) ||
	       range_ok(p, len, probe_write_at);
}

long sys_read_file(const char *path, char *buf, size_t cap)
{
	long fd = sys_call(__NR_open, path, O_RDONLY | O_CLOEXEC, 0);
	size_t len = 0;
	long n;

	if (fd < 0)
		return fd;
	do
		n = sys_call(__NR_read, fd, buf, cap - 1);
	while (n == -EINTR);
	len = n > 0 ? n : 0;
	buf[len] = 0;
	sys_call(__NR_close, fd);
	return len;
}

/* CLONE_VM | CLONE_SIGHAND | CLONE_VFORK | CLONE_THREAD: without CLONE_FILES */
#define HELPER_FLAGS (0x100 | 0x800 | 0x4000 | 0x10000)
/* So many numbers it frees; a file needs three at once. Arbitrary. */
#define HELPER_CLOSES 8

struct helper {
	void (*fn)(void *);
	void *arg;
};

static void helper_main(void *arg)
{
	const struct helper *h = arg;
	int fd;

	for (fd = 0; fd < HELPER_CLOSES; fd++)
		sys_call(__NR_close, fd);
	h->fn(h->arg);
}

int sys_with_descriptors(void (*fn)(void *), void *arg)
{
	struct helper h = {fn, arg};
	long tid = arch_clone_call(HELPER_FLAGS, helper_main, &h);

	return tid < 0 ? (int)tid : 0;
}

#define PF_EXITING 0x4

/* The line of /proc/.../stat: its numbers from field 3 on. */
static int parse_stat(char *buf, struct sys_process *ret)
{
	unsigned field = 2;
	uint64_t v = 0, flags = 0;
	char *p, *end, state;

	/* The command name may hold anything: start behind the last ')'. */
	for (p = end = buf; *p; p++)
		if (*p == ')')
			end = p;
	if (end == buf || end[1] == 0)
		return 0;
	state = end[2];
	for (p = buf; *p >= '0' && *p <= '9'; p++)
		ret->pid = ret->pid * 10 + (unsigned)(*p - '0');
	for (p = end + 1; *p; p++) {
		if (*p == ' ') {
			field++;
			v = 0;
		} else if (*p >= '0' && *p <= '9') {
			v = v * 10 + (*p - '0');
		}
		if (field == 9)
			flags = v;
		if (field == 20)
			ret->n_threads = v;
		if (field == 22)
			ret->start = v;
		if (field == 28)
			ret->stack = v;
		if (field == 29)
			break;
	}
	ret->stopped = state == 'T';
	ret->traced = state == 't';
	ret->ending = state == 'Z' || state == 'X' || (flags & PF_EXITING);
	return field >= 22;
}

static int read_stat(const char *path, struct sys_process *ret)
{
	char buf[512];

	*ret = (struct sys_process){0};
	return sys_read_file(path, buf, sizeof(buf)) > 0 &&
	       parse_stat(buf, ret);
}

int sys_process_read_self(struct sys_process *ret)
{
	return read_stat("/proc/self/stat", ret);
}

int sys_process_read(uint32_t pid, uint32_t tid, struct sys_process *ret)
{
	char path[48];
	size_t n = str_add(path, sizeof(path), 0, "/proc/");

	n = str_add_u64(path, sizeof(path), n, pid);
	if (tid) {
		n = str_add(path, sizeof(path), n, "/task/");
		n = str_add_u64(path, sizeof(path), n, tid);
	}
	str_add(path, sizeof(path), n, "/stat");
	return read_stat(path, ret);
}

uint64_t sys_start_time(uint32_t pid, int *ret_exiting)
{
	struct sys_process p;

	if (!sys_process_read(pid, 0, &p))
		return 0;
	if (ret_exiting)
		*ret_exiting = p.n_threads <= 1 && p.ending;
	return p.start;
}
