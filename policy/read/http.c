/* SPDX-License-Identifier: Apache-2.0
 *
 * `requests` of a profile, and the comparison of both with its hosts. A rule is one line:
 *
 *   METHOD[,METHOD]... HOST[/PATH]
 *
 * METHOD may be * for all; HOST is spelled as in an entry of `hosts`.
 */
#include "policy/read/profile_parts.h"

#include <stdio.h>
#include <string.h>

#include "gateway/hosts/request.h"
#include "lib/heap/buffer.h"

#define RULE_MAX 512U
#define ALL_METHODS "*"
#define BUNDLE "/etc/ssl/certs/ca-certificates.crt"

/* Places of trusted certificates: of Debian and its relatives, and of Fedora and its. */
static const char *const trust_places[] = { "/etc/ssl/certs", "/etc/pki/tls/certs",
					    "/etc/pki/ca-trust/extracted" };

/* The variables by which programs find certificates; Node adds a file to its own list. */
static const char *const trust_variables[] = {
	"SSL_CERT_FILE=" BUNDLE,     "REQUESTS_CA_BUNDLE=" BUNDLE,
	"PIP_CERT=" BUNDLE,          "CURL_CA_BUNDLE=" BUNDLE,
	"GIT_SSL_CAINFO=" BUNDLE,    "CARGO_HTTP_CAINFO=" BUNDLE,
	"AWS_CA_BUNDLE=" BUNDLE,     "DENO_CERT=" BUNDLE,
	"npm_config_cafile=" BUNDLE, "NODE_EXTRA_CA_CERTS=/etc/ssl/certs/msp-ca.crt",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- request rules ---------------------------------------------------------------------------- */

static int read_methods(const struct reading *entry, char *text, uint32_t *ret)
{
	char *rest = NULL;

	if (strcmp(text, ALL_METHODS) == 0)
		return 0;
	for (char *word = strtok_r(text, ",", &rest); word != NULL;
	     word = strtok_r(NULL, ",", &rest)) {
		const uint32_t bit = host_method_read(word, strlen(word));

		if (bit == 0)
			return reading_fail(
				entry, "",
				"\"%s\" is not a method; expected GET, HEAD, POST, PUT, "
				"PATCH, DELETE or OPTIONS, or * for all",
				word);
		*ret |= bit;
	}
	return *ret != 0 ? 0
			 : reading_fail(entry, "",
					"without a method; expected some, such as "
					"GET,POST, or * for all");
}

static int read_path(const struct reading *entry, const char *text, struct profile_request *request)
{
	const size_t size = strlen(text);
	const char *fault = host_path_fault(text, size);

	if (fault != NULL)
		return reading_fail(entry, "",
				    "\"%s\" is no path of a rule: %s; expected a path "
				    "such as /repos/acme/",
				    text, fault);
	if (size >= sizeof(request->path))
		return reading_fail(entry, "", "the path is too long; expected at most %zu bytes",
				    sizeof(request->path) - 1);
	memcpy(request->path, text, size + 1);
	return 0;
}

/* Split a rule, which is the caller's copy. */
static int read_rule(const struct reading *entry, char *text, struct profile_request *request)
{
	char *blank = strchr(text, ' '), *host = blank != NULL ? blank + 1 : text;
	char *slash = strchr(host, '/');
	char path[RULE_MAX] = "/";
	enum host_fault fault;

	if (blank == NULL || blank == text)
		return reading_fail(entry, "",
				    "\"%s\" is not a rule; expected METHODS HOST/PATH, such as "
				    "\"GET,POST api.example.org/v1/\"",
				    text);
	*blank = '\0';
	if (slash != NULL) {
		memcpy(path, slash, strlen(slash) + 1);
		*slash = '\0';
	}
	fault = host_pattern_read(host, strlen(host), request->host);
	if (fault != HOST_SOUND)
		return reading_fail(entry, "",
				    "\"%s\" is no host: %s; expected a host of the "
				    "list hosts, without a port",
				    host, host_fault_rule(fault));
	return read_methods(entry, text, &request->methods) != 0 ||
			       read_path(entry, path, request) != 0
		       ? -1
		       : 0;
}

static int read_request(const struct reading *entry)
{
	struct profile_request request = { .origin = reading_origin(entry, "") };
	char text[RULE_MAX];

	if (strlen(entry->said->text) >= sizeof(text))
		return reading_fail(entry, "", "too long; expected at most %zu bytes",
				    sizeof(text) - 1);
	memcpy(text, entry->said->text, strlen(entry->said->text) + 1);
	if (read_rule(entry, text, &request) != 0)
		return -1;
	entry->profile->requests[entry->profile->request_count++] = request;
	return 0;
}

int http_apply(const struct reading *reading)
{
	if (reading_says(reading, "requests"))
		reading->profile->request_count = 0; /* the list replaces the parent's */
	if (reading_each(reading, "requests", read_request) != 0)
		return -1;
	return reading_says(reading, "secrets") ? secrets_read(reading) : 0;
}

/* --- both, and the hosts ---------------------------------------------------------------------- */

bool http_is_for(const uint8_t hosts[PLAN_HOSTS_MAX / 8], uint32_t host)
{
	return (hosts[host / 8] >> host % 8 & 1) != 0;
}

static void add_host(uint8_t hosts[PLAN_HOSTS_MAX / 8], uint32_t host)
{
	hosts[host / 8] |= (uint8_t)(1U << host % 8);
}

/* A rule or a secret that is compared with the hosts. */
struct need {
	const struct reading *reading;
	const char *key; /* an inherited one has the line of the list */
	const char *what;
	const char *host;
	bool is_secret;
	bool is_cleartext;
	uint8_t *hosts;
};

static int fail_need(const struct need *need, const char *problem, const char *expected)
{
	return reading_fail(need->reading, need->key, "%s: %s %s; expected %s", need->what,
			    need->host, problem, expected);
}

/* Refuse an entry before it that covers the host, too, and would let its connections pass. */
static int check_earlier(const struct need *need, uint32_t host)
{
	const struct profile *profile = need->reading->profile;

	for (uint32_t i = 0; i < host; i++) {
		if (profile->hosts[i].port == profile->hosts[host].port &&
		    host_pattern_covers(profile->hosts[i].pattern, need->host))
			return reading_fail(need->reading, need->key,
					    "%s: %s is covered by the entry %s before its own; "
					    "expected its own entry first",
					    need->what, need->host, profile->hosts[i].pattern);
	}
	return 0;
}

/* Give the need to one entry of its host, or refuse that. */
static int take_host(const struct need *need, uint32_t index)
{
	const struct profile_host *host = &need->reading->profile->hosts[index];

	if (host->kind == PLAN_HOST_TLS && host->has_kind)
		return fail_need(need, "is said to be tls, which passes unread",
				 "its entry in hosts without the word tls");
	if (host->kind == PLAN_HOST_TCP && need->is_secret)
		return 0; /* another port's entry may do */
	if (host->kind == PLAN_HOST_TCP)
		return fail_need(need, "has a port of kind tcp, which passes unread",
				 "the port with the word http or https, or no such port");
	if (host->kind == PLAN_HOST_HTTP && need->is_secret && !need->is_cleartext)
		return fail_need(need, "is of kind http, where anybody on the way reads it",
				 "https, or the key cleartext: true");
	add_host(need->hosts, index);
	return check_earlier(need, index);
}

static int find_hosts(const struct need *need)
{
	const struct profile *profile = need->reading->profile;
	bool is_found = false, is_read = false;

	if (need->is_secret && host_pattern_parent(need->host) != NULL)
		return fail_need(need, "stands for more hosts than one", "each host by its name");
	for (uint32_t i = 0; i < profile->host_count; i++) {
		if (strcmp(profile->hosts[i].pattern, need->host) != 0)
			continue;
		is_found = true;
		if (take_host(need, i) != 0)
			return -1;
		is_read |= http_is_for(need->hosts, i);
	}
	if (!is_found)
		return fail_need(need, "has no entry of its own in hosts",
				 "one, before a wildcard");
	return is_read ? 0
		       : fail_need(need, "has no port that can be read",
				   "port 443, or the word http or https");
}

static int check_requests(const struct reading *reading)
{
	struct profile *profile = reading->profile;
	uint32_t records = 0;
	char key[KEY_MAX];

	for (uint32_t i = 0; i < profile->request_count; i++) {
		struct profile_request *request = &profile->requests[i];
		const struct need need = {
			.reading = reading,
			.key = reading_says(reading, "requests")
				       ? reading_key(key, "requests", i, "")
				       : "hosts",
			.what = "a request rule",
			.host = request->host,
			.hosts = request->hosts,
		};

		memset(request->hosts, 0, sizeof(request->hosts));
		if (find_hosts(&need) != 0)
			return -1;
		for (uint32_t host = 0; host < profile->host_count; host++)
			records += http_is_for(request->hosts, host);
	}
	return records <= PLAN_REQUESTS_MAX
		       ? 0
		       : reading_fail(reading, "hosts",
				      "too many request rules, with one for each port of its host; "
				      "expected at most %u",
				      PLAN_REQUESTS_MAX);
}

static int check_secret(const struct reading *reading, struct profile_secret *secret,
			const char *key)
{
	memset(secret->hosts, 0, sizeof(secret->hosts));
	for (uint32_t i = 0; i < secret->wanted.count; i++) {
		const char *said = secret->wanted.items[i];
		char host[HOST_PATTERN_MAX_SIZE];
		const enum host_fault fault = host_pattern_read(said, strlen(said), host);
		const struct need need = { .reading = reading,
					   .key = key,
					   .what = secret->name,
					   .host = host,
					   .is_secret = true,
					   .is_cleartext = secret->is_cleartext,
					   .hosts = secret->hosts };

		if (fault != HOST_SOUND)
			return reading_fail(reading, key,
					    "\"%s\" is no host: %s; expected a name "
					    "of the list hosts",
					    said, host_fault_rule(fault));
		if (find_hosts(&need) != 0)
			return -1;
	}
	return 0;
}

/* The placeholder is the variable's value. */
static int check_variable(const struct reading *reading, const struct profile_secret *secret,
			  const char *key)
{
	const struct profile *profile = reading->profile;
	const size_t length = strlen(secret->name);

	for (uint32_t i = 0; i < profile->environment_count; i++) {
		if (strncmp(profile->environment[i], secret->name, length) == 0 &&
		    profile->environment[i][length] == '=')
			return reading_fail(reading, key,
					    "%s is a variable of the profile already; expected "
					    "another name",
					    secret->name);
	}
	return 0;
}

static int check_secrets(const struct reading *reading)
{
	struct profile *profile = reading->profile;
	char key[KEY_MAX];

	for (uint32_t i = 0; i < profile->secret_count; i++) {
		const char *at = reading_says(reading, "secrets")
					 ? reading_key(key, "secrets", i, "hosts")
					 : "hosts";

		if (check_secret(reading, &profile->secrets[i], at) != 0 ||
		    check_variable(reading, &profile->secrets[i], at) != 0)
			return -1;
	}
	return 0;
}

static bool is_trust_place(const char *path)
{
	for (size_t i = 0; i < COUNT(trust_places); i++) {
		if (strcmp(trust_places[i], path) == 0)
			return true;
	}
	return false;
}

bool http_ends_tls(const struct profile *profile)
{
	for (uint32_t i = 0; profile->network == NETWORK_HOSTS && i < profile->host_count; i++) {
		if (network_host_kind(profile, i) == PLAN_HOST_HTTPS)
			return true;
	}
	return false;
}

/* A sandbox without the certificate of msp-http would refuse each connection that that reads. */
static int check_trust(const struct reading *reading)
{
	const struct profile_mount *around = mounts_around(reading->profile, trust_places[0]);

	if (!http_ends_tls(reading->profile) ||
	    (around != NULL && strcmp(around->target, trust_places[0]) == 0 && around->is_builtin))
		return 0;
	return reading_fail(reading, "files",
			    "%s is not that of a built-in profile, in which programs find the "
			    "certificate of hosts whose requests are read; expected a profile to "
			    "extend that has it, such as default, and no entry of its own",
			    trust_places[0]);
}

int http_check(const struct reading *reading)
{
	const struct profile *profile = reading->profile;

	if (profile->network != NETWORK_HOSTS)
		return 0;
	return check_requests(reading) != 0 || check_secrets(reading) != 0 ||
			       check_trust(reading) != 0
		       ? -1
		       : 0;
}

/* --- answers ---------------------------------------------------------------------------------- */

bool http_is_trust(const struct profile *profile, const struct profile_mount *mount)
{
	return mount->is_builtin && mount->kind == PLAN_BIND && is_trust_place(mount->target) &&
	       http_ends_tls(profile);
}

/* No placeholder is a part of another: a name has neither small letters nor a hyphen. */
void http_print_placeholder(const struct profile_secret *secret, char ret[HTTP_PLACEHOLDER_MAX])
{
	(void)snprintf(ret, HTTP_PLACEHOLDER_MAX, "msp-%s-secret", secret->name);
}

bool http_print_variable(const struct profile *profile, uint32_t index, char ret[HTTP_VARIABLE_MAX],
			 struct origin *ret_origin)
{
	const uint32_t first = http_ends_tls(profile) ? COUNT(trust_variables) : 0;
	const uint32_t secrets = profile->network == NETWORK_HOSTS ? profile->secret_count : 0;

	ret[0] = '\0';
	if (index >= first + secrets)
		return false;
	if (index >= first) {
		const struct profile_secret *secret = &profile->secrets[index - first];
		char placeholder[HTTP_PLACEHOLDER_MAX];

		http_print_placeholder(secret, placeholder);
		(void)snprintf(ret, HTTP_VARIABLE_MAX, "%s=%s", secret->name, placeholder);
		*ret_origin = secret->origin;
	} else if (!environment_has(profile, trust_variables[index])) {
		(void)snprintf(ret, HTTP_VARIABLE_MAX, "%s", trust_variables[index]);
		*ret_origin = profile->origins.keys[KEY_profile_hosts];
	}
	return true;
}

void http_print_request(const struct profile_request *request, char ret[HTTP_TEXT_MAX])
{
	size_t used = 0;

	ret[0] = '\0';
	for (uint32_t bit = 1; bit < HOST_METHODS_END; bit *= 2) {
		if ((request->methods & bit) != 0)
			used += (size_t)snprintf(ret + used, HTTP_TEXT_MAX - used, "%s%s",
						 used > 0 ? "," : "", host_method_name(bit));
	}
	(void)snprintf(ret + used, HTTP_TEXT_MAX - used, "%s %s%s",
		       request->methods == 0 ? ALL_METHODS : "", request->host, request->path);
}

void http_print_secret(const struct profile_secret *secret, char ret[HTTP_TEXT_MAX])
{
	struct buffer text = { .bytes = NULL };

	buffer_format(&text, "%s for", secret->name);
	for (uint32_t i = 0; i < secret->wanted.count; i++)
		buffer_format(&text, " %s", secret->wanted.items[i]);
	buffer_format(&text, " in %s, %s", secret->header,
		      secrets_source_name(secret->source_kind));
	for (uint32_t i = 0; i < secret->source.count; i++)
		buffer_format(&text, " %s", secret->source.items[i]);
	buffer_format(&text, "%s%s", secret->is_cleartext ? ", cleartext" : "",
		      secret->is_optional ? ", optional" : "");
	(void)snprintf(ret, HTTP_TEXT_MAX, "%s", text.bytes);
	buffer_done(&text);
}
