/* SPDX-License-Identifier: Apache-2.0
 *
 * The form in which an image is kept: one small file, its layers' digests and the words of its
 * configuration that a sandbox takes over. msp-image writes it, and everybody checks it on reading.
 */
#ifndef IMAGE_MANIFEST_H
#define IMAGE_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A SHA-256 in hexadecimal digits, with a NUL. */
#define IMAGE_DIGEST_MAX 65

/* In front of a digest, where persons and other programs see it. */
#define IMAGE_DIGEST_PREFIX "sha256:"

/* One below LAYERS_MAX of an overlay: the uppermost is the sandbox's. */
#define IMAGE_LAYERS_MAX 127
#define IMAGE_WORDS_MAX 256U
#define IMAGE_TEXTS_MAX 65536U

enum image_digest_kind {
	IMAGE_DIGEST_CONFIG = 0, /* of the configuration: a docker-archive has no more */
	IMAGE_DIGEST_MANIFEST,   /* of the manifest, as a registry names the image */
	IMAGE_DIGEST_COMMIT,     /* of this file without figures: msp made the image */
	IMAGE_DIGEST_KIND_COUNT
};

struct image_layer {
	char diff_id[IMAGE_DIGEST_MAX]; /* of its uncompressed archive */
	uint64_t bytes;                 /* on disk: files in whole blocks, and directories */
	uint64_t entries;
};

struct image_words {
	uint32_t count;
	const char *list[IMAGE_WORDS_MAX];
};

/* The texts are in `texts`, so a copy of the struct still refers to the original. */
struct image {
	char digest[IMAGE_DIGEST_MAX]; /* the file's name, not in it */
	uint32_t digest_kind;          /* enum image_digest_kind */
	uint32_t layer_count;
	struct image_layer layers[IMAGE_LAYERS_MAX]; /* the lowest first; each is there once */
	const char *cwd;                             /* absolute */
	struct image_words environment;              /* NAME=VALUE */
	struct image_words entrypoint;
	struct image_words command;
	uint32_t texts_size;
	char texts[IMAGE_TEXTS_MAX];
};

/* The longest file. */
#define IMAGE_MANIFEST_MAX (IMAGE_TEXTS_MAX + 64U + IMAGE_LAYERS_MAX * 48U)

/* Keep a text in the image. NULL: there is no room for it. */
const char *image_add_text(struct image *image, const char *text, size_t size);

/* Add a text to one of the image's lists. False: there is no room for it. */
bool image_add_word(struct image *image, struct image_words *words, const char *text, size_t size);

/* Return the rule that the image breaks, as a phrase ("the working directory must be absolute"), or
 * NULL: it can be kept. */
const char *image_fault(const struct image *image);

/* Write the file of an image without a fault; return its size. */
size_t image_manifest_write(const struct image *image, uint8_t ret[IMAGE_MANIFEST_MAX]);

/* Write it without the figures of layers, which depend on what was there: two images are the same
 * if these bytes are. */
size_t image_manifest_write_bare(const struct image *image, uint8_t ret[IMAGE_MANIFEST_MAX]);

/* Write the digest of IMAGE_DIGEST_COMMIT. */
void image_manifest_digest(const struct image *image, char ret[IMAGE_DIGEST_MAX]);

/* Read a file into `ret`, but for its digest. False: it is not the file of an image without fault.
 */
bool image_manifest_read(const uint8_t *bytes, size_t size, struct image *ret);

/* Is it 64 digits, 0 to 9 and a to f, and no more? */
bool image_digest_is_good(const char *digest);

#endif
