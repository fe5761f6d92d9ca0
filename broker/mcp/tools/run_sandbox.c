/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/run_sandbox.h"

#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc_execution.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/core/sandbox_search.h"
#include "mcp/core/sandboxes.h"

/* An order that waits while the supervisor looks up its sandbox. */
struct held_order {
	struct sandbox_search search; /* first */
	struct execution_order order; /* its pointers lead to the members below */
	struct execution_label label;
	struct ipc_execution_start *command;
	struct ipc_code_start *code;
	char *input;
	uint32_t limit_ms;
};

/* Fields of an order's message that say where it runs. */
struct place {
	char *profile, *sandbox;
};

static struct place place_of(const struct execution_order *order)
{
	if (order->code)
		return (struct place){ order->code->profile, order->code->sandbox };
	return (struct place){ order->command->profile, order->command->sandbox };
}

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
	const struct place place = place_of(order);

	copy_name(place.sandbox, called);
	order->sandbox = id;
	run_start(call, order, limit_ms);
}

/* Start it in the sandbox that was found. */
static void start_in(struct call *call, struct execution_order *order,
		     struct execution_label *label, const char *id, const char *profile,
		     uint32_t limit_ms)
{
	const struct place place = place_of(order);

	if (place.profile[0] && strcmp(place.profile, profile) != 0) {
		if (order->code)
			fd_close(&order->code_fd);
		fail_profile(call, place.profile, profile);
		return;
	}
	copy_name(place.profile, profile);
	copy_name(label->profile, profile);
	start_called(call, order, id, id, limit_ms);
}

static void free_held(struct errand *errand)
{
	struct held_order *held = (struct held_order *)errand;

	if (held->order.code)
		fd_close(&held->order.code_fd);
	free(held->command);
	free(held->code);
	free(held->input);
	free(held);
}

static const struct errand_rules rules = { .answered = sandbox_search_take, .free = free_held };

static void on_found(struct sandbox_search *search)
{
	struct held_order *held = (struct held_order *)search;
	struct execution_order order = held->order;
	struct call *call = search->errand.call;

	held->order.code_fd = -1; /* the execution owns it now */
	call->cancel = NULL;
	call->work = NULL;
	start_in(call, &order, &held->label, search->info.id, search->info.profile, held->limit_ms);
	free_held(&search->errand);
}

static void *copy_of(const void *bytes, size_t size)
{
	return bytes ? memcpy(memory_get(size + 1), bytes, size) : NULL;
}

static void hold_order(struct call *call, const struct execution_order *order,
		       const struct execution_label *label, const char *wanted, uint32_t limit_ms)
{
	struct held_order *held = memory_get_zeroed(1, sizeof(*held));

	held->order = *order;
	held->label = *label;
	held->order.label = &held->label;
	held->order.command = held->command = copy_of(order->command, sizeof(*order->command));
	held->order.code = held->code = copy_of(order->code, sizeof(*order->code));
	held->order.input = held->input = copy_of(order->input, order->input_size);
	held->limit_ms = limit_ms;
	sandbox_search_begin(&held->search, call, wanted, on_found, &rules);
}

/* A name may belong to another sandbox by now. The supervisor reports with the start which sandbox
 * it is; if more depends on the sandbox, ask the supervisor first. */
static const struct known_sandbox *find_named(const struct session *session,
					      const struct execution_order *order, const char *name)
{
	const char *id = place_of(order).profile[0] || (order->command && order->command->use_tty)
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

	if (!sandboxes_take(call, sandbox, wanted)) {
		if (order->code)
			fd_close(&order->code_fd);
		return;
	}
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
