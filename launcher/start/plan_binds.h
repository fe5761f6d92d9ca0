/* SPDX-License-Identifier: Apache-2.0
 *
 * The binds of --ro as records of the plan, and the paths of directories of this start, which no
 * compiled plan can know: what a sandbox shows is said in one place.
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

/* Begin to derive profiles for at most `more` sets of binds, in a copy of the configuration's plan.
 * False: there is no room for one. */
bool plan_derive_begin(struct config *config, uint32_t more);

/* Derive "NAME+SUFFIX", and "NAME/none+SUFFIX" where the profile has hosts, which show the binds,
 * too. 0, or the exit code with a line in `text`: the copy is as before. */
int plan_derive(struct config *config, const char *name, const char *suffix,
		const struct binds *binds, char text[CONFIG_TEXT_MAX]);

/* Put the copy in the place of the configuration's plan. 0, or the exit code with a line. */
int plan_derive_end(struct config *config, char text[CONFIG_TEXT_MAX]);

/* Put a plan in its place with this path as the source of all records with `flag`. 0, or -1 with a
 * line in `text`. */
int plan_source_put(struct config *config, uint32_t flag, const char *path,
		    char text[CONFIG_TEXT_MAX]);

/* Add the pins of the binds, which are these records' of the plan, behind those of pins_open();
 * they take the descriptors. 0, or -1 with a line in `text`. */
int plan_binds_pin(const struct plan *plan, const struct binds *binds, struct pins *pins,
		   char text[CONFIG_TEXT_MAX]);

#endif
