// SPDX-License-Identifier: MIT
/*
 * ipclift-fuse: mount a registry.
 *
 *	ipclift-fuse [SOURCE] DIR [-o OPTIONS] [-f]
 *
 * SOURCE is the registry's path, or "none" or "ipclift" for the default, as
 * mount(8) and fstab(5) want a source: so mount.fuse may start us. The registry
 * is mapped before anything else, so that what is wrong with it is said on
 * stderr and in the exit status; nobody enrolls before the fork into the
 * background, since a caller is a thread of one process.
 */
#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fuse_lowlevel.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "ops.h"
#include "source.h"
#include "unmounter.h"

enum { EXIT_OK, EXIT_FAILED, EXIT_USAGE };

/* jemalloc: few arenas for few threads, and what a long listing took goes back
 * after a second, by a thread of its own. Ignored by other allocators. */
const char *malloc_conf = "narenas:2,dirty_decay_ms:1000,muzzy_decay_ms:0";
int mallctl(const char *name, void *old, size_t *old_size, void *new,
	size_t new_size) __attribute__((weak));

/* Once there is no fork to come, which ends all threads but one. */
static void start_purging(void)
{
	_Bool on = 1;

	if (mallctl)
		mallctl("background_thread", NULL, NULL, &on, sizeof(on));
}

struct options {
	char *registry, *log, *limits, *ids;
	int create, foreground, help, version, keep_mount;
	char *words[3]; /* of the command line: source, directory */
	int n_words;
};

#define OPTION(text, field)                              \
	{                                                \
		text, offsetof(struct options, field), 1 \
	}
static const struct fuse_opt option_table[] = {
	OPTION("registry=%s", registry),
	OPTION("log=%s", log),
	OPTION("limits=%s", limits),
	OPTION("ids=%s", ids),
	OPTION("create", create),
	OPTION("keep_mount", keep_mount),
	OPTION("-f", foreground),
	OPTION("--foreground", foreground),
	OPTION("-h", help),
	OPTION("--help", help),
	OPTION("-V", version),
	OPTION("--version", version),
	/* What only mount(8) and systemd understand. */
	FUSE_OPT_KEY("noauto", FUSE_OPT_KEY_DISCARD),
	FUSE_OPT_KEY("auto", FUSE_OPT_KEY_DISCARD),
	FUSE_OPT_KEY("user", FUSE_OPT_KEY_DISCARD),
	FUSE_OPT_KEY("nouser", FUSE_OPT_KEY_DISCARD),
	FUSE_OPT_KEY("users", FUSE_OPT_KEY_DISCARD),
	FUSE_OPT_KEY("_netdev", FUSE_OPT_KEY_DISCARD),
	FUSE_OPT_KEY("nofail", FUSE_OPT_KEY_DISCARD),
	FUSE_OPT_KEY("x-", FUSE_OPT_KEY_DISCARD),
	FUSE_OPT_END,
};

static const char help_text[] =
	"usage: ipclift-fuse [SOURCE] DIR [-f] [-o OPTION[,OPTION...]]\n\n"
	"Mount the view of an ipclift registry on the directory DIR. SOURCE is "
	"its\n"
	"path; without it, or \"none\": IPCLIFT_REGISTRY, else\n"
	"/dev/shm/ipclift-<uid>/default. Unmount by: fusermount3 -u DIR\n\n"
	"  -f                  stay in the foreground\n"
	"  -o allow_other      for all users, each with his own rights\n"
	"  -o create           make the registry if there is none\n"
	"  -o limits=kernel|roomy, ids=normal|extended\n"
	"                      of a registry that is made\n"
	"  -o log=PATH         messages go there, not to syslog\n"
	"  -o keep_mount       leave the mount when this process is killed\n"
	"  -h, -V              this help; the version\n\n"
	"The manual page ipclift-fuse(1) has it all.";

static int usage_error(const char *what, const char *word)
{
	fprintf(stderr, "ipclift-fuse: %s%s%s; see ipclift-fuse --help\n", what,
		word ? " " : "", word ? word : "");
	return EXIT_USAGE;
}

static int keep_word(
	void *data, const char *arg, int key, struct fuse_args *out)
{
	struct options *o = data;

	(void)out;
	if (key != FUSE_OPT_KEY_NONOPT)
		return 1;
	if (o->n_words < 3)
		o->words[o->n_words++] = strdup(arg);
	return 0;
}

/* SOURCE or registry=, as an absolute name. 0 or -1 after a message. */
static int find_registry(const struct options *o, char *path, size_t cap)
{
	const char *source = o->n_words == 2 ? o->words[0] : NULL;
	char found[PATH_MAX], cwd[PATH_MAX], why[512];
	int n;

	if (o->registry)
		source = o->registry;
	if (!source || !strcmp(source, "none") || !strcmp(source, "ipclift")) {
		if (source_default_path(
			    found, sizeof(found), why, sizeof(why))) {
			log_error("%s", why);
			return -1;
		}
		source = found;
	}
	if (*source == '/')
		n = snprintf(path, cap, "%s", source);
	else
		n = snprintf(path, cap, "%s/%s",
			getcwd(cwd, sizeof(cwd)) ? cwd : ".", source);
	if (n >= 0 && (size_t)n < cap)
		return 0;
	log_error("%s: its name is too long", source);
	return -1;
}

static int open_registry(const struct options *o, const char *path)
{
	char why[512];

	if (!source_open(path, o->create, o->limits, o->ids, why, sizeof(why)))
		return 0;
	log_error("%s%s", why,
		o->create ? "" : " (-o create makes one that is missing)");
	return -1;
}

/* Commas and backslashes of a path are special in an option list. */
static void add_source(struct fuse_args *args, const char *path)
{
	char option[2 * PATH_MAX + 16] = "-ofsname=";
	size_t n = strlen(option);

	for (; *path; path++) {
		if (*path == ',' || *path == '\\')
			option[n++] = '\\';
		option[n++] = *path;
	}
	option[n] = 0;
	fuse_opt_add_arg(args, option);
	fuse_opt_add_arg(args, "-osubtype=ipclift");
}

static int serve(
	struct fuse_session *se, const struct options *o, const char *dir)
{
	int unmounter = o->keep_mount ? -1 : unmounter_start(dir);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int err = -1;

	if (config && !fuse_daemonize(o->foreground)) {
		if (!o->foreground)
			log_background();
		start_purging();
		err = fuse_session_loop_mt(se, config);
		if (err < 0)
			log_error("%s", strerror(-err));
		/* > 0: a signal ended it. */
		err = err < 0;
	}
	fuse_loop_cfg_destroy(config);
	unmounter_end(unmounter);
	return err ? EXIT_FAILED : EXIT_OK;
}

/* A queue's mode is what its maker's umask has left of it, and each that is
 * open takes a descriptor here too. */
static void prepare_for_queues(void)
{
	struct rlimit files;

	umask(0);
	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* Nothing is made for a command line that libfuse does not take: it is asked
 * before the registry is opened. */
static int mount_and_serve(struct fuse_args *args, const struct options *o,
	const char *registry, const char *dir)
{
	struct fuse_session *se =
		fuse_session_new(args, &ops, sizeof(ops), NULL);
	int status = EXIT_FAILED;

	/* It has said why. */
	if (!se)
		return EXIT_USAGE;
	if (!open_registry(o, registry) && !fuse_set_signal_handlers(se)) {
		prepare_for_queues();
		if (!fuse_session_mount(se, dir)) {
			status = serve(se, o, dir);
			fuse_session_unmount(se);
		}
		fuse_remove_signal_handlers(se);
	}
	fuse_session_destroy(se);
	return status;
}

static int check_words(const struct options *o)
{
	if (o->n_words == 0)
		return usage_error("on which directory?", NULL);
	if (o->n_words > 2)
		return usage_error("one word too many:", o->words[2]);
	if (o->limits && strcmp(o->limits, "kernel") &&
		strcmp(o->limits, "roomy"))
		return usage_error(
			"limits= is kernel or roomy, not", o->limits);
	if (o->ids && strcmp(o->ids, "normal") && strcmp(o->ids, "extended"))
		return usage_error("ids= is normal or extended, not", o->ids);
	return EXIT_OK;
}

int main(int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	char registry[PATH_MAX], dir[PATH_MAX];
	struct options o = {0};
	const char *where;
	struct stat st;
	int status;

	if (argc == 3 && !strcmp(argv[1], UNMOUNTER_WORD))
		return unmounter_main(argv[2]);
	if (fuse_opt_parse(&args, &o, option_table, keep_word))
		return EXIT_USAGE;
	if (o.help || o.version) {
		puts(o.help ? help_text : "ipclift-fuse " IPCLIFT_VERSION);
		return EXIT_OK;
	}
	status = check_words(&o);
	if (status)
		return status;
	if (log_open(o.log)) {
		log_error("%s: %s", o.log, strerror(errno));
		return EXIT_FAILED;
	}
	/* The background is in the root directory. */
	where = o.words[o.n_words - 1];
	if (!realpath(where, dir)) {
		log_error("%s: %s", where, strerror(errno));
		return EXIT_FAILED;
	}
	/*
	 * The kernel mounts on a file, too, /dev/null for one, which nobody can
	 * use then. (/dev/fd/N: mount.fuse3 has mounted, that is its descriptor.
	 * What cannot be looked at may be what a killed process mounted.)
	 */
	if (strncmp(where, "/dev/fd/", 8) != 0 && !stat(dir, &st) &&
		!S_ISDIR(st.st_mode)) {
		log_error("%s: %s", where, strerror(ENOTDIR));
		return EXIT_FAILED;
	}
	if (find_registry(&o, registry, sizeof(registry)))
		return EXIT_FAILED;
	add_source(&args, registry);
	status = mount_and_serve(&args, &o, registry, where);
	fuse_opt_free_args(&args);
	return status;
}
