/* SPDX-License-Identifier: Apache-2.0 */
#include "held/held.h"

int held_start(const struct execute *what, struct background_start *ret)
{
	return background_start(what, ret);
}
