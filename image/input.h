/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of an image as it comes: in a directory, or in an archive. A compressed archive, or one
 * from a pipe, is copied first, since its files are read in another order than they are in it.
 *
 * Functions that fail keep the reason (image/refuse.h).
 */
#ifndef IMAGE_INPUT_H
#define IMAGE_INPUT_H

#include <archive.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define INPUT_NO_IMAGE                                                                             \
	"this is no image: it must be an OCI layout or a docker-archive, as 'podman save' or "     \
	"'skopeo copy' writes it"

struct input_member;

struct input {
	int fd;
	bool is_directory;
	struct input_member *members; /* of an archive */
	size_t count, room;
};

/* A file of the image that is read from its beginning. */
struct input_file {
	int fd; /* of a directory; else -1 */
	struct archive *archive;
	char *bytes;
};

/* Begin. `fd` becomes the input's; a copy is made in the directory `incoming`, of at most `most`
 * bytes. 0 or -1. */
int input_begin(struct input *input, int fd, int incoming, uint64_t most);

/* Open a file by its path. 1; 0: there is no such file; or -1. */
int input_open(const struct input *input, const char *path, struct input_file *ret);

/* Return the size of the next bytes, which stay until the next call; 0 at the end; or -1. */
ssize_t input_read(struct input_file *file, const void **ret);

void input_close(struct input_file *file);

/* Read a whole file with a NUL behind it, which the caller frees; NULL after a refusal, also if it
 * is not there. */
char *input_read_text(const struct input *input, const char *path, size_t *ret_size);

void input_end(struct input *input);

/* Return the size of the next bytes of an entry, which stay until the next call; 0 at its end; or
 * -1 after a refusal that says `what`. */
ssize_t input_next(struct archive *archive, const void **ret, const char *what);

/* Return a reader of compressed bytes, which the caller frees. It has these filters alone, none of
 * which is another program; the program ends if the library lacks one. */
struct archive *input_decoder(void);

#endif
