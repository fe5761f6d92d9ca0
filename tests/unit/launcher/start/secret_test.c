/* SPDX-License-Identifier: Apache-2.0
 *
 * The sources of secrets, and their mistakes. No message has a value.
 */
#include "launcher/start/secret.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VALUE "sesame-0123456789"

static char folder[] = "/tmp/secret-test.XXXXXX", path[64];

static void make_folder(void)
{
	cr_assert_not_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/token", folder);
}

static void remove_folder(void)
{
	(void)unlink(path);
	(void)rmdir(folder);
}

static void write_file(const char *text, mode_t mode)
{
	FILE *file = fopen(path, "w");

	cr_assert_not_null(file);
	cr_assert_geq(fputs(text, file), 0);
	cr_assert_eq(fclose(file), 0);
	cr_assert_eq(chmod(path, mode), 0);
}

static struct plan_secret secret_of(uint32_t kind, const char *source, size_t size)
{
	struct plan_secret secret = { .name = "TOKEN", .source_kind = kind };

	memcpy(secret.source, source, size);
	return secret;
}

static void expect_value(const struct plan_secret *secret, const char *value)
{
	char text[SECRET_TEXT_MAX] = "", bytes[64] = "";
	size_t size = 0;
	const int fd = secret_read(secret, &size, text);

	cr_assert_geq(fd, 0, "%s", text);
	cr_expect_eq(size, strlen(value));
	cr_expect_eq(pread(fd, bytes, sizeof(bytes), 0), (ssize_t)size);
	cr_expect_str_eq(bytes, value);
	cr_expect_neq(fcntl(fd, F_GET_SEALS) & F_SEAL_WRITE, 0);
	close(fd);
}

static void expect_refused(const struct plan_secret *secret, const char *part)
{
	char text[SECRET_TEXT_MAX] = "";
	size_t size;

	cr_expect_eq(secret_read(secret, &size, text), -1, "%s", part);
	cr_expect_eq(strncmp(text, "secret TOKEN: ", 14), 0, "%s", text);
	cr_expect_not_null(strstr(text, part), "%s: %s", part, text);
	cr_expect_null(strstr(text, "sesame"), "%s", text);
}

Test(secret, files, .init = make_folder, .fini = remove_folder)
{
	const struct plan_secret secret = secret_of(PLAN_SECRET_FILE, path, strlen(path));
	struct plan_secret other;

	expect_refused(&secret, "cannot be read: No such file or directory (ENOENT); make it");
	write_file(VALUE "\n", 0600);
	expect_value(&secret, VALUE);
	write_file(VALUE "\r\n", 0600);
	expect_value(&secret, VALUE);
	write_file(VALUE, 0400);
	expect_value(&secret, VALUE);
	cr_assert_eq(chmod(path, 0640), 0);
	expect_refused(&secret, "is open to others (mode 0640); chmod 600");
	cr_assert_eq(chmod(path, 0604), 0);
	expect_refused(&secret, "is open to others");
	other = secret_of(PLAN_SECRET_FILE, folder, strlen(folder));
	expect_refused(&other, "is no regular file");
}

Test(secret, values, .init = make_folder, .fini = remove_folder)
{
	static const char *const rows[][2] = {
		{ "sesame", "too few bytes; it must have 8 to 4096" },
		{ "", "too few bytes" },
		{ "\n\n\n\n\n\n\n\n\n", "must be one line" },
		{ VALUE "\nsesame\n", "must be one line" },
		{ VALUE " \n", "without a blank at an end" },
		{ " " VALUE, "without a blank at an end" },
		{ VALUE "\t.", "visible characters" },
		{ VALUE "\xc3\xa4", "visible characters" },
		{ VALUE "\n\n", "must be one line" },
	};
	const struct plan_secret secret = secret_of(PLAN_SECRET_FILE, path, strlen(path));
	char many[4200];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		write_file(rows[i][0], 0600);
		expect_refused(&secret, rows[i][1]);
	}
	memset(many, 'a', sizeof(many));
	many[4097] = '\0';
	write_file(many, 0600);
	expect_refused(&secret, "too many bytes");
}

Test(secret, variables)
{
	const struct plan_secret secret = secret_of(PLAN_SECRET_ENV, "MSP_TEST_SECRET", 15);

	unsetenv("MSP_TEST_SECRET");
	expect_refused(&secret, "the variable MSP_TEST_SECRET is not set where msp is started");
	setenv("MSP_TEST_SECRET", VALUE, 1);
	expect_value(&secret, VALUE);
}

Test(secret, commands)
{
	static const char prints[] = "/bin/sh\0-c\0printf '%s\\n' \"$0\"\0" VALUE;
	static const char fails[] = "/bin/sh\0-c\0exit 3";
	static const char missing[] = "/nowhere/program";
	const struct plan_secret good = secret_of(PLAN_SECRET_COMMAND, prints, sizeof(prints));
	const struct plan_secret bad = secret_of(PLAN_SECRET_COMMAND, fails, sizeof(fails));
	const struct plan_secret none = secret_of(PLAN_SECRET_COMMAND, missing, sizeof(missing));

	expect_value(&good, VALUE);
	expect_refused(&bad, "/bin/sh failed (exit code 3)");
	expect_refused(&none,
		       "/nowhere/program cannot be started: No such file or directory (ENOENT)");
}

Test(secret, sources_for_people)
{
	const struct plan_secret secret = secret_of(PLAN_SECRET_FILE, "~/.token", 8);
	char text[SECRET_TEXT_MAX];

	secret_print_source(&secret, text);
	cr_expect_str_eq(text, "file ~/.token");
}
