/* SPDX-License-Identifier: Apache-2.0
 *
 * A repository of loose objects that the test writes itself.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "layers/reader/walk.h"

static char root[] = "/tmp/msp-commits-XXXXXX";
static int hosts, sandboxes, git = -1;
static struct objects objects;
static char told[4096];
static uint32_t brought;
static uint8_t base[OBJECT_ID_BYTES]; /* of the host's branch */
static struct walk_known known;

static int open_new(const char *name)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", root, name);
	cr_assert_eq(mkdir(path, 0700), 0);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	return fd;
}

static void begin(void)
{
	cr_assert_eq(library_load(), 0);
	cr_assert_not_null(mkdtemp(root));
	hosts = open_new("host");
	sandboxes = open_new("sandbox");
	told[0] = '\0';
}

static void end(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -r %s", root);
	objects_close(&objects);
	cr_assert_eq(system(command), 0);
}

TestSuite(walk, .init = begin, .fini = end);

static const char *hex(const uint8_t id[OBJECT_ID_BYTES])
{
	static char text[4][41];
	static int next;
	char *at = text[next = (next + 1) % 4];

	for (size_t i = 0; i < OBJECT_ID_BYTES; i++)
		(void)snprintf(at + 2 * i, 3, "%02x", id[i]);
	return at;
}

/* Write an object, under the id that it has. */
static void put(int where, uint32_t type, const void *bytes, size_t size,
		uint8_t ret[OBJECT_ID_BYTES])
{
	static const char *const names[] = { "", "commit", "tree", "blob", "tag" };
	uint8_t plain[8192], packed[16384];
	uLongf packed_size = sizeof(packed);
	const size_t head = (size_t)snprintf((char *)plain, 64, "%s %zu", names[type], size) + 1;
	char path[64];
	int file;

	cr_assert_eq(library_hash(type, bytes, size, ret), 0);
	memcpy(plain + head, bytes, size);
	cr_assert_eq(library_zlib()->compress2(packed, &packed_size, plain, head + size, 1), Z_OK);
	(void)snprintf(path, sizeof(path), "%.2s", hex(ret));
	(void)mkdirat(where, path, 0700);
	(void)snprintf(path, sizeof(path), "%.2s/%s", hex(ret), hex(ret) + 2);
	file = openat(where, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	cr_assert(file >= 0 && fd_write_all(file, packed, packed_size) == 0);
	fd_close(&file);
}

/* A tree with one entry. */
static void put_tree(int where, const char *mode, const char *name,
		     const uint8_t id[OBJECT_ID_BYTES], uint8_t ret[OBJECT_ID_BYTES])
{
	uint8_t bytes[256];
	const size_t size = (size_t)snprintf((char *)bytes, 200, "%s %s", mode, name) + 1;

	memcpy(bytes + size, id, OBJECT_ID_BYTES);
	put(where, OBJECT_TREE, bytes, size + OBJECT_ID_BYTES, ret);
}

static void put_commit(int where, const uint8_t tree[OBJECT_ID_BYTES], const uint8_t *parent,
		       uint8_t ret[OBJECT_ID_BYTES])
{
	char text[512];
	int size = snprintf(text, sizeof(text), "tree %s\n", hex(tree));

	if (parent)
		size += snprintf(text + size, sizeof(text) - (size_t)size, "parent %s\n",
				 hex(parent));
	size += snprintf(text + size, sizeof(text) - (size_t)size,
			 "author a <a> 0 +0000\ncommitter a <a> 0 +0000\n\nx\n");
	put(where, OBJECT_COMMIT, text, (size_t)size, ret);
}

static int found(void *context, const uint8_t id[OBJECT_ID_BYTES], const struct object *object)
{
	(void)context;
	(void)id;
	(void)object;
	brought++;
	return 0;
}

static int changed(void *context, const char *path, uint32_t mode, const char *target)
{
	(void)context;
	(void)mode;
	(void)strncat(told, path, sizeof(told) - strlen(told) - 1);
	if (target) {
		(void)strncat(told, "->", sizeof(told) - strlen(told) - 1);
		(void)strncat(told, target, sizeof(told) - strlen(told) - 1);
	}
	(void)strncat(told, "\n", sizeof(told) - strlen(told) - 1);
	return 0;
}

static int run(const uint8_t id[OBJECT_ID_BYTES])
{
	struct walk walk = {
		.objects = &objects, .found = found, .changed = changed, .known = &known, .git = git
	};
	int error;

	if (objects.count == 0) {
		cr_assert_eq(objects_add(&objects, sandboxes), 0);
		cr_assert_eq(objects_add(&objects, hosts), 0);
	}
	brought = 0;
	told[0] = '\0';
	memcpy(walk.bases[0], base, sizeof(base));
	memcpy(walk.bases[1], base, sizeof(base));
	error = walk_run(&walk, id);
	walk_forget(&known);
	return error;
}

static uint8_t blob[OBJECT_ID_BYTES], tree[OBJECT_ID_BYTES], first[OBJECT_ID_BYTES],
	other[OBJECT_ID_BYTES], second[OBJECT_ID_BYTES];

/* A commit of the host with one file. */
static void put_host(void)
{
	put(hosts, OBJECT_BLOB, "old", 3, blob);
	put_tree(hosts, "100644", "file", blob, tree);
	put_commit(hosts, tree, NULL, first);
}

Test(walk, what_the_host_has_brings_nothing)
{
	put_host();
	memcpy(base, first, sizeof(base));
	cr_assert_eq(run(first), 0);
	cr_assert_eq(brought, 0);
	cr_assert_str_eq(told, "");
}

/* A commit of the host beside its branch: `other` is its tree, `second` the commit. */
static void put_beside(const char *name, const uint8_t parent[OBJECT_ID_BYTES])
{
	put_tree(hosts, "100755", name, blob, other);
	put_commit(hosts, other, parent, second);
}

Test(walk, a_commit_of_the_host_that_its_branch_lacks)
{
	put_host();
	put_beside(".envrc", first);
	memcpy(base, first, sizeof(base));
	cr_assert_eq(run(second), 0);
	cr_assert_eq(brought, 0);
	cr_assert_str_eq(told, ".envrc\nfile\n");
	memcpy(base, second, sizeof(base));
	cr_assert_eq(run(second), 0);
	cr_assert_str_eq(told, "", "the control: the branch has it");
	cr_assert_eq(run(first), 0);
	cr_assert_str_eq(told, ".envrc\nfile\n", "the branch would lose it");
}

/* A ref of 41 bytes leads over all of a history that the host has and its branch lacks, once for
 * each ref. */
Test(walk, commits_of_the_host_are_counted_for_all_walks)
{
	uint8_t above[OBJECT_ID_BYTES];

	put_host();
	put_beside("aside", NULL);
	memcpy(base, first, sizeof(base));
	memcpy(known.bases, first, sizeof(base)); /* the bases of another ref */
	known.read = WALK_READ_ALL;
	cr_assert_eq(run(second), -E2BIG);
	put_tree(sandboxes, "100644", "new", blob, tree);
	put_commit(sandboxes, tree, first, above);
	known.read = WALK_READ_ALL;
	cr_assert_eq(run(above), 0, "a commit upon the branch needs none");
	known.read = WALK_READ_ALL - 2 * WALK_READ_COMPARED;
	cr_assert_eq(run(second), 0, "the control");
}

static void put_merge(int where, const uint8_t its_tree[OBJECT_ID_BYTES], const uint8_t *one,
		      const uint8_t *two, uint8_t ret[OBJECT_ID_BYTES])
{
	char text[512];
	const int size = snprintf(text, sizeof(text),
				  "tree %s\nparent %s\nparent %s\nauthor a <a> 0 +0000\n"
				  "committer a <a> 0 +0000\n\nx\n",
				  hex(its_tree), hex(one), hex(two));

	put(where, OBJECT_COMMIT, text, (size_t)size, ret);
}

Test(walk, a_merge_takes_either_side)
{
	uint8_t merge[OBJECT_ID_BYTES];

	put_host();
	put_beside(".envrc", first);
	memcpy(base, first, sizeof(base));
	put_merge(sandboxes, other, first, second, merge);
	cr_assert_eq(run(merge), 0);
	cr_assert_str_eq(told, ".envrc\nfile\n");
	put_merge(sandboxes, tree, second, first, merge);
	cr_assert_eq(run(merge), 0);
	cr_assert_str_eq(told, ".envrc\nfile\n", "the way leads over it");
	put_merge(sandboxes, tree, first, first, merge);
	cr_assert_eq(run(merge), 0);
	cr_assert_str_eq(told, "", "the control");
	cr_assert_eq(brought, 1);
}

Test(walk, a_host_without_commits_has_an_empty_tree)
{
	put_host();
	memset(base, 0, sizeof(base));
	cr_assert_eq(run(first), 0);
	cr_assert_str_eq(told, "file\n");
}

Test(walk, a_base_that_is_missing_ends_it)
{
	put_host();
	memset(base, 9, sizeof(base));
	cr_assert_eq(run(first), -ENOENT);
}

/* Trees in one another, each with the next one twice; a blob at the end, if `has_leaf`. */
static void put_nested(unsigned int levels, bool has_leaf)
{
	uint8_t bytes[256];

	if (has_leaf)
		put_tree(sandboxes, "100644", "f", blob, tree);
	else
		put(sandboxes, OBJECT_TREE, "", 0, tree);
	for (unsigned int i = 0; i < levels; i++) {
		memcpy(bytes, "40000 a\0", 8);
		memcpy(bytes + 8, tree, OBJECT_ID_BYTES);
		memcpy(bytes + 28, "40000 b\0", 8);
		memcpy(bytes + 36, tree, OBJECT_ID_BYTES);
		put(sandboxes, OBJECT_TREE, bytes, 56, tree);
	}
	put_commit(sandboxes, tree, first, second);
}

/* Objects are brought once, however often they are named; paths are bounded. */
Test(walk, trees_in_one_another)
{
	struct walk walk = { .objects = &objects, .found = found };

	put_host();
	memcpy(base, first, sizeof(base));
	for (int has_leaf = 0; has_leaf <= 1; has_leaf++) {
		put_nested(5, has_leaf);
		cr_assert_eq(run(second), 0, "the control");
		put_nested(40, has_leaf);
		cr_assert_eq(run(second), -E2BIG);
		brought = 0;
		cr_assert_eq(walk_run(&walk, second), 0);
		cr_assert_eq(brought, 42);
	}
}

Test(walk, a_new_commit_brings_what_the_host_lacks)
{
	put_host();
	put(sandboxes, OBJECT_BLOB, "new", 3, blob);
	put_tree(sandboxes, "100644", "file", blob, tree);
	put_commit(sandboxes, tree, first, second);
	cr_assert_eq(run(second), 0);
	cr_assert_eq(brought, 3);
	cr_assert_str_eq(told, "file\n");
}

Test(walk, a_known_blob_at_another_name_is_told_of)
{
	put_host();
	put_tree(sandboxes, "100755", ".envrc", blob, tree);
	put_commit(sandboxes, tree, first, second);
	cr_assert_eq(run(second), 0);
	cr_assert_eq(brought, 2);
	cr_assert_str_eq(told, ".envrc\nfile\n", "the new name, and the one that is gone");
}

Test(walk, a_known_tree_at_another_name_is_looked_into)
{
	put_host();
	put_tree(sandboxes, "40000", ".husky", tree, other);
	put_commit(sandboxes, other, NULL, second);
	cr_assert_eq(run(second), 0);
	cr_assert_str_eq(told, ".husky/file\n");
}

Test(walk, a_link_is_told_of_with_its_target)
{
	put_host();
	put(sandboxes, OBJECT_BLOB, "../outside", 10, blob);
	put_tree(sandboxes, "120000", "link", blob, tree);
	put_commit(sandboxes, tree, NULL, second);
	cr_assert_eq(run(second), 0);
	cr_assert_str_eq(told, "link->../outside\n");
}

Test(walk, a_missing_object_ends_it)
{
	memset(blob, 7, sizeof(blob));
	put_tree(sandboxes, "100644", "file", blob, tree);
	put_commit(sandboxes, tree, NULL, second);
	cr_assert_eq(run(second), -ENOENT);
	cr_assert_eq(run(blob), -ENOENT);
}

Test(walk, objects_of_another_type_end_it)
{
	put_host();
	put_tree(sandboxes, "40000", "folder", blob, other); /* a blob as a directory */
	put_commit(sandboxes, other, NULL, second);
	cr_assert_eq(run(second), -EBADMSG);
	put_tree(sandboxes, "100644", "file", tree, other); /* a tree as a link */
	put_tree(sandboxes, "120000", "file", tree, other);
	put_commit(sandboxes, other, NULL, second);
	cr_assert_eq(run(second), -EBADMSG);
	put_commit(sandboxes, blob, NULL, second); /* a blob as a tree */
	cr_assert_eq(run(second), -EBADMSG);
	cr_assert_eq(run(tree), -ENOTSUP, "a ref of a tree");
}

Test(walk, a_name_twice_ends_it)
{
	uint8_t bytes[256];

	put_host();
	memcpy(bytes, "100644 a\0", 9);
	memcpy(bytes + 9, blob, OBJECT_ID_BYTES);
	memcpy(bytes + 29, bytes, 29);
	put(sandboxes, OBJECT_TREE, bytes, 58, other);
	put_commit(sandboxes, other, NULL, second);
	cr_assert_eq(run(second), -EBADMSG);
}

#define CHAIN 170

/* Write a chain of directories, and a tree with so many names of its beginning, or of one link
 * after the other. */
static void put_chain(unsigned int names, const char *leaf, bool is_shifted,
		      uint8_t ret[OBJECT_ID_BYTES])
{
	static uint8_t chain[CHAIN][OBJECT_ID_BYTES], bytes[CHAIN * 32];
	size_t size = 0;

	put_tree(sandboxes, "100644", leaf, blob, chain[0]);
	for (unsigned int i = 1; i < CHAIN; i++)
		put_tree(sandboxes, "40000", "d", chain[i - 1], chain[i]);
	for (unsigned int i = 0; i < names; i++) {
		size += (size_t)snprintf((char *)bytes + size, 16, "40000 n%03u", i) + 1;
		memcpy(bytes + size, chain[CHAIN - 1 - (is_shifted ? i : 0)], OBJECT_ID_BYTES);
		size += OBJECT_ID_BYTES;
	}
	put(sandboxes, OBJECT_TREE, bytes, size, ret);
}

/* Two sides of some trees each have the product of them as pairs, all different. */
Test(walk, pairs_of_trees)
{
	uint8_t before[OBJECT_ID_BYTES];

	put_host();
	for (unsigned int names = 2; names <= 120; names += 118) {
		put_chain(names, "one", true, other);
		put_commit(hosts, other, NULL, before);
		memcpy(base, before, sizeof(base));
		put_chain(names, "two", false, tree);
		put_commit(sandboxes, tree, before, second);
		cr_assert_eq(run(second), names == 2 ? 0 : -E2BIG, "%u", names);
	}
}

/* --- what commits name beside the objects --------------------------------------------------------
 */

/* Make directories below the root, each in the one before. */
static void make_directories(const char *const *names)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s", root);
	for (; *names; names++) {
		(void)strncat(path, "/", sizeof(path) - strlen(path) - 1);
		(void)strncat(path, *names, sizeof(path) - strlen(path) - 1);
		cr_assert(mkdir(path, 0700) == 0 || errno == EEXIST);
	}
}

Test(walk, content_of_git_lfs_has_to_be_here)
{
	static const char digits[] =
		"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
	char text[256], path[256];
	int file;

	put_host();
	memcpy(base, first, sizeof(base));
	(void)snprintf(text, sizeof(text),
		       "version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 3\n",
		       digits);
	put(sandboxes, OBJECT_BLOB, text, strlen(text), blob);
	put_tree(sandboxes, "100644", "big", blob, tree);
	put_commit(sandboxes, tree, first, second);
	cr_assert_eq(run(second), -ENODATA);
	cr_assert_not_null(strstr(told, "big\n"));
	make_directories((const char *const[]){ "lfs", "objects", "2c", "26", NULL });
	git = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(run(second), -ENODATA);
	(void)snprintf(path, sizeof(path), "lfs/objects/2c/26/%s", digits);
	file = openat(git, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	fd_close(&file);
	cr_assert_eq(run(second), 0);
	text[0]++; /* no pointer */
	put(sandboxes, OBJECT_BLOB, text, strlen(text), blob);
	put_tree(sandboxes, "100644", "big", blob, tree);
	put_commit(sandboxes, tree, first, second);
	fd_close(&git);
	cr_assert_eq(run(second), 0);
}

Test(walk, the_commit_of_a_submodule_that_is_here_has_to_be_here)
{
	int module;

	put_host();
	memcpy(base, first, sizeof(base));
	put_tree(sandboxes, "160000", "sub", blob, tree);
	put_commit(sandboxes, tree, first, second);
	git = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(run(second), 0);
	make_directories((const char *const[]){ "modules", "sub", "objects", NULL });
	cr_assert_eq(run(second), -ENOLINK);
	cr_assert_not_null(strstr(told, "sub\n"));
	module = openat(git, "modules/sub/objects", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put(module, OBJECT_BLOB, "old", 3, blob);
	cr_assert_eq(run(second), 0);
	fd_close(&module);
	fd_close(&git);
}
