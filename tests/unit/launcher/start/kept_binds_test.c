/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of kept binds as files: what msp-policy reads, and which are the same.
 */
#include "launcher/start/kept_binds.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY "/run/msp/key"

static char state[] = "/tmp/msp-kept-test-XXXXXX";
static char text[CONFIG_TEXT_MAX];
static char last[128]; /* the path of the last set */

static void begin(void)
{
	cr_assert_not_null(mkdtemp(state));
	cr_assert_eq(setenv("MSP_STATE_DIR", state, 1), 0);
}

static void end(void)
{
	char path[128];

	(void)unlink(last);
	(void)snprintf(path, sizeof(path), "%s/binds", state);
	(void)rmdir(path);
	cr_expect_eq(rmdir(state), 0, "a file is left");
}

TestSuite(kept_binds, .init = begin, .fini = end);

static const struct binds nothing;

/* Keep a set of an agent, and return whether it is new. */
static bool keep_set(const struct kept_pair *pairs, uint32_t count)
{
	const struct kept_wish wish = { .asker = "msp agent",
					.profile = "agent.mine",
					.binds = &nothing,
					.pairs = pairs,
					.pair_count = count };
	char name[IPC_NAME_MAX];
	bool is_new = false;

	cr_assert_eq(kept_binds_add(&wish, name, &is_new, text), 0, "%s", text);
	cr_assert_eq(strncmp(name, "agent.mine+", strlen("agent.mine+")), 0, "%s", name);
	(void)snprintf(last, sizeof(last), "%s/binds/%s", state, strchr(name, '+') + 1);
	return is_new;
}

Test(kept_binds, pairs_of_an_agent_follow_the_binds)
{
	static const struct kept_pair pairs[] = { { KEY, "=A_KEY" },
						  { KEPT_MODEL ":11434", KEPT_OWN_PORT } };
	static const char expected[] = "agent.mine\0" KEY "\0=A_KEY\0model.local:11434\0=@host";
	char bytes[256];
	struct stat status;
	FILE *file;

	cr_expect(keep_set(pairs, 2));
	file = fopen(last, "re");
	cr_assert_not_null(file);
	cr_expect_eq(fread(bytes, 1, sizeof(bytes), file), sizeof(expected));
	cr_expect_eq(memcmp(bytes, expected, sizeof(expected)), 0);
	cr_assert_eq(fstat(fileno(file), &status), 0);
	cr_expect_eq(status.st_mode & 0777, 0600U);
	(void)fclose(file);
	cr_expect_not(keep_set(pairs, 2), "the same set is used again");
	cr_expect(unlink(last) == 0 && keep_set(pairs, 1), "another is new");
}

Test(kept_binds, a_set_that_cannot_be_kept_is_said_by_its_asker)
{
	char profile[IPC_NAME_MAX] = "agent.", name[IPC_NAME_MAX];
	const struct kept_wish wish = { .asker = "msp agent",
					.profile = profile,
					.binds = &nothing };
	bool is_new;

	memset(profile + strlen(profile), 'a', sizeof(profile) - strlen(profile) - 1);
	cr_expect_eq(kept_binds_add(&wish, name, &is_new, text), MSP_EXIT_USAGE);
	cr_expect_eq(strncmp(text, "msp agent: the name of the profile", 34), 0, "%s", text);
}
