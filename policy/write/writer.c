/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/write/writer.h"

#include "lib/heap/buffer.h"

#include <string.h>

#define ALIGNMENT 8U
#define FILE_MARK "{file}"

/* Compute the FNV-1a hash. */
static uint32_t hash_bytes(const char *bytes, size_t size)
{
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (uint8_t)bytes[i]) * 16777619U;
	return hash;
}

/* Remove the bytes from `offset` to the blob's end if the blob has an equal part at a multiple of
 * `alignment`. Return the offset of the part. */
static uint32_t share_part(struct writer *writer, uint32_t offset, uint32_t alignment)
{
	const char *bytes = writer->blob->bytes;
	const uint32_t size = (uint32_t)writer->blob->size - offset;
	const uint32_t hash = hash_bytes(bytes + offset, size);

	for (uint32_t i = 0; i < writer->part_count; i++) {
		const struct part *part = &writer->parts[i];

		if (part->hash == hash && part->size == size && part->offset % alignment == 0 &&
		    memcmp(bytes + part->offset, bytes + offset, size) == 0) {
			writer->blob->size = offset;
			return part->offset;
		}
	}
	if (writer->part_count < PARTS_MAX)
		writer->parts[writer->part_count++] = (struct part){ offset, size, hash };
	return offset;
}

uint32_t writer_put_records(struct buffer *blob, const void *data, size_t size)
{
	static const char zeros[ALIGNMENT];
	uint32_t offset;

	buffer_append(blob, zeros, (ALIGNMENT - blob->size % ALIGNMENT) % ALIGNMENT);
	offset = (uint32_t)blob->size;
	buffer_append(blob, data, size);
	return offset;
}

uint32_t writer_put_array(struct writer *writer, const void *data, size_t size)
{
	return size > 0
		       ? share_part(writer, writer_put_records(writer->blob, data, size), ALIGNMENT)
		       : 0;
}

uint32_t writer_put_text(struct writer *writer, const char *text)
{
	const uint32_t offset = (uint32_t)writer->blob->size;

	if (text == NULL)
		return 0;
	buffer_append(writer->blob, text, strlen(text) + 1);
	return share_part(writer, offset, 1);
}

uint32_t writer_end_list(struct writer *writer, uint32_t offset, uint32_t *ret_size)
{
	*ret_size = (uint32_t)writer->blob->size - offset;
	return *ret_size > 0 ? share_part(writer, offset, 1) : 0;
}

struct plan_origin writer_put_origin(struct writer *writer, const struct origin *origin)
{
	return (struct plan_origin){ writer_put_text(writer, origin->file), origin->line };
}

void writer_append_list(struct writer *writer, const struct strings *list, const char *file)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const bool is_mark = file != NULL && strcmp(list->items[i], FILE_MARK) == 0;
		const char *text = is_mark ? file : list->items[i];

		buffer_append(writer->blob, text, strlen(text) + 1);
	}
}

uint32_t writer_put_list(struct writer *writer, const struct strings *list, uint32_t *ret_size)
{
	const uint32_t offset = (uint32_t)writer->blob->size;

	writer_append_list(writer, list, NULL);
	return writer_end_list(writer, offset, ret_size);
}
