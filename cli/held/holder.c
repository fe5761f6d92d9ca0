/* SPDX-License-Identifier: Apache-2.0
 *
 * A slow terminal makes the program wait, as a terminal does, but only for STALL_US: then its
 * attachment ends, and the program goes on. Keys wait for the program without an end.
 */
#include "held/holder.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "held/screen.h"
#include "held/wire.h"
#include "launcher/host/unix_socket.h"

#define BACKLOG 8
#define HELLO_US 1000000U /* a msp says it at once */
#define STALL_US 10000000U
#define END_US 3000000U /* for the last output */

/* A program redraws when the size changes. Some look only at the size that they find then, so the
 * other one has to stay for a moment. */
#define TWITCH_US 200000U

#define OUTPUT_MAX (1U << 20)
#define OUTPUT_ROOM (64U << 10) /* the session reads as much at once */
#define INPUT_MAX (256U << 10)
#define NEVER UINT64_MAX

_Static_assert(OUTPUT_MAX >= 2 * SCREEN_REPLAY_MAX + OUTPUT_ROOM, "a replay finds room");

enum slot { SLOT_LISTENER, SLOT_CLIENT, SLOT_NEWCOMER, SLOT_TERMINAL };

_Static_assert(SLOT_TERMINAL < HOLDER_SLOTS, "there is a slot for each");

struct queue {
	size_t begin, end;
	size_t room;
	uint8_t *bytes;
};

static uint8_t output_bytes[OUTPUT_MAX], input_bytes[INPUT_MAX];

static struct holder {
	int listener;
	int terminal;
	int client;
	int newcomer;
	pid_t client_pid;
	uint64_t newcomer_until_us;
	uint64_t stalled_us; /* the client has taken nothing since; NEVER: it has no output */
	uint64_t twitch_us;  /* the size is given back then */
	struct winsize size;
	struct queue output, input;
	struct screen screen;
} holder;

/* --- queues ------------------------------------------------------------------------------------
 */

static size_t queue_size(const struct queue *queue)
{
	return queue->end - queue->begin;
}

static size_t queue_room(const struct queue *queue)
{
	return queue->room - queue_size(queue);
}

static void queue_add(struct queue *queue, const uint8_t *bytes, size_t size)
{
	if (size > queue->room - queue->end) {
		memmove(queue->bytes, queue->bytes + queue->begin, queue_size(queue));
		queue->end = queue_size(queue);
		queue->begin = 0;
	}
	if (size > queue->room - queue->end)
		return; /* callers look at the room */
	memcpy(queue->bytes + queue->end, bytes, size);
	queue->end += size;
}

static void queue_drop(struct queue *queue, size_t size)
{
	queue->begin += size;
	if (queue->begin == queue->end)
		queue->begin = queue->end = 0;
}

/* --- the client --------------------------------------------------------------------------------
 */

static void send_words(int to, uint32_t kind, const struct wire_words *words)
{
	struct wire_packet packet = { .kind = kind, .words = *words };

	packet.words.version = WIRE_VERSION;
	/* A receiver without room for it sees the end of the connection. */
	(void)send(to, &packet, WIRE_WORDS_BYTES, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void drop_client(uint32_t leave)
{
	const struct wire_words words = { .leave = leave };

	if (holder.client >= 0 && leave)
		send_words(holder.client, WIRE_LEAVE, &words);
	fd_close(&holder.client);
	holder.output.begin = holder.output.end = 0;
	holder.stalled_us = NEVER;
}

static void add_output(const uint8_t *bytes, size_t size)
{
	if (holder.client < 0 || size == 0)
		return;
	if (queue_size(&holder.output) == 0)
		holder.stalled_us = clock_now_us();
	queue_add(&holder.output, bytes, size);
}

/* Send what the client takes. */
static void send_output(void)
{
	struct queue *queue = &holder.output;
	static struct wire_packet packet = { .kind = WIRE_OUTPUT };

	while (holder.client >= 0 && queue_size(queue) > 0) {
		const size_t most = WIRE_BYTES_MAX;
		const size_t size = queue_size(queue) < most ? queue_size(queue) : most;

		memcpy(packet.bytes, queue->bytes + queue->begin, size);
		if (send(holder.client, &packet, WIRE_HEAD_BYTES + size,
			 MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
			if (errno != EAGAIN && errno != EINTR)
				drop_client(0);
			return;
		}
		queue_drop(queue, size);
		holder.stalled_us = queue_size(queue) > 0 ? clock_now_us() : NEVER;
	}
}

/* --- the terminal ------------------------------------------------------------------------------
 */

static void set_size(uint16_t rows, uint16_t columns)
{
	const struct winsize size = { .ws_row = rows, .ws_col = columns };

	(void)ioctl(holder.terminal, TIOCSWINSZ, &size); /* a program without its size works */
}

/* Have the program redraw, at the client's size. */
static void twitch_size(uint32_t rows, uint32_t columns)
{
	const bool is_same = rows == holder.size.ws_row && columns == holder.size.ws_col;

	holder.size.ws_row = (uint16_t)rows;
	holder.size.ws_col = (uint16_t)columns;
	if (!is_same || screen_is_empty(&holder.screen)) {
		set_size(holder.size.ws_row, holder.size.ws_col);
		return;
	}
	set_size((uint16_t)(rows > 1 ? rows - 1 : rows + 1), holder.size.ws_col);
	holder.twitch_us = clock_now_us() + TWITCH_US;
}

static void end_twitch(void)
{
	if (holder.twitch_us == NEVER)
		return;
	holder.twitch_us = NEVER;
	set_size(holder.size.ws_row, holder.size.ws_col);
}

static void send_replay(uint32_t rows, uint32_t columns)
{
	static uint8_t replay[SCREEN_REPLAY_MAX];

	if (queue_room(&holder.output) >= SCREEN_REPLAY_MAX)
		add_output(replay, screen_replay(&holder.screen, rows, replay));
	end_twitch();
	twitch_size(rows, columns);
}

static void write_input(void)
{
	struct queue *queue = &holder.input;

	while (holder.terminal >= 0 && queue_size(queue) > 0) {
		const ssize_t put =
			write(holder.terminal, queue->bytes + queue->begin, queue_size(queue));

		if (put < 0 && errno != EAGAIN && errno != EINTR)
			queue_drop(queue, queue_size(queue)); /* the last reader has gone */
		if (put <= 0)
			return;
		queue_drop(queue, (size_t)put);
	}
}

/* --- packets -----------------------------------------------------------------------------------
 */

static bool is_size(const struct wire_words *words)
{
	return words->rows > 0 && words->rows <= UINT16_MAX && words->columns > 0 &&
	       words->columns <= UINT16_MAX;
}

/* Take a packet of the client. False: it breaks the protocol. */
static bool obey_packet(const struct wire_packet *packet, size_t size)
{
	const struct wire_words *words = &packet->words;

	if (packet->kind == WIRE_INPUT) {
		queue_add(&holder.input, packet->bytes, size - WIRE_HEAD_BYTES);
		write_input();
		return true;
	}
	if (size != WIRE_WORDS_BYTES || !is_size(words))
		return false;
	if (packet->kind == WIRE_REPLAY) {
		send_replay(words->rows, words->columns);
	} else if (packet->kind == WIRE_SIZE) {
		holder.twitch_us = NEVER;
		holder.size.ws_row = (uint16_t)words->rows;
		holder.size.ws_col = (uint16_t)words->columns;
		set_size(holder.size.ws_row, holder.size.ws_col);
	} else {
		return false;
	}
	return true;
}

/* Receive a packet. 1; 0: there is none; -1: the peer has gone, or broke the protocol. */
static int receive_packet(int from, struct wire_packet *ret, size_t *ret_size)
{
	const ssize_t size = recv(from, ret, sizeof(*ret), MSG_DONTWAIT | MSG_TRUNC);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	*ret_size = (size_t)size;
	return size >= (ssize_t)WIRE_HEAD_BYTES && size <= (ssize_t)sizeof(*ret) ? 1 : -1;
}

static void read_client(void)
{
	static struct wire_packet packet;
	size_t size;
	int result;

	if (queue_room(&holder.input) < WIRE_BYTES_MAX) { /* it was not polled for packets */
		drop_client(0);
		return;
	}
	result = receive_packet(holder.client, &packet, &size);
	if (result < 0)
		drop_client(0);
	else if (result > 0 && !obey_packet(&packet, size))
		drop_client(WIRE_LEAVE_WRONG);
}

static pid_t peer_of(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != geteuid())
		return -1;
	return peer.pid;
}

static void accept_newcomer(void)
{
	holder.newcomer = accept4(holder.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	holder.newcomer_until_us = clock_now_us() + HELLO_US;
	/* The directory's mode lets no other account come so far. */
	if (holder.newcomer >= 0 && peer_of(holder.newcomer) < 0)
		fd_close(&holder.newcomer);
}

static void welcome_newcomer(const struct wire_words *hello)
{
	drop_client(WIRE_LEAVE_TAKEN);
	holder.client_pid = peer_of(holder.newcomer);
	holder.client = fd_take(&holder.newcomer);
	send_words(holder.client, WIRE_WELCOME, &(struct wire_words){ 0 });
	send_replay(hello->rows, hello->columns);
}

/* Answer its first packet. */
static void read_newcomer(void)
{
	static struct wire_packet packet;
	const struct wire_words busy = { .pid = holder.client >= 0 ? holder.client_pid : 0 };
	size_t size;
	const int result = receive_packet(holder.newcomer, &packet, &size);

	if (result == 0)
		return;
	if (result > 0 && size == WIRE_WORDS_BYTES && packet.kind == WIRE_EVICT) {
		drop_client(WIRE_LEAVE_TAKEN);
		send_words(holder.newcomer, WIRE_EVICTED, &busy);
	} else if (result > 0 && size == WIRE_WORDS_BYTES && packet.kind == WIRE_HELLO &&
		   packet.words.version == WIRE_VERSION && is_size(&packet.words)) {
		if (holder.client < 0 || (packet.words.flags & WIRE_TAKE)) {
			welcome_newcomer(&packet.words);
			return;
		}
		send_words(holder.newcomer, WIRE_BUSY, &busy);
	} else if (result > 0) { /* the answer says this version */
		send_words(holder.newcomer, WIRE_LEAVE,
			   &(struct wire_words){ .leave = WIRE_LEAVE_WRONG });
	}
	fd_close(&holder.newcomer);
}

/* --- the session's part ------------------------------------------------------------------------
 */

/* The directory is new. */
static bool is_free(void *context)
{
	(void)context;
	return true;
}

static int begin_holding(void *context, int directory)
{
	static const struct unix_socket_kind kind = { .type = SOCK_SEQPACKET | SOCK_NONBLOCK,
						      .backlog = BACKLOG,
						      .is_free = is_free };

	(void)context;
	holder.listener = unix_socket_listen(directory, WIRE_SOCKET, &kind);
	return holder.listener < 0 ? holder.listener : 0;
}

static int keep_terminal(void *context, int terminal)
{
	(void)context;
	holder.terminal = terminal;
	set_size(holder.size.ws_row, holder.size.ws_col);
	return 0;
}

static void pass_output(void *context, const uint8_t *bytes, size_t size)
{
	(void)context;
	screen_take(&holder.screen, bytes, size, holder.client >= 0);
	add_output(bytes, size);
	send_output();
}

static bool fill_entries(void *context, struct pollfd entries[HOLDER_SLOTS])
{
	(void)context;
	if (holder.newcomer < 0)
		entries[SLOT_LISTENER] = (struct pollfd){ .fd = holder.listener, .events = POLLIN };
	entries[SLOT_NEWCOMER] = (struct pollfd){ .fd = holder.newcomer, .events = POLLIN };
	entries[SLOT_CLIENT] = (struct pollfd){ .fd = holder.client };
	if (queue_room(&holder.input) >= WIRE_BYTES_MAX)
		entries[SLOT_CLIENT].events |= POLLIN;
	if (queue_size(&holder.output) > 0)
		entries[SLOT_CLIENT].events |= POLLOUT;
	if (queue_size(&holder.input) > 0)
		entries[SLOT_TERMINAL] =
			(struct pollfd){ .fd = holder.terminal, .events = POLLOUT };
	return queue_room(&holder.output) >= SCREEN_REPLAY_MAX + OUTPUT_ROOM;
}

static void step_entries(void *context, const struct pollfd entries[HOLDER_SLOTS])
{
	const uint64_t now_us = clock_now_us();
	const int client = holder.client;

	(void)context;
	if (now_us >= holder.twitch_us)
		end_twitch();
	if (holder.stalled_us != NEVER && now_us - holder.stalled_us >= STALL_US)
		drop_client(WIRE_LEAVE_SLOW);
	if (entries[SLOT_TERMINAL].revents)
		write_input();
	if (holder.newcomer >= 0 && now_us >= holder.newcomer_until_us)
		fd_close(&holder.newcomer);
	if (client >= 0 && holder.client == client &&
	    (entries[SLOT_CLIENT].revents & (POLLIN | POLLHUP | POLLERR)))
		read_client();
	if (entries[SLOT_NEWCOMER].revents && holder.newcomer >= 0)
		read_newcomer();
	if (entries[SLOT_LISTENER].revents)
		accept_newcomer();
	send_output();
}

static int wait_for(const void *context)
{
	const uint64_t now_us = clock_now_us();
	uint64_t until_us = holder.twitch_us;

	(void)context;
	if (holder.newcomer >= 0 && holder.newcomer_until_us < until_us)
		until_us = holder.newcomer_until_us;
	if (holder.stalled_us != NEVER && holder.stalled_us + STALL_US < until_us)
		until_us = holder.stalled_us + STALL_US;
	if (until_us == NEVER)
		return -1;
	return until_us > now_us ? (int)((until_us - now_us) / 1000) + 1 : 0;
}

/* The program has ended: give the client what it has not seen yet. */
static void end_holding(void *context)
{
	const uint64_t until_us = clock_now_us() + END_US;

	(void)context;
	fd_close(&holder.listener);
	while (holder.client >= 0 && queue_size(&holder.output) > 0 && clock_now_us() < until_us) {
		struct pollfd entry = { .fd = holder.client, .events = POLLOUT };

		(void)poll(&entry, 1, 100); /* a signal makes it shorter */
		send_output();
	}
	fd_close(&holder.terminal);
}

const struct background_held *holder_of(const struct winsize *size)
{
	static const struct session_holder session = { .opened = keep_terminal,
						       .output = pass_output,
						       .fill = fill_entries,
						       .step = step_entries,
						       .wait_ms = wait_for };
	static const struct background_held held = { .holder = &session,
						     .begin = begin_holding,
						     .end = end_holding };

	holder = (struct holder){ .listener = -1,
				  .terminal = -1,
				  .client = -1,
				  .newcomer = -1,
				  .stalled_us = NEVER,
				  .twitch_us = NEVER,
				  .size = *size,
				  .output = { .room = OUTPUT_MAX, .bytes = output_bytes },
				  .input = { .room = INPUT_MAX, .bytes = input_bytes } };
	return &held;
}
