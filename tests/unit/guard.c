// SPDX-License-Identifier: MIT
/*
 * EFAULT without a fault handler.
 */
#include <sys/mman.h>
#include "registry/guard.h"
#include "unit.h"

TestSuite(guard, .init = unit_init, .timeout = 30);

#define PAGE 4096

static char *two_pages(int second)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(p + PAGE, PAGE, second);
	return p;
}

Test(guard, low_high_and_wrapping_addresses)
{
	cr_assert_eq(guard_readable(&me, NULL, 1), -EFAULT);
	cr_assert_eq(guard_readable(&me, (void *)8, 8), -EFAULT);
	cr_assert_eq(guard_readable(&me, (void *)~7UL, 16), -EFAULT);
	cr_assert_eq(guard_readable(&me, (void *)(1UL << 48), 8), -EFAULT);
	cr_assert_eq(guard_target(&me, NULL, 1), -EFAULT);
	cr_assert_eq(guard_readable(&me, NULL, 0), 0);
}

Test(guard, a_range_into_a_forbidden_page)
{
	char *p = two_pages(PROT_NONE);

	cr_assert_eq(guard_readable(&me, p, PAGE), 0);
	cr_assert_eq(guard_readable(&me, p + PAGE - 6, 6), 0);
	cr_assert_eq(guard_readable(&me, p + PAGE - 6, 7), -EFAULT);
	cr_assert_eq(guard_readable(&me, p + PAGE, 1), -EFAULT);
	cr_assert_eq(guard_target(&me, p, PAGE), 0);
	cr_assert_eq(guard_target(&me, p, PAGE + 1), -EFAULT);
}

Test(guard, a_read_only_page_can_be_read)
{
	char *p = two_pages(PROT_READ);

	cr_assert_eq(guard_readable(&me, p + PAGE, PAGE), 0);
	cr_assert_eq(guard_target(&me, p + PAGE, 1), -EFAULT);
}

Test(guard, the_stack_is_known)
{
	struct sop sops[40] = {{0}};

	cr_assert_eq(guard_readable(&me, sops, sizeof(sops)), 0);
	cr_assert_eq(guard_readable(&me, sops, sizeof(sops)), 0);
}

Test(guard, nothing_is_remembered_of_what_failed)
{
	char *p = two_pages(PROT_NONE);

	cr_assert_eq(guard_readable(&me, p + PAGE, 4), -EFAULT);
	mprotect(p + PAGE, PAGE, PROT_READ);
	cr_assert_eq(guard_readable(&me, p + PAGE, 4), 0);
}

/* n pages, the last of them with this protection. */
static char *pages(size_t n, int last)
{
	char *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(p + (n - 1) * PAGE, PAGE, last);
	return p;
}

Test(guard, long_ranges)
{
	char *p = pages(16, PROT_READ), *q = pages(32, PROT_NONE);
	int i;

	for (i = 0; i < 3; i++) {
		cr_assert_eq(guard_source(&me, p + 5, 15 * PAGE), 0);
		cr_assert_eq(guard_source(&me, p, 16 * PAGE), 0);
		cr_assert_eq(guard_target(&me, p, 15 * PAGE), 0);
		cr_assert_eq(guard_target(&me, p + 1, 15 * PAGE), -EFAULT);
		cr_assert_eq(guard_source(&me, q, 31 * PAGE), 0);
		cr_assert_eq(guard_target(&me, q, 31 * PAGE), 0);
		cr_assert_eq(guard_target(&me, q, 31 * PAGE + 1), -EFAULT);
		cr_assert_eq(guard_source(&me, q + PAGE, 31 * PAGE), -EFAULT);
	}
}

Test(guard, semop_with_a_bad_pointer)
{
	char *p = two_pages(PROT_NONE);
	int id = sem_get(&me, 0, 1, 0600);

	cr_assert_eq(sem_op(&me, id, NULL, 1, NULL), -EFAULT);
	cr_assert_eq(sem_op(&me, id, (void *)(p + PAGE - 2), 1, NULL), -EFAULT);
	cr_assert_eq(sem_op(&me, id, (void *)(p + PAGE), 3, NULL), -EFAULT);
	cr_assert_eq(sem_op(&me, id, (void *)(p + PAGE - 6), 1, NULL), 0);
	cr_assert_eq(sem_op(&me, id, (void *)p, 1, (void *)8), -EFAULT);
}
