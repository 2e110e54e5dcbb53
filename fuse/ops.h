// SPDX-License-Identifier: MIT
/*
 * The operations of the file system, for fuse_session_new. FUSE_USE_VERSION
 * is defined by whoever includes this.
 */
#ifndef IPCLIFT_FUSE_OPS_H
#define IPCLIFT_FUSE_OPS_H

struct fuse_lowlevel_ops;
extern const struct fuse_lowlevel_ops ops;

#endif
