/* SPDX-License-Identifier: Apache-2.0
 *
 * A whole broker between a client and a supervisor that the input plays, in the rig of the unit
 * tests, which checks each answer's frame. A line of the input goes to the broker as it is; one
 * that begins with '!' is an act of the supervisor or of a workload:
 *
 *   !sN  execution N was started          !SN  the same with its pipes the wrong way round
 *   !oN TEXT, !eN TEXT  it writes         !cN  it closes its streams      !iN  it reads
 *   !dNV CODE  it is done, verdict V      !rNR TEXT  it was refused for reason R
 *   !lNM NAME  a sandbox, workspace M     !kN NAME  a checkpoint          !fN  so be it
 *   !pN BYTES  changes, as records        !qNE TOTAL  they are all told, errno E
 *   !tN  a terminal that nobody asked for !w   one more welcome
 *   !x BYTES  a packet of these bytes     !g   the supervisor is gone
 *
 * N is a letter: a, b, c... in the order they were asked for; a capital means that number plus a
 * thousand, which nobody asked for. Nothing says that a supervisor has to be right.
 *
 * Properties: what the broker asks for is well formed, it cancels only what it asked for, answers
 * are lines of valid JSON-RPC and bind it as dialogue.h says, a broker that has not given up
 * answers a ping at the end, and no descriptor is left open.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_network.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_refused.h"
#include "common/plan/plan.h"
#include "dialogue.h"
#include "property.h"
#include "rig.h"

#define ASKED_MAX 64
#define NOT_ASKED 1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct asked {
	uint64_t request;
	struct rig_workload workload;
};

struct fake {
	struct rig rig;
	size_t count;
	struct asked asked[ASKED_MAX];
	bool was_pinged;
};

static bool is_list(const uint8_t *list, uint32_t size)
{
	return size == 0 || list[size - 1] == '\0';
}

static void take_start(struct fake *fake, uint64_t request, const uint8_t *argv, uint32_t argv_size,
		       const uint8_t *environment, uint32_t environment_size)
{
	must(is_list(argv, argv_size) && is_list(environment, environment_size));
	for (size_t i = 0; i < fake->count; i++)
		must(fake->asked[i].request != request);
	if (fake->count < ASKED_MAX)
		fake->asked[fake->count++] = (struct asked){ request, { request, -1, -1, -1 } };
}

static bool is_known(const struct fake *fake, uint64_t request)
{
	for (size_t i = 0; i < fake->count; i++) {
		if (fake->asked[i].request == request)
			return true;
	}
	return fake->count == ASKED_MAX;
}

static void take_end(const struct fake *fake, const struct ipc_execution_end *end)
{
	must(is_known(fake, end->request));
	must(end->reason == END_CANCELLED || end->reason == END_OUTPUT);
}

static void take_signal(const struct fake *fake, const struct ipc_execution_signal *sent)
{
	must(is_known(fake, sent->request) && sent->signal > 0 && sent->signal != SIGKILL);
}

/* A request about persistent sandboxes: its struct begins with the number. */
static void take_request(struct fake *fake, const struct channel_message *message)
{
	uint64_t request;

	memcpy(&request, &message->body, sizeof(request));
	must(message->type == IPC_TYPE_sandbox_new || message->type == IPC_TYPE_sandbox_list ||
	     message->type == IPC_TYPE_sandbox_end || message->type == IPC_TYPE_checkpoint_do ||
	     message->type == IPC_TYPE_changes_start);
	take_start(fake, request, NULL, 0, NULL, 0);
}

/* A watch of the network, or a grant, which an msp-cable without a host answers. */
static void take_watch(struct channel_message *message)
{
	static struct channel_message asked;
	static const struct ipc_network_granted granted;
	struct channel cable = { channel_take_fd(message, 0), IPC_GATEWAY, IPC_FRONTEND,
				 IPC_SERVE };
	enum ipc_error error = IPC_OK;

	if (channel_receive(&cable, &asked, MSG_DONTWAIT, &error) == 1) {
		must(asked.type == IPC_TYPE_network_grant);
		must(ipc_body(&asked, network_grant)->frontend == 0);
		must(ipc_body(&asked, network_grant)->is_cut == 0);
		(void)channel_send(&cable, IPC_TYPE_network_granted, &granted, NULL, MSG_DONTWAIT);
	}
	fd_close(&cable.fd);
}

/* What the broker wants of the supervisor. */
static void take_asks(struct fake *fake)
{
	static struct channel_message message;
	enum ipc_error error = IPC_OK;
	int result = 1;

	while (fake->rig.supervisor.fd >= 0 && result == 1) {
		result = channel_receive(&fake->rig.supervisor, &message, MSG_DONTWAIT, &error);
		must(result == 1 || result == -EAGAIN);
		if (result != 1)
			return;
		if (message.type == IPC_TYPE_execution_start) {
			const struct ipc_execution_start *start =
				ipc_body(&message, execution_start);

			must(start->argv_size > 0);
			take_start(fake, start->request, start->argv, start->argv_size,
				   start->environment, start->environment_size);
		} else if (message.type == IPC_TYPE_code_start) {
			const struct ipc_code_start *code = ipc_body(&message, code_start);

			take_start(fake, code->request, code->argv, code->argv_size,
				   code->environment, code->environment_size);
		} else if (message.type == IPC_TYPE_file_start) {
			const struct ipc_file_start *file = ipc_body(&message, file_start);

			must(file->sandbox[0] != '\0' && file->argv_size > 0);
			take_start(fake, file->request, file->argv, file->argv_size, NULL, 0);
		} else if (message.type == IPC_TYPE_execution_signal) {
			take_signal(fake, ipc_body(&message, execution_signal));
		} else if (message.type == IPC_TYPE_execution_end) {
			take_end(fake, ipc_body(&message, execution_end));
		} else if (message.type == IPC_TYPE_network_watch) {
			take_watch(&message);
		} else {
			take_request(fake, &message);
		}
		channel_message_done(&message);
	}
}

static void hear_all(struct fake *fake)
{
	struct rig *rig = &fake->rig;
	struct pollfd out = { .fd = rig->client_out, .events = POLLIN };

	while (memchr(rig->pending, '\n', rig->pending_size) || poll(&out, 1, 0) > 0) {
		const char *line = rig_hear(rig);

		dialogue_heard(line);
		fake->was_pinged |= strstr(line, "\"id\":\"last\"") != NULL;
	}
}

static void settle(struct fake *fake)
{
	rig_turn(&fake->rig);
	hear_all(fake);
	take_asks(fake);
}

/* --- the supervisor's acts -------------------------------------------------------------------- */

static struct asked *find(struct fake *fake, char letter, uint64_t *ret_request)
{
	const size_t index = (size_t)(letter | 0x20) - 'a';
	struct asked *asked = index < fake->count ? &fake->asked[index] : NULL;
	const bool is_asked = asked && letter >= 'a';

	*ret_request = is_asked ? asked->request : (asked ? asked->request : index) + NOT_ASKED;
	return is_asked ? asked : NULL;
}

/* The broker reads whatever comes until it has given up, and then nothing is sent. */
static void tell(struct fake *fake, uint32_t type, const void *message, const int *fds)
{
	must(channel_send(&fake->rig.supervisor, type, message, fds, MSG_DONTWAIT) == 0);
}

static void start(struct fake *fake, struct asked *asked, uint64_t request, bool is_reversed,
		  uint64_t output_bytes)
{
	const struct ipc_execution_started started = { .request = request,
						       .output_bytes = output_bytes };
	int theirs[3], ours[3];

	for (int i = 0; i < 3; i++) {
		int ends[2];
		const int to_us = (i == 0) != is_reversed ? 0 : 1;

		must(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
		ours[i] = ends[to_us];
		theirs[i] = ends[1 - to_us];
	}
	tell(fake, IPC_TYPE_execution_started, &started, theirs);
	fd_close_all(theirs, 3);
	if (asked && asked->workload.in < 0)
		asked->workload = (struct rig_workload){ request, ours[0], ours[1], ours[2] };
	else
		fd_close_all(ours, 3);
}

static void done(struct fake *fake, uint64_t request, const char *rest)
{
	const struct ipc_execution_done message = { .request = request,
						    .verdict = (uint32_t)(rest[0] - '0'),
						    .exit_code = (uint32_t)atoi(rest + 1),
						    .signal = (uint32_t)atoi(rest + 1),
						    .stage = (uint32_t)atoi(rest + 1),
						    .error = (uint32_t)atoi(rest + 1),
						    .wall_us = 1234567 };

	tell(fake, IPC_TYPE_execution_done, &message, NULL);
}

static void refuse(struct fake *fake, uint64_t request, const char *rest)
{
	static struct ipc_execution_refused message;

	message = (struct ipc_execution_refused){ .request = request,
						  .reason = (uint32_t)(rest[0] - '0') };
	strncpy(message.detail, rest + 1, sizeof(message.detail) - 1);
	tell(fake, IPC_TYPE_execution_refused, &message, NULL);
}

static void send_tty(struct fake *fake, uint64_t request)
{
	const struct ipc_execution_tty tty = { .request = request };
	int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (terminal >= 0)
		tell(fake, IPC_TYPE_execution_tty, &tty, &terminal);
	fd_close(&terminal);
}

static void send_sandbox(struct fake *fake, uint64_t request, const char *rest)
{
	struct ipc_sandbox_info info = { .request = request,
					 .id = "0123456789abcdefghjkmnpqrs",
					 .profile = "default",
					 .workspace_mode = (uint32_t)(rest[0] - '0'),
					 .created_s = (uint64_t)rest[0] << 25 };

	strncpy(info.name, rest[0] ? rest + 1 : "", sizeof(info.name) - 1);
	tell(fake, IPC_TYPE_sandbox_info, &info, NULL);
}

static void send_checkpoint(struct fake *fake, uint64_t request, const char *rest)
{
	struct ipc_checkpoint_info info = { .request = request,
					    .number = (uint32_t)(rest[0] - '0') };

	strncpy(info.name, rest, sizeof(info.name) - 1);
	tell(fake, IPC_TYPE_checkpoint_info, &info, NULL);
}

static void send_changes(struct fake *fake, uint64_t request, const char *records, size_t size)
{
	const struct ipc_changes_started started = { .request = request };
	int ends[2];

	must(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
	(void)!write(ends[1], records, size);
	tell(fake, IPC_TYPE_changes_started, &started, ends);
	fd_close_all(ends, 2);
}

static void send_changes_done(struct fake *fake, uint64_t request, const char *rest)
{
	const struct ipc_changes_done message = { .request = request,
						  .error = (uint32_t)(rest[0] - '0'),
						  .step = (uint32_t)atoi(rest + 1),
						  .total = (uint64_t)atoi(rest + 1) };

	tell(fake, IPC_TYPE_changes_done, &message, NULL);
}

/* Answers about persistent sandboxes. */
static void act_on_request(struct fake *fake, const char *text, size_t size, uint64_t request)
{
	const struct ipc_request_done done = { .request = request };

	if (text[0] == 'l')
		send_sandbox(fake, request, text + 2);
	else if (text[0] == 'k')
		send_checkpoint(fake, request, text + 2);
	else if (text[0] == 'f')
		tell(fake, IPC_TYPE_request_done, &done, NULL);
	else if (text[0] == 'p')
		send_changes(fake, request, text + 2, size - 2);
	else if (text[0] == 'q')
		send_changes_done(fake, request, text + 2);
}

/* `text` is terminated and holds the act from its letter on. */
static void act_on(struct fake *fake, const char *text, size_t size)
{
	uint64_t request;
	struct asked *asked = find(fake, text[1], &request);
	struct rig_workload none = { 0, -1, -1, -1 };
	struct rig_workload *workload = asked ? &asked->workload : &none;
	char bytes[512];

	switch (text[0]) {
	case 's':
	case 'S':
		start(fake, asked, request, text[0] == 'S', text[2] == '1' ? 100 : 0);
		break;
	case 'o':
	case 'e':
		(void)!write(text[0] == 'o' ? workload->out : workload->err, text + 2, size - 2);
		break;
	case 'i':
		(void)!read(workload->in, bytes, sizeof(bytes));
		break;
	case 'c':
		rig_workload_end(workload);
		break;
	case 'd':
		done(fake, request, text + 2);
		break;
	case 'r':
		refuse(fake, request, text + 2);
		break;
	case 't':
		send_tty(fake, request);
		break;
	default:
		act_on_request(fake, text, size, request);
		break;
	}
}

static void act(struct fake *fake, const char *text, size_t size)
{
	struct rig *rig = &fake->rig;

	if (server_is_over(rig->server) || rig->supervisor.fd < 0)
		return;
	if (text[0] == 'w') {
		rig->supervisor.phase = IPC_SETUP;
		rig_welcome(rig);
	} else if (text[0] == 'g') {
		fd_close(&rig->supervisor.fd);
	} else if (text[0] == 'x') {
		must(send(rig->supervisor.fd, text + 1, size - 1, MSG_DONTWAIT) >= 0);
	} else if (size >= 2) {
		act_on(fake, text, size);
	}
}

static void say(struct fake *fake, const void *line, size_t size)
{
	if (server_is_over(fake->rig.server))
		return;
	dialogue_said(line, size);
	rig_say_bytes(&fake->rig, line, size);
}

static void play(struct fake *fake, const uint8_t *data, size_t size)
{
	while (size > 0) {
		const uint8_t *newline = memchr(data, '\n', size);
		const size_t length = newline ? (size_t)(newline - data) : size;
		char *line = calloc(1, length + 4); /* an act reads behind a short one */

		must(line != NULL);
		memcpy(line, data, length);
		if (line[0] == '!')
			act(fake, line + 1, length - 1);
		else
			say(fake, data, length + (newline != NULL));
		free(line);
		settle(fake);
		data += length + (newline != NULL);
		size -= length + (newline != NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char last[] = "{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}\n";
	static struct fake fake;
	const int free_fd = property_free_fd();

	fake = (struct fake){ .count = 0 };
	rig_open(&fake.rig, false);
	fake.rig.apply = PLAN_APPLY_ASK;
	fake.rig.host_approval = PLAN_HOST_APPROVAL_ASK;
	rig_welcome(&fake.rig);
	play(&fake, data, size);
	if (!server_is_over(fake.rig.server)) {
		say(&fake, "\n", 1);
		say(&fake, last, sizeof(last) - 1);
		settle(&fake);
		must(fake.was_pinged || server_is_over(fake.rig.server));
	}
	for (size_t i = 0; i < fake.count; i++)
		rig_workload_end(&fake.asked[i].workload);
	rig_close(&fake.rig);
	dialogue_reset();
	must(property_free_fd() == free_fd);
	return 0;
}
