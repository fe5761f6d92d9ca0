/* SPDX-License-Identifier: Apache-2.0
 *
 * `secrets` of a profile: a name, a header, hosts, and one source: a file, a variable or a command.
 */
#include "policy/read/profile_parts.h"
#include "policy/read/values.h"

#include <string.h>
#include <strings.h>

#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Return whether a text is a token, as RFC 9110 calls a header's name. */
static bool is_token(const char *text)
{
	static const char bytes[] = UPPER "abcdefghijklmnopqrstuvwxyz" DIGITS "!#$%&'*+-.^_`|~";

	return reading_is_word(text, bytes, sizeof(((struct plan_secret *)NULL)->header) - 1);
}

/* Return whether the header is the connection's, or decides where a request ends. */
static bool is_own_header(const char *text)
{
	static const char *const own[] = {
		"Host",
		"Content-Length",
		"Transfer-Encoding",
		"Connection",
		"Upgrade",
		"Keep-Alive",
		"TE",
		"Trailer",
		"Expect",
		"Accept-Encoding",
	};

	for (size_t i = 0; i < COUNT(own); i++) {
		if (strcasecmp(text, own[i]) == 0)
			return true;
	}
	return strncasecmp(text, "Proxy-", strlen("Proxy-")) == 0;
}

const char *secrets_source_name(enum plan_secret_source kind)
{
	static const char *const names[PLAN_SECRET_SOURCE_COUNT] = {
		[PLAN_SECRET_FILE] = "file",
		[PLAN_SECRET_ENV] = "env",
		[PLAN_SECRET_COMMAND] = "command",
	};

	return names[kind];
}

static bool is_secret_name(const char *name)
{
	return name[0] >= 'A' && name[0] <= 'Z' &&
	       reading_is_word(name, UPPER DIGITS "_",
			       sizeof(((struct plan_secret *)NULL)->name) - 1);
}

static int check_secret_name(const struct reading *entry, const char *name)
{
	if (name == NULL || !is_secret_name(name))
		return reading_fail(entry, "name",
				    "\"%s\" is not the name of a secret; expected up to 63 of A-Z, "
				    "0-9 and _, beginning with a letter, such as GITHUB_TOKEN",
				    name != NULL ? name : "");
	return reading_is_again(entry, "name")
		       ? reading_fail(entry, "name", "%s given twice; expected once", name)
		       : 0;
}

static int check_header(const struct reading *entry, const char *header)
{
	if (header == NULL)
		return reading_fail(entry, "header",
				    "missing; expected a header, such as Authorization");
	if (!is_token(header))
		return reading_fail(
			entry, "header",
			"\"%s\" is not the name of a header; expected up to 63 letters, "
			"digits and hyphens, such as Authorization",
			header);
	if (is_own_header(header))
		return reading_fail(entry, "header",
				    "\"%s\" decides how a request is read, and can have no secret; "
				    "expected another header, such as Authorization",
				    header);
	return 0;
}

/* Return whether the words of the source fit into a plan, each with a NUL, and one more. */
static bool is_source_short(const struct strings *source)
{
	size_t size = 1;

	for (uint32_t i = 0; i < source->count; i++)
		size += strlen(source->items[i]) + 1;
	return size <= sizeof(((struct plan_secret *)NULL)->source);
}

static bool is_variable_name(const char *text)
{
	return reading_is_word(text, UPPER "abcdefghijklmnopqrstuvwxyz" DIGITS "_", SIZE_MAX);
}

/* A path of the user's own is below ~/, which the launcher knows. */
static bool is_file(const char *text)
{
	return reading_is_path(text[0] == '~' ? text + 1 : text);
}

/* Check a source: one text, or the words of a command. */
static int check_source(const struct reading *entry, const struct profile_secret *secret)
{
	const enum plan_secret_source kind = secret->source_kind;
	const char *first = secret->source.items[0];

	if (kind == PLAN_SECRET_FILE && !is_file(first))
		return reading_fail(entry, "file",
				    "\"%s\" is not a path; expected " READING_PATH
				    ", or ~/ and the rest of a path",
				    first);
	if (kind == PLAN_SECRET_ENV && !is_variable_name(first))
		return reading_fail(entry, "env",
				    "\"%s\" is not a variable's name; expected letters, digits and "
				    "_",
				    first);
	if (kind == PLAN_SECRET_COMMAND && !reading_is_path(first))
		return reading_fail(entry, "command",
				    "\"%s\" is not a program's path; expected " READING_PATH,
				    first);
	return is_source_short(&secret->source)
		       ? 0
		       : reading_fail(entry, "",
				      "the source is too long; expected at most 510 bytes");
}

static int read_source(const struct reading *entry, struct profile_secret *secret)
{
	uint32_t sources = 0;

	for (enum plan_secret_source i = 0; i < PLAN_SECRET_SOURCE_COUNT; i++) {
		const struct node *node = node_find(entry->said, secrets_source_name(i));

		if (node == NULL || (node->kind == NODE_LIST && node->count == 0))
			continue;
		secret->source = node->kind == NODE_LIST
					 ? (struct strings){ node->texts, node->count }
					 : (struct strings){ &node->text, 1 };
		secret->source_kind = i;
		sources++;
	}
	if (sources != 1)
		return reading_fail(entry, "", "%s; expected one source: file, env or command",
				    sources == 0 ? "without a source"
						 : "with more than one source");
	return check_source(entry, secret);
}

static int read_secret(const struct reading *entry)
{
	struct profile_secret secret = { .origin = reading_origin(entry, "name") };

	if (values_read(entry, SET_secrets, &secret) != 0 ||
	    check_secret_name(entry, secret.name) != 0 || check_header(entry, secret.header) != 0 ||
	    read_source(entry, &secret) != 0)
		return -1;
	if (secret.wanted.count == 0)
		return reading_fail(entry, "hosts",
				    "missing; expected a list of hosts, such as [api.example.org]");
	entry->profile->secrets[entry->profile->secret_count++] = secret;
	return 0;
}

int secrets_read(const struct reading *reading)
{
	reading->profile->secret_count = 0; /* the list replaces the parent's */
	return reading_each(reading, "secrets", read_secret);
}
