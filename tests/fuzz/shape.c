// SPDX-License-Identifier: MIT
/*
 * See shape.h.
 */
#include "shape.h"

#include <string.h>
#include <unistd.h>

#include "registry/layout.h"

const char *const shape_names[N_SHAPES] = {
	"bitmap", "ready", "buckets", "threads", "heap", "all", "living"};

/* 40 MiB of the file. */
#define LIVING_THREADS 32768u

static void use_each_idx(char *base, struct id_table *t, uint64_t f)
{
	memset(base + BITMAP_OFF(f), 0xff, IDX_MAX / 8);
	memset(t->pages, 0xff, sizeof(t->pages));
	t->max_idx = IDX_MAX - 1;
	t->in_use = IDX_MAX;
}

/* Of this process: its maps may be read wherever this runs. */
static void make_up_living(char *base, struct header *h)
{
	uint32_t self = (uint32_t)getpid();
	struct thread *th;
	struct task *t;
	uint32_t i;

	memset(h->task_pages, 0xff, sizeof(h->task_pages));
	for (i = 1; i < N_TASKS; i++) {
		t = (struct task *)(void *)(base + TASKS_OFF) + i;
		if (t->pid)
			continue;
		t->pid = self;
		t->state = TASK_LIVE;
	}
	h->thread_high = N_THREADS;
	for (i = 1; i < LIVING_THREADS; i++) {
		th = (struct thread *)(void *)(base + THREADS_OFF +
					       (uint64_t)i * THREAD_STRIDE);
		if (th->tid)
			continue;
		th->tid = self;
		th->task = i;
	}
}

void shape_make(char *base, enum shape shape)
{
	struct header *h = (struct header *)(void *)base;
	uint64_t f;

	for (f = 0; f < N_FAC; f++) {
		struct id_table *t = &h->ids[f];

		if (shape == SHAPE_BITMAP || shape == SHAPE_ALL)
			use_each_idx(base, t, f);
		if (shape == SHAPE_READY || shape == SHAPE_ALL) {
			t->slots_ready = IDX_MAX;
			t->max_idx = IDX_MAX - 1;
		}
		if (shape == SHAPE_BUCKETS || shape == SHAPE_ALL) {
			t->n_buckets = IDX_MAX;
			t->n_keys = IDX_MAX;
		}
	}
	if (shape == SHAPE_THREADS || shape == SHAPE_ALL)
		h->thread_high = N_THREADS;
	if (shape == SHAPE_LIVING)
		make_up_living(base, h);
	if (shape == SHAPE_HEAP || shape == SHAPE_ALL)
		h->heap.bump = h->heap.used = HEAP_END;
}
