/* SPDX-License-Identifier: Apache-2.0
 *
 * A made-up root with packages' records: what is copied from its /etc, and what is not.
 */
#include "policy/packages/packages.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/plan/plan.h"
#include "policy/packages/md5.h"

#define PACKAGES_STATUS "var/lib/dpkg/status"
#define PACKAGES_UCF "var/lib/ucf/hashfile"

static char folder[] = "/tmp/msp-packages-XXXXXX";
static int root, place;
static FILE *status, *ucf;

static void make_parents(int base, const char *path)
{
	char part[512];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		cr_assert(mkdirat(base, part, 0755) == 0 || errno == EEXIST);
	}
}

/* Write a file below /etc. */
static void write_file(const char *path, const char *content, mode_t mode)
{
	char full[512];
	int fd;

	snprintf(full, sizeof(full), "etc/%s", path);
	make_parents(root, full);
	fd = openat(root, full, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	cr_assert_eq(fchmod(fd, mode), 0);
	close(fd);
}

/* Record a file of this content. */
static void record_file(const char *path, const char *content)
{
	char hash[MD5_DIGITS + 1];

	md5_print(content, strlen(content), hash);
	fprintf(status, " /etc/%s %s\n", path, hash);
}

/* Write a package's file and record it. */
static void install_file(const char *path)
{
	write_file(path, path, 0644);
	record_file(path, path);
}

static void make_link(const char *path, const char *text)
{
	char full[512];

	snprintf(full, sizeof(full), "etc/%s", path);
	make_parents(root, full);
	cr_assert_eq(symlinkat(text, root, full), 0);
}

static void begin(void)
{
	cr_assert_not_null(mkdtemp(folder));
	root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_parents(root, "etc/");
	make_parents(root, "state/");
	make_parents(root, "var/lib/dpkg/");
	make_parents(root, "var/lib/ucf/");
	place = openat(root, "state", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	status = fdopen(openat(root, PACKAGES_STATUS, O_WRONLY | O_CREAT, 0644), "w");
	ucf = fdopen(openat(root, PACKAGES_UCF, O_WRONLY | O_CREAT, 0644), "w");
	fprintf(status, "Package: a\nStatus: install ok installed\nConffiles:\n");
}

static void end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	cr_assert_eq(system(command), 0); /* NOLINT(cert-env33-c): a path of ours */
}

TestSuite(packages, .init = begin, .fini = end);

static int update(void)
{
	struct packages packages = { .count = 0 };
	char path[128];
	int tree;

	fflush(status);
	fflush(ucf);
	packages_read(&packages, folder);
	snprintf(path, sizeof(path), "%s/state", folder);
	cr_assert_eq(packages_copy(&packages, path), 0);
	packages_done(&packages);
	tree = openat(place, PACKAGES_TREE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(tree, 0);
	return tree;
}

static bool is_shown(const char *path)
{
	int tree = update();
	const bool result = faccessat(tree, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;

	close(tree);
	return result;
}

Test(packages, an_unchanged_file_is_copied_as_it_is)
{
	char text[64] = "";
	struct stat kept;
	int tree, fd;

	install_file("php/8.2/cli/php.ini");
	tree = update();
	fd = openat(tree, "php/8.2/cli/php.ini", O_RDONLY);
	cr_assert_geq(fd, 0);
	cr_assert_gt(read(fd, text, sizeof(text) - 1), 0);
	cr_expect_str_eq(text, "php/8.2/cli/php.ini");
	cr_assert_eq(fstat(fd, &kept), 0);
	cr_expect_eq(kept.st_mode & 07777, 0644);
	close(fd);
	close(tree);
}

Test(packages, a_file_without_its_proof_stays_out)
{
	install_file("php/control.ini");
	write_file("php/local.ini", "of the administrator", 0644);
	write_file("php/changed.ini", "password = sesame", 0644);
	record_file("php/changed.ini", "password =");
	write_file("php/closed.ini", "x", 0640);
	record_file("php/closed.ini", "x");
	write_file("agency.conf", "of the administrator", 0644);
	cr_expect(is_shown("php/control.ini"));
	cr_expect_not(is_shown("php/local.ini"));
	cr_expect_not(is_shown("php/changed.ini"));
	cr_expect_not(is_shown("php/closed.ini"));
	cr_expect_not(is_shown("agency.conf"));
}

Test(packages, a_link_in_place_of_a_file_is_no_file)
{
	write_file("shadow", "secret", 0644);
	record_file("php/php.ini", "secret");
	make_link("php/php.ini", "../shadow");
	install_file("php/control.ini");
	cr_expect(is_shown("php/control.ini"));
	cr_expect_not(is_shown("php/php.ini"));
}

Test(packages, names_of_the_machine_stay_out_although_they_are_unchanged)
{
	static const char *const names[] = {
		"shadow",
		"passwd-",
		"group",
		"hostname",
		"hosts",
		"machine-id",
		"fstab",
		"resolv.conf",
		"network/interfaces",
		"ssh/ssh_config",
		"cron.d/php",
		"sudoers",
		"sudoers.d/x",
		"systemd/user.conf",
		"udev/udev.conf",
		"default/locale",
		"environment",
		"profile",
		"profile.d/x.sh",
		"motd",
		"issue",
		"mailname",
		"aliases",
		"exim4/exim4.conf",
		"postfix/main.cf",
		"cups/cupsd.conf",
		"mysql/my.cnf",
		"krb5.conf",
		"ldap/ldap.conf",
		"letsencrypt/cli.ini",
		"apt/apt.conf.d/01",
		"X11/Xsession",
		"ppp/options",
		"pam.d/login",
		"security/limits.conf",
		"NetworkManager/NetworkManager.conf",
		"wpa_supplicant/functions.sh",
	};

	install_file("control.conf");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		install_file(names[i]);
	cr_expect(is_shown("control.conf"));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cr_expect_not(is_shown(names[i]), "%s", names[i]);
	}
}

Test(packages, a_file_of_ucf_counts_like_one_of_dpkg)
{
	char hash[MD5_DIGITS + 1];

	write_file("php/mods-available/xml.ini", "extension=xml", 0644);
	md5_print("extension=xml", 13, hash);
	fprintf(ucf, "%s  /etc/php/mods-available/xml.ini\n", hash);
	write_file("php/mods-available/db.ini", "password", 0644);
	fprintf(ucf, "%s  /etc/php/mods-available/db.ini\n", hash);
	cr_expect(is_shown("php/mods-available/xml.ini"));
	cr_expect_not(is_shown("php/mods-available/db.ini"));
}

Test(packages, links_lead_to_what_is_shown_and_to_programs)
{
	install_file("php/mods-available/xml.ini");
	write_file("php/mods-available/local.ini", "secret", 0644);
	make_link("php/conf.d/20-xml.ini", "../mods-available/../mods-available/xml.ini");
	make_link("php/conf.d/21-xml.ini", "../mods-available/xml.ini");
	make_link("php/conf.d/30-local.ini", "../mods-available/local.ini");
	make_link("php/conf.d/31-chain.ini", "30-local.ini");
	make_link("php/conf.d/32-chain.ini", "20-xml.ini");
	make_link("php/conf.d/40-usr.ini", "/usr/bin/env");
	make_link("php/conf.d/50-own.ini", "/usr/local/share");
	make_link("php/conf.d/60-home.ini", "/etc/passwd");
	make_link("php/conf.d/70-out.ini", "../../../state");
	make_link("php/conf.d/80-nowhere.ini", "/usr/share/msp-nowhere");
	write_file("fpc-3.cfg", "-Fu/usr/lib/fpc", 0644);
	make_link("alternatives/fpc.cfg", "../fpc-3.cfg");
	make_link("fpc.cfg", "alternatives/fpc.cfg");
	make_link("customers/acme", "/usr/bin/env");
	cr_expect(is_shown("php/conf.d/20-xml.ini"));
	cr_expect(is_shown("php/conf.d/21-xml.ini"));
	cr_expect_not(is_shown("php/conf.d/30-local.ini"));
	cr_expect_not(is_shown("php/conf.d/31-chain.ini"), "by another link");
	cr_expect(is_shown("php/conf.d/32-chain.ini"));
	cr_expect(is_shown("php/conf.d/40-usr.ini"));
	cr_expect_not(is_shown("php/conf.d/50-own.ini"));
	cr_expect_not(is_shown("php/conf.d/60-home.ini"));
	cr_expect_not(is_shown("php/conf.d/70-out.ini"));
	cr_expect_not(is_shown("php/conf.d/80-nowhere.ini"));
	cr_expect(is_shown("fpc.cfg"));
	cr_expect_not(is_shown("customers"), "a directory that no package has a file in");
}

Test(packages, generated_files_are_named)
{
	write_file("fpc-3.2.2.cfg", "-Fu/usr/lib/fpc", 0644);
	write_file("xml/catalog", "<catalog/>", 0644);
	write_file("xml/private/catalog", "<catalog/>", 0644);
	write_file("odbcinst.ini", "[PostgreSQL]", 0644);
	write_file("odbc.ini", "Password = sesame", 0644);
	write_file("mailcap", "text/x; show --Passwd=sesame %s", 0644);
	write_file("xml/open.xml", "<catalog/>", 0646);
	cr_expect(is_shown("fpc-3.2.2.cfg"));
	cr_expect(is_shown("xml/catalog"));
	cr_expect_not(is_shown("xml/private/catalog"));
	cr_expect(is_shown("odbcinst.ini"));
	cr_expect_not(is_shown("odbc.ini"));
	cr_expect_not(is_shown("mailcap"), "it has a word of a secret");
	cr_expect_not(is_shown("xml/open.xml"), "everybody can write it");
}

Test(packages, a_file_of_another_owner_stays_out)
{
	struct packages packages = { .count = 0 };

	install_file("control.conf");
	cr_expect(is_shown("control.conf"));
	if (geteuid() == 0) { /* as root we can give it away */
		cr_assert_eq(fchownat(root, "etc/control.conf", 1, 1, 0), 0);
		cr_expect_not(is_shown("control.conf"));
	}
	packages_done(&packages);
}

Test(packages, what_changes_without_a_package_is_watched)
{
	char text[512] = "", *next = text;
	ssize_t size;
	int fd;

	install_file("php/mods/xml.ini");
	make_link("php/conf.d/xml.ini", "../mods/xml.ini");
	make_link("php/conf.d/own.ini", "../mods/own.ini");
	write_file("mailcap", "text/x; show", 0644);
	close(update());
	fd = openat(place, PLAN_PACKAGES_WATCHED, O_RDONLY | O_CLOEXEC);
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	for (ssize_t i = 0; i < size - 1; i++)
		text[i] = text[i] ? text[i] : ' ';
	for (int i = 0; i < 4; i++) {
		static const char *const wanted[] = { PACKAGES_STATUS, PACKAGES_UCF, "etc/mailcap",
						      "etc/php/conf.d" };

		next = strstr(next, wanted[i]);
		cr_assert_not_null(next, "%s in %s", wanted[i], text);
	}
	cr_expect_str_eq(next, "etc/php/conf.d");
}

Test(packages, lines_of_other_forms_name_nothing)
{
	write_file("a", "a", 0644);
	install_file("control.conf");
	fprintf(status, " /etc/a newconffile\n /etc/a 0cc175b9c0f1b6a831c399e26977266\n"
			"  /etc/a 0cc175b9c0f1b6a831c399e269772661\n"
			" /etc/../etc/a 0cc175b9c0f1b6a831c399e269772661\n"
			" /etc//a 0cc175b9c0f1b6a831c399e269772661\n"
			" /etc/a 0cc175b9c0f1b6a831c399e269772661");
	cr_expect(is_shown("control.conf"));
	cr_expect_not(is_shown("a"), "the last line has no end");
	fprintf(status, " obsolete\n");
	cr_expect(is_shown("a"), "words may follow the hash");
}

Test(packages, what_is_installed_and_removed_later_is_seen)
{
	struct stat before, after;
	int tree;

	install_file("php/php.ini");
	install_file("php/mods/xml.ini");
	make_link("php/conf.d/xml.ini", "../mods/xml.ini");
	tree = update();
	cr_assert_eq(fstat(tree, &before), 0);
	close(tree);
	install_file("fonts/fonts.conf");
	write_file("php/php.ini", "changed", 0644);
	cr_expect(is_shown("fonts/fonts.conf"));
	cr_expect_not(is_shown("php/php.ini"), "it is changed");
	cr_expect(is_shown("php/conf.d/xml.ini"));
	tree = update();
	cr_assert_eq(fstat(tree, &after), 0);
	close(tree);
	cr_expect_eq(before.st_ino, after.st_ino, "sandboxes show this directory");

	cr_assert_eq(unlinkat(root, "etc/php/conf.d/xml.ini", 0), 0);
	cr_expect_not(is_shown("php/conf.d/xml.ini"), "phpdismod changes no record of a package");
	cr_expect(is_shown("php/mods/xml.ini"));
}

Test(packages, a_file_in_place_of_a_directory_and_back)
{
	install_file("a/b");
	cr_expect(is_shown("a/b"));
	cr_assert_eq(unlinkat(root, "etc/a/b", 0), 0);
	cr_assert_eq(unlinkat(root, "etc/a", AT_REMOVEDIR), 0);
	install_file("a");
	cr_expect(is_shown("a"));
	cr_expect_not(is_shown("a/b"));
	cr_assert_eq(unlinkat(root, "etc/a", 0), 0);
	install_file("a/c");
	cr_expect(is_shown("a/c"));
}

Test(packages, without_records_nothing_is_shown)
{
	write_file("php/php.ini", "x", 0644);
	cr_assert_eq(unlinkat(root, PACKAGES_STATUS, 0), 0);
	cr_assert_eq(unlinkat(root, PACKAGES_UCF, 0), 0);
	cr_expect_not(is_shown("php"));
}
