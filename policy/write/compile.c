/* SPDX-License-Identifier: Apache-2.0
 *
 * Write the plan. Offsets are counted from the blob's first byte, arrays are 8-byte aligned,
 * equal texts are stored once. The plan depends on no time, path or address of the build.
 */
#include "policy/write/compile.h"

#include "common/sha256.h"
#include "policy/packages/frames.h"
#include "policy/packages/packages.h"
#include "policy/read/images.h"
#include "policy/read/profile_parts.h"
#include "policy/write/links.h"
#include "policy/write/seccomp_rules.h"
#include "policy/write/show.h"
#include "policy/write/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static void append_variable(void *blob, const char *variable, const struct origin *origin)
{
	(void)origin; /* the plan has none of a variable */
	buffer_append(blob, variable, strlen(variable) + 1);
}

static void put_environment(struct writer *writer, const struct profile *profile,
			    struct plan_profile *out)
{
	const uint32_t offset = (uint32_t)writer->blob->size;

	profile_each_variable(profile, append_variable, writer->blob);
	out->environment = writer_end_list(writer, offset, &out->environment_size);
}

static void put_option(struct writer *writer, const char *key, uint64_t value, bool is_octal)
{
	char text[32];

	(void)snprintf(text, sizeof(text), is_octal ? "%04" PRIo64 : "%" PRIu64, value);
	buffer_append(writer->blob, key, strlen(key) + 1);
	buffer_append(writer->blob, text, strlen(text) + 1);
}

/* Terminals of one sandbox: four for each of 16 executions. All sandboxes of all users share about
 * 3,072: kernel.pty.max without kernel.pty.reserve. */
#define TERMINALS 64

/* Put the options of a new file system, as fsconfig(2) takes them. */
static void put_options(struct writer *writer, const struct profile_mount *mount,
			struct plan_mount *out)
{
	const uint32_t offset = (uint32_t)writer->blob->size;

	if (mount->kind == PLAN_TMPFS || mount->kind >= PLAN_OVERLAY) {
		put_option(writer, "size", mount->size_bytes, false);
		put_option(writer, "nr_inodes", mount->inodes, false);
		put_option(writer, "mode", mount->mode, true);
	} else if (mount->kind == PLAN_PROC) {
		/* Other users' processes, and PID 1, are invisible. */
		buffer_append(writer->blob, "hidepid\0invisible", sizeof("hidepid\0invisible"));
	} else if (mount->kind == PLAN_DEVPTS) {
		put_option(writer, "mode", 0600, true);
		put_option(writer, "ptmxmode", 0666, true);
		put_option(writer, "max", TERMINALS, false);
	}
	out->options = writer_end_list(writer, offset, &out->options_size);
}

/* Return the record's `source`; for a file system, its type. */
static const char *mount_source(const struct writer *writer, const struct profile *profile,
				const struct profile_mount *mount)
{
	if (writer->shown->packages != NULL && (mount->flags & PLAN_PACKAGES) != 0)
		return writer->shown->packages->tree;
	if (writer->shown->machine != NULL && (mount->flags & PLAN_MACHINE) != 0)
		return writer->shown->machine;
	switch (mount->kind) {
	case PLAN_TMPFS:
		return "tmpfs";
	case PLAN_PROC:
		return "proc";
	case PLAN_DEVPTS:
		return "devpts";
	default:
		return network_file_text(profile, mount);
	}
}

/* Put the path of the directories that an overlay on the host's programs needs as its own. */
static uint32_t write_frame(struct writer *writer, const struct profile_mount *mount)
{
	char path[IPC_PATH_MAX];

	return mount->is_system && writer->shown->frames != NULL &&
			       frames_make(writer->shown->frames, mount->source, path) == 0
		       ? writer_put_text(writer, path)
		       : 0;
}

static void put_mounts(struct writer *writer, const struct profile *profile,
		       struct plan_profile *out)
{
	struct plan_mount records[PLAN_MOUNTS_MAX] = { { .kind = 0 } };
	const struct profile_mount *packages = NULL; /* the entry that shows them */

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		const struct profile_mount *mount = &profile->mounts[i];

		records[i] = (struct plan_mount){
			.kind = mount->kind,
			.phase = mount->phase,
			.flags = http_is_trust(profile, mount) ? PLAN_TRUST | PLAN_PINNED
							       : mount->flags,
			.mode = mount->mode,
			.source = writer_put_text(writer, mount_source(writer, profile, mount)),
			.target = writer_put_text(writer, mount->target),
			.attributes = mounts_attributes(mount),
			.device = mount->device,
			.origin = writer_put_origin(writer, &mount->origin),
			.place = writer_put_text(writer, mount->place),
			.frame = write_frame(writer, mount),
		};
		put_options(writer, mount, &records[i]);
		if (writer->shown->packages != NULL && (mount->flags & PLAN_PACKAGES) != 0)
			packages = mount;
	}
	out->mount_count = packages == NULL ? profile->mount_count
					    : links_put(writer, profile, packages, records,
							profile->mount_count);
	out->mounts = writer_put_array(writer, records, out->mount_count * sizeof(records[0]));
}

static void put_rules(struct writer *writer, const struct profile *profile,
		      struct plan_profile *out)
{
	struct plan_rule records[PLAN_RULES_MAX] = { { .path = 0 } };

	for (uint32_t i = 0; i < profile->rule_count; i++) {
		records[i].path = writer_put_text(writer, profile->rules[i].path);
		records[i].rights = profile->rules[i].rights;
		records[i].origin = writer_put_origin(writer, &profile->rules[i].origin);
	}
	out->rule_count = profile->rule_count;
	out->rules = writer_put_array(writer, records, profile->rule_count * sizeof(records[0]));
}

/* Put the runner and the language's words. */
static uint32_t put_command(struct writer *writer, const struct profile *profile,
			    const struct profile_language *language, uint32_t *ret_size)
{
	const uint32_t offset = (uint32_t)writer->blob->size;

	writer_append_list(writer, &profile->runner, NULL);
	writer_append_list(writer, &language->run, language->file);
	return writer_end_list(writer, offset, ret_size);
}

static void put_languages(struct writer *writer, const struct profile *profile,
			  struct plan_profile *out)
{
	struct plan_language records[PLAN_LANGUAGES_MAX] = { { .name = 0 } };
	char program[PATH_MAX];

	for (uint32_t i = 0; i < profile->language_count; i++) {
		const struct profile_language *language = &profile->languages[i];
		struct plan_language *record = &records[i];

		record->name = writer_put_text(writer, language->name);
		record->program = writer_put_text(writer, language->program);
		languages_print_program(profile, language->program, program);
		record->host_program = writer_put_text(writer, program);
		record->file = writer_put_text(writer, language->file);
		/* An interpreter starts ahead only where no workload can have changed it, and by
		 * itself. */
		record->standby = language->ahead && !profile->is_root_writable &&
				  !profile_has_system(profile) && profile->runner.count == 0;
		record->aliases =
			writer_put_list(writer, &language->aliases, &record->aliases_size);
		record->argv = put_command(writer, profile, language, &record->argv_size);
	}
	out->language_count = profile->language_count;
	out->languages =
		writer_put_array(writer, records, profile->language_count * sizeof(records[0]));
}

/* Several times the need of a Go or Java program with one timer per thread. */
#define SIGNALS_PENDING 1024

static void put_rlimits(struct writer *writer, struct plan_profile *out)
{
	const struct plan_rlimit records[] = {
		{ .resource = RLIMIT_CORE, .value = 0 },
		{ .resource = RLIMIT_MEMLOCK, .value = 64 << 10 },
		/* sched_setattr(2) has the class in memory, where no filter reads it. */
		{ .resource = RLIMIT_RTPRIO, .value = 0 },
		/* Timers and queued signals, which the kernel also counts for the host's user. */
		{ .resource = RLIMIT_SIGPENDING, .value = SIGNALS_PENDING },
		{ .resource = RLIMIT_NOFILE, .value = out->open_files },
		{ .resource = RLIMIT_FSIZE, .value = out->file_bytes },
		{ .resource = RLIMIT_STACK, .value = out->stack_bytes },
		/* Counted in the sandbox's own user namespace, with the init. Two more than the
		 * cgroup's limit, which must be reached first because a cgroup reports that. */
		{ .resource = RLIMIT_NPROC, .value = (uint64_t)out->pids + 2 },
		{ .resource = RLIMIT_CPU,
		  .value = out->cpu_seconds > 0 ? out->cpu_seconds : RLIM_INFINITY },
	};

	out->rlimit_count = sizeof(records) / sizeof(records[0]);
	out->rlimits = writer_put_array(writer, records, sizeof(records));
}

static int put_filter(struct writer *writer, const struct profile *profile,
		      struct plan_profile *out)
{
	static const size_t size = sizeof(struct sock_filter);
	struct filter_program program;

	/* An internal helper has no init to answer for its filter. */
	out->observes = profile->name[0] != '_' && seccomp_can_observe(&profile->seccomp);
	out->filters_standby = seccomp_can_wait(&profile->seccomp);
	if (seccomp_compile(&profile->seccomp, out->observes != 0, &program) != 0)
		return -1;
	sha256(program.instructions, program.count * size, out->filter_hash);
	out->filter_count = program.count;
	out->filter = writer_put_array(writer, program.instructions, program.count * size);
	return 0;
}

static void put_groups(struct writer *writer, struct plan_header *header)
{
	struct plan_group records[SECCOMP_GROUPS_MAX] = { { .name = 0 } };

	header->group_count = seccomp_group_count();
	for (uint32_t i = 0; i < header->group_count; i++) {
		const struct seccomp_group *group = seccomp_group_at(i);

		records[i] =
			(struct plan_group){ .name = writer_put_text(writer, group->name),
					     .kind = (uint32_t)group->kind,
					     .reason = writer_put_text(writer, group->reason) };
	}
	header->groups =
		writer_put_array(writer, records, header->group_count * sizeof(records[0]));
}

_Static_assert(SECCOMP_CALLS_MAX <= PLAN_CALLS_MAX, "the plan has room for all");

static void put_calls(struct writer *writer, struct plan_header *header)
{
	const struct seccomp_call *calls = seccomp_calls(&writer->call_count);

	for (uint32_t i = 0; i < writer->call_count; i++) {
		const struct seccomp_condition *condition = seccomp_condition_find(calls[i].name);

		writer->calls[i] = (struct plan_call){
			.number = calls[i].number,
			.name = writer_put_text(writer, calls[i].name),
			.group = calls[i].group,
			.condition = writer_put_text(writer,
						     condition != NULL ? condition->reason : NULL),
			.argument = seccomp_condition_argument(condition),
		};
	}
	header->call_count = writer->call_count;
	header->calls = writer_put_array(writer, writer->calls,
					 writer->call_count * sizeof(writer->calls[0]));
}

static uint8_t answer_to(const struct seccomp_policy *policy, const struct plan_call *call)
{
	if (seccomp_is_pretended(policy, call->number))
		return PLAN_PRETENDED;
	if (seccomp_group_at(call->group)->kind == SECCOMP_HIDDEN)
		return PLAN_HIDDEN;
	if (!policy->is_allowed[call->group])
		return PLAN_REFUSED;
	if (seccomp_is_refused(policy, call->number))
		return PLAN_TAKEN_OUT;
	return call->condition != 0 ? PLAN_CONDITIONAL : PLAN_ALLOWED;
}

static void put_answers(struct writer *writer, const struct profile *profile,
			struct plan_profile *out)
{
	struct plan_origin origins[SECCOMP_GROUPS_MAX];
	uint8_t answers[PLAN_CALLS_MAX];

	for (uint32_t i = 0; i < seccomp_group_count(); i++)
		origins[i] = writer_put_origin(writer, &profile->origins.groups[i]);
	for (uint32_t i = 0; i < writer->call_count; i++)
		answers[i] = answer_to(&profile->seccomp, &writer->calls[i]);
	out->group_origins =
		writer_put_array(writer, origins, seccomp_group_count() * sizeof(origins[0]));
	out->answers = writer_put_array(writer, answers, writer->call_count);
	out->refuse_origin = writer_put_origin(writer, &profile->origins.keys[KEY_seccomp_refuse]);
}

/* Return the line of a host in the file of the list; of the list, if the extended one has it in
 * another file. */
static uint32_t list_line(const struct profile *profile, const struct profile_host *host)
{
	const struct origin *list = &profile->origins.keys[KEY_profile_hosts];

	return host->origin.file == list->file ? host->origin.line : list->line;
}

static void put_network(struct writer *writer, const struct profile *profile,
			struct plan_profile *out)
{
	static const enum plan_network networks[NETWORK_COUNT] = {
		[NETWORK_NONE] = PLAN_NETWORK_NONE,
		[NETWORK_LOOPBACK] = PLAN_NETWORK_LOOPBACK,
		[NETWORK_HOSTS] = PLAN_NETWORK_HOSTS,
	};
	struct plan_host records[PLAN_HOSTS_MAX] = { { .pattern = "" } };
	const bool has_hosts = profile->network == NETWORK_HOSTS;

	out->network = networks[profile->network];
	out->network_origin =
		writer_put_origin(writer, has_hosts ? &profile->origins.keys[KEY_profile_hosts]
						    : &profile->origins.keys[KEY_profile_network]);
	out->host_count = has_hosts ? profile->host_count : 0;
	if (!has_hosts)
		out->through = (struct plan_proxy){ .port = 0 };
	out->host_approval = has_hosts ? out->host_approval : PLAN_HOST_APPROVAL_NEVER;
	for (uint32_t i = 0; i < out->host_count; i++) {
		const struct profile_host *host = &profile->hosts[i];

		records[i] = (struct plan_host){ .line = list_line(profile, host),
						 .port = host->port,
						 .kind = network_host_kind(profile, i),
						 .is_private = host->is_private,
						 .to_port = host->to_port };
		memcpy(records[i].to, host->to.bytes, sizeof(records[i].to));
		memcpy(records[i].pattern, host->pattern, sizeof(records[i].pattern));
	}
	out->hosts = writer_put_array(writer, records, out->host_count * sizeof(records[0]));
}

static uint16_t short_line(const struct origin *origin)
{
	return origin->line < UINT16_MAX ? (uint16_t)origin->line : UINT16_MAX;
}

/* Put a record for each entry of a rule's host. */
static void put_requests(struct writer *writer, const struct profile *profile,
			 struct plan_profile *out)
{
	struct plan_request records[PLAN_REQUESTS_MAX] = { { .methods = 0 } };

	for (uint32_t i = 0; out->network == PLAN_NETWORK_HOSTS && i < profile->request_count;
	     i++) {
		const struct profile_request *request = &profile->requests[i];

		for (uint32_t host = 0; host < profile->host_count; host++) {
			struct plan_request *record = &records[out->request_count];

			if (!http_is_for(request->hosts, host))
				continue;
			record->methods = request->methods;
			record->host = (uint16_t)host;
			record->line = short_line(&request->origin);
			memcpy(record->path, request->path, sizeof(record->path));
			out->request_count++; /* http_check() bounds it */
		}
	}
	out->requests = writer_put_array(writer, records, out->request_count * sizeof(records[0]));
}

static void put_secrets(struct writer *writer, const struct profile *profile,
			struct plan_profile *out)
{
	struct plan_secret records[PLAN_SECRETS_MAX] = { { .name = "" } };

	out->secret_count = out->network == PLAN_NETWORK_HOSTS ? profile->secret_count : 0;
	for (uint32_t i = 0; i < out->secret_count; i++) {
		const struct profile_secret *secret = &profile->secrets[i];
		char *source = records[i].source;

		records[i].source_kind = secret->source_kind;
		records[i].line = secret->origin.line;
		records[i].is_optional = secret->is_optional;
		memcpy(records[i].hosts, secret->hosts, sizeof(records[i].hosts));
		http_print_placeholder(secret, records[i].placeholder);
		memcpy(records[i].name, secret->name, strlen(secret->name) + 1);
		memcpy(records[i].header, secret->header, strlen(secret->header) + 1);
		for (uint32_t j = 0; j < secret->source.count; j++) {
			const size_t size = strlen(secret->source.items[j]) + 1;

			memcpy(source, secret->source.items[j], size); /* http_apply() bounds it */
			source += size;
		}
	}
	out->secrets = writer_put_array(writer, records, out->secret_count * sizeof(records[0]));
}

static void put_image(struct writer *writer, const struct profile *profile,
		      struct plan_profile *out)
{
	const struct images_entry *tree = profile->tree;
	uint32_t offset = (uint32_t)writer->blob->size;
	const char *word;

	for (uint32_t i = 0; (word = image_command(profile, i)) != NULL; i++)
		buffer_append(writer->blob, word, strlen(word) + 1);
	out->command = writer_end_list(writer, offset, &out->command_size);
	offset = (uint32_t)writer->blob->size;
	for (uint32_t i = 0; tree != NULL && i < tree->count; i++)
		buffer_append(writer->blob, tree->layers[i], strlen(tree->layers[i]) + 1);
	if (profile_has_system(profile)) {
		char path[IPC_PATH_MAX] = "/var/empty"; /* for a plan that is only shown */

		if (writer->shown->frames != NULL)
			(void)frames_make(writer->shown->frames, NULL, path);
		buffer_append(writer->blob, path, strlen(path) + 1);
	}
	out->layers = writer_end_list(writer, offset, &out->layers_size);
	out->image = tree != NULL ? writer_put_text(writer, tree->image->digest) : 0;
}

/* Put the runner, and behind it the shell, if there is one: the list of a command line. */
static void put_shell(struct writer *writer, const struct profile *profile,
		      struct plan_profile *out)
{
	const uint32_t offset = (uint32_t)writer->blob->size;

	writer_append_list(writer, &profile->runner, NULL);
	out->runner_size = (uint32_t)writer->blob->size - offset;
	if (languages_have_shell(profile))
		writer_append_list(writer, &profile->shell, NULL);
	out->shell = writer_end_list(writer, offset, &out->shell_size);
}

static int put_profile(struct writer *writer, const struct profile *profile,
		       struct plan_profile *out)
{
	const struct strings held = { profile->held, profile->held_count };
	struct buffer text = { .size = 0 };

	*out = profile->numbers;
	out->name = writer_put_text(writer, profile->name);
	out->extends = profile->parent != NULL ? writer_put_text(writer, profile->parent->name) : 0;
	out->origin = writer_put_origin(writer, &profile->origins.keys[KEY_profile_name]);
	put_network(writer, profile, out);
	put_requests(writer, profile, out);
	put_secrets(writer, profile, out);
	out->hostname = writer_put_text(writer, profile->hostname);
	out->cwd = writer_put_text(writer, profile->cwd);
	out->description = writer_put_text(writer, profile->description);
	put_image(writer, profile, out);
	put_shell(writer, profile, out);
	put_environment(writer, profile, out);
	put_mounts(writer, profile, out);
	put_rules(writer, profile, out);
	put_languages(writer, profile, out);
	out->held = writer_put_list(writer, &held, &out->held_size);
	put_rlimits(writer, out);
	put_answers(writer, profile, out);
	policy_show(profile, &text);
	out->text = writer_put_text(writer, text.bytes);
	buffer_done(&text);
	return put_filter(writer, profile, out);
}

static int put_narrowed(struct writer *writer, const struct profile *profile,
			struct plan_profile *out)
{
	struct profile *narrowed = profile_narrow(profile);
	const int error = put_profile(writer, narrowed, out);

	(void)profile_free(narrowed);
	return error;
}

static void put_settings(struct writer *writer, const struct policy_settings *settings,
			 struct plan_header *header)
{
	header->file = writer_put_text(writer, settings->file);
	header->default_profile = writer_put_text(writer, settings->default_profile);
	header->run_as = writer_put_text(writer, settings->run_as);
	header->workspaces =
		writer_put_list(writer, &settings->workspaces, &header->workspaces_size);
	header->protect = writer_put_list(writer, &settings->protect, &header->protect_size);
	header->unprotect = writer_put_list(writer, &settings->unprotect, &header->unprotect_size);
	header->limits_fallback = settings->accepts_fallback ? 1 : 0;
	header->audit_optional = settings->is_audit_optional ? 1 : 0;
	header->audit_text = settings->has_audit_text ? 1 : 0;
	header->sandboxes_max = settings->sandboxes_max;
	header->sandboxes_bytes = settings->sandboxes_bytes;
	header->images_bytes = settings->images_bytes;
}

static int fail_size(const struct policy *policy, size_t size, struct policy_error *error)
{
	const struct policy_settings *settings = policy_settings(policy);

	return policy_error_set(
		error, settings->file != NULL ? settings->file : "built-in profiles",
		settings->profiles_line, "profiles",
		"too much, a plan of %zu bytes; expected at most %u, with fewer profiles", size,
		PLAN_SIZE_MAX);
}

static int fail_filter(const struct profile *profile, struct policy_error *error)
{
	const struct origin *origin = &profile->origins.groups[0];

	return policy_error_set(
		error, origin->file, origin->line, "seccomp",
		"the filter of profile %s cannot be built; expected fewer exceptions",
		profile->name);
}

int policy_compile(const struct policy *policy, struct buffer *blob, struct policy_error *error)
{
	struct writer writer = { .blob = blob, .shown = policy_shown(policy) };
	struct plan_profile profiles[PLAN_PROFILES_MAX] = { { .name = 0 } };
	struct plan_header header = { .magic = PLAN_MAGIC,
				      .version = PLAN_VERSION,
				      .profile_count = policy_count_records(policy, error) };
	const size_t size = header.profile_count * sizeof(profiles[0]);
	uint32_t next = 0;

	if (header.profile_count == 0)
		return -1;
	buffer_append(blob, &header, sizeof(header));
	header.profiles = writer_put_records(blob, profiles, size); /* filled in at the end */
	put_settings(&writer, policy_settings(policy), &header);
	put_groups(&writer, &header);
	header.missing = policy_put_missing(policy, blob, &header.missing_size);
	put_calls(&writer, &header);
	for (uint32_t i = 0; i < policy_count(policy); i++) {
		const struct profile *profile = policy_at(policy, i);
		const uint32_t no_hosts = next + profile_has_hosts(profile);
		const size_t before = blob->size;

		if (image_is_awaited(profile) || profile->missing != NULL)
			continue;
		if (put_profile(&writer, profile, &profiles[next]) != 0 ||
		    (no_hosts != next && put_narrowed(&writer, profile, &profiles[no_hosts]) != 0))
			return fail_filter(profile, error);
		if (blob->size >= PLAN_SIZE_MAX && strchr(profile->name, PLAN_KEPT[0]) != NULL) {
			blob->size = before;
			break; /* the last profiles are those of kept binds */
		}
		profiles[next].no_hosts = profiles[no_hosts].no_hosts = no_hosts;
		header.profile_count = next = no_hosts + 1;
	}
	buffer_append(blob, "", 1);
	if (blob->size > PLAN_SIZE_MAX)
		return fail_size(policy, blob->size, error);
	header.size = (uint32_t)blob->size;
	memcpy(blob->bytes, &header, sizeof(header));
	memcpy(blob->bytes + header.profiles, profiles, size);
	return 0;
}
