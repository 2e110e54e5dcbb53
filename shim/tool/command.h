// SPDX-License-Identifier: MIT
/*
 * What the commands of `ipclift` share: how they are listed, and how they
 * complain. Every message is one line on stderr that begins "ipclift: ".
 */
#ifndef IPCLIFT_TOOL_COMMAND_H
#define IPCLIFT_TOOL_COMMAND_H

#include "tool/options.h"

/* Exit statuses; `run` has those of its program besides. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1, /* it was tried and did not work, or found faults */
	EXIT_USAGE = 2,
};

struct command {
	const char *name;
	const char *summary; /* one line for ipclift --help */
	const char *usage;   /* what follows the name; forms divided by \n */
	const char *about;   /* the text of --help between usage and options */
	const char *more;    /* and behind the options; may be NULL */
	const struct option_spec *options; /* may be NULL */
	unsigned is;			   /* COMMAND_* */
	/* The words left after the options; returns the exit status. */
	int (*main)(int argc, char **argv);
};
/* It looks at a registry: --registry, --name (registry.h). */
#define COMMAND_ON_REGISTRY 1u
/* Options end at the first word. */
#define COMMAND_STOPS 2u

extern const struct command run_command, ls_command, show_command, rm_command,
	gc_command, get_command, set_command, check_command, waits_command,
	locks_command, tasks_command, events_command, save_command,
	restore_command, bench_command, doctor_command, mount_command;

/* EXIT_USAGE, with the message and where to read on. */
__attribute__((format(printf, 1, 2))) int usage_error(const char *fmt, ...);
/* EXIT_FAILED, with the message. */
__attribute__((format(printf, 1, 2))) int failure(const char *fmt, ...);
/* EXIT_USAGE if there is a word. */
int no_words(int argc, char **argv);

#endif
