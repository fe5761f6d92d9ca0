/* SPDX-License-Identifier: Apache-2.0
 *
 * What the supervisor knows. Everything is in fixed tables: there is no allocation after start and
 * so no path on which memory could run out.
 */
#ifndef SUPERVISOR_STATE_H
#define SUPERVISOR_STATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/channel.h"
#include "common/names.h"
#include "common/plan.h"
#include "loop.h"

/* Slots of the factory's messages: of ephemeral sandboxes, one for each execution; of those that
 * last; of brokers. */
#define SANDBOX_SLOTS (EXECUTIONS_MAX + SANDBOXES_MAX)
#define BROKER_SLOT SANDBOX_SLOTS

enum frontend_state {
	FRONTEND_FREE,
	FRONTEND_OPEN,   /* it is served */
	FRONTEND_CLOSED, /* it ended; its broker is not gone yet */
};

/* Somebody who asks for executions: a broker that we started, or an msp that was here before us or
 * connected to the service. */
struct frontend {
	enum frontend_state state;
	uint32_t number;        /* never given again */
	struct channel channel; /* on which it asks; fd -1 when ended */
	struct channel client;  /* of the msp whose client the broker serves; fd -1: none */
	bool is_connection;     /* it came through the service's socket, and asks for itself */
	bool is_broker;         /* we started it: its end without a goodbye is a crash */
	bool has_said_goodbye;
	bool awaits_broker;     /* the factory was asked for its broker and has not answered */
	int broker;             /* pidfd, -1: none */
	uint64_t postures_told; /* of which profiles: a bit for each */
	int workspaces[CLIENT_WORKSPACES_MAX]; /* that its client brought */
	uint32_t workspace_count;
	bool is_workspace_start; /* nobody named them */
	void (*on_message)(void *frontend);
	struct loop_watch watch;
	struct loop_watch client_watch;
	struct loop_watch broker_watch;
};

enum sandbox_state {
	SANDBOX_FREE,
	SANDBOX_LIVE,   /* its init is asked for, or there */
	SANDBOX_ENDING, /* its init is to end; waits until nothing of it is left */
};

/* What runs: an init and its cgroup. The table index is the slot in the factory's messages. An
 * ephemeral one, below EXECUTIONS_MAX, has the slot of its execution. */
struct sandbox {
	enum sandbox_state state;
	uint32_t slot;
	uint32_t generation; /* slot of the policy that it began under */
	uint32_t profile;
	struct channel init; /* fd -1 when ended */
	int pidfd;           /* of the init; -1 until the factory answered */
	bool has_answer;     /* the factory answered */
	struct loop_watch init_watch;
	struct loop_watch pid_watch;
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
	uint64_t id;      /* never given again, other than slot and request */
	uint32_t probe;   /* enum probe_mode of its spawn, NONE once its posture came */
	uint32_t verdict; /* why it is being killed; EXITED when it is not */
	uint64_t started_us;
	uint64_t deadline_us;
};

/* A policy that executions run under. */
struct generation {
	struct plan plan; /* bytes NULL: the slot is free */
	int fd;           /* of the same, sealed */
	uint32_t users;   /* sandboxes that began under it and are not gone */
	struct ipc_posture_full postures[PLAN_PROFILES_MAX]; /* by profile */
};

struct supervisor {
	struct plan plan;                /* the one in force, in one of the generations */
	int plan_fd;                     /* of the same, sealed: for frontends */
	uint32_t generation;             /* how many there have been, with it */
	uint32_t default_profile;        /* index in it: what a request without a profile means */
	char default_name[IPC_NAME_MAX]; /* which one that shall be; empty: as each says itself */
	bool is_reload_failed;
	char stateless[IPC_LIST_MAX]; /* why no sandbox lasts; empty: they can */
	bool accepts_fallback;        /* LIMITS_FALLBACK, whatever a policy says */
	struct generation generations[GENERATIONS_MAX];
	enum limits_mode limits;
	int landlock_abi;
	uid_t uid;
	uint32_t pid;
	int cgroup; /* directory with our sandboxes' cgroups, or -1 */
	int broker; /* msp-broker's image, or -1 when no more is started */
	struct channel factory;
	pid_t factory_pid;
	int factory_pidfd;
	bool is_service; /* the end of a frontend is not ours */
	bool is_ending;
	int exit_status;
	uint32_t executions_max; /* the operator's budget */
	uint64_t memory_bytes;   /* the same; 0: none */
	uint32_t slots_used;     /* no execution of a higher slot is live */
	uint32_t executions_live;
	uint32_t starts_pending; /* asked of the factory, not answered */
	bool is_holding;         /* no frontend is heard until the factory has caught up */
	uint64_t executions_started;
	uint32_t frontends_started;
	uint64_t executions_refused;
	struct execution executions[EXECUTIONS_MAX];
	struct sandbox sandboxes[SANDBOX_SLOTS];
	struct frontend frontends[FRONTENDS_MAX];
};

extern struct supervisor supervisor;

#endif
