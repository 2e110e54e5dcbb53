// SPDX-License-Identifier: MIT
/*
 * The kernel's side of a key. An object of the same key made by a program
 * without the shim is invisible here; whoever uses the key as an interlock
 * must be told (a second PostgreSQL on one data directory).
 *
 * The kernel is asked by its own *get(key, 0, 0), which makes nothing and
 * costs a third of a microsecond where reading /proc/sysvipc costs twenty. It
 * is asked per key only while its namespace has any object of the kind; that
 * it has none is remembered, in the registry, for KERNELKEY_FRESH_NS. A
 * process under a seccomp filter might be killed for such a call: it reads the
 * file.
 */
#ifndef IPCLIFT_OBJECT_KERNELKEY_H
#define IPCLIFT_OBJECT_KERNELKEY_H

#include "registry/caller.h"

/* Arbitrary: long beside a creation (0.2 us), short beside starting a server.
 */
#define KERNELKEY_FRESH_NS 20000000ULL

/* 1 if the kernel has an object of this facility with this key. No lock may
 * be held. */
int kernelkey_taken(struct caller *c, enum facility f, s32 key);

#endif
