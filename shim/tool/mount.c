// SPDX-License-Identifier: MIT
/*
 * Starting ipclift-fuse; see mount.h.
 *
 * It is looked for beside this program, as installed, and where the build
 * leaves it.
 */
#include "tool/mount.h"

#include <errno.h>
#include <getopt.h>
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

static int mount_main(int argc, char **argv)
{
	static const struct option options[] = {
		{"registry", required_argument, NULL, 'r'},
		{"name", required_argument, NULL, 'n'},
		{"foreground", no_argument, NULL, 'f'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	char *words[8] = {"ipclift-fuse"}, *fuse_options = NULL;
	int c, err, n = 1, foreground = 0;
	struct view v = {0};

	while ((c = getopt_long(argc, argv, ":hfo:", options, NULL)) != -1) {
		switch (c) {
		case 'r':
			v.registry = optarg;
			break;
		case 'n':
			v.name = optarg;
			break;
		case 'o':
			if (fuse_options)
				return usage_error("give -o once, its options "
						   "separated by commas");
			fuse_options = optarg;
			break;
		case 'f':
			foreground = 1;
			break;
		case 'h':
			return print_help();
		default:
			return option_error(c, argv);
		}
	}
	if (argc - optind != 1)
		return usage_error("name one directory to mount it on");
	err = view_path(&v);
	if (err)
		return err;
	if (foreground)
		words[n++] = "-f";
	if (fuse_options) {
		words[n++] = "-o";
		words[n++] = fuse_options;
	}
	/* The default it finds itself, and makes its directory. */
	if (v.registry || v.name)
		words[n++] = v.path;
	words[n++] = argv[optind];
	return start_fuse(words);
}

const struct command mount_command = {
	.name = "mount",
	.summary = "mount a registry's view on a directory",
	.help = "usage: ipclift mount [OPTIONS] DIR\n\n"
		"Show a registry as a directory: sysvipc/ and sys/ as in "
		"/proc,\n"
		"mqueue/, sem/ID/, msg/ID/, shm/ID/, locks, tasks, waits, "
		"events,\n"
		"stats. Unmount it by: fusermount3 -u DIR\n\n"
		"  -o OPTION[,OPTION...]\n"
		"                   allow_other, create, ...: see "
		"ipclift-fuse(1)\n"
		"  -f, --foreground stay in the foreground\n"
		"  --registry PATH  this registry\n"
		"  --name NAME      or this named one (default: "
		"IPCLIFT_REGISTRY,\n"
		"                   else /dev/shm/ipclift-<uid>/default)\n",
	.main = mount_main,
};
