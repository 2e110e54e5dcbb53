// SPDX-License-Identifier: MIT
/*
 * What the commands of `ipclift` share: how they are listed, and how they
 * complain. Every message is one line on stderr that begins "ipclift: ".
 */
#ifndef IPCLIFT_TOOL_COMMAND_H
#define IPCLIFT_TOOL_COMMAND_H

/* Exit statuses; `run` has those of its program besides. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1, /* it was tried and did not work, or found faults */
	EXIT_USAGE = 2,
};

struct command {
	const char *name;
	const char *summary; /* one line for ipclift --help */
	const char *help;    /* the text of ipclift NAME --help */
	/* argv[0] is the command's name; returns the exit status. */
	int (*main)(int argc, char **argv);
};

/* EXIT_USAGE, with the message and where to read on. */
__attribute__((format(printf, 1, 2))) int usage_error(const char *fmt, ...);
/* EXIT_FAILED, with the message. */
__attribute__((format(printf, 1, 2))) int failure(const char *fmt, ...);
/* What getopt_long refused, as a usage error. c: its return value. */
int option_error(int c, char **argv);
/* The help of the command that runs now, on stdout; returns EXIT_OK. */
int print_help(void);

#endif
