// SPDX-License-Identifier: MIT
/*
 * Will the dynamic loader preload the shim into a program? For doctor, which
 * prints all findings, and for run, which prints a line if the program will not
 * be served.
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
#include "tool/message.h"

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

/* What a program's file shows. */
struct look {
	char path[PROGRAM_PATH_MAX]; /* of the program, or of what starts it */
	enum {
		LOOK_SERVED,
		LOOK_SCRIPT,  /* path is now its interpreter */
		LOOK_MISSING, /* a script; path is what does not exist */
		LOOK_UNREADABLE,
		LOOK_TEXT, /* neither a program nor a script */
		LOOK_NOT_SERVED,
	} is;
	const char *why;	     /* "is static", if it is not served */
	const char *what;	     /* is to be done about it, or NULL */
	char mend[PROGRAM_PATH_MAX]; /* by this command, or "" */
	int has_asan;		     /* as a library of its own */
};

/* Names of sections are read up to here; arbitrary. */
#define NAMES_MAX 65536

/* Does it have a section of this name? *ret is it. */
static int find_section(
	int fd, const Elf64_Ehdr *eh, const char *name, Elf64_Shdr *ret)
{
	static char names[NAMES_MAX];
	Elf64_Shdr sh;
	off_t at = (off_t)eh->e_shoff;
	ssize_t n;
	int i;

	if (!at ||
		pread(fd, &sh, sizeof(sh),
			at + eh->e_shstrndx * (off_t)sizeof(sh)) != sizeof(sh))
		return 0;
	n = pread(fd, names, sizeof(names) - 1, (off_t)sh.sh_offset);
	if (n <= 0)
		return 0;
	names[n] = 0;
	for (i = 0; i < eh->e_shnum; i++)
		if (pread(fd, &sh, sizeof(sh), at + i * (off_t)sizeof(sh)) ==
				sizeof(sh) &&
			sh.sh_name < (Elf64_Word)n &&
			!strcmp(names + sh.sh_name, name)) {
			*ret = sh;
			return 1;
		}
	return 0;
}

/* gcc's AddressSanitizer aborts a program in which another library precedes its
 * own; clang's, which is linked in, does not. */
static int has_asan_library(int fd, const Elf64_Ehdr *eh)
{
	static const char library[] = "libasan.so.";
	const char *options = getenv("ASAN_OPTIONS");
	static char names[NAMES_MAX];
	Elf64_Shdr sh;
	ssize_t n;

	if ((options && strstr(options, "verify_asan_link_order=0")) ||
		!find_section(fd, eh, ".dynstr", &sh))
		return 0;
	n = pread(fd, names,
		sh.sh_size < sizeof(names) ? sh.sh_size : sizeof(names),
		(off_t)sh.sh_offset);
	return n > 0 &&
	       memmem(names, (size_t)n, library, sizeof(library) - 1) != NULL;
}

static int has_interpreter(int fd, const Elf64_Ehdr *eh)
{
	Elf64_Phdr ph;
	int i;

	for (i = 0; i < eh->e_phnum; i++)
		if (pread(fd, &ph, sizeof(ph),
			    (off_t)(eh->e_phoff + (size_t)i * sizeof(ph))) ==
				sizeof(ph) &&
			ph.p_type == PT_INTERP)
			return 1;
	return 0;
}

static void not_served(struct look *l, const char *why, const char *what)
{
	l->is = LOOK_NOT_SERVED;
	l->why = why;
	l->what = what;
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int is_env(const char *path)
{
	return !strcmp(name_of(path), "env");
}

/* The loader itself: it has no interpreter, and preloads. */
static int is_loader(const char *path)
{
	const char *name = name_of(path);

	return !strncmp(name, "ld-", 3) && strstr(name, ".so");
}

static void look_at_elf(struct look *l, int fd)
{
	Elf64_Ehdr eh = {0};
	Elf64_Shdr sh;

	if (pread(fd, &eh, sizeof(eh), 0) < EI_NIDENT ||
		memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0)
		l->is = LOOK_TEXT;
	else if (eh.e_ident[EI_CLASS] != ELFCLASS64 ||
		 eh.e_machine != EM_X86_64)
		not_served(l, "is no 64-bit x86 program", NULL);
	else if (find_section(fd, &eh, ".go.buildinfo", &sh))
		not_served(l,
			"is a Go program, which makes system calls "
			"without libc",
			NULL);
	else if (!has_interpreter(fd, &eh) && !is_loader(l->path))
		not_served(l, "is static, nothing can be preloaded",
			"link it dynamically");
	else
		l->has_asan = has_asan_library(fd, &eh);
}

/* If the program has set-id bits or capabilities, the loader ignores the
 * environment for users who gain rights by that. */
static void look_at_rights(struct look *l, int fd, const struct stat *st)
{
	if (st->st_mode & S_ISUID && st->st_uid != getuid()) {
		not_served(l,
			"is set-user-ID, so the loader ignores "
			"LD_PRELOAD",
			"start it as its owner");
		snprintf(l->mend, sizeof(l->mend),
			"sudo -u '#%u' ipclift run -- %.4000s", st->st_uid,
			l->path);
	} else if (st->st_mode & S_ISGID && st->st_mode & S_IXGRP &&
		   st->st_gid != getgid()) {
		not_served(l,
			"is set-group-ID, so the loader ignores "
			"LD_PRELOAD",
			"start it as its group");
		snprintf(l->mend, sizeof(l->mend),
			"sudo -g '#%u' ipclift run -- %.4000s", st->st_gid,
			l->path);
	} else if (getuid() &&
		   fgetxattr(fd, "security.capability", NULL, 0) > 0) {
		not_served(l,
			"has capabilities, so the loader ignores "
			"LD_PRELOAD",
			NULL);
		snprintf(
			l->mend, sizeof(l->mend), "setcap -r %.4000s", l->path);
	}
}

/* Words of one command line; arbitrary. */
#define WORDS_MAX 64

static const char *behind_env(char **argv);

/* Options of env(1) whose value is the next word. */
static int takes_value(const char *option)
{
	static const char *const options[] = {
		"-u", "-C", "-a", "--unset", "--chdir", "--argv0"};
	size_t i;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (!strcmp(option, options[i]))
			return 1;
	return 0;
}

/* env -S STRING REST...: its words precede the rest. Quotes and escapes in it
 * are not interpreted. The words are never freed. */
static const char *behind_split(const char *string, char **rest)
{
	char *words[WORDS_MAX + 2] = {"env"}, *word, *save;
	char *line = strdup(string);
	int k = 1;

	for (word = line ? strtok_r(line, " \t", &save) : NULL;
		word && k < WORDS_MAX; word = strtok_r(NULL, " \t", &save))
		words[k++] = word;
	while (*rest && k < WORDS_MAX)
		words[k++] = *rest++;
	return behind_env(words);
}

/* The string of -S, which may be in the same word: NULL if it is another
 * option. *used: how many words. */
static const char *string_of(char **argv, int *used)
{
	static const char name[] = "--split-string";
	const char *s = argv[0];

	*used = 1;
	if (!strncmp(s, name, sizeof(name) - 1) && s[sizeof(name) - 1] == '=')
		return s + sizeof(name);
	if (!strcmp(s, name)) {
		s = "";
	} else {
		/* After letters that take no value. */
		if (s[0] != '-' || s[1] == '-')
			return NULL;
		s += 1 + strspn(s + 1, "iv0");
		if (*s++ != 'S')
			return NULL;
	}
	if (*s)
		return s;
	*used = 1 + (argv[1] != NULL);
	return argv[1] ? argv[1] : "";
}

/* The program that the words after `env` start; NULL if there is none. */
static const char *behind_env(char **argv)
{
	int i, used, options = 1;
	const char *string;

	for (i = 1; argv[i]; i++) {
		string = options ? string_of(argv + i, &used) : NULL;
		if (string)
			return behind_split(string, argv + i + used);
		if (options && !strcmp(argv[i], "--"))
			options = 0;
		else if (options && takes_value(argv[i]))
			i += argv[i + 1] != NULL;
		else if (options && *argv[i] == '-')
			;
		else if (is_env(argv[i]))
			return behind_env(argv + i);
		else if (!strchr(argv[i], '='))
			return argv[i];
		else
			options = 0;
	}
	return NULL;
}

/* "#! /usr/bin/env perl": the program that the kernel starts, or that env(1)
 * then does. 1 if it is a script; *ret_missing: env will not find it, and its
 * name is l->path. */
static int interpreter_of(struct look *l, int fd, int *ret_missing)
{
	char line[256], *words[WORDS_MAX] = {0}, *word, *save;
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
	const char *name;
	int k = 0;

	line[n > 0 ? n : 0] = 0;
	if (strncmp(line, "#!", 2) != 0)
		return 0;
	line[strcspn(line, "\n")] = 0;
	for (word = strtok_r(line + 2, " \t", &save); word && k < WORDS_MAX - 1;
		word = strtok_r(NULL, " \t", &save))
		words[k++] = word;
	if (!k)
		return 0;
	name = is_env(words[0]) ? behind_env(words) : NULL;
	*ret_missing = name && find_program(name, l->path, sizeof(l->path));
	if (!name || *ret_missing)
		snprintf(
			l->path, sizeof(l->path), "%s", name ? name : words[0]);
	return 1;
}

static void look_at(struct look *l)
{
	struct stat st;
	int fd = open(l->path, O_RDONLY | O_CLOEXEC), missing = 0;

	l->is = LOOK_SERVED;
	l->why = l->what = NULL;
	l->mend[0] = 0;
	l->has_asan = 0;
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		l->is = LOOK_UNREADABLE;
	} else if (interpreter_of(l, fd, &missing)) {
		l->is = missing ? LOOK_MISSING : LOOK_SCRIPT;
	} else {
		look_at_elf(l, fd);
		if (l->is == LOOK_SERVED)
			look_at_rights(l, fd, &st);
	}
	if (fd >= 0)
		close(fd);
}

int program_tell(char **argv)
{
	const char *name = is_env(argv[0]) ? behind_env(argv) : argv[0];
	static struct look l;
	int scripts;

	if (!name || find_program(name, l.path, sizeof(l.path)))
		return 0;
	for (scripts = 0; scripts <= SCRIPTS_MAX; scripts++) {
		look_at(&l);
		if (l.is != LOOK_SCRIPT)
			break;
	}
	if (l.is != LOOK_NOT_SERVED)
		return 0;
	failure("%s %s: it is not served, and sees the kernel's objects",
		l.path, l.why);
	return 1;
}

/* 1 if another program is to be checked instead. script: which names it. */
static int check_one(struct look *l, const char *script)
{
	look_at(l);
	switch (l->is) {
	case LOOK_SCRIPT:
		finding_good("a script; its interpreter", l->path);
		return 1;
	case LOOK_MISSING:
		finding_fault(NULL,
			"%s, the interpreter of %s, is not found by env",
			l->path, script);
		break;
	case LOOK_UNREADABLE:
		if (access(l->path, F_OK))
			finding_fault(NULL,
				"%s, the interpreter of %s, does not exist",
				l->path, script);
		else
			finding_warning(NULL,
				"%s cannot be read, so it cannot be looked at",
				l->path);
		break;
	case LOOK_TEXT:
		finding_fault(NULL, "%s is no 64-bit x86 program", l->path);
		break;
	case LOOK_NOT_SERVED:
		finding_fault(*l->mend ? l->mend : NULL, "%s %s%s%s", l->path,
			l->why, l->what ? ": " : "", l->what ? l->what : "");
		break;
	default:
		if (l->has_asan)
			finding_fault(
				"ASAN_OPTIONS=verify_asan_link_order=0 in "
				"its environment",
				"%s does not start: gcc's AddressSanitizer "
				"wants to be the first library",
				l->path);
		else
			finding_good("program", l->path);
	}
	return 0;
}

void program_check(const char *name)
{
	static struct look l;
	int scripts = 0;

	if (find_program(name, l.path, sizeof(l.path))) {
		finding_fault(NULL, "there is no program %s", name);
		return;
	}
	while (check_one(&l, name) && scripts++ < SCRIPTS_MAX)
		;
}
