/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/foreign_keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define IMAGES "'image: NAME' and 'extends: image', after 'msp image import FILE NAME'"

/* The first row that fits counts; a row without a value fits all of them. */
static const struct {
	const char *key, *value, *remedy;
} rows[] = {
	{ "driver", "bwrap", "a sandbox is always msp's own; expected no such line" },
	{ "driver", "chroot", "a sandbox is always msp's own; expected no such line" },
	{ "driver", "podman", "msp runs images without podman; expected " IMAGES },
	{ "driver", "docker", "msp runs images without docker; expected " IMAGES },
	{ "driver", "lima", "a virtual machine is a profile; expected 'extends: vm'" },
	{ "driver", "qemu", "a virtual machine is a profile; expected 'extends: vm'" },
	{ "driver", NULL,
	  "a sandbox is always msp's own; expected no such line, or an 'image' or a 'runner'" },
	{ "runtime", NULL, "msp starts its sandboxes itself; expected no such line" },
	{ "container", NULL, "a container's image is a key of its own; expected " IMAGES },
	{ "dockerfile", NULL, "msp builds no images; expected one of another tool, by " IMAGES },
	{ "volumes", NULL,
	  "directories of the host are entries of 'files'; expected such as {at: /data, from: "
	  "/srv/data, kind: bind}" },
	{ "mounts", NULL,
	  "mounts are entries of 'files'; expected such as {at: /data, from: /srv/data, kind: "
	  "bind}" },
	{ "ports", NULL,
	  "no profile opens ports of the host; expected no such line, and 'msp bridge SANDBOX "
	  "PORT'" },
};

const char *foreign_key_remedy(const char *key, const char *value)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const bool is_of_value = rows[i].value == NULL ||
					 (value != NULL && strcmp(rows[i].value, value) == 0);

		if (strcmp(rows[i].key, key) == 0 && is_of_value)
			return rows[i].remedy;
	}
	return NULL;
}
