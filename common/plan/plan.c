/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a plan. The blob comes from msp-policy, which trusts the operator; it is still checked as
 * if it came from an enemy, because child-init and the supervisor index with what it says.
 */
#include "common/plan/plan.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/ipc/workspace_mode.h"
#include "common/kernel.h"
#include "common/limits.h"

_Static_assert(sizeof(struct plan_header) == 112, "no padding");
_Static_assert(sizeof(struct plan_mount) == 64, "no padding");
_Static_assert(sizeof(struct plan_rule) == 24, "no padding");
_Static_assert(sizeof(struct plan_language) == 40, "no padding");
_Static_assert(sizeof(struct plan_rlimit) == 16, "no padding");
_Static_assert(sizeof(struct plan_group) == 16, "no padding");
_Static_assert(sizeof(struct plan_call) == 20, "no padding");
_Static_assert(sizeof(struct plan_origin) == 8, "no padding");
_Static_assert(sizeof(struct plan_host) == 284, "no padding");
_Static_assert(sizeof(struct plan_request) == 256, "no padding");
_Static_assert(sizeof(struct plan_secret) == 804, "no padding");
_Static_assert(sizeof(struct plan_profile) % 8 == 0, "records follow each other aligned");

/* A profile's arrays: type, member, member that counts, most. */
#define ARRAYS(X)                                                                                  \
	X(plan_mount, mounts, mount_count, PLAN_MOUNTS_MAX)                                        \
	X(plan_rule, rules, rule_count, PLAN_RULES_MAX)                                            \
	X(plan_language, languages, language_count, PLAN_LANGUAGES_MAX)                            \
	X(plan_rlimit, rlimits, rlimit_count, PLAN_RLIMITS_MAX)                                    \
	X(plan_host, hosts, host_count, PLAN_HOSTS_MAX)                                            \
	X(plan_request, requests, request_count, PLAN_REQUESTS_MAX)                                \
	X(plan_secret, secrets, secret_count, PLAN_SECRETS_MAX)                                    \
	X(sock_filter, filter, filter_count, BPF_MAXINSNS)

static bool is_range(const struct plan *plan, uint32_t offset, uint64_t count, uint64_t size)
{
	const uint64_t bytes = count * size; /* count < 2^32 and size < 2^10 */

	return offset >= sizeof(struct plan_header) && offset <= plan->size &&
	       bytes <= plan->size - offset;
}

static bool is_array(const struct plan *plan, uint32_t offset, uint32_t count, uint32_t most,
		     size_t size)
{
	return count == 0 ||
	       (count <= most && offset % 8 == 0 && is_range(plan, offset, count, size));
}

static bool is_string(const struct plan *plan, uint32_t offset)
{
	return offset >= sizeof(struct plan_header) && offset < plan->size;
}

/* Strings with a NUL after each: empty, or its last byte is NUL. */
static bool is_list(const struct plan *plan, uint32_t offset, uint32_t size)
{
	return size == 0 ||
	       (is_range(plan, offset, size, 1) && plan->bytes[offset + size - 1] == '\0');
}

/* Return whether it is a list with an even number of strings. */
static bool is_pairs(const struct plan *plan, uint32_t offset, uint32_t size)
{
	uint32_t count = 0;

	if (!is_list(plan, offset, size))
		return false;
	for (uint32_t i = 0; i < size; i++)
		count += plan->bytes[offset + i] == '\0';
	return count % 2 == 0;
}

static bool is_path(const struct plan *plan, uint32_t offset)
{
	return is_string(plan, offset) && plan->bytes[offset] == '/';
}

/* A string that need not be there. */
static bool is_optional(const struct plan *plan, uint32_t offset)
{
	return offset == 0 || is_string(plan, offset);
}

/* A mount of the host has no set-ID bits and no devices, and can be changed only if the launcher
 * opened and checked it. Internal profiles show nothing of the operator's. */
static bool is_harmless(const struct plan_mount *mount, bool is_internal)
{
	const uint64_t always = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	const bool is_pinned = mount->flags & PLAN_PINNED;

	if (mount->kind == PLAN_BIND || mount->kind >= PLAN_OVERLAY) {
		if ((mount->attributes & always) != always)
			return false;
	} else if (is_pinned && mount->kind != PLAN_COPY) {
		return false;
	}
	if (mount->kind == PLAN_BIND && !is_pinned && !(mount->attributes & MOUNT_ATTR_RDONLY))
		return false;
	return !(is_pinned && is_internal) &&
	       (mount->kind != PLAN_OVERLAY || mount->phase == PLAN_PHASE_SANDBOX);
}

bool plan_is_place(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	const size_t length = strlen(name);

	/* The last two are what else is in a layer. */
	return length > 0 && length < PLAN_PLACE_MAX && strspn(name, letters) == length &&
	       name[0] >= 'a' && strcmp(name, "base") != 0 && strncmp(name, "work-", 5) != 0;
}

/* A persistent mount keeps files that a workload writes, and changes nothing of the host; every
 * sandbox of the profile has it. */
static bool is_place(const struct plan *plan, const struct plan_mount *mount)
{
	const bool is_kept =
		mount->kind == PLAN_TMPFS || mount->kind >= PLAN_OVERLAY ||
		mount->kind == PLAN_DIRECTORY ||
		(mount->kind == PLAN_BIND && (mount->attributes & MOUNT_ATTR_RDONLY) != 0);
	const char *name = plan_string(plan, mount->place);

	return mount->place == 0 ||
	       (is_kept && (mount->flags & PLAN_OPTIONAL) == 0 && is_string(plan, mount->place) &&
		plan_is_place(name) &&
		(mount->kind == PLAN_TMPFS || strcmp(name, PLAN_PLACE_WORKSPACE) != 0));
}

/* The layers are directories with absolute names. An internal profile has none. */
static bool are_layers(const struct plan *plan, const struct plan_profile *profile)
{
	uint32_t count = 0;

	if (!is_optional(plan, profile->image) ||
	    !is_list(plan, profile->layers, profile->layers_size))
		return false;
	for (uint32_t at = 0; at < profile->layers_size; count++) {
		if (!is_path(plan, profile->layers + at))
			return false;
		at += (uint32_t)strlen(plan_string(plan, profile->layers + at)) + 1;
	}
	return count <= PLAN_LAYERS_MAX && (count == 0 || !plan_is_internal(plan, profile));
}

static bool is_mount(const struct plan *plan, const struct plan_mount *mount)
{
	const bool needs_source = mount->kind >= PLAN_SYMLINK && mount->kind <= PLAN_DEVPTS;
	const bool needs_path = (mount->kind >= PLAN_COPY && mount->kind <= PLAN_DEVICE) ||
				mount->kind == PLAN_OVERLAY;

	if (mount->kind == 0 || mount->kind >= PLAN_MOUNT_KIND_COUNT ||
	    mount->phase > PLAN_PHASE_SANDBOX || !is_path(plan, mount->target) ||
	    !is_pairs(plan, mount->options, mount->options_size) ||
	    !is_optional(plan, mount->origin.file) || !is_place(plan, mount) ||
	    !is_optional(plan, mount->frame))
		return false;
	return needs_path ? is_path(plan, mount->source)
			  : !needs_source || is_string(plan, mount->source);
}

static bool is_language(const struct plan *plan, const struct plan_language *language)
{
	return is_string(plan, language->name) && is_path(plan, language->program) &&
	       is_string(plan, language->host_program) && is_path(plan, language->file) &&
	       language->argv_size > 0 && is_list(plan, language->argv, language->argv_size) &&
	       language->standby <= 1 && is_list(plan, language->aliases, language->aliases_size);
}

static bool is_place_again(const struct plan *plan, const struct plan_mount *mounts, uint32_t index)
{
	const char *name = plan_string(plan, mounts[index].place);

	for (uint32_t i = 0; i < index; i++) {
		if (mounts[i].place != 0 && strcmp(plan_string(plan, mounts[i].place), name) == 0)
			return true;
	}
	return false;
}

/* Each place has a name of its own; with one, the profile says all that a persistent sandbox needs.
 */
static bool is_persistent(const struct plan *plan, const struct plan_profile *profile)
{
	const struct plan_mount *mounts = plan_mounts(plan, profile);
	uint32_t places = 0;

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		if (mounts[i].place != 0 && mounts[i].kind != PLAN_DIRECTORY &&
		    (++places > PLACES_MAX || is_place_again(plan, mounts, i)))
			return false;
	}
	if (profile->workspace_mode >= WORKSPACE_MODE_COUNT || profile->apply >= PLAN_APPLY_COUNT ||
	    profile->bridge >= PLAN_BRIDGE_COUNT || profile->ttl_default_s > profile->ttl_max_s ||
	    profile->held_size > IPC_LIST_MAX || !is_list(plan, profile->held, profile->held_size))
		return false;
	return places == 0 ||
	       (!plan_is_internal(plan, profile) && profile->disk_bytes > 0 &&
		profile->disk_inodes > 0 && profile->idle_s > 0 && profile->ttl_default_s > 0 &&
		profile->workspace_mode != WORKSPACE_NONE);
}

static bool are_records(const struct plan *plan, const struct plan_profile *profile)
{
	for (uint32_t i = 0; i < profile->mount_count; i++) {
		const struct plan_mount *mount = &plan_mounts(plan, profile)[i];

		if (!is_mount(plan, mount) ||
		    !is_harmless(mount, plan_is_internal(plan, profile)) ||
		    (mount->kind == PLAN_IMAGE) != (i == 0 && profile->layers_size > 0))
			return false;
	}
	for (uint32_t i = 0; i < profile->rule_count; i++) {
		const struct plan_rule *rule = &plan_rules(plan, profile)[i];

		if (!is_path(plan, rule->path) || !is_optional(plan, rule->origin.file))
			return false;
	}
	for (uint32_t i = 0; i < profile->language_count; i++) {
		if (!is_language(plan, &plan_languages(plan, profile)[i]))
			return false;
	}
	return true;
}

static bool are_answers(const struct plan *plan, const struct plan_profile *profile)
{
	if ((plan_header(plan)->call_count > 0 &&
	     !is_range(plan, profile->answers, plan_header(plan)->call_count, 1)) ||
	    !is_array(plan, profile->group_origins, plan_header(plan)->group_count, PLAN_GROUPS_MAX,
		      sizeof(struct plan_origin)))
		return false;
	for (uint32_t i = 0; i < plan_header(plan)->call_count; i++) {
		if (plan->bytes[profile->answers + i] > PLAN_HIDDEN)
			return false;
	}
	for (uint32_t i = 0; i < plan_header(plan)->group_count; i++) {
		if (!is_optional(plan, plan_group_origins(plan, profile)[i].file))
			return false;
	}
	return is_optional(plan, profile->extends) && is_optional(plan, profile->origin.file) &&
	       is_optional(plan, profile->network_origin.file) &&
	       is_optional(plan, profile->refuse_origin.file) && profile->network > 0 &&
	       profile->network < PLAN_NETWORK_COUNT &&
	       profile->no_hosts < plan_header(plan)->profile_count &&
	       (profile->network == PLAN_NETWORK_HOSTS
			? profile->host_approval < PLAN_HOST_APPROVAL_COUNT
			: profile->host_approval == PLAN_HOST_APPROVAL_NEVER);
}

static bool is_profile(const struct plan *plan, const struct plan_profile *profile)
{
	if (!is_string(plan, profile->name) || !is_string(plan, profile->hostname) ||
	    !is_path(plan, profile->cwd) || !is_string(plan, profile->description) ||
	    !is_string(plan, profile->text) || profile->runner_size > profile->shell_size ||
	    !is_list(plan, profile->shell, profile->shell_size) ||
	    !is_list(plan, profile->shell, profile->runner_size) ||
	    !is_list(plan, profile->command, profile->command_size) ||
	    (profile->user != PLAN_USER_ROOT && profile->user != PLAN_USER_AGENT) ||
	    !is_list(plan, profile->environment, profile->environment_size) ||
	    profile->observes > 1 || profile->filters_standby > 1 ||
	    profile->filter_count == 0) /* which would allow everything */
		return false;
	return
#define ARRAY(type, member, count, most)                                                           \
	is_array(plan, profile->member, profile->count, most, sizeof(struct type)) &&
		ARRAYS(ARRAY)
#undef ARRAY
			are_layers(plan, profile) &&
		are_records(plan, profile) && are_answers(plan, profile) &&
		is_persistent(plan, profile);
}

static bool are_calls(const struct plan *plan)
{
	const struct plan_header *head = plan_header(plan);

	if (!is_array(plan, head->groups, head->group_count, PLAN_GROUPS_MAX,
		      sizeof(struct plan_group)) ||
	    !is_array(plan, head->calls, head->call_count, PLAN_CALLS_MAX,
		      sizeof(struct plan_call)))
		return false;
	for (uint32_t i = 0; i < head->group_count; i++) {
		const struct plan_group *group = &plan_groups(plan)[i];

		if (!is_string(plan, group->name) || !is_string(plan, group->reason) ||
		    group->kind > PLAN_GROUP_HIDDEN)
			return false;
	}
	for (uint32_t i = 0; i < head->call_count; i++) {
		const struct plan_call *call = &plan_calls(plan)[i];

		if (!is_string(plan, call->name) || call->group >= head->group_count ||
		    !is_optional(plan, call->condition) || call->argument > 5 ||
		    (i > 0 && call->number <= plan_calls(plan)[i - 1].number))
			return false;
	}
	return true;
}

static bool is_operators(const struct plan *plan)
{
	const struct plan_header *head = plan_header(plan);

	return is_optional(plan, head->file) && is_string(plan, head->default_profile) &&
	       is_optional(plan, head->run_as) && head->sandboxes_max <= SANDBOXES_MAX &&
	       is_pairs(plan, head->missing, head->missing_size) &&
	       is_list(plan, head->workspaces, head->workspaces_size) &&
	       is_list(plan, head->protect, head->protect_size) &&
	       is_list(plan, head->unprotect, head->unprotect_size);
}

int plan_open(const void *bytes, size_t size, struct plan *ret)
{
	struct plan plan = { .bytes = bytes, .size = (uint32_t)size };

	if (size < sizeof(struct plan_header) || size > PLAN_SIZE_MAX || (uintptr_t)bytes % 8 != 0)
		return -EBADMSG;
	if (plan_header(&plan)->magic != PLAN_MAGIC ||
	    plan_header(&plan)->version != PLAN_VERSION || plan_header(&plan)->size != size ||
	    plan.bytes[size - 1] != '\0' || plan_header(&plan)->profile_count == 0 ||
	    !is_array(&plan, plan_header(&plan)->profiles, plan_header(&plan)->profile_count,
		      PLAN_PROFILES_MAX, sizeof(struct plan_profile)) ||
	    !are_calls(&plan) || !is_operators(&plan))
		return -EBADMSG;
	for (uint32_t i = 0; i < plan_header(&plan)->profile_count; i++) {
		if (!is_profile(&plan, plan_profile(&plan, i)))
			return -EBADMSG;
	}
	*ret = plan;
	return 0;
}

int plan_open_fd(int fd, struct plan *ret)
{
	struct stat status;
	void *bytes;
	int error;

	if (fstat(fd, &status) != 0)
		return -errno;
	if (status.st_size <= 0 || status.st_size > (off_t)PLAN_SIZE_MAX)
		return -EBADMSG;
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	error = plan_open(bytes, (size_t)status.st_size, ret);
	if (error)
		(void)munmap(bytes, (size_t)status.st_size); /* it was mapped */
	return error;
}

void plan_close(struct plan *plan)
{
	if (plan->bytes)
		(void)munmap((void *)(uintptr_t)plan->bytes, plan->size); /* it was mapped */
	*plan = (struct plan){ .bytes = NULL };
}

uint32_t plan_profile_count(const struct plan *plan)
{
	return plan_header(plan)->profile_count;
}

const uint8_t *plan_bytes(const struct plan *plan, uint32_t offset)
{
	return plan->bytes + offset;
}

const char *plan_string(const struct plan *plan, uint32_t offset)
{
	return (const char *)plan->bytes + offset;
}

const struct plan_profile *plan_profile(const struct plan *plan, uint32_t index)
{
	const void *first = plan->bytes + plan_header(plan)->profiles;

	return (const struct plan_profile *)first + index;
}

int plan_profile_find(const struct plan *plan, const char *name)
{
	for (uint32_t i = 0; i < plan_profile_count(plan); i++) {
		if (strcmp(plan_string(plan, plan_profile(plan, i)->name), name) == 0)
			return (int)i;
	}
	return -1;
}

bool plan_is_internal(const struct plan *plan, const struct plan_profile *profile)
{
	return plan_string(plan, profile->name)[0] == '_';
}

bool plan_may_work(const struct plan_profile *profile, uint32_t workspace_mode)
{
	return workspace_mode == WORKSPACE_NONE || workspace_mode == profile->workspace_mode ||
	       (workspace_mode == WORKSPACE_READ && profile->workspace_mode != WORKSPACE_NONE) ||
	       (workspace_mode == WORKSPACE_COPY && profile->workspace_mode == WORKSPACE_WRITE);
}

bool plan_lasts(const struct plan *plan, const struct plan_profile *profile)
{
	const struct plan_mount *mounts = plan_mounts(plan, profile);

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		if (mounts[i].place != 0 && mounts[i].kind != PLAN_DIRECTORY)
			return true;
	}
	return false;
}

/* Define the accessor of a profile's array. */
#define ARRAY(type, member, count, most)                                                           \
	const struct type *plan_##member(const struct plan *plan,                                  \
					 const struct plan_profile *profile)                       \
	{                                                                                          \
		return (const void *)(plan->bytes + profile->member);                              \
	}
ARRAYS(ARRAY)
ARRAY(plan_origin, group_origins, , )
#undef ARRAY

const struct plan_header *plan_header(const struct plan *plan)
{
	return (const void *)plan->bytes;
}

const struct plan_group *plan_groups(const struct plan *plan)
{
	return (const void *)(plan->bytes + plan_header(plan)->groups);
}

const struct plan_call *plan_calls(const struct plan *plan)
{
	return (const void *)(plan->bytes + plan_header(plan)->calls);
}

const struct plan_call *plan_call_find(const struct plan *plan, uint32_t number)
{
	const struct plan_call *calls = plan_calls(plan);

	for (uint32_t i = 0; i < plan_header(plan)->call_count; i++) {
		if (calls[i].number == number)
			return &calls[i];
	}
	return NULL;
}

enum plan_answer plan_answer_to(const struct plan *plan, const struct plan_profile *profile,
				const struct plan_call *call)
{
	return (enum plan_answer)plan_bytes(plan, profile->answers)[call - plan_calls(plan)];
}
