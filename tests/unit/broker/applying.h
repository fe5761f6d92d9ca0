/* SPDX-License-Identifier: Apache-2.0
 *
 * Previews and applies, for tests with a rig: the client's calls and answers, and the supervisor's
 * side.
 */
#ifndef TESTS_UNIT_BROKER_APPLYING_H
#define TESTS_UNIT_BROKER_APPLYING_H

#include "common/ipc/ipc_changes.h"
#include "common/plan/plan.h"
#include "persistent.h"

extern struct rig applying_rig;

#define CAN_ASK "\"elicitation\":{}"

/* Answers of a client, and the end of a question. */
#define ACCEPT(answer) "{\"action\":\"accept\",\"content\":{\"answer\":\"" answer "\"}}"
#define EVERYTHING "\"result\":" ACCEPT("apply everything")
#define REVIEW "Review: msp diff " BOX_ID

/* Changes of a preview, the last one without a path. */
struct found {
	const char *path;
	uint32_t flags;
	const char *patch;
};

/* A text and a binary file; a text and a hook. */
extern const struct found applying_plain[];
extern const struct found applying_held[];

/* Each byte of a preview's digest, and its text. */
#define DIGEST 0x5a
#define SHOWN_DIGEST "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"

/* Start a broker under this policy, with a legacy client of these capabilities; close it. */
void applying_open(enum plan_apply apply, const char *capabilities);
void applying_close(void);

/* Call a tool for the sandbox "build" with further arguments. */
void applying_say(const char *arguments);
void applying_say_preview(const char *arguments);

/* Answer the search for the sandbox. */
void applying_find(void);

/* Take the request for changes, and check it. */
struct ipc_changes_start applying_take(uint32_t operation, const char *chosen);

/* Take the request for a preview, or for an apply, and answer it. */
void applying_preview(const struct found *found);
struct ipc_changes_start applying_apply(const struct found *found, bool is_held_too);

/* Send a response to the last question of the broker. */
void applying_respond(const char *member);

/* Expect a failure with this text, and no request for an apply. */
void applying_refused(const char *part);

#endif
