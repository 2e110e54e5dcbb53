// SPDX-License-Identifier: MIT
/*
 * The environment at load; see environment.h.
 *
 * The copy is made when the library is loaded (load.c), or before it by the
 * first call that asks (another library's constructor may come first). Both
 * happen before the program has threads that could ask at the same time, but
 * for a constructor that starts one: taking is idempotent, and `taken` is set
 * last. The program's .preinit_array (sanitizers begin there) runs even before
 * libc has set `environ`: it is where the kernel has put it then.
 */
#include "entry/environment.h"
#include "base/atom.h"
#include "base/str.h"
#include "base/types.h"
#include "registry/caller.h"
#include <linux/auxvec.h>

extern char **environ __attribute__((weak));
extern unsigned long getauxval(unsigned long) __attribute__((weak));
/* Of glibc's loader: argc, the arguments, NULL, the environment. */
extern const long *__libc_stack_end __attribute__((weak));

/* Two paths and some words; what does not fit is as if it were not set, and
 * the kernel takes no longer path either. */
#define COPY_CAP 9216u
#define HANDED_ON 9u
/* A registry's path and LD_PRELOAD, mostly. Arbitrary: what is left of the page. */
#define NEAR_CAP 256u

static const char names[][20] SYS_NEAR_RODATA = {"IPCLIFT_REGISTRY",
	"IPCLIFT_ROUTE", "IPCLIFT_LIMITS", "IPCLIFT_IDS", "IPCLIFT_LOG",
	"IPCLIFT_EXEC", "IPCLIFT_LEASE"};
#define N_NAMES (sizeof(names) / sizeof(names[0]))
static const char preload[] SYS_NEAR_RODATA = "LD_PRELOAD";
static const char own_file[] SYS_NEAR_RODATA = "libipclift.so";

struct text {
	char *at;
	size_t cap, used;
};

static char near_text[NEAR_CAP], far_text[COPY_CAP] SYS_FAR_BSS;
static const char *handed_on[HANDED_ON];
static int taken;

/* The value in "NAME=VALUE", or NULL if the entry is another's. */
static inline const char *value_of(const char *entry, const char *name)
{
	for (; *name && *entry == *name; entry++)
		name++;
	return !*name && *entry == '=' ? entry + 1 : NULL;
}

/* "name=value[0..n)"; NULL if there is no space. */
static inline char *keep(
	struct text *text, const char *name, const char *value, size_t n)
{
	char *start = text->at + text->used, *at = start;

	if (str_len(name) + n + 2 > text->cap - text->used)
		return NULL;
	while (*name)
		*at++ = *name++;
	*at++ = '=';
	while (n--)
		*at++ = *value++;
	*at++ = 0;
	text->used = (size_t)(at - text->at);
	return start;
}

/* The word of LD_PRELOAD's list that names this library, its length in *ret_n;
 * NULL if none does. */
static inline const char *own_word(const char *list, size_t *ret_n)
{
	size_t file = sizeof(own_file) - 1, n, i;

	while (*list) {
		for (n = 0; list[n] && list[n] != ':' && list[n] != ' '; n++)
			;
		for (i = 0; n >= file && i < file; i++)
			if (list[n - file + i] != own_file[i])
				break;
		if (n >= file && i == file &&
			(n == file || list[n - file - 1] == '/')) {
			*ret_n = n;
			return list;
		}
		list += n + (list[n] != 0);
	}
	return NULL;
}

static inline char **given_by_kernel(void)
{
	const long *start = &__libc_stack_end ? __libc_stack_end : NULL;

	return start && !start[1 + start[0]] ? (char **)(start + 2 + start[0])
					     : NULL;
}

static inline const char *in_environment(const char *name)
{
	char **e = &environ ? environ : NULL;
	const char *value = NULL;

	if (unlikely(!e) && !taken)
		e = given_by_kernel();

	for (; e && *e && !value; e++)
		value = value_of(*e, name);
	return value;
}

SYS_LOAD_TEXT static void take(void)
{
	struct text near = {near_text, NEAR_CAP, 0};
	struct text far = {far_text, COPY_CAP, 0};
	const char *name, *value, *entry;
	size_t i, n = 0, k = 0;

	/* LD_PRELOAD last: environment_handed_on promises it. */
	for (i = 0; i <= N_NAMES; i++) {
		name = i < N_NAMES ? names[i] : preload;
		value = in_environment(name);
		if (value && i < N_NAMES)
			n = str_len(value);
		else if (value)
			value = own_word(value, &n);
		if (!value)
			continue;
		entry = keep(&near, name, value, n);
		if (!entry)
			entry = keep(&far, name, value, n);
		if (entry)
			handed_on[k++] = entry;
	}
	handed_on[k] = NULL;
	__atomic_store_n(&taken, 1, __ATOMIC_RELEASE);
}

void environment_at_load(void)
{
	/* Programs with raised privileges are left alone altogether. */
	if (!taken && !(getauxval && getauxval(AT_SECURE)))
		take();
}

const char *environment_get(const char *name)
{
	const char *const *e;
	const char *value;

	if (getauxval && getauxval(AT_SECURE))
		return NULL;
	/* What the program has set itself since comes first. */
	value = in_environment(name);
	if (!__atomic_load_n(&taken, __ATOMIC_ACQUIRE))
		take();
	for (e = handed_on; *e && !value; e++)
		value = value_of(*e, name);
	return value;
}

const char *const *environment_handed_on(void)
{
	static const char *const none[1];
	const char *mode = environment_get("IPCLIFT_EXEC");

	return mode && str_equal(mode, "keep") ? none : handed_on;
}

int environment_fakeroot(void)
{
	static const char theirs[] = "libfakeroot";
	const char *key = environment_get("FAKEROOTKEY");
	const char *list = unlikely(key) ? environment_get(preload) : NULL;
	u32 n = 0, i = 0;

	for (; key && *key >= '0' && *key <= '9'; key++)
		n = n * 10 + (u32)(*key - '0');
	for (; list && *list && theirs[i]; list++)
		i = *list == theirs[i] ? i + 1 : *list == theirs[0];
	return list && !theirs[i] ? (int)n : 0;
}
