// SPDX-License-Identifier: MIT
/*
 * Reading and writing the control files; see sysctl.h.
 */
#include "object/sysctl.h"
#include "object/controlfile.h"
#include "object/perm.h"

/* The kernel takes no buffer that it could not allocate. */
#define COUNT_MAX (4u << 20)

s64 sysctl_read(struct caller *c, const struct sysctl_file *f, s64 offset,
	char *buf, u64 count)
{
	char text[SYSCTL_TEXT_MAX];
	size_t len;

	if (count >= COUNT_MAX)
		return -ENOMEM;
	if (offset)
		return 0;
	controlfile_drain(c);
	len = sysctl_text(c, f, text);
	if (len > count)
		len = count;
	__builtin_memcpy(buf, text, len);
	return (s64)len;
}

s64 sysctl_write(struct caller *c, const struct sysctl_file *f, s64 offset,
	const char *text, u64 count)
{
	const struct control *k = sysctl_control(f);
	struct sysctl_values values;
	s64 ret;
	u32 i;

	if (sysctl_access(c, f, PERM_W))
		return -EPERM;
	controlfile_drain(c);
	if (count >= COUNT_MAX)
		return -ENOMEM;
	if (offset || !count)
		return (s64)count;
	ret = sysctl_parse(c, f, text, count, &values);
	for (i = 0; i < values.n; i++)
		control_set(c, k + i, values.v[i]);
	return ret;
}
