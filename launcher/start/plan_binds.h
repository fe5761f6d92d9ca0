/* SPDX-License-Identifier: Apache-2.0
 *
 * The binds of --ro for one command as records of the plan, which no compiled plan can know: what a
 * sandbox shows is said in one place. msp-policy knows those that sandboxes keep
 * (policy/read/kept.c).
 */
#ifndef LAUNCHER_START_PLAN_BINDS_H
#define LAUNCHER_START_PLAN_BINDS_H

#include "launcher/host/bind.h"
#include "launcher/host/pins.h"
#include "launcher/start/config.h"

/*
 * Put a plan in place of the configuration's in which the profile `name` ("" or NULL: the default
 * one) also shows the binds, read-only: before anybody is told of the plan. A place inside of a
 * read-only bind of the profile that the host lacks gets a layer over its directory. A profile that
 * there is not is for the supervisor to refuse. 0, or the exit code with a line in `text`.
 */
int plan_binds_put(struct config *config, const char *name, const struct binds *binds,
		   char text[CONFIG_TEXT_MAX]);

/* Add the pins of the binds, which are these records' of the plan, behind those of pins_open();
 * they take the descriptors. 0, or -1 with a line in `text`. */
int plan_binds_pin(const struct plan *plan, const struct binds *binds, struct pins *pins,
		   char text[CONFIG_TEXT_MAX]);

#endif
