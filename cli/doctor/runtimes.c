/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/runtimes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/format.h"
#include "doctor/probes.h"
#include "launcher/start/machine_place.h"
#include "launcher/start/machine_program.h"
#include "options/options.h"

/* The package of each language that a built-in profile has. */
static const struct {
	const char *language;
	const char *install;
} packages[] = {
	{ "python", "apt install python3" },
	{ "javascript", "apt install nodejs" },
	{ "typescript", "npm install -g deno" },
	{ "worker", "npm install -g workerd esbuild hono" },
	{ "wasm", "apt install nodejs" },
	{ "bash", "apt install bash" },
	{ "sh", "apt install dash" },
	{ "c", "apt install gcc libc6-dev" },
	{ "c++", "apt install g++" },
	{ "go", "apt install golang-go" },
	{ "rust", "apt install rustc" },
	{ "java", "apt install default-jdk-headless" },
	{ "perl", "apt install perl" },
	{ "ruby", "apt install ruby" },
	{ "php", "apt install php-cli" },
	{ "lua", "apt install lua5.4" },
	{ "r", "apt install r-base-core" },
	{ "awk", "apt install mawk" },
};

/* Runtimes that are no language of a profile. */
static const struct {
	const char *name;
	const char *program;
	const char *use;
	const char *install;
} others[] = {
	{ "images", "/usr/bin/skopeo", "msp image pull", "apt install skopeo" },
};

static const char *find_package(const char *language)
{
	for (size_t i = 0; i < sizeof(packages) / sizeof(packages[0]); i++) {
		if (strcmp(packages[i].language, language) == 0)
			return packages[i].install;
	}
	return NULL;
}

/* Set the program if the file is there and can be run. */
static void look_at(struct runtime *runtime, const char *path)
{
	if (access(path, X_OK) != 0 || !realpath(path, runtime->program))
		runtime->program[0] = '\0';
}

static struct runtime *find_runtime(struct runtime *all, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(all[i].name, name) == 0)
			return &all[i];
	}
	return NULL;
}

/* The first record of a name whose program is there is the one that is used. */
static size_t add_languages(const struct plan *plan, const struct plan_profile *profile,
			    struct runtime *ret, size_t count)
{
	const struct plan_language *languages = plan_languages(plan, profile);

	for (uint32_t i = 0; i < profile->language_count; i++) {
		const char *name = plan_string(plan, languages[i].name);
		struct runtime *runtime = find_runtime(ret, count, name);

		if (!runtime) {
			runtime = &ret[count++];
			/* A package of the host is in no image. */
			*runtime = (struct runtime){
				.use = "", .install = profile->image ? NULL : find_package(name)
			};
			format_text(runtime->name, sizeof(runtime->name), "%s", name);
		}
		if (!runtime->program[0])
			look_at(runtime, plan_string(plan, languages[i].host_program));
	}
	return count;
}

static void add_emulator(struct runtime *ret)
{
	*ret = (struct runtime){ .name = "vm",
				 .use = "QEMU",
				 .install = "apt install qemu-system-x86" };
	look_at(ret, MACHINE_EMULATOR);
	if (ret->program[0])
		ret->has_kvm = machine_program_try_kvm(ret->processor);
}

/* A machine is not started: that takes seconds where it is emulated. */
static void add_kernel(struct runtime *ret)
{
	char path[IPC_PATH_MAX], program[PATH_MAX];

	*ret = (struct runtime){ .name = "vm", .use = "a kernel", .install = "msp vm prepare" };
	if (!machine_place_find(path))
		return;
	format_text(program, sizeof(program), "%s/kernel", path);
	if (access(program, R_OK) != 0 || !realpath(program, ret->program))
		ret->program[0] = '\0';
}

size_t runtimes_find(const struct machine *machine, struct runtime ret[RUNTIMES_MAX])
{
	const struct plan *plan = config_plan(machine->config);
	char name[OPTIONS_TEXT_MAX];
	const struct plan_profile *profile = plan ? find_default_profile(plan, name) : NULL;
	size_t count = 0;

	if (!profile)
		return 0;
	count = add_languages(plan, profile, ret, count);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct runtime *runtime = &ret[count++];

		*runtime = (struct runtime){ .use = others[i].use, .install = others[i].install };
		format_text(runtime->name, sizeof(runtime->name), "%s", others[i].name);
		look_at(runtime, others[i].program);
	}
	add_emulator(&ret[count++]);
	add_kernel(&ret[count++]);
	return count;
}
