/* SPDX-License-Identifier: Apache-2.0
 *
 * Property: whatever plan_open() accepts can be walked to its end through the accessors. Each input
 * is tried as it is, and with the header's fixed values and the last byte put right, so that the
 * fuzzer need not guess them.
 */
#include <stdlib.h>
#include <string.h>

#include "common/plan/plan.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Somewhere to put what was read, so that reading is not optimised away. */
static volatile size_t sink;

static void walk_string(const struct plan *plan, uint32_t offset)
{
	sink += strlen(plan_string(plan, offset));
}

static void walk_path(const struct plan *plan, uint32_t offset)
{
	if (plan_string(plan, offset)[0] != '/')
		abort();
	walk_string(plan, offset);
}

static void walk_list(const struct plan *plan, uint32_t offset, uint32_t size)
{
	for (uint32_t at = 0; at < size;) {
		const size_t length = strlen((const char *)plan_bytes(plan, offset) + at);

		if (length >= size - at)
			abort();
		at += (uint32_t)length + 1;
	}
}

static void walk_language(const struct plan *plan, const struct plan_language *language)
{
	walk_string(plan, language->name);
	walk_list(plan, language->aliases, language->aliases_size);
	walk_path(plan, language->program);
	walk_string(plan, language->host_program);
	walk_path(plan, language->file);
	walk_list(plan, language->argv, language->argv_size);
}

/* As child-init reads them: a key and its value in turn. */
static void walk_options(const struct plan *plan, const struct plan_mount *mount)
{
	const char *options = (const char *)plan_bytes(plan, mount->options);
	const char *end = options + mount->options_size;

	if (mount->options_size == 0)
		return;
	while (options < end) {
		const char *value = options + strlen(options) + 1;

		if (value >= end)
			abort();
		options = value + strlen(value) + 1;
	}
	if (options != end)
		abort();
}

static void walk_mount(const struct plan *plan, const struct plan_mount *mount)
{
	walk_path(plan, mount->target);
	walk_options(plan, mount);
	if ((mount->kind >= PLAN_COPY && mount->kind <= PLAN_DEVICE) || mount->kind == PLAN_OVERLAY)
		walk_path(plan, mount->source);
	else if (mount->kind >= PLAN_SYMLINK && mount->kind <= PLAN_DEVPTS)
		walk_string(plan, mount->source);
}

static void walk_profile(const struct plan *plan, const struct plan_profile *profile)
{
	walk_string(plan, profile->name);
	walk_string(plan, profile->hostname);
	walk_path(plan, profile->cwd);
	walk_string(plan, profile->description);
	walk_string(plan, profile->text);
	walk_list(plan, profile->shell, profile->shell_size);
	walk_list(plan, profile->environment, profile->environment_size);
	walk_list(plan, profile->command, profile->command_size);
	walk_list(plan, profile->layers, profile->layers_size);
	for (uint32_t at = 0; at < profile->layers_size;
	     at += (uint32_t)strlen(plan_string(plan, profile->layers + at)) + 1)
		walk_path(plan, profile->layers + at);
	for (uint32_t i = 0; i < profile->mount_count; i++)
		walk_mount(plan, &plan_mounts(plan, profile)[i]);
	for (uint32_t i = 0; i < profile->rule_count; i++)
		walk_path(plan, plan_rules(plan, profile)[i].path);
	for (uint32_t i = 0; i < profile->language_count; i++)
		walk_language(plan, &plan_languages(plan, profile)[i]);
	for (uint32_t i = 0; i < profile->filter_count; i++)
		sink += plan_filter(plan, profile)[i].code;
	if (profile->filter_count == 0)
		abort();
}

static void try_blob(const uint8_t *bytes, size_t size)
{
	struct plan plan;

	if (plan_open(bytes, size, &plan) != 0)
		return;
	for (uint32_t i = 0; i < plan_profile_count(&plan); i++)
		walk_profile(&plan, plan_profile(&plan, i));
	sink += (size_t)plan_profile_find(&plan, "default");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = property_copy(data, size);

	try_blob(bytes, size);
	if (size >= sizeof(struct plan_header)) {
		struct plan_header header;

		memcpy(&header, bytes, sizeof(header));
		header.magic = PLAN_MAGIC;
		header.version = PLAN_VERSION;
		header.size = (uint32_t)size;
		memcpy(bytes, &header, sizeof(header));
		bytes[size - 1] = '\0';
		try_blob(bytes, size);
	}
	free(bytes);
	return 0;
}
