/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/ipc_gateway.h"
#include "common/ipc/ipc_http.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/start/launch.h"
#include "launcher/start/plan_copy.h"
#include "launcher/start/secret.h"

/* A server that ends so soon is not begun again. */
#define PAUSE_US 10000000

/* --- what a plan needs ------------------------------------------------------------------------ */

/* Return whether msp-http reads requests of the profile's sandboxes. */
static bool is_read(const struct plan *plan, const struct plan_profile *profile)
{
	const struct plan_host *hosts = plan_hosts(plan, profile);

	for (uint32_t i = 0; i < profile->host_count; i++) {
		if (hosts[i].kind == PLAN_HOST_HTTP || hosts[i].kind == PLAN_HOST_HTTPS)
			return true;
	}
	return false;
}

/* Return the next profile to serve from index `at` on; the number of profiles: there is none. */
static uint32_t next_read(const struct plan *plan, const char *needed, uint32_t at)
{
	const int only = pins_find_needed(plan, needed);

	while (at < plan_profile_count(plan) &&
	       (!is_read(plan, plan_profile(plan, at)) || (needed && (int)at != only)))
		at++;
	return at;
}

/* --- servers ---------------------------------------------------------------------------------- */

/* Send a secret's value; one that cannot be read is sent as none. False with a line in `text`. */
static bool send_secret(int fd, const struct plan_secret *secret, uint32_t index,
			char text[SECRET_TEXT_MAX])
{
	const struct channel channel = { fd, IPC_LAUNCHER, IPC_HTTP, IPC_SERVE };
	const struct ipc_http_secret message = { index };
	size_t size;
	int value FD_OWNED = secret_read(secret, &size, text);
	const bool has_value = value >= 0;

	if (!has_value)
		value = fd_sealed_from_bytes("secret", "", 0);
	/* A server that has ended needs none. */
	if (value >= 0)
		(void)channel_send(&channel, IPC_TYPE_http_secret, &message, &value, MSG_DONTWAIT);
	return has_value;
}

/* Send all secrets of a server. False with a line in `text`, of the last that cannot be read. */
static bool send_secrets(const struct trust_server *server, char text[CONFIG_TEXT_MAX])
{
	const struct plan *plan = &server->plan;
	const struct plan_profile *profile = plan_profile(plan, server->profile);
	const struct plan_secret *secrets = plan_secrets(plan, profile);
	bool are_read = true;

	for (uint32_t i = 0; i < profile->secret_count; i++) {
		char problem[SECRET_TEXT_MAX];

		if (send_secret(server->channel, &secrets[i], i, problem))
			continue;
		are_read &= secrets[i].is_optional != 0;
		format_text(text, CONFIG_TEXT_MAX, "%.300s:%u: profile %s: %s",
			    plan_string(plan, profile->network_origin.file), secrets[i].line,
			    plan_string(plan, profile->name), problem);
	}
	return are_read;
}

/* Offer a server to msp-cable, with its end of our channel and both of its channel to msp-egress. 0
 * or -errno. */
static int offer_server(const struct trust *trust, const struct trust_server *server, int end)
{
	const struct channel cable = { trust->gateway, IPC_LAUNCHER, IPC_GATEWAY, IPC_SERVE };
	const struct ipc_gateway_http message = { server->profile };
	int ends[2];
	int error = channel_pair(ends);

	if (!error) {
		const int fds[] = { ends[0], end, ends[1], server->plan_fd };

		error = channel_send(&cable, IPC_TYPE_gateway_http, &message, fds, MSG_DONTWAIT);
		fd_close_all(ends, 2);
	}
	return error;
}

/* Begin a server with all that it needs; it waits in the channels until msp-cable takes it. 0 with
 * whether all secrets were read, or -errno. */
static int begin_server(struct trust *trust, struct trust_server *server,
			char text[CONFIG_TEXT_MAX], bool *ret_has_secrets)
{
	static const struct ipc_http_trust message;
	const int fds[] = { trust->certificates.authority, trust->certificates.roots };
	int ends[2];
	int error = channel_pair(ends);

	if (error)
		return error;
	server->channel = ends[0];
	server->begun_us = clock_now_us();
	error = channel_send(&(struct channel){ ends[0], IPC_LAUNCHER, IPC_HTTP, IPC_SERVE },
			     IPC_TYPE_http_trust, &message, fds, MSG_DONTWAIT);
	if (!error) {
		*ret_has_secrets = send_secrets(server, text);
		error = offer_server(trust, server, ends[1]);
	}
	fd_close(&ends[1]);
	if (error)
		fd_close(&server->channel);
	return error;
}

static void forget_server(struct trust_server *server)
{
	plan_close(&server->plan);
	fd_close(&server->plan_fd);
	fd_close(&server->channel);
}

/* Take a place for a server of a configuration's plan. Without a free one, the oldest makes room:
 * the supervisor has fewer plans in use. */
static int take_server(struct trust *trust, const struct config *config, uint32_t profile,
		       struct trust_server **ret)
{
	struct trust_server *server = &trust->servers[trust->count++ % TRUST_SERVERS_MAX];
	int error;

	if (server->plan_fd >= 0)
		forget_server(server);
	server->plan_fd = fcntl(config->plan_fd, F_DUPFD_CLOEXEC, 3);
	error = server->plan_fd < 0 ? -errno : plan_open_fd(server->plan_fd, &server->plan);
	if (error)
		fd_close(&server->plan_fd);
	server->profile = profile;
	*ret = server;
	return error;
}

#define TOO_MANY "too many profiles have secrets or rules of requests: destroy sandboxes of others"

static int begin_servers(struct trust *trust, struct config *config, const char *needed,
			 char text[CONFIG_TEXT_MAX])
{
	const struct plan *plan = config_plan(config);
	uint32_t count = 0;
	int error = 0;

	for (uint32_t i = next_read(plan, needed, 0); i < plan_profile_count(plan) && !error;
	     i = next_read(plan, needed, i + 1)) {
		struct trust_server *server = NULL;
		bool has_secrets = false;

		if (count++ < TRUST_SERVERS_MAX)
			error = take_server(trust, config, i, &server);
		else /* no reason to stop all others */
			format_text(trust->pins.problem, sizeof(trust->pins.problem), TOO_MANY);
		if (!error && server)
			error = begin_server(trust, server, trust->pins.problem, &has_secrets);
		if (!error && !has_secrets)
			trust->pins.refused |= UINT64_C(1) << i;
	}
	return error ? format_fail(-1, text, CONFIG_TEXT_MAX,
				   "requests to hosts cannot be read: %s", errno_text(-error))
		     : 0;
}

/* Send the secrets of earlier plans again: sources may have new values. */
static void rotate_secrets(struct trust *trust)
{
	char text[CONFIG_TEXT_MAX];

	for (uint32_t i = 0; i < TRUST_SERVERS_MAX; i++) {
		if (trust->servers[i].channel >= 0 && !send_secrets(&trust->servers[i], text))
			log_line("requests with a secret are refused: %s", text);
	}
}

/* --- all of it -------------------------------------------------------------------------------- */

int trust_connect(struct trust *trust)
{
	int ends[2] = { trust->gateway, trust->cable };
	const int error = trust->gateway >= 0 ? 0 : channel_pair(ends);

	trust->gateway = ends[0];
	trust->cable = ends[1];
	return error;
}

void trust_begin(struct trust *trust)
{
	for (uint32_t i = 0; i < TRUST_SERVERS_MAX; i++)
		trust->servers[i].plan_fd = trust->servers[i].channel = -1;
}

static int make_certificates(struct trust *trust, const struct images *images,
			     char text[CONFIG_TEXT_MAX])
{
	int error;

	if (trust->certificates.authority >= 0)
		return 0;
	trust_begin(trust);
	if (certificates_make(images->http, &trust->certificates, text) != 0)
		return -1;
	trust->pins.directory = trust->certificates.directory;
	error = trust_connect(trust);
	return error ? format_fail(-1, text, CONFIG_TEXT_MAX, "a channel cannot be made: %s",
				   errno_text(-error))
		     : 0;
}

int trust_prepare(struct trust *trust, const struct images *images, struct config *config,
		  const char *needed, char text[CONFIG_TEXT_MAX])
{
	const struct plan *plan = config_plan(config);
	int index;

	trust->pins.refused = 0;
	if (trust->certificates.authority >= 0)
		rotate_secrets(trust);
	if (!plan || next_read(plan, needed, 0) == plan_profile_count(plan))
		return 0;
	if (make_certificates(trust, images, text) != 0 ||
	    plan_source_put(config, PLAN_TRUST, trust->certificates.path, text) != 0 ||
	    begin_servers(trust, config, needed, text) != 0)
		return -1;
	index = pins_find_needed(config_plan(config), needed);
	if (index < 0 || !(trust->pins.refused >> index & 1))
		return 0;
	return format_fail(-1, text, CONFIG_TEXT_MAX, "%s", trust->pins.problem);
}

/* Begin a server again, whose channel is closed. One that cannot be is left out. */
static void begin_again(struct trust *trust, struct trust_server *server)
{
	char text[CONFIG_TEXT_MAX];
	bool has_secrets = true;

	if (begin_server(trust, server, text, &has_secrets) != 0)
		forget_server(server);
	else if (!has_secrets)
		log_line("requests with a secret are refused: %s", text);
}

void trust_restart(struct trust *trust)
{
	fd_close(&trust->gateway);
	fd_close(&trust->cable);
	if (trust_connect(trust) != 0 || trust->certificates.authority < 0)
		return;
	for (uint32_t i = 0; i < TRUST_SERVERS_MAX; i++) {
		fd_close(&trust->servers[i].channel);
		if (trust->servers[i].plan_fd >= 0)
			begin_again(trust, &trust->servers[i]);
	}
}

void trust_ended(struct trust *trust, uint32_t server)
{
	struct trust_server *ended = &trust->servers[server];
	const bool is_soon = clock_now_us() - ended->begun_us < PAUSE_US;

	fd_close(&ended->channel);
	if (is_soon)
		forget_server(ended);
	else
		begin_again(trust, ended);
}

void trust_done(struct trust *trust)
{
	certificates_remove(&trust->certificates);
}
