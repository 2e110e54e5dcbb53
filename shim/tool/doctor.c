// SPDX-License-Identifier: MIT
/*
 * ipclift doctor: will programs be served here, and this one in particular?
 * Each finding is a line; what is wrong comes with the command that mends it.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "index/keyhash.h"
#include "tool/home.h"
#include "tool/objects.h"
#include "tool/probe.h"
#include "tool/registry.h"
#include "tool/run.h"
#include "tool/table.h"

static int quick;

static const struct option_spec options[] = {
	{"quick", 'q', NULL, &quick, "do not try calls on kernel and shim"},
	{0},
};

static int n_faults, n_warnings;

static void good(const char *what, const char *detail)
{
	printf("%sok%s    %s%s%s\n", colour('g'), colour(0), what,
		detail ? ": " : "", detail ? detail : "");
}

static void say_mend(const char *mend)
{
	if (mend)
		printf("      -> %s\n", mend);
}

/* A fault keeps programs from being served; mend may be NULL. */
static void bad(const char *what, const char *mend)
{
	n_faults++;
	printf("%sFAULT%s %s\n", colour('r'), colour(0), what);
	say_mend(mend);
}

static void warn(const char *what, const char *mend)
{
	n_warnings++;
	printf("%swarn%s  %s\n", colour('y'), colour(0), what);
	say_mend(mend);
}

/* ---- the machine ---- */

static void check_kernel(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%d.%d", &major, &minor);
	if (major > 5 || (major == 5 && minor >= 16))
		good("kernel", u.release);
	else
		warn("the kernel is older than 5.16: the death of a process is "
		     "noticed by looking, not at once",
			NULL);
}

static void check_shm(void)
{
	struct statfs fs;
	char text[80];
	unsigned long long mib;

	if (statfs("/dev/shm", &fs)) {
		bad("there is no /dev/shm", "mount -t tmpfs tmpfs /dev/shm");
		return;
	}
	mib = (unsigned long long)fs.f_bavail *
		      (unsigned long long)fs.f_bsize >>
	      20;
	snprintf(text, sizeof(text), "%llu MiB free", mib);
	if (fs.f_type != 0x01021994)
		warn("/dev/shm is no tmpfs: a registry there will be slow",
			"mount -t tmpfs tmpfs /dev/shm");
	else if (mib < 16)
		warn("/dev/shm is almost full",
			"mount -o remount,size=256M /dev/shm (docker: "
			"--shm-size=256m)");
	else
		good("/dev/shm", text);
}

static void check_limits(void)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_AS, &r) && r.rlim_cur < REGION_SIZE)
		bad("the limit on address space is below 32 GiB",
			"ulimit -v unlimited");
	if (!getrlimit(RLIMIT_FSIZE, &r) && r.rlim_cur < REGION_SIZE)
		bad("the limit on file size is below 32 GiB (the file is "
		    "sparse)",
			"ulimit -f unlimited");
}

/* logind removes the files of users who have logged out. */
static void check_logind(void)
{
	int on = !access("/run/systemd/seats", F_OK);
	char line[256];
	FILE *f = fopen("/etc/systemd/logind.conf", "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "RemoveIPC=no", 12))
			on = 0;
	if (f)
		fclose(f);
	if (on && geteuid() >= 1000)
		warn("systemd-logind removes your files in /dev/shm when you "
		     "log out",
			"loginctl enable-linger, or RemoveIPC=no in "
			"/etc/systemd/logind.conf");
}

/* ---- the shim ---- */

static const char *check_shim(void)
{
	const char *shim = run_find_shim();
	const char *preload = getenv("LD_PRELOAD");
	char text[16];

	if (!shim) {
		bad("libipclift.so is neither beside this program nor "
		    "installed",
			"meson install -C build");
		return NULL;
	}
	if (strpbrk(shim, ": ")) {
		bad("the library's path has a ' ' or ':', which LD_PRELOAD "
		    "cannot hold",
			"meson install -C build, or rename the directory");
		return NULL;
	}
	if (probe_run(shim, PROBE_LOADED, NULL, text, sizeof(text))) {
		bad("the loader does not preload the library",
			"is it for this machine, and readable? "
			"ldd libipclift.so");
		return NULL;
	}
	good("library", shim);
	if (preload && strstr(preload, "libipclift.so") &&
		!strstr(preload, shim))
		warn("LD_PRELOAD names another libipclift.so than this one",
			"unset LD_PRELOAD; ipclift run sets it");
	return shim;
}

/* ---- the same calls on both ---- */

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
		printf("      kernel  %s\n      shim    %s\n", a, b);
	}
	if (a || *shim) {
		bad("the shim did not come to the end of the calls", NULL);
	} else if (differ) {
		snprintf(text, sizeof(text),
			"%d of %d calls do on the shim what they do not do on "
			"the kernel",
			differ, n);
		bad(text, "see the lines above; please report them");
	} else {
		snprintf(text, sizeof(text),
			"%d calls do the same on kernel and shim", n);
		good(text, NULL);
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
			good(work[i].name, text);
		else
			warn("the shim is not faster here", NULL);
	}
}

static void check_calls(const char *shim)
{
	static char kernel[16384], own[16384];

	if (probe_run(NULL, PROBE_PARITY, NULL, kernel, sizeof(kernel))) {
		warn("calls cannot be tried on this kernel", NULL);
		return;
	}
	if (probe_run(shim, PROBE_PARITY, NULL, own, sizeof(own))) {
		bad("a program under the shim does not come to its end",
			"IPCLIFT_LOG=stderr ipclift run -- ipcs");
		return;
	}
	compare(kernel, own);
	compare_speed(shim);
}

/* ---- the registry ---- */

/* NULL if there is none that can be used. */
static struct caller *check_registry(const char *path)
{
	static struct caller *c;
	struct region region = {0};
	const struct region_options existing = {.must_exist = 1};
	char why[512];
	int err = region_map(&region, path, &existing, why, sizeof(why));

	if (!err) {
		good("registry", path);
		c = registry_open_path(path, NULL);
	} else if (err == -ENOENT) {
		good("registry, to be made on first use", path);
	} else {
		bad(why, err == -ESTALE || err == -EPROTO || err == -EINVAL
				 ? "remove the file, or use another: "
				   "IPCLIFT_REGISTRY or --registry"
				 : "use another: IPCLIFT_REGISTRY or "
				   "--registry");
	}
	return c;
}

/* Programs that are not served may be at work on the same keys. */
static void check_kernel_objects(struct caller *c)
{
	char path[40], line[512], text[160];
	unsigned n = 0, same = 0;
	enum facility f;
	u64 ident;

	for (f = FAC_SEM; f <= FAC_SHM; f++) {
		FILE *file;
		int key;

		snprintf(path, sizeof(path), "/proc/sysvipc/%s",
			facility_names[f]);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file)) {
			if (sscanf(line, "%d", &key) != 1 || !key)
				continue;
			n++;
			same += c && keyhash_find(c, f, key, &ident) != NULL;
		}
		if (file)
			fclose(file);
	}
	if (same) {
		snprintf(text, sizeof(text),
			"%u keys stand for an object of the kernel and for one "
			"of the registry",
			same);
		warn(text, "ipcs shows the kernel's; start all users of a key "
			   "alike, remove the rest by ipcrm");
	} else if (n) {
		snprintf(text, sizeof(text),
			"the kernel holds %u objects with keys: their programs "
			"are not served",
			n);
		warn(text, "ipcs shows them; start all users of a key alike");
	}
}

/* ---- a program ---- */

static int find_program(const char *name, char *ret, size_t cap)
{
	const char *path = getenv("PATH"), *end;

	if (strchr(name, '/')) {
		snprintf(ret, cap, "%s", name);
		return access(ret, F_OK);
	}
	for (path = path ? path : "/usr/bin:/bin"; *path;
		path = end + (*end == ':')) {
		end = strchrnul(path, ':');
		snprintf(ret, cap, "%.*s/%s", (int)(end - path), path, name);
		if (!access(ret, X_OK))
			return 0;
	}
	return -1;
}

/* 1: has an interpreter, 0: static, -1: no ELF file of this machine. */
static int elf_dynamic(int fd)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	int i;

	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) ||
		memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
		eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_machine != EM_X86_64)
		return -1;
	for (i = 0; i < eh.e_phnum; i++)
		if (pread(fd, &ph, sizeof(ph),
			    (off_t)(eh.e_phoff + (size_t)i * sizeof(ph))) ==
				sizeof(ph) &&
			ph.p_type == PT_INTERP)
			return 1;
	return 0;
}

static void check_program(const char *name)
{
	char path[4096], head[4] = "";
	struct stat st;
	int fd;

	if (find_program(name, path, sizeof(path))) {
		bad("there is no such program", NULL);
		return;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		warn("the program cannot be read, so it cannot be looked at",
			NULL);
		if (fd >= 0)
			close(fd);
		return;
	}
	if (pread(fd, head, 2, 0) == 2 && !memcmp(head, "#!", 2))
		good("a script: look at its interpreter", path);
	else if (elf_dynamic(fd) < 0)
		bad("the program is no 64-bit x86 program", NULL);
	else if (!elf_dynamic(fd))
		bad("the program is static: nothing can be preloaded",
			"link it dynamically");
	else if ((st.st_mode & S_ISUID && st.st_uid != getuid()) ||
		 (st.st_mode & S_ISGID && st.st_gid != getgid()))
		bad("the program is set-user-ID: the loader ignores LD_PRELOAD",
			NULL);
	else
		good("program", path);
	close(fd);
}

static int verdict(void)
{
	if (n_faults)
		printf("\n%sVerdict%s: not served until the %d fault%s "
		       "mended.\n",
			colour('b'), colour(0), n_faults,
			n_faults > 1 ? "s are" : " is");
	else
		printf("\n%sVerdict%s: programs are served here%s.\n",
			colour('b'), colour(0),
			n_warnings ? "; mind the warnings" : "");
	return n_faults ? EXIT_FAILED : EXIT_OK;
}

static int doctor_main(int argc, char **argv)
{
	const char *path, *shim;
	struct caller *c;

	if (argc > 1)
		return usage_error("one program at a time");
	path = registry_path();
	if (!path)
		return EXIT_USAGE;
	check_kernel();
	check_shm();
	check_limits();
	check_logind();
	shim = check_shim();
	c = check_registry(path);
	check_kernel_objects(c);
	if (argc)
		check_program(argv[0]);
	if (shim && !quick)
		check_calls(shim);
	return verdict();
}

const struct command doctor_command = {
	.name = "doctor",
	.summary = "find out why a program is not served",
	.usage = "[OPTIONS] [PROGRAM]",
	.about = "Look at what programs need to be served: kernel, /dev/shm, "
		 "limits, library,\n"
		 "registry, keys that the kernel has too; and whether PROGRAM "
		 "can be. Then try\n"
		 "the same calls on kernel and shim, and their speed. Each "
		 "fault comes with the\n"
		 "command that mends it. Exit status 1 if there is one.",
	.options = options,
	.is = COMMAND_ON_REGISTRY,
	.main = doctor_main,
};
