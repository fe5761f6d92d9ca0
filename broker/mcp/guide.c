/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/guide.h"

#include "mcp/host.h"

static const char workflow[] =
	"Runs commands and code in sandboxes on the user's Linux machine: ephemeral ones, and "
	"persistent ones that keep their files and show the user's project "
	"copy-on-write.\n\nTools: `run_command` runs a shell command or a program; `run_code` runs "
	"source text in a given language. Use `run_code` when you have a program to run: it needs "
	"no shell quoting. `read_output`, `send_input` and `kill_execution` are for executions "
	"that still run; `list_sandboxes` lists sandboxes and executions. `create_sandbox` makes a "
	"persistent sandbox, `destroy_sandbox` removes it; `checkpoint` saves, restores and forks "
	"its files, `diff_changes` shows the changes in its workspace, `preview_changes` what an "
	"apply would do, `apply_changes` applies them to the project. `explain_policy` says "
	"whether a sandbox allows an operation, and why "
	"not.\n\nWorkflow: a run without `sandbox` gets an ephemeral sandbox with an empty, "
	"writable /workspace, which is removed when its program ends. Do steps that belong "
	"together in one call, put the input into `stdin` or into the code, and print the results "
	"you want to keep. A failing command is a normal result with its exit code; a tool error "
	"means that nothing ran, and names the cause and the remedy.\n\nA project: call "
	"`create_sandbox` with its directory as `workspace`, and pass the sandbox's name to each "
	"run; save a checkpoint before risky steps. Nothing on the host changes until "
	"`apply_changes`; look with `preview_changes` first. The operator's policy may require the "
	"user's consent, or leave it to the user with `msp apply`.\n\nLong work: a run that "
	"outlasts `yield_ms` (10 s by default) goes on, and its result ends with a handle. Call "
	"`read_output` with it until the last line is a verdict such as [exit 0 · 31.2 s], or "
	"`kill_execution`. With `yield_ms` 0 it starts in the background. For an interpreter, a "
	"shell or a program that asks questions, use `tty` (or `interactive`, without a terminal) "
	"and type with `send_input`. Output that a result had to cut is kept; `read_output` with "
	"an `offset` shows it.\n\nEnforced by the kernel for every program: no network (only the "
	"sandbox's own loopback); no access to the user's files, processes or credentials; the "
	"system's programs in /usr are read-only; no new privileges; limits on memory, processes, "
	"file sizes, and time. Nothing can be installed from the network.";

static const char cgroup_limits[] =
	" Limits are enforced by cgroup v2 for all processes of a run together.";

static const char fallback_limits[] =
	" The operator has accepted fallback limits: they are enforced per process and by watching "
	"memory, because this machine has no delegated cgroup v2.";

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
	buffer_format(text, " Landlock ABI %u.", posture->landlock_abi);
	buffer_append_text(text, "\n\nLanguages of run_code here: ");
	buffer_append_text(text, posture->languages[0] ? posture->languages : "none");
	buffer_append_text(text, ". Profiles: ");
	buffer_append_text(text, posture->profiles[0] ? posture->profiles : posture->profile);
	buffer_append_text(text, ".");
}
