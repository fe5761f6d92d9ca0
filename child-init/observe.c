/* SPDX-License-Identifier: Apache-2.0 */
#include "observe.h"

#include <poll.h>
#include <string.h>

#include "common/confine/seccomp.h"
#include "common/denial.h"
#include "common/fd.h"

static int listener = -1;
static struct denials refused;

void observe_begin(int fd)
{
	fd_close(&listener);
	listener = fd;
	seccomp_hasten(fd); /* -1: there is nothing to hasten */
	refused.size = 0;
}

int observe_fd(void)
{
	return listener;
}

void observe_answer(const struct init *init, short revents)
{
	struct seccomp_notif call;

	if (revents && !(revents & POLLIN)) /* nobody is left that the filter is for */
		fd_close(&listener);
	else if (revents && seccomp_refuse(listener, &call) == 1)
		denials_add_call(&refused, &init->factory->plan, init->profile, &call);
}

void observe_report(struct ipc_spawn_done *done)
{
	done->denials_size = refused.size;
	memcpy(done->denials, refused.records, refused.size);
}
