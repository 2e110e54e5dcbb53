// SPDX-License-Identifier: MIT
/*
 * What happens when the library is loaded, before the program's own code: all
 * that could not be made up for later, and no system call but in a program that
 * was left a queue's descriptor (fdarrive.h).
 */
#include "entry/environment.h"
#include "entry/file/fdarrive.h"

__attribute__((constructor)) static void at_load(void)
{
	environment_at_load();
	fdarrive_at_load();
}
