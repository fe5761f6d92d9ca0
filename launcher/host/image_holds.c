/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/image_holds.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/fd.h"
#include "common/format.h"
#include "common/log.h"
#include "image/store.h"
#include "launcher/host/state_place.h"

/* More than the profiles of one plan have; policies that are read again may have others. */
#define HOLDS_MAX 256

/* The digests that are held; the descriptors stay open until the process ends. */
static char held[HOLDS_MAX][IMAGE_DIGEST_MAX];
static uint32_t held_count;

static bool is_held(const char *digest)
{
	for (uint32_t i = 0; i < held_count; i++) {
		if (strcmp(held[i], digest) == 0)
			return true;
	}
	return false;
}

int image_holds_take(const struct plan *plan, const struct plan_profile *profile,
		     char text[PINS_TEXT_MAX])
{
	const char *digest = profile->image != 0 ? plan_string(plan, profile->image) : "";
	char path[IPC_PATH_MAX];
	int store = -1;
	int fd = -ENOENT;

	if (digest[0] == '\0' || is_held(digest))
		return 0;
	if (state_place_images(path))
		store = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store >= 0)
		fd = held_count < HOLDS_MAX ? image_hold(store, digest) : -EMFILE;
	fd_close(&store);
	if (fd >= 0)
		format_text(held[held_count++], IMAGE_DIGEST_MAX, "%s", digest);
	else
		format_text(text, PINS_TEXT_MAX,
			    "profile %s: its image sha256:%.12s cannot be used: %s. Import it "
			    "again with 'msp image import'",
			    plan_string(plan, profile->name), digest, errno_text(-fd));
	return fd >= 0 ? 0 : -1;
}

void image_holds_take_all(const struct plan *plan)
{
	char text[PINS_TEXT_MAX];

	held_count = 0;
	for (uint32_t i = 0; plan && i < plan_profile_count(plan); i++)
		(void)image_holds_take(plan, plan_profile(plan, i), text); /* a sandbox will fail */
}
