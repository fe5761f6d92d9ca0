/* SPDX-License-Identifier: Apache-2.0
 *
 * The lines that msp-vm would print.
 */
#ifndef TESTS_UNIT_VM_SAID_H
#define TESTS_UNIT_VM_SAID_H

/* The last line; empty: none was printed. */
extern char said[1024];

#endif
