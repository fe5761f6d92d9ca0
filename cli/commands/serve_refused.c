/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/serve_refused.h"

#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "common/format.h"
#include "doctor/examine.h"

/* The broker takes 16 KiB (broker/refused_server.h). */
#define TEXT_MAX 16000

void serve_refused(const struct images *images, const char *config, uint32_t limits,
		   const char *reason)
{
	static struct machine machine;
	static char missing[DOCTOR_TEXT_MAX], text[TEXT_MAX];
	int fd;

	if (doctor_examine(config, NULL, &machine) != 0 ||
	    doctor_explain(&machine, limits, missing, sizeof(missing)))
		format_text(missing, sizeof(missing), "Reason: %s\n", reason);
	format_text(text, sizeof(text),
		    "msp refuses to run anything on this machine.\n\n%s\n"
		    "`msp doctor` in a terminal shows all checks. After the fix, restart this MCP "
		    "server.\n",
		    missing);
	fd = fd_sealed_from_bytes("refusal", text, strlen(text));
	if (fd >= 0)
		(void)launch_exec_refused(images, fd);
}
