// SPDX-License-Identifier: MIT
/*
 * Leases by name; see lease.h.
 */
#include "tool/lease.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "mq/mqlease.h"
#include "msg/msg.h"
#include "msg/msglease.h"
#include "msg/msgqueue.h"
#include "tool/view/objects.h"
#include "tool/message.h"

static const char prefix[] = "lease:";

/* lease:KIND/NAME=VALUE in its parts; the name of a queue has no '='. */
struct parts {
	int kind;
	char name[MQ_NAME_MAX + 2];
	const char *value; /* NULL: none */
};

int lease_is_word(const char *word)
{
	return !strncmp(word, prefix, sizeof(prefix) - 1);
}

/* 0, or the exit status. */
static int split(const char *word, struct parts *ret)
{
	const char *kind = word + sizeof(prefix) - 1;
	const char *name = strchr(kind, '/');
	char letters[8];
	size_t n;

	if (!name)
		return usage_error(
			"'%s' is not lease:msg/ID or lease:mq/NAME", word);
	snprintf(letters, sizeof(letters), "%.*s", (int)(name - kind), kind);
	ret->kind = kind_parse(letters);
	if (ret->kind != FAC_MSG && ret->kind != FAC_MQ)
		return usage_error(
			"'%s': only msg and mq have leases", letters);
	name++;
	ret->value = strrchr(name, '=');
	n = ret->value ? (size_t)(ret->value - name) : strlen(name);
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)n, name);
	ret->value += ret->value != NULL;
	return object_word((enum facility)ret->kind, ret->name) ? EXIT_USAGE
								: 0;
}

int lease_check_word(const char *word, int with_value)
{
	struct parts p;
	int err = split(word, &p);

	if (err)
		return err;
	if (!with_value && p.value)
		return usage_error("'%s': no value", word);
	if (with_value &&
		(!p.value || (strcmp(p.value, "on") && strcmp(p.value, "off"))))
		return usage_error(
			"'%s' is not %s...=on or =off", word, prefix);
	return 0;
}

static int find(struct caller *c, const char *word, struct parts *ret_parts,
	struct object *ret)
{
	int err = split(word, ret_parts);

	return err ? err
		   : object_find(c, (enum facility)ret_parts->kind,
			     ret_parts->name, ret);
}

int lease_set(struct caller *c, const char *word)
{
	struct object o;
	struct parts p;
	int err = find(c, word, &p, &o), on;

	if (err)
		return err;
	on = !strcmp(p.value, "on");
	err = o.kind == FAC_MSG ? msg_set_leasing(c, o.id, on)
				: mq_set_leasing(c, &o.mq.desc, on);
	return err ? failure("%s: %s", object_name(&o), strerror(-err)) : 0;
}

int lease_get(struct caller *c, const char *word, int *ret)
{
	struct object o;
	struct parts p;
	int err = find(c, word, &p, &o);
	const struct slot *s;
	u32 leasing = 0;
	u64 ident;

	if (err)
		return err;
	if (o.kind == FAC_MQ) {
		leasing = mq_body(c, o.mq.desc.s)->leasing;
	} else {
		s = ids_find(c, FAC_MSG, o.id, &ident);
		if (s && msg_body(c, s))
			leasing = msg_body(c, s)->leasing;
	}
	*ret = leasing & LEASES_ON;
	return 0;
}
