/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation
 *
 * msp-http reads the requests that workloads send to hosts with request rules or secrets. It has no
 * network and no file: http.h says how it is started and what it is told. The first process, the
 * starter (starter.c), forks a server for each profile (server.c). A server ends TLS of both sides
 * (trust.c, side.c), reads heads (head.c) and bodies (body.c), and passes on what it has written
 * anew (message.c): requests that the plan allows, with the values of secrets in their fields
 * (secrets.c), and answers without them (redact.c). exchange.c is one connection.
 *
 * A server that is taken over has the secrets of its profile and the sockets of its connections,
 * and can tell the secrets to nobody but the hosts at their other ends.
 */
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "common/confine/steps.h"
#include "common/fd.h"
#include "common/log.h"
#include "gateway/http/http.h"
#include "gateway/http/parts.h"
#include "gateway/http/trust.h"
#include "seccomp_filter.h"
#include "stewards/base/steward.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FREED 0x5a /* bytes of memory that was freed: a request's head may have had a secret */

/* Must: leave no memory of this process in a dump, or to another process of the user. */
static void hide_memory(void)
{
	const struct rlimit none = { 0, 0 };

	confine_require(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : -errno, "hiding its memory");
	confine_require(setrlimit(RLIMIT_CORE, &none) == 0 ? 0 : -errno, "refusing core dumps");
	(void)mallopt(M_PERTURB, FREED); /* another allocator has no such option */
}

/* Do one piece of work for the launcher, on its two files. */
static int do_work(bool (*work)(int, int), const char *problem)
{
	steward_begin("msp-http", "ff");
	hide_memory();
	steward_confine(0, seccomp_filter, COUNT(seccomp_filter));
	if (!work(HTTP_FD_AUTHORITY, HTTP_FD_CERTIFICATE))
		log_fatal(MSP_EXIT_SOFTWARE, "%s", problem);
	return 0;
}

int main(int argc, char **argv)
{
	trust_start();
	if (argc == 2 && strcmp(argv[1], HTTP_ARGUMENT_AUTHORITY) == 0)
		return do_work(trust_make_authority,
			       "the authority for sandboxes cannot be made or written");
	if (argc == 2 && strcmp(argv[1], HTTP_ARGUMENT_JAVA) == 0)
		return do_work(java_write_keystore,
			       "the certificates for Java cannot be read or written");
	steward_begin("msp-http", "s");
	fd_raise_limit();
	hide_memory();
	starter_run();
	return 0;
}
