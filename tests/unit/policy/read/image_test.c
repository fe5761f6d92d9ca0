/* SPDX-License-Identifier: Apache-2.0
 *
 * The tree of an image, asked layer by layer, and what a profile has of it in the plan.
 */
#include "policy/read/images.h"
#include "policy/read/seccomp_groups.h"
#include "policy/write/compile.h"
#include "support.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LOW "1111000000000000000000000000000000000000000000000000000000000000"
#define HIGH "2222000000000000000000000000000000000000000000000000000000000000"
#define DIGEST "abcd000000000000000000000000000000000000000000000000000000000000"

#define PROFILE "profiles:\n  - {name: mine, extends: image, image: 'it:1'"

static char folder[] = "/tmp/msp-test-XXXXXX";
static struct images *images;
static const struct images_entry *tree;
static char host[PATH_MAX];
static char text[IMAGE_TEXT_MAX];

/* A path in a layer, or in the store itself. */
static const char *in(const char *layer, const char *path)
{
	static char full[PATH_MAX];

	(void)snprintf(full, sizeof(full), "%s/%s%s%s%s", folder, layer ? "layers/" : "",
		       layer ? layer : "", layer ? "/" : "", path);
	return full;
}

static void put_directory(const char *layer, const char *path)
{
	cr_assert_eq(mkdir(in(layer, path), 0755), 0, "%s", path);
}

static void put_bytes(const char *path, const void *bytes, size_t size, mode_t mode)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
	(void)close(fd);
}

static void put_program(const char *layer, const char *path)
{
	put_bytes(in(layer, path), "x", 1, 0755);
}

static void put_link(const char *layer, const char *path, const char *to)
{
	cr_assert_eq(symlink(to, in(layer, path)), 0, "%s", path);
}

static void put_image(void)
{
	static uint8_t bytes[IMAGE_MANIFEST_MAX];
	static struct image image;
	struct image_words *words[] = { &image.environment, &image.entrypoint, &image.command };
	const char *values[] = { "FROM=image", "/bin/sh", "-l" };

	memset(&image, 0, sizeof(image));
	image.cwd = image_add_text(&image, "/srv/app", strlen("/srv/app"));
	for (size_t i = 0; i < 3; i++)
		cr_assert(image_add_word(&image, words[i], values[i], strlen(values[i])));
	cr_assert(image_add_word(&image, &image.environment, "TERM=image", strlen("TERM=image")));
	image.layer_count = 2;
	memcpy(image.layers[0].diff_id, LOW, sizeof(LOW));
	memcpy(image.layers[1].diff_id, HIGH, sizeof(HIGH));
	put_bytes(in(NULL, "manifests/" DIGEST), bytes, image_manifest_write(&image, bytes), 0600);
	put_bytes(in(NULL, "names/it:1"), DIGEST "\n", strlen(DIGEST "\n"), 0600);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	return remove(path);
}

static void remove_folder(void)
{
	images = images_free(images);
	(void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_images(void)
{
	cr_assert(mkdtemp(folder));
	put_directory(NULL, "layers");
	put_directory(NULL, "manifests");
	put_directory(NULL, "names");
	put_directory(NULL, "layers/" LOW);
	put_directory(NULL, "layers/" HIGH);
	put_directory(LOW, "usr");
	put_directory(LOW, "usr/bin");
	put_program(LOW, "usr/bin/dash");
	put_link(LOW, "usr/bin/sh", "dash");
	put_link(LOW, "bin", "usr/bin");
	put_program(LOW, "usr/bin/python3.11");
	put_link(LOW, "usr/bin/python3", "/etc/alternatives/python3");
	put_directory(LOW, "etc");
	put_directory(LOW, "etc/alternatives");
	put_link(LOW, "etc/alternatives/python3", "../../usr/bin/python3.11");
	put_program(LOW, "usr/bin/gone");
	put_directory(LOW, "opt");
	put_program(LOW, "opt/hidden");
	put_link(LOW, "usr/bin/out", "../../../../../../../../../../bin/ls");
	put_link(LOW, "usr/bin/circle", "circle");
	put_directory(HIGH, "usr");
	put_directory(HIGH, "usr/bin");
	cr_assert_eq(mknod(in(HIGH, "usr/bin/gone"), S_IFCHR | 0600, 0), 0);
	put_directory(HIGH, "opt");
	cr_assert_eq(setxattr(in(HIGH, "opt"), "user.overlay.opaque", "y", 1, 0), 0);
	put_bytes(in(HIGH, "opt/data"), "x", 1, 0644);
	put_bytes(in(HIGH, "start.sh"), "x", 1, 0755);
	put_image();
	images = images_new(folder);
	tree = images_find(images, "it:1", text);
	cr_assert(tree, "%s", text);
}

TestSuite(image, .init = make_images, .fini = remove_folder);

static void expect_at(const char *path, const char *layer, const char *where)
{
	cr_expect_neq(images_look(tree, path, host), 0U, "%s", path);
	cr_expect_str_eq(host, in(layer, where));
}

Test(image, links_stay_in_the_image)
{
	expect_at("/usr/bin/dash", LOW, "usr/bin/dash");
	expect_at("/bin/sh", LOW, "usr/bin/dash");
	expect_at("/usr/bin/python3", LOW, "usr/bin/python3.11");
	expect_at("/start.sh", HIGH, "start.sh");
	cr_expect(S_ISDIR(images_look(tree, "/", host)));
	cr_expect_eq(images_look(tree, "/usr/bin/out", host), 0U, "the image has no ls");
	cr_expect_eq(images_look(tree, "/usr/bin/circle", host), 0U);
	cr_expect_eq(images_look(tree, "/usr/bin/dash/x", host), 0U);
}

Test(image, higher_layers_hide_lower_ones)
{
	cr_expect_eq(images_look(tree, "/usr/bin/gone", host), 0U, "a whiteout");
	cr_expect_eq(images_look(tree, "/opt/hidden", host), 0U, "an opaque directory");
	expect_at("/opt/data", HIGH, "opt/data");
	/* The control: the lower layer alone. */
	cr_expect_eq(unlink(in(HIGH, "usr/bin/gone")), 0);
	cr_expect_eq(removexattr(in(HIGH, "opt"), "user.overlay.opaque"), 0);
	expect_at("/usr/bin/gone", LOW, "usr/bin/gone");
	expect_at("/opt/hidden", LOW, "opt/hidden");
}

static int note_name(void *context, const char *name, mode_t mode)
{
	char *all = context;

	(void)snprintf(all + strlen(all), 256 - strlen(all), "%s%s ", name,
		       S_ISLNK(mode) ? "@" : "");
	return 0;
}

Test(image, each_name_of_the_root_comes_once)
{
	static const char *const names[] = { "usr ", "bin@ ", "etc ", "opt ", "start.sh " };
	char all[256] = "";
	size_t size = 0;

	cr_assert_eq(images_each_top(tree, note_name, all), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cr_expect(strstr(all, names[i]), "%s", names[i]);
		size += strlen(names[i]);
	}
	cr_expect_eq(strlen(all), size, "%s", all);
}

Test(image, an_image_is_looked_up_once)
{
	cr_expect_eq(images_find(images, "it:1", text), tree);
	cr_expect_null(images_find(images, "other:1", text));
	cr_expect(strstr(text, "the image 'other:1' is not in the store; 'msp image pull'"), "%s",
		  text);
	cr_expect_null(images_find(NULL, "it:1", text));
	cr_expect(strstr(text, "--images"), "%s", text);
}

/* The policy of a file, compiled; its error, or "". */
static const char *load_policy(const char *file, struct builtin *ret)
{
	static struct policy_error error;

	error.text[0] = '\0';
	*ret = (struct builtin){ .policy = policy_new() };
	policy_look_in(ret->policy, folder);
	if (policy_add_builtin(ret->policy, &error) == 0 &&
	    policy_add(ret->policy, "my.yaml", file, strlen(file), &error) == 0 &&
	    policy_compile(ret->policy, &ret->blob, &error) == 0)
		cr_assert_eq(plan_open(ret->blob.bytes, ret->blob.size, &ret->plan), 0);
	return error.text;
}

static const struct plan_profile *find_profile(const struct builtin *loaded, const char *name)
{
	const int index = plan_profile_find(&loaded->plan, name);

	cr_assert_geq(index, 0);
	return plan_profile(&loaded->plan, (uint32_t)index);
}

static bool has_text(const struct builtin *loaded, uint32_t list, uint32_t size, const char *item)
{
	const char *at = plan_string(&loaded->plan, list);

	for (const char *end = at + size; at < end; at += strlen(at) + 1) {
		if (strcmp(at, item) == 0)
			return true;
	}
	return false;
}

static uint64_t rights_of(const struct builtin *loaded, const struct plan_profile *profile,
			  const char *path)
{
	for (uint32_t i = 0; i < profile->rule_count; i++) {
		const struct plan_rule *rule = &plan_rules(&loaded->plan, profile)[i];

		if (strcmp(plan_string(&loaded->plan, rule->path), path) == 0)
			return rule->rights;
	}
	return 0;
}

Test(image, the_plan_has_it)
{
	struct builtin loaded;

	cr_assert_str_eq(load_policy(PROFILE "}\n", &loaded), "");
	const struct plan_profile *profile = find_profile(&loaded, "mine");
	const struct plan_mount *first = plan_mounts(&loaded.plan, profile);

	cr_expect_eq(first->kind, PLAN_IMAGE);
	cr_expect_eq(first->phase, PLAN_PHASE_BASE);
	cr_expect_eq(first->place, 0U);
	cr_expect_eq(profile->user, PLAN_USER_AGENT);
	cr_expect_str_eq(plan_string(&loaded.plan, profile->image), DIGEST);
	cr_expect_str_eq(plan_string(&loaded.plan, profile->layers), in(NULL, "layers/" HIGH));
	cr_expect_str_eq(plan_string(&loaded.plan, profile->cwd), "/srv/app");
	cr_expect_str_eq(plan_string(&loaded.plan, profile->command), "/bin/sh");
	cr_expect(has_text(&loaded, profile->environment, profile->environment_size, "FROM=image"));
	cr_expect(has_text(&loaded, profile->environment, profile->environment_size, "TERM=dumb"));
	cr_expect_not(
		has_text(&loaded, profile->environment, profile->environment_size, "TERM=image"));
	cr_expect_gt(profile->shell_size, 0U);
	cr_expect_eq(rights_of(&loaded, profile, "/usr") & LANDLOCK_ACCESS_FS_WRITE_FILE, 0U);
	cr_expect_neq(rights_of(&loaded, profile, "/usr") & LANDLOCK_ACCESS_FS_EXECUTE, 0U);
	cr_expect_neq(rights_of(&loaded, profile, "/start.sh"), 0U);
	cr_expect_eq(rights_of(&loaded, profile, "/") & LANDLOCK_ACCESS_FS_READ_FILE, 0U);
	cr_expect_eq(rights_of(&loaded, profile, "/bin"), 0U, "a link");
	cr_expect_lt(plan_profile_find(&loaded.plan, "image"), 0, "nobody may ask for it");
	builtin_close(&loaded);
}

Test(image, a_root_that_is_written_is_each_sandboxs_own)
{
	struct builtin loaded;

	cr_assert_str_eq(load_policy(PROFILE ", root: writable, user: root}\n"
					     "  - {name: child, extends: mine}\n",
				     &loaded),
			 "");
	for (int i = 0; i < 2; i++) {
		const struct plan_profile *profile =
			find_profile(&loaded, i == 0 ? "mine" : "child");
		const struct plan_mount *mounts = plan_mounts(&loaded.plan, profile);

		cr_expect_str_eq(plan_string(&loaded.plan, mounts[0].place), "system");
		cr_expect_eq(profile->user, PLAN_USER_ROOT);
		for (uint32_t j = 0; j < profile->mount_count; j++)
			cr_expect_eq(mounts[j].phase, PLAN_PHASE_SANDBOX);
		cr_expect_neq(rights_of(&loaded, profile, "/usr") & LANDLOCK_ACCESS_FS_MAKE_REG,
			      0U);
		for (uint32_t j = 0; j < profile->language_count; j++)
			cr_expect_eq(plan_languages(&loaded.plan, profile)[j].standby, 0U);
	}
	builtin_close(&loaded);
}

Test(image, a_writable_system_with_an_image_is_its_root)
{
	struct builtin loaded;

	cr_assert_str_eq(load_policy(PROFILE ", system: writable}\n", &loaded), "");
	cr_expect_str_eq(
		plan_string(&loaded.plan,
			    plan_mounts(&loaded.plan, find_profile(&loaded, "mine"))[0].place),
		"system");
	builtin_close(&loaded);
}

Test(image, ownership_is_pretended_by_the_filter_alone)
{
	static const char *const pretended[] = { "chown",     "fchown",    "lchown",    "fchownat",
						 "setuid",    "setgid",    "setreuid",  "setregid",
						 "setresuid", "setresgid", "setgroups", "setfsuid",
						 "setfsgid" };
	static const uint64_t zeros[6], audit[6] = { 16, 3, 9 }, route[6] = { 16, 3, 0 };
	static const uint64_t setid[6] = { 0, 04755, 04755 }, plain[6] = { 0, 0755, 0755 };
	struct builtin loaded;

	cr_assert_str_eq(load_policy(PROFILE
				     ", user: root}\n"
				     "  - {name: lies, extends: mine, pretend: [ownership]}\n"
				     "  - {name: honest, extends: lies, pretend: []}\n"
				     "  - {name: hard, extends: lies, seccomp: {refuse: "
				     "[chown]}}\n",
				     &loaded),
			 "");
	const struct plan *plan = &loaded.plan;

	for (size_t i = 0; i < sizeof(pretended) / sizeof(pretended[0]); i++) {
		const uint32_t number = (uint32_t)seccomp_number(pretended[i]);
		const struct plan_call *call = plan_call_find(plan, number);

		cr_expect_eq(builtin_answer(plan, "lies", number, zeros), FILTER_PRETEND, "%s",
			     pretended[i]);
		cr_expect_neq(builtin_answer(plan, "honest", number, zeros), FILTER_PRETEND);
		cr_expect_eq(plan_answer_to(plan, find_profile(&loaded, "lies"), call),
			     PLAN_PRETENDED);
	}
	for (uint32_t number = 0; number < 600; number++) {
		uint32_t is_pretended = 0;

		for (size_t i = 0; i < sizeof(pretended) / sizeof(pretended[0]); i++)
			is_pretended |= (uint32_t)seccomp_number(pretended[i]) == number;
		if (!is_pretended)
			cr_expect_eq(builtin_answer(plan, "lies", number, plain),
				     builtin_answer(plan, "mine", number, plain), "%u", number);
	}
	cr_expect_eq(builtin_answer(plan, "hard", (uint32_t)seccomp_number("chown"), zeros),
		     FILTER_NOTIFY);
	cr_expect_eq(builtin_answer(plan, "lies", (uint32_t)seccomp_number("chmod"), setid),
		     FILTER_PRETEND);
	cr_expect_eq(builtin_answer(plan, "mine", (uint32_t)seccomp_number("chmod"), setid),
		     FILTER_NOTIFY);
	cr_expect_eq(builtin_answer(plan, "lies", (uint32_t)seccomp_number("creat"), setid),
		     FILTER_NOTIFY, "a file that is made has no set-ID bits");
	cr_expect_eq(builtin_answer(plan, "lies", (uint32_t)seccomp_number("socket"), audit),
		     FILTER_UNSUPPORTED);
	cr_expect_eq(builtin_answer(plan, "mine", (uint32_t)seccomp_number("socket"), audit),
		     FILTER_NOTIFY);
	cr_expect_eq(builtin_answer(plan, "lies", (uint32_t)seccomp_number("socket"), route),
		     FILTER_ALLOW);
	builtin_close(&loaded);
}

Test(image, pretend_needs_the_user_root)
{
	static const struct {
		const char *more, *expected;
	} cases[] = {
		{ ", pretend: [ownership]}\n", "profiles[0].pretend: ownership is pretended to "
					       "user 0 alone; expected user: root "
					       "beside pretend: [ownership], or pretend: []" },
		{ ", user: root, pretend: [devices]}\n",
		  "profiles[0].pretend[0]: \"devices\" is not known; expected ownership" },
		{ ", user: root, pretend: [ownership, ownership]}\n",
		  "profiles[0].pretend[1]: ownership given twice; expected once" },
		{ ", user: root, pretend: [ownership]}\n  - {name: b, extends: mine, user: "
		  "agent}\n",
		  "profiles[1].user: ownership is pretended to user 0 alone" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char yaml[512];
		struct builtin loaded;

		(void)snprintf(yaml, sizeof(yaml), PROFILE "%s", cases[i].more);
		const char *said = load_policy(yaml, &loaded);

		cr_expect_not_null(strstr(said, cases[i].expected), "%s", said);
	}
}

Test(image, a_languages_program_is_where_the_sandbox_has_it)
{
	struct builtin loaded;
	uint32_t found = 0;

	cr_assert_str_eq(
		load_policy(PROFILE
			    "}\n"
			    "  - name: bound\n    extends: default\n    files: [{at: /tool, "
			    "kind: bind, from: /opt/tool}]\n    languages: [{name: tool, "
			    "program: /tool/run, file: /tmp/x, run: [/tool/run, \"{file}\"]}]\n",
			    &loaded),
		"");
	const struct plan_profile *profile = find_profile(&loaded, "mine");

	for (uint32_t i = 0; i < profile->language_count; i++) {
		const struct plan_language *language = &plan_languages(&loaded.plan, profile)[i];
		const char *program = plan_string(&loaded.plan, language->program);
		const char *there = plan_string(&loaded.plan, language->host_program);

		found += there[0] != '\0';
		if (strcmp(program, "/usr/bin/python3") == 0)
			cr_expect_str_eq(there, in(LOW, "usr/bin/python3.11"));
		if (strcmp(program, "/usr/bin/perl") == 0)
			cr_expect_str_eq(there, "");
	}
	cr_expect_eq(found, 2U, "python and sh");
	profile = find_profile(&loaded, "bound");
	cr_expect_str_eq(
		plan_string(&loaded.plan,
			    plan_languages(&loaded.plan, profile)[profile->language_count - 1]
				    .host_program),
		"/opt/tool/run");
	builtin_close(&loaded);
}

Test(image, an_image_without_a_shell_has_none_in_the_plan)
{
	struct builtin loaded;

	cr_assert_eq(unlink(in(LOW, "usr/bin/sh")), 0);
	cr_assert_str_eq(load_policy(PROFILE "}\n", &loaded), "");
	cr_expect_eq(find_profile(&loaded, "mine")->shell_size, 0U);
	builtin_close(&loaded);
}

Test(image, requests_that_are_read_have_their_certificates)
{
	struct builtin loaded;
	uint32_t found = 0;

	cr_assert_str_eq(load_policy(PROFILE ", network: hosts, hosts: ['a.example.org:443'], "
					     "requests: ['GET a.example.org/x']}\n",
				     &loaded),
			 "");
	const struct plan_profile *profile = find_profile(&loaded, "mine");

	for (uint32_t i = 0; i < profile->mount_count; i++)
		found += (plan_mounts(&loaded.plan, profile)[i].flags & PLAN_TRUST) != 0;
	cr_expect_eq(found, 1U);
	builtin_close(&loaded);
}

static void expect_mistake(const char *file, const char *expected)
{
	struct builtin loaded;
	const char *error = load_policy(file, &loaded);

	cr_expect(strstr(error, expected), "%s", error);
	builtin_close(&loaded);
}

Test(image, mistakes)
{
	expect_mistake("profiles: [{name: mine, extends: image}]", "image: missing; expected");
	expect_mistake("profiles: [{name: mine, extends: default, root: writable}]",
		       "root: does not belong to a profile without an image; expected image");
	expect_mistake("profiles: [{name: mine, extends: default, system: yes}]",
		       "system: \"yes\" is not known; expected read-only or");
	expect_mistake(
		"profiles: [{name: mine, extends: default, system: writable, files: [{at: /x, "
		"kind: tmpfs, size: 1M, inodes: 1K, mode: 0755, place: system}]}]",
		"expected another name");
	expect_mistake(PROFILE ", root: yes}\n",
		       "root: \"yes\" is not known; expected read-only or");
	expect_mistake(PROFILE ", user: 1}\n", "user: \"1\" is not known; expected agent or root");
	expect_mistake(PROFILE
		       ", root: writable, files: [{at: /x, kind: tmpfs, size: 1M, inodes: 1K, "
		       "mode: 0755, place: system}]}\n",
		       "expected another name");
}

Test(image, a_profile_without_its_image_is_missing_alone)
{
	struct builtin loaded;

	cr_assert_str_eq(load_policy("profiles:\n  - {name: mine, extends: image, image: none, "
				     "network: hosts, hosts: ['a.example.org:443']}\n"
				     "  - {name: child, extends: mine}\n"
				     "  - {name: found, extends: mine, image: 'it:1'}\n"
				     "  - {name: other, extends: default}\n",
				     &loaded),
			 "");
	const struct plan_header *head = plan_header(&loaded.plan);
	const char *missing = plan_string(&loaded.plan, head->missing);

	cr_expect_lt(plan_profile_find(&loaded.plan, "mine"), 0);
	cr_expect_lt(plan_profile_find(&loaded.plan, "child"), 0);
	cr_expect_eq(find_profile(&loaded, "found")->network, PLAN_NETWORK_HOSTS);
	cr_expect_geq(plan_profile_find(&loaded.plan, "other"), 0);
	cr_expect_str_eq(missing, "mine");
	missing += strlen(missing) + 1;
	cr_expect(strstr(missing, "the image 'none' is not in the store"), "%s", missing);
	missing += strlen(missing) + 1;
	cr_expect_str_eq(missing, "child");
	builtin_close(&loaded);
}

Test(image, a_root_with_too_many_names)
{
	struct builtin loaded;
	const char *missing;
	char name[16];

	for (int i = 0; i < 70; i++) {
		(void)snprintf(name, sizeof(name), "d%d", i);
		put_directory(LOW, name);
	}
	cr_assert_str_eq(load_policy(PROFILE "}\n", &loaded), "");
	missing = plan_string(&loaded.plan, plan_header(&loaded.plan)->missing);
	cr_expect_str_eq(missing, "mine");
	missing += strlen(missing) + 1;
	cr_expect(strstr(missing, "too many files in its root; expected at most 64"), "%s",
		  missing);
	builtin_close(&loaded);
}
