/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles of kept binds: records, layers, and sets that cannot be used.
 */
#include "web.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX "0123456789ab"
#define EARLIER "000000000000"
#define HOSTS "  network: hosts\n  hosts: [example.org:443]\n"

/* A set of one bind, with the NUL at its end. */
#define SET(profile, host, inside) profile "\0" host "\0" inside

static char folder[] = "/tmp/msp-kept-test-XXXXXX";
static struct buffer watched;

static void begin(void)
{
	cr_assert_not_null(mkdtemp(folder));
}

static void end(void)
{
	DIR *list = opendir(folder);
	const struct dirent *entry;

	while ((entry = readdir(list)))
		(void)unlinkat(dirfd(list), entry->d_name, 0);
	(void)closedir(list);
	cr_expect_eq(rmdir(folder), 0);
	buffer_done(&watched);
	unload();
}

TestSuite(kept, .init = begin, .fini = end);

static void write_set(const char *suffix, const char *bytes, size_t size)
{
	char path[128];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, suffix);
	file = fopen(path, "we");
	cr_assert_not_null(file);
	cr_assert_eq(fwrite(bytes, 1, size, file), size);
	cr_assert_eq(fclose(file), 0);
	cr_assert_eq(chmod(path, 0600), 0);
}

static void keep(const char *keys)
{
	cr_assert(load(keys), "%s", mistake.text);
	policy_keep(loaded.policy, folder, &watched);
	compile_loaded(true);
}

/* Keep one set for profile "web". */
static const struct plan_profile *keep_one(const char *keys, const char *bytes, size_t size)
{
	write_set(SUFFIX, bytes, size);
	keep(keys);
	return find_compiled("web+" SUFFIX);
}

static const char *string(uint32_t offset)
{
	return plan_string(&loaded.plan, offset);
}

/* Return the number of records for a place, with the last one in *ret. */
static int find_mounts(const struct plan_profile *profile, const char *target,
		       const struct plan_mount **ret)
{
	const struct plan_mount *mounts = plan_mounts(&loaded.plan, profile);
	int count = 0;

	*ret = NULL;
	for (uint32_t i = 0; i < profile->mount_count; i++) {
		if (strcmp(string(mounts[i].target), target) != 0)
			continue;
		*ret = &mounts[i];
		count++;
	}
	return count;
}

Test(kept, each_bind_is_a_record_and_a_rule_of_the_derived_profile_alone)
{
	static const char set[] = SET("web", "/srv/it", "/it\0/srv/that\0/tmp/that");
	const struct plan_profile *profile = keep_one("", set, sizeof(set));
	const struct plan_mount *mount;
	const struct plan_rule *rules;

	cr_assert_not_null(profile);
	rules = plan_rules(&loaded.plan, profile);
	cr_assert_eq(find_mounts(profile, "/it", &mount), 1);
	cr_expect_eq(mount->kind, PLAN_BIND);
	cr_expect_eq(mount->phase, PLAN_PHASE_BASE);
	cr_expect_eq(mount->flags, PLAN_PINNED);
	cr_expect_eq(mount->attributes,
		     (uint64_t)(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
	cr_expect_str_eq(string(mount->source), "/srv/it");
	cr_assert_eq(find_mounts(profile, "/tmp/that", &mount), 1);
	cr_expect_eq(mount->phase, PLAN_PHASE_SANDBOX, "in a tree of the sandbox's own");
	cr_expect_str_eq(string(rules[profile->rule_count - 1].path), "/tmp/that");
	cr_expect_eq(rules[profile->rule_count - 1].rights,
		     (uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
				LANDLOCK_ACCESS_FS_EXECUTE));
	cr_expect_eq(profile->no_hosts, plan_profile_count(&loaded.plan) - 1);
	cr_expect_eq(find_mounts(find_compiled("web"), "/it", &mount), 0);
}

Test(kept, a_profile_with_hosts_has_another_one_without)
{
	static const char set[] = SET("web", "/srv/it", "/it");
	const struct plan_profile *profile = keep_one(HOSTS, set, sizeof(set)), *none;
	const struct plan_mount *mount;

	cr_assert_not_null(profile);
	none = plan_profile(&loaded.plan, profile->no_hosts);
	cr_expect_str_eq(string(none->name), "web/none+" SUFFIX);
	cr_expect_eq(none->is_narrowed, 1U);
	cr_expect_eq(none->host_count, 0U);
	cr_expect_eq(find_mounts(none, "/it", &mount), 1);
}

Test(kept, hosts_that_the_sandbox_was_made_without_stay_out)
{
	static const char set[] = SET("web/none", "/srv/it", "/it");
	const struct plan_profile *profile;

	cr_expect_null(keep_one(HOSTS, set, sizeof(set)));
	profile = find_compiled("web/none+" SUFFIX);
	cr_assert_not_null(profile);
	cr_expect_eq(profile->network, PLAN_NETWORK_LOOPBACK);
	cr_expect_eq(profile->host_count, 0U);
	cr_expect_eq(profile->is_narrowed, 1U);
}

Test(kept, a_place_that_the_host_lacks_gets_a_layer_before_all_binds)
{
	static const char set[] =
		SET("web", "/srv", "/usr/share/doc\0/srv\0/usr/share/msp-none/it");
	const struct plan_profile *profile = keep_one("", set, sizeof(set));
	const struct plan_mount *layer, *mount;

	cr_assert_not_null(profile);
	cr_assert_eq(find_mounts(profile, "/usr/share", &layer), 1);
	cr_expect_eq(layer->kind, PLAN_OVERLAY);
	cr_expect_eq(layer->phase, PLAN_PHASE_SANDBOX);
	cr_expect_str_eq(string(layer->source), "/usr/share");
	cr_expect_eq(layer->attributes, (uint64_t)(MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
	cr_expect_eq(find_mounts(profile, "/usr", &mount), 1);
	cr_expect_lt(mount, layer);
	cr_assert_eq(find_mounts(profile, "/usr/share/doc", &mount), 1);
	cr_expect_eq(mount->phase, PLAN_PHASE_SANDBOX, "the layer would hide it");
	cr_expect_gt(mount, layer);
	cr_assert_eq(find_mounts(profile, "/usr/share/msp-none/it", &mount), 1);
	cr_expect_eq(mount->phase, PLAN_PHASE_SANDBOX);
}

Test(kept, a_layer_over_all_that_a_bind_shows_is_in_its_place)
{
	static const char set[] = SET("web", "/srv", "/shown/msp-none");
	const struct plan_profile *profile = keep_one(
		"  files: [{at: /shown, kind: bind, from: /usr/share}]\n", set, sizeof(set));
	const struct plan_mount *mount;

	cr_assert_not_null(profile);
	cr_expect_eq(find_mounts(profile, "/shown", &mount), 2);
	cr_expect_eq(mount->kind, PLAN_OVERLAY);
	cr_expect_eq(mount->flags, PLAN_PINNED, "the launcher still opens it");
	cr_expect_eq(mount[-1].kind, PLAN_DIRECTORY);
}

Test(kept, a_place_that_the_host_has_needs_no_layer)
{
	static const char set[] = SET("web", "/srv", "/usr/share/doc");
	const struct plan_profile *profile = keep_one("", set, sizeof(set));
	const struct plan_mount *mount;

	cr_assert_not_null(profile);
	cr_expect_eq(profile->mount_count, find_compiled("web")->mount_count + 1);
	cr_assert_eq(find_mounts(profile, "/usr/share/doc", &mount), 1);
	cr_expect_eq(mount->phase, PLAN_PHASE_BASE);
}

Test(kept, a_set_that_cannot_be_used_is_left_out)
{
	static const struct {
		const char *bytes;
		size_t size;
	} rows[] = {
#define ROW(bytes) { bytes, sizeof(bytes) }
		ROW(""),
		ROW(SET("none", "/srv", "/it")),
		ROW(SET("_helper", "/srv", "/it")),
		ROW(SET("image", "/srv", "/it")),
		ROW(SET("web/other", "/srv", "/it")),
		ROW(SET("web+" EARLIER, "/srv", "/it")),
		ROW("web\0/srv"),
		ROW(SET("web", "srv", "/it")),
		ROW(SET("web", "/srv", "it")),
		ROW(SET("web", "/srv", "/it/../etc")),
		ROW(SET("web", "/srv", "/proc/it")),
		ROW(SET("web", "/srv", "/dev/null/it")),
		ROW(SET("web", "/srv", "/bin/it")),
		ROW(SET("web", "/srv", "/usr/bin/env/it")),
		ROW(SET("web", "/srv", "/usr/bin/env")),
		{ SET("web", "/srv", "/it"), sizeof(SET("web", "/srv", "/it")) - 1 },
#undef ROW
	};
	uint32_t count;

	write_set(EARLIER, SET("web", "/srv", "/it"), sizeof(SET("web", "/srv", "/it")));
	keep("");
	count = plan_profile_count(&loaded.plan);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unload();
		write_set(SUFFIX, rows[i].bytes, rows[i].size);
		keep("");
		cr_expect_eq(plan_profile_count(&loaded.plan), count, "row %zu", i);
	}
	write_set("other", SET("web", "/srv", "/it"), sizeof(SET("web", "/srv", "/it")));
	write_set(SUFFIX, SET("web", "/srv", "/it"), sizeof(SET("web", "/srv", "/it")));
	unload();
	keep("");
	cr_expect_eq(plan_profile_count(&loaded.plan), count + 1, "the control");
}

Test(kept, sets_without_room_are_left_out)
{
	static const char set[] = SET("web", "/srv/it", "/it");
	char suffix[16];

	for (int i = 0; i < 80; i++) {
		(void)snprintf(suffix, sizeof(suffix), "%012d", i);
		write_set(suffix, set, sizeof(set));
	}
	keep(HOSTS);
	cr_expect_leq(plan_profile_count(&loaded.plan), PLAN_PROFILES_MAX);
	cr_expect_not_null(find_compiled("web+000000000000"));
	cr_expect_null(find_compiled("web+000000000079"));
}

Test(kept, sets_and_what_was_examined_are_watched)
{
	static const char set[] = SET("web", "/srv", "/usr/share/msp-none/it");
	char expected[512];
	int size;

	cr_assert_not_null(keep_one("", set, sizeof(set)));
	size = snprintf(expected, sizeof(expected),
			"%s/%s%c/usr%c/usr/share/msp-none/it%c/usr/share", folder, SUFFIX, 0, 0, 0);
	cr_assert_eq(watched.size, (size_t)size + 1);
	cr_expect_eq(memcmp(watched.bytes, expected, watched.size), 0);
}

/* --- agents ----------------------------------------------------------------------------------- */

#define AGENT_FILE                                                                                 \
	"agents:\n"                                                                                \
	"- name: mine\n"                                                                           \
	"  programs: [mine]\n"                                                                     \
	"  hosts: [api.example.org]\n"                                                             \
	"  login_hosts: [login.example.org]\n"                                                     \
	"  keys:\n"                                                                                \
	"  - {name: A_KEY, header: X-Key, hosts: [api.example.org]}\n"                             \
	"  - {name: B_KEY, header: Authorization, hosts: [api.example.org]}\n"                     \
	"  environment: [UPDATES=0]\n"

/* Keep one set for an agent of AGENT_FILE. */
static const struct plan_profile *keep_agent(const char *name, const char *bytes, size_t size)
{
	write_set(SUFFIX, bytes, size);
	cr_assert(load_file(AGENT_FILE), "%s", mistake.text);
	policy_keep(loaded.policy, folder, &watched);
	compile_loaded(true);
	return find_compiled(name);
}

static bool has_host(const struct plan_profile *profile, const char *pattern)
{
	const struct plan_host *hosts = plan_hosts(&loaded.plan, profile);

	for (uint32_t i = 0; i < profile->host_count; i++) {
		if (strcmp(hosts[i].pattern, pattern) == 0)
			return true;
	}
	return false;
}

Test(kept, an_agent_has_a_profile_only_where_a_set_names_it)
{
	static const char set[] = SET("agent.mine", "/srv/it", "/it\0/run/key\0=A_KEY");
	const struct plan_profile *profile = keep_agent("agent.mine+" SUFFIX, set, sizeof(set));
	const struct plan_secret *secrets;
	const struct plan_mount *mount;

	cr_assert_not_null(profile);
	cr_expect_null(find_compiled("agent.mine"), "no request can name it");
	cr_expect_null(find_compiled("agent"), "nobody offers it");
	cr_expect_eq(profile->host_count, 1U, "only the row's, and none of the parent's");
	cr_expect(has_host(profile, "api.example.org"));
	cr_assert_eq(profile->secret_count, 1U);
	secrets = plan_secrets(&loaded.plan, profile);
	cr_expect_str_eq(secrets->name, "A_KEY");
	cr_expect_str_eq(secrets->header, "X-Key");
	cr_expect_eq(secrets->source_kind, (uint32_t)PLAN_SECRET_FILE);
	cr_expect_str_eq(secrets->source, "/run/key");
	cr_expect_eq(secrets->is_optional, 1U, "it is there only while the agent runs");
	cr_expect_str_eq(find_variable("agent.mine+" SUFFIX, "A_KEY"), secrets->placeholder);
	cr_expect_str_eq(find_variable("agent.mine+" SUFFIX, "B_KEY"), "");
	cr_expect_str_eq(find_variable("agent.mine+" SUFFIX, "UPDATES"), "0");
	cr_expect_eq(find_mounts(profile, "/it", &mount), 1);
	cr_expect_eq(find_mounts(profile, "/run/key", &mount), 0, "the key is never shown");
	cr_expect_str_eq(string(plan_profile(&loaded.plan, profile->no_hosts)->name),
			 "agent.mine/none+" SUFFIX);
}

Test(kept, an_agent_without_sets_costs_nothing)
{
	uint32_t count;

	cr_assert(load_file("{}\n"), "%s", mistake.text);
	compile_loaded(true);
	count = plan_profile_count(&loaded.plan);
	unload();
	cr_assert(load_file(AGENT_FILE), "%s", mistake.text);
	policy_keep(loaded.policy, folder, &watched);
	compile_loaded(true);
	cr_expect_eq(plan_profile_count(&loaded.plan), count);
}

Test(kept, a_login_adds_its_hosts_and_no_bind_is_needed)
{
	static const char set[] = "agent.mine.login";
	const struct plan_profile *profile =
		keep_agent("agent.mine.login+" SUFFIX, set, sizeof(set));

	cr_assert_not_null(profile);
	cr_expect_eq(profile->host_count, 2U);
	cr_expect(has_host(profile, "login.example.org"));
	cr_expect_eq(profile->secret_count, 0U);
}

Test(kept, a_model_of_this_machine_is_one_port_of_its_loopback)
{
	static const char set[] = SET("agent.mine", "model.local:11434", "=@host");
	const struct plan_profile *profile = keep_agent("agent.mine+" SUFFIX, set, sizeof(set));
	const struct plan_host *host;
	static const uint8_t loopback[16] = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 };

	cr_assert_not_null(profile);
	cr_expect_eq(profile->host_count, 2U);
	host = plan_hosts(&loaded.plan, profile);
	cr_expect_str_eq(host->pattern, "model.local");
	cr_expect_eq(host->port, 11434);
	cr_expect_eq(host->to_port, 11434U);
	cr_expect_eq(memcmp(host->to, loopback, sizeof(loopback)), 0);
}

Test(kept, an_agents_set_cannot_ask_for_more_than_its_row)
{
	static const struct {
		const char *bytes;
		size_t size;
	} rows[] = {
#define ROW(bytes) { bytes, sizeof(bytes) }
		ROW("agent.other"),
		ROW("agent."),
		ROW("agent.mine.other"),
		ROW("agent.mine.login.login"),
		ROW("agent.mine/other"),
		ROW("agent.abcdefghijklmnopqrstuvwxyz"),
		ROW(SET("agent.mine", "evil.example.org:443", "=@host")),
		ROW(SET("agent.mine", "model.local", "=@host")),
		ROW(SET("agent.mine", "model.local:0", "=@host")),
		ROW(SET("agent.mine", "model.local:53", "=@host")),
		ROW(SET("agent.mine", "model.local:65536", "=@host")),
		ROW(SET("agent.mine", "model.local:80 private", "=@host")),
		ROW(SET("agent.mine", "model.local:1", "=@host\0model.local:2\0=@host")),
		ROW(SET("agent.mine", "/run/key", "=C_KEY")),
		ROW(SET("agent.mine", "/run/key", "=")),
		ROW(SET("agent.mine", "run/key", "=A_KEY")),
		ROW(SET("agent.mine", "~/key", "=A_KEY")),
		ROW(SET("agent.mine", "/run/../key", "=A_KEY")),
		ROW(SET("agent.mine", "/a", "=A_KEY\0/b\0=A_KEY")),
		ROW("agent.mine\0/run/key"),
		ROW(SET("web", "/run/key", "=A_KEY")),
		ROW(SET("default", "model.local:80", "=@host")),
#undef ROW
	};
	uint32_t count;

	cr_assert_not_null(keep_agent("agent.mine+" SUFFIX, "agent.mine", sizeof("agent.mine")));
	count = plan_profile_count(&loaded.plan);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unload();
		(void)keep_agent("", rows[i].bytes, rows[i].size);
		cr_expect_eq(plan_profile_count(&loaded.plan), count - 2, "row %zu", i);
	}
}

Test(kept, a_profile_without_hosts_has_no_key)
{
	static const char set[] = SET("agent.mine/none", "/run/key", "=A_KEY");
	const struct plan_profile *profile =
		keep_agent("agent.mine/none+" SUFFIX, set, sizeof(set));

	cr_assert_not_null(profile);
	cr_expect_eq(profile->network, PLAN_NETWORK_LOOPBACK);
	cr_expect_eq(profile->host_count, 0U);
	cr_expect_eq(profile->secret_count, 0U);
	cr_expect_str_eq(find_variable("agent.mine/none+" SUFFIX, "A_KEY"), "");
}
