/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/write/facts.h"

#include "common/sha256.h"
#include "lib/heap/memory.h"
#include "policy/read/images.h"
#include "policy/read/profile_parts.h"
#include "policy/read/units.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

/* The hexadecimal digits of a hash; enough for people to tell two texts apart. */
#define HASH_DIGITS_BYTES 8

/* A fact while it is written. */
struct draft {
	struct fact fact;
	struct buffer key, text, detail;
};

const char *fact_section_name(enum fact_section section)
{
	static const char *const names[FACT_SECTION_COUNT] = {
		[FACT_FILES] = "files",
		[FACT_LANDLOCK] = "landlock",
		[FACT_SECCOMP] = "seccomp",
		[FACT_LIMITS] = "limits",
		[FACT_REQUIREMENTS] = "requirements",
		[FACT_LASTING] = "lasting",
		[FACT_ENVIRONMENT] = "environment",
		[FACT_LANGUAGES] = "languages",
		[FACT_IMAGE] = "image",
		[FACT_ROOT] = "root",
		[FACT_USER] = "user",
		[FACT_PRETEND] = "pretend",
		[FACT_COMMAND] = "command",
		[FACT_NETWORK] = "network",
		[FACT_HOSTS] = "hosts",
		[FACT_HOST_APPROVAL] = "host_approval",
		[FACT_THROUGH] = "through",
		[FACT_REQUESTS] = "requests",
		[FACT_SECRETS] = "secrets",
		[FACT_HOSTNAME] = "hostname",
		[FACT_CWD] = "cwd",
		[FACT_RUNNER] = "runner",
		[FACT_SHELL] = "shell",
		[FACT_DESCRIPTION] = "description",
	};

	return names[section];
}

void fact_print_origin(const struct origin *origin, struct buffer *text)
{
	if (origin->file != NULL)
		buffer_format(text, " (%s:%u)", origin->file, origin->line);
}

/* Return a text as one line that a terminal can show. */
static char *line_of(const struct buffer *text)
{
	struct buffer line = { .bytes = NULL };

	for (size_t i = 0; i < text->size; i++) {
		const unsigned char byte = (unsigned char)text->bytes[i];

		if (byte < ' ' || byte == 0x7f)
			buffer_format(&line, "\\x%02x", byte);
		else
			buffer_append(&line, &text->bytes[i], 1);
	}
	buffer_append(&line, "", 0);
	return line.bytes;
}

static void add_fact(struct facts *facts, struct draft *draft)
{
	if (facts->count == facts->room) {
		const uint32_t room = facts->room == 0 ? 256 : 2 * facts->room;

		facts->items = memory_resize_array(facts->items, room, sizeof(facts->items[0]));
		facts->room = room;
	}
	draft->fact.key = line_of(&draft->key);
	draft->fact.text = line_of(&draft->text);
	draft->fact.detail = line_of(&draft->detail);
	facts->items[facts->count++] = draft->fact;
	buffer_done(&draft->key);
	buffer_done(&draft->text);
	buffer_done(&draft->detail);
}

/* Add a fact whose text is complete. */
static void add_text(struct facts *facts, enum fact_section section, const char *text,
		     const struct origin *origin)
{
	struct draft draft = { .fact = { .section = section, .origin = *origin } };

	buffer_format(&draft.text, "%s", text);
	add_fact(facts, &draft);
}

/* Put the words of a command line, quoted so that different lists read differently. */
static void put_words(struct buffer *text, const struct strings *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const char *word = list->items[i];
		const char *quote = *word == '\0' || strpbrk(word, " '") != NULL ? "'" : "";

		buffer_format(text, "%s%s%s%s", i > 0 ? " " : "", quote, word, quote);
	}
}

static void put_size(struct buffer *text, const char *format, uint64_t value)
{
	char size[32];

	units_print_size(value, size);
	buffer_format(text, "%s%s", format, size);
}

static void put_file_system(const struct profile_mount *mount, struct buffer *text)
{
	put_size(text, " size ", mount->size_bytes);
	put_size(text, ", inodes ", mount->inodes);
}

/* Put the hash of the file's text. */
static void put_hash(struct buffer *text, const char *content)
{
	uint8_t hash[SHA256_BYTES];

	sha256(content, strlen(content), hash);
	buffer_format(text, ", SHA-256 ");
	for (uint32_t i = 0; i < HASH_DIGITS_BYTES; i++)
		buffer_format(text, "%02x", hash[i]);
}

static void put_mount(const struct profile *profile, const struct profile_mount *mount,
		      struct draft *draft)
{
	const char *content = network_file_text(profile, mount);
	struct buffer *text = &draft->text;
	const bool is_host =
		mount->kind == PLAN_BIND || mount->kind == PLAN_COPY || mount->kind == PLAN_OVERLAY;

	if (is_host && strcmp(mount->source, mount->target) != 0)
		buffer_format(text, " from %s", mount->source);
	if (mount->kind == PLAN_TMPFS) {
		put_file_system(mount, text);
		buffer_format(text, ", mode %04o", mount->mode);
	} else if (mount->kind == PLAN_OVERLAY) {
		buffer_format(text, " copy-on-write,");
		put_file_system(mount, text);
	} else if (mount->kind == PLAN_SYMLINK) {
		buffer_format(text, " to %s", mount->source);
	} else if (mount->kind == PLAN_DEVICE) {
		buffer_format(text, " %u:%u", major(mount->device), minor(mount->device));
		if (strcmp(mount->source, mount->target) != 0)
			buffer_format(text, " from %s", mount->source);
	} else if (mount->kind == PLAN_FILE) {
		buffer_format(text, " %zu bytes, mode %04o", strlen(content), mount->mode);
		put_hash(&draft->detail, content);
	} else if (mount->kind == PLAN_DIRECTORY || mount->kind == PLAN_COPY) {
		buffer_format(text, " mode %04o", mount->mode);
	}
	buffer_format(text, "%s%s%s%s", mount->is_writable ? " writable" : "",
		      mount->is_noexec ? ", noexec" : "",
		      http_is_trust(profile, mount) ? ", with msp's own certificate" : "",
		      (mount->flags & PLAN_OPTIONAL) != 0 ? " (if the host has it)" : "");
	if (mount->place != NULL)
		buffer_format(text, ", place %s", mount->place);
}

static void add_files(struct facts *facts, const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->mount_count; i++) {
		const struct profile_mount *mount = &profile->mounts[i];
		struct draft draft = { .fact = { .section = FACT_FILES,
						 .is_implied = mount->is_implied,
						 .origin = mount->origin } };

		buffer_format(&draft.key, "%s", mount->target);
		buffer_format(&draft.text, "%-9s %s", profile_mount_kind_name(mount->kind),
			      mount->target);
		put_mount(profile, mount, &draft);
		add_fact(facts, &draft);
	}
}

static bool is_among(const struct strings *list, const char *word)
{
	for (uint32_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i], word) == 0)
			return true;
	}
	return false;
}

static void add_landlock(struct facts *facts, const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->rule_count; i++) {
		const struct profile_rule *rule = &profile->rules[i];
		struct draft draft = { .fact = { .section = FACT_LANDLOCK,
						 .origin = rule->origin } };
		const char *word;

		buffer_format(&draft.key, "%s", rule->path);
		buffer_format(&draft.text, "%-13s", rule->path);
		for (uint32_t j = 0; (word = profile_right_name(j)) != NULL; j++) {
			if (is_among(&rule->words, word))
				buffer_format(&draft.text, " %s", word);
		}
		add_fact(facts, &draft);
	}
}

static void add_seccomp(struct facts *facts, const struct profile *profile)
{
	const struct seccomp_policy *policy = &profile->seccomp;
	char call[32];

	for (uint32_t i = 0; i < seccomp_group_count(); i++) {
		struct draft draft = { .fact = { .section = FACT_SECCOMP,
						 .is_quiet = !policy->is_allowed[i],
						 .origin = profile->origins.groups[i] } };

		if (seccomp_group_at(i)->kind != SECCOMP_ALLOWABLE)
			continue;
		buffer_format(&draft.key, "group %s", seccomp_group_at(i)->name);
		buffer_format(&draft.text, "%-7s %s", policy->is_allowed[i] ? "allowed" : "refused",
			      seccomp_group_at(i)->name);
		add_fact(facts, &draft);
	}
	for (uint32_t i = 0; i < policy->refused_count; i++) {
		struct draft draft = { .fact = { .section = FACT_SECCOMP,
						 .origin = profile->origins.refused[i] } };

		seccomp_call_name(policy->refused[i], call);
		buffer_format(&draft.key, "call %s", call);
		buffer_format(&draft.text, "refused call %s", call);
		add_fact(facts, &draft);
	}
}

static void add_limits(struct facts *facts, const struct profile *profile)
{
	const char *key;
	char value[32];

	for (uint32_t i = 0; (key = limits_value(profile, i, value)) != NULL; i++) {
		struct draft draft = { .fact = { .section = FACT_LIMITS,
						 .origin = profile->origins.limits[i] } };

		buffer_format(&draft.key, "%s", key);
		buffer_format(&draft.text, "%-13s %s", key, value);
		add_fact(facts, &draft);
	}
}

static void add_requirements(struct facts *facts, const struct profile *profile)
{
	struct draft abi = { .fact = { .section = FACT_REQUIREMENTS,
				       .origin = profile->origins.landlock_abi } };
	struct draft mode = { .fact = { .section = FACT_REQUIREMENTS,
					.origin = profile->origins.limits_mode } };

	buffer_format(&abi.key, "landlock");
	buffer_format(&abi.text, "%-13s %u", "landlock", profile->numbers.landlock_abi_min);
	add_fact(facts, &abi);
	buffer_format(&mode.key, "limits");
	buffer_format(&mode.text, "%-13s %s", "limits",
		      profile->numbers.limits_fallback != 0 ? "fallback" : "required");
	add_fact(facts, &mode);
}

static void add_lasting(struct facts *facts, const struct profile *profile)
{
	char value[32];

	if (!profile_lasts(profile))
		return;
	for (uint32_t i = 0; i < PROFILE_LASTING; i++) {
		struct draft draft = { .fact = { .section = FACT_LASTING,
						 .origin = profile->origins.lasting[i] } };
		const char *key = lasting_value(profile, i, value);

		if (key == NULL)
			continue;
		buffer_format(&draft.key, "%s", key);
		buffer_format(&draft.text, "%-13s %s", key, value);
		add_fact(facts, &draft);
	}
	for (uint32_t i = 0; i < profile->held_count; i++) {
		struct draft draft = { .fact = { .section = FACT_LASTING,
						 .origin = profile->origins.held[i] } };

		buffer_format(&draft.key, "hold %s", profile->held[i]);
		buffer_format(&draft.text, "%-13s %s", "hold", profile->held[i]);
		add_fact(facts, &draft);
	}
}

static void add_environment(struct facts *facts, const struct profile *profile)
{
	char added[HTTP_VARIABLE_MAX];
	struct origin origin;
	const char *variable;

	for (uint32_t i = 0; i < profile->environment_count; i++) {
		struct draft draft = { .fact = { .section = FACT_ENVIRONMENT,
						 .origin = profile->origins.environment[i] } };

		variable = profile->environment[i];
		buffer_append(&draft.key, variable, strcspn(variable, "="));
		buffer_format(&draft.text, "%s", variable);
		add_fact(facts, &draft);
	}
	for (uint32_t i = 0; http_print_variable(profile, i, added, &origin); i++) {
		struct draft draft = { .fact = { .section = FACT_ENVIRONMENT, .origin = origin } };

		if (added[0] == '\0')
			continue;
		buffer_append(&draft.key, added, strcspn(added, "="));
		buffer_format(&draft.text, "%s", added);
		add_fact(facts, &draft);
	}
	for (uint32_t i = 0; profile->tree != NULL && (variable = image_variable(profile, i));
	     i++) {
		struct draft draft = { .fact = { .section = FACT_ENVIRONMENT,
						 .origin = profile->origins.image } };

		if (variable[0] == '\0')
			continue;
		buffer_append(&draft.key, variable, strcspn(variable, "="));
		buffer_format(&draft.text, "%s", variable);
		add_fact(facts, &draft);
	}
}

static void add_languages(struct facts *facts, const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->language_count; i++) {
		const struct profile_language *language = &profile->languages[i];
		struct draft draft = { .fact = { .section = FACT_LANGUAGES,
						 .origin = language->origin } };

		buffer_format(&draft.key, "%s %s", language->name, language->program);
		buffer_format(&draft.text, "%-11s", language->name);
		if (language->aliases.count > 0) {
			buffer_format(&draft.text, " (");
			put_words(&draft.text, &language->aliases);
			buffer_format(&draft.text, ")");
		}
		buffer_format(&draft.text, " %s", language->program);
		buffer_format(&draft.detail, ", code in %s: ", language->file);
		put_words(&draft.detail, &language->run);
		buffer_format(&draft.detail, "%s", language->ahead ? ", ahead" : "");
		add_fact(facts, &draft);
	}
}

static void add_hosts(struct facts *facts, const struct profile *profile)
{
	char text[HOST_TEXT_MAX];

	for (uint32_t i = 0; profile->network == NETWORK_HOSTS && i < profile->host_count; i++) {
		const struct profile_host *host = &profile->hosts[i];
		struct draft draft = { .fact = { .section = FACT_HOSTS, .origin = host->origin } };

		network_print_host(profile, i, text);
		buffer_format(&draft.key, "%s:%u", host->pattern, (unsigned int)host->port);
		buffer_format(&draft.text, "%s", text);
		add_fact(facts, &draft);
	}
}

static void add_requests(struct facts *facts, const struct profile *profile)
{
	char text[HTTP_TEXT_MAX];

	for (uint32_t i = 0; profile->network == NETWORK_HOSTS && i < profile->request_count; i++) {
		const struct profile_request *request = &profile->requests[i];
		struct draft draft = { .fact = { .section = FACT_REQUESTS,
						 .origin = request->origin } };

		http_print_request(request, text);
		buffer_format(&draft.key, "%s", text);
		buffer_format(&draft.text, "%s", text);
		add_fact(facts, &draft);
	}
}

static void add_secrets(struct facts *facts, const struct profile *profile)
{
	char text[HTTP_TEXT_MAX];

	for (uint32_t i = 0; profile->network == NETWORK_HOSTS && i < profile->secret_count; i++) {
		const struct profile_secret *secret = &profile->secrets[i];
		struct draft draft = { .fact = { .section = FACT_SECRETS,
						 .origin = secret->origin } };

		http_print_secret(secret, text);
		buffer_format(&draft.key, "%s", secret->name);
		buffer_format(&draft.text, "%s", text);
		add_fact(facts, &draft);
	}
}

static void add_image(struct facts *facts, const struct profile *profile)
{
	const struct profile_origins *origins = &profile->origins;
	const bool is_root = profile->numbers.user == PLAN_USER_ROOT;
	struct draft image = { .fact = { .section = FACT_IMAGE, .origin = origins->image } };
	struct draft command = { .fact = { .section = FACT_COMMAND, .origin = origins->image } };
	const char *word;

	if (is_root || origins->user.file != NULL)
		add_text(facts, FACT_USER, is_root ? "root" : "agent", &origins->user);
	if (profile->seccomp.pretends_ownership)
		add_text(facts, FACT_PRETEND, "ownership", &origins->pretend);
	if (profile->missing != NULL)
		add_text(facts, FACT_IMAGE, profile->missing, &origins->image);
	if (profile->tree == NULL)
		return;
	buffer_format(&image.text, "%s, sha256:%s, %u layer%s", profile->image,
		      profile->tree->image->digest, profile->tree->count,
		      profile->tree->count == 1 ? "" : "s");
	add_fact(facts, &image);
	add_text(facts, FACT_ROOT, profile->is_root_writable ? "writable" : "read-only",
		 &origins->root);
	for (uint32_t i = 0; (word = image_command(profile, i)) != NULL; i++) {
		char *const words[] = { memory_text(word, strlen(word)) };

		buffer_format(&command.text, "%s", i > 0 ? " " : "");
		put_words(&command.text, &(struct strings){ words, 1 });
		free(words[0]);
	}
	if (image_command(profile, 0) != NULL)
		add_fact(facts, &command);
}

static void add_texts(struct facts *facts, const struct profile *profile)
{
	const struct profile_origins *origins = &profile->origins;
	struct draft runner = { .fact = { .section = FACT_RUNNER, .origin = origins->runner } };
	struct draft shell = { .fact = { .section = FACT_SHELL, .origin = origins->shell } };
	char through[THROUGH_TEXT_MAX];

	add_text(facts, FACT_NETWORK, network_name(profile), &origins->network);
	if (network_approval(profile) != NULL)
		add_text(facts, FACT_HOST_APPROVAL, network_approval(profile),
			 &origins->host_approval);
	if (through_print(profile, through))
		add_text(facts, FACT_THROUGH, through, &origins->through);
	add_text(facts, FACT_HOSTNAME, profile->hostname, &origins->hostname);
	add_text(facts, FACT_CWD, profile->cwd, &origins->cwd);
	if (profile->runner.count > 0) {
		put_words(&runner.text, &profile->runner);
		add_fact(facts, &runner);
	}
	put_words(&shell.text, &profile->shell);
	add_fact(facts, &shell);
	add_text(facts, FACT_DESCRIPTION, profile->description, &origins->description);
}

struct facts facts_of(const struct profile *profile)
{
	static void (*const parts[])(struct facts *, const struct profile *) = {
		add_files,   add_landlock,    add_seccomp,   add_limits, add_requirements,
		add_lasting, add_environment, add_languages, add_hosts,  add_requests,
		add_secrets, add_image,       add_texts,
	};
	struct facts facts = { .count = 0 };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		parts[i](&facts, profile);
	return facts;
}

void facts_done(struct facts *facts)
{
	for (uint32_t i = 0; i < facts->count; i++) {
		free(facts->items[i].key);
		free(facts->items[i].text);
		free(facts->items[i].detail);
	}
	free(facts->items);
	*facts = (struct facts){ .count = 0 };
}
