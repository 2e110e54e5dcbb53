// SPDX-License-Identifier: MIT
/*
 * Objects of all four kinds, as the commands name, walk and show them.
 */
#ifndef IPCLIFT_TOOL_VIEW_OBJECTS_H
#define IPCLIFT_TOOL_VIEW_OBJECTS_H

#include <json-c/json.h>

#include "inspect/dump.h"
#include "inspect/glance.h"
#include "inspect/mqview.h"
#include "msg/msg.h"
#include "sem/sem.h"
#include "shm/shm.h"

struct object {
	enum facility kind;
	s32 id; /* of a POSIX queue: its index */
	s32 key;
	union {
		struct sem_stat sem;
		struct msg_stat msg;
		struct shm_stat shm;
		struct mq_view mq;
	};
};

/* "sem", "msg", "shm", "mq"; -1 if it is none of them. */
int kind_parse(const char *word);
/* Words that each are a kind, as bits (all four if there are none); 0 after a
 * usage error. */
unsigned kinds_parse(int argc, char **argv);

/* The object of this name: 1, or 0 if it was removed. */
int object_named(struct caller *c, enum facility kind,
	const struct dump_name *name, struct object *ret);
/* Call fn for each object of these kinds; stops at its first result that is
 * not 0 and returns it. A kind that cannot be walked is reported and
 * skipped; then EXIT_FAILED is returned at the end. */
int object_each(struct caller *c, unsigned kinds,
	int (*fn)(struct caller *c, const struct object *o, void *arg),
	void *arg);
/* Can the word name an object of the kind? 0, or EXIT_USAGE after a message. */
int object_word(enum facility kind, const char *word);
/* The object that a word names: an id, a queue's name with or without its
 * slash. 0, or an exit status after a message. */
int object_find(struct caller *c, enum facility kind, const char *word,
	struct object *ret);
/* "sem 5", "mq /jobs". Two buffers in turn. */
const char *object_name(const struct object *o);

/* IPC_RMID or mq_unlink: 0, or EXIT_FAILED after a message. */
int object_destroy(struct caller *c, const struct object *o);

/* Its row for ls; sleepers are from the glance. */
json_object *object_row(
	struct caller *c, const struct object *o, const struct glance *g);

#endif
