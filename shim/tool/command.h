// SPDX-License-Identifier: MIT
/*
 * What the commands of `ipclift` share: how they are listed.
 */
#ifndef IPCLIFT_TOOL_COMMAND_H
#define IPCLIFT_TOOL_COMMAND_H

#include "inspect/column.h"
#include "tool/message.h"
#include "tool/options.h"

struct command {
	const char *name;
	const char *summary; /* one line for ipclift --help */
	const char *usage;   /* what follows the name; forms divided by \n */
	const char *about;   /* the text of --help between usage and options */
	const char *more;    /* and after the options; may be NULL */
	const struct option_spec *options; /* may be NULL */
	unsigned is;			   /* COMMAND_* */
	/* Of its table, COMMAND_TABLE; NULL: it checks the choice itself. */
	const struct column *columns;
	/* The words left after the options; returns the exit status. */
	int (*main)(int argc, char **argv);
};
/* It works on a registry: --registry, --name (registry.h). */
#define COMMAND_ON_REGISTRY 1u
/* Options end at the first word. */
#define COMMAND_STOPS 2u
/* It prints tables whose columns and rows the user chooses: view/choice.h. */
#define COMMAND_TABLE 4u

extern const struct command run_command, ls_command, show_command, rm_command,
	gc_command, get_command, set_command, check_command, waits_command,
	locks_command, tasks_command, events_command, save_command,
	restore_command, bench_command, doctor_command, mount_command,
	create_command, registries_command, destroy_command, top_command,
	metrics_command, bridge_command;

#endif
