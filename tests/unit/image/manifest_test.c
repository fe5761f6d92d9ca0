/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of an image: it is read as it was written, and no other bytes are one.
 */
#include "image/manifest.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct image image, again;
static uint8_t bytes[IMAGE_MANIFEST_MAX + 1];
static size_t size;

static void add_word(struct image_words *words, const char *text)
{
	cr_assert(image_add_word(&image, words, text, strlen(text)));
}

static void add_layer(uint32_t number)
{
	struct image_layer *layer = &image.layers[image.layer_count++];

	(void)snprintf(layer->diff_id, sizeof(layer->diff_id), "%064x", number + 0xabc00);
	layer->bytes = 4096 * (uint64_t)number + ((uint64_t)1 << 40);
	layer->entries = number;
}

static void make_image(void)
{
	memset(&image, 0, sizeof(image));
	image.digest_kind = IMAGE_DIGEST_MANIFEST;
	image.cwd = image_add_text(&image, "/srv", 4);
	add_word(&image.environment, "PATH=/usr/bin");
	add_word(&image.environment, "EMPTY=");
	add_word(&image.entrypoint, "/bin/sh");
	add_word(&image.command, "-c");
	add_word(&image.command, "");
	add_layer(1);
	add_layer(2);
	size = image_manifest_write(&image, bytes);
}

TestSuite(manifest, .init = make_image);

Test(manifest, read_as_written)
{
	cr_assert(image_manifest_read(bytes, size, &again));
	cr_expect_eq(again.digest_kind, IMAGE_DIGEST_MANIFEST);
	cr_expect_eq(again.layer_count, 2);
	cr_expect_str_eq(again.layers[1].diff_id, image.layers[1].diff_id);
	cr_expect_eq(again.layers[1].bytes, image.layers[1].bytes);
	cr_expect_eq(again.layers[1].entries, 2);
	cr_expect_str_eq(again.cwd, "/srv");
	cr_expect_eq(again.environment.count, 2);
	cr_expect_str_eq(again.environment.list[1], "EMPTY=");
	cr_expect_eq(again.entrypoint.count, 1);
	cr_expect_str_eq(again.entrypoint.list[0], "/bin/sh");
	cr_expect_eq(again.command.count, 2);
	cr_expect_str_eq(again.command.list[1], "");
}

Test(manifest, cut_or_longer)
{
	for (size_t cut = 0; cut < size; cut++)
		cr_expect_not(image_manifest_read(bytes, cut, &again), "%zu bytes", cut);
	cr_expect_not(image_manifest_read(bytes, size + 1, &again));
}

/* A changed byte is refused, or reads as an image that keeps to the rules. */
Test(manifest, any_byte_changed)
{
	for (size_t at = 0; at < size; at++) {
		for (uint8_t bit = 1; bit; bit = (uint8_t)(bit << 1)) {
			bytes[at] ^= bit;
			if (image_manifest_read(bytes, size, &again)) {
				cr_expect_null(image_fault(&again));
				cr_expect_eq(image_manifest_write(&again, bytes), size);
			}
			bytes[at] ^= bit;
		}
	}
	cr_expect(image_manifest_read(bytes, size, &again));
}

Test(manifest, version_and_magic)
{
	bytes[8]++;
	cr_expect_not(image_manifest_read(bytes, size, &again), "another version");
	bytes[8]--;
	bytes[0] = 'M';
	cr_expect_not(image_manifest_read(bytes, size, &again), "another kind of file");
}

Test(manifest, rules)
{
	cr_expect_null(image_fault(&image));
	image.cwd = "srv";
	cr_expect_not_null(image_fault(&image));
	image.cwd = "/";
	add_word(&image.environment, "=x");
	cr_expect_not_null(image_fault(&image));
	image.environment.count--;
	add_word(&image.environment, "NAME");
	cr_expect_not_null(image_fault(&image));
	image.environment.count--;
	cr_expect_null(image_fault(&image));
	image.layers[0] = image.layers[1];
	cr_expect_not_null(image_fault(&image), "a layer twice");
	image.layers[0].diff_id[0] = 'G';
	cr_expect_not_null(image_fault(&image));
	image.layer_count = 0;
	cr_expect_not_null(image_fault(&image));
	image.layer_count = IMAGE_LAYERS_MAX + 1;
	cr_expect_not_null(image_fault(&image));
}

Test(manifest, all_the_room)
{
	char *text = malloc(IMAGE_TEXTS_MAX);

	memset(text, 'x', IMAGE_TEXTS_MAX);
	while (image.layer_count < IMAGE_LAYERS_MAX)
		add_layer(image.layer_count + 1);
	while (image.command.count < IMAGE_WORDS_MAX)
		add_word(&image.command, "");
	cr_expect_not(image_add_word(&image, &image.command, "", 0), "one word more");
	cr_expect_null(image_add_text(&image, text, IMAGE_TEXTS_MAX - image.texts_size));
	cr_expect(image_add_word(&image, &image.entrypoint, text,
				 IMAGE_TEXTS_MAX - image.texts_size - 1));
	cr_expect_eq(image.texts_size, IMAGE_TEXTS_MAX);
	cr_expect_not(image_add_word(&image, &image.entrypoint, "", 0));
	size = image_manifest_write(&image, bytes);
	cr_expect_leq(size, IMAGE_MANIFEST_MAX);
	cr_assert(image_manifest_read(bytes, size, &again));
	cr_expect_eq(again.layer_count, IMAGE_LAYERS_MAX);
	cr_expect_eq(again.texts_size, IMAGE_TEXTS_MAX);
	free(text);
}

Test(manifest, text_with_a_nul)
{
	cr_expect_null(image_add_text(&image, "a\0b", 3));
}

Test(manifest, digests)
{
	char digest[IMAGE_DIGEST_MAX + 1];

	(void)snprintf(digest, sizeof(digest), "%064d", 0);
	cr_expect(image_digest_is_good(digest));
	digest[63] = 'A';
	cr_expect_not(image_digest_is_good(digest));
	digest[63] = '\0';
	cr_expect_not(image_digest_is_good(digest));
	(void)snprintf(digest, sizeof(digest), "%065d", 0);
	cr_expect_not(image_digest_is_good(digest));
	cr_expect_not(image_digest_is_good(""));
}
