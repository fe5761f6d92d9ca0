/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp network list`, `asked`, `approve` and `tighten`: the hosts of sandboxes that run.
 */
#include "commands/network.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/ask.h"
#include "common/clock.h"
#include "common/ipc/ipc_gateway.h"
#include "common/ipc/ipc_network.h"
#include "common/ipc/ipc_persistent.h"
#include "common/log.h"
#include "common/plan/plan.h"
#include "common/text/format.h"
#include "frontend/network_grant.h"
#include "frontend/network_json.h"
#include "frontend/profile_names.h"
#include "options/everywhere.h"
#include "show/figures.h"
#include "show/json.h"
#include "show/print.h"

#define MICROSECONDS 1000000U

/* Room for "--client 3/alice". */
#define CHOICE_MAX (IPC_NAME_MAX + 32)

static struct asking asking;
static struct network_view view;
static struct ipc_network_watch watch; /* the sandbox that is meant, or its owner */

static struct sandbox_search meant; /* the sandbox that a word names */

/* The hosts that are asked for, and the names of their sandboxes. */
static struct {
	uint32_t count;
	struct ipc_network_host rows[NETWORK_VIEW_HOSTS];
	char names[NETWORK_VIEW_HOSTS][IPC_NAME_MAX];
} asked;

/* --- a sandbox ------------------------------------------------------------------------------ */

/* Ask for all sandboxes. 0, or the exit code. */
static int ask_sandboxes(void (*on_sandbox)(void *context, const struct ipc_sandbox_info *info))
{
	const struct ask_handlers handlers = { .on_sandbox = on_sandbox };
	static struct question question = { .kind = ASK_LIST, .is.list.is_everybody = 1 };

	return ask(&asking, &question, &handlers, &meant);
}

/* Find the sandbox that a word names. 0, or the exit code, after a line. */
static int find_sandbox(const char *name, bool is_for_program)
{
	static char word[IPC_NAME_MAX]; /* `meant` keeps it */
	int code = 0;

	if (strlen(name) < sizeof(word)) {
		format_text(word, sizeof(word), "%s", name);
		code = ask_resolve(&asking, word, is_for_program);
		name = word;
	}
	if (code)
		return code;
	(void)sandbox_search_begin(&meant, name); /* it may be a name */
	code = ask_sandboxes(sandbox_search_add_named);
	memcpy(watch.sandbox, meant.id, sizeof(meant.id));
	memcpy(watch.owner, meant.owner, sizeof(meant.owner));
	if (code || meant.found == 1)
		return code;
	return log_fail(MSP_EXIT_USAGE,
			"there is no sandbox '%s', or several ids begin so: 'msp list' shows them",
			name);
}

/* --- list ----------------------------------------------------------------------------------- */

static void print_connections(void)
{
	char sent[FIGURES_TEXT_MAX], received[FIGURES_TEXT_MAX];

	for (uint32_t i = 0; i < view.connection_count; i++) {
		const struct ipc_network_connection *connection = &view.connections[i];

		(void)printf("connected  %s:%u  %" PRIu64 "  %s sent, %s received\n",
			     connection->host, connection->port, connection->number,
			     figures_bytes(connection->sent, sent),
			     figures_bytes(connection->received, received));
	}
}

static void print_hosts(void)
{
	for (uint32_t i = 0; i < view.host_count; i++) {
		const struct ipc_network_host *host = &view.hosts[i];

		if (host->state == NETWORK_HOST_GRANTED && host->frontend)
			(void)printf("granted    %s:%u  to client %u\n", host->host, host->port,
				     host->frontend);
		else if (host->state == NETWORK_HOST_GRANTED)
			(void)printf("granted    %s:%u\n", host->host, host->port);
		else
			(void)printf("taken      %s\n", host->host[0] ? host->host : "all hosts");
	}
}

static void print_denials(void)
{
	for (uint32_t i = 0; i < view.denials.count; i++) {
		const struct ipc_network_denial *denial = &view.denials.items[i];

		(void)printf("%s  %s",
			     denial->reason < CONNECTION_UNKNOWN ? "refused  " : "unreached",
			     denial->host[0] ? denial->host : "further hosts");
		if (denial->port)
			(void)printf(":%u", denial->port);
		(void)printf("  %u time%s\n", denial->count, denial->count == 1 ? "" : "s");
	}
}

static int report_error(int error)
{
	if (!error)
		return 0;
	return log_fail(MSP_EXIT_SOFTWARE, "%s", errno_text(-error));
}

static int print_json(void)
{
	network_json_put(json_begin(STDOUT_FILENO), &view, meant.is_live);
	return json_finish();
}

static int print_network(const char *name)
{
	print_connections();
	print_hosts();
	print_denials();
	if (!meant.is_live)
		everywhere_note("nothing runs in sandbox '%s', so it has no connection", name);
	else if (view.connection_count + view.host_count + view.denials.count == 0)
		everywhere_note("no connection is open, and nothing was refused lately");
	return print_flush();
}

int network_list(const struct network_options *options, char *const words[])
{
	int code = ask_begin(&asking, &options->attach);

	if (!code)
		code = find_sandbox(words[0], options->is_json);
	if (!code && meant.is_live)
		code = report_error(network_look(&asking.talk.client, &watch, &view));
	if (!code)
		code = report_error(options->is_json ? print_json() : print_network(words[0]));
	return ask_end(&asking, code);
}

/* --- asked ---------------------------------------------------------------------------------- */

static void take_asked(void)
{
	for (uint32_t i = 0; i < view.host_count; i++) {
		if (view.hosts[i].state == NETWORK_HOST_ASKED)
			asked.rows[asked.count++] = view.hosts[i];
	}
}

static void on_asking_sandbox(void *context, const struct ipc_sandbox_info *info)
{
	for (uint32_t i = 0; i < asked.count; i++) {
		if (strcmp(asked.rows[i].sandbox, info->id) == 0)
			memcpy(asked.names[i], info->name, sizeof(info->name));
	}
}

/* Fetch what is asked for. 0, or the exit code, after a line. */
static int fetch_asked(void)
{
	static const struct ipc_network_watch everything;
	int code = ask_sandboxes(NULL); /* the welcome comes before */

	if (!code)
		code = report_error(network_look(&asking.talk.client, &everything, &view));
	take_asked();
	return code ? code : ask_sandboxes(on_asking_sandbox);
}

static int print_asked(void)
{
	const uint64_t now_us = clock_now_us();
	char span[FIGURES_TEXT_MAX];

	for (uint32_t i = 0; i < asked.count; i++) {
		const struct ipc_network_host *row = &asked.rows[i];

		(void)printf("%s:%u  %u time%s, %s ago  profile %s  ", row->host, row->port,
			     row->count, row->count == 1 ? "" : "s",
			     figures_span(now_us > row->time_us
						  ? (now_us - row->time_us) / MICROSECONDS
						  : 0,
					  span),
			     row->profile);
		if (row->sandbox[0])
			(void)printf("sandbox %s %s\n", row->sandbox, asked.names[i]);
		else
			(void)printf("client %u%s%s\n", row->frontend, row->owner[0] ? "/" : "",
				     row->owner);
	}
	if (asked.count == 0)
		everywhere_note("no sandbox was refused a host that can be granted "
				"(host_approval in the profile)");
	return report_error(print_flush());
}

int network_asked(const struct network_options *options, char *const words[])
{
	int code = ask_begin(&asking, &options->attach);

	if (!code)
		code = fetch_asked();
	if (!code)
		code = print_asked();
	return ask_end(&asking, code);
}

/* --- approve -------------------------------------------------------------------------------- */

/* A host to grant, and for whom. */
static struct {
	struct ipc_network_grant message;
	const char *profile; /* NULL: not known */
	char whom[CHOICE_MAX];
} wish;

static bool has_port; /* the word names one */

/* Read HOST or HOST:PORT. 0, or the exit code, after a line. */
static int read_host(const char *word)
{
	char host[IPC_HOST_MAX + 1];
	const char *colon = strrchr(word, ':');
	const size_t size = colon ? (size_t)(colon - word) : strlen(word);
	char *end = NULL;
	unsigned long port = 0;
	const char *rule;

	has_port = colon != NULL;
	if (colon)
		port = colon[1] >= '0' && colon[1] <= '9' ? strtoul(colon + 1, &end, 10) : 0;
	format_text(host, sizeof(host), "%.*s", size < sizeof(host) ? (int)size : IPC_HOST_MAX,
		    word);
	rule = strstr(word, "://") ? "it is a URL; expected its host and port alone"
	       : colon && (port == 0 || port > UINT16_MAX || *end)
		       ? "a port is a number from 1 to 65535"
		       : network_grant_read(host, (uint32_t)port, &wish.message);
	if (!rule)
		return 0;
	return log_fail(MSP_EXIT_USAGE, "'%.100s' cannot be granted: %s", word, rule);
}

/* Print how a person names the asker of a question. */
static void print_choice(const struct ipc_network_host *row, char text[CHOICE_MAX])
{
	if (row->sandbox[0])
		format_text(text, CHOICE_MAX, "--sandbox %s", row->sandbox);
	else
		format_text(text, CHOICE_MAX, "--client %u%s%s", row->frontend,
			    row->owner[0] ? "/" : "", row->owner);
}

static bool is_clients(const struct ipc_network_host *row, const char *client)
{
	char text[CHOICE_MAX], number[CHOICE_MAX];

	if (!client)
		return true;
	format_text(number, sizeof(number), "%u", row->frontend);
	format_text(text, sizeof(text), "%u/%s", row->frontend, row->owner);
	return strcmp(client, number) == 0 || strcmp(client, text) == 0;
}

static bool is_wanted(const struct ipc_network_host *row, const char *client)
{
	return strcmp(row->host, wish.message.host) == 0 &&
	       (!has_port || row->port == wish.message.port) && is_clients(row, client);
}

static int refuse_choice(uint32_t count, const char *client)
{
	char text[CHOICE_MAX];

	if (count == 0)
		return log_fail(MSP_EXIT_USAGE,
				"nobody asks for %s: 'msp network asked' shows the hosts that "
				"sandboxes were refused; --sandbox SANDBOX grants one that was not",
				wish.message.host);
	log_line("%s is asked for %u times: choose one", wish.message.host, count);
	for (uint32_t i = 0; i < asked.count; i++) {
		if (!is_wanted(&asked.rows[i], client))
			continue;
		print_choice(&asked.rows[i], text);
		log_line("  msp network approve %s:%u %s", asked.rows[i].host, asked.rows[i].port,
			 text);
	}
	return MSP_EXIT_USAGE;
}

/* Choose the one question about the host. 0, or the exit code, after a line. */
static int choose_question(const char *client)
{
	const struct ipc_network_host *found = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < asked.count; i++) {
		if (!is_wanted(&asked.rows[i], client))
			continue;
		found = &asked.rows[i];
		count++;
	}
	if (count != 1)
		return refuse_choice(count, client);
	wish.message.port = found->port;
	wish.profile = found->profile;
	memcpy(watch.owner, found->owner, sizeof(found->owner));
	if (found->sandbox[0] && !client) {
		memcpy(watch.sandbox, found->sandbox, sizeof(found->sandbox));
		format_text(wish.whom, sizeof(wish.whom), "sandbox %s", found->sandbox);
		return 0;
	}
	wish.message.frontend = found->frontend;
	memcpy(wish.message.owner, found->owner, sizeof(found->owner));
	format_text(wish.whom, sizeof(wish.whom), "client %u", found->frontend);
	return 0;
}

/* Name the sandbox that a grant is for. 0, or the exit code, after a line. */
static int choose_sandbox(const char *name)
{
	const int code = find_sandbox(name, false);

	wish.profile = meant.profile;
	format_text(wish.whom, sizeof(wish.whom), "sandbox %s", name);
	return code;
}

/* Say how to keep the grant: what the operator's file has to have. */
static void advise_profile(void)
{
	struct plan plan = { .bytes = NULL };
	const struct plan_profile *profile;

	if (asking.plan < 0 || plan_open_fd(asking.plan, &plan) != 0)
		return;
	profile = profile_find(&plan, wish.profile);
	if (profile && profile->network_origin.file)
		everywhere_note("to keep it, add \"%s:%u\" to the hosts of profile %s (%s:%u)",
				wish.message.host, wish.message.port, wish.profile,
				plan_string(&plan, profile->network_origin.file),
				profile->network_origin.line);
	plan_close(&plan);
}

/* Explain why msp-cable has refused. Returns the exit code. */
static int refuse_grant(int error)
{
	static const struct {
		int error;
		const char *text;
	} rows[] = {
		{ ENOENT, "nothing runs in it, or it has no network of hosts: hosts are granted to "
			  "sandboxes that run" },
		{ EACCES, "its profile lets no host be added: host_approval: person in the "
			  "operator's profile" },
		{ ENOSPC, "there is no room for another host or port: add it to the profile" },
		{ E2BIG, "32 changes are kept, so a further cut ends when it stops: take away all "
			 "hosts (msp network tighten SANDBOX), and approve those that it needs" },
		{ EIO, "its directory cannot be written, so a cut ends when it stops: make room on "
		       "the disk, and repeat this" },
		{ ETIMEDOUT, "it is not recorded in the audit log in time" },
	};
	size_t i = 0;

	while (i < sizeof(rows) / sizeof(rows[0]) && rows[i].error != -error)
		i++;
	return log_fail(error == -ENOENT || error == -ETIMEDOUT ? MSP_EXIT_AGAIN
			: error == -EACCES                      ? MSP_EXIT_REFUSED
								: MSP_EXIT_SOFTWARE,
			"%s cannot be changed: %s", wish.whom,
			i < sizeof(rows) / sizeof(rows[0]) ? rows[i].text : errno_text(-error));
}

/* Have the wish granted. 0, or the exit code, after a line. */
static int send_wish(void)
{
	const int error = network_grant(&asking.talk.client, &watch, &wish.message);

	return error ? refuse_grant(error) : 0;
}

int network_approve(const struct network_options *options, char *const words[])
{
	int code = read_host(words[0]);

	if (code)
		return code;
	code = ask_begin(&asking, &options->attach);
	if (!code && options->sandbox)
		code = choose_sandbox(options->sandbox);
	else if (!code)
		code = fetch_asked();
	if (!code && !options->sandbox)
		code = choose_question(options->client);
	if (!code)
		code = send_wish();
	if (code)
		return ask_end(&asking, code);
	(void)printf("%s can reach %s:%u until it ends\n", wish.whom, wish.message.host,
		     wish.message.port);
	advise_profile();
	return ask_end(&asking, report_error(print_flush()));
}

/* --- tighten -------------------------------------------------------------------------------- */

int network_tighten(const struct network_options *options, char *const words[])
{
	int code = words[1] ? read_host(words[1]) : 0;

	if (!code && has_port)
		code = log_fail(MSP_EXIT_USAGE,
				"'%.100s' cannot be taken away: a host is, with all its ports",
				words[1]);
	if (code)
		return code;
	wish.message.is_cut = 1;
	code = ask_begin(&asking, &options->attach);
	if (!code)
		code = choose_sandbox(words[0]);
	if (!code)
		code = send_wish();
	if (code)
		return ask_end(&asking, code);
	(void)printf("%s can no longer reach %s, until 'msp network approve' gives it back\n",
		     wish.whom, words[1] ? wish.message.host : "any host");
	return ask_end(&asking, report_error(print_flush()));
}
