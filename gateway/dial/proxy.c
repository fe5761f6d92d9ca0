/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/dial/proxy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "gateway/hosts/name.h"

/* Read at once: most heads fit. */
#define PART_MAX 1024U

/* The beginning of an answer; '0' stands for a digit. */
static const char beginning[] = "HTTP/1.0 000";
#define STATUS_AT (sizeof(beginning) - 1 - 3)

bool proxy_ask(int fd, const char *host, uint16_t port)
{
	char text[2 * HOST_NAME_MAX_SIZE + 64];
	const int size =
		snprintf(text, sizeof(text), "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", host,
			 (unsigned int)port, host, (unsigned int)port);

	return send(fd, text, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL) == size;
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* Return whether the byte can be in the name of a field. */
static bool is_token(char byte)
{
	return is_digit(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte != '\0' && strchr("!#$%&'*+-.^_`|~", byte) != NULL);
}

static bool is_text(char byte)
{
	return byte == '\t' || ((unsigned char)byte >= ' ' && byte != 0x7f);
}

static enum proxy_place read_status(struct proxy_answer *answer, char byte)
{
	const uint32_t at = answer->size;

	if (beginning[at] == '0' ? !is_digit(byte) : byte != beginning[at])
		return PROXY_AT_FAULT;
	if (at >= STATUS_AT)
		answer->status = answer->status * 10 + (uint32_t)(byte - '0');
	return at == sizeof(beginning) - 2 ? PROXY_AT_REASON : PROXY_AT_STATUS;
}

static enum proxy_place read_byte(struct proxy_answer *answer, char byte)
{
	switch (answer->place) {
	case PROXY_AT_STATUS:
		return read_status(answer, byte);
	case PROXY_AT_REASON:
		return byte == ' ' ? PROXY_AT_TEXT : byte == '\r' ? PROXY_AT_LF : PROXY_AT_FAULT;
	case PROXY_AT_TEXT:
		return byte == '\r' ? PROXY_AT_LF : is_text(byte) ? PROXY_AT_TEXT : PROXY_AT_FAULT;
	case PROXY_AT_LF:
		return byte == '\n' ? PROXY_AT_LINE : PROXY_AT_FAULT;
	case PROXY_AT_LINE: /* a field, or the empty line */
		if (byte == '\r')
			return PROXY_AT_LAST_LF;
		return is_token(byte) ? PROXY_AT_NAME : PROXY_AT_FAULT;
	case PROXY_AT_NAME:
		return byte == ':'      ? PROXY_AT_TEXT
		       : is_token(byte) ? PROXY_AT_NAME
					: PROXY_AT_FAULT;
	case PROXY_AT_LAST_LF:
		return byte == '\n' ? PROXY_AT_END : PROXY_AT_FAULT;
	default:
		return answer->place;
	}
}

enum proxy_state proxy_read(struct proxy_answer *answer, const char *bytes, size_t size,
			    size_t *ret_used)
{
	size_t at = 0;

	while (at < size && answer->place < PROXY_AT_END && answer->size < PROXY_HEAD_MAX) {
		answer->place = read_byte(answer, bytes[at++]);
		answer->size++;
	}
	*ret_used = at;
	if (answer->place == PROXY_AT_END)
		return answer->status / 100 == 2  ? PROXY_OPEN
		       : answer->status == 407    ? PROXY_LOGIN
		       : answer->status / 100 > 2 ? PROXY_REFUSED
						  : PROXY_BROKEN;
	return answer->place == PROXY_AT_FAULT || answer->size == PROXY_HEAD_MAX ? PROXY_BROKEN
										 : PROXY_WAITS;
}

enum proxy_state proxy_receive(struct proxy_answer *answer, int fd)
{
	char part[PART_MAX];
	ssize_t size = recv(fd, part, sizeof(part), MSG_PEEK | MSG_DONTWAIT);
	enum proxy_state state;
	size_t used;

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return PROXY_WAITS;
	if (size <= 0)
		return PROXY_BROKEN;
	state = proxy_read(answer, part, (size_t)size, &used);
	size = recv(fd, part, used, MSG_DONTWAIT);
	return size == (ssize_t)used ? state : PROXY_BROKEN;
}
