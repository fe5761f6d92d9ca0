/* SPDX-License-Identifier: Apache-2.0
 *
 * The directory takes the place of /etc/ssl/certs in a sandbox, and of its like elsewhere: the same
 * bundle has the name that programs of each distribution look for.
 */
#include "launcher/start/certificates.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/helper.h"
#include "launcher/host/state_place.h"

#define PLACE "/trust"
#define WAIT_MS 10000
#define OWN "msp-ca.crt"
#define BUNDLE "ca-certificates.crt"
#define JAVA "java/cacerts"

/* The files in which distributions keep all certificates. */
static const char *const bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

/* Names by which programs find the bundle. */
static const struct {
	const char *name, *to;
} links[] = {
	{ "ca-bundle.crt", BUNDLE },
	{ "ca-bundle.trust.crt", BUNDLE },
	{ "pem/tls-ca-bundle.pem", "../" BUNDLE },
};

static const char *const folders[] = { "pem", "java" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int refuse_file(char text[CONFIG_TEXT_MAX], const char *what, int error)
{
	return format_fail(-1, text, CONFIG_TEXT_MAX, "%.300s: %s", what, errno_text(-error));
}

/* --- the authority ---------------------------------------------------------------------------- */

/* Run msp-http with a word and two descriptors. 0, or -1 with a line. */
static int run_http(int image, const char *word, const int fds[2], char text[CONFIG_TEXT_MAX])
{
	const char *const words[] = { "msp-http", word, NULL };
	const struct helper helper = { .image = image,
				       .words = words,
				       .fds = { fds[0], fds[1] },
				       .fd_count = 2,
				       .output_of = STDERR_FILENO };
	char said[512];
	const struct helper_answer answer = helper_run(&helper, WAIT_MS, said, sizeof(said) - 1);

	if (answer.end == HELPER_DONE)
		return 0;
	said[answer.size] = '\0';
	said[strcspn(said, "\n")] = '\0';
	return format_fail(-1, text, CONFIG_TEXT_MAX, "msp-http %s: %s", word,
			   answer.end == HELPER_FAILED ? errno_text(-answer.status)
			   : said[0]                   ? said
						       : "it failed and said nothing");
}

static int make_memory(const char *name)
{
	return fd_result(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
}

/* Make the authority; *ret_own is its certificate alone. */
static int make_authority(int image, int *ret_authority, int *ret_own, char text[CONFIG_TEXT_MAX])
{
	int authority FD_OWNED = make_memory("authority");
	int own FD_OWNED = make_memory("certificate");
	const int error = authority < 0 ? authority : own < 0 ? own : image < 0 ? -ENOENT : 0;

	if (error)
		return refuse_file(text, "msp-http cannot make a certificate", error);
	if (run_http(image, "authority", (const int[]){ authority, own }, text) != 0)
		return -1;
	if (fd_seal(authority) != 0 || fd_seal(own) != 0)
		return refuse_file(text, "the certificate cannot be sealed", -errno);
	*ret_authority = fd_take(&authority);
	*ret_own = fd_take(&own);
	return 0;
}

/* Copy the host's certificates to a sealed memory file; without any it is empty. */
static int copy_roots(char text[CONFIG_TEXT_MAX])
{
	const char *said = getenv("SSL_CERT_FILE");
	int file FD_OWNED = -1, roots;

	if (said && said[0])
		file = open(said, O_RDONLY | O_CLOEXEC);
	if (said && said[0] && file < 0)
		return refuse_file(text, "SSL_CERT_FILE cannot be read", -errno);
	for (size_t i = 0; file < 0 && i < COUNT(bundles); i++)
		file = open(bundles[i], O_RDONLY | O_CLOEXEC);
	roots = file < 0 ? fd_sealed_from_bytes("roots", "", 0)
			 : fd_sealed_from_file("roots", file);
	return roots < 0 ? refuse_file(text, "the host's certificates cannot be copied", roots)
			 : roots;
}

/* --- the directory ---------------------------------------------------------------------------- */

static int write_file(int directory, const char *name, const int *parts, size_t count)
{
	int fd FD_OWNED = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	int error = fd < 0 ? -errno : 0;

	for (size_t i = 0; i < count && !error; i++)
		error = fd_copy(parts[i], fd);
	return error;
}

/* Programs of Java read certificates in a form of their own. */
static int write_java(int directory, int http, char text[CONFIG_TEXT_MAX])
{
	int fds[2] = { openat(directory, BUNDLE, O_RDONLY | O_CLOEXEC), make_memory("java") };
	int result = fds[0] < 0 || fds[1] < 0 ? refuse_file(text, JAVA, -errno)
					      : run_http(http, "java", fds, text);

	if (result == 0 && write_file(directory, JAVA, &fds[1], 1) != 0)
		result = refuse_file(text, JAVA, -errno);
	fd_close_all(fds, 2);
	return result;
}

static int fill_directory(int directory, int roots, int own)
{
	const int parts[] = { roots, own };
	int error = 0;

	for (size_t i = 0; i < COUNT(folders) && !error; i++)
		error = mkdirat(directory, folders[i], 0755) == 0 ? 0 : -errno;
	if (!error)
		error = write_file(directory, BUNDLE, parts, 2);
	if (!error)
		error = write_file(directory, OWN, &own, 1);
	for (size_t i = 0; i < COUNT(links) && !error; i++)
		error = symlinkat(links[i].to, directory, links[i].name) == 0 ? 0 : -errno;
	return error;
}

/* Remove a directory and the files that fill_directory() makes in it. */
static void remove_directory(int place, const char *name)
{
	int directory FD_OWNED =
		openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (directory < 0)
		return;
	(void)unlinkat(directory, BUNDLE, 0); /* the next start tries again */
	(void)unlinkat(directory, OWN, 0);
	(void)unlinkat(directory, JAVA, 0);
	for (size_t i = 0; i < COUNT(links); i++)
		(void)unlinkat(directory, links[i].name, 0);
	for (size_t i = 0; i < COUNT(folders); i++)
		(void)unlinkat(directory, folders[i], AT_REMOVEDIR);
	(void)unlinkat(place, name, AT_REMOVEDIR);
}

static int open_locked(int place, const char *name)
{
	int fd = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0)
		fd_close(&fd);
	return fd;
}

/* Remove the directories of starts that have ended without it: nobody has them locked. */
static void remove_left(int place)
{
	const int again = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = again < 0 ? NULL : fdopendir(again);
	const struct dirent *entry;

	while (list && (entry = readdir(list))) {
		int left FD_OWNED =
			entry->d_name[0] == '.' ? -1 : open_locked(place, entry->d_name);

		if (left >= 0)
			remove_directory(place, entry->d_name);
	}
	if (list)
		(void)closedir(list);
}

/* Make a directory that nobody has had, and lock it. */
static int make_directory(int place, char name[20])
{
	uint64_t number = 0;
	int fd;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	format_text(name, 20, "%016llx", (unsigned long long)number);
	if (mkdirat(place, name, 0755) != 0)
		return -errno;
	fd = open_locked(place, name);
	return fd < 0 ? -EBUSY : fd;
}

static int open_place(char path[IPC_PATH_MAX], char text[CONFIG_TEXT_MAX])
{
	char problem[STATE_PLACE_TEXT_MAX];
	const int place = state_place_enter(PLACE, true, path, problem);

	return place >= 0 ? place
			  : format_fail(place, text, CONFIG_TEXT_MAX,
					"no place for certificates: %.900s", problem);
}

/* Return whether a program of Java may want certificates. */
static bool has_java(void)
{
	return access("/etc/ssl/certs/java/cacerts", F_OK) == 0 ||
	       access("/usr/bin/java", X_OK) == 0;
}

static int make_trust(int http, int own, struct certificates *certificates,
		      char text[CONFIG_TEXT_MAX])
{
	int place FD_OWNED = open_place(certificates->path, text);
	char name[20] = "";
	int error;

	if (place < 0)
		return -1;
	remove_left(place);
	certificates->directory = make_directory(place, name);
	error = certificates->directory < 0
			? certificates->directory
			: fill_directory(certificates->directory, certificates->roots, own);
	format_append(certificates->path, IPC_PATH_MAX, "/%s", name);
	if (error)
		return refuse_file(text, certificates->path, error);
	return has_java() ? write_java(certificates->directory, http, text) : 0;
}

int certificates_make(int http, struct certificates *ret, char text[CONFIG_TEXT_MAX])
{
	struct certificates made = { .authority = -1, .roots = -1, .directory = -1 };
	int own FD_OWNED = -1;
	int result = make_authority(http, &made.authority, &own, text);

	if (result == 0) {
		made.roots = copy_roots(text);
		result = made.roots < 0 ? -1 : make_trust(http, own, &made, text);
	}
	if (result == 0)
		*ret = made;
	else
		certificates_remove(&made);
	return result;
}

void certificates_remove(struct certificates *certificates)
{
	char place[IPC_PATH_MAX];
	char *slash;

	format_text(place, sizeof(place), "%s", certificates->path);
	slash = strrchr(place, '/');
	if (certificates->directory >= 0 && slash) {
		*slash = '\0';
		int fd FD_OWNED = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		remove_directory(fd, slash + 1);
	}
	fd_close(&certificates->directory);
	fd_close(&certificates->authority);
	fd_close(&certificates->roots);
}
