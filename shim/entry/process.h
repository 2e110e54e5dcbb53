// SPDX-License-Identifier: MIT
/*
 * The process: its one registry, its configuration, its threads' callers.
 */
#ifndef IPCLIFT_ENTRY_PROCESS_H
#define IPCLIFT_ENTRY_PROCESS_H

#include "shm/shmfork.h"
#include "registry/caller.h"

#define EXPORT __attribute__((visibility("default")))

extern int *__errno_location(void);

/* Wiped by the kernel in a fork child (MADV_WIPEONFORK), which is how the
 * child notices at its first call. */
struct wiped_page {
	u32 generation; /* 0 = not initialised, or a fork child */
	u32 pid;
	u32 init_lock; /* tid of the initialising thread */
	/* 1: in a fork child whose getppid() is the pid of its parent, which
	 * has made a call: so it is in the same pid namespace. 0 if fork.c did
	 * not see the fork: its parent may have entered another namespace,
	 * where that number may be any process's. */
	u32 same_namespace;
	/* generation if the facility is served, else 0: one comparison tells
	 * whether it is, and whether the caller is current. */
	u32 served[N_FAC];
	char pad[4096 - 16 - 4 * N_FAC];
};
extern struct wiped_page process_page __attribute__((visibility("hidden")));
extern __thread struct caller process_caller
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* 1 in a vfork child, which has its parent's memory. */
int process_in_vfork(void);

/* clone(2) by name, without CLONE_VM; real: the next definition (fork.c). */
typedef int (*clone_main)(void *);
int entry_clone(void *real, clone_main main, void *stack, int flags, void *arg,
	void *parent_tid, void *tls, void *child_tid);

/* During the interposed fork: what was prepared for the child, which adopts it
 * at its first call. By value, for a signal handler may leave the fork by
 * siglongjmp. */
extern __thread struct shm_fork process_fork
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Facilities served, from IPCLIFT_ROUTE; before the first call all bits. */
int process_routes(enum facility f);

/* The calling thread's caller, or NULL with *ret_errno set if the registry
 * cannot be used (reported once on stderr). No allocation, no descriptor
 * kept. */
struct caller *process_caller_slow(int *ret_errno);
static inline struct caller *process_get(int *ret_errno)
{
	struct caller *c = &process_caller;
	u32 generation = atom_load_relaxed(&process_page.generation);

	if (likely(c->generation == generation && generation))
		return c;
	return process_caller_slow(ret_errno);
}

/* The process's attachments in the registry that this thread used last. */
struct shm_process *process_shm(void);
/* Those in all registries of the process, one after the other from *at 0 on; NULL
 * at the end. No lock. */
struct shm_process *process_each_shm(u32 *at);

/* Make c the caller of the process's other registries (world.h), one after the
 * other, from *at 0 on: 1, or 0 if there is none left, as in a process that was
 * in one IPC namespace only. Then process_home(ret), which returns ret. */
int process_enter_other(struct caller *c, u32 *at);
long process_home(long ret);

/* The caller if everything is set up and facility f is served, else NULL:
 * the first test of every entry point. */
static inline struct caller *process_get_fast(enum facility f)
{
	struct caller *c = &process_caller;

	return likely(c->generation ==
		       atom_load_relaxed(&process_page.served[f])) &&
			       likely(c->generation)
		       ? c
		       : NULL;
}

/* 1 once the first served call was made. */
int process_active(void);

/* The next definition of a function after the shim's own, looked up once; NULL
 * if there is none (next.c). */
void *process_next(void **cache, const char *name);

/*
 * Pass a call on to the next definition, another preload's or libc's, and
 * return its result. If there is none, execution continues after this. The
 * arguments are the function's; not for a function that the shim calls itself.
 */
#define PROCESS_PASS_ON(type, name, params, ...)                     \
	do {                                                         \
		static void *next_;                                  \
		type(*real_) params =                                \
			(type(*) params)process_next(&next_, #name); \
                                                                     \
		if (likely(real_ != NULL))                           \
			return real_(__VA_ARGS__);                   \
	} while (0)

/* errno convention of libc. */
static inline long process_return(long ret)
{
	if (unlikely(ret < 0 && ret > -4096)) {
		*__errno_location() = (int)-ret;
		return -1;
	}
	return ret;
}

/* Before a call by number that changes the user or the root: map what cannot be
 * mapped afterwards. a, b, c: its first arguments. */
void process_before_raw(long nr, u32 a, u32 b, u32 c);
/* The process's credentials have changed (libc changes all threads'). */
void process_forget_credentials(void);
/* This thread's alone have changed: capset, or a call by number. */
void process_credentials_apart(void);
/* Those for files (setfsuid) have changed: from now on each call reads them, in
 * all threads. */
void process_files_apart(void);

/* signal.c: put trampolines around the handlers that the application has. */
void signal_wrap_all(void);
/* Whether that was done. */
int signal_wrapped(void);
/* rt_sigaction by number: the arguments and the result are the kernel's. */
long signal_raw(long sig, const void *set, void *old, long size);

#endif
