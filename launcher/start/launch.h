/* SPDX-License-Identifier: Apache-2.0
 *
 * From an opened set of programs to a running supervisor: what `msp run` and `msp serve` share.
 */
#ifndef LAUNCHER_START_LAUNCH_H
#define LAUNCHER_START_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/ipc/channel.h"
#include "common/limits.h"
#include "launcher/host/budget.h"
#include "launcher/host/cgroup.h"
#include "launcher/host/pins.h"
#include "launcher/host/scope.h"
#include "launcher/host/service_socket.h"
#include "launcher/host/workspace.h"
#include "launcher/start/config.h"
#include "launcher/start/trust.h"

/* Our own programs and the compiled policy, opened for reading. -1: not opened. */
struct images {
	int supervisor;
	int child_init;
	int broker;
	int audit;
	int opener;
	int policy;
	int scope;  /* this and those below may be missing */
	int layers; /* without either of these no sandbox is persistent */
	int store;
	int file;  /* without it there are no file tools */
	int git;   /* without it no directory of the host can be worked on */
	int cable; /* without any of these no profile has hosts */
	int egress;
	int dial;
	int http;
};

#define IMAGES_NONE                                                                                \
	{                                                                                          \
		-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1                         \
	}

#define LAUNCH_TEXT_MAX CONFIG_TEXT_MAX

/*
 * See to it that descriptors 0, 1 and 2 exist (what is missing becomes /dev/null), so that nothing
 * opened later is taken for one of them. Returns a descriptor of /dev/null, or -errno.
 */
int launch_standard_fds(void);

/* Open everything beside this program, or in ../libexec/msp. 0, or -1 with a line in `text`. */
int launch_open_images(struct images *ret, char text[LAUNCH_TEXT_MAX]);

/* Open one more program of the same place, which most starts do not need. A descriptor, or -1 with
 * a line in `text`. */
int launch_open_program(const char *name, char text[LAUNCH_TEXT_MAX]);

void launch_close_images(struct images *images);

/* The folder of this program's own file, and its full path. False when the kernel does not say. */
bool launch_own_path(char ret[IPC_PATH_MAX]);

/* The plan of a configuration that was read, or NULL with a line in `text`. */
const struct plan *launch_open_plan(struct config *config, char text[LAUNCH_TEXT_MAX]);

/* The account that a start by root becomes: `run_as`, else MSP_RUN_AS, else what the configuration,
 * which was read, says, else ACCOUNT_DEFAULT. */
const char *launch_choose_account(const char *run_as, struct config *config);

/*
 * As root, become an ordinary account; refuse a setuid start. 0, or -1 with the line and the exit
 * code. `run_as` is --run-as or NULL. Root reads the configuration first: the account may not be
 * able to, and it may name the account.
 */
int launch_drop_root(const char *run_as, struct config *config, int *ret_exit,
		     char text[LAUNCH_TEXT_MAX]);

/* Do that for a command that needs no supervisor; `given` is --config or NULL. 0, or the exit code
 * after a line. */
int launch_become_account(const char *given, const char *run_as);

/* Why there is none, and what was tried. */
struct no_cgroup {
	struct cgroup_state state;
	char scope[SCOPE_TEXT_MAX];
};

/*
 * Enter a cgroup of our own (home->directory >= 0), asking the user's systemd for one where ours
 * cannot be used; and complete the budget by what is there. 0; or -1 with the reason in *ret, where
 * weaker limits have to be accepted to go on (home->directory -1).
 */
int launch_enter_cgroup(const struct images *images, struct budget *budget,
			struct cgroup_home *home, struct no_cgroup *ret);

/* Explain the failure and its remedy, for people. */
void launch_explain_cgroup(const struct no_cgroup *why, char text[LAUNCH_TEXT_MAX]);

/* The gateway of a start. It needs a log: without one, as without its programs, there is none, and
 * requests for profiles with hosts are refused. -1: none. */
struct launch_gateway {
	int audit; /* the supervisor's end of msp-audit's channel */
	int log;   /* the log's directory, for a msp-audit of the gateway's own */
	int pidfd; /* msp-cable's */
	int trust; /* msp-cable's end of the channel of struct trust, taken by the start */
	pid_t supervisor;
	char path[IPC_PATH_MAX]; /* the log's directory's */
};

#define LAUNCH_GATEWAY_NONE                                                                        \
	{                                                                                          \
		-1, -1, -1, -1, 0, ""                                                              \
	}

struct launch {
	const struct images *images;
	struct config *config;       /* read, and its plan is open */
	const char *default_profile; /* NULL: the configuration's */
	const struct cgroup_home *home;
	const struct pins *pins;               /* NULL: none */
	const struct service_sockets *sockets; /* FRONTEND_SERVICE, else NULL */
	struct budget budget;                  /* complete */
	uint32_t frontend;                     /* enum frontend_mode */
	uint32_t limits;                       /* that the command line accepts, or LIMITS_UNSAID */
	pid_t supervisor;                      /* 0: this process, later */
	const char *expected_profile; /* that something runs under at once; "": the default one;
				       * NULL: nothing does */
	const struct workspaces *workspaces; /* for the path opener's own clients; NULL: none */
	struct launch_gateway *gateway;      /* for the path opener; NULL: it starts none */
	struct trust *trust;                 /* NULL: there is none */
	bool runs_nothing;                   /* no gateway is needed */
};

/* Say everything that a supervisor starts from on `channel`. 0 or -errno. */
int launch_send(const struct launch *launch, int channel);

/* Send the files that were opened for a plan. 0 or -errno. */
int launch_send_pins(const struct pins *pins, const struct channel *channel);

/* The processes of a start; 0: none. */
struct launched {
	pid_t supervisor;
	pid_t factory; /* its child, and with its inits a process group */
};

/* A process that makes itself ready to make sandboxes, and ends with its channel. */
struct factory {
	int channel;
	int pidfd;
};

/* Open the state directory at the first call, for the factory and msp-store. It stays the start's,
 * until launch_send() closes it; -1: there is none, and launch_send() says why. */
int launch_open_state(const struct images *images);

/* Start one as a child of this process, which has to become its supervisor; `state` is that of
 * launch_open_state(), or -1: no sandbox lasts; `null` becomes its stdin and stdout. 0 or -errno.
 */
int launch_factory(const struct images *images, int state, int null, struct factory *ret);

/* Become the supervisor, with `channel` to the launcher. Returns only on failure: -errno. */
int launch_exec(const struct images *images, int channel, const struct factory *factory);

/* Become a broker without a supervisor, which tells its client the sealed text of `reason`. Returns
 * only on failure: -errno. */
int launch_exec_refused(const struct images *images, int reason);

/* Start a steward from its image as a child of this process, with `fds` behind its channel, which
 * stay the caller's; its stdin and stdout are /dev/null. It ends after its peer. Returns the
 * supervisor's end of its channel, the caller's, or -errno. */
enum launch_steward {
	LAUNCH_AUDIT,
	LAUNCH_STORE,
	LAUNCH_GATEWAY,
	LAUNCH_RECORDS, /* msp-audit for the gateway */
	LAUNCH_STEWARDS
};
#define LAUNCH_STEWARD_FDS_MAX 6
int launch_steward(enum launch_steward which, int image, const int *fds, size_t count);

/* Return a pidfd of a steward that was started here, or -errno. */
int launch_steward_pidfd(enum launch_steward which);

/* Start the gateway and send its channel to the supervisor. 0, also where there is none, or -errno.
 */
int launch_send_gateway(const struct images *images, struct launch_gateway *gateway,
			const struct channel *channel);

/*
 * Start the supervisor as a child that has started a factory with `state`, with `channel` to us and
 * `null` as its stdin and stdout; `mask` is the signal mask that both get. What they leave becomes
 * ours to reap. 0 or -errno.
 */
int launch_spawn(const struct images *images, int state, int channel, int null,
		 const sigset_t *mask, struct launched *ret);

/* Far beyond what ending takes: 150 ms when every sandbox must be killed; and beyond what a
 * supervisor gives an apply, which would else have to be recovered. */
#define LAUNCH_END_MS 1000
#define LAUNCH_WORK_END_MS 65000

/* Wait until the supervisor, whose channel is closed, and what it left have ended; what takes
 * longer than this is killed, other than a steward, which goes on until all is written. Returns the
 * supervisor's status as wait(2) gives it. */
int launch_await(const struct launched *launched, int wait_ms);

/* Collect the stewards that are the caller's children, after `wait_ms` for each at most. */
void launch_await_stewards(int wait_ms);

#endif
