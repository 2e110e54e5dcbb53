// SPDX-License-Identifier: MIT
/*
 * What doctor finds: a line each, and below a fault the command that repairs
 * it, as it can be given to a shell.
 */
#ifndef IPCLIFT_TOOL_FINDING_H
#define IPCLIFT_TOOL_FINDING_H

/* From now on they are gathered, and printed by finding_verdict. */
void finding_as_json(void);
/* detail may be NULL. */
void finding_good(const char *what, const char *detail);
/* A fault keeps programs from being served, a warning does not. mend: the
 * command, or NULL where there is none. */
__attribute__((format(printf, 2, 3))) void finding_fault(
	const char *mend, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void finding_warning(
	const char *mend, const char *fmt, ...);
/* A call whose results differ. */
void finding_differs(const char *kernel, const char *shim);
int finding_faults(void); /* so far */
/* The last line: EXIT_OK, or EXIT_FAILED if there was a fault. */
int finding_verdict(void);

/* 1, with a line on stderr, if the program that these words start, by way of
 * "#!" and env(1), will not be served. (program.c) */
int program_tell(char **argv);

/* Is PROGRAM one that the loader starts with LD_PRELOAD? (program.c) */
void program_check(const char *name);

#endif
