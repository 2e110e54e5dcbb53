// SPDX-License-Identifier: MIT
/*
 * What the mount has to say to its administrator: one line an event, to the
 * file of `-o log=PATH`, else to stderr while in the foreground and to syslog
 * (daemon facility) in the background.
 */
#ifndef IPCLIFT_FUSE_LOG_H
#define IPCLIFT_FUSE_LOG_H

/* path NULL: none. 0, or -1 if it cannot be opened. */
int log_open(const char *path);
/* From now on stderr leads nowhere. */
void log_background(void);
__attribute__((format(printf, 1, 2))) void log_error(const char *fmt, ...);

#endif
