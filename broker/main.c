/* SPDX-License-Identifier: Apache-2.0
 *
 * msp-broker: speaks MCP with its clients and asks the supervisor for executions.
 *
 * Theory of operation. All input is hostile: the client's lines, and the output of workloads. So
 * this process can only read and write the descriptors it was given: 0 and 1 are the client's, 2
 * is for the operator, 3 is the channel to the supervisor, and the supervisor hands it the pipes
 * of each execution. If 3 is a sealed file, there is no supervisor: the start was refused, and this
 * process tells its client the reason, which the file has (refused_server.c). If 0 is a listening
 * socket, it serves HTTP: the connecting processes are its clients, and 1 is the file of their
 * tokens. It opens no file, no socket and no process, and a broken broker can ask for no more than
 * an honest one: executions under the operator's policy.
 *
 * One thread, one event loop (server.c). io/client.c splits the client's bytes into lines, and
 * http/ takes requests apart and keeps sessions; lib/json/read.c, the only JSON reader of the
 * project, makes values of them; mcp/ gives them meaning; executions/ keeps the pipes of running
 * executions. The broker's death ends everything that ran for its clients.
 */
#include <malloc.h>
#include <sodium.h>
#include <time.h>
#include <unistd.h>

#include "common/limits.h"
#include "common/log.h"
#include "common/stage_hook.h"
#include "confine.h"
#include "frontend/nonblocking.h"
#include "frontend/supervisor_client.h"
#include "frontend/words/changes.h"
#include "http/http.h"
#include "refused_server.h"
#include "server.h"

/* Blocks of this size return to the kernel when they are freed. */
#define LARGE_BLOCK_BYTES (256 << 10)

static struct server *start_server(struct event_base *base, enum confine_kind kind)
{
	struct server *server;

	if (kind != CONFINE_HTTP)
		return server_new(base, STDIN_FILENO, STDOUT_FILENO, CONFINE_CHANNEL);
	server = server_new_http(base, STDIN_FILENO, STDOUT_FILENO, CONFINE_CHANNEL);
	if (!server)
		_exit(MSP_EXIT_REFUSED); /* the message is on stderr already */
	return server;
}

int main(void)
{
	struct event_base *base;
	enum confine_kind kind;
	char *refusal = NULL;

	log_set_name("msp-broker");
	tzset(); /* the first use of a date reads /etc/localtime */
	(void)changes_umask_flags();
	kind = confine_descriptors();
	if (kind == CONFINE_REFUSED) {
		refusal = refused_read_text(CONFINE_CHANNEL);
		if (!refusal)
			log_fatal(MSP_EXIT_SOFTWARE, "descriptor %d holds no reason",
				  CONFINE_CHANNEL);
	}
	if (kind == CONFINE_HTTP &&
	    (!http_prepare() || fd_set_nonblocking(STDIN_FILENO, true) != 0))
		log_fatal(MSP_EXIT_SOFTWARE, "cannot prepare for HTTP");
	base = server_base_new();
	if (!base)
		log_fatal(MSP_EXIT_SOFTWARE, "cannot make an event loop");
	if (sodium_init() < 0) /* it may open a file the first time */
		log_fatal(MSP_EXIT_SOFTWARE, "cannot draw random numbers");
	(void)mallopt(M_MMAP_THRESHOLD,
		      LARGE_BLOCK_BYTES); /* without it, only more memory is used */
	confine_process(kind);
	STAGE_HOOK(POINT, STAGE_POINT_CONFINED);
	_exit(refusal ? refused_serve(base, STDIN_FILENO, STDOUT_FILENO, refusal)
		      : server_run(start_server(base, kind)));
}
