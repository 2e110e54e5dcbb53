// SPDX-License-Identifier: MIT
/*
 * ipclift: the command. This file has the table of commands and calls them;
 * each is in a file of its own.
 *
 * It uses libc freely, and of the shim only its core (registry/, index/, sem/,
 * msg/ ...): it changes a registry by the same functions as a program's calls.
 */
#include "tool/bench/work/worker.h"
#include "tool/command.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "tool/home.h"
#include "tool/mount.h"
#include "tool/namespaces.h"
#include "tool/probe.h"
#include "tool/registry.h"
#include "tool/view/choice.h"

static const struct command *const commands[] = {
	&run_command,
	&create_command,
	&registries_command,
	&destroy_command,
	&ls_command,
	&show_command,
	&rm_command,
	&gc_command,
	&get_command,
	&set_command,
	&top_command,
	&waits_command,
	&locks_command,
	&tasks_command,
	&events_command,
	&metrics_command,
	&check_command,
	&save_command,
	&restore_command,
	&mount_command,
#ifdef IPCLIFT_HIREDIS
	&bridge_command,
#endif
	&bench_command,
	&doctor_command,
};
#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct command *current;

static const struct option_spec *const *tables_of(const struct command *c)
{
	static const struct option_spec *tables[OPTION_TABLES];

	tables[0] = c->options;
	tables[1] = c->is & COMMAND_TABLE ? choice_options : NULL;
	tables[2] = c->is & COMMAND_ON_REGISTRY ? registry_options : NULL;
	return tables;
}

static int print_help(const struct command *c)
{
	const char *form = c->usage, *end;
	const char *lead = "usage:";

	for (; *form; form = *end ? end + 1 : end) {
		end = strchrnul(form, '\n');
		printf("%s ipclift %s %.*s\n", lead, c->name, (int)(end - form),
			form);
		lead = "      ";
	}
	printf("\n%s\n\n", c->about);
	options_help(tables_of(c), stdout);
	if (c->more)
		printf("\n%s\n", c->more);
	return EXIT_OK;
}

static const struct command *command_find(const char *name)
{
	size_t i;

	for (i = 0; i < N_COMMANDS; i++)
		if (!strcmp(name, commands[i]->name))
			return commands[i];
	return NULL;
}

static int print_overview(void)
{
	size_t i;

	puts("usage: ipclift COMMAND [OPTIONS] [ARGS]\n\n"
	     "System V IPC and POSIX message queues in user space: run "
	     "programs "
	     "on a\n"
	     "registry in shared memory instead of the kernel's objects, and "
	     "look after\n"
	     "that registry.\n\n"
	     "Commands:");
	for (i = 0; i < N_COMMANDS; i++)
		printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
	puts("\nOptions:\n"
	     "  --help     this text; ipclift COMMAND --help tells more\n"
	     "  --version  the version\n\n"
	     "Environment:\n"
	     "  IPCLIFT_REGISTRY  the registry's file (default "
	     "/dev/shm/ipclift-<uid>/default)\n"
	     "  NO_COLOR          no colours, even on a terminal\n\n"
	     "The manual page ipclift(1) has it all.");
	return EXIT_OK;
}

static int run_current(int argc, char **argv)
{
	int first, err;

	err = options_parse(argc, argv, tables_of(current),
		(current->is & COMMAND_STOPS) != 0, &first);
	if (err < 0)
		return print_help(current);
	if (!err && current->columns)
		err = choice_check(current->columns);
	return err ? err
		   : choice_repeat(current->main, argc - first, argv + first);
}

/* If the output could not be written (a full disk), that is a failure. */
static int written(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fprintf(stderr, "ipclift: the output cannot be written: %s\n",
		strerror(errno));
	return status ? status : EXIT_FAILED;
}

/* ipclift help [COMMAND] */
static int help(int argc, char **argv)
{
	const struct command *c;

	if (argc > 1)
		return usage_error("'%s' is one word too many", argv[1]);
	if (!argc)
		return print_overview();
	c = command_find(argv[0]);
	return c ? print_help(c) : usage_error("unknown command '%s'", argv[0]);
}

int main(int argc, char **argv)
{
	/* For what a character is, and its width. */
	setlocale(LC_CTYPE, "");
	if (argc < 2)
		return usage_error("which command?");
	if (!strcmp(argv[1], "help"))
		return written(help(argc - 2, argv + 2));
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return written(print_overview());
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("ipclift " IPCLIFT_VERSION);
		return written(EXIT_OK);
	}
	if (!strcmp(argv[1], "--probe"))
		return probe_main(argc - 2, argv + 2);
	if (!strcmp(argv[1], "--work"))
		return worker_main(argc - 2, argv + 2);
	if (argv[1][0] == '-')
		return usage_error("unknown option '%s'", argv[1]);
	current = command_find(argv[1]);
	if (!current && mount_is_helper(argc, argv))
		return mount_helper(argv);
	if (!current)
		return usage_error("unknown command '%s'", argv[1]);
	message_command(current->name);
	home_sweep();
	namespaces_sweep_home();
	return written(run_current(argc - 1, argv + 1));
}
