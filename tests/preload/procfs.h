// SPDX-License-Identifier: MIT
/*
 * procfs.h - what the procfs_* programs share: the files, and a whole read.
 */
#ifndef PROCFS_H
#define PROCFS_H

#include "t.h"
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/uio.h>

#define SYS "/proc/sys/kernel/"
#define MQ "/proc/sys/fs/mqueue/"
#define IPC "/proc/sysvipc/"

static const char *const p_controls[] = {SYS "sem", SYS "msgmax", SYS "msgmnb",
	SYS "msgmni", SYS "auto_msgmni", SYS "shmmax", SYS "shmall",
	SYS "shmmni", SYS "shm_rmid_forced", SYS "sem_next_id",
	SYS "msg_next_id", SYS "shm_next_id", MQ "queues_max", MQ "msg_max",
	MQ "msgsize_max", MQ "msg_default", MQ "msgsize_default"};
#define N_CONTROLS (sizeof(p_controls) / sizeof(p_controls[0]))

/* The whole text, in pieces of step bytes, zero-terminated. */
static inline char *p_text(int fd, size_t step)
{
	static char text[65536];
	size_t len = 0;
	ssize_t n;

	while (len + step < sizeof(text) &&
		(n = read(fd, text + len, step)) > 0)
		len += (size_t)n;
	text[len] = 0;
	return text;
}

static inline char *p_file(const char *path)
{
	int err = errno, fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text;

	if (fd < 0)
		return "(cannot be opened)";
	text = p_text(fd, 4096);
	close(fd);
	errno = err;
	return text;
}

/* Say a text with its tabs and newlines visible. */
static inline void p_say(const char *name, const char *text)
{
	char line[400];
	size_t n = 0;

	for (; *text && n < sizeof(line) - 3; text++) {
		if (*text == '\n' || *text == '\t') {
			line[n++] = '\\';
			line[n++] = *text == '\n' ? 'n' : 't';
		} else {
			line[n++] = *text;
		}
	}
	line[n] = 0;
	t_say("%s: %s", name, line);
}

static inline void p_say_file(const char *path)
{
	p_say(path, p_file(path));
}

/* The numbers of column n (from 0) of a sysvipc file, blanks between; a row
 * that is not whole shows. */
static inline void p_column(const char *path, int column)
{
	char *text = strchr(p_file(path), '\n'), *row, *word, *rows, *words;
	char line[400] = "";

	row = text ? strtok_r(text, "\n", &rows) : NULL;
	for (; row; row = strtok_r(NULL, "\n", &rows)) {
		int i = 0;

		word = strtok_r(row, " ", &words);
		for (; word && i < column; i++)
			word = strtok_r(NULL, " ", &words);
		snprintf(line + strlen(line), sizeof(line) - strlen(line),
			" %s", word ? word : "torn");
	}
	t_say("%s column %d:%s", path, column, line);
}

/* A /dev that has a place for the queues, and what is used of the host's; in a
 * mount namespace of our own. */
static inline int p_make_dev(void)
{
	return !mount("none", "/mnt", "tmpfs", 0, NULL) &&
	       !mkdir("/mnt/mqueue", 0755) && !mkdir("/mnt/shm", 0755) &&
	       !symlink("/proc/self/fd", "/mnt/fd") &&
	       !mount("/dev/shm", "/mnt/shm", NULL, MS_BIND, NULL) &&
	       !close(creat("/mnt/null", 0666)) &&
	       !mount("/dev/null", "/mnt/null", NULL, MS_BIND, NULL) &&
	       !mount("/mnt", "/dev", NULL, MS_MOVE, NULL);
}

/* The kernel's queues are to be seen in its directory; queue is one. */
static inline int p_has_mqueue(const char *queue)
{
	int err = errno,
	    good = !access(queue, F_OK) ||
		   (!unshare(CLONE_NEWNS) &&
			   !mount("none", "/", NULL, MS_REC | MS_PRIVATE,
				   NULL) &&
			   (!access("/dev/mqueue", F_OK) || p_make_dev()) &&
			   !mount("mqueue", "/dev/mqueue", "mqueue", 0, NULL));

	errno = err;
	return good;
}

#endif
