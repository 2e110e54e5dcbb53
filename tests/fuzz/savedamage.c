// SPDX-License-Identifier: MIT
/*
 * See savedamage.h.
 */
#include "savedamage.h"

#include <string.h>

#include "tool/savefile.h"

static size_t choose_place(struct rng *r, const char *bytes, size_t len)
{
	size_t at = sizeof(struct save_head), n = 0, chosen = 0;
	struct save_record rec;

	if (!rng_below(r, 4))
		return rng_below(r, len / 4) * 4;
	while (at + sizeof(rec) <= len) {
		memcpy(&rec, bytes + at, sizeof(rec));
		if (!rng_below(r, ++n))
			chosen = at + 4 * rng_below(r, 30);
		if (rec.size > len)
			break;
		at += sizeof(rec) + ((rec.size + 7) & ~7ULL);
	}
	return chosen + 4 <= len ? chosen : 0;
}

size_t savefile_damage(struct rng *r, char *bytes, size_t len)
{
	static const uint32_t odd[] = {
		0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 4096, 65536};
	size_t at = choose_place(r, bytes, len), n;
	uint32_t v;

	memcpy(&v, bytes + at, 4);
	n = rng_below(r, 4);
	v = n == 0   ? v ^ 1u << rng_below(r, 32)
	    : n == 1 ? v + 1
	    : n == 2 ? odd[rng_below(r, 7)]
		     : (uint32_t)rng_next(r);
	memcpy(bytes + at, &v, 4);
	return at;
}

void savefile_sum(char *bytes, size_t len)
{
	uint64_t sum;

	if (len <= 64)
		return;
	sum = save_sum(SAVE_SUM_START, bytes, len - 8);
	memcpy(bytes + len - 8, &sum, 8);
}
