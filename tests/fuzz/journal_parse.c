/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of the journal's reader: what it accepts has only paths that stay beneath, in an order
 * in which the way back works, and is written again to the same bytes. Each input is tried as it
 * is, and as the body of a journal whose head and hash are right, so that the fuzzer need not guess
 * them.
 */
#include <stdlib.h>
#include <string.h>

#include "layers/base/journal.h"
#include "property.h"

#define HEAD_BYTES 32U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(const char *path)
{
	must(path[0] != '\0' && path[0] != '/' && strlen(path) < IPC_PATH_MAX);
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += part[0] == '/';
		must(part[0] != '/' && part[0] != '\0');
		must(strncmp(part, "../", 3) != 0 && strcmp(part, "..") != 0);
		must(strncmp(part, "./", 2) != 0 && strcmp(part, ".") != 0);
	}
}

static void check_side(const struct journal_side *side)
{
	const uint32_t type = side->mode & (uint32_t)S_IFMT;

	must((side->mode & 07000U) == 0);
	must(side->mode == 0 || type == S_IFREG || type == S_IFDIR || type == S_IFLNK ||
	     type == S_IFIFO || type == S_IFSOCK);
}

static void try_bytes(const uint8_t *bytes, size_t size)
{
	struct journal journal;
	uint8_t *again = NULL;
	size_t again_size = 0;

	if (journal_parse(bytes, size, &journal) != 0)
		return;
	for (size_t i = 0; i < journal.count; i++) {
		check_path(journal.entries[i].path);
		check_side(&journal.entries[i].from);
		check_side(&journal.entries[i].to);
	}
	journal_sort(&journal);
	must(journal_format(&journal, &again, &again_size) == 0);
	must(again_size == size && memcmp(again, bytes, size) == 0);
	free(again);
	journal_free(&journal);
}

/* The number of records is the input's first byte, as a number of 32 bits in the head. */
static void try_body(const uint8_t *data, size_t size)
{
	const struct journal empty = { .kind = JOURNAL_APPLY };
	uint8_t *bytes = NULL;
	uint8_t *whole;
	size_t head_size;

	if (size == 0)
		return;
	must(journal_format(&empty, &bytes, &head_size) == 0);
	whole = malloc(HEAD_BYTES + size - 1 + SHA256_BYTES);
	if (whole) {
		memcpy(whole, bytes, HEAD_BYTES);
		whole[12] = data[0];
		memcpy(whole + HEAD_BYTES, data + 1, size - 1);
		sha256(whole, HEAD_BYTES + size - 1, whole + HEAD_BYTES + size - 1);
		try_bytes(whole, HEAD_BYTES + size - 1 + SHA256_BYTES);
	}
	free(whole);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = property_copy(data, size);

	try_bytes(bytes, size);
	try_body(bytes, size);
	free(bytes);
	return 0;
}
