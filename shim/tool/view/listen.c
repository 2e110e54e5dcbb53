// SPDX-License-Identifier: MIT
/*
 * ipclift metrics --listen: GET /metrics, by libmicrohttpd with one thread; the
 * main one waits for a signal. See metrics.h.
 */
#include "tool/view/metrics.h"

#include "tool/registry.h"

#ifdef IPCLIFT_MICROHTTPD
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Arbitrary: one that scrapes, and somebody who looks. */
#define CONNECTIONS 16u
#define CONNECTION_SECONDS 10u

struct served {
	struct caller *c;
	const char *path;
};

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status,
	const char *type, void *body, size_t len,
	enum MHD_ResponseMemoryMode how)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(len, body, how);
	enum MHD_Result done;

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "Content-Type", type);
	done = MHD_queue_response(connection, status, r);
	MHD_destroy_response(r);
	return done;
}

static enum MHD_Result refuse(
	struct MHD_Connection *connection, unsigned status, char *line)
{
	return reply(connection, status, "text/plain; charset=utf-8", line,
		strlen(line), MHD_RESPMEM_PERSISTENT);
}

/* A registry that has gone, or is another one now, is looked for again. */
static enum MHD_Result answer(void *arg, struct MHD_Connection *connection,
	const char *url, const char *method, const char *version,
	const char *data, size_t *data_size, void **state)
{
	struct served *s = arg;
	struct text t = {0};
	int there;

	(void)version;
	(void)data;
	(void)data_size;
	(void)state;
	if (strcmp(method, "GET") != 0)
		return refuse(
			connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (strcmp(url, "/metrics") != 0)
		return refuse(connection, MHD_HTTP_NOT_FOUND, "see /metrics\n");
	there = registry_glance_still() || !registry_glance_again();
	metrics_text(there ? s->c : NULL, s->path, &t);
	if (t.failed) {
		text_deinit(&t);
		return refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
			"out of memory\n");
	}
	return reply(connection, MHD_HTTP_OK,
		"text/plain; version=0.0.4; charset=utf-8", t.buf, t.len,
		MHD_RESPMEM_MUST_FREE);
}

/* "127.0.0.1:9100", ":9100" (that, too), "[::1]:9100". */
static int parse_where(const char *where, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 *six = (void *)ret;
	struct sockaddr_in *four = (void *)ret;
	const char *colon = strrchr(where, ':');
	char host[64];
	unsigned long long port;
	size_t n = colon ? (size_t)(colon - where) : 0;

	memset(ret, 0, sizeof(*ret));
	if (!colon || n >= sizeof(host) ||
		parse_number(colon + 1, 0, 65535, &port))
		return -1;
	snprintf(host, sizeof(host), "%.*s", (int)n, where);
	if (!n)
		strcpy(host, "127.0.0.1");
	if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons((in_port_t)port);
		return 0;
	}
	if (n < 2 || host[0] != '[' || host[n - 1] != ']')
		return -1;
	host[n - 1] = 0;
	if (inet_pton(AF_INET6, host + 1, &six->sin6_addr) != 1)
		return -1;
	six->sin6_family = AF_INET6;
	six->sin6_port = htons((in_port_t)port);
	return 0;
}

int metrics_listen(struct caller *c, const char *path, const char *where)
{
	struct served served = {c, path};
	struct sockaddr_storage at;
	const union MHD_DaemonInfo *info;
	struct MHD_Daemon *d;
	sigset_t ends;
	int signo;

	if (parse_where(where, &at))
		return usage_error(
			"--listen: '%.80s' is no ADDRESS:PORT", where);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	/* Before there is a thread, which would get them. */
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	errno = 0;
	d = MHD_start_daemon(
		MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD |
			(at.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0),
		0, NULL, NULL, answer, &served, MHD_OPTION_SOCK_ADDR, &at,
		MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_SECONDS,
		MHD_OPTION_END);
	if (!d)
		return failure("--listen: %.80s: %s", where,
			errno ? strerror(errno) : "cannot listen there");
	/* Port 0 is any. */
	info = MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT);
	printf("listening on port %u\n", info ? info->port : 0u);
	fflush(stdout);
	sigwait(&ends, &signo);
	MHD_stop_daemon(d);
	return EXIT_OK;
}
#else
int metrics_listen(struct caller *c, const char *path, const char *where)
{
	(void)c;
	(void)path;
	(void)where;
	return failure(
		"built without libmicrohttpd: --output, or build it with "
		"libmicrohttpd-dev");
}
#endif
