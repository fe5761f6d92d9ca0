/* SPDX-License-Identifier: Apache-2.0
 *
 * State that all sessions of this process share: the executions, the supervisor's welcome, and the
 * catalog.
 */
#ifndef BROKER_MCP_CORE_HOST_H
#define BROKER_MCP_CORE_HOST_H

#include <event2/event.h>

#include "common/plan/plan.h"
#include "executions/executions.h"
#include "executions/requests.h"
#include "mcp/asking/ask_state.h"
#include "mcp/core/posture.h"

struct ipc_policy_changed;
struct ipc_welcome;
struct kept_answer;
struct known_sandbox;
struct prompt;
struct resource_provider;
struct session;
struct subscriptions;
struct task;
struct tool;

/* The lists that clients may ask for. */
enum host_list {
	LIST_TOOLS = 1,
	LIST_PROMPTS = 2,
	LIST_RESOURCES = 4,
};

/* The offers of this server; each list ends with NULL, and clients see its order. */
struct catalog {
	const struct tool *const *tools;
	const struct prompt *const *prompts;
	const struct resource_provider *const *resources;
	/* enum host_list: lists that may change; each change calls host_list_changed() */
	unsigned int changing;
};

/* The product's catalog. */
extern const struct catalog catalog;

struct host {
	struct event_base *base;
	struct executions *executions;
	struct requests *requests;
	struct supervisor_client *supervisor; /* for requests of no table */
	/* Return the name of a principal other than 0; NULL: there is none. */
	const char *(*name_principal)(const void *context, uint32_t principal);
	const void *principals; /* its context */
	struct posture posture;
	struct plan plan; /* empty: there is no plan to show */
	const struct catalog *catalog;
	const char *refusal;                 /* why nothing may be run; NULL: it may */
	struct subscriptions *subscriptions; /* NULL: no client has subscribed */
	/* Called when the answer to tasks/get changes; NULL: no client has subscribed. */
	void (*task_updated)(struct host *host, const struct task *task);
	struct execution_watch log_watch;  /* see resource_log_watch() */
	struct execution_watch diff_watch; /* see resource_diff_watch() */
	struct known_sandbox *sandboxes;   /* see sandboxes.h */
	struct session *sessions;
	size_t call_count;             /* calls in flight in all sessions */
	uint64_t last_session;         /* number of the newest */
	struct sealed_key *sealed_key; /* made when it is first needed */
	size_t ask_bytes;              /* kept by all calls that may ask the client */
	struct kept_answer *answers;   /* see host_answers.h */
	struct task *tasks;            /* newest first */
	struct open_bridge *bridges;   /* see bridges.h */
};

/* Take the supervisor's welcome and the plan that came with it; closes the plan. */
void host_take_welcome(struct host *host, const struct ipc_welcome *welcome, int plan);

/* Take a changed policy and its plan, and notify subscribers; closes the plan. */
void host_take_policy(struct host *host, const struct ipc_policy_changed *changed, int plan);

/* Free the host's own state, after its sessions are done. */
void host_done(struct host *host);

#endif
