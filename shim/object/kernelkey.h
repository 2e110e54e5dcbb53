// SPDX-License-Identifier: MIT
/*
 * Whether the kernel has an object with a key. Such an object, made by a
 * program without the shim, is not in the registry; but a program that uses the
 * key as an interlock must see it (a second PostgreSQL on one data directory).
 *
 * It is found by the kernel's own *get(key, 0, 0), which creates nothing and
 * costs a third of a microsecond, where reading /proc/sysvipc costs twenty.
 * That is called per key only while the namespace has any object of the kind;
 * that it has none is noted in the registry for KERNELKEY_FRESH_NS. A process
 * under a seccomp filter might be killed for such a call, so it reads the file.
 */
#ifndef IPCLIFT_OBJECT_KERNELKEY_H
#define IPCLIFT_OBJECT_KERNELKEY_H

#include "registry/caller.h"

/* Arbitrary: long compared with a creation (0.2 us), short compared with the
 * start of a server. */
#define KERNELKEY_FRESH_NS 20000000ULL

/* 1 if the kernel has an object of this facility with this key. No lock may
 * be held. */
int kernelkey_taken(struct caller *c, enum facility f, s32 key);

#endif
