/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/guide.h"

#include "common/limits_mode.h"
#include "mcp/core/host.h"

static const char workflow[] = "Runs commands and code in sandboxes on the user's Linux machine. "
			       "The kernel confines every program: ";

static const char no_network[] = "no network but the sandbox's own loopback, so nothing can be "
				 "installed from it";

static const char rest[] = "; none of the user's files, processes or credentials; /usr is "
			   "read-only; limits on memory, processes, file sizes and time, ";

/* Entries of a list of hosts that are named. */
#define HOSTS_SHOWN 12U

static const char cgroup_limits[] = "by cgroup v2 for all processes of a run together.";

static const char fallback_limits[] = "for each process, because the operator has accepted "
				      "fallback limits (no delegated cgroup v2).";

static const char work[] =
	"\n\nOne step: `run_command`, or `run_code` for source text, which needs no shell quoting. "
	"Without "
	"`sandbox` /workspace begins empty and is removed at the end: do dependent steps in one "
	"call and "
	"print what you want to keep. A failing command is a normal result with its exit code; a "
	"tool "
	"error means that nothing ran, and names the cause and the remedy.\n\nA project: "
	"`create_sandbox` with its directory as `workspace`, then pass the sandbox to each run. "
	"`read_sandbox_file`, `write_sandbox_file` and `list_sandbox_files` work on its files; "
	"`checkpoint` saves, restores and forks them; `list_sandboxes` finds a sandbox again, "
	"`destroy_sandbox` removes it. The project changes only by `apply_changes`; look with "
	"`diff_changes` and `preview_changes` first. The policy may require the user's consent, or "
	"that "
	"the user runs `msp apply`. `explain_policy` tells why something is refused.\n\nLong work: "
	"a "
	"run that outlasts `yield_ms` goes on and returns a handle. Call `read_output` with it "
	"until the "
	"last line is a verdict such as [exit 0 · 31.2 s], or `kill_execution`. A server is a run "
	"of its "
	"own with `yield_ms` 0. Programs that ask questions need `tty` (or `interactive`, without "
	"a "
	"terminal); type with `send_input`.";

static const char refused[] =
	"msp is installed to run commands and code in sandboxes, but it refuses to run anything on "
	"this machine. Tell the user so, with the reason and the fix below; when it is fixed, the "
	"user restarts this server. Tool: `msp_status` returns the same text.\n\n";

/* Append the network of the default profile. Another profile's shows in its resource. */
static void append_network(struct buffer *text, const struct host *host)
{
	const struct plan *plan = &host->plan;
	const int index = plan->bytes ? plan_profile_find(plan, host->posture.profile) : -1;
	const struct plan_profile *profile = index < 0 ? NULL : plan_profile(plan, (uint32_t)index);
	const void *first = profile ? plan_bytes(plan, profile->hosts) : NULL;
	const struct plan_host *hosts = first;

	if (!profile || profile->network != PLAN_NETWORK_HOSTS) {
		buffer_append_text(text, no_network);
		return;
	}
	buffer_append_text(text, "of the network, over TCP, only");
	for (uint32_t i = 0; i < profile->host_count && i < HOSTS_SHOWN; i++)
		buffer_format(text, "%s %s:%u", i > 0 ? "," : "", hosts[i].pattern,
			      (unsigned int)hosts[i].port);
	if (profile->host_count > HOSTS_SHOWN)
		buffer_format(text, " and %u more (`explain_policy` \"connect HOST:PORT\" tells)",
			      profile->host_count - HOSTS_SHOWN);
	if (profile->host_count == 0)
		buffer_append_text(text, " the sandbox's own loopback");
	if (profile->host_approval == PLAN_HOST_APPROVAL_ASK)
		buffer_append_text(text, " (`request_host` asks the user for more)");
}

void guide_append(struct buffer *text, const struct host *host)
{
	const struct posture *posture = &host->posture;

	if (host->refusal) {
		buffer_append_text(text, refused);
		buffer_append_text(text, host->refusal);
		return;
	}
	buffer_append_text(text, workflow);
	append_network(text, host);
	buffer_append_text(text, rest);
	buffer_append_text(text,
			   posture->limits == LIMITS_CGROUP ? cgroup_limits : fallback_limits);
	buffer_append_text(text, work);
}
