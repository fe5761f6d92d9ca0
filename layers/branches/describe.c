/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "branches.h"
#include "layers/reader/refs.h"

#define SHORT_DIGITS 12

static const char *refusal_of(int error)
{
	switch (error) {
	case -ENOENT:
		return "an object is missing";
	case -ENODATA:
		return "this project's .git/lfs lacks content that they name";
	case -ENOLINK:
		return "the submodule here lacks the commit that they name";
	case -EBADMSG:
		return "an object is damaged, or git would refuse it";
	case -E2BIG:
		return "more than 512 MiB, 200,000 objects, 32 MiB of changed paths, 16,384 trees "
		       "again or 15,625 commits of this machine that the branch lacks";
	case -EFBIG:
	case -ENAMETOOLONG:
		return "an object or a path is too large";
	case -EEXIST:
		return "another ref of the sandbox has this name here, or a part of it";
	case -ENOTSUP:
		return "it names no commit";
	default:
		return "they cannot be read";
	}
}

void branches_describe(const struct commits_ref *ref, char ret[IPC_PATH_MAX])
{
	char id[HEX_BYTES + 1];
	int used;

	refs_write_id(ref->id, id);
	used = snprintf(ret, IPC_PATH_MAX, "%.*s", SHORT_DIGITS, id);
	if (ref->error == -EUSERS)
		used += snprintf(ret + used, IPC_PATH_MAX - (size_t)used,
				 ": one of %u beyond the first %d, which all stay: name some",
				 commits.rest, COMMITS_REFS_MAX);
	else if (ref->error || ref->refusal)
		used += snprintf(ret + used, IPC_PATH_MAX - (size_t)used, ": %s",
				 ref->error ? refusal_of(ref->error) : ref->refusal);
	else
		used += snprintf(ret + used, IPC_PATH_MAX - (size_t)used, ", %u new commit%s",
				 ref->commits, ref->commits == 1 ? "" : "s");
	if (ref->held == 0)
		return;
	used += snprintf(ret + used, IPC_PATH_MAX - (size_t)used,
			 ref->error || ref->refusal ? "; they change %s" : ", which change %s",
			 ref->named_size ? ref->named : "files");
	if (ref->unnamed > 0)
		(void)snprintf(ret + used, IPC_PATH_MAX - (size_t)used, " and %u more",
			       ref->unnamed);
}
