/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/write/facts.h"

#include "common/sha256.h"
#include "lib/heap/memory.h"
#include "policy/read/images.h"
#include "policy/read/profile_parts.h"
#include "policy/read/units.h"
#include "policy/read/values.h"

#include <stdarg.h>
#include <stdio.h>
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
#define SECTION(id, name) [FACT_##id] = (name),
		FACT_SECTIONS
#undef SECTION
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
	facts->items = memory_grow_list(facts->items, &facts->room, facts->count + 1,
					sizeof(facts->items[0]));
	draft->fact.key = line_of(&draft->key);
	draft->fact.text = line_of(&draft->text);
	draft->fact.detail = line_of(&draft->detail);
	facts->items[facts->count++] = draft->fact;
	buffer_done(&draft->key);
	buffer_done(&draft->text);
	buffer_done(&draft->detail);
}

/* Add a fact of a section that has many. */
static void add_line(struct facts *facts, const struct fact *fact, const char *key,
		     const char *format, ...) __attribute__((format(printf, 4, 5)));

static void add_line(struct facts *facts, const struct fact *fact, const char *key,
		     const char *format, ...)
{
	struct draft draft = { .fact = *fact };
	va_list arguments;

	buffer_append_text(&draft.key, key);
	va_start(arguments, format);
	buffer_vformat(&draft.text, format, arguments);
	va_end(arguments);
	add_fact(facts, &draft);
}

/* Add a fact whose text is complete. */
static void add_text(struct facts *facts, enum fact_section section, const char *text,
		     const struct origin *origin)
{
	add_line(facts, &(struct fact){ .section = section, .origin = *origin }, "", "%s", text);
}

/* Append word `index` of a command line, quoted so that different lists read differently. */
static void append_word(struct buffer *text, uint32_t index, const char *word)
{
	const char *quote = *word == '\0' || strpbrk(word, " '") != NULL ? "'" : "";

	buffer_format(text, "%s%s%s%s", index > 0 ? " " : "", quote, word, quote);
}

static void put_words(struct buffer *text, const struct strings *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		append_word(text, i, list->items[i]);
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
	char call[32], key[64];

	for (uint32_t i = 0; i < seccomp_group_count(); i++) {
		const struct fact fact = { .section = FACT_SECCOMP,
					   .is_quiet = !policy->is_allowed[i],
					   .origin = profile->origins.groups[i] };

		if (seccomp_group_at(i)->kind != SECCOMP_ALLOWABLE)
			continue;
		(void)snprintf(key, sizeof(key), "group %s", seccomp_group_at(i)->name);
		add_line(facts, &fact, key, "%-7s %s",
			 policy->is_allowed[i] ? "allowed" : "refused", seccomp_group_at(i)->name);
	}
	for (uint32_t i = 0; i < policy->refused_count; i++) {
		const struct fact fact = { .section = FACT_SECCOMP,
					   .origin = profile->origins.refused[i] };

		seccomp_call_name(policy->refused[i], call);
		(void)snprintf(key, sizeof(key), "call %s", call);
		add_line(facts, &fact, key, "refused call %s", call);
	}
}

/* Add the word of a key. */
static void add_word(struct facts *facts, enum fact_section section, const struct profile *profile,
		     enum key_id key)
{
	char word[VALUE_TEXT_MAX];

	value_print(profile, key, word);
	add_text(facts, section, word, value_origin(profile, key));
}

/* Add what the files of the user's package managers say. */
static void add_registries(struct facts *facts, const struct profile *profile)
{
	struct buffer text = { .bytes = NULL };
	struct origin origin;

	for (uint32_t i = 0; registry_print(profile, i, &text, &origin); i++) {
		add_line(facts,
			 &(struct fact){
				 .section = FACT_REGISTRIES, .is_implied = true, .origin = origin },
			 text.bytes, "%s", text.bytes);
		buffer_done(&text);
	}
}

/* Add the numbers and words of a set of keys. */
static void add_values(struct facts *facts, enum fact_section section,
		       const struct profile *profile, enum key_set set)
{
	char value[VALUE_TEXT_MAX];

	for (enum key_id key = 0; key < KEY_COUNT; key++) {
		const struct origin *origin = value_origin(profile, key);
		const struct fact fact = { .section = section, .origin = *origin };

		if (key_table[key].of != set || key_table[key].kept_bytes == 0 ||
		    origin->file == NULL ||
		    (key_table[key].need == NEED_FOR_HOSTS && profile->network != NETWORK_HOSTS))
			continue;
		value_print(profile, key, value);
		add_line(facts, &fact, key_table[key].name, "%-13s %s", key_table[key].name, value);
	}
}

static void add_limits(struct facts *facts, const struct profile *profile)
{
	add_values(facts, FACT_LIMITS, profile, SET_limits);
	add_values(facts, FACT_REQUIREMENTS, profile, SET_requirements);
}

static void add_lasting(struct facts *facts, const struct profile *profile)
{
	char key[IPC_LIST_MAX + sizeof("hold ")];

	if (!profile_lasts(profile))
		return;
	add_values(facts, FACT_LASTING, profile, SET_lasting);
	for (uint32_t i = 0; i < profile->held_count; i++) {
		const struct fact fact = { .section = FACT_LASTING,
					   .origin = profile->origins.held[i] };

		(void)snprintf(key, sizeof(key), "hold %s", profile->held[i]);
		add_line(facts, &fact, key, "%-13s %s", "hold", profile->held[i]);
	}
}

static void add_variable(void *context, const char *variable, const struct origin *origin)
{
	const struct fact fact = { .section = FACT_ENVIRONMENT, .origin = *origin };
	char *name = memory_text(variable, strcspn(variable, "="));

	add_line(context, &fact, name, "%s", variable);
	free(name);
}

static void add_environment(struct facts *facts, const struct profile *profile)
{
	profile_each_variable(profile, add_variable, facts);
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
	char text[HTTP_TEXT_MAX], key[HOST_TEXT_MAX];

	if (profile->network != NETWORK_HOSTS)
		return;
	for (uint32_t i = 0; i < profile->host_count; i++) {
		const struct profile_host *host = &profile->hosts[i];

		network_print_host(profile, i, text);
		(void)snprintf(key, sizeof(key), "%s:%u", host->pattern, (unsigned int)host->port);
		add_line(facts, &(struct fact){ .section = FACT_HOSTS, .origin = host->origin },
			 key, "%s", text);
	}
	for (uint32_t i = 0; i < profile->request_count; i++) {
		const struct profile_request *request = &profile->requests[i];

		http_print_request(request, text);
		add_line(facts,
			 &(struct fact){ .section = FACT_REQUESTS, .origin = request->origin },
			 text, "%s", text);
	}
	for (uint32_t i = 0; i < profile->secret_count; i++) {
		const struct profile_secret *secret = &profile->secrets[i];

		http_print_secret(secret, text);
		add_line(facts, &(struct fact){ .section = FACT_SECRETS, .origin = secret->origin },
			 secret->name, "%s", text);
	}
}

static void add_image(struct facts *facts, const struct profile *profile)
{
	const struct origin *origin = value_origin(profile, KEY_profile_image);
	struct draft image = { .fact = { .section = FACT_IMAGE, .origin = *origin } };
	struct draft command = { .fact = { .section = FACT_COMMAND, .origin = *origin } };
	const char *word;

	if (value_origin(profile, KEY_profile_user)->file != NULL)
		add_word(facts, FACT_USER, profile, KEY_profile_user);
	if (profile->seccomp.pretends_ownership)
		add_text(facts, FACT_PRETEND, "ownership",
			 value_origin(profile, KEY_profile_pretend));
	if (profile->missing != NULL)
		add_text(facts, FACT_IMAGE, profile->missing, origin);
	if (profile->tree == NULL)
		return;
	buffer_format(&image.text, "%s, sha256:%s, %u layer%s", profile->image,
		      profile->tree->image->digest, profile->tree->count,
		      profile->tree->count == 1 ? "" : "s");
	add_fact(facts, &image);
	add_word(facts, FACT_ROOT, profile, KEY_profile_root);
	add_word(facts, FACT_SYSTEM, profile, KEY_profile_system);
	for (uint32_t i = 0; (word = image_command(profile, i)) != NULL; i++)
		append_word(&command.text, i, word);
	if (image_command(profile, 0) != NULL)
		add_fact(facts, &command);
}

static void add_words(struct facts *facts, enum fact_section section, const struct profile *profile,
		      enum key_id key, const struct strings *words)
{
	struct draft draft = { .fact = { .section = section,
					 .origin = *value_origin(profile, key) } };

	if (words->count == 0)
		return;
	put_words(&draft.text, words);
	add_fact(facts, &draft);
}

static void add_texts(struct facts *facts, const struct profile *profile)
{
	char through[THROUGH_TEXT_MAX];

	add_word(facts, FACT_NETWORK, profile, KEY_profile_network);
	if (profile->network == NETWORK_HOSTS &&
	    value_origin(profile, KEY_profile_host_approval)->file != NULL)
		add_word(facts, FACT_HOST_APPROVAL, profile, KEY_profile_host_approval);
	if (through_print(profile, through))
		add_text(facts, FACT_THROUGH, through, value_origin(profile, KEY_profile_through));
	add_text(facts, FACT_HOSTNAME, profile->hostname,
		 value_origin(profile, KEY_profile_hostname));
	add_text(facts, FACT_CWD, profile->cwd, value_origin(profile, KEY_profile_cwd));
	add_words(facts, FACT_RUNNER, profile, KEY_profile_runner, &profile->runner);
	add_words(facts, FACT_SHELL, profile, KEY_profile_shell, &profile->shell);
	add_text(facts, FACT_DESCRIPTION, profile->description,
		 value_origin(profile, KEY_profile_description));
}

struct facts facts_of(const struct profile *profile)
{
	static void (*const parts[])(struct facts *, const struct profile *) = {
		add_files,   add_landlock,    add_seccomp,    add_limits,
		add_lasting, add_environment, add_languages,  add_hosts,
		add_image,   add_texts,       add_registries,
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
