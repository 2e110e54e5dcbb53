// SPDX-License-Identifier: MIT
/*
 * first_jail: a daemon before its first call. It changes its user, entirely or
 * for files only, or its root by chroot or pivot_root, by name or by number, or
 * it has no descriptor left; and only then makes its first IPC call. In the
 * jail there is no /proc and no /dev/shm: queues can be opened there, and poll
 * is right.
 */
#include "mq.h"
#include "shm.h"
#include <sys/epoll.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/msg.h>

/* Each scene's first call is one on a registry that does not exist yet. */
static void own_registry(const char *name)
{
	const char *registry = getenv("IPCLIFT_REGISTRY");
	char path[4096];

	if (!registry)
		return;
	snprintf(path, sizeof(path), "%s-%s", registry, name);
	setenv("IPCLIFT_REGISTRY", path, 1);
}

static void all_kinds(void)
{
	struct {
		long type;
		char text[8];
	} m = {1, "seven"};
	int sem = semget(IPC_PRIVATE, 1, 0600);
	int msg = msgget(IPC_PRIVATE, 0600);
	int shm = shmget(IPC_PRIVATE, 5000, 0600);
	char *at;

	t_true(sem >= 0);
	t_eq(semop(sem, OPS({0, 1, 0}, {0, -1, U})), 0);
	t_eq(semctl(sem, 0, IPC_RMID), 0);
	t_eq(msgsnd(msg, &m, 6, 0), 0);
	t_eq(msgrcv(msg, &m, 6, 0, NW), 6);
	t_eq(msgctl(msg, IPC_RMID, NULL), 0);
	at = shmat(shm, NULL, 0);
	t_true(at != (void *)-1);
	at[4999] = 1;
	t_eq(shmdt(at), 0);
	t_eq(shmctl(shm, IPC_RMID, NULL), 0);
}

static int ready(mqd_t q)
{
	struct pollfd p = {q, POLLIN | POLLOUT, 0};

	poll(&p, 1, 0);
	return p.revents & (POLLIN | POLLOUT);
}

static void edges(mqd_t q)
{
	struct epoll_event e = {EPOLLIN | EPOLLET, {0}};
	int ep = epoll_create1(0);

	t_story("edges");
	t_eq(epoll_ctl(ep, EPOLL_CTL_ADD, q, &e), 0);
	t_eq(epoll_wait(ep, &e, 1, 0), 0);
	t_eq(q_put(q, "a", 0), 0);
	t_eq(epoll_wait(ep, &e, 1, 0), 1);
	t_eq(epoll_wait(ep, &e, 1, 0), 0);
	t_eq(q_put(q, "b", 0), 0);
	t_eq(epoll_wait(ep, &e, 1, 0), 1);
	q_say(q);
	q_say(q);
	t_eq(epoll_wait(ep, &e, 1, 0), 0);
	close(ep);
}

static void queues(void)
{
	mqd_t q = q_open(NAME, RW | NB, 2, 32), copy;
	struct mq_attr attr = {0};
	struct stat st;
	char line[100];
	pid_t pid;

	t_eq(ready(q), POLLOUT);
	t_eq(q_put(q, "one", 0), 0);
	t_eq(ready(q), POLLIN | POLLOUT);
	t_eq(q_put(q, "two", 0), 0);
	t_eq(ready(q), POLLIN);
	t_err(q_put(q, "three", 0), EAGAIN);
	t_eq(fcntl(q, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDWR | O_NONBLOCK);
	t_eq(fcntl(q, F_GETFD), FD_CLOEXEC);
	t_eq(fstat(q, &st), 0);
	t_eq(st.st_mode, S_IFREG | 0600);
	t_eq(st.st_size, 80);
	t_true(read(q, line, sizeof(line)) > 40);
	t_eq(read(q, line, sizeof(line)), 0);
	copy = dup(q);
	t_story("a child takes one");
	pid = t_fork();
	if (pid == 0) {
		t_eq(ready(copy), POLLIN);
		q_say(copy);
		_exit(t_failed);
	}
	t_eq(t_join(pid), 0);
	t_eq(ready(q), POLLIN | POLLOUT);
	t_eq(mq_close(copy), 0);
	q_say(q);
	t_eq(ready(q), POLLOUT);
	attr.mq_flags = 0;
	t_eq(mq_setattr(q, &attr, NULL), 0);
	t_eq(fcntl(q, F_GETFL) & O_NONBLOCK, 0);
	attr.mq_flags = O_NONBLOCK;
	t_eq(mq_setattr(q, &attr, NULL), 0);
	t_err(mq_receive(q, line, sizeof(line), NULL), EAGAIN);
	edges(q);
	t_eq(close(q), 0);
	q = mq_open(NAME, O_RDONLY);
	t_true(q >= 0);
	t_eq(fcntl(q, F_GETFL) & O_ACCMODE, O_RDONLY);
	t_err(q_put(q, "one", 0), EBADF);
	q_done(q);
}

static char jail[] = "/tmp/first_jail.XXXXXX";

static void use_chroot(void)
{
	t_eq(chroot(jail), 0);
	t_eq(chdir("/"), 0);
}

static void use_raw_chroot(void)
{
	t_eq(syscall(SYS_chroot, jail), 0);
	t_eq(chdir("/"), 0);
}

static void use_pivot_root(void)
{
	t_eq(unshare(CLONE_NEWNS), 0);
	t_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	t_eq(mount("none", jail, "tmpfs", 0, NULL), 0);
	t_eq(chdir(jail), 0);
	t_eq(syscall(SYS_pivot_root, ".", "."), 0);
	t_eq(umount2(".", MNT_DETACH), 0);
}

/* The registry is to be in a directory that is not everybody's. */
static void use_other_user(void)
{
	t_become(T_OTHER_UID, T_OTHER_UID);
}

static void use_raw_other_user(void)
{
	t_eq(syscall(SYS_setresuid, T_OTHER_UID, T_OTHER_UID, T_OTHER_UID), 0);
}

/* As a file server: root in all but what it may do to files. */
static void use_other_user_for_files(void)
{
	setfsuid(T_OTHER_UID);
	t_eq(setfsuid((uid_t)-1), T_OTHER_UID);
}

static void use_raw_other_user_for_files(void)
{
	syscall(SYS_setfsuid, T_OTHER_UID);
	t_eq(syscall(SYS_setfsuid, -1), T_OTHER_UID);
}

static void use_chroot_and_user(void)
{
	use_chroot();
	use_other_user();
}

static void scene(const char *name, void (*go)(void))
{
	pid_t pid;

	t_say("== %s", name);
	pid = t_fork();
	if (pid == 0) {
		own_registry(name);
		go();
		all_kinds();
		queues();
		_exit(t_failed);
	}
	t_eq(t_join(pid), 0);
}

/* No descriptor is free when the first call is made, nor at that of a thread
 * and of a child. */
static void *first_of_thread(void *arg)
{
	return (void *)(long)semctl(*(int *)arg, 0, GETVAL);
}

static void no_descriptors(void)
{
	struct rlimit limit = {64, 64};
	pthread_t thread;
	void *value;
	pid_t pid;
	int id;

	own_registry("full");
	setrlimit(RLIMIT_NOFILE, &limit);
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	all_kinds();
	id = t_set(1, VALS(3));
	t_eq(pthread_create(&thread, NULL, first_of_thread, &id), 0);
	pthread_join(thread, &value);
	t_eq((long)value, 3);
	pid = t_fork();
	if (pid == 0)
		_exit(t_code(semop(id, OPS({0, -1, U}))));
	t_eq(t_join(pid), 0);
	t_row(id, GETVAL, "3");
	t_rm(id);
	t_story("and the numbers are as they were");
	t_eq(fcntl(0, F_GETFD), 0);
	t_eq(fcntl(63, F_GETFD), 0);
	t_err(open("/dev/null", O_RDONLY), EMFILE);
}

int main(void)
{
	pid_t pid;

	t_begin();
	if (!mkdtemp(jail) || chmod(jail, 0755))
		return 99;
	scene("chroot", use_chroot);
	scene("chroot-raw", use_raw_chroot);
	scene("pivot_root", use_pivot_root);
	scene("user", use_other_user);
	scene("user-raw", use_raw_other_user);
	scene("files", use_other_user_for_files);
	scene("files-raw", use_raw_other_user_for_files);
	scene("chroot-user", use_chroot_and_user);
	t_story("no descriptor");
	pid = t_fork();
	if (pid == 0) {
		no_descriptors();
		_exit(t_failed);
	}
	t_eq(t_join(pid), 0);
	rmdir(jail);
	return t_end();
}
