/* SPDX-License-Identifier: Apache-2.0
 *
 * Images in use: this process keeps those of its plans from being removed as long as it lives. The
 * process of the launcher that stays holds them, since nothing but a lock says that a sandbox shows
 * an image's files.
 */
#ifndef LAUNCHER_HOST_IMAGE_HOLDS_H
#define LAUNCHER_HOST_IMAGE_HOLDS_H

#include "common/plan.h"
#include "launcher/host/pins.h"

/* Hold the image of a profile, if it has one. 0, or -1 with a line in `text`. */
int image_holds_take(const struct plan *plan, const struct plan_profile *profile,
		     char text[PINS_TEXT_MAX]);

/* Hold those of all profiles, as far as they are still there, in a process whose descriptors were
 * closed since image_holds_take(). */
void image_holds_take_all(const struct plan *plan);

#endif
