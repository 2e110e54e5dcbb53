// SPDX-License-Identifier: MIT
/*
 * Whose a user's directory of registries is; see regionhome.h.
 */
#include "registry/region/regionhome.h"
#include "base/file.h"
#include "base/str.h"

/* PREFIX, a uid as the shim itself writes it (no leading zero), a slash and a
 * name: any other path is just a path. */
int regionhome_of(const char *path, u32 *ret_uid, const char **ret_rest)
{
	const char *at = str_after(path, REGIONHOME_PREFIX);
	u64 uid = 0;

	if (!at || *at < '0' || *at > '9' || (*at == '0' && at[1] != '/'))
		return 0;
	for (; *at >= '0' && *at <= '9'; at++)
		if ((uid = uid * 10 + (u64)(*at - '0')) > ~0u)
			return 0;
	if (*at != '/' || !at[1])
		return 0;
	*ret_uid = (u32)uid;
	*ret_rest = at + 1;
	return 1;
}

/* Asked of the kernel itself: fakeroot shows other owners. */
int regionhome_is_owners(const char *path, char *dir)
{
	struct file_stat st;
	const char *rest;
	long err;
	u32 uid;

	if (!regionhome_of(path, &uid, &rest))
		return 1;
	str_add_u64(dir, REGIONHOME_CAP,
		str_add(dir, REGIONHOME_CAP, 0, REGIONHOME_PREFIX), uid);
	err = sys_call(__NR_lstat, dir, &st);
	if (err)
		return err == -ENOENT;
	return (st.mode & FILE_TYPE) == FILE_DIRECTORY && st.uid == uid &&
	       !(st.mode & 022);
}
