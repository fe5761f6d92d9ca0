/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets. A sandbox's network namespace has only its own loopback; if the profile says
 * `network: none`, Landlock refuses TCP before the address is looked at.
 */
#include "policy/decide/decide_parts.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "common/kernel.h"
#include "gateway/hosts/address.h"

#define HOSTS "/etc/hosts"

enum reach {
	REACH_LOOPBACK,
	REACH_LOOPBACK_IPV6,
	REACH_OUTSIDE,
	REACH_NO_NAME,
	REACH_HOSTS_NAME, /* the host's own /etc/hosts decides */
};

/* Parse an address, and set how far it reaches. False: it is none. */
static bool read_address(const char *text, enum reach *ret)
{
	struct host_address address;
	enum host_address_kind kind;

	if (!host_address_read(text, &address))
		return false;
	kind = host_address_kind(&address);
	*ret = kind != HOST_ADDRESS_LOOPBACK && kind != HOST_ADDRESS_UNSPECIFIED ? REACH_OUTSIDE
	       : host_address_is_ipv4(&address)                                  ? REACH_LOOPBACK
						: REACH_LOOPBACK_IPV6;
	return true;
}

/* Read a word of a line of hosts(5) and move behind it. False: none is left. */
static bool next_word(const char **line, char *word, size_t size)
{
	const char *start = *line + strspn(*line, " \t");
	const size_t length = strcspn(start, " \t\n#");

	if (length == 0 || length >= size)
		return false;
	memcpy(word, start, length);
	word[length] = '\0';
	*line = start + length;
	return true;
}

/* Find the address of the first line of `text` that has the name. */
static enum reach find_name(const char *text, const char *name)
{
	for (const char *line = text; *line != '\0'; line += *line == '\n') {
		char address[INET6_ADDRSTRLEN], word[256];
		enum reach reach;
		bool is_address =
			next_word(&line, address, sizeof(address)) && read_address(address, &reach);

		while (is_address && next_word(&line, word, sizeof(word))) {
			if (strcasecmp(word, name) == 0)
				return reach;
		}
		line += strcspn(line, "\n");
	}
	return REACH_NO_NAME;
}

static enum reach find_host(const struct question *question)
{
	const struct plan_rule *rule;
	enum reach reach;
	struct place place;

	if (read_address(question->operation->target, &reach))
		return reach;
	place_find(question, HOSTS, true, &place);
	if ((place_rights(question, place.path, &rule) & LANDLOCK_ACCESS_FS_READ_FILE) == 0)
		return REACH_NO_NAME;
	if (place.record != NULL && place.record->kind == PLAN_FILE)
		return find_name(plan_string(question->plan, place.record->source),
				 question->operation->target);
	return place.state == PLACE_ABSENT || place.state == PLACE_LOST ? REACH_NO_NAME
									: REACH_HOSTS_NAME;
}

static bool has_hosts(const struct question *question)
{
	return question->profile->network == PLAN_NETWORK_HOSTS;
}

static void cite_network(const struct question *question)
{
	struct decision *ret = question->ret;

	ret->origin = question->profile->network_origin;
	DECISION_SAY(ret->rule, "network: %s: a sandbox has its own loopback%s",
		     question->profile->is_narrowed                    ? "none of the request"
		     : question->profile->network == PLAN_NETWORK_NONE ? "none"
		     : has_hosts(question)                             ? "hosts"
								       : "loopback",
		     has_hosts(question) ? "" : " and nothing else");
}

static void refuse_network(const struct question *question, int error)
{
	cite_network(question);
	decision_refuse(question->ret, "network", error);
}

/* Add the kind of an address that is no host of the Internet to the rule. */
static void cite_kind(const struct question *question)
{
	struct decision *ret = question->ret;
	const size_t used = strlen(ret->rule);
	struct host_address address;

	if (host_address_read(question->operation->target, &address) &&
	    host_address_kind(&address) != HOST_ADDRESS_PUBLIC)
		decision_write(ret->rule + used, sizeof(ret->rule) - used, "; %s is %s",
			       question->operation->target,
			       host_address_kind_words(host_address_kind(&address)));
}

static bool refuse_landlock(const struct question *question, uint64_t right)
{
	struct decision *ret = question->ret;

	if (question->operation->transport != OPERATION_TCP ||
	    (question->profile->landlock_net & right) == 0)
		return false;
	ret->origin = question->profile->network_origin;
	DECISION_SAY(ret->rule, "network: none: Landlock allows no TCP port");
	DECISION_SAY(ret->remedy, OPERATORS "network: loopback");
	decision_refuse(ret, "landlock", EACCES);
	return true;
}

static void allow_if(const struct question *question, const char *condition)
{
	DECISION_SAY(question->ret->condition, "%s", condition);
	decision_allow(question->ret, "network");
}

#define WITH_HOSTS "network: hosts and " /* and its key `hosts` */

static void refuse_name(const struct question *question)
{
	refuse_network(question, 0);
	decide_advise_host(question, WITH_HOSTS, "");
	DECISION_SAY(question->ret->rule,
		     "network: " HOSTS " has no such name, and nothing answers DNS");
}

void decide_name(const struct question *question)
{
	const char *target = question->operation->target;
	const enum reach reach = find_host(question);
	struct host_address address;

	if (host_address_read(target, &address)) {
		DECISION_SAY(question->ret->rule,
			     "network: %s is an address, which no name server "
			     "is asked for",
			     target);
		decision_allow(question->ret, "network");
	} else if (reach != REACH_NO_NAME) {
		DECISION_SAY(question->ret->rule, "files: " HOSTS " of the sandbox");
		allow_if(question,
			 reach == REACH_HOSTS_NAME ? "if the host's " HOSTS " has the name" : "");
	} else if (has_hosts(question)) {
		decide_host_name(question);
	} else {
		refuse_name(question);
	}
}

static void decide_address(const struct question *question)
{
	const bool is_udp = question->operation->transport == OPERATION_UDP;
	/* the name is resolved before anything is connected */
	const enum reach reach = find_host(question);

	if (has_hosts(question) && (reach == REACH_NO_NAME || reach == REACH_OUTSIDE)) {
		decide_host(question);
		return;
	}
	if (reach == REACH_NO_NAME) {
		refuse_name(question);
		return;
	}
	if (refuse_landlock(question, LANDLOCK_ACCESS_NET_CONNECT_TCP))
		return;
	if (reach == REACH_OUTSIDE) {
		refuse_network(question, ENETUNREACH);
		decide_advise_host(question, WITH_HOSTS, "");
		cite_kind(question);
		return;
	}
	cite_network(question);
	if (reach == REACH_HOSTS_NAME)
		allow_if(question, "if the host's " HOSTS " has the name for a loopback address "
				   "where something of this sandbox listens");
	else if (reach == REACH_LOOPBACK_IPV6)
		allow_if(question, is_udp ? "if the kernel has IPv6"
					  : "if something of this sandbox listens there and the "
					    "kernel has IPv6");
	else
		allow_if(question, is_udp ? "" : "if something of this sandbox listens there");
}

/* unix(7): the file must be a socket, and connect() needs the right to write to it. */
static void decide_known_file(const struct question *question, const struct place *place)
{
	static const uint32_t modes =
		1U << PLAN_DIRECTORY | 1U << PLAN_FILE | 1U << PLAN_COPY | 1U << PLAN_TMPFS;
	const struct plan_mount *record = place->record;
	const bool is_closed = record != NULL &&
			       (record->kind == PLAN_PROC || ((modes & 1U << record->kind) != 0 &&
							      (record->mode & S_IWUSR) == 0));

	DECISION_SAY(question->ret->rule, "files: %s is no socket", place->path);
	if (record != NULL)
		question->ret->origin = record->origin;
	decision_refuse(question->ret, "mounts", is_closed ? EACCES : ECONNREFUSED);
}

static void decide_socket_file(const struct question *question)
{
	struct decision *ret = question->ret;
	struct place place;

	place_find(question, question->operation->target, true, &place);
	if (place.state == PLACE_THERE &&
	    (place.record == NULL || place.record->kind != PLAN_BIND)) {
		decide_known_file(question, &place);
		return;
	}
	if (place.state > PLACE_INSIDE) {
		DECISION_SAY(ret->rule, "files: no entry makes %s", place.path);
		DECISION_SAY(ret->remedy, "%s",
			     decide_can_be_shown(question->operation->target, place.path)
				     ? OPERATORS "an entry for the socket's directory"
				     : "none: no profile can show it");
		decision_refuse(ret, "mounts",
				place.state == PLACE_NOT_DIRECTORY ? ENOTDIR
				: place.state == PLACE_CLOSED      ? EACCES
				: place.state == PLACE_LOOP        ? ELOOP
								   : ENOENT);
		return;
	}
	ret->origin = place.cover->origin;
	DECISION_SAY(ret->rule, "files: %s, %s", plan_string(question->plan, place.cover->target),
		     mount_kind_name(place.cover));
	DECISION_SAY(ret->condition, "%s",
		     place.cover->kind == PLAN_BIND
			     ? "if the host has a socket there that this user may write to"
			     : "if something of this sandbox listens there");
	decision_allow(ret, "mounts");
}

static void decide_abstract(const struct question *question)
{
	struct decision *ret = question->ret;

	DECISION_SAY(ret->rule, "landlock: abstract sockets of this execution alone; those of the "
				"host are in another network namespace");
	allow_if(question, "if something of this execution listens there");
	ret->layer = "landlock";
}

static void decide_bind(const struct question *question)
{
	const uint16_t port = question->operation->port;

	if (refuse_landlock(question, LANDLOCK_ACCESS_NET_BIND_TCP))
		return;
	cite_network(question);
	allow_if(question, port == 0 ? "" : "if nothing of this sandbox has the port");
}

/* Return whether the sandbox has the socket's file, or an entry of the profile could show it. */
static bool is_within_reach(const struct question *question)
{
	struct place place;

	place_find(question, question->operation->target, true, &place);
	return place.state <= PLACE_INSIDE ||
	       decide_can_be_shown(question->operation->target, place.path);
}

/* Replace the advice if allowing the group is not enough. */
static void advise_group(const struct question *question)
{
	const struct operation *operation = question->operation;
	struct decision *ret = question->ret;
	enum reach reach = REACH_LOOPBACK;

	if (operation->kind == OPERATION_CONNECT && operation->transport < OPERATION_UNIX)
		reach = find_host(question);
	if (!has_hosts(question) && (reach == REACH_OUTSIDE || reach == REACH_NO_NAME))
		decide_advise_host(question, WITH_HOSTS, " and seccomp: {add: [network]}");
	else if (operation->transport == OPERATION_UNIX && !is_within_reach(question))
		DECISION_SAY(ret->remedy, "none: no profile can show it");
	else if (operation->transport == OPERATION_TCP && question->profile->landlock_net != 0)
		DECISION_SAY(ret->remedy,
			     OPERATORS "network: loopback and seccomp: {add: [network]}");
}

void decide_network(const struct question *question)
{
	const bool is_bind = question->operation->kind == OPERATION_BIND;

	if (decide_refused_call(question, "socket") ||
	    decide_refused_call(question, is_bind ? "bind" : "connect"))
		advise_group(question);
	else if (is_bind)
		decide_bind(question);
	else if (question->operation->transport == OPERATION_UNIX)
		decide_socket_file(question);
	else if (question->operation->transport == OPERATION_ABSTRACT)
		decide_abstract(question);
	else
		decide_address(question);
}
