/* SPDX-License-Identifier: Apache-2.0 */
#include "background/note.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/directory.h"
#include "launcher/host/state_place.h"

static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz"; /* Crockford's */

static int open_directory(int parent, const char *name)
{
	const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int background_open_sandboxes(char *text)
{
	char path[IPC_PATH_MAX];

	text[0] = '\0';
	return state_place_enter(STATE_PLACE_SANDBOXES, false, path, text);
}

static int open_commands(int sandboxes, const char *sandbox)
{
	char path[IPC_ID_MAX + sizeof("/" BACKGROUND_DIRECTORY)];

	format_text(path, sizeof(path), "%s/" BACKGROUND_DIRECTORY, sandbox);
	return open_directory(sandboxes, path);
}

/* --- one command ------------------------------------------------------------------------------ */

static bool is_sound(const struct background_note *note)
{
	return note->magic == BACKGROUND_MAGIC && note->version == BACKGROUND_VERSION &&
	       note->lines_size <= BACKGROUND_LINES_MAX && note->command.argv_size > 0 &&
	       note->command.argv_size <= HISTORY_TEXT_MAX && note->command.code_size == 0 &&
	       note->exit_code <= 255;
}

/* Return whether a keeper holds the lock of a note; *ret: its process, 0 in another PID namespace.
 * A waiting reader may hold a read lock, with which this one goes together. */
static bool is_held(int file, pid_t *ret)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	const bool found = fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;

	*ret = found ? lock.l_pid : 0;
	return found;
}

pid_t background_keeper(int file)
{
	pid_t keeper;

	(void)is_held(file, &keeper);
	return keeper;
}

/* Read the note of a command. False: it is none, or not complete yet. The lock is looked at before:
 * a keeper writes the end before it ends. */
static bool read_note(struct background *command)
{
	pid_t keeper;
	const bool has_keeper = is_held(command->file, &keeper);

	if (pread(command->file, &command->note, sizeof(command->note), 0) !=
		    (ssize_t)sizeof(command->note) ||
	    !is_sound(&command->note))
		return false;
	command->state = command->note.has_ended ? BACKGROUND_ENDED
			 : has_keeper            ? BACKGROUND_RUNNING
						 : BACKGROUND_LOST;
	return true;
}

void background_look(struct background *command)
{
	if (!read_note(command))
		command->state = BACKGROUND_LOST;
}

int background_await(struct background *command)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	if (fcntl(command->file, F_SETLKW, &lock) != 0)
		return -errno;
	lock.l_type = F_UNLCK;
	(void)fcntl(command->file, F_SETLK, &lock);
	background_look(command);
	return 0;
}

int background_explain(const struct background *command)
{
	const struct background_note *note = &command->note;

	if (command->state == BACKGROUND_LOST)
		return log_fail(MSP_EXIT_SANDBOX,
				"%s was lost: the process of msp that kept it was killed, and the "
				"command with it",
				command->id);
	(void)fd_write_all(STDERR_FILENO, note->lines, note->lines_size);
	return (int)note->exit_code;
}

void background_close(struct background *command)
{
	fd_close(&command->file);
	fd_close(&command->directory);
}

/* Open a command of a sandbox. False: it is none, or not complete yet. */
static bool open_command(int commands, const char *sandbox, const char *id, struct background *ret)
{
	format_text(ret->id, sizeof(ret->id), "%s", id);
	format_text(ret->sandbox, sizeof(ret->sandbox), "%s", sandbox);
	ret->file = -1;
	ret->directory = open_directory(commands, id);
	if (ret->directory < 0)
		return false;
	ret->file = openat(ret->directory, BACKGROUND_NOTE, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (ret->file >= 0 && read_note(ret))
		return true;
	background_close(ret);
	return false;
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Read the next name of a directory that is an id of `size` digits. NULL: there is none, and the
 * list is closed. */
static const char *next_id(DIR *list, size_t size)
{
	const struct dirent *entry;

	while (list && (entry = readdir(list))) {
		if (strlen(entry->d_name) == size &&
		    entry->d_name[strspn(entry->d_name, digits)] == '\0')
			return entry->d_name;
	}
	if (list)
		(void)closedir(list);
	return NULL;
}

/* List a directory, which stays the caller's. */
static DIR *list_directory(int directory)
{
	int fd = directory < 0 ? -1 : open_directory(directory, ".");
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !list)
		fd_close(&fd);
	return list;
}

static void each_of_sandbox(int sandboxes, const char *sandbox,
			    void (*take)(void *context, const struct background *command),
			    void *context)
{
	static struct background command;
	int commands = open_commands(sandboxes, sandbox);
	DIR *list = list_directory(commands);
	const char *id;

	while ((id = next_id(list, BACKGROUND_ID_MAX - 1))) {
		if (!open_command(commands, sandbox, id, &command))
			continue;
		take(context, &command);
		background_close(&command);
	}
	fd_close(&commands);
}

void background_each(int sandboxes, void (*take)(void *context, const struct background *command),
		     void *context)
{
	DIR *list = list_directory(sandboxes);
	const char *sandbox;

	while ((sandbox = next_id(list, IPC_ID_MAX - 1)))
		each_of_sandbox(sandboxes, sandbox, take, context);
}

struct finding {
	const char *word;
	uint32_t found;
	char id[BACKGROUND_ID_MAX];
	char sandbox[IPC_ID_MAX];
};

static void take_found(void *context, const struct background *command)
{
	struct finding *finding = context;

	if (strncmp(command->id, finding->word, strlen(finding->word)) != 0)
		return;
	finding->found++;
	format_text(finding->id, sizeof(finding->id), "%s", command->id);
	format_text(finding->sandbox, sizeof(finding->sandbox), "%s", command->sandbox);
}

uint32_t background_find(int sandboxes, const char *word, struct background *ret)
{
	struct finding finding = { .word = word };
	int commands;

	if (strlen(word) >= BACKGROUND_WORD_MIN)
		background_each(sandboxes, take_found, &finding);
	if (finding.found != 1)
		return finding.found;
	commands = open_commands(sandboxes, finding.sandbox);
	if (commands < 0 || !open_command(commands, finding.sandbox, finding.id, ret))
		finding.found = 0; /* it has just gone */
	fd_close(&commands);
	return finding.found;
}

/* --- a new one -------------------------------------------------------------------------------- */

struct ended {
	uint64_t begun_us;
	char id[BACKGROUND_ID_MAX];
};

/* Remove what a killed keeper left without a note, and the oldest ended commands but those that are
 * kept beside a new one. The lock of the directory is held. */
static void make_room(int commands, const char *sandbox)
{
	static struct background command;
	struct ended oldest;
	DIR *list;
	const char *id;
	int count;

	do {
		count = 0;
		oldest = (struct ended){ .begun_us = UINT64_MAX };
		list = list_directory(commands);
		while ((id = next_id(list, BACKGROUND_ID_MAX - 1))) {
			if (!open_command(commands, sandbox, id, &command)) {
				(void)directory_remove(commands, id); /* or it stays */
				continue;
			}
			count++;
			if (command.state != BACKGROUND_RUNNING &&
			    command.note.begun_us < oldest.begun_us) {
				oldest.begun_us = command.note.begun_us;
				format_text(oldest.id, sizeof(oldest.id), "%s", command.id);
			}
			background_close(&command);
		}
		if (count >= BACKGROUND_KEPT && oldest.id[0])
			(void)directory_remove(commands, oldest.id); /* or it stays */
	} while (count > BACKGROUND_KEPT && oldest.id[0]);
}

static int make_id(char ret[BACKGROUND_ID_MAX])
{
	uint8_t bytes[BACKGROUND_ID_MAX - 1];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -errno;
	for (size_t i = 0; i < sizeof(bytes); i++)
		ret[i] = digits[bytes[i] % 32];
	ret[BACKGROUND_ID_MAX - 1] = '\0';
	return 0;
}

int background_write(const struct background *command)
{
	const ssize_t size = pwrite(command->file, &command->note, sizeof(command->note), 0);

	if (size == (ssize_t)sizeof(command->note))
		return 0;
	return size < 0 ? -errno : -ENOSPC;
}

/* Make directory and note, and lock the note. */
static int make_command(int commands, struct background *ret)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int error = make_id(ret->id);

	if (error || mkdirat(commands, ret->id, S_IRWXU) != 0)
		return error ? error : -errno;
	ret->directory = open_directory(commands, ret->id);
	if (ret->directory < 0)
		return ret->directory;
	ret->file = openat(ret->directory, BACKGROUND_NOTE,
			   O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (ret->file < 0 || fcntl(ret->file, F_SETLK, &lock) != 0)
		return -errno;
	return background_write(ret);
}

int background_make(int sandboxes, const char *sandbox, const struct background_note *note,
		    struct background *ret)
{
	char path[IPC_ID_MAX + sizeof("/" BACKGROUND_DIRECTORY)];
	int commands;
	int error;

	ret->directory = ret->file = -1;
	ret->id[0] = '\0';
	ret->note = *note;
	format_text(ret->sandbox, sizeof(ret->sandbox), "%s", sandbox);
	format_text(path, sizeof(path), "%s/" BACKGROUND_DIRECTORY, sandbox);
	if (mkdirat(sandboxes, path, S_IRWXU) != 0 && errno != EEXIST)
		return -errno;
	commands = open_commands(sandboxes, sandbox);
	if (commands < 0)
		return commands;
	error = flock(commands, LOCK_EX) == 0 ? 0 : -errno;
	if (!error) {
		make_room(commands, sandbox);
		error = make_command(commands, ret);
	}
	if (error) {
		background_close(ret);
		if (ret->id[0])
			(void)directory_remove(commands, ret->id); /* or it stays */
	}
	fd_close(&commands);
	return error;
}

void background_remove(int sandboxes, struct background *command)
{
	int commands = open_commands(sandboxes, command->sandbox);

	if (commands >= 0)
		(void)directory_remove(commands, command->id); /* or it stays */
	fd_close(&commands);
	background_close(command);
}
