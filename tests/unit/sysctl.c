// SPDX-License-Identifier: MIT
/*
 * The control files as text: random writes and reads on the kernel's files, in
 * an IPC namespace of its own, and on the registry's must give the same bytes,
 * counts and errors. And what the kernel cannot be asked for here.
 */
#include <fcntl.h>
#include <sched.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "object/limits.h"
#include "object/perm.h"
#include "object/sysctl.h"
#include "unit.h"

TestSuite(sysctl, .init = unit_init, .fini = unit_fini, .timeout = 120);
TestSuite(sysctl_extended, .init = unit_init_extended, .fini = unit_fini,
	.timeout = 60);

static s64 put(const char *path, const char *text)
{
	return sysctl_write(
		&me, sysctl_find(path), 0, text, __builtin_strlen(text));
}

static const char *text_of(const char *path)
{
	static char text[SYSCTL_TEXT_MAX + 1];

	text[sysctl_text(&me, sysctl_find(path), text)] = 0;
	return text;
}

Test(sysctl, every_file_reads_as_the_kernels_default)
{
	static const struct {
		const char *path, *text;
	} defaults[] = {
		{"kernel/sem", "32000\t1024000000\t500\t32000\n"},
		{"kernel/msgmax", "8192\n"},
		{"kernel/msgmnb", "16384\n"},
		{"kernel/msgmni", "32000\n"},
		{"kernel/auto_msgmni", "0\n"},
		{"kernel/shmmax", "18446744073692774399\n"},
		{"kernel/shmall", "18446744073692774399\n"},
		{"kernel/shmmni", "4096\n"},
		{"kernel/shm_rmid_forced", "0\n"},
		{"kernel/sem_next_id", "-1\n"},
		{"kernel/msg_next_id", "-1\n"},
		{"kernel/shm_next_id", "-1\n"},
		{"fs/mqueue/queues_max", "256\n"},
		{"fs/mqueue/msg_max", "10\n"},
		{"fs/mqueue/msgsize_max", "8192\n"},
		{"fs/mqueue/msg_default", "10\n"},
		{"fs/mqueue/msgsize_default", "8192\n"},
	};
	u32 i;

	cr_assert_eq(sizeof(defaults) / sizeof(defaults[0]), n_sysctl_files);
	for (i = 0; i < n_sysctl_files; i++)
		cr_expect_str_eq(text_of(defaults[i].path), defaults[i].text);
	cr_expect_null(sysctl_find("kernel/semx"));
	cr_expect_null(sysctl_find("kernel/"));
}

Test(sysctl, next_id_is_used_once_and_reads_unset_again)
{
	u32 idx;
	s32 id;

	cr_assert_eq(put("kernel/sem_next_id", "98804\n"), 6);
	cr_expect_str_eq(text_of("kernel/sem_next_id"), "98804\n");
	cr_assert_eq(ids_alloc_locked(&me, FAC_SEM, &idx, &id), 0);
	journal_commit(&me);
	cr_expect_eq(id, 98804);
	cr_expect_str_eq(text_of("kernel/sem_next_id"), "-1\n");
	cr_expect_str_eq(text_of("kernel/msg_next_id"), "-1\n");
	ids_free_locked(&me, FAC_SEM, idx);
	journal_commit(&me);
}

Test(sysctl_extended, mni_goes_up_to_the_number_of_idx)
{
	cr_expect_eq(put("kernel/shmmni", "16777216"), 8);
	cr_expect_eq(put("kernel/shmmni", "16777217"), -EINVAL);
	cr_expect_eq(put("kernel/sem", "1 2 3 16777216"), 14);
	cr_expect_eq(put("kernel/sem", "4 5 6 16777217"), -ERANGE);
	cr_expect_str_eq(text_of("kernel/sem"), "4\t5\t6\t16777216\n");
}

static void be(u32 euid, u32 caps)
{
	me_cred = (struct cred){.euid = euid, .egid = euid, .caps = caps};
}

Test(sysctl, the_owner_writes_and_others_read)
{
	const struct sysctl_file *f = sysctl_find("kernel/msgmax");

	/* The file's, whatever is written in it. */
	caller_header(&me)->owner = 1001;
	me.region.owner = 1000;
	be(1000, 0);
	cr_expect_eq(sysctl_access(&me, f, PERM_R | PERM_W), 0);
	cr_expect_eq(sysctl_write(&me, f, 0, "5", 1), 1);
	be(0, 0);
	cr_expect_eq(sysctl_access(&me, f, PERM_W), 0);
	be(1001, 0);
	cr_expect_eq(sysctl_access(&me, f, PERM_R), 0);
	cr_expect_eq(sysctl_access(&me, f, PERM_W), -EACCES);
	cr_expect_eq(sysctl_write(&me, f, 0, "6", 1), -EPERM);
	cr_expect_str_eq(text_of("kernel/msgmax"), "5\n");
}

/* ---- against the kernel ---- */

/* A piece of a number, or of what is none. */
static const char *const pieces[] = {"0", "1", "9", "10", "127", "128", "256",
	"32767", "32768", "32769", "65536", "65537", "16777216", "16777217",
	"2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295",
	"4294967296", "18446744073709551615", "18446744073709551616", "-", "-1",
	"-0", "+1", "0x", "0x10", "0XfF", "010", "08", "0x1ffffffffffffffff",
	"00000000000000000007", "000000000000000000007", "-0000000000000000001",
	"-00000000000000000001", "x", "1x", "1,2", "1.5", "1e3", "0b1", "--1"};
static const char *const gaps[] = {" ", "\t", "\n", " \t\n ", "\v", "\f", "\r",
	"\xa0", "", "  ", "\1", "\0"};

static size_t random_text(char *buf, size_t cap)
{
	size_t len = 0, n = unit_random() % 7, i;

	if (unit_random() % 40 == 0)
		for (i = 0; i < 4090 + unit_random() % 10 && len < cap; i++)
			buf[len++] = ' ';
	while (n-- && len + 64 < cap) {
		const char *p = pieces[unit_random() %
				       (sizeof(pieces) / sizeof(*pieces))];
		u32 g = unit_random() % (3 * sizeof(gaps) / sizeof(*gaps));
		size_t size;

		len += (size_t)sprintf(buf + len, "%s", p);
		if (g >= sizeof(gaps) / sizeof(*gaps))
			g = 0;
		size = g == sizeof(gaps) / sizeof(*gaps) - 1
			       ? 1
			       : __builtin_strlen(gaps[g]);
		__builtin_memcpy(buf + len, gaps[g], size);
		len += size;
	}
	if (unit_random() % 20 == 0 && len < cap)
		buf[len++] = (char)unit_random();
	return len;
}

/* Both worlds: the same number of bytes or error, and the same bytes. */
static void compare_read(int fd, const struct sysctl_file *f, s64 at, size_t n)
{
	char kernel[256], ours[256];
	s64 want = pread(fd, kernel, n, at), got;

	if (want < 0)
		want = -errno;
	got = sysctl_read(&me, f, at, ours, n);
	cr_assert_eq(got, want, "%s: read of %zu at %ld: %ld, kernel %ld",
		f->path, n, (long)at, (long)got, (long)want);
	cr_assert(want <= 0 || !memcmp(kernel, ours, (size_t)want),
		"%s: '%.*s', kernel '%.*s'", f->path, (int)got, ours, (int)want,
		kernel);
}

static void compare_write(
	int fd, const struct sysctl_file *f, s64 at, const char *text, size_t n)
{
	s64 want = pwrite(fd, text, n, at), got;

	if (want < 0)
		want = -errno;
	got = sysctl_write(&me, f, at, text, n);
	cr_assert_eq(got, want, "%s: write of '%.*s' (%zu): %ld, kernel %ld",
		f->path, (int)(n < 200 ? n : 200), text, n, (long)got,
		(long)want);
}

static int open_kernel(const struct sysctl_file *f)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/sys/%s", f->path);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* auto_msgmni and random_text give every value; what lies between is found by
 * chance. */
#define ROUNDS 60000

Test(sysctl, random_writes_and_reads_equal_the_kernels)
{
	static char text[8192], big[4 << 20];
	int fds[32], i;

	if (unshare(CLONE_NEWIPC))
		cr_skip("no IPC namespace: %s", strerror(errno));
	for (u32 f = 0; f < n_sysctl_files; f++) {
		fds[f] = open_kernel(&sysctl_files[f]);
		cr_assert_geq(fds[f], 0, "%s", sysctl_files[f].path);
		compare_read(fds[f], &sysctl_files[f], 0, 256);
		compare_write(fds[f], &sysctl_files[f], 0, big, sizeof(big));
		compare_write(
			fds[f], &sysctl_files[f], 0, big, sizeof(big) - 1);
	}
	for (i = 0; i < ROUNDS; i++) {
		u32 f = unit_random() % n_sysctl_files;
		s64 at = unit_random() % 8 ? 0 : unit_random() % 40;

		if (unit_random() % 3) {
			size_t n = random_text(text, sizeof(text));

			compare_write(fds[f], &sysctl_files[f], at, text, n);
		}
		compare_read(fds[f], &sysctl_files[f], at, unit_random() % 256);
		compare_read(fds[f], &sysctl_files[f], 0, 256);
	}
}
