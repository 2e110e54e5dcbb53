// SPDX-License-Identifier: MIT
/*
 * GET /metrics, by libmicrohttpd with one thread; the main one waits for a
 * signal. See metrics.h.
 */
#include "tool/view/metrics.h"

#include "tool/registry.h"

#ifdef IPCLIFT_MICROHTTPD
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Arbitrary: a scraper and a few users. */
#define CONNECTIONS 16u
#define CONNECTION_SECONDS 10u

struct http {
	struct MHD_Daemon *daemon;
	metrics_fill *fill;
	void *arg;
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

static enum MHD_Result answer(void *arg, struct MHD_Connection *connection,
	const char *url, const char *method, const char *version,
	const char *data, size_t *data_size, void **state)
{
	const struct http *h = arg;
	struct text t = {0};

	(void)version;
	(void)data;
	(void)data_size;
	(void)state;
	if (strcmp(method, "GET") != 0)
		return refuse(
			connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (strcmp(url, "/metrics") != 0)
		return refuse(connection, MHD_HTTP_NOT_FOUND, "see /metrics\n");
	h->fill(h->arg, &t);
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

struct http *http_start(
	const char *where, metrics_fill *fill, void *arg, int *ret)
{
	static struct http http;
	struct sockaddr_storage at;
	const union MHD_DaemonInfo *info;

	*ret = EXIT_OK;
	if (parse_where(where, &at)) {
		*ret = usage_error(
			"--listen: '%.80s' is no ADDRESS:PORT", where);
		return NULL;
	}
	http = (struct http){.fill = fill, .arg = arg};
	signal(SIGPIPE, SIG_IGN);
	errno = 0;
	http.daemon = MHD_start_daemon(
		MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD |
			(at.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0),
		0, NULL, NULL, answer, &http, MHD_OPTION_SOCK_ADDR, &at,
		MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_SECONDS,
		MHD_OPTION_END);
	if (!http.daemon) {
		*ret = failure("--listen: %.80s: %s", where,
			errno ? strerror(errno) : "cannot listen there");
		return NULL;
	}
	/* Port 0 is any. */
	info = MHD_get_daemon_info(http.daemon, MHD_DAEMON_INFO_BIND_PORT);
	printf("listening on port %u\n", info ? info->port : 0u);
	fflush(stdout);
	return &http;
}

void http_stop(struct http *h)
{
	MHD_stop_daemon(h->daemon);
}
#else
struct http *http_start(
	const char *where, metrics_fill *fill, void *arg, int *ret)
{
	(void)where;
	(void)fill;
	(void)arg;
	*ret = failure("built without libmicrohttpd: write to a file, or build "
		       "it with libmicrohttpd-dev");
	return NULL;
}

void http_stop(struct http *h)
{
	(void)h;
}
#endif

int http_ends(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGHUP);
	return sigprocmask(SIG_BLOCK, ret, NULL);
}
