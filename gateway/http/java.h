/* SPDX-License-Identifier: Apache-2.0
 *
 * Certificates in the form that programs of Java read (JKS), which know no other list.
 */
#ifndef GATEWAY_HTTP_JAVA_H
#define GATEWAY_HTTP_JAVA_H

#include <stdbool.h>

/* Write the certificates of a file in PEM to another file, with Java's usual password, "changeit":
 * it is no secret. False: they cannot be read or written. */
bool java_write_keystore(int certificates, int keystore);

#endif
