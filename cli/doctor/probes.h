/* SPDX-License-Identifier: Apache-2.0
 *
 * Requirements on a machine, as a table of probes. A probe tries the thing itself: a version number
 * says nothing about what a distribution, a container or an administrator has turned off.
 */
#ifndef CLI_DOCTOR_PROBES_H
#define CLI_DOCTOR_PROBES_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/host/account.h"
#include "launcher/host/cgroup.h"
#include "launcher/host/scope.h"
#include "launcher/start/config.h"
#include "launcher/start/launch.h"
#include "options/options.h"

enum finding_status {
	FINDING_OK,
	FINDING_MISSING,
	FINDING_NOTE,    /* for information */
	FINDING_SKIPPED, /* cannot be tried here */
};

/* A cause that `msp setup` may have an act against (cli/setup/acts.c). */
enum finding_cause {
	CAUSE_OTHER,
	CAUSE_ABSENT,      /* there is no account, or no service */
	CAUSE_PLACE,       /* there is no directory for the service's socket */
	CAUSE_APPARMOR,    /* AppArmor refuses user namespaces */
	CAUSE_MANAGER,     /* no systemd of the user's runs */
	CAUSE_CONTROLLERS, /* systemd does not hand users all controllers */
};

struct finding {
	enum finding_status status;
	enum finding_cause cause;
	char tried[256];
	char happened[CGROUP_TEXT_MAX];
	char fix[CGROUP_TEXT_MAX]; /* empty: the probe's own */
};

/* Facts that were found before the probes ran. */
struct machine {
	struct images images; /* -1: not opened */
	char images_text[LAUNCH_TEXT_MAX];
	struct config *config; /* read, if it could be */
	char config_text[CONFIG_TEXT_MAX];
	bool was_root;
	struct account account; /* when was_root: who we became; uid 65534 without an account */
	bool has_account;
	struct cgroup_state cgroup;
	bool has_scope; /* the user's systemd would give us one */
	struct scope_manager scope;
	char scope_text[SCOPE_TEXT_MAX]; /* why not; empty: nobody was asked */
	char own_folder[IPC_PATH_MAX];
};

enum probe_level {
	PROBE_REQUIRED,
	PROBE_LIMITS, /* required unless --limits=fallback is accepted */
	PROBE_INFORMATION,
};

struct probe {
	const char *name;
	enum probe_level level;
	void (*run)(const struct machine *machine, struct finding *ret);
	const char *tried; /* empty: the probe says it */
	const char *why;
	const char *fix;
};

extern const struct probe probes[];
extern const size_t probe_count;

/* Run a probe. */
void probe_run(const struct probe *probe, const struct machine *machine, struct finding *ret);

/* For probes, whose finding is FINDING_MISSING at first: set the status and what happened, or the
 * fix. */
void probe_report(struct finding *ret, enum finding_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void probe_set_fix(struct finding *ret, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Return the plan of the configuration; NULL: none could be read. */
const struct plan *probe_plan(const struct machine *machine);

/* Find the profile of a request without a name, or NULL; `text` names it. */
const struct plan_profile *find_default_profile(const struct plan *plan,
						char text[OPTIONS_TEXT_MAX]);

/* Remedies for a kernel, and for a container, that lacks something. */
#define FIX_KERNEL                                                                                 \
	"run a kernel that has it: Linux 6.12 or newer (Debian 12: linux-image-amd64 of "          \
	"bookworm-backports)"
#define FIX_CONTAINER                                                                              \
	"inside a container, start the container with this allowed (podman and docker: "           \
	"--security-opt seccomp=unconfined --security-opt systempaths=unconfined); "               \
	"else " FIX_KERNEL

/* The probes that need namespaces (probes_namespaces.c). */
void probe_user_namespace(const struct machine *machine, struct finding *ret);
void probe_overlay(const struct machine *machine, struct finding *ret);
void probe_persistent(const struct machine *machine, struct finding *ret);
void probe_cgroup_clone(const struct machine *machine, struct finding *ret);

/* The probe of what profiles with hosts need (probes_hosts.c). Its two parts: make a pair of
 * devices in this network namespace, 0 or -errno; and the same in a new one. False: *ret says why
 * not. */
void probe_hosts(const struct machine *machine, struct finding *ret);
int probe_make_veth(void);
bool probe_veth(struct finding *ret);

/* The probe of all of it together: a real start, whose failed step it names (probes_posture.c). */
void probe_posture(const struct machine *machine, struct finding *ret);

#endif
