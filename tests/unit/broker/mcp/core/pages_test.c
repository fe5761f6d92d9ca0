/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists longer than a page: each entry comes once, in order, whoever's list it is. The catalog is
 * one of the test's own in place of the product's.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/core/request.h"
#include "mcp/prompts/prompts.h"
#include "mcp/resources/resources.h"
#include "mcp/tools/tools.h"
#include "rig.h"

#define ROWS 230

static char names[ROWS][16];
static char templates[ROWS][32];
static struct tool tool_rows[ROWS];
static struct prompt prompt_rows[ROWS];
static struct resource_provider resource_rows[ROWS];

static const struct tool *tools[ROWS + 1];
static const struct prompt *prompts[ROWS + 1];
static const struct resource_provider *resources[ROWS + 1];

const struct catalog catalog = { .tools = tools, .prompts = prompts, .resources = resources };

static struct rig rig;

/* Every row lists one resource but the first, which lists none, and the second, which lists two. */
static void put_numbered(struct resource_walk *walk, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct resource_entry entry = { .has_size = false };

		(void)snprintf(entry.values.value[0], RESOURCE_VALUE_MAX, "e%zu", i);
		if (resources_wants(walk))
			resources_put(walk, &entry);
	}
}

static void list_one(const struct session *session, struct resource_walk *walk)
{
	(void)session;
	put_numbered(walk, 1);
}

static void list_two(const struct session *session, struct resource_walk *walk)
{
	(void)session;
	put_numbered(walk, 2);
}

static void fill_row(size_t i)
{
	(void)snprintf(names[i], sizeof(names[i]), "n%03zu", i);
	(void)snprintf(templates[i], sizeof(templates[i]), "n%03zu://{entry}", i);
	tool_rows[i] = (struct tool){ .name = names[i], .title = "", .description = "" };
	prompt_rows[i] = (struct prompt){ .name = names[i], .title = "", .description = "" };
	resource_rows[i] = (struct resource_provider){ .uri_template = templates[i],
						       .name = names[i],
						       .title = "",
						       .description = "",
						       .mime_type = "text/plain",
						       .list = i == 1 ? list_two : list_one };
	tools[i] = &tool_rows[i];
	prompts[i] = &prompt_rows[i];
	resources[i] = &resource_rows[i];
}

static void open_rig(void)
{
	for (size_t i = 0; i < ROWS; i++)
		fill_row(i);
	resource_rows[0].list = NULL;
	rig_open(&rig, true);
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(mcp_pages, .init = open_rig, .fini = close_rig);

static const char *ask(const char *method, const char *params)
{
	char line[512];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s}}", method,
		       params);
	return rig_ask(&rig, line);
}

/* How many entries the last line has from row *row on, in order; *row is the next one then. The
 * name of its row is in an entry after `before`. */
static size_t count_entries(const char *before, size_t *row, size_t rows)
{
	const char *at = rig.line;
	char start[64];
	size_t found = 0;

	for (; *row < rows; (*row)++) {
		const char *next;

		(void)snprintf(start, sizeof(start), "%sn%03zu", before, *row);
		next = strstr(at, start);
		if (!next)
			break;
		at = next + 1;
		found++;
	}
	return found;
}

/* The params with the last line's cursor; false: it has none. */
static bool take_cursor(char ret[128])
{
	const char *cursor = strstr(rig.line, "\"nextCursor\":\"");

	if (!cursor)
		return false;
	cursor += strlen("\"nextCursor\":\"");
	(void)snprintf(ret, 128, "\"cursor\":\"%.*s\"", (int)strcspn(cursor, "\""), cursor);
	return true;
}

static void walk(const char *method, const char *before)
{
	char params[128] = "";
	size_t row = 0;

	(void)ask(method, params);
	cr_assert_eq(count_entries(before, &row, ROWS), PAGE_ENTRIES, "%s", method);
	cr_assert(take_cursor(params));
	(void)ask(method, params);
	cr_assert_eq(count_entries(before, &row, ROWS), PAGE_ENTRIES, "%s", method);
	cr_assert(take_cursor(params));
	(void)ask(method, params);
	cr_assert_eq(count_entries(before, &row, ROWS), ROWS - 2 * PAGE_ENTRIES, "%s", method);
	cr_assert_not(take_cursor(params));
	cr_assert_eq(row, ROWS);
	expect_part(ask(method, "\"cursor\":\"after-300\""), "\"code\":-32602");
	expect_part(ask(method, "\"cursor\":\"after-1\""), "\"code\":-32602");
}

Test(mcp_pages, lists_of_rows)
{
	walk("tools/list", "{\"name\":\"");
	walk("prompts/list", "{\"name\":\"");
	walk("resources/templates/list", "{\"uriTemplate\":\"");
}

/* The entries of all rows are one list: a page may end between two of the same row. */
Test(mcp_pages, resources)
{
	char params[128] = "";
	size_t row = 2;

	(void)ask("resources/list", "");
	cr_assert_null(strstr(rig.line, "n000"));
	expect_part(rig.line, "[{\"uri\":\"n001://e0\"");
	expect_part(rig.line, "{\"uri\":\"n001://e1\"");
	cr_assert_eq(count_entries("{\"uri\":\"", &row, ROWS), PAGE_ENTRIES - 2);
	cr_assert(take_cursor(params));
	(void)ask("resources/list", params);
	cr_assert_eq(count_entries("{\"uri\":\"", &row, ROWS), PAGE_ENTRIES);
	cr_assert(take_cursor(params));
	(void)ask("resources/list", params);
	cr_assert_eq(count_entries("{\"uri\":\"", &row, ROWS), ROWS - 2 * PAGE_ENTRIES);
	cr_assert_not(take_cursor(params));
}
