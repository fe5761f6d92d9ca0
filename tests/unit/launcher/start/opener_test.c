/* SPDX-License-Identifier: Apache-2.0
 *
 * What the launcher hands to msp-opener: it takes exactly that.
 */
#include "launcher/opener/parts.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ipc/channel.h"

/* Each way to be wrong. */
enum wrong {
	WRONG_NOTHING,
	WRONG_SIZE,
	WRONG_SEALS,
	WRONG_SCHEMA,
	WRONG_COUNT,
	WRONG_NUMBER,
	WRONG_PLAN,
	WRONG_TEXT,
	WRONG_CHANNEL,
	WRONG_END
};

static void spoil_start(struct opener_start *start, enum wrong wrong)
{
	switch (wrong) {
	case WRONG_SCHEMA:
		start->schema[0] ^= 1;
		break;
	case WRONG_COUNT:
		start->own.count = CLIENT_WORKSPACES_MAX + 1;
		break;
	case WRONG_NUMBER:
		start->builtin++;
		break;
	case WRONG_PLAN:
		start->plan = -1;
		break;
	case WRONG_TEXT:
		memset(start->config, 'x', sizeof(start->config));
		break;
	default:
		break;
	}
}

static void hand_over(enum wrong wrong)
{
	static struct opener_start start;
	int fd;

	if (wrong == WRONG_CHANNEL) {
		(void)dup2(STDOUT_FILENO, OPENER_FD_CHANNEL);
		return;
	}
	cr_assert_eq(pread(OPENER_FD_START, &start, sizeof(start), 0), sizeof(start));
	spoil_start(&start, wrong);
	fd = fd_sealed_from_bytes("start", &start, sizeof(start) - (wrong == WRONG_SIZE));
	if (wrong == WRONG_SEALS) {
		fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		cr_assert_eq(fd_write_all(fd, &start, sizeof(start)), 0);
	}
	cr_assert_eq(dup2(fd, OPENER_FD_START), OPENER_FD_START);
	(void)close(fd);
}

static size_t count_descriptors(void)
{
	DIR *list = opendir("/proc/self/fd");
	size_t count = 0;

	while (list && readdir(list))
		count++;
	(void)closedir(list);
	return count - 3; /* ".", ".." and the list */
}

/* Place all that a launcher may have, and take it. Return 0 if it is taken, 1 if it is refused. */
static int take_in_child(enum wrong wrong)
{
	static struct opener_start taken;
	struct images images = IMAGES_NONE;
	struct config config = CONFIG_UNREAD;
	struct workspaces own = { .count = 1 };
	const struct launch launch = { .images = &images, .config = &config, .workspaces = &own };
	int ends[2], image;

	cr_assert_eq(channel_pair(ends), 0);
	config.plan_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	config.builtin = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	images.git = open("/dev/full", O_RDONLY | O_CLOEXEC);
	own.list[0] = open("/tmp", O_PATH | O_CLOEXEC);
	image = opener_place(&launch, ends[0], config.plan_fd);
	cr_assert_eq(image, OPENER_FD_FIRST + 4);
	(void)close(image); /* as an exec does */
	hand_over(wrong);
	if (!opener_take_start(&taken))
		return 1;
	cr_assert_eq(taken.plan, OPENER_FD_FIRST);
	cr_assert_eq(taken.builtin, OPENER_FD_FIRST + 1);
	cr_assert_eq(taken.images.git, OPENER_FD_FIRST + 2);
	cr_assert_eq(taken.own.list[0], OPENER_FD_FIRST + 3);
	cr_assert_eq(taken.images.cable, -1);
	cr_assert_eq(taken.trust.gateway, -1);
	cr_assert_eq(count_descriptors(), OPENER_FD_FIRST + 4, "no other descriptor is open");
	return 0;
}

Test(opener, it_takes_what_a_launcher_hands_over)
{
	for (int wrong = WRONG_NOTHING; wrong < WRONG_END; wrong++) {
		const pid_t pid = fork();
		int status;

		if (pid == 0)
			_exit(take_in_child((enum wrong)wrong));
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_expect_eq(status, wrong == WRONG_NOTHING ? 0 : 1 << 8, "%d: %x", wrong,
			     (unsigned int)status);
	}
}
