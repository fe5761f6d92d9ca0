/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/base64.h"

#include <criterion/criterion.h>
#include <string.h>

static struct buffer out;

static void expect(const void *bytes, size_t size)
{
	cr_assert_eq(out.size, size, "%zu", out.size);
	if (size > 0)
		cr_assert_eq(memcmp(out.bytes, bytes, size), 0, "%.*s", (int)out.size, out.bytes);
	buffer_done(&out);
}

static void expect_encoded(const char *bytes, size_t size, const char *text, const char *url)
{
	base64_append(&out, bytes, size);
	expect(text, strlen(text));
	base64_append_url(&out, bytes, size);
	expect(url, strlen(url));
	cr_assert(base64_decode(&out, text, strlen(text)));
	expect(bytes, size);
	cr_assert(base64_decode_url(&out, url, strlen(url)));
	expect(bytes, size);
}

Test(base64, texts_of_rfc_4648)
{
	expect_encoded("", 0, "", "");
	expect_encoded("f", 1, "Zg==", "Zg");
	expect_encoded("fo", 2, "Zm8=", "Zm8");
	expect_encoded("foo", 3, "Zm9v", "Zm9v");
	expect_encoded("foob", 4, "Zm9vYg==", "Zm9vYg");
	expect_encoded("fooba", 5, "Zm9vYmE=", "Zm9vYmE");
	expect_encoded("foobar", 6, "Zm9vYmFy", "Zm9vYmFy");
}

Test(base64, digits_of_both_alphabets)
{
	expect_encoded("\0\xff\xfe", 3, "AP/+", "AP_-");
}

Test(base64, all_bytes_come_back)
{
	char bytes[256];
	struct buffer text = { 0 };

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 37);
	for (size_t size = 0; size <= sizeof(bytes); size++) {
		base64_append(&text, bytes, size);
		cr_assert(base64_decode(&out, text.bytes, text.size));
		expect(bytes, size);
		buffer_done(&text);
		base64_append_url(&text, bytes, size);
		cr_assert(base64_decode_url(&out, text.bytes, text.size));
		expect(bytes, size);
		buffer_done(&text);
	}
}

Test(base64, spaces_are_skipped)
{
	static const char text[] = " Zm9v\r\nYm \tE=\n";

	cr_assert(base64_decode(&out, text, strlen(text)));
	expect("fooba", 5);
	cr_expect_not(base64_decode_url(&out, "Zm 9v", 5));
}

static void expect_refused(const char *text, size_t size)
{
	buffer_append_text(&out, "before");
	cr_expect_not(base64_decode(&out, text, size), "%s", text);
	expect("before", 6);
}

Test(base64, wrong_texts_are_refused)
{
	static const char *const wrong[] = {
		"Z",    "Zg",       "Zg=",     "Zg===", "====",     "=",
		"Z===", "Zm9vYg",   "Zm9vYmE", "Zm=v",  "Zg==Zg==", "Zm9!",
		"AP_-", "Zm9v====", "Zh==",    "Zm9=",  "Zm9vZ===", "\xc3\xa9=="
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		expect_refused(wrong[i], strlen(wrong[i]));
	expect_refused("Zm9\0", 4);
}

Test(base64, wrong_url_texts_are_refused)
{
	static const char *const wrong[] = { "Z", "Zg==", "Zm9vZ", "AP/+", "Zh", "Zm9", "Zm 8" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_expect_not(base64_decode_url(&out, wrong[i], strlen(wrong[i])), "%s", wrong[i]);
	expect("", 0);
}
