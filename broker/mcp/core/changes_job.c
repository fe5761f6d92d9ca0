/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/changes_job.h"

#include <errno.h>
#include <inttypes.h>

#include "common/log.h"
#include "frontend/supervisor_client.h"
#include "frontend/words/changes.h"
#include "io/clock.h"
#include "lib/heap/memory.h"

/* Milliseconds from which on an act is long enough for reports. */
#define PROGRESS_FROM_MS 1000

/* The last part of a stage that is not reported: one in so many. */
#define PROGRESS_QUIET_PART 8U

void changes_job_stop(struct changes_job *job)
{
	if (!job->event)
		return;
	event_free(job->event);
	job->event = NULL;
	change_stream_done(&job->stream);
}

static void finish_if_over(struct changes_job *job)
{
	if (job->is_done && !job->event)
		job->rules->ended(job->errand);
}

static void on_found(void *context, const struct change *change)
{
	struct changes_job *job = context;

	job->rules->found(job->errand, change);
}

/* Report the progress of the stages as one number that only rises. */
static void say_progress(struct changes_job *job)
{
	const struct change_progress *now = &job->stream.progress;
	struct buffer text = { 0 };

	if (now->stage == CHANGE_STAGE_NONE || clock_steady_ms() - job->began_ms < PROGRESS_FROM_MS)
		return;
	/* If progress arrives right before the answer, some clients report an unknown call. */
	if (now->total > 0 && now->total - now->done <= now->total / PROGRESS_QUIET_PART)
		return;
	if (now->stage != job->stage || now->done < job->last)
		job->before += job->last;
	job->stage = now->stage;
	job->last = now->done;
	buffer_format(&text, "%s: %" PRIu64, changes_stage_text(now->stage), now->done);
	if (now->total > 0)
		buffer_format(&text, " of %" PRIu64, now->total);
	call_say_progress(job->errand->call, (double)(job->before + now->done),
			  now->total > 0 ? (double)(job->before + now->total) : 0, text.bytes);
	buffer_done(&text);
}

static void on_readable(evutil_socket_t fd, short what, void *argument)
{
	struct changes_job *job = argument;
	const int result = change_stream_read(&job->stream, on_found, job);

	if (result == 1) {
		say_progress(job);
		return;
	}
	job->is_broken |= result < 0;
	changes_job_stop(job);
	finish_if_over(job);
}

static void read_records(struct changes_job *job, int records)
{
	if (records < 0) {
		job->is_broken = true;
		return;
	}
	change_stream_init(&job->stream, records);
	job->event = event_new(job->errand->call->session->host->base, records,
			       EV_READ | EV_PERSIST, on_readable, job);
	if (!job->event || event_add(job->event, NULL) != 0)
		give_up("watching a pipe");
}

static void on_answer(struct errand *errand, const struct supervisor_answer *answer)
{
	struct changes_job *job = errand->job;

	if (answer->kind == ANSWER_CHANGES) {
		read_records(job, answer->records);
		return;
	}
	errand->step = NULL;
	job->is_done = true;
	job->done = *answer->changes;
	finish_if_over(job);
}

void changes_job_start(struct changes_job *job, struct errand *errand,
		       const struct changes_rules *rules, const char *sandbox,
		       struct ipc_changes_start *wanted, const struct chosen_paths *paths)
{
	const int chosen = chosen_paths_seal(paths);

	wanted->flags |= changes_umask_flags();
	job->errand = errand;
	errand->job = job;
	errand->step = on_answer;
	job->rules = rules;
	job->is_done = job->is_broken = false;
	if (job->began_ms == 0)
		job->began_ms = clock_steady_ms();
	if (chosen < 0)
		errand_fail(job->errand, "Nothing was done: there is no memory for the paths. Call "
					 "again in a moment.");
	else
		errand_ask(errand, changes_start, sandbox, wanted, chosen);
}

void changes_job_put_ignored(const struct ipc_changes_done *done, struct buffer *text)
{
	if (done->ignored > 0)
		buffer_format(text, " · %" PRIu64 " ignored file%s left out: `paths` can name %s",
			      done->ignored, done->ignored == 1 ? "" : "s",
			      done->ignored == 1 ? "it" : "them");
}

void changes_job_put_problem(const struct changes_job *job, struct buffer *text)
{
	if (job->done.error == EOWNERDEAD)
		buffer_append_text(text, "The process that reads git's objects ended early, killed "
					 "or out of memory. Nothing was changed. Call again.");
	else if (job->done.error != 0)
		buffer_format(text, "It failed with \"%s\" in %s.",
			      errno_text((int)job->done.error),
			      changes_step_words(job->done.step)->models);
	if (job->done.error == EROFS)
		buffer_append_text(text, " The msp service may not write there. Ask the user to "
					 "run `msp stop` and `msp apply --standalone`.");
	if (job->done.error == 0 && job->is_broken)
		buffer_append_text(text, "The list of changes is incomplete.");
}
