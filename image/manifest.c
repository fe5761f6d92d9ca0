/* SPDX-License-Identifier: Apache-2.0 */
#include "image/manifest.h"

#include <limits.h>
#include <string.h>

#include "common/sha256.h"

#define VERSION 1U

/* At the start of the file; numbers as the processor has them. Behind it the layers, then the texts
 * with a NUL after each: the working directory, environment, entrypoint, command. */
struct header {
	char magic[8];
	uint32_t version;
	uint32_t digest_kind;
	uint32_t layer_count;
	uint32_t environment_count;
	uint32_t entrypoint_count;
	uint32_t command_count;
	uint32_t texts_size;
	uint32_t reserved; /* 0 */
};

struct kept_layer {
	uint8_t diff_id[32];
	uint64_t bytes;
	uint64_t entries;
};

static const char magic[8] = { 'm', 's', 'p', 'i', 'm', 'a', 'g', 'e' };
static const char digits[] = "0123456789abcdef";

_Static_assert(sizeof(struct header) + IMAGE_LAYERS_MAX * sizeof(struct kept_layer) +
			       IMAGE_TEXTS_MAX <=
		       IMAGE_MANIFEST_MAX,
	       "the longest file");

bool image_digest_is_good(const char *digest)
{
	return strspn(digest, digits) == IMAGE_DIGEST_MAX - 1 &&
	       digest[IMAGE_DIGEST_MAX - 1] == '\0';
}

static uint8_t digit_value(char digit)
{
	return (uint8_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

static void pack_digest(const char *digest, uint8_t ret[32])
{
	for (size_t i = 0; i < 32; i++)
		ret[i] =
			(uint8_t)(digit_value(digest[2 * i]) << 4 | digit_value(digest[2 * i + 1]));
}

const char *image_add_text(struct image *image, const char *text, size_t size)
{
	char *kept = image->texts + image->texts_size;

	if (size >= IMAGE_TEXTS_MAX - image->texts_size || memchr(text, '\0', size))
		return NULL;
	memcpy(kept, text, size);
	kept[size] = '\0';
	image->texts_size += (uint32_t)size + 1;
	return kept;
}

bool image_add_word(struct image *image, struct image_words *words, const char *text, size_t size)
{
	const char *kept =
		words->count < IMAGE_WORDS_MAX ? image_add_text(image, text, size) : NULL;

	if (!kept)
		return false;
	words->list[words->count++] = kept;
	return true;
}

static const char *find_layer_fault(const struct image *image)
{
	if (image->layer_count == 0 || image->layer_count > IMAGE_LAYERS_MAX)
		return "an image must have 1 to 127 layers";
	for (uint32_t i = 0; i < image->layer_count; i++) {
		if (!image_digest_is_good(image->layers[i].diff_id))
			return "the digest of a layer must have 64 hexadecimal digits";
		for (uint32_t j = 0; j < i; j++) {
			if (strcmp(image->layers[i].diff_id, image->layers[j].diff_id) == 0)
				return "no layer may be there twice";
		}
	}
	return NULL;
}

const char *image_fault(const struct image *image)
{
	for (uint32_t i = 0; i < image->environment.count; i++) {
		const char *equals = strchr(image->environment.list[i], '=');

		if (!equals || equals == image->environment.list[i])
			return "each entry of the environment must be NAME=VALUE";
	}
	if (image->cwd[0] != '/' || strlen(image->cwd) >= PATH_MAX)
		return "the working directory must be an absolute path of at most 4,095 bytes";
	if (image->digest_kind >= IMAGE_DIGEST_KIND_COUNT)
		return "the kind of its digest must be known";
	return find_layer_fault(image);
}

static uint8_t *put_text(uint8_t *at, const char *text)
{
	const size_t size = strlen(text) + 1;

	memcpy(at, text, size);
	return at + size;
}

static uint8_t *put_words(uint8_t *at, const struct image_words *words)
{
	for (uint32_t i = 0; i < words->count; i++)
		at = put_text(at, words->list[i]);
	return at;
}

size_t image_manifest_write(const struct image *image, uint8_t ret[IMAGE_MANIFEST_MAX])
{
	struct header header = { .version = VERSION,
				 .digest_kind = image->digest_kind,
				 .layer_count = image->layer_count,
				 .environment_count = image->environment.count,
				 .entrypoint_count = image->entrypoint.count,
				 .command_count = image->command.count };
	uint8_t *at = ret + sizeof(header);
	const uint8_t *texts;

	memcpy(header.magic, magic, sizeof(magic));
	for (uint32_t i = 0; i < image->layer_count; i++) {
		struct kept_layer layer = { .bytes = image->layers[i].bytes,
					    .entries = image->layers[i].entries };

		pack_digest(image->layers[i].diff_id, layer.diff_id);
		memcpy(at, &layer, sizeof(layer));
		at += sizeof(layer);
	}
	texts = at;
	at = put_text(at, image->cwd);
	at = put_words(at, &image->environment);
	at = put_words(at, &image->entrypoint);
	at = put_words(at, &image->command);
	header.texts_size = (uint32_t)(at - texts);
	memcpy(ret, &header, sizeof(header));
	return (size_t)(at - ret);
}

size_t image_manifest_write_bare(const struct image *image, uint8_t ret[IMAGE_MANIFEST_MAX])
{
	static struct image bare;

	bare = *image;
	for (uint32_t i = 0; i < bare.layer_count; i++)
		bare.layers[i].bytes = bare.layers[i].entries = 0;
	return image_manifest_write(&bare, ret);
}

void image_manifest_digest(const struct image *image, char ret[IMAGE_DIGEST_MAX])
{
	static uint8_t bytes[IMAGE_MANIFEST_MAX];
	uint8_t hash[SHA256_BYTES];

	sha256(bytes, image_manifest_write_bare(image, bytes), hash);
	sha256_text(hash, ret);
}

static void read_layers(const uint8_t *bytes, struct image *ret)
{
	for (uint32_t i = 0; i < ret->layer_count; i++) {
		struct kept_layer layer;

		memcpy(&layer, bytes + i * sizeof(layer), sizeof(layer));
		sha256_text(layer.diff_id, ret->layers[i].diff_id);
		ret->layers[i].bytes = layer.bytes;
		ret->layers[i].entries = layer.entries;
	}
}

/* Return the place behind the text at `at`, or NULL: there is none. */
static const char *skip_text(const struct image *image, const char *at)
{
	const char *end = image->texts + image->texts_size;

	return at < end ? at + strlen(at) + 1 : NULL;
}

/* Take the next `count` texts as words. Return the place behind them, or NULL. */
static const char *take_words(struct image *image, struct image_words *words, uint32_t count,
			      const char *at)
{
	for (uint32_t i = 0; i < count && at; i++) {
		const char *next = skip_text(image, at);

		if (next)
			words->list[words->count++] = at;
		at = next;
	}
	return at;
}

bool image_manifest_read(const uint8_t *bytes, size_t size, struct image *ret)
{
	struct header header;
	const char *at;

	if (size < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	if (memcmp(header.magic, magic, sizeof(magic)) != 0 || header.version != VERSION ||
	    header.reserved != 0 || header.layer_count > IMAGE_LAYERS_MAX ||
	    header.environment_count > IMAGE_WORDS_MAX ||
	    header.entrypoint_count > IMAGE_WORDS_MAX || header.command_count > IMAGE_WORDS_MAX ||
	    header.texts_size == 0 || header.texts_size > IMAGE_TEXTS_MAX ||
	    size != sizeof(header) + header.layer_count * sizeof(struct kept_layer) +
			    header.texts_size ||
	    bytes[size - 1] != '\0')
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->digest_kind = header.digest_kind;
	ret->layer_count = header.layer_count;
	ret->texts_size = header.texts_size;
	ret->cwd = ret->texts;
	read_layers(bytes + sizeof(header), ret);
	memcpy(ret->texts, bytes + size - header.texts_size, header.texts_size);
	at = skip_text(ret, ret->texts);
	at = take_words(ret, &ret->environment, header.environment_count, at);
	at = take_words(ret, &ret->entrypoint, header.entrypoint_count, at);
	at = take_words(ret, &ret->command, header.command_count, at);
	return at == ret->texts + ret->texts_size && !image_fault(ret);
}
