/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/journal.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "rig.h"

static struct rig rig;

/* On disk: magic, version, kind, count, token; then records of two sides, a size and a zero. */
#define HEAD_BYTES 32U
#define SIDE_BYTES 64U
#define RECORD_BYTES (2 * SIDE_BYTES + 8)

static struct journal make(void)
{
	struct journal journal = { .kind = JOURNAL_APPLY, .token = "0123456789abcde" };
	struct journal_entry *entry = journal_add(&journal, "b/new");

	entry->to = (struct journal_side){ .mode = S_IFREG | 0644, .inode = 7, .size = 3 };
	entry = journal_add(&journal, "b");
	entry->to = (struct journal_side){ .mode = S_IFDIR | 0755, .inode = 6 };
	entry = journal_add(&journal, "a/gone");
	entry->from = (struct journal_side){
		.mode = S_IFLNK | 0777, .inode = 5, .mtime_s = -1, .hash = { 1, 2, 3 }
	};
	entry = journal_add(&journal, "a");
	entry->from = (struct journal_side){ .mode = S_IFDIR | 0755, .inode = 4 };
	entry = journal_add(&journal, "mode");
	entry->from = entry->to = (struct journal_side){ .mode = S_IFDIR | 0755, .inode = 3 };
	journal_sort(&journal);
	return journal;
}

static uint8_t *format(const struct journal *journal, size_t *size)
{
	uint8_t *bytes = NULL;

	cr_assert_eq(journal_format(journal, &bytes, size), 0);
	return bytes;
}

/* A parse of the bytes with their hash put right: what the hash does not keep out. */
static int parse_again(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size);
	struct journal journal;
	int error;

	memcpy(copy, bytes, size);
	sha256(copy, size - SHA256_BYTES, copy + size - SHA256_BYTES);
	error = journal_parse(copy, size, &journal);
	if (error == 0)
		journal_free(&journal);
	free(copy);
	return error;
}

static int parse_with(size_t at, const void *value, size_t value_size)
{
	struct journal journal = make();
	size_t size;
	uint8_t *bytes = format(&journal, &size);
	int error;

	memcpy(bytes + at, value, value_size);
	error = parse_again(bytes, size);
	free(bytes);
	journal_free(&journal);
	return error;
}

Test(journal, puts_what_goes_before_what_comes_and_contents_where_they_belong)
{
	static const char *const order[] = { "mode", "a/gone", "a", "b", "b/new" };
	struct journal journal = make();

	for (size_t i = 0; i < journal.count; i++)
		cr_assert_str_eq(journal.entries[i].path, order[i]);
	journal_free(&journal);
}

Test(journal, reads_what_it_writes)
{
	struct journal journal = make();
	struct journal again;
	size_t size, again_size;
	uint8_t *bytes = format(&journal, &size);
	uint8_t *again_bytes;

	cr_assert_eq(journal_parse(bytes, size, &again), 0);
	cr_assert_eq(again.count, 5);
	cr_assert_eq(again.kind, JOURNAL_APPLY);
	cr_assert_str_eq(again.entries[1].path, "a/gone");
	cr_assert_eq(again.entries[1].from.mtime_s, -1);
	again_bytes = format(&again, &again_size);
	cr_assert_eq(again_size, size);
	cr_assert_arr_eq(again_bytes, bytes, size);
	free(again_bytes);
	free(bytes);
	journal_free(&again);
	journal_free(&journal);
}

Test(journal, believes_no_changed_byte_and_no_part)
{
	struct journal journal = make();
	struct journal again;
	size_t size;
	uint8_t *bytes = format(&journal, &size);

	for (size_t i = 0; i < size; i++) {
		bytes[i] ^= 0x10;
		cr_assert_eq(journal_parse(bytes, size, &again), -EBADMSG, "byte %zu", i);
		bytes[i] ^= 0x10;
		cr_assert_eq(journal_parse(bytes, i, &again), -EBADMSG, "%zu bytes", i);
	}
	cr_assert_eq(parse_again(bytes, size), 0);
	cr_assert_eq(parse_again(bytes, size - 1), -EBADMSG);
	free(bytes);
	journal_free(&journal);
}

Test(journal, takes_no_nonsense_with_a_right_hash)
{
	static const uint32_t zero, two = 2, six = 6, high = 0x7fffffff, device = S_IFCHR | 0600,
				    setuid = S_IFREG | 04755, late = 1000000000;
	const size_t first = HEAD_BYTES;

	cr_assert_eq(parse_with(0, &zero, 4), -EBADMSG, "magic");
	cr_assert_eq(parse_with(4, &two, 4), -EBADMSG, "version");
	cr_assert_eq(parse_with(8, &zero, 4), -EBADMSG, "kind");
	cr_assert_eq(parse_with(8, &high, 4), -EBADMSG, "kind");
	cr_assert_eq(parse_with(12, &six, 4), -EBADMSG, "too many");
	cr_assert_eq(parse_with(12, &two, 4), -EBADMSG, "bytes behind the last");
	cr_assert_eq(parse_with(12, &high, 4), -EBADMSG, "very many");
	cr_assert_eq(parse_with(first, &device, 4), -EBADMSG, "a device");
	cr_assert_eq(parse_with(first, &setuid, 4), -EBADMSG, "set-user-ID");
	cr_assert_eq(parse_with(first, &zero, 4), -EBADMSG, "nothing with an inode");
	cr_assert_eq(parse_with(first + 4, &late, 4), -EBADMSG, "nanoseconds");
	cr_assert_eq(parse_with(first + 2 * SIDE_BYTES, &zero, 4), -EBADMSG, "no path");
	cr_assert_eq(parse_with(first + 2 * SIDE_BYTES, &high, 4), -EBADMSG, "a long path");
	cr_assert_eq(parse_with(first + 2 * SIDE_BYTES + 4, &two, 4), -EBADMSG, "reserved");
	cr_assert_eq(parse_with(first + RECORD_BYTES, "/ode", 4), -EBADMSG, "absolute");
	cr_assert_eq(parse_with(first + RECORD_BYTES, "../x", 4), -EBADMSG, "out");
	cr_assert_eq(parse_with(first + RECORD_BYTES, "a/..", 4), -EBADMSG, "and back");
	cr_assert_eq(parse_with(first + RECORD_BYTES, "a//b", 4), -EBADMSG, "empty part");
	cr_assert_eq(parse_with(first + RECORD_BYTES, "a/b/", 4), -EBADMSG, "empty end");
	cr_assert_eq(parse_with(first + RECORD_BYTES, "./ab", 4), -EBADMSG, "here");
	cr_assert_eq(parse_with(first + RECORD_BYTES, "a\0bc", 4), -EBADMSG, "NUL");
	cr_assert_eq(parse_with(first + RECORD_BYTES, "a..b", 4), 0, "two dots in a name");
	/* The second record's path is "a/gone", the third's "a": the other way round is wrong. */
	cr_assert_eq(parse_with(first + 2 * RECORD_BYTES + 4, "A/gone", 6), -EBADMSG, "order");
}

Test(journal, checks_paths_as_texts)
{
	char longest[IPC_PATH_MAX + 1];

	memset(longest, 'x', sizeof(longest));
	longest[IPC_PATH_MAX] = '\0';
	cr_assert_eq(journal_check_path(longest), -EINVAL);
	longest[IPC_PATH_MAX - 1] = '\0';
	cr_assert_eq(journal_check_path(longest), 0);
	cr_assert_eq(journal_check_path("a/b\n/..."), 0);
	cr_assert_eq(journal_check_path(""), -EINVAL);
	cr_assert_eq(journal_check_path(".."), -EINVAL);
	cr_assert_eq(journal_check_path("a/."), -EINVAL);
}

Test(journal, moves_from_state_to_state)
{
	struct journal journal = make();
	struct journal again;
	int state, read_state;
	int other;

	rig_begin(&rig, 0);
	state = journal_begin(JOURNAL, &journal);
	cr_assert(state >= 0);
	cr_assert_eq(journal_read(JOURNAL, JOURNAL_NEW, &again, NULL), -ENOENT);
	cr_assert_eq(journal_read(JOURNAL, JOURNAL_STAGING, &again, NULL), 0);
	cr_assert_eq(again.count, 0, "nothing is known before the staging is over");
	cr_assert_arr_eq(again.token, journal.token, sizeof(journal.token));
	cr_assert_eq(journal_write(state, &journal), 0);
	cr_assert_eq(journal_move(JOURNAL, JOURNAL_STAGING, JOURNAL_SWAPPING), 0);
	cr_assert_eq(journal_move(JOURNAL, JOURNAL_STAGING, JOURNAL_SWAPPING), -ENOENT);
	cr_assert_eq(journal_read(JOURNAL, JOURNAL_SWAPPING, &again, &read_state), 0);
	cr_assert_eq(again.count, 5);
	journal_free(&again);
	(void)close(read_state);
	/* A second one does not get in the way of the first. */
	other = journal_begin(JOURNAL, &(struct journal){ .kind = JOURNAL_UNDO });
	cr_assert(other >= 0);
	cr_assert_eq(journal_move(JOURNAL, JOURNAL_STAGING, JOURNAL_SWAPPING), -EEXIST);
	(void)close(other);
	cr_assert_eq(journal_drop(JOURNAL, JOURNAL_STAGING), 0);
	cr_assert_eq(journal_drop(JOURNAL, JOURNAL_SWAPPING), 0);
	cr_assert_eq(journal_drop(JOURNAL, JOURNAL_SWAPPING), 0, "there is none");
	cr_assert_str_eq(rig_show(&rig, JOURNAL), "");
	(void)close(state);
	journal_free(&journal);
	rig_end(&rig);
}

Test(journal, calls_a_state_without_a_journal_damaged)
{
	struct journal journal;

	rig_begin(&rig, 0);
	put_folder(JOURNAL, JOURNAL_DONE);
	cr_assert_eq(journal_read(JOURNAL, JOURNAL_DONE, &journal, NULL), -EBADMSG);
	put_fifo(JOURNAL, JOURNAL_DONE "/journal");
	cr_assert_eq(journal_read(JOURNAL, JOURNAL_DONE, &journal, NULL), -EBADMSG);
	put_link(JOURNAL, JOURNAL_COMMITTED, JOURNAL_DONE);
	cr_assert_neq(journal_read(JOURNAL, JOURNAL_COMMITTED, &journal, NULL), 0);
	rig_end(&rig);
}
