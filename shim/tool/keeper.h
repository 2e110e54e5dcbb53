// SPDX-License-Identifier: MIT
/*
 * ipclift run --private: a registry that lives as long as its users.
 *
 *	front ---- keeper ---- the program ---- its children
 *
 * front   the process that was started. Passes signals on, stops and continues
 *         with the program, exits with the program's exit status.
 * keeper  in a session of its own, without descriptors of ours. As child
 *         subreaper it gets every orphan of the program, so it knows when the
 *         last process has exited, daemons included; then it removes the
 *         registry. If there are no others, it does so before front exits.
 *
 * If front is killed, keeper kills the program (SIGKILL, as unshare(1) does
 * with --kill-child); its children go on, and the registry stays for them. If
 * keeper is killed, front gets the orphans and takes over its duty, but the
 * program then outlives front; if both are killed, the program goes on, and the
 * next ipclift command after its exit sweeps (home.h). A process started
 * elsewhere with the registry in its environment is waited for, too.
 */
#ifndef IPCLIFT_TOOL_KEEPER_H
#define IPCLIFT_TOOL_KEEPER_H

/* Run argv, by exec (run_exec: it returns only on failure, an exit status), on
 * a fresh private registry, which prepare makes of the empty file
 * (run_make_registry); returns the exit status, which is `ours` if the registry
 * cannot be made. The environment is set but for IPCLIFT_REGISTRY. */
int keeper_run(
	char **argv, int (*prepare)(void), int (*exec)(char **argv), int ours);

#endif
