// SPDX-License-Identifier: MIT
/*
 * shm_edges: ranges that end or begin in an attachment, or have one in them.
 *
 * The bugs: mremap of an own mapping with an attachment behind it moved the
 * attachment's pages unseen, which then showed other segments; one that shrank
 * unmapped it unseen; MREMAP_DONTUNMAP lost the old place; and who unmapped the
 * edge of an attachment found no new shm_atime.
 */
#include "t.h"
#include <sys/mman.h>
#include <sys/shm.h>

#define PAGE 4096

static struct shmid_ds stat_of(int id)
{
	struct shmid_ds ds;

	if (shmctl(id, IPC_STAT, &ds))
		memset(&ds, 0, sizeof(ds));
	return ds;
}

static char *place(size_t n)
{
	return mmap(NULL, n * PAGE, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static char *own(char *at, size_t n)
{
	return mmap(at, n * PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* What is at p, or -1 where nothing is. */
static int byte_at(const char *p)
{
	unsigned char vec;

	return mincore((void *)(unsigned long)p, PAGE, &vec) ? -1 : *p;
}

static void own_and_attached(void)
{
	char *at = place(24), *to = place(24), *found;
	int id = shmget(IPC_PRIVATE, 4 * PAGE, 0600);

	t_story("an own mapping, and an attachment behind it");
	own(at, 4)[0] = 1;
	t_true(shmat(id, at + 4 * PAGE, SHM_REMAP) == at + 4 * PAGE);
	at[4 * PAGE] = 2;
	found = mremap(
		at, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	t_true(found == MAP_FAILED && errno == EFAULT);
	t_say("attached: %ld, it has %d", (long)stat_of(id).shm_nattch,
		byte_at(at + 4 * PAGE));
	t_eq(shmdt(at + 4 * PAGE), 0);
	t_say("attached: %ld, there is %d", (long)stat_of(id).shm_nattch,
		byte_at(at + 4 * PAGE));

	own(at, 4)[0] = 1;
	t_true(shmat(id, at + 4 * PAGE, SHM_REMAP) == at + 4 * PAGE);
	t_true(mremap(at, 8 * PAGE, 2 * PAGE, 0) == at);
	t_say("shrunk: attached: %ld", (long)stat_of(id).shm_nattch);
	t_true(shmdt(at + 4 * PAGE) == -1 && errno == EINVAL);
	shmctl(id, IPC_RMID, NULL);
	/* What was given up in between may be anybody's by now. */
	munmap(at, 2 * PAGE);
	munmap(at + 8 * PAGE, 16 * PAGE);
	munmap(to, 24 * PAGE);
}

static void left_behind(void)
{
	int id = shmget(IPC_PRIVATE, 4 * PAGE, 0600);
	char *at = shmat(id, NULL, 0), *to = place(8);

	t_story("an own mapping where one was attached, MREMAP_DONTUNMAP");
	shmdt(at);
	own(at, 4)[0] = 3;
	t_true(mremap(at, 4 * PAGE, 4 * PAGE,
		       MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
		       to) == to);
	t_say("new %d, old %d", byte_at(to), byte_at(at));
	t_true(shmat(id, at, 0) == (void *)-1 && errno == EINVAL);
	munmap(at, 4 * PAGE);
	munmap(to, 8 * PAGE);
	shmctl(id, IPC_RMID, NULL);
}

static void edge(const char *what, size_t first, size_t n)
{
	int id = shmget(IPC_PRIVATE, 4 * PAGE, 0600);
	char *at = shmat(id, NULL, 0);
	struct shmid_ds before = stat_of(id), after;

	usleep(1100000);
	munmap(at + first * PAGE, n * PAGE);
	after = stat_of(id);
	t_say("%s: attached %ld, new atime %d, new dtime %d", what,
		(long)after.shm_nattch, after.shm_atime > before.shm_atime,
		after.shm_dtime > before.shm_dtime);
	shmdt(at);
	shmctl(id, IPC_RMID, NULL);
}

int main(void)
{
	own_and_attached();
	left_behind();
	t_story("unmapped in part");
	edge("first page", 0, 1);
	edge("last page", 3, 1);
	edge("middle", 1, 2);
	edge("all", 0, 4);
	return t_end();
}
