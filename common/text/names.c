/* SPDX-License-Identifier: Apache-2.0 */
#include "common/text/names.h"

static const char *const verdict_names[VERDICT_COUNT] = {
#define VERDICT(name, text) [VERDICT_##name] = (text),
#include "common/text/verdict.def"
#undef VERDICT
};

static const char *const stage_texts[STAGE_COUNT] = {
#define STAGE(name, text) [STAGE_##name] = (text),
#include "common/text/stage.def"
#undef STAGE
};

static const struct {
	const char *name;
	const char *act;
} layers[POSTURE_COUNT] = {
#define LAYER(name, text, tried) [POSTURE_##name] = { (text), (tried) },
#include "common/text/layer.def"
#undef LAYER
};

static const char *const namespace_names[POSTURE_NAMESPACE_COUNT] = {
#define NAMESPACE(id, name) [POSTURE_NAMESPACE_##id] = (name),
#include "common/text/namespace.def"
#undef NAMESPACE
};

const char *verdict_name(uint32_t verdict)
{
	return verdict < VERDICT_COUNT ? verdict_names[verdict] : "unknown";
}

const char *stage_text(uint32_t stage)
{
	return stage < STAGE_COUNT ? stage_texts[stage] : "unknown";
}

const char *posture_layer_name(uint32_t layer)
{
	return layer < POSTURE_COUNT ? layers[layer].name : "unknown";
}

const char *posture_layer_act(uint32_t layer)
{
	return layer < POSTURE_COUNT ? layers[layer].act : "unknown";
}

const char *posture_namespace_name(uint32_t kind)
{
	return kind < POSTURE_NAMESPACE_COUNT ? namespace_names[kind] : "unknown";
}
