/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/guide.h"

#include "common/limits_mode.h"
#include "mcp/host.h"

static const char workflow[] = "Runs commands and code in sandboxes on the user's Linux machine. "
			       "The kernel confines every "
			       "program: no network but the sandbox's own loopback, so nothing can "
			       "be installed from it; none "
			       "of the user's files, processes or credentials; /usr is read-only; "
			       "limits on memory, processes, "
			       "file sizes and time, ";

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

void guide_append(struct buffer *text, const struct host *host)
{
	const struct posture *posture = &host->posture;

	if (host->refusal) {
		buffer_append_text(text, refused);
		buffer_append_text(text, host->refusal);
		return;
	}
	buffer_append_text(text, workflow);
	buffer_append_text(text,
			   posture->limits == LIMITS_CGROUP ? cgroup_limits : fallback_limits);
	buffer_append_text(text, work);
}
