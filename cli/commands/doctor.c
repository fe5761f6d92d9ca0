/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp doctor`: does this machine have what the sandboxes need, and if not, what exactly helps?
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/plan/plan.h"
#include "common/text/format.h"
#include "doctor/examine.h"
#include "launcher/start/config.h"
#include "launcher/start/machine_place.h"
#include "launcher/start/machine_program.h"
#include "options/command.h"
#include "show/json.h"
#include "show/print.h"

#define TEXT_COLUMN 27
#define COLUMNS 100

struct doctor_options {
	const char *config;
	const char *run_as;
	bool is_json;
};

static const struct option_row rows[] = {
	OPTION(struct doctor_options, "json", NULL, option_set_flag, is_json,
	       "print one JSON object"),
	OPTION_CONFIG(struct doctor_options, config),
	OPTION_RUN_AS_CONFIGURED(struct doctor_options, run_as, false),
};

/* --- runtimes -------------------------------------------------------------------------------- */

/* The languages of a profile, and the runtimes beside them. */
#define RUNTIMES_MAX (PLAN_LANGUAGES_MAX + 8)

struct runtime {
	char name[IPC_NAME_MAX];
	char program[PATH_MAX]; /* the file on the host, links followed; empty: it is not installed
				 */
	const char *use;        /* which part needs the program; empty: all of the runtime */
	const char *install;    /* a command; NULL: none is known, or it has to be in the image */
	char processor[MACHINE_ANSWER_MAX]; /* the answer of a trial of KVM; empty: there is none */
	bool has_kvm;
};

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

/* Set the program if the file is there and allows `mode` (X_OK, R_OK). */
static void look_at(struct runtime *runtime, const char *path, int mode)
{
	if (access(path, mode) != 0 || !realpath(path, runtime->program))
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
			look_at(runtime, plan_string(plan, languages[i].host_program), X_OK);
	}
	return count;
}

static void add_emulator(struct runtime *ret)
{
	*ret = (struct runtime){ .name = "vm",
				 .use = "QEMU",
				 .install = "apt install qemu-system-x86" };
	look_at(ret, MACHINE_EMULATOR, X_OK);
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
	look_at(ret, program, R_OK);
}

/* Find the runtimes. Return their number; 0: no policy could be read. */
static size_t runtimes_find(const struct machine *machine, struct runtime ret[RUNTIMES_MAX])
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
		look_at(runtime, others[i].program, X_OK);
	}
	add_emulator(&ret[count++]);
	add_kernel(&ret[count++]);
	return count;
}

/* --- for a person --------------------------------------------------------------------------- */

static const struct {
	const char *word;
	const char *color;
} status_words[] = {
	[FINDING_OK] = { "ok", "\033[32m" },
	[FINDING_MISSING] = { "missing", "\033[1;31m" },
	[FINDING_NOTE] = { "note", "" },
	[FINDING_SKIPPED] = { "skipped", "" },
};

static bool use_color(void)
{
	const char *no_color = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && !(no_color && no_color[0] != '\0');
}

static void print_finding(const struct probe *probe, const struct finding *finding, bool has_color)
{
	const char *color = has_color ? status_words[finding->status].color : "";
	char text[sizeof(finding->tried) + sizeof(finding->happened) + 4];

	(void)printf("  %s%-8s%s %-*s", color, status_words[finding->status].word,
		     color[0] ? "\033[0m" : "", TEXT_COLUMN - 11, probe->name);
	format_text(text, sizeof(text), "%s: %s", finding->tried, finding->happened);
	print_wrapped(text, TEXT_COLUMN, COLUMNS);
	if (finding->status != FINDING_MISSING)
		return;
	(void)printf("%*swhy: ", TEXT_COLUMN, "");
	print_wrapped(probe->why, TEXT_COLUMN + 5, COLUMNS);
	(void)printf("%*sfix: ", TEXT_COLUMN, "");
	print_wrapped(doctor_fix(probe, finding), TEXT_COLUMN + 5, COLUMNS);
}

static void print_conclusion(const struct doctor_verdict *all)
{
	if (all->is_fit && all->is_weaker)
		(void)puts("\nmsp can run here, with weaker limits of memory, processes and CPU "
			   "time, which the\nconfiguration accepts.");
	else if (all->is_fit)
		(void)puts("\nmsp can run here, with everything that the policy requires.");
	else if (all->is_fit_fallback)
		(void)puts("\nmsp refuses to start here, because the policy requires cgroup v2.\n"
			   "It would start with 'limits: fallback' in the configuration: weaker "
			   "limits of memory,\nprocesses and CPU time; everything else stays as "
			   "it is. --limits=fallback does so for one run.");
	else
		(void)puts("\nmsp cannot run here until what is missing has been fixed.");
}

/* One line for each runtime: its program, or the command that installs it. */
static void print_runtimes(const struct machine *machine)
{
	static struct runtime runtimes[RUNTIMES_MAX];
	const size_t count = runtimes_find(machine, runtimes);
	char text[PATH_MAX];

	if (count > 0)
		(void)puts("\nruntimes of the default profile:\n");
	for (size_t i = 0; i < count; i++) {
		const struct runtime *runtime = &runtimes[i];

		if (runtime->program[0])
			format_text(text, sizeof(text), "%s", runtime->program);
		else if (runtime->install)
			format_text(text, sizeof(text), "not installed: %s", runtime->install);
		else
			format_text(text, sizeof(text), "not installed");
		(void)printf("  %-16s", runtime->name);
		if (runtime->use[0])
			(void)printf("%s: ", runtime->use);
		(void)fputs(text, stdout);
		if (runtime->processor[0])
			(void)printf(" (%s)", runtime->processor);
		(void)puts("");
	}
}

static int print_report(const struct machine *machine, struct doctor_verdict *all)
{
	const bool has_color = use_color();

	(void)puts("msp " MSP_VERSION " on this machine:\n");
	for (size_t i = 0; i < probe_count; i++) {
		struct finding finding;

		probe_run(&probes[i], machine, &finding);
		doctor_note(all, &probes[i], &finding);
		print_finding(&probes[i], &finding, has_color);
		(void)fflush(stdout); /* before the next probe forks; the last flush tells */
	}
	print_runtimes(machine);
	print_conclusion(all);
	return fflush(stdout) == 0 ? 0 : -errno;
}

/* --- for a program -------------------------------------------------------------------------- */

static void write_finding(struct json_writer *json, const struct probe *probe,
			  const struct finding *finding)
{
	static const char *const levels[] = {
		[PROBE_REQUIRED] = "required",
		[PROBE_LIMITS] = "limits",
		[PROBE_INFORMATION] = "information",
	};

	json_open_object(json, NULL);
	json_put_text(json, "name", probe->name);
	json_put_text(json, "status", status_words[finding->status].word);
	json_put_text(json, "level", levels[probe->level]);
	json_put_text(json, "tried", finding->tried);
	json_put_text(json, "happened", finding->happened);
	json_put_text(json, "why", probe->why);
	if (finding->status == FINDING_MISSING)
		json_put_text(json, "fix", doctor_fix(probe, finding));
	json_close_object(json);
}

static void write_runtimes(struct json_writer *json, const struct machine *machine)
{
	static struct runtime runtimes[RUNTIMES_MAX];
	const size_t count = runtimes_find(machine, runtimes);

	json_open_array(json, "runtimes");
	for (size_t i = 0; i < count; i++) {
		json_open_object(json, NULL);
		json_put_text(json, "name", runtimes[i].name);
		json_put_bool(json, "installed", runtimes[i].program[0] != '\0');
		if (runtimes[i].use[0])
			json_put_text(json, "use", runtimes[i].use);
		if (runtimes[i].program[0])
			json_put_text(json, "program", runtimes[i].program);
		else if (runtimes[i].install)
			json_put_text(json, "install", runtimes[i].install);
		if (runtimes[i].processor[0]) {
			json_put_bool(json, "kvm", runtimes[i].has_kvm);
			json_put_text(json, "processor", runtimes[i].processor);
		}
		json_close_object(json);
	}
	json_close_array(json);
}

static int print_json(const struct machine *machine, struct doctor_verdict *all)
{
	struct json_writer *json = json_begin_object();

	json_put_text(json, "version", MSP_VERSION);
	json_open_array(json, "probes");
	for (size_t i = 0; i < probe_count; i++) {
		struct finding finding;

		probe_run(&probes[i], machine, &finding);
		doctor_note(all, &probes[i], &finding);
		write_finding(json, &probes[i], &finding);
	}
	json_close_array(json);
	write_runtimes(json, machine);
	json_put_bool(json, "ok", all->is_fit);
	json_put_bool(json, "ok_with_limits_fallback", all->is_fit_fallback);
	return json_finish();
}

static int run_doctor(const struct command *command, int argc, char *argv[])
{
	static struct machine machine;
	struct doctor_options options = { 0 };
	struct doctor_verdict all;
	int error;
	int rest;
	int code;

	if (!command_parse(command, argc, argv, &options, &rest, &code))
		return code;
	error = launch_standard_fds();
	if (error >= 0)
		error = doctor_examine(options.config, options.run_as, &machine);
	if (error)
		return log_fail(
			MSP_EXIT_REFUSED,
			"doctor: cannot become an ordinary account: %s. msp must not be setuid",
			errno_text(-error));
	doctor_begin_verdict(&machine, LIMITS_UNSAID, &all);
	error = options.is_json ? print_json(&machine, &all) : print_report(&machine, &all);
	if (error)
		return log_fail(MSP_EXIT_SOFTWARE, "doctor: standard output: %s",
				errno_text(-error));
	return all.is_fit ? 0 : MSP_EXIT_REFUSED;
}

const struct command command_doctor = {
	.name = "doctor",
	.operands = "",
	.summary = "check what this machine has and lacks",
	.help = "Try everything that the sandboxes need on this machine and say what\n"
		"happened: one line for each, and for what is missing why it is needed and\n"
		"how to fix it. Then one line for each runtime of the default profile: its\n"
		"program, or the command that installs it. The exit code is 0 when nothing\n"
		"required is missing, else 78.\n",
	.options = { OPTION_ROWS(rows) },
	.run = run_doctor,
};
