/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-make-seeds FOLDER: writes inputs from which the fuzz targets start: of each message a
 * shortest, a middle and a longest one, by itself and in a packet with its descriptors, and a small
 * policy blob.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "background/note.h"
#include "common/fd.h"
#include "common/ipc/ipc_all.h"
#include "common/records/history.h"
#include "messages.h"
#include "plan_blob.h"
#include "property.h"

static void write_seed(const char *folder, const char *name, const void *bytes, size_t size)
{
	char path[4096];
	int fd;

	if (mkdir(folder, 0755) != 0 && errno != EEXIST) {
		perror(folder);
		exit(1);
	}
	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || fd_write_all(fd, bytes, size) != 0 || close(fd) != 0) {
		perror(path);
		exit(1);
	}
}

/* As channel_receive.c reads it: who, when, how many descriptors, of what kinds, the message. */
static void write_packet(const struct ipc_message *row, const char *name, const uint8_t *wire,
			 size_t size)
{
	static uint8_t packet[4 + IPC_FDS_MAX + sizeof(union ipc_any) + 256];
	const size_t fds = strlen(row->fds);
	size_t used = 0;

	packet[used++] = (uint8_t)((row->receiver - 1) + 5 * (row->sender - 1));
	packet[used++] = row->phase == IPC_SERVE;
	packet[used++] = (uint8_t)fds;
	for (size_t i = 0; i < fds; i++) {
		const char *kind = strchr(fuzz_kinds, row->fds[i]);

		packet[used++] = (uint8_t)(kind ? kind - fuzz_kinds : 0); /* "a": any */
	}
	memcpy(packet + used, wire, size);
	write_seed("channel_receive", name, packet, used + size);
}

static void write_messages(void)
{
	static const char *const words[] = { "shortest", "random", "longest" };
	static union ipc_any message;
	static uint8_t wire[sizeof(message) + 256]; /* lengths take less */
	uint32_t seed = 1;
	size_t size;
	char name[128];

	for (uint32_t type = 1; type < IPC_TYPE_COUNT; type++) {
		for (int fill = FILL_SHORTEST; fill <= FILL_LONGEST; fill++) {
			message_fill(ipc_message(type), &message, (enum fill)fill, &seed);
			if (ipc_encode(type, &message, wire, sizeof(wire), &size) != IPC_OK)
				abort();
			(void)snprintf(name, sizeof(name), "%s-%s", ipc_message(type)->name,
				       words[fill]);
			write_seed("ipc_decode", name, wire, size);
			write_packet(ipc_message(type), name, wire, size);
		}
	}
}

/* A background command that has ended, with words that would harm a terminal. */
static void write_background(const struct history_note *command)
{
	static struct background_note note = { .magic = BACKGROUND_MAGIC,
					       .version = BACKGROUND_VERSION,
					       .has_ended = 1,
					       .exit_code = 3,
					       .lines_size = 4,
					       .lines = "end\n" };

	note.command = *command;
	write_seed("background", "ended", &note, sizeof(note));
}

/* A command with a code, and one that is cut off and would harm a terminal. */
static void write_history(void)
{
	static const char command[] = "python3\0-c\0it's\0";
	static const char harm[] = "\x1b]0;\x07\n\xc2\x9b\xff";
	static struct history_note notes[2] = { { .time_us = 1, .execution = 1, .pid = 1 },
						{ .time_us = 2, .execution = 2, .pid = 1 } };

	notes[0].argv_size = sizeof(command) - 1;
	notes[0].code_size = sizeof(harm);
	memcpy(notes[0].text, command, sizeof(command));
	memcpy(notes[0].text + sizeof(command) - 1, harm, sizeof(harm));
	notes[1].argv_size = HISTORY_TEXT_MAX;
	for (size_t i = 0; i < HISTORY_TEXT_MAX; i++)
		notes[1].text[i] = (uint8_t)harm[i % (sizeof(harm) - 1)];
	write_seed("sandbox_history", "two", notes, sizeof(notes));
	write_background(&notes[1]);
}

int main(int argc, char **argv)
{
	static alignas(8) struct blob blob;

	if (argc != 2 || (mkdir(argv[1], 0755) != 0 && errno != EEXIST) || chdir(argv[1]) != 0) {
		(void)fprintf(stderr, "usage: fuzz-make-seeds FOLDER\n");
		return 64;
	}
	write_messages();
	write_history();
	(void)blob_make(&blob);
	write_seed("plan_open", "minimal", &blob, sizeof(blob));
	return 0;
}
