/* SPDX-License-Identifier: Apache-2.0 */
#include "file_rig.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_persistent.h"
#include "common/text/names.h"
#include "persistent.h"

const char *file_rig_words(struct rig *rig, uint64_t *ret_request)
{
	static char text[sizeof(((struct ipc_file_start *)NULL)->argv) + 1];
	const struct ipc_file_start *start = rig_body(rig, file_start);

	memcpy(text, start->argv, start->argv_size);
	text[start->argv_size] = '\0';
	for (uint32_t i = 0; i < start->argv_size; i++)
		text[i] = text[i] ? text[i] : '|';
	*ret_request = start->request;
	cr_assert_str_eq(start->sandbox, "build");
	return text;
}

struct rig_workload file_rig_begin(struct rig *rig, const char *tool, const char *arguments,
				   const char *words)
{
	char all[4096];
	uint64_t request;

	(void)snprintf(all, sizeof(all), "\"sandbox\":\"build\"%s", arguments);
	persistent_say(rig, tool, all);
	cr_assert_str_eq(file_rig_words(rig, &request), words);
	return rig_start(rig, request);
}

void file_rig_put(struct rig *rig, const struct rig_workload *workload, const void *bytes,
		  size_t size)
{
	cr_assert_eq(fd_write_all(workload->out, bytes, size), 0);
	rig_turn(rig);
}

void file_rig_put_head(struct rig *rig, const struct rig_workload *workload, struct file_head head,
		       const char *text)
{
	head.magic = FILE_MAGIC;
	head.text_size = (uint32_t)strlen(text);
	file_rig_put(rig, workload, &head, sizeof(head));
	file_rig_put(rig, workload, text, head.text_size);
}

const char *file_rig_end(struct rig *rig, struct rig_workload *workload)
{
	const struct ipc_execution_done done = { .request = workload->request,
						 .verdict = VERDICT_EXITED };

	rig_workload_end(workload);
	rig_done(rig, &done);
	return rig_hear(rig);
}
