// SPDX-License-Identifier: MIT
/*
 * ipclift: the command. This file knows which commands there are and hands
 * over; each is in a file of its own.
 *
 * It uses libc freely, but sees no more of the shim than its core (registry/,
 * index/, ipc/): what it does to a registry goes through the same functions
 * that a program's calls go through.
 */
#include "tool/command.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tool/care.h"
#include "tool/home.h"
#include "tool/mount.h"
#include "tool/objects.h"
#include "tool/run.h"
#include "tool/waits.h"

static const struct command *const commands[] = {
	&run_command,
	&ls_command,
	&show_command,
	&rm_command,
	&gc_command,
	&get_command,
	&set_command,
	&check_command,
	&waits_command,
	&events_command,
	&mount_command,
	&doctor_command,
};
#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct command *current;

static void complain(const char *fmt, va_list args)
{
	char line[512];

	vsnprintf(line, sizeof(line), fmt, args);
	if (current)
		fprintf(stderr, "ipclift %s: %s\n", current->name, line);
	else
		fprintf(stderr, "ipclift: %s\n", line);
}

int usage_error(const char *fmt, ...)
{
	char more[512];
	va_list args;

	snprintf(more, sizeof(more), "%s (see ipclift%s%s --help)", fmt,
		current ? " " : "", current ? current->name : "");
	va_start(args, fmt);
	complain(more, args);
	va_end(args);
	return EXIT_USAGE;
}

int failure(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	complain(fmt, args);
	va_end(args);
	return EXIT_FAILED;
}

int option_error(int c, char **argv)
{
	const char *arg = argv[optind - 1];

	if (c == ':')
		return usage_error("option '%s' needs a value", arg);
	if (optopt && strncmp(arg, "--", 2) != 0)
		return usage_error("unknown option '-%c'", optopt);
	return usage_error("unknown option '%s'", arg);
}

int print_help(void)
{
	fputs(current->help, stdout);
	return EXIT_OK;
}

static int print_overview(void)
{
	size_t i;

	puts("usage: ipclift COMMAND [OPTIONS] [ARGS]\n\n"
	     "System V IPC in user space: run programs on a registry in shared "
	     "memory\n"
	     "instead of the kernel's objects, and look after that "
	     "registry.\n\n"
	     "Commands:");
	for (i = 0; i < N_COMMANDS; i++)
		printf("  %-8s %s\n", commands[i]->name, commands[i]->summary);
	puts("\nOptions:\n"
	     "  --help     this text; ipclift COMMAND --help tells more\n"
	     "  --version  the version\n\n"
	     "Environment:\n"
	     "  IPCLIFT_REGISTRY  the registry's file (default "
	     "/dev/shm/ipclift-<uid>/default)\n\n"
	     "The manual page ipclift(1) has it all.");
	return EXIT_OK;
}

int main(int argc, char **argv)
{
	size_t i;

	/* getopt_long prints lines of its own otherwise. */
	opterr = 0;
	if (argc < 2)
		return usage_error("which command?");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
		!strcmp(argv[1], "help"))
		return print_overview();
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("ipclift " IPCLIFT_VERSION);
		return EXIT_OK;
	}
	if (argv[1][0] == '-')
		return usage_error("unknown option '%s'", argv[1]);
	for (i = 0; i < N_COMMANDS; i++)
		if (!strcmp(argv[1], commands[i]->name))
			break;
	if (i == N_COMMANDS && mount_is_helper(argc, argv))
		return mount_helper(argv);
	if (i == N_COMMANDS)
		return usage_error("unknown command '%s'", argv[1]);
	current = commands[i];
	home_sweep();
	return current->main(argc - 1, argv + 1);
}
