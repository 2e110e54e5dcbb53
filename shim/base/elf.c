// SPDX-License-Identifier: MIT
/*
 * Looking up symbols; see elf.h.
 */
#include "base/elf.h"
#include "base/str.h"

/* The kernel's header has no names for these. */
#define DT_GNU_HASH 0x6ffffef5
#define DT_VERSYM 0x6ffffff0
#define VERSYM_HIDDEN 0x8000
#define STT_GNU_IFUNC 10

int elf_image(struct elf_image *ret, uintptr_t load, const Elf64_Dyn *dynamic)
{
	const Elf64_Dyn *d;

	*ret = (struct elf_image){.load = load};
	for (d = dynamic; d && d->d_tag != DT_NULL; d++) {
		/* glibc's loader turns these into addresses, others do not. */
		uintptr_t p = d->d_un.d_ptr;
		const void *at = (const void *)(p < load ? p + load : p);

		switch (d->d_tag) {
		case DT_STRTAB:
			ret->strings = at;
			break;
		case DT_SYMTAB:
			ret->symbols = at;
			break;
		case DT_HASH:
			ret->hash = at;
			break;
		case DT_GNU_HASH:
			ret->gnu_hash = at;
			break;
		case DT_VERSYM:
			ret->versions = at;
			break;
		}
	}
	return ret->strings && ret->symbols && (ret->gnu_hash || ret->hash);
}

int elf_image_loaded(struct elf_image *ret, uintptr_t base)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)base;
	const Elf64_Phdr *part = (const Elf64_Phdr *)(base + header->e_phoff);
	const Elf64_Dyn *dynamic = NULL;
	uintptr_t load = 0;
	int i, loads = 0;

	for (i = 0; i < header->e_phnum; i++) {
		if (part[i].p_type == PT_LOAD && !loads++)
			load = base + part[i].p_offset - part[i].p_vaddr;
		if (part[i].p_type == PT_DYNAMIC)
			dynamic = (const Elf64_Dyn *)(base + part[i].p_offset);
	}
	return elf_image(ret, load, dynamic);
}

static void *symbol_at(const struct elf_image *m, uint32_t i, const char *name)
{
	const Elf64_Sym *s = &m->symbols[i];

	if (s->st_shndx == SHN_UNDEF || !s->st_value ||
		ELF_ST_TYPE(s->st_info) == STT_GNU_IFUNC ||
		(m->versions && m->versions[i] & VERSYM_HIDDEN) ||
		!str_equal(m->strings + s->st_name, name))
		return NULL;
	return (void *)(m->load + s->st_value);
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	while (*name)
		h = h * 33 + (unsigned char)*name++;
	return h;
}

static void *by_gnu_hash(const struct elf_image *m, const char *name)
{
	const uint32_t *table = m->gnu_hash, n_buckets = table[0];
	const uint32_t first = table[1], *buckets = table + 4 + table[2] * 2;
	const uint32_t *chain = buckets + n_buckets, h = gnu_hash(name);
	uint32_t i = n_buckets ? buckets[h % n_buckets] : 0;
	void *found;

	if (i < first)
		return NULL;
	do {
		if ((chain[i - first] | 1) != (h | 1))
			continue;
		found = symbol_at(m, i, name);
		if (found)
			return found;
	} while (!(chain[i++ - first] & 1));
	return NULL;
}

void *elf_symbol(const struct elf_image *m, const char *name)
{
	void *found = NULL;
	uint32_t i;

	if (m->gnu_hash)
		return by_gnu_hash(m, name);
	/* The older table has the number of symbols. */
	for (i = 0; i < m->hash[1] && !found; i++)
		found = symbol_at(m, i, name);
	return found;
}
