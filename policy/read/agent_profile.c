/* SPDX-License-Identifier: Apache-2.0
 *
 * The profile of an agent, written as in a file, so that each check of a profile holds for it, too.
 */
#include "policy/read/agents.h"

#include "lib/heap/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARENT "agent"

/* A path in messages about the source, and where its key stands in the row. */
#define PLACE "profiles[0]"
#define SECRETS ".secrets["
#define HOSTS ".hosts["

/* --- nodes ------------------------------------------------------------------------------------ */

/* Append an item to a node that has room for one more. */
static void append_item(struct node *node, struct node item)
{
	node->texts[node->count] = item.text;
	node->items[node->count++] = item;
}

static struct node make_node(enum node_kind kind, const char *key, uint32_t line, uint32_t room)
{
	struct node node = { .kind = kind, .line = line };

	node.key = key != NULL ? memory_text(key, strlen(key)) : NULL;
	node.items = memory_get_zeroed(room + 1, sizeof(node.items[0]));
	node.texts = memory_get_zeroed(room + 1, sizeof(node.texts[0]));
	return node;
}

static struct node make_text(const char *key, uint32_t line, const char *text)
{
	struct node node = { .kind = NODE_TEXT, .line = line };

	node.key = key != NULL ? memory_text(key, strlen(key)) : NULL;
	node.text = memory_text(text, strlen(text));
	return node;
}

/* Put copies of the items of a list of the row, if it has the list. */
static void append_list(struct node *list, const struct node *row, const char *key)
{
	const struct node *from = node_find(row, key);

	for (uint32_t i = 0; from != NULL && i < from->count; i++)
		append_item(list, node_copy(&from->items[i], 0));
}

static uint32_t count_of(const struct node *row, const char *key)
{
	const struct node *list = node_find(row, key);

	return list != NULL ? list->count : 0;
}

/* --- keys of the profile ---------------------------------------------------------------------- */

/* The model's name comes first: a wildcard before it would lead it elsewhere. */
static struct node make_hosts(const struct node *row, const struct agent_use *use)
{
	const uint32_t line = node_line(row, "hosts");
	struct node hosts = make_node(NODE_LIST, "hosts", line,
				      count_of(row, "hosts") + count_of(row, "login_hosts") + 1);
	char text[64];

	if (use->model_port != 0) {
		struct node model = make_node(NODE_KEYS, NULL, line, 2);

		(void)snprintf(text, sizeof(text), AGENTS_MODEL ":%u", use->model_port);
		append_item(&model, make_text("host", line, text));
		(void)snprintf(text, sizeof(text), "127.0.0.1:%u", use->model_port);
		append_item(&model, make_text("to", line, text));
		append_item(&hosts, model);
	}
	append_list(&hosts, row, "hosts");
	if (use->has_login)
		append_list(&hosts, row, "login_hosts");
	return hosts;
}

static struct node make_secret(const struct node *key, const char *file)
{
	struct node secret = make_node(NODE_KEYS, NULL, key->line, key->count + 2);

	for (uint32_t i = 0; i < key->count; i++)
		append_item(&secret, node_copy(&key->items[i], 0));
	append_item(&secret, make_text("file", key->line, file));
	append_item(&secret, make_text("optional", key->line, "true"));
	return secret;
}

static void add_secrets(struct node *profile, const struct node *row, const struct agent_use *use)
{
	const struct node *keys = node_find(row, "keys");
	struct node secrets =
		make_node(NODE_LIST, "secrets", node_line(row, "keys"), count_of(row, "keys"));

	for (uint32_t i = 0; keys != NULL && i < keys->count; i++) {
		if (use->keys[i] != NULL)
			append_item(&secrets, make_secret(&keys->items[i], use->keys[i]));
	}
	if (secrets.count > 0) /* else those of the parent stay */
		append_item(profile, secrets);
	else
		node_done(&secrets);
}

static struct node make_profile(const struct agent *agent, const struct agent_use *use)
{
	const struct node *row = &agent->row, *environment = node_find(row, "environment");
	struct node profile = make_node(NODE_KEYS, NULL, row->line, 7);
	const char *parent = node_text(row, "extends"), *about = node_text(row, "description");
	char name[sizeof(AGENTS_MARK AGENTS_LOGIN) + AGENTS_NAME_MAX];

	(void)snprintf(name, sizeof(name), AGENTS_MARK "%s%s", agent->name,
		       use->has_login ? AGENTS_LOGIN : "");
	append_item(&profile, make_text("name", row->line, name));
	append_item(&profile, make_text("extends", node_line(row, "extends"),
					parent != NULL ? parent : PARENT));
	append_item(&profile, make_text("description", node_line(row, "description"),
					about != NULL ? about : agent->name));
	append_item(&profile, make_text("network", row->line, "hosts"));
	append_item(&profile, make_hosts(row, use));
	if (environment != NULL)
		append_item(&profile, node_copy(environment, 0));
	add_secrets(&profile, row, use);
	return profile;
}

struct source *agents_source(const struct agent *agent, const struct agent_use *use)
{
	struct source *source = memory_get_zeroed(1, sizeof(*source));
	struct node profiles = make_node(NODE_LIST, "profiles", agent->row.line, 1);

	source->file = memory_text(agent->file, strlen(agent->file));
	source->root = make_node(NODE_KEYS, NULL, 1, 1);
	append_item(&profiles, make_profile(agent, use));
	append_item(&source->root, profiles);
	return source;
}

bool agents_is_profile(const char *name)
{
	return strncmp(name, AGENTS_MARK, strlen(AGENTS_MARK)) == 0;
}

const struct agent *agents_of(const struct agents *agents, const char *name, struct agent_use *ret)
{
	const char *rest = name + strlen(AGENTS_MARK), *login;
	char word[AGENTS_NAME_MAX + 1];

	if (!agents_is_profile(name))
		return NULL;
	login = strchr(rest, '.');
	if (login != NULL && strcmp(login, AGENTS_LOGIN) != 0)
		return NULL;
	ret->has_login = login != NULL;
	if (snprintf(word, sizeof(word), "%.*s",
		     (int)(login != NULL ? (size_t)(login - rest) : strlen(rest)),
		     rest) >= (int)sizeof(word))
		return NULL;
	return agents_find(agents, word);
}

int agents_key(const struct agent *agent, const char *name)
{
	const struct node *keys = node_find(&agent->row, "keys");

	for (uint32_t i = 0; keys != NULL && i < keys->count; i++) {
		const char *said = node_text(&keys->items[i], "name");

		if (said != NULL && strcmp(said, name) == 0)
			return (int)i;
	}
	return -1;
}

/* --- mistakes --------------------------------------------------------------------------------- */

/* Print the path in the row: keys are `secrets` of the source, and login_hosts follow `hosts`. */
static void print_path(const struct agent *agent, const char *rest, struct buffer *text)
{
	const unsigned long count = count_of(&agent->row, "hosts");
	char *end;
	unsigned long index;

	buffer_format(text, "agents[%u]", agent->index);
	if (strncmp(rest, SECRETS, strlen(SECRETS)) == 0) {
		buffer_format(text, ".keys[%s", rest + strlen(SECRETS));
	} else if (strncmp(rest, HOSTS, strlen(HOSTS)) == 0) {
		index = strtoul(rest + strlen(HOSTS), &end, 10);
		if (index >= count)
			buffer_format(text, ".login_hosts[%lu%s", index - count, end);
		else
			buffer_append_text(text, rest);
	} else {
		buffer_append_text(text, rest);
	}
}

void agents_name_error(const struct agent *agent, struct policy_error *error)
{
	char *place = strstr(error->text, ": " PLACE);
	struct buffer text = { .bytes = NULL };

	if (place == NULL)
		return;
	buffer_append(&text, error->text, (size_t)(place - error->text));
	buffer_append_text(&text, ": ");
	print_path(agent, place + strlen(": " PLACE), &text);
	(void)snprintf(error->text, sizeof(error->text), "%s", text.bytes);
	buffer_done(&text);
}
