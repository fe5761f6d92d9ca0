/* SPDX-License-Identifier: Apache-2.0
 *
 * Openings of TLS, in pieces of every size: a hello reaches the host only if it has the host's name
 * and can be obeyed, the first one and each that the host asks for.
 */
#include "gateway/egress/connection.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES_MAX 200000U

static struct connection connection;
static int workload, host; /* the far ends */

struct text {
	uint8_t bytes[BYTES_MAX];
	size_t size;
};

static void put(struct text *text, const void *data, size_t size)
{
	memcpy(text->bytes + text->size, data, size);
	text->size += size;
}

static void put_number(struct text *text, size_t value, size_t width)
{
	for (size_t i = width; i > 0; i--) {
		const uint8_t byte = (uint8_t)(value >> (8 * (i - 1)));

		put(text, &byte, 1);
	}
}

/* Put bytes as records of a type with at most `piece` bytes. */
static void put_records(struct text *text, size_t type, const struct text *payload, size_t piece)
{
	for (size_t at = 0; at < payload->size || at == 0; at += piece) {
		const size_t rest = payload->size - at, part = rest < piece ? rest : piece;

		put_number(text, type, 1);
		put_number(text, 0x0303, 2);
		put_number(text, part, 2);
		put(text, payload->bytes + at, part);
	}
}

static void put_hello(struct text *text, const char *name, size_t name_length, bool has_ech)
{
	static const uint8_t zeros[32];
	const size_t extensions = (name_length > 0 ? name_length + 9 : 0) + (has_ech ? 5 : 0);

	put_number(text, 1, 1);
	put_number(text, 2 + 32 + 1 + 4 + 2 + 2 + extensions, 3);
	put(text, "\x03\x03", 2);
	put(text, zeros, 32);
	put(text, "\0\0\x02\x13\x01\x01\0", 7);
	put_number(text, extensions, 2);
	if (name_length > 0) {
		put_number(text, 0, 2);
		put_number(text, name_length + 5, 2);
		put_number(text, name_length + 3, 2);
		put_number(text, 0, 1);
		put_number(text, name_length, 2);
		put(text, name, name_length);
	}
	if (has_ech)
		put(text, "\xfe\x0d\x00\x01\x00", 5);
}

/* A host's hello; it asks for another one of the client or not. */
static void put_answer(struct text *text, bool is_retry)
{
	static const uint8_t retry[32] = { 0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11,
					   0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
					   0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e,
					   0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c };
	static const uint8_t other[32] = { 0xcf, 0x21 };

	put_number(text, 2, 1);
	put_number(text, 2 + 32 + 1 + 2 + 1, 3);
	put(text, "\x03\x03", 2);
	put(text, is_retry ? retry : other, 32);
	put(text, "\0\x13\x01\0", 4);
}

static void put_keys(struct text *text)
{
	put(text, "\x10\0\0\x05\1\1\1\1\1\x0b\0\x09\0", 13);
	memset(text->bytes + text->size, 1, 0x900);
	text->size += 0x900;
}

/* Put the host's hello: for another one of the client (R), in small records (P); with its
 * certificate in the record (S), in small records (T). Return the size of its records. */
static size_t put_host_hello(struct text *text, char letter)
{
	put_answer(text, letter == 'R' || letter == 'P');
	if (letter == 'S')
		put(text, "\x0b\0\0\x03\1\1\1", 7);
	return letter == 'P' || letter == 'T' ? 9 : 16384;
}

/* Each letter is records of a side: the client's are small, the host's are not. */
static void put_letter(struct text *text, char letter)
{
	static struct text payload;
	size_t type = 22, piece = 16384;

	payload.size = 0;
	switch (letter) {
	case 'a': /* a hello for the host, */
	case 'f': /* in small records, */
	case 'e': /* perhaps for another one, */
	case 'j': /* with another one in its record */
		put_hello(&payload, "A.example", 9, letter == 'e');
		piece = letter == 'f' ? 7 : piece;
		if (letter == 'j')
			put_hello(&payload, "b.example", 9, false);
		break;
	case 'b': /* for another host, */
	case 'g': /* in records of one byte */
		put_hello(&payload, "b.example", 9, false);
		piece = letter == 'g' ? 1 : piece;
		break;
	case 'n':
		put_hello(&payload, "", 0, false);
		break;
	case 'z': /* a record of the handshake without a byte */
		break;
	case 'k': /* a client's keys, and its certificate: bytes of a message are no hello */
	case 'm': /* then a hello in the record */
		piece = letter == 'k' ? 1000 : piece;
		put_keys(&payload);
		if (letter == 'm')
			put_hello(&payload, "a.example", 9, false);
		break;
	case 'c':
	case 'C': /* change_cipher_spec */
		type = 20;
		put(&payload, "\1", 1);
		break;
	case 'x':
	case 'X': /* an alert */
		type = 21;
		put(&payload, "\1\x70", 2);
		break;
	case 'd': /* data */
	case 'D':
	case 'w': /* without a byte */
		type = 23;
		memset(payload.bytes, 22, 300);
		payload.size = letter == 'w' ? 0 : 300;
		break;
	case 'R':
	case 'P':
	case 'S':
	case 'T':
		piece = put_host_hello(&payload, letter);
		break;
	case 'r':
	case 'H': /* no TLS */
		put(text, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
		return;
	default:
		cr_assert_fail("%c", letter);
	}
	put_records(text, type, &payload, piece);
}

static const struct row {
	const char *script; /* letters of both sides, in their order */
	const char *heard;  /* the host's, of the client */
	enum connection_refusal refusal;
} rows[] = {
	/* Openings that stand. */
	{ "aScd", "acd", CONNECTION_FINE },
	{ "fTcdDd", "fcdd", CONNECTION_FINE },
	{ "aXSkcdDd", "akcdd", CONNECTION_FINE },
	{ "aSkxkcb", "akxkcb", CONNECTION_FINE }, /* with keys in use, bytes are no hello */
	{ "aSd", "ad", CONNECTION_FINE },
	{ "aSwd", "awd", CONNECTION_FINE },
	{ "aXx", "a", CONNECTION_FINE }, /* nothing follows before the host's hello */
	{ "aRaScdDd", "aacdd", CONNECTION_FINE },
	{ "aRCcaScd", "acacd", CONNECTION_FINE },
	{ "aPCcfTcd", "acfcd", CONNECTION_FINE },
	{ "acddRaScd", "acddacd", CONNECTION_FINE }, /* early data */
	{ "aRwxaSd", "awxad", CONNECTION_FINE },
	{ "aRaRaSd", "aaad", CONNECTION_FINE },
	/* Second hellos that the host has asked for. */
	{ "aRb", "a", CONNECTION_OTHER_NAME },
	{ "aRCcb", "ac", CONNECTION_OTHER_NAME },
	{ "aPg", "a", CONNECTION_OTHER_NAME },
	{ "aRddcg", "addc", CONNECTION_OTHER_NAME },
	{ "aRe", "a", CONNECTION_HIDDEN_NAME },
	{ "aRn", "a", CONNECTION_NO_NAME },
	{ "aRj", "a", CONNECTION_NO_TLS },
	{ "aRza", "a", CONNECTION_NO_TLS },
	{ "aRk", "a", CONNECTION_NO_TLS },
	{ "aRr", "a", CONNECTION_NO_TLS },
	{ "aRaRb", "aa", CONNECTION_OTHER_NAME },
	/* Before the host asks. */
	{ "abR", "a", CONNECTION_OTHER_NAME },
	{ "acbR", "ac", CONNECTION_OTHER_NAME },
	{ "acddgR", "acdd", CONNECTION_OTHER_NAME },
	{ "abS", "a", CONNECTION_NO_TLS },
	{ "aaS", "a", CONNECTION_NO_TLS },
	/* That no host has asked for. */
	{ "aSa", "a", CONNECTION_NO_TLS },
	{ "aSb", "a", CONNECTION_NO_TLS },
	{ "aSg", "a", CONNECTION_NO_TLS },
	{ "aSkb", "ak", CONNECTION_NO_TLS },
	{ "aSxb", "ax", CONNECTION_NO_TLS },
	{ "aSm", "am", CONNECTION_NO_TLS },
	{ "aSr", "a", CONNECTION_NO_TLS },
	{ "aRaSb", "aa", CONNECTION_NO_TLS },
	/* First hellos. */
	{ "b", "", CONNECTION_OTHER_NAME },
	{ "g", "", CONNECTION_OTHER_NAME },
	{ "j", "", CONNECTION_NO_TLS },
	{ "ca", "", CONNECTION_NO_TLS },
	{ "za", "", CONNECTION_NO_TLS },
	/* A host that speaks no TLS says so, and hears nothing more. */
	{ "aHdbd", "a", CONNECTION_FINE },
	{ "abH", "a", CONNECTION_FINE },
};

static void read_all(int fd, struct text *ret)
{
	ssize_t size;

	while ((size = recv(fd, ret->bytes + ret->size, BYTES_MAX - ret->size, 0)) > 0)
		ret->size += (size_t)size;
}

static struct text heard, told; /* by the host, and by the workload */

/* Write bytes in pieces, and turn after each, until the far end takes them or the connection ends.
 */
static void say(int fd, enum connection_side side, const struct text *text, size_t piece)
{
	size_t at = 0;

	for (int idle = 0; at < text->size && idle < 50; idle++) {
		const size_t rest = text->size - at;
		const ssize_t size = send(fd, text->bytes + at, rest < piece ? rest : piece,
					  MSG_NOSIGNAL | MSG_DONTWAIT);

		if (size > 0) {
			at += (size_t)size;
			idle = 0;
		}
		connection_turn(&connection, side, SIZE_MAX);
		read_all(host, &heard);
		read_all(workload, &told);
		if (connection.state == CONNECTION_ENDED)
			return;
	}
}

static void start(void)
{
	int client[2], upstream[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, client), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, upstream), 0);
	workload = client[0];
	host = upstream[0];
	heard.size = told.size = 0;
	connection_begin(&connection, client[1], upstream[1], true, "a.example");
}

static void play(const struct row *row, size_t piece)
{
	static struct text text, wanted;

	start();
	wanted.size = 0;
	for (const char *at = row->script; *at && connection.state != CONNECTION_ENDED; at++) {
		const bool is_host = strchr("CXDRPSTH", *at) != NULL;

		text.size = 0;
		put_letter(&text, *at);
		say(is_host ? host : workload, is_host ? CONNECTION_HOST : CONNECTION_CLIENT, &text,
		    piece);
	}
	cr_assert_eq(connection.refusal, row->refusal, "%s by %zu: %d", row->script, piece,
		     connection.refusal);
	for (const char *at = row->heard; *at; at++)
		put_letter(&wanted, *at);
	/* Bytes before a refused hello pass with it or not, as they come. */
	cr_assert(heard.size <= wanted.size &&
			  (row->refusal != CONNECTION_FINE || heard.size == wanted.size),
		  "%s by %zu: %zu bytes, not %zu", row->script, piece, heard.size, wanted.size);
	cr_assert_eq(memcmp(heard.bytes, wanted.bytes, heard.size), 0, "%s", row->script);
	cr_assert_null(memmem(heard.bytes, heard.size, "a.example", 9), "a hello behind keys");
	connection_end(&connection);
	close(workload);
	close(host);
}

Test(opening, hellos_in_pieces)
{
	static const size_t pieces[] = { 1, 2, 3, 5, 6, 7, 13, 64, 1000, BYTES_MAX };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t j = 0; j < sizeof(pieces) / sizeof(pieces[0]); j++)
			play(&rows[i], pieces[j]);
	}
}

/* More early data than is kept waits in the workload's own socket. */
Test(opening, early_data_without_end)
{
	static struct text text, wanted;

	for (size_t i = 0; i < 2; i++) {
		start();
		text.size = 0;
		put_letter(&text, 'a');
		while (text.size < 2 * (size_t)RELAY_BYTES)
			put_letter(&text, 'd');
		say(workload, CONNECTION_CLIENT, &text, BYTES_MAX);
		connection_turn(&connection, CONNECTION_CLIENT, SIZE_MAX);
		wanted = text;
		cr_expect_eq(connection.out.held, RELAY_BYTES);
		text.size = 0;
		put_letter(&text, i == 0 ? 'S' : 'R');
		say(host, CONNECTION_HOST, &text, 5);
		for (int j = 0; j < 100; j++) {
			connection_turn(&connection, CONNECTION_CLIENT, SIZE_MAX);
			read_all(host, &heard);
		}
		cr_expect_gt(heard.size, RELAY_BYTES);
		cr_expect_eq(memcmp(heard.bytes, wanted.bytes, heard.size), 0);
		cr_expect_eq(connection.opening.phase, i == 0 ? OPENING_OVER : OPENING_RETRY);
		connection_end(&connection);
		close(workload);
		close(host);
	}
}

/* The workload hears each byte of the host. */
Test(opening, the_workload_hears_the_host)
{
	static const char *const scripts[] = { "aXS", "aRCaTCD", "aPaSD", "aHH", "aXH" };
	static struct text wanted;

	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		for (size_t piece = 1; piece < 50; piece += 3) {
			static struct text text;

			start();
			wanted.size = 0;
			for (const char *at = scripts[i]; *at; at++) {
				const bool is_host = *at != 'a';

				text.size = 0;
				put_letter(&text, *at);
				if (is_host)
					put_letter(&wanted, *at);
				say(is_host ? host : workload,
				    is_host ? CONNECTION_HOST : CONNECTION_CLIENT, &text, piece);
			}
			cr_assert_eq(told.size, wanted.size, "%s by %zu", scripts[i], piece);
			cr_assert_eq(memcmp(told.bytes, wanted.bytes, told.size), 0);
			connection_end(&connection);
			close(workload);
			close(host);
		}
	}
}

/* A side that ends within the opening ends the connection, and no bytes that waited follow. */
Test(opening, sides_that_end)
{
	static const struct {
		const char *script;
		bool is_host;    /* it ends first */
		bool ends_alone; /* with that */
	} ends[] = {
		{ "a", true, false },    { "a", false, false },   { "ab", true, false },
		{ "ab", false, false },  { "aH", true, false },   { "aHd", true, false },
		{ "aR", true, false },   { "aRc", false, false }, { "aS", true, false },
		{ "aSk", false, false }, { "aX", true, false },
	};
	static struct text text;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const enum connection_side first = ends[i].is_host ? CONNECTION_HOST
								   : CONNECTION_CLIENT,
					   second = ends[i].is_host ? CONNECTION_CLIENT
								    : CONNECTION_HOST;

		start();
		for (const char *at = ends[i].script; *at; at++) {
			const bool is_host = strchr("RSHX", *at) != NULL;

			text.size = 0;
			put_letter(&text, *at);
			say(is_host ? host : workload,
			    is_host ? CONNECTION_HOST : CONNECTION_CLIENT, &text, BYTES_MAX);
		}
		shutdown(ends[i].is_host ? host : workload, SHUT_WR);
		connection_turn(&connection, first, SIZE_MAX);
		cr_expect_eq(connection.state, CONNECTION_RELAYING, "%s", ends[i].script);
		shutdown(ends[i].is_host ? workload : host, SHUT_WR);
		connection_turn(&connection, second, SIZE_MAX);
		cr_expect_eq(connection.state, CONNECTION_ENDED, "%s", ends[i].script);
		cr_expect_eq(connection.refusal, CONNECTION_FINE);
		connection_end(&connection);
		read_all(host, &heard);
		put_letter((text.size = 0, &text), 'a');
		cr_expect_geq(heard.size, text.size);
		cr_expect_eq(memcmp(heard.bytes, text.bytes, text.size), 0);
		close(workload);
		close(host);
	}
}
