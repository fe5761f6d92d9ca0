/* SPDX-License-Identifier: Apache-2.0 */
#include "setup/acts.h"

#include <string.h>
#include <unistd.h>

#include "common/text/format.h"
#include "launcher/host/cgroup.h"

#define SYSTEMD "/run/systemd/system"
#define MANAGER "/run/user/{uid}/systemd/private"
#define SYSUSERS "/usr/lib/sysusers.d/msp.conf"
#define APPARMOR "/etc/apparmor.d/msp"
#define MAKE_ACCOUNT "make the account 'msp', which msp becomes when root starts it"
#define ALLOW_NAMESPACES "allow user namespaces to msp, by a profile of AppArmor"

const struct setup_act setup_acts[] = {
	{ .probes = { "account" },
	  .cause = CAUSE_ABSENT,
	  .actor = SETUP_ROOT,
	  .what = MAKE_ACCOUNT,
	  .needs = { SYSUSERS },
	  .command = { "systemd-sysusers", SYSUSERS } },
	{ .probes = { "account" },
	  .cause = CAUSE_ABSENT,
	  .actor = SETUP_ROOT,
	  .what = MAKE_ACCOUNT,
	  .lacks = SYSUSERS,
	  .command = { "useradd", "--system", "--user-group", "--no-create-home", "--home-dir",
		       "/nonexistent", "--shell", "/usr/sbin/nologin", ACCOUNT_DEFAULT } },
	{ .probes = { "user-namespace" },
	  .cause = CAUSE_APPARMOR,
	  .actor = SETUP_ROOT,
	  .what = ALLOW_NAMESPACES,
	  .makes = APPARMOR,
	  .text = "abi <abi/4.0>,\n"
		  "include <tunables/global>\n"
		  "\n"
		  "profile msp {program} flags=(unconfined) {\n"
		  "  userns,\n"
		  "\n"
		  "  include if exists <local/msp>\n"
		  "}\n",
	  .command = { "apparmor_parser", "-r", APPARMOR } },
	{ .probes = { "user-namespace" },
	  .cause = CAUSE_APPARMOR,
	  .actor = SETUP_ROOT,
	  .what = ALLOW_NAMESPACES,
	  .needs = { APPARMOR },
	  .command = { "apparmor_parser", "-r", APPARMOR } },
	{ .probes = { "cgroup" },
	  .cause = CAUSE_MANAGER,
	  .actor = SETUP_ANYONE,
	  .what = "have a systemd of {user}'s own running, also while nobody is logged in",
	  .needs = { SYSTEMD },
	  .makes = MANAGER,
	  .command = { "loginctl", "enable-linger", "{user}" } },
	{ .probes = { "cgroup", "delegation" },
	  .cause = CAUSE_CONTROLLERS,
	  .actor = SETUP_ROOT,
	  .what = "have systemd hand all controllers of cgroup v2 to users",
	  .needs = { SYSTEMD },
	  .makes = CGROUP_DROP_IN_PATH,
	  .text = "[Service]\n" CGROUP_DROP_IN_KEY "\n",
	  .command = { "systemctl", "daemon-reload" },
	  .then = "log out and in again: it holds for sessions from then on" },
	{ .probes = { "service" },
	  .cause = CAUSE_ABSENT,
	  .actor = SETUP_USER,
	  .what = "have one service start the sandboxes of all clients",
	  .needs = { MANAGER, "{folder}/../lib/systemd/user/msp.socket" },
	  .command = { "systemctl", "--user", "enable", "--now", "msp.socket" } },
	{ .probes = { "service" },
	  .cause = CAUSE_PLACE,
	  .actor = SETUP_ROOT,
	  .what = "make the directory in which the service of {user} has its socket",
	  .lacks = SYSTEMD,
	  .makes = "/run/user/{uid}",
	  .command = { "install", "-d", "-m", "0700", "-o", "{user}", "/run/user/{uid}" } },
	{ .probes = { "service" },
	  .cause = CAUSE_ABSENT,
	  .actor = SETUP_USER,
	  .what = "start one service for the sandboxes of all clients, since no systemd does here",
	  .lacks = SYSTEMD,
	  .command = { "{program}", "serve", "--service" },
	  .then = "it runs until the machine stops: have '{program} serve --service' started at "
		  "login, too",
	  .is_lasting = true },
};
const size_t setup_act_count = sizeof(setup_acts) / sizeof(setup_acts[0]);

/* Names and paths of only these characters mean themselves to a shell and in AppArmor's profiles.
 */
static bool is_plain(const char *text)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789/._+-";

	return text[0] && text[0] != '-' && text[strspn(text, allowed)] == '\0';
}

/* Append the fact of a name, which ends with a brace. */
static void append_fact(const struct setup_facts *facts, const char *name, char ret[SETUP_TEXT_MAX])
{
	const char *slash = strrchr(facts->program, '/');

	if (strncmp(name, "uid}", 4) == 0)
		format_append(ret, SETUP_TEXT_MAX, "%u", facts->uid);
	else if (strncmp(name, "user}", 5) == 0)
		format_append(ret, SETUP_TEXT_MAX, "%s", facts->user);
	else
		format_append(ret, SETUP_TEXT_MAX, "%.*s",
			      strncmp(name, "folder}", 7) == 0 ? (int)(slash - facts->program)
							       : IPC_PATH_MAX,
			      facts->program);
}

void setup_expand(const struct setup_facts *facts, const char *text, char ret[SETUP_TEXT_MAX])
{
	ret[0] = '\0';
	while (*text) {
		/* AppArmor's own braces stand before a line end. */
		const bool is_fact = text[0] == '{' && text[1] >= 'a' && text[1] <= 'z';

		if (is_fact)
			append_fact(facts, text + 1, ret);
		else
			format_append(ret, SETUP_TEXT_MAX, "%c", *text);
		text += is_fact ? strcspn(text, "}") + 1 : 1;
	}
}

static bool path_exists(const struct setup_facts *facts, const char *path)
{
	char text[SETUP_TEXT_MAX];

	setup_expand(facts, path, text);
	return access(text, F_OK) == 0;
}

bool setup_act_applies(const struct setup_act *act, const char *probe,
		       const struct finding *finding, const struct setup_facts *facts)
{
	bool is_about = strcmp(act->probes[0], probe) == 0 ||
			(act->probes[1] && strcmp(act->probes[1], probe) == 0);

	if (!is_about || finding->cause != act->cause ||
	    (act->actor == SETUP_USER && facts->is_root) || !is_plain(facts->user) ||
	    !is_plain(facts->program))
		return false;
	for (size_t i = 0; i < sizeof(act->needs) / sizeof(act->needs[0]); i++) {
		if (act->needs[i] && !path_exists(facts, act->needs[i]))
			return false;
	}
	return !(act->lacks && path_exists(facts, act->lacks)) &&
	       !(act->makes && path_exists(facts, act->makes));
}

void setup_append_command(const struct setup_act *act, const struct setup_facts *facts, char *text,
			  size_t room)
{
	char word[SETUP_TEXT_MAX];

	for (size_t i = 0; act->command[i]; i++) {
		setup_expand(facts, act->command[i], word);
		format_append(text, room, "%s%s", i > 0 ? " " : "", word);
	}
}

/* Append `text` with each line end as printf(1) takes it. */
static void append_one_line(const char *text, char *ret, size_t room)
{
	for (; *text; text++)
		format_append(ret, room, *text == '\n' ? "\\n" : "%c", *text);
}

void setup_format_sudo(const struct setup_act *act, const struct setup_facts *facts,
		       char text[SETUP_TEXT_MAX])
{
	char whole[SETUP_TEXT_MAX];

	text[0] = '\0';
	if (act->text) {
		setup_expand(facts, act->text, whole);
		format_append(text, SETUP_TEXT_MAX, "sudo mkdir -p %.*s && printf '",
			      (int)(strrchr(act->makes, '/') - act->makes), act->makes);
		append_one_line(whole, text, SETUP_TEXT_MAX);
		format_append(text, SETUP_TEXT_MAX, "' | sudo tee %s >/dev/null", act->makes);
	}
	format_append(text, SETUP_TEXT_MAX, "%ssudo ", text[0] ? " && " : "");
	setup_append_command(act, facts, text, SETUP_TEXT_MAX);
}
