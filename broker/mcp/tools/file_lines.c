/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/file_lines.h"

#include <inttypes.h>
#include <string.h>

#include "common/sha256.h"
#include "frontend/utf8.h"
#include "io/text.h"

/* Bytes of the longest character of UTF-8 that follow its first. */
#define CHARACTER_REST 3

struct lines {
	const struct file_job *job;
	uint64_t first;
	uint64_t limit;
	size_t room;
	uint64_t shown; /* lines */
	uint64_t crlf;  /* lines of these that end with \r\n */
	bool is_full;   /* more lines came than are shown */
	bool is_open;   /* the last line shown has no line end */
	bool is_odd;    /* bytes outside UTF-8, or control characters, are escaped */
	bool is_cut;    /* a long line is cut */
};

/* Return how many bytes of a cut line to show: no part of a character at the end. */
static size_t whole_bytes(const char *bytes, size_t size)
{
	for (size_t rest = 1; rest <= CHARACTER_REST && rest < size; rest++) {
		const unsigned char lead = (unsigned char)bytes[size - rest];
		const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;

		if (lead >= 0xc0)
			return length > rest ? size - rest : size;
	}
	return size;
}

static bool has_odd_bytes(const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (((unsigned char)bytes[i] < ' ' && bytes[i] != '\t') || bytes[i] == 0x7f)
			return true;
	}
	return !utf8_is_valid(bytes, size);
}

static void put_line(const struct file_shown *found, uint64_t number, struct buffer *line)
{
	const bool is_cut = found->is.size > found->is.shown;
	const size_t size = is_cut ? whole_bytes(found->bytes, found->is.shown) : found->is.shown;

	buffer_format(line, "%" PRIu64 "→", number);
	text_append(line, found->bytes, size, TEXT_CONTENTS);
	if (is_cut)
		buffer_format(line, " …[%" PRIu64 " more bytes]", found->is.size - size);
	buffer_append_text(line, "\n");
}

/* Put the next line, if there is room. */
static void take_line(struct lines *lines, const struct file_shown *found, struct buffer *text)
{
	struct buffer line = { 0 };

	put_line(found, lines->first + lines->shown, &line);
	if (lines->shown == lines->limit ||
	    (lines->shown > 0 && text->size + line.size > lines->room)) {
		lines->is_full = true;
	} else {
		buffer_append(text, line.bytes, line.size);
		lines->shown++;
		lines->crlf += (found->is.flags & FILE_LINE_CRLF) != 0;
		lines->is_open = (found->is.flags & FILE_LINE_OPEN) != 0;
		lines->is_odd |= has_odd_bytes(found->bytes, found->is.shown) &&
				 found->is.size == found->is.shown;
		lines->is_cut |= found->is.size > found->is.shown;
	}
	buffer_done(&line);
}

static void put_notes(const struct lines *lines, struct buffer *text)
{
	if (lines->crlf > 0 && lines->crlf + lines->is_open >= lines->shown)
		buffer_append_text(text, " · lines end with \\r\\n");
	else if (lines->crlf > 0)
		buffer_format(text, " · %" PRIu64 " of these lines end with \\r\\n", lines->crlf);
	if (lines->is_open)
		buffer_append_text(text, " · no line end at the end");
	if (lines->is_odd)
		buffer_append_text(text, " · not only text: encoding=base64 has the exact bytes");
	if (lines->is_cut)
		buffer_append_text(text, " · long lines are cut");
}

/* Put the last line; `end`: the last record. */
static void put_range(const struct lines *lines, const struct file_line *end, struct buffer *text)
{
	const char *more = (end->flags & FILE_LINE_BEYOND) ? "more than " : "";
	const uint64_t last = lines->first + lines->shown - 1;
	const uint64_t total = end->size;

	if (total == 0)
		buffer_append_text(text, "[empty file");
	else if (lines->shown == 0)
		buffer_format(text, "[the file has %" PRIu64 " line%s", total,
			      total == 1 ? "" : "s");
	else if (lines->first == 1 && last >= total)
		buffer_format(text, "[%" PRIu64 " line%s, all of it", total, total == 1 ? "" : "s");
	else
		buffer_format(text, "[lines %" PRIu64 " to %" PRIu64 " of %s%" PRIu64, lines->first,
			      last, more, total);
	if (lines->shown > 0 && (last < total || *more))
		buffer_format(text, " · more: offset=%" PRIu64, last + 1);
	put_notes(lines, text);
	buffer_append_text(text, "]");
}

bool file_lines_put(const struct file_job *job, uint64_t first, uint64_t limit, size_t room,
		    struct buffer *text)
{
	struct lines lines = { .job = job, .first = first, .limit = limit, .room = room };
	struct file_shown found;
	size_t at = 0;
	long taken;

	while ((taken = file_shown_read(job->rest + at, job->rest_size - at, &found)) > 0) {
		at += (size_t)taken;
		if (found.is.flags & FILE_LINE_LAST) {
			put_range(&lines, &found.is, text);
			return true;
		}
		if (!lines.is_full)
			take_line(&lines, &found, text);
	}
	return false; /* msp-file could not finish it, or the workload forged it */
}

/* --- binary files --------------------------------------------------------------------------- */

static const struct {
	const char *bytes;
	size_t size;
	const char *name;
} kinds[] = {
#define KIND(text, name)                                                                           \
	{                                                                                          \
		text, sizeof(text) - 1, name                                                       \
	}
	KIND("\x7f"
	     "ELF",
	     "ELF program or library"),
	KIND("\x89PNG", "png image"),
	KIND("\xff\xd8\xff", "jpeg image"),
	KIND("GIF8", "gif image"),
	KIND("BM", "bmp image"),
	KIND("II*\0", "tiff image"),
	KIND("MM\0*", "tiff image"),
	KIND("RIFF", "RIFF media"),
	KIND("OggS", "ogg media"),
	KIND("ID3", "mp3 audio"),
	KIND("%PDF", "pdf document"),
	KIND("PK\3\4", "zip archive or office document"),
	KIND("\x1f\x8b", "gzip archive"),
	KIND("BZh", "bzip2 archive"),
	KIND("\xfd"
	     "7zXZ",
	     "xz archive"),
	KIND("\x28\xb5\x2f\xfd", "zstd archive"),
	KIND("!<arch>\n", "static library or deb package"),
	KIND("SQLite format 3", "sqlite database"),
	KIND("\0asm", "wasm module"),
	KIND("\xca\xfe\xba\xbe", "java class"),
	KIND("\xff\xfe", "UTF-16 text"),
	KIND("\xfe\xff", "UTF-16 text"),
#undef KIND
};

static const char *kind_name(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (size >= kinds[i].size && memcmp(bytes, kinds[i].bytes, kinds[i].size) == 0)
			return kinds[i].name;
	}
	return "binary file";
}

static bool is_digest(const struct file_answer *answer)
{
	if (answer->is.text_size != 2 * SHA256_BYTES)
		return false;
	for (size_t i = 0; i < answer->is.text_size; i++) {
		if (answer->text[i] == '\0' || !strchr("0123456789abcdef", answer->text[i]))
			return false;
	}
	return true;
}

void file_lines_put_binary(const struct file_job *job, struct buffer *text)
{
	const struct file_answer *answer = &job->answer;

	buffer_append_text(text, "[");
	buffer_append_text(text, kind_name(job->rest, job->rest_size));
	buffer_format(text, ", %" PRIu64 " bytes", answer->is.size);
	if (file_image_type(job->rest, job->rest_size))
		buffer_format(text, ": too large to be shown (at most %u)", FILE_IMAGE_MAX);
	if (is_digest(answer)) {
		buffer_append_text(text, ", sha256 ");
		buffer_append(text, answer->text, answer->is.text_size);
	}
	buffer_append_text(text, " · for its bytes: encoding=base64]");
}
