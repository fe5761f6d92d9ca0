/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/keys.h"
#include "agent/set.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VALUE "a-key-that-is-long-enough"

static char folder[64], place[IPC_PATH_MAX], text[AGENT_KEY_TEXT_MAX];

static void make_folder(void)
{
	(void)strcpy(folder, "/tmp/msp-test-XXXXXX");
	cr_assert(mkdtemp(folder));
	cr_assert(agent_keys_place(folder, "/nowhere", geteuid(), place, text));
}

static void remove_folder(void)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	cr_assert_eq(system(command), 0);
}

TestSuite(keys, .init = make_folder, .fini = remove_folder);

static mode_t mode_of(const char *path)
{
	struct stat status;

	cr_assert_eq(lstat(path, &status), 0);
	return status.st_mode & 07777;
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

Test(keys, values)
{
	char value[5000];

	cr_assert_not(agent_key_check(VALUE));
	cr_assert(agent_key_check("short"));
	cr_assert(agent_key_check("with a blank"));
	cr_assert(agent_key_check("with-a\nline"));
	cr_assert(agent_key_check("\303\274ber-ascii"));
	memset(value, 'x', sizeof(value));
	value[4096] = '\0';
	cr_assert_not(agent_key_check(value));
	value[4096] = 'x';
	value[4097] = '\0';
	cr_assert(agent_key_check(value));
}

Test(keys, the_place_is_closed_to_others)
{
	char expected[128];

	(void)snprintf(expected, sizeof(expected), "%s/msp/keys", folder);
	cr_assert_str_eq(place, expected);
	cr_assert_eq((int)mode_of(place), 0700);
	cr_assert(agent_keys_place(folder, "/nowhere", geteuid(), place, text));
	cr_assert_eq(chmod(place, 0750), 0);
	cr_assert_not(agent_keys_place(folder, "/nowhere", geteuid(), place, text));
	cr_assert(strstr(text, "closed to others"));
	cr_assert_not(strstr(text, VALUE));
}

Test(keys, without_a_runtime_directory)
{
	char expected[128];

	(void)snprintf(expected, sizeof(expected), "%s/msp-%u/keys", folder, geteuid());
	cr_assert(agent_keys_place(NULL, folder, geteuid(), place, text));
	cr_assert_str_eq(place, expected);
	cr_assert(agent_keys_place("/nowhere", folder, geteuid(), place, text));
	cr_assert_str_eq(place, expected);
	cr_assert(agent_keys_place("relative", folder, geteuid(), place, text));
	cr_assert_str_eq(place, expected);
	cr_assert_not(agent_keys_place(NULL, "/nowhere", geteuid(), place, text));
}

Test(keys, a_link_is_no_place)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/msp-%u", folder, geteuid());
	cr_assert_eq(symlink(place, path), 0);
	cr_assert_not(agent_keys_place(NULL, folder, geteuid(), place, text));
}

Test(keys, a_file_of_the_user_alone)
{
	struct agent_key key;
	char bytes[64] = "";
	FILE *file;

	cr_assert_eq(agent_key_write(place, "tool", "KEY", VALUE, &key, text), 0);
	cr_assert_eq((int)mode_of(key.path), 0600);
	file = fopen(key.path, "r");
	cr_assert(file && fread(bytes, 1, sizeof(bytes) - 1, file) == strlen(VALUE));
	(void)fclose(file);
	cr_assert_str_eq(bytes, VALUE);
	agent_key_sweep(key.path);
	cr_assert(is_there(key.path), "it is in use");
	agent_key_done(&key);
	agent_key_sweep(key.path);
	cr_assert_not(is_there(key.path));
}

Test(keys, a_wrong_value_is_refused_and_not_shown)
{
	struct agent_key key;

	cr_assert_eq(agent_key_write(place, "tool", "KEY", "two words of it", &key, text), -1);
	cr_assert(strstr(text, "KEY") && !strstr(text, "two words"));
	cr_assert_eq(key.lock, -1);
}

Test(keys, two_users_of_one_file)
{
	struct agent_key one, two;

	cr_assert_eq(agent_key_write(place, "tool", "KEY", VALUE, &one, text), 0);
	cr_assert_eq(agent_key_write(place, "tool", "KEY", VALUE, &two, text), 0);
	agent_key_done(&one);
	agent_key_sweep(two.path);
	cr_assert(is_there(two.path));
	agent_key_done(&two);
	agent_key_sweep(two.path);
	cr_assert_not(is_there(two.path));
}

Test(keys, another_value_has_another_file)
{
	struct agent_key one, two;

	cr_assert_eq(agent_key_write(place, "tool", "KEY", VALUE, &one, text), 0);
	cr_assert_eq(agent_key_write(place, "tool", "KEY", VALUE "-2", &two, text), 0);
	cr_assert_str_neq(one.path, two.path);
	agent_key_done(&one);
	agent_key_sweep(one.path);
	agent_key_sweep(two.path);
	cr_assert_not(is_there(one.path));
	cr_assert(is_there(two.path));
	agent_key_done(&two);
}

Test(keys, a_link_in_its_place_is_replaced)
{
	struct agent_key key;
	char other[128];

	cr_assert_eq(agent_key_write(place, "tool", "KEY", VALUE, &key, text), 0);
	agent_key_done(&key);
	agent_key_sweep(key.path);
	(void)snprintf(other, sizeof(other), "%s/other", folder);
	cr_assert_eq(symlink(other, key.path), 0);
	cr_assert_eq(agent_key_write(place, "tool", "KEY", VALUE, &key, text), 0);
	cr_assert_not(is_there(other));
	agent_key_done(&key);
}

Test(keys, a_process_waits_for_the_end)
{
	struct agent_key key;

	cr_assert_eq(agent_key_write(place, "tool", "KEY", VALUE, &key, text), 0);
	cr_assert_eq(agent_key_watch(&key), 0);
	(void)usleep(100000);
	cr_assert(is_there(key.path));
	agent_key_done(&key);
	for (int i = 0; i < 500 && is_there(key.path); i++)
		(void)usleep(10000);
	cr_assert_not(is_there(key.path));
}

Test(keys, ports_of_models)
{
	const char *rest = "";

	cr_assert_eq(agent_model_port("http://127.0.0.1:11434", &rest), 11434);
	cr_assert_str_eq(rest, "");
	cr_assert_eq(agent_model_port("http://localhost:80/v1/x", &rest), 80);
	cr_assert_str_eq(rest, "/v1/x");
	cr_assert_eq(agent_model_port("http://[::1]:65535/", &rest), 65535);
	cr_assert_eq(agent_model_port("http://127.0.0.1", &rest), 0);
	cr_assert_eq(agent_model_port("http://127.0.0.1:0", &rest), 0);
	cr_assert_eq(agent_model_port("http://127.0.0.1:65536", &rest), 0);
	cr_assert_eq(agent_model_port("http://127.0.0.1:99999999999", &rest), 0);
	cr_assert_eq(agent_model_port("http://127.0.0.1:80x", &rest), 0);
	cr_assert_eq(agent_model_port("http://127.0.0.1:", &rest), 0);
	cr_assert_eq(agent_model_port("https://127.0.0.1:80", &rest), 0);
	cr_assert_eq(agent_model_port("http://10.0.0.1:80", &rest), 0);
	cr_assert_eq(agent_model_port("127.0.0.1:80", &rest), 0);
}
