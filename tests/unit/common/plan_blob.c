/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_blob.h"

#include <linux/mount.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) ((uint32_t)offsetof(struct blob, member))

struct writer {
	struct blob *blob;
	uint32_t used;
};

/* Put a text (with the NULs inside it) into the blob; returns its offset. */
static uint32_t put(struct writer *out, const char *text, uint32_t size)
{
	const uint32_t at = out->used;

	if (at + size > BLOB_TEXT_ROOM)
		abort();
	memcpy(out->blob->text + at, text, size);
	out->used += size;
	return AT(text) + at;
}

#define PUT(out, text) put(out, text, sizeof(text))

static void make_profile(struct writer *out, struct plan_profile *profile)
{
	profile->mounts = AT(mounts);
	profile->mount_count = BLOB_MOUNTS;
	profile->rules = AT(rules);
	profile->rule_count = 1;
	profile->languages = AT(languages);
	profile->language_count = 1;
	profile->filter = AT(filter);
	profile->filter_count = 2;
	profile->name = PUT(out, "default");
	profile->network = PLAN_NETWORK_LOOPBACK;
	profile->hostname = PUT(out, "sandbox");
	profile->user = PLAN_USER_AGENT;
	profile->cwd = PUT(out, "/workspace");
	profile->description = PUT(out, "for tests");
	profile->text = PUT(out, "name: default\n");
	profile->shell = PUT(out, "/bin/sh\0-c");
	profile->shell_size = sizeof("/bin/sh\0-c");
	profile->command = PUT(out, "/bin/sh\0-l");
	profile->command_size = sizeof("/bin/sh\0-l");
	profile->environment = PUT(out, "A=1\0B=2");
	profile->environment_size = sizeof("A=1\0B=2");
}

/* One mount of each kind: record i has kind i + 1. */
static void make_mounts(struct writer *out)
{
	struct plan_mount *mounts = out->blob->mounts;
	const uint32_t text = PUT(out, "text");
	const uint32_t path = PUT(out, "/usr");

	for (uint32_t i = 0; i < BLOB_MOUNTS; i++) {
		mounts[i].kind = i + 1;
		mounts[i].phase = i % 2;
		mounts[i].target = path;
		mounts[i].source = path;
	}
	mounts[PLAN_SYMLINK - 1].source = text;
	mounts[PLAN_FILE - 1].source = text;
	for (uint32_t kind = PLAN_TMPFS; kind <= PLAN_DEVPTS; kind++) {
		mounts[kind - 1].source = text;
		mounts[kind - 1].options = PUT(out, "mode\000755");
		mounts[kind - 1].options_size = sizeof("mode\000755");
	}
	mounts[PLAN_MASK - 1].source = 0;
	mounts[PLAN_BIND - 1].attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	mounts[PLAN_OVERLAY - 1].attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	mounts[PLAN_OVERLAY - 1].phase = PLAN_PHASE_SANDBOX;
	out->blob->rules[0].path = path;
}

static void make_language(struct writer *out, struct plan_language *language)
{
	language->name = PUT(out, "python");
	language->aliases = PUT(out, "py\0python3");
	language->aliases_size = sizeof("py\0python3");
	language->program = PUT(out, "/usr/bin/python3");
	language->host_program = language->program;
	language->file = PUT(out, "/tmp/code.py");
	language->argv = PUT(out, "python3\0/tmp/code.py");
	language->argv_size = sizeof("python3\0/tmp/code.py");
}

uint32_t blob_make(struct blob *blob)
{
	struct writer out = { blob, 0 };

	memset(blob, 0, sizeof(*blob));
	blob->header = (struct plan_header){ .magic = PLAN_MAGIC,
					     .version = PLAN_VERSION,
					     .size = sizeof(*blob),
					     .profile_count = 1,
					     .profiles = AT(profile) };
	blob->header.default_profile = PUT(&out, "default");
	make_profile(&out, &blob->profile);
	make_mounts(&out);
	make_language(&out, &blob->languages[0]);
	blob->filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
	blob->filter[1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return out.used;
}
