/* SPDX-License-Identifier: Apache-2.0
 *
 * patch: changes several files, all or none. First every hunk finds its place and every new content
 * is written without a name. Then names are switched, one system call for each file: new files,
 * then replaced ones, then removed ones. An error takes back the switches before it, because a
 * replaced or removed file keeps a temporary name until the end. A kill between two switches leaves
 * whole files, old and new ones, and the old content beside them.
 */
#include "patch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"
#include "common/fd.h"
#include "target.h"

enum step_kind {
	STEP_CREATE,
	STEP_REPLACE,
	STEP_REMOVE,
	STEP_KINDS,
};

struct step {
	enum step_kind kind;
	const char *name; /* as the patch has it */
	struct target target;
	bool is_done;
};

/* A file that moves has two steps. */
static struct {
	struct step *list;
	size_t count;
} steps;

static FILE *report;
static char *report_text;
static size_t report_size;

static void begin_report(void)
{
	report = open_memstream(&report_text, &report_size);
	if (!report)
		answer_problem(FILE_ERROR);
}

/* Answer with the report, and end. */
static void end_report(struct file_head head) __attribute__((noreturn));
static void end_report(struct file_head head)
{
	if (fclose(report) != 0)
		answer_problem(FILE_ERROR);
	answer_begin(head);
	answer_bytes(report_text, report_size);
	_exit(0);
}

/* --- undo ------------------------------------------------------------------------------------- */

static bool undo_step(struct step *step)
{
	if (!step->is_done)
		return true;
	switch (step->kind) {
	case STEP_CREATE:
		return unlink(step->target.path) == 0;
	case STEP_REPLACE:
		return target_exchange(&step->target);
	default:
		return target_put_back(&step->target);
	}
}

static bool undo_all(void)
{
	bool is_undone = true;

	while (steps.count > 0) {
		struct step *step = &steps.list[--steps.count];

		if (undo_step(step))
			target_drop(&step->target);
		else
			is_undone = false; /* the old content stays beside it */
	}
	target_remove_directories();
	return is_undone;
}

/* --- faults ----------------------------------------------------------------------------------- */

static void end_unfit(void) __attribute__((noreturn));
static void end_unfit(void)
{
	struct file_head head = { .problem = FILE_UNFIT };

	if (!undo_all())
		head.problem = FILE_TORN;
	end_report(head);
}

static void put_line(const char *text, size_t size)
{
	(void)fprintf(report, "%.*s%s\n", (int)(size < 200 ? size : 200), text,
		      size < 200 ? "" : " ...");
}

static void put_candidates(const struct patch *patch, const struct place *place,
			   const struct document *document)
{
	struct candidate found[PLACES_SHOWN];
	const size_t count = patch_candidates(patch, place->hunk, document, found);
	const size_t index = count > 0 && found[0].old_line != SIZE_MAX ? found[0].old_line : 0;
	const struct patch_line *wanted = patch_old_line(patch, place->hunk, index);

	if (!wanted)
		return;
	(void)fprintf(report, "\nlooked for: ");
	put_line(wanted->text, wanted->size);
	if (count == 0)
		(void)fprintf(report, "No line of the hunk is in the file.");
	for (size_t i = 0; i < count; i++) {
		const size_t at =
			found[i].at + (found[i].old_line == SIZE_MAX ? 0 : found[i].old_line);

		(void)fprintf(report, "%s line %zu (%zu %s there): ",
			      i == 0 ? "nearest:   " : "           ", at + 1, found[i].fitting,
			      found[i].fitting == 1 ? "line of the hunk fits"
						    : "lines of the hunk fit");
		if (at < document->count)
			put_line(document->lines[at].text, document->lines[at].size);
		else
			(void)fprintf(report, "[end of the file]\n");
	}
}

/* Answer why a hunk has no place, and end. */
static void refuse_hunk(const struct patch *patch, const struct patch_file *file, size_t index,
			const struct place *place, const struct document *document)
	__attribute__((noreturn));
static void refuse_hunk(const struct patch *patch, const struct patch_file *file, size_t index,
			const struct place *place, const struct document *document)
{
	begin_report();
	(void)fprintf(report, "%s: hunk %zu (line %zu of the patch) ", file->path, index + 1,
		      place->hunk->number);
	switch (place->result) {
	case PLACE_MANY:
		(void)fprintf(report, "fits in more than one place: lines ");
		for (size_t i = 0; i < place->place_count && i < PLACES_SHOWN; i++)
			(void)fprintf(report, "%s%zu", i > 0 ? ", " : "", place->places[i] + 1);
		(void)fprintf(report,
			      "%s. Add lines around it, or \"@@ LINE\" with the line that "
			      "begins its function.",
			      place->place_count > PLACES_SHOWN ? ", ..." : "");
		break;
	case PLACE_NO_ANCHOR:
		(void)fprintf(report, "has an @@ line that is not in the file: ");
		put_line(place->anchor->text, place->anchor->size);
		break;
	case PLACE_UNKNOWN:
		(void)fprintf(report, "has only new lines: add a line before or after them.");
		break;
	case PLACE_TAKEN:
		(void)fprintf(report, "fits only where an earlier hunk is, line %zu.",
			      place->at + 1);
		break;
	default:
		(void)fprintf(report, "does not fit.");
		put_candidates(patch, place, document);
		break;
	}
	end_unfit();
}

static void refuse_file(const char *path, const char *why) __attribute__((noreturn));
static void refuse_file(const char *path, const char *why)
{
	begin_report();
	(void)fprintf(report, "%s %s.", path, why);
	end_unfit();
}

/* --- the plan --------------------------------------------------------------------------------- */

/* Add a step; its target is found by the caller before the next one. */
static struct step *add_step(enum step_kind kind, const char *name)
{
	struct step *step = &steps.list[steps.count++];

	*step = (struct step){ .kind = kind, .name = name, .target = { .file = -1 } };
	answer_guard(name, undo_all);
	return step;
}

static void check_single(const struct step *step)
{
	for (const struct step *other = steps.list; other < step; other++) {
		if (strcmp(other->target.path, step->target.path) == 0)
			refuse_file(step->name, "is in the patch twice: put all its hunks into one "
						"part, or send two patches");
	}
}

/* Write the new content of a step. */
static void stage_content(struct step *step, const char *bytes, size_t size, int is_program)
{
	struct target *target = &step->target;

	target_open(target);
	target_write(target, bytes, size);
	if (is_program >= 0 || target->has_mode) {
		struct stat status;
		mode_t mode = target->old.st_mode;

		if (fstat(target->file, &status) != 0)
			answer_problem(FILE_ERROR);
		if (!target->has_mode)
			mode = status.st_mode;
		if (is_program == 1)
			mode |= (mode & 0444) >> 2; /* readers may execute it */
		else if (is_program == 0)
			mode &= ~(mode_t)0111;
		target->old.st_mode = mode;
		target->has_mode = true;
	}
	target_set_mode(target);
}

static void plan_create(const char *path, const struct patch_text *text, const struct stat *old,
			int is_program)
{
	struct step *step = add_step(STEP_CREATE, path);

	target_find(&step->target, path);
	check_single(step);
	if (step->target.was_there)
		answer_problem(FILE_EXISTS);
	if (old) {
		step->target.old = *old;
		step->target.has_mode = true;
	}
	stage_content(step, text->bytes, text->size, is_program);
}

static void plan_remove(const char *path, const struct stat *read)
{
	struct step *step = add_step(STEP_REMOVE, path);

	target_find_link(&step->target, path);
	check_single(step);
	if (read && S_ISREG(step->target.old.st_mode))
		step->target.old = *read;
}

static void put_file(const struct patch_file *file, char letter, const struct patch_text *text)
{
	(void)fprintf(report, "%c %s%s%s", letter, file->path, file->move ? " -> " : "",
		      file->move ? file->move : "");
	if (text)
		(void)fprintf(report, " +%zu -%zu", text->added, text->removed);
	(void)fprintf(report, "\n");
}

/* Say where a hunk went if the patch does not say exactly that. */
static void put_place(const struct place *place, const struct patch_file *file,
		      const struct patch *patch)
{
	const size_t number = (size_t)(place->hunk - &patch->hunks[file->first]) + 1;

	if (place->level == MATCH_TRAILING)
		(void)fprintf(report, "  hunk %zu: line %zu, where spaces at line ends differ\n",
			      number, place->at + 1);
	else if (place->level == MATCH_SPACES)
		(void)fprintf(report,
			      "  hunk %zu: line %zu, where spaces or tabs differ; new "
			      "lines are as in the patch\n",
			      number, place->at + 1);
	else if (place->place_count > 0)
		(void)fprintf(report,
			      "  hunk %zu: line %zu, the first behind its @@ line; the same "
			      "lines are at %zu\n",
			      number, place->at + 1, place->places[0] + 1);
	else if (place->hunk->stated > 0 && place->count > 0 &&
		 place->at + 1 != place->hunk->stated)
		(void)fprintf(report, "  hunk %zu: line %zu; the patch says %" PRIu64 "\n", number,
			      place->at + 1, place->hunk->stated);
}

/* Make the new text of a file from its old one. */
static void change_text(const struct patch *patch, const struct patch_file *file, const char *bytes,
			size_t size, struct patch_text *ret, struct place *places)
{
	struct document document;
	size_t placed;

	document_split(bytes, size, &document);
	placed = patch_place(patch, file, &document, places);
	if (placed < file->count)
		refuse_hunk(patch, file, placed, &places[placed], &document);
	patch_make_text(patch, &document, places, file->count, ret);
	document_free(&document);
}

static char *read_old(const char *path, struct stat *ret_status, size_t *ret_size)
{
	int file = answer_open(path, ret_status);
	char *bytes = target_read_all(file, ret_size);

	fd_close(&file);
	return bytes;
}

static void plan_update(const struct patch *patch, const struct patch_file *file)
{
	struct place *places = calloc(file->count + 1, sizeof(*places));
	struct patch_text text;
	struct stat status;
	size_t size;
	char *bytes = read_old(file->path, &status, &size);

	if (!places)
		answer_problem(FILE_ERROR);
	change_text(patch, file, bytes, size, &text, places);
	if (file->move) {
		plan_create(file->move, &text, &status, file->is_program);
		plan_remove(file->path, &status);
	} else {
		struct step *step = add_step(STEP_REPLACE, file->path);

		target_find(&step->target, file->path);
		check_single(step);
		step->target.old = status;
		stage_content(step, text.bytes, text.size, file->is_program);
	}
	put_file(file, file->move ? 'R' : 'M', &text);
	for (size_t i = 0; i < file->count; i++)
		put_place(&places[i], file, patch);
	free(text.bytes);
	free(bytes);
	free(places);
}

static void plan_add(const struct patch *patch, const struct patch_file *file)
{
	static const struct document nothing = { .end = END_LF };
	struct place places[1] = { { .hunk = &patch->hunks[file->first] } };
	struct patch_text text;

	if (file->count > 1)
		refuse_file(file->path, "is new, and has more than one hunk");
	if (file->count == 1 && patch_old_line(patch, places[0].hunk, 0))
		refuse_file(file->path, "is new, and its hunk has old lines");
	patch_make_text(patch, &nothing, places, file->count, &text);
	plan_create(file->path, &text, NULL, file->is_program);
	put_file(file, 'A', &text);
	free(text.bytes);
}

/* Plan to remove a file. A diff lists what it removes, and that must be all. */
static void plan_delete(const struct patch *patch, const struct patch_file *file)
{
	struct patch_text text = { 0 };
	struct stat status;

	if (file->count > 0) {
		struct place *places = calloc(file->count, sizeof(*places));
		size_t size;
		char *bytes = read_old(file->path, &status, &size);

		if (!places)
			answer_problem(FILE_ERROR);
		change_text(patch, file, bytes, size, &text, places);
		if (text.size > 0)
			refuse_file(file->path,
				    "has lines that the patch, which deletes it, does not "
				    "list");
		free(places);
		free(bytes);
		free(text.bytes);
	}
	plan_remove(file->path, file->count > 0 ? &status : NULL);
	put_file(file, 'D', file->count > 0 ? &text : NULL);
}

static void plan_file(const struct patch *patch, const struct patch_file *file)
{
	answer_guard(file->path, undo_all);
	if (file->kind == PATCH_ADD)
		plan_add(patch, file);
	else if (file->kind == PATCH_DELETE)
		plan_delete(patch, file);
	else
		plan_update(patch, file);
}

/* --- the switch ------------------------------------------------------------------------------- */

static bool switch_step(struct step *step)
{
	switch (step->kind) {
	case STEP_CREATE:
		step->is_done = target_create(&step->target);
		break;
	case STEP_REPLACE:
		step->is_done = target_exchange(&step->target);
		break;
	default:
		step->is_done = target_put_aside(&step->target);
		break;
	}
	return step->is_done;
}

/* Return whether the old file, which now has the temporary name, is the one that was read. */
static bool is_as_read(const struct step *step)
{
	const struct stat *read = &step->target.old;
	struct stat now;

	return step->kind == STEP_CREATE ||
	       (lstat(step->target.beside, &now) == 0 && now.st_size == read->st_size &&
		now.st_mtim.tv_sec == read->st_mtim.tv_sec &&
		now.st_mtim.tv_nsec == read->st_mtim.tv_nsec);
}

static void switch_all(void)
{
	for (size_t i = 0; i < steps.count; i++) {
		answer_guard(steps.list[i].name, undo_all);
		if (steps.list[i].kind == STEP_REPLACE && !target_name(&steps.list[i].target))
			answer_problem(FILE_ERROR);
	}
	for (enum step_kind kind = 0; kind < STEP_KINDS; kind++) {
		for (size_t i = 0; i < steps.count; i++) {
			struct step *step = &steps.list[i];

			if (step->kind != kind)
				continue;
			answer_guard(step->name, undo_all);
			if (!switch_step(step))
				answer_problem(errno == EEXIST ? FILE_EXISTS : FILE_ERROR);
			if (!is_as_read(step))
				refuse_file(step->name, "was changed by another program meanwhile: "
							"read it and make the patch again");
		}
	}
	for (size_t i = 0; i < steps.count; i++)
		target_drop(&steps.list[i].target);
}

void command_patch(char **arguments)
{
	struct patch_fault fault;
	struct patch patch;
	size_t size;
	char *text = target_read_all(-1, &size);

	steps.list = calloc(2 * PATCH_FILES_MAX, sizeof(*steps.list));
	if (!steps.list)
		answer_problem(FILE_ERROR);
	if (!patch_parse(text, size, &patch, &fault)) {
		begin_report();
		(void)fprintf(report, "line %zu of the patch: %s.", fault.number, fault.text);
		end_unfit();
	}
	begin_report();
	for (size_t i = 0; i < patch.file_count; i++)
		plan_file(&patch, &patch.files[i]);
	switch_all();
	end_report((struct file_head){ .problem = FILE_DONE, .count = patch.file_count });
}
