/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/outcome_json.h"

#include "common/ipc/ipc_done.h"
#include "common/text/names.h"
#include "frontend/denials.h"
#include "frontend/posture_text.h"
#include "frontend/words/words.h"

static uint64_t round_ms(uint64_t us)
{
	return (us + 500) / 1000;
}

/* A limit's verdict has the code of a command that failed at the limit by itself. */
static void put_end(struct json_writer *writer, const struct ipc_execution_done *done)
{
	json_put_text(writer, "verdict", verdict_name(done->verdict));
	if (done->verdict == VERDICT_EXITED || (!done->signal && done->exit_code))
		json_put_number(writer, "exit_code", done->exit_code);
	if (done->signal)
		json_put_number(writer, "signal", done->signal);
	if (done->stage != STAGE_NONE) {
		json_put_text(writer, "stage", stage_text(done->stage));
		json_put_number(writer, "errno", done->error);
	}
	json_put_number(writer, "wall_ms", round_ms(done->wall_us));
	if (done->cpu_us > 0)
		json_put_number(writer, "cpu_ms", round_ms(done->cpu_us));
	if (done->peak_bytes > 0)
		json_put_number(writer, "peak_bytes", done->peak_bytes);
	if (done->verdict == VERDICT_EXITED && done->left_behind > 0)
		json_put_number(writer, "left_behind", done->left_behind);
}

static void put_timings(struct json_writer *writer, const struct timings *timings)
{
	if (!timings->is_known)
		return;
	json_open_object(writer, "timings_us");
	for (enum timing timing = 0; timing < TIMING_COUNT; timing++) {
		if (timings_have(timings, timing))
			json_put_number(writer, timing_name(timing), timings->us[timing]);
	}
	json_close_object(writer);
}

static void put_denial(struct json_writer *writer, const struct denial_view *view)
{
	json_open_object(writer, NULL);
	json_put_text(writer, "layer", view->layer);
	json_put_text(writer, "operation", view->operation);
	json_put_text(writer, "target", view->target);
	json_put_text(writer, "reason", view->reason);
	json_put_text(writer, "rule", view->rule);
	json_put_text(writer, "remedy", view->remedy);
	json_put_text(writer, "hint", view->hint);
	json_put_number(writer, "count", view->count);
	if (view->is_inferred)
		json_put_bool(writer, "inferred", true);
	if (view->is_shared)
		json_put_bool(writer, "shared", true);
	json_close_object(writer);
}

static void put_denials(struct json_writer *writer, const struct denial_views *views)
{
	if (views->other[0])
		json_put_text(writer, "not_the_sandbox", views->other);
	if (views->note[0])
		json_put_text(writer, "note", views->note);
	if (views->unreached[0])
		json_put_text(writer, "unreached", views->unreached);
	if (views->count == 0)
		return;
	json_open_array(writer, "denials");
	for (uint32_t i = 0; i < views->count; i++)
		put_denial(writer, &views->items[i]);
	json_close_array(writer);
}

void outcome_put(struct json_writer *writer, const struct outcome_facts *facts)
{
	if (facts->done) {
		put_end(writer, facts->done);
		put_timings(writer, facts->timings);
		put_denials(writer, facts->denials);
	} else {
		json_put_number(writer, "wall_ms", round_ms(facts->wall_us));
	}
	json_put_number(writer, "stdout_bytes", facts->stdout_bytes);
	json_put_number(writer, "stderr_bytes", facts->stderr_bytes);
	json_put_bool(writer, "truncated", facts->is_truncated);
	json_put_text(writer, "limits", limits_mode_name(facts->limits));
	json_put_number(writer, "landlock_abi", facts->landlock_abi);
	json_put_text(writer, "profile", facts->profile);
	if (facts->posture)
		posture_put_object(writer, facts->posture);
}
