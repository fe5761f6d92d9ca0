/* SPDX-License-Identifier: Apache-2.0
 *
 * A catalog of tools that ask the client and become tasks, in place of the product's.
 */
#ifndef TESTS_UNIT_BROKER_ASKING_H
#define TESTS_UNIT_BROKER_ASKING_H

#include "mcp/core/call.h"
#include "rig.h"

/* What goes into a request of the modern era, with capabilities in between. */
#define META_START                                                                                 \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientCapabilities\":{"
#define META_END "}}"
#define CAPABILITIES_ALL "\"elicitation\":{},\"sampling\":{},\"roots\":{\"listChanged\":true}"
#define CAPABILITIES_TASKS CAPABILITIES_ALL ",\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}"

/* The call of the tool `hang` that is in flight, and how many were given up. */
extern struct call *asking_hung;
extern int asking_given_up;

/* A tools/call of the modern era; `more` are members of params after the arguments, "" for none. */
void asking_say(struct rig *rig, const char *id, const char *capabilities, const char *tool,
		const char *more);

/* The text of a member of the last line's result, or "": static storage. */
const char *asking_member(const struct rig *rig, const char *name);

#endif
