/* SPDX-License-Identifier: Apache-2.0
 *
 * A service that a user has enabled, and that does not listen all the same.
 */
#ifndef CLI_ASK_ENABLED_H
#define CLI_ASK_ENABLED_H

#include <stdbool.h>

/* The remedy, for a socket that systemd has given up, too. */
#define SERVICE_LISTEN_AGAIN                                                                       \
	"'systemctl --user reset-failed msp.socket msp.service' and 'systemctl --user restart "    \
	"msp.socket'"

/* Return whether the user's systemd runs and has msp.socket enabled. */
bool service_is_enabled(void);

#endif
