/* SPDX-License-Identifier: Apache-2.0 */
#include "show/refusal.h"

#include "common/log.h"
#include "frontend/utf8.h"

int refusal_exit_code(uint32_t reason)
{
	switch (reason) {
	case REFUSAL_BUSY:
	case REFUSAL_MEMORY:
	case REFUSAL_SANDBOX_BUSY:
	case REFUSAL_SANDBOX_ELSEWHERE:
	case REFUSAL_SANDBOXES:
	case REFUSAL_DISK:
	case REFUSAL_WAITING:
		return MSP_EXIT_AGAIN;
	case REFUSAL_RESOURCES:
	case REFUSAL_AUDIT:
	case REFUSAL_REQUEST_IN_USE:
	case REFUSAL_SANDBOX_DAMAGED:
	case REFUSAL_CANCELLED:
		return MSP_EXIT_SANDBOX;
	case REFUSAL_APPLY:
	case REFUSAL_STATE:
		return MSP_EXIT_REFUSED;
	default:
		return MSP_EXIT_USAGE;
	}
}

/* `detail` is like "2 of 2 executions" or "900 of 1024 MiB"; a time of 0 says that nothing runs
 * whose end would help. */
static void explain_budget(const struct ipc_execution_refused *refused, const char *what,
			   const char *remedy)
{
	const uint32_t seconds = refused->retry_ms / 1000 + (refused->retry_ms % 1000 ? 1 : 0);

	if (seconds > 0)
		log_line("%s %s: wait until one ends (in at most %u s)", refused->detail, what,
			 seconds);
	else
		log_line("%s %s: %s", refused->detail, what, remedy);
}

static const char *or_empty(const char *word)
{
	return word ? word : "";
}

/* Explain a refusal that has no words of its own. */
static void explain_other(const struct ipc_execution_refused *refused)
{
	log_line("the supervisor refused (%u): %s", refused->reason,
		 refused->detail[0] ? refused->detail : "no detail");
}

static void explain_checkpoint(const struct ipc_execution_refused *refused,
			       const struct refusal_words *words)
{
	const char *sandbox = or_empty(words->sandbox);

	switch (refused->reason) {
	case REFUSAL_CHECKPOINT_UNKNOWN:
		if (refused->detail[0])
			log_line("sandbox '%s' has no checkpoint '%s'; it has: %s", sandbox,
				 or_empty(words->checkpoint), refused->detail);
		else
			log_line("sandbox '%s' has no checkpoint '%s': 'msp checkpoints %s' shows "
				 "those that there are",
				 sandbox, or_empty(words->checkpoint), sandbox);
		break;
	case REFUSAL_CHECKPOINT_LIMIT:
		log_line("sandbox '%s' can have no more checkpoints: %s. 'msp forget %s "
			 "CHECKPOINT' makes room",
			 sandbox, refused->detail, sandbox);
		break;
	default:
		log_line("nothing that was applied from sandbox '%s' can be taken back%s%s",
			 sandbox, refused->detail[0] ? ": " : "", refused->detail);
		break;
	}
}

/* `detail` says why a persistent sandbox cannot be used, or why none is made. */
static void explain_workspace(const struct ipc_execution_refused *refused,
			      const struct refusal_words *words)
{
	if (refused->detail[0] && words->sandbox)
		log_line("sandbox '%s' and its directory: %s", words->sandbox, refused->detail);
	else if (refused->detail[0])
		log_line("%s", refused->detail);
	else
		log_line("the workspace %s may not be worked on", or_empty(words->workspace));
}

static void explain_making(const struct ipc_execution_refused *refused,
			   const struct refusal_words *words)
{
	switch (refused->reason) {
	case REFUSAL_SANDBOX_NAME:
		log_line("there is a sandbox '%s' already%s%s: take another name, or end that one "
			 "with 'msp destroy' first",
			 or_empty(words->name), refused->detail[0] ? ", " : "", refused->detail);
		break;
	case REFUSAL_SANDBOX_PROFILE:
		log_line("the profile '%s' is gone, or keeps no files: a persistent sandbox needs "
			 "one that does, such as 'default'; 'msp profile show' has them",
			 refused->detail[0] ? refused->detail : or_empty(words->profile));
		break;
	case REFUSAL_SANDBOXES:
		log_line("there are %s, as many as the operator allows: 'msp destroy' one that is "
			 "not needed; 'msp list --all' shows them",
			 refused->detail[0] ? refused->detail : "as many sandboxes");
		break;
	case REFUSAL_DISK:
		log_line("the disk space that sandboxes may take is used up: %s. 'msp rollback' to "
			 "a checkpoint that has less, 'msp forget' others, or 'msp destroy' "
			 "sandboxes; 'msp diff' and 'msp apply' still work, and a larger 'disk' or "
			 "'inodes' of the profile opens it again",
			 refused->detail);
		break;
	case REFUSAL_WORKSPACE:
		explain_workspace(refused, words);
		break;
	default:
		log_line("persistent sandboxes cannot be had here: %s",
			 refused->detail[0] ? refused->detail : "no state directory");
		break;
	}
}

static void explain_sandbox(const struct ipc_execution_refused *refused,
			    const struct refusal_words *words)
{
	const char *sandbox = or_empty(words->sandbox);

	switch (refused->reason) {
	case REFUSAL_SANDBOX_UNKNOWN:
		if (refused->detail[0])
			log_line("'%s' is no sandbox: %s", sandbox, refused->detail);
		else
			log_line("there is no sandbox '%s'; 'msp list' shows those that there are",
				 sandbox);
		break;
	case REFUSAL_SANDBOX_BUSY:
		log_line("something runs in sandbox '%s'%s%s: wait until it ends, or end it with "
			 "'msp stop %s'",
			 sandbox, refused->detail[0] ? ", " : "", refused->detail, sandbox);
		break;
	case REFUSAL_SANDBOX_ELSEWHERE:
		log_line("another msp has sandbox '%s' now: wait until it ends, or leave out "
			 "--standalone; with the service ('systemctl --user enable --now "
			 "msp.socket') all can use it at once",
			 sandbox);
		break;
	case REFUSAL_SANDBOX_DAMAGED:
		log_line("sandbox '%s' is damaged: %s. It is left as it is; 'msp destroy %s' "
			 "removes it",
			 sandbox, refused->detail, sandbox);
		break;
	default:
		log_line("the policy does not let changes of sandbox '%s' be applied here%s%s",
			 sandbox, refused->detail[0] ? ": " : "", refused->detail);
		break;
	}
}

static void explain_execution(const struct ipc_execution_refused *refused,
			      const struct refusal_words *words)
{
	switch (refused->reason) {
	case REFUSAL_PROFILE_UNKNOWN:
		log_line("there is no profile '%s'%s; use --profile with one of: %s",
			 or_empty(words->profile),
			 words->is_variable ? ", which MSP_DEFAULT_PROFILE names" : "",
			 refused->detail);
		break;
	case REFUSAL_ARGV:
		log_line("the command line or the environment is malformed: %s",
			 refused->detail[0] ? refused->detail : "check --env and the command");
		break;
	case REFUSAL_CWD:
		log_line("--cwd=%s must be an absolute path inside the sandbox, such as /workspace",
			 or_empty(words->cwd));
		break;
	case REFUSAL_BUSY:
		explain_budget(refused, "run already", "try again in a moment");
		break;
	case REFUSAL_MEMORY:
		explain_budget(refused, "are taken, and the command needs more than the rest",
			       "--max-memory of 'msp serve' bounds it");
		break;
	case REFUSAL_WAITING:
		log_line("too many requests wait for sandboxes and directories already, and "
			 "nothing was done: try again when some of them are answered");
		break;
	case REFUSAL_RESOURCES:
		log_line("nothing was done, since this machine or the place where sandboxes are "
			 "kept has no room or right for it: %s. 'msp doctor' checks both",
			 refused->detail);
		break;
	default:
		log_line("nothing was run: %s. Make room there, or see 'msp audit verify'",
			 refused->detail);
		break;
	}
}

typedef void explain(const struct ipc_execution_refused *refused,
		     const struct refusal_words *words);

static explain *const explainers[REFUSAL_COUNT] = {
	[REFUSAL_PROFILE_UNKNOWN] = explain_execution,
	[REFUSAL_ARGV] = explain_execution,
	[REFUSAL_CWD] = explain_execution,
	[REFUSAL_BUSY] = explain_execution,
	[REFUSAL_MEMORY] = explain_execution,
	[REFUSAL_RESOURCES] = explain_execution,
	[REFUSAL_WAITING] = explain_execution,
	[REFUSAL_AUDIT] = explain_execution,
	[REFUSAL_SANDBOX_UNKNOWN] = explain_sandbox,
	[REFUSAL_SANDBOX_BUSY] = explain_sandbox,
	[REFUSAL_SANDBOX_ELSEWHERE] = explain_sandbox,
	[REFUSAL_SANDBOX_DAMAGED] = explain_sandbox,
	[REFUSAL_APPLY] = explain_sandbox,
	[REFUSAL_SANDBOX_NAME] = explain_making,
	[REFUSAL_SANDBOX_PROFILE] = explain_making,
	[REFUSAL_SANDBOXES] = explain_making,
	[REFUSAL_DISK] = explain_making,
	[REFUSAL_WORKSPACE] = explain_making,
	[REFUSAL_STATE] = explain_making,
	[REFUSAL_CHECKPOINT_UNKNOWN] = explain_checkpoint,
	[REFUSAL_CHECKPOINT_LIMIT] = explain_checkpoint,
	[REFUSAL_UNDO] = explain_checkpoint,
};

void refusal_explain(const struct ipc_execution_refused *refused, const struct refusal_words *words)
{
	static struct ipc_execution_refused shown; /* too large for the stack; one thread */

	shown = *refused;
	utf8_make_line(shown.detail); /* it may quote a path, which can hold anything */
	if (shown.reason < REFUSAL_COUNT && explainers[shown.reason])
		explainers[shown.reason](&shown, words);
	else
		explain_other(&shown);
}
