/* SPDX-License-Identifier: Apache-2.0
 *
 * A posture in words and in JSON.
 */
#include "show/measured.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ipc_posture.h"
#include "common/names.h"

static struct ipc_posture_full posture;

static void begin(void)
{
	posture = (struct ipc_posture_full){
		.is_measured = 1,
		.controllers = POSTURE_CONTROLLER_MEMORY | POSTURE_CONTROLLER_PIDS,
		.seccomp_mode = 2,
		.filter_hash = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd },
		.measured = { .landlock_abi = 6,
			      .namespaces = POSTURE_BIT(POSTURE_NAMESPACE_COUNT) - 1,
			      .layers_untried = POSTURE_BIT(POSTURE_LANDLOCK_TCP),
			      .layers_closed = POSTURE_ALL & ~POSTURE_BIT(POSTURE_LANDLOCK_TCP) }
	};
}

TestSuite(measured, .init = begin);

static const char *described(void)
{
	static char text[1024];

	measured_describe(&posture, text, sizeof(text));
	return text;
}

Test(measured, in_words)
{
	cr_assert_str_eq(
		described(),
		"14 layers hold; not tried: landlock tcp; own namespaces: user, mnt, pid, ipc, "
		"uts, cgroup, net; controllers: memory, pids; system call filter 0123456789ab");
	posture.measured.layers_untried = 0;
	posture.controllers = 0;
	posture.measured.landlock_abi = 3;
	cr_assert_str_eq(
		described(),
		"14 layers hold; not handled by this kernel's Landlock: bind_tcp, connect_tcp, "
		"ioctl_dev, abstract_unix_socket, signal; own namespaces: user, mnt, pid, ipc, "
		"uts, cgroup, net; system call filter 0123456789ab");
}

Test(measured, the_longest_fits)
{
	posture.measured.landlock_abi = 0;
	posture.measured.layers_untried = POSTURE_ALL;
	posture.controllers = UINT32_MAX;
	cr_assert_not_null(strstr(described(), "filter 0123456789ab"));
}

static const char *written(void)
{
	static char text[4096];
	char path[] = "/tmp/msp-measured-test-XXXXXX";
	const int file = mkstemp(path);
	static struct json_output json;
	ssize_t size;

	cr_assert_geq(file, 0);
	cr_assert_eq(unlink(path), 0);
	json_begin(&json, file);
	json_open_object(&json.writer, NULL);
	measured_write(&json.writer, &posture);
	json_close_object(&json.writer);
	cr_assert_eq(json_finish(&json), 0);
	size = pread(file, text, sizeof(text) - 1, 0);
	cr_assert_gt(size, 0);
	text[size] = '\0';
	(void)close(file); /* it was only read */
	return text;
}

Test(measured, in_json)
{
	const char *text = written();

	for (uint32_t layer = 0; layer < POSTURE_COUNT; layer++) {
		char quoted[64];

		(void)snprintf(quoted, sizeof(quoted), "    \"%s\"", posture_layer_name(layer));
		cr_assert_not_null(strstr(text, quoted), "%s", quoted);
	}
	cr_assert_lt(strstr(text, "\"layers\""), strstr(text, "\"not_tried\""));
	cr_assert_gt(strstr(text, "\"landlock tcp\""), strstr(text, "\"not_tried\""));
	cr_assert_not_null(strstr(text, "\"seccomp_mode\": 2"));
	cr_assert_not_null(strstr(text, "\"filter_sha256\": \"0123456789abcd000000"));
	cr_assert_not_null(strstr(text, "\"landlock_lost\": []"));
}

Test(measured, nothing_when_nothing_was_measured)
{
	posture.is_measured = 0;
	cr_assert_null(strchr(written(), '"'));
}
