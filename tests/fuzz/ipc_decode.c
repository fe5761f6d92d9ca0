/* SPDX-License-Identifier: Apache-2.0
 *
 * Property: what decodes re-encodes to the same bytes. Built with small limits, so that the edges
 * of every field are near.
 */
#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc.h"
#include "common/ipc/ipc_all.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static union ipc_any message;
	static uint8_t again[sizeof(message) + 256]; /* lengths take less */
	uint32_t type = IPC_TYPE_NONE;
	size_t again_size = 0;

	memset(&message, 0xa5, sizeof(message));
	if (ipc_decode(data, size, &message, sizeof(message), &type) != IPC_OK)
		return 0;
	if (ipc_encode(type, &message, again, sizeof(again), &again_size) != IPC_OK ||
	    again_size != size || memcmp(again, data, size) != 0)
		abort();
	return 0;
}
