/* SPDX-License-Identifier: Apache-2.0
 *
 * YAML files, right and wrong. A mistake names file, line, key and what was expected.
 */
#include "policy/write/compile.h"
#include "policy/write/show.h"
#include "support.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* `text` with the first `from` replaced by `to`. */
static char *edit(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	struct buffer edited = { .bytes = NULL };

	cr_assert_not_null(at, "%s", from);
	buffer_append(&edited, text, (size_t)(at - text));
	buffer_format(&edited, "%s%s", to, at + strlen(from));
	return edited.bytes;
}

static void expect_mistake(const char *text, size_t size, const char *const parts[3])
{
	struct policy_error error = { .text = "" };
	struct policy *policy = policy_new();

	cr_assert_eq(policy_add_builtin(policy, &error), 0, "%s", error.text);
	cr_expect_eq(policy_add(policy, "mine.yaml", text, size, &error), -1, "accepted:\n%s",
		     text);
	for (int i = 0; i < 3 && parts[i] != NULL; i++)
		cr_expect_not_null(strstr(error.text, parts[i]), "\"%s\" is not in \"%s\"",
				   parts[i], error.text);
	cr_expect_not_null(strstr(error.text, "expected "), "%s", error.text);
	policy = policy_free(policy);
}

/* The same of the keys of a profile. */
static void expect_mistaken_keys(const char *keys, const char *const parts[3])
{
	char *text = config_of(keys);

	expect_mistake(text, strlen(text), parts);
	free(text);
}

/* The policy with the profile of these keys. */
static struct policy *expect_right(const char *keys)
{
	char *text = config_of(keys);
	struct policy_error error = { .text = "" };
	struct policy *policy = policy_new();
	struct buffer blob = { .bytes = NULL };
	struct plan plan;

	cr_assert_eq(policy_add_builtin(policy, &error), 0, "%s", error.text);
	cr_assert_eq(policy_add(policy, "mine.yaml", text, strlen(text), &error), 0, "%s",
		     error.text);
	cr_assert_eq(policy_compile(policy, &blob, &error), 0, "%s", error.text);
	cr_assert_eq(plan_open(blob.bytes, blob.size, &plan), 0);
	buffer_done(&blob);
	free(text);
	return policy;
}

static bool fits(const struct key *key)
{
	uint32_t holes = 0;

	switch (key->type) {
	case TYPE_TEXT:
		return key->kept_bytes == 0 || key->kept_bytes == sizeof(char *);
	case TYPE_TEXTS:
		return key->kept_bytes == 0 || key->kept_bytes == sizeof(struct strings);
	case TYPE_ENTRIES:
	case TYPE_KEYS:
		return key->kept_bytes == 0 && key->keys != SET_file;
	case TYPE_WORD:
		for (uint64_t i = 0; i < key->most; i++)
			holes += key->words[i] == NULL;
		return holes <= 1 && (holes == 0 || key->words[0] == NULL) &&
		       (key->kept_bytes == 1 || key->kept_bytes == 4);
	default:
		return key->kept_bytes == 8 || (key->kept_bytes == 4 && key->most <= UINT32_MAX);
	}
}

Test(profile, each_value_fits_the_field_that_keeps_it)
{
	for (enum key_id key = 0; key < KEY_COUNT; key++) {
		cr_expect(fits(&key_table[key]), "%s", key_table[key].name);
		cr_expect_eq(key_find(key_table[key].of, key_table[key].name), key,
			     "%s stands twice", key_table[key].name);
	}
}

Test(profile, a_complete_file_is_accepted)
{
	struct policy *policy = expect_right(good_profile);
	const struct profile *profile = policy_find(policy, "mine");

	cr_assert_not_null(profile);
	cr_expect_str_eq(profile->hostname, "box");
	cr_expect_eq(profile->network, NETWORK_NONE);
	cr_expect_eq(profile->numbers.memory_bytes, 64U << 20);
	cr_expect_eq(profile->numbers.wall_max_ms, 2000);
	policy = policy_free(policy);
}

struct mistake {
	const char *from; /* in good_profile */
	const char *to;
	const char *parts[3];
};

/* clang-format off */
static const struct mistake mistakes[] = {
	/* shape */
	{ "name: mine", "name: mine\ncolour: red", { "mine.yaml:3: profiles[0].colour: unknown key", "expected one of: name, extends" } },
	{ "  memory: 64M", "  memory: 64M\n  swap: 1G", { "mine.yaml:18: profiles[0].limits.swap: unknown key", "memory, memory_share, file_size" } },
	{ "kind: bind", "kind: bind, owner: 0", { "mine.yaml:10: profiles[0].files[0].owner: unknown key", "at, kind, from" } },
	{ "  allow: [basic]", "  allow: [basic]\n  trap: [x]", { "seccomp.trap: unknown key", "allow, add, remove, refuse" } },
	{ "limits: required}", "limits: required, kernel: 6}", { "requirements.kernel: unknown key", "landlock, limits" } },
	{ "    file: /site/code/main.sh", "    path: /x", { "mine.yaml:33: profiles[0].languages[0].path: unknown key", "program" } },
	{ "[read, execute]}", "[read, execute], deny: x}", { "mine.yaml:13: profiles[0].landlock[0].deny: unknown key", "path, rights" } },
	{ "name: mine", "name: [mine]", { "mine.yaml:2: profiles[0].name: expected a value, not a list" } },
	{ "hostname: box", "hostname: {a: b}", { "mine.yaml:4: profiles[0].hostname: expected a value, not a set of keys" } },
	{ "environment: [HOME=/site]", "environment: HOME=/site", { "mine.yaml:8: profiles[0].environment: expected a list, not a value" } },
	{ "requirements: {landlock: 6, limits: required}", "requirements: 6", { "mine.yaml:29: profiles[0].requirements: expected a set of keys, not a value" } },
	{ "  allow: [basic]", "  allow: [[basic]]", { "mine.yaml:15: profiles[0].seccomp.allow[0]: expected a value, not a list" } },
	{ "hostname: box", "hostname: box\nhostname: box2", { "mine.yaml:5: profiles[0].hostname: given twice" } },
	{ "  pids: 8", "  pids: 8\n  pids: 9", { "mine.yaml:22: profiles[0].limits.pids: given twice" } },
	{ "hostname: box", "hostname: 'box", { "mine.yaml:", "not YAML" } },
	{ "hostname: box", "hostname: box\n\tx: y", { "mine.yaml:", "not YAML", "tab" } },
	{ "hostname: box", "hostname: &x box", { "mine.yaml:4: profiles[0].hostname: has an anchor or a tag" } },
	{ "hostname: box", "hostname: *x", { "mine.yaml:4: profiles[0].hostname: stands for an anchor" } },
	{ "hostname: box", "hostname: !!str box", { "mine.yaml:4: profiles[0].hostname: has an anchor or a tag" } },
	{ "hostname: box", "hostname: \"b\\0x\"", { "mine.yaml:4: profiles[0].hostname: holds a NUL" } },
	{ "hostname: box", "? [a]\n: b", { "mine.yaml:4: profiles[0]: a key is no single value" } },
	{ "network: none", "network: [[[[[[[[[x]]]]]]]]]", { "mine.yaml:7: profiles[0].network", "nested too deeply" } },
	/* names and texts */
	{ "name: mine", "name: Mine", { "mine.yaml:2: profiles[0].name: \"Mine\" is not a name" } },
	{ "name: mine", "name: ''", { "mine.yaml:2: profiles[0].name: \"\" is not a name" } },
	{ "name: mine\n", "", { "mine.yaml:2: profiles[0].name: missing" } },
	{ "name: mine", "name: _mine", { "mine.yaml:2: profiles[0].name: \"_mine\"", "name of the program's own" } },
	{ "name: mine", "name: default", { "mine.yaml:2: profiles[0].name: there is a built-in profile \"default\"" } },
	{ "name: mine", "name: mine\nextends: nobody", { "mine.yaml:3: profiles[0].extends: there is no profile \"nobody\"" } },
	{ "name: mine", "name: mine\nextends: _helper", { "mine.yaml:3: profiles[0].extends: there is no profile \"_helper\"" } },
	{ "name: mine", "name: mine\nextends: mine", { "mine.yaml:3: profiles[0].extends: leads back to itself, mine -> mine" } },
	{ "description: for tests", "description: \"a\\nb\"", { "mine.yaml:3: profiles[0].description: expected one line" } },
	{ "description: for tests\n", "", { "mine.yaml:2: profiles[0].description: missing" } },
	{ "hostname: box", "hostname: my box", { "mine.yaml:4: profiles[0].hostname: \"my box\" is not a host name" } },
	{ "cwd: /site", "cwd: work", { "mine.yaml:5: profiles[0].cwd: \"work\" is not a path; expected an absolute path" } },
	{ "cwd: /site", "cwd: /site/../usr", { "mine.yaml:5: profiles[0].cwd: ", "without empty parts" } },
	{ "cwd: /site", "cwd: /elsewhere", { "mine.yaml:5: profiles[0].cwd: /elsewhere is not made by any entry" } },
	{ "shell: [/bin/sh, -c]", "shell: [sh, -c]", { "mine.yaml:6: profiles[0].shell: expected the shell's absolute path" } },
	{ "shell: [/bin/sh, -c]", "shell: []", { "mine.yaml:6: profiles[0].shell: " } },
	{ "network: none", "network: host", { "mine.yaml:7: profiles[0].network: \"host\"", "expected none, loopback or hosts" } },
	{ "network: none\n", "", { "network: missing" } },
	{ "HOME=/site", "HOME", { "mine.yaml:8: profiles[0].environment[0]: \"HOME\" is not a variable", "NAME=value" } },
	{ "HOME=/site", "1A=b", { "mine.yaml:8: profiles[0].environment[0]: \"1A=b\" is not a variable" } },
	/* files */
	{ "at: /usr, ", "", { "mine.yaml:10: profiles[0].files[0].at: missing; expected a path in the sandbox" } },
	{ "at: /usr, ", "at: usr, ", { "mine.yaml:10: profiles[0].files[0].at: \"usr\" is not a path; expected an absolute path" } },
	{ "at: /usr, ", "at: /usr/, ", { "mine.yaml:10: profiles[0].files[0].at" } },
	{ "at: /usr, ", "at: /, ", { "mine.yaml:10: profiles[0].files[0].at" } },
	{ "kind: bind", "kind: mount", { "mine.yaml:10: profiles[0].files[0].kind: \"mount\" is not known; expected directory" } },
	{ ", kind: bind", "", { "mine.yaml:10: profiles[0].files[0].kind: missing; expected directory" } },
	{ "kind: bind", "kind: bind, size: 1M", { "mine.yaml:10: profiles[0].files[0].size: does not belong to kind bind" } },
	{ "kind: bind", "kind: bind, from: usr", { "mine.yaml:10: profiles[0].files[0].from: \"usr\" is not a path; expected an absolute path" } },
	{ "kind: bind", "kind: bind, optional: yes", { "mine.yaml:10: profiles[0].files[0].optional: \"yes\" is not known; expected true or false" } },
	{ "kind: bind", "kind: copy, noexec: true", { "files[0].noexec: does not belong to kind copy" } },
	{ "kind: bind", "kind: symlink", { "mine.yaml:10: profiles[0].files[0].to: missing; expected a value, which kind symlink needs" } },
	{ "kind: bind", "kind: device", { "mine.yaml:10: profiles[0].files[0].device: missing" } },
	{ "kind: bind", "kind: device, device: 13", { "files[0].device: \"13\" is not a device number; expected MAJOR:MINOR" } },
	{ "kind: bind", "kind: device, device: '1:x'", { "files[0].device: \"1:x\" is not a device number" } },
	{ "size: 1M, ", "", { "mine.yaml:11: profiles[0].files[1].size: missing; expected a value, which kind tmpfs needs" } },
	{ "size: 1M, ", "size: 1X, ", { "mine.yaml:11: profiles[0].files[1].size: \"1X\" is not understood or too small; expected a size" } },
	{ "size: 1M, ", "size: 0, ", { "mine.yaml:11: profiles[0].files[1].size: \"0\" is not understood or too small; expected a size of at least 64K" } },
	{ "inodes: 1K", "inodes: 0", { "mine.yaml:11: profiles[0].files[1].inodes: \"0\"" } },
	{ "mode: 0700", "mode: 0800", { "mine.yaml:11: profiles[0].files[1].mode: \"0800\" is not a mode" } },
	{ "mode: 0700", "mode: 4755", { "mine.yaml:11: profiles[0].files[1].mode: \"4755\" has set-ID bits" } },
	{ "at: /site, ", "at: /usr, ", { "mine.yaml:11: profiles[0].files[1].at: \"/usr\" has an entry already" } },
	{ "at: /site, ", "at: /usr/site, ", { "mine.yaml:11: profiles[0].files[1].at: /usr/site", "not inside an entry of kind bind" } },
	{ "kind: bind", "kind: mask", { "files[0].at: /usr: nothing to mask; expected a place inside proc or a bind" } },
	/* landlock and seccomp */
	{ "{path: /usr, ", "{", { "mine.yaml:13: profiles[0].landlock[0].path: missing" } },
	{ "{path: /usr, ", "{path: usr, ", { "mine.yaml:13: profiles[0].landlock[0].path: \"usr\"" } },
	{ "[read, execute]", "[read, all]", { "mine.yaml:13: profiles[0].landlock[0].rights: \"all\" is not known; expected list, read" } },
	{ "[read, execute]", "[]", { "mine.yaml:13: profiles[0].landlock[0].rights: missing" } },
	{ "  - {path: /usr, rights: [read, execute]}\n", "  - {path: /usr, rights: [read]}\n  - {path: /usr, rights: [list]}\n", { "mine.yaml:14: profiles[0].landlock[1].path: /usr given twice" } },
	{ "landlock:\n  - {path: /usr, rights: [read, execute]}\n", "", { "landlock: missing" } },
	{ "allow: [basic]", "allow: [basic, debugging]", { "mine.yaml:15: profiles[0].seccomp.allow[1]: \"debugging\" is not a group" } },
	{ "allow: [basic]", "allow: [basic, mount]", { "mine.yaml:15: profiles[0].seccomp.allow[1]: group mount can never be allowed" } },
	{ "allow: [basic]", "allow: [modern]", { "mine.yaml:15: profiles[0].seccomp.allow[0]: group modern can never be allowed" } },
	{ "allow: [basic]", "allow: []", { "mine.yaml:15: profiles[0].seccomp.allow: empty; expected groups" } },
	{ "allow: [basic]", "allow: [basic]\n  refuse: [dance]", { "mine.yaml:16: profiles[0].seccomp.refuse[0]: \"dance\" is not a system call" } },
	{ "allow: [basic]", "allow: [basic]\n  refuse: [socket]", { "mine.yaml:16: profiles[0].seccomp.refuse[0]: socket is not allowed anyway, its group is network" } },
	/* limits and requirements */
	{ "memory: 64M", "memory: lots", { "mine.yaml:17: profiles[0].limits.memory: \"lots\" is not understood; expected a size" } },
	{ "memory: 64M", "memory: 1M", { "mine.yaml:17: profiles[0].limits.memory: 1M is out of range; expected 16M to 1T" } },
	{ "memory: 64M", "memory:", { "mine.yaml:17: profiles[0].limits.memory: \"\" is not understood" } },
	{ "  memory: 64M\n", "", { "mine.yaml:16: profiles[0].limits.memory: missing; expected a size" } },
	{ "output: 0", "output: -1", { "mine.yaml:19: profiles[0].limits.output: \"-1\" is not understood" } },
	{ "log: 64K", "log: 63K", { "mine.yaml:20: profiles[0].limits.log: 63K is out of range; expected 64K to 64M" } },
	{ "log: 64K", "log: 65M", { "mine.yaml:20: profiles[0].limits.log: 65M is out of range" } },
	{ "  log: 64K\n", "", { "limits.log: missing; expected a size" } },
	{ "pids: 8", "pids: 0", { "mine.yaml:21: profiles[0].limits.pids: 0 is out of range; expected 4 to 32768" } },
	{ "pids: 8", "pids: 8K", { "mine.yaml:21: profiles[0].limits.pids: \"8K\" is not understood; expected a whole number" } },
	{ "open_files: 64", "open_files: 4294967296", { "mine.yaml:22: profiles[0].limits.open_files: 4294967296 is out of range" } },
	{ "cpu_seconds: 0s", "cpu_seconds: 1500ms", { "mine.yaml:25: profiles[0].limits.cpu_seconds: \"1500ms\" is not understood; expected whole seconds" } },
	{ "wall_default: 1s", "wall_default: 1", { "mine.yaml:26: profiles[0].limits.wall_default: \"1\" is not understood; expected a time" } },
	{ "wall_default: 1s", "wall_default: 3s", { "mine.yaml:26: profiles[0].limits.wall_default: greater than limits.wall_max" } },
	{ "wall_max: 2s", "wall_max: 25h", { "mine.yaml:27: profiles[0].limits.wall_max: 25h is out of range; expected 100ms to 24h" } },
	{ "stack: 1M", "stack: 1K", { "mine.yaml:28: profiles[0].limits.stack: 1K is out of range" } },
	{ "landlock: 6", "landlock: 1", { "mine.yaml:29: profiles[0].requirements.landlock: 1 is out of range; expected 2 to 7" } },
	{ "landlock: 6", "landlock: 8", { "mine.yaml:29: profiles[0].requirements.landlock: 8 is out of range; expected 2 to 7" } },
	{ "limits: required", "limits: cgroup", { "mine.yaml:29: profiles[0].requirements.limits: \"cgroup\" is not known; expected required or fallback" } },
	{ "landlock: 6, ", "", { "mine.yaml:29: profiles[0].requirements.landlock: missing" } },
	{ "requirements: {landlock: 6, limits: required}\n", "", { "requirements.landlock: missing" } },
	/* languages */
	{ "languages:\n", "languages:\n  - {name: sh, program: /usr/bin/sh, file: /site/x, run: [/usr/bin/sh, \"{file}\"]}\n", { "mine.yaml:32: profiles[0].languages[1].name: given twice with this program" } },
	{ "- name: sh", "- name: Shell!", { "mine.yaml:31: profiles[0].languages[0].name: expected a short name" } },
	{ "program: /usr/bin/sh", "program: sh", { "mine.yaml:32: profiles[0].languages[0].program: expected the absolute path" } },
	{ "    file: /site/code/main.sh\n", "", { "languages[0].file: expected the absolute path" } },
	{ "file: /site/code/main.sh", "file: /usr/code/main.sh", { "languages: sh: /usr/code/main.sh is not inside a tmpfs" } },
	{ "[/usr/bin/sh, \"{file}\"]", "[/usr/bin/sh]", { "mine.yaml:34: profiles[0].languages[0].run: expected exactly one argument \"{file}\", by itself; a program that takes it otherwise is started by a shell: [/bin/sh, -c, '... \"$0\" \"$@\"', \"{file}\"]" } },
	{ "[/usr/bin/sh, \"{file}\"]", "[/usr/bin/sh, \"{file}\", \"{file}\"]", { "mine.yaml:34: profiles[0].languages[0].run: expected exactly one argument \"{file}\", by itself; a program that takes it otherwise is started by a shell: [/bin/sh, -c, '... \"$0\" \"$@\"', \"{file}\"]" } },
	{ "[/usr/bin/sh, \"{file}\"]", "[/usr/bin/sh, -c, \". {file}\"]", { "mine.yaml:34: profiles[0].languages[0].run: expected exactly one argument \"{file}\", by itself; a program that takes it otherwise is started by a shell: [/bin/sh, -c, '... \"$0\" \"$@\"', \"{file}\"]" } },
	{ "[/usr/bin/sh, \"{file}\"]", "[sh, \"{file}\"]", { "mine.yaml:34: profiles[0].languages[0].run: expected a command line that begins with an absolute path" } },
	{ "    program: /usr/bin/sh\n", "    program: /usr/bin/sh\n    ahead: yes\n", { "mine.yaml:33: profiles[0].languages[0].ahead: \"yes\" is not known; expected true or false" } },
	{ "    program: /usr/bin/sh\n", "    program: /usr/bin/sh\n    ahead: \"1\"\n", { "mine.yaml:33: profiles[0].languages[0].ahead: \"1\" is not known; expected true or false" } },
	{ "    program: /usr/bin/sh\n", "    program: /usr/bin/sh\n    ahead: [true]\n", { "languages[0].ahead: expected a value, not a list" } },
	{ "    program: /usr/bin/sh\n", "    program: /usr/bin/sh\n    aliases: [B C]\n", { "mine.yaml:33: profiles[0].languages[0].aliases: expected short names" } },
};
/* clang-format on */

Test(profile, a_mistake_names_file_line_key_and_what_was_expected)
{
	for (size_t i = 0; i < COUNT(mistakes); i++) {
		char *keys = edit(good_profile, mistakes[i].from, mistakes[i].to);

		expect_mistaken_keys(keys, mistakes[i].parts);
		free(keys);
	}
}

Test(profile, files_that_are_no_configuration)
{
	static const struct {
		const char *text;
		const char *parts[3];
	} files[] = {
		{ "", { "mine.yaml:1: empty; expected keys, such as profiles" } },
		{ "# nothing\n", { "empty; expected keys" } },
		{ "~", { "mine.yaml:1: no set of keys; expected keys" } },
		{ "hello", { "mine.yaml:1: no set of keys; expected keys" } },
		{ "- a\n- b\n", { "mine.yaml:1: no set of keys; expected keys" } },
		{ "profiles: []\n---\nprofiles: []\n", { "mine.yaml:2: a second document" } },
		{ "name: mine\n",
		  { "mine.yaml:1: name: unknown key", "default_profile, run_as, limits" } },
		{ "profiles: {name: mine}\n", { "mine.yaml:1: profiles: expected a list" } },
		{ "profiles: [mine]\n", { "mine.yaml:1: profiles[0]: expected a set of keys" } },
		{ "profiles: [{}]\n", { "mine.yaml:1: profiles[0].name: missing" } },
		{ "\xff\xfe\x01", { "mine.yaml:1: not YAML" } },
		{ "name: \xc3\x28\n", { "not YAML" } },
	};

	for (size_t i = 0; i < COUNT(files); i++)
		expect_mistake(files[i].text, strlen(files[i].text), files[i].parts);
	expect_mistake("run_as: a\0b\n", 12, (const char *const[3]){ "not YAML", NULL, NULL });
}

/* What a file says is quoted, whatever it is; the message stays one line that a terminal can show.
 */
Test(profile, a_mistake_is_told_in_one_line_of_text)
{
	static const char *const texts[] = {
		"na\tme: mine\n",
		"profiles: [{name: \"mine\\nfine\"}]\n",
		"profiles: [{name: mine, extends: \"\\e[2J\"}]\n",
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct policy_error error = { .text = "" };
		struct policy *policy = policy_new();

		cr_assert_eq(policy_add(policy, "mine.yaml", texts[i], strlen(texts[i]), &error),
			     -1);
		for (const char *at = error.text; *at != '\0'; at++)
			cr_expect((unsigned char)*at >= ' ' && *at != 0x7f, "%s", error.text);
		policy = policy_free(policy);
	}
}

Test(profile, too_much_is_refused)
{
	struct buffer text = { .bytes = NULL };

	buffer_format(&text, "audit: required\n");
	while (text.size <= SOURCE_BYTES_MAX)
		buffer_format(&text, "# %060d\n", 0);
	expect_mistake(text.bytes, text.size,
		       (const char *const[3]){ "mine.yaml:1: too long; expected at most 262144",
					       NULL, NULL });
	buffer_done(&text);

	buffer_format(&text, "name: mine\nextends: default\nfiles:\n");
	for (int i = 0; i < 100; i++)
		buffer_format(&text, "  - {at: /many/number%d, kind: directory}\n", i);
	expect_mistaken_keys(text.bytes, (const char *const[3]){ "entr", NULL, NULL });
	buffer_done(&text);

	buffer_format(&text, "name: mine\nextends: default\nenvironment:\n");
	for (int i = 0; i < 60; i++)
		buffer_format(&text, "  - A%d=x\n", i);
	expect_mistaken_keys(text.bytes,
			     (const char *const[3]){ "environment[", "expected at most 64", NULL });
	buffer_done(&text);

	buffer_format(&text, "name: mine\nextends: default\nenvironment:\n  - A=%013000d\n", 1);
	expect_mistaken_keys(text.bytes,
			     (const char *const[3]){ "expected at most 12288", NULL, NULL });
	buffer_done(&text);

	buffer_format(&text, "profiles:\n");
	for (int i = 0; i < 65; i++)
		buffer_format(&text, "  - {name: number%d, extends: default}\n", i);
	expect_mistake(text.bytes, text.size,
		       (const char *const[3]){ "mine.yaml:1: profiles: too many entries",
					       "expected at most 64", NULL });
	buffer_done(&text);
}

Test(profile, a_child_overrides_and_inherits)
{
	struct policy *policy =
		expect_right("name: mine\n"
			     "extends: strict\n"
			     "environment: [LANG=C, EXTRA=1]\n"
			     "files:\n"
			     "  - {at: /tmp, kind: tmpfs, size: 1M, inodes: 64, mode: 1777}\n"
			     "  - {at: /data, kind: bind, from: /srv/data, optional: true}\n"
			     "landlock: [{path: /data, rights: [read]}]\n"
			     "seccomp: {refuse: [fork]}\n"
			     "limits: {pids: 10}\n"
			     "requirements: {limits: fallback}\n");
	const struct profile *child = policy_find(policy, "mine");
	const struct profile *parent = policy_find(policy, "strict");

	cr_expect_str_eq(child->description, parent->description);
	cr_expect_eq(child->numbers.pids, 10);
	cr_expect_eq(child->numbers.memory_bytes, parent->numbers.memory_bytes);
	cr_expect_eq(child->numbers.limits_fallback, 1);
	cr_expect_eq(parent->numbers.limits_fallback, 0);
	cr_expect_eq(child->mount_count, parent->mount_count + 1);
	cr_expect_eq(child->rule_count, parent->rule_count + 1);
	cr_expect_eq(child->environment_count, parent->environment_count + 1);
	cr_expect_eq(seccomp_allowed_count(&child->seccomp),
		     seccomp_allowed_count(&parent->seccomp) - 1);
	policy = policy_free(policy);
}

Test(profile, parents_are_implied_in_order)
{
	char *text = edit(good_profile, "kind: bind}",
			  "kind: bind}\n"
			  "  - {at: /a/b/c, kind: file, text: x}\n"
			  "  - {at: /a/d, kind: symlink, to: b}");
	struct policy *policy = expect_right(text);
	const struct profile *profile = policy_find(policy, "mine");
	static const char *const targets[] = { "/usr", "/a",    "/a/b", "/a/b/c",
					       "/a/d", "/site", "/site" };

	cr_assert_eq(profile->mount_count, COUNT(targets));
	for (uint32_t i = 0; i < profile->mount_count; i++)
		cr_expect_str_eq(profile->mounts[i].target, targets[i]);
	cr_expect(profile->mounts[1].is_implied && profile->mounts[1].mode == 0755);
	cr_expect_eq(profile->mounts[5].kind, PLAN_DIRECTORY);
	cr_expect_eq(profile->mounts[6].kind, PLAN_TMPFS);
	policy = policy_free(policy);
	free(text);
}

Test(profile, one_name_means_one_language)
{
	static const char again[] = "languages:\n"
				    "  - name: other\n"
				    "    aliases: [sh]\n"
				    "    program: /usr/bin/other\n"
				    "    file: /site/code/main.other\n"
				    "    run: [/usr/bin/other, \"{file}\"]\n";
	char *text = edit(good_profile, "languages:\n", again);

	expect_mistaken_keys(text,
			     (const char *const[3]){ "\"sh\" means two languages", NULL, NULL });
	free(text);
}

Test(profile, what_is_shown_names_what_counts_and_where_it_is_said)
{
	static const char *const lines[] = {
		"name: mine (mine.yaml:2)\n",
		"hostname: box (mine.yaml:4)\n",
		"network: none (mine.yaml:7)\n",
		"  HOME=/site (mine.yaml:8)\n",
		"  bind      /usr (mine.yaml:10)\n",
		"  tmpfs     /site size 1M, inodes 1K, mode 0700 (mine.yaml:11)\n",
		"  directory /site mode 0755\n",
		"files, TCP, scopes",
		"  /usr          read execute (mine.yaml:13)\n",
		"  allowed basic (mine.yaml:15)\n",
		"  memory        64M (mine.yaml:17)\n",
		"  cpu_seconds   0s (mine.yaml:25)\n",
		"  landlock      6 (mine.yaml:29)\n",
		"  limits        required (mine.yaml:29)\n",
		"  sh          /usr/bin/sh (mine.yaml:31)\n",
		"basic: allowed (mine.yaml:15)\n",
		"network: EPERM (mine.yaml:15)\n",
		"modern: ENOSYS\n",
	};
	struct policy *policy = expect_right(good_profile);
	struct buffer text = { .bytes = NULL };

	policy_show(policy_find(policy, "mine"), &text);
	policy_show_seccomp(policy_find(policy, "mine"), &text);
	policy_show_groups(&text);
	for (size_t i = 0; i < COUNT(lines); i++)
		cr_expect_not_null(strstr(text.bytes, lines[i]), "%s is not in:\n%s", lines[i],
				   text.bytes);
	cr_expect_null(strstr(text.bytes, "extends"));
	buffer_done(&text);
	policy = policy_free(policy);
}
