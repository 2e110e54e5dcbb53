// SPDX-License-Identifier: MIT
/*
 * See filled.h.
 */
#include "filled.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "registry/heap/span.h"
#include "registry/layout.h"

#define NAME_CAP 1024

/* What the file has besides holes. */
struct extent {
	off_t off;
	size_t len;
	char *bytes;
};
static struct extent *extents;
static size_t n_extents;
static off_t filled_size;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "fuzz: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void filled_take(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t at = 0, hole;
	struct stat st;
	size_t len;

	if (fd < 0 || fstat(fd, &st))
		die(path);
	filled_size = st.st_size;
	while ((at = lseek(fd, at, SEEK_DATA)) >= 0) {
		hole = lseek(fd, at, SEEK_HOLE);
		len = (size_t)(hole - at);
		extents = realloc(extents, (n_extents + 1) * sizeof(*extents));
		extents[n_extents] = (struct extent){at, len, malloc(len)};
		if (pread(fd, extents[n_extents].bytes, len, at) !=
			(ssize_t)len)
			die("reading the registry");
		n_extents++;
		at = hole;
	}
	close(fd);
}

void filled_put(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t i;

	if (fd < 0 || ftruncate(fd, filled_size))
		die(path);
	for (i = 0; i < n_extents; i++)
		if (pwrite(fd, extents[i].bytes, extents[i].len,
			    extents[i].off) != (ssize_t)extents[i].len)
			die("writing a registry");
	close(fd);
}

char *filled_map(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char *base = mmap(NULL, REGION_SIZE, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, fd, 0);

	if (fd < 0 || base == MAP_FAILED)
		die(path);
	close(fd);
	return base;
}

static struct slot *slot_of(char *base, uint64_t f, uint32_t i)
{
	return (struct slot *)(void *)(base + SLOTS_OFF(f) +
				       i * SLOT_STRIDE(f));
}

/* A number that no thread has. */
#define NOBODYS_TID 0x3f000000u

static int make_remains(char *base)
{
	struct header *h = (struct header *)(void *)base;
	struct id_table *t = &h->ids[FAC_MSG];
	uint64_t *bits =
		(uint64_t *)(void *)(base + BITMAP_OFF(FAC_MSG + 0ULL));
	struct msgqueue *q;
	struct slot *s;
	uint32_t i;

	for (i = 0; i <= t->max_idx; i++) {
		s = slot_of(base, FAC_MSG, i);
		q = (struct msgqueue *)(void *)(base + s->body.off);
		if (!(s->ident & IDENT_LIVE) || q->qbytes != REMAINS_QBYTES)
			continue;
		h->msg_remains = s->body;
		q->stamp = 0;
		q->lrpid = NOBODYS_TID;
		s->ident = s->body.off = 0;
		bits[i / 64] &= ~(1ULL << i % 64);
		t->in_use--;
		return 1;
	}
	return 0;
}

/* The block is one size of the heap's, and the only one of a span. */
_Static_assert(sizeof(struct sem_values) + 2 * HALF_SETALL == 1024, "block");
#define CLASS_1024 11u

static void make_block(char *base, struct header *h)
{
	uint32_t n = span_number(h->heap.bump);
	struct heap_span *table = (void *)(base + SPANS_OFF), *s = table + n;
	uint64_t *head = &h->heap.free_head[CLASS_1024];

	s->class = CLASS_1024 + 1;
	s->state = span_word((struct span_state){0, 1, 1, 1});
	s->next = (uint32_t)*head;
	if (*head)
		table[*head - 1].prev = n + 1;
	*head = n + 1;
	h->heap.bump += HEAP_SPAN;
	h->heap.used += 1024;
	h->heap.filled += 4096;
}

static int make_half_setall(char *base)
{
	struct header *h = (struct header *)(void *)base;
	struct sem_values *v = (void *)(base + h->heap.bump);
	struct sem *sems;
	struct slot *s;
	uint64_t at;
	uint32_t i, k;

	for (i = 0; i <= h->ids[FAC_SEM].max_idx; i++) {
		s = slot_of(base, FAC_SEM, i);
		if (!(s->ident & IDENT_LIVE) || s->size != HALF_SETALL)
			continue;
		at = s->body.off + sizeof(struct semset) + SEM_USED - 1;
		sems = (void *)(base + (at & ~(uint64_t)(SEM_USED - 1)));
		v->cap = 1024;
		v->pid = NOBODYS_TID;
		v->n = HALF_SETALL;
		for (k = 0; k < HALF_SETALL; k++) {
			v->value[k] = 5;
			sems[k].lo |= SEM_OWNED;
			if (k < HALF_SETALL / 2)
				sems[k].lo = (sems[k].lo & ~0x7fffULL) | 5;
		}
		sems[0].all.off = h->heap.bump;
		make_block(base, h);
		s->lock.word = 0x40000000; /* FUTEX_OWNER_DIED */
		return 1;
	}
	return 0;
}

/* In the file that was just written, which is then taken again. */
static void make_halves(const char *path)
{
	char *base = filled_map(path);

	errno = 0;
	if (!make_remains(base) || !make_half_setall(base))
		die("what is to be made half is not there");
	munmap(base, REGION_SIZE);
	while (n_extents)
		free(extents[--n_extents].bytes);
	filled_take(path);
}

void filled_make(const char *path, const char *shim, const char *tests)
{
	char program[NAME_CAP], word[8];
	int in[2], out[2];
	pid_t pid;

	snprintf(program, sizeof(program), "%s/fuzz/fill", tests);
	if (pipe(in) || pipe(out))
		die("pipe");
	pid = fork();
	if (!pid) {
		setsid();
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		setenv("LD_PRELOAD", shim, 1);
		setenv("IPCLIFT_REGISTRY", path, 1);
		execl(program, program, NULL);
		_exit(127);
	}
	close(out[1]);
	if (read(out[0], word, 6) != 6)
		die("fill");
	filled_take(path);
	if (write(in[1], "\n", 1) != 1)
		die("fill");
	waitpid(pid, NULL, 0);
	close(in[0]);
	close(in[1]);
	close(out[0]);
	filled_put(path);
	make_halves(path);
}
