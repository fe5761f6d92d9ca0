/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/posture_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc/ipc_posture.h"
#include "common/text/names.h"

static struct ipc_posture_full posture;

static void begin(void)
{
	posture = (struct ipc_posture_full){
		.is_measured = 1,
		.controllers = POSTURE_CONTROLLER_CPU | POSTURE_CONTROLLER_IO,
		.seccomp_mode = 2,
		.filter_hash = { 0xab, 0x01 },
		.measured = { .landlock_abi = 4,
			      .namespaces = POSTURE_BIT(POSTURE_NAMESPACE_PID) |
					    POSTURE_BIT(POSTURE_NAMESPACE_NET),
			      .layers_untried = POSTURE_BIT(POSTURE_LANDLOCK_TCP),
			      .layers_closed = POSTURE_ALL & ~POSTURE_BIT(POSTURE_LANDLOCK_TCP) }
	};
}

TestSuite(posture_text, .init = begin);

static const char *written(void)
{
	static struct buffer buffer;
	struct json_writer writer = { .out = &buffer };

	buffer_done(&buffer);
	memset(&buffer, 0, sizeof(buffer));
	json_open_object(&writer, NULL);
	posture_put(&writer, &posture);
	json_close_object(&writer);
	buffer_append(&buffer, "", 1);
	return buffer.bytes;
}

Test(posture_text, each_part_is_named)
{
	char expected[1024];

	(void)snprintf(expected, sizeof(expected),
		       "{\"layers\":%d,\"not_tried\":[\"landlock tcp\"],"
		       "\"landlock_lost\":[\"ioctl_dev\",\"abstract_unix_socket\",\"signal\"],"
		       "\"namespaces\":[\"pid\",\"net\"],\"controllers\":[\"cpu\",\"io\"],"
		       "\"seccomp_mode\":2,\"filter_sha256\":\"ab01%060d\"}",
		       POSTURE_COUNT - 1, 0);
	cr_assert_str_eq(written(), expected);
}

static const char *described(void)
{
	static struct buffer text;

	text.size = 0;
	posture_describe(&posture, &text);
	return text.bytes;
}

Test(posture_text, in_words)
{
	posture.measured.namespaces = POSTURE_BIT(POSTURE_NAMESPACE_COUNT) - 1;
	posture.measured.landlock_abi = 6;
	cr_assert_str_eq(
		described(),
		"14 layers hold; not tried: landlock tcp; own namespaces: user, mnt, pid, ipc, "
		"uts, cgroup, net; controllers: cpu, io; system call filter ab0100000000");
	posture.measured.layers_untried = 0;
	posture.controllers = 0;
	posture.measured.landlock_abi = 3;
	cr_assert_str_eq(
		described(),
		"14 layers hold; not handled by this kernel's Landlock: bind_tcp, connect_tcp, "
		"ioctl_dev, abstract_unix_socket, signal; own namespaces: user, mnt, pid, ipc, "
		"uts, cgroup, net; system call filter ab0100000000");
}

Test(posture_text, a_set_has_an_end)
{
	posture.controllers = UINT32_MAX;
	cr_assert_not_null(strstr(described(), "; controllers: cpu, memory, pids, io; system"));
}

Test(posture_text, nothing_when_nothing_was_measured)
{
	posture.is_measured = 0;
	cr_assert_str_eq(written(), "{}");
}
