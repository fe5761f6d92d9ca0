/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages about hosts, packages and ports.
 */
#include "frontend/hint_search.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "frontend/profile_names.h"
#include "gateway/hosts/groups.h"
#include "gateway/hosts/list.h"

#define ANY_HOST "any host"
#define PACKAGES "packages"
#define RANK_HOST 2U
#define HINT_COMMAND_MAX 160 /* bytes of a host in a command */

/* Find the host in the line, or else in the command, which may have its port. */
static bool find_host(const struct search *search, const char *line, char ret[HINT_TARGET_MAX],
		      uint16_t *port)
{
	char other[HINT_TARGET_MAX];
	uint16_t other_port = 0;

	if (!hint_text_host(line, ret, port))
		return hint_text_command_host(search->command, ret, port);
	if (*port == 0 && hint_text_command_host(search->command, other, &other_port) &&
	    strcmp(other, ret) == 0)
		*port = other_port;
	return true;
}

static bool ask_connect(const struct search *search, const char *host, uint16_t port,
			struct decision *ret)
{
	char text[HINT_TARGET_MAX + 32];
	struct operation operation;
	const bool is_ipv6 = strchr(host, ':') != NULL;

	SAY(text, "connect %s%s%s:%u", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "",
	    port ? port : HOST_PORT_DEFAULT);
	return hint_ask_policy(search, text, &operation, ret);
}

static bool has_hosts(const struct search *search)
{
	return search->profile->network == PLAN_NETWORK_HOSTS;
}

static bool is_loopback(const char *host)
{
	return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
	       strcmp(host, "::1") == 0;
}

/* Return whether msp-cable counts refusals of the host; of any one, if the target names none. */
static bool is_counted(const struct search *search, const char *target)
{
	const bool is_host = strcmp(target, ANY_HOST) != 0 && strcmp(target, PACKAGES) != 0;
	const size_t size = strlen(target);

	for (uint32_t i = 0; i < search->views->count && has_hosts(search); i++) {
		const struct denial_view *view = &search->views->items[i];

		if (view->is_network && !view->is_inferred &&
		    (!is_host || (strncasecmp(view->target, target, size) == 0 &&
				  strchr(":", view->target[size]))))
			return true;
	}
	return false;
}

/* One view stands for the network: the one whose target says most. */
static struct denial_view *find_network_view(const struct search *search)
{
	for (uint32_t i = 0; i < search->views->count; i++) {
		struct denial_view *view = &search->views->items[i];

		if (view->is_network && (view->is_inferred || !has_hosts(search)))
			return view;
	}
	return NULL;
}

static uint32_t rank_target(const char *target)
{
	return strcmp(target, ANY_HOST) == 0 ? 0 : strcmp(target, PACKAGES) == 0 ? 1 : RANK_HOST;
}

/* A host that was refused. */
struct refused {
	const char *target; /* the words that are shown: the host, or ANY_HOST or PACKAGES */
	const char *host;   /* NULL: it is not known */
	uint16_t port;      /* 0: it is not known */
};

/* The profile that reaches a host. */
struct way {
	const char *profile; /* NULL: there is none */
	bool is_offered;     /* a request can name it; else the operator has to offer it */
};

/* Find the way to the host, and say it as the remedy, before an entry of the operator's. */
static struct way find_way(const struct search *search, const struct refused *refused,
			   struct decision *said)
{
	const struct plan *plan = search->source->plan;
	const struct plan_profile *other = NULL;
	const struct host_group *group = NULL;

	if (refused->host)
		other = profile_reaching(plan, refused->host, refused->port);
	if (refused->host && !other)
		group = host_group_covering(refused->host,
					    refused->port ? refused->port : HOST_PORT_DEFAULT);
	if (other) {
		const char *name = plan_string(plan, other->name);

		SAY(said->remedy, "the profile %s reaches %s", name, refused->host);
		return (struct way){ name, true };
	}
	if (!refused->host)
		SAY(said->remedy,
		    "in the operator's profile, network: hosts, and the host in hosts");
	if (!group || !group->profile)
		return (struct way){ NULL, false };
	SAY(said->remedy, "in the operator's configuration, offer: [%s], a profile that reaches %s",
	    group->profile, refused->host);
	return (struct way){ group->profile, false };
}

static void hint_at_network(const struct search *search, const struct refused *refused,
			    const struct way *way, struct denial_view *view)
{
	static const char offer[] = "the operator can offer the profile";
	const char *target = refused->target;
	const bool is_host = rank_target(target) == RANK_HOST;
	const char *what = is_host ? "reached" : "downloaded here";

	if (way->profile && way->is_offered && is_host)
		SAY(view->hint, "%.60s cannot be reached; the profile %.30s reaches it", target,
		    way->profile);
	else if (way->profile && way->is_offered)
		SAY(view->hint, "%s cannot be downloaded here; the profile %.30s reaches %.40s",
		    target, way->profile, refused->host);
	else if (has_hosts(search))
		SAY(view->hint, "%.70s is not among the hosts and ports of this profile", target);
	else if (rank_target(target) == 0)
		SAY(view->hint, "no network; only the sandbox's own loopback can be reached");
	else if (way->profile)
		SAY(view->hint, "no network; %.60s cannot be %s; %s %.30s", target, what, offer,
		    way->profile);
	else
		SAY(view->hint, "no network; %.80s cannot be %s", target, what);
}

/* A command reaches sandboxes that last or will be made: those of the service. */
bool hint_approve(const struct search *search, const struct decision *decision, const char *host,
		  uint16_t port, struct denial_view *view)
{
	const struct hint_source *source = search->source;
	const bool is_asked = source->is_tool && decision->approval == PLAN_HOST_APPROVAL_ASK;
	const bool has_command = source->is_service && (source->is_tool || source->is_persistent);
	char command[HINT_COMMAND_MAX + 32] = "msp network approve HOST:PORT";

	if (decision->approval == PLAN_HOST_APPROVAL_NEVER || (!is_asked && !has_command))
		return false;
	if (strlen(host) < HINT_COMMAND_MAX) /* a part of it would be another host */
		SAY(command, "msp network approve %.*s:%u", HINT_COMMAND_MAX, host,
		    port ? port : HOST_PORT_DEFAULT);
	SAY(view->remedy, "%s%s%s, or %s", is_asked ? "the tool request_host" : "",
	    is_asked && has_command ? ", " : "", has_command ? command : "", decision->remedy);
	SAY(view->hint,
	    is_asked ? "%.60s is refused by this profile; request_host asks the user"
		     : "%.50s is refused by this profile; the user may run `msp network "
		       "approve`",
	    view->target);
	return true;
}

static void add_network(const struct search *search, const struct refused *refused,
			const struct decision *decision)
{
	struct denial_view *view = find_network_view(search);
	struct decision said = *decision;
	struct way way;

	if (is_counted(search, refused->target))
		return;
	if (view && view->is_inferred) {
		view->count++;
		if (rank_target(view->target) >= rank_target(refused->target))
			return;
	} else if (!view) {
		view = hint_add_view(search, decision->layer, "connect", refused->target);
		if (!view)
			return;
	}
	way = find_way(search, refused, &said);
	if (view->is_inferred) {
		SAY(view->target, "%s", refused->target);
		hint_describe(search, &said, view);
	}
	view->is_network = true;
	view->weight = DENIAL_FIRST;
	if (!refused->host || way.is_offered ||
	    !hint_approve(search, decision, refused->host, refused->port, view))
		hint_at_network(search, refused, &way, view);
}

/* Return the host that the package manager in the command has its packages from; NULL: it is not
 * known. */
static const char *find_index(const char *command)
{
	static const struct {
		const char *program, *host;
	} indexes[] = {
		{ "pip", "pypi.org" },
		{ "pip3", "pypi.org" },
		{ "python3 -m pip", "pypi.org" },
		{ "uv", "pypi.org" },
		{ "npm", "registry.npmjs.org" },
		{ "npx", "registry.npmjs.org" },
		{ "pnpm", "registry.npmjs.org" },
		{ "yarn", "registry.yarnpkg.com" },
		{ "cargo", "index.crates.io" },
		{ "go", "proxy.golang.org" },
		{ "mvn", "repo.maven.apache.org" },
		{ "apt-get", "deb.debian.org" },
		{ "apt", "deb.debian.org" },
	};

	for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++) {
		const char *at = hint_text_find_program(command, indexes[i].program);

		/* a space, or the end */
		if (at && strchr(" ", at[strlen(indexes[i].program)]))
			return indexes[i].host;
	}
	return NULL;
}

/* Add a refusal of a host that the output does not name. */
static void add_unnamed(const struct search *search, bool is_package)
{
	const char *host = is_package ? find_index(search->command) : NULL;
	const struct refused refused = { is_package ? PACKAGES : ANY_HOST, host,
					 host ? HOST_PORT_DEFAULT : 0 };
	struct decision decision;

	if (!has_hosts(search) &&
	    ask_connect(search, host ? host : "example.org", HOST_PORT_DEFAULT, &decision) &&
	    decision.answer == DECISION_REFUSED)
		add_network(search, &refused, &decision);
}

bool hint_judge_network(const struct search *search, const struct finding *finding)
{
	const bool is_package = finding->phrase && finding->phrase->topic == TOPIC_PACKAGE;
	char host[HINT_TARGET_MAX] = "";
	struct decision decision;
	uint16_t port = 0;
	/* The name of a package before the words may look like a host. */
	bool is_found = is_package ? hint_text_host(finding->words, host, &port) ||
					     hint_text_host(finding->line, host, &port)
				   : find_host(search, finding->line, host, &port);

	is_found = is_found && ask_connect(search, host, port, &decision) &&
		   decision.answer == DECISION_REFUSED;
	if (is_found && has_hosts(search) && search->views->unreached[0])
		return true; /* granted beside the list: msp-cable counted no refusal of a name */
	if (is_found)
		add_network(search, &(struct refused){ host, host, port }, &decision);
	else
		add_unnamed(search, is_package);
	return true;
}

/* Only the sandbox's own loopback answers with a refusal, and the gateway. */
bool hint_judge_refused(const struct search *search, const struct finding *finding)
{
	char host[HINT_TARGET_MAX] = "127.0.0.1", number[16] = "";
	struct denial_views *views = search->views;
	struct decision decision;
	uint16_t port = 0;
	const bool is_found = find_host(search, finding->line, host, &port);

	if (!ask_connect(search, host, port, &decision))
		return true;
	if (decision.answer == DECISION_REFUSED) {
		add_network(search,
			    &(struct refused){ is_found ? host : ANY_HOST, is_found ? host : NULL,
					       port },
			    &decision);
		return true;
	}
	if (hint_judge_command_socket(search))
		return true;
	if (has_hosts(search) && !(is_found && is_loopback(host)))
		return true; /* if it could not be reached, msp-cable has counted that */
	if (port)
		SAY(number, ":%u", port);
	if (!views->note[0] && search->is_clear)
		SAY(views->note,
		    "nothing in this sandbox listens%s%.60s%s; services of the host cannot be "
		    "reached",
		    is_found ? " on " : " there", is_found ? host : "", number);
	return true;
}

/* A failed connection without its reason. A server that answered is there. */
bool hint_judge_connect(const struct search *search, const struct finding *finding)
{
	static const char answers[] = "authenticat|password|certificate|handshake|ssl|tls|protocol|"
				      "closed|reset|denied|too many|version|status";
	char host[HINT_TARGET_MAX];
	uint16_t port = 0;

	return hint_text_host(finding->words, host, &port) &&
	       !hint_text_has(finding->line, answers) && hint_judge_refused(search, finding);
}

/* A test runner shows neither the host nor the cause, which may be a server of the sandbox that is
 * not there: without a host in the command, say only that the network is not. */
bool hint_judge_fetch(const struct search *search, const struct finding *finding)
{
	struct denial_views *views = search->views;
	char host[HINT_TARGET_MAX];
	struct decision decision;
	uint16_t port = 0;

	if (hint_text_has(search->text, "cause"))
		return false;
	if (hint_text_command_host(search->command, host, &port))
		return hint_judge_refused(search, finding);
	if (!has_hosts(search) &&
	    ask_connect(search, "example.org", HOST_PORT_DEFAULT, &decision) &&
	    decision.answer == DECISION_REFUSED && !views->note[0] && search->is_clear)
		SAY(views->note,
		    "this run has no network; only servers in the sandbox can be reached");
	return true;
}

/* Return whether a number below 1024 stands by itself, as a port does. */
static bool has_low_port(const char *text)
{
	for (const char *at = text; *at; at++) {
		char *end = NULL;
		unsigned long number;

		if (*at < '1' || *at > '9' ||
		    (at > text && (isalnum((unsigned char)at[-1]) || strchr("._-", at[-1]))))
			continue;
		number = strtoul(at, &end, 10);
		if (number < 1024 &&
		    (*end == '\0' || (!isalnum((unsigned char)*end) && !strchr("._-]", *end))))
			return true;
		at = end - 1;
	}
	return false;
}

/* Return whether the line can be about a port: it has the words for it, or names nothing. */
static bool is_of_port(const struct search *search, const struct finding *finding)
{
	const char *colon = strchr(finding->line, ':');

	if (!has_low_port(finding->line) && !has_low_port(search->command))
		return false;
	return hint_text_has(finding->line, "bind|listen|port ") ||
	       (colon && colon + 2 == finding->words &&
		strcspn(finding->line, "'\" ") >= (size_t)(colon - finding->line));
}

bool hint_judge_bind(const struct search *search, const struct finding *finding)
{
	char path[HINT_TARGET_MAX];
	struct operation operation;
	struct decision decision;
	struct denial_view *view;

	if (hint_text_path(finding->line, path) || /* the line names the file that was refused */
	    (finding->phrase->error == 0 && !is_of_port(search, finding)))
		return false;
	if (!hint_ask_policy(search, "bind 80", &operation, &decision) ||
	    decision.answer != DECISION_REFUSED || decision.error != EACCES)
		return false;
	view = hint_add_view(search, decision.layer, "bind", "");
	if (!view)
		return true;
	hint_describe(search, &decision, view);
	SAY(view->hint, "no network; this profile lets no port be bound");
	return true;
}
