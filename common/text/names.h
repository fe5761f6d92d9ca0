/* SPDX-License-Identifier: Apache-2.0
 *
 * The closed sets that travel as numbers and are shown as words: verdicts, stages and layers.
 */
#ifndef COMMON_TEXT_NAMES_H
#define COMMON_TEXT_NAMES_H

#include <stdint.h>

enum verdict {
#define VERDICT(name, text) VERDICT_##name,
#include "common/text/verdict.def"
#undef VERDICT
	VERDICT_COUNT
};

enum stage {
#define STAGE(name, text) STAGE_##name,
#include "common/text/stage.def"
#undef STAGE
	STAGE_COUNT
};

/* The barriers of a posture; a bit for each in its sets. */
enum posture_layer {
#define LAYER(name, text, tried) POSTURE_##name,
#include "common/text/layer.def"
#undef LAYER
	POSTURE_COUNT
};

/* The kinds of namespaces that each sandbox has for itself. */
enum posture_namespace {
#define NAMESPACE(id, name) POSTURE_NAMESPACE_##id,
#include "common/text/namespace.def"
#undef NAMESPACE
	POSTURE_NAMESPACE_COUNT
};

/* Controllers of cgroup v2, as bits; their names in names.c follow the same order. */
enum posture_controller {
	POSTURE_CONTROLLER_CPU = 1,
	POSTURE_CONTROLLER_MEMORY = 2,
	POSTURE_CONTROLLER_PIDS = 4,
	POSTURE_CONTROLLER_IO = 8,
};

#define POSTURE_BIT(layer) (1U << (layer))
#define POSTURE_ALL (POSTURE_BIT(POSTURE_COUNT) - 1)

/* The word for a verdict, "unknown" beyond the set. Static storage. */
const char *verdict_name(uint32_t verdict);

/* Return the act of a stage as a phrase ("changing the root"); "unknown" beyond the set. */
const char *stage_text(uint32_t stage);

/* The word for a layer, and what a probe tries against it ("binding a TCP port"); "unknown" beyond
 * the set. */
const char *posture_layer_name(uint32_t layer);
const char *posture_layer_act(uint32_t layer);

/* The name of a kind of namespace, as in /proc/self/ns. */
const char *posture_namespace_name(uint32_t kind);

#endif
