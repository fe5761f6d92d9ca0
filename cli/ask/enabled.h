/* SPDX-License-Identifier: Apache-2.0
 *
 * The starter of the user's service: a systemd, which may have it enabled without that it listens,
 * or the person.
 */
#ifndef CLI_ASK_ENABLED_H
#define CLI_ASK_ENABLED_H

#include <stdbool.h>

/* The remedy, for a socket that systemd has given up, too. */
#define SERVICE_LISTEN_AGAIN                                                                       \
	"'systemctl --user reset-failed msp.socket msp.service' and 'systemctl --user restart "    \
	"msp.socket'"

/* Return whether nobody listens where the service's socket is. */
bool service_is_absent(void);

/* Return whether the user's systemd runs. */
bool service_has_manager(void);

/* Return whether it does and has msp.socket enabled. */
bool service_is_enabled(void);

#endif
