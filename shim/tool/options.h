// SPDX-License-Identifier: MIT
/*
 * The options of all commands: one parser, and the help, which is made from the
 * same table so that the two cannot differ.
 */
#ifndef IPCLIFT_TOOL_OPTIONS_H
#define IPCLIFT_TOOL_OPTIONS_H

#include <stdio.h>

struct option_spec {
	const char *name;  /* without the dashes; NULL ends a table */
	char letter;	   /* short form, 0 = none */
	const char *value; /* what it takes ("PATH"), NULL = a flag */
	void *to;	   /* const char ** of a value, int * of a flag */
	const char *about; /* lines of the help, separated by \n */
};

/* Tables in a list: a command's own, those of all that print tables, those of
 * all on a registry. Each may be NULL. */
#define OPTION_TABLES 3

/*
 * Read the options of all tables, and --help. They may be between words,
 * unless stop: then they end at the first word. argv is sorted: words last;
 * *ret_first is the first of them. 0; EXIT_USAGE after a message; -1 if help is
 * wanted.
 */
int options_parse(int argc, char **argv,
	const struct option_spec *const *tables, int stop, int *ret_first);

/* The lines of --help on the options. */
void options_help(const struct option_spec *const *tables, FILE *to);

#endif
