/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/budget.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/sysinfo.h>

#include "common/text/format.h"
#include "common/text/text.h"

uint64_t budget_parse_number(const char *text)
{
	char *end = NULL;
	unsigned long long bytes;

	if (text[0] < '0' || text[0] > '9')
		return 0;
	errno = 0;
	bytes = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' ? bytes : 0;
}

uint64_t budget_share(uint64_t machine_bytes, uint64_t cgroup_bytes)
{
	const uint64_t least =
		cgroup_bytes > 0 && (machine_bytes == 0 || cgroup_bytes < machine_bytes)
			? cgroup_bytes
			: machine_bytes;

	return least - least / 4;
}

static uint64_t machine_bytes(void)
{
	struct sysinfo info;

	return sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit : 0;
}

void budget_complete(struct budget *budget, int cgroup)
{
	char text[32] = "";

	if (budget->executions == 0)
		budget->executions = EXECUTIONS_DEFAULT;
	if (budget->memory_bytes != BUDGET_MEMORY_DEFAULT)
		return;
	budget->memory_bytes = 0;
	if (cgroup < 0)
		return;
	/* A root cgroup has no such file, and the machine's memory bounds it. */
	(void)text_read_file(cgroup, "memory.max", text, sizeof(text));
	budget->memory_bytes = budget_share(machine_bytes(), budget_parse_number(text));
}
