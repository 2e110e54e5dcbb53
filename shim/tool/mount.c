// SPDX-License-Identifier: MIT
/*
 * Starting ipclift-fuse; see mount.h.
 *
 * It is searched beside this program, where it is installed, and where the
 * build puts it.
 */
#include "tool/mount.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool/registry.h"

static int start_fuse(char **argv)
{
	static const char *const places[] = {
		"ipclift-fuse", "../../fuse/ipclift-fuse"};
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	size_t i;
	char *name;

	path[n > 0 ? n : 0] = 0;
	name = strrchr(path, '/');
	for (i = 0; name && i < 2; i++) {
		strcpy(name + 1, places[i]);
		execv(path, argv);
		if (errno != ENOENT)
			return failure("%s: %s", path, strerror(errno));
	}
	return failure("ipclift-fuse is not installed beside this program");
}

int mount_is_helper(int argc, char **argv)
{
	return argc == 5 && !strcmp(argv[3], "-o") && argv[2][0] == '/';
}

int mount_helper(char **argv)
{
	return start_fuse(argv);
}

static const char *fuse_options;
static int foreground;

static const struct option_spec options[] = {
	{"options", 'o', "OPTION,...", &fuse_options,
		"allow_other, create, ...: see ipclift-fuse(1)"},
	{"foreground", 'f', NULL, &foreground, "stay in the foreground"},
	{0},
};

static int mount_main(int argc, char **argv)
{
	char *words[8] = {"ipclift-fuse"};
	const char *path;
	int n = 1;

	if (argc != 1)
		return usage_error("name one directory to mount it on");
	path = registry_path();
	if (!path)
		return EXIT_USAGE;
	if (foreground)
		words[n++] = "-f";
	if (fuse_options) {
		words[n++] = "-o";
		words[n++] = (char *)fuse_options;
	}
	/* The default it finds itself, and makes its directory. */
	if (registry_is_named())
		words[n++] = (char *)path;
	words[n++] = argv[0];
	return start_fuse(words);
}

const struct command mount_command = {
	.name = "mount",
	.summary = "mount a registry's view on a directory",
	.usage = "[OPTIONS] DIR",
	.about = "Show a registry as a directory: sysvipc/ and sys/ as in "
		 "/proc,\n"
		 "mqueue/, sem/ID/, msg/ID/, shm/ID/, locks, tasks, waits, "
		 "events,\n"
		 "stats. Unmount it by: fusermount3 -u DIR",
	.options = options,
	.is = COMMAND_ON_REGISTRY,
	.main = mount_main,
};
