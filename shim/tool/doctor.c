// SPDX-License-Identifier: MIT
/*
 * ipclift doctor: will programs be served here, and this one in particular?
 * Each finding is a line; a fault is followed by the command that repairs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "index/keyhash.h"
#include "tool/finding.h"
#include "tool/home.h"
#include "tool/view/objects.h"
#include "tool/probe.h"
#include "tool/registry.h"
#include "tool/run.h"

static int quick, as_json;

static const struct option_spec options[] = {
	{"quick", 'q', NULL, &quick, "do not try calls on kernel and shim"},
	{"json", 0, NULL, &as_json, "as a JSON object"},
	{0},
};

/* ---- the machine ---- */

static void check_kernel(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%d.%d", &major, &minor);
	if (major > 5 || (major == 5 && minor >= 16))
		finding_good("kernel", u.release);
	else
		finding_warning(NULL,
			"the kernel is older than 5.16: the death of a process "
			"is noticed by polling,\n"
			"      not at once");
}

/* ---- system calls that a filter may refuse ---- */

/* The result of a call here: 0, its errno, or that the caller is killed for
 * it. */
#define ASK_KILLED (-1)

/* In a child, so that a filter that kills does not kill us. */
static int ask(int (*call)(void))
{
	const struct rlimit no_core = {0, 0};
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		setrlimit(RLIMIT_CORE, &no_core);
		_exit(call());
	}
	if (pid < 0)
		return errno;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : ASK_KILLED;
}

/* Only a query: it shows whether a filter of system calls permits the call. */
static int ask_barrier(void)
{
	return syscall(SYS_membarrier, 0 /* QUERY */, 0, 0) < 0 ? errno : 0;
}

/* Registers this thread's own list again: glibc has registered it before. */
static int ask_robust(void)
{
	void *head = NULL;
	size_t len = 0;

	if (syscall(SYS_get_robust_list, 0, &head, &len))
		return errno;
	return head && syscall(SYS_set_robust_list, head, len) ? errno : 0;
}

/* Without words to wait for the call itself fails with EINVAL. */
static int ask_waitv(void)
{
	syscall(449 /* futex_waitv */, NULL, 0, 0, NULL, 0);
	return errno == EINVAL ? 0 : errno;
}

/* With an area of that size the call itself fails with EINVAL. */
static int ask_rseq(void)
{
	syscall(334 /* rseq */, NULL, 0, 0, 0);
	return errno == EINVAL ? 0 : errno;
}

/* A second mapping of the registry without a descriptor. */
static int ask_mremap(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *shared =
		mmap(NULL, page, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return 0;
	return mremap(shared, 0, page, MREMAP_MAYMOVE) == MAP_FAILED ? errno
								     : 0;
}

/* What tells a fork child from its parent. */
static int ask_wipe(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *own =
		mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (own == MAP_FAILED)
		return 0;
	return madvise(own, page, 18 /* MADV_WIPEONFORK */) ? errno : 0;
}

/* Without a `cost` a call is indispensable. */
static const struct asked {
	const char *name, *call, *is;
	int (*ask)(void);
	const char *cost;   /* if it is refused; NULL: no program is served */
	const char *killed; /* when, if the caller is killed for it */
} asked[] = {
	{"membarrier", "membarrier(2)", "is", ask_barrier,
		"objects that one thread uses alone\n"
		"      take a third longer, and once a program was refused it, "
		"its registry\n"
		"      no longer biases locks",
		"at its first call"},
	{"robust lists", "robust lists", "are", ask_robust,
		"the death of a process is noticed by\n"
		"      polling, so SEM_UNDO, nattch and locks of exited tasks "
		"are released up to a\n"
		"      second late, and a process killed while it wakes others "
		"may leave one asleep\n"
		"      that long",
		"at its start"},
	{"futex_waitv", "futex_waitv(2)", "is", ask_waitv,
		"sleepers learn of the death of a\n"
		"      process by polling, not at once",
		"when it sleeps for what another process holds"},
	{"rseq", "rseq(2)", "is", ask_rseq,
		"a sleeper that is stopped and continued may\n"
		"      sleep on where the kernel returns EINTR",
		"at its start, or when it sleeps"},
	{"mremap", "mremap(2) of length 0", "is", ask_mremap, NULL,
		"at its first call"},
	{"madvise", "madvise(MADV_WIPEONFORK)", "is", ask_wipe, NULL,
		"at its first call"},
};

/* 1 if mapping a registry would be killed: then doctor must not do it. */
static int check_asked(const struct asked *a)
{
	int err = ask(a->ask);

	if (err == ASK_KILLED)
		finding_fault(NULL,
			"a filter of system calls kills for %s:\n"
			"      a program dies %s",
			a->call, a->killed);
	else if (!err)
		finding_good(a->name, "allowed");
	else if (a->cost)
		finding_warning(NULL, "%s %s refused here (%s): %s", a->call,
			a->is, strerror(err), a->cost);
	else
		finding_fault(NULL,
			"%s %s refused here (%s): programs are not served",
			a->call, a->is, strerror(err));
	return err == ASK_KILLED;
}

static void check_clock(void)
{
	if (getauxval(AT_SYSINFO_EHDR))
		finding_good("vDSO", "there");
	else
		finding_warning(NULL, "there is no vDSO: each reading of a "
				      "clock is a system call");
}

static void check_proc(void)
{
	if (!access("/proc/self/stat", R_OK))
		finding_good("/proc", "mounted");
	else
		finding_warning("mount -t proc proc /proc",
			"/proc is not mounted: a killed process counts as dead "
			"only once its parent has\n"
			"      waited for it, and new IPC namespaces share the "
			"registry");
}

static void check_noexec(void)
{
	struct statvfs fs;

	if (!statvfs("/dev/shm", &fs) && (fs.f_flag & ST_NOEXEC))
		finding_warning("mount -o remount,exec /dev/shm",
			"/dev/shm is noexec: shmat with SHM_EXEC is refused");
}

#define MIB (1ULL << 20)
/* What doctor wants to be free there, and what it adds. Arbitrary. */
#define SHM_LOW (16 * MIB)
#define SHM_MORE 256

static void check_shm(void)
{
	static const char mount[] =
		"mkdir -p /dev/shm && mount -t tmpfs tmpfs /dev/shm";
	unsigned long long free, total;
	struct statfs fs;
	char text[80];

	if (statfs("/dev/shm", &fs)) {
		finding_fault(mount, "there is no /dev/shm");
		return;
	}
	/* For root, too. */
	if (access("/dev/shm", W_OK) && errno == EROFS) {
		finding_fault("mount -o remount,rw /dev/shm", "/dev/shm: %s",
			strerror(errno));
		return;
	}
	free = (unsigned long long)fs.f_bavail * (unsigned long long)fs.f_bsize;
	total = (unsigned long long)fs.f_blocks *
		(unsigned long long)fs.f_bsize;
	if (fs.f_type != 0x01021994) {
		finding_warning(mount,
			"/dev/shm is no tmpfs: a registry there will be slow");
	} else if (total && free < SHM_LOW) {
		snprintf(text, sizeof(text),
			"mount -o remount,size=%lluM /dev/shm",
			(total + MIB - 1) / MIB + SHM_MORE);
		(free < MIB ? finding_fault : finding_warning)(text,
			"/dev/shm is %s full: %llu KiB free (docker: "
			"--shm-size)",
			free < MIB ? "as good as" : "almost", free >> 10);
	} else {
		snprintf(text, sizeof(text), "%llu MiB free", free / MIB);
		finding_good("/dev/shm", total ? text : "no limit");
	}
}

/* The soft limit can be raised to the hard one; raising that takes root.
 * letter: as in bash, which counts in KiB. name: as in prlimit(1). */
static void check_limit(
	int resource, const char *what, char letter, const char *name)
{
	struct rlimit r;
	char mend[80];

	if (getrlimit(resource, &r) || r.rlim_cur > REGION_SIZE)
		return;
	if (r.rlim_max == RLIM_INFINITY)
		snprintf(mend, sizeof(mend), "ulimit -S%c unlimited", letter);
	else if (r.rlim_max > REGION_SIZE)
		snprintf(mend, sizeof(mend), "ulimit -S%c %llu", letter,
			(unsigned long long)r.rlim_max >> 10);
	else
		snprintf(mend, sizeof(mend),
			"%sprlimit --pid $$ --%s=unlimited",
			geteuid() ? "sudo " : "", name);
	finding_fault(mend, "the limit on %s is not above 32 GiB", what);
}

/* The registry is a file mapping, which core files do not contain by default;
 * the kernel's own System V segments they do. */
static void check_core(void)
{
	FILE *f = fopen("/proc/self/coredump_filter", "re");
	unsigned filter = ~0u;
	struct rlimit r;

	if (f && fscanf(f, "%x", &filter) != 1)
		filter = ~0u;
	if (f)
		fclose(f);
	if (!(filter & 8) && !getrlimit(RLIMIT_CORE, &r) && r.rlim_cur)
		finding_warning("echo 0x3b >/proc/self/coredump_filter",
			"core files will have no attached segments: set bit 3 "
			"of the filter in the\n      shell that starts the "
			"programs");
}

/* 1 if this configuration file tells logind to keep our files. */
static int says_keep(const char *path)
{
	char line[256];
	FILE *f = fopen(path, "re");
	int keep = 0;

	while (f && fgets(line, sizeof(line), f)) {
		char *at = line + strspn(line, " \t");

		if (strncmp(at, "RemoveIPC", 9) != 0)
			continue;
		at += 9 + strspn(at + 9, " \t=");
		at[strcspn(at, " \t\r\n")] = 0;
		keep = !strcasecmp(at, "no") || !strcasecmp(at, "false") ||
		       !strcasecmp(at, "off") || !strcmp(at, "0");
	}
	if (f)
		fclose(f);
	return keep;
}

static int logind_keeps(void)
{
	static const char *const files[] = {"/etc/systemd/logind.conf",
		"/etc/systemd/logind.conf.d/*.conf",
		"/run/systemd/logind.conf.d/*.conf",
		"/usr/lib/systemd/logind.conf.d/*.conf"};
	glob_t found = {0};
	int keep = 0;
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		glob(files[i], i ? GLOB_APPEND : 0, NULL, &found);
	for (i = 0; i < found.gl_pathc; i++)
		keep |= says_keep(found.gl_pathv[i]);
	globfree(&found);
	return keep;
}

/* logind removes the files of users who have logged out, unless they linger; it
 * keeps those of system users, below 1000. */
static void check_logind(void)
{
	const struct passwd *user = getpwuid(geteuid());
	char path[300];

	if (geteuid() < 1000 || access("/run/systemd/seats", F_OK) ||
		logind_keeps())
		return;
	snprintf(path, sizeof(path), "/var/lib/systemd/linger/%.255s",
		user ? user->pw_name : "");
	if (!user || access(path, F_OK))
		finding_warning("loginctl enable-linger",
			"systemd-logind removes your files in /dev/shm when "
			"you log out,\n      unless you linger, or "
			"logind.conf(5) says RemoveIPC=no");
}

/* ---- the shim ---- */

static const char *check_shim(void)
{
	const char *shim = run_find_shim();
	const char *preload = getenv("LD_PRELOAD");
	char text[PATH_MAX + 80];

	if (!shim) {
		finding_fault("meson install -C build # in the source tree",
			"libipclift.so is neither beside this program nor "
			"installed");
		return NULL;
	}
	if (strpbrk(shim, ": ")) {
		finding_fault("meson install -C build # in the source tree",
			"the library's path has a ' ' or ':', which LD_PRELOAD "
			"cannot hold: use the\n      installed one, or rename "
			"the directory");
		return NULL;
	}
	if (probe_run(shim, PROBE_LOADED, NULL, text, sizeof(text))) {
		/* With it, glibc lays out static TLS before it loads the
		 * library. */
		if (getenv("LD_AUDIT")) {
			finding_fault("export GLIBC_TUNABLES="
				      "glibc.rtld.optional_static_tls=4096",
				"with LD_AUDIT the loader has too little "
				"static TLS left for the library,\n      and "
				"starts no program");
			return NULL;
		}
		snprintf(text, sizeof(text),
			"rm %s && meson install -C build # in the source tree",
			shim);
		finding_fault(text,
			"the loader does not preload the library; ldd %s may "
			"tell why",
			shim);
		return NULL;
	}
	finding_good("library", shim);
	if (preload && strstr(preload, "libipclift.so") &&
		!strstr(preload, shim))
		finding_warning("unset LD_PRELOAD # ipclift run sets it",
			"LD_PRELOAD names another libipclift.so than this one");
	return shim;
}

/* ---- the same calls on the kernel and under the shim ---- */

static char *next_line(char **text)
{
	char *line = *text;

	if (!*line)
		return NULL;
	*text = strchrnul(line, '\n');
	if (**text)
		*(*text)++ = 0;
	return line;
}

static void compare(char *kernel, char *shim)
{
	char *a, *b, text[200];
	int n = 0, differ = 0;

	while ((a = next_line(&kernel)) && (b = next_line(&shim))) {
		n++;
		if (!strcmp(a, b))
			continue;
		differ++;
		finding_differs(a, b);
	}
	if (a || *shim) {
		finding_fault(
			NULL, "under the shim the calls were not completed");
	} else if (differ) {
		finding_fault(NULL,
			"%d of %d calls differ between kernel and shim;\n"
			"      please report the lines above",
			differ, n);
	} else {
		snprintf(text, sizeof(text),
			"%d calls have the same results on kernel and shim", n);
		finding_good(text, NULL);
	}
}

static double speed(const char *shim, const char *what)
{
	char text[64];
	double ns = 0;

	if (probe_run(shim, what, "0", text, sizeof(text)) ||
		sscanf(text, "ns %lf", &ns) != 1)
		return 0;
	return ns;
}

static void compare_speed(const char *shim)
{
	static const struct {
		const char *probe, *name;
	} work[] = {{PROBE_SEMOP, "a semop pair"},
		{PROBE_MSG, "a msgsnd, msgrcv pair"},
		{PROBE_MQ, "a mq_send, mq_receive pair"}};
	char text[120];
	size_t i;

	for (i = 0; i < 3; i++) {
		double kernel = speed(NULL, work[i].probe);
		double own = speed(shim, work[i].probe);

		if (kernel == 0 || own == 0)
			continue;
		snprintf(text, sizeof(text), "%.0f ns, in the kernel %.0f ns",
			own, kernel);
		if (own < kernel)
			finding_good(work[i].name, text);
		else
			finding_warning(NULL,
				"the shim is not faster here: %s takes %s",
				work[i].name, text);
	}
}

static void check_calls(const char *shim)
{
	static char kernel[16384], own[16384];

	if (probe_run(NULL, PROBE_PARITY, NULL, kernel, sizeof(kernel))) {
		finding_warning(NULL, "calls cannot be tried on this kernel");
		return;
	}
	if (probe_run(shim, PROBE_PARITY, NULL, own, sizeof(own))) {
		finding_fault(NULL,
			"a program under the shim does not finish;\n"
			"      IPCLIFT_LOG=stderr ipclift run --private -- "
			"ipcmk -S 1 may tell why");
		return;
	}
	compare(kernel, own);
	compare_speed(shim);
}

/* ---- the registry ---- */

/* A file that programs will create, or an empty one that they will initialise:
 * 1 if they can. */
static int can_be_made(const char *path)
{
	char dir[PATH_MAX], mend[PATH_MAX + 16], *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = 0;
	else
		strcpy(dir, ".");
	snprintf(mend, sizeof(mend), "mkdir -p %s", dir);
	if (access(dir, F_OK))
		finding_fault(mend, "%s: its directory does not exist", path);
	else if (access(dir, W_OK | X_OK))
		finding_fault("export IPCLIFT_REGISTRY=/dev/shm/mine",
			"%s: you may not create files there; choose another",
			path);
	else
		return 1;
	return 0;
}

/* The user's own directory, which the shim makes, but does not trust if another
 * user owns it. */
static int home_is_good(void)
{
	char path[HOME_PATH_MAX], mend[HOME_PATH_MAX + 16];
	int fd = home_open(0, path);

	if (fd >= 0)
		close(fd);
	if (fd >= 0 || fd == -ENOENT)
		return 1;
	snprintf(mend, sizeof(mend), "sudo rm -r %s", path);
	finding_fault(
		mend, "%s is not a directory that only you can write", path);
	return 0;
}

static void tell_refused(int err, const char *path, const char *why)
{
	char mend[PATH_MAX + 64];

	if (err == -ESTALE || err == -EPROTO || err == -EINVAL)
		snprintf(mend, sizeof(mend), "rm %s", path);
	else if (err == -ENOMEM)
		snprintf(mend, sizeof(mend), "ulimit -Sv unlimited");
	else
		snprintf(mend, sizeof(mend),
			"export IPCLIFT_REGISTRY=/dev/shm/mine");
	finding_fault(mend, "%s%s", why,
		err == -EACCES ? "; its owner may\n"
				 "      make one for others (ipclift create), "
				 "or choose another"
			       : "");
}

/* In a tmpfs, and in a file system that writes in place, an allocated page
 * stays allocated. A copy-on-write file system needs space for it again. */
static void check_file_system(const char *path)
{
	static const struct {
		unsigned long type;
		const char *name;
	} elsewhere[] = {{0x9123683e, "btrfs"}, {0x2fc12fc1, "zfs"},
		{0xca451a4e, "bcachefs"}, {0xf2f52010, "f2fs"}};
	char buf[PATH_MAX];
	struct statfs fs;
	size_t i;

	snprintf(buf, sizeof(buf), "%s", path);
	if (statfs(path, &fs) && statfs(dirname(buf), &fs))
		return;
	for (i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		if ((unsigned long)fs.f_type == elsewhere[i].type)
			finding_warning("export IPCLIFT_REGISTRY=/dev/shm/mine",
				"%s is in a %s: when that is full, or at a "
				"quota, its programs "
				"may\n      get SIGBUS, not ENOMEM; better in "
				"a tmpfs",
				path, elsewhere[i].name);
}

/* NULL if no registry can be used. */
static struct caller *check_registry(const char *path)
{
	static const char to_be[] = "registry, to be made at the first use";
	struct region region = {0};
	char why[512];
	int err;

	check_file_system(path);
	err = registry_map(&region, path, why, sizeof(why));
	if (!err) {
		finding_good("registry", path);
		munmap(region.base, REGION_SIZE);
		return registry_open_read_only(&err);
	}
	if (err != -ENOENT && err != -ENODATA)
		tell_refused(err, path, why);
	else if (err == -ENODATA || registry_is_home() || can_be_made(path))
		finding_good(to_be, path);
	return NULL;
}

/* Count the kernel's keys of one kind. same: those that the registry has, too;
 * the command that removes these from the kernel is added to mend. */
static void count_keys(struct caller *c, enum facility f, unsigned *n,
	unsigned *same, char *mend, size_t cap)
{
	char path[40], line[512];
	size_t len;
	FILE *file;
	u64 ident;
	int fd, key;

	snprintf(path, sizeof(path), "/proc/sysvipc/%s", facility_names[f]);
	/* Under the shim, fopen would open the registry's. */
	fd = (int)sys_call(__NR_open, path, O_RDONLY | O_CLOEXEC);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%d", &key) != 1 || !key)
			continue;
		++*n;
		if (!c || !keyhash_find(c, f, key, &ident))
			continue;
		++*same;
		len = strlen(mend);
		/* As many as fit; the next run finds the rest. */
		if (len + 16 < cap)
			snprintf(mend + len, cap - len, " -%c 0x%x",
				"SQM"[f - FAC_SEM], (unsigned)key);
	}
	if (file)
		fclose(file);
}

/* Programs that are not served may use the same keys. */
static void check_kernel_objects(struct caller *c)
{
	char mend[240] = "ipcrm";
	unsigned n = 0, same = 0;
	enum facility f;

	for (f = FAC_SEM; f <= FAC_SHM; f++)
		count_keys(c, f, &n, &same, mend, sizeof(mend));
	if (same)
		finding_warning(mend,
			"%u keys stand for an object of the kernel and for one "
			"of the registry:\n"
			"      start all users of a key alike; if the kernel's "
			"are not needed, remove them by",
			same);
	else if (n)
		finding_warning(NULL,
			"the kernel holds %u objects with keys (ipcs): their "
			"programs are not served;\n"
			"      start all users of a key alike",
			n);
}

static int doctor_main(int argc, char **argv)
{
	const char *path, *shim;
	struct caller *c;
	int sound, killed = 0;
	size_t i;

	if (argc > 1)
		return usage_error("one program at a time");
	path = registry_path();
	if (!path)
		return EXIT_USAGE;
	if (as_json)
		finding_as_json();
	check_kernel();
	for (i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		killed |= check_asked(&asked[i]);
	check_clock();
	check_proc();
	check_shm();
	check_noexec();
	check_limit(RLIMIT_AS, "address space", 'v', "as");
	check_limit(
		RLIMIT_FSIZE, "file size (the file is sparse)", 'f', "fsize");
	check_core();
	check_logind();
	shim = check_shim();
	/* It must not be mapped if that kills. */
	c = !killed && (!registry_is_home() || home_is_good())
		    ? check_registry(path)
		    : NULL;
	check_kernel_objects(c);
	sound = !finding_faults();
	if (argc)
		program_check(argv[0]);
	/* They would only find the same faults. */
	if (shim && sound && !quick)
		check_calls(shim);
	return finding_verdict();
}

const struct command doctor_command = {
	.name = "doctor",
	.summary = "find out why a program is not served",
	.usage = "[OPTIONS] [PROGRAM]",
	.about = "Check what programs need to be served: kernel, /dev/shm, "
		 "limits, library,\n"
		 "registry, keys that the kernel has, too; and whether PROGRAM "
		 "can be. Then try\n"
		 "the same calls on kernel and shim, and compare their speed. "
		 "Each fault comes\n"
		 "with the command that repairs it. Exit status 1 if there is "
		 "one.",
	.options = options,
	.is = COMMAND_ON_REGISTRY,
	.main = doctor_main,
};
