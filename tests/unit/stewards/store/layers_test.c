/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints, forks and merges: which files are there afterwards, and which layers.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/ipc_store.h"
#include "common/ipc/workspace_mode.h"
#include "stewards/store/inner.h"
#include "store_place.h"
#include "support.h"

TestSuite(store_layers, .init = place_make, .fini = place_remove, .timeout = 120);

static struct store_meta meta, second;

static void expect_view(const char *text)
{
	static char view[VIEW_MAX];

	place_view(view);
	cr_expect_str_eq(view, text);
	cr_expect_eq(place_count_unnamed(), 0);
}

/* --- checkpoints ------------------------------------------------------------------------------ */

static uint32_t save(int fd)
{
	struct store_checkpoint made;

	cr_assert_eq(store_checkpoint(fd, &meta, "", &made), 0);
	return made.number;
}

Test(store_layers, empty_is_without_any_file)
{
	struct store_census census = PLACE_NO_LIMITS;
	int fd = place_create("one", &meta);
	int other;

	cr_expect(store_is_empty(&meta));
	other = store_fork(fd, &meta, 0, "two", &census, &second);
	cr_assert_geq(other, 0);
	cr_expect(store_is_empty(&second));
	fd_close(&other);
	place_write(&meta, "1");
	cr_expect_not(store_is_empty(&meta));
	other = store_fork(fd, &meta, 0, "three", &census, &second);
	cr_assert_geq(other, 0);
	cr_expect_not(store_is_empty(&second), "its files are in the layer below");
	fd_close(&other);
	fd_close(&fd);
	fd = place_create("four", &meta);
	cr_expect_eq(save(fd), 1);
	cr_expect_not(store_is_empty(&meta), "it has a checkpoint");
	fd_close(&fd);
}

static bool is_empty_with(int home, const char *name)
{
	const int file = openat(home, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	const bool is_empty = store_is_empty(&meta);

	cr_assert_geq(file, 0, "%s", name);
	cr_assert_eq(close(file), 0);
	cr_assert_eq(unlinkat(home, name, 0), 0);
	return is_empty;
}

Test(store_layers, the_users_name_for_git_is_no_file_of_a_sandbox)
{
	int fd = place_create("one", &meta);
	int readable = place_open(&meta, meta.upper, "home", true);

	cr_assert_geq(readable, 0);
	cr_expect_not(is_empty_with(readable, ".config"), "a file is none of ours");
	cr_assert_eq(mkdirat(readable, ".config", 0700), 0);
	cr_expect_not(is_empty_with(readable, ".config/git"));
	cr_assert_eq(mkdirat(readable, ".config/git", 0700), 0);
	cr_expect(is_empty_with(readable, ".config/git/config"));
	cr_expect_not(is_empty_with(readable, ".config/git/ignore"));
	cr_expect_not(is_empty_with(readable, ".config/other"));
	cr_expect_not(is_empty_with(readable, ".profile"));
	cr_assert_eq(mkdirat(readable, ".config/git/config", 0700), 0);
	cr_expect_not(is_empty_with(readable, ".config/git/config/file"));
	fd_close(&readable);
	fd_close(&fd);
}

Test(store_layers, back_and_forth)
{
	struct store_checkpoint made;
	int fd = place_create("one", &meta);

	place_write(&meta, "1");
	cr_assert_eq(store_checkpoint(fd, &meta, "name", &made), 0);
	cr_expect_eq(made.number, 1);
	cr_expect_str_eq(made.name, "name");
	cr_expect_leq(made.created_s, clock_real_us() / 1000000);
	place_write(&meta, "2");
	cr_expect_eq(save(fd), 2);
	place_write(&meta, "3");
	fd_close(&fd);
	expect_view("one has 2: 123 1 12\n");
	fd = place_take("one", &meta);
	cr_assert_eq(store_rollback(fd, &meta, 1), 0);
	fd_close(&fd);
	expect_view("one has 2: 1 1 12\n");
	fd = place_take("one", &meta);
	place_write(&meta, "4");
	cr_expect_eq(save(fd), 3);
	fd_close(&fd);
	expect_view("one has 3: 14 1 12 14\n");
	fd = place_take("one", &meta);
	cr_assert_eq(store_rollback(fd, &meta, 2), 0);
	cr_expect_eq(store_checkpoint_of(&meta, meta.upper, UINT32_MAX), 2);
	cr_expect_eq(store_checkpoint_of(&meta, meta.checkpoints[2].layer, 3), 1);
	cr_expect_eq(store_checkpoint_of(&meta, meta.checkpoints[0].layer, 1), 0);
	cr_expect_eq(store_rollback(fd, &meta, 4), -ENOENT);
	cr_expect_eq(store_rollback(fd, &meta, 0), -ENOENT);
	fd_close(&fd);
	expect_view("one has 3: 12 1 12 14\n");
}

Test(store_layers, where_nothing_was_written_nothing_is_made)
{
	int fd = place_create("one", &meta);

	for (uint32_t i = 1; i <= 3; i++)
		cr_expect_eq(save(fd), i);
	cr_expect_eq(meta.layer_count, 1);
	cr_expect_eq(meta.checkpoints[0].layer, STORE_NO_LAYER);
	cr_assert_eq(store_rollback(fd, &meta, 1), 0);
	cr_expect_eq(place_count("layers"), 1);
	place_write(&meta, "1");
	cr_expect_eq(save(fd), 4);
	cr_expect_eq(save(fd), 5);
	cr_expect_eq(meta.layer_count, 2);
	cr_expect_eq(place_count("layers"), 2);
	cr_assert_eq(store_rollback(fd, &meta, 5), 0);
	cr_expect_eq(place_count("trash"), 0, "nothing was lost by it");
	cr_assert_eq(store_rollback(fd, &meta, 1), 0);
	cr_expect_eq(place_count("trash"), 1);
	fd_close(&fd);
	expect_view("one has 5:     1 1\n");
}

/* What overlayfs and msp-layers put beside the places is none of them. */
Test(store_layers, what_is_beside_the_places_does_not_count)
{
	int fd = place_create("one", &meta);
	int layer = store_layer(&meta, meta.upper);
	int place = place_open(&meta, meta.upper, PLACE, true);
	int work = place_open(&meta, meta.upper, "work-" PLACE, true);
	int base = openat(layer, "base", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	cr_assert(layer >= 0 && place >= 0 && work >= 0 && base >= 0);
	cr_assert_eq(mkdirat(work, "work", 0), 0);
	(void)save(fd);
	cr_expect_eq(meta.layer_count, 1);
	cr_assert_eq(mkdirat(place, "directory", 0), 0);
	(void)save(fd);
	cr_expect_eq(meta.layer_count, 2);
	fd_close_all((int[]){ fd, layer, place, work, base }, 5);
}

Test(store_layers, what_nothing_is_built_on_goes)
{
	int fd = place_create("one", &meta);

	for (const char *file = "123"; *file; file++) {
		place_write(&meta, (char[]){ *file, '\0' });
		(void)save(fd);
	}
	cr_expect_eq(place_count("layers"), 4);
	cr_assert_eq(store_forget(fd, &meta, 2), 0);
	cr_expect_eq(place_count("layers"), 4, "the third is built on it");
	cr_expect_eq(store_forget(fd, &meta, 2), -ENOENT);
	cr_assert_eq(store_rollback(fd, &meta, 1), 0);
	cr_assert_eq(store_forget(fd, &meta, 3), 0);
	cr_expect_eq(place_count("layers"), 2);
	cr_assert_eq(store_forget(fd, &meta, 1), 0);
	cr_expect_eq(place_count("layers"), 2, "its files are based on it");
	cr_expect_eq(save(fd), 4, "a number is given once");
	fd_close(&fd);
	expect_view("one has 1: 1 1\n");
}

Test(store_layers, as_many_checkpoints_as_may_be)
{
	struct store_checkpoint made;
	int fd = place_create("one", &meta);

	for (uint32_t i = 1; i <= CHECKPOINTS_MAX; i++)
		cr_assert_eq(save(fd), i);
	second = meta;
	cr_expect_eq(store_checkpoint(fd, &meta, "", &made), -E2BIG);
	cr_expect_eq(memcmp(&meta, &second, sizeof(meta)), 0);
	cr_assert_eq(store_forget(fd, &meta, 30), 0);
	cr_expect_eq(save(fd), CHECKPOINTS_MAX + 1);
	fd_close(&fd);
	fd = place_take("one", &meta);
	cr_expect_eq(meta.checkpoint_count, CHECKPOINTS_MAX);
	fd_close(&fd);
}

/* --- forks ------------------------------------------------------------------------------------ */

Test(store_layers, forks_are_independent)
{
	struct store_census census = PLACE_NO_LIMITS;
	int fd = place_create("a", &meta);
	int other;

	place_write(&meta, "1");
	(void)save(fd);
	place_write(&meta, "2");
	other = store_fork(fd, &meta, 0, "b", &census, &second);
	cr_assert_geq(other, 0);
	place_write(&meta, "3");
	place_write(&second, "4");
	fd_close(&other);
	other = store_fork(fd, &meta, 1, "c", &census, &second);
	cr_assert_geq(other, 0);
	fd_close(&fd);
	fd_close(&other);
	expect_view("a has 1: 123 1\nb has 0: 124\nc has 0: 1\n");
	fd = place_take("a", &meta);
	cr_expect_eq(store_fork(fd, &meta, 7, "d", &census, &second), -ENOENT);
	cr_assert_eq(place_destroy(&meta), 0);
	fd_close(&fd);
	expect_view("b has 0: 124\nc has 0: 1\n");
	fd = place_take("b", &meta);
	cr_assert_eq(place_destroy(&meta), 0);
	fd_close(&fd);
	expect_view("c has 0: 1\n");
	fd = place_take("c", &meta);
	cr_assert_eq(place_destroy(&meta), 0);
	fd_close(&fd);
	cr_expect_eq(place_count("layers"), 0);
}

Test(store_layers, a_fork_keeps_what_it_was_made_from)
{
	struct store_census census = PLACE_NO_LIMITS;
	int fd = place_create("a", &meta);
	int other;

	memcpy(meta.owner, "token", sizeof("token"));
	memcpy(meta.workspace, "/work", sizeof("/work"));
	meta.workspace_mode = WORKSPACE_COPY;
	meta.workspace_device = 7;
	meta.workspace_inode = 8;
	meta.is_persons = 1;
	cr_assert_eq(store_save(fd, &meta), 0);
	other = store_fork(fd, &meta, 0, "b", &census, &second);
	cr_assert_geq(other, 0);
	cr_expect_str_eq(second.owner, "token");
	cr_expect_str_eq(second.workspace, "/work");
	cr_expect_eq(second.workspace_device, 7);
	cr_expect_eq(second.workspace_inode, 8);
	cr_expect_eq(second.is_persons, 1);
	cr_expect_eq(second.ttl_s, 3600);
	cr_expect_neq(memcmp(second.id, meta.id, STORE_ID_BYTES), 0);
	cr_expect_neq(
		memcmp(second.layers[second.upper].id, meta.layers[meta.upper].id, STORE_ID_BYTES),
		0);
	fd_close(&fd);
	fd_close(&other);
}

/* --- what they take --------------------------------------------------------------------------- */

/* What a rollback leaves behind for a checkpoint is still on disk. */
Test(store_layers, what_a_checkpoint_keeps_counts)
{
	int fd = place_create("one", &meta);

	(void)save(fd);
	for (uint32_t i = 1; i <= 3; i++) {
		place_write(&meta, "1");
		store_count(fd, &meta, 1000, 10);
		cr_expect_eq(meta.disk_bytes, i * 1000);
		(void)save(fd);
		cr_expect_eq(meta.disk_bytes, i * 1000);
		cr_assert_eq(store_rollback(fd, &meta, 1), 0);
		cr_expect_eq(meta.disk_bytes, i * 1000);
		cr_expect_eq(meta.disk_inodes, i * 10);
	}
	place_write(&meta, "2");
	store_count(fd, &meta, 500, 5);
	fd_close(&fd);
	fd = place_take("one", &meta);
	cr_expect_eq(meta.disk_bytes, 3500);
	cr_expect_eq(meta.disk_inodes, 35);
	cr_assert_eq(store_rollback(fd, &meta, 3), 0);
	cr_expect_eq(meta.disk_bytes, 3000, "its own is gone");
	for (uint32_t i = 2; i <= 4; i++)
		cr_assert_eq(store_forget(fd, &meta, i), 0);
	cr_expect_eq(meta.disk_bytes, 1000, "the one that it is built on");
	fd_close(&fd);
	fd = place_take("one", &meta);
	cr_expect_eq(meta.disk_bytes, 1000);
	fd_close(&fd);
}

/* --- merges ----------------------------------------------------------------------------------- */

static struct store_merge merge;

static void grow(int fd, uint32_t layers)
{
	for (uint32_t i = 0; i < layers; i++) {
		place_write(&meta, (char[]){ (char)('0' + i % 10), '\0' });
		(void)save(fd);
	}
}

static void merge_all(int fd, const struct store_meta *at)
{
	int target = store_merge_target(fd);

	cr_assert_geq(target, 0);
	cr_assert(fd_is_kind(target, 'd'));
	place_merge(at, &merge, target);
	fd_close(&target);
}

Test(store_layers, a_long_chain_becomes_short)
{
	int fd = place_create("one", &meta);

	grow(fd, STORE_CHAIN_MAX);
	cr_expect_not(store_merge_plan(&meta, &merge));
	grow(fd, 1);
	store_count(fd, &meta, 1000, 100);
	cr_assert(store_merge_plan(&meta, &merge));
	cr_expect_eq(merge.count, STORE_CHAIN_MAX + 1);
	merge_all(fd, &meta);
	for (uint32_t i = 2; i <= STORE_CHAIN_MAX; i++)
		cr_assert_eq(store_forget(fd, &meta, i), 0);
	place_write(&meta, "9");
	cr_assert_eq(store_merge_done(fd, &meta, &merge, 400, 40), 0);
	cr_expect_eq(store_depth(&meta, meta.upper), 2);
	cr_expect_eq(meta.layer_count, 3, "the first checkpoint has its own");
	cr_expect_eq(meta.disk_bytes, 1400, "the layers were never counted, the upper was");
	cr_expect_eq(place_count("layers"), 3);
	fd_close(&fd);
	expect_view("one has 2: 0123456789 0 0123456789\n");
}

Test(store_layers, a_chain_grows_to_its_end)
{
	struct store_checkpoint made;
	int fd = place_create("one", &meta);

	grow(fd, LAYERS_DEEP_MAX - 1);
	place_write(&meta, "1");
	second = meta;
	cr_expect_eq(store_checkpoint(fd, &meta, "", &made), -E2BIG);
	cr_expect_eq(memcmp(&meta, &second, sizeof(meta)), 0);
	cr_assert(store_merge_plan(&meta, &merge));
	merge_all(fd, &meta);
	cr_assert_eq(store_merge_done(fd, &meta, &merge, 1, 1), 0);
	cr_expect_eq(store_checkpoint(fd, &meta, "", &made), 0);
	fd_close(&fd);
}

Test(store_layers, a_merge_of_what_is_gone_is_dropped)
{
	int fd = place_create("one", &meta);

	grow(fd, STORE_CHAIN_MAX + 1);
	cr_assert(store_merge_plan(&meta, &merge));
	merge_all(fd, &meta);
	cr_assert_eq(store_rollback(fd, &meta, 1), 0);
	for (uint32_t i = 2; i <= STORE_CHAIN_MAX + 1; i++)
		cr_assert_eq(store_forget(fd, &meta, i), 0);
	second = meta;
	cr_expect_eq(store_merge_done(fd, &meta, &merge, 1, 1), -ESTALE);
	cr_expect_eq(memcmp(&meta, &second, sizeof(meta)), 0);
	fd_close(&fd);
	expect_view("one has 1: 0 0\n");
}

Test(store_layers, a_fork_keeps_the_layers_that_another_merged)
{
	struct store_census census = PLACE_NO_LIMITS;
	int fd = place_create("a", &meta);
	int other;

	grow(fd, STORE_CHAIN_MAX + 1);
	other = store_fork(fd, &meta, 0, "b", &census, &second);
	cr_assert_geq(other, 0);
	for (uint32_t i = 1; i <= STORE_CHAIN_MAX; i++)
		cr_assert_eq(store_forget(fd, &meta, i), 0);
	cr_assert(store_merge_plan(&meta, &merge));
	merge_all(fd, &meta);
	cr_assert_eq(store_merge_done(fd, &meta, &merge, 1, 1), 0);
	cr_expect_eq(place_count("layers"), 2 + STORE_CHAIN_MAX + 2);
	fd_close(&fd);
	fd_close(&other);
	expect_view("a has 1: 0123456789 0123456789\nb has 0: 0123456789\n");
}

/* --- directories ------------------------------------------------------------------------------ */

static void expect_directory(int fd)
{
	cr_assert_geq(fd, 0, "%s", strerror(-fd));
	cr_expect(fd_is_kind(fd, 'd'));
	fd_close(&fd);
}

Test(store_layers, directories_of_a_layer)
{
	int fd = place_create("one", &meta);

	expect_directory(store_layer(&meta, meta.upper));
	expect_directory(store_journal(fd));
	expect_directory(store_journal(fd));
	cr_expect_eq(store_layer(&meta, 1), -ENOENT);
	cr_expect_eq(store_layer(&meta, STORE_NO_LAYER), -ENOENT);
	fd_close(&fd);
}

Test(store_layers, a_link_is_not_followed)
{
	char path[256], layer[IPC_ID_MAX];
	int fd = place_create("one", &meta);

	store_id_text(meta.layers[0].id, layer);
	(void)snprintf(path, sizeof(path), "%s/layers/%s", place_path, layer);
	cr_assert_eq(rmdir(path), 0);
	cr_assert_eq(symlink("/tmp", path), 0);
	cr_expect_lt(store_layer(&meta, 0), 0);
	fd_close(&fd);
}

Test(store_layers, everything_is_the_users_alone)
{
	static const char *const names[] = { "sandboxes", "layers", "trash" };
	struct stat status;
	int fd = place_create("one", &meta);

	for (size_t i = 0; i < 3; i++) {
		cr_assert_eq(fstatat(store_places.state, names[i], &status, 0), 0);
		cr_expect_eq(status.st_mode & 0777, 0700);
	}
	cr_assert_eq(fstat(fd, &status), 0);
	cr_expect_eq(status.st_mode & 0777, 0700);
	cr_assert_eq(fstatat(fd, "meta", &status, 0), 0);
	cr_expect_eq(status.st_mode & 0777, 0600);
	fd_close(&fd);
}

/* --- all of it, at random --------------------------------------------------------------------- */

#define MODELS 4

struct model {
	bool is_there;
	uint32_t now;                          /* these: files as bits */
	uint32_t saved[CHECKPOINTS_MAX + 200]; /* by number */
};

static struct model models[MODELS];

static void check_model(const struct store_meta *at, const struct model *model)
{
	for (uint32_t file = 0; file < 10; file++) {
		const char name[2] = { (char)('0' + file), '\0' };

		cr_assert_eq(place_shows(at, at->upper, name), model->now >> file & 1);
		for (uint32_t i = 0; i < at->checkpoint_count; i++)
			cr_assert_eq(place_shows(at, at->checkpoints[i].layer, name),
				     model->saved[at->checkpoints[i].number] >> file & 1);
	}
}

static void fork_model(int fd, struct model *from, uint32_t number, uint32_t *seed)
{
	struct store_census census = PLACE_NO_LIMITS;
	const uint32_t to = random_next(seed) % MODELS;
	const char name[2] = { (char)('a' + to), '\0' };
	int made = store_fork(fd, &meta, number, name, &census, &second);

	if (models[to].is_there) {
		cr_assert_eq(made, -EEXIST);
		return;
	}
	if (made == -E2BIG)
		return;
	cr_assert_geq(made, 0, "%s", strerror(-made));
	models[to].now = number ? from->saved[number] : from->now;
	models[to].is_there = true;
	fd_close(&made);
}

static void step_model(int fd, struct model *model, uint32_t *seed)
{
	const uint32_t act = random_next(seed) % 16;
	const uint32_t count = meta.checkpoint_count;
	const uint32_t number = count ? meta.checkpoints[random_next(seed) % count].number : 0;
	const uint32_t file = random_next(seed) % 10;
	struct store_checkpoint made;

	if (act < 6) {
		place_write(&meta, (char[]){ (char)('0' + file), '\0' });
		model->now |= 1U << file;
	} else if (act < 10) {
		if (store_checkpoint(fd, &meta, "", &made) == 0)
			model->saved[made.number] = model->now;
	} else if (act == 10 && number) {
		cr_assert_eq(store_rollback(fd, &meta, number), 0);
		model->now = model->saved[number];
	} else if (act < 13 && number && count > 20) {
		cr_assert_eq(store_forget(fd, &meta, number), 0);
	} else if (act == 13) {
		fork_model(fd, model, random_next(seed) % 2 ? number : 0, seed);
	} else if (act == 14 && store_merge_plan(&meta, &merge)) {
		merge_all(fd, &meta);
		cr_assert_eq(store_merge_done(fd, &meta, &merge, 1, 1), 0);
	} else if (act == 15 && random_next(seed) % 4 == 0) {
		cr_assert_eq(place_destroy(&meta), 0);
		model->is_there = false;
	}
}

Test(store_layers, whatever_is_done_files_are_what_they_should_be)
{
	uint32_t seed = 1;

	for (int i = 0; i < 1500; i++) {
		const uint32_t at = random_next(&seed) % MODELS;
		const char name[2] = { (char)('a' + at), '\0' };
		struct model *model = &models[at];
		int fd = model->is_there ? place_take(name, &meta) : place_create(name, &meta);

		if (!model->is_there || meta.next_checkpoint > CHECKPOINTS_MAX + 150) {
			cr_assert(!model->is_there || place_destroy(&meta) == 0);
			model->is_there = !model->is_there;
			model->now = 0;
		} else {
			step_model(fd, model, &seed);
		}
		if (model->is_there)
			check_model(&meta, model);
		fd_close(&fd);
	}
	cr_expect_eq(place_count_unnamed(), 0);
}
