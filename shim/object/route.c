// SPDX-License-Identifier: MIT
/*
 * The list of facilities that are served; see route.h.
 */
#include "object/route.h"

static int word_is(const char *s, size_t n, const char *word)
{
	size_t i;

	for (i = 0; i < n && word[i]; i++)
		if (s[i] != word[i])
			return 0;
	return i == n && !word[i];
}

int route_find(const char *word, size_t n)
{
	static const char *const names[N_FAC] = {"sem", "msg", "shm", "mq"};
	int f;

	for (f = 0; f < N_FAC; f++)
		if (word_is(word, n, names[f]))
			return f;
	return -1;
}

/* The names without and with a minus before them. */
static void parse(const char *s, u32 *ret_plus, u32 *ret_minus)
{
	size_t n;
	int f;

	*ret_plus = *ret_minus = 0;
	while (s && *s) {
		int not = *s == '-';

		s += not ;
		for (n = 0; s[n] && s[n] != ','; n++)
			;
		f = route_find(s, n);
		if (f >= 0)
			*(not ? ret_minus : ret_plus) |= 1u << f;
		s += n + (s[n] == ',');
	}
}

u32 route_parse(const char *s)
{
	u32 plus, minus;

	parse(s, &plus, &minus);
	return (plus ? plus : 0xf) & ~minus;
}

u32 route_named(const char *s)
{
	u32 plus, minus;

	parse(s, &plus, &minus);
	return plus;
}
