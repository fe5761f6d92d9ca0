/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of unpacking a layer: whatever entries it has, in whatever order, nothing beside its
 * directory changes, nothing in it is obeyed by a kernel or overlayfs but whiteouts, and it can be
 * removed. The input's parts are the entries of an archive; the digests of it are right. If the
 * input begins with 'T', the rest is the archive as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "image/digest.h"
#include "image_archive.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Types of entries: those of ustar, and headers of pax and GNU. */
static const char types[] = "0123456xgLKS";

static void make_layer(struct input *input, struct buffer *ret)
{
	while (input->size > 0) {
		const uint8_t kind = input_byte(input);
		const unsigned int mode = (unsigned int)input_byte(input) << 4 | 0444U;
		struct archive_member member = { .type = types[kind % (sizeof(types) - 1)],
						 .mode = mode,
						 .device = kind & 16 ? 0 : 0x103 };
		const uint8_t *content;
		size_t content_size;

		member.name = (const char *)input_part(input, &member.name_size);
		member.link = (const char *)input_part(input, &member.link_size);
		content = input_part(input, &content_size);
		archive_add(ret, &member, content, content_size);
	}
	archive_end(ret);
}

/* Put a docker-archive around a layer. */
static void make_image(const struct buffer *layer, struct buffer *ret)
{
	static const char manifest[] =
		"[{\"Config\":\"config.json\",\"RepoTags\":[],\"Layers\":[\"layer.tar\"]}]";
	struct buffer config = { 0 };
	char digest[IMAGE_DIGEST_MAX];

	digest_of(layer->bytes, layer->size, digest);
	buffer_format(&config,
		      "{\"os\":\"linux\",\"architecture\":\"amd64\",\"rootfs\":{\"diff_ids\":"
		      "[\"sha256:%s\"]}}",
		      digest);
	archive_add_file(ret, "manifest.json", manifest, strlen(manifest));
	archive_add_file(ret, "config.json", config.bytes, config.size);
	archive_add_file(ret, "layer.tar", layer->bytes, layer->size);
	archive_end(ret);
	buffer_done(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	struct buffer layer = { 0 }, image = { 0 };

	if (size > 0 && data[0] == 'T')
		buffer_append(&layer, data + 1, size - 1);
	else
		make_layer(&input, &layer);
	if (layer.size > 0) {
		make_image(&layer, &image);
		(void)archive_import(&image);
	}
	buffer_done(&layer);
	buffer_done(&image);
	return 0;
}
