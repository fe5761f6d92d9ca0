/* SPDX-License-Identifier: Apache-2.0
 *
 * The delegated cgroup v2 directory that the supervisor fills: found, made, and cleared away.
 *
 *   <our cgroup>/                 must hold no process but msp (the kernel's rule: a cgroup that
 *     |                           hands controllers on holds no processes itself)
 *     msp.<pid>/                  locked (flock) until msp has become the supervisor, or ended
 *       supervisor/               msp, the supervisor, the factory and the brokers; served first,
 *                                 and its memory is the last to be taken back
 *       sandboxes/                locked for as long as the supervisor or the factory lives; has
 *                                 the limits of all sandboxes together
 *         s<slot>/                the supervisor's: one sandbox each
 */
#ifndef LAUNCHER_HOST_CGROUP_H
#define LAUNCHER_HOST_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cgroup_problem {
	CGROUP_USABLE,
	CGROUP_ABSENT,       /* no cgroup v2 here, or not ours to see */
	CGROUP_CONTROLLERS,  /* cpu, memory or pids are not available in it */
	CGROUP_NOT_WRITABLE, /* not delegated to us */
	CGROUP_SHARED,       /* other processes are in it */
	CGROUP_FAILED,       /* a step failed: `error` */
};

/* The state of our cgroup; `directory` is the caller's to close, -1: none. */
struct cgroup_state {
	enum cgroup_problem problem;
	int error; /* errno */
	int directory;
	char path[4096];       /* our cgroup's, in the file system; empty when unknown */
	char controllers[256]; /* cgroup.controllers there */
};

/* The ones that a user can be given, as bits. */
enum cgroup_controller {
	CGROUP_CPU = 1,
	CGROUP_MEMORY = 2,
	CGROUP_PIDS = 4,
	CGROUP_IO = 8,
	CGROUP_CPUSET = 16,
};

/* Ours to fill, with the supervisor's place. */
struct cgroup_home {
	int parent;    /* our cgroup as it was at the start */
	int own;       /* msp.<pid>, locked */
	int directory; /* msp.<pid>/sandboxes, locked; the supervisor gets it */
	char name[64];
	uint32_t has_io; /* 1: io is enabled too */
};

#define CGROUP_REQUIRED (CGROUP_CPU | CGROUP_MEMORY | CGROUP_PIDS)

#define CGROUP_TEXT_MAX 1024

/* Look, change nothing. */
struct cgroup_state cgroup_examine(void);

/* cgroup.controllers of the cgroup `own`, a path as in /proc/PID/cgroup. False when it cannot be
 * read. */
bool cgroup_read_controllers(const char *own, char *ret, size_t room);

/* "cpu, memory": the names of these bits; empty when there are none. */
void cgroup_list_controllers(uint32_t bits, char *ret, size_t room);

/* The file that root writes to have systemd hand all controllers to users. */
#define CGROUP_DROP_IN_PATH "/etc/systemd/system/user@.service.d/delegate.conf"
#define CGROUP_DROP_IN_KEY "Delegate=cpu cpuset io memory pids"
#define CGROUP_DROP_IN                                                                             \
	"put '[Service]' and '" CGROUP_DROP_IN_KEY "' into " CGROUP_DROP_IN_PATH                   \
	", run 'systemctl daemon-reload' and log in again"

/*
 * Remove what dead starts left, make msp.<pid>, move this process into its supervisor/ and enable
 * the controllers. All sandboxes together may use `memory_bytes`; 0: what there is. `state` is
 * usable; its directory is taken. 0, or -errno with everything undone.
 */
int cgroup_enter(struct cgroup_state *state, uint64_t memory_bytes, struct cgroup_home *ret);

/* Undo cgroup_enter() when everything in it has ended; best effort, bounded. */
void cgroup_leave(struct cgroup_home *home);

/* One line: what is there and what is missing. */
void cgroup_describe(const struct cgroup_state *state, char text[CGROUP_TEXT_MAX]);

/* One line: how to get what is missing. Returns true if the user's systemd could give it, and false
 * if the machine has to boot in another way. */
bool cgroup_describe_fix(const struct cgroup_state *state, char text[CGROUP_TEXT_MAX]);

/* The pieces, for the tests. */

/* The path of the "0::" line of a /proc/PID/cgroup text. False when there is none, or when it lies
 * outside of our cgroup namespace. */
bool cgroup_parse_own(const char *text, char *ret, size_t room);

/* Have a cgroup hand on the required controllers, and io. A process that has ended, such as
 * msp-scope, can be in its cgroup for a moment after its parent has waited for it; the kernel
 * answers EBUSY until then, which is waited for at most a second. 0 or -errno. */
int cgroup_enable(int directory, uint32_t has_io);

/* Which of our controllers a cgroup.controllers text names, as bits. */
uint32_t cgroup_parse_controllers(const char *text);

#endif
