/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/era.h"

#include <string.h>

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT "io.modelcontextprotocol/clientInfo"

static const char batch_version[] = "2025-03-26";

/* A client that asks for an unknown version gets the last one. */
static const char *const legacy_versions[] = { "2024-11-05", batch_version, "2025-06-18",
					       "2025-11-25" };
#define LEGACY_COUNT (sizeof(legacy_versions) / sizeof(legacy_versions[0]))

static const char *const modern_versions[] = { "2026-07-28" };
#define MODERN_COUNT (sizeof(modern_versions) / sizeof(modern_versions[0]))

bool era_is_claimed(const struct json_document *document, const struct json_value *meta)
{
	return json_member(document, meta, META_VERSION) ||
	       json_member(document, meta, META_CAPABILITIES);
}

struct json_value *era_claimed_version(const struct json_document *document,
				       const struct json_value *meta)
{
	return json_member(document, meta, META_VERSION);
}

static bool is_among(const char *version, const char *const *versions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(version, versions[i]) == 0)
			return true;
	}
	return false;
}

bool era_knows_legacy(const char *version)
{
	return is_among(version, legacy_versions, LEGACY_COUNT);
}

bool era_knows_modern(const char *version)
{
	return is_among(version, modern_versions, MODERN_COUNT);
}

enum era_check era_check_claim(const struct json_document *document, const struct json_value *meta,
			       const char **ret_problem, struct json_value **ret_version)
{
	struct json_value *version = json_member(document, meta, META_VERSION);
	const struct json_value *client = json_member(document, meta, META_CLIENT);

	*ret_problem = NULL;
	if (!json_is(version, JSON_STRING))
		*ret_problem =
			"Invalid params: params._meta[\"" META_VERSION "\"] must be a string";
	else if (!json_is(json_member(document, meta, META_CAPABILITIES), JSON_OBJECT))
		*ret_problem =
			"Invalid params: params._meta[\"" META_CAPABILITIES "\"] must be an object";
	else if (client && client->kind != JSON_OBJECT)
		*ret_problem =
			"Invalid params: params._meta[\"" META_CLIENT "\"] must be an object";
	if (*ret_problem)
		return ERA_META_INVALID;
	for (size_t i = 0; i < MODERN_COUNT; i++) {
		if (json_equals(version, modern_versions[i]))
			return ERA_FINE;
	}
	*ret_version = version;
	return ERA_VERSION_UNSUPPORTED;
}

const char *era_negotiate(struct json_value *requested)
{
	for (size_t i = 0; i < LEGACY_COUNT; i++) {
		if (json_equals(requested, legacy_versions[i]))
			return legacy_versions[i];
	}
	return legacy_versions[LEGACY_COUNT - 1];
}

bool era_has_batches(const char *version)
{
	return version && strcmp(version, batch_version) == 0;
}

void era_put_versions(struct json_writer *writer, const char *key)
{
	json_open_array(writer, key);
	for (size_t i = 0; i < MODERN_COUNT; i++)
		json_put_text(writer, NULL, modern_versions[i]);
	json_close_array(writer);
}

void era_put_server(struct json_writer *writer, const char *key)
{
	json_open_object(writer, key);
	json_put_text(writer, "name", "msp");
	json_put_text(writer, "title", "Model Sandbox Protocol");
	json_put_text(writer, "version", MSP_VERSION);
	json_close_object(writer);
}
