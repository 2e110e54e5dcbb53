// SPDX-License-Identifier: MIT
/*
 * Messages and exit statuses of `ipclift`. Every message is one line on
 * stderr that begins "ipclift: " or "ipclift COMMAND: ".
 */
#ifndef IPCLIFT_TOOL_MESSAGE_H
#define IPCLIFT_TOOL_MESSAGE_H

/* Exit statuses; `run` also has those of its program. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1, /* it was tried and did not work, or found faults */
	EXIT_USAGE = 2,
};

/* The command named in messages from now on; NULL: none. */
void message_command(const char *name);

/* EXIT_USAGE, with the message and a hint at --help. */
__attribute__((format(printf, 1, 2))) int usage_error(const char *fmt, ...);
/* EXIT_FAILED, with the message. */
__attribute__((format(printf, 1, 2))) int failure(const char *fmt, ...);
/* EXIT_USAGE if there is a word. */
int no_words(int argc, char **argv);

#endif
