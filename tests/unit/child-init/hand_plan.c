/* SPDX-License-Identifier: Apache-2.0 */
#include "hand_plan.h"

#include <criterion/criterion.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/confine/landlock.h"
#include "common/ipc/workspace_mode.h"

#define AT(member) ((uint32_t)offsetof(struct hand_plan, member))
#define PUT(text) hand_plan_put(text, sizeof(text))

struct hand_plan hand_plan __attribute__((aligned(8)));

static uint32_t used;

uint32_t hand_plan_put(const void *bytes, size_t size)
{
	const uint32_t at = used;

	cr_assert_leq(used + size, HAND_TEXT_ROOM);
	memcpy(hand_plan.text + at, bytes, size);
	used += (uint32_t)size;
	return AT(text) + at;
}

void hand_plan_begin(void)
{
	memset(&hand_plan, 0, sizeof(hand_plan));
	used = 0;
	hand_plan.header = (struct plan_header){ .magic = PLAN_MAGIC,
						 .version = PLAN_VERSION,
						 .size = sizeof(hand_plan),
						 .profile_count = 1,
						 .profiles = AT(profile) };
	hand_plan.header.default_profile = PUT("default");
	hand_plan.profile = (struct plan_profile){ .name = PUT("default"),
						   .network = PLAN_NETWORK_LOOPBACK,
						   .hostname = PUT("sandbox"),
						   .user = PLAN_USER_AGENT,
						   .cwd = PUT("/"),
						   .description = PUT("for tests"),
						   .text = PUT("name: default\n"),
						   .shell = PUT("sh"),
						   .shell_size = sizeof("sh"),
						   .mounts = AT(mounts),
						   .rules = AT(rules),
						   .rlimits = AT(rlimits),
						   .filter = AT(filter),
						   .filter_count = 1,
						   .disk_bytes = 1U << 30,
						   .disk_inodes = 10000,
						   .idle_s = 60,
						   .ttl_default_s = 60,
						   .ttl_max_s = 60,
						   .workspace_mode = WORKSPACE_WRITE };
	hand_plan.filter[0] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
}

struct plan_mount *hand_plan_add(uint32_t kind, uint32_t phase, const char *target,
				 const char *source)
{
	struct plan_mount *mount = &hand_plan.mounts[hand_plan.profile.mount_count++];

	cr_assert_leq(hand_plan.profile.mount_count, HAND_MOUNTS);
	mount->kind = kind;
	mount->phase = phase;
	mount->mode = 0755;
	mount->target = hand_plan_put(target, strlen(target) + 1);
	if (source)
		mount->source = hand_plan_put(source, strlen(source) + 1);
	return mount;
}

void hand_plan_image(uint32_t phase, const char *layers, size_t size)
{
	static const char options[] = "size\0"
				      "1m\0"
				      "mode\0"
				      "0755";
	const struct plan_mount image = { .kind = PLAN_IMAGE,
					  .phase = phase,
					  .mode = 0755,
					  .target = PUT("/"),
					  .options = hand_plan_put(options, sizeof(options)),
					  .options_size = sizeof(options),
					  .attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };

	cr_assert_lt(hand_plan.profile.mount_count, HAND_MOUNTS);
	memmove(&hand_plan.mounts[1], &hand_plan.mounts[0],
		hand_plan.profile.mount_count * sizeof(image));
	hand_plan.mounts[0] = image;
	hand_plan.profile.mount_count++;
	for (uint32_t i = 0; phase == PLAN_PHASE_SANDBOX && i < hand_plan.profile.mount_count; i++)
		hand_plan.mounts[i].phase = phase;
	hand_plan.profile.layers = hand_plan_put(layers, size);
	hand_plan.profile.layers_size = (uint32_t)size;
}

void hand_plan_allow(const char *path)
{
	struct plan_rule *rule = &hand_plan.rules[hand_plan.profile.rule_count++];

	cr_assert_leq(hand_plan.profile.rule_count, HAND_RULES);
	rule->path = hand_plan_put(path, strlen(path) + 1);
	rule->rights = LANDLOCK_FS_ALL;
	hand_plan.profile.landlock_fs = LANDLOCK_FS_ALL;
}

void hand_plan_ask_about_sync(void)
{
	static const struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sync, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	memcpy(hand_plan.filter, filter, sizeof(filter));
	hand_plan.profile.filter_count = sizeof(filter) / sizeof(filter[0]);
	hand_plan.profile.observes = 1;
}

void hand_plan_open(struct plan *plan)
{
	cr_assert_eq(plan_open(&hand_plan, sizeof(hand_plan), plan), 0);
}
