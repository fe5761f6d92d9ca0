/* SPDX-License-Identifier: Apache-2.0
 *
 * msp-file: works on one file or directory inside a sandbox. It is a workload like any other, so
 * the tools that use it have no more rights than a workload. common/records/file_record.h has its
 * answers.
 */
#include <string.h>

#include "answer.h"

static const struct {
	const char *name;
	int arguments;
	void (*run)(char **arguments);
} commands[] = {
	{ "read", 3, command_read },   /* PATH OFFSET LENGTH */
	{ "show", 4, command_show },   /* PATH FIRST COUNT ROOM: lines, or what a binary file is */
	{ "write", 2, command_write }, /* PATH create|overwrite|append */
	{ "put", 2, command_put },     /* PATH MODE: overwrite; a new file gets the mode */
	{ "edit", 2, command_edit },   /* PATH OLD_SIZE; old and new text on the standard input */
	{ "mkdir", 1, command_mkdir }, /* PATH, with its parents; it may exist */
	{ "patch", 0, command_patch }, /* a patch on the standard input, of files below "." */
	{ "list", 5, command_list },   /* PATH DEPTH SKIP MOST PATTERN */
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[1], commands[i].name) != 0 || argc != commands[i].arguments + 2)
			continue;
		commands[i].run(argv + 2);
		return 0;
	}
	answer_problem(FILE_MISUSED);
}
