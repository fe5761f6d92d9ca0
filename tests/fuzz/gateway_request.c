/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of a request and the body behind it, as a workload sends them. Properties: a head that
 * is passed on is read as the same request when it comes again, with one Host, which is the
 * target's; it has no placeholder and no line that ends otherwise; the body's data are the same in
 * one piece and byte by byte.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/http/body.h"
#include "gateway/http/message.h"
#include "property.h"
#include "rig.h"

#define PREFIX "msp-secret-"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct rig rig;
static struct head head, again;

static bool is_same(struct slice a, struct slice b)
{
	return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

static void must_come_again(const struct target *target, const struct buffer *written)
{
	enum head_fault fault = HEAD_SOUND;
	size_t at = 0;

	must(head_find_end(written->bytes, written->size, &at, &fault) == written->size);
	/* Written are up to two fields more than a head may have that is read. */
	fault = head_read_request(written->bytes, written->size, &again);
	if (fault == HEAD_FIELDS && head.field_count + 2 > HEAD_FIELDS_MAX)
		return;
	must(fault == HEAD_SOUND);
	must(is_same(head.method, again.method) && is_same(head.target, again.target));
	must(head.framing == again.framing && head.length == again.length);
	must(head.is_last == again.is_last);
	must(target_is_named(target, again.host.bytes, again.host.size));
	must(memmem(written->bytes, written->size, PREFIX "TOKEN", strlen(PREFIX "TOKEN")) == NULL);
}

static void check_target(const struct target *target)
{
	struct buffer written = { .bytes = NULL };
	struct refusal refusal = { .text = "" };

	if (message_write_request(target, &head, &written, &refusal))
		must_come_again(target, &written);
	else
		must(written.size == 0 && refusal.status >= 400 && strlen(refusal.text) > 10);
	buffer_done(&written);
}

/* Take a body in pieces; how many bytes it has. */
static size_t take_body(struct body *body, const char *bytes, size_t size, size_t piece,
			struct buffer *ret)
{
	size_t at = 0, taken = 1;

	body_begin(body, &head);
	while (at < size && taken > 0) {
		struct slice some;

		taken = body_take(body, bytes + at, size - at < piece ? size - at : piece, &some);
		must(taken <= piece && some.size <= taken);
		buffer_append(ret, some.bytes, some.size);
		at += taken;
	}
	must(body->state >= BODY_DONE || at == size);
	return at;
}

static void check_body(const char *bytes, size_t size)
{
	struct buffer whole = { .bytes = NULL }, pieces = { .bytes = NULL };
	struct body one, many;

	must(take_body(&one, bytes, size, SIZE_MAX, &whole) ==
	     take_body(&many, bytes, size, 1, &pieces));
	must(one.state == many.state && one.left == many.left && whole.size == pieces.size);
	must(whole.size == 0 || memcmp(whole.bytes, pieces.bytes, whole.size) == 0);
	must(head.framing != HEAD_LENGTH || whole.size <= head.length);
	buffer_done(&whole);
	buffer_done(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool is_made;
	char *bytes = property_copy(data, size);
	enum head_fault fault = HEAD_SOUND;
	size_t at = 0, end;

	if (!is_made)
		rig_make(&rig);
	is_made = true;
	end = head_find_end(bytes, size, &at, &fault);
	must(end <= size && (end == 0 || fault == HEAD_SOUND));
	if (end > 0 && head_read_request(bytes, end, &head) == HEAD_SOUND) {
		check_target(&rig.api);
		check_target(&rig.open);
		check_target(&rig.plain);
		check_body(bytes + end, size - end);
	}
	free(bytes);
	return 0;
}
