/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/http/body.h"

#define SIZE_DIGITS_MAX 15U

void body_begin(struct body *body, const struct head *head)
{
	*body = (struct body){ .framing = head->framing };
	switch (head->framing) {
	case HEAD_NO_BODY:
		body->state = BODY_DONE;
		break;
	case HEAD_LENGTH:
		body->left = head->length;
		body->state = head->length > 0 ? BODY_DATA : BODY_DONE;
		break;
	case HEAD_CHUNKED:
		body->state = BODY_SIZE;
		break;
	case HEAD_UNTIL_CLOSE:
		body->left = UINT64_MAX;
		break;
	}
}

static int hex_digit(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

static enum body_state take_size(struct body *body, char byte)
{
	const int digit = hex_digit(byte);

	if (digit >= 0 && body->line < SIZE_DIGITS_MAX) {
		body->left = body->left * 16 + (uint64_t)digit;
		body->line++;
		return BODY_SIZE;
	}
	if (body->line == 0)
		return BODY_BROKEN;
	return byte == ';' ? BODY_EXTENSION : byte == '\r' ? BODY_SIZE_LF : BODY_BROKEN;
}

static bool is_of_line(char byte)
{
	return (byte >= ' ' && byte != 0x7f) || byte == '\t' || byte < 0;
}

/* Take a byte of a line whose end is followed by `next`. */
static enum body_state take_line(struct body *body, char byte, enum body_state same,
				 enum body_state next)
{
	if (byte == '\r')
		return next;
	return is_of_line(byte) && ++body->line < BODY_LINES_MAX ? same : BODY_BROKEN;
}

static enum body_state take_lf(struct body *body, char byte, enum body_state next)
{
	if (next != BODY_TRAILER)
		body->line = 0;
	return byte == '\n' ? next : BODY_BROKEN;
}

static enum body_state take_byte(struct body *body, char byte)
{
	switch (body->state) {
	case BODY_DATA_CR:
		return byte == '\r' ? BODY_DATA_LF : BODY_BROKEN;
	case BODY_DATA_LF:
		return take_lf(body, byte, BODY_SIZE);
	case BODY_SIZE:
		return take_size(body, byte);
	case BODY_EXTENSION:
		return take_line(body, byte, BODY_EXTENSION, BODY_SIZE_LF);
	case BODY_SIZE_LF:
		return take_lf(body, byte, body->left > 0 ? BODY_DATA : BODY_TRAILER);
	case BODY_TRAILER:
		return take_line(body, byte, BODY_TRAILER_LINE, BODY_LAST_LF);
	case BODY_TRAILER_LINE:
		return take_line(body, byte, BODY_TRAILER_LINE, BODY_TRAILER_LF);
	case BODY_TRAILER_LF:
		return take_lf(body, byte, BODY_TRAILER);
	case BODY_LAST_LF:
		return take_lf(body, byte, BODY_DONE);
	default:
		return body->state;
	}
}

static size_t take_data(struct body *body, const char *bytes, size_t size, struct slice *ret)
{
	const size_t taken = body->left < size ? (size_t)body->left : size;

	*ret = (struct slice){ bytes, taken };
	if (body->framing == HEAD_UNTIL_CLOSE)
		return taken;
	body->left -= taken;
	if (body->left == 0)
		body->state = body->framing == HEAD_CHUNKED ? BODY_DATA_CR : BODY_DONE;
	return taken;
}

size_t body_take(struct body *body, const char *bytes, size_t size, struct slice *ret)
{
	size_t at = 0;

	*ret = (struct slice){ bytes, 0 };
	while (at < size && body->state < BODY_DONE) {
		if (body->state == BODY_DATA)
			return at + take_data(body, bytes + at, size - at, ret);
		body->state = take_byte(body, bytes[at++]);
	}
	return at;
}

bool body_end(struct body *body)
{
	if (body->framing == HEAD_UNTIL_CLOSE && body->state == BODY_DATA)
		body->state = BODY_DONE;
	return body->state == BODY_DONE;
}
