/* SPDX-License-Identifier: Apache-2.0
 *
 * The files are the person's own: no sandbox can write them (common/plan/protected.def), and a file
 * in a project's directory is none of them. Links are refused, since a file of a project may be
 * behind one. Variables of the caller are not read: a project can set them, and the user's service
 * does not have them.
 */
#include "policy/registries/registries.h"

#include "common/fd.h"
#include "common/limits.h"
#include "lib/heap/memory.h"
#include "policy/registries/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILE_BYTES_MAX 65536U

/* Plans with the certificates of three tools stay far below PLAN_SIZE_MAX. */
#define CERTIFICATES_MAX 65536U

/* The machine's own certificates, which each profile with hosts shows. */
#define BUNDLE "/etc/ssl/certs/ca-certificates.crt"

/* The uid of each account that is not mapped, as root in a unit with PrivateUsers. */
#define OVERFLOW_UID 65534

#define BEGIN "-----BEGIN "
#define BEGIN_CERTIFICATE BEGIN "CERTIFICATE-----"
#define END_CERTIFICATE "-----END CERTIFICATE-----"

/* The files, for each tool in the order in which it reads them. */
static const struct {
	enum registry_tool tool;
	const char *name; /* for people, and the place: ~/ is the home */
	registry_reader *read;
} places[] = {
	{ REGISTRY_PIP, "/etc/pip.conf", lines_read_pip },
#define REGISTRY_FILE(tool, path, reader) { REGISTRY_##tool, "~/" path, lines_read_##reader },
#include "common/plan/registries.def"
#undef REGISTRY_FILE
};

/* The reader of all files. */
struct reader {
	struct registries *registries;
	const char *home;
};

/* Open a file below a directory; no part of the path may be a link. A descriptor, or -errno. */
static int open_below(int directory, const char *path)
{
	const struct open_how how = { .flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
				      .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	const long fd = syscall(SYS_openat2, directory, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Return whether only root could put the file there. */
static bool is_roots(const char *path, const struct stat *status)
{
	return status->st_uid == 0 ||
	       (status->st_uid == OVERFLOW_UID &&
		(strncmp(path, "/etc/", 5) == 0 || strncmp(path, "/usr/", 5) == 0));
}

/* Read a file that nobody else can write. NULL, or why it is not obeyed; an absent file has no text
 * and no reason. */
static const char *read_file(int directory, const char *path, size_t most, struct buffer *ret)
{
	int fd FD_OWNED = open_below(directory, path);
	struct stat status;
	char bytes[4096];
	ssize_t size;

	if (fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES)
		return NULL;
	if (fd == -ELOOP)
		return "a link leads to it, which can lead into a project: copy the file there";
	if (fd < 0 || fstat(fd, &status) != 0)
		return "it cannot be read";
	if (!S_ISREG(status.st_mode))
		return "it is no regular file";
	if (status.st_uid != geteuid() && !is_roots(path, &status))
		return "it belongs to another user";
	if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return "others can change it: chmod go-w";
	while ((size = read(fd, bytes, sizeof(bytes))) > 0 && ret->size <= most)
		buffer_append(ret, bytes, (size_t)size);
	if (size < 0)
		return "it cannot be read";
	if (ret->size > most)
		return "it is too long";
	return ret->size > 0 && memchr(ret->bytes, '\0', ret->size) != NULL ? "it is no text"
									    : NULL;
}

/* --- certificates ----------------------------------------------------------------------------- */

/* The first 64 are the digits. */
static const char base64[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n";

/* Return whether such a text begins as a certificate does, with a sequence in a sequence; a key has
 * a number in it. */
static bool is_certificate(const char *body)
{
	uint8_t bytes[6] = { 0 };
	uint32_t bits = 0, count = 0;

	for (; *body != '\0' && count < 8; body++) {
		const char *digit = strchr(base64, *body);

		if (*body == '\r' || *body == '\n')
			continue;
		if (digit == NULL || digit >= base64 + 64)
			return false;
		bits = bits << 6 | (uint32_t)(digit - base64);
		if (++count % 4 != 0)
			continue;
		for (uint32_t i = 0; i < 3; i++)
			bytes[count / 4 * 3 - 3 + i] = (uint8_t)(bits >> (16 - 8 * i));
		bits = 0;
	}
	return bytes[0] == 0x30 &&
	       ((bytes[1] == 0x81 && bytes[3] == 0x30) || (bytes[1] == 0x82 && bytes[4] == 0x30));
}

/* Append the certificates of a text and nothing else. Return the reason why it has none that a
 * sandbox may see; NULL: it has. */
static const char *copy_pem(const char *text, struct buffer *ret)
{
	for (const char *begin = text; (begin = strstr(begin, BEGIN)) != NULL;) {
		const char *body, *end;

		if (strncmp(begin, BEGIN_CERTIFICATE, strlen(BEGIN_CERTIFICATE)) != 0)
			return "the file has something else than certificates";
		body = begin + strlen(BEGIN_CERTIFICATE);
		end = body + strspn(body, base64);
		if (strncmp(end, END_CERTIFICATE, strlen(END_CERTIFICATE)) != 0 ||
		    !is_certificate(body))
			return "the file has a certificate that is none";
		end += strlen(END_CERTIFICATE);
		buffer_append(ret, begin, (size_t)(end - begin));
		buffer_append_text(ret, "\n");
		begin = end;
	}
	return ret->size > 0 ? NULL : "the file has no certificate";
}

static const char *read_certificates(const char *path, struct buffer *ret)
{
	struct buffer text = { .bytes = NULL };
	const char *problem = read_file(AT_FDCWD, path, CERTIFICATES_MAX, &text);

	if (problem == NULL && text.size == 0)
		problem = "the file of certificates is not there";
	if (problem == NULL)
		problem = copy_pem(text.bytes, ret);
	buffer_done(&text);
	return problem;
}

/* The path is in a file of certificates' place: absolute, or below the home. */
static void add_certificates(const struct registry_place *place, const char *name, const char *path)
{
	struct reader *reader = place->context;
	struct buffer full = { .bytes = NULL }, found = { .bytes = NULL };
	const char *problem;

	if (path[0] == '~' && path[1] == '/' && reader->home != NULL)
		buffer_format(&full, "%s%s", reader->home, path + 1);
	else
		buffer_append_text(&full, path);
	if (full.size == 0 || full.bytes[0] != '/' || full.size >= IPC_PATH_MAX) {
		problem = "its path is not absolute";
	} else {
		/* Certificates of the system are behind links. */
		char *real = realpath(full.bytes, NULL);

		buffer_append(&reader->registries->watched, full.bytes, full.size + 1);
		problem = strcmp(full.bytes, BUNDLE) == 0
				  ? "the sandbox has this machine's certificates by itself"
				  : read_certificates(real != NULL ? real : full.bytes, &found);
		free(real);
	}
	if (problem != NULL) {
		lines_add_problem(place, name, problem);
	} else {
		lines_add_word(place, name, "certificates", "");
		buffer_done(&place->registry->certificates);
		place->registry->certificates = found;
		found = (struct buffer){ .bytes = NULL };
	}
	buffer_done(&full);
	buffer_done(&found);
}

/* --- all files -------------------------------------------------------------------------------- */

static void read_place(struct reader *reader, size_t index, int home)
{
	struct registry_place place = { .registry = &reader->registries->of[places[index].tool],
					.file = places[index].name,
					.take_certificates = add_certificates,
					.context = reader };
	const char *path = place.file + (place.file[0] == '~' ? 2 : 0), *problem;
	struct buffer text = { .bytes = NULL };

	if (path == place.file)
		buffer_append(&reader->registries->watched, path, strlen(path) + 1);
	problem = read_file(home, path, FILE_BYTES_MAX, &text);
	place.line = problem != NULL ? 1 : 0;
	if (problem != NULL)
		lines_add_problem(&place, "", problem);
	else if (text.size > 0)
		places[index].read(&place, text.bytes);
	buffer_done(&text);
}

struct registries *registries_read(const char *home)
{
	struct registries *registries = memory_get_zeroed(1, sizeof(*registries));
	struct reader reader = { .registries = registries, .home = home };
	/* A home itself may be behind a link. */
	int directory FD_OWNED = home != NULL ? open(home, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (directory >= 0 || places[i].name[0] == '/')
			read_place(&reader, i, directory);
	}
	for (unsigned int tool = 0; tool < REGISTRY_TOOL_COUNT; tool++)
		gift_make((enum registry_tool)tool, &registries->of[tool]);
	return registries;
}

struct registries *registries_free(struct registries *registries)
{
	for (unsigned int tool = 0; registries != NULL && tool < REGISTRY_TOOL_COUNT; tool++) {
		struct registry *registry = &registries->of[tool];

		for (size_t i = 0; i < registry->count; i++) {
			free(registry->lines[i].name);
			free(registry->lines[i].value);
			free(registry->lines[i].of);
		}
		for (uint32_t i = 0; i < registry->variable_count; i++)
			free(registry->variables[i]);
		free(registry->lines);
		buffer_done(&registry->certificates);
		buffer_done(&registry->file);
	}
	if (registries != NULL)
		buffer_done(&registries->watched);
	free(registries);
	return NULL;
}
