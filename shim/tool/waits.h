// SPDX-License-Identifier: MIT
/*
 * Commands on what processes are about: waits, events.
 */
#ifndef IPCLIFT_TOOL_WAITS_H
#define IPCLIFT_TOOL_WAITS_H

#include "tool/command.h"

extern const struct command waits_command, events_command;

#endif
