/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/host.h"

#include "common/fd.h"
#include "common/log.h"
#include "mcp/ask.h"
#include "mcp/subscriptions.h"
#include "mcp/tasks.h"

void host_take_welcome(struct host *host, const struct ipc_welcome *welcome, int plan)
{
	posture_from_welcome(welcome, &host->posture);
	/* it is only shown, so its faults stop nothing else; that it is sealed, the channel checked
	 */
	if (plan_open_fd(plan, &host->plan) != 0) {
		host->plan = (struct plan){ 0 };
		log_line("the plan that came with the welcome cannot be read: clients see no "
			 "policy");
	}
	fd_close(&plan);
}

void host_done(struct host *host)
{
	tasks_done(host);
	ask_done(host);
	host->subscriptions = subscriptions_free(host->subscriptions);
}
