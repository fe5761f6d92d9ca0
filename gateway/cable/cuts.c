/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/cable/cuts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "gateway/cable/grants.h"
#include "gateway/hosts/name.h"

#define MAGIC 0x5354554dU /* "MUTS" */

enum cut_kind {
	CUT_NONE = 0, /* the rows before it are all */
	CUT_TAKEN,    /* the host, or without one all */
	CUT_BACK,     /* given back after that */
	CUT_KIND_COUNT
};

/* The file itself, in the machine's own order. An empty file has no cut. */
static struct {
	uint32_t magic;
	struct {
		uint32_t kind;
		uint32_t port; /* CUT_BACK */
		char host[IPC_HOST_MAX];
	} rows[CUTS_MAX];
} file;

/* Return whether the text is a name in the one spelling. */
static bool is_name(const char host[IPC_HOST_MAX])
{
	char name[HOST_NAME_MAX_SIZE];
	const size_t size = strnlen(host, IPC_HOST_MAX);

	return size < IPC_HOST_MAX && host_name_read(host, size, name) == HOST_SOUND &&
	       strcmp(name, host) == 0;
}

static bool is_sound(ssize_t size)
{
	if (size != sizeof(file) || file.magic != MAGIC)
		return size == 0;
	for (uint32_t i = 0; i < CUTS_MAX && file.rows[i].kind != CUT_NONE; i++) {
		const bool is_all = file.rows[i].kind == CUT_TAKEN && file.rows[i].host[0] == '\0';

		if (file.rows[i].kind >= CUT_KIND_COUNT || (!is_all && !is_name(file.rows[i].host)))
			return false;
	}
	return true;
}

int cuts_load(const struct cabled *sandbox)
{
	bool is_any = false, has_room = true;

	memset(&file, 0, sizeof(file));
	if (!is_sound(pread(sandbox->cuts, &file, sizeof(file), 0))) {
		log_line(
			"the hosts that were taken away from sandbox %s cannot be read, so all are",
			sandbox->sandbox);
		return grants_cut(&sandbox->party, "") ? 1 : -ENOSPC;
	}
	/* All hosts go first, since that ends what was said of single ones. */
	for (uint32_t kind = CUT_TAKEN; kind < CUT_KIND_COUNT; kind++) {
		for (uint32_t i = 0; i < CUTS_MAX && has_room; i++) {
			if (file.rows[i].kind != kind)
				continue;
			is_any = true;
			has_room = kind == CUT_TAKEN
					   ? grants_cut(&sandbox->party, file.rows[i].host)
					   : grants_give_back(&sandbox->party, file.rows[i].host,
							      file.rows[i].port);
		}
	}
	return has_room ? is_any : -ENOSPC;
}

int cuts_save(const struct cabled *sandbox)
{
	const struct grant *grant = NULL;
	uint32_t count = 0;
	ssize_t size;

	memset(&file, 0, sizeof(file));
	file.magic = MAGIC;
	while ((grant = grants_next(&sandbox->party, grant))) {
		if (!grant->is_cut && !grant->is_back)
			continue;
		if (count == CUTS_MAX)
			return -E2BIG;
		file.rows[count].kind = grant->is_cut ? CUT_TAKEN : CUT_BACK;
		file.rows[count].port = grant->port;
		memcpy(file.rows[count++].host, grant->host, IPC_HOST_MAX);
	}
	size = pwrite(sandbox->cuts, &file, sizeof(file), 0);
	if (size < 0)
		return errno == ENOSPC ? -EIO : -errno; /* there is room for the grant */
	return size != sizeof(file) ? -EIO : fdatasync(sandbox->cuts) != 0 ? -errno : 0;
}
