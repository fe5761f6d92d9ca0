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
	[REFUSAL_REQUEST_IN_USE] = { NULL, 0, "The supervisor knows this request already. ",
				     "Call again." },
	[REFUSAL_BUSY] = { NULL, 0, "Too many executions are running: ",
			   ". Wait until one ends, or cancel one, and call again." },
	[REFUSAL_MEMORY] = { NULL, 0, "The sandboxes use all the memory that the operator allows: ",
			     ". Wait until one ends, or cancel one, and call again." },
	[REFUSAL_ARGV] = { NULL, 0, "The arguments or the environment are malformed. ",
			   "Check them and call again." },
	[REFUSAL_CWD] = { "The working directory \"", SUBJECT(cwd),
			  "\" is not an absolute path inside the sandbox. ",
			  "Use one such as /workspace." },
	[REFUSAL_RESOURCES] = { NULL, 0, "The machine has no room for it: ",
				". Wait a moment and call again." },
	[REFUSAL_AUDIT] = { NULL, 0, "Nothing runs here unaudited: ",
			    ". Ask the user to see to it ('msp audit verify' says more)." },
	/* another owner's sandbox gets the same text */
	[REFUSAL_SANDBOX_UNKNOWN] = { "There is no sandbox \"", SUBJECT(sandbox), "\"",
				      ". list_sandboxes shows those that there are, and "
				      "create_sandbox makes one; without `sandbox` a run gets a "
				      "fresh one." },
	[REFUSAL_SANDBOX_BUSY] = { "The sandbox \"", SUBJECT(sandbox),
				   "\" is in use; what runs in it: ",
				   ". Wait for its end with read_output or end it with "
				   "kill_execution (list_sandboxes shows the handles), and call "
				   "again." },
	[REFUSAL_SANDBOX_ELSEWHERE] = { "The sandbox \"", SUBJECT(sandbox),
					"\" is in use by another msp of this user. ",
					"Call again when that is done with it, or create another "
					"sandbox." },
	[REFUSAL_SANDBOX_DAMAGED] = { "The files of the sandbox \"", SUBJECT(sandbox),
				      "\" are damaged: ",
				      ". Tell the user; destroy_sandbox removes it, and the others "
				      "work on." },
	[REFUSAL_SANDBOX_NAME] = { "There is a sandbox named \"", SUBJECT(name),
				   "\" already, with the id ",
				   ". Use that one, or choose another name." },
	[REFUSAL_SANDBOX_PROFILE] = { NULL, 0, "No sandbox can last under the profile ",
				      ": it keeps no files, or is not there any more. Create one "
				      "under another profile, or run without `sandbox`." },
	[REFUSAL_SANDBOXES] = { NULL, 0,
				"There are as many sandboxes as the operator allows, or as "
				"this client's share of them allows: ",
				". Destroy one that nobody needs any more (list_sandboxes, "
				"destroy_sandbox), and call again." },
	[REFUSAL_DISK] = { NULL, 0,
			   "The files of sandboxes take all the disk that they may, or that "
			   "this client's share allows: ",
			   ". Go back to a checkpoint that has less, or delete others (checkpoint, "
			   "action: \"rollback\" or \"delete\"), destroy a sandbox that nobody "
			   "needs any more, or go on in a new one." },
	/* the detail names the value, the rule and the remedy */
	[REFUSAL_WORKSPACE] = { NULL, 0, "The workspace cannot be used: ", "." },
	[REFUSAL_CHECKPOINT_UNKNOWN] = { "There is no checkpoint \"", SUBJECT(checkpoint),
					 "\" of this sandbox. Those that there are: ",
					 ". checkpoint(sandbox, action: \"save\") makes one." },
	[REFUSAL_CHECKPOINT_LIMIT] = { NULL, 0, "No further checkpoint can be kept: ",
				       ". Delete one that is not needed, and call again." },
	[REFUSAL_APPLY] = { "The policy leaves it to a person to bring the changes of \"",
			    SUBJECT(sandbox), "\" to the host. ",
			    "Ask the user to look at them with `msp diff` and to run `msp "
			    "apply`." },
	[REFUSAL_UNDO] = { NULL, 0, "There is nothing to take back.", "" },
	[REFUSAL_WAITING] = { NULL, 0, "Too many requests are waiting. ",
			      "Wait until earlier calls are answered, and call again." },
	[REFUSAL_CANCELLED] = { NULL, 0, "It was cancelled before it began.", "" },
	[REFUSAL_STATE] = { NULL, 0, "There is no place for files that last: ",
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
		buffer_append_text(text, "The supervisor refused it.");
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
