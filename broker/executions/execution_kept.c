/* SPDX-License-Identifier: Apache-2.0 */
#include "executions/execution_parts.h"
#include "executions/share.h"

static bool is_kept(const struct execution *execution)
{
	return execution->info.state == EXECUTION_OVER;
}

static bool has_same_owner(const struct execution *execution, const struct execution *other)
{
	return execution_owner_is(&execution->info.owner, &other->info.owner);
}

static bool has_same_principal(const struct execution *execution, const struct execution *other)
{
	return execution->info.owner.principal == other->info.owner.principal;
}

static struct execution *older_execution(struct execution *a, struct execution *b)
{
	return !a || b->used_ms < a->used_ms ? b : a;
}

static size_t log_bytes(const struct execution *execution)
{
	return execution->info.log.head_bytes + execution->info.log.tail_bytes;
}

static bool has_log_share(const struct executions *executions, const struct execution *newest)
{
	size_t own = 0;

	if (share_is_plenty(output_memory(), OUTPUT_MEMORY_MAX))
		return true;
	for (const struct execution *e = executions->first; e; e = e->next)
		own += has_same_principal(e, newest) ? log_bytes(e) : 0;
	return share_allows(newest->info.owner.principal, own, output_memory(), OUTPUT_MEMORY_MAX,
			    0);
}

/* Free memory among the logs of the principal whose log has grown. Logs of ended executions go
 * whole, least recently asked for first; then the running execution with the largest log loses its
 * oldest bytes. */
static bool make_room(struct executions *executions, const struct execution *newest)
{
	struct execution *oldest = NULL;
	struct execution *largest = NULL;

	for (struct execution *e = executions->first; e; e = e->next) {
		if (!has_same_principal(e, newest))
			continue;
		if (is_kept(e) && !e->info.is_log_dropped && log_bytes(e) > 0)
			oldest = older_execution(oldest, e);
		if (!is_kept(e) &&
		    (!largest || e->info.log.tail_bytes > largest->info.log.tail_bytes))
			largest = e;
	}
	if (oldest) {
		output_log_drop(&oldest->info.log);
		oldest->info.is_log_dropped = true;
		return true;
	}
	return largest && output_log_shrink(&largest->info.log);
}

void executions_fit_logs(struct executions *executions, const struct execution *newest)
{
	while (!has_log_share(executions, newest) && make_room(executions, newest))
		;
}

static struct execution *find_oldest(struct executions *executions, const struct execution *newest,
				     bool (*belongs)(const struct execution *execution,
						     const struct execution *other),
				     size_t *ret_count)
{
	struct execution *oldest = NULL;

	*ret_count = 0;
	for (struct execution *e = executions->first; e; e = e->next) {
		if (!is_kept(e) || !belongs(e, newest))
			continue;
		oldest = older_execution(oldest, e);
		++*ret_count;
	}
	return oldest;
}

void executions_fit_kept(struct executions *executions, const struct execution *newest)
{
	size_t count;
	struct execution *oldest;

	if (executions->kept_count <= KEPT_PER_OWNER)
		return;
	oldest = find_oldest(executions, newest, has_same_owner, &count);
	if (count <= KEPT_PER_OWNER) {
		oldest = find_oldest(executions, newest, has_same_principal, &count);
		if (share_allows(newest->info.owner.principal, count, executions->kept_count,
				 KEPT_MAX, 0))
			return;
	}
	execution_discard(oldest);
}

static struct execution *find_expired(const struct executions *executions, int64_t now_ms)
{
	struct execution *execution = executions->first;

	while (execution && !(is_kept(execution) && now_ms - execution->used_ms > KEPT_MS))
		execution = execution->next;
	return execution;
}

void executions_expire(struct executions *executions, int64_t now_ms)
{
	struct execution *expired;

	while ((expired = find_expired(executions, now_ms)))
		execution_discard(expired);
}

/* --- limits on live executions and on bytes that wait for their inputs ---------------------- */

static size_t count_alive(const struct executions *executions, uint32_t principal)
{
	size_t count = 0;

	for (const struct execution *e = executions->first; e; e = e->next)
		count += e->info.state != EXECUTION_OVER && e->info.owner.principal == principal;
	return count;
}

static size_t input_bytes(const struct executions *executions, uint32_t principal)
{
	size_t bytes = 0;

	for (const struct execution *e = executions->first; e; e = e->next)
		bytes += e->info.owner.principal == principal ? e->input.size : 0;
	return bytes;
}

void executions_set_most(struct executions *executions, size_t most)
{
	executions->live_max = most < EXECUTIONS_MAX ? most : EXECUTIONS_MAX;
}

bool execution_room_for_input(const struct executions *executions, uint32_t principal, size_t size)
{
	return share_allows(principal, input_bytes(executions, principal), executions->input_bytes,
			    INPUT_BYTES_MAX, size);
}

enum execution_start execution_room(const struct executions *executions,
				    const struct execution_order *order)
{
	const uint32_t principal = order->owner.principal;

	if (executions->live_count >= EXECUTIONS_MAX)
		return EXECUTION_START_TOO_MANY;
	/* a principal that shares with no other is counted by the supervisor */
	if (principal != 0 && !share_allows(principal, count_alive(executions, principal),
					    executions->live_count, executions->live_max, 1))
		return EXECUTION_START_SHARE;
	return execution_room_for_input(executions, principal, order->input_size)
		       ? EXECUTION_START_DONE
		       : EXECUTION_START_INPUT_FULL;
}
