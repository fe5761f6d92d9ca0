/* SPDX-License-Identifier: Apache-2.0
 *
 * The one spelling of a host's name: lower-case letters, digits, hyphens and underscores in labels
 * of 1 to 63 bytes, joined by dots, at most 253 bytes, without a dot at the end. A name of another
 * script is its A-label (xn--...), which programs send. A text that a program could read as an
 * IPv4 address is no name.
 */
#ifndef GATEWAY_HOSTS_NAME_H
#define GATEWAY_HOSTS_NAME_H

#include <stddef.h>

#define HOST_NAME_MAX_SIZE 254U /* with its NUL */

/* The first fault of a text that is no name. */
enum host_fault {
	HOST_SOUND = 0,
	HOST_EMPTY,
	HOST_LONG,           /* more than 253 bytes */
	HOST_LABEL_EMPTY,    /* a dot at the beginning, or two in a row */
	HOST_LABEL_LONG,     /* more than 63 bytes between two dots */
	HOST_LABEL_HYPHEN,   /* a label begins or ends with a hyphen */
	HOST_FOREIGN,        /* a byte beyond ASCII */
	HOST_CHARACTER,      /* another byte that no name has, a NUL too */
	HOST_ENDS_IN_NUMBER, /* 127.1, 0x7f.0.0.1, 2130706433: inet_aton(3) makes addresses of it */
	HOST_WILDCARD,       /* an asterisk that is not the whole first label of a pattern */
	HOST_FAULT_COUNT
};

/* Read `size` bytes as a name. On HOST_SOUND `ret` has its one spelling; else it is unchanged. */
enum host_fault host_name_read(const char *text, size_t size, char ret[HOST_NAME_MAX_SIZE]);

/* Return what a name or pattern means that no list can have, with an article: "the sandbox itself,
 * which needs no entry"; NULL: a list can have it. */
const char *host_name_never(const char *name);

/* Return the rule that a text with the fault breaks: "a name has at most 253 bytes". */
const char *host_fault_rule(enum host_fault fault);

#endif
