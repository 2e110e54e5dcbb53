// SPDX-License-Identifier: MIT
/*
 * See target.h.
 */
#include "target.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filled.h"
#include "object/limits.h"
#include "shm/shmmap.h"
#include "tool/command.h"
#include "tool/registry.h"

/* Arbitrary: nobody alive holds a lock here. */
#define PATIENCE_NS 1000000

struct caller target;
struct places target_places;
static struct caller fresh;
static struct sys_robust_head robust_before;
static struct cred cred;
static struct shm_process shm;
static char dir[512], path[600];
static char *base;
static jmp_buf out;

/* ---- the registry ---- */

static int remove_one(
	const char *name, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(name);
}

static void remove_dir(void)
{
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *need(const char *name)
{
	const char *v = getenv(name);

	if (!v || !*v) {
		fprintf(stderr, "%s is not set\n", name);
		exit(2);
	}
	return v;
}

static void stuck(struct caller *c, struct lock *lock, u32 owner)
{
	(void)c, (void)lock, (void)owner;
	longjmp(out, 1);
}

void __sanitizer_set_death_callback(void (*fn)(void));

static void make_dir(void)
{
	const char *in = getenv("IPCLIFT_TEST_DIR");

	snprintf(dir, sizeof(dir), "%s/target.XXXXXX", in ? in : "/dev/shm");
	if (!mkdtemp(dir))
		exit(2);
	atexit(remove_dir);
	__sanitizer_set_death_callback(remove_dir);
	snprintf(path, sizeof(path), "%s/registry", dir);
}

/* Its path is not told: nothing shall reach the file. */
static void map(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	base = mmap(NULL, REGION_SIZE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	if (fd < 0 || base == MAP_FAILED)
		exit(2);
	target.region = (struct region){.base = base,
		.file_size = (u64)lseek(fd, 0, SEEK_END),
		.owner = getuid(),
		.path = ""};
	close(fd);
}

/* ---- growth ---- */

/* Bytes that are malloced, and the most that were since target_run. */
static long allocated, most_allocated;

int __sanitizer_install_malloc_and_free_hooks(
	void (*on_malloc)(const volatile void *p, size_t n),
	void (*on_free)(const volatile void *p));
size_t __sanitizer_get_allocated_size(const volatile void *p);

static void on_malloc(const volatile void *p, size_t n)
{
	(void)p;
	allocated += (long)n;
	if (allocated > most_allocated)
		most_allocated = allocated;
}

static void on_free(const volatile void *p)
{
	allocated -= (long)__sanitizer_get_allocated_size(p);
}

/* Bytes of the registry that were changed, which is mapped privately: the
 * anonymous ones of its mapping. */
static long changed(void)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long from, to;
	long kib = 0, sum = 0;
	char line[1024];
	int ours = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			ours = from >= (uintptr_t)base &&
			       to <= (uintptr_t)base + REGION_SIZE;
		else if (ours && sscanf(line, "Anonymous: %ld", &kib) == 1)
			sum += kib << 10;
	if (f)
		fclose(f);
	return sum;
}

/* What the process has, the registry's pages with it: it tells cheaply when to
 * look more closely. */
static long resident(void)
{
	static int fd = -1;
	char text[64];
	long pages;
	ssize_t n;

	if (fd < 0)
		fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	return sscanf(text, "%*d %ld", &pages) == 1 ? pages * 4096 : 0;
}

/* Bytes that the files of our directory have. */
static long on_disk(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	struct stat st;
	long sum = 0;

	while (d && (e = readdir(d)))
		if (!fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			sum += st.st_blocks * 512L;
	if (d)
		closedir(d);
	return sum;
}

static void refuse_growth(const char *what, long bytes)
{
	if (bytes <= GROWTH_MAX)
		return;
	fprintf(stderr, "growth: of %s by %ld KiB\n", what, bytes >> 10);
	abort();
}

/* ---- the beginning ---- */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	make_dir();
	filled_make(path, need("IPCLIFT_SHIM"), need("IPCLIFT_TESTS"));
	unsetenv("IPCLIFT_REGISTRY");
	map();
	places_scan(&target_places, base);
	/* The same in each run. */
	target_places.living[0] = 1;
	target_places.living[1] = 2;
	__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
	cred.euid = ~0u;
	target.cred = &cred;
	target.shm = &shm;
	target.generation = 1;
	target.detached = 1;
	target.stuck = stuck;
	target.patience_ns = PATIENCE_NS;
	caller_refresh(&target);
	fresh = target;
	robust_before = *target.robust;
	return 0;
}

const char *target_dir(void)
{
	return dir;
}

/* ---- an input ---- */

static uint64_t step_value(const struct step *s)
{
	return (uint64_t)s->value_high << 32 | s->value_low;
}

/* The place that a step names. */
static const struct place *step_place(const struct step *s)
{
	uint32_t t = s->table % target_places.n_tables;

	if (!target_places.count[t])
		return NULL;
	return &target_places.at[target_places.first[t] +
				 s->at % target_places.count[t]];
}

void target_damage(const uint8_t *data, size_t size)
{
	const struct place *at;
	struct step s;
	size_t i;

	for (i = 0; i < STEPS_MAX && (i + 1) * sizeof(s) <= size; i++) {
		memcpy(&s, data + i * sizeof(s), sizeof(s));
		at = step_place(&s);
		if (!at)
			continue;
		damage_set(base, at, step_value(&s));
		if (getenv("IPCLIFT_FUZZ_SAY"))
			fprintf(stderr, "%s at %#llx -> %#llx\n",
				at->field->name, (unsigned long long)at->off,
				(unsigned long long)step_value(&s));
	}
}

static void undo_all(void)
{
	madvise(base, REGION_SIZE, MADV_DONTNEED);
	target = fresh;
	*target.robust = robust_before;
}

size_t target_add_step(
	uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct rng r = {seed * 0x9e3779b97f4a7c15ULL | 1};
	size_t n = size / sizeof(struct step), at, i;
	struct step s;
	uint64_t value;

	for (i = 0; i < 4; i++)
		rng_next(&r);
	target_damage(data, size);
	s.table = (uint16_t)rng_below(&r, target_places.n_tables);
	s.at = (uint16_t)rng_next(&r);
	if (step_place(&s)) {
		value = damage_value(&target_places, base, &r, step_place(&s));
		s.value_low = (uint32_t)value;
		s.value_high = (uint32_t)(value >> 32);
	}
	undo_all();
	at = n && rng_below(&r, 2) ? rng_below(&r, n) : n;
	if (at >= STEPS_MAX)
		at = rng_below(&r, STEPS_MAX);
	if (!step_place(&s) || (at + 1) * sizeof(s) > max_size)
		return size;
	memcpy(data + at * sizeof(s), &s, sizeof(s));
	return (at + 1) * sizeof(s) > size ? (at + 1) * sizeof(s) : size;
}

int target_run(void (*fn)(void *arg), void *arg)
{
	/* A tmpfs has a page for each hole that was read: this input's alone.
	 */
	long before = allocated, memory = resident(), files = on_disk();
	int left;

	most_allocated = allocated;
	left = setjmp(out);
	if (!left)
		fn(arg);
	refuse_growth("memory", most_allocated - before);
	if (resident() - memory > GROWTH_MAX)
		refuse_growth("the registry", changed());
	refuse_growth("files", on_disk() - files);
	undo_all();
	return left;
}

size_t target_mutate(
	uint8_t *data, size_t size, size_t max_size, unsigned seed, size_t head)
{
	if (seed % 2 || !head)
		return LLVMFuzzerMutate(data, size, max_size);
	return head +
	       target_add_step(data + head, size - head, max_size - head, seed);
}

/* ---- commands ---- */

/* Options of the command before are not this one's. */
static void options_clear(const struct option_spec *o)
{
	for (; o && o->name; o++)
		if (o->value)
			*(const char **)o->to = NULL;
		else
			*(int *)o->to = 0;
}

int target_command(const struct command *command, int argc, char **argv)
{
	const struct option_spec *const tables[OPTION_TABLES] = {
		command->options, registry_options};
	int first;

	options_clear(command->options);
	/* glibc: begin anew. */
	optind = 0;
	if (options_parse(argc, argv, tables, 0, &first))
		return EXIT_USAGE;
	return command->main(argc - first, argv + first);
}

/* ---- tool/registry.h: the registry of all commands is ours ---- */

const struct option_spec registry_options[] = {{0}};

const char *registry_path(void)
{
	return path;
}

const char *registry_option(const char **ret)
{
	*ret = path;
	return NULL;
}

int registry_is_home(void)
{
	return 0;
}

int registry_is_file(const struct stat *st)
{
	return target.region.dev == st->st_dev &&
	       target.region.ino == st->st_ino;
}

struct caller *registry_open(int *ret)
{
	*ret = EXIT_OK;
	return &target;
}

struct caller *registry_glance(int *ret)
{
	return registry_open(ret);
}

/* events --follow ends at once. */
int registry_glance_still(void)
{
	return 0;
}

struct caller *registry_open_read_only(int *ret)
{
	return registry_open(ret);
}

int registry_copy_again(void)
{
	return 0;
}

int parse_number(const char *text, long long min, unsigned long long max,
	unsigned long long *ret)
{
	*ret = strtoull(text, NULL, 0);
	return (long long)*ret < min || *ret > max ? -1 : 0;
}

int parse_age(const char *option, const char *text, long long *ret)
{
	(void)option;
	*ret = strtoll(text, NULL, 0);
	return EXIT_OK;
}

const char *process_name(unsigned pid)
{
	(void)pid;
	return "?";
}

int process_alive(unsigned pid)
{
	return pid % 2;
}
