/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/http/side.h"

#include <errno.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

void side_begin(struct side *side, int fd, SSL *ssl)
{
	*side = (struct side){ .state = ssl != NULL ? SIDE_GREETING : SIDE_OPEN,
			       .fd = fd,
			       .ssl = ssl,
			       .reading = POLLIN,
			       .writing = POLLOUT };
}

/* The count of a socket under TLS is in the library. */
static void count_bytes(struct side *side)
{
	side->received = BIO_number_read(SSL_get_rbio(side->ssl));
	side->sent = BIO_number_written(SSL_get_wbio(side->ssl));
}

/* Take the result of a call of the library that did not move bytes. */
static void take_trouble(struct side *side, int result, short *ret_event)
{
	switch (SSL_get_error(side->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		*ret_event = POLLIN;
		break;
	case SSL_ERROR_WANT_WRITE:
		*ret_event = POLLOUT;
		break;
	case SSL_ERROR_ZERO_RETURN:
		side->state = SIDE_ENDED;
		break;
	default:
		side->state = SIDE_FAILED;
		break;
	}
}

bool side_greet(struct side *side)
{
	int result;

	if (side->state != SIDE_GREETING)
		return false;
	ERR_clear_error();
	result = SSL_do_handshake(side->ssl);
	if (result == 1)
		side->state = SIDE_OPEN;
	else
		take_trouble(side, result, &side->reading);
	count_bytes(side);
	if (side->state == SIDE_OPEN)
		side->reading = POLLIN;
	return side->state != SIDE_GREETING;
}

static size_t read_plain(struct side *side, char *bytes, size_t size)
{
	const ssize_t got = recv(side->fd, bytes, size, 0);

	if (got > 0) {
		side->received += (uint64_t)got;
		return (size_t)got;
	}
	if (got == 0)
		side->state = SIDE_ENDED;
	else if (errno != EAGAIN && errno != EINTR)
		side->state = SIDE_FAILED;
	return 0;
}

size_t side_read(struct side *side, char *bytes, size_t size)
{
	size_t got = 0;
	int result;

	if (side->state != SIDE_OPEN || size == 0)
		return 0;
	if (side->ssl == NULL)
		return read_plain(side, bytes, size);
	ERR_clear_error();
	side->reading = POLLIN;
	result = SSL_read_ex(side->ssl, bytes, size, &got);
	if (result != 1)
		take_trouble(side, result, &side->reading);
	count_bytes(side);
	return got;
}

static size_t write_plain(struct side *side, const char *bytes, size_t size)
{
	const ssize_t put = send(side->fd, bytes, size, MSG_NOSIGNAL);

	if (put > 0) {
		side->sent += (uint64_t)put;
		return (size_t)put;
	}
	if (errno != EAGAIN && errno != EINTR)
		side->state = SIDE_FAILED;
	return 0;
}

size_t side_write(struct side *side, const char *bytes, size_t size)
{
	const enum side_state state = side->state;
	size_t put = 0;
	int result;

	if ((state != SIDE_OPEN && state != SIDE_ENDED) || size == 0)
		return 0;
	if (side->ssl == NULL)
		return write_plain(side, bytes, size);
	ERR_clear_error();
	side->writing = POLLOUT;
	result = SSL_write_ex(side->ssl, bytes, size, &put);
	if (result != 1)
		take_trouble(side, result, &side->writing);
	count_bytes(side);
	return put;
}

void side_finish(struct side *side, bool is_whole)
{
	if (side->is_written_out)
		return;
	side->is_written_out = true;
	ERR_clear_error();
	if (is_whole && side->ssl != NULL && side->state != SIDE_GREETING &&
	    side->state != SIDE_FAILED)
		(void)SSL_shutdown(side->ssl); /* a peer that has gone needs no word */
	(void)shutdown(side->fd, SHUT_WR);     /* likewise */
}

void side_end(struct side *side, bool is_reset)
{
	const struct linger reset = { .l_onoff = 1 };

	if (is_reset)
		(void)setsockopt(side->fd, SOL_SOCKET, SO_LINGER, &reset,
				 sizeof(reset)); /* or it is gone */
	SSL_free(side->ssl);
	(void)close(side->fd); /* the bytes are gone or refused */
	side->ssl = NULL;
	side->fd = -1;
	side->state = SIDE_FAILED;
}
