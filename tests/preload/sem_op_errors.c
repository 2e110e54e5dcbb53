// SPDX-License-Identifier: MIT
/*
 * sem_op_errors: the order in which semop and semtimedop check for errors.
 *
 * Each call below is wrong in two ways at least; the errno tells which check
 * came first. The order is that of doc/kernel-semantics.md §4.2: timeout
 * readable, number of operations, array readable, id, timeout valid, set,
 * semaphore numbers, permission, and only then the operations themselves.
 */
#include "t.h"

static struct timespec zero = {0, 0};
static struct timespec bad_nsec = {0, 1000000000};
static struct timespec bad_sec = {-1, 0};

static void bad_timeout_pointer(int id)
{
	struct sembuf up = {0, 1, 0};
	struct timespec *none = (void *)t_pages(1, PROT_NONE);
	struct timespec *cliff = (void *)t_cliff();
	struct timespec *half = (void *)((char *)cliff - 8);
	struct timespec *eof = (void *)t_beyond_eof();
	struct timespec *kernel = t_kernel_half();

	t_story("a timeout that cannot be read is found first");
	t_err(semtimedop(id, &up, 1, (void *)-1), EFAULT);
	t_err(semtimedop(id, &up, 1, (void *)1), EFAULT);
	t_err(semtimedop(id, &up, 1, none), EFAULT);
	t_err(semtimedop(id, &up, 1, cliff), EFAULT);
	t_err(semtimedop(id, &up, 1, half), EFAULT);
	t_err(semtimedop(id, &up, 1, eof), EFAULT);
	t_err(semtimedop(id, &up, 1, kernel), EFAULT);
	t_err(semtimedop(id, &up, 501, none), EFAULT);
	t_err(semtimedop(id, &up, 0, none), EFAULT);
	t_err(semtimedop(id, NULL, 1, none), EFAULT);
	t_err(semtimedop(-1, &up, 1, none), EFAULT);
	t_err(semtimedop(id + 1, &up, 1, none), EFAULT);
	cliff[-1] = zero;
	t_eq(semtimedop(id, &up, 1, cliff - 1), 0);
	t_eq(semtimedop(id, &up, 1, NULL), 0);
	t_row(id, GETVAL, "2 0 0 0");
	t_eq(semctl(id, 0, SETVAL, 0), 0);
}

static void number_of_operations(int id)
{
	static struct sembuf many[501];
	size_t huge = (size_t)1 << 32;
	struct sembuf up = {0, 1, 0};

	t_story("the number of operations is found next");
	for (int i = 0; i < 501; i++)
		many[i] = (struct sembuf){0, 0, IPC_NOWAIT};
	t_eq(semop(id, many, 500), 0);
	t_err(semop(id, many, 501), E2BIG);
	t_err(semop(id, many, 501 + huge), E2BIG);
	t_err(semop(id, many, (size_t)-1), E2BIG);
	t_err(semop(id, many, (size_t)(unsigned)-1), E2BIG);
	t_err(semop(id, NULL, 501), E2BIG);
	t_err(semop(-1, many, 501), E2BIG);
	t_err(semop(id + 1, many, 501), E2BIG);
	t_err(semtimedop(id, many, 501, &bad_sec), E2BIG);
	t_err(semop(id, &up, 0), EINVAL);
	t_err(semop(id, NULL, 0), EINVAL);
	t_err(semop(id, (void *)-1, 0), EINVAL);
	t_err(semop(-1, &up, 0), EINVAL);
	t_story("only 32 bits of the number count");
	t_err(semop(id, &up, huge), EINVAL);
	t_err(semop(id, NULL, huge), EINVAL);
	t_eq(semop(id, &up, huge + 1), 0);
	t_row(id, GETVAL, "1 0 0 0");
	t_eq(semctl(id, 0, SETVAL, 0), 0);
}

static void bad_array_pointer(int id)
{
	struct sembuf *none = (void *)t_pages(1, PROT_NONE);
	struct sembuf *read_only = (void *)t_pages(1, PROT_READ);
	char *cliff = t_cliff();
	struct sembuf *last = (void *)(cliff - sizeof(*last));
	struct sembuf *odd = (void *)(cliff - sizeof(*odd) + 1);
	struct sembuf *eof = (void *)t_beyond_eof();
	struct sembuf *kernel = t_kernel_half();

	t_story("then an array that cannot be read");
	t_err(semop(id, NULL, 1), EFAULT);
	t_err(semop(id, (void *)-1, 1), EFAULT);
	t_err(semop(id, (void *)-6, 1), EFAULT);
	t_err(semop(id, (void *)8, 1), EFAULT);
	t_err(semop(id, none, 1), EFAULT);
	t_err(semop(id, eof, 1), EFAULT);
	t_err(semop(id, kernel, 1), EFAULT);
	t_err(semop(id, kernel, 500), EFAULT);
	t_err(semop(id, (void *)cliff, 1), EFAULT);
	t_err(semop(id, odd, 1), EFAULT);
	t_err(semop(-1, NULL, 1), EFAULT);
	t_err(semop(id + 1, NULL, 1), EFAULT);
	t_err(semtimedop(id, NULL, 1, &bad_nsec), EFAULT);
	t_err(semtimedop(id, NULL, 1, &zero), EFAULT);

	t_story("an array that crosses into an unmapped page");
	*last = (struct sembuf){0, 1, 0};
	t_eq(semop(id, last, 1), 0);
	t_err(semop(id, last, 2), EFAULT);
	last[-1] = (struct sembuf){1, 1, 0};
	t_err(semop(id, last - 1, 3), EFAULT);
	t_eq(semop(id, last - 1, 2), 0);
	t_err(semop(-1, last, 2), EFAULT);
	t_err(semop(id, (void *)(cliff - 4096), 500 + 200), E2BIG);
	for (int i = 0; i < 500; i++)
		last[-i] = (struct sembuf){2, 0, 0};
	t_eq(semop(id, last - 499, 500), 0);
	t_err(semop(id, last - 498, 500), EFAULT);

	t_story("a page that can only be read will do");
	t_row(id, GETVAL, "2 1 0 0");
	t_eq(semctl(id, 0, SETALL, VALS(0, 0, 0, 0)), 0);
	t_eq(semop(id, read_only, 1), 0);
}

static void bad_id_and_timeout(int id)
{
	struct sembuf up = {0, 1, 0};
	struct sembuf wrong_num = {4, 1, 0};
	struct sembuf zero_undo = {0, 0, SEM_UNDO};
	struct timespec nsec_minus = {0, -1};
	struct timespec nsec_min = {0, LONG_MIN};
	struct timespec sec_min = {LONG_MIN, 0};
	struct timespec sec_max = {LONG_MAX, 999999999};

	t_story("then the id and the timeout's value");
	t_err(semop(-1, &up, 1), EINVAL);
	t_err(semop(INT_MIN, &up, 1), EINVAL);
	t_err(semop(id + 1, &up, 1), EINVAL);
	t_err(semop(id + 32768, &up, 1), EINVAL);
	t_err(semop(INT_MAX, &up, 1), EINVAL);
	t_err(semop(id + 1, &zero_undo, 1), EINVAL);
	t_err(semop(-1, &zero_undo, 1), EINVAL);
	t_err(semtimedop(id, &up, 1, &bad_nsec), EINVAL);
	t_err(semtimedop(id, &up, 1, &bad_sec), EINVAL);
	t_err(semtimedop(id, &up, 1, &nsec_minus), EINVAL);
	t_err(semtimedop(id, &up, 1, &nsec_min), EINVAL);
	t_err(semtimedop(id, &up, 1, &sec_min), EINVAL);
	t_err(semtimedop(id, &wrong_num, 1, &bad_sec), EINVAL);
	t_row(id, GETVAL, "0 0 0 0");
	t_eq(semtimedop(id, &up, 1, &sec_max), 0);
	t_true(sec_max.tv_sec == LONG_MAX && sec_max.tv_nsec == 999999999);
	t_eq(semctl(id, 0, SETVAL, 0), 0);
}

static void bad_number(int id)
{
	t_story("then the semaphore numbers, before any operation is tried");
	t_err(semop(id, OPS({4, 1, 0})), EFBIG);
	t_err(semop(id, OPS({65535, 1, 0})), EFBIG);
	t_err(semop(id, OPS({4, 0, 0})), EFBIG);
	t_err(semop(id, OPS({4, -1, NW})), EFBIG);
	t_err(semop(id, OPS({0, -1, NW}, {4, 1, 0})), EFBIG);
	t_err(semop(id, OPS({0, -1, 0}, {4, 1, 0})), EFBIG);
	t_err(semop(id, OPS({0, 32767, 0}, {0, 1, 0}, {9, 1, 0})), EFBIG);
	t_err(semtimedop(id, OPS({4, -1, 0}), &zero), EFBIG);
	t_row(id, GETVAL, "0 0 0 0");
}

static void permission(int id)
{
	struct semid_ds ds = t_stat(id);

	t_story("then permission: another user on 0604");
	ds.sem_perm.mode = 0604;
	t_eq(semctl(id, 0, IPC_SET, &ds), 0);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_err(semop(id, OPS({4, 1, 0})), EFBIG);
		t_err(semop(id, OPS({0, 1, 0}, {4, 1, 0})), EFBIG);
		t_err(semop(id, OPS({0, 1, 0})), EACCES);
		t_err(semop(id, OPS({0, -1, 0})), EACCES);
		t_err(semop(id, OPS({0, -1, NW})), EACCES);
		t_err(semop(id, OPS({0, 32767, 0}, {0, 1, 0})), EACCES);
		t_err(semop(id, OPS({0, 0, 0}, {0, 1, 0})), EACCES);
		t_eq(semop(id, OPS({0, 0, 0}, {3, 0, 0})), 0);
		t_err(semtimedop(id, OPS({0, 1, 0}), &bad_sec), EINVAL);
		t_err(semop(id, NULL, 1), EFAULT);
	}
	t_story("write without read: 0602");
	ds.sem_perm.mode = 0602;
	t_eq(semctl(id, 0, IPC_SET, &ds), 0);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_err(semop(id, OPS({0, 0, 0})), EACCES);
		t_err(semop(id, OPS({0, 0, 0}, {1, 0, 0})), EACCES);
		t_eq(semop(id, OPS({0, 0, 0}, {0, 1, 0})), 0);
		t_eq(semop(id, OPS({0, -1, 0}, {0, 0, 0})), 0);
		t_err(semctl(id, 0, GETVAL), EACCES);
	}
	t_story("nothing: 0600");
	ds.sem_perm.mode = 0600;
	t_eq(semctl(id, 0, IPC_SET, &ds), 0);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_err(semop(id, OPS({0, 0, 0})), EACCES);
		t_err(semop(id, OPS({0, 1, 0})), EACCES);
		t_err(semop(id, OPS({7, 0, 0})), EFBIG);
		t_err(semop(id + 1, OPS({7, 0, 0})), EINVAL);
	}
	t_row(id, GETVAL, "0 0 0 0");
}

static void operations(int id)
{
	struct timespec ms = {0, 1000000};

	t_story("at last the operations");
	t_err(semop(id, OPS({0, -1, NW})), EAGAIN);
	t_err(semop(id, OPS({0, -32768, NW})), EAGAIN);
	t_err(semtimedop(id, OPS({0, -1, 0}), &zero), EAGAIN);
	t_err(semtimedop(id, OPS({0, -1, NW}), NULL), EAGAIN);
	t_err(semtimedop(id, OPS({0, -1, 0}), &ms), EAGAIN);
	t_true(ms.tv_sec == 0 && ms.tv_nsec == 1000000);
	t_err(semop(id, OPS({0, 32767, 0}, {0, 1, 0})), ERANGE);
	t_eq(semop(id, OPS({0, 1, 0})), 0);
	t_err(semop(id, OPS({0, 0, NW})), EAGAIN);
	t_err(semtimedop(id, OPS({0, 0, 0}), &zero), EAGAIN);
	t_err(semop(id, OPS({0, 32767, 0})), ERANGE);
	t_story("flag bits that mean nothing");
	t_eq(semop(id, OPS({0, 1, 0x0fff & ~IPC_NOWAIT})), 0);
	t_eq(semop(id, OPS({0, -2, (short)0xe7ff})), 0);
	t_row(id, GETVAL, "0 0 0 0");
}

static void removed(int id)
{
	t_story("a removed set");
	t_rm(id);
	t_err(semop(id, OPS({0, 1, 0})), EINVAL);
	t_err(semop(id, OPS({9, 1, 0})), EINVAL);
	t_err(semop(id, OPS({0, 1, SEM_UNDO})), EINVAL);
	t_err(semop(id, NULL, 1), EFAULT);
	t_err(semop(id, NULL, 501), E2BIG);
}

int main(void)
{
	int id;

	t_begin();
	t_story("errors before there is any set");
	t_err(semop(0, OPS({0, 1, 0})), EINVAL);
	t_err(semop(0, NULL, 1), EFAULT);
	t_err(semtimedop(0, NULL, 1, (void *)-1), EFAULT);
	id = t_set(4, NULL);
	bad_timeout_pointer(id);
	number_of_operations(id);
	bad_array_pointer(id);
	bad_id_and_timeout(id);
	bad_number(id);
	permission(id);
	operations(id);
	removed(id);
	return t_end();
}
