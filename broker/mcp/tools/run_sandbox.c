/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/run_sandbox.h"

#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc/ipc_execution.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/core/sandbox_search.h"
#include "mcp/core/sandboxes.h"
#include "mcp/tools/tools.h"

/* An order that waits while the supervisor looks up its sandbox. */
struct held_order {
	struct sandbox_search search; /* first */
	struct execution_order order; /* its pointers lead to the members below */
	struct execution_label label;
	char *wanted;
	char *input;
	uint32_t limit_ms;
};

static void copy_name(char room[IPC_NAME_MAX], const char *name)
{
	memset(room, 0, IPC_NAME_MAX);
	(void)strncpy(room, name, IPC_NAME_MAX - 1);
}

static void fail_profile(struct call *call, const char *asked, const char *has)
{
	call_fail(call,
		  "Nothing was run: the sandbox has the profile \"%s\", and the argument `profile` "
		  "is \"%s\". Leave `profile` out, or create a sandbox under that profile.",
		  text_quoted(has, strlen(has), QUOTE_BYTES),
		  text_quoted(asked, strlen(asked), QUOTE_BYTES));
}

/* Start it in the sandbox with this id or name, as of the last lookup. */
static void start_called(struct call *call, struct execution_order *order, const char *called,
			 const char *id, uint32_t limit_ms)
{
	copy_name(order->wanted->sandbox, called);
	order->sandbox = id;
	run_start(call, order, limit_ms);
}

/* Start it in the sandbox that was found. */
static void start_in(struct call *call, struct execution_order *order,
		     struct execution_label *label, const char *id, const char *profile,
		     uint32_t limit_ms)
{
	if (order->profile[0] && strcmp(order->profile, profile) != 0) {
		fd_close(&order->code_fd);
		fail_profile(call, order->profile, profile);
		return;
	}
	copy_name(order->profile, profile);
	copy_name(label->profile, profile);
	start_called(call, order, id, id, limit_ms);
}

static void free_held(struct errand *errand)
{
	struct held_order *held = (struct held_order *)errand;

	fd_close(&held->order.code_fd);
	free(held->wanted);
	free(held->input);
	free(held);
}

static const struct errand_rules rules = { .free = free_held };

static void on_found(struct sandbox_search *search)
{
	struct held_order *held = (struct held_order *)search;
	struct execution_order order = held->order;

	held->order.code_fd = -1; /* the execution owns it now */
	start_in(errand_leave(&search->errand), &order, &held->label, search->info.id,
		 search->info.profile, held->limit_ms);
	free_held(&search->errand);
}

static void hold_order(struct call *call, const struct execution_order *order,
		       const struct execution_label *label, const char *wanted, uint32_t limit_ms)
{
	struct held_order *held = memory_get_zeroed(1, sizeof(*held));
	const char *message = (const char *)order->wanted;

	held->order = *order;
	held->label = *label;
	held->order.label = &held->label;
	held->wanted = memory_text(message, ipc_message(order->type)->struct_size);
	held->order.wanted = (struct ipc_head *)(void *)held->wanted;
	held->order.profile = held->wanted + (order->profile - message);
	if (order->input)
		held->order.input = held->input = memory_text(order->input, order->input_size);
	held->limit_ms = limit_ms;
	copy_name(held->search.wanted, wanted);
	sandbox_search_begin(&held->search, call, on_found, &rules);
}

/* A name may belong to another sandbox by now. The supervisor reports with the start which sandbox
 * it is; if more depends on the sandbox, ask the supervisor first. */
static const struct known_sandbox *find_named(const struct session *session,
					      const struct execution_order *order, const char *name)
{
	const char *id = order->profile[0] || order->is_terminal
				 ? NULL
				 : sandboxes_id_of(session->host, session->principal, name);

	return id ? sandboxes_known(session->host, session->principal, id) : NULL;
}

void run_in_sandbox(struct call *call, struct execution_order *order, struct execution_label *label,
		    const struct json_value *sandbox, uint32_t limit_ms)
{
	const struct session *session = call->session;
	const struct known_sandbox *known;
	char wanted[IPC_NAME_MAX];

	tool_copy_text(sandbox, wanted, sizeof(wanted));
	(void)snprintf(label->sandbox, sizeof(label->sandbox), "%s",
		       text_quoted(wanted, strlen(wanted), LABEL_TEXT_MAX - 8));
	known = sandboxes_known(session->host, session->principal, wanted);
	if (known) {
		start_in(call, order, label, known->id, known->profile, limit_ms);
	} else if ((known = find_named(session, order, wanted))) {
		copy_name(label->profile, known->profile);
		start_called(call, order, wanted, known->id, limit_ms);
	} else {
		hold_order(call, order, label, wanted, limit_ms);
	}
}
