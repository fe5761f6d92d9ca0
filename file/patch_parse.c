/* SPDX-License-Identifier: Apache-2.0
 *
 * The two forms of a patch. Models mix them, so one reader takes both: the apply_patch form
 * ("*** Update File:", hunks found by their lines) and a unified diff (patch_diff.c). A line that
 * is neither is a fault: skipping it would lose a part of the change.
 */
#include <stdlib.h>

#include "patch_reader.h"

/* Take the lines of a new file, each with a + before it. */
static bool take_new_lines(struct reader *reader)
{
	struct patch_hunk *hunk = reader_add_hunk(reader);

	while (reader->at < reader->count && !reader_begins(reader, reader->at, "*** ")) {
		if (reader_begins(reader, reader->at, "+"))
			(void)reader_take_body_line(reader, hunk);
		else if (source_is_blank(reader_line(reader, reader->at)) &&
			 (reader->at + 1 >= reader->count ||
			  reader_begins(reader, reader->at + 1, "*** ")))
			reader->at++;
		else
			return reader_set_fault(reader,
						"a line of a new file begins with +, and this one "
						"does not");
	}
	return true;
}

static bool take_section(struct reader *reader, enum patch_kind kind, const char *word)
{
	static const char move[] = "*** Move to:";

	if (!reader_add_file(reader, kind, source_copy_path(reader_rest(reader, word))))
		return false;
	reader->at++;
	if (kind == PATCH_ADD)
		return take_new_lines(reader);
	if (kind == PATCH_DELETE)
		return true;
	if (reader_begins(reader, reader->at, move)) {
		reader_last_file(reader)->move = source_copy_path(reader_rest(reader, move));
		if (!reader_last_file(reader)->move)
			return reader_set_fault(reader, "the new name of a file is missing");
		reader->at++;
	}
	if (!reader_take_hunks(reader))
		return false;
	return reader_last_file(reader)->count > 0 || reader_last_file(reader)->move ||
	       reader_set_fault(reader, "an update has no hunk");
}

/* --- the whole -------------------------------------------------------------------------------- */

static bool take_next(struct reader *reader)
{
	static const struct {
		const char *word;
		enum patch_kind kind;
	} sections[] = {
		{ "*** Add File:", PATCH_ADD },
		{ "*** Update File:", PATCH_UPDATE },
		{ "*** Delete File:", PATCH_DELETE },
	};

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		if (reader_begins(reader, reader->at, sections[i].word))
			return take_section(reader, sections[i].kind, sections[i].word);
	}
	if (reader_begins(reader, reader->at, "diff --git "))
		return reader_take_git(reader);
	if (reader_is_file_header(reader, reader->at))
		return reader_take_unified(reader);
	if (reader_begins(reader, reader->at, "*** Begin Patch"))
		reader->is_wrapped = true;
	else if (reader_begins(reader, reader->at, "*** End Patch") ||
		 reader_begins(reader, reader->at, "-- ") ||
		 reader_begins(reader, reader->at, "```"))
		reader->is_over = reader->patch->file_count > 0;
	else if (!source_is_blank(reader_line(reader, reader->at)) &&
		 (reader->is_wrapped || reader->patch->file_count > 0))
		return reader_set_fault(reader, "this line belongs to no hunk and no file");
	reader->at++; /* before the first file there may be prose, as in a mail */
	return true;
}

/* Return whether a shell would have put the home directory into the name; no sandbox does. */
static bool is_of_home(const char *name)
{
	return name && name[0] == '~' && (name[1] == '/' || name[1] == '\0');
}

/* Take the next part of the patch; a name of a home would become a directory "~". */
static bool take_named(struct reader *reader)
{
	const size_t begin = reader->at, count = reader->patch->file_count;

	if (!take_next(reader))
		return false;
	if (reader->patch->file_count == count || (!is_of_home(reader_last_file(reader)->path) &&
						   !is_of_home(reader_last_file(reader)->move)))
		return true;
	reader->at = begin;
	return reader_set_fault(reader,
				"the name begins with ~, which has a meaning in a shell only: the "
				"home directory is /home/agent, and a file of that name is ./~");
}

bool patch_parse(const char *text, size_t size, struct patch *ret, struct patch_fault *ret_fault)
{
	struct reader reader = { .patch = ret, .fault = ret_fault };
	bool is_fine = true;

	*ret = (struct patch){ 0 };
	*ret_fault = (struct patch_fault){ 0 };
	reader_split(&reader, text, size);
	while (is_fine && !reader.is_over && reader.at < reader.count)
		is_fine = take_named(&reader);
	if (is_fine && reader.is_wrapped && !reader.is_over)
		is_fine = reader_set_fault(
			&reader, ret->file_count > 0
					 ? "the patch does not end with *** End Patch: it "
					   "may have been cut"
					 : "the patch changes no file");
	if (is_fine && ret->file_count == 0)
		is_fine = reader_set_fault(
			&reader, "this is no patch: one begins with *** Begin Patch, or with "
				 "the --- and +++ lines of a diff");
	free(reader.lines);
	return is_fine;
}
