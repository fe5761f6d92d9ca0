/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"
#include "frontend/nonblocking.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/limits_mode.h"
#include "plan_blob.h"

#define QUIET_ROUNDS 3

/* Far longer than what the tests make a broker wait for. */
#define LATE_MS 10000

static void make_pipe(int *ret_read, int *ret_write)
{
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	*ret_read = fds[0];
	*ret_write = fds[1];
}

/* A plan with the blob's profile, and "strict". */
struct rig_plan {
	struct blob blob;
	struct plan_profile profiles[2];
	struct plan_group group;
	struct plan_origin group_origin;
	struct plan_call calls[2];
	uint8_t answers[2]; /* both are allowed */
	char socket[sizeof("socket")], connect[sizeof("connect")];
	char strict[sizeof("strict") + 1];
};

#define AT(member) ((uint32_t)offsetof(struct rig_plan, member))

/* Put the calls that a connection needs, for the answers of a profile with hosts. */
static void put_calls(struct rig_plan *plan)
{
	memcpy(plan->socket, "socket", sizeof("socket"));
	memcpy(plan->connect, "connect", sizeof("connect"));
	plan->group = (struct plan_group){ .name = AT(socket), .reason = AT(socket) };
	plan->calls[0] = (struct plan_call){ .number = 41, .name = AT(socket) };
	plan->calls[1] = (struct plan_call){ .number = 42, .name = AT(connect) };
	plan->blob.header.groups = AT(group);
	plan->blob.header.group_count = 1;
	plan->blob.header.calls = AT(calls);
	plan->blob.header.call_count = 2;
	plan->profiles[0].answers = AT(answers);
	plan->profiles[0].group_origins = AT(group_origin);
}

/* The plan, sealed. */
static int make_plan(const struct rig *rig)
{
	static _Alignas(8) struct rig_plan plan;
	struct plan_profile *profile = &plan.profiles[0];
	int fd;

	(void)blob_make(&plan.blob);
	if (rig->profile_name) /* shorter than the one that is there */
		memcpy(plan.blob.text + (plan.blob.profile.name - offsetof(struct blob, text)),
		       rig->profile_name, strlen(rig->profile_name) + 1);
	*profile = plan.blob.profile;
	profile->apply = rig->apply;
	profile->wall_default_ms = 60000;
	profile->wall_persistent_ms = 600000;
	profile->wall_max_ms = 3600000;
	if (rig->workspace_mode)
		profile->workspace_mode = rig->workspace_mode;
	if (rig->host_approval)
		put_calls(&plan);
	plan.profiles[1] = *profile;
	profile->host_approval = rig->host_approval;
	if (rig->host_approval)
		profile->network = PLAN_NETWORK_HOSTS;
	plan.profiles[1].name = AT(strict);
	memcpy(plan.strict, "strict", sizeof("strict"));
	plan.blob.header.size = sizeof(plan);
	plan.blob.header.profile_count = rig->profile_name ? 1 : 2;
	plan.blob.header.profiles = AT(profiles);
	fd = fd_sealed_from_bytes("plan", &plan, sizeof(plan));
	cr_assert_geq(fd, 0);
	return fd;
}

void rig_change_policy(struct rig *rig)
{
	static struct ipc_policy_changed changed;
	int plan = make_plan(rig);

	changed.generation = 2;
	memcpy(changed.default_profile, rig->profile_name, strlen(rig->profile_name) + 1);
	rig_send(rig, IPC_TYPE_policy_changed, &changed, &plan);
	fd_close(&plan);
	rig_turn(rig);
}

void rig_welcome(struct rig *rig)
{
	static const char languages[] = "python\0bash";
	static struct ipc_welcome welcome;
	int plan = make_plan(rig);

	memcpy(welcome.schema, ipc_schema_hash, IPC_SCHEMA_BYTES);
	welcome.landlock_abi = 7;
	welcome.limits = LIMITS_FALLBACK;
	welcome.is_service = rig->is_service;
	welcome.executions_max = EXECUTIONS_MAX;
	memcpy(welcome.default_profile, "default", sizeof("default"));
	welcome.languages_size = sizeof(languages);
	memcpy(welcome.languages, languages, sizeof(languages));
	rig_send(rig, IPC_TYPE_welcome, &welcome, &plan);
	fd_close(&plan);
	rig->supervisor.phase = IPC_SERVE;
	rig_turn(rig);
}

void rig_start_server(struct rig *rig)
{
	int channel[2];

	cr_assert_eq(channel_pair(channel), 0);
	rig->broker_channel = channel[1];
	rig->supervisor = (struct channel){ channel[0], IPC_SUPERVISOR, IPC_FRONTEND, IPC_SETUP };
	rig->server = server_new(rig->base, rig->broker_in, rig->broker_out, channel[1]);
	(void)rig_take(rig, IPC_TYPE_hello);
}

void rig_open(struct rig *rig, bool welcomed)
{
	(void)signal(SIGPIPE, SIG_IGN);
	memset(rig, 0, sizeof(*rig));
	make_pipe(&rig->broker_in, &rig->client_in);
	make_pipe(&rig->client_out, &rig->broker_out);
	rig->line = malloc(RIG_LINE_MAX);
	rig->pending = malloc(RIG_LINE_MAX);
	rig->base = server_base_new();
	cr_assert(rig->line && rig->pending && rig->base);
	rig_start_server(rig);
	if (welcomed)
		rig_welcome(rig);
}

void rig_close(struct rig *rig)
{
	rig->server = server_free(rig->server);
	event_base_free(rig->base);
	fd_close(&rig->broker_channel);
	fd_close(&rig->supervisor.fd);
	fd_close(&rig->broker_in);
	fd_close(&rig->broker_out);
	fd_close(&rig->client_in);
	fd_close(&rig->client_out);
	free(rig->line);
	free(rig->pending);
}

void rig_turn(struct rig *rig)
{
	for (int i = 0; i < QUIET_ROUNDS; i++)
		(void)event_base_loop(rig->base, EVLOOP_NONBLOCK);
}

/* The pipe may be smaller than what is said: let the broker read in between. */
void rig_say_bytes(struct rig *rig, const void *bytes, size_t size)
{
	const char *next = bytes;

	cr_assert_eq(fd_set_nonblocking(rig->client_in, true), 0);
	while (size > 0) {
		const ssize_t written = write(rig->client_in, next, size);

		if (written < 0) {
			cr_assert_eq(errno, EAGAIN);
			rig_turn(rig);
			continue;
		}
		next += written;
		size -= (size_t)written;
	}
	rig_turn(rig);
}

void rig_say(struct rig *rig, const char *line)
{
	rig_say_bytes(rig, line, strlen(line));
	rig_say_bytes(rig, "\n", 1);
}

static bool read_more(struct rig *rig)
{
	struct pollfd out = { .fd = rig->client_out, .events = POLLIN };
	ssize_t size;

	for (int i = 0; i < 1000; i++) {
		rig_turn(rig);
		if (poll(&out, 1, i < 3 ? 0 : 1) > 0)
			break;
		if (i == 20)
			return false;
	}
	size = read(rig->client_out, rig->pending + rig->pending_size,
		    RIG_LINE_MAX - rig->pending_size);
	if (size <= 0)
		return false;
	rig->pending_size += (size_t)size;
	return true;
}

/* What every line must be, whatever it answers. */
static void check_frame(const char *line)
{
	struct json_document document;
	char *copy = strdup(line);
	struct json_value *top;

	cr_assert(copy);
	cr_assert_eq(json_read(&document, copy, strlen(copy)), JSON_OK, "%s", line);
	top = json_top(&document);
	if (top->kind == JSON_OBJECT && !json_member(&document, top, "method")) {
		const struct json_value *result = json_member(&document, top, "result");
		const struct json_value *error = json_member(&document, top, "error");

		cr_assert(json_equals(json_member(&document, top, "jsonrpc"), "2.0"));
		cr_assert_not_null(json_member(&document, top, "id"));
		cr_assert_neq(result != NULL, error != NULL);
		if (error) {
			cr_assert(json_is(json_member(&document, error, "code"), JSON_NUMBER));
			cr_assert(json_is(json_member(&document, error, "message"), JSON_STRING));
		}
	}
	json_done(&document);
	free(copy);
}

const char *rig_hear(struct rig *rig)
{
	char *newline;
	size_t size;

	while (!(newline = memchr(rig->pending, '\n', rig->pending_size)))
		cr_assert(read_more(rig), "the broker says nothing");
	size = (size_t)(newline - rig->pending);
	memcpy(rig->line, rig->pending, size);
	rig->line[size] = '\0';
	rig->pending_size -= size + 1;
	memmove(rig->pending, newline + 1, rig->pending_size);
	check_frame(rig->line);
	return rig->line;
}

const char *rig_hear_late(struct rig *rig)
{
	struct pollfd out = { .fd = rig->client_out, .events = POLLIN };

	for (int i = 0; i < LATE_MS && rig->pending_size == 0 && poll(&out, 1, 1) == 0; i++)
		rig_turn(rig);
	return rig_hear(rig);
}

void rig_hear_nothing(struct rig *rig)
{
	struct pollfd out = { .fd = rig->client_out, .events = POLLIN };

	rig_turn(rig);
	cr_assert_eq(rig->pending_size, 0);
	cr_assert_eq(poll(&out, 1, 0), 0, "the broker says something");
}

const char *rig_ask(struct rig *rig, const char *line)
{
	rig_say(rig, line);
	return rig_hear(rig);
}

struct channel_message *rig_take(struct rig *rig, uint32_t type)
{
	static struct channel_message message;
	enum ipc_error error = IPC_OK;
	int result;

	rig_turn(rig);
	result = channel_receive(&rig->supervisor, &message, MSG_DONTWAIT, &error);
	cr_assert_eq(result, 1, "nothing for the supervisor: %d, %s", result,
		     ipc_error_text(error));
	cr_assert_eq(message.type, type);
	if (type == IPC_TYPE_hello)
		cr_assert_eq(memcmp(ipc_body(&message, hello)->schema, ipc_schema_hash,
				    IPC_SCHEMA_BYTES),
			     0);
	if (rig->supervisor.phase == IPC_SETUP && type != IPC_TYPE_hello)
		cr_assert_fail("asked before hello");
	return &message;
}

void rig_take_nothing(struct rig *rig)
{
	static struct channel_message message;
	enum ipc_error error = IPC_OK;

	rig_turn(rig);
	cr_assert_eq(channel_receive(&rig->supervisor, &message, MSG_DONTWAIT, &error), -EAGAIN);
}

void rig_send(struct rig *rig, uint32_t type, const void *message, const int *fds)
{
	cr_assert_eq(channel_send(&rig->supervisor, type, message, fds, MSG_DONTWAIT), 0);
	rig_turn(rig);
}

struct rig_workload rig_start(struct rig *rig, uint64_t request)
{
	return rig_start_in(rig, request, "", "");
}

struct rig_workload rig_start_in(struct rig *rig, uint64_t request, const char *sandbox,
				 const char *profile)
{
	struct ipc_execution_started started = { .request = request,
						 .log_bytes = rig->log_bytes ? rig->log_bytes
									     : RIG_LOG_BYTES,
						 .wall_ms = 60000 };
	struct rig_workload workload = { .request = request };
	int theirs[3];

	(void)strncpy(started.sandbox, sandbox, sizeof(started.sandbox) - 1);
	(void)strncpy(started.profile, profile, sizeof(started.profile) - 1);
	make_pipe(&workload.in, &theirs[0]);
	make_pipe(&theirs[1], &workload.out);
	make_pipe(&theirs[2], &workload.err);
	rig_send(rig, IPC_TYPE_execution_started, &started, theirs);
	fd_close_all(theirs, 3);
	return workload;
}

void rig_workload_end(struct rig_workload *workload)
{
	fd_close(&workload->in);
	fd_close(&workload->out);
	fd_close(&workload->err);
}

void rig_done(struct rig *rig, const struct ipc_execution_done *done)
{
	rig_send(rig, IPC_TYPE_execution_done, done, NULL);
}

struct rig_workload rig_run(struct rig *rig, const char *id)
{
	char line[512];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":"
		       "{\"name\":\"run_command\",\"arguments\":{\"command\":\"true\"}}}",
		       id);
	rig_say(rig, line);
	return rig_start(rig, rig_body(rig, execution_start)->request);
}

void expect_part(const char *text, const char *part)
{
	cr_assert_not_null(strstr(text, part), "\"%s\" is not in: %s", part, text);
}
