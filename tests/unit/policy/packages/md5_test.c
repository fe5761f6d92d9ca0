/* SPDX-License-Identifier: Apache-2.0
 *
 * The vectors of RFC 1321, and the lengths at which the padding needs a further block.
 */
#include "policy/packages/md5.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect_hash(const char *bytes, const char *digits)
{
	char found[MD5_DIGITS + 1];

	md5_print(bytes, strlen(bytes), found);
	cr_expect_str_eq(found, digits, "of '%s'", bytes);
}

Test(md5, the_vectors_of_the_rfc)
{
	expect_hash("", "d41d8cd98f00b204e9800998ecf8427e");
	expect_hash("a", "0cc175b9c0f1b6a831c399e269772661");
	expect_hash("abc", "900150983cd24fb0d6963f7d28e17f72");
	expect_hash("message digest", "f96b697d7cb7938d525a2f31aaf161d0");
	expect_hash("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b");
	expect_hash("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
		    "d174ab98d277d9f5a5611c2c9f419d9f");
	expect_hash("1234567890123456789012345678901234567890"
		    "1234567890123456789012345678901234567890",
		    "57edf4a22be3c955ac49da2e2107b67a");
}

Test(md5, around_the_end_of_a_block)
{
	static const struct {
		size_t size;
		const char *digits;
	} rows[] = {
		{ 55, "04364420e25c512fd958a70738aa8f72" },
		{ 56, "668a72d5ba17f08e62dabcafad6db14b" },
		{ 63, "7dc2ca208106a2f703567bdff99d8981" },
		{ 64, "c1bb4f81d892b2d57947682aeb252456" },
		{ 65, "1bc932052302d074bdec39795fe00cf6" },
		{ 119, "ab347a5f68c8a443cfcddc633f12c24f" },
		{ 120, "fb98667f98096de92620b64f46e1c5b5" },
		{ 128, "d69cb61a6ee87200676eb0d4b90edbcb" },
	};
	char bytes[129], found[MD5_DIGITS + 1];

	memset(bytes, 'x', sizeof(bytes));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		md5_print(bytes, rows[i].size, found);
		cr_expect_str_eq(found, rows[i].digits, "of %zu bytes", rows[i].size);
	}
}
