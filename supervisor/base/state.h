/* SPDX-License-Identifier: Apache-2.0
 *
 * The supervisor's state. Everything is in fixed tables: there is no allocation after start and
 * so no path on which memory could run out.
 */
#ifndef SUPERVISOR_BASE_STATE_H
#define SUPERVISOR_BASE_STATE_H

#include <stdbool.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include "base/loop.h"
#include "common/ipc/channel.h"
#include "common/ipc/limits_mode.h"
#include "common/plan/plan.h"
#include "common/text/names.h"
#include "run/cgroup.h"

struct ipc_posture_full;

/* Go through the first `count` items of an array of `struct type`.
 * NOLINTBEGIN(bugprone-macro-parentheses): the name of a variable. */
#define FOR_EACH(type, item, array, count)                                                         \
	for (struct type *item = (array); item < (array) + (count); item++)
/* NOLINTEND(bugprone-macro-parentheses) */

/* Slots of the factory's messages: of ephemeral sandboxes, one for each execution and those that
 * wait for one (pool.h); of those that last; of brokers; of msp-layers. */
#define EPHEMERAL_MAX (EXECUTIONS_MAX + POOL_MAX)
#define SANDBOX_SLOTS (EPHEMERAL_MAX + SANDBOXES_MAX)
#define BROKER_SLOT SANDBOX_SLOTS
#define LAYERS_SLOT (BROKER_SLOT + FRONTENDS_MAX)
#define SLOTS (LAYERS_SLOT + LAYERS_JOBS_MAX)

/* Pieces of work of msp-layers at once, each a process. */
#define LAYERS_JOBS_MAX 16
#define LAYERS_JOBS_FOR_SCANS 4 /* reserved, included above */

/* Ready sandboxes, and sandboxes that are ending without having been used. A ready one, with the
 * process that waits in it, takes about 500 kB of kernel and user memory, so all of them 16 MB. */
#define POOL_MAX 32

enum frontend_state {
	FRONTEND_FREE,
	FRONTEND_OPEN,   /* it is served */
	FRONTEND_CLOSED, /* it ended; its broker is not gone yet */
};

/* A peer that asks for executions: a broker that we started, or an msp that was here before us or
 * connected to the service. */
struct frontend {
	enum frontend_state state;
	uint32_t number;        /* never given again */
	struct channel channel; /* on which it asks; fd -1 when ended */
	struct channel client;  /* to the msp whose client the broker serves; fd -1: none */
	bool is_connection;     /* it came through the service's socket, and asks for itself */
	bool is_broker;         /* we started it: its end without a goodbye is a crash */
	bool has_said_goodbye;
	bool awaits_broker;     /* the factory was asked for its broker and has not answered */
	int broker;             /* pidfd, -1: none */
	uint64_t postures_told; /* a bit for each profile */
	int workspaces[CLIENT_WORKSPACES_MAX]; /* that its client brought */
	uint32_t workspace_count;
	bool is_workspace_start; /* the client did not name them */
	char opened[IPC_ID_MAX]; /* sandbox whose workspace was found open to it last */
	void (*on_message)(void *frontend);
	struct loop_watch watch;
	struct loop_watch client_watch;
	struct loop_watch broker_watch;
};

enum sandbox_state {
	SANDBOX_FREE,
	SANDBOX_COLD,   /* persistent: it is ours, and nothing of it runs */
	SANDBOX_LIVE,   /* its init is asked for, or there */
	SANDBOX_ENDING, /* its init is to end; waits until nothing of it is left */
};

struct store_meta;
struct layers_job;
struct execution;

/* The part of an ephemeral sandbox. */
struct ephemeral {
	struct execution *execution; /* its one; NULL: it has none yet, or ends without */
	struct sandbox *next;        /* in the pool's list */
	uint64_t made_us;            /* when the pool asked for it */
	uint32_t lost_stage;         /* both: reported to its execution when that comes; */
	uint32_t lost_error;         /* STAGE_NONE: nothing */
};

/* States of the scan of a persistent sandbox's files. scan.h has their picture. */
enum scan_state {
	SCAN_NONE,    /* an ephemeral sandbox has no scan */
	SCAN_CLEAN,   /* all is scanned, and there is no mark */
	SCAN_KEPT,    /* all is scanned; the mark stays for the next execution */
	SCAN_DUE,     /* something ran, or runs, since the last scan began */
	SCAN_RUNNING, /* msp-layers scans */
	SCAN_BEHIND,  /* msp-layers scans, and something ran, or runs, since it began */
	SCAN_BLOCKED, /* something ran, and cannot be scanned now */
	SCAN_STATES
};

struct scan {
	enum scan_state state;
	uint64_t since_us;     /* real clock: bases of what ran since may be missing; 0: none is */
	uint64_t dirty_us;     /* when the first execution began that is not in the last scan */
	uint64_t began_us;     /* when the last scan began */
	uint64_t due_us;       /* when the next one is due */
	uint64_t pause_us;     /* it need not begin before */
	uint64_t uncounted_us; /* since when counts fail; 0: the last one did not */
	struct statvfs room;   /* on its file system, when the last scan began */
};

/* The part of a persistent sandbox: what of it is in the store, and the work on that. */
struct persistent {
	struct store_meta *meta; /* NULL: the sandbox is ephemeral */
	char id[IPC_ID_MAX];
	int directory;             /* in the store: the lock on it */
	int hosts[2];              /* O_PATH of the host's workspace and of git's data for it;
				    * -1: none, or not asked for yet */
	uint32_t executions;       /* in it that are not gone */
	uint32_t leaves;           /* cgroup leaves of its executions: a bit for each */
	uint32_t jobs;             /* msp-layers jobs on it */
	struct layers_job *writer; /* the one of them that changes something; NULL: none */
	bool is_stopping;          /* it shall be cold */
	bool is_interrupted;       /* an apply was, and is not taken care of yet */
	bool is_merged;            /* so far as it can be */
	bool is_changed;           /* its deferred requests shall run again */
	bool is_full;              /* its init began at the disk limit: files can only go */
	uint64_t idle_us;          /* when its last execution left */
	uint64_t due_us;           /* when it is to be looked at next */
	struct scan scan;
};

/* An init and its cgroup. The table index is the slot in the factory's messages: below
 * EPHEMERAL_MAX those of ephemeral sandboxes, behind them those of persistent ones. */
struct sandbox {
	enum sandbox_state state;
	uint32_t slot;
	uint32_t generation; /* slot of the policy that it began under */
	uint32_t profile;
	struct channel init;    /* fd -1 when ended */
	struct channel standby; /* to the process that waits in it for an execution; fd -1: none */
	int standby_stdio[3];   /* the frontend's ends of that one's streams */
	int pidfd;              /* the init's; -1 until the factory answered */
	int network;            /* a socket of its network; -1: there is none, or not yet */
	bool has_answer;        /* the factory answered */
	uint32_t cable;         /* number of its cable, never given again; 0: it never had one */
	struct loop_watch init_watch;
	struct loop_watch pid_watch;
	struct ephemeral ephemeral; /* one of these two counts: sandbox_lasts() */
	struct persistent persistent;
};

enum execution_state {
	EXECUTION_FREE,
	EXECUTION_LIVE,   /* its sandbox is being made or its workload runs */
	EXECUTION_ENDING, /* a kill was sent; waits for the init's report */
	EXECUTION_DONE,   /* reported; waits for what it had of a sandbox to be gone */
};

/* One execution in a sandbox. The table index is the slot in an init's messages. */
struct execution {
	enum execution_state state;
	uint32_t slot;
	struct sandbox *sandbox;
	struct frontend *frontend; /* NULL when it is gone */
	uint64_t request;
	uint64_t id;         /* never given again, other than slot and request */
	uint32_t probe;      /* enum probe_mode of its spawn, NONE once its posture came */
	uint32_t verdict;    /* why it is being killed; EXITED when it is not */
	uint64_t started_us; /* the request was heard */
	uint64_t asked_us;   /* its sandbox was asked for, or to run it */
	uint64_t deadline_us;
	uint64_t refusals; /* counter of its sandbox at its begin, where that has hosts */

	/* In a persistent sandbox: its leaf, and what was counted before it. */
	uint32_t leaf;
	bool is_given; /* to a process that waited there */
	struct cgroup_usage before;
};

/* A policy that executions run under. */
struct generation {
	struct plan plan;                  /* bytes NULL: the slot is free */
	int fd;                            /* the plan's memfd, sealed */
	uint32_t users;                    /* sandboxes that began under it and are not gone */
	struct ipc_posture_full *postures; /* PLAN_PROFILES_MAX, by profile */
};

/* The handlers of events of sandboxes, which files below report to the one in charge of executions
 * (execution.c). */
struct sandbox_handlers {
	/* The init of a sandbox, the context, has sent a message or has ended. */
	void (*on_message)(void *sandbox);
	/* A sandbox has no init, or none that works: report its executions as failed at this stage.
	 */
	void (*on_lost)(struct sandbox *sandbox, uint32_t stage, uint32_t error);
	/* The init is gone, so that an execution need not wait for that any more. */
	void (*on_over)(const struct sandbox *sandbox);
};

struct supervisor {
	const struct sandbox_handlers *sandbox_handlers; /* set at start */
	struct plan plan;                /* the one in force, in one of the generations */
	int plan_fd;                     /* the plan's memfd, sealed: for frontends */
	uint32_t generation;             /* how many there have been, with it */
	uint32_t default_profile;        /* index in it: what a request without a profile means */
	char default_name[IPC_NAME_MAX]; /* the default profile to take; empty: as each policy says
					  */
	bool is_reload_failed;
	char stateless[IPC_LIST_MAX]; /* why no sandbox lasts; empty: they can */
	bool accepts_fallback;        /* LIMITS_FALLBACK, whatever a policy says */
	struct generation generations[GENERATIONS_MAX];
	enum limits_mode limits;
	int landlock_abi;
	uid_t uid;
	uint32_t pid;
	int cgroup;              /* directory with our sandboxes' cgroups, or -1 */
	int file_image;          /* msp-file's, sealed, or -1: there are no file tools */
	int null;                /* /dev/null */
	int nothing;             /* an empty file, sealed */
	struct channel launcher; /* its part that stays; fd -1: it is gone */
	struct channel gateway;  /* to msp-cable; fd -1: no sandbox with hosts can be made */
	uint32_t is_offline;     /* it began without a network, of a service */
	/* Refusals of each slot's sandbox, to be read alone; NULL: there was no gateway. */
	_Atomic uint64_t *counters;
	struct channel factory;
	int factory_pidfd;
	bool is_service; /* the end of a frontend is not ours */
	bool is_persons; /* the launcher is the frontend: somebody waits for our end */
	bool is_for_one; /* execution, in an ephemeral sandbox: no other is made */
	bool is_probing; /* the default profile, before any frontend is heard */
	bool is_ending;
	int exit_status;
	uint32_t executions_max;  /* the operator's budget */
	uint64_t memory_bytes;    /* the operator's budget of memory; 0: none */
	uint32_t slots_used;      /* no execution of a higher slot is live */
	uint32_t slots_taken;     /* no execution of a lower slot is free */
	uint32_t ephemeral_taken; /* no ephemeral sandbox of a lower slot is */
	uint64_t due_us;          /* execution_expire() has nothing to do before */
	uint32_t executions_live;
	uint32_t starts_pending; /* asked of the factory, not answered */
	bool is_holding;         /* no frontend is heard until the factory has caught up */
	uint64_t executions_started;
	uint32_t frontends_started;
	uint64_t executions_refused;
	struct execution executions[EXECUTIONS_MAX];
	uint32_t sandboxes_used; /* no persistent sandbox has a higher slot */
	struct sandbox sandboxes[SANDBOX_SLOTS];
	struct frontend frontends[FRONTENDS_MAX];
};

extern struct supervisor supervisor;

/* Loop over the executions that may be live, and over the places of frontends. */
#define FOR_EACH_EXECUTION(each)                                                                   \
	FOR_EACH (execution, each, supervisor.executions, supervisor.slots_used)
#define FOR_EACH_FRONTEND(each) FOR_EACH (frontend, each, supervisor.frontends, FRONTENDS_MAX)

/* Go through the slots of persistent sandboxes that may be in use; sandboxes_used may be less.
 * NOLINTBEGIN(bugprone-macro-parentheses): the name of a variable. */
#define FOR_EACH_PERSISTENT(sandbox)                                                               \
	for (struct sandbox *sandbox = supervisor.sandboxes + EPHEMERAL_MAX;                       \
	     sandbox < supervisor.sandboxes + supervisor.sandboxes_used; sandbox++)
/* NOLINTEND(bugprone-macro-parentheses) */

/* Note that a fault of ours ends the supervisor, or will: its exit status says so, unless it says
 * something else already. */
void state_note_fault(void);

/* End the supervisor, with this exit status unless it has another already. */
void state_end(int exit_status);

/* Send a message as channel_send() does. The supervisor waits for no reader: -EAGAIN if the peer
 * has let its channel become full. */
int state_send(const struct channel *channel, uint32_t type, const void *message, const int *fds);

/* Return a number for a name or id: different ones for most different texts. */
uint32_t state_key(const char *text);

#endif
