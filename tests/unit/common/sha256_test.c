/* SPDX-License-Identifier: Apache-2.0 */
#include "common/sha256.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *digest(const void *data, size_t size)
{
	static char text[2 * SHA256_BYTES + 1];
	uint8_t bytes[SHA256_BYTES];

	sha256(data, size, bytes);
	for (size_t i = 0; i < SHA256_BYTES; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return text;
}

static const char *digest_of(const char *text)
{
	return digest(text, strlen(text));
}

/* The examples that come with FIPS 180-2 and 180-4, and of the NIST's CAVP (SHA256ShortMsg). */
Test(sha256, published_examples)
{
	cr_expect_str_eq(digest_of(""),
			 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	cr_expect_str_eq(digest_of("abc"),
			 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	cr_expect_str_eq(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
			 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	cr_expect_str_eq(
		digest_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
			  "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
		"cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
	cr_expect_str_eq(digest("\xd3", 1),
			 "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1");
}

Test(sha256, a_million)
{
	const size_t size = 1000000;
	char *text = malloc(size);

	cr_assert(text);
	memset(text, 'a', size);
	cr_expect_str_eq(digest(text, size),
			 "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(text);
}

/* Around the sizes where the padding takes one more block, zeros only. */
Test(sha256, at_the_edges_of_blocks)
{
	static const uint8_t zeros[128];
	static const struct {
		size_t size;
		const char *digest;
	} rows[] = {
		{ 1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d" },
		{ 47, "140eda45fe001c0fe47edd7fc509ff1882d46fbcb7c7437d893c1fb83012e433" },
		{ 55, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7" },
		{ 56, "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb" },
		{ 57, "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785" },
		{ 63, "c7723fa1e0127975e49e62e753db53924c1bd84b8ac1ac08df78d09270f3d971" },
		{ 64, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b" },
		{ 65, "98ce42deef51d40269d542f5314bef2c7468d401ad5d85168bfab4c0108f75f7" },
		{ 119, "f616b0d54e78571a9611f343c9f8e022e859e920381ab0e4d3da01e193a7bd7e" },
		{ 120, "6edd9f6f9cc92cded36e6c4a580933f9c9f1b90562b46903b806f21902a1a54f" },
		{ 127, "15dae5979058bfbf4f9166029b6e340ea3ca374fef578a11dc9e6e923860d7ae" },
		{ 128, "38723a2e5e8a17aa7950dc008209944e898f69a7bd10a23c839d341e935fd5ca" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_str_eq(digest(zeros, rows[i].size), rows[i].digest, "%zu", rows[i].size);
}
