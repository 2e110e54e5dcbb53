// SPDX-License-Identifier: MIT
/*
 * Which file a path names, and its text; see proctext.h.
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <linux/resource.h>
#include "base/str.h"
#include "entry/file/proctext.h"
#include "render/render.h"

/* Of rows, in memory of its own: stacks may be small. Arbitrary. */
#define TEXT_STEP 16384

const char *const proc_sysvipc_names[PROC_SYSVIPC] = {"sem", "msg", "shm"};

int proc_find(const char *path)
{
	const struct sysctl_file *f;
	const char *name = str_after(path, "/proc/sysvipc/");
	int i;

	if (name) {
		for (i = 0; i < PROC_SYSVIPC; i++)
			if (str_equal(name, proc_sysvipc_names[i]))
				return i;
		return -1;
	}
	name = str_after(path, "/proc/sys/");
	f = name ? sysctl_find(name) : NULL;
	return f ? PROC_SYSVIPC + (int)(f - sysctl_files) : -1;
}

void proc_path(int which, char path[PROC_PATH_CAP])
{
	const char *dir =
		which < PROC_SYSVIPC ? "/proc/sysvipc/" : "/proc/sys/";
	size_t n = str_add(path, PROC_PATH_CAP, 0, dir);

	str_add(path, PROC_PATH_CAP, n,
		which < PROC_SYSVIPC ? proc_sysvipc_names[which]
				     : proc_sysctl(which)->path);
}

enum facility proc_facility(int which)
{
	return which < PROC_SYSVIPC ? (enum facility)which
				    : proc_sysctl(which)->facility;
}

/* SIGXFSZ would kill an application that knows nothing of this file. */
static u64 file_size_limit(void)
{
	u64 limit[2] = {~0ULL, 0};

	sys_call(__NR_prlimit64, 0, RLIMIT_FSIZE, NULL, limit);
	return limit[0];
}

/* Text to the end of a memfd that has *size bytes: 0 or -errno. The offset
 * stays. */
static int append(int fd, const char *text, size_t n, u64 *size, u64 limit)
{
	long done;

	if (*size + n > limit)
		return -EFBIG;
	for (; n; n -= (size_t)done, text += done, *size += (u64)done) {
		done = sys_call(__NR_pwrite64, fd, text, n, *size);
		if (done == -EINTR)
			done = 0;
		if (done < 0)
			return (int)done;
	}
	return 0;
}

static int append_rows(struct caller *c, int fd, enum facility f, u32 idx,
	u64 *size, u64 limit)
{
	char *text = sys_mmap_private(TEXT_STEP);
	s64 n = 1;
	int err = 0;

	if ((unsigned long)text > -4096UL)
		return -ENOMEM;
	while (!err && n > 0) {
		n = render_rows(c, f, &idx, text, TEXT_STEP);
		err = n > 0 ? append(fd, text, (size_t)n, size, limit) : (int)n;
	}
	sys_call(__NR_munmap, text, TEXT_STEP);
	return err;
}

static int append_all(
	struct caller *c, int fd, enum facility f, u64 *size, u64 limit)
{
	const char *head = render_head(f);
	int err = append(fd, head, str_len(head), size, limit);

	return err ? err : append_rows(c, fd, f, 0, size, limit);
}

/* The second number of the row that text ends with, n bytes: the id. */
static u32 last_id(const char *text, long n)
{
	long at = n - 1;
	u32 id = 0;

	while (at > 0 && text[at - 1] != '\n')
		at--;
	while (at < n && text[at] == ' ')
		at++;
	while (at < n && text[at] != ' ')
		at++;
	while (at < n && text[at] == ' ')
		at++;
	for (; at < n && text[at] >= '0' && text[at] <= '9'; at++)
		id = id * 10 + (u32)(text[at] - '0');
	return id;
}

int proc_extend(struct caller *c, int fd, int which, u64 size)
{
	enum facility f = proc_facility(which);
	u64 want = size < RENDER_ROW_MAX ? size : RENDER_ROW_MAX;
	char text[RENDER_ROW_MAX];
	u32 idx = 0;
	long n;

	n = sys_call(__NR_pread64, fd, text, want, size - want);
	if (n != (long)want || !n)
		return 0;
	if (size > str_len(render_head(f)))
		idx = (last_id(text, n) & ids_mask(c)) + 1;
	return append_rows(c, fd, f, idx, &size, file_size_limit());
}

int proc_snapshot(struct caller *c, int fd, int which)
{
	u64 limit = file_size_limit(), size = 0;
	char text[SYSCTL_TEXT_MAX];
	size_t n;
	int err;

	if (which < PROC_SYSVIPC) {
		err = append_all(c, fd, proc_facility(which), &size, limit);
	} else {
		n = sysctl_text(c, proc_sysctl(which), text);
		err = append(fd, text, n, &size, limit);
	}
	if (!err)
		err = (int)sys_call(__NR_ftruncate, fd, size);
	return err;
}
