/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys that other tools have and msp has not, and what says the same here.
 */
#ifndef POLICY_READ_FOREIGN_KEYS_H
#define POLICY_READ_FOREIGN_KEYS_H

/* Return the remedy for a key of a profile with this value, NULL where it has keys or entries of
 * its own; NULL if the key is not known from elsewhere. */
const char *foreign_key_remedy(const char *key, const char *value);

#endif
