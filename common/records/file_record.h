/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer of msp-file, which runs inside a sandbox, on its standard output: a head, its text,
 * and the content that was asked for. Its reader in the frontends trusts nothing of it: the
 * workload of that sandbox may have changed everything that msp-file read.
 */
#ifndef COMMON_RECORDS_FILE_RECORD_H
#define COMMON_RECORDS_FILE_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FILE_MAGIC 0x454c4946U /* "FILE" */

/* The problems, a closed set. */
enum file_problem {
	FILE_DONE,
	FILE_ERROR,       /* `error` says */
	FILE_NOT_REGULAR, /* `mode` says what it is instead */
	FILE_DANGLING,    /* a symbolic link to nothing; the text says where it points to */
	FILE_EXISTS,      /* create: it does */
	FILE_NO_MATCH,    /* edit: the old text does not occur */
	FILE_AMBIGUOUS,   /* edit: it occurs more than once; `count` says how often */
	FILE_TOO_LARGE,   /* edit: beyond FILE_EDIT_MAX; `size` says how large */
	FILE_CUT_OFF,     /* the content to be written is incomplete; nothing is changed */
	FILE_MISUSED,     /* msp-file does not know such arguments */
	FILE_UNFIT,       /* patch: it does not fit; a text behind the head says where and why */
	FILE_TORN,        /* patch: an error came, and the changes could not be taken back */
	FILE_NO_FOLDER,   /* no directory for it; the text is the last one above it that exists;
			     `error` says why the next could not be made, 0: none was to be */
	FILE_PROBLEM_COUNT
};

/* The content to be written comes on the standard input in pieces: a uint32_t with the bytes of
 * each before it, and 0 behind the last. An input that ends without the 0, because its writer has
 * gone, changes nothing. */
#define FILE_PIECE_MAX 65536U

/* A file that is edited, at most: it is held in memory. */
#define FILE_EDIT_MAX (16U << 20)

/* The form in which a regular file is shown. */
enum file_form {
	FILE_FORM_BYTES,  /* the bytes asked for */
	FILE_FORM_LINES,  /* a struct file_line for each line */
	FILE_FORM_IMAGE,  /* all bytes of an image */
	FILE_FORM_DIGEST, /* no text: the head's text is the SHA-256 in hex, empty if too large;
			     behind it stand the first bytes */
	FILE_FORM_COUNT
};

/* Bytes of a line that are shown, at most; of an image; of a file of which a digest is made or
 * whose lines are counted beyond the last one shown. As base64 an image has 5,000,000 characters,
 * which clients and models take. */
#define FILE_LINE_MAX 2000U
#define FILE_IMAGE_MAX 3750000U
#define FILE_SCAN_MAX ((uint64_t)256 << 20)

/* First bytes by which the kind of a file is recognised. */
#define FILE_SNIFF_BYTES 512U

/* Levels of directories that a list goes down, at most. */
#define FILE_DEPTH_MAX 64U

struct file_head {
	uint32_t magic;
	uint32_t problem; /* enum file_problem */
	uint32_t error;   /* errno */
	uint32_t mode;    /* the file's now, as stat gives it */
	uint64_t size;    /* the file's now */
	uint64_t count;   /* read: bytes from the offset to the end; write: bytes written; edit:
			     occurrences */
	uint32_t text_size;
	uint32_t form; /* enum file_form */
};

/* An entry of a list, one for each file, in the order of the names' bytes, a directory before its
 * content. Behind it stand its path below the listed directory, and a symbolic link's target. The
 * last one has no path. */
struct file_entry {
	uint32_t mode;
	uint32_t flags; /* enum file_entry_flag */
	uint64_t size;
	int64_t modified_s;
	uint32_t path_size;
	uint32_t link_size;
};

enum file_entry_flag {
	FILE_ENTRY_UNREADABLE = 1, /* a directory that could not be listed */
	FILE_ENTRY_MORE = 2,       /* the last entry's: there are more than were asked for */
};

/* A line, with its first bytes behind it. The last record has no line. */
struct file_line {
	uint64_t size;  /* bytes without the line end; in the last record: counted lines */
	uint32_t shown; /* bytes behind this record: all, or FILE_LINE_MAX */
	uint32_t flags; /* enum file_line_flag */
};

enum file_line_flag {
	FILE_LINE_CRLF = 1,   /* it ends with \r\n */
	FILE_LINE_OPEN = 2,   /* the file ends without a line end */
	FILE_LINE_LAST = 4,   /* the last record */
	FILE_LINE_BEYOND = 8, /* the last record's: the file has more lines than were counted */
};

/* Return the MIME type of an image that starts with these bytes, NULL: no image that models see. */
static inline const char *file_image_type(const uint8_t *bytes, size_t size)
{
	if (size < 12)
		return NULL;
	if (memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0)
		return "image/png";
	if (memcmp(bytes, "\xff\xd8\xff", 3) == 0)
		return "image/jpeg";
	if (memcmp(bytes, "GIF87a", 6) == 0 || memcmp(bytes, "GIF89a", 6) == 0)
		return "image/gif";
	if (memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0)
		return "image/webp";
	return NULL;
}

#endif
