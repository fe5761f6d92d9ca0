/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of hosts, and their kinds: which network, if any, an address belongs to. An IPv4
 * address and its IPv4-mapped IPv6 address (::ffff:192.0.2.1) are the same address here, because
 * the kernel connects to the same host.
 */
#ifndef GATEWAY_HOSTS_ADDRESS_H
#define GATEWAY_HOSTS_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

struct host_address {
	uint8_t bytes[16]; /* IPv6 in network order; IPv4 as ::ffff:a.b.c.d */
};

/* The kind of an address that no row of the table covers is RESERVED: PUBLIC is a row, too. */
enum host_address_kind {
	HOST_ADDRESS_RESERVED = 0, /* assigned to nobody, or to a protocol of its own */
	HOST_ADDRESS_PUBLIC,       /* a host of the Internet */
	HOST_ADDRESS_UNSPECIFIED,  /* 0.0.0.0 and ::, which connect(2) takes for the loopback */
	HOST_ADDRESS_LOOPBACK,
	HOST_ADDRESS_PRIVATE, /* RFC 1918, and fc00::/7 */
	HOST_ADDRESS_SHARED,  /* 100.64.0.0/10, between a provider and its customers */
	HOST_ADDRESS_LINK_LOCAL,
	HOST_ADDRESS_METADATA,      /* services of clouds, which give out credentials */
	HOST_ADDRESS_DOCUMENTATION, /* for examples, and for measurements (198.18.0.0/15) */
	HOST_ADDRESS_MULTICAST,     /* with broadcast */
	HOST_ADDRESS_TRANSLATED,    /* 64:ff9b::/96: a translator's address for an IPv4 address */
	HOST_ADDRESS_TUNNEL,        /* 6to4, Teredo and other carriers of an IPv4 address */
	HOST_ADDRESS_KIND_COUNT
};

/* Read an address as inet_pton(3) does: four decimal numbers, or IPv6 without brackets and zone.
 * False: the text is none. */
bool host_address_read(const char *text, struct host_address *ret);

bool host_address_is_ipv4(const struct host_address *address);

/* Bytes before the four of an IPv4 address in `bytes`. */
#define HOST_IPV4_AT 12U

/* Return the address of an IPv4 address's four bytes in network order. */
struct host_address host_address_of_ipv4(const void *four);

enum host_address_kind host_address_kind(const struct host_address *address);

/* Return whether packets for the address come to an IPv4 address in it: by a translator
 * (64:ff9b::/96), or by ISATAP below any prefix (::5efe:192.0.2.1). Other carriers are never
 * reached: 6to4, Teredo, translators of one network, and IPv4-compatible addresses. */
bool host_address_inner(const struct host_address *address, struct host_address *ret);

/* The rule for connections from a sandbox to an address, from the strictest on. */
enum host_address_reach {
	HOST_REACH_NEVER = 0, /* no policy can allow it */
	HOST_REACH_NAMED,     /* a policy that says so, by the address or by `private` */
	HOST_REACH_ALWAYS,    /* any name may lead there */
};

/* Return the rule for an address. An address that carries an IPv4 address has the stricter rule of
 * both. */
enum host_address_reach host_address_reach(const struct host_address *address);

/* A network of IPv4 or IPv6; `bits` counts those of the IPv6 form. */
struct host_network {
	struct host_address first;
	uint32_t bits;
};

/* Read "192.0.2.0/24", or an address alone. False: it is none, or bits beyond the prefix are set.
 */
bool host_network_read(const char *text, struct host_network *ret);

bool host_network_contains(const struct host_network *network, const struct host_address *address);

/* Return the kind in words, with an article: "a private address". */
const char *host_address_kind_words(enum host_address_kind kind);

#endif
