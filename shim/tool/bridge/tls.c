// SPDX-License-Identifier: MIT
/*
 * TLS for a library that knows none (libhiredis before 1.0): a socket pair, and
 * a thread that carries bytes between its other end and an OpenSSL connection.
 * Verified are the chain of signatures and the host's name. A module, which
 * redis.c opens when it is needed.
 */
#include "tool/bridge/redis.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>

/* Most that is carried at a time: a record of TLS. */
#define PIECE 16384
/* What a handshake may take. */
#define PATIENCE_S 5

/* One direction: what was read and is not yet written. */
struct flow {
	char bytes[PIECE];
	int from, to;
	int ended;
};

struct pump {
	SSL *ssl;
	int net, plain;
	struct flow in, out; /* from the net, to the net */
};

static int faults(char *why, size_t cap, const char *what)
{
	char text[160] = "";
	unsigned long code = ERR_get_error();

	if (code)
		ERR_error_string_n(code, text, sizeof(text));
	snprintf(why, cap, "TLS: %s%s%s", what, code ? ": " : "", text);
	ERR_clear_error();
	return -1;
}

static int load(SSL_CTX *ctx, const struct redis_url *u, char *why, size_t cap)
{
	const char *key = u->key ? u->key : u->cert;

	if (u->cacert ? !SSL_CTX_load_verify_locations(ctx, u->cacert, NULL)
		      : !SSL_CTX_set_default_verify_paths(ctx))
		return faults(why, cap, "the signers' certificates");
	if (u->cert && (!SSL_CTX_use_certificate_chain_file(ctx, u->cert) ||
			       SSL_CTX_use_PrivateKey_file(
				       ctx, key, SSL_FILETYPE_PEM) != 1))
		return faults(why, cap, "our own certificate");
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	return 0;
}

static int names_host(SSL *ssl, const char *host)
{
	struct in6_addr any;
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

	if (inet_pton(AF_INET, host, &any) == 1 ||
		inet_pton(AF_INET6, host, &any) == 1)
		return X509_VERIFY_PARAM_set1_ip_asc(param, host);
	return SSL_set_tlsext_host_name(ssl, host) && SSL_set1_host(ssl, host);
}

static int handshake(
	SSL *ssl, int fd, const struct redis_url *u, char *why, size_t cap)
{
	const struct timeval most = {PATIENCE_S, 0};
	long verdict;

	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	if (!names_host(ssl, u->host) || !SSL_set_fd(ssl, fd))
		return faults(why, cap, "cannot begin");
	if (SSL_connect(ssl) == 1)
		return 0;
	verdict = SSL_get_verify_result(ssl);
	return faults(why, cap,
		verdict != X509_V_OK ? X509_verify_cert_error_string(verdict)
				     : "the handshake failed");
}

/* ---- the pump ---- */

/* Of an SSL_read or SSL_write: the bytes, 0 for later, -1 at the end. */
static int moved(SSL *ssl, int n)
{
	int err;

	if (n > 0)
		return n;
	err = SSL_get_error(ssl, n);
	ERR_clear_error();
	return err == SSL_ERROR_WANT_READ || err == SSL_ERROR_WANT_WRITE ? 0
									 : -1;
}

static void pump_in(struct pump *p)
{
	struct flow *f = &p->in;
	int n;

	if (f->from == f->to && !f->ended) {
		n = moved(p->ssl, SSL_read(p->ssl, f->bytes, PIECE));
		f->from = 0;
		f->to = n > 0 ? n : 0;
		f->ended = n < 0;
	}
	if (f->from < f->to) {
		n = (int)send(p->plain, f->bytes + f->from,
			(size_t)(f->to - f->from), MSG_NOSIGNAL);
		if (n > 0)
			f->from += n;
		else if (errno != EAGAIN && errno != EINTR)
			f->ended = 1;
	}
}

static void pump_out(struct pump *p)
{
	struct flow *f = &p->out;
	int n;

	if (f->from == f->to && !f->ended) {
		n = (int)recv(p->plain, f->bytes, PIECE, 0);
		f->from = 0;
		f->to = n > 0 ? n : 0;
		f->ended = !n || (n < 0 && errno != EAGAIN && errno != EINTR);
	}
	if (f->from < f->to) {
		n = moved(p->ssl,
			SSL_write(p->ssl, f->bytes + f->from, f->to - f->from));
		if (n > 0)
			f->from += n;
		f->ended |= n < 0;
	}
}

static void *pump_run(void *arg)
{
	struct pump *p = arg;
	struct pollfd at[2];

	for (;;) {
		pump_in(p);
		pump_out(p);
		if (p->in.ended || p->out.ended)
			break;
		if (SSL_pending(p->ssl) && p->in.from == p->in.to)
			continue;
		at[0] = (struct pollfd){p->net, 0, 0};
		at[1] = (struct pollfd){p->plain, 0, 0};
		if (p->in.from == p->in.to)
			at[0].events |= POLLIN;
		else
			at[1].events |= POLLOUT;
		if (p->out.from == p->out.to)
			at[1].events |= POLLIN;
		else
			at[0].events |= POLLOUT;
		poll(at, 2, -1);
	}
	SSL_shutdown(p->ssl);
	SSL_free(p->ssl);
	close(p->net);
	close(p->plain);
	free(p);
	return NULL;
}

/* Signals are the main thread's. */
static int start(struct pump *p)
{
	sigset_t all, before;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, pump_run, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		pthread_detach(thread);
	return err;
}

static int pump_over(SSL *ssl, int fd)
{
	struct pump *p = calloc(1, sizeof(*p));
	int pair[2];

	if (!p || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		free(p);
		return -1;
	}
	p->ssl = ssl;
	p->net = fd;
	p->plain = pair[1];
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	fcntl(pair[1], F_SETFL, O_NONBLOCK);
	SSL_set_mode(ssl, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				  SSL_MODE_ENABLE_PARTIAL_WRITE);
	if (!start(p))
		return pair[0];
	close(pair[0]);
	close(pair[1]);
	free(p);
	return -1;
}

int tls_over(int fd, const struct redis_url *u, char *why, size_t cap)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *ssl = NULL;
	int ret = -1;

	/* A peer that is gone is an error to the one who writes. */
	signal(SIGPIPE, SIG_IGN);
	if (!ctx)
		faults(why, cap, "cannot begin");
	else if (!load(ctx, u, why, cap))
		ssl = SSL_new(ctx);
	if (ssl && !handshake(ssl, fd, u, why, cap)) {
		ret = pump_over(ssl, fd);
		if (ret < 0)
			faults(why, cap, "no thread for it");
	}
	if (ret < 0) {
		SSL_free(ssl);
		close(fd);
	}
	SSL_CTX_free(ctx);
	return ret;
}
