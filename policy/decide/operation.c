/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/decide/operation.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/hosts/address.h"
#include "gateway/hosts/name.h"

/* linux/limits.h: a longer name is in no directory. */
#define NAME_BYTES_MAX 255U
/* linux/un.h: sun_path. */
#define UNIX_BYTES_MAX 107U

static const char known_kinds[] =
	"an operation is one of: read PATH, write PATH, create PATH, "
	"delete PATH, list PATH, exec PATH, connect HOST:PORT, connect "
	"unix:PATH, connect unix:@NAME, resolve HOST, bind PORT, request METHOD URL, "
	"use SECRET at HOST, syscall NAME";

static int fail_text(char problem[OPERATION_PROBLEM_MAX], const char *text)
{
	(void)snprintf(problem, OPERATION_PROBLEM_MAX, "%s", text);
	return -EINVAL;
}

/* Refuse what terminals interpret: C0, DEL and C1, which UTF-8 writes as C2 80 to 9F. */
static bool is_printable(const char *text)
{
	const unsigned char *byte = (const unsigned char *)text;

	for (; *byte != '\0'; byte++) {
		if (*byte < ' ' || *byte == 0x7f ||
		    (*byte == 0xc2 && byte[1] >= 0x80 && byte[1] <= 0x9f))
			return false;
	}
	return true;
}

static int check_path(const char *path, char problem[OPERATION_PROBLEM_MAX])
{
	if (path[0] != '/')
		return fail_text(problem,
				 "a path is needed that begins with /, such as /workspace/x");
	if (path[1] != '\0' && path[strlen(path) - 1] == '/')
		return fail_text(problem, "a path has no slash at its end");
	for (const char *name = path; *name != '\0'; name += strcspn(name, "/")) {
		name += strspn(name, "/");
		if (strcspn(name, "/") > NAME_BYTES_MAX)
			return fail_text(problem, "a name in a path has at most 255 bytes");
	}
	return 0;
}

static int read_port(const char *text, uint16_t least, uint16_t *ret,
		     char problem[OPERATION_PROBLEM_MAX])
{
	const size_t length = strlen(text);
	const unsigned long port = strtoul(text, NULL, 10);

	if (length == 0 || length > 5 || strspn(text, "0123456789") != length || port < least ||
	    port > UINT16_MAX)
		return fail_text(problem, least == 0 ? "a port is a number from 0 to 65535"
						     : "a port is a number from 1 to 65535");
	*ret = (uint16_t)port;
	return 0;
}

/* Check that a host is an address, or a name as programs resolve it. */
static int check_host(const char *host, bool has_brackets, char problem[OPERATION_PROBLEM_MAX])
{
	char name[HOST_NAME_MAX_SIZE];
	struct host_address address;
	enum host_fault fault;

	if (host_address_read(host, &address)) {
		if (has_brackets != (strchr(host, ':') != NULL))
			return fail_text(problem, "only an IPv6 address stands in brackets");
		return 0;
	}
	if (has_brackets)
		return fail_text(problem, "an IPv6 address is needed in brackets, such as [::1]");
	fault = host_name_read(host, strlen(host), name);
	if (fault == HOST_SOUND)
		return 0;
	(void)snprintf(problem, OPERATION_PROBLEM_MAX, "a host is an address or a name: %s",
		       host_fault_rule(fault));
	return -EINVAL;
}

/* Split "HOST:PORT" in `ret->target` into host and port. */
static int split_host(struct operation *ret, char problem[OPERATION_PROBLEM_MAX])
{
	char *host = ret->target;
	char *colon = strrchr(host, ':');
	const bool has_brackets = host[0] == '[';

	if (colon == NULL || colon == host || (has_brackets && colon[-1] != ']'))
		return fail_text(problem,
				 "expected HOST:PORT, [IPV6]:PORT, unix:PATH or unix:@NAME");
	if (read_port(colon + 1, 1, &ret->port, problem) != 0)
		return -EINVAL;
	*colon = '\0';
	if (has_brackets) {
		colon[-1] = '\0';
		memmove(host, host + 1, strlen(host));
	}
	if (!has_brackets && strchr(host, ':') != NULL)
		return fail_text(problem, "an IPv6 address stands in brackets: [::1]:80");
	return check_host(host, has_brackets, problem);
}

/* Remove `prefix` from the front of the target. False: it is not there. */
static bool take_prefix(struct operation *ret, const char *prefix)
{
	const size_t length = strlen(prefix);

	if (strncmp(ret->target, prefix, length) != 0)
		return false;
	memmove(ret->target, ret->target + length, strlen(ret->target + length) + 1);
	return true;
}

static int parse_connect(struct operation *ret, char problem[OPERATION_PROBLEM_MAX])
{
	if (take_prefix(ret, "unix:@"))
		ret->transport = OPERATION_ABSTRACT;
	else if (take_prefix(ret, "unix:"))
		ret->transport = OPERATION_UNIX;
	else if (take_prefix(ret, "udp:"))
		ret->transport = OPERATION_UDP;
	else
		(void)take_prefix(ret, "tcp:");
	if (ret->transport < OPERATION_UNIX)
		return split_host(ret, problem);
	if (ret->target[0] == '\0' || strlen(ret->target) > UNIX_BYTES_MAX)
		return fail_text(problem, "a unix socket has a path or a name of 1 to 107 bytes");
	return ret->transport == OPERATION_UNIX ? check_path(ret->target, problem) : 0;
}

static int parse_resolve(struct operation *ret, char problem[OPERATION_PROBLEM_MAX])
{
	const char *colon = strchr(ret->target, ':');

	if (colon != NULL && strchr(colon + 1, ':') == NULL)
		return fail_text(problem, "resolve has a host without a port");
	return check_host(ret->target, colon != NULL, problem);
}

static int parse_bind(struct operation *ret, char problem[OPERATION_PROBLEM_MAX])
{
	if (take_prefix(ret, "udp:"))
		ret->transport = OPERATION_UDP;
	else
		(void)take_prefix(ret, "tcp:");
	return read_port(ret->target, 0, &ret->port, problem);
}

/* Move the first word of the target to `ret->word`. False: it is empty, too long, or all. */
static bool take_word(struct operation *ret)
{
	const size_t length = strcspn(ret->target, " ");

	if (length == 0 || length >= sizeof(ret->word) || ret->target[length] == '\0')
		return false;
	memcpy(ret->word, ret->target, length);
	ret->word[length] = '\0';
	memmove(ret->target, ret->target + length + 1, strlen(ret->target + length));
	return true;
}

/* Split HOST or HOST:PORT; without a port it is `otherwise`. */
static int split_authority(struct operation *ret, const char *otherwise,
			   char problem[OPERATION_PROBLEM_MAX])
{
	const size_t length = strlen(ret->target);

	if (strchr(ret->target, ':') == NULL && length + strlen(otherwise) < sizeof(ret->target))
		memcpy(ret->target + length, otherwise, strlen(otherwise) + 1);
	return split_host(ret, problem);
}

/* Split "METHOD http[s]://HOST[:PORT][/PATH][?QUERY]". */
static int parse_request(struct operation *ret, char problem[OPERATION_PROBLEM_MAX])
{
	size_t length;

	if (!take_word(ret) ||
	    (!take_prefix(ret, "http://") && !(ret->is_tls = take_prefix(ret, "https://"))))
		return fail_text(problem, "expected a method and a URL, such as GET "
					  "https://api.example.org/v1/items");
	ret->target[strcspn(ret->target, "?#")] = '\0';
	length = strcspn(ret->target, "/");
	(void)snprintf(ret->path, sizeof(ret->path), "%s",
		       ret->target[length] != '\0' ? ret->target + length : "/");
	ret->target[length] = '\0';
	return split_authority(ret, ret->is_tls ? ":443" : ":80", problem);
}

static int parse_use(struct operation *ret, char problem[OPERATION_PROBLEM_MAX])
{
	if (!take_word(ret) || !take_prefix(ret, "at "))
		return fail_text(problem, "expected a secret and its host, such as GITHUB_TOKEN at "
					  "api.github.com");
	return split_authority(ret, ":443", problem);
}

static int parse_call(struct operation *ret, char problem[OPERATION_PROBLEM_MAX])
{
	const size_t length = strlen(ret->target);

	if (length > 31 || strspn(ret->target, "abcdefghijklmnopqrstuvwxyz0123456789_") != length)
		return fail_text(problem, "a system call is a name such as openat, or a number");
	if (ret->target[0] >= '0' && ret->target[0] <= '9' &&
	    (length > 10 || strspn(ret->target, "0123456789") != length ||
	     strtoull(ret->target, NULL, 10) > UINT32_MAX))
		return fail_text(problem, "a number of a system call is from 0 to 4294967295");
	return 0;
}

static const struct {
	const char *name;
	int (*parse)(struct operation *ret, char problem[OPERATION_PROBLEM_MAX]); /* NULL: a path */
} kinds[OPERATION_KIND_COUNT] = {
	[OPERATION_READ] = { "read", NULL },
	[OPERATION_WRITE] = { "write", NULL },
	[OPERATION_CREATE] = { "create", NULL },
	[OPERATION_DELETE] = { "delete", NULL },
	[OPERATION_LIST] = { "list", NULL },
	[OPERATION_EXEC] = { "exec", NULL },
	[OPERATION_CONNECT] = { "connect", parse_connect },
	[OPERATION_RESOLVE] = { "resolve", parse_resolve },
	[OPERATION_BIND] = { "bind", parse_bind },
	[OPERATION_REQUEST] = { "request", parse_request },
	[OPERATION_USE] = { "use", parse_use },
	[OPERATION_SYSCALL] = { "syscall", parse_call },
};

const char *operation_kind_name(enum operation_kind kind)
{
	return kinds[kind].name;
}

int operation_parse(const char *text, struct operation *ret, char problem[OPERATION_PROBLEM_MAX])
{
	const char *word = text + strspn(text, " ");
	const size_t length = strcspn(word, " ");
	const char *target = word + length + strspn(word + length, " ");
	int kind = 0;

	while (kind < OPERATION_KIND_COUNT &&
	       (strlen(kinds[kind].name) != length || strncmp(kinds[kind].name, word, length) != 0))
		kind++;
	if (kind == OPERATION_KIND_COUNT || target[0] == '\0')
		return fail_text(problem, known_kinds);
	if (strlen(target) >= OPERATION_TARGET_MAX)
		return fail_text(problem, "what an operation is about has at most 1023 bytes");
	if (!is_printable(target))
		return fail_text(problem, "an operation has no control characters");
	*ret = (struct operation){ .kind = (enum operation_kind)kind };
	(void)snprintf(ret->target, sizeof(ret->target), "%s", target);
	(void)snprintf(ret->text, sizeof(ret->text), "%s %s", kinds[kind].name, target);
	return kinds[kind].parse != NULL ? kinds[kind].parse(ret, problem)
					 : check_path(ret->target, problem);
}
