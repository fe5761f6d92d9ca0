/* SPDX-License-Identifier: Apache-2.0 */
#include "stewards/base/counters.h"

#include <errno.h>
#include <sys/mman.h>

#include "common/fd.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/records/counters.h"

static _Atomic uint64_t *counters;

void counters_open(int fd)
{
	counters = mmap(NULL, GATEWAY_COUNTERS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counters == MAP_FAILED)
		log_fatal(MSP_EXIT_SOFTWARE, "the counters of refusals cannot be mapped: %s",
			  errno_text(errno));
	fd_close(&fd);
}

void counters_raise(uint32_t slot)
{
	if (slot < GATEWAY_SLOTS)
		counters[slot]++;
}
