/* SPDX-License-Identifier: Apache-2.0
 *
 * The acts of `msp setup`, on a machine whose files, programs and answers are the test's.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launcher/host/cgroup.h"
#include "setup/acts.h"
#include "setup/perform.h"
#include "setup/walk.h"

/* --- the machine, which the linker puts in the place of the real one ---------------------------
 */

static const char *there[4];     /* paths that exist */
static const char *run_failure;  /* what each program says; NULL: it works */
static const char *call_log[16]; /* what was changed, in order */
static char call_texts[16][SETUP_TEXT_MAX];
static size_t calls;
static bool answer;
static int questions;
static uid_t user;
static bool is_made; /* a path that is awaited comes */

static void note(const char *verb, const char *text)
{
	(void)snprintf(call_texts[calls], SETUP_TEXT_MAX, "%s %s", verb, text);
	call_log[calls] = call_texts[calls];
	calls++;
}

int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
	cr_assert_eq(mode, F_OK);
	for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++) {
		if (there[i] && strcmp(there[i], path) == 0)
			return 0;
	}
	errno = ENOENT;
	return -1;
}

uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void)
{
	return user;
}

int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
	note("unlink", path);
	return 0;
}

bool __wrap_confirm(const char *text);
bool __wrap_confirm(const char *text)
{
	questions++;
	return answer;
}

bool __wrap_perform_find(const char *name, char *ret, size_t room);
bool __wrap_perform_find(const char *name, char *ret, size_t room)
{
	(void)snprintf(ret, room, "/usr/bin/%s", name);
	return true;
}

int __wrap_perform_run(char *const words[], uid_t uid, char text[PERFORM_TEXT_MAX]);
int __wrap_perform_run(char *const words[], uid_t uid, char text[PERFORM_TEXT_MAX])
{
	char line[SETUP_TEXT_MAX] = "";

	cr_assert_eq(uid, user);
	for (size_t i = 0; words[i]; i++) {
		(void)strcat(line, i > 0 ? " " : "");
		(void)strcat(line, words[i]);
	}
	note("run", line);
	if (run_failure)
		(void)snprintf(text, PERFORM_TEXT_MAX, "%s", run_failure);
	return run_failure ? -1 : 0;
}

int __wrap_perform_start_service(char *const words[], char text[PERFORM_TEXT_MAX]);
int __wrap_perform_start_service(char *const words[], char text[PERFORM_TEXT_MAX])
{
	char line[SETUP_TEXT_MAX] = "";

	for (size_t i = 0; words[i]; i++) {
		(void)strcat(line, i > 0 ? " " : "");
		(void)strcat(line, words[i]);
	}
	note("start", line);
	if (run_failure)
		(void)snprintf(text, PERFORM_TEXT_MAX, "%s", run_failure);
	return run_failure ? -1 : 0;
}

int __wrap_perform_write(const char *path, const char *content, char text[PERFORM_TEXT_MAX]);
int __wrap_perform_write(const char *path, const char *content, char text[PERFORM_TEXT_MAX])
{
	char both[SETUP_TEXT_MAX];

	(void)snprintf(both, sizeof(both), "%.200s=%.2000s", path, content);
	note("write", both);
	return 0;
}

bool __wrap_perform_await(const char *path);
bool __wrap_perform_await(const char *path)
{
	note("await", path);
	return is_made;
}

static struct examination found;
static struct setup_walk walk;

static void begin_machine(uid_t uid)
{
	user = uid;
	answer = true;
	is_made = true;
	found = (struct examination){ .has_account = true, .user = "ann", .uid = 1000 };
	walk = (struct setup_walk){ .program = "/usr/bin/msp" };
}

TestSuite(setup, .timeout = 60);

static struct finding *finding_of(const char *name)
{
	size_t i = 0;

	while (i < probe_count && strcmp(probes[i].name, name) != 0)
		i++;
	cr_assert_lt(i, probe_count, "no probe is called %s", name);
	return &found.findings[i];
}

static void find_missing(const char *name, enum finding_cause cause)
{
	finding_of(name)->status = FINDING_MISSING;
	finding_of(name)->cause = cause;
}

#define EXPECT_CALLS(...)                                                                          \
	do {                                                                                       \
		const char *const wanted[] = { __VA_ARGS__ };                                      \
		cr_assert_eq(calls, sizeof(wanted) / sizeof(wanted[0]), "%zu calls", calls);       \
		for (size_t i = 0; i < calls; i++)                                                 \
			cr_expect_str_eq(call_log[i], wanted[i]);                                  \
	} while (0)

/* --- the table -------------------------------------------------------------------------------- */

static bool has_act(const char *probe)
{
	for (size_t i = 0; i < setup_act_count; i++) {
		for (size_t k = 0; k < 2; k++) {
			if (setup_acts[i].probes[k] && strcmp(setup_acts[i].probes[k], probe) == 0)
				return true;
		}
	}
	return false;
}

Test(setup, each_probe_has_an_act_or_only_a_remedy)
{
	static const char *const told[] = {
		"architecture",    "kernel",  "landlock",   "overlay", "cgroup-clone",
		"descriptors",     "audit",   "persistent", "files",   "configuration",
		"default-profile", "posture", "groups",     "hosts",   "secrets",
	};
	size_t with_act = 0;

	for (size_t i = 0; i < probe_count; i++)
		with_act += has_act(probes[i].name);
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		(void)finding_of(told[i]);
		cr_expect_not(has_act(told[i]), "%s", told[i]);
	}
	cr_expect_eq(with_act + sizeof(told) / sizeof(told[0]), probe_count);
	for (size_t i = 0; i < setup_act_count; i++) {
		for (size_t k = 0; k < 2 && setup_acts[i].probes[k]; k++)
			(void)finding_of(setup_acts[i].probes[k]);
		cr_expect_neq(setup_acts[i].cause, CAUSE_OTHER);
	}
	cr_expect_leq(probe_count, EXAMINATION_FINDINGS_MAX);
	cr_expect_leq(setup_act_count, SETUP_ACTS_MAX);
}

/* Read a packaged file without its comments. */
static void read_packaged(const char *name, char *ret, size_t room)
{
	char path[4096];
	char line[512];
	FILE *file;

	(void)snprintf(path, sizeof(path), PACKAGING "/%s", name);
	file = fopen(path, "re");
	cr_assert_not_null(file, "%s", path);
	ret[0] = '\0';
	while (fgets(line, sizeof(line), file)) {
		cr_assert_lt(strlen(ret) + strlen(line), room);
		if (line[0] != '#')
			(void)strcat(ret, line);
	}
	(void)fclose(file);
}

Test(setup, written_files_are_the_packaged_ones)
{
	static const char *const names[][2] = {
		{ "/etc/apparmor.d/msp", "apparmor/msp" },
		{ CGROUP_DROP_IN_PATH, "systemd/delegate.conf" },
	};
	const struct setup_facts facts = { .user = "ann", .program = "/usr/bin/msp" };
	char packaged[SETUP_TEXT_MAX];
	char text[SETUP_TEXT_MAX];
	size_t written = 0;

	for (size_t i = 0; i < setup_act_count; i++) {
		for (size_t k = 0; setup_acts[i].text && k < 2; k++) {
			if (strcmp(setup_acts[i].makes, names[k][0]) != 0)
				continue;
			setup_expand(&facts, setup_acts[i].text, text);
			read_packaged(names[k][1], packaged, sizeof(packaged));
			cr_expect_str_eq(text, packaged);
			written++;
		}
	}
	cr_expect_eq(written, 2);
}

/* --- as root ---------------------------------------------------------------------------------- */

Test(setup, the_account_is_made_from_the_packaged_file)
{
	begin_machine(0);
	found.has_account = false;
	there[0] = "/usr/lib/sysusers.d/msp.conf";
	find_missing("account", CAUSE_ABSENT);
	find_missing("cgroup", CAUSE_MANAGER); /* about nobody */
	cr_expect_not(setup_walk(&walk, &found));
	EXPECT_CALLS("run systemd-sysusers /usr/lib/sysusers.d/msp.conf");
	cr_expect(walk.has_changed);
}

Test(setup, without_the_file_the_account_is_made_as_the_doctor_says)
{
	char command[256];
	char line[300];

	begin_machine(0);
	found.has_account = false;
	find_missing("account", CAUSE_ABSENT);
	cr_expect_not(setup_walk(&walk, &found));
	account_format_useradd("msp", command, sizeof(command));
	(void)snprintf(line, sizeof(line), "run %s", command);
	EXPECT_CALLS(line);
}

Test(setup, another_account_is_the_operators)
{
	begin_machine(0);
	found.has_account = false;
	find_missing("account", CAUSE_OTHER);
	cr_expect_not(setup_walk(&walk, &found));
	cr_expect_eq(calls, 0);
	cr_expect_not(walk.has_changed);
}

Test(setup, one_drop_in_answers_two_findings)
{
	begin_machine(0);
	there[0] = "/run/systemd/system";
	find_missing("cgroup", CAUSE_CONTROLLERS);
	find_missing("delegation", CAUSE_CONTROLLERS);
	cr_expect(setup_walk(&walk, &found));
	EXPECT_CALLS("write " CGROUP_DROP_IN_PATH
		     "=[Service]\nDelegate=cpu cpuset io memory pids\n",
		     "run systemctl daemon-reload", "await " CGROUP_DROP_IN_PATH);
	cr_expect_eq(questions, 1);
	cr_expect_not(walk.has_failed);
}

Test(setup, a_failed_act_takes_its_file_back_and_the_walk_goes_on)
{
	begin_machine(0);
	there[0] = "/run/systemd/system";
	run_failure = "exit code 1";
	find_missing("user-namespace", CAUSE_APPARMOR);
	find_missing("cgroup", CAUSE_MANAGER);
	cr_expect(setup_walk(&walk, &found));
	cr_assert_eq(calls, 4);
	cr_expect_eq(strncmp(call_log[0], "write /etc/apparmor.d/msp=abi", 29), 0);
	cr_expect_str_eq(call_log[1], "run apparmor_parser -r /etc/apparmor.d/msp");
	cr_expect_str_eq(call_log[2], "unlink /etc/apparmor.d/msp");
	cr_expect_str_eq(call_log[3], "run loginctl enable-linger ann");
	cr_expect(walk.has_failed);
	cr_expect_not(walk.has_changed);
}

Test(setup, a_profile_that_is_there_is_only_loaded)
{
	begin_machine(0);
	there[0] = "/etc/apparmor.d/msp";
	find_missing("user-namespace", CAUSE_APPARMOR);
	(void)setup_walk(&walk, &found);
	EXPECT_CALLS("run apparmor_parser -r /etc/apparmor.d/msp");
}

Test(setup, the_manager_is_awaited)
{
	begin_machine(0);
	there[0] = "/run/systemd/system";
	is_made = false;
	find_missing("cgroup", CAUSE_MANAGER);
	(void)setup_walk(&walk, &found);
	EXPECT_CALLS("run loginctl enable-linger ann", "await /run/user/1000/systemd/private");
	cr_expect(walk.has_failed);
}

Test(setup, a_service_is_never_roots)
{
	begin_machine(0);
	there[0] = "/run/user/1000/systemd/private";
	there[1] = "/usr/bin/../lib/systemd/user/msp.socket";
	finding_of("service")->status = FINDING_NOTE;
	finding_of("service")->cause = CAUSE_ABSENT;
	(void)setup_walk(&walk, &found);
	cr_expect_eq(calls, 0);
	begin_machine(1000);
	finding_of("service")->status = FINDING_NOTE;
	finding_of("service")->cause = CAUSE_ABSENT;
	(void)setup_walk(&walk, &found);
	EXPECT_CALLS("run systemctl --user enable --now msp.socket");
}

Test(setup, a_service_without_systemd)
{
	begin_machine(1000);
	finding_of("service")->status = FINDING_NOTE;
	finding_of("service")->cause = CAUSE_ABSENT;
	(void)setup_walk(&walk, &found);
	EXPECT_CALLS("start /usr/bin/msp serve --service");
	cr_expect(walk.has_changed);
	run_failure = "serve: limits";
	walk = (struct setup_walk){ .program = "/usr/bin/msp" };
	(void)setup_walk(&walk, &found);
	cr_expect(walk.has_failed);
	run_failure = NULL;
}

/* Nobody is to start one by hand where systemd does, as soon as the user has one. */
Test(setup, no_service_by_hand_beside_systemd)
{
	begin_machine(1000);
	there[0] = "/run/systemd/system";
	for (int i = 0; i < 2; i++) {
		finding_of("service")->status = FINDING_NOTE;
		finding_of("service")->cause = i == 0 ? CAUSE_ABSENT : CAUSE_PLACE;
		(void)setup_walk(&walk, &found);
	}
	cr_expect_eq(calls, 0);
	cr_expect_eq(questions, 0);
}

Test(setup, the_place_of_a_socket_is_roots_to_make)
{
	begin_machine(1000);
	finding_of("service")->status = FINDING_NOTE;
	finding_of("service")->cause = CAUSE_PLACE;
	(void)setup_walk(&walk, &found);
	cr_expect_eq(calls, 0);
	cr_expect_eq(questions, 0);
	cr_expect(walk.has_shown);
}

/* --- as an ordinary user ---------------------------------------------------------------------- */

Test(setup, an_act_of_roots_is_only_told)
{
	begin_machine(1000);
	there[0] = "/run/systemd/system";
	find_missing("cgroup", CAUSE_CONTROLLERS);
	find_missing("user-namespace", CAUSE_APPARMOR);
	(void)setup_walk(&walk, &found);
	cr_expect_eq(calls, 0);
	cr_expect_eq(questions, 0);
	cr_expect(walk.has_shown);
}

Test(setup, the_line_for_root_does_the_whole_act)
{
	const struct setup_facts facts = { .user = "ann", .program = "/opt/msp/bin/msp" };
	char text[SETUP_TEXT_MAX];
	size_t seen = 0;

	for (size_t i = 0; i < setup_act_count; i++) {
		if (!setup_acts[i].text)
			continue;
		setup_format_sudo(&setup_acts[i], &facts, text);
		if (setup_acts[i].cause == CAUSE_CONTROLLERS)
			cr_expect_str_eq(text,
					 "sudo mkdir -p /etc/systemd/system/user@.service.d && "
					 "printf '[Service]\\nDelegate=cpu cpuset io memory "
					 "pids\\n' | sudo tee " CGROUP_DROP_IN_PATH
					 " >/dev/null && sudo systemctl daemon-reload");
		else
			cr_expect_str_eq(
				text,
				"sudo mkdir -p /etc/apparmor.d && printf 'abi <abi/4.0>,\\n"
				"include <tunables/global>\\n\\nprofile msp /opt/msp/bin/msp "
				"flags=(unconfined) {\\n  userns,\\n\\n  include if exists "
				"<local/msp>\\n}\\n' | sudo tee /etc/apparmor.d/msp >/dev/null && "
				"sudo apparmor_parser -r /etc/apparmor.d/msp");
		seen++;
	}
	cr_expect_eq(seen, 2);
}

Test(setup, nothing_is_done_without_consent)
{
	begin_machine(1000);
	there[0] = "/run/systemd/system";
	answer = false;
	find_missing("cgroup", CAUSE_MANAGER);
	(void)setup_walk(&walk, &found);
	cr_expect_eq(questions, 1);
	walk = (struct setup_walk){ .program = "/usr/bin/msp", .is_dry = true };
	(void)setup_walk(&walk, &found);
	cr_expect_eq(questions, 1);
	cr_expect_eq(calls, 0);
	walk = (struct setup_walk){ .program = "/usr/bin/msp", .is_agreed = true };
	(void)setup_walk(&walk, &found);
	cr_expect_eq(questions, 1);
	EXPECT_CALLS("run loginctl enable-linger ann", "await /run/user/1000/systemd/private");
}

Test(setup, an_act_needs_its_paths)
{
	begin_machine(1000);
	find_missing("cgroup", CAUSE_MANAGER);
	(void)setup_walk(&walk, &found); /* no systemd */
	there[0] = "/run/systemd/system";
	there[1] = "/run/user/1000/systemd/private";
	(void)setup_walk(&walk, &found); /* it runs already */
	cr_expect_eq(calls + (size_t)questions, 0);
}

Test(setup, a_name_that_could_mean_more_is_left_alone)
{
	static const char *const users[] = { "", "-ann", "a b", "a'b", "a\nb" };

	there[0] = "/run/systemd/system";
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		begin_machine(1000);
		(void)snprintf(found.user, sizeof(found.user), "%s", users[i]);
		find_missing("cgroup", CAUSE_MANAGER);
		(void)setup_walk(&walk, &found);
	}
	begin_machine(0);
	(void)snprintf(walk.program, sizeof(walk.program), "/opt/a b/msp");
	find_missing("user-namespace", CAUSE_APPARMOR);
	(void)setup_walk(&walk, &found);
	cr_expect_eq(calls + (size_t)questions, 0);
}

Test(setup, a_consequence_has_the_remedy_of_its_cause)
{
	static const char *const names[] = { "user-namespace", "overlay", "persistent", "posture" };
	struct doctor_verdict all = { .is_fit = true };

	begin_machine(1000);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct finding *finding = finding_of(names[i]);
		const struct probe *probe = &probes[finding - found.findings];

		finding->status = FINDING_MISSING;
		doctor_note(&all, probe, finding);
		if (i == 0)
			cr_expect_str_eq(doctor_fix(probe, finding), probe->fix);
		else
			cr_expect_str_eq(doctor_fix(probe, finding),
					 "mend what is missing above first");
	}
	cr_expect_not(all.is_fit);
}

Test(setup, a_consequence_is_not_told)
{
	begin_machine(1000);
	find_missing("overlay", CAUSE_OTHER);
	(void)setup_walk(&walk, &found);
	cr_expect(walk.has_shown);
	cr_expect(doctor_is_explained(&probes[finding_of("overlay") - found.findings],
				      "Missing: user-namespace \n"));
	cr_expect_not(doctor_is_explained(&probes[finding_of("overlay") - found.findings],
					  "Missing: proc \n"));
}
