/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patch.h"

static struct patch patch;
static struct patch_fault fault;

static void free_patch(struct patch *parsed)
{
	for (size_t i = 0; i < parsed->file_count; i++) {
		free(parsed->files[i].path);
		free(parsed->files[i].move);
	}
	free(parsed->files);
	free(parsed->hunks);
	free(parsed->lines);
}

static bool parse(const char *text)
{
	return patch_parse(text, strlen(text), &patch, &fault);
}

Test(patch_parse, the_apply_form)
{
	cr_assert(parse("*** Begin Patch\n*** Add File: new\n+a\n*** Update File: x y\n"
			"*** Move to: z\n@@ f()\n@@ g()\n k\n-o\n+n\n\n*** Delete File: d\n"
			"*** End Patch\n"),
		  "%s", fault.text);
	cr_assert_eq(patch.file_count, 3);
	cr_assert_eq(patch.files[0].kind, PATCH_ADD);
	cr_assert_str_eq(patch.files[1].path, "x y");
	cr_assert_str_eq(patch.files[1].move, "z");
	cr_assert_eq(patch.files[1].count, 1);
	cr_assert_eq(patch.hunks[1].count, 5, "two anchors and three lines");
	cr_assert_eq(patch.hunks[1].number, 6);
	cr_assert_eq(patch.lines[patch.hunks[1].first].sign, PATCH_ANCHOR);
	cr_assert_eq(patch.files[2].kind, PATCH_DELETE);
	free_patch(&patch);
}

Test(patch_parse, names_of_diffs)
{
	static const struct {
		const char *old, *new, *path;
		enum patch_kind kind;
	} rows[] = {
		{ "a/x", "b/x", "x", PATCH_UPDATE },
		{ "a/x\t2026-01-01", "b/x\t2026-01-02", "x", PATCH_UPDATE },
		{ "a/x", "a/x", "a/x", PATCH_UPDATE },
		{ "x", "x", "x", PATCH_UPDATE },
		{ "/dev/null", "b/n", "n", PATCH_ADD },
		{ "/dev/null", "n", "n", PATCH_ADD },
		{ "a/d", "/dev/null", "d", PATCH_DELETE },
		{ "\"a/\\303\\244\\n\\\"\"", "\"b/\\303\\244\\n\\\"\"", "\303\244\n\"",
		  PATCH_UPDATE },
	};
	char text[200];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(text, sizeof(text), "--- %s\n+++ %s\n@@ -1 +1 @@\n-1\n+2\n",
			       rows[i].old, rows[i].new);
		cr_assert(parse(text), "%s: %s", text, fault.text);
		cr_assert_str_eq(patch.files[0].path, rows[i].path);
		cr_assert_eq(patch.files[0].kind, rows[i].kind);
		free_patch(&patch);
	}
}

Test(patch_parse, names_of_git_headers)
{
	static const struct {
		const char *names, *path; /* NULL: a fault */
	} rows[] = {
		{ "a/x b/x", "x" },
		{ "a/x y b/x y", "x y" },
		{ "x x", "x" },
		{ "\"a/\\303\\244\" \"b/\\303\\244\"", "\303\244" },
		{ "a/x b/y", NULL },
		{ "a/x b/xx", NULL },
		{ "\"a/x\" \"b/x", NULL },
		{ "a/x", NULL },
		{ "x", NULL },
	};
	char text[200];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(text, sizeof(text),
			       "diff --git %s\nold mode 100644\nnew mode 100755\n", rows[i].names);
		cr_assert_eq(parse(text), rows[i].path != NULL, "%s", text);
		if (rows[i].path) {
			cr_assert_str_eq(patch.files[0].path, rows[i].path);
			cr_assert_eq(patch.files[0].is_program, 1);
		}
		free_patch(&patch);
	}
}

Test(patch_parse, faults_have_their_line)
{
	static const struct {
		const char *text;
		size_t number;
	} rows[] = {
		{ "", 0 },
		{ "prose\nprose\n", 2 },
		{ "*** Begin Patch\n*** Update File: a\n@@\nx\n", 4 },
		{ "*** Begin Patch\n*** Update File: a\n@@\n-x\n", 4 },
		{ "*** Begin Patch\n\n*** Other File: a\n", 3 },
		{ "--- \"a\\9\"\n+++ b\n@@ -1 +1 @@\n", 1 },
		{ "diff --git \"a/x\" \"b/y\"\nold mode 100644\nnew mode 100755\n", 3 },
		{ "--- /dev/null\n+++ b/~/x\n@@ -0,0 +1 @@\n+x\n", 1 },
		{ "*** Begin Patch\n*** Update File: a\n*** Move to: ~/a\n@@\n-x\n+y\n", 2 },
		{ "--- a\n+++ a\n@@ -99999999999999999999 +1 @@\n-a\n", 3 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) - 1; i++) {
		cr_assert_not(parse(rows[i].text), "row %zu", i);
		cr_assert_eq(fault.number, rows[i].number, "row %zu: %zu", i, fault.number);
		cr_assert_gt(strlen(fault.text), 10);
		free_patch(&patch);
	}
	/* a number that is too large is an anchor */
	cr_assert(parse(rows[sizeof(rows) / sizeof(rows[0]) - 1].text));
	cr_assert_eq(patch.hunks[0].stated, 0);
	free_patch(&patch);
}

Test(patch_place, likeness_of_lines)
{
	static const struct {
		const char *a, *b;
		enum match_level from; /* from this level on they are the same */
	} rows[] = {
		{ "a", "a", MATCH_EXACT },         { "", "", MATCH_EXACT },
		{ "a ", "a\t\t", MATCH_TRAILING }, { " ", "", MATCH_TRAILING },
		{ "  a", "\ta", MATCH_SPACES },    { "a  b", "a b ", MATCH_SPACES },
		{ "ab", "a b", MATCH_LEVELS },     { "a", "", MATCH_LEVELS },
		{ "a", "A", MATCH_LEVELS },        { "a b", "a b c", MATCH_LEVELS },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (enum match_level level = 0; level < MATCH_LEVELS; level++) {
			const size_t a = strlen(rows[i].a);
			const size_t b = strlen(rows[i].b);
			const bool is_same = level >= rows[i].from;

			cr_assert_eq(patch_is_same(rows[i].a, a, rows[i].b, b, level), is_same);
			cr_assert_eq(patch_is_same(rows[i].b, b, rows[i].a, a, level), is_same);
		}
	}
}

/* --- places and texts ------------------------------------------------------------------------- */

static struct place places[4];

/* Place the hunks of a patch of one file; returns the index of the first without a place. */
static size_t place_in(const char *hunks, const char *old, struct document *ret)
{
	static char text[500];

	(void)snprintf(text, sizeof(text), "*** Begin Patch\n*** Update File: a\n%s*** End Patch\n",
		       hunks);
	cr_assert(parse(text), "%s: %s", text, fault.text);
	cr_assert_leq(patch.files[0].count, 4);
	document_split(old, strlen(old), ret);
	return patch_place(&patch, &patch.files[0], ret, places);
}

Test(patch_place, results)
{
	static const struct {
		const char *hunks, *old;
		enum place_result result;
		size_t at;
		enum match_level level;
	} rows[] = {
		{ "@@\n-b\n+x\n", "a\nb\nc\n", PLACE_FOUND, 1, MATCH_EXACT },
		{ "@@\n-b\n+x\n", "a\nb \nc\n", PLACE_FOUND, 1, MATCH_TRAILING },
		{ "@@\n-  b\n+x\n", "a\n\tb\nc\n", PLACE_FOUND, 1, MATCH_SPACES },
		{ "@@\n-  b\n+x\n", "\tb\n    b\n", PLACE_MANY, 0, 0 },
		{ "@@\n-b\n+x\n", "b\nb \n", PLACE_FOUND, 0, MATCH_EXACT },
		{ "@@\n-b\n+x\n", "b\nb\n", PLACE_MANY, 0, 0 },
		{ "@@\n-b\n+x\n*** End of File\n", "b\nb\n", PLACE_FOUND, 1, MATCH_EXACT },
		{ "@@ -2 +2 @@\n-b\n+x\n", "b\nb\n", PLACE_FOUND, 1, MATCH_EXACT },
		{ "@@ f\n-b\n+x\n", "b\nf\nb\n", PLACE_FOUND, 2, MATCH_EXACT },
		{ "@@ g\n-b\n+x\n", "b\nf\nb\n", PLACE_NO_ANCHOR, 0, 0 },
		{ "@@\n-d\n+x\n", "a\nb\n", PLACE_NONE, 0, 0 },
		{ "@@\n-b\n+x\n", "", PLACE_NONE, 0, 0 },
		{ "@@\n+x\n", "a\n", PLACE_UNKNOWN, 0, 0 },
		{ "@@\n+x\n", "", PLACE_FOUND, 0, MATCH_EXACT },
		{ "@@ a\n+x\n", "a\nb\n", PLACE_FOUND, 1, MATCH_EXACT },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct document document;
		const size_t placed = place_in(rows[i].hunks, rows[i].old, &document);

		cr_assert_eq(placed, rows[i].result == PLACE_FOUND, "row %zu", i);
		cr_assert_eq(places[0].result, rows[i].result, "row %zu: %d", i, places[0].result);
		if (rows[i].result == PLACE_FOUND) {
			cr_assert_eq(places[0].at, rows[i].at, "row %zu: %zu", i, places[0].at);
			cr_assert_eq(places[0].level, rows[i].level, "row %zu", i);
		}
		document_free(&document);
		free_patch(&patch);
	}
}

Test(patch_place, hunks_in_any_order_and_apart)
{
	struct document document;

	cr_assert_eq(place_in("@@\n-c\n+x\n@@\n-a\n+y\n", "a\nb\nc\n", &document), 2);
	cr_assert_eq(places[0].at, 0, "in the order of the file");
	cr_assert_eq(places[1].at, 2);
	document_free(&document);
	free_patch(&patch);
	cr_assert_eq(place_in("@@\n a\n-b\n@@\n-b\n+x\n", "a\nb\nc\n", &document), 1);
	cr_assert_eq(places[1].result, PLACE_TAKEN);
	document_free(&document);
	free_patch(&patch);
}

Test(patch_place, candidates_are_the_best_first)
{
	struct candidate found[PLACES_SHOWN];
	struct document document;

	cr_assert_eq(place_in("@@\n a\n-b\n c\n", "a\nx\ny\na\nx\nc\n", &document), 0);
	cr_assert_eq(patch_candidates(&patch, &patch.hunks[0], &document, found), 2);
	cr_assert_eq(found[0].at, 3);
	cr_assert_eq(found[0].fitting, 2);
	cr_assert_eq(found[0].old_line, 1);
	cr_assert_eq(found[1].at, 0);
	document_free(&document);
	free_patch(&patch);
}

Test(patch_text, new_texts)
{
	static const struct {
		const char *hunks, *old, *new;
	} rows[] = {
		{ "@@\n a\n-b\n+c\n", "a\nb\n", "a\nc\n" },
		{ "@@\n a\n-b\n+c\n", "a\nb", "a\nc" },
		{ "@@\n b\n+c\n", "a\nb", "a\nb\nc\n" },
		{ "@@\n a\n-b\n+c\n+\n", "a\nb", "a\nc\n\n" },
		{ "@@\n a\n+c\n", "a\r\nb\r\n", "a\r\nc\r\nb\r\n" },
		{ "@@\n-a\n-b\n", "a\nb\n", "" },
		{ "@@\n-a\n+x\n@@\n-c\n+z\n", "a\nb\nc\n", "x\nb\nz\n" },
		{ "@@\n-b\n+x\n@@ a\n+n\n", "a\nb\nc\n", "a\nn\nx\nc\n" },
		{ "@@ -1 +1 @@\n-a\n+x\n\\ No newline at end of file\n", "a\n", "x" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct patch_text text;
		struct document document;
		const size_t count = place_in(rows[i].hunks, rows[i].old, &document);

		cr_assert_eq(count, patch.files[0].count, "row %zu", i);
		patch_make_text(&patch, &document, places, count, &text);
		cr_assert_eq(text.size, strlen(rows[i].new), "row %zu: %zu", i, text.size);
		cr_assert(text.size == 0 || memcmp(text.bytes, rows[i].new, text.size) == 0,
			  "row %zu", i);
		free(text.bytes);
		document_free(&document);
		free_patch(&patch);
	}
}
