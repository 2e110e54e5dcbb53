// SPDX-License-Identifier: MIT
/*
 * Credentials of the process that made a request; see requester.h.
 */
#include "requester.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inspect/text.h"

/* Bits of CapEff in /proc/PID/status. */
static const struct {
	unsigned bit;
	u32 cred;
} capabilities[] = {
	{1, CRED_DAC_OVERRIDE},
	{2, CRED_DAC_READ},
	{3, CRED_FOWNER},
	{14, CRED_IPC_LOCK},
	{15, CRED_IPC_OWNER},
	{21, CRED_SYS_ADMIN},
	{24, CRED_SYS_RESOURCE},
	{40, CRED_CHECKPOINT},
};

static int same_user_namespace(pid_t pid)
{
	char path[40], own[64], theirs[64];
	ssize_t n, m;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	n = readlink("/proc/self/ns/user", own, sizeof(own));
	m = readlink(path, theirs, sizeof(theirs));
	return n > 0 && n == m && !memcmp(own, theirs, (size_t)n);
}

static void add_group(struct requester *r, u32 gid)
{
	u32 n = r->cred.n_groups, *many;

	/* Grows in powers of two. */
	if (!(n & (n - 1))) {
		many = realloc(r->many, (n ? 2 * n : 1) * sizeof(*many));
		if (!many)
			return;
		r->many = many;
	}
	r->many[n] = gid;
	r->cred.n_groups = n + 1;
	r->cred.many = r->many;
}

static void read_groups(struct requester *r, char *list)
{
	char *word, *rest;

	for (word = strtok_r(list, " \t\n", &rest); word;
		word = strtok_r(NULL, " \t\n", &rest))
		add_group(r, (u32)strtoul(word, NULL, 10));
}

static u32 read_caps(const char *hex)
{
	unsigned long long set = strtoull(hex, NULL, 16);
	u32 caps = 0;
	size_t i;

	for (i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++)
		if (set >> capabilities[i].bit & 1)
			caps |= capabilities[i].cred;
	return caps;
}

/* "real effective saved fs"; FUSE told us the last. */
static int uid_matches(const char *list, u32 uid, u32 *ret_real)
{
	unsigned real, fs;

	if (sscanf(list, "%u %*u %*u %u", &real, &fs) != 2 || fs != uid)
		return 0;
	*ret_real = real;
	return 1;
}

static void read_status(struct cred *cred)
{
	struct requester *r = (struct requester *)cred;
	char path[40], *line = NULL;
	pid_t process = 0;
	int same = 0;
	size_t cap = 0;
	FILE *f;

	if (r->known || !r->tid)
		return;
	r->known = 1;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)r->tid);
	f = fopen(path, "re");
	while (f && getline(&line, &cap, f) > 0) {
		if (!strncmp(line, "Tgid:", 5)) {
			process = (pid_t)strtol(line + 5, NULL, 10);
		} else if (!strncmp(line, "Uid:", 4)) {
			if (!uid_matches(line + 4, cred->euid, &r->ruid))
				break;
			r->pid = process;
			same = same_user_namespace(r->tid);
		} else if (same && !strncmp(line, "Groups:", 7)) {
			read_groups(r, line + 7);
		} else if (same && !strncmp(line, "CapEff:", 7)) {
			cred->caps = read_caps(line + 7);
		}
	}
	free(line);
	if (f)
		fclose(f);
}

/* "Max msgqueue size  SOFT  HARD  bytes" of /proc/PID/limits. */
static u64 read_limit(pid_t pid)
{
	static const char name[] = "Max msgqueue size";
	char path[40], *line = NULL;
	u64 limit = 0;
	size_t cap = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	f = fopen(path, "re");
	while (f && getline(&line, &cap, f) > 0) {
		char *at = line + sizeof(name) - 1;

		if (strncmp(line, name, sizeof(name) - 1))
			continue;
		at += strspn(at, " ");
		limit = strncmp(at, "unlimited", 9) ? strtoull(at, NULL, 10)
						    : ~0ULL;
	}
	free(line);
	if (f)
		fclose(f);
	return limit;
}

/* Of a process that we cannot see, nothing more than its uid: nothing is
 * granted beyond the limits. */
static void read_charge(struct cred *cred, u32 *ret_ruid, u64 *ret_limit)
{
	struct requester *r = (struct requester *)cred;

	read_status(cred);
	*ret_ruid = r->ruid;
	*ret_limit = r->tid ? read_limit(r->tid) : 0;
}

static u32 read_asker(struct cred *cred, char *command)
{
	struct requester *r = (struct requester *)cred;
	char name[PROCESS_NAME_CAP] = "";

	read_status(cred);
	if (command) {
		if (r->tid)
			process_name_read((unsigned)r->tid, name);
		memcpy(command, name, 16);
	}
	return (u32)r->pid;
}

void requester_init(struct requester *r, uid_t uid, gid_t gid, pid_t tid)
{
	requester_deinit(r);
	r->cred.euid = uid;
	r->cred.egid = gid;
	r->cred.n_groups = 0;
	r->cred.caps = 0;
	r->cred.read = read_status;
	r->cred.charge = read_charge;
	r->cred.asker = read_asker;
	r->ruid = uid;
	r->tid = r->pid = tid;
	r->known = 0;
}

void requester_deinit(struct requester *r)
{
	free(r->many);
	r->many = NULL;
	r->cred.many = NULL;
	r->cred.n_groups = 0;
}

int requester_capable(struct requester *r, u32 caps)
{
	read_status(&r->cred);
	return (r->cred.caps & caps) != 0;
}
