// SPDX-License-Identifier: MIT
/*
 * ipclift get and set: the limits of a registry.
 */
#include <stdio.h>
#include <string.h>

#include "object/control.h"
#include "object/controlfile.h"
#include "tool/lease.h"
#include "tool/registry.h"
#include "tool/view/table.h"

/* ---- get ---- */

static int as_json;

static const struct option_spec get_options[] = {
	{"json", 0, NULL, &as_json, "as a JSON object"},
	{0},
};

static void print_control(const struct caller *c, const struct control *k)
{
	if (k->size == 8)
		printf("%-16s %20llu  %s\n", k->name,
			(unsigned long long)control_get(c, k), k->about);
	else
		printf("%-16s %20lld  %s\n", k->name,
			(long long)control_get(c, k), k->about);
}

static void add_control(
	json_object *all, const struct caller *c, const struct control *k)
{
	if (k->size == 8)
		field_uint(all, k->name, control_get(c, k));
	else
		field_int(all, k->name, (s64)control_get(c, k));
}

static int get_lease(struct caller *c, json_object *all, const char *word)
{
	int on, err = lease_get(c, word, &on);

	if (err)
		return err;
	field_text(all, word, "%s", on ? "on" : "off");
	if (!as_json)
		printf("%-16s %20s  what is received is leased\n", word,
			on ? "on" : "off");
	return 0;
}

static int get_main(int argc, char **argv)
{
	json_object *all;
	struct caller *c;
	int err, i;

	for (i = 0; i < argc; i++)
		if (lease_is_word(argv[i])) {
			err = lease_check_word(argv[i], 0);
			if (err)
				return err;
		} else if (!control_find(argv[i])) {
			return usage_error("no limit '%s'", argv[i]);
		}
	c = registry_open_read_only(&err);
	if (!c)
		return err;
	/* Apply what programs have written to control files. */
	controlfile_drain(c);
	all = json_object_new_object();
	for (i = 0; i < (argc ? argc : (int)n_controls); i++) {
		const struct control *k =
			argc ? control_find(argv[i]) : &controls[i];

		if (!k) {
			err = get_lease(c, all, argv[i]);
			if (err)
				break;
			continue;
		}
		add_control(all, c, k);
		if (!as_json)
			print_control(c, k);
	}
	if (as_json && !err)
		json_print(all);
	else
		json_object_put(all);
	return err;
}

const struct command get_command = {
	.name = "get",
	.summary = "print limits",
	.usage = "[OPTIONS] [NAME...]",
	.about = "Print limits of a registry, all by default. The names are "
		 "those of\n"
		 "/proc/sys/kernel and /proc/sys/fs/mqueue, and semmsl, "
		 "semmns, semopm,\n"
		 "semmni for the four values of kernel/sem; lease:msg/ID and "
		 "lease:mq/NAME\n"
		 "tell whether messages received from that queue are leased "
		 "(libipclift(7)).",
	.options = get_options,
	.is = COMMAND_ON_REGISTRY,
	.main = get_main,
};

/* ---- set ---- */

static s64 lowest(const struct control *k)
{
	return k->size == 8 ? 0 : k->min;
}

/* c NULL: in any registry. */
static u64 highest(const struct control *k, const struct caller *c)
{
	if (k->size == 8)
		return ~0ULL;
	if (!k->by_ids)
		return (u64)k->max;
	return 1ULL << (c ? caller_header(c)->idx_bits : IDX_BITS_EXTENDED);
}

/* 0, or the exit status of a word that is no NAME=VALUE of ours. */
static int parse_assignment(const char *word, const struct control **ret,
	unsigned long long *ret_value)
{
	const char *value = strchr(word, '=');
	char name[32];

	if (!value)
		return usage_error("'%s' is not NAME=VALUE", word);
	snprintf(name, sizeof(name), "%.*s", (int)(value - word), word);
	*ret = control_find(name);
	if (!*ret)
		return usage_error("no limit '%s'", name);
	value++;
	if (parse_number(value, (*ret)->size == 8 ? 0 : -2147483648LL,
		    (*ret)->size == 8 ? ~0ULL : 2147483647ULL, ret_value))
		return usage_error("%s: '%s' is no number from %lld to %llu",
			name, value, (long long)lowest(*ret),
			(unsigned long long)highest(*ret, NULL));
	return 0;
}

static int set_main(int argc, char **argv)
{
	const struct control *k;
	unsigned long long v;
	struct caller *c;
	int err, i;

	if (!argc)
		return usage_error("which limit? NAME=VALUE");
	/* All words first: a mistake changes nothing. */
	for (i = 0; i < argc; i++) {
		err = lease_is_word(argv[i])
			      ? lease_check_word(argv[i], 1)
			      : parse_assignment(argv[i], &k, &v);
		if (err)
			return err;
	}
	c = registry_open(&err);
	for (i = 0; c && !err && i < argc; i++) {
		if (lease_is_word(argv[i])) {
			err = lease_set(c, argv[i]);
			continue;
		}
		parse_assignment(argv[i], &k, &v);
		if (control_set(c, k, v))
			err = failure("%s: %s is not from %lld to %llu",
				k->name, strchr(argv[i], '=') + 1,
				(long long)lowest(k),
				(unsigned long long)highest(k, c));
	}
	return err;
}

const struct command set_command = {
	.name = "set",
	.summary = "change limits",
	.usage = "[OPTIONS] NAME=VALUE...",
	.about = "Change limits of a registry; ipclift get lists them. A "
		 "change counts from\n"
		 "the next call on. Objects beyond a lowered limit stay. "
		 "lease:msg/ID=on and\n"
		 "lease:mq/NAME=on, by the queue's owner: a message that was "
		 "received stays\n"
		 "until it is acknowledged, and comes back if its receiver is "
		 "killed\n"
		 "(libipclift(7)); =off ends that for what is received from "
		 "then on.",
	.is = COMMAND_ON_REGISTRY,
	.main = set_main,
};
