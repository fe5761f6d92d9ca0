/* SPDX-License-Identifier: Apache-2.0 */
#include "hint_rig.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc/ipc_done.h"
#include "common/records/denial.h"

struct builtin builtin;
struct ipc_execution_done done;
struct denial_views views;

struct hint_source source;

void open_plan(void)
{
	builtin = builtin_open();
	memset(&done, 0, sizeof(done));
	memset(&source, 0, sizeof(source));
	done.exit_code = 1;
}

void close_plan(void)
{
	builtin_close(&builtin);
}

void report_denial(const struct denial *denial)
{
	done.denials_size = denial ? sizeof(*denial) : 0;
	if (denial)
		memcpy(done.denials, denial, sizeof(*denial));
}

void judge(const char *text)
{
	source.plan = &builtin.plan;
	source.profile = source.profile ? source.profile : "default";
	source.exit_code = source.exit_code ? source.exit_code : 1;
	source.tail = text;
	source.size = strlen(text);
	denials_describe(&builtin.plan, source.profile, &done, &views);
	denial_hints_add(&source, &views);
}

void expect_one(const char *text, const char *layer, const char *operation, const char *target)
{
	judge(text);
	cr_assert_eq(views.count, 1, "%s: %u", text, views.count);
	cr_expect(views.items[0].is_inferred, "%s", text);
	cr_expect_str_eq(views.items[0].layer, layer, "%s", text);
	cr_expect_str_eq(views.items[0].operation, operation, "%s", text);
	cr_expect_str_eq(views.items[0].target, target, "%s", text);
	cr_expect_eq(views.items[0].count, 1, "%s", text);
	cr_expect_str_empty(views.other, "%s", text);
}

void expect_nothing(const char *text)
{
	judge(text);
	cr_expect_eq(views.count, 0, "%s", text);
	cr_expect_str_empty(views.other, "%s: %s", text, views.other);
}

void expect_other(const char *text, const char *path)
{
	judge(text);
	cr_expect_eq(views.count, 0, "%s", text);
	cr_expect(strncmp(views.other, "not the sandbox: ", 17) == 0, "%s", text);
	cr_expect_not_null(strstr(views.other, path), "%s: %s", text, views.other);
}

const char *hints_of(const char *text)
{
	static char lines[DENIALS_TEXT_MAX];

	judge(text);
	denials_put_hints(&views, lines);
	return lines;
}
