/* SPDX-License-Identifier: Apache-2.0
 *
 * The listener of `msp serve --http`: a TCP port of the loopback, or a unix socket. Its connections
 * are for the broker alone: nothing is read here.
 */
#ifndef CLI_COMMANDS_LISTEN_H
#define CLI_COMMANDS_LISTEN_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "launcher/host/unix_socket.h"
#include "options/options.h"

#define LISTEN_TEXT_MAX 1024
#define LISTEN_ADDRESS_MAX 128 /* a unix socket's path, or an address and a port */

struct listen_address {
	const char *path; /* a unix socket's; NULL: TCP */
	union {
		struct sockaddr any; /* AF_UNSPEC: no address was given */
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} tcp;
};

option_set listen_set_address; /* struct listen_address */

/* Was one given? */
bool listen_is_wanted(const struct listen_address *address);

/*
 * Listen there: a socket, not blocking, close-on-exec. 0 and the descriptor; or an exit code with a
 * line in `text`: MSP_EXIT_AGAIN when somebody else listens there, else MSP_EXIT_REFUSED. One that
 * was just killed may hold the address for a moment, which is waited for.
 */
int listen_open(const struct listen_address *address, int *ret, char text[LISTEN_TEXT_MAX]);

/* How clients reach it, in one line. */
void listen_describe(const struct listen_address *address, int fd, char text[LISTEN_TEXT_MAX]);

#endif
