// SPDX-License-Identifier: MIT
/*
 * Rows and status lines against lines captured from the kernel, the edges of
 * the columns, and the listing of a sparse table in small pieces.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "object/limits.h"
#include "render/render.h"
#include "unit.h"

TestSuite(render, .init = unit_init, .fini = unit_fini, .timeout = 60);
TestSuite(render_extended, .init = unit_init_extended, .fini = unit_fini,
	.timeout = 60);

static char line[RENDER_ROW_MAX + 1];

Test(render, heads_have_the_kernels_length)
{
	cr_expect_eq(__builtin_strlen(render_head(FAC_SEM)), 85);
	cr_expect_eq(__builtin_strlen(render_head(FAC_MSG)), 120);
	cr_expect_eq(__builtin_strlen(render_head(FAC_SHM)), 170);
}

Test(render, a_set_as_captured)
{
	struct sem_stat st = {.key = 2147483647,
		.id = 2,
		.mode = 0600,
		.nsems = 1,
		.uid = 4294967294u,
		.gid = 1000000,
		.ctime = 1795244270};

	line[render_sem_row(&st, line)] = 0;
	cr_expect_str_eq(line,
		"2147483647          2   600          1 4294967294 1000000"
		"     0     0          0 1795244270\n");
}

Test(render, a_queue_as_captured)
{
	struct msg_stat st = {.key = -2147483647,
		.mode = 0622,
		.cbytes = 123,
		.qnum = 2,
		.lspid = 19800,
		.stime = 1795244270,
		.ctime = 1795244270};

	line[render_msg_row(&st, line)] = 0;
	cr_expect_str_eq(line,
		"-2147483647          0   622         123          2 19800     "
		"0"
		"     0     0     0     0 1795244270          0 1795244270\n");
}

Test(render, a_removed_segment_as_captured)
{
	struct shm_stat st = {.id = 1,
		.mode = 01666,
		.size = 1048576,
		.cpid = 19800,
		.lpid = 19800,
		.nattch = 1,
		.atime = 1795244270,
		.ctime = 1795244270};

	line[render_shm_row(&st, 0, 0, line)] = 0;
	cr_expect_str_eq(line,
		"         0          1  1666               1048576 19800 19800"
		"      1     0     0     0     0 1795244270          0"
		" 1795244270                     0                     0\n");
}

Test(render, the_widest_row_fits)
{
	struct shm_stat st;

	memset(&st, 0xff, sizeof(st));
	st.key = st.id = -2147483647 - 1;
	cr_expect_lt(render_shm_row(&st, ~0ULL, ~0ULL, line), RENDER_ROW_MAX);
}

Test(render, status_lines_as_captured)
{
	struct mq_status st = {.bytes = 5, .signo = 34, .notify_pid = 32744};

	line[render_mq_line(&st, line)] = 0;
	cr_expect_str_eq(line, "QSIZE:5          NOTIFY:0     SIGNO:34    "
			       "NOTIFY_PID:32744 \n");
	st = (struct mq_status){0};
	cr_expect_eq(render_mq_line(&st, line), 60);
	st = (struct mq_status){~0ULL, ~0u, ~0u, ~0u};
	cr_expect_eq(render_mq_line(&st, line), 79);
}

/* All rows in pieces of cap bytes; how many ids there are, into ids. */
static u32 list(size_t cap, s32 *ids, u32 most)
{
	char *buf = malloc(cap), *p;
	u32 idx = 0, n = 0;
	s64 len;

	while ((len = render_rows(&me, FAC_SEM, &idx, buf, cap)) > 0)
		for (p = buf; p < buf + len; p = strchr(p, '\n') + 1) {
			cr_assert_lt(n, most);
			ids[n++] = atoi(p + 11);
		}
	cr_assert_eq(len, 0);
	free(buf);
	return n;
}

/* As the order example of doc/kernel-semantics.md §8, far ids included. */
static void request_id(s32 id)
{
	caller_header(&me)->ids[FAC_SEM].next_id = id;
	cr_assert_eq(sem_get(&me, 0, 1, 0600), id);
}

Test(render, rows_come_in_the_order_of_idx)
{
	static const s32 want[] = {0, 500, 98805, 2147450000, 32767};
	s32 got[8];
	u32 i;

	request_id(32767);
	request_id(98805);
	request_id(0);
	request_id(2147450000);
	request_id(500);
	cr_assert_eq(list(65536, got, 8), 5);
	for (i = 0; i < 5; i++)
		cr_expect_eq(got[i], want[i]);
	cr_assert_eq(list(RENDER_ROW_MAX, got, 8), 5);
	for (i = 0; i < 5; i++) {
		cr_expect_eq(got[i], want[i]);
		cr_assert_eq(sem_remove(&me, want[i]), 0);
	}
	cr_expect_eq(list(4096, got, 8), 0);
}

/* Pages of the file, in units of 512 bytes. */
static long blocks(void)
{
	struct stat st;

	cr_assert_eq(fstat(unit_file(), &st), 0);
	return st.st_blocks;
}

Test(render_extended, a_far_id_costs_no_memory_between)
{
	long before;
	s32 got[4];

	request_id(1);
	request_id(15777204);
	before = blocks();
	cr_assert_eq(list(4096, got, 4), 2);
	cr_expect_eq(got[0], 1);
	cr_expect_eq(got[1], 15777204);
	cr_expect_eq(sem_remove(&me, 15777204), 0);
	cr_expect_eq(list(4096, got, 4), 1);
	cr_expect_lt(blocks() - before, 64);
}
