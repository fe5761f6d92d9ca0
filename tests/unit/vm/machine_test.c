/* SPDX-License-Identifier: Apache-2.0
 *
 * QEMU's arguments as a program in its place sees them, and its end.
 */
#include "vm/machine.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "said.h"

static char folder[] = "/tmp/msp-vm-XXXXXX";
static char emulator[64], output[64];
static char seen[1 << 18];
static struct mounts mounts;
static struct machine machine;

static void set_up(void)
{
	cr_assert_not_null(mkdtemp(folder));
	(void)snprintf(emulator, sizeof(emulator), "%s/qemu", folder);
	(void)snprintf(output, sizeof(output), "%s/seen", folder);
	mounts.count = 1;
	(void)strcpy(mounts.list[0].path, "/");
}

static void tear_down(void)
{
	(void)unlink(emulator);
	(void)unlink(output);
	(void)rmdir(folder);
}

TestSuite(machine, .init = set_up, .fini = tear_down);

/* Start a shell script in QEMU's place. */
static void start(struct machine_options options, const char *script)
{
	FILE *file = fopen(emulator, "we");

	cr_assert_not_null(file);
	(void)fprintf(file, "#!/bin/sh\n%s\n", script);
	(void)fclose(file);
	cr_assert_eq(chmod(emulator, 0700), 0);
	options.emulator = emulator;
	options.files = "/files";
	cr_assert(machine_start(&options, &mounts, &machine), "%s", said);
}

/* Run one that keeps its arguments, a line each, between two empty lines. */
static void keep_arguments(struct machine_options options)
{
	char script[256];
	FILE *file;

	(void)snprintf(script, sizeof(script), "(echo; printf '%%s\\n' \"$@\") >%s", output);
	start(options, script);
	cr_assert_eq(machine_end(&machine, 5000), 0);
	file = fopen(output, "re");
	cr_assert_not_null(file);
	seen[fread(seen, 1, sizeof(seen) - 1, file)] = '\0';
	(void)fclose(file);
}

static void expect_lines(const char *lines)
{
	cr_expect_not_null(strstr(seen, lines), "no %s in %s", lines, seen);
}

Test(machine, emulated)
{
	keep_arguments((struct machine_options){ .memory_mb = 128, .processors = 2 });
	expect_lines("\n-machine\npc,usb=off,vmport=off,accel=tcg\n-cpu\nmax,-cx16\n");
	expect_lines("\n-m\n128\n-smp\n2\n");
	expect_lines("\n-kernel\n/files/kernel\n-initrd\n/files/initramfs\n");
	expect_lines("\n-nodefaults\n-no-user-config\n");
	cr_expect_null(strstr(seen, "\n-netdev\n"), "it has no network");
	cr_expect_null(strstr(seen, "\n-nic\n"), "it has no network");
}

Test(machine, with_kvm)
{
	keep_arguments(
		(struct machine_options){ .has_kvm = true, .memory_mb = 64, .processors = 1 });
	expect_lines("accel=kvm\n-cpu\nhost\n");
}

Test(machine, again_has_its_own_arguments)
{
	keep_arguments(
		(struct machine_options){ .has_kvm = true, .memory_mb = 64, .processors = 1 });
	keep_arguments((struct machine_options){ .memory_mb = 64, .processors = 1 });
	expect_lines("accel=tcg");
	cr_expect_null(strstr(seen, "accel=kvm"));
}

Test(machine, paths_are_values_and_no_options)
{
	mounts.count = 3;
	(void)strcpy(mounts.list[1].path, "/a,readonly=off,,b=c");
	mounts.list[1].is_writable = true;
	(void)strcpy(mounts.list[2].path, "/x y\nz");
	keep_arguments((struct machine_options){ .memory_mb = 64, .processors = 1 });
	expect_lines("\nlocal,id=f0,path=/,security_model=none,multidevs=remap,readonly=on\n");
	expect_lines(
		"\nlocal,id=f1,path=/a,,readonly=off,,,,b=c,security_model=none,multidevs=remap\n");
	expect_lines(
		"\nlocal,id=f2,path=/x y\nz,security_model=none,multidevs=remap,readonly=on\n");
	expect_lines("\nvirtio-9p-pci,fsdev=f2,mount_tag=msp2\n");
}

Test(machine, longest_paths_have_room)
{
	mounts.count = MOUNTS_MAX;
	for (uint32_t i = 0; i < MOUNTS_MAX; i++) {
		memset(mounts.list[i].path, ',', IPC_PATH_MAX - 1);
		mounts.list[i].path[0] = '/';
	}
	keep_arguments((struct machine_options){ .memory_mb = 1 << 20, .processors = 64 });
	expect_lines("mount_tag=msp15\n");
}

Test(machine, output_of_the_emulator_is_the_console)
{
	char text[64] = "";

	start((struct machine_options){ .memory_mb = 64, .processors = 1 },
	      "echo out; echo error >&2; exit 3");
	cr_expect_eq(WEXITSTATUS(machine_end(&machine, 5000)), 3);
	cr_expect_eq(read(machine.console, text, sizeof(text) - 1), 10);
	cr_expect_str_eq(text, "out\nerror\n");
}

Test(machine, one_that_stays_is_killed)
{
	start((struct machine_options){ .memory_mb = 64, .processors = 1 }, "exec sleep 100");
	cr_expect_eq(WTERMSIG(machine_end(&machine, 20)), SIGKILL);
}

Test(machine, missing_emulator)
{
	struct machine_options options = { .emulator = "/nowhere", .files = "/", .memory_mb = 64 };

	cr_assert(machine_start(&options, &mounts, &machine));
	cr_expect_eq(WEXITSTATUS(machine_end(&machine, 5000)), 126);
}
