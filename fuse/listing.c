// SPDX-License-Identifier: MIT
/*
 * Shared texts; see listing.h.
 */
#include "listing.h"

#include "escape.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "content.h"
#include "render/render.h"

/* Of one facility; its lock guards all of it, but not the making. */
static struct share {
	pthread_mutex_t lock;
	pthread_cond_t made;
	int making;
	u64 begun, ended; /* texts */
	u32 askers;	  /* who have not got theirs */
	struct listing *latest;
	int latest_err;
} shares[] = {
	[FAC_SEM] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER},
	[FAC_MSG] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER},
	[FAC_SHM] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER},
};

struct filling {
	struct caller *c;
	enum facility fac;
	struct listing *l;
};

static int fill(void *arg)
{
	struct filling *f = arg;

	return content_sysvipc(f->c, f->fac, &f->l->next_idx, &f->l->text);
}

static struct listing *make(struct caller *c, enum facility fac, int *ret_err)
{
	struct listing *l = calloc(1, sizeof(*l));

	*ret_err = -ENOMEM;
	if (l) {
		text_print(&l->text, "%s", render_head(fac));
		*ret_err = escape_guard(fill, &(struct filling){c, fac, l});
	}
	if (!*ret_err && l->text.failed)
		*ret_err = -ENOMEM;
	if (l)
		l->refs = 1;
	if (!*ret_err)
		return l;
	if (l)
		listing_put(l);
	return NULL;
}

static void forget_latest(struct share *s)
{
	if (s->latest)
		listing_put(s->latest);
	s->latest = NULL;
}

/* The share's lock is held, and given back for the time. */
static void make_next(struct caller *c, enum facility fac, struct share *s)
{
	struct listing *l;
	int err;

	s->making = 1;
	s->begun++;
	pthread_mutex_unlock(&s->lock);
	l = make(c, fac, &err);
	pthread_mutex_lock(&s->lock);
	forget_latest(s);
	s->latest = l;
	s->latest_err = err;
	s->ended = s->begun;
	s->making = 0;
	pthread_cond_broadcast(&s->made);
}

int listing_get(struct caller *c, enum facility fac, struct listing **ret)
{
	struct share *s = &shares[fac];
	u64 mine;
	int err;

	pthread_mutex_lock(&s->lock);
	s->askers++;
	mine = s->begun + 1;
	while (s->ended < mine)
		if (s->making)
			pthread_cond_wait(&s->made, &s->lock);
		else
			make_next(c, fac, s);
	err = s->latest_err;
	if (!err) {
		*ret = s->latest;
		__atomic_add_fetch(&(*ret)->refs, 1, __ATOMIC_RELAXED);
	}
	if (!--s->askers)
		forget_latest(s);
	pthread_mutex_unlock(&s->lock);
	return err;
}

void listing_put(struct listing *l)
{
	if (__atomic_sub_fetch(&l->refs, 1, __ATOMIC_ACQ_REL))
		return;
	text_deinit(&l->text);
	free(l);
}
