/* SPDX-License-Identifier: Apache-2.0 */
#include "observe.h"

#include <poll.h>
#include <string.h>

#include "common/confine/directory_mode.h"
#include "common/confine/seccomp.h"
#include "common/fd.h"
#include "common/ipc/ipc_init.h"

void observe_begin(struct observed *observed, int listener)
{
	fd_close(&observed->listener);
	*observed = (struct observed){ .listener = listener };
	seccomp_hasten(listener); /* -1: there is nothing to hasten */
}

int observe_fd(const struct observed *observed)
{
	return observed->is_over ? -1 : observed->listener;
}

/* If no process is left, the last one is about to be reaped: closing the listener can wait until
 * that is reported. */
void observe_answer(struct observed *observed, const struct init *init, short revents)
{
	struct seccomp_notif call;

	if (revents && !(revents & POLLIN))
		observed->is_over = true;
	else if (revents && seccomp_answer(observed->listener, directory_mode_set, &call) == 1)
		denials_add_call(&observed->refused, &init->factory->plan, init->profile, &call);
}

void observe_report(const struct observed *observed, struct ipc_spawn_done *done)
{
	done->denials_size = observed->refused.size;
	memcpy(done->denials, observed->refused.records, observed->refused.size);
}
