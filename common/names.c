/* SPDX-License-Identifier: Apache-2.0 */
#include "common/names.h"

static const char *const verdict_names[VERDICT_COUNT] = {
#define VERDICT(name, text) [VERDICT_##name] = (text),
#include "common/verdict.def"
#undef VERDICT
};

static const char *const stage_texts[STAGE_COUNT] = {
#define STAGE(name, text) [STAGE_##name] = (text),
#include "common/stage.def"
#undef STAGE
};

const char *verdict_name(uint32_t verdict)
{
	return verdict < VERDICT_COUNT ? verdict_names[verdict] : "unknown";
}

const char *stage_text(uint32_t stage)
{
	return stage < STAGE_COUNT ? stage_texts[stage] : "unknown";
}
