/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/words/changes.h"

#include <stddef.h>
#include <sys/stat.h>

#include "common/ipc/ipc_changes.h"

const struct change_word change_words[CHANGE_WORDS] = {
	{ CHANGE_IS_DIRECTORY, "directory", NULL, NULL, NULL },
	{ CHANGE_IS_BINARY, "binary", NULL, NULL, NULL },
	{ CHANGE_IS_LARGE, "large", NULL, NULL, NULL },
	{ CHANGE_IS_CONFLICT, "conflict", "conflict: changed on this machine meanwhile", "conflict",
	  "the host's file has changed since the sandbox copied it" },
	{ CHANGE_IS_HELD, "held", "this machine may execute it by itself", "host-executed",
	  "the host can execute it automatically, or as marked; applied only if the user agrees" },
	{ CHANGE_LEADS_OUT, "leads_out", "it leads out of the project", "leads out",
	  "a link out of the project" },
	{ CHANGE_IS_TOOL, "tool", "executed when its tool is started", "tool",
	  "executed when its tool is started" },
	{ CHANGE_IS_RULES, "rules", "it decides what msp asks about", "rules",
	  "decides which changes the user is asked about" },
	{ CHANGE_MAY_RUN, "may_run", "of a kind that tools execute", "may run",
	  "of a kind that tools execute: new, newly executable or a dot file" },
	{ CHANGE_IS_MERGED, "merged", "merged with this machine's changes", "merged",
	  "the host's changes of the file stay, and the sandbox's are added" },
	{ CHANGE_HAS_MARKERS, "markers", "with conflict markers", NULL, NULL },
	{ CHANGE_IS_STRIPPED, "stripped", "without set-ID bits and capabilities", "stripped",
	  "set-ID bits and capabilities are not applied" },
	{ CHANGE_IS_REFUSED, "refused", "never applied: a device, socket or FIFO", "refused",
	  "a device, socket or FIFO; never applied" },
	{ CHANGE_IS_UNREADABLE, "unreadable", "never applied: it cannot be read", "unreadable",
	  "it cannot be read; never applied" },
	{ CHANGE_IS_GITS, "repository", "stays in the sandbox's repository", "repository",
	  "part of the sandbox's repository; never applied" },
	{ CHANGE_IS_COMMITS, "commits", NULL, NULL, NULL },
	{ CHANGE_IS_COMMITTED, "committed", "comes with the commits", "in the commits",
	  "a commit of the sandbox has it, for git merge; not applied as a file unless `paths` "
	  "names it" },
	{ CHANGE_IS_APPLIED, "applied", NULL, "applied", NULL },
	{ CHANGE_IS_UNDONE, "undone", NULL, "undone", NULL },
};

const struct unmerged_words unmerged_words[UNMERGED_COUNT] = {
#define UNMERGED(name, word_, text_) [UNMERGED_##name] = { word_, text_ },
#include "common/text/unmerged.def"
#undef UNMERGED
};

static const struct step_words steps[CHANGES_STEP_COUNT] = {
	[CHANGES_STEP_NONE] = { "the changes cannot be worked on", "working on the files" },
	[CHANGES_STEP_READ] = { "the sandbox's or this machine's files cannot be read",
				"reading the sandbox's or the host's files" },
	[CHANGES_STEP_OUTPUT] = { "the changes cannot be told of", "reporting the changes" },
	[CHANGES_STEP_JOURNAL] = { "what would be done cannot be written down, so that nothing was "
				   "changed",
				   "preparing to change the host's files, which are as they were" },
	[CHANGES_STEP_WRITE] = { "this machine's files cannot be changed; what was begun is taken "
				 "back",
				 "changing the host's files, which were restored" },
	[CHANGES_STEP_CONFIRMED] = { "the changes are not those any more that were shown",
				     "comparing the changes with the preview" },
	[CHANGES_STEP_HELPER] = { "msp-layers did not end as it should",
				  "msp-layers, which ended early" },
};

const struct step_words *changes_step_words(uint32_t step)
{
	return &steps[step < CHANGES_STEP_COUNT ? step : CHANGES_STEP_NONE];
}

const struct held_words held_words[NAMED_KINDS] = {
	[HELD_RUNS] = { "This machine may execute these by itself:", "can run by themselves",
			"can run by itself" },
	[HELD_LEADS_OUT] = { "These links lead out of the project:", "lead outside",
			     "leads outside" },
	[HELD_RULES] = { "These decide what msp asks about:", "decide what is asked",
			 "decides what is asked" },
	[HELD_TOOL] = { "These are executed when somebody starts their tools:",
			"run with their tools", "runs with its tool" },
	[HELD_DOT] = { "These are dot files:", "are dot files", "is a dot file" },
	[HELD_NONE_BUT_NEW] = { "These are not held back, and of a kind that tools execute:",
				"new files may run", "new file may run" },
};

enum held_kind change_held_kind(uint32_t flags)
{
	static const struct {
		uint32_t flag;
		enum held_kind kind;
	} kinds[] = { { CHANGE_LEADS_OUT, HELD_LEADS_OUT },
		      { CHANGE_IS_RULES, HELD_RULES },
		      { CHANGE_IS_TOOL, HELD_TOOL },
		      { CHANGE_MAY_RUN, HELD_DOT } };

	if ((flags & CHANGE_IS_HELD) == 0)
		return HELD_NONE_BUT_NEW;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if ((flags & kinds[i].flag) != 0)
			return kinds[i].kind;
	}
	return HELD_RUNS;
}

uint32_t changes_umask_flags(void)
{
	static uint32_t flags;

	if (!flags) {
		const mode_t mask = umask(0); /* it can only be asked for so */

		(void)umask(mask);
		flags = CHANGES_UMASK | ((uint32_t)mask & 0777U) << CHANGES_UMASK_SHIFT;
	}
	return flags;
}
