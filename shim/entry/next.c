// SPDX-License-Identifier: MIT
/*
 * The definitions that stand behind the shim's own, and what dlsym answers.
 *
 * The next definition of a name is looked up in the objects that the loader has
 * listed behind this library, and not by dlsym(RTLD_NEXT): that one allocates
 * and takes locks, and our names are called from the middle of allocators
 * and of sanitizers' reports. The loader's list of objects grows at its end
 * and what we look for was loaded with the program, so that no lock is needed.
 *
 * dlsym(handle, "semget") on libc's own handle is how FFI libraries call
 * (ctypes.CDLL("libc.so.6"), Fiddle, JNA): it is answered with our function, or
 * half of the program would be in the kernel's world; and so is a preload library
 * in front of us that wraps a name of ours so (socket_wrapper, uid_wrapper), or
 * it would pass us by. Left alone: RTLD_NEXT and RTLD_DEFAULT, which the loader
 * answers rightly; a caller that defines the name itself and stands behind us,
 * whom we call, and who looks for what it wraps; and a libc in a namespace of its
 * own (dlmopen).
 */
#include "base/elf.h"
#include "entry/process.h"

/* The head of the loader's record of an object, and of what it shows to
 * debuggers; <link.h>, the same in glibc and musl. */
struct object {
	uintptr_t load;
	const char *name;
	const Elf64_Dyn *dynamic;
	struct object *next, *previous;
};
struct loader {
	int version;
	struct object *objects;
};

extern const Elf64_Dyn _DYNAMIC[] __attribute__((visibility("hidden")));
extern struct loader _r_debug __attribute__((weak));	    /* glibc */
extern struct loader *_dl_debug_addr __attribute__((weak)); /* musl */

static struct object *first_object(void)
{
	if (&_r_debug && _r_debug.objects)
		return _r_debug.objects;
	return &_dl_debug_addr && _dl_debug_addr ? _dl_debug_addr->objects
						 : NULL;
}

static void *defined_in(const struct object *o, const char *name)
{
	struct elf_image image;

	return elf_image(&image, o->load, o->dynamic) ? elf_symbol(&image, name)
						      : NULL;
}

static struct object *own_object(void)
{
	struct object *o = first_object();

	while (o && o->dynamic != _DYNAMIC)
		o = o->next;
	return o;
}

/* The vDSO exports names of libc's; its record has no file. */
static int is_library(const struct object *o)
{
	return o->name && *o->name && o->dynamic != _DYNAMIC;
}

static void *next_definition(const char *name)
{
	struct object *own = own_object(), *o;
	void *found = NULL;

	for (o = own ? own->next : NULL; o && !found; o = o->next)
		if (is_library(o))
			found = defined_in(o, name);
	/* Loaded by dlopen, we stand behind libc. */
	for (o = first_object(); o && o != own && !found; o = o->next)
		if (is_library(o))
			found = defined_in(o, name);
	return found;
}

void *process_next(void **cache, const char *name)
{
	void *p = __atomic_load_n(cache, __ATOMIC_ACQUIRE);

	if (likely(p != NULL))
		return p;
	p = next_definition(name);
	__atomic_store_n(cache, p, __ATOMIC_RELEASE);
	return p;
}

/* ---- dlsym ---- */

/* The object that has the address in one of its segments: the last one that
 * begins before it. */
static struct object *object_of(uintptr_t address)
{
	struct object *o, *best = NULL;

	for (o = first_object(); o; o = o->next)
		if (o->load <= address && (!best || o->load > best->load))
			best = o;
	return best;
}

/* libc, if p is what it defines by this name; else NULL. */
static const struct object *libc_of(const char *name, const void *p)
{
	const struct object *o;

	for (o = first_object(); o; o = o->next)
		if (is_library(o) && defined_in(o, name) == p)
			return defined_in(o, "__libc_start_main") ? o : NULL;
	return NULL;
}

static int is_behind(const struct object *own, const struct object *o)
{
	while (own && own != o)
		own = own->next;
	return own != NULL;
}

typedef void *(*dlsym_fn)(void *, const char *);
typedef void *(*dlvsym_fn)(void *, const char *, const char *);

/* Our function in place of p, which is libc's; else p. */
static void *ours_for(const char *name, void *p, uintptr_t from)
{
	const struct object *own = own_object(), *caller, *libc;
	void *ours = own && p && name ? defined_in(own, name) : NULL;

	if (!ours || p == ours)
		return p;
	libc = libc_of(name, p);
	if (!libc)
		return p;
	caller = object_of(from);
	if (!caller || !defined_in(caller, name))
		return ours;
	/* Behind us, we call it; in front of us, it calls us. */
	return is_behind(own, caller) || !is_behind(own, libc) ? p : ours;
}

__attribute__((visibility("hidden"), used)) void *next_dlsym(void)
{
	static void *next;

	return process_next(&next, "dlsym");
}
__attribute__((visibility("hidden"), used)) void *next_dlvsym(void)
{
	static void *next;

	return process_next(&next, "dlvsym");
}

/* A call with a handle of its own, which the loader answers without a look at
 * who calls. from: the application's return address. */
__attribute__((visibility("hidden"), used)) void *next_by_handle(
	void *handle, const char *name, uintptr_t from)
{
	dlsym_fn real = (dlsym_fn)next_dlsym();

	return real ? ours_for(name, real(handle, name), from) : NULL;
}
__attribute__((visibility("hidden"), used)) void *next_by_version(
	void *handle, const char *name, const char *version, uintptr_t from)
{
	dlvsym_fn real = (dlvsym_fn)next_dlvsym();

	return real ? ours_for(name, real(handle, name, version), from) : NULL;
}
