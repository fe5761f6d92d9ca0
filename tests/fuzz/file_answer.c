/* SPDX-License-Identifier: Apache-2.0
 *
 * Property: what file_answer_read(), file_found_read() and file_shown_read() take lies within the
 * input, in any pieces that it comes in; a path that they give stays beneath a directory; a problem
 * is one line.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/file_answer.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(const char *path, size_t size)
{
	char *text = strndup(path, size);
	size_t depth = 0;

	must(text != NULL && strlen(text) == size && text[0] != '/');
	for (char *part = text, *slash; part; part = slash ? slash + 1 : NULL) {
		slash = strchr(part, '/');
		if (slash)
			*slash = '\0';
		must(part[0] != '\0' && strcmp(part, ".") != 0 && strcmp(part, "..") != 0);
		depth++;
	}
	must(depth > 0);
	free(text);
}

/* Fewer bytes are less than an answer, never another one. */
static void check_shorter(const uint8_t *data, long taken, bool is_head)
{
	struct file_answer answer;
	struct file_found found;

	for (size_t size = 0; size < (size_t)taken; size += size < 64 ? 1 : 61) {
		const long less = is_head ? file_answer_read(data, size, &answer)
					  : file_found_read(data, size, &found);

		must(less == 0);
	}
}

static size_t check_head(const uint8_t *data, size_t size)
{
	struct file_answer answer;
	const long taken = file_answer_read(data, size, &answer);
	char text[FILE_PROBLEM_TEXT_MAX];

	must(taken == -EBADMSG || (taken >= 0 && (size_t)taken <= size));
	if (taken <= 0)
		return 0;
	must(answer.text == (const char *)data + sizeof(answer.is));
	must(sizeof(answer.is) + answer.is.text_size == (size_t)taken);
	check_shorter(data, taken, true);
	file_problem_text(&answer, text);
	for (const char *c = text; *c; c++)
		must(*c >= ' ' && *c < 0x7f);
	return (size_t)taken;
}

static size_t check_found(const uint8_t *data, size_t size)
{
	struct file_found found;
	const long taken = file_found_read(data, size, &found);

	must(taken == -EBADMSG || (taken >= 0 && (size_t)taken <= size));
	if (taken <= 0)
		return 0;
	must((size_t)taken < FILE_RECORD_MAX);
	must(found.path == (const char *)data + sizeof(found.is));
	must(found.link + found.is.link_size == (const char *)data + taken);
	if (found.is.path_size > 0)
		check_path(found.path, found.is.path_size);
	else
		must(found.is.link_size == 0);
	check_shorter(data, taken, false);
	return (size_t)taken;
}

static size_t check_shown(const uint8_t *data, size_t size)
{
	struct file_shown shown;
	const long taken = file_shown_read(data, size, &shown);

	must(taken == -EBADMSG || (taken >= 0 && (size_t)taken <= size));
	if (taken <= 0)
		return 0;
	must(shown.bytes == (const char *)data + sizeof(shown.is));
	must(shown.is.shown <= FILE_LINE_MAX && shown.is.shown <= shown.is.size);
	must(shown.bytes + shown.is.shown == (const char *)data + taken);
	return (size_t)taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t at = check_head(data, size);
	size_t taken;

	do {
		taken = check_found(data + at, size - at);
		at += taken;
	} while (taken > 0);
	at = check_head(data, size);
	do {
		taken = check_shown(data + at, size - at);
		at += taken;
	} while (taken > 0);
	return 0;
}
