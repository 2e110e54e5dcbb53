// SPDX-License-Identifier: MIT
/*
 * Commands on the registry as a whole: get, set, check, doctor.
 */
#ifndef IPCLIFT_TOOL_CARE_H
#define IPCLIFT_TOOL_CARE_H

#include "tool/command.h"

extern const struct command get_command, set_command, check_command;
extern const struct command doctor_command; /* doctor.c */

#endif
