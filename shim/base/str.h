// SPDX-License-Identifier: MIT
/*
 * Strings and numbers as text, where there is no libc.
 */
#ifndef IPCLIFT_BASE_STR_H
#define IPCLIFT_BASE_STR_H

#include <stddef.h>
#include <stdint.h>

/* strlen(3); 1 if both are the same. */
size_t str_len(const char *s);
int str_equal(const char *a, const char *b);
/* What follows head in s, or NULL if s does not begin with it. */
const char *str_after(const char *s, const char *head);
/* The decimal number at *at, which is advanced past it; -1 if there is no
 * digit, or if it is larger than an int. */
int str_number(const char **at);
/* Append s to buf (capacity cap, zero-terminated) and return the new length;
 * what does not fit is cut. str_add_u64 the same for a decimal number. */
size_t str_add(char *buf, size_t cap, size_t len, const char *s);
size_t str_add_u64(char *buf, size_t cap, size_t len, uint64_t v);

/* What an error number (positive) means, in the words of strerror(3): those
 * that opening and mapping files give, "error" for others. */
const char *str_error(int error);

#endif
