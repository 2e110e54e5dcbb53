// SPDX-License-Identifier: MIT
/*
 * Prefixes and numbers in text (base/str.h), at the edges where paths and the
 * files of /proc are read with them.
 */
#include <limits.h>
#include "base/str.h"
#include "unit.h"

Test(str, what_follows_a_head_or_nothing)
{
	const char *path = "/proc/12/fd/3";

	cr_expect_eq(str_after(path, "/proc/"), path + 6);
	cr_expect_eq(str_after(path, ""), path);
	cr_expect_eq(str_after(path, path), path + 13, "the whole of it");
	cr_expect_null(str_after(path, "/proc/self"));
	cr_expect_null(str_after("/proc", "/proc/"), "s ends within it");
	cr_expect_null(str_after("", "/"));
}

static int number(const char *s, int n_read)
{
	const char *at = s;
	int n = str_number(&at);

	cr_expect_eq(at - s, n_read, "%s: %td read", s, at - s);
	return n;
}

Test(str, a_number_up_to_what_an_int_holds)
{
	cr_expect_eq(number("0", 1), 0);
	cr_expect_eq(number("12/fd", 2), 12);
	cr_expect_eq(number("007", 3), 7);
	cr_expect_eq(number("2147483647", 10), INT_MAX);
	cr_expect_eq(number("2147483648", 10), -1);
	cr_expect_eq(number("99999999999999999999x", 20), -1);
	cr_expect_eq(number("", 0), -1);
	cr_expect_eq(number("-1", 0), -1);
	cr_expect_eq(number(" 1", 0), -1);
}
