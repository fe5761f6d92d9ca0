/* SPDX-License-Identifier: Apache-2.0
 *
 * Property: what base_parse() takes lies within the input, is marked as it is, and is the only
 * reading of these bytes. The check is put right first, so that the fuzzer need not guess a hash;
 * then the records are read from a file as a job reads them, with whatever stands in its head.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/sha256.h"
#include "layers/base/base_file.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/msp-fuzz-base-XXXXXX";
static int layer = -1;

static void put_check(uint8_t *bytes, size_t size)
{
	struct base_record record;
	uint8_t hash[SHA256_BYTES];
	struct sha256 state;

	memcpy(&record, bytes, sizeof(record));
	if (record.path_size > size - sizeof(record))
		return;
	record.check = 0;
	sha256_begin(&state);
	sha256_add(&state, &record, sizeof(record));
	sha256_add(&state, bytes + sizeof(record), record.path_size);
	sha256_end(&state, hash);
	memcpy(bytes + offsetof(struct base_record, check), hash, sizeof(record.check));
}

/* Put right as many as follow one another. Returns how many bytes are records. */
static size_t walk(uint8_t *bytes, size_t size)
{
	size_t at = 0;

	while (size - at >= sizeof(struct base_record)) {
		struct base_record record;
		const char *path;
		long used;

		put_check(bytes + at, size - at);
		used = base_parse(bytes + at, size - at, &record, &path);
		if (used < 0)
			break;
		must(used > 0 && (size_t)used <= size - at && (uint32_t)used == record.size);
		must(record.kind > 0 && record.kind < BASE_KIND_COUNT);
		must(record.path_size > 0 && record.path_size < IPC_PATH_MAX);
		must(path == (const char *)bytes + at + sizeof(record));
		must(memchr(path, 0, record.path_size) == NULL);
		for (size_t i = sizeof(record) + record.path_size; i < (size_t)used; i++)
			must(bytes[at + i] == 0);
		at += (size_t)used;
	}
	return at;
}

/* Each path that stands in a file of these records is found in the table of it. */
static void read_table(const uint8_t *bytes, size_t records, size_t size)
{
	struct job_directories directories = { .host = -1, .layers = { layer }, .layer_count = 1 };
	const struct base_head head = { BASE_MAGIC, sizeof(struct base_record), records };
	int file = openat(layer, BASE_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct base_table table;

	must(file >= 0 && fd_write_all(file, &head, sizeof(head)) == 0 &&
	     fd_write_all(file, bytes, size) == 0);
	fd_close(&file);
	must(base_table_read(&table, &directories) == 0);
	for (size_t at = 0; at < records;) {
		struct base_record record, found;
		const char *path;

		at += (size_t)base_parse(bytes + at, records - at, &record, &path);
		must(base_table_find(&table, path, record.path_size, &found));
	}
	base_table_free(&table);
}

static void remove_folder(void)
{
	(void)unlinkat(layer, BASE_NAME, 0); /* there may be none */
	(void)rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1);
	size_t records;

	if (layer < 0) {
		must(mkdtemp(folder) != NULL && atexit(remove_folder) == 0);
		layer = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		must(layer >= 0);
	}
	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	records = walk(bytes, size);
	read_table(bytes, records, size);
	free(bytes);
	return 0;
}
