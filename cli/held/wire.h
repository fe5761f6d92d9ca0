/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets between the keeper of a held terminal and a msp that is attached to it. Both are msp of
 * the same account on one machine; either may be of another version, which the first packets tell.
 */
#ifndef CLI_HELD_WIRE_H
#define CLI_HELD_WIRE_H

#include <stddef.h>
#include <stdint.h>

/* The socket, in the directory of the command. */
#define WIRE_SOCKET "terminal"

#define WIRE_VERSION 1U

/* Bytes of a terminal in one packet. */
#define WIRE_BYTES_MAX 8192

enum wire_kind {
	WIRE_HELLO = 1, /* to the keeper: attach */
	WIRE_EVICT,     /* end the attachment that there is */
	WIRE_INPUT,     /* bytes */
	WIRE_SIZE,      /* the terminal's, which may be the same as before */
	WIRE_REPLAY,    /* the terminal shows nothing of it any more */
	WIRE_WELCOME,   /* to the attached one */
	WIRE_BUSY,      /* `pid` is attached */
	WIRE_EVICTED,   /* the answer to EVICT: the attachment has ended, if `pid` was attached */
	WIRE_OUTPUT,    /* bytes */
	WIRE_LEAVE,     /* enum wire_leave: the connection ends */
};

enum wire_leave {
	WIRE_LEAVE_TAKEN = 1, /* another one was attached, or ended the attachment */
	WIRE_LEAVE_SLOW,      /* it took no output */
	WIRE_LEAVE_WRONG,     /* it broke the protocol */
};

/* Flag of HELLO: end the attachment that there is. */
#define WIRE_TAKE 1U

struct wire_words {
	uint32_t version;
	uint32_t flags;
	uint32_t rows, columns;
	uint32_t leave;
	int32_t pid;
};

struct wire_packet {
	uint32_t kind;
	union {
		struct wire_words words; /* each kind without bytes has them */
		uint8_t bytes[WIRE_BYTES_MAX];
	};
};

#define WIRE_HEAD_BYTES (offsetof(struct wire_packet, bytes))
#define WIRE_WORDS_BYTES (WIRE_HEAD_BYTES + sizeof(struct wire_words))

#endif
