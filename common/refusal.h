/* SPDX-License-Identifier: Apache-2.0
 *
 * The reasons for which a request is refused, as messages have them.
 */
#ifndef COMMON_REFUSAL_H
#define COMMON_REFUSAL_H

enum refusal {
	REFUSAL_NONE,
#define REFUSAL(name, text) REFUSAL_##name,
#include "common/refusal.def"
#undef REFUSAL
	REFUSAL_COUNT
};

#endif
