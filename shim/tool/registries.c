// SPDX-License-Identifier: MIT
/*
 * ipclift create, registries, destroy: registries as files.
 *
 * A registry shared with other users is in its owner's directory, like the
 * owner's others, so that no other user can place a file there as a trap. Its
 * file has the requested mode, and the directory can be searched by others, who
 * must know the name (home_share).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inspect/rows.h"
#include "object/limits.h"
#include "object/sidefile.h"
#include "registry/region/regionhome.h"
#include "tool/home.h"
#include "tool/namespaces.h"
#include "tool/registry.h"
#include "tool/view/choice.h"
#include "tool/view/table.h"

/* NAME, OWNER/NAME as --name has it, or PATH: one that begins with '/' or '.'.
 * 0, or EXIT_USAGE after a message. */
static int path_of(const char *word, char *path)
{
	const char *fault = NULL;

	if (*word == '/' || (*word == '.' && strchr(word, '/')))
		snprintf(path, PATH_MAX, "%s", word);
	else
		fault = home_name_path(word, path);
	return fault ? usage_error("'%.80s' %s", word, fault) : 0;
}

/* ---- create ---- */

static const char *mode_text, *group_text, *limits_text, *ids_text;

static const struct option_spec create_options[] = {
	{"mode", 0, "MODE", &mode_text,
		"of the file, in octal: 666 for everybody (default:\n"
		"600, or 660 with --group)"},
	{"group", 0, "GROUP", &group_text, "whose members may use it, too"},
	{"limits", 0, "PROFILE", &limits_text,
		"kernel (what the kernel has now) or roomy (default)"},
	{"ids", 0, "MODE", &ids_text, "normal (default) or extended"},
	{0},
};

struct access_request {
	unsigned mode;
	gid_t gid; /* -1: as it comes */
};

static int parse_access(struct access_request *ret)
{
	const struct group *group = NULL;
	char *end;

	ret->mode = group_text ? 0660 : 0600;
	ret->gid = (gid_t)-1;
	if (mode_text)
		ret->mode = (unsigned)strtoul(mode_text, &end, 8);
	if (mode_text && (*end || end == mode_text || (ret->mode & ~0666u) ||
				 (ret->mode & 0600) != 0600))
		return usage_error("--mode: '%s' is not from 600 to 666, in "
				   "octal, without x bits",
			mode_text);
	if (!group_text)
		return 0;
	ret->gid = (gid_t)strtoul(group_text, &end, 10);
	if (*group_text && !*end)
		return 0;
	group = getgrnam(group_text);
	if (!group)
		return usage_error(
			"--group: there is no group '%s'", group_text);
	ret->gid = group->gr_gid;
	return 0;
}

/* Until this is done only its owner can open the new registry. */
static int share(const char *path, const struct access_request *access)
{
	char name[HOME_PATH_MAX];

	if (access->gid != (gid_t)-1 && chown(path, (uid_t)-1, access->gid))
		return -errno;
	if (chmod(path, access->mode))
		return -errno;
	return (access->mode & 066) && home_name_of(path, name) ? home_share()
								: 0;
}

static int make(const char *path, const struct access_request *access)
{
	struct region_options options = {0};
	struct caller *c;
	char why[512];
	int fd, err;

	fd = open(
		path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return failure("%s: %s", path,
			errno == EEXIST ? "there is a file of that name"
					: strerror(errno));
	fchmod(fd, 0600);
	close(fd);
	limits_choose(&options, limits_text, ids_text);
	c = registry_open_path(path, &options);
	if (!c) {
		unlink(path);
		return EXIT_FAILED;
	}
	/* Other users may not have the right to make it. */
	sidefile_make_dir(c);
	err = share(path, access);
	if (!err)
		return 0;
	home_remove(path);
	snprintf(why, sizeof(why), "%s", strerror(-err));
	return failure("%s: cannot be shared: %s", path, why);
}

static int create_main(int argc, char **argv)
{
	struct access_request access;
	char path[PATH_MAX], home[HOME_PATH_MAX], name[HOME_PATH_MAX];
	int err, fd;

	if (argc != 1)
		return usage_error(argc ? "one registry at a time"
					: "which registry? NAME or PATH");
	err = registry_new_fault(limits_text, ids_text);
	if (!err)
		err = parse_access(&access);
	if (!err)
		err = path_of(argv[0], path);
	if (err)
		return err;
	fd = home_name_of(path, name) ? home_open(1, home) : -1;
	if (fd >= 0)
		close(fd);
	if (!regionhome_is_owners(path, home))
		return failure(
			"%s: its directory is not its owner's alone", path);
	err = make(path, &access);
	if (err)
		return err;
	if (fd >= 0 && (access.mode & 066))
		printf("%s\nothers: ipclift run --name %u/%s\n", path,
			home_uid(), name);
	else
		puts(path);
	return EXIT_OK;
}

const struct command create_command = {
	.name = "create",
	.summary = "create a registry, also for other users",
	.usage = "[OPTIONS] NAME|PATH",
	.about = "Create a registry, which must not exist. The file of a NAME "
		 "is in\n"
		 "/dev/shm/ipclift-<uid>; with --mode or --group other users "
		 "open it by\n"
		 "--name OWNER/NAME, OWNER being a user's name or number. "
		 "Whoever can write a\n"
		 "registry can destroy its contents.",
	.options = create_options,
	.main = create_main,
};

/* ---- registries ---- */

static int as_json;

static const struct option_spec list_options[] = {
	{"json", 0, NULL, &as_json, "as a JSON array"},
	{0},
};

/* Registries in our home, in others' as far as permitted, and beside them. */
static void each_registry(void (*fn)(const char *path, void *arg), void *arg)
{
	char path[PATH_MAX];
	struct dirent **names;
	struct stat st;
	int n = scandir("/dev/shm", &names, NULL, alphasort), i;

	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/dev/shm/%s", names[i]->d_name);
		/* A link could lead to any directory of files. */
		if (!strncmp(names[i]->d_name, "ipclift-", 8) &&
			!lstat(path, &st) && S_ISDIR(st.st_mode))
			home_each_in(path, fn, arg);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	home_each_in("/dev/shm", fn, arg);
}

/* Why a header was refused, in a word. */
static const char *state_of(int err)
{
	switch (err) {
	case 0:
		return "ok";
	case -EPROTO:
		return "other version";
	case -ESTALE:
		return "other boot";
	case -EXDEV:
		return "other pid namespace";
	default:
		return "damaged";
	}
}

static void add_header(json_object *row, const char *path,
	const struct header *h, const struct stat *st, int err)
{
	u32 f, objects = 0;

	for (f = 0; f < N_FAC; f++)
		objects += h->ids[f].in_use;
	field_time(row, "created", (long long)h->created);
	field_text(row, "limits", "%s%s",
		h->profile == LIMITS_KERNEL ? "kernel" : "roomy",
		h->idx_bits == IDX_BITS_EXTENDED ? ", extended" : "");
	field_int(row, "objects", objects);
	if (err)
		field_null(row, "processes");
	else
		field_int(row, "processes", home_count_users(path));
	field_uint(row, "bytes", (unsigned long long)st->st_blocks * 512);
}

static json_object *row_of(const char *path)
{
	static struct header h;
	char name[HOME_PATH_MAX], why[512];
	json_object *row;
	struct stat st;
	int err = region_peek(path, &h, why, sizeof(why));

	/* A file of another kind, or one that we may not read. */
	if (err == -ENODATA || err == -EACCES || stat(path, &st))
		return NULL;
	row = json_object_new_object();
	field_text(row, "name", "%s", home_name_of(path, name) ? name : path);
	field_text(row, "path", "%s", path);
	field_user(row, "owner", st.st_uid);
	field_text(row, "mode", "%03o", st.st_mode & 0777);
	/* In another version the rest has another meaning. */
	if (err == -EPROTO) {
		field_int(row, "processes", home_count_mapped(path));
		field_uint(
			row, "bytes", (unsigned long long)st.st_blocks * 512);
	} else {
		add_header(row, path, &h, &st, err);
	}
	field_text(row, "state", "%s", state_of(err));
	return row;
}

struct beside {
	const char *path;
	json_object *rows;
};

static void add_namespace(
	const char *file, unsigned long long number, void *arg)
{
	struct beside *b = arg;
	json_object *row = row_of(file);

	if (!row)
		return;
	if (namespace_ended(b->path, file, number))
		field_text(row, "state", "ended");
	json_object_array_add(b->rows, row);
}

static void add_row(const char *path, void *arg)
{
	struct beside beside = {path, arg};
	json_object *row = row_of(path);

	if (!row)
		return;
	json_object_array_add(beside.rows, row);
	namespaces_each(path, add_namespace, &beside);
}

static int registries_main(int argc, char **argv)
{
	json_object *rows;
	int err = no_words(argc, argv);

	if (err)
		return err;
	rows = json_object_new_array();
	home_scan_once();
	each_registry(add_row, rows);
	choice_order(registry_columns, rows);
	rows_print(registry_columns, rows, as_json);
	return EXIT_OK;
}

const struct command registries_command = {
	.name = "registries",
	.summary = "list registries",
	.usage = "[OPTIONS]",
	.about = "List the registries in /dev/shm that you may read: your own "
		 "by name, other\n"
		 "users' by OWNER/NAME, others by path.\n"
		 "  PROCESSES  that use it, as far as you may see them\n"
		 "  STATE      other boot, other version: not usable by this "
		 "version or since\n"
		 "             this boot; ipclift destroy removes it. ended: "
		 "its IPC namespace\n"
		 "             (PATH.ns/N) has no processes any more; ipclift "
		 "gc removes it",
	.options = list_options,
	.is = COMMAND_TABLE,
	.columns = registry_columns,
	.main = registries_main,
};

/* ---- destroy ---- */

static int force;

static const struct option_spec destroy_options[] = {
	{"force", 0, NULL, &force,
		"even if processes use it: they continue with what they\n"
		"have, and new ones make another"},
	{"as-root", 0, NULL, &registry_as_root,
		"root: remove another user's registry as root, not as\n"
		"that user"},
	{0},
};

/* With the rights of the registry's owner, in a process that keeps no others:
 * the owner decides what is beside it, and where its directories lead. 0, or
 * EXIT_FAILED after a message. */
static int remove_as_owner(const char *path)
{
	struct stat st;
	int err = lstat(path, &st) ? -errno : 0, status;
	pid_t pid = err ? 0 : fork();

	if (pid > 0) {
		if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
			return failure("%s: the process that was to remove it "
				       "was ended",
				path);
		return WEXITSTATUS(status);
	}
	if (!pid && !err) {
		if (registry_become(&st))
			_exit(EXIT_FAILED);
		err = home_remove(path);
		if (err)
			failure("%s: %s", path, strerror(-err));
		fflush(NULL);
		_exit(err ? EXIT_FAILED : EXIT_OK);
	}
	return failure("%s: %s", path, strerror(err ? -err : errno));
}

static int destroy(const char *path)
{
	static struct header h;
	char why[512], dir[HOME_PATH_MAX];
	int err = region_peek(path, &h, why, sizeof(why));
	unsigned n;

	/* A file that cannot be read could be removed, but may be anything. */
	if (err == -ENODATA || err == -ENOENT || err == -EACCES ||
		err == -ELOOP) {
		registry_tell_refused(err, why, 1);
		return EXIT_FAILED;
	}
	if (!regionhome_is_owners(path, dir))
		return failure(
			"%s: its directory is not its owner's alone", path);
	/* For another version only mappings can be counted. */
	n = err == -EPROTO ? home_count_mapped(path)
	    : err	   ? 0
			   : home_count_users(path);
	if (!force && n)
		return failure("%s: %u process%s it; --force removes it all "
			       "the same",
			path, n, n > 1 ? "es use" : " uses");
	return remove_as_owner(path);
}

static int destroy_main(int argc, char **argv)
{
	char path[PATH_MAX];
	int i, err = argc ? 0 : usage_error("which registry? NAME or PATH");

	for (i = 0; i < argc && !err; i++)
		err = path_of(argv[i], path);
	for (i = 0; i < argc && err != EXIT_USAGE; i++) {
		path_of(argv[i], path);
		err |= destroy(path);
	}
	return err;
}

const struct command destroy_command = {
	.name = "destroy",
	.summary = "remove a registry and all its objects",
	.usage = "[OPTIONS] NAME|PATH...",
	.about = "Remove registries, with every object in them. One that "
		 "processes use is kept,\n"
		 "unless --force is given. (ipclift rm --all removes only the "
		 "objects.)",
	.options = destroy_options,
	.main = destroy_main,
};
