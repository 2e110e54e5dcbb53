// SPDX-License-Identifier: MIT
/*
 * The log; see log.h.
 */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>
#include <time.h>

static FILE *file;
static int background;

int log_open(const char *path)
{
	if (!path)
		return 0;
	file = fopen(path, "ae");
	if (!file)
		return -1;
	setvbuf(file, NULL, _IOLBF, 0);
	return 0;
}

void log_background(void)
{
	background = 1;
	openlog("ipclift-fuse", LOG_PID, LOG_DAEMON);
}

void log_error(const char *fmt, ...)
{
	char line[1024], when[32] = "";
	time_t now = time(NULL);
	va_list args;
	struct tm tm;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (file) {
		if (localtime_r(&now, &tm))
			strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
		fprintf(file, "%s ipclift-fuse: %s\n", when, line);
	} else if (background) {
		syslog(LOG_ERR, "%s", line);
	} else {
		fprintf(stderr, "ipclift-fuse: %s\n", line);
	}
}
