/* SPDX-License-Identifier: Apache-2.0
 *
 * The reason why an import fails, with the place in the image that it was found at.
 */
#ifndef IMAGE_REFUSE_H
#define IMAGE_REFUSE_H

#include <archive.h>

#include "image/report.h"

/* From now on a reason is about this layer (count from 1; 0: none), and about this entry in it
 * (NULL: none), which must stay. */
void refuse_in_layer(uint32_t number, uint32_t count, const char *diff_id);
void refuse_in_entry(const char *path);

/* Keep the reason, unless there is one. Returns -1. */
int refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Refuse for a failed system call: "ACT: ERROR". */
int refuse_call(const char *act, int error);

/* The report, which has the reason. */
extern struct image_report report;

/* Where a thread keeps its reason instead, without a place in the image: IMAGE_REPORT_TEXT_MAX
 * bytes. */
extern _Thread_local char *refuse_aside;

/* Refuse what libarchive says, which may be nothing. -1. */
int refuse_archive(const char *act, struct archive *archive);

#endif
