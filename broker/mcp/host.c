/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/host.h"

#include "common/fd.h"
#include "common/ipc_client.h"
#include "common/log.h"
#include "frontend/profile_names.h"
#include "mcp/asking/ask.h"
#include "mcp/asking/tasks.h"
#include "mcp/core/bridges.h"
#include "mcp/core/host_answers.h"
#include "mcp/core/sandboxes.h"
#include "mcp/resources/resources.h"
#include "mcp/resources/subscriptions.h"

/* The plan is only shown, so a fault in it stops no other function. The channel has checked that it
 * is sealed. */
static void take_plan(struct host *host, int plan)
{
	plan_close(&host->plan);
	if (plan_open_fd(plan, &host->plan) != 0)
		log_line("cannot read the policy's plan: clients see no policy");
	else
		profile_names(&host->plan, host->posture.profiles, sizeof(host->posture.profiles));
	host->posture.has_hosts = host->plan.bytes && profiles_have_hosts(&host->plan, NULL);
	fd_close(&plan);
}

void host_take_welcome(struct host *host, const struct ipc_welcome *welcome, int plan)
{
	posture_from_welcome(welcome, &host->posture);
	executions_set_most(host->executions, welcome->executions_max);
	take_plan(host, plan);
}

void host_take_policy(struct host *host, const struct ipc_policy_changed *changed, int plan)
{
	resource_policy_changed(host); /* also for the resource of a profile that goes */
	posture_change_policy(&host->posture, changed);
	take_plan(host, plan);
	host_list_changed(host, LIST_TOOLS); /* their descriptions name profiles */
	host_list_changed(host, LIST_RESOURCES);
	resource_policy_changed(host);
}

void host_done(struct host *host)
{
	tasks_done(host);
	bridges_end(host, NULL);
	ask_done(host);
	host_answers_forget_all(host);
	sandboxes_forget_all(host);
	posture_done(&host->posture);
	host->subscriptions = subscriptions_free(host->subscriptions);
}
