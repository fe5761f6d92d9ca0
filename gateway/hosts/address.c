/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows follow IANA's registries of special-purpose addresses, and the manuals of clouds for
 * their metadata services.
 */
#include "gateway/hosts/address.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

#define ADDRESS_TEXT_MAX 48U
#define IPV4_PREFIX 96 /* bits before it */

struct kind_row {
	uint8_t prefix[16];
	uint8_t bits;
	uint8_t kind;
};

#define V4(a, b, c, d, size, kind)                                                                 \
	{                                                                                          \
		{ [10] = 0xff, 0xff, (a), (b), (c), (d) }, IPV4_PREFIX + (size),                   \
			HOST_ADDRESS_##kind                                                        \
	}
#define V6(size, kind, ...)                                                                        \
	{                                                                                          \
		{ __VA_ARGS__ }, (size), HOST_ADDRESS_##kind                                       \
	}

/* The first row that covers an address decides: a part stands before the whole. */
static const struct kind_row rows[] = {
	V4(0, 0, 0, 0, 32, UNSPECIFIED),
	V4(0, 0, 0, 0, 8, RESERVED),
	V4(10, 0, 0, 0, 8, PRIVATE),
	V4(100, 100, 100, 200, 32, METADATA), /* Alibaba */
	V4(100, 64, 0, 0, 10, SHARED),
	V4(127, 0, 0, 0, 8, LOOPBACK),
	V4(168, 63, 129, 16, 32, METADATA),   /* Azure */
	V4(169, 254, 169, 254, 32, METADATA), /* most clouds */
	V4(169, 254, 170, 0, 24, METADATA),   /* containers of AWS */
	V4(169, 254, 0, 0, 16, LINK_LOCAL),
	V4(172, 16, 0, 0, 12, PRIVATE),
	V4(192, 0, 0, 192, 32, METADATA), /* Oracle, before */
	V4(192, 0, 0, 0, 24, RESERVED),
	V4(192, 0, 2, 0, 24, DOCUMENTATION),
	V4(192, 31, 196, 0, 24, RESERVED), /* AS112 */
	V4(192, 52, 193, 0, 24, RESERVED), /* AMT */
	V4(192, 88, 99, 0, 24, TUNNEL),    /* relays of 6to4 */
	V4(192, 168, 0, 0, 16, PRIVATE),
	V4(192, 175, 48, 0, 24, RESERVED), /* AS112 */
	V4(198, 18, 0, 0, 15, DOCUMENTATION),
	V4(198, 51, 100, 0, 24, DOCUMENTATION),
	V4(203, 0, 113, 0, 24, DOCUMENTATION),
	V4(224, 0, 0, 0, 4, MULTICAST),
	V4(255, 255, 255, 255, 32, MULTICAST),
	V4(240, 0, 0, 0, 4, RESERVED),
	V4(0, 0, 0, 0, 0, PUBLIC),

	V6(128, UNSPECIFIED, 0),
	V6(128, LOOPBACK, [15] = 1),
	V6(96, TRANSLATED, 0x00, 0x64, 0xff, 0x9b),
	V6(48, TUNNEL, 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01), /* translators of one network */
	V6(32, TUNNEL, 0x20, 0x01, 0x00, 0x00),             /* Teredo */
	V6(48, DOCUMENTATION, 0x20, 0x01, 0x00, 0x02),      /* measurements */
	V6(23, RESERVED, 0x20, 0x01, 0x00, 0x00),
	V6(32, DOCUMENTATION, 0x20, 0x01, 0x0d, 0xb8),
	V6(16, TUNNEL, 0x20, 0x02),                           /* 6to4 */
	V6(48, RESERVED, 0x26, 0x20, 0x00, 0x4f, 0x80, 0x00), /* AS112 */
	V6(20, DOCUMENTATION, 0x3f, 0xff),
	V6(3, PUBLIC, 0x20),
	V6(128, METADATA, 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54), /* AWS */
	V6(128, METADATA, 0xfd, 0x00, 0x0e, 0xc2, [15] = 0x23),       /* its containers */
	V6(128, METADATA, 0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54), /* Google */
	V6(7, PRIVATE, 0xfc),
	V6(10, LINK_LOCAL, 0xfe, 0x80),
	V6(8, MULTICAST, 0xff),
};

static const char *const words[HOST_ADDRESS_KIND_COUNT] = {
	[HOST_ADDRESS_RESERVED] = "a reserved address",
	[HOST_ADDRESS_PUBLIC] = "a public address",
	[HOST_ADDRESS_UNSPECIFIED] = "the unspecified address",
	[HOST_ADDRESS_LOOPBACK] = "a loopback address",
	[HOST_ADDRESS_PRIVATE] = "a private address",
	[HOST_ADDRESS_SHARED] = "a shared address of a provider",
	[HOST_ADDRESS_LINK_LOCAL] = "a link-local address",
	[HOST_ADDRESS_METADATA] = "the address of a cloud's metadata service",
	[HOST_ADDRESS_DOCUMENTATION] = "an address for documentation and measurements",
	[HOST_ADDRESS_MULTICAST] = "a multicast or broadcast address",
	[HOST_ADDRESS_TRANSLATED] = "a translator's address for an IPv4 address",
	[HOST_ADDRESS_TUNNEL] = "an address of a tunnel",
};

static const enum host_address_reach reaches[HOST_ADDRESS_KIND_COUNT] = {
	[HOST_ADDRESS_PUBLIC] = HOST_REACH_ALWAYS,
	[HOST_ADDRESS_TRANSLATED] = HOST_REACH_ALWAYS, /* as far as the inner one is */
	[HOST_ADDRESS_PRIVATE] = HOST_REACH_NAMED,
	[HOST_ADDRESS_SHARED] = HOST_REACH_NAMED,
	[HOST_ADDRESS_DOCUMENTATION] = HOST_REACH_NAMED,
};

static bool is_covered(const struct host_address *address, const uint8_t prefix[16], uint32_t bits)
{
	const size_t whole = bits / 8U;
	const unsigned int rest = bits % 8U;

	return memcmp(address->bytes, prefix, whole) == 0 &&
	       (rest == 0 || (address->bytes[whole] ^ prefix[whole]) >> (8U - rest) == 0);
}

bool host_address_read(const char *text, struct host_address *ret)
{
	struct host_address address;
	uint8_t four[4];

	if (inet_pton(AF_INET, text, four) == 1)
		address = host_address_of_ipv4(four);
	else if (inet_pton(AF_INET6, text, address.bytes) != 1)
		return false;
	*ret = address;
	return true;
}

struct host_address host_address_of_ipv4(const void *four)
{
	struct host_address ret = { { [10] = 0xff, 0xff } };

	memcpy(ret.bytes + HOST_IPV4_AT, four, 4);
	return ret;
}

bool host_address_is_ipv4(const struct host_address *address)
{
	static const uint8_t mapped[HOST_IPV4_AT] = { [10] = 0xff, 0xff };

	return memcmp(address->bytes, mapped, sizeof(mapped)) == 0;
}

enum host_address_kind host_address_kind(const struct host_address *address)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (is_covered(address, rows[i].prefix, rows[i].bits))
			return (enum host_address_kind)rows[i].kind;
	}
	return HOST_ADDRESS_RESERVED;
}

bool host_address_inner(const struct host_address *address, struct host_address *ret)
{
	static const uint8_t isatap[] = { 0x00, 0x00, 0x5e, 0xfe };
	const uint8_t *bytes = address->bytes;
	const uint8_t middle[] = { bytes[8] & 0xfdU, bytes[9], bytes[10], bytes[11] };

	if (host_address_kind(address) != HOST_ADDRESS_TRANSLATED &&
	    memcmp(middle, isatap, sizeof(isatap)) != 0)
		return false;
	*ret = host_address_of_ipv4(bytes + HOST_IPV4_AT);
	return true;
}

enum host_address_reach host_address_reach(const struct host_address *address)
{
	const enum host_address_reach outer = reaches[host_address_kind(address)];
	enum host_address_reach reach;
	struct host_address inner;

	if (!host_address_inner(address, &inner))
		return outer;
	reach = reaches[host_address_kind(&inner)];
	return reach < outer ? reach : outer;
}

/* Return whether all bits after the prefix are 0. */
static bool is_first(const struct host_network *network)
{
	for (uint32_t bit = network->bits; bit < 128; bit++) {
		if ((network->first.bytes[bit / 8] >> (7 - bit % 8) & 1) != 0)
			return false;
	}
	return true;
}

bool host_network_read(const char *text, struct host_network *ret)
{
	struct host_network network = { .bits = 0 };
	const size_t length = strcspn(text, "/");
	const char *digits = text + length + (text[length] == '/');
	char address[ADDRESS_TEXT_MAX];
	uint32_t most;

	if (length >= sizeof(address))
		return false;
	memcpy(address, text, length);
	address[length] = '\0';
	if (!host_address_read(address, &network.first))
		return false;
	most = host_address_is_ipv4(&network.first) ? 32 : 128;
	if (text[length] == '\0') {
		network.bits = 128;
		*ret = network;
		return true;
	}
	if (digits[0] == '\0' || strlen(digits) > 3 ||
	    strspn(digits, "0123456789") != strlen(digits) ||
	    (digits[0] == '0' && digits[1] != '\0'))
		return false;
	for (; *digits != '\0'; digits++)
		network.bits = network.bits * 10 + (uint32_t)(*digits - '0');
	if (network.bits > most)
		return false;
	network.bits += 128 - most;
	if (!is_first(&network))
		return false;
	*ret = network;
	return true;
}

bool host_network_contains(const struct host_network *network, const struct host_address *address)
{
	return is_covered(address, network->first.bytes, network->bits);
}

const char *host_address_kind_words(enum host_address_kind kind)
{
	return words[kind];
}
