/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"
#include "policy/write/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char good_profile[] = "name: mine\n"
			    "description: for tests\n"
			    "hostname: box\n"
			    "cwd: /site\n"
			    "shell: [/bin/sh, -c]\n"
			    "network: none\n"
			    "environment: [HOME=/site]\n"
			    "files:\n"
			    "  - {at: /usr, kind: bind}\n"
			    "  - {at: /site, kind: tmpfs, size: 1M, inodes: 1K, mode: 0700}\n"
			    "landlock:\n"
			    "  - {path: /usr, rights: [read, execute]}\n"
			    "seccomp:\n"
			    "  allow: [basic]\n"
			    "limits:\n"
			    "  memory: 64M\n"
			    "  file_size: 1M\n"
			    "  output: 0\n"
			    "  log: 64K\n"
			    "  pids: 8\n"
			    "  open_files: 64\n"
			    "  cpu_percent: 50\n"
			    "  cpu_weight: 10\n"
			    "  cpu_seconds: 0s\n"
			    "  wall_default: 1s\n"
			    "  wall_max: 2s\n"
			    "  stack: 1M\n"
			    "requirements: {landlock: 6, limits: required}\n"
			    "languages:\n"
			    "  - name: sh\n"
			    "    program: /usr/bin/sh\n"
			    "    file: /site/code/main.sh\n"
			    "    run: [/usr/bin/sh, \"{file}\"]\n";

char *config_of(const char *keys)
{
	struct buffer text = { .bytes = NULL };
	const char *before = "  - ";

	buffer_format(&text, "profiles:\n");
	while (*keys != '\0') {
		const size_t length = strcspn(keys, "\n");

		buffer_format(&text, "%s%.*s\n", before, (int)length, keys);
		keys += length + (keys[length] == '\n' ? 1 : 0);
		before = "    ";
	}
	return text.bytes;
}

struct builtin builtin_open(void)
{
	return builtin_open_with("");
}

struct builtin builtin_open_with(const char *file)
{
	struct builtin builtin = { .policy = policy_new() };
	struct policy_error error = { .text = "" };

	if (policy_add_builtin(builtin.policy, &error) != 0 ||
	    (file[0] != '\0' &&
	     policy_add(builtin.policy, "web.yaml", file, strlen(file), &error) != 0) ||
	    policy_compile(builtin.policy, &builtin.blob, &error) != 0 ||
	    plan_open(builtin.blob.bytes, builtin.blob.size, &builtin.plan) != 0) {
		(void)fprintf(stderr, "built-in profiles: %s\n", error.text);
		abort();
	}
	return builtin;
}

void builtin_close(struct builtin *builtin)
{
	buffer_done(&builtin->blob);
	builtin->policy = policy_free(builtin->policy);
}

uint32_t builtin_answer(const struct plan *plan, const char *profile, uint32_t number,
			const uint64_t arguments[6])
{
	const int index = plan_profile_find(plan, profile);
	const struct plan_profile *found;
	struct seccomp_data data = { .nr = (int)number, .arch = AUDIT_ARCH_X86_64 };

	if (index < 0)
		abort();
	found = plan_profile(plan, (uint32_t)index);
	for (int i = 0; i < 6; i++)
		data.args[i] = arguments[i];
	return bpf_run(plan_filter(plan, found), found->filter_count, &data);
}
