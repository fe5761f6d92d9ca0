/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/text/format.h"
#include "common/text/text.h"
#include "launcher/host/process_end.h"
#include "launcher/host/state_place.h"

#define STORE "msp-store"
#define SUPERVISOR "msp-supervisor"

/* Longer than a supervisor takes to end all that it runs. */
#define END_WAIT_MS 10000

/* The major numbers of pseudo-terminals. */
#define PTS_MAJOR_FIRST 136
#define PTS_MAJOR_LAST 143
#define PTS_MINORS 256

enum kind {
	KIND_BRIEF,  /* it soon ends by itself */
	KIND_RUNS,   /* it runs one command */
	KIND_SERVES, /* it would end for others, too */
};

struct holder {
	pid_t pid; /* 0: none was found */
	enum kind kind;
	const char *command; /* a word of the table; NULL: another one */
	char terminal[32];   /* empty: it has none */
};

static const struct {
	const char *command;
	enum kind kind;
} kinds[] = {
	{ "exec", KIND_RUNS },    { "shell", KIND_RUNS },       { "run", KIND_RUNS },
	{ "serve", KIND_SERVES }, { "apply", KIND_BRIEF },      { "undo", KIND_BRIEF },
	{ "diff", KIND_BRIEF },   { "cp", KIND_BRIEF },         { "create", KIND_BRIEF },
	{ "fork", KIND_BRIEF },   { "checkpoint", KIND_BRIEF }, { "rollback", KIND_BRIEF },
};

/* Read a file of a process. The size, without the NUL that is behind it; 0: it cannot be read. */
static size_t read_process(pid_t pid, const char *name, char *ret, size_t room)
{
	char path[64];
	int size;

	format_text(path, sizeof(path), "/proc/%d/%s", pid, name);
	size = text_read_file(AT_FDCWD, path, ret, room);
	return size > 0 ? (size_t)size : 0;
}

/* Parent, program and terminal of a process. */
struct status {
	pid_t parent;
	char program[16];
	unsigned int terminal; /* 0: none */
};

/* Return whether the kernel tells the status: "pid (program) state parent group session terminal".
 * The program's name may hold anything. */
static bool read_status(pid_t pid, struct status *ret)
{
	char text[512];
	const char *open_sign, *close_sign;
	char *at;

	if (read_process(pid, "stat", text, sizeof(text)) == 0)
		return false;
	open_sign = strchr(text, '(');
	close_sign = strrchr(text, ')');
	if (!open_sign || !close_sign || strlen(close_sign) < 5)
		return false;
	format_text(ret->program, sizeof(ret->program), "%.*s", (int)(close_sign - open_sign - 1),
		    open_sign + 1);
	ret->parent = (pid_t)strtol(close_sign + 4, &at, 10);
	(void)strtol(at, &at, 10);
	(void)strtol(at, &at, 10);
	ret->terminal = (unsigned int)strtoul(at, NULL, 10);
	return ret->parent > 0;
}

/* Find the store's process that has the lock of this directory. 0: there is none here. A file
 * system may number its device otherwise there, so that only the inode is compared. */
static pid_t find_store(ino_t inode)
{
	FILE *locks = fopen("/proc/locks", "re");
	unsigned long long number;
	struct status status;
	char line[256];
	pid_t ret = 0;
	int pid;

	while (locks && ret == 0 && fgets(line, sizeof(line), locks)) {
		/* The kernel's numbers fit. NOLINTNEXTLINE(cert-err34-c) */
		if (sscanf(line, "%*[0-9]: FLOCK %*s WRITE %d %*[^:]:%*[^:]:%llu", &pid, &number) ==
			    2 &&
		    number == inode && pid > 0 && read_status(pid, &status) &&
		    strcmp(status.program, STORE) == 0)
			ret = pid;
	}
	if (locks)
		(void)fclose(locks);
	return ret;
}

/* Return the holder of the sandbox with this id; 0: none is found. */
static pid_t find_pid(const void *id)
{
	char path[IPC_PATH_MAX], text[STATE_PLACE_TEXT_MAX];
	struct status store;
	struct stat status;
	pid_t pid;

	if (!state_place_find(STATE_PLACE_SANDBOXES, path, text) ||
	    strlen(path) + IPC_ID_MAX >= sizeof(path))
		return 0;
	format_append(path, sizeof(path), "/%s", (const char *)id);
	pid = lstat(path, &status) == 0 ? find_store(status.st_ino) : 0;
	return pid > 0 && read_status(pid, &store) && store.parent > 1 ? store.parent : 0;
}

/* Find the command in the words of msp, each with a NUL behind it, after the options that every
 * command takes. */
static void judge_words(const char *words, size_t size, struct holder *ret)
{
	const char *at = words + strlen(words) + 1;

	while (at < words + size && at[0] == '-')
		at += strlen(at) + 1 + (strcmp(at, "-C") == 0 ? strlen(at + 3) + 1 : 0);
	for (size_t i = 0; at < words + size && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(at, kinds[i].command) != 0)
			continue;
		ret->command = kinds[i].command;
		ret->kind = kinds[i].kind;
	}
}

static void find_holder(const char *id, struct holder *ret)
{
	char words[4096];
	struct status status;
	size_t size;

	*ret = (struct holder){ .pid = find_pid(id) };
	if (ret->pid == 0 || !read_status(ret->pid, &status)) {
		ret->pid = 0;
		return;
	}
	if (major(status.terminal) >= PTS_MAJOR_FIRST && major(status.terminal) <= PTS_MAJOR_LAST)
		format_text(ret->terminal, sizeof(ret->terminal), "pts/%u",
			    (major(status.terminal) - PTS_MAJOR_FIRST) * PTS_MINORS +
				    minor(status.terminal));
	else if (status.terminal)
		format_text(ret->terminal, sizeof(ret->terminal), "a terminal");
	size = read_process(ret->pid, "cmdline", words, sizeof(words));
	if (strcmp(status.program, SUPERVISOR) == 0) { /* a server becomes its supervisor */
		ret->command = "serve";
		ret->kind = KIND_SERVES;
	} else if (size > 0) {
		judge_words(words, size, ret);
	}
}

const char *holder_describe(const char *id, const char *word, char ret[HOLDER_TEXT_MAX])
{
	struct holder holder;

	find_holder(id, &holder);
	if (holder.pid == 0)
		return NULL;
	format_text(ret, HOLDER_TEXT_MAX, "process %d ('msp%s%s'%s%s)", holder.pid,
		    holder.command ? " " : "", holder.command ? holder.command : "",
		    holder.terminal[0]         ? " on "
		    : holder.kind == KIND_RUNS ? " in the background"
					       : "",
		    holder.terminal);
	if (holder.kind == KIND_RUNS)
		format_append(ret, HOLDER_TEXT_MAX,
			      ": 'msp stop %s' ends it; a service ('msp setup') shares it", word);
	else if (holder.kind == KIND_SERVES)
		format_append(ret, HOLDER_TEXT_MAX,
			      ": leave out --standalone if that is the service, else 'kill %d' "
			      "ends it",
			      holder.pid);
	else
		format_append(ret, HOLDER_TEXT_MAX, ": wait until it ends");
	return ret;
}

int holder_end(const char *id)
{
	struct holder holder;

	find_holder(id, &holder);
	return holder.pid > 0 && holder.kind == KIND_RUNS ? process_end(find_pid, id, END_WAIT_MS)
							  : -ESRCH;
}
