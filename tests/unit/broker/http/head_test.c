/* SPDX-License-Identifier: Apache-2.0
 *
 * The strict form of a request, without a server; tests/integration/http_framing.py has the table
 * of what is refused.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "http/head.h"

#define POST "POST /mcp HTTP/1.1\r\n"

static struct head head;
static char text[40000];

/* NULL: it is right. */
static const char *read_head(const char *from)
{
	const struct fault *fault;

	memcpy(text, from, strlen(from));
	fault = head_read(text, strlen(from), &head);
	return fault ? fault->status : NULL;
}

static void expect_fault(const char *from, const char *status)
{
	const char *found = read_head(from);

	cr_assert(found && strncmp(found, status, 3) == 0, "%s: %s", from, found ? found : "taken");
}

Test(http_head, what_is_right)
{
	cr_assert_null(read_head(POST "Content-Length: 12\r\nAuthorization:  Bearer x  \r\n\r\n"));
	cr_assert_eq(head.length, 12);
	cr_assert_not(head.is_chunked);
	cr_assert_str_eq(head.authorization, "Bearer x");
	cr_assert_str_eq(head.target, "/mcp");
	cr_assert_null(read_head(POST "transfer-ENCODING:CHUNKED\r\nX: a\tb\r\n\r\n"));
	cr_assert(head.is_chunked);
	cr_assert_null(head.authorization);
	cr_assert_null(read_head("GET http://localhost/mcp HTTP/1.0\r\n\r\n"));
	cr_assert_eq(head.length, 0);
	cr_assert_null(read_head(POST "Content-Length: 0\r\nExpect: 100-Continue\r\n\r\n"));
	cr_assert_null(read_head("DELETE /mcp HTTP/1.1\r\nContent-Length: 000\r\n\r\n"));
}

Test(http_head, lengths)
{
	cr_assert_null(read_head(POST "Content-Length: 999999999999999999\r\n\r\n"));
	cr_assert_eq(head.length, 999999999999999999);
	cr_assert_null(read_head(POST "Content-Length: 1000000000000000000\r\n\r\n"));
	cr_assert_eq(head.length, SIZE_MAX);
	expect_fault(POST "Content-Length: \r\n\r\n", "400");
	expect_fault(POST "Content-Length: 1,1\r\n\r\n", "400");
	expect_fault(POST "\r\n", "411");
	expect_fault(POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "400");
	expect_fault("PUT /mcp HTTP/1.1\r\nContent-Length: 1\r\n\r\n", "400");
}

Test(http_head, a_beginning_is_judged_as_soon_as_it_is_certain)
{
	static const char right[] = POST "Content-Length: 1\r\n\r\n";

	for (size_t size = 1; size < sizeof(right); size++)
		cr_assert_null(head_check_start(right, size, size - 1));
	cr_assert_not_null(head_check_start("X", 1, 0));
	cr_assert_not_null(head_check_start("POST\t", 5, 4));
	cr_assert_not_null(head_check_start("POST /\n", 7, 6));
	cr_assert_not_null(head_check_start("POST /\rx", 8, 7));
	cr_assert_not_null(head_check_start("POST /\0", 7, 6));
	memset(text, 'x', sizeof(text));
	memcpy(text, "POST /", 6);
	cr_assert_null(head_check_start(text, HTTP_HEADER_BYTES_MAX, 6));
	cr_assert_not_null(head_check_start(text, HTTP_HEADER_BYTES_MAX + 1, 6));
}

Test(http_head, sizes_of_chunks)
{
	size_t size;

	cr_assert_null(head_read_chunk_size("0040aBcD", 7, &size));
	cr_assert_eq(size, 0x40abc);
	cr_assert_null(head_read_chunk_size("00000000", 8, &size));
	cr_assert_eq(size, 0);
	cr_assert_null(head_read_chunk_size("400000", 6, &size));
	cr_assert_eq(head_read_chunk_size("400001", 6, &size), &fault_too_large);
	for (size_t i = 0; i < 256; i++) {
		const char byte = (char)i;
		const bool is_digit = i && strchr("0123456789abcdefABCDEF", (int)i);

		cr_assert_eq(head_read_chunk_size(&byte, 1, &size) == NULL, is_digit, "%zu", i);
	}
	cr_assert_not_null(head_read_chunk_size("", 0, &size));
	cr_assert_not_null(head_read_chunk_size("000000001", 9, &size));
}
