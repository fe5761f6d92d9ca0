/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer of a host that knows a workload's secrets. Properties: what is passed on has no value,
 * in head or body, plain or in base64, whatever pieces it comes in; the head is read as the same
 * answer when it comes again; the body keeps its length, and without a secret its bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/http/body.h"
#include "gateway/http/message.h"
#include "property.h"
#include "rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct head head, again;
static struct redact redact;

static bool has(const struct buffer *buffer, const char *text, size_t size)
{
	return buffer->size > 0 && memmem(buffer->bytes, buffer->size, text, size) != NULL;
}

/* Blank the placeholders: their letters may end what a host has begun. */
static void blank_placeholder(struct buffer *buffer, const struct needle *needle)
{
	/* It is cut to a value's length, which has eight bytes at least. */
	const struct slice text = { needle->placeholder.bytes, 8 };
	char *at = buffer->size > 0 ? memmem(buffer->bytes, buffer->size, text.bytes, text.size)
				    : NULL;

	for (; at != NULL; at = memmem(buffer->bytes, buffer->size, text.bytes, text.size))
		memset(at, '\0', text.size);
}

static void must_have_no_value(const struct buffer *buffer)
{
	struct buffer copy = { .bytes = NULL };
	const struct needles *needles = secrets_needles();

	buffer_append(&copy, buffer->bytes, buffer->size);
	for (uint32_t i = 0; i < needles->count; i++)
		blank_placeholder(&copy, &needles->rows[i]);
	for (uint32_t i = 0; i < needles->count; i++)
		must(!has(&copy, needles->rows[i].text.bytes, needles->rows[i].text.size));
	buffer_done(&copy);
}

static void check_head(const char *bytes, size_t size, bool is_of_head)
{
	struct buffer written = { .bytes = NULL };
	enum head_fault fault = HEAD_SOUND;
	size_t at = 0;

	if (head_read_answer(bytes, size, is_of_head, &head) != HEAD_SOUND)
		return;
	redact_begin(&redact);
	message_write_answer(&head, &redact, &written);
	must_have_no_value(&written);
	must(head_find_end(written.bytes, written.size, &at, &fault) == written.size);
	must(head_read_answer(written.bytes, written.size, is_of_head, &again) == HEAD_SOUND);
	must(again.status == head.status && again.is_last == head.is_last);
	must((again.framing == HEAD_NO_BODY) == (head.framing == HEAD_NO_BODY));
	buffer_done(&written);
}

/* Redact bytes in pieces; the end of each is said by the bytes themselves. */
static void redact_pieces(const char *bytes, size_t size, size_t most, struct buffer *ret)
{
	redact_begin(&redact);
	for (size_t at = 0; at < size;) {
		const size_t wanted = 1 + (unsigned char)bytes[at] % most;
		const size_t piece = size - at < wanted ? size - at : wanted;

		redact_take(&redact, (struct slice){ bytes + at, piece }, ret);
		at += piece;
	}
	redact_end(&redact, ret);
	must(redact.size == 0);
}

static void check_body(const char *bytes, size_t size)
{
	struct buffer raw = { .bytes = NULL }, whole = { .bytes = NULL };
	struct buffer pieces = { .bytes = NULL };
	const struct needles *needles = secrets_needles();
	bool has_value = false;

	buffer_append(&raw, bytes, size);
	for (uint32_t i = 0; i < needles->count; i++)
		has_value |= has(&raw, needles->rows[i].text.bytes, needles->rows[i].text.size);
	redact_pieces(bytes, size, SIZE_MAX, &whole);
	redact_pieces(bytes, size, 9, &pieces);
	must(whole.size == size && pieces.size == size);
	must(size == 0 || memcmp(whole.bytes, pieces.bytes, whole.size) == 0);
	must_have_no_value(&whole);
	must(has_value || size == 0 || memcmp(whole.bytes, bytes, size) == 0);
	buffer_done(&raw);
	buffer_done(&whole);
	buffer_done(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rig rig;
	static bool is_made;
	char *bytes = property_copy(data, size);
	enum head_fault fault = HEAD_SOUND;
	size_t at = 0, end;

	if (!is_made)
		rig_make(&rig);
	is_made = true;
	end = head_find_end(bytes, size, &at, &fault);
	if (end > 0) {
		check_head(bytes, end, false);
		check_head(bytes, end, true);
	}
	check_body(bytes, size);
	free(bytes);
	return 0;
}
