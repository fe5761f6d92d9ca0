/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "common/records/changes.h"
#include "layers/base/job.h"
#include "lib/heap/path_match.h"

int job_flush(struct job *job)
{
	const size_t size = job->buffered;

	job->buffered = 0;
	return size > 0 ? fd_write_all(job->output, job->buffer, size) : 0;
}

/* Does the pattern match the path or a directory above it? */
static bool is_matched(const char *pattern, const char *path)
{
	char names[IPC_PATH_MAX], part[IPC_PATH_MAX];
	size_t size = strnlen(pattern, sizeof(names) - 1);

	while (size > 1 && pattern[size - 1] == '/')
		size--;
	memcpy(names, pattern, size);
	names[size] = '\0';
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		memcpy(part, path, (size_t)(slash - path));
		part[slash - path] = '\0';
		if (path_match_rule(names, part))
			return true;
	}
	return path_match_rule(names, path);
}

bool job_is_in(const char *path, const char *chosen)
{
	size_t size = strlen(chosen);

	while (size > 0 && chosen[size - 1] == '/')
		size--;
	return (size == 1 && chosen[0] == '.') ||
	       (strncmp(path, chosen, size) == 0 && (path[size] == '\0' || path[size] == '/'));
}

bool job_is_chosen(const struct job *job, const char *path)
{
	bool is_all = true, is_in = false;

	for (size_t at = 0; at < job->chosen_size; at += strlen(job->chosen + at) + 1) {
		const char *entry = job->chosen + at;

		if (*entry != CHANGES_EXCLUDED) {
			is_all = false;
			is_in = is_in || job_is_in(path, entry);
		} else if (is_matched(entry + 1, path)) {
			return false;
		}
	}
	return is_all || is_in;
}

bool job_names_paths(const struct job *job)
{
	for (size_t at = 0; at < job->chosen_size; at += strlen(job->chosen + at) + 1) {
		const char *entry = job->chosen + at;

		if (*entry != CHANGES_EXCLUDED && !job_is_in("", entry))
			return true;
	}
	return false;
}

static uint64_t size_of(const struct stat *status)
{
	return S_ISREG(status->st_mode) && status->st_size > 0 ? (uint64_t)status->st_size : 0;
}

/* A reader that is waked for each record takes longer than the work. */
static int put_bytes(struct job *job, const uint8_t *bytes, size_t size)
{
	int error = 0;

	if (job->buffer && JOB_BUFFER_BYTES - job->buffered < size)
		error = job_flush(job);
	if (error || !job->buffer || size > JOB_BUFFER_BYTES)
		return error ? error : fd_write_all(job->output, bytes, size);
	memcpy(job->buffer + job->buffered, bytes, size);
	job->buffered += size;
	return 0;
}

int job_tell(struct job *job, const struct difference *difference, const char *link,
	     const uint8_t *patch, size_t patch_size)
{
	static uint8_t bytes[sizeof(struct change_record) + (size_t)3 * IPC_PATH_MAX];
	const char *const texts[] = { difference->path, difference->old_path, link ? link : "" };
	const struct change_record record = {
		.kind = difference->kind,
		.flags = difference->flags,
		.unmerged = difference->unmerged,
		.old_mode = difference->old.st_mode,
		.new_mode = difference->now.st_mode,
		.old_size = size_of(&difference->old),
		.new_size = size_of(&difference->now),
		.path_size = (uint32_t)strlen(texts[0]),
		.old_path_size = (uint32_t)strlen(texts[1]),
		.link_size = (uint32_t)strlen(texts[2]),
		.patch_size = (uint32_t)patch_size,
	};
	size_t used = sizeof(record);
	int error;

	if (job->output < 0)
		return 0;
	memcpy(bytes, &record, sizeof(record));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const size_t size = strnlen(texts[i], IPC_PATH_MAX - 1);

		memcpy(bytes + used, texts[i], size);
		used += size;
	}
	/* End each write with a whole record, because progress goes between two. */
	error = job->buffered + used + patch_size > JOB_BUFFER_BYTES ? job_flush(job) : 0;
	if (!error)
		error = put_bytes(job, bytes, used);
	if (!error && patch_size > 0)
		error = put_bytes(job, patch, patch_size);
	return error;
}
