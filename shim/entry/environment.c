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

static const char *const names[] = {"IPCLIFT_REGISTRY", "IPCLIFT_ROUTE",
	"IPCLIFT_LIMITS", "IPCLIFT_IDS", "IPCLIFT_LOG", "IPCLIFT_EXEC",
	"IPCLIFT_LEASE"};
static const char preload[] = "LD_PRELOAD";
static const char own_file[] = "libipclift.so";

static struct {
	char text[COPY_CAP];
	size_t used;
	const char *handed_on[HANDED_ON];
	int taken;
} copy SYS_FAR_BSS;

/* The value in "NAME=VALUE", or NULL if the entry is another's. */
static const char *value_of(const char *entry, const char *name)
{
	size_t n = str_len(name), i;

	for (i = 0; i < n; i++)
		if (entry[i] != name[i])
			return NULL;
	return entry[n] == '=' ? entry + n + 1 : NULL;
}

/* "name=value[0..n)"; NULL if there is no space. */
static const char *keep(const char *name, const char *value, size_t n)
{
	size_t head = str_len(name), need = head + n + 2;
	char *at = copy.text + copy.used;

	if (need > COPY_CAP - copy.used)
		return NULL;
	str_add(at, need, 0, name);
	at[head] = '=';
	__builtin_memcpy(at + head + 1, value, n);
	at[head + 1 + n] = 0;
	copy.used += need;
	return at;
}

/* The word of LD_PRELOAD's list that names this library, its length in *ret_n;
 * NULL if none does. */
static const char *own_word(const char *list, size_t *ret_n)
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

static char **given_by_kernel(void)
{
	const long *start = &__libc_stack_end ? __libc_stack_end : NULL;

	return start && !start[1 + start[0]] ? (char **)(start + 2 + start[0])
					     : NULL;
}

static const char *in_environment(const char *name)
{
	char **e = &environ ? environ : NULL;
	const char *value = NULL;

	if (unlikely(!e) && !copy.taken)
		e = given_by_kernel();

	for (; e && *e && !value; e++)
		value = value_of(*e, name);
	return value;
}

static void take(void)
{
	const char *value, *entry;
	size_t i, n, k = 0;

	copy.used = 0;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		value = in_environment(names[i]);
		entry = value ? keep(names[i], value, str_len(value)) : NULL;
		if (entry)
			copy.handed_on[k++] = entry;
	}
	value = in_environment(preload);
	value = value ? own_word(value, &n) : NULL;
	entry = value ? keep(preload, value, n) : NULL;
	if (entry)
		copy.handed_on[k++] = entry;
	copy.handed_on[k] = NULL;
	__atomic_store_n(&copy.taken, 1, __ATOMIC_RELEASE);
}

void environment_at_load(void)
{
	/* Programs with raised privileges are left alone altogether. */
	if (!copy.taken && !(getauxval && getauxval(AT_SECURE)))
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
	if (!__atomic_load_n(&copy.taken, __ATOMIC_ACQUIRE))
		take();
	for (e = copy.handed_on; *e && !value; e++)
		value = value_of(*e, name);
	return value;
}

const char *const *environment_handed_on(void)
{
	static const char *const none[1];
	const char *mode = environment_get("IPCLIFT_EXEC");

	return mode && str_equal(mode, "keep") ? none : copy.handed_on;
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
