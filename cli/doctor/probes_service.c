/* SPDX-License-Identifier: Apache-2.0
 *
 * The probes of the user's service, does it run, and is it of this version? and of the place for
 * the audit log.
 */
#include "common/fd.h"
#include "common/format.h"
#include "common/ipc_client.h"
#include "common/limits_mode.h"
#include "doctor/probes.h"
#include "frontend/words/words.h"
#include "launcher/host/service.h"
#include "launcher/host/state_place.h"

/* Say that a silent service is only starting, if its systemd knows that. */
static bool is_starting(const struct machine *machine, const struct service *service,
			struct finding *ret)
{
	struct scope_service unit;

	if (service->state != SERVICE_SILENT || !scope_ask_service(machine->images.scope, &unit) ||
	    !scope_is_starting(&unit))
		return false;
	probe_report(ret, FINDING_NOTE,
		     "it is starting, for %llu s now: wait, and ask again with 'msp doctor'",
		     (unsigned long long)unit.age_ms / 1000);
	return true;
}

void probe_service(const struct machine *machine, struct finding *ret)
{
	struct service service = service_connect(NULL);
	struct ipc_status status = { 0 };

	service_ask(&service, &status);
	if (service.state == SERVICE_HERE) {
		probe_report(ret, FINDING_OK,
			     "process %u runs, of this version (" MSP_VERSION
			     "), with limits: %s, Landlock ABI %u; 'msp status' says more",
			     status.pid, limits_mode_name(status.limits), status.landlock_abi);
	} else if (service.state == SERVICE_ABSENT) {
		ret->cause = CAUSE_ABSENT;
		probe_report(ret, FINDING_NOTE,
			     "it is not running: each client gets a supervisor of its own. "
			     "'systemctl --user enable --now msp.socket' has one serve all");
	} else if (!is_starting(machine, &service, ret)) {
		probe_report(ret, FINDING_MISSING, "%s", service.text);
	}
	fd_close(&service.fd);
}

void probe_audit(const struct machine *machine, struct finding *ret)
{
	char path[IPC_PATH_MAX];
	char text[STATE_PLACE_TEXT_MAX];
	int fd = -1;

	if (machine->was_root && !machine->has_account) {
		probe_report(ret, FINDING_SKIPPED, "it is the account's");
		return;
	}
	if (state_place_find(STATE_PLACE_AUDIT, path, text))
		fd = state_place_open(path, true, text);
	probe_report(ret, fd >= 0 ? FINDING_OK : FINDING_MISSING, "%.*s",
		     (int)sizeof(ret->happened) - 1, fd >= 0 ? path : text);
	fd_close(&fd);
}
