/* SPDX-License-Identifier: Apache-2.0
 *
 * Property: whatever the three versions of a file and the repository with the base are, a merge
 * ends, with an error or with the merge of exactly these versions: a repository can hide the base,
 * but not choose it. A merge with a version that did not change is the other one.
 *
 * An input is a kind (enum hostile), the host's side, a NUL, the sandbox's side, a NUL, the base, a
 * NUL, and the content of the kind's file of the repository, in which the bytes 1 to 4 stand for
 * ids that nobody can guess.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "layers/merger/ancestor.h"
#include "layers/merger/text.h"
#include "layers/reader/library.h"
#include "layers/reader/refs.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The part of the repository that is the input's; all others are git's own. */
enum hostile {
	HOSTILE_NONE,
	HOSTILE_HEAD,
	HOSTILE_PACKED, /* in place of the loose ref */
	HOSTILE_REF,
	HOSTILE_COMMIT,
	HOSTILE_TREE,
	HOSTILE_LOOSE, /* the bytes in the file of the base's object */
	HOSTILE_PATH,  /* of the file that is asked for */
	HOSTILE_BASE,  /* the base itself, which may have NULs */
	HOSTILE_COUNT,
};

#define BRANCH "refs/heads/main"
#define PATH "folder/file"
#define FILES_MAX 16

static char folder[] = "/tmp/msp-fuzz-threeway-XXXXXX";
static int root = -1;

static struct {
	char names[FILES_MAX][OBJECT_ID_BYTES * 3];
	size_t count;
} made;

static struct input_parts {
	enum hostile kind;
	struct text host, sandbox, base, hostile;
} input;

static struct {
	struct reader_tell what;
	uint8_t *bytes;
	unsigned int count;
} told;

static void remove_made(void)
{
	while (made.count > 0)
		(void)unlinkat(root, made.names[--made.count], 0); /* it may be there twice */
}

static void remove_all(void)
{
	static const char *const folders[] = { "refs/heads", "refs", "objects" };
	char name[16];

	remove_made();
	for (unsigned int i = 0; i < 256; i++) {
		(void)snprintf(name, sizeof(name), "objects/%02x", i);
		(void)unlinkat(root, name, AT_REMOVEDIR);
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		(void)unlinkat(root, folders[i], AT_REMOVEDIR);
	(void)rmdir(folder);
}

static void make_folder(void)
{
	must(library_load() == 0 && mkdtemp(folder) != NULL && atexit(remove_all) == 0);
	root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(root >= 0 && mkdirat(root, "objects", 0700) == 0);
	must(mkdirat(root, "refs", 0700) == 0 && mkdirat(root, "refs/heads", 0700) == 0);
}

static void put(const char *name, const void *bytes, size_t size)
{
	int file = openat(root, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(file >= 0 && fd_write_all(file, bytes, size) == 0 && made.count < FILES_MAX);
	(void)snprintf(made.names[made.count++], sizeof(made.names[0]), "%s", name);
	fd_close(&file);
}

/* --- the repository --------------------------------------------------------------------------- */

struct ids {
	uint8_t blob[OBJECT_ID_BYTES], folder[OBJECT_ID_BYTES];
	uint8_t tree[OBJECT_ID_BYTES], commit[OBJECT_ID_BYTES];
};

/* Write a loose object; `raw`: the bytes of its file, in place of right ones. */
static void put_object(enum object_type type, const struct text *content, const struct text *raw,
		       uint8_t ret[OBJECT_ID_BYTES])
{
	static const char *const names[] = { "", "commit", "tree", "blob" };
	uint8_t *plain = malloc(content->size + 32), *packed;
	char name[OBJECT_ID_BYTES * 3], digits[HEX_BYTES + 1];
	uLongf packed_size;
	size_t head;

	must(plain != NULL && library_hash(type, content->bytes, content->size, ret) == 0);
	head = (size_t)snprintf((char *)plain, 32, "%s %zu", names[type], content->size) + 1;
	memcpy(plain + head, content->bytes, content->size);
	packed_size = library_zlib()->compressBound(head + content->size);
	packed = malloc(packed_size);
	must(packed != NULL && library_zlib()->compress2(packed, &packed_size, plain,
							 head + content->size, 1) == Z_OK);
	refs_write_id(ret, digits);
	(void)snprintf(name, sizeof(name), "objects/%.2s", digits);
	must(mkdirat(root, name, 0700) == 0 || errno == EEXIST);
	(void)snprintf(name, sizeof(name), "objects/%.2s/%s", digits, digits + 2);
	put(name, raw ? raw->bytes : packed, raw ? raw->size : packed_size);
	free(packed);
	free(plain);
}

static size_t put_id(uint8_t *to, const uint8_t id[OBJECT_ID_BYTES], bool as_digits)
{
	char digits[HEX_BYTES + 1];

	refs_write_id(id, digits);
	memcpy(to, as_digits ? (const void *)digits : id, as_digits ? HEX_BYTES : OBJECT_ID_BYTES);
	return as_digits ? HEX_BYTES : OBJECT_ID_BYTES;
}

/* Return the hostile content with the ids in their places; the caller frees its bytes. */
static uint8_t *with_ids(const struct ids *ids, size_t *ret_size)
{
	uint8_t *bytes = malloc(input.hostile.size * HEX_BYTES + 1);
	size_t size = 0;

	must(bytes != NULL);
	for (size_t i = 0; i < input.hostile.size; i++) {
		const uint8_t byte = input.hostile.bytes[i];

		if (byte == 1 || byte == 2)
			size += put_id(bytes + size, byte == 1 ? ids->commit : ids->tree, true);
		else if (byte == 3 || byte == 4)
			size += put_id(bytes + size, byte == 3 ? ids->folder : ids->blob, false);
		else
			bytes[size++] = byte;
	}
	*ret_size = size;
	return bytes;
}

static void put_tree(const char *entry, const uint8_t *child, uint8_t ret[OBJECT_ID_BYTES])
{
	uint8_t bytes[64];
	size_t size = (size_t)snprintf((char *)bytes, sizeof(bytes), "%s", entry) + 1;

	size += put_id(bytes + size, child, false);
	put_object(OBJECT_TREE, &(struct text){ bytes, size }, NULL, ret);
}

static void put_commit(const uint8_t tree[OBJECT_ID_BYTES], uint8_t ret[OBJECT_ID_BYTES])
{
	char digits[HEX_BYTES + 1], bytes[256];
	int size;

	refs_write_id(tree, digits);
	size = snprintf(bytes, sizeof(bytes),
			"tree %s\nauthor a <a@a> 1 +0000\ncommitter a <a@a> 1 +0000\n\nx\n",
			digits);
	put_object(OBJECT_COMMIT, &(struct text){ (uint8_t *)bytes, (size_t)size }, NULL, ret);
}

/* A commit with the base's file, and what the kind has in its place. */
static void make_repository(void)
{
	static const char head[] = "ref: " BRANCH "\n";
	const enum hostile kind = input.kind;
	char line[HEX_BYTES + 2];
	struct text hostile;
	struct ids ids;
	uint8_t *bytes;

	put_object(OBJECT_BLOB, &input.base, kind == HOSTILE_LOOSE ? &input.hostile : NULL,
		   ids.blob);
	put_tree("100644 file", ids.blob, ids.folder);
	put_tree("40000 folder", ids.folder, ids.tree);
	put_commit(ids.tree, ids.commit);
	bytes = with_ids(&ids, &hostile.size);
	hostile.bytes = bytes;
	if (kind == HOSTILE_TREE) {
		put_object(OBJECT_TREE, &hostile, NULL, ids.tree);
		put_commit(ids.tree, ids.commit);
	} else if (kind == HOSTILE_COMMIT) {
		put_object(OBJECT_COMMIT, &hostile, NULL, ids.commit);
	}
	line[put_id((uint8_t *)line, ids.commit, true)] = '\n';
	put("HEAD", kind == HOSTILE_HEAD ? (const void *)hostile.bytes : head,
	    kind == HOSTILE_HEAD ? hostile.size : sizeof(head) - 1);
	if (kind == HOSTILE_PACKED)
		put("packed-refs", hostile.bytes, hostile.size);
	else
		put(BRANCH, kind == HOSTILE_REF ? (const void *)hostile.bytes : line,
		    kind == HOSTILE_REF ? hostile.size : sizeof(line) - 1);
	free(bytes);
}

/* --- the merge -------------------------------------------------------------------------------- */

static int tell(void *context, const struct reader_tell *what, const void *bytes)
{
	(void)context;
	told.what = *what;
	told.count++;
	told.bytes = malloc((size_t)what->size + 1);
	must(told.bytes != NULL);
	memcpy(told.bytes, bytes, what->size);
	return 0;
}

static bool is_same(const struct text *text, const void *bytes, size_t size)
{
	return text->size == size && (size == 0 || memcmp(text->bytes, bytes, size) == 0);
}

static struct reader_ask make_ask(void)
{
	struct reader_ask ask = { .kind = READER_MERGE,
				  .base_size = input.base.size,
				  .host_size = (uint32_t)input.host.size,
				  .body_size = (uint32_t)(input.host.size + input.sandbox.size),
				  .path = PATH };

	sha256(input.base.bytes, input.base.size, ask.base);
	if (input.kind == HOSTILE_PATH)
		(void)snprintf(ask.path, sizeof(ask.path), "%.*s", (int)input.hostile.size,
			       (const char *)input.hostile.bytes);
	return ask;
}

static int answer(const struct reader_ask *ask)
{
	struct objects objects = { 0 };
	const int gits[] = { root, -1 };
	int pipes[2], error;

	must(objects_add(&objects, openat(root, "objects", O_RDONLY | O_CLOEXEC)) == 0 &&
	     objects_add(&objects, -1) == 0 && pipe2(pipes, O_CLOEXEC) == 0);
	must(fd_write_all(pipes[1], input.host.bytes, input.host.size) == 0 &&
	     fd_write_all(pipes[1], input.sandbox.bytes, input.sandbox.size) == 0);
	fd_close(&pipes[1]);
	error = answer_merge(pipes[0], gits, &objects, ask, tell, NULL);
	fd_close(&pipes[0]);
	objects_close(&objects);
	return error;
}

static void check(int error)
{
	struct text_merged direct = { 0 };

	/* The search of a whole process is bounded, and this process has many. */
	must(error == 0 || error == -E2BIG || (error == -ENOENT && input.kind != HOSTILE_NONE) ||
	     (error == -EBADMSG && input.kind == HOSTILE_BASE));
	must(told.count == (error == 0));
	if (error)
		return;
	must(text_merge(&input.base, &input.host, &input.sandbox, &direct) == 0);
	must(told.what.kind == READER_MERGED && told.what.count == direct.has_markers &&
	     is_same(&(struct text){ direct.bytes, direct.size }, told.bytes, told.what.size));
	if (is_same(&input.base, input.host.bytes, input.host.size))
		must(!direct.has_markers && is_same(&input.sandbox, direct.bytes, direct.size));
	else if (is_same(&input.base, input.sandbox.bytes, input.sandbox.size) ||
		 is_same(&input.host, input.sandbox.bytes, input.sandbox.size))
		must(!direct.has_markers && is_same(&input.host, direct.bytes, direct.size));
	free(direct.bytes);
}

static struct text take_text(const uint8_t **at, const uint8_t *end)
{
	const struct text text = { *at, (size_t)(end - *at) };
	const uint8_t *found = text.size ? memchr(text.bytes, '\0', text.size) : NULL;

	*at = found ? found + 1 : end;
	return found ? (struct text){ text.bytes, (size_t)(found - text.bytes) } : text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *at, *end = data + size;
	struct reader_ask ask;
	int lowest;

	if (size < 1)
		return 0;
	if (root < 0)
		make_folder();
	lowest = property_free_fd();
	at = data + 1;
	input.kind = data[0] % HOSTILE_COUNT;
	input.host = take_text(&at, end);
	input.sandbox = take_text(&at, end);
	input.base = take_text(&at, end);
	input.hostile = (struct text){ at, (size_t)(end - at) };
	if (input.kind == HOSTILE_BASE)
		input.base = input.hostile;
	make_repository();
	ask = make_ask();
	check(answer(&ask));
	free(told.bytes);
	told.bytes = NULL;
	told.count = 0;
	remove_made();
	must(property_free_fd() == lowest);
	return 0;
}
