/* SPDX-License-Identifier: Apache-2.0
 *
 * tls serve PORT CERTIFICATE KEY: answers requests over TLS, `GET /COUNT` with so many bytes.
 *
 * tls requests|bulk HOST PORT BUNDLE COUNT: prints the nanoseconds of a connection with its
 * handshake and one request, on average of COUNT; of COUNT bytes over one connection.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tool.h"

#define BLOCK (1 << 16)

static char block[BLOCK];

/* Read a head into the block, with what came after it. Return the size of all; 0: there is none. */
static int read_head(SSL *tls)
{
	int size = 0, got = 1;

	while (got > 0 && size < BLOCK - 1 && !(size > 0 && strstr(block, "\r\n\r\n"))) {
		got = SSL_read(tls, block + size, BLOCK - 1 - size);
		size += got > 0 ? got : 0;
		block[size] = '\0';
	}
	return got > 0 ? size : 0;
}

static void answer(SSL *tls)
{
	long long left = atoll(block + sizeof("GET /") - 1);
	const int size =
		snprintf(block, BLOCK, "HTTP/1.1 200 OK\r\nContent-Length: %lld\r\n\r\n", left);

	if (SSL_write(tls, block, size) != size)
		return;
	while (left > 0) {
		const int part = left < BLOCK ? (int)left : BLOCK;

		if (SSL_write(tls, block, part) != part)
			return;
		left -= part;
	}
}

static void serve(uint16_t port, const char *certificate, const char *key)
{
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(port) };
	const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());

	signal(SIGPIPE, SIG_IGN);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1 ||
	    SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1 ||
	    SSL_CTX_set_num_tickets(context, 0) != 1 ||
	    bind(listener, (const struct sockaddr *)&any, sizeof(any)) != 0 ||
	    listen(listener, 64) != 0)
		fail("serve");
	for (;;) {
		const int connection = accept(listener, NULL, NULL);
		SSL *tls = SSL_new(context);

		setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		SSL_set_fd(tls, connection);
		if (SSL_accept(tls) == 1)
			while (read_head(tls) > 0)
				answer(tls);
		SSL_free(tls);
		close(connection);
	}
}

static SSL *open_tls(SSL_CTX *context, const char *host, const struct addrinfo *at)
{
	const int fd = socket(at->ai_family, SOCK_STREAM, 0), on = 1;
	SSL *tls = SSL_new(context);

	if (fd < 0 || connect(fd, at->ai_addr, at->ai_addrlen) != 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
		fail("connect");
	SSL_set_tlsext_host_name(tls, host);
	SSL_set1_host(tls, host);
	SSL_set_fd(tls, fd);
	if (SSL_connect(tls) != 1)
		fail("SSL_connect");
	return tls;
}

/* Ask for `bytes` and read all of them. */
static void request(SSL *tls, const char *host, const char *port, long long bytes)
{
	const int size = snprintf(block, BLOCK, "GET /%lld HTTP/1.1\r\nHost: %s:%s\r\n\r\n", bytes,
				  host, port);
	const char *body;
	int got;

	if (SSL_write(tls, block, size) != size || (got = read_head(tls)) == 0 ||
	    strncmp(block, "HTTP/1.1 200", 12) != 0)
		fail("request");
	body = strstr(block, "\r\n\r\n") + 4;
	bytes -= got - (body - block);
	while (bytes > 0 && (got = SSL_read(tls, block, BLOCK)) > 0)
		bytes -= got;
	if (bytes != 0)
		fail("answer");
}

static void ask(const char *mode, const char *host, const char *port, const char *bundle,
		long long count)
{
	const struct addrinfo wanted = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	const int is_bulk = strcmp(mode, "bulk") == 0;
	const long long turns = is_bulk ? 1 : count;
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	struct addrinfo *at;
	int64_t begun;

	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	if (SSL_CTX_load_verify_file(context, bundle) != 1 ||
	    getaddrinfo(host, port, &wanted, &at) != 0)
		fail("ask");
	begun = now_ns();
	for (long long i = 0; i < turns; i++) {
		SSL *tls = open_tls(context, host, at);

		request(tls, host, port, is_bulk ? count : 64);
		close(SSL_get_fd(tls));
		SSL_free(tls);
	}
	printf("%lld\n", (long long)(now_ns() - begun) / turns);
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "serve") == 0)
		serve((uint16_t)atoi(argv[2]), argv[3], argv[4]);
	if (argc != 6)
		return 64;
	ask(argv[1], argv[2], argv[3], argv[4], atoll(argv[5]));
	return 0;
}
