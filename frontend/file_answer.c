/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/file_answer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/ipc/ipc_persistent.h"
#include "common/log.h"
#include "common/text/format.h"

/* --- asking ----------------------------------------------------------------------------------- */

bool file_ask_word(struct ipc_file_start *ask, const char *word, size_t size)
{
	if (size >= sizeof(ask->argv) - ask->argv_size || memchr(word, '\0', size))
		return false;
	memcpy(ask->argv + ask->argv_size, word, size);
	ask->argv[ask->argv_size + size] = '\0';
	ask->argv_size += (uint32_t)size + 1;
	return true;
}

bool file_ask_number(struct ipc_file_start *ask, uint64_t number)
{
	char text[24];
	const int size = snprintf(text, sizeof(text), "%llu", (unsigned long long)number);

	return file_ask_word(ask, text, (size_t)size);
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Return the size of the first record, which is `fixed` bytes long and has `texts` bytes of text.
 */
static long record_size(size_t fixed, size_t texts, size_t size)
{
	return size < fixed + texts ? 0 : (long)(fixed + texts);
}

long file_answer_read(const uint8_t *bytes, size_t size, struct file_answer *ret)
{
	if (size < sizeof(ret->is))
		return 0;
	memcpy(&ret->is, bytes, sizeof(ret->is));
	ret->text = (const char *)bytes + sizeof(ret->is);
	if (ret->is.magic != FILE_MAGIC || ret->is.problem >= FILE_PROBLEM_COUNT ||
	    ret->is.text_size >= IPC_PATH_MAX || ret->is.error > INT32_MAX ||
	    ret->is.size > INT64_MAX || ret->is.form >= FILE_FORM_COUNT)
		return -EBADMSG;
	return record_size(sizeof(ret->is), ret->is.text_size, size);
}

/* Below the directory, whoever follows it. */
static bool is_beneath(const char *path, size_t size)
{
	const char *end = path + size;

	if (memchr(path, '\0', size))
		return false;
	for (const char *part = path; part <= end;) {
		const char *slash = memchr(part, '/', (size_t)(end - part));
		const size_t length = (size_t)((slash ? slash : end) - part);

		if (length == 0 || (length <= 2 && memcmp(part, "..", length) == 0))
			return false;
		part += length + 1;
	}
	return true;
}

long file_found_read(const uint8_t *bytes, size_t size, struct file_found *ret)
{
	long taken;

	if (size < sizeof(ret->is))
		return 0;
	memcpy(&ret->is, bytes, sizeof(ret->is));
	if (ret->is.path_size >= IPC_PATH_MAX || ret->is.link_size > IPC_PATH_MAX ||
	    ret->is.size > INT64_MAX || (ret->is.path_size == 0 && ret->is.link_size > 0))
		return -EBADMSG;
	ret->path = (const char *)bytes + sizeof(ret->is);
	ret->link = ret->path + ret->is.path_size;
	taken = record_size(sizeof(ret->is), (size_t)ret->is.path_size + ret->is.link_size, size);
	if (taken > 0 && ret->is.path_size > 0 && !is_beneath(ret->path, ret->is.path_size))
		return -EBADMSG;
	return taken;
}

long file_shown_read(const uint8_t *bytes, size_t size, struct file_shown *ret)
{
	if (size < sizeof(ret->is))
		return 0;
	memcpy(&ret->is, bytes, sizeof(ret->is));
	if (ret->is.size > INT64_MAX || ret->is.shown > FILE_LINE_MAX ||
	    ret->is.shown > ret->is.size || ((ret->is.flags & FILE_LINE_LAST) && ret->is.shown > 0))
		return -EBADMSG;
	ret->bytes = (const char *)bytes + sizeof(ret->is);
	return record_size(sizeof(ret->is), ret->is.shown, size);
}

/* --- problems --------------------------------------------------------------------------------- */

const char *file_kind_name(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "regular file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symbolic link";
	case S_IFIFO:
		return "FIFO";
	case S_IFSOCK:
		return "socket";
	case S_IFCHR:
	case S_IFBLK:
		return "device";
	default:
		return "file of another kind";
	}
}

static const struct {
	int error;
	const char *text;
} errors[] = {
	{ ENOENT, "does not exist: list its directory to see what there is" },
	{ ENOTDIR,
	  "is no directory, or leads through what is none: list the directories above it" },
	{ EISDIR, "is a directory: name a file in it" },
	{ EACCES, "is refused by the sandbox's policy, or by the file's own mode: work in "
		  "/workspace, or change the mode of a file of the sandbox with chmod" },
	{ EPERM, "is refused by the sandbox's policy: work in /workspace" },
	{ EROFS, "is in a part of the sandbox that is read-only: write to /workspace or /tmp" },
	{ ENOSPC, "does not fit: the sandbox's disk space is used up, and nothing was changed. "
		  "Remove files that are not needed" },
	{ EDQUOT, "does not fit: the disk quota is used up, and nothing was changed. Remove files "
		  "that are not needed" },
	{ EFBIG, "would be larger than a file may be, and nothing was changed" },
	{ ELOOP, "leads through too many symbolic links, or in a circle: name the file itself" },
	{ ENAMETOOLONG, "is too long for a path: use a shorter one" },
	{ ETXTBSY, "is being executed: end the program first" },
	{ ENOMEM, "needs more memory than there is: take a smaller part of it" },
	{ ENXIO, "cannot be opened, as a socket or a FIFO: only regular files can" },
};

static void error_text(uint32_t error, char ret[FILE_PROBLEM_TEXT_MAX])
{
	format_text(ret, FILE_PROBLEM_TEXT_MAX, "cannot be used: %s", errno_text((int)error));
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if ((uint32_t)errors[i].error == error)
			format_text(ret, FILE_PROBLEM_TEXT_MAX, "%s", errors[i].text);
	}
}

/* The problems that one text tells of. */
static const struct {
	enum file_problem problem;
	const char *text;
} problem_texts[] = {
	{ FILE_EXISTS, "exists already: change that file, or choose another name" },
	{ FILE_NO_MATCH, "does not hold the old text: read the file, and give the text exactly as "
			 "it is, with its spaces and line ends" },
	{ FILE_UNFIT, "does not fit the patch: read the file and make the patch again" },
	{ FILE_TORN, "could not be written, and some files are changed already: the old content "
		     "is in files .msp-* beside them" },
	{ FILE_CUT_OFF, "is as it was: what was to be written did not come to its end" },
};

/* Show a byte that a terminal or a model would take for something else as \xNN. */
static void append_shown(char *ret, size_t room, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size && strlen(ret) + 5 < room; i++) {
		const unsigned char byte = (unsigned char)bytes[i];
		const bool is_plain = byte >= ' ' && byte < 0x7f && byte != '\\';

		format_append(ret, room, is_plain ? "%c" : "\\x%02x", byte);
	}
}

/* Bytes of a target that are shown, each as four characters at most. */
#define TARGET_SHOWN 100U

/* Put the answer's path between two texts. */
static void put_target(const struct file_answer *answer, const char *before, const char *after,
		       char ret[FILE_PROBLEM_TEXT_MAX])
{
	const bool is_cut = answer->is.text_size > TARGET_SHOWN;

	format_text(ret, FILE_PROBLEM_TEXT_MAX, "%s \"", before);
	append_shown(ret, FILE_PROBLEM_TEXT_MAX, answer->text,
		     is_cut ? TARGET_SHOWN : answer->is.text_size);
	format_append(ret, FILE_PROBLEM_TEXT_MAX, "%s\"%s", is_cut ? "..." : "", after);
}

static void no_folder_text(const struct file_answer *answer, char ret[FILE_PROBLEM_TEXT_MAX])
{
	if (answer->is.error != 0)
		put_target(answer,
			   "cannot be written: its directory does not exist, and cannot be made in",
			   ". Write to /workspace or /tmp", ret);
	else
		put_target(answer,
			   "does not exist, nor does its directory: the last one above it is",
			   ". List that, or look in /workspace", ret);
}

void file_problem_text(const struct file_answer *answer, char ret[FILE_PROBLEM_TEXT_MAX])
{
	const struct file_head *is = &answer->is;

	switch (is->problem) {
	case FILE_ERROR:
		error_text(is->error, ret);
		break;
	case FILE_NOT_REGULAR:
		format_text(ret, FILE_PROBLEM_TEXT_MAX,
			    "is a %s, and only regular files are read and written",
			    file_kind_name(is->mode));
		break;
	case FILE_DANGLING:
		put_target(answer, "is a symbolic link to",
			   ", which does not exist: name the file itself", ret);
		break;
	case FILE_NO_FOLDER:
		no_folder_text(answer, ret);
		break;
	case FILE_AMBIGUOUS:
		format_text(ret, FILE_PROBLEM_TEXT_MAX,
			    "holds the old text %llu times: give more of what is around it, so "
			    "that it occurs once",
			    (unsigned long long)is->count);
		break;
	case FILE_TOO_LARGE:
		format_text(ret, FILE_PROBLEM_TEXT_MAX,
			    "has %llu bytes, and at most %u can be edited: change it with a "
			    "program",
			    (unsigned long long)is->size, FILE_EDIT_MAX);
		break;
	default:
		format_text(ret, FILE_PROBLEM_TEXT_MAX,
			    "was asked for in a way that msp-file of the sandbox does not know: "
			    "install all of msp's programs together");
		for (size_t i = 0; i < sizeof(problem_texts) / sizeof(problem_texts[0]); i++) {
			if (problem_texts[i].problem == is->problem)
				format_text(ret, FILE_PROBLEM_TEXT_MAX, "%s",
					    problem_texts[i].text);
		}
		break;
	}
}

bool file_path_is_of_home(const char *path)
{
	return path[0] == '~' && (path[1] == '/' || path[1] == '\0');
}
