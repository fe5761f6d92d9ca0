/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests and secrets. A request needs a connection first; msp-http then compares those to hosts
 * of kind http and https with the rules, and answers a refused one itself with 403.
 */
#include "policy/decide/decide_parts.h"

#include <string.h>

#include "gateway/hosts/list.h"
#include "gateway/hosts/request.h"

static uint32_t index_of(const struct question *question, const struct plan_host *host)
{
	return (uint32_t)(host - plan_hosts(question->plan, question->profile));
}

static bool is_read(const struct plan_host *host)
{
	return host->kind == PLAN_HOST_HTTP || host->kind == PLAN_HOST_HTTPS;
}

static void cite_line(const struct question *question, uint32_t line)
{
	question->ret->origin =
		(struct plan_origin){ question->profile->network_origin.file, line };
}

/* Decide the connection. Return the entry of its host, or NULL: it is refused, or the host is the
 * sandbox itself. */
static const struct plan_host *decide_connection(const struct question *question)
{
	struct operation connect = *question->operation;
	struct question inner = *question;

	inner.operation = &connect;
	connect.kind = OPERATION_CONNECT;
	connect.transport = OPERATION_TCP;
	decide_network(&inner);
	return question->ret->answer <= DECISION_CONDITIONAL &&
			       question->profile->network == PLAN_NETWORK_HOSTS
		       ? decide_find_host(&inner)
		       : NULL;
}

static void refuse_http(const struct question *question, const struct plan_host *host)
{
	question->ret->condition[0] = '\0';
	decide_cite_host(question, host);
	decision_refuse(question->ret, "network", 0);
}

/* Refuse the scheme that the entry of the host does not have. */
static bool refuse_scheme(const struct question *question, const struct plan_host *host)
{
	const bool is_tls = question->operation->is_tls;

	if (host->kind == PLAN_HOST_TCP || is_tls == (host->kind != PLAN_HOST_HTTP))
		return false;
	DECISION_SAY(question->ret->rule, "hosts: %s:%u is for %s alone", host->pattern,
		     (unsigned int)host->port, is_tls ? "http" : "https");
	DECISION_SAY(question->ret->remedy, OPERATORS "hosts: [\"%s:%u %s\"]", host->pattern,
		     (unsigned int)host->port, is_tls ? "https" : "http");
	refuse_http(question, host);
	return true;
}

static void refuse_request(const struct question *question, const struct plan_host *host,
			   enum host_request answer)
{
	const struct operation *operation = question->operation;
	struct decision *ret = question->ret;

	if (answer == HOST_REQUEST_SPELLING) {
		DECISION_SAY(ret->rule, "requests: %s",
			     host_path_fault(operation->path, strlen(operation->path)));
		DECISION_SAY(ret->remedy, "none: another path");
	} else {
		DECISION_SAY(ret->rule, "requests: no rule covers %s %s at %s", operation->word,
			     operation->path, operation->target);
		DECISION_SAY(ret->remedy, OPERATORS "requests: [\"%s %s%s\"]", operation->word,
			     operation->target, operation->path);
	}
	refuse_http(question, host);
}

static void allow_request(const struct question *question, const struct plan_host *host,
			  const struct plan_request *rule)
{
	struct decision *ret = question->ret;

	if (rule != NULL) {
		DECISION_SAY(ret->rule, "requests: %s%s", host->pattern, rule->path);
		cite_line(question, rule->line);
	} else if (!is_read(host)) {
		DECISION_SAY(ret->rule, "hosts: %s:%u, whose requests are not read", host->pattern,
			     (unsigned int)host->port);
	}
}

void decide_request(const struct question *question)
{
	const struct operation *operation = question->operation;
	const struct plan_host *host = decide_connection(question);
	const struct plan_request *rule = NULL;
	const struct host_request_line line = {
		.method = host_method_read(operation->word, strlen(operation->word)),
		.path = operation->path,
		.path_size = strlen(operation->path),
	};
	enum host_request answer = HOST_REQUEST_ALLOWED;

	/* an approved host's port 443 is for TLS */
	if (!operation->is_tls && operation->port == HOST_PORT_DEFAULT)
		question->ret->approval = PLAN_HOST_APPROVAL_NEVER;
	if (host == NULL || refuse_scheme(question, host))
		return;
	if (is_read(host))
		answer = host_request_check(question->plan, question->profile,
					    index_of(question, host), &line, &rule);
	if (answer == HOST_REQUEST_ALLOWED)
		allow_request(question, host, rule);
	else
		refuse_request(question, host, answer);
}

static const struct plan_secret *find_secret(const struct question *question)
{
	const struct plan_secret *list = plan_secrets(question->plan, question->profile);

	for (uint32_t i = 0; i < question->profile->secret_count; i++) {
		if (strncmp(list[i].name, question->operation->word, sizeof(list[i].name)) == 0)
			return &list[i];
	}
	return NULL;
}

static bool is_for(const struct question *question, const struct plan_secret *secret,
		   const struct plan_host *host)
{
	const uint32_t index = index_of(question, host);

	return (secret->hosts[index / 8] >> index % 8 & 1) != 0;
}

static void refuse_use(const struct question *question, const struct plan_secret *secret)
{
	const struct operation *operation = question->operation;
	struct decision *ret = question->ret;

	if (secret == NULL) {
		DECISION_SAY(ret->rule, "secrets: the profile has no %s", operation->word);
		DECISION_SAY(ret->remedy,
			     OPERATORS "secrets: [{name: %s, hosts: [%s], header: Authorization, "
				       "file: PATH}]",
			     operation->word, operation->target);
	} else {
		DECISION_SAY(ret->rule, "secrets: %s is not for %s:%u", secret->name,
			     operation->target, (unsigned int)operation->port);
		DECISION_SAY(ret->remedy, OPERATORS "%s in the hosts of %s", operation->target,
			     secret->name);
	}
	ret->condition[0] = '\0';
	decide_cite_host(question, NULL);
	if (secret != NULL)
		cite_line(question, secret->line);
	decision_refuse(ret, "network", 0);
}

void decide_use(const struct question *question)
{
	const struct plan_secret *secret = find_secret(question);
	const struct plan_host *host = decide_connection(question);
	struct decision *ret = question->ret;

	ret->approval = PLAN_HOST_APPROVAL_NEVER; /* an approved host gets no secret */
	if (ret->answer > DECISION_CONDITIONAL)
		return;
	if (host == NULL || secret == NULL || !is_for(question, secret, host)) {
		refuse_use(question, secret);
		return;
	}
	DECISION_SAY(ret->rule, "secrets: %s in the header %s", secret->name, secret->header);
	cite_line(question, secret->line);
}
