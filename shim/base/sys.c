// SPDX-License-Identifier: MIT
/*
 * The system calls that are more than one instruction: memory checks, small
 * files, clocks, and the few string functions that a library without libc
 * needs.
 */
#include "base/sys.h"
#include "base/atom.h"

extern unsigned long getauxval(unsigned long) __attribute__((weak));

#define O_RDONLY 0
#define O_CLOEXEC 02000000
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define CLOCK_REALTIME_COARSE 5

void *sys_mmap(void *addr, size_t len, int prot, int flags, int fd, long off)
{
	return (void *)sys_call(__NR_mmap, addr, len, prot, flags, fd, off);
}

#define MADV_POPULATE_READ 22

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

int sys_readable(const void *p, size_t len)
{
	return range_ok(p, len, probe_read_at);
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

int sys_writable(void *p, size_t len)
{
	return range_ok(p, len, probe_write_at);
}

long sys_read_file(const char *path, char *buf, size_t cap)
{
	long fd = sys_call(__NR_open, path, O_RDONLY | O_CLOEXEC, 0);
	size_t len = 0;
	long n;

	if (fd < 0)
		return fd;
	while (len < cap - 1) {
		n = sys_call(__NR_read, fd, buf + len, cap - 1 - len);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		len += n;
	}
	buf[len] = 0;
	sys_call(__NR_close, fd);
	return len;
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
	ret->ending = state == 'Z' || state == 'X' || (flags & PF_EXITING);
	return field >= 22;
}

int sys_process_read(uint32_t pid, uint32_t tid, struct sys_process *ret)
{
	char path[48], buf[512];
	size_t n = str_add(path, sizeof(path), 0, "/proc/");

	n = str_add_u64(path, sizeof(path), n, pid);
	if (tid) {
		n = str_add(path, sizeof(path), n, "/task/");
		n = str_add_u64(path, sizeof(path), n, tid);
	}
	str_add(path, sizeof(path), n, "/stat");
	*ret = (struct sys_process){0};
	return sys_read_file(path, buf, sizeof(buf)) > 0 &&
	       parse_stat(buf, ret);
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

/* ---- vDSO ---- */

struct elf_ehdr {
	uint8_t ident[16];
	uint16_t type, machine;
	uint32_t version;
	uint64_t entry, phoff, shoff;
	uint32_t flags;
	uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};
struct elf_phdr {
	uint32_t type, flags;
	uint64_t offset, vaddr, paddr, filesz, memsz, align;
};
struct elf_dyn {
	int64_t tag;
	uint64_t val;
};
struct elf_sym {
	uint32_t name;
	uint8_t info, other;
	uint16_t shndx;
	uint64_t value, size;
};

typedef int (*clock_fn)(int, struct sys_timespec *);
typedef int (*getcpu_fn)(unsigned *, unsigned *, void *);

static clock_fn vdso_clock;
static getcpu_fn vdso_getcpu;
static int vdso_looked;
/*
 * Where the kernel keeps the second of CLOCK_REALTIME for the vDSO to read, or
 * NULL. The clock call costs 4 ns, a load of this word well below one. The
 * layout of that page is the kernel's own affair, so the word is found by its
 * value and asked against the clock again and again (SECOND_CHECKS); the first
 * difference ends its use.
 */
static const volatile int64_t *second_word;
/* For those who read it: AddressSanitizer knows nothing of those pages. */
#define READS_VVAR __attribute__((no_sanitize("address")))
#define SECOND_CHECKS 4096
#define VVAR_PAGES 24

static int clock_by_syscall(int clock, struct sys_timespec *ts)
{
	return sys_call(__NR_clock_gettime, clock, ts);
}

static int getcpu_by_syscall(unsigned *cpu, unsigned *node, void *unused)
{
	(void)unused;
	return sys_call(__NR_getcpu, cpu, node, 0);
}

static uint32_t gnu_hash_symbols(const uint32_t *h)
{
	const uint32_t n_buckets = h[0], first = h[1];
	const uint32_t *buckets = h + 4 + h[2] * 2;
	const uint32_t *chain = buckets + n_buckets;
	uint32_t n = 0, i, x;

	for (i = 0; i < n_buckets; i++) {
		x = buckets[i];
		if (x < first)
			continue;
		while (!(chain[x - first] & 1))
			x++;
		if (x + 1 > n)
			n = x + 1;
	}
	return n;
}

/* The data pages lie before the code; some of them cannot be read. */
READS_VVAR static void second_look(uintptr_t code)
{
	struct sys_timespec before, after;
	const volatile int64_t *p;
	uintptr_t page;
	int i, k;

	vdso_clock(CLOCK_REALTIME_COARSE, &before);
	for (i = VVAR_PAGES; i > 0; i--) {
		page = (code & ~(SYS_PAGE - 1)) - i * SYS_PAGE;
		if (!sys_readable((void *)page, 8))
			continue;
		p = (const volatile int64_t *)page;
		for (k = 0; k < 512; k++) {
			if (p[k] != before.sec)
				continue;
			vdso_clock(CLOCK_REALTIME_COARSE, &after);
			if (after.sec == before.sec)
				second_word = &p[k];
			return;
		}
	}
}

/*
 * Only getauxval is asked for the address: under valgrind it answers 0, while
 * /proc/self/auxv still names a page that is no longer mapped
 * (doc/measurements.md §1).
 */
static void vdso_look(void)
{
	uintptr_t base = getauxval ? getauxval(33 /* AT_SYSINFO_EHDR */) : 0;
	const struct elf_ehdr *eh = (void *)base;
	const struct elf_phdr *ph;
	const struct elf_dyn *dyn = NULL;
	const struct elf_sym *sym = NULL;
	const uint32_t *hash = NULL, *gnu = NULL;
	const char *str = NULL;
	uintptr_t load = 0;
	clock_fn clock = clock_by_syscall;
	getcpu_fn getcpu = getcpu_by_syscall;
	uint32_t i, n;

	if (!base)
		goto out;
	ph = (void *)(base + eh->phoff);
	for (i = 0; i < eh->phnum; i++) {
		if (ph[i].type == 1 && !load)
			load = base + ph[i].offset - ph[i].vaddr;
		if (ph[i].type == 2)
			dyn = (void *)(base + ph[i].offset);
	}
	for (; dyn && dyn->tag; dyn++) {
		if (dyn->tag == 4)
			hash = (void *)(load + dyn->val);
		if (dyn->tag == 5)
			str = (void *)(load + dyn->val);
		if (dyn->tag == 6)
			sym = (void *)(load + dyn->val);
		if (dyn->tag == 0x6ffffef5)
			gnu = (void *)(load + dyn->val);
	}
	if (!str || !sym)
		goto out;
	n = hash ? hash[1] : gnu ? gnu_hash_symbols(gnu) : 0;
	for (i = 0; i < n; i++) {
		if (!sym[i].shndx)
			continue;
		if (str_equal(str + sym[i].name, "__vdso_clock_gettime"))
			clock = (clock_fn)(load + sym[i].value);
		if (str_equal(str + sym[i].name, "__vdso_getcpu"))
			getcpu = (getcpu_fn)(load + sym[i].value);
	}
out:
	vdso_clock = clock;
	vdso_getcpu = getcpu;
	if (base && clock != clock_by_syscall)
		second_look(base);
	__atomic_store_n(&vdso_looked, 1, __ATOMIC_RELEASE);
}

static inline void vdso_ready(void)
{
	if (unlikely(!__atomic_load_n(&vdso_looked, __ATOMIC_ACQUIRE)))
		vdso_look();
}

READS_VVAR static __attribute__((noinline)) int64_t second_by_clock(void)
{
	struct sys_timespec ts;
	int64_t was;

	vdso_ready();
	was = second_word ? *second_word : 0;
	vdso_clock(CLOCK_REALTIME_COARSE, &ts);
	/* One apart: the second turned between the two. */
	if (second_word && ts.sec != was && ts.sec != was + 1)
		second_word = NULL;
	return ts.sec;
}

static int64_t realtime_ns(int clock)
{
	struct sys_timespec ts;

	vdso_ready();
	vdso_clock(clock, &ts);
	return ts.sec * 1000000000LL + ts.nsec;
}

int64_t sys_realtime_coarse_ns(void)
{
	return realtime_ns(CLOCK_REALTIME_COARSE);
}

int64_t sys_realtime_ns(void)
{
	return realtime_ns(CLOCK_REALTIME);
}

READS_VVAR int64_t sys_realtime_sec(void)
{
	static __thread unsigned calls;
	const volatile int64_t *word = second_word;

	if (unlikely(!word || ++calls % SECOND_CHECKS == 0))
		return second_by_clock();
	return *word;
}

uint64_t sys_monotonic_ns(void)
{
	struct sys_timespec ts;

	vdso_ready();
	vdso_clock(CLOCK_MONOTONIC, &ts);
	return ts.sec * 1000000000ULL + ts.nsec;
}

/* Of glibc 2.35 and later, for its rseq(2) registration of each thread. */
extern const long __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

HOT struct sys_rseq *sys_rseq_of_libc(void)
{
	if (!&__rseq_size || !&__rseq_offset || !__rseq_size)
		return NULL;
	return (struct sys_rseq *)(arch_thread_pointer() + __rseq_offset);
}

HOT unsigned sys_cpu(void)
{
	const struct sys_rseq *area = sys_rseq_of_libc();
	unsigned cpu = 0;

	/* Kept up by the kernel: no call into the vDSO's pages. */
	if (likely(area && (int)area->cpu >= 0))
		return area->cpu;

	vdso_ready();
	vdso_getcpu(&cpu, NULL, NULL);
	return cpu;
}

/* ---- text ---- */

size_t str_len(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

int str_equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

size_t str_add(char *buf, size_t cap, size_t len, const char *s)
{
	while (*s && len + 1 < cap)
		buf[len++] = *s++;
	if (cap)
		buf[len] = 0;
	return len;
}

size_t str_add_u64(char *buf, size_t cap, size_t len, uint64_t v)
{
	char tmp[21];
	int i = 20;

	tmp[i] = 0;
	do
		tmp[--i] = '0' + v % 10;
	while (v /= 10);
	return str_add(buf, cap, len, tmp + i);
}
