/* SPDX-License-Identifier: Apache-2.0
 *
 * Persistent sandboxes, on a disk: what one is after each step, who may have it, and what becomes
 * of a meta that says what cannot be.
 */
#include "stewards/store/store.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_store.h"
#include "common/ipc/workspace_mode.h"
#include "common/sha256.h"
#include "stewards/store/inner.h"
#include "store_place.h"
#include "support.h"

TestSuite(store, .init = place_make, .fini = place_remove, .timeout = 120);

static struct store_meta meta, second;
static char id[IPC_ID_MAX];

static void expect_view(const char *text)
{
	static char view[VIEW_MAX];

	place_view(view);
	cr_expect_str_eq(view, text);
	cr_expect_eq(place_count_unnamed(), 0);
}

/* --- ids and names ---------------------------------------------------------------------------- */

Test(store, ids_are_text_and_back)
{
	static const uint8_t ones[STORE_ID_BYTES] = { [STORE_ID_BYTES - 1] = 1 };
	uint8_t bytes[STORE_ID_BYTES], back[STORE_ID_BYTES];

	store_id_text(ones, id);
	cr_expect_str_eq(id, "00000000000000000000000001");
	for (int i = 0; i < 1000; i++) {
		cr_assert_eq(store_random(bytes), 0);
		store_id_text(bytes, id);
		cr_assert(store_is_id(id), "%s", id);
		cr_assert_not(store_is_name(id));
		cr_assert(store_id_bytes(id, back));
		cr_assert_eq(memcmp(bytes, back, sizeof(bytes)), 0);
	}
	memset(bytes, 0xff, sizeof(bytes));
	store_id_text(bytes, id);
	cr_expect_str_eq(id, "7zzzzzzzzzzzzzzzzzzzzzzzzz");
}

Test(store, what_is_no_id)
{
	static const char *const texts[] = { "",
					     "0000000000000000000000000",
					     "000000000000000000000000000",
					     "80000000000000000000000000",
					     "0000000000000000000000000u",
					     "0000000000000000000000000A",
					     "../000000000000000000000000" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect_not(store_is_id(texts[i]), "%s", texts[i]);
}

Test(store, names)
{
	char longest[IPC_NAME_MAX + 1];

	memset(longest, 'x', sizeof(longest));
	longest[63] = '\0';
	cr_expect(store_is_name("a"));
	cr_expect(store_is_name("A-b_c.9"));
	cr_expect(store_is_name(longest));
	longest[63] = 'x';
	longest[64] = '\0';
	cr_expect_not(store_is_name(longest));
	cr_expect_not(store_is_name(""));
	cr_expect_not(store_is_name("a b"));
	cr_expect_not(store_is_name("a/b"));
	cr_expect_not(store_is_name("\xc3\xa4"));
}

/* --- one sandbox ------------------------------------------------------------------------------ */

Test(store, what_is_made_is_found_again)
{
	int fd = place_create("one", &meta);

	fd_close(&fd);
	fd = place_take("one", &second);
	cr_expect_eq(memcmp(&meta, &second, sizeof(meta)), 0);
	store_id_text(meta.id, id);
	cr_expect(store_find("", id, id));
	cr_expect_not(store_find("", "two", id));
	cr_expect_eq(store_take("00000000000000000000000000", &second), -ENOENT);
	cr_expect_eq(store_take("../sandboxes", &second), -ENOENT);
	fd_close(&fd);
}

Test(store, an_owner_finds_only_its_own)
{
	struct store_census census = PLACE_NO_LIMITS;
	int fd = place_create("one", &meta);
	char found[IPC_ID_MAX];
	int other;

	second = meta;
	memcpy(second.owner, "token", sizeof("token"));
	other = store_create(&second, &census);
	cr_assert_geq(other, 0, "each owner has names of its own");
	store_id_text(second.id, id);
	cr_expect_not(store_find("", id, found));
	cr_expect_str_empty(found);
	cr_expect(store_find("token", id, found));
	cr_expect_str_eq(found, id);
	cr_expect(store_find("token", "one", found));
	cr_expect_not(store_find("tok", "one", found));
	fd_close(&fd);
	fd_close(&other);
}

Test(store, a_name_is_given_once)
{
	struct store_census census = PLACE_NO_LIMITS;
	int fd = place_create("one", &meta);

	second = meta;
	store_id_text(meta.id, id);
	cr_expect_eq(store_create(&second, &census), -EEXIST);
	cr_expect_str_eq(census.id, id);
	cr_expect_eq(store_fork(fd, &meta, 0, "one", &census, &second), -EEXIST);
	second.name[0] = '\0';
	cr_expect_geq(store_create(&second, &census), 0);
	second.name[0] = '\0';
	cr_expect_geq(store_create(&second, &census), 0, "without a name any number may be");
	fd_close(&fd);
}

Test(store, one_has_it_at_a_time)
{
	uint64_t used_s;
	bool is_taken = false;
	int fd = place_create("one", &meta);

	store_id_text(meta.id, id);
	cr_expect_eq(store_take(id, &second), -EBUSY);
	cr_expect_eq(store_discard(id), -EBUSY);
	cr_expect_eq(store_look(id, &second, &used_s, &is_taken), 0);
	cr_expect(is_taken);
	fd_close(&fd);
	cr_expect_eq(store_look(id, &second, &used_s, &is_taken), 0);
	cr_expect_not(is_taken);
	fd = store_take(id, &second);
	cr_expect_geq(fd, 0);
	fd_close(&fd);
}

/* Nobody waits for ever, and who does not get it has changed nothing. */
Test(store, the_lock_of_all_is_not_waited_for_for_ever)
{
	struct store_census census = PLACE_NO_LIMITS;
	int fd = place_create("one", &meta);
	int lock = openat(store_places.state, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert_eq(flock(lock, LOCK_EX | LOCK_NB), 0);
	second = meta;
	second.name[0] = '\0';
	cr_expect_eq(store_create(&second, &census), -EAGAIN);
	cr_expect_eq(place_destroy(&meta), -EAGAIN);
	cr_expect_eq(store_sweep(NULL, NULL), -EAGAIN);
	cr_expect_eq(place_count("sandboxes"), 1);
	fd_close(&lock);
	cr_expect_eq(place_destroy(&meta), 0);
	fd_close(&fd);
}

Test(store, who_ended_has_nothing_any_more)
{
	int fd = place_create("one", &meta);
	pid_t pid;

	store_id_text(meta.id, id);
	fd_close(&fd);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		(void)store_take(id, &second);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	fd = store_take(id, &second);
	cr_expect_geq(fd, 0);
	fd_close(&fd);
}

Test(store, a_use_is_noted)
{
	char path[64];
	int fd = place_create("one", &meta);
	const uint64_t now_s = store_used_s(fd);

	store_id_text(meta.id, id);
	(void)snprintf(path, sizeof(path), "sandboxes/%s", id);
	place_age(path, 1000);
	cr_expect_leq(store_used_s(fd), now_s - 999);
	store_touch(fd);
	cr_expect_geq(store_used_s(fd), now_s);
	cr_expect_geq(meta.created_s, now_s - 10);
	cr_expect_leq(meta.created_s, now_s);
	fd_close(&fd);
}

Test(store, counts_are_kept_beside)
{
	int fd = place_create("one", &meta);

	store_count(fd, &meta, 1000, 10);
	cr_expect_eq(meta.disk_bytes, 1000);
	fd_close(&fd);
	fd = place_take("one", &second);
	cr_expect_eq(second.disk_bytes, 1000);
	cr_expect_eq(second.disk_inodes, 10);
	fd_close(&fd);
}

/* --- damage ----------------------------------------------------------------------------------- */

/* Write what is in `second`, with a hash that is right. */
static void write_meta(int sandbox, size_t size)
{
	int fd = openat(sandbox, "meta", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	sha256(&second, offsetof(struct store_meta, hash), second.hash);
	cr_assert_eq(write(fd, &second, size), (ssize_t)size);
	fd_close(&fd);
}

static void expect_damaged(int sandbox, const char *what)
{
	static struct store_meta read;
	uint64_t used_s = 0;
	bool is_taken;
	int fd;

	store_id_text(meta.id, id);
	cr_expect_eq(store_read(sandbox, id, true, &read), -EBADMSG, "%s", what);
	cr_expect_eq(store_look(id, &read, &used_s, &is_taken), -EBADMSG, "%s", what);
	cr_expect_gt(used_s, 0);
	cr_expect_eq(store_collect(), -EBADMSG, "nobody knows what it names");
	fd = place_take("good", &read);
	fd_close(&fd);
}

/* Every field that a reader relies on, set to what it must not be, under a hash that is right. */
Test(store, what_cannot_be_is_damage)
{
	int good = place_create("good", &meta);
	int fd = place_create("bad", &meta);

	fd_close(&good);
	place_write(&meta, "1");
	cr_assert_eq(store_checkpoint(fd, &meta, "first", &second.checkpoints[0]), 0);
	place_write(&meta, "2");
	cr_assert_eq(store_checkpoint(fd, &meta, "second", &second.checkpoints[0]), 0);
#define BAD(change)                                                                                \
	do {                                                                                       \
		second = meta;                                                                     \
		change;                                                                            \
		write_meta(fd, sizeof(second));                                                    \
		expect_damaged(fd, #change);                                                       \
	} while (0)
	BAD(second.magic++);
	BAD(second.version++);
	BAD(second.id[3] ^= 1);
	BAD(memset(second.name, 'x', sizeof(second.name)));
	BAD(second.name[1] = '/');
	BAD(memset(second.owner, 'x', sizeof(second.owner)));
	BAD(memset(second.profile, 'x', sizeof(second.profile)));
	BAD(second.profile[0] = '\0');
	BAD(memset(second.workspace, '/', sizeof(second.workspace)));
	BAD(second.workspace[0] = '/');
	BAD(second.workspace_mode = WORKSPACE_COPY);
	BAD(second.workspace_mode = WORKSPACE_MODE_COUNT);
	BAD(second.is_persons = 2);
	BAD(second.reserved = 1);
	BAD(second.layer_count = 0);
	BAD(second.layer_count = LAYERS_MAX + 1);
	BAD(second.layer_count = UINT32_MAX);
	BAD(second.upper = second.layer_count);
	BAD(second.upper = STORE_NO_LAYER);
	BAD(second.upper = 0);
	BAD(second.layers[1].parent = 1);
	BAD(second.layers[1].parent = 2);
	BAD(second.layers[0].parent = 0);
	BAD(second.layers[2].parent = UINT32_MAX - 1);
	BAD(memset(second.layers[1].id, 0, STORE_ID_BYTES));
	BAD(memcpy(second.layers[1].id, second.layers[0].id, STORE_ID_BYTES));
	BAD(second.checkpoint_count = CHECKPOINTS_MAX + 1);
	BAD(second.checkpoints[1].number = 1);
	BAD(second.checkpoints[0].number = 0);
	BAD(second.checkpoints[1].number = second.next_checkpoint);
	BAD(second.checkpoints[0].layer = second.layer_count);
	BAD(second.checkpoints[0].layer = second.upper);
	BAD(memset(second.checkpoints[0].name, 'x', IPC_NAME_MAX));
	second = meta;
	write_meta(fd, sizeof(second));
	cr_expect_eq(store_read(fd, id, true, &second), 0, "it was right");
	fd_close(&fd);
}

Test(store, a_stack_that_is_too_high_is_damage)
{
	int good = place_create("good", &meta);
	int fd = place_create("bad", &meta);

	fd_close(&good);
	for (int wrong = 0; wrong < 2; wrong++) {
		second = meta;
		second.layer_count = LAYERS_DEEP_MAX + (uint32_t)wrong;
		second.upper = second.layer_count - 1;
		for (uint32_t i = 1; i < second.layer_count; i++) {
			second.layers[i].parent = i - 1;
			second.layers[i].id[0] = (uint8_t)i;
			second.layers[i].id[1] = 1;
		}
		cr_expect_eq(store_is_sound(&second), !wrong);
	}
	write_meta(fd, sizeof(second));
	expect_damaged(fd, "depth");
	fd_close(&fd);
}

Test(store, each_changed_byte_is_damage)
{
	static struct store_meta read;
	size_t unseen = 0;
	int fd = place_create("one", &meta);
	int file = openat(fd, "meta", O_RDWR | O_CLOEXEC);

	store_id_text(meta.id, id);
	for (size_t at = 0; at < sizeof(meta); at += at < 300 ? 1 : 61) {
		uint8_t byte = ((uint8_t *)&meta)[at] ^ 0x10;

		cr_assert_eq(pwrite(file, &byte, 1, (off_t)at), 1);
		unseen += store_read(fd, id, true, &read) != -EBADMSG;
		byte ^= 0x10;
		cr_assert_eq(pwrite(file, &byte, 1, (off_t)at), 1);
	}
	cr_expect_eq(unseen, 0UL);
	cr_expect_eq(store_read(fd, id, true, &read), 0);
	fd_close(&file);
	fd_close(&fd);
}

Test(store, what_is_no_meta_is_damage)
{
	int good = place_create("good", &meta);
	int fd = place_create("bad", &meta);

	fd_close(&good);
	second = meta;
	write_meta(fd, sizeof(second) - 1);
	expect_damaged(fd, "short");
	write_meta(fd, 0);
	cr_expect_eq(store_read(fd, id, true, &second), -ENOENT, "the machine was lost before it");
	cr_assert_eq(unlinkat(fd, "meta", 0), 0);
	cr_assert_eq(mkdirat(fd, "meta", 0700), 0);
	expect_damaged(fd, "a directory");
	cr_assert_eq(unlinkat(fd, "meta", AT_REMOVEDIR), 0);
	cr_assert_eq(mkfifoat(fd, "meta", 0600), 0);
	expect_damaged(fd, "a pipe, which is not waited for");
	cr_assert_eq(unlinkat(fd, "meta", 0), 0);
	cr_assert_eq(symlinkat("/etc/passwd", fd, "meta"), 0);
	expect_damaged(fd, "a link");
	cr_assert_eq(unlinkat(fd, "meta", 0), 0);
	cr_expect_eq(store_read(fd, id, true, &second), -ENOENT);
	fd_close(&fd);
}

Test(store, a_layer_that_is_gone_is_damage)
{
	char path[256], layer[IPC_ID_MAX];
	int fd = place_create("one", &meta);

	store_id_text(meta.id, id);
	store_id_text(meta.layers[0].id, layer);
	fd_close(&fd);
	(void)snprintf(path, sizeof(path), "%s/layers/%s", place_path, layer);
	cr_assert_eq(rmdir(path), 0);
	cr_expect_eq(store_take(id, &second), -EBADMSG);
}

static void damage(int fd, off_t at)
{
	int file = openat(fd, "meta", O_WRONLY | O_CLOEXEC);

	cr_assert_eq(pwrite(file, "x", 1, at), 1);
	fd_close(&file);
}

/* It may have named any layer. */
Test(store, with_damage_no_layer_goes)
{
	int fd = place_create("one", &meta);
	int bad = place_create("bad", &second);
	char bad_id[IPC_ID_MAX];

	damage(bad, 0);
	fd_close(&bad);
	cr_expect_eq(place_destroy(&meta), 0);
	cr_expect_eq(place_count("sandboxes"), 1);
	cr_expect_eq(place_count("layers"), 2);
	store_id_text(second.id, bad_id);
	cr_expect_not(store_find("", "bad", id), "it does not say its name");
	cr_expect(store_find("", bad_id, id));
	cr_expect_not(store_find("token", bad_id, id), "nor that it is this one's");
	cr_expect_eq(store_discard(bad_id), 0);
	cr_expect_eq(place_count("layers"), 0);
	cr_expect_eq(place_count("trash"), 4);
	fd_close(&fd);
}

/* --- limits ----------------------------------------------------------------------------------- */

Test(store, as_many_as_are_allowed)
{
	struct store_census census = { .sandboxes_max = 2, .bytes_max = UINT64_MAX };
	int fd = place_create("one", &meta);

	second = meta;
	second.name[0] = '\0';
	cr_expect_geq(store_create(&second, &census), 0);
	second.name[0] = '\0';
	cr_expect_eq(store_create(&second, &census), -EUSERS);
	cr_expect_eq(store_fork(fd, &meta, 0, "", &census, &second), -EUSERS);
	cr_expect_eq(census.sandboxes, 2);
	cr_expect_eq(place_destroy(&meta), 0);
	cr_expect_geq(store_create(&second, &census), 0);
	fd_close(&fd);
}

/* What forks share is there once. */
Test(store, as_much_as_is_allowed)
{
	struct store_census census = { .sandboxes_max = SANDBOXES_MAX, .bytes_max = 1500 };
	int fd = place_create("one", &meta);
	int other;

	place_write(&meta, "1");
	store_count(fd, &meta, 1000, 10);
	for (int i = 0; i < 3; i++) {
		other = store_fork(fd, &meta, 0, "", &census, &second);
		cr_assert_geq(other, 0, "%s", strerror(-other));
		cr_expect_eq(second.disk_bytes, 1000);
		cr_expect_eq(census.bytes, 1000);
	}
	store_count(other, &second, 1500, 15);
	cr_expect_eq(store_fork(fd, &meta, 0, "", &census, &second), -EDQUOT);
	cr_expect_eq(census.bytes, 1500);
	fd_close(&fd);
}

Test(store, without_descriptors_one_request_fails)
{
	struct store_census census = PLACE_NO_LIMITS;
	struct rlimit old, none;
	int fd = place_create("one", &meta);
	int result;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = (rlim_t)fd + 1;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	second = meta;
	second.name[0] = '\0';
	result = store_create(&second, &census);
	cr_expect_eq(result, -EMFILE, "%d", result);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	result = store_create(&second, &census);
	cr_expect_geq(result, 0);
	fd_close(&result);
	fd_close(&fd);
	expect_view(" has 0: \none has 0: \n");
}

/* --- time ------------------------------------------------------------------------------------- */

static void age(int seconds)
{
	char path[64];

	store_id_text(meta.id, id);
	(void)snprintf(path, sizeof(path), "sandboxes/%s", id);
	place_age(path, seconds);
}

Test(store, what_nobody_used_for_its_time_goes)
{
	int fd = place_create("one", &meta);

	age(3700);
	cr_expect_eq(store_sweep(NULL, NULL), 0, "somebody has it");
	fd_close(&fd);
	age(3500);
	cr_expect_eq(store_sweep(NULL, NULL), 0);
	fd = place_take("one", &meta);
	age(3700);
	store_touch(fd);
	fd_close(&fd);
	cr_expect_eq(store_sweep(NULL, NULL), 0, "it was used");
	age(3700);
	cr_expect_eq(store_sweep(NULL, NULL), 1);
	cr_expect_eq(place_count("sandboxes"), 0);
	cr_expect_eq(place_count("layers"), 0);
}

/* After the first sweep, which looks for what a crash left. */
Test(store, a_sweep_takes_the_lock_if_something_goes)
{
	int fd = place_create("one", &meta);
	int lock = openat(store_places.state, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	fd_close(&fd);
	cr_assert_eq(store_sweep(NULL, NULL), 0);
	cr_assert_eq(flock(lock, LOCK_EX | LOCK_NB), 0);
	cr_expect_eq(store_sweep(NULL, NULL), 0, "nothing goes");
	age(3700);
	cr_expect_eq(store_sweep(NULL, NULL), -EAGAIN);
	cr_expect_eq(place_count("sandboxes"), 1);
	fd_close(&lock);
	cr_expect_eq(store_sweep(NULL, NULL), 1);
	cr_expect_eq(place_count("layers"), 0);
}

Test(store, damage_is_left_for_people)
{
	int fd = place_create("one", &meta);

	damage(fd, offsetof(struct store_meta, created_s));
	fd_close(&fd);
	age(1000000);
	cr_expect_eq(store_sweep(NULL, NULL), 0);
	cr_expect_eq(place_count("sandboxes"), 1);
}

Test(store, what_a_crash_left_goes)
{
	cr_assert_eq(mkdirat(store_places.state, "sandboxes/00000000000000000000000001", 0700), 0);
	cr_assert_eq(mkdirat(store_places.state, "layers/00000000000000000000000002", 0700), 0);
	cr_assert_eq(mkdirat(store_places.state, "layers/of-somebody", 0700), 0);
	cr_expect_eq(store_sweep(NULL, NULL), 0);
	cr_expect_eq(place_count("sandboxes"), 1, "it may be being made");
	cr_expect(place_has("trash", "00000000000000000000000002"));
	place_age("sandboxes/00000000000000000000000001", 61);
	cr_expect_eq(store_sweep(NULL, NULL), 0);
	cr_expect_eq(place_count("sandboxes"), 0);
	cr_expect(place_has("layers", "of-somebody"));
}

Test(store, trash_is_there_until_it_is_gone)
{
	char command[256];
	int fd = place_create("one", &meta);
	int trash;

	cr_expect_eq(store_trash(), -ENOENT);
	cr_assert_eq(place_destroy(&meta), 0);
	trash = store_trash();
	cr_assert(fd_is_kind(trash, 'd'));
	cr_expect_eq(place_count("trash"), 2, "the sandbox and its layer");
	(void)snprintf(command, sizeof(command), "rm -r %s/trash/*", place_path);
	cr_assert_eq(system(command), 0);
	cr_expect_eq(store_trash(), -ENOENT);
	fd_close(&trash);
	fd_close(&fd);
}
