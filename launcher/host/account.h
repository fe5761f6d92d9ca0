/* SPDX-License-Identifier: Apache-2.0
 *
 * The account that msp works as. Started by root it becomes an ordinary account before it does
 * anything else; setuid it refuses to run.
 */
#ifndef LAUNCHER_HOST_ACCOUNT_H
#define LAUNCHER_HOST_ACCOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#define ACCOUNT_DEFAULT "msp"
#define ACCOUNT_TEXT_MAX 512

struct account {
	char name[64];
	char home[4096]; /* empty when it has none */
	uid_t uid;
	gid_t gid;
};

/* Look an account up: 0; -ENOENT when there is none of that name; another -errno. */
int account_find(const char *name, struct account *ret);

/* Is that a folder of `uid`? NULL is none. */
bool account_owns_folder(const char *path, uid_t uid);

/* Return the home directory that the account database has for an account, for NULL our own; NULL:
 * none. An answer is kept, for a process that confines itself. */
const char *account_listed_home(const char *name);

/* Our home: HOME where that is a folder of ours, which it need not be after a change of user, else
 * that of the account database; NULL where neither is. Static storage. */
const char *account_home(void);

/* The exact command that makes an account. */
void account_format_useradd(const char *name, char *text, size_t room);

/* Are the real and effective ids different, as in a setuid program? */
bool account_is_setuid(void);

/*
 * As root: become `name`, for good; moves to "/" when the working directory is out of the
 * account's reach. 0, or -1 with one line in `text` and the exit code in *ret_exit.
 */
int account_become(const char *name, int *ret_exit, char text[ACCOUNT_TEXT_MAX]);

/*
 * Lose root for good in favour of these ids: with its groups, its session keyring and every
 * descriptor that was open at our start, but 0 to 2 and what a service manager passed
 * (sd_listen_fds(3)). 0 or -errno, -EPERM when a way back is left.
 */
int account_drop(uid_t uid, gid_t gid, const char *name);

#endif
