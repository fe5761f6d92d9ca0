/* SPDX-License-Identifier: Apache-2.0
 *
 * A configuration as a whole: what it says of all profiles, how its profiles hang together, what
 * becomes of it in the plan, and how two profiles differ.
 */
#include "policy/read/config_file.h"
#include "policy/write/compile.h"
#include "policy/write/show.h"
#include "support.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/mount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define EXTRA "profiles: [{name: mine, extends: default, "

struct loaded {
	struct policy *policy;
	struct buffer blob;
	struct plan plan;
};

static struct loaded load(const char *text)
{
	struct loaded loaded = { .policy = policy_new() };
	struct policy_error error = { .text = "" };

	cr_assert_eq(policy_add_builtin(loaded.policy, &error), 0, "%s", error.text);
	cr_assert_eq(policy_add(loaded.policy, "mine.yaml", text, strlen(text), &error), 0, "%s",
		     error.text);
	cr_assert_eq(policy_compile(loaded.policy, &loaded.blob, &error), 0, "%s", error.text);
	cr_assert_eq(plan_open(loaded.blob.bytes, loaded.blob.size, &loaded.plan), 0);
	return loaded;
}

static void unload(struct loaded *loaded)
{
	buffer_done(&loaded->blob);
	loaded->policy = policy_free(loaded->policy);
}

static const char *string(const struct loaded *loaded, uint32_t offset)
{
	return plan_string(&loaded->plan, offset);
}

static const struct plan_profile *find(const struct loaded *loaded, const char *name)
{
	const int index = plan_profile_find(&loaded->plan, name);

	cr_assert_geq(index, 0, "%s", name);
	return plan_profile(&loaded->plan, (uint32_t)index);
}

static const struct plan_mount *mount_at(const struct loaded *loaded, const char *target)
{
	const struct plan_profile *profile = find(loaded, "mine");
	const struct plan_mount *mounts = plan_mounts(&loaded->plan, profile);

	for (uint32_t i = profile->mount_count; i > 0; i--) {
		if (strcmp(string(loaded, mounts[i - 1].target), target) == 0)
			return &mounts[i - 1];
	}
	cr_assert(false, "%s", target);
	return NULL;
}

static void expect_mistake(const char *text, const char *expected)
{
	struct policy_error error = { .text = "" };
	struct policy *policy = policy_new();

	cr_assert_eq(policy_add_builtin(policy, &error), 0, "%s", error.text);
	cr_expect_eq(policy_add(policy, "mine.yaml", text, strlen(text), &error), -1,
		     "accepted:\n%s", text);
	cr_expect_not_null(strstr(error.text, expected), "\"%s\" is not in \"%s\"", expected,
			   error.text);
	cr_expect_not_null(strstr(error.text, "expected "), "%s", error.text);
	policy = policy_free(policy);
}

Test(config, what_is_said_of_all_profiles_is_in_the_plan)
{
	struct loaded loaded = load("default_profile: strict\n"
				    "run_as: sandboxes\n"
				    "limits: fallback\n"
				    "audit: optional\n"
				    "workspaces: [/srv/projects, /srv/more]\n"
				    "protect: [/srv/secrets]\n"
				    "unprotect: [/home/user/.dotfiles]\n");
	const struct plan_header *header = plan_header(&loaded.plan);

	cr_expect_str_eq(string(&loaded, header->file), "mine.yaml");
	cr_expect_str_eq(string(&loaded, header->default_profile), "strict");
	cr_expect_str_eq(string(&loaded, header->run_as), "sandboxes");
	cr_expect_eq(header->workspaces_size, sizeof("/srv/projects\0/srv/more"));
	cr_expect_eq(memcmp(string(&loaded, header->workspaces), "/srv/projects\0/srv/more",
			    header->workspaces_size),
		     0);
	cr_expect_eq(header->protect_size, sizeof("/srv/secrets"));
	cr_expect_str_eq(string(&loaded, header->protect), "/srv/secrets");
	cr_expect_eq(header->unprotect_size, sizeof("/home/user/.dotfiles"));
	cr_expect_str_eq(string(&loaded, header->unprotect), "/home/user/.dotfiles");
	cr_expect_eq(header->limits_fallback, 1);
	cr_expect_eq(header->audit_optional, 1);
	for (uint32_t i = 0; i < plan_profile_count(&loaded.plan); i++) {
		const struct plan_profile *profile = plan_profile(&loaded.plan, i);

		cr_expect_eq(profile->limits_fallback, 1);
		cr_expect_not_null(strstr(string(&loaded, profile->text),
					  "limits        fallback (mine.yaml:3)\n"));
	}
	unload(&loaded);
}

Test(config, the_audit_log_has_the_words_of_commands_where_the_file_says_so)
{
	static const struct {
		const char *text;
		uint32_t optional, words;
	} cases[] = {
		{ "audit: {commands: text}\n", 0, 1 },
		{ "audit: {commands: digest}\n", 0, 0 },
		{ "audit:\n  records: optional\n  commands: text\n", 1, 1 },
		{ "audit: {records: optional}\n", 1, 0 },
		{ "audit: {records: required}\n", 0, 0 },
		{ "audit: optional\n", 1, 0 },
		{ "limits: required\n", 0, 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct loaded loaded = load(cases[i].text);
		const struct plan_header *header = plan_header(&loaded.plan);

		cr_expect_eq(header->audit_optional, cases[i].optional, "%s", cases[i].text);
		cr_expect_eq(header->audit_text, cases[i].words, "%s", cases[i].text);
		unload(&loaded);
	}
}

Test(config, the_landlock_of_all_profiles_is_that_of_the_own_processes_too)
{
	struct loaded loaded =
		load("requirements: {landlock: 4}\n"
		     "profiles:\n"
		     "  - {name: mine, extends: strict}\n"
		     "  - {name: same, extends: strict, requirements: {landlock: 4}}\n");

	cr_assert_geq(plan_profile_find(&loaded.plan, "_helper"), 0);
	for (uint32_t i = 0; i < plan_profile_count(&loaded.plan); i++) {
		const struct plan_profile *profile = plan_profile(&loaded.plan, i);

		cr_expect_eq(profile->landlock_abi_min, 4, "%s", string(&loaded, profile->name));
		cr_expect_not_null(
			strstr(string(&loaded, profile->text), "landlock      4 (mine.yaml:1)\n"));
	}
	unload(&loaded);
}

Test(config, nothing_said_is_what_is_built_in)
{
	static const char *const texts[] = { "{}", "profiles: []\n",
					     "limits: required\naudit: required\n" };

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct loaded loaded = load(texts[i]);
		const struct plan_header *header = plan_header(&loaded.plan);

		cr_expect_str_eq(string(&loaded, header->default_profile), "default");
		cr_expect_eq(header->run_as, 0);
		cr_expect_eq(header->workspaces_size, 0);
		cr_expect_eq(header->protect_size, 0);
		cr_expect_eq(header->unprotect_size, 0);
		cr_expect_eq(header->limits_fallback, 0);
		cr_expect_eq(header->audit_optional, 0);
		cr_expect_eq(find(&loaded, "default")->limits_fallback, 0);
		unload(&loaded);
	}
}

Test(config, what_profiles_have_in_common_is_there_once)
{
	struct loaded loaded = load("profiles:\n"
				    "  - {name: twin, extends: default}\n"
				    "  - {name: other, extends: default, environment: [A=1]}\n");
	const struct plan_profile *first = find(&loaded, "default");
	const struct plan_profile *twin = find(&loaded, "twin");
	const struct plan_profile *other = find(&loaded, "other");

	cr_expect_eq(twin->mounts, first->mounts);
	cr_expect_eq(twin->filter, first->filter);
	cr_expect_eq(twin->environment, first->environment);
	cr_expect_eq(other->mounts, first->mounts);
	cr_expect_neq(other->environment, first->environment);
	cr_expect_neq(other->text, first->text);
	cr_expect_eq(twin->mounts % 8, 0);
	unload(&loaded);
}

/* Profiles with hosts have two records. */
Test(config, more_profiles_than_a_plan_has_are_refused)
{
	struct buffer text = { .bytes = NULL }, blob = { .bytes = NULL };
	struct policy *policy = policy_new();
	struct policy_error error = { .text = "" };

	buffer_format(&text, "audit: required\nprofiles:\n");
	for (int i = 0; i < 40; i++)
		buffer_format(&text,
			      "  - {name: number%d, extends: default, network: hosts, hosts: []}\n",
			      i);
	cr_assert_eq(policy_add_builtin(policy, &error), 0, "%s", error.text);
	cr_assert_eq(policy_add(policy, "mine.yaml", text.bytes, text.size, &error), 0, "%s",
		     error.text);
	cr_expect_eq(policy_compile(policy, &blob, &error), -1);
	cr_expect_not_null(strstr(error.text, "mine.yaml:2: profiles: too many, "), "%s",
			   error.text);
	cr_expect_not_null(strstr(error.text, "expected at most 64"), "%s", error.text);
	policy = policy_free(policy);
	buffer_done(&text);
	buffer_done(&blob);
}

Test(config, profiles_that_make_more_than_a_plan_holds_are_refused)
{
	struct buffer text = { .bytes = NULL }, blob = { .bytes = NULL };
	struct policy *policy = policy_new();
	struct policy_error error = { .text = "" };

	buffer_format(&text, "audit: required\nprofiles:\n");
	for (int i = 0; i < 53; i++)
		buffer_format(&text,
			      "  - {name: number%d, extends: default, environment: [A=%04700d]}\n",
			      i, i);
	cr_assert_eq(policy_add_builtin(policy, &error), 0, "%s", error.text);
	cr_assert_eq(policy_add(policy, "mine.yaml", text.bytes, text.size, &error), 0, "%s",
		     error.text);
	cr_expect_eq(policy_compile(policy, &blob, &error), -1);
	cr_expect_not_null(strstr(error.text, "mine.yaml:2: profiles: too much, a plan of "), "%s",
			   error.text);
	cr_expect_not_null(strstr(error.text, "expected at most 1048576"), "%s", error.text);
	policy = policy_free(policy);
	buffer_done(&text);
	buffer_done(&blob);
}

Test(config, without_a_file_the_plan_names_none)
{
	struct builtin builtin = builtin_open();

	cr_expect_eq(plan_header(&builtin.plan)->file, 0);
	builtin_close(&builtin);
}

/* clang-format off */
static const struct {
	const char *text;
	const char *expected;
} mistakes[] = {
	{ "profile: []\n", "mine.yaml:1: profile: unknown key; expected one of: default_profile, run_as, limits, audit, workspaces, protect, unprotect, offer, registries, sandboxes, images, requirements, agents, profiles" },
	{ "audit: required\naudit: required\n", "mine.yaml:2: audit: given twice" },
	{ "audit: maybe\n", "mine.yaml:1: audit: \"maybe\" is not known; expected required or optional" },
	{ "audit:\n", "mine.yaml:1: audit: \"\" is not known" },
	{ "audit: []\n", "mine.yaml:1: audit: expected a value, not a list" },
	{ "audit:\n  records: required\n  commands: full\n", "mine.yaml:3: audit.commands: \"full\" is not known; expected digest or text" },
	{ "audit: {commands: [text]}\n", "mine.yaml:1: audit.commands: expected a value, not a list" },
	{ "audit:\n  records: maybe\n", "mine.yaml:2: audit.records: \"maybe\" is not known; expected required or optional" },
	{ "audit:\n  commands: text\n  output: text\n", "mine.yaml:3: audit.output: unknown key; expected one of: records, commands" },
	{ "audit: {commands: text, commands: text}\n", "mine.yaml:1: audit.commands: given twice" },
	{ "audit.commands: text\n", "mine.yaml:1: audit.commands: unknown key; expected one of: default_profile" },
	{ EXTRA "audit: {commands: text}}]\n", "mine.yaml:1: profiles[0].audit: unknown key; expected one of: name" },
	{ "limits: cgroup\n", "mine.yaml:1: limits: \"cgroup\" is not known; expected required or fallback" },
	{ "limits: {memory: 1G}\n", "mine.yaml:1: limits: expected a value, not a set of keys" },
	{ "run_as: root\n", "mine.yaml:1: run_as: \"root\" is no account" },
	{ "run_as: 0\n", "mine.yaml:1: run_as: \"0\" is no account" },
	{ "run_as: ''\n", "mine.yaml:1: run_as: \"\" is no account" },
	{ "run_as: a/b\n", "mine.yaml:1: run_as: \"a/b\" is no account" },
	{ "run_as: [msp]\n", "mine.yaml:1: run_as: expected a value, not a list" },
	{ "audit: required\nworkspaces: [/a,\n  b]\n", "mine.yaml:3: workspaces[1]: \"b\" is not a path; expected an absolute path" },
	{ "workspaces: [/]\n", "mine.yaml:1: workspaces[0]: \"/\" is not a path" },
	{ "workspaces: [/a/../b]\n", "mine.yaml:1: workspaces[0]: \"/a/../b\" is not a path" },
	{ "workspaces: [/a, /a]\n", "mine.yaml:1: workspaces[1]: /a given twice" },
	{ "workspaces: []\n", "mine.yaml:1: workspaces: empty; expected absolute paths" },
	{ "workspaces: /a\n", "mine.yaml:1: workspaces: expected a list, not a value" },
	{ "protect: []\n", "mine.yaml:1: protect: empty" },
	{ "unprotect: [~/x]\n", "mine.yaml:1: unprotect[0]: \"~/x\" is not a path" },
	{ "protect: [a]\n", "mine.yaml:1: protect[0]: \"a\" is not a path" },
	{ "default_profile: mine\n", "mine.yaml:1: default_profile: there is no profile \"mine\"" },
	{ "default_profile: _helper\n", "mine.yaml:1: default_profile: there is no profile \"_helper\"" },
	{ "profiles:\n  - {name: a, extends: b}\n  - {name: b, extends: c}\n  - {name: c, extends: b}\n",
	  "mine.yaml:3: profiles[1].extends: leads back to itself, b -> c -> b; expected" },
	{ "profiles:\n  - {name: a, extends: default}\n  - {name: b, extends: default}\n  - {name: a, extends: default}\n",
	  "mine.yaml:4: profiles[2].name: there is a profile \"a\" in line 2 already" },
	{ "profiles:\n  - {name: a, extends: b}\n", "mine.yaml:2: profiles[0].extends: there is no profile \"b\"" },
	{ "limits: fallback\nprofiles:\n  - {name: a, extends: default, requirements: {limits: required}}\n",
	  "mine.yaml:3: profiles[0].requirements.limits: required, but line 1 accepts" },
	{ "requirements: {landlock: 4}\nprofiles:\n  - {name: a, extends: default, requirements: {landlock: 6}}\n",
	  "mine.yaml:3: profiles[0].requirements.landlock: 6, but line 1 requires 4 of all profiles" },
	{ "requirements: {landlock: 1}\n", "mine.yaml:1: requirements.landlock: 1 is out of range; expected 2 to 7" },
	{ "requirements: {landlock: old}\n", "mine.yaml:1: requirements.landlock: \"old\"" },
	{ "requirements: {limits: fallback}\n", "mine.yaml:1: requirements.limits: unknown key: for all profiles it stands at the top" },
	{ "requirements: 4\n", "mine.yaml:1: requirements: expected a set of keys, not a value" },
	{ EXTRA "network: {allow: [example.org]}}]\n", "mine.yaml:1: profiles[0].network: expected none, loopback or hosts; the list has a key of its own, hosts" },
	{ EXTRA "network: [example.org]}]\n", "mine.yaml:1: profiles[0].network: expected none, loopback or hosts" },
	{ EXTRA "network: allow}]\n", "mine.yaml:1: profiles[0].network: \"allow\" is not known; expected none, loopback or hosts" },
	{ EXTRA "environment: [A=1, B=1, A=2]}]\n", "mine.yaml:1: profiles[0].environment[2]: A given twice" },
	{ EXTRA "environment: [=1]}]\n", "mine.yaml:1: profiles[0].environment[0]: \"=1\" is not a variable" },
	/* keys of other tools */
	{ EXTRA "driver: bwrap}]\n", "mine.yaml:1: profiles[0].driver: unknown key: a sandbox is always msp's own; expected no such line" },
	{ EXTRA "driver: chroot}]\n", "mine.yaml:1: profiles[0].driver: unknown key: a sandbox is always msp's own; expected no such line" },
	{ EXTRA "driver: podman}]\n", "mine.yaml:1: profiles[0].driver: unknown key: msp runs images without podman; expected 'image: NAME' and 'extends: image', after 'msp image import FILE NAME'" },
	{ EXTRA "driver: docker}]\n", "mine.yaml:1: profiles[0].driver: unknown key: msp runs images without docker; expected 'image: NAME' and 'extends: image', after 'msp image import FILE NAME'" },
	{ EXTRA "driver: lima}]\n", "mine.yaml:1: profiles[0].driver: unknown key: a virtual machine is a profile; expected 'extends: vm'" },
	{ EXTRA "driver: qemu}]\n", "mine.yaml:1: profiles[0].driver: unknown key: a virtual machine is a profile; expected 'extends: vm'" },
	{ EXTRA "driver: other}]\n", "mine.yaml:1: profiles[0].driver: unknown key: a sandbox is always msp's own; expected no such line, or an 'image' or a 'runner'" },
	{ EXTRA "driver: [bwrap]}]\n", "mine.yaml:1: profiles[0].driver: unknown key: a sandbox is always msp's own; expected no such line, or an 'image' or a 'runner'" },
	{ EXTRA "runtime: runc}]\n", "mine.yaml:1: profiles[0].runtime: unknown key: msp starts its sandboxes itself; expected no such line" },
	{ EXTRA "container: {image: x}}]\n", "mine.yaml:1: profiles[0].container: unknown key: a container's image is a key of its own; expected 'image: NAME' and 'extends: image', after 'msp image import FILE NAME'" },
	{ EXTRA "dockerfile: Dockerfile}]\n", "mine.yaml:1: profiles[0].dockerfile: unknown key: msp builds no images; expected one of another tool, by 'image: NAME' and 'extends: image', after 'msp image import FILE NAME'" },
	{ EXTRA "volumes: [/a]}]\n", "mine.yaml:1: profiles[0].volumes: unknown key: directories of the host are entries of 'files'; expected such as {at: /data, from: /srv/data, kind: bind}" },
	{ EXTRA "mounts: []}]\n", "mine.yaml:1: profiles[0].mounts: unknown key: mounts are entries of 'files'; expected such as {at: /data, from: /srv/data, kind: bind}" },
	{ EXTRA "ports: [80]}]\n", "mine.yaml:1: profiles[0].ports: unknown key: no profile opens ports of the host; expected no such line, and 'msp bridge SANDBOX PORT'" },
	{ "driver: bwrap\n", "mine.yaml:1: driver: unknown key: a sandbox is always msp's own; expected no such line" },
	{ EXTRA "limits: {runtime: runc}}]\n", "mine.yaml:1: profiles[0].limits.runtime: unknown key; expected one of: memory" },
	{ "images: {disk: 1K}\n", "mine.yaml:1: images.disk: " },
	{ "images: {most: 1}\n", "mine.yaml:1: images.most: unknown key; expected one of: disk" },
	{ "sandboxes: {driver: bwrap}\n", "mine.yaml:1: sandboxes.driver: unknown key; expected one of: most, disk" },
	{ EXTRA "drivers: bwrap}]\n", "mine.yaml:1: profiles[0].drivers: unknown key; expected one of: name" },
	/* access */
	{ EXTRA "files: [{at: /x, kind: bind, access: all}]}]\n", "profiles[0].files[0].access: \"all\" is not known; expected read-only, copy-on-write or writable" },
	{ EXTRA "files: [{at: /x, kind: copy, access: read-only}]}]\n", "profiles[0].files[0].access: does not belong to kind copy" },
	{ EXTRA "files: [{at: /x, kind: bind, access: copy-on-write, inodes: 64}]}]\n", "profiles[0].files[0].size: missing; expected a value, which kind bind with access copy-on-write needs" },
	{ EXTRA "files: [{at: /x, kind: bind, access: copy-on-write, size: 1M}]}]\n", "profiles[0].files[0].inodes: missing" },
	{ EXTRA "files: [{at: /x, kind: bind, access: writable, size: 1M}]}]\n", "profiles[0].files[0].size: does not belong to kind bind without access copy-on-write" },
	{ EXTRA "files: [{at: /x, kind: bind, access: copy-on-write, size: 1M, inodes: 64, mode: 0700}]}]\n", "profiles[0].files[0].mode: does not belong" },
	{ EXTRA "files: [{at: /x, kind: overlay, size: 1M, inodes: 64}]}]\n", "profiles[0].files[0].kind: \"overlay\" is not known" },
	{ EXTRA "files: [{at: /x, kind: bind, access: copy-on-write, size: 1M, inodes: 64}, {at: /x/y, kind: directory}]}]\n", "profiles[0].files[1].at: /x/y: nothing can be put there" },
	/* seccomp */
	{ EXTRA "seccomp: {add: [trace, trace]}}]\n", "profiles[0].seccomp.add[1]: group trace given twice" },
	{ EXTRA "seccomp: {add: [mount]}}]\n", "profiles[0].seccomp.add[0]: group mount can never be allowed" },
	{ EXTRA "seccomp: {add: [modern]}}]\n", "profiles[0].seccomp.add[0]: group modern can never be allowed" },
	{ EXTRA "seccomp: {add: [dance]}}]\n", "profiles[0].seccomp.add[0]: \"dance\" is not a group" },
	{ EXTRA "seccomp: {remove: [trace]}}]\n", "profiles[0].seccomp.remove[0]: group trace is not allowed anyway" },
	{ EXTRA "seccomp: {remove: [network, network]}}]\n", "profiles[0].seccomp.remove[1]: group network given twice" },
	{ EXTRA "seccomp: {add: [network], remove: [network]}}]\n", "profiles[0].seccomp.add[0]: group network is removed as well; expected one of the two" },
	{ EXTRA "seccomp: {allow: [basic], add: [ipc]}}]\n", "profiles[0].seccomp.add: changes what the parent allows" },
	{ EXTRA "seccomp: {allow: [basic], remove: [ipc]}}]\n", "profiles[0].seccomp.remove: changes what the parent allows" },
	{ EXTRA "seccomp: {allow: []}}]\n", "profiles[0].seccomp.allow: empty; expected groups" },
	{ EXTRA "seccomp: {allow: [basic, basic]}}]\n", "profiles[0].seccomp.allow[1]: group basic given twice" },
	{ EXTRA "seccomp: {refuse: [fork, fork]}}]\n", "profiles[0].seccomp.refuse[1]: fork is refused already" },
	{ EXTRA "seccomp: {remove: [network], refuse: [socket]}}]\n", "profiles[0].seccomp.refuse[0]: socket is not allowed anyway" },
	{ "profiles: [{name: mine, seccomp: {add: [basic]}}]\n", "profiles[0].seccomp.add: there is no parent to change" },
};
/* clang-format on */

Test(config, a_mistake_names_file_line_key_and_what_was_expected)
{
	for (size_t i = 0; i < COUNT(mistakes); i++)
		expect_mistake(mistakes[i].text, mistakes[i].expected);
}

Test(config, profiles_extend_each_other_in_any_order)
{
	struct loaded loaded = load("profiles:\n"
				    "  - {name: grandchild, extends: child, limits: {pids: 10}}\n"
				    "  - {name: child, extends: mine, limits: {stack: 1M}}\n"
				    "  - {name: mine, extends: strict, limits: {pids: 9}}\n");
	const struct plan_profile *last = find(&loaded, "grandchild");
	const uint32_t builtin = plan_profile_count(&loaded.plan) - 3;

	cr_expect_eq(last->pids, 10);
	cr_expect_eq(last->stack_bytes, 1U << 20);
	cr_expect_eq(find(&loaded, "child")->pids, 9);
	cr_expect_eq(last->memory_bytes, find(&loaded, "strict")->memory_bytes);
	cr_expect_str_eq(string(&loaded, last->extends), "child");
	cr_expect_eq(last, plan_profile(&loaded.plan, builtin), "the file's order is kept");
	cr_expect_not_null(strstr(string(&loaded, last->text),
				  "\nextends: child (mine.yaml:2), mine (mine.yaml:3), strict "
				  "(mine.yaml:4), default (strict.yaml:"));
	unload(&loaded);
}

Test(config, groups_are_added_and_removed_and_say_where)
{
	struct loaded loaded = load("profiles:\n"
				    "  - name: mine\n"
				    "    extends: default\n"
				    "    seccomp:\n"
				    "      add:\n"
				    "        - trace\n"
				    "        - ipc\n"
				    "      remove:\n"
				    "        - \"@network\"\n"
				    "      refuse:\n"
				    "        - fork\n");
	const struct plan_profile *profile = find(&loaded, "mine");
	const struct plan_origin *origins = plan_group_origins(&loaded.plan, profile);
	const uint32_t trace = (uint32_t)seccomp_group_find("trace");
	const uint32_t ipc = (uint32_t)seccomp_group_find("ipc");
	const uint32_t network = (uint32_t)seccomp_group_find("network");
	const uint32_t basic = (uint32_t)seccomp_group_find("basic");
	const uint32_t kernel = (uint32_t)seccomp_group_find("kernel");
	static const uint64_t zeros[6];

	cr_expect_eq(origins[trace].line, 6);
	cr_expect_str_eq(string(&loaded, origins[ipc].file), "default.yaml", "allowed before");
	cr_expect_eq(origins[network].line, 9);
	cr_expect_str_eq(string(&loaded, origins[network].file), "mine.yaml");
	cr_expect_str_eq(string(&loaded, origins[basic].file), "default.yaml");
	cr_expect_str_eq(string(&loaded, origins[kernel].file), "default.yaml");
	cr_expect_lt(origins[kernel].line, origins[basic].line, "the line of the whole list");
	cr_expect_eq(profile->refuse_origin.line, 10);
	cr_expect_eq(builtin_answer(&loaded.plan, "mine", 101 /* ptrace */, zeros), FILTER_ALLOW);
	cr_expect_eq(builtin_answer(&loaded.plan, "default", 101, zeros), FILTER_NOTIFY);
	cr_expect_eq(builtin_answer(&loaded.plan, "mine", 29 /* shmget */, zeros), FILTER_ALLOW);
	cr_expect_eq(builtin_answer(&loaded.plan, "mine", 50 /* listen */, zeros), FILTER_NOTIFY);
	cr_expect_eq(builtin_answer(&loaded.plan, "default", 50, zeros), FILTER_ALLOW);
	cr_expect_eq(builtin_answer(&loaded.plan, "mine", 57 /* fork */, zeros), FILTER_NOTIFY);
	unload(&loaded);
}

Test(config, access_says_how_a_host_directory_is_mounted)
{
	struct loaded loaded =
		load("profiles:\n"
		     "  - name: mine\n"
		     "    extends: default\n"
		     "    files:\n"
		     "      - {at: /a, kind: bind, from: /srv/a}\n"
		     "      - {at: /b, kind: bind, from: /srv/b, access: read-only}\n"
		     "      - {at: /c, kind: bind, from: /srv/c, access: writable, noexec: true}\n"
		     "      - {at: /d, kind: bind, from: /srv/d, access: copy-on-write, size: 1M, "
		     "inodes: 64}\n"
		     "      - {at: /e, kind: copy, from: /srv/e}\n"
		     "      - {at: /f, kind: tmpfs, size: 1M, inodes: 64, mode: 0700}\n");
	const uint64_t always = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	const struct plan_mount *cow = mount_at(&loaded, "/d");

	cr_expect_eq(mount_at(&loaded, "/a")->attributes, always | MOUNT_ATTR_RDONLY);
	cr_expect_eq(mount_at(&loaded, "/b")->attributes, always | MOUNT_ATTR_RDONLY);
	cr_expect_eq(mount_at(&loaded, "/c")->attributes, always | MOUNT_ATTR_NOEXEC);
	cr_expect_eq(mount_at(&loaded, "/c")->kind, PLAN_BIND);
	cr_expect_eq(cow->kind, PLAN_OVERLAY);
	cr_expect_eq(cow->phase, PLAN_PHASE_SANDBOX);
	cr_expect_eq(cow->attributes, always);
	cr_expect_str_eq(string(&loaded, cow->source), "/srv/d");
	cr_expect_eq(cow->options_size, sizeof("size\0001048576\0nr_inodes\00064\0mode\0000755"));
	cr_expect_eq(memcmp(string(&loaded, cow->options),
			    "size\0001048576\0nr_inodes\00064\0mode\0000755", cow->options_size),
		     0);
	cr_expect_eq(cow[-1].kind, PLAN_DIRECTORY, "its mount point");
	unload(&loaded);
}

Test(config, a_copied_directory_needs_a_path_in_the_plan)
{
	struct loaded loaded = load(EXTRA "files: [{at: /d, kind: bind, access: copy-on-write, "
					  "size: 1M, inodes: 64}]}]\n");
	const struct plan_mount *cow = mount_at(&loaded, "/d");
	const size_t field = (size_t)((const char *)&cow->source - loaded.blob.bytes);
	const uint32_t no_path = find(&loaded, "mine")->name;
	struct plan plan;

	memcpy(loaded.blob.bytes + field, &no_path, sizeof(no_path));
	cr_expect_eq(plan_open(loaded.blob.bytes, loaded.blob.size, &plan), -EBADMSG);
	unload(&loaded);
}

/* The launcher opens what they lead to, and the factory mounts nothing else. */
Test(config, only_the_operators_paths_are_pinned)
{
	struct loaded loaded =
		load("profiles:\n"
		     "  - name: mine\n"
		     "    extends: default\n"
		     "    files:\n"
		     "      - {at: /opt, kind: bind, from: /srv/opt}\n"
		     "      - {at: /d, kind: bind, access: copy-on-write, size: 1M, inodes: 64}\n"
		     "      - {at: /e, kind: copy, optional: true}\n"
		     "      - {at: /f, kind: file, text: x}\n");
	const struct plan_profile *profile = find(&loaded, "mine");
	const struct plan_mount *mounts = plan_mounts(&loaded.plan, profile);
	uint32_t pinned = 0;

	for (uint32_t i = 0; i < profile->mount_count; i++)
		pinned += (mounts[i].flags & PLAN_PINNED) != 0;
	cr_expect_eq(pinned, 3);
	cr_expect_eq(mount_at(&loaded, "/etc/.packages")->flags, PLAN_OPTIONAL | PLAN_PACKAGES);
	cr_expect_eq(mount_at(&loaded, "/opt")->flags, PLAN_PINNED);
	cr_expect_eq(mount_at(&loaded, "/d")->flags, PLAN_PINNED);
	cr_expect_eq(mount_at(&loaded, "/e")->flags, PLAN_PINNED | PLAN_OPTIONAL);
	cr_expect_eq(mount_at(&loaded, "/usr")->flags, 0);
	unload(&loaded);
}

static const char changed[] =
	"profiles:\n"
	"  - name: mine\n"
	"    extends: default\n"
	"    description: changed\n"
	"    hostname: other\n"
	"    cwd: /tmp\n"
	"    shell: [/bin/sh, -c]\n"
	"    network: none\n"
	"    environment: [LANG=C, EXTRA=1]\n"
	"    files:\n"
	"      - {at: /etc/hostname, kind: file, text: \"othello\\n\"}\n"
	"      - {at: /a/b, kind: bind, from: /srv/a, access: writable}\n"
	"    landlock: [{path: /opt, rights: [read]}, {path: /a, rights: [write, read]}]\n"
	"    seccomp: {remove: [watch], add: [trace], refuse: [fork]}\n"
	"    limits: {pids: 10}\n"
	"    requirements: {landlock: 7, limits: fallback}\n"
	"    languages:\n"
	"      - {name: bash, program: /usr/bin/bash, file: /tmp/x.sh, run: [/usr/bin/bash, -e, "
	"\"{file}\"]}\n";

Test(config, diff_names_each_change_once_in_order)
{
	static const char expected[] =
		"- files: file      /etc/hostname 8 bytes, mode 0644, SHA-256 ea7ec57fa66bf8ac "
		"(default.yaml:54)\n"
		"+ files: file      /etc/hostname 8 bytes, mode 0644, SHA-256 d81f8bb8c451553f "
		"(mine.yaml:11)\n"
		"+ files: bind      /a/b from /srv/a writable (mine.yaml:12)\n"
		"- landlock: /opt          read execute (default.yaml:371)\n"
		"+ landlock: /opt          read (mine.yaml:13)\n"
		"+ landlock: /a            read write (mine.yaml:13)\n"
		"- seccomp: allowed watch (default.yaml:387)\n"
		"+ seccomp: refused watch (mine.yaml:14)\n"
		"- seccomp: refused trace (default.yaml:383)\n"
		"+ seccomp: allowed trace (mine.yaml:14)\n"
		"+ seccomp: refused call fork (mine.yaml:14)\n"
		"- limits: pids          256 (default.yaml:409)\n"
		"+ limits: pids          10 (mine.yaml:15)\n"
		"- requirements: landlock      6 (default.yaml:425)\n"
		"+ requirements: landlock      7 (mine.yaml:16)\n"
		"- requirements: limits        required (default.yaml:426)\n"
		"+ requirements: limits        fallback (mine.yaml:16)\n"
		"- environment: LANG=C.UTF-8 (default.yaml:19)\n"
		"+ environment: LANG=C (mine.yaml:9)\n"
		"+ environment: EXTRA=1 (mine.yaml:9)\n"
		"- languages: bash        /usr/bin/bash, code in /tmp/msp-code/main.sh: "
		"/usr/bin/bash {file} (default.yaml:523)\n"
		"+ languages: bash        /usr/bin/bash, code in /tmp/x.sh: /usr/bin/bash -e "
		"{file} "
		"(mine.yaml:18)\n"
		"- network: loopback (default.yaml:11)\n"
		"+ network: none (mine.yaml:8)\n"
		"- hostname: sandbox (default.yaml:8)\n"
		"+ hostname: other (mine.yaml:5)\n"
		"- cwd: /workspace (default.yaml:9)\n"
		"+ cwd: /tmp (mine.yaml:6)\n"
		"- shell: /bin/bash -c (default.yaml:10)\n"
		"+ shell: /bin/sh -c (mine.yaml:7)\n"
		"- description: code and tools without a network (default.yaml:7)\n"
		"+ description: changed (mine.yaml:4)\n";
	struct loaded loaded = load(changed);
	struct buffer text = { .bytes = NULL }, back = { .bytes = NULL }, none = { .bytes = NULL };

	policy_diff(policy_find(loaded.policy, "default"), policy_find(loaded.policy, "mine"),
		    &text);
	cr_expect_str_eq(text.bytes, expected);
	policy_diff(policy_find(loaded.policy, "mine"), policy_find(loaded.policy, "default"),
		    &back);
	cr_expect_eq(back.size, text.size, "the same lines the other way round");
	policy_diff(policy_find(loaded.policy, "mine"), policy_find(loaded.policy, "mine"), &none);
	cr_expect_eq(none.size, 0);
	buffer_done(&text);
	buffer_done(&back);
	unload(&loaded);
}

Test(config, what_is_shown_of_a_value_is_one_line)
{
	struct loaded loaded = load(EXTRA "environment: [\"A=x\\ny: z\\e[2J\"]}]\n");

	cr_expect_not_null(strstr(string(&loaded, find(&loaded, "mine")->text),
				  "\n  A=x\\x0ay: z\\x1b[2J (mine.yaml:1)\n"));
	unload(&loaded);
}

Test(config, a_file_that_others_can_change_is_not_the_operators)
{
	static const uid_t me = 1000;

	cr_expect_null(config_file_problem(S_IFREG | 0644, me, me));
	cr_expect_null(config_file_problem(S_IFREG | 0600, 0, me));
	cr_expect_null(config_file_problem(S_IFREG | 0400, 0, 0));
	cr_expect_not_null(strstr(config_file_problem(S_IFREG | 0664, me, me), "chmod go-w"));
	cr_expect_not_null(strstr(config_file_problem(S_IFREG | 0646, 0, me), "chmod go-w"));
	cr_expect_not_null(strstr(config_file_problem(S_IFREG | 0620, me, me), "expected"));
	cr_expect_not_null(strstr(config_file_problem(S_IFREG | 0644, 1001, me), "chown"));
	cr_expect_not_null(strstr(config_file_problem(S_IFREG | 0644, me, 0), "another user"));
	cr_expect_not_null(strstr(config_file_problem(S_IFDIR | 0755, me, me), "regular"));
	cr_expect_not_null(strstr(config_file_problem(S_IFIFO | 0600, me, me), "regular"));
}
