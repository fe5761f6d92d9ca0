/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/dial/resolv_conf.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define KEYWORD "nameserver"
#define SERVERS_MAX 3
#define LINE_MAX_SIZE 256U

/* Add an address to the list. False: it is none. */
static bool add_server(const char *text, char ret[SERVERS_TEXT_MAX])
{
	const size_t used = strlen(ret);
	char bytes[sizeof(struct in6_addr)];
	const bool is_ipv6 = inet_pton(AF_INET6, text, bytes) == 1;

	if (!is_ipv6 && inet_pton(AF_INET, text, bytes) != 1)
		return false;
	(void)snprintf(ret + used, SERVERS_TEXT_MAX - used, is_ipv6 ? "%s[%s]" : "%s%s",
		       used > 0 ? "," : "", text);
	return true;
}

static bool read_line(const char *line, size_t size, char ret[SERVERS_TEXT_MAX])
{
	const size_t keyword = sizeof(KEYWORD) - 1;
	char copy[LINE_MAX_SIZE];
	char *address;

	if (size >= sizeof(copy) || size <= keyword || memcmp(line, KEYWORD, keyword) != 0)
		return false;
	memcpy(copy, line, size);
	copy[size] = '\0';
	address = copy + keyword + strspn(copy + keyword, " \t");
	if (address == copy + keyword)
		return false;
	address[strcspn(address, " \t\r")] = '\0';
	return add_server(address, ret);
}

void resolv_conf_read(const char *text, size_t size, char ret[SERVERS_TEXT_MAX])
{
	int count = 0;

	ret[0] = '\0';
	while (size > 0 && count < SERVERS_MAX) {
		const char *end = memchr(text, '\n', size);
		const size_t line = end ? (size_t)(end - text) : size;

		count += read_line(text, line, ret);
		text += line + (end != NULL);
		size -= line + (end != NULL);
	}
	if (count == 0)
		(void)add_server("127.0.0.1", ret);
}
