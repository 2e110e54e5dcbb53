// SPDX-License-Identifier: MIT
/*
 * stops.h - children that are stopped where the shim's library says a certain
 * function begins or returns, and then go on, or are killed there.
 *
 * A child of stop_child() runs to its first stop_here(), mostly behind a call
 * that makes it known to the registry, and waits. stop_at() lets it run to a
 * function by name (the first of several that the library has; the names of
 * static functions are in its symbol table, which nothing strips before it is
 * installed). Breakpoints are written into the child's own pages by ptrace.
 *
 * On the kernel there is no such function: stop_shim() is 0 then, and a test
 * does what comes to the same there.
 */
#ifndef STOPS_H
#define STOPS_H

#include "t.h"
#include <dlfcn.h>
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/user.h>

/* Where the library stands, or 0. The name as LD_PRELOAD has it. */
static inline unsigned long stop_shim(void)
{
	Dl_info info;

	if (!getenv("LD_PRELOAD") ||
		!dladdr(dlsym(RTLD_DEFAULT, "semop"), &info) ||
		!strstr(info.dli_fname, "ipclift"))
		return 0;
	return (unsigned long)info.dli_fbase;
}

static inline const char *stop_library(void)
{
	Dl_info info;

	dladdr(dlsym(RTLD_DEFAULT, "semop"), &info);
	return info.dli_fname;
}

/* Offset of a function in the library's file, 0 if it has none. */
static inline unsigned long stop_symbol(const char *file, const char *name)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	unsigned long at = 0;
	struct stat st;
	char *p;

	if (fd < 0 || fstat(fd, &st))
		return 0;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return 0;
	const Elf64_Ehdr *e = (const void *)p;
	const Elf64_Shdr *sh = (const void *)(p + e->e_shoff);

	for (int i = 0; i < e->e_shnum; i++) {
		const Elf64_Sym *sym = (const void *)(p + sh[i].sh_offset);
		const char *names;

		if (sh[i].sh_type != SHT_SYMTAB)
			continue;
		names = p + sh[sh[i].sh_link].sh_offset;
		for (size_t k = 0; k < sh[i].sh_size / sizeof(*sym); k++)
			if (ELF64_ST_TYPE(sym[k].st_info) == STT_FUNC &&
				!strcmp(names + sym[k].st_name, name))
				at = sym[k].st_value;
	}
	munmap(p, (size_t)st.st_size);
	return at;
}

/* A child that is traced; it calls stop_here() once it is ready. */
static inline pid_t stop_child(void (*run)(void))
{
	pid_t pid = t_fork();

	if (pid == 0) {
		alarm(T_LIMIT);
		run();
		_exit(0);
	}
	return pid;
}

static inline void stop_here(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
}

/* The child has stopped by sig. */
static inline int stop_wait(pid_t pid, int sig)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) &&
	       WSTOPSIG(status) == sig;
}

struct stop {
	pid_t pid;
	unsigned long at;
	long text;
};

static inline int stop_set(struct stop *s, pid_t pid, unsigned long at)
{
	s->pid = pid;
	s->at = at;
	s->text = ptrace(PTRACE_PEEKTEXT, pid, (void *)at, NULL);
	return !ptrace(PTRACE_POKETEXT, pid, (void *)at,
		(void *)((s->text & ~0xffL) | 0xcc));
}

/* It stands on the breakpoint, which is taken away. */
static inline int stop_clear(struct stop *s)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, s->pid, NULL, &regs) ||
		regs.rip != s->at + 1)
		return 0;
	regs.rip--;
	return !ptrace(PTRACE_SETREGS, s->pid, NULL, &regs) &&
	       !ptrace(PTRACE_POKETEXT, s->pid, (void *)s->at, (void *)s->text);
}

/* Let it run to `at` the n-th time; 1 if it is there. */
static inline int stop_run_to(pid_t pid, unsigned long at, int n)
{
	struct stop s;

	for (; n > 0; n--) {
		if (!stop_set(&s, pid, at) ||
			ptrace(PTRACE_CONT, pid, NULL, NULL) ||
			!stop_wait(pid, SIGTRAP) || !stop_clear(&s))
			return 0;
		/* Off the place, so that it can be set again. */
		if (n > 1 && (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) ||
				     !stop_wait(pid, SIGTRAP)))
			return 0;
	}
	return 1;
}

/* The first of the names that the library knows; two at most. */
static inline unsigned long stop_find(const char *name, const char *or_name)
{
	unsigned long off = stop_symbol(stop_library(), name);

	if (!off && or_name)
		off = stop_symbol(stop_library(), or_name);
	return off ? stop_shim() + off : 0;
}

/* To the beginning of a function. */
static inline int stop_at(
	pid_t pid, const char *name, const char *or_name, int n)
{
	unsigned long at = stop_find(name, or_name);

	return at && stop_run_to(pid, at, n);
}

/* From its beginning to where it returns to. */
static inline int stop_return(pid_t pid)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		return 0;
	return stop_run_to(pid,
		(unsigned long)ptrace(
			PTRACE_PEEKTEXT, pid, (void *)regs.rsp, NULL),
		1);
}

static inline void stop_go(pid_t pid)
{
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

static inline void stop_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#endif
