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
#include <sys/wait.h>
#include <unistd.h>

#include "tool/care.h"
#include "tool/home.h"
#include "tool/registry.h"
#include "tool/run.h"

static int n_faults, n_warnings;

static void good(const char *what, const char *detail)
{
	printf("ok    %s%s%s\n", what, detail ? ": " : "",
		detail ? detail : "");
}

/* A fault keeps programs from being served; mend may be NULL. */
static void bad(const char *what, const char *mend)
{
	n_faults++;
	printf("FAULT %s\n", what);
	if (mend)
		printf("      -> %s\n", mend);
}

static void warn(const char *what, const char *mend)
{
	n_warnings++;
	printf("warn  %s\n", what);
	if (mend)
		printf("      -> %s\n", mend);
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

/* Run ourselves under the shim: the child sees in its own mappings whether the
 * loader has taken the library. */
static int shim_loaded(void)
{
	char line[1024];
	FILE *f = fopen("/proc/self/maps", "re");
	int found = 0;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "/libipclift.so") != NULL;
	if (f)
		fclose(f);
	return found;
}

static void check_shim(void)
{
	const char *shim = run_find_shim();
	int status = -1;
	pid_t pid;

	if (!shim) {
		bad("libipclift.so is neither beside this program nor "
		    "installed",
			"meson install -C build");
		return;
	}
	pid = fork();
	if (!pid) {
		setenv("LD_PRELOAD", shim, 1);
		execl("/proc/self/exe", "ipclift", "doctor", "--probe", NULL);
		_exit(126);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (status)
		bad("the loader does not preload the library", NULL);
	else
		good("library", shim);
}

/* ---- the registry ---- */

static void check_registry(struct view *v)
{
	struct region region = {0};
	const struct region_options options = {.must_exist = 1};
	char why[512];
	int err = region_map(&region, v->path, &options, why, sizeof(why));

	if (!err)
		good("registry", v->path);
	else if (err == -ENOENT)
		good("registry, to be made on first use", v->path);
	else
		bad(why, "use another: IPCLIFT_REGISTRY or --registry");
}

/* Programs that are not served may be at work on the same keys. */
static void check_kernel_objects(void)
{
	static const char *const files[] = {
		"/proc/sysvipc/sem", "/proc/sysvipc/msg", "/proc/sysvipc/shm"};
	char line[512], text[128];
	unsigned n = 0, i;

	for (i = 0; i < 3; i++) {
		FILE *f = fopen(files[i], "re");
		int key;

		while (f && fgets(line, sizeof(line), f))
			n += sscanf(line, "%d", &key) == 1 && key;
		if (f)
			fclose(f);
	}
	if (!n)
		return;
	snprintf(text, sizeof(text),
		"the kernel holds %u objects with keys: their programs are "
		"not served",
		n);
	warn(text, "ipcs shows them; start all users of a key alike");
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

static int doctor_main(int argc, char **argv)
{
	struct view v;
	int err;

	if (argc == 2 && !strcmp(argv[1], "--probe"))
		return !shim_loaded();
	err = view_options(argc, argv, "", &v);
	if (err)
		return err < 0 ? EXIT_OK : err;
	if (v.argc > 1)
		return usage_error("one program at a time");
	if ((err = view_path(&v)))
		return err;
	check_kernel();
	check_shm();
	check_limits();
	check_logind();
	/* The probe's line comes after what is printed so far. */
	fflush(stdout);
	check_shim();
	check_registry(&v);
	check_kernel_objects();
	if (v.argc)
		check_program(v.argv[0]);
	if (n_faults)
		printf("\nVerdict: not served until the %d fault%s mended.\n",
			n_faults, n_faults > 1 ? "s are" : " is");
	else
		printf("\nVerdict: programs are served here%s.\n",
			n_warnings ? "; mind the warnings" : "");
	return n_faults ? EXIT_FAILED : EXIT_OK;
}

const struct command doctor_command = {
	.name = "doctor",
	.summary = "find out why a program is not served",
	.help = "usage: ipclift doctor [OPTIONS] [PROGRAM]\n\n"
		"Look at what programs need to be served: kernel, /dev/shm,\n"
		"limits, library, registry; and whether PROGRAM can be. Each\n"
		"fault comes with the command that mends it. Exit status 1 if\n"
		"there is one.\n\n"
		"  --registry PATH  look at this registry\n"
		"  --name NAME      or at this named one\n",
	.main = doctor_main,
};
