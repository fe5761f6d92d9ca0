/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of background commands: what a writer leaves for readers, how much of it stays, and
 * what is made of damaged and left-over files.
 */
#include "background/note.h"
#include "background/output.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/text/format.h"

#define SANDBOX "2rgbftc2erh915t6ckfprby7fr"

static char root[64];
static int directory = -1;
static struct output_writer writer;
static struct output_reader reader;
static struct output_piece piece;
static uint8_t bytes[OUTPUT_PIECE_MAX];

static void begin_folder(void)
{
	format_text(root, sizeof(root), "/tmp/msp-test-XXXXXX");
	cr_assert(mkdtemp(root));
	directory = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(directory, 0);
	cr_assert_eq(mkdirat(directory, SANDBOX, S_IRWXU), 0);
	memset(bytes, 'x', sizeof(bytes));
}

static void end_folder(void)
{
	char command[96];

	output_end(&writer);
	output_close(&reader);
	fd_close(&directory);
	format_text(command, sizeof(command), "rm -rf %s", root);
	cr_assert_eq(system(command), 0);
}

TestSuite(background, .init = begin_folder, .fini = end_folder, .timeout = 120);

static void begin_output(void)
{
	cr_assert_eq(output_begin(&writer, directory), 0);
	output_open(&reader, directory);
}

static void assert_piece(const char *text, bool is_stderr)
{
	cr_assert(output_next(&reader, &piece));
	cr_assert_eq(piece.size, strlen(text));
	cr_assert_eq(memcmp(piece.bytes, text, piece.size), 0);
	cr_assert_eq(piece.is_stderr, is_stderr);
	cr_assert_eq(piece.dropped, 0);
}

Test(background, a_reader_follows_both_streams)
{
	begin_output();
	cr_assert_not(output_next(&reader, &piece));
	output_add(&writer, false, "out", 3);
	output_add(&writer, true, "err", 3);
	assert_piece("out", false);
	assert_piece("err", true);
	cr_assert_not(output_next(&reader, &piece));
	output_add(&writer, false, "more", 4);
	assert_piece("more", false);
	cr_assert_eq(writer.total, 10);
	cr_assert_eq(reader.seen, 10);
}

Test(background, the_newest_output_stays)
{
	const uint64_t written = 8ULL << 20;
	uint64_t shown = 0;
	uint64_t dropped = 0;

	begin_output();
	while (writer.total < written)
		output_add(&writer, false, bytes, 50000);
	while (output_next(&reader, &piece)) {
		dropped += piece.dropped;
		shown += piece.size;
	}
	cr_assert_eq(shown + dropped, writer.total);
	cr_assert_eq(writer.lost, 0);
	cr_assert_geq(shown, 3ULL << 20);
	cr_assert_leq(shown, 4ULL << 20);
}

Test(background, a_slow_reader_hears_what_it_missed)
{
	uint64_t shown = 0;
	uint64_t dropped = 0;

	begin_output();
	output_add(&writer, false, "begin", 5);
	assert_piece("begin", false);
	while (writer.total < (9ULL << 20)) {
		output_add(&writer, true, bytes, sizeof(bytes));
		if (writer.number == 2 && shown == 0) {
			cr_assert(output_next(&reader, &piece));
			shown = piece.size;
		}
	}
	while (output_next(&reader, &piece)) {
		dropped += piece.dropped;
		shown += piece.size;
	}
	cr_assert_gt(dropped, 0);
	cr_assert_eq(5 + shown + dropped, writer.total);
}

Test(background, a_piece_that_is_half_written_waits)
{
	char name[] = "output.0";
	int file;

	begin_output();
	output_add(&writer, false, "whole", 5);
	output_add(&writer, false, "broken", 6);
	file = openat(directory, name, O_WRONLY | O_CLOEXEC);
	cr_assert_eq(ftruncate(file, writer.at - 2), 0);
	assert_piece("whole", false);
	cr_assert_not(output_next(&reader, &piece));
	cr_assert_eq(pwrite(file, "en", 2, writer.at - 2), 2);
	assert_piece("broken", false);
	memset(bytes, 0xff, 8); /* a size beyond all */
	cr_assert_eq(pwrite(file, bytes, 8, writer.at), 8);
	cr_assert_not(output_next(&reader, &piece));
	fd_close(&file);
}

Test(background, a_full_disk_is_counted)
{
	const struct rlimit none = { 65536, 65536 };
	uint64_t before;

	begin_output();
	(void)signal(SIGXFSZ, SIG_IGN);
	output_add(&writer, false, "first", 5);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	for (int i = 0; i < 4; i++)
		output_add(&writer, false, bytes, 50000);
	cr_assert_gt(writer.lost, 0);
	before = writer.lost;
	output_add(&writer, true, "last", 4);
	cr_assert_eq(writer.lost, before);
	assert_piece("first", false);
	cr_assert(output_next(&reader, &piece));
	assert_piece("last", true);
	cr_assert_eq(writer.total, 5 + 200000 + 4);
	cr_assert_eq(reader.seen, writer.total - writer.lost);
}

/* --- notes ------------------------------------------------------------------------------------ */

static struct background_note note_of(const char *word, uint64_t begun_us)
{
	struct background_note note = { .magic = BACKGROUND_MAGIC,
					.version = BACKGROUND_VERSION,
					.begun_us = begun_us };

	note.command.argv_size = (uint32_t)strlen(word) + 1;
	memcpy(note.command.text, word, note.command.argv_size);
	return note;
}

static uint32_t counts[BACKGROUND_LOST + 1];
static uint64_t oldest_us;

static void count_command(void *context, const struct background *command)
{
	(void)context;
	counts[command->state]++;
	if (command->note.begun_us < oldest_us)
		oldest_us = command->note.begun_us;
}

static void count_all(void)
{
	memset(counts, 0, sizeof(counts));
	oldest_us = UINT64_MAX;
	background_each(directory, count_command, NULL);
}

/* Make a command in a child, as a keeper, that ends it or dies. */
static void make_one(uint64_t begun_us, bool is_ended)
{
	const struct background_note note = note_of("true", begun_us);
	static struct background made;
	int status;
	const pid_t pid = fork();

	if (pid == 0) {
		if (background_make(directory, SANDBOX, &note, &made) != 0)
			_exit(1);
		made.note.has_ended = is_ended;
		_exit(background_write(&made) == 0 ? 0 : 2);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
}

Test(background, the_lock_tells_who_lives)
{
	const struct background_note note = note_of("true", 1);
	static struct background made;
	static struct background found;
	int ends[2];
	char byte;
	pid_t pid;

	make_one(1, false);
	make_one(2, true);
	cr_assert_eq(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		byte = background_make(directory, SANDBOX, &note, &made) == 0 ? 'y' : 'n';
		(void)!write(ends[1], &byte, 1);
		(void)!write(ends[1], made.id, sizeof(made.id));
		(void)pause();
	}
	cr_assert_eq(read(ends[0], &byte, 1), 1);
	cr_assert_eq(byte, 'y');
	cr_assert_eq(read(ends[0], made.id, sizeof(made.id)), (ssize_t)sizeof(made.id));
	count_all();
	cr_assert_eq(counts[BACKGROUND_RUNNING], 1);
	cr_assert_eq(counts[BACKGROUND_ENDED], 1);
	cr_assert_eq(counts[BACKGROUND_LOST], 1);
	cr_assert_eq(background_find(directory, made.id, &found), 1);
	cr_assert_eq(found.state, BACKGROUND_RUNNING);
	cr_assert_eq(background_keeper(found.file), pid);
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert_eq(background_await(&found), 0);
	cr_assert_eq(found.state, BACKGROUND_LOST);
	cr_assert_eq(background_keeper(found.file), 0);
	background_close(&found);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	cr_assert_eq(background_find(directory, "zzzzzz", &found), 0);
	made.id[BACKGROUND_WORD_MIN - 1] = '\0';
	cr_assert_eq(background_find(directory, made.id, &found), 0, "too short");
}

Test(background, the_oldest_ended_ones_give_way)
{
	const char *const bad[] = { SANDBOX "/commands/aaaaaa", SANDBOX "/commands/bbbbbb" };
	int file;

	make_one(1, true);
	for (size_t i = 0; i < 2; i++)
		cr_assert_eq(mkdirat(directory, bad[i], S_IRWXU), 0);
	file = openat(directory, SANDBOX "/commands/bbbbbb/note", O_WRONLY | O_CREAT | O_CLOEXEC,
		      0600);
	cr_assert_eq(write(file, bytes, 5000), 5000);
	fd_close(&file);
	count_all();
	cr_assert_eq(counts[BACKGROUND_ENDED], 1, "the others are none");
	for (uint64_t i = 2; i <= BACKGROUND_KEPT + 2; i++)
		make_one(i, i % 2);
	count_all();
	cr_assert_eq(counts[BACKGROUND_ENDED] + counts[BACKGROUND_LOST], BACKGROUND_KEPT);
	cr_assert_eq(oldest_us, 3);
	for (size_t i = 0; i < 2; i++)
		cr_assert_neq(faccessat(directory, bad[i], F_OK, 0), 0, "removed");
}

Test(background, nothing_stays_of_what_cannot_be_made)
{
	const struct background_note note = note_of("true", 1);
	const struct rlimit none = { 100, 100 };
	static struct background made;

	(void)signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(background_make(directory, "gone", &note, &made), -ENOENT);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	cr_assert_lt(background_make(directory, SANDBOX, &note, &made), 0);
	count_all();
	cr_assert_eq(counts[BACKGROUND_LOST], 0);
	cr_assert_eq(unlinkat(directory, SANDBOX "/commands", AT_REMOVEDIR), 0, "it is empty");
}
