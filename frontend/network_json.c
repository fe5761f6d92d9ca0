/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/network_json.h"

#include "frontend/denials_network.h"

static void put_connections(struct json_writer *writer, const struct network_view *view)
{
	json_open_array(writer, "connections");
	for (uint32_t i = 0; i < view->connection_count; i++) {
		const struct ipc_network_connection *connection = &view->connections[i];

		json_open_object(writer, NULL);
		json_put_number(writer, "number", connection->number);
		json_put_text(writer, "host", connection->host);
		json_put_number(writer, "port", connection->port);
		json_put_number(writer, "sent", connection->sent);
		json_put_number(writer, "received", connection->received);
		json_close_object(writer);
	}
	json_close_array(writer);
}

/* Write the hosts that were granted, to the sandbox or to its client. */
static void put_granted(struct json_writer *writer, const struct network_view *view)
{
	json_open_array(writer, "granted");
	for (uint32_t i = 0; i < view->host_count; i++) {
		const struct ipc_network_host *host = &view->hosts[i];

		if (host->state != NETWORK_HOST_GRANTED)
			continue;
		json_open_object(writer, NULL);
		json_put_text(writer, "host", host->host);
		json_put_number(writer, "port", host->port);
		json_put_bool(writer, "client", host->frontend != 0);
		json_close_object(writer);
	}
	json_close_array(writer);
}

/* Write the hosts that were taken away; "*" stands for all. */
static void put_taken(struct json_writer *writer, const struct network_view *view)
{
	json_open_array(writer, "taken");
	for (uint32_t i = 0; i < view->host_count; i++) {
		const struct ipc_network_host *host = &view->hosts[i];

		if (host->state == NETWORK_HOST_CUT)
			json_put_text(writer, NULL, host->host[0] ? host->host : "*");
	}
	json_close_array(writer);
}

/* Write the refusals; the kinds that are not told apart have no host. */
static void put_refused(struct json_writer *writer, const struct network_denials *denials)
{
	json_open_array(writer, "refused");
	for (uint32_t i = 0; i < denials->count; i++) {
		const struct ipc_network_denial *denial = &denials->items[i];

		json_open_object(writer, NULL);
		if (denial->host[0]) {
			json_put_text(writer, "host", denial->host);
			json_put_text(writer, "reason", denials_network_reason(denial->reason));
		}
		if (denial->port)
			json_put_number(writer, "port", denial->port);
		json_put_number(writer, "count", denial->count);
		json_close_object(writer);
	}
	json_close_array(writer);
}

void network_json_put(struct json_writer *writer, const struct network_view *view, bool is_running)
{
	json_open_object(writer, NULL);
	json_put_bool(writer, "running", is_running);
	put_connections(writer, view);
	put_granted(writer, view);
	put_taken(writer, view);
	put_refused(writer, &view->denials);
	json_close_object(writer);
}
