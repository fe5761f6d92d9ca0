/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and addresses of hosts from any bytes.
 *
 * Properties: a name that is read reads as itself, in capitals and with a dot at its end, too; it
 * is no address, neither for us nor for inet_aton(3); an address has a kind with words; an IPv4
 * address and its mapped form are one address, and a translator's address for it has the same rule;
 * only 2000::/3 has public addresses in IPv6; a pattern that is read covers a name, and a wildcard
 * not its parent.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "gateway/hosts/address.h"
#include "gateway/hosts/name.h"
#include "gateway/hosts/pattern.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_spellings(const char *name)
{
	char other[HOST_NAME_MAX_SIZE + 1], again[HOST_NAME_MAX_SIZE];
	const size_t size = strlen(name);

	must(size > 0 && size < HOST_NAME_MAX_SIZE);
	for (size_t i = 0; i < size; i++)
		other[i] = name[i] >= 'a' && name[i] <= 'z' ? (char)(name[i] - 'a' + 'A') : name[i];
	other[size] = '.';
	must(host_name_read(name, size, again) == HOST_SOUND && strcmp(again, name) == 0);
	must(host_name_read(other, size, again) == HOST_SOUND && strcmp(again, name) == 0);
	must(host_name_read(other, size + 1, again) == HOST_SOUND && strcmp(again, name) == 0);
}

static void try_name(const char *text, size_t size)
{
	char name[HOST_NAME_MAX_SIZE] = "";
	const enum host_fault fault = host_name_read(text, size, name);
	struct host_address address;
	struct in_addr ipv4;

	must(fault < HOST_FAULT_COUNT &&
	     (fault == HOST_SOUND) == (host_fault_rule(fault)[0] == '\0'));
	must((fault == HOST_SOUND) == (name[0] != '\0'));
	if (fault != HOST_SOUND)
		return;
	check_spellings(name);
	must(!host_address_read(name, &address) && inet_aton(name, &ipv4) == 0);
}

static void try_pattern(const char *text, size_t size)
{
	char pattern[HOST_PATTERN_MAX_SIZE], again[HOST_PATTERN_MAX_SIZE],
		below[HOST_PATTERN_MAX_SIZE];

	if (host_pattern_read(text, size, pattern) != HOST_SOUND)
		return;
	must(host_pattern_read(pattern, strlen(pattern), again) == HOST_SOUND);
	must(strcmp(again, pattern) == 0);
	if (host_pattern_parent(pattern) == NULL) {
		must(host_pattern_covers(pattern, pattern));
		return;
	}
	memcpy(below, pattern, sizeof(below));
	below[0] = 'a';
	must(host_pattern_covers(pattern, below));
	must(!host_pattern_covers(pattern, host_pattern_parent(pattern)));
}

static void try_address(const uint8_t bytes[16])
{
	struct host_address address, mapped;
	char text[INET6_ADDRSTRLEN + 16] = "::ffff:";
	enum host_address_kind kind;

	must(inet_ntop(AF_INET6, bytes, text, INET6_ADDRSTRLEN) != NULL);
	must(host_address_read(text, &address) && memcmp(address.bytes, bytes, 16) == 0);
	kind = host_address_kind(&address);
	must(kind < HOST_ADDRESS_KIND_COUNT && host_address_kind_words(kind)[0] != '\0');
	must(kind != HOST_ADDRESS_PUBLIC || host_address_is_ipv4(&address) || bytes[0] >> 5 == 1);
	memcpy(text, "::ffff:", 7);
	must(inet_ntop(AF_INET, bytes, text + 7, INET_ADDRSTRLEN) != NULL);
	must(host_address_read(text + 7, &address) && host_address_read(text, &mapped));
	must(memcmp(&address, &mapped, sizeof(mapped)) == 0 && host_address_is_ipv4(&mapped));
	must(inet_ntop(AF_INET, bytes, text + 10, INET_ADDRSTRLEN) != NULL);
	memcpy(text, "64:ff9b::", 9);
	memmove(text + 9, text + 10, strlen(text + 10) + 1);
	must(host_address_read(text, &mapped));
	must(host_address_reach(&mapped) == host_address_reach(&address));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_name((const char *)data, size);
	try_pattern((const char *)data, size);
	if (size >= 16)
		try_address(data);
	return 0;
}
