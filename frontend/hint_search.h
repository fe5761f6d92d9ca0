/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of denial_hints.c: the search in an output, and the questions to the policy.
 */
#ifndef FRONTEND_HINT_SEARCH_H
#define FRONTEND_HINT_SEARCH_H

#include "frontend/denial_hints.h"
#include "frontend/hint_text.h"
#include "policy/decide/decide.h"

/* The question that a phrase puts to the policy. */
enum topic {
	TOPIC_FACT,
	TOPIC_ROOT,
	TOPIC_REFUSAL,
	TOPIC_PACKAGE,
	TOPIC_BIND,
	TOPIC_SOCKET,
	TOPIC_REFUSED,
	TOPIC_CONNECT,
	TOPIC_NETWORK,
	TOPIC_LIMIT,
	TOPIC_PROJECT,
	TOPIC_FILE,
	TOPIC_OPEN,
	TOPIC_FOREIGN,
	TOPIC_RENAME,
	TOPIC_FETCH,
	TOPIC_PROCESS,
	TOPIC_COUNT
};

/* A row of hint_phrases.def. */
struct phrase {
	enum topic topic;
	int error;
	const char *words, *beside, *unless, *says;
};

/* The search in the output of one execution. */
struct search {
	const struct hint_source *source;
	const struct plan_profile *profile;
	const char *cwd;
	const char *text;    /* the whole end of its error output */
	const char *command; /* never NULL */
	struct denial_views *views;
	bool is_clear; /* no count would explain a failure */
};

/* The line that is judged, and its phrase. */
struct finding {
	const struct phrase *phrase;
	const char *line;
	const char *words; /* in `line` */
};

/* Ask the policy about an operation. False: the text is none. */
bool hint_ask_policy(const struct search *search, const char *text, struct operation *operation,
		     struct decision *ret);

/* Return the mount around the path; NULL: none has it. */
const struct plan_mount *hint_mount(const struct search *search, const char *path);

/* Return the mount of the sandbox's own around the path; NULL: it is the host's, or none is. */
const struct plan_mount *hint_own_mount(const struct search *search, const char *path);

/* Return whether the mount is where a persistent sandbox shows a project. */
bool hint_is_workspace(const struct search *search, const struct plan_mount *mount);

/* Return the directory where a persistent sandbox of the profile shows a project; NULL: none. */
const char *hint_workspace(const struct search *search);

/* Print the places that the policy lets a workload use for `kind`: "/workspace or /tmp". */
void hint_places(const struct search *search, const char *kind, char ret[HINT_TARGET_MAX]);

/* Return a new view, or NULL: the operation has one, which counts it, or no room is left. */
struct denial_view *hint_add_view(const struct search *search, const char *layer,
				  const char *operation, const char *target);

/* Set reason, rule and remedy of the view. */
void hint_describe(const struct search *search, const struct decision *decision,
		   struct denial_view *view);

/* Say in the view how the refused host can be approved where the execution ran. False: it cannot.
 */
bool hint_approve(const struct search *search, const struct decision *decision, const char *host,
		  uint16_t port, struct denial_view *view);

/* Ask the policy about the line of a finding, and add the view or note for it. False: a later
 * phrase may explain the line. */
bool hint_judge_file(const struct search *search, const struct finding *finding);
bool hint_judge_socket(const struct search *search, const struct finding *finding);
bool hint_judge_project(const struct search *search, const struct finding *finding);
bool hint_judge_foreign(const struct search *search, const struct finding *finding);
bool hint_judge_rename(const struct search *search, const struct finding *finding);
bool hint_judge_open(const struct search *search, const struct finding *finding);
bool hint_judge_connect(const struct search *search, const struct finding *finding);
bool hint_judge_network(const struct search *search, const struct finding *finding);
bool hint_judge_refused(const struct search *search, const struct finding *finding);
bool hint_judge_bind(const struct search *search, const struct finding *finding);
bool hint_judge_fetch(const struct search *search, const struct finding *finding);
bool hint_judge_process(const struct search *search, const struct finding *finding);

/* Ask the policy about a socket that the command names. False: it names none. */
bool hint_judge_command_socket(const struct search *search);

/* Ask the policy about a path of the user's in a command whose output tells no reason. `is_quiet`:
 * it has none; then a path in quotes counts as well. */
void hint_judge_command_path(const struct search *search, bool is_quiet);

#endif
