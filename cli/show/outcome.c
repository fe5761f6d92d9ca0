/* SPDX-License-Identifier: Apache-2.0 */
#include "show/outcome.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ipc/limits_mode.h"
#include "common/log.h"
#include "common/text/format.h"
#include "common/text/names.h"
#include "frontend/denial_hints.h"
#include "frontend/denials.h"
#include "frontend/denials_network.h"
#include "frontend/outcome_json.h"
#include "frontend/posture_text.h"
#include "frontend/profile_names.h"
#include "frontend/runner_text.h"
#include "frontend/words/words.h"
#include "show/figures.h"
#include "show/json.h"
#include "show/missing_program.h"
#include "show/refusal.h"

static int failed_start_code(const struct ipc_execution_done *done)
{
	if (done->stage != STAGE_EXEC)
		return MSP_EXIT_SANDBOX;
	return done->error == ENOENT ? MSP_EXIT_NOT_FOUND : MSP_EXIT_NOT_EXECUTABLE;
}

static int done_code(const struct ipc_execution_done *done)
{
	switch (done->verdict) {
	case VERDICT_EXITED:
		return (int)(done->exit_code & 0xff);
	case VERDICT_TIMEOUT:
		return MSP_EXIT_TIMEOUT;
	case VERDICT_INTERNAL:
		return failed_start_code(done);
	default: /* killed for it, but for what failed by itself at a limit */
		if (!done->signal && done->exit_code)
			return (int)(done->exit_code & 0xff);
		return MSP_EXIT_SIGNAL_BASE + (int)(done->signal ? done->signal & 0x7f : SIGKILL);
	}
}

/* Return whether the service cancelled it, because it stops: nobody here did. */
static bool is_service_stop(const struct outcome *outcome)
{
	return outcome->is_service && outcome->is_done &&
	       outcome->done.verdict == VERDICT_CANCELLED;
}

int outcome_exit_code(const struct outcome *outcome)
{
	if (outcome->signal)
		return MSP_EXIT_SIGNAL_BASE + outcome->signal;
	if (outcome->is_reader_gone)
		return MSP_EXIT_SIGNAL_BASE + SIGPIPE;
	if (outcome->relay_name)
		return MSP_EXIT_SANDBOX;
	if (is_service_stop(outcome))
		return MSP_EXIT_AGAIN;
	if (outcome->is_done)
		return done_code(&outcome->done);
	if (outcome->is_refused)
		return refusal_exit_code(outcome->refused.reason);
	if (outcome->is_service)
		return MSP_EXIT_AGAIN;
	/* It has said why on stderr. */
	if (WIFEXITED(outcome->supervisor_status) &&
	    WEXITSTATUS(outcome->supervisor_status) == MSP_EXIT_REFUSED)
		return MSP_EXIT_REFUSED;
	return MSP_EXIT_SANDBOX;
}

/* Say that the runner of the profile could not be executed. False: it has none. */
static bool explain_runner(const struct outcome *outcome, const struct outcome_request *request)
{
	const char *profile = outcome->profile[0] ? outcome->profile : request->profile;
	struct plan plan = { .bytes = NULL };
	char text[RUNNER_TEXT_MAX];
	bool is_said;

	if (outcome->done.verdict != VERDICT_INTERNAL || outcome->done.stage != STAGE_EXEC ||
	    outcome->plan < 0 || plan_open_fd(outcome->plan, &plan) != 0)
		return false;
	is_said = runner_print_failure(&plan, profile, outcome->done.error, text);
	if (is_said)
		log_line("%s", text);
	plan_close(&plan);
	return is_said;
}

/* Say where the host has a program that the sandbox lacks. False: the caller's PATH has none. */
static bool print_program(const struct outcome *outcome, const struct outcome_request *request,
			  const char *name)
{
	char text[MISSING_PROGRAM_TEXT_MAX];
	struct plan plan = { .bytes = NULL };
	bool is_said;

	if (outcome->plan < 0 || plan_open_fd(outcome->plan, &plan) != 0)
		return false;
	is_said = missing_program_describe(&plan, outcome_profile(outcome, request), name, text);
	if (is_said)
		log_line("%s", text);
	plan_close(&plan);
	return is_said;
}

/* Explain the end of a shell that did not find a program. */
static void print_missing(const struct outcome *outcome, const struct outcome_request *request)
{
	char name[IPC_NAME_MAX];

	if (outcome->done.verdict == VERDICT_EXITED &&
	    outcome->done.exit_code == MSP_EXIT_NOT_FOUND &&
	    missing_program_read(outcome->errors.bytes, outcome->errors.size, name, sizeof(name)))
		(void)print_program(outcome, request, name);
}

/* Say which files a command can be among. */
static void explain_not_found(const struct outcome *outcome, const struct outcome_request *request)
{
	struct plan plan = { .bytes = NULL };
	bool has_image = false;

	if (print_program(outcome, request, request->command))
		return;
	if (outcome->plan >= 0 && plan_open_fd(outcome->plan, &plan) == 0) {
		has_image = profile_has_image(&plan, outcome_profile(outcome, request));
		plan_close(&plan);
	}
	log_line("%s: not found in the sandbox: only %s, --ro paths and the sandbox's own files "
		 "are there, and PATH is %s",
		 request->command, has_image ? "the image's files" : "/usr",
		 has_image ? "the image's, unless the profile has its own" : "the profile's");
}

static void explain_internal(const struct outcome *outcome, const struct outcome_request *request)
{
	const struct ipc_execution_done *done = &outcome->done;
	const char *text = errno_text((int)done->error);

	if (done->stage == STAGE_EXEC && done->error == ENOENT)
		explain_not_found(outcome, request);
	else if (done->stage == STAGE_EXEC)
		log_line("%s: cannot be executed in the sandbox: %s", request->command, text);
	else if (done->stage == STAGE_CWD)
		log_line("the working directory %s cannot be entered in the sandbox: %s. Name "
			 "one that exists inside, such as /workspace, with --cwd",
			 request->cwd ? request->cwd : "of the profile", text);
	else if (done->stage == STAGE_NETWORK && done->error == ENETDOWN)
		log_line("msp's gateway to the network has ended, and the sandbox with it: run it "
			 "again");
	else
		log_line("the sandbox could not be set up: %s: %s. 'msp doctor' checks this "
			 "machine",
			 stage_text(done->stage), text);
}

static void explain_done(const struct outcome *outcome, const struct outcome_request *request)
{
	const struct ipc_execution_done *done = &outcome->done;
	const unsigned long long wall_ms = done->wall_us / 1000;
	const char *name = verdict_name(done->verdict);
	const char *text = verdict_words(done->verdict)->people;
	char peak[64] = "";

	switch (done->verdict) {
	case VERDICT_TIMEOUT:
		log_line("%s: %s after %llu.%03llu s%s", name, text, wall_ms / 1000, wall_ms % 1000,
			 request->timeout_ms ? "" : " (the profile's limit; see --timeout)");
		break;
	case VERDICT_MEMORY:
		if (done->peak_bytes > 0)
			format_text(peak, sizeof(peak), ", peak %llu MiB",
				    (unsigned long long)done->peak_bytes >> 20);
		log_line("%s: %s%s", name, text, peak);
		break;
	case VERDICT_STOPPED:
		log_line("%s: sandbox '%s' %s", name, request->sandbox ? request->sandbox : "",
			 text);
		break;
	case VERDICT_INTERNAL:
		explain_internal(outcome, request);
		break;
	default: /* the exit code says all about the command's own end */
		if (text)
			log_line("%s: %s", name, text);
		break;
	}
}

/* Return the name of a profile without its hosts; static storage until the next call. */
static const char *narrowed_name(const struct outcome *outcome, const char *profile)
{
	static char copy[IPC_NAME_MAX];
	const char *name;
	struct plan plan;

	if (outcome->plan < 0 || plan_open_fd(outcome->plan, &plan) != 0)
		return profile;
	name = profile_without_hosts(&plan, profile);
	format_text(copy, sizeof(copy), "%s", name ? name : profile);
	plan_close(&plan);
	return copy;
}

const char *outcome_profile(const struct outcome *outcome, const struct outcome_request *request)
{
	const char *asked = request->profile[0] ? request->profile : outcome->default_profile;

	if (outcome->profile[0])
		return outcome->profile;
	return request->no_hosts && !request->sandbox ? narrowed_name(outcome, asked) : asked;
}

/* Add what the errors speak of. A person sees every counted refusal, also one that they do not. */
static void add_hints(const struct hint_source *source, struct denial_views *views)
{
	const uint32_t counted = views->count;
	enum denial_weight weights[DENIALS_COUNTED_MAX];

	for (uint32_t i = 0; i < counted; i++)
		weights[i] = views->items[i].weight;
	denial_hints_add(source, views);
	for (uint32_t i = 0; i < counted; i++)
		views->items[i].weight = weights[i];
}

/* Reading the plan costs a start more than all the rest that is done here: only where there is
 * something to say. The tails: of what it wrote, as far as that is known. */
static const struct denial_views *describe_denials(const struct outcome *outcome,
						   const struct outcome_request *request,
						   const struct outcome_tail *errors,
						   const struct outcome_tail *output)
{
	static struct denial_views views; /* too large to be cleared each time */
	const bool has_hints =
		errors->size + output->size > 0 && denial_hints_apply(&outcome->done);
	struct plan plan = { 0 };
	struct hint_source source;

	views.count = 0;
	views.other[0] = views.note[0] = views.unreached[0] = '\0';
	if (outcome->done.denials_size == 0 && outcome->network.count == 0 && !has_hints &&
	    !outcome->done.is_offline)
		return &views;
	/* Without it what was refused has hardly any words, and everything else is as it was. */
	if (outcome->plan < 0 || plan_open_fd(outcome->plan, &plan) != 0)
		plan = (struct plan){ 0 };
	source = (struct hint_source){ .plan = &plan,
				       .profile = outcome_profile(outcome, request),
				       .cwd = request->cwd,
				       .command = request->line,
				       .exit_code = outcome->done.exit_code,
				       .is_timeout = outcome->done.verdict == VERDICT_TIMEOUT,
				       .is_persistent = request->sandbox != NULL,
				       .is_service = outcome->is_service,
				       .is_counted = outcome->limits == LIMITS_CGROUP,
				       .peak_bytes = outcome->done.peak_bytes,
				       .tail = errors->bytes,
				       .size = errors->size,
				       .output = output->bytes,
				       .output_size = output->size };
	denials_describe(&plan, source.profile, &outcome->done, &views);
	denials_add_network(&source, &outcome->network, &views);
	if (has_hints)
		add_hints(&source, &views);
	plan_close(&plan);
	return &views;
}

/* The lines that an agent reads as well. */
static void explain_denials(const struct outcome *outcome, const struct outcome_request *request)
{
	const struct denial_views *views =
		describe_denials(outcome, request, &outcome->errors, &outcome->output);
	char lines[DENIALS_TEXT_MAX];
	char *second;

	denials_put_lines(views, lines);
	second = strchr(lines, '\n');
	if (second)
		*second++ = '\0';
	if (lines[0])
		log_line("%s", lines);
	if (second)
		log_line("%s", second);
	if (views->unreached[0])
		log_line("%s", views->unreached);
}

/* A server that was started with '&' is gone, although the command succeeded. */
static void print_left_behind(const struct ipc_execution_done *done)
{
	if (done->verdict == VERDICT_EXITED && done->left_behind > 0)
		log_line("%u background process%s ended with the command: 'msp exec -d' keeps a "
			 "server running in a persistent sandbox",
			 done->left_behind, done->left_behind == 1 ? " was" : "es were");
}

/* Explain the end, but no denial that a command did well without. */
static void explain_ended(const struct outcome *outcome, const struct outcome_request *request)
{
	if (!explain_runner(outcome, request))
		explain_done(outcome, request);
	print_left_behind(&outcome->done);
	if (outcome_exit_code(outcome) != 0)
		explain_denials(outcome, request);
	print_missing(outcome, request);
}

static void explain_gone(const struct outcome *outcome)
{
	const int status = outcome->supervisor_status;

	if (outcome->wrong)
		log_line("the supervisor broke the protocol (%s): are all of msp's programs "
			 "of one build?",
			 ipc_error_text(outcome->wrong));
	else if (outcome->is_service)
		log_line("the service ended before the command did; everything it ran is "
			 "gone: try again");
	else if (WIFSIGNALED(status))
		log_line("the supervisor was killed by signal %d (%s) before the command "
			 "ended; everything it ran is gone",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != MSP_EXIT_REFUSED)
		log_line("the supervisor ended with code %d before the command did",
			 WEXITSTATUS(status));
}

static void explain_refusal(const struct outcome *outcome, const struct outcome_request *request)
{
	const struct refusal_words words = { .profile = request->profile,
					     .variable =
						     request->is_variable ? PROFILE_VARIABLE : NULL,
					     .cwd = request->cwd,
					     .sandbox = request->sandbox,
					     .holder = request->holder };

	refusal_explain(&outcome->refused, &words, outcome->plan);
}

void outcome_explain(const struct outcome *outcome, const struct outcome_request *request)
{
	if (outcome->signal || outcome->is_reader_gone)
		return; /* the caller did that */
	if (outcome->relay_name)
		log_line("%s: %s", outcome->relay_name, errno_text(outcome->relay_error));
	else if (is_service_stop(outcome))
		log_line("the service stops, and the command was ended with it: try again");
	else if (outcome->is_done)
		explain_ended(outcome, request);
	else if (outcome->is_refused)
		explain_refusal(outcome, request);
	else
		explain_gone(outcome);
}

void outcome_print_posture(const struct outcome *outcome, const struct outcome_request *request)
{
	log_line("profile %s, Landlock ABI %u, limits: %s", outcome_profile(outcome, request),
		 outcome->landlock_abi, limits_mode_name(outcome->limits));
}

void outcome_print_measured(const struct outcome *outcome)
{
	struct buffer text = { 0 };

	posture_describe(&outcome->posture, &text);
	log_line("%s", text.bytes);
	buffer_done(&text);
}

void outcome_print_end(const struct outcome *outcome)
{
	const struct ipc_execution_done *done = &outcome->done;
	char how[128];

	if (!outcome->is_done)
		return;
	format_text(how, sizeof(how), "%s", verdict_name(done->verdict));
	if (done->verdict == VERDICT_EXITED)
		format_append(how, sizeof(how), " %u", done->exit_code);
	else if (done->signal)
		format_append(how, sizeof(how), ", signal %u", done->signal);
	format_append(how, sizeof(how), "; %llu ms wall", (unsigned long long)done->wall_us / 1000);
	if (done->cpu_us > 0)
		format_append(how, sizeof(how), ", %llu ms CPU",
			      (unsigned long long)done->cpu_us / 1000);
	if (done->peak_bytes > 0)
		format_append(how, sizeof(how), ", peak %llu KiB",
			      (unsigned long long)done->peak_bytes / 1024);
	log_line("%s", how);
}

void outcome_print_timings(const struct outcome *outcome)
{
	char text[256] = "";
	uint64_t sum = 0;

	if (!outcome->timings.is_known)
		return;
	for (enum timing timing = 0; timing < TIMING_COUNT; timing++) {
		if (!timings_have(&outcome->timings, timing))
			continue;
		format_append(text, sizeof(text), " %s %llu,", timing_name(timing),
			      (unsigned long long)outcome->timings.us[timing]);
		sum += outcome->timings.us[timing];
	}
	log_line("microseconds:%s together %llu", text, (unsigned long long)sum);
}

/* The number of written bytes is a member of the outcome. */
static void write_stream(struct json_writer *json, const char *name,
			 const struct capture_parts *parts)
{
	struct buffer kept = { 0 };
	char member[32];

	buffer_append(&kept, parts->parts[0], parts->sizes[0]);
	buffer_append(&kept, parts->parts[1], parts->sizes[1]);
	if (parts->is_utf8)
		json_put_string(json, name, kept.bytes, kept.size);
	else
		json_put_base64(json, name, kept.bytes, kept.size);
	buffer_done(&kept);
	format_text(member, sizeof(member), "%s_encoding", name);
	json_put_text(json, member, parts->is_utf8 ? "utf-8" : "base64");
	format_text(member, sizeof(member), "%s_omitted_bytes", name);
	json_put_number(json, member, parts->omitted);
	if (parts->omitted == 0)
		return;
	format_text(member, sizeof(member), "%s_omitted_at", name);
	json_put_number(json, member, parts->sizes[0]);
}

/* Return the end of a captured stream. */
static struct outcome_tail tail_of(const struct capture_parts *capture)
{
	const int last = capture->sizes[1] > 0;
	const size_t size = capture->sizes[last] < HINT_BYTES ? capture->sizes[last] : HINT_BYTES;

	return (struct outcome_tail){ capture->parts[last] + capture->sizes[last] - size, size };
}

static void write_workspace(struct json_writer *json, const struct outcome *outcome)
{
	json_open_object(json, "workspace");
	json_put_text_or_null(json, "sandbox", outcome->workspace);
	json_put_number(json, "changes", outcome->changes);
	json_close_object(json);
}

int outcome_print_json(const struct outcome *outcome, const struct outcome_request *request,
		       struct capture captures[2])
{
	struct json_writer *json = json_begin_object();
	const struct capture_parts output = capture_finish(&captures[0]);
	const struct capture_parts errors = capture_finish(&captures[1]);
	const struct outcome_tail tails[] = { tail_of(&output), tail_of(&errors) };
	const struct outcome_facts facts = {
		.done = &outcome->done,
		.timings = &outcome->timings,
		.denials = describe_denials(outcome, request, &tails[1], &tails[0]),
		.stdout_bytes = captures[0].total,
		.stderr_bytes = captures[1].total,
		.is_truncated = output.omitted + errors.omitted > 0,
		.limits = outcome->limits,
		.landlock_abi = outcome->landlock_abi,
		.profile = outcome_profile(outcome, request),
		.posture = &outcome->posture,
	};

	outcome_put(json, &facts);
	write_stream(json, "stdout", &output);
	write_stream(json, "stderr", &errors);
	if (outcome->workspace)
		write_workspace(json, outcome);
	return json_finish();
}

/* The supervisor counts from when it heard the request, so less time has gone than since the
 * launch. */
void outcome_note_limit(const struct outcome_request *request, uint64_t launched_us,
			uint64_t wall_ms)
{
	const uint64_t gone_ms = (clock_now_us() - launched_us) / 1000 + 1;
	char span[FIGURES_TEXT_MAX];

	if (wall_ms > 0 && wall_ms + gone_ms < request->timeout_ms)
		log_line("--timeout is lowered to %s, the most that the profile allows",
			 figures_span((wall_ms + 999) / 1000, span));
}
