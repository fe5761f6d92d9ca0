/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is told of what: sessions of the legacy era, and listens of the modern one. The host is one
 * of the test's own, so that resources and lists change when the test says so.
 */
#include <criterion/criterion.h>
#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/heap/memory.h"
#include "mcp/methods.h"
#include "mcp/resources/resources.h"
#include "mcp/resources/subscriptions.h"
#include "rig.h"

#define META                                                                                       \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define ID(id) "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":" id "}"

#define HEARD_MAX 64

/* A way back that keeps what was said. */
struct way {
	struct exchange exchange;
	size_t count;
	struct buffer heard[HEARD_MAX];
	bool is_behind;
};

static void hear(struct exchange *exchange, const struct buffer *line)
{
	struct way *way = (struct way *)exchange;

	cr_assert_lt(way->count, HEARD_MAX);
	buffer_append(&way->heard[way->count], line->bytes, line->size);
	buffer_append(&way->heard[way->count++], "", 1);
}

static void hear_answer(struct exchange *exchange, const struct buffer *line, int code)
{
	(void)code;
	hear(exchange, line);
}

static void never_done(struct exchange *exchange)
{
	(void)exchange;
	cr_assert_fail("the exchange is the test's");
}

static bool is_way_behind(const struct exchange *exchange)
{
	return ((const struct way *)exchange)->is_behind;
}

static const struct exchange_kind way_kind = { hear, hear_answer, never_done, is_way_behind };

/* t://NAME is there for names of one letter, and q/NAME for principal 7 only. */
static bool exists(const struct session *session, const struct resource_values *values)
{
	(void)session;
	return strlen(values->value[0]) <= 3;
}

static bool exists_for_one(const struct session *session, const struct resource_values *values)
{
	(void)values;
	return session->principal == 7;
}

static void read_nothing(struct call *call, const struct resource *resource)
{
	const struct buffer nothing = { 0 };

	resources_answer(call, resource, &nothing, NULL);
}

static const struct resource_provider open_row = { .uri_template = "t://{name}",
						   .mime_type = "text/plain",
						   .exists = exists,
						   .read = read_nothing };
static const struct resource_provider private_row = { .uri_template = "q://{name}",
						      .mime_type = "text/plain",
						      .exists = exists_for_one,
						      .read = read_nothing };
static const struct resource_provider *const resources[] = { &open_row, &private_row, NULL };
static const struct prompt *const prompts[] = { NULL };
static const struct tool *const tools[] = { NULL };
static const struct catalog offered = { tools, prompts, resources, LIST_TOOLS | LIST_PROMPTS };

static struct host host;
static struct session session;
static struct way way;

static void open_way(struct way *opened)
{
	memset(opened, 0, sizeof(*opened));
	exchange_init(&opened->exchange, &way_kind);
}

static void forget(struct way *from)
{
	for (size_t i = 0; i < from->count; i++)
		buffer_done(&from->heard[i]);
	from->count = 0;
}

static void open_all(void)
{
	memset(&host, 0, sizeof(host));
	host.base = server_base_new();
	host.catalog = &offered;
	open_way(&way);
	session_init(&session, &host, 0, &way.exchange);
}

static void close_all(void)
{
	session_done(&session);
	host_done(&host);
	event_base_free(host.base);
	forget(&way);
}

TestSuite(mcp_subscriptions, .init = open_all, .fini = close_all);

static void say_to(struct session *to, struct way *back, const char *line)
{
	char copy[16384];

	cr_assert_lt(strlen(line), sizeof(copy));
	memcpy(copy, line, strlen(line));
	methods_take_text(to, &back->exchange, copy, strlen(line));
}

static void ask(const char *id, const char *method, const char *params)
{
	char line[8192];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":{%s}}", id,
		       method, params);
	say_to(&session, &way, line);
}

static void open_listen(const char *id, const char *filter)
{
	char params[8192];

	(void)snprintf(params, sizeof(params), "\"notifications\":%s," META, filter);
	ask(id, "subscriptions/listen", params);
}

/* The last line heard; there were `count` since the last forget(). */
static const char *heard(const struct way *from, size_t count)
{
	cr_assert_eq(from->count, count, "heard %zu: %s", from->count,
		     from->count > 0 ? from->heard[from->count - 1].bytes : "");
	return from->heard[count - 1].bytes;
}

static void update(const char *uri)
{
	host_resource_updated(&host, uri, strlen(uri));
}

static void wait_ms(unsigned int ms)
{
	const struct timeval time = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	(void)event_base_loopexit(host.base, &time);
	(void)event_base_dispatch(host.base);
}

Test(mcp_subscriptions, legacy_resources)
{
	ask("1", "resources/subscribe", "\"uri\":\"t://a\"");
	cr_assert_str_eq(heard(&way, 1), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	ask("2", "resources/subscribe", "\"uri\":\"t://a\"");
	update("t://a");
	cr_assert_str_eq(heard(&way, 3),
			 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
			 "\"params\":{\"uri\":\"t://a\"}}");
	update("t://b");
	update("t://a/");
	cr_assert_eq(way.count, 3);
	ask("3", "resources/unsubscribe", "\"uri\":\"t://a\"");
	expect_part(heard(&way, 4), "\"id\":3,\"result\":{}}");
	update("t://a");
	ask("4", "resources/unsubscribe", "\"uri\":\"t://a\"");
	expect_part(heard(&way, 5), "\"id\":4,\"result\":{}}");
}

Test(mcp_subscriptions, legacy_refusals)
{
	ask("1", "resources/subscribe", "\"uri\":\"t://long\"");
	expect_part(heard(&way, 1), "\"code\":-32002,");
	expect_part(way.heard[0].bytes, "\"data\":{\"uri\":\"t://long\"}");
	ask("2", "resources/subscribe", "");
	expect_part(heard(&way, 2), "\"code\":-32602,");
	ask("3", "resources/unsubscribe", "\"uri\":7");
	expect_part(heard(&way, 3), "\"code\":-32602,");
	ask("4", "resources/subscribe", "\"uri\":\"t://a\"," META);
	expect_part(heard(&way, 4), "\"code\":-32601,");
	/* one who may not read it hears no more than that it is not there */
	ask("5", "resources/subscribe", "\"uri\":\"q://a\"");
	expect_part(heard(&way, 5), "\"code\":-32002,");
}

Test(mcp_subscriptions, a_session_has_a_bound)
{
	char params[64];

	for (unsigned int i = 0; i < SUBSCRIBED_URIS_MAX + 1; i++) {
		(void)snprintf(params, sizeof(params), "\"uri\":\"t://%03x\"", i);
		ask("1", "resources/subscribe", params);
		expect_part(heard(&way, 1),
			    i < SUBSCRIBED_URIS_MAX ? "\"result\":{}" : "is the limit");
		forget(&way);
	}
	ask("1", "resources/unsubscribe", "\"uri\":\"t://000\"");
	ask("1", "resources/subscribe", params);
	expect_part(heard(&way, 2), "\"result\":{}");
	update("t://100");
	cr_assert_eq(way.count, 3);
}

/* One resource has one topic, however its URI is written; each hears its own spelling. */
Test(mcp_subscriptions, spellings)
{
	ask("1", "resources/subscribe", "\"uri\":\"t://%61\"");
	update("t://a");
	expect_part(heard(&way, 2), "\"uri\":\"t://%61\"");
}

Test(mcp_subscriptions, no_way_back)
{
	ask("1", "resources/subscribe", "\"uri\":\"t://a\"");
	session.channel = NULL;
	update("t://a");
	host_list_changed(&host, LIST_TOOLS);
	session.channel = &way.exchange;
	wait_ms(250);
	cr_assert_eq(way.count, 1);
}

/* Many changes are one notification, and the last one is not lost. */
Test(mcp_subscriptions, coalesced)
{
	ask("1", "resources/subscribe", "\"uri\":\"t://a\"");
	for (int i = 0; i < 100; i++)
		update("t://a");
	cr_assert_eq(way.count, 2);
	wait_ms(1500);
	cr_assert_eq(way.count, 3);
	update("t://a");
	cr_assert_eq(way.count, 4);
}

Test(mcp_subscriptions, a_client_that_does_not_read)
{
	ask("1", "resources/subscribe", "\"uri\":\"t://a\"");
	way.is_behind = true;
	for (int i = 0; i < 100; i++)
		update("t://a");
	wait_ms(1200);
	cr_assert_eq(way.count, 1);
	way.is_behind = false;
	wait_ms(1200);
	expect_part(heard(&way, 2), "resources/updated");
}

Test(mcp_subscriptions, listen)
{
	open_listen("1764000000000",
		    "{\"toolsListChanged\":true,\"promptsListChanged\":false,"
		    "\"resourcesListChanged\":true,\"taskIds\":[7],"
		    "\"resourceSubscriptions\":[\"t://a\",\"t://long\",\"q://a\"]}");
	/* what is not honoured is left out: a list that does not change, what is not there */
	cr_assert_str_eq(heard(&way, 1),
			 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/"
			 "acknowledged\",\"params\":{" ID(
				 "1764000000000") ",\"notifications\":{"
						  "\"toolsListChanged\":true,"
						  "\"resourceSubscriptions\":[\"t://a\"]}}}");
	update("t://a");
	cr_assert_str_eq(heard(&way, 2),
			 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources"
			 "/updated\",\"params\":{" ID("1764000000000") ",\"uri\":"
								       "\"t://a\"}}");
	host_list_changed(&host, LIST_TOOLS);
	cr_assert_str_eq(heard(&way, 3), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/"
					 "list_changed\",\"params\":{" ID("1764000000000") "}}");
	host_list_changed(&host, LIST_PROMPTS);
	cr_assert_eq(way.count, 3);
}

/* The id comes back in its own JSON type; each listen hears only what it asked for. */
Test(mcp_subscriptions, listens_are_apart)
{
	open_listen("\"7\"", "{\"toolsListChanged\":true}");
	open_listen("7", "{\"promptsListChanged\":true}");
	open_listen("8", "{}");
	expect_part(heard(&way, 3), ID("8") ",\"notifications\":{}}}");
	host_list_changed(&host, LIST_TOOLS);
	expect_part(heard(&way, 4), "tools/list_changed\",\"params\":{" ID("\"7\""));
	host_list_changed(&host, LIST_PROMPTS);
	expect_part(heard(&way, 5), "prompts/list_changed\",\"params\":{" ID("7"));
	ask("7", "ping", "");
	expect_part(heard(&way, 6), "belongs to a request in flight");
	say_to(&session, &way,
	       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	       "\"params\":{\"requestId\":7}}");
	host_list_changed(&host, LIST_PROMPTS);
	host_list_changed(&host, LIST_TOOLS);
	expect_part(heard(&way, 7), "tools/list_changed");
}

Test(mcp_subscriptions, both_eras_hear_of_lists)
{
	ask("1", "initialize", "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}");
	expect_part(heard(&way, 1), "\"tools\":{\"listChanged\":true},\"prompts\":{\"listChanged\":"
				    "true},\"resources\":{\"subscribe\":true}");
	host_list_changed(&host, LIST_PROMPTS);
	cr_assert_str_eq(heard(&way, 2), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/prompts/"
					 "list_changed\",\"params\":{}}");
}

Test(mcp_subscriptions, bad_filters)
{
	char many[8192] = "{\"resourceSubscriptions\":[\"\"";

	for (unsigned int i = 0; i < SUBSCRIBED_URIS_MAX; i++)
		(void)strcat(many, ",\"\"");
	(void)strcat(many, "]}");
	ask("1", "subscriptions/listen", META);
	expect_part(heard(&way, 1), "notifications must be an object");
	open_listen("1", "[]");
	expect_part(heard(&way, 2), "\"code\":-32602,");
	open_listen("1", "{\"toolsListChanged\":1}");
	expect_part(heard(&way, 3), "must be true or false");
	open_listen("1", "{\"resourceSubscriptions\":{}}");
	expect_part(heard(&way, 4), "must be an array");
	open_listen("1", "{\"resourceSubscriptions\":[7]}");
	expect_part(heard(&way, 5), "an array of strings");
	open_listen("1", many);
	expect_part(heard(&way, 6), "at most 256");
	update("t://a");
	cr_assert_eq(way.count, 6);
}

Test(mcp_subscriptions, listens_have_a_bound)
{
	static struct session others[LISTENS_MAX / LISTENS_PER_SESSION_MAX];
	char id[16], line[512];
	struct way quiet;

	open_way(&quiet);
	for (size_t i = 0; i < LISTENS_MAX / LISTENS_PER_SESSION_MAX; i++) {
		session_init(&others[i], &host, 0, NULL);
		for (size_t k = 0; k <= LISTENS_PER_SESSION_MAX; k++) {
			(void)snprintf(
				line, sizeof(line),
				"{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":"
				"\"subscriptions/listen\",\"params\":{\"notifications\":{}," META
				"}}",
				k);
			forget(&quiet);
			say_to(&others[i], &quiet, line);
			expect_part(heard(&quiet, 1), k < LISTENS_PER_SESSION_MAX
							      ? "acknowledged"
							      : "the limit; cancel one");
		}
	}
	open_listen("1", "{}");
	expect_part(heard(&way, 1), "subscriptions/listen is open");
	session_done(&others[0]);
	(void)snprintf(id, sizeof(id), "2");
	open_listen(id, "{}");
	expect_part(heard(&way, 2), "acknowledged");
	for (size_t i = 1; i < LISTENS_MAX / LISTENS_PER_SESSION_MAX; i++)
		session_done(&others[i]);
	forget(&quiet);
}

/* A session that ends takes its listens with it, without a word. */
Test(mcp_subscriptions, a_session_ends)
{
	struct session other;
	struct way back;

	open_way(&back);
	session_init(&other, &host, 0, &back.exchange);
	say_to(&other, &back,
	       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{"
	       "\"notifications\":{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"t://a\"]}"
	       "," META "}}");
	say_to(&other, &back,
	       "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/subscribe\",\"params\":{"
	       "\"uri\":\"t://a\"}}");
	session_done(&other);
	update("t://a");
	host_list_changed(&host, LIST_TOOLS);
	cr_assert_eq(back.count, 2);
	forget(&back);
}

Test(mcp_subscriptions, a_graceful_end)
{
	open_listen("\"x\"", "{\"resourceSubscriptions\":[\"t://a\"]}");
	subscriptions_end(&host);
	expect_part(heard(&way, 2), "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{\"resultType\":"
				    "\"complete\",\"_meta\":{");
	expect_part(way.heard[1].bytes, "\"io.modelcontextprotocol/subscriptionId\":\"x\"}}}");
	update("t://a");
	subscriptions_end(&host);
	cr_assert_eq(way.count, 2);
}

Test(mcp_subscriptions, whose_resources)
{
	session.principal = 7;
	ask("1", "resources/subscribe", "\"uri\":\"q://a\"");
	update("q://a");
	expect_part(heard(&way, 2), "\"uri\":\"q://a\"");
}
