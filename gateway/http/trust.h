/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS on both sides: certificates of hosts' names, made here and signed by the service's CA, for
 * workloads; and the check of hosts' own certificates. HTTP/1.1 only, TLS 1.2 or later, without
 * tickets and early data.
 */
#ifndef GATEWAY_HTTP_TRUST_H
#define GATEWAY_HTTP_TRUST_H

#include <openssl/ssl.h>
#include <stdbool.h>

/* Initialize OpenSSL, without a file of configuration, while files can be opened. */
void trust_start(void);

/* Take the CA, and the certificates that hosts are checked with: memory files, which stay the
 * caller's. False: they cannot be used. */
bool trust_begin(int authority, int roots);

/* Make the CA: its key and certificate, and the certificate alone, in PEM. False: it cannot be made
 * or written. */
bool trust_make_authority(int authority, int certificate);

/* Begin TLS with a workload that connects to a name, or with the host of this name. The caller
 * frees it; NULL without memory. The socket and the name, which
 * lives as long, stay the caller's. */
SSL *trust_accept(int fd, char *name);
SSL *trust_connect(int fd, char *name);

/* The name in the workload's hello. */
enum trust_greeting {
	TRUST_SILENT = 0, /* no hello has come */
	TRUST_NAMED,      /* the host's */
	TRUST_NAMELESS,
	TRUST_OTHER_NAME,
};

enum trust_greeting trust_greeting(const SSL *ssl);

#endif
