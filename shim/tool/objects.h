// SPDX-License-Identifier: MIT
/*
 * Commands on objects: ls, show, rm, gc.
 */
#ifndef IPCLIFT_TOOL_OBJECTS_H
#define IPCLIFT_TOOL_OBJECTS_H

#include "tool/command.h"

extern const struct command ls_command, show_command, rm_command, gc_command;

#endif
