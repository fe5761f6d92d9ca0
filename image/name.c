/* SPDX-License-Identifier: Apache-2.0 */
#include "image/name.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "image/manifest.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz0123456789"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define TAG_MAX 128
#define DIGEST_MARK "@" IMAGE_DIGEST_PREFIX

static const char rule[] = "an image's name must be [HOST[:PORT]/]PATH[:TAG], with a PATH of lower "
			   "case letters, digits, '.', '_', '-' and '/', such as python:3.12";
static const char length_rule[] = "an image's name must have at most 255 characters";

/* Is it a part between slashes: such characters, with a letter or digit at both ends? */
static bool is_part(const char *text, size_t size, const char *letters)
{
	const char ends[] = { '.', '_', '-', '\0' };

	return size > 0 && strspn(text, letters) >= size && !strchr(ends, text[0]) &&
	       !strchr(ends, text[size - 1]);
}

/* Is the first part a host, as registries' clients tell it: with a dot or port, or localhost? */
static size_t host_size(const char *text, size_t size)
{
	const char *slash = memchr(text, '/', size);
	const size_t host = slash ? (size_t)(slash - text) : 0;

	if (host == 0 || (!memchr(text, '.', host) && !memchr(text, ':', host) &&
			  (host != 9 || memcmp(text, "localhost", 9) != 0)))
		return 0;
	return host;
}

static bool is_host(const char *text, size_t size)
{
	const char *colon = memchr(text, ':', size);
	const size_t name = colon ? (size_t)(colon - text) : size;
	const size_t port = size - name;

	return is_part(text, name, LOWER UPPER ".-") &&
	       (!colon || (port > 1 && port <= 6 && strspn(colon + 1, "0123456789") >= port - 1));
}

static bool is_path(const char *text, size_t size)
{
	for (;;) {
		const char *slash = memchr(text, '/', size);
		const size_t part = slash ? (size_t)(slash - text) : size;

		if (!is_part(text, part, LOWER "._-"))
			return false;
		if (!slash)
			return true;
		text += part + 1;
		size -= part + 1;
	}
}

static bool is_tag(const char *text, size_t size)
{
	return size > 0 && size <= TAG_MAX && strspn(text, LOWER UPPER "._-") >= size &&
	       text[0] != '.' && text[0] != '-';
}

/* Return the length of the host and slash at the start that the one spelling leaves out. */
static size_t skip_default(const char *text, size_t size)
{
	static const char *const left_out[] = { "docker.io/library/", "index.docker.io/library/",
						"docker.io/", "index.docker.io/" };

	for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++) {
		const size_t length = strlen(left_out[i]);

		/* Else the rest would be of another host. */
		if (size > length && memcmp(text, left_out[i], length) == 0 &&
		    host_size(text + length, size - length) == 0)
			return length;
	}
	return 0;
}

const char *image_name_read(const char *text, char ret[IMAGE_NAME_MAX])
{
	const char *digest = strchr(text, '@');
	const size_t whole = digest ? (size_t)(digest - text) : strlen(text);
	const size_t host = host_size(text, whole);
	const size_t path = host ? host + 1 : 0;
	const char *colon = memchr(text + path, ':', whole - path);
	const size_t named = colon ? (size_t)(colon - text) : whole;
	int written;

	if ((host && !is_host(text, host)) || !is_path(text + path, named - path) ||
	    (colon && !is_tag(colon + 1, whole - named - 1)) ||
	    (named == strlen("sha256") && memcmp(text, "sha256", named) == 0) ||
	    (digest && (strncmp(digest, DIGEST_MARK, strlen(DIGEST_MARK)) != 0 ||
			!image_digest_is_good(digest + strlen(DIGEST_MARK)))))
		return rule;
	text += skip_default(text, named);
	written = snprintf(ret, IMAGE_NAME_MAX, "%s%s", text, colon || digest ? "" : ":latest");
	return written < IMAGE_NAME_MAX ? NULL : length_rule;
}

static void exchange(char *name, char from, char to)
{
	for (; *name; name++) {
		if (*name == from)
			*name = to;
	}
}

void image_name_to_file(char name[IMAGE_NAME_MAX])
{
	exchange(name, '/', '%');
}

void image_name_from_file(char name[IMAGE_NAME_MAX])
{
	exchange(name, '%', '/');
}
