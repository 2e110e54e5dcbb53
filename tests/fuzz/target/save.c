// SPDX-License-Identifier: MIT
/*
 * save: a damaged registry is saved to a file.
 */
#include <stdio.h>
#include <unistd.h>

#include "target.h"
#include "tool/command.h"

static void save(void *arg)
{
	char file[600];
	char *argv[] = {"save", file, NULL};

	(void)arg;
	snprintf(file, sizeof(file), "%s/saved", target_dir());
	target_command(&save_command, 2, argv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	target_damage(data, size);
	target_run(save, NULL);
	return 0;
}
