/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/conversation.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum slot { SLOT_CHANNEL, SLOT_SIGNALS, SLOT_OWNER };

static void read_signal(struct conversation *talk, const struct conversation_rules *rules)
{
	struct signalfd_siginfo info;

	if (read(talk->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		rules->take_signal(talk, (int)info.ssi_signo);
}

static void receive_one(struct conversation *talk)
{
	const int result = supervisor_receive(&talk->client);

	if (result == 1 || result == -EAGAIN)
		return;
	talk->outcome.is_supervisor_gone = true;
	if (result == -EPROTO)
		talk->outcome.wrong = talk->client.error;
}

static void turn_once(struct conversation *talk, const struct conversation_rules *rules)
{
	struct pollfd entries[SLOT_OWNER + CONVERSATION_SLOTS_MAX] = {
		[SLOT_CHANNEL] = { .fd = talk->client.sending.fd, .events = POLLIN },
		[SLOT_SIGNALS] = { .fd = talk->signals, .events = POLLIN },
	};

	rules->fill(talk, entries + SLOT_OWNER);
	if (poll(entries, SLOT_OWNER + rules->slots, rules->wait_ms ? rules->wait_ms(talk) : -1) <
	    0)
		return; /* EINTR; the next turn sees the same */
	if (entries[SLOT_SIGNALS].revents)
		read_signal(talk, rules);
	/* Before the channel: what it attaches was not polled. */
	rules->step(talk, entries + SLOT_OWNER);
	if (entries[SLOT_CHANNEL].revents)
		receive_one(talk);
}

void conversation_run(struct conversation *talk, const struct conversation_rules *rules)
{
	while (!talk->outcome.is_supervisor_gone && !rules->is_over(talk))
		turn_once(talk, rules);
}

bool conversation_is_sent(struct conversation *talk, int error)
{
	if (!error || error == -EPIPE || error == -ECONNRESET)
		return true;
	talk->outcome.relay_name = "asking the supervisor";
	talk->outcome.relay_error = -error;
	return false;
}
