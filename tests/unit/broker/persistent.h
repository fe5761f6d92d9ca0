/* SPDX-License-Identifier: Apache-2.0
 *
 * The supervisor's side of persistent sandboxes, for tests with a rig: the test takes what the
 * broker asks, and answers with these.
 */
#ifndef TESTS_UNIT_BROKER_PERSISTENT_H
#define TESTS_UNIT_BROKER_PERSISTENT_H

#include "common/ipc/ipc_persistent.h"
#include "common/ipc/refusal.h"
#include "frontend/changes.h"
#include "rig.h"

struct ipc_changes_done;

#define BOX_ID "0123456789abcdefghjkmnpqrs"
#define OTHER_ID "7zyxwvtsrqpnmkjhgfedcba987"

/* tools/call of the legacy era; `arguments` are members of the object. */
void persistent_say(struct rig *rig, const char *tool, const char *arguments);

/* A copy-on-write one of the profile "default", on /home/user/project. */
struct ipc_sandbox_info persistent_info(const char *id, const char *name);

/* Answer the list that is asked for next, with one sandbox or (NULL) none. Its request. */
struct ipc_sandbox_list persistent_answer_list(struct rig *rig,
					       const struct ipc_sandbox_info *info);

void persistent_answer(struct rig *rig, uint64_t request, const struct ipc_sandbox_info *info);
void persistent_done(struct rig *rig, uint64_t request);
void persistent_refuse(struct rig *rig, uint64_t request, enum refusal reason, const char *detail);
void persistent_checkpoint(struct rig *rig, uint64_t request, uint32_t number, const char *name);

/* The changes that were asked for begin: the end of the pipe to write them to. */
int persistent_changes(struct rig *rig, uint64_t request);

/* Write a change; `patch` NULL: it has none. */
void persistent_tell(struct rig *rig, int records, uint32_t kind, uint32_t flags, const char *path,
		     const char *patch);

/* All of them are told; closes the pipe. */
void persistent_changes_done(struct rig *rig, int records, const struct ipc_changes_done *done);

/* Take the request about foreign files of a new sandbox's project: it has none. */
void persistent_prepared(struct rig *rig);

/* The paths that a request is about, with '|' after each; closes nothing of the message. */
const char *persistent_chosen(const struct channel_message *message);

#endif
