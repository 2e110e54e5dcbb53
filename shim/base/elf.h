// SPDX-License-Identifier: MIT
/*
 * Symbols of an ELF image that is in memory: the vDSO, and the objects that the
 * dynamic loader has loaded.
 */
#ifndef IPCLIFT_BASE_ELF_H
#define IPCLIFT_BASE_ELF_H

#include <stddef.h>
#include <stdint.h>
#include <linux/elf.h>

/* What is needed of the dynamic section; NULL = not there. */
struct elf_image {
	uintptr_t load; /* added to the addresses in it */
	const char *strings;
	const Elf64_Sym *symbols;
	const uint32_t *gnu_hash, *hash;
	const uint16_t *versions;
};

/* By its dynamic section. 1 if symbols can be looked up, else 0. */
int elf_image(struct elf_image *ret, uintptr_t load, const Elf64_Dyn *dynamic);
/* By its ELF header at base. */
int elf_image_loaded(struct elf_image *ret, uintptr_t base);

/* The address of a function or object that the image exports, the default one
 * of several versions; NULL if it has none of that name, or one that is chosen
 * at run time (STT_GNU_IFUNC). No lock, no allocation. */
void *elf_symbol(const struct elf_image *image, const char *name);

#endif
