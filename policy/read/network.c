/* SPDX-License-Identifier: Apache-2.0
 *
 * `network` of a profile, and the hosts that it may connect to. An entry of `hosts` is one line:
 *
 *   HOST[:PORT[,PORT]...] [tls|tcp|http|https] [private]
 *
 * HOST is a name, a wildcard for one label, or an IPv4 address or network. Without a port it is
 * 443. An entry "@GROUP" stands for the entries of a group (gateway/hosts/groups.def), and "+" for
 * the list of the extended profile. An entry {host: ENTRY, to: ADDRESS:PORT} is for a
 * port of this machine (own_ports.c).
 */
#include "policy/read/profile_parts.h"

#include <libpsl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/hosts/address.h"
#include "gateway/hosts/groups.h"
#include "gateway/hosts/list.h"
#include "policy/read/units.h"
#include "policy/read/values.h"

#define ENTRY_MAX 512U
#define EXTENDED "+"

/* The remedy where an entry names this machine. */
#define OWN_PORT "or, for a port of this machine, {host: NAME, to: \"127.0.0.1:PORT\"}"

static const char *const kind_names[PLAN_HOST_KIND_COUNT] = {
	[PLAN_HOST_TCP] = "tcp",
	[PLAN_HOST_TLS] = "tls",
	[PLAN_HOST_HTTP] = "http",
	[PLAN_HOST_HTTPS] = "https",
};

/* An entry while it is read. */
struct entry {
	const struct reading *reading;
	struct profile_host host; /* all but the port, and the kind if it is not given */
};

bool network_is_read(uint8_t kind)
{
	return kind == PLAN_HOST_HTTP || kind == PLAN_HOST_HTTPS;
}

uint8_t network_host_kind(const struct profile *profile, uint32_t host)
{
	bool is_read = false;

	for (uint32_t i = 0; i < profile->request_count; i++)
		is_read |= http_is_for(profile->requests[i].hosts, host);
	for (uint32_t i = 0; i < profile->secret_count; i++)
		is_read |= http_is_for(profile->secrets[i].hosts, host);
	return is_read && profile->hosts[host].kind == PLAN_HOST_TLS ? PLAN_HOST_HTTPS
								     : profile->hosts[host].kind;
}

void network_print_host(const struct profile *profile, uint32_t host, char ret[HOST_TEXT_MAX])
{
	const struct profile_host *is = &profile->hosts[host];

	(void)snprintf(ret, HOST_TEXT_MAX, "%s:%u %s%s%s%s", is->pattern, (unsigned int)is->port,
		       kind_names[network_host_kind(profile, host)],
		       is->is_private ? " private" : "", is->to_port != 0 ? " to " : "",
		       is->to_port != 0 ? is->to_said : "");
}

/* Refuse a wildcard below which anybody can register a name. */
static int check_wildcard(const struct entry *entry)
{
	const char *parent = host_pattern_parent(entry->host.pattern);
	const psl_ctx_t *suffixes = psl_builtin();

	if (parent == NULL)
		return 0;
	if (suffixes == NULL)
		return reading_fail(entry->reading, "",
				    "\"%s\" cannot be checked, since libpsl has no list of public "
				    "suffixes; expected hosts by name",
				    entry->host.pattern);
	if (psl_is_public_suffix(suffixes, parent) != 0)
		return reading_fail(entry->reading, "",
				    "\"%s\" covers hosts of anybody, since %s is a public suffix; "
				    "expected a wildcard below a registered name",
				    entry->host.pattern, parent);
	return 0;
}

/* Refuse names that no list can have. */
static int check_name(const struct entry *entry)
{
	const char *name = entry->host.pattern;
	const char *what = host_name_never(name);

	if (what == NULL)
		return 0;
	return reading_fail(entry->reading, "", "\"%s\" is %s; expected another host, " OWN_PORT,
			    name, what);
}

static int read_address(struct entry *entry, const char *text)
{
	struct host_network network;
	const struct host_address *first = &network.first;

	if (!host_network_read(text, &network))
		return reading_fail(entry->reading, "",
				    "\"%s\" is not a network; expected an IPv4 address, or its "
				    "first address and bits, such as 10.20.0.0/24",
				    text);
	if (host_address_reach(first) == HOST_REACH_NEVER)
		return reading_fail(
			entry->reading, "",
			"\"%s\" is %s, which no profile can allow; expected another "
			"host%s",
			text, host_address_kind_words(host_address_kind(first)),
			host_address_kind(first) == HOST_ADDRESS_LOOPBACK ? ", " OWN_PORT : "");
	if (strlen(text) >= sizeof(entry->host.pattern)) /* host_network_read() bounds it */
		return -1;
	memcpy(entry->host.pattern, text, strlen(text) + 1);
	return 0;
}

static bool is_address(const char *text)
{
	return strchr(text, '/') != NULL || text[strspn(text, "0123456789.")] == '\0';
}

static int read_host(struct entry *entry, const char *text)
{
	enum host_fault fault;

	if (is_address(text))
		return read_address(entry, text);
	fault = host_pattern_read(text, strlen(text), entry->host.pattern);
	if (fault != HOST_SOUND)
		return reading_fail(entry->reading, "",
				    "\"%s\" is no host: %s; expected a name, such as "
				    "api.example.org",
				    text, host_fault_rule(fault));
	return check_name(entry) != 0 || check_wildcard(entry) != 0 ? -1 : 0;
}

static int read_word(struct entry *entry, const char *word)
{
	if (strcmp(word, "private") == 0) {
		entry->host.is_private = true;
		return 0;
	}
	for (unsigned int kind = 0; kind < PLAN_HOST_KIND_COUNT; kind++) {
		if (strcmp(word, kind_names[kind]) == 0 && !entry->host.has_kind) {
			entry->host.kind = (uint8_t)kind;
			entry->host.has_kind = true;
			return 0;
		}
	}
	return reading_fail(entry->reading, "",
			    "\"%s\" is not known; expected tls, tcp, http or https, or private",
			    word);
}

static int add_host(const struct reading *reading, const struct profile_host *host)
{
	struct profile *profile = reading->profile;

	for (uint32_t i = 0; i < profile->host_count; i++) {
		const struct profile_host *other = &profile->hosts[i];

		if (other->port == host->port && strcmp(other->pattern, host->pattern) == 0)
			return reading_fail(reading, "",
					    "%s:%u given twice, first in %s:%u; expected once",
					    host->pattern, (unsigned int)host->port,
					    other->origin.file, other->origin.line);
	}
	if (profile->host_count == PLAN_HOSTS_MAX)
		return reading_fail(reading, "", "too many hosts and ports; expected at most %u",
				    PLAN_HOSTS_MAX);
	profile->hosts[profile->host_count++] = *host;
	return 0;
}

static int add_port(const struct entry *entry, uint32_t port)
{
	struct profile_host host = entry->host;

	host.port = (uint16_t)port;
	if (!entry->host.has_kind)
		host.kind = port == HOST_PORT_DEFAULT ? PLAN_HOST_TLS : PLAN_HOST_TCP;
	return add_host(entry->reading, &host);
}

static int read_ports(const struct entry *entry, char *text)
{
	char *rest = NULL;

	for (char *word = strtok_r(text, ",", &rest); word != NULL;
	     word = strtok_r(NULL, ",", &rest)) {
		uint64_t port;

		if (!units_number(word, &port) || port == 0 || port > UINT16_MAX)
			return reading_fail(entry->reading, "",
					    "\"%s\" is not a port; expected numbers from 1 to "
					    "65535, such as 22,443",
					    word);
		if (port == HOST_PORT_DNS)
			return reading_fail(entry->reading, "",
					    "port 53 is the sandbox's own resolver; expected "
					    "another port");
		if (add_port(entry, (uint32_t)port) != 0)
			return -1;
	}
	return 0;
}

/* Check the entry of a port of this machine: one name, whose address `to` says. */
static int check_own_port(const struct entry *entry, const char *host, const char *ports)
{
	if (is_address(host) || host_pattern_parent(entry->host.pattern) != NULL)
		return reading_fail(entry->reading, "host",
				    "\"%s\" is no single name; expected one by which programs in "
				    "the sandbox reach the port, such as db.local",
				    host);
	if (ports != NULL && strchr(ports, ',') != NULL)
		return reading_fail(entry->reading, "host",
				    "\"%s\" are several ports, and to says one; expected an entry "
				    "for each",
				    ports);
	if (entry->host.is_private)
		return reading_fail(
			entry->reading, "host",
			"private is without effect, since to says the address; expected "
			"no such word");
	return 0;
}

/* Split an entry, which is the caller's copy, into host, ports and words. */
static int read_entry(struct entry *entry, char *text)
{
	char *rest = NULL, *ports;
	const char *host = strtok_r(text, " ", &rest), *word;

	if (host == NULL)
		return reading_fail(entry->reading, "",
				    "empty; expected a host, such as example.org:22,443");
	if (strstr(host, "://") != NULL)
		return reading_fail(entry->reading, "",
				    "\"%s\" is a URL; expected its host and port alone", host);
	ports = strchr(host, ':');
	if (ports != NULL && strchr(ports + 1, ':') != NULL)
		return reading_fail(entry->reading, "",
				    "\"%s\" is an IPv6 address, which no sandbox can connect to; "
				    "expected the host's name",
				    host);
	if (ports != NULL)
		*ports++ = '\0';
	if (ports != NULL && (ports[0] == '\0' || strstr(ports, ",,") != NULL || ports[0] == ',' ||
			      ports[strlen(ports) - 1] == ','))
		return reading_fail(entry->reading, "",
				    "a port is missing after the colon or a comma; expected "
				    "numbers such as 22,443");
	if (read_host(entry, host) != 0)
		return -1;
	while ((word = strtok_r(NULL, " ", &rest)) != NULL) {
		if (read_word(entry, word) != 0)
			return -1;
	}
	if (network_is_read(entry->host.kind) && is_address(host))
		return reading_fail(entry->reading, "",
				    "\"%s\" is an address, whose requests have no name; expected "
				    "the host's name, or tcp",
				    host);
	if (entry->host.to_port != 0 && check_own_port(entry, host, ports) != 0)
		return -1;
	return ports != NULL              ? read_ports(entry, ports)
	       : entry->host.to_port != 0 ? add_port(entry, entry->host.to_port)
					  : add_port(entry, HOST_PORT_DEFAULT);
}

/* Read an entry that stands for itself. */
static int read_single(const struct entry *entry, const char *said)
{
	struct entry single = *entry;
	char text[ENTRY_MAX];

	if (strlen(said) >= sizeof(text))
		return reading_fail(entry->reading, "", "too long; expected at most %zu bytes",
				    sizeof(text) - 1);
	memcpy(text, said, strlen(said) + 1);
	return read_entry(&single, text);
}

static int read_group(const struct entry *entry, const char *name)
{
	const struct host_group *group = host_group_find(name);
	struct buffer known = { .bytes = NULL };

	if (group == NULL) {
		for (uint32_t i = 0; i < host_group_count; i++)
			buffer_format(&known, "%s%c%s", i > 0 ? ", " : "", HOST_GROUP_MARK,
				      host_groups[i].name);
		(void)reading_fail(entry->reading, "",
				   "there is no group of hosts \"%s\"; expected one of %s", name,
				   known.bytes);
		buffer_done(&known);
		return -1;
	}
	entry->reading->profile->host_groups |= 1U << (group - host_groups);
	for (const char *const *each = group->entries; *each != NULL; each++) {
		if (read_single(entry, *each) != 0)
			return -1;
	}
	return 0;
}

/* Take over the list of the extended profile. */
static int read_extended(const struct reading *reading)
{
	const struct profile *parent = reading->profile->parent;

	if (parent == NULL || parent->network != NETWORK_HOSTS)
		return reading_fail(reading, "",
				    "\"" EXTENDED "\" stands for the list of the extended profile, "
				    "and %s has none; expected the other entries alone, or another "
				    "profile in extends",
				    parent != NULL ? parent->name : "a profile without extends");
	reading->profile->host_groups |= parent->host_groups;
	for (uint32_t i = 0; i < parent->host_count; i++) { /* registry_apply() adds the rest */
		if (!parent->hosts[i].is_registry && add_host(reading, &parent->hosts[i]) != 0)
			return -1;
	}
	return 0;
}

/* Read the entry of a port of this machine. */
static int read_own_port(struct entry *entry)
{
	const char *text = node_text(entry->reading->said, "host");

	if (text == NULL)
		return reading_fail(entry->reading, "host",
				    "missing; expected the name by which programs in the sandbox "
				    "reach the port, such as db.local");
	return own_port_read(entry->reading, &entry->host) != 0 ? -1 : read_single(entry, text);
}

static int read_said(const struct reading *reading)
{
	struct entry entry = { .reading = reading, .host.origin = reading_origin(reading, "") };
	const char *text = reading->said->text;

	if (reading->said->kind == NODE_KEYS)
		return read_own_port(&entry);
	if (strcmp(text, EXTENDED) == 0)
		return read_extended(reading);
	return text[0] == HOST_GROUP_MARK ? read_group(&entry, text + 1)
					  : read_single(&entry, text);
}

int network_apply(const struct reading *reading)
{
	if (reading_says(reading, "hosts")) /* the list replaces the parent's */
		reading->profile->host_count = reading->profile->host_groups = 0;
	return reading_each(reading, "hosts", read_said);
}

#define RESOLVER_FILE "/etc/resolv.conf"
#define NAMES_FILE "/etc/nsswitch.conf"
#define HOSTS_LINE "hosts: files"

/* 198.18.0.1 is RESOLVER_ADDRESS; the gateway answers at once. */
static const char resolver_text[] = "nameserver 198.18.0.1\n";
static const char names_text[] = "passwd: files\n"
				 "group: files\n"
				 "shadow: files\n" HOSTS_LINE " dns\n"
				 "networks: files\n"
				 "protocols: files\n"
				 "services: files\n";

const char *network_file_text(const struct profile *profile, const struct profile_mount *mount)
{
	if (profile->network != NETWORK_HOSTS || !mount->is_builtin)
		return mount->source;
	return strcmp(mount->target, RESOLVER_FILE) == 0 ? resolver_text
	       : strcmp(mount->target, NAMES_FILE) == 0  ? names_text
							 : mount->source;
}

/* Without the file, programs would ask a resolver at the sandbox's own loopback. */
static int check_resolver(const struct reading *reading)
{
	const struct profile_mount *around = mounts_around(reading->profile, RESOLVER_FILE);

	if (around != NULL && (strcmp(around->target, RESOLVER_FILE) == 0 ||
			       around->kind == PLAN_BIND || around->kind == PLAN_OVERLAY))
		return 0;
	return reading_fail(reading, "files",
			    RESOLVER_FILE
			    " is missing, by which names of hosts are resolved; "
			    "expected an entry such as {at: " RESOLVER_FILE ", kind: file, text: "
			    "\"nameserver 198.18.0.1\\n\"}, or a profile to extend that has it");
}

int network_check(const struct reading *reading)
{
	static const char *const keys[] = { "hosts", "host_approval", "through", "secrets",
					    "requests" };
	const struct profile *profile = reading->profile;
	char network[VALUE_TEXT_MAX];

	value_print(profile, KEY_profile_network, network);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (profile->network != NETWORK_HOSTS && reading_says(reading, keys[i]))
			return reading_fail(reading, keys[i],
					    "without effect, since network is %s; expected "
					    "network: hosts",
					    network);
	}
	if (profile->network == NETWORK_HOSTS &&
	    profile->origins.keys[KEY_profile_hosts].file == NULL)
		return reading_fail(reading, "hosts",
				    "missing; expected a list of hosts, such as [example.org], or "
				    "network: loopback");
	return profile->network == NETWORK_HOSTS ? check_resolver(reading) : 0;
}
