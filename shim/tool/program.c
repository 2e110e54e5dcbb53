// SPDX-License-Identifier: MIT
/*
 * A program as the dynamic loader sees it: will it preload the shim?
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tool/finding.h"

#define PROGRAM_PATH_MAX 4096
/* Scripts whose interpreter is a script; the kernel stops at five. */
#define SCRIPTS_MAX 5

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

/* Those who are not its owner get his rights by it, and the loader is then
 * deaf to the environment. */
static void check_raised(int fd, const char *path, const struct stat *st)
{
	char mend[PROGRAM_PATH_MAX + 64];

	if (st->st_mode & S_ISUID && st->st_uid != getuid()) {
		snprintf(mend, sizeof(mend), "sudo -u '#%u' ipclift run -- %s",
			st->st_uid, path);
		finding_fault(mend,
			"the program is set-user-ID, so the loader ignores "
			"LD_PRELOAD: start it as its owner");
	} else if (st->st_mode & S_ISGID && st->st_mode & S_IXGRP &&
		   st->st_gid != getgid()) {
		snprintf(mend, sizeof(mend), "sudo -g '#%u' ipclift run -- %s",
			st->st_gid, path);
		finding_fault(mend,
			"the program is set-group-ID, so the loader ignores "
			"LD_PRELOAD: start it as its group");
	} else if (getuid() &&
		   fgetxattr(fd, "security.capability", NULL, 0) > 0) {
		snprintf(mend, sizeof(mend), "setcap -r %s", path);
		finding_fault(mend,
			"the program has capabilities, so the loader ignores "
			"LD_PRELOAD");
	} else {
		finding_good("program", path);
	}
}

/* "#! /usr/bin/env perl": what the kernel starts. 1 if it is a script. */
static int interpreter_of(int fd, char *ret, size_t cap)
{
	char line[256], *at = line + 2;
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);

	line[n > 0 ? n : 0] = 0;
	if (strncmp(line, "#!", 2) != 0)
		return 0;
	at += strspn(at, " \t");
	at[strcspn(at, " \t\n")] = 0;
	snprintf(ret, cap, "%s", at);
	return 1;
}

/* 1 if another program is to be looked at instead, which is then in path. */
static int check_one(char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC), script = 0;

	if (fd < 0 || fstat(fd, &st)) {
		finding_warning(NULL,
			"%s cannot be read, so it cannot be looked at", path);
	} else if (interpreter_of(fd, path, PROGRAM_PATH_MAX)) {
		finding_good("a script; its interpreter", path);
		script = 1;
	} else if (elf_dynamic(fd) < 0) {
		finding_fault(NULL, "%s is no 64-bit x86 program", path);
	} else if (!elf_dynamic(fd)) {
		finding_fault(NULL,
			"%s is static, nothing can be preloaded: link it "
			"dynamically",
			path);
	} else {
		check_raised(fd, path, &st);
	}
	if (fd >= 0)
		close(fd);
	return script;
}

void program_check(const char *name)
{
	char path[PROGRAM_PATH_MAX];
	int scripts = 0;

	if (find_program(name, path, sizeof(path))) {
		finding_fault(NULL, "there is no program %s", name);
		return;
	}
	while (check_one(path) && scripts++ < SCRIPTS_MAX)
		;
}
