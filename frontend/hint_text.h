/* SPDX-License-Identifier: Apache-2.0
 *
 * Find words, paths and hosts in a line that a program printed. The line is a workload's: a name is
 * returned only if all its characters can be shown.
 */
#ifndef FRONTEND_HINT_TEXT_H
#define FRONTEND_HINT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for a path or a host. */
#define HINT_TARGET_MAX 200U

/* Find `words` in any case. NULL: the line does not have them. */
const char *hint_text_find(const char *line, const char *words);

/* Find the first of `words`, "one|or another", where a word of the line begins: "ENOTFOUND", but
 * not "FileNotFoundError". */
const char *hint_text_find_word(const char *line, const char *words);

/* Find a program in the command: its name, or its path below a directory of programs. `program` may
 * go on with arguments. */
const char *hint_text_find_program(const char *command, const char *program);

/* Return whether the text has one of `words`, "one|or another", in any case. */
bool hint_text_has(const char *text, const char *words);

/* Return whether the line begins with a place in a source, "a.c:1:10: ": a compiler's. */
bool hint_text_has_place(const char *line);

/* Copy the word that begins at `from`. False: it has characters that cannot be shown. */
bool hint_text_word(const char *from, char ret[HINT_TARGET_MAX]);

/* Replace NULs by spaces and quotes of UTF-8 by "'"; text[size] is set to NUL. */
void hint_text_clean(char *text, size_t size);

/* Find the last absolute path of the line that is not its first word: that is the program. */
bool hint_text_path(const char *line, char ret[HINT_TARGET_MAX]);

/* Find a relative name: in quotes beside `words`, behind " -- ", or between ": " and `words`. */
bool hint_text_name(const char *line, const char *words, char ret[HINT_TARGET_MAX]);

/* Find a host: an address, localhost, or a name with a domain that no file's ending is.
 * `*ret_port`: its port, or 0. */
bool hint_text_host(const char *line, char ret[HINT_TARGET_MAX], uint16_t *ret_port);

/* Find a host in a command, where only a URL, an address or HOST:PORT is certain to be one. */
bool hint_text_command_host(const char *command, char ret[HINT_TARGET_MAX], uint16_t *ret_port);

/* Return whether the text has nothing but white space. */
bool hint_text_is_blank(const char *text);

#endif
