/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines for a person, on stderr.
 */
#ifndef VM_SAY_H
#define VM_SAY_H

/* Print "msp-vm: ..." as one line. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
