/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of reading an image's JSON, its names and the file that it becomes. The input's parts
 * are files: manifest.json, index.json, then blobs; "~N" in one stands for the digest of the Nth
 * blob, so that the fuzzer need not guess it. The first part is also read as a file of the store,
 * as a name and as a path.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/digest.h"
#include "image/entry.h"
#include "image/manifest.h"
#include "image/name.h"
#include "image_archive.h"
#include "property.h"

#define BLOBS 4U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Append a part with the digests of the blobs in it, of which `count` are known. */
static void fill_in(const uint8_t *part, size_t size, char digests[BLOBS][IMAGE_DIGEST_MAX],
		    uint32_t count, struct buffer *ret)
{
	for (size_t i = 0; i < size; i++) {
		const uint32_t number = i + 1 < size ? (uint32_t)part[i + 1] - '0' : count;

		if (part[i] == '~' && number < count) {
			buffer_append_text(ret, digests[number]);
			i++;
		} else {
			buffer_append(ret, part + i, 1);
		}
	}
}

static void try_image(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "manifest.json", "index.json" };
	struct input input = { data, size };
	const uint8_t *parts[2];
	size_t sizes[2];
	char digests[BLOBS][IMAGE_DIGEST_MAX];
	struct buffer archive = { 0 };

	for (size_t i = 0; i < 2; i++)
		parts[i] = input_part(&input, &sizes[i]);
	for (uint32_t i = 0; i < BLOBS; i++) {
		struct buffer blob = { 0 };
		char path[128];
		size_t blob_size;
		const uint8_t *part = input_part(&input, &blob_size);

		fill_in(part, blob_size, digests, i, &blob);
		digest_of(blob.bytes ? blob.bytes : "", blob.size, digests[i]);
		(void)snprintf(path, sizeof(path), "blobs/sha256/%s", digests[i]);
		archive_add_file(&archive, path, blob.bytes ? blob.bytes : "", blob.size);
		buffer_done(&blob);
	}
	for (size_t i = 0; i < 2; i++) {
		struct buffer text = { 0 };

		fill_in(parts[i], sizes[i], digests, BLOBS, &text);
		if (text.size > 0)
			archive_add_file(&archive, names[i], text.bytes, text.size);
		buffer_done(&text);
	}
	archive_end(&archive);
	(void)archive_import(&archive);
	buffer_done(&archive);
}

/* Write an image to the bytes that it is read from. */
static void try_manifest(const uint8_t *data, size_t size)
{
	static struct image image;
	static uint8_t again[IMAGE_MANIFEST_MAX];
	uint8_t *bytes = property_copy(data, size);

	if (image_manifest_read(bytes, size, &image)) {
		must(image_fault(&image) == NULL);
		must(image_manifest_write(&image, again) == size);
		must(memcmp(again, bytes, size) == 0);
	}
	free(bytes);
}

static void try_texts(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	char name[IMAGE_NAME_MAX], file[IMAGE_NAME_MAX], spelled[IMAGE_NAME_MAX];
	static struct entry_path path;
	enum entry_kind kind;

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	if (!image_name_read(text, name)) {
		memcpy(file, name, sizeof(file));
		image_name_to_file(file);
		must(!strchr(file, '/') && strcmp(file, ".") != 0 && strcmp(file, "..") != 0);
		image_name_from_file(file);
		must(strcmp(file, name) == 0 && !image_name_read(name, spelled));
		must(strcmp(spelled, name) == 0);
	}
	if (!entry_read(text, &path, &kind) && kind != ENTRY_ROOT) {
		must(!strchr(path.name, '/') && path.name[0] != '\0' && path.directory[0] != '/');
		must(strcmp(path.name, ".") != 0 && strcmp(path.name, "..") != 0);
		must(strlen(path.name) <= NAME_MAX);
		must(strncmp(path.directory, "../", 3) != 0 && !strstr(path.directory, "/../"));
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_manifest(data, size);
	try_texts(data, size);
	try_image(data, size);
	return 0;
}
