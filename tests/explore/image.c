// SPDX-License-Identifier: MIT
/*
 * The image of the registry: the pages of its file after the scenario's setup,
 * which are restored for each run.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "explore.h"

#define MAX_PAGES 8192u
static struct page {
	u64 off;
	char *copy;
} pages[MAX_PAGES];
static u32 n_pages;
static int registry_fd = -1;

static char *page_copies;

void *own_memory(u64 size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED || madvise(p, size, MADV_DONTFORK)) {
		perror("explore: mmap");
		exit(2);
	}
	return p;
}

static unsigned char *known_pages; /* a bit each */

void image_begin(const char *registry)
{
	if (!known_pages) {
		known_pages = own_memory(REGION_SIZE / 4096 / 8);
		page_copies = own_memory(MAX_PAGES * 4096UL);
	}
	if (registry_fd >= 0)
		close(registry_fd);
	registry_fd = open(registry, O_RDWR | O_CLOEXEC);
}

static int page_known(u64 off)
{
	u64 n = off / 4096;
	int known = known_pages[n / 8] >> n % 8 & 1;

	known_pages[n / 8] |= 1u << n % 8;
	return known;
}

/* Pages that came since are zero in the image. */
void image_scan(void)
{
	off_t at = 0, end;

	while ((at = lseek(registry_fd, at, SEEK_DATA)) >= 0 &&
		(u64)at < REGION_SIZE) {
		end = lseek(registry_fd, at, SEEK_HOLE);
		for (; at < end; at += 4096) {
			if (((u64)at >= EVENTS_OFF && (u64)at < FAC_OFF) ||
				page_known(at))
				continue;
			if (n_pages == MAX_PAGES) {
				fprintf(stderr, "explore: too many pages\n");
				exit(2);
			}
			pages[n_pages].off = at;
			pages[n_pages].copy = page_copies + n_pages * 4096UL;
			memset(pages[n_pages++].copy, 0, 4096);
		}
	}
}

void image_save(void)
{
	u32 i;

	memset(known_pages, 0, REGION_SIZE / 4096 / 8);
	n_pages = 0;
	image_scan();
	for (i = 0; i < n_pages; i++)
		memcpy(pages[i].copy, explore_base + pages[i].off, 4096);
}

void image_restore(void)
{
	u32 i;

	for (i = 0; i < n_pages; i++)
		if (memcmp(explore_base + pages[i].off, pages[i].copy, 4096))
			memcpy(explore_base + pages[i].off, pages[i].copy,
				4096);
}

/* What lies behind the tables and the heap: pages of segments. */
void segments_reset(void)
{
	fallocate(registry_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		(off_t)REGION_SIZE, (off_t)(WINDOW_MAX - REGION_SIZE));
}

void image_copy(char *to)
{
	u32 i;

	for (i = 0; i < n_pages; i++)
		memcpy(to + pages[i].off, explore_base + pages[i].off, 4096);
}
