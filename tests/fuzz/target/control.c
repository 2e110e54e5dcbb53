// SPDX-License-Identifier: MIT
/*
 * control: what programs write to files below /proc/sys, at once or through a
 * file beside the registry (object/controlfile.h), and the words of
 * IPCLIFT_ROUTE.
 *
 * Input: struct written, and the text.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object/controlfile.h"
#include "object/route.h"
#include "object/sysctl.h"
#include "target.h"

struct written {
	uint8_t which, flags, field, pad;
	uint32_t value;
	int32_t offset;
};

struct input {
	struct written w;
	size_t n;
	char text[5000];
};

/* Another header's field, behind the back of who has the file open. */
static void disturb(const struct written *w)
{
	const struct place *at =
		&target_places.at[target_places.first[0] +
				  w->field % target_places.count[0]];

	damage_set(target.region.base, at, w->value);
}

static void through_file(const struct input *in, u32 which)
{
	u32 at;
	int fd = controlfile_open(&target, which, 1, &at);

	if (fd < 0)
		return;
	if (pwrite(fd, in->text, in->n, in->w.offset & 0xfff) < 0)
		at = in->w.flags;
	if (in->w.flags & 2)
		disturb(&in->w);
	if (in->w.flags & 4)
		controlfile_commit(&target, at);
	close(fd);
	controlfile_drain(&target);
}

static void write_it(void *arg)
{
	struct input *in = arg;
	u32 which = in->w.which % n_sysctl_files;
	const struct sysctl_file *f = &sysctl_files[which];
	struct sysctl_values values;
	char text[SYSCTL_TEXT_MAX];

	sysctl_find(in->text);
	route_parse(in->text);
	sysctl_parse(&target, f, in->text, in->n, &values);
	sysctl_write(&target, f, in->w.offset, in->text, in->n);
	sysctl_read(&target, f, in->w.offset, text, sizeof(text));
	if (in->w.flags & 1)
		through_file(in, which);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct input in;
	static char path[600];

	memset(&in, 0, sizeof(in));
	if (size < sizeof(in.w))
		return 0;
	memcpy(&in.w, data, sizeof(in.w));
	in.n = size - sizeof(in.w);
	if (in.n >= sizeof(in.text))
		return 0;
	memcpy(in.text, data + sizeof(in.w), in.n);
	snprintf(path, sizeof(path), "%s/registry", target_dir());
	target.region.path = path;
	target_run(write_it, &in);
	return 0;
}
