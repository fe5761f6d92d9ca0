/* SPDX-License-Identifier: Apache-2.0
 *
 * The reasons for which a request is refused, as messages have them.
 */
#ifndef COMMON_IPC_REFUSAL_H
#define COMMON_IPC_REFUSAL_H

enum refusal {
	REFUSAL_NONE,
#define REFUSAL(name, text) REFUSAL_##name,
#include "common/ipc/refusal.def"
#undef REFUSAL
	REFUSAL_COUNT
};

#endif
