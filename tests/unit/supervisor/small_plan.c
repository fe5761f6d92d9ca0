/* SPDX-License-Identifier: Apache-2.0 */
#include "small_plan.h"

#include <criterion/criterion.h>
#include <linux/seccomp.h>
#include <string.h>

#include "common/ipc/workspace_mode.h"
#include "common/limits.h"

#define AT(member) ((uint32_t)offsetof(struct small_plan, member))
#define PUT(text) small_plan_put(text, sizeof(text))

struct small_plan small_plan __attribute__((aligned(8)));

static uint32_t used;

uint32_t small_plan_put(const void *bytes, size_t size)
{
	const uint32_t at = used;

	cr_assert_leq(used + size, SMALL_TEXT_ROOM);
	memcpy(small_plan.text + at, bytes, size);
	used += (uint32_t)size;
	return AT(text) + at;
}

static void make_profile(struct plan_profile *profile, const char *name)
{
	*profile = (struct plan_profile){
		.name = small_plan_put(name, strlen(name) + 1),
		.hostname = PUT("sandbox"),
		.network = PLAN_NETWORK_LOOPBACK,
		.user = PLAN_USER_AGENT,
		.cwd = PUT("/workspace"),
		.description = PUT("for tests"),
		.text = PUT("name: for tests\n"),
		.shell = PUT("/bin/sh\0-c"),
		.shell_size = sizeof("/bin/sh\0-c"),
		.environment = PUT("A=1\0B=2"),
		.environment_size = sizeof("A=1\0B=2"),
		.languages = AT(languages),
		.language_count = SMALL_LANGUAGES,
		.filter = AT(filter),
		.filter_count = 1,
		.memory_bytes = 64 << 20,
		.pids = 10,
		.cpu_weight = 100,
		.cpu_seconds = 5,
		.wall_default_ms = 30000,
		.wall_max_ms = 60000,
	};
}

/* A language whose program gets its own name as only argument. */
static struct plan_language language(uint32_t name, const char *program, const char *argument)
{
	return (struct plan_language){
		.name = name,
		.aliases = PUT("snake\0serpent"),
		.aliases_size = 0,
		.program = small_plan_put(program, strlen(program) + 1),
		.host_program = small_plan_put(program, strlen(program) + 1),
		.file = PUT("/tmp/code"),
		.argv = small_plan_put(argument, strlen(argument) + 1),
		.argv_size = (uint32_t)strlen(argument) + 1,
	};
}

static struct plan_mount place(uint32_t target, uint32_t name)
{
	return (struct plan_mount){ .kind = PLAN_TMPFS,
				    .phase = PLAN_PHASE_SANDBOX,
				    .mode = 0755,
				    .source = PUT("tmpfs"),
				    .target = target,
				    .place = name };
}

/* Sandboxes of it may last. */
static void make_persistent(struct plan_profile *profile)
{
	small_plan.mounts[0] = place(PUT("/workspace"), PUT("workspace"));
	small_plan.mounts[1] = place(PUT("/home/agent"), PUT("home"));
	profile->mounts = AT(mounts);
	profile->mount_count = SMALL_MOUNTS;
	profile->disk_bytes = 1 << 30;
	profile->disk_inodes = 1000;
	profile->idle_s = 600;
	profile->ttl_default_s = 3600;
	profile->ttl_max_s = 3600;
	profile->wall_persistent_ms = 40000;
	profile->workspace_mode = WORKSPACE_COPY;
}

static void make_languages(void)
{
	struct plan_language *at = small_plan.languages;

	at[0] = language(PUT("python"), SMALL_ABSENT, "python-first");
	at[1] = language(PUT("python"), SMALL_PRESENT, "python-second");
	at[2] = language(PUT("python"), SMALL_PRESENT, "python-third");
	at[3] = language(PUT("bash"), SMALL_PRESENT, "bash-first");
	at[4] = language(PUT("ruby"), SMALL_ABSENT, "ruby-first");
	at[5] = language(PUT("bash"), SMALL_PRESENT, "bash-second");
	at[1].aliases_size = sizeof("snake\0serpent");
}

void small_plan_open(struct plan *plan)
{
	memset(&small_plan, 0, sizeof(small_plan));
	used = 0;
	small_plan.header = (struct plan_header){ .magic = PLAN_MAGIC,
						  .version = PLAN_VERSION,
						  .size = sizeof(small_plan),
						  .profile_count = SMALL_PROFILES,
						  .profiles = AT(profiles),
						  .sandboxes_max = SANDBOXES_MAX,
						  .sandboxes_bytes = UINT64_MAX };
	small_plan.header.default_profile = PUT("default");
	make_profile(&small_plan.profiles[0], "default");
	make_profile(&small_plan.profiles[1], "strict");
	make_profile(&small_plan.profiles[2], "_helper");
	make_persistent(&small_plan.profiles[0]);
	make_languages();
	small_plan.filter[0] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	cr_assert_eq(plan_open(&small_plan, sizeof(small_plan), plan), 0);
}
