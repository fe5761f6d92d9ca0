/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/enabled.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/text/format.h"
#include "launcher/host/account.h"
#include "launcher/host/service.h"

#define WANTED "/systemd/user/sockets.target.wants/msp.socket"

/* A link of `systemctl enable` may lead nowhere by now. */
static bool has_link(const char *folder, const char *below)
{
	struct stat status;
	char path[4096];

	format_text(path, sizeof(path), "%.3900s%s" WANTED, folder ? folder : "", below);
	return folder && folder[0] == '/' && lstat(path, &status) == 0;
}

bool service_is_absent(void)
{
	struct service service = service_connect(NULL);

	fd_close(&service.fd);
	return service.state == SERVICE_ABSENT;
}

bool service_has_manager(void)
{
	char manager[64];

	format_text(manager, sizeof(manager), "/run/user/%u/systemd/private", geteuid());
	return access(manager, F_OK) == 0;
}

bool service_is_enabled(void)
{
	const char *settings = getenv("XDG_CONFIG_HOME");

	return service_has_manager() &&
	       (has_link(settings, "") || has_link(account_home(), "/.config") ||
		has_link("/etc", ""));
}
