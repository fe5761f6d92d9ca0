/* SPDX-License-Identifier: Apache-2.0
 *
 * Names for the measured posture of a profile (common/ipc_posture.h).
 */
#ifndef FRONTEND_POSTURE_TEXT_H
#define FRONTEND_POSTURE_TEXT_H

#include <stdint.h>

/* The name of a controller, of the bits from 1 on in turn; NULL beyond the last. */
const char *posture_controller_name(uint32_t bit);

#endif
