/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/refusal.h"

#include <stddef.h>
#include <string.h>

#include "io/text.h"
#include "mcp/result.h"

/* Parts of a refusal's sentence: `before`, the subject, `middle`, the supervisor's detail, `after`.
 */
struct refusal_text {
	const char *before;
	size_t subject; /* offset in struct refusal_subjects, if there is a `before` */
	const char *middle;
	const char *after;
};

/* Bound of a quoted subject. */
#define SUBJECT_BYTES 250U

#define SUBJECT(name) offsetof(struct refusal_subjects, name)

static const struct refusal_text refusals[REFUSAL_COUNT] = {
	[REFUSAL_PROFILE_UNKNOWN] = { "There is no profile \"", SUBJECT(profile),
				      "\". The profiles are: ",
				      ". Leave `profile` out for the default one." },
	[REFUSAL_LANGUAGE_UNKNOWN] = { "The profile has no language \"", SUBJECT(program),
				       "\". Its languages are: ", ". Use one of these." },
	[REFUSAL_LANGUAGE_MISSING] = { "The language \"", SUBJECT(program),
				       "\" is not installed on this machine. Installed are: ",
				       ". Use one of these, or ask the user to install it." },
	[REFUSAL_REQUEST_IN_USE] = { NULL, 0, "This request was sent before. ", "Call again." },
	[REFUSAL_BUSY] = { NULL, 0, "Too many executions are running: ",
			   ". Call again when one has ended." },
	[REFUSAL_MEMORY] = { NULL, 0, "The operator's memory limit for all sandboxes is reached: ",
			     ". Call again when one has ended." },
	[REFUSAL_ARGV] = { NULL, 0, "The arguments or the environment are malformed. ",
			   "Check them and call again." },
	[REFUSAL_CWD] = { "The working directory \"", SUBJECT(cwd),
			  "\" is not an absolute path inside the sandbox. ",
			  "Use one such as /workspace." },
	[REFUSAL_RESOURCES] = { NULL, 0, "The machine is out of resources: ",
				". Wait a moment and call again." },
	[REFUSAL_AUDIT] = { NULL, 0, "No audit record can be made: ",
			    ". Ask the user to run `msp audit verify`." },
	/* another owner's sandbox gets the same text */
	[REFUSAL_SANDBOX_UNKNOWN] = { "There is no sandbox \"", SUBJECT(sandbox), "\"",
				      ". list_sandboxes shows yours; create_sandbox makes one." },
	[REFUSAL_SANDBOX_BUSY] = { "The sandbox \"", SUBJECT(sandbox), "\" is in use: ",
				   ". Wait with read_output or end it with kill_execution "
				   "(list_sandboxes shows handles), and call again." },
	[REFUSAL_SANDBOX_ELSEWHERE] = { "The sandbox \"", SUBJECT(sandbox),
					"\" is in use by another msp of this user. ",
					"Call again later, or create another sandbox." },
	[REFUSAL_SANDBOX_DAMAGED] = { "The files of the sandbox \"", SUBJECT(sandbox),
				      "\" are damaged: ",
				      ". Tell the user; destroy_sandbox removes it." },
	[REFUSAL_SANDBOX_NAME] = { "A sandbox named \"", SUBJECT(name),
				   "\" exists already, with the id ",
				   ". Use it, or choose another name." },
	[REFUSAL_SANDBOX_PROFILE] = { NULL, 0, "The profile allows no persistent sandbox: ",
				      ". Use another profile." },
	[REFUSAL_SANDBOXES] = { NULL, 0,
				"The limit of sandboxes, or this client's share of it, is "
				"reached: ",
				". Remove one with destroy_sandbox, and call again." },
	[REFUSAL_DISK] = { NULL, 0,
			   "The disk limit of sandboxes, or this client's share of it, is "
			   "reached: ",
			   ". Delete or roll back to checkpoints, or destroy a sandbox, and call "
			   "again." },
	/* the detail names the value, the rule and the remedy */
	[REFUSAL_WORKSPACE] = { NULL, 0, "The workspace cannot be used: ", "." },
	[REFUSAL_CHECKPOINT_UNKNOWN] = { "There is no checkpoint \"", SUBJECT(checkpoint),
					 "\" of this sandbox. Its checkpoints are: ",
					 ". checkpoint(sandbox, action: \"save\") makes one." },
	[REFUSAL_CHECKPOINT_LIMIT] = { NULL, 0, "No further checkpoint can be kept: ",
				       ". Delete one, and call again." },
	[REFUSAL_APPLY] = { "The policy lets only the user apply the changes of \"",
			    SUBJECT(sandbox), "\" to the host. ",
			    "Ask the user to review them with `msp diff` and to run `msp apply`." },
	[REFUSAL_UNDO] = { NULL, 0, "There is no apply to undo.", "" },
	[REFUSAL_WAITING] = { NULL, 0, "Too many requests are waiting. ",
			      "Call again when earlier ones are answered." },
	[REFUSAL_CANCELLED] = { NULL, 0, "The call was cancelled before it began.", "" },
	[REFUSAL_STATE] = { NULL, 0, "Persistent sandboxes are not available: ",
			    ". Tell the user; runs without `sandbox` work." },
};

static const char *subject_of(const struct refusal_subjects *subjects, size_t offset)
{
	const char *subject = *(const char *const *)(const void *)((const char *)subjects + offset);

	return subject ? subject : "";
}

static bool ends_sentence(const struct buffer *text)
{
	return text->size > 0 && text->bytes[text->size - 1] == '.';
}

void refusal_put(struct buffer *text, const struct ipc_execution_refused *refused,
		 const struct refusal_subjects *subjects)
{
	const struct refusal_text *parts = NULL;
	const char *subject;

	if (refused->reason < REFUSAL_COUNT && refusals[refused->reason].middle)
		parts = &refusals[refused->reason];
	if (!parts) {
		buffer_append_text(text, "The request was refused.");
		return;
	}
	if (parts->before) {
		buffer_append_text(text, parts->before);
		subject = subject_of(subjects, parts->subject);
		text_quote(text, subject, strlen(subject), SUBJECT_BYTES);
	}
	buffer_append_text(text, parts->middle);
	text_append(text, refused->detail, strlen(refused->detail), TEXT_JUDGED);
	if (refused->reason == REFUSAL_CHECKPOINT_UNKNOWN && !refused->detail[0])
		buffer_append_text(text, "none");
	/* a detail may consist of sentences */
	buffer_append_text(text, parts->after + (ends_sentence(text) && parts->after[0] == '.'));
	if (refused->retry_ms > 0) {
		buffer_append_text(text, " One ends in at most ");
		result_put_duration(text, (uint64_t)refused->retry_ms * 1000);
		buffer_append_text(text, ".");
	}
}
