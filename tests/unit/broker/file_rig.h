/* SPDX-License-Identifier: Apache-2.0
 *
 * msp-file's side of the file tools, for tests with a rig: the test takes what the broker asks of
 * the sandbox "build", and answers byte by byte.
 */
#ifndef TESTS_UNIT_BROKER_FILE_RIG_H
#define TESTS_UNIT_BROKER_FILE_RIG_H

#include "common/records/file_record.h"
#include "rig.h"

/* Return the arguments of the next request of a file, with '|' after each. */
const char *file_rig_words(struct rig *rig, uint64_t *ret_request);

/* Call a tool and start the workload that it asks for; `words`: the arguments of msp-file. */
struct rig_workload file_rig_begin(struct rig *rig, const char *tool, const char *arguments,
				   const char *words);

/* Write bytes (a head with its text) of the answer. */
void file_rig_put(struct rig *rig, const struct rig_workload *workload, const void *bytes,
		  size_t size);
void file_rig_put_head(struct rig *rig, const struct rig_workload *workload, struct file_head head,
		       const char *text);

/* End the workload; return the broker's answer. */
const char *file_rig_end(struct rig *rig, struct rig_workload *workload);

#endif
