/* SPDX-License-Identifier: Apache-2.0 */
#include "setup/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/start/config.h"
#include "setup/perform.h"
#include "show/confirm.h"
#include "show/print.h"

/* --- the examination ------------------------------------------------------------------------- */

static void name_user(const struct machine *machine, struct examination *ret)
{
	const struct passwd *entry = machine->was_root ? NULL : getpwuid(geteuid());

	ret->has_account = !machine->was_root || machine->has_account;
	ret->uid = machine->was_root ? machine->account.uid : geteuid();
	if (machine->was_root)
		format_text(ret->user, sizeof(ret->user), "%s", machine->account.name);
	else if (entry)
		format_text(ret->user, sizeof(ret->user), "%s", entry->pw_name);
}

static void examine_all(struct examination *ret)
{
	static struct machine machine;

	ret->error = probe_count > EXAMINATION_FINDINGS_MAX ? -E2BIG
							    : doctor_examine(NULL, NULL, &machine);
	if (ret->error)
		return;
	name_user(&machine, ret);
	doctor_begin_verdict(&machine, LIMITS_UNSAID, &ret->verdict);
	for (size_t i = 0; i < probe_count; i++) {
		probe_run(&probes[i], &machine, &ret->findings[i]);
		doctor_note(&ret->verdict, &probes[i], &ret->findings[i]);
	}
}

/* Read the child's report; false if it is cut short, or could not be a report. */
static bool read_report(int fd, struct examination *ret)
{
	char *bytes = (char *)ret;
	size_t size = 0;
	ssize_t got = 1;

	while (size < sizeof(*ret) && got != 0) {
		got = read(fd, bytes + size, sizeof(*ret) - size);
		if (got < 0 && errno != EINTR)
			return false;
		size += got > 0 ? (size_t)got : 0;
		got = got < 0 ? 1 : got;
	}
	ret->user[sizeof(ret->user) - 1] = '\0';
	for (size_t i = 0; i < EXAMINATION_FINDINGS_MAX; i++) {
		struct finding *finding = &ret->findings[i];

		finding->tried[sizeof(finding->tried) - 1] = '\0';
		finding->happened[sizeof(finding->happened) - 1] = '\0';
		finding->fix[sizeof(finding->fix) - 1] = '\0';
	}
	return size == sizeof(*ret) && ret->error <= 0;
}

int examination_make(struct examination *ret)
{
	int ends[2];
	pid_t child;
	bool is_whole;

	*ret = (struct examination){ .error = 0 };
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	child = fork();
	if (child == 0) {
		examine_all(ret);
		_exit(fd_write_all(ends[1], ret, sizeof(*ret)) == 0 ? 0 : MSP_EXIT_SOFTWARE);
	}
	fd_close(&ends[1]);
	is_whole = child > 0 && read_report(ends[0], ret);
	fd_close(&ends[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return is_whole ? ret->error : -EIO;
}

#define COLUMNS 100
#define INDENT 4

static void print_labelled(const char *label, const char *text)
{
	const int column = INDENT + (int)strlen(label) + 2;

	(void)printf("%*s%s: ", INDENT, "", label);
	print_wrapped(text, column, COLUMNS);
}

static void print_finding(struct setup_walk *walk, const struct probe *probe,
			  const struct finding *finding)
{
	(void)printf("%s%s\n%*s", walk->has_shown ? "\n" : "", probe->name, INDENT, "");
	print_wrapped(finding->happened, INDENT, COLUMNS);
	print_labelled("why", probe->why);
	walk->has_shown = true;
}

/* Show the file that an act makes, with its text. */
static void print_file(const char *path, const char *text)
{
	(void)printf("%*swrites %s:\n", INDENT, "", path);
	while (*text) {
		const size_t size = strcspn(text, "\n");

		(void)printf("%*s| %.*s\n", INDENT, "", (int)size, text);
		text += size + (text[size] == '\n');
	}
}

static void print_act(const struct setup_act *act, const struct setup_facts *facts)
{
	const char *name = act->command[0];
	char text[SETUP_TEXT_MAX];
	char line[SETUP_TEXT_MAX];

	setup_expand(facts, act->what, text); /* all texts were tried by setup_act_applies() */
	print_labelled("act", text);
	if (act->actor == SETUP_ROOT && !facts->is_root) {
		setup_format_sudo(act, facts, text);
		(void)printf("%*sroot may do it: %s\n", INDENT, "", text);
		return;
	}
	if (act->text) {
		setup_expand(facts, act->text, text);
		print_file(act->makes, text);
	}
	line[0] = '\0';
	setup_append_command(act, facts, line, sizeof(line));
	if (act->is_lasting) {
		(void)printf("%*sruns %s, in the background\n", INDENT, "", line);
		return;
	}
	if (!perform_find(name, text, sizeof(text)))
		format_text(text, sizeof(text), "%s", name);
	(void)printf("%*sruns %s%s\n", INDENT, "", text, line + strlen(name));
}

/* Run the command of an act. 0, or -1 after a line. */
static int run_command(const struct setup_act *act, const struct setup_facts *facts)
{
	static char expanded[SETUP_WORDS_MAX][SETUP_TEXT_MAX];
	char *words[SETUP_WORDS_MAX] = { NULL };
	char line[SETUP_TEXT_MAX] = "";
	char made[SETUP_TEXT_MAX];
	char text[PERFORM_TEXT_MAX];

	for (size_t i = 0; act->command[i]; i++) {
		setup_expand(facts, act->command[i], expanded[i]);
		words[i] = expanded[i];
	}
	setup_append_command(act, facts, line, sizeof(line));
	if ((act->is_lasting ? perform_start_service(words, text)
			     : perform_run(words, facts->is_root ? 0 : facts->uid, text)) != 0)
		return log_fail(-1, "setup: '%s' failed: %s", line, text);
	if (!act->makes)
		return 0;
	setup_expand(facts, act->makes, made);
	if (perform_await(made))
		return 0;
	return log_fail(-1, "setup: '%s' was run, but after ten seconds there is no %s", line,
			made);
}

/* Do an act wholly; after a failure no file of it is left. 0, or -1 after a line. */
static int perform_act(const struct setup_act *act, const struct setup_facts *facts)
{
	char content[SETUP_TEXT_MAX];
	char text[PERFORM_TEXT_MAX];

	if (act->text) {
		setup_expand(facts, act->text, content);
		if (perform_write(act->makes, content, text) != 0)
			return log_fail(-1, "setup: nothing was written: %s", text);
	}
	if (run_command(act, facts) == 0)
		return 0;
	if (act->text && unlink(act->makes) != 0)
		log_line("setup: %s cannot be removed again: %s", act->makes, errno_text(errno));
	return -1;
}

static void offer_act(struct setup_walk *walk, const struct setup_act *act,
		      const struct setup_facts *facts)
{
	char text[SETUP_TEXT_MAX];

	print_act(act, facts);
	if (walk->is_dry || (act->actor == SETUP_ROOT && !facts->is_root))
		return;
	if (!walk->is_agreed && !confirm("    Do this?")) {
		print_labelled("result", "left as it is");
		return;
	}
	(void)fflush(stdout); /* before lines on standard error; the last flush tells */
	if (perform_act(act, facts) != 0) {
		walk->has_failed = true;
		print_labelled("result", "failed");
		return;
	}
	walk->has_changed = true;
	print_labelled("result", "done");
	if (act->then) {
		setup_expand(facts, act->then, text);
		print_labelled("then", text);
	}
}

/* Offer the acts against a finding. Returns true if one applies, or was offered before. */
static bool offer_acts(struct setup_walk *walk, const struct probe *probe,
		       const struct finding *finding, const struct setup_facts *facts)
{
	bool is_found = false;

	for (size_t i = 0; i < setup_act_count && !is_found; i++) {
		if (!setup_act_applies(&setup_acts[i], probe->name, finding, facts))
			continue;
		is_found = true;
		if (walk->is_offered[i])
			continue;
		walk->is_offered[i] = true;
		print_finding(walk, probe, finding);
		offer_act(walk, &setup_acts[i], facts);
	}
	return is_found;
}

bool setup_walk(struct setup_walk *walk, const struct examination *found)
{
	struct setup_facts facts = { .is_root = geteuid() == 0, .uid = found->uid };
	const bool is_nobody = facts.is_root && !found->has_account;
	char missing[1024] = "";

	format_text(facts.user, sizeof(facts.user), "%s", found->user);
	format_text(facts.program, sizeof(facts.program), "%s", walk->program);
	for (size_t i = 0; i < probe_count; i++) {
		const struct finding *finding = &found->findings[i];
		const char *name = probes[i].name;

		if ((is_nobody && strcmp(name, "account") != 0) ||
		    doctor_is_explained(&probes[i], missing))
			continue;
		if (finding->status == FINDING_MISSING)
			format_append(missing, sizeof(missing), "Missing: %s \n", name);
		if (offer_acts(walk, &probes[i], finding, &facts) ||
		    finding->status != FINDING_MISSING)
			continue;
		print_finding(walk, &probes[i], finding);
		print_labelled("remedy", doctor_fix(&probes[i], finding));
	}
	if (is_nobody && !walk->has_changed)
		(void)puts("\nThe rest can be examined when there is such an account.");
	return !is_nobody;
}
