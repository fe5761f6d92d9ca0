/* SPDX-License-Identifier: Apache-2.0
 *
 * The closed sets that travel as numbers and are shown as words: verdicts and stages.
 */
#ifndef COMMON_NAMES_H
#define COMMON_NAMES_H

#include <stdint.h>

enum verdict {
#define VERDICT(name, text) VERDICT_##name,
#include "common/verdict.def"
#undef VERDICT
	VERDICT_COUNT
};

enum stage {
#define STAGE(name, text) STAGE_##name,
#include "common/stage.def"
#undef STAGE
	STAGE_COUNT
};

/* The word for a verdict, "unknown" beyond the set. Static storage. */
const char *verdict_name(uint32_t verdict);

/* What was being done at a stage, as a phrase ("changing the root"); "unknown" beyond the set. */
const char *stage_text(uint32_t stage);

#endif
