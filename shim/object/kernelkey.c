// SPDX-License-Identifier: MIT
/*
 * Whether the kernel has a key; see kernelkey.h.
 */
#include <linux/prctl.h>
#include "object/kernelkey.h"

/* semctl SEM_INFO, msgctl MSG_INFO, shmctl SHM_INFO */
#define SEM_INFO 19
#define MSG_INFO 12
#define SHM_INFO 14

/* Objects of the kind in the kernel's namespace; 0 if unknown. */
static int kernel_in_use(enum facility f)
{
	s32 info[20] = {0};

	switch (f) {
	case FAC_SEM: /* seminfo.semusz */
		if (sys_call(__NR_semctl, 0, 0, SEM_INFO, info) < 0)
			return 0;
		return info[7];
	case FAC_MSG: /* msginfo.msgpool */
		if (sys_call(__NR_msgctl, 0, MSG_INFO, info) < 0)
			return 0;
		return info[0];
	case FAC_SHM: /* shm_info.used_ids */
		if (sys_call(__NR_shmctl, 0, SHM_INFO, info) < 0)
			return 0;
		return info[0];
	default:
		return 0;
	}
}

static int kernel_has(enum facility f, s32 key)
{
	long ret;

	if (f == FAC_SEM)
		ret = sys_call(__NR_semget, key, 0, 0);
	else if (f == FAC_MSG)
		ret = sys_call(__NR_msgget, key, 0);
	else
		ret = sys_call(__NR_shmget, key, 0, 0);
	return ret >= 0 || ret == -EACCES || ret == -EINVAL;
}

/* The first column of each line but the first. */
struct scan {
	s32 key;
	int line, in_key, digits, minus, found;
	u32 value;
};

static void scan_char(struct scan *s, char ch)
{
	if (ch == '\n') {
		s->line++;
		s->in_key = 1;
		s->digits = s->minus = 0;
		s->value = 0;
	} else if (s->in_key && ch == '-') {
		s->minus = 1;
	} else if (s->in_key && ch >= '0' && ch <= '9') {
		s->value = s->value * 10 + (u32)(ch - '0');
		s->digits++;
	} else if (s->in_key && s->digits) {
		s->in_key = 0;
		if (s->line && (s->minus ? -s->value : s->value) == (u32)s->key)
			s->found = 1;
	}
}

static int listed(enum facility f, s32 key)
{
	static const char *const files[] = {
		"/proc/sysvipc/sem", "/proc/sysvipc/msg", "/proc/sysvipc/shm"};
	struct scan s = {.key = key};
	char buf[1024];
	long fd = sys_call(__NR_open, files[f], 02000000 /* O_CLOEXEC */, 0);
	long n, i;

	if (fd < 0)
		return 0;
	while ((n = sys_call(__NR_read, fd, buf, sizeof(buf))) > 0)
		for (i = 0; i < n; i++)
			scan_char(&s, buf[i]);
	sys_call(__NR_close, fd);
	return s.found;
}

int kernelkey_taken(struct caller *c, enum facility f, s32 key)
{
	u64 *fresh = &caller_header(c)->kernel_keys_ns[f];
	u64 now;

	if (f > FAC_SHM)
		return 0;
	now = sys_realtime_coarse_ns();
	if (now - atom_load_relaxed(fresh) < KERNELKEY_FRESH_NS)
		return 0;
	if (sys_call(__NR_prctl, PR_GET_SECCOMP))
		return listed(f, key);
	if (!kernel_in_use(f)) {
		atom_store_release(fresh, now);
		return 0;
	}
	return kernel_has(f, key);
}
