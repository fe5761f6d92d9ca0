/* SPDX-License-Identifier: Apache-2.0
 *
 * The schema for libcyaml, whose errors are turned into "file:line: key: what was expected".
 */
#include "policy/read/source.h"

#include "common/plan.h"
#include "lib/heap/buffer.h"
#include "lib/heap/memory.h"
#include "policy/read/foreign_keys.h"

#include <cyaml/cyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRINGS_MAX 64U

/* A key with one value, and a key with a list of values. */
#define ONE(type, key)                                                                             \
	CYAML_FIELD_STRING_PTR(#key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct type, key,   \
			       0, CYAML_UNLIMITED)
#define MANY(type, key, entry, most)                                                               \
	CYAML_FIELD_SEQUENCE(#key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct type, key,     \
			     entry, 0, most)
#define KEYS(type, key, fields)                                                                    \
	CYAML_FIELD_MAPPING_PTR(#key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct type, key,  \
				fields)

/* clang-format off */
static const struct cyaml_schema_value string_entry = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 0, CYAML_UNLIMITED)
};

static const struct cyaml_schema_field mount_fields[] = {
	ONE(source_mount, at),	   ONE(source_mount, kind),	ONE(source_mount, from),
	ONE(source_mount, access), ONE(source_mount, to),	ONE(source_mount, text),
	ONE(source_mount, size),   ONE(source_mount, inodes),	ONE(source_mount, mode),
	ONE(source_mount, device), ONE(source_mount, noexec),	ONE(source_mount, optional),
	ONE(source_mount, place),
	CYAML_FIELD_END
};
static const struct cyaml_schema_value mount_entry = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct source_mount, mount_fields)
};

static const struct cyaml_schema_field rule_fields[] = {
	ONE(source_rule, path),
	MANY(source_rule, rights, &string_entry, STRINGS_MAX),
	CYAML_FIELD_END
};
static const struct cyaml_schema_value rule_entry = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct source_rule, rule_fields)
};

static const struct cyaml_schema_field language_fields[] = {
	ONE(source_language, name),
	ONE(source_language, program),
	ONE(source_language, file),
	ONE(source_language, ahead),
	MANY(source_language, aliases, &string_entry, STRINGS_MAX),
	MANY(source_language, run, &string_entry, STRINGS_MAX),
	CYAML_FIELD_END
};
static const struct cyaml_schema_value language_entry = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct source_language, language_fields)
};

static const struct cyaml_schema_field secret_fields[] = {
	ONE(source_secret, name),
	ONE(source_secret, header),
	ONE(source_secret, file),
	ONE(source_secret, env),
	ONE(source_secret, cleartext),
	MANY(source_secret, hosts, &string_entry, STRINGS_MAX),
	MANY(source_secret, command, &string_entry, STRINGS_MAX),
	CYAML_FIELD_END
};
static const struct cyaml_schema_value secret_entry = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct source_secret, secret_fields)
};

static const struct cyaml_schema_field limits_fields[] = {
	ONE(source_limits, memory),	  ONE(source_limits, file_size),
	ONE(source_limits, output),	 ONE(source_limits, log),
	ONE(source_limits, pids),	 ONE(source_limits, open_files),
	ONE(source_limits, cpu_percent), ONE(source_limits, cpu_weight),
	ONE(source_limits, cpu_seconds), ONE(source_limits, wall_default),
	ONE(source_limits, wall_max),	 ONE(source_limits, stack),
	ONE(source_limits, connections), ONE(source_limits, connection_rate),
	ONE(source_limits, connection_idle), ONE(source_limits, upload),
	ONE(source_limits, download),
	CYAML_FIELD_END
};

static const struct cyaml_schema_field seccomp_fields[] = {
	MANY(source_seccomp, allow, &string_entry, STRINGS_MAX),
	MANY(source_seccomp, add, &string_entry, STRINGS_MAX),
	MANY(source_seccomp, remove, &string_entry, STRINGS_MAX),
	MANY(source_seccomp, refuse, &string_entry, PLAN_CALLS_MAX),
	CYAML_FIELD_END
};

static const struct cyaml_schema_field requirements_fields[] = {
	ONE(source_requirements, landlock), ONE(source_requirements, limits), CYAML_FIELD_END
};

static const struct cyaml_schema_field lasting_fields[] = {
	ONE(source_lasting, disk),     ONE(source_lasting, inodes),    ONE(source_lasting, idle),
	ONE(source_lasting, ttl),      ONE(source_lasting, ttl_most),
	ONE(source_lasting, wall_default),
	ONE(source_lasting, workspace), ONE(source_lasting, apply),
	ONE(source_lasting, bridge),
	MANY(source_lasting, hold, &string_entry, STRINGS_MAX),
	CYAML_FIELD_END
};

static const struct cyaml_schema_field sandboxes_fields[] = {
	ONE(source_sandboxes, most), ONE(source_sandboxes, disk), CYAML_FIELD_END
};

static const struct cyaml_schema_field images_fields[] = {
	ONE(source_images, disk), CYAML_FIELD_END
};

static const struct cyaml_schema_field profile_fields[] = {
	ONE(source_profile, name),
	ONE(source_profile, extends),
	ONE(source_profile, description),
	ONE(source_profile, image),
	ONE(source_profile, root),
	ONE(source_profile, user),
	MANY(source_profile, pretend, &string_entry, STRINGS_MAX),
	ONE(source_profile, hostname),
	MANY(source_profile, runner, &string_entry, STRINGS_MAX),
	MANY(source_profile, shell, &string_entry, STRINGS_MAX),
	ONE(source_profile, cwd),
	MANY(source_profile, environment, &string_entry, STRINGS_MAX),
	ONE(source_profile, network),
	MANY(source_profile, hosts, &string_entry, PLAN_HOSTS_MAX),
	ONE(source_profile, host_approval),
	ONE(source_profile, through),
	MANY(source_profile, requests, &string_entry, PLAN_REQUESTS_MAX),
	MANY(source_profile, secrets, &secret_entry, PLAN_SECRETS_MAX),
	MANY(source_profile, files, &mount_entry, PLAN_MOUNTS_MAX),
	MANY(source_profile, landlock, &rule_entry, PLAN_RULES_MAX),
	KEYS(source_profile, seccomp, seccomp_fields),
	KEYS(source_profile, limits, limits_fields),
	KEYS(source_profile, requirements, requirements_fields),
	KEYS(source_profile, lasting, lasting_fields),
	MANY(source_profile, languages, &language_entry, PLAN_LANGUAGES_MAX),
	CYAML_FIELD_END
};
static const struct cyaml_schema_value profile_entry = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct source_profile, profile_fields)
};

static const struct cyaml_schema_field machine_fields[] = {
	ONE(source_requirements, landlock), CYAML_FIELD_END
};

static const struct cyaml_schema_field audit_fields[] = {
	ONE(source_audit, records), ONE(source_audit, commands), CYAML_FIELD_END
};

/* `audit` has one value or keys of its own, and a schema has one shape for a key. */
#define CONFIG_FIELDS(audit_field)                                                                 \
	ONE(source_config, default_profile),                                                       \
	ONE(source_config, run_as),                                                                \
	ONE(source_config, limits),                                                                \
	audit_field,                                                                               \
	MANY(source_config, workspaces, &string_entry, STRINGS_MAX),                               \
	MANY(source_config, protect, &string_entry, STRINGS_MAX),                                  \
	MANY(source_config, unprotect, &string_entry, STRINGS_MAX),                                \
	MANY(source_config, offer, &string_entry, STRINGS_MAX),                                    \
	KEYS(source_config, sandboxes, sandboxes_fields),                                          \
	KEYS(source_config, images, images_fields),                                                \
	KEYS(source_config, requirements, machine_fields),                                         \
	MANY(source_config, profiles, &profile_entry, PLAN_PROFILES_MAX),                          \
	CYAML_FIELD_END

static const struct cyaml_schema_field config_fields[] = {
	CONFIG_FIELDS(ONE(source_config, audit))
};
static const struct cyaml_schema_field config_fields_with_keys[] = {
	CONFIG_FIELDS(CYAML_FIELD_MAPPING_PTR("audit", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
					      struct source_config, audit_keys, audit_fields))
};
static const struct cyaml_schema_value config_schemas[] = {
	{ CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct source_config, config_fields) },
	{ CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct source_config, config_fields_with_keys) },
};

/* clang-format on */

static const struct cyaml_schema_value *schema_of(const struct source *source)
{
	return &config_schemas[source->has_audit_keys];
}

/* The log of libcyaml for one mistake: its text, then the path to it from the inside out. */
struct complaint {
	char problem[256];
	struct buffer path;
};

static void put_in_front(struct buffer *path, const char *part)
{
	struct buffer longer = { .bytes = NULL };
	const char *rest = path->size > 0 ? path->bytes : "";

	buffer_format(&longer, "%s%s%s", part, *rest != '\0' && *rest != '[' ? "." : "", rest);
	buffer_done(path);
	*path = longer;
}

static void take_log(cyaml_log_t level, void *context, const char *format, va_list arguments)
	__attribute__((format(printf, 3, 0)));

static void take_log(cyaml_log_t level, void *context, const char *format, va_list arguments)
{
	static const char load[] = "Load: ", field[] = "  in mapping field '",
			  entry[] = "  in sequence entry '";
	struct complaint *complaint = context;
	char line[256], part[128];

	(void)level;
	(void)vsnprintf(line, sizeof(line), format, arguments);
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, field, strlen(field)) == 0) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)strcspn(line + strlen(field), "'"),
			       line + strlen(field));
		put_in_front(&complaint->path, part);
	} else if (strncmp(line, entry, strlen(entry)) == 0) {
		/* libcyaml counts from 1. */
		(void)snprintf(part, sizeof(part), "[%lu]",
			       strtoul(line + strlen(entry), NULL, 10) - 1);
		put_in_front(&complaint->path, part);
	} else if (strncmp(line, load, strlen(load)) == 0 && complaint->problem[0] == '\0') {
		(void)snprintf(complaint->problem, sizeof(complaint->problem), "%s",
			       line + strlen(load));
	}
}

/* Return the keys that are allowed at `path`. */
static const struct cyaml_schema_field *fields_at(const char *path)
{
	static const struct {
		const char *key;
		const struct cyaml_schema_field *fields;
	} tables[] = {
		{ "files[", mount_fields },        { "landlock[", rule_fields },
		{ "languages[", language_fields }, { "limits", limits_fields },
		{ "seccomp", seccomp_fields },     { "requirements", requirements_fields },
		{ "lasting", lasting_fields },     { "secrets[", secret_fields },
	};

	const char *inner = strchr(path, '.');

	for (size_t i = 0; inner != NULL && i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (strncmp(inner + 1, tables[i].key, strlen(tables[i].key)) == 0)
			return tables[i].fields;
	}
	if (strcmp(path, "sandboxes") == 0)
		return sandboxes_fields;
	if (strcmp(path, "images") == 0)
		return images_fields;
	if (strcmp(path, "audit") == 0)
		return audit_fields;
	if (strcmp(path, "requirements") == 0)
		return machine_fields;
	return *path != '\0' ? profile_fields : config_fields;
}

static int fail_unknown_key(const struct source *source, struct policy_error *error,
			    const char *path, const char *key)
{
	struct buffer known = { .bytes = NULL }, full = { .bytes = NULL };
	const char *remedy = NULL;

	for (const struct cyaml_schema_field *field = fields_at(path); field->key != NULL; field++)
		buffer_format(&known, "%s%s", known.size > 0 ? ", " : "", field->key);
	buffer_format(&full, "%s%s%s", path, *path != '\0' ? "." : "", key);
	if (fields_at(path) == profile_fields || *path == '\0')
		remedy = foreign_key_remedy(key, places_value(&source->places, full.bytes));
	if (remedy != NULL)
		(void)source_fail(source, error, full.bytes, "unknown key: %s", remedy);
	else
		(void)source_fail(source, error, full.bytes, "unknown key; expected one of: %s",
				  known.bytes);
	buffer_done(&known);
	buffer_done(&full);
	return -1;
}

static const char *shape_name(const char *word)
{
	static const char *const names[][2] = {
		{ "STRING", "a value" },
		{ "SCALAR", "a value" },
		{ "SEQUENCE_START", "a list" },
		{ "SEQUENCE", "a list" },
		{ "MAPPING_START", "a set of keys" },
		{ "MAPPING", "a set of keys" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(word, names[i][0]) == 0)
			return names[i][1];
	}
	return word;
}

/* Report that a value has the wrong shape. */
static int fail_shape(const struct source *source, struct policy_error *error, const char *path,
		      const char *const words[2])
{
	const char *last = strrchr(path, '.');

	if (last != NULL && strcmp(last, ".network") == 0)
		return source_fail(source, error, path,
				   "expected none, loopback or hosts; the list has a key of its "
				   "own, hosts");
	return source_fail(source, error, path, "expected %s, not %s", shape_name(words[0]),
			   shape_name(words[1]));
}

/* Report that a list is too long; `path` names the last entry that it may have. */
static int fail_excess(const struct source *source, struct policy_error *error, const char *path,
		       const char *most)
{
	char *list = memory_text(path, strlen(path));
	char *bracket = strrchr(list, '[');

	if (bracket != NULL)
		*bracket = '\0';
	(void)source_fail(source, error, list, "too many entries; expected at most %lu",
			  strtoul(most, NULL, 10));
	free(list);
	return -1;
}

static int fail_as_told(const struct source *source, struct policy_error *error,
			const struct complaint *complaint)
{
	static const char unexpected[] = "Unexpected key: ", excessive[] = "Excessive entries (";
	const char *path = complaint->path.size > 0 ? complaint->path.bytes : "";
	char wanted[32], got[32];

	if (strncmp(complaint->problem, unexpected, strlen(unexpected)) == 0)
		return fail_unknown_key(source, error, path,
					complaint->problem + strlen(unexpected));
	if (sscanf(complaint->problem, "Expecting %31[A-Z_], got event: %31[A-Z_]", wanted, got) ==
	    2)
		return fail_shape(source, error, path, (const char *const[2]){ wanted, got });
	if (strncmp(complaint->problem, excessive, strlen(excessive)) == 0)
		return fail_excess(source, error, path, complaint->problem + strlen(excessive));
	return source_fail(source, error, path, "%s; expected a value of another form",
			   complaint->problem[0] != '\0' ? complaint->problem : "cannot be read");
}

static int load_config(struct source *source, const char *text, size_t size,
		       struct policy_error *error)
{
	struct complaint complaint = { .problem = "" };
	const struct cyaml_config config = { .log_fn = take_log,
					     .log_ctx = &complaint,
					     .mem_fn = cyaml_mem,
					     .log_level = CYAML_LOG_ERROR };
	cyaml_data_t *data = NULL;
	int result = 0;

	source->has_audit_keys = places_have_keys(&source->places, "audit");
	if (cyaml_load_data((const uint8_t *)text, size, &config, schema_of(source), &data, NULL) !=
	    CYAML_OK)
		result = fail_as_told(source, error, &complaint);
	buffer_done(&complaint.path);
	if (result != 0)
		return result;
	if (data == NULL)
		return source_fail(source, error, "", "empty; " PLACES_EXPECTED);
	source->config = data;
	return 0;
}

struct source *source_load(const char *file, const char *text, size_t size,
			   struct policy_error *error)
{
	struct source *source = memory_get_zeroed(1, sizeof(*source));

	source->file = memory_text(file, strlen(file));
	if (size > SOURCE_BYTES_MAX) {
		(void)source_fail(source, error, "", "too long; expected at most %u bytes",
				  SOURCE_BYTES_MAX);
		return source_free(source);
	}
	if (places_read(file, text, size, &source->places, error) != 0 ||
	    load_config(source, text, size, error) != 0)
		return source_free(source);
	return source;
}

void source_vfail(const struct source *source, struct policy_error *error, const char *key,
		  const char *format, va_list arguments)
{
	const size_t most = sizeof(error->text) - 1;
	const int size = snprintf(error->text, sizeof(error->text), "%s:%u: %s%s", source->file,
				  places_line(&source->places, key), key, *key != '\0' ? ": " : "");
	const size_t used = size < 0 ? 0 : (size_t)size < most ? (size_t)size : most;

	(void)vsnprintf(error->text + used, sizeof(error->text) - used, format, arguments);
	policy_error_tidy(error);
}

int source_fail(const struct source *source, struct policy_error *error, const char *key,
		const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	source_vfail(source, error, key, format, arguments);
	va_end(arguments);
	return -1;
}

bool source_says(const struct source *source, const char *key)
{
	return places_have(&source->places, key);
}

struct origin source_origin(const struct source *source, const char *key)
{
	return (struct origin){ source->file, places_line(&source->places, key) };
}

struct source *source_free(struct source *source)
{
	const struct cyaml_config config = { .mem_fn = cyaml_mem };

	if (source == NULL)
		return NULL;
	(void)cyaml_free(&config, schema_of(source), source->config, 0);
	places_done(&source->places);
	free(source->file);
	free(source);
	return NULL;
}
