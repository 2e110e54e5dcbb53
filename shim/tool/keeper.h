// SPDX-License-Identifier: MIT
/*
 * ipclift run --private: a registry that lives as long as its users.
 *
 *	front ---- keeper ---- the program ---- its children
 *
 * front   the process that was started. Passes signals on, stops and goes on
 *         with the program, ends with the program's exit status.
 * keeper  in a session of its own, without descriptors of ours. Gets every
 *         orphan of the program (child subreaper), so it knows when the last
 *         process is gone, daemons included; then it removes the registry. If
 *         that is at once, it does so before front ends.
 *
 * When front is killed, keeper kills the program (SIGKILL, as unshare(1) does
 * with --kill-child); its children live on, and the registry with them. When
 * keeper is killed, the orphans come to front, which takes its duty over, but
 * the program then outlives front; when both are killed, it runs on, and the
 * next ipclift command after its end sweeps (home.h). A process started by
 * somebody else with the registry in its environment is waited for too.
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
