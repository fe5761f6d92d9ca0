/* SPDX-License-Identifier: Apache-2.0
 *
 * The questions of a workload to the sandbox's resolver (RFC 1035), and our answers. Nothing of the
 * world's DNS passes: a name has one synthetic IPv4 address, or none.
 */
#ifndef GATEWAY_EGRESS_DNS_H
#define GATEWAY_EGRESS_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/resolver.h"
#include "gateway/hosts/name.h"

#define DNS_QUERY_MAX 512U  /* a longer one has more than one question */
#define DNS_ANSWER_MAX 512U /* the size of a datagram without EDNS */
#define DNS_TTL_S 60U

enum dns_verdict {
	DNS_ASKS = 0,    /* one question for a host's address */
	DNS_NO_DATA,     /* another type of a host: it has none */
	DNS_SERVICE,     /* _service._proto below a host: it has none */
	DNS_UNSUPPORTED, /* another class or operation */
	DNS_MALFORMED,   /* answered if it has an id */
	DNS_DROPPED,     /* too short for an answer, or an answer itself */
	DNS_VERDICT_COUNT
};

/* RFC 1035 4.1.1 */
enum dns_code {
	DNS_OK = 0,
	DNS_FORMAT = 1,
	DNS_FAILURE = 2,
	DNS_NO_NAME = 3,
	DNS_NOT_IMPLEMENTED = 4,
	DNS_REFUSED = 5,
	DNS_UNLISTED = RESOLVER_UNLISTED, /* DNS_NO_NAME, which the list says */
};

struct dns_query {
	uint16_t id;
	bool wants_recursion;
	uint16_t type;
	uint16_t question_size; /* bytes after the header, copied to the answer */
	uint8_t question[DNS_QUERY_MAX];
	char name[HOST_NAME_MAX_SIZE]; /* for DNS_ASKS and DNS_NO_DATA */
};

/* Read a datagram, or a message of a stream without its length. */
enum dns_verdict dns_read(const uint8_t *bytes, size_t size, struct dns_query *ret);

/* Write an answer: with DNS_OK and an address (in network order) one record of a host, with DNS_OK
 * and 0 no data. Return its size. */
size_t dns_answer(const struct dns_query *query, enum dns_code code, uint32_t address,
		  uint8_t ret[DNS_ANSWER_MAX + 16]);

#endif
