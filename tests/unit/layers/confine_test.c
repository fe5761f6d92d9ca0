/* SPDX-License-Identifier: Apache-2.0
 *
 * Each act is tried by a process of its own, which confines itself for good.
 */
#include "layers/confine.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_layers.h"
#include "common/kernel.h"
#include "layers/base/beneath.h"
#include "scene.h"
#include "support.h"

static struct scene scene;
static struct ipc_layers_do ask;
static struct job job = { .ask = &ask, .output = -1 };
static int outside;

/* Which of these a job can do, as bits of its exit code. */
enum act {
	READ_HOST = 1,
	READ_LAYER = 2,
	READ_OUTSIDE = 4,
	WRITE_HOST = 8,
	WRITE_HIGHEST = 16,
	WRITE_LOWER = 32,
	WRITE_OUTSIDE = 64,
};

static int can_write(int directory)
{
	struct open_how how = { .flags = O_WRONLY | O_CREAT | O_CLOEXEC,
				.mode = 0600,
				.resolve = RESOLVE_BENEATH };

	return syscall(SYS_openat2, directory, "new", &how, sizeof(how)) >= 0;
}

static int can_read(int directory)
{
	struct stat status;

	return beneath_file(directory, "file", &status) >= 0;
}

static void begin(void)
{
	scene_begin(&scene, 3);
	put_file(scene.directories.host, "file", "x");
	for (int i = 0; i < 3; i++)
		put_file(scene.uppers[i], "file", "x");
	outside = scene.uppers[2];
	job.directories = scene.directories;
	job.directories.layer_count = 2;
	job.directories.journal = -1;
}

#ifndef MSP_SANITIZED /* it has calls of its own, which kill */
static int try_all(void *unused)
{
	int done = 0;

	(void)unused;
	confine_job(&job);
	done |= can_read(scene.directories.host) ? READ_HOST : 0;
	done |= can_read(scene.uppers[0]) && can_read(scene.uppers[1]) ? READ_LAYER : 0;
	done |= can_read(outside) ? READ_OUTSIDE : 0;
	done |= can_write(scene.directories.host) ? WRITE_HOST : 0;
	done |= can_write(scene.directories.layers[0]) ? WRITE_HIGHEST : 0;
	done |= can_write(scene.directories.layers[1]) ? WRITE_LOWER : 0;
	done |= can_write(outside) ? WRITE_OUTSIDE : 0;
	return done;
}

#define does(operation_, acts)                                                                     \
	do {                                                                                       \
		int status;                                                                        \
                                                                                                   \
		ask.operation = (operation_);                                                      \
		status = run_forked(try_all, NULL);                                                \
		cr_assert(WIFEXITED(status), "signal %d", WTERMSIG(status));                       \
		cr_assert_eq(WEXITSTATUS(status), (acts), "%d", WEXITSTATUS(status));              \
	} while (0)

Test(confine, each_operation_has_what_it_needs_and_no_more)
{
	begin();
	does(LAYERS_DIFF, READ_HOST | READ_LAYER);
	does(LAYERS_PREVIEW, READ_HOST | READ_LAYER);
	does(LAYERS_SCAN, READ_HOST | READ_LAYER | WRITE_HIGHEST);
	does(LAYERS_APPLY, READ_HOST | READ_LAYER | WRITE_HOST | WRITE_HIGHEST);
	/* The file is there already: it can be linked into the target, where files are written. */
	does(LAYERS_MERGE, READ_LAYER | WRITE_HIGHEST);
	cr_assert_eq(unlinkat(scene.directories.layers[0], "new", 0), 0);
	does(LAYERS_MERGE, READ_LAYER);
	does(LAYERS_REMOVE, 0);
	scene_end(&scene);
}
#endif

Test(confine, without_a_job_all_of_it_can_be_done)
{
	begin();
	cr_assert(can_read(outside) && can_write(outside) &&
		  can_write(scene.directories.layers[1]));
	scene_end(&scene);
}

static int make_socket(void *unused)
{
	(void)unused;
	confine_job(&job);
	return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}

static int execute(void *unused)
{
	static char name[] = "/bin/true";
	char *const arguments[] = { name, NULL };

	(void)unused;
	confine_job(&job);
	return execv(name, arguments);
}

static int make_code(void *unused)
{
	(void)unused;
	confine_job(&job);
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	       MAP_FAILED;
}

static int rename_one(void *unused)
{
	(void)unused;
	confine_job(&job);
	return renameat(scene.directories.host, "file", scene.directories.host, "renamed");
}

static void dies(int (*act)(void *), uint32_t operation)
{
	int status;

	ask.operation = operation;
	status = run_forked(act, NULL);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%x", (unsigned int)status);
}

Test(confine, other_system_calls_kill_it)
{
	begin();
	for (uint32_t operation = 1; operation < LAYERS_OPERATION_COUNT; operation++) {
		dies(make_socket, operation);
		dies(execute, operation);
		dies(make_code, operation);
	}
	dies(rename_one, LAYERS_DIFF);
#ifndef MSP_SANITIZED
	ask.operation = LAYERS_APPLY;
	cr_assert_eq(run_forked(rename_one, NULL), 0);
#endif
	scene_end(&scene);
}

static int look_at_itself(void *unused)
{
	(void)unused;
	confine_job(&job);
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
}

Test(confine, even_asking_is_a_system_call)
{
	begin();
	dies(look_at_itself, LAYERS_DIFF);
	scene_end(&scene);
}
