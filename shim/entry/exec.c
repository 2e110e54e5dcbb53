// SPDX-License-Identifier: MIT
/*
 * The exec family: a program that hands a invented environment to another one
 * would send it into the kernel's world, while its parent and its siblings are
 * in the registry's.
 *
 *   the environment given has               what is executed gets
 *   one of our variables, or our library    the same: it was edited on purpose
 *   none of them: it was cleared or made    those that we were loaded with, too
 *   LD_PRELOAD with other libraries only    our library behind these: a script that
 *                                           sets it wants an allocator, not another
 *                                           world. An empty one, or none, is meant.
 *
 * Our variables are IPCLIFT_*; where we were loaded without any, only an empty
 * environment counts as cleared, or `env -u LD_PRELOAD` would be undone.
 * A program that is left a queue's descriptor gets FD_ARRIVE_MARK besides, if
 * it is served.
 *
 * IPCLIFT_EXEC=keep turns all this off. Not reached: system calls without
 * libc's names, and system(3) and popen(3), which call these from within libc:
 * where the program has cleared `environ` itself, or leaves a queue's descriptor.
 *
 * Nothing is allocated, so that it can be done in a vfork child and in a signal
 * handler: the new list stands on the stack, as execl's argument list does in
 * libc. If the next definition is not there, -1 with ENOSYS.
 */
#include <stdarg.h>
#include <errno.h>
#include "base/str.h"
#include "entry/environment.h"
#include "entry/file/fdarrive.h"
#include "entry/file/fdpoll.h"
#include "entry/file/spawnfile.h"
#include "entry/process.h"

extern char **environ __attribute__((weak));

/* One call of the family, of which this many forms are different. */
struct exec_call {
	enum { EXEC, EXEC_PATH, EXEC_FD, EXEC_AT, SPAWN, SPAWN_PATH } form;
	const char *file;
	char *const *argv;
	int fd, flags;
	/* posix_spawn */
	int *pid;
	const void *actions, *attributes;
};

static int run(const struct exec_call *x, char *const *env)
{
	static const char *const name[] = {"execve", "execvpe", "fexecve",
		"execveat", "posix_spawn", "posix_spawnp"};
	static void *next[6];
	union {
		void *p;
		int (*file)(const char *, char *const *, char *const *);
		int (*fd)(int, char *const *, char *const *);
		int (*at)(int, const char *, char *const *, char *const *, int);
		int (*spawn)(int *, const char *, const void *, const void *,
			char *const *, char *const *);
	} real = {process_next(&next[x->form], name[x->form])};

	if (!real.p) {
		*__errno_location() = ENOSYS;
		return x->form >= SPAWN ? ENOSYS : -1;
	}
	switch (x->form) {
	case EXEC_FD:
		return real.fd(x->fd, x->argv, env);
	case EXEC_AT:
		return real.at(x->fd, x->file, x->argv, env, x->flags);
	case SPAWN:
	case SPAWN_PATH:
		return real.spawn(x->pid, x->file, x->actions, x->attributes,
			x->argv, env);
	default:
		return real.file(x->file, x->argv, env);
	}
}

/* What a look at an environment tells. */
struct look {
	size_t n;	     /* entries */
	size_t preload;	     /* 1 + the index of its LD_PRELOAD, or 0 */
	int ours;	     /* has one of our variables or our library */
	int others;	     /* its LD_PRELOAD has only other libraries */
	const char *library; /* our entry "LD_PRELOAD=...", or NULL */
	size_t n_ours;	     /* entries to hand on, `library` not counted */
};

#define PRELOAD "LD_PRELOAD="
#define PRELOAD_LEN (sizeof(PRELOAD) - 1)

/* What an LD_PRELOAD of theirs has: nothing, this library or a copy of it, or
 * others only. */
static void look_at_preload(const char *theirs, struct look *l)
{
	const char *word;
	int copy = 0, this = 0;

	for (word = theirs; l->library && *word; word++) {
		this |= !!str_after(word, l->library + PRELOAD_LEN);
		copy |= !!str_after(word, "libipclift.so");
	}
	l->ours |= this;
	l->others = l->library && *theirs && !this && !copy;
}

static void look_at(char *const *env, struct look *l)
{
	const char *const *ours = environment_handed_on();

	*l = (struct look){0};
	for (; ours[l->n_ours]; l->n_ours++)
		if (str_after(ours[l->n_ours], PRELOAD)) {
			l->library = ours[l->n_ours];
			break;
		}
	for (; env && env[l->n]; l->n++) {
		if (str_after(env[l->n], "IPCLIFT_"))
			l->ours = 1;
		if (!str_after(env[l->n], PRELOAD))
			continue;
		l->preload = l->n + 1;
		look_at_preload(env[l->n] + PRELOAD_LEN, l);
	}
}

static int hands_on(const struct look *l)
{
	if (l->ours || !(l->n_ours || l->library))
		return 0;
	return l->n_ours || !l->n;
}

/* "LD_PRELOAD=theirs:ours", as ipclift run has it. */
static void join(char *to, size_t cap, const char *ours, const char *theirs)
{
	size_t n = str_add(to, cap, 0, theirs);

	n = str_add(to, cap, n, ":");
	str_add(to, cap, n, ours + PRELOAD_LEN);
}

/* l's n_ours and library are added, and what fdarrive.h reads if arrive. */
static int run_extended(const struct exec_call *x, char *const *env,
	const struct look *l, int arrive)
{
	const char *const *ours = environment_handed_on();
	const char *theirs = l->preload ? env[l->preload - 1] : NULL;
	const char *library = l->library;
	size_t cap =
		library && theirs ? str_len(library) + str_len(theirs) + 2 : 1;
	char *list[l->n_ours + l->n + 3], both[cap];
	size_t i, n = 0;

	if (library && theirs) {
		join(both, cap, library, theirs);
		library = both;
	}
	for (i = 0; i < l->n_ours; i++)
		list[n++] = (char *)ours[i];
	if (library)
		list[n++] = (char *)library;
	for (i = 0; i < l->n; i++)
		if (!(library && i + 1 == l->preload))
			list[n++] = env[i];
	if (arrive)
		list[n++] = (char *)FD_ARRIVE_MARK;
	list[n] = NULL;
	return run(x, list);
}

static int call_on(const struct exec_call *x, char *const *env)
{
	int arrive = fd_executing(x->form >= SPAWN && x->actions), extended;
	struct look l;

	if (x->form < SPAWN)
		fd_closing();
	look_at(env, &l);
	extended = hands_on(&l) || l.others;
	/* Only to who is served, too. */
	arrive = arrive && (extended || l.ours) && (l.n_ours || l.library);
	/* With other libraries only: it has our variables, or needs none. */
	if (!hands_on(&l))
		l.n_ours = 0;
	if (!extended)
		l.library = NULL;
	return extended || arrive ? run_extended(x, env, &l, arrive)
				  : run(x, env);
}

static int call(const struct exec_call *x, char *const *env)
{
	struct exec_call copy = *x;
	struct spawnfile files;
	int ret;

	if (likely(x->form < SPAWN || !spawnfile_concerns(x->actions)))
		return call_on(x, env);
	ret = spawnfile_begin(&files, x->actions);
	if (ret)
		return ret;
	copy.actions = files.actions;
	ret = call_on(&copy, env);
	spawnfile_end(&files);
	return ret;
}

static char *const *own_environment(void)
{
	return &environ ? environ : NULL;
}

EXPORT int execve(const char *path, char *const *argv, char *const *env)
{
	return call(&(struct exec_call){EXEC, path, argv}, env);
}

EXPORT int execv(const char *path, char *const *argv)
{
	return call(&(struct exec_call){EXEC, path, argv}, own_environment());
}

EXPORT int execvp(const char *file, char *const *argv)
{
	return call(
		&(struct exec_call){EXEC_PATH, file, argv}, own_environment());
}

EXPORT int execvpe(const char *file, char *const *argv, char *const *env)
{
	return call(&(struct exec_call){EXEC_PATH, file, argv}, env);
}

EXPORT int fexecve(int fd, char *const *argv, char *const *env)
{
	return call(&(struct exec_call){EXEC_FD, NULL, argv, fd}, env);
}

EXPORT int execveat(int fd, const char *path, char *const *argv,
	char *const *env, int flags)
{
	return call(&(struct exec_call){EXEC_AT, path, argv, fd, flags}, env);
}

EXPORT int posix_spawn(int *pid, const char *path, const void *actions,
	const void *attributes, char *const *argv, char *const *env)
{
	return call(&(struct exec_call){SPAWN, path, argv, 0, 0, pid, actions,
			    attributes},
		env);
}

EXPORT int posix_spawnp(int *pid, const char *file, const void *actions,
	const void *attributes, char *const *argv, char *const *env)
{
	return call(&(struct exec_call){SPAWN_PATH, file, argv, 0, 0, pid,
			    actions, attributes},
		env);
}

/* Arguments of a list up to its NULL, `first` being the first. */
static size_t count(const char *first, va_list *rest)
{
	size_t n = 0;

	for (; first; n++)
		first = va_arg(*rest, const char *);
	return n;
}

static int call_list(int form, const char *file, const char *first,
	va_list *rest, size_t n, int has_environment)
{
	char *argv[n + 1];
	size_t i;

	argv[0] = (char *)first;
	for (i = 1; i <= n; i++)
		argv[i] = va_arg(*rest, char *);
	return call(&(struct exec_call){form, file, argv},
		has_environment ? va_arg(*rest, char *const *)
				: own_environment());
}

#define EXEC_LIST(name, form, has_environment)                                 \
	EXPORT int name(const char *file, const char *first, ...)              \
	{                                                                      \
		va_list counted, read;                                         \
		size_t n;                                                      \
		int ret;                                                       \
                                                                               \
		va_start(counted, first);                                      \
		va_start(read, first);                                         \
		n = count(first, &counted);                                    \
		ret = call_list(form, file, first, &read, n, has_environment); \
		va_end(read);                                                  \
		va_end(counted);                                               \
		return ret;                                                    \
	}

EXEC_LIST(execl, EXEC, 0)
EXEC_LIST(execlp, EXEC_PATH, 0)
EXEC_LIST(execle, EXEC, 1)
