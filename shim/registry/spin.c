// SPDX-License-Identifier: MIT
/*
 * Looking before sleeping; see spin.h.
 */
#include "registry/spin.h"
#include "arch.h"

/* About 60 us at 3 GHz: a wake-up of an idle CPU takes 25 to 50 us here
 * (doc/measurements.md), and the one who is woken needs a little, too. */
#define SPIN_CYCLES 180000u
/* Between two pauses: somebody else had the CPU. A pause takes about a hundred
 * cycles, an interrupt some thousand. Arbitrary. */
#define PREEMPTED_CYCLES 60000u

#define SCORE_MAX 15u
#define SCORE_GOOD 12u
#define FIND_ADDS 2u
#define PREEMPTED_TAKES 4u
#define BACKOFF_MAX 6u

#define SCORE(hint) ((hint)&15u)
#define BACKOFF(hint) ((hint) >> 4 & 15u)
#define COUNT(hint) ((hint) >> 8)
#define HINT(score, backoff, count) \
	((u16)((score) | (backoff) << 4 | (count) << 8))

int spin_pays(u16 hint)
{
	return SCORE(hint) >= SCORE_GOOD;
}

/* At score 0 the hint's count says how many waits go by without a spin. */
int spin_begin(struct spin *s, u16 hint)
{
	if (s->result != SPIN_NONE)
		return 0;
	if (s->spinning)
		return 1;
	if (!SCORE(hint) && COUNT(hint)) {
		s->result = SPIN_DECLINED;
		return 0;
	}
	s->spinning = 1;
	s->last = arch_cycles();
	s->end = s->last + SPIN_CYCLES;
	return 1;
}

void spin_resume(struct spin *s)
{
	s->last = arch_cycles();
}

/* A pause that took as long as a time slice was one: somebody else wants the
 * CPU, perhaps the very one who is waited for. */
int spin_on(struct spin *s)
{
	u64 now;

	arch_pause();
	now = arch_cycles();
	if (now - s->last > PREEMPTED_CYCLES)
		s->result = SPIN_PREEMPTED;
	else if (now >= s->end)
		s->result = SPIN_FAILED;
	s->last = now;
	s->spinning = s->result == SPIN_NONE;
	return s->spinning;
}

void spin_found(struct spin *s)
{
	if (!s->spinning)
		return;
	s->spinning = 0;
	s->result = SPIN_FOUND;
}

/* Under the object's lock, since two threads that note at once would lose one;
 * the readers take any value. At score 0 the rest until the next spin is
 * doubled. */
void spin_note(u16 *hint, enum spin_result result)
{
	u32 old = atom_load_relaxed(hint), score = SCORE(old);
	u32 backoff = BACKOFF(old), count = COUNT(old), lost = 1, new;

	switch (result) {
	case SPIN_NONE:
		return;
	case SPIN_DECLINED:
		count -= count > 0;
		break;
	case SPIN_FOUND:
		score = score + FIND_ADDS < SCORE_MAX ? score + FIND_ADDS
						      : SCORE_MAX;
		backoff = 0;
		break;
	case SPIN_PREEMPTED:
		lost = PREEMPTED_TAKES;
		/* fallthrough */
	case SPIN_FAILED:
		score = score > lost ? score - lost : 0;
		if (score)
			break;
		count = (4u << backoff) - 1;
		backoff += backoff < BACKOFF_MAX;
		break;
	}
	new = HINT(score, backoff, count);
	if (new != old)
		atom_store_release(hint, new);
}
