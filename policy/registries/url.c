/* SPDX-License-Identifier: Apache-2.0
 *
 * URLs of registries. A user's file can have a credential in any part of one: before the host, in
 * the query, and, with some providers, as a part of the path.
 */
#include "policy/registries/lines.h"

#include "gateway/hosts/address.h"
#include "gateway/hosts/list.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define PATH_OTHERS "/._~+-:,=%"
#define SPARSE "sparse+"

/* Tokens are runs of at least so many letters and digits, mixed, or of twice as many of one kind. A
 * UUID has runs of 12. */
#define TOKEN_LEAST 16

/* Return whether a path has what can be a token. */
static bool has_token(const char *path)
{
	while (*path != '\0') {
		const size_t size = strspn(path, LETTERS DIGITS);
		const size_t letters = strspn(path, LETTERS), digits = strspn(path, DIGITS);

		if ((size >= TOKEN_LEAST && letters < size && digits < size) ||
		    size >= 2 * TOKEN_LEAST)
			return true;
		path += size > 0 ? size : 1;
	}
	return false;
}

/* Return whether an entry of `hosts` can be this name, which gets its one spelling, or address. */
static bool is_host(char text[HOST_NAME_MAX_SIZE])
{
	struct host_address address;

	if (text[strspn(text, DIGITS ".")] == '\0')
		return host_address_read(text, &address) &&
		       host_address_reach(&address) != HOST_REACH_NEVER;
	return host_name_read(text, strlen(text), text) == HOST_SOUND &&
	       host_name_never(text) == NULL;
}

/* Read HOST[:PORT] of `size` bytes. False: it is none. */
static bool read_host(const char *text, size_t size, struct registry_line *line)
{
	const char *colon = memchr(text, ':', size);
	const size_t length = colon != NULL ? (size_t)(colon - text) : size;
	const size_t digits = colon != NULL ? strspn(colon + 1, DIGITS) : 0;
	unsigned long port = line->is_cleartext ? 80 : 443;

	if (length == 0 || length >= sizeof(line->host))
		return false;
	memcpy(line->host, text, length);
	line->host[length] = '\0';
	if (!is_host(line->host))
		return false;
	if (colon != NULL && (digits == 0 || digits > 5 || digits != size - length - 1))
		return false;
	if (colon != NULL)
		port = strtoul(colon + 1, NULL, 10);
	line->port = (uint16_t)port;
	return port > 0 && port <= UINT16_MAX && port != HOST_PORT_DNS;
}

const char *url_read(const char *text, struct registry_line *line, char ret[REGISTRY_URL_MAX])
{
	const size_t sparse = strncmp(text, SPARSE, strlen(SPARSE)) == 0 ? strlen(SPARSE) : 0;
	const char *scheme = text + sparse, *authority = strstr(scheme, "://"), *host, *path;
	size_t size, used;

	line->is_cleartext = strncasecmp(scheme, "http://", 7) == 0;
	if (strstr(text, "${") != NULL)
		return "it has a variable, whose value is not read";
	if (authority == NULL || (!line->is_cleartext && strncasecmp(scheme, "https://", 8) != 0))
		return "it is no URL of http or https";
	authority += 3;
	path = authority + strcspn(authority, "/?#");
	host = authority;
	for (const char *at = authority; at < path; at++)
		host = *at == '@' ? at + 1 : host;
	if (!read_host(host, (size_t)(path - host), line))
		return "its host is none that a sandbox can reach";
	size = strcspn(path, "?#");
	used = (size_t)(authority - text);
	if (used + (size_t)(path - host) + size >= REGISTRY_URL_MAX)
		return "it is too long";
	memcpy(ret, text, used);
	memcpy(ret + used, host, (size_t)(path - host));
	used += (size_t)(path - host);
	memcpy(ret + used, path, size);
	ret[used + size] = '\0';
	if (ret[used + strspn(ret + used, LETTERS DIGITS PATH_OTHERS)] != '\0')
		return "its path has other characters than a-z, A-Z, 0-9 and " PATH_OTHERS;
	return has_token(ret + used) ? "its path has what can be a token" : NULL;
}
