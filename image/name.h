/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of images: references as registries have them, in one spelling.
 */
#ifndef IMAGE_NAME_H
#define IMAGE_NAME_H

#include <stdbool.h>

/* With a NUL; so long that a name fits into the name of a file. */
#define IMAGE_NAME_MAX 256

/*
 * Read a reference, [HOST[:PORT]/]PATH[:TAG][@sha256:DIGEST], and write its one spelling: without
 * "docker.io/" and "docker.io/library/", with ":latest" if it has neither tag nor digest. NULL, or
 * the rule that it breaks, as a phrase.
 */
const char *image_name_read(const char *text, char ret[IMAGE_NAME_MAX]);

/* Turn a name into the name of its file, and back: a file's has '%' for '/'. */
void image_name_to_file(char name[IMAGE_NAME_MAX]);
void image_name_from_file(char name[IMAGE_NAME_MAX]);

#endif
