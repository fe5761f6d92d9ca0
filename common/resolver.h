/* SPDX-License-Identifier: Apache-2.0
 *
 * The resolver of a sandbox with hosts, which msp-egress is, and the question by which a probe
 * finds out whether the list of hosts stands between a workload and the world.
 */
#ifndef COMMON_RESOLVER_H
#define COMMON_RESOLVER_H

#define RESOLVER_ADDRESS 0xc6120001U /* 198.18.0.1, any address does */
#define RESOLVER_PORT 53U

/* Below "invalid" there is no host (RFC 6761), and no list can have one. A name server of the world
 * says so, too, but not in our name: RESOLVER_UNLISTED is the list's refusal alone. Not counted,
 * not recorded and no question for a person, as no workload asks it. */
#define RESOLVER_PROBE_NAME "msp-probe.invalid"
#define RESOLVER_PROBE "ms\1\0\0\1\0\0\0\0\0\0\011msp-probe\7invalid\0\0\1\0\1"
#define RESOLVER_PROBE_SIZE (sizeof(RESOLVER_PROBE) - 1)

/* Bits of an answer's third and fourth byte (RFC 1035): AA, "in our own name", and the code. */
#define RESOLVER_OWN 0x0400
#define RESOLVER_FAILED 2
#define RESOLVER_UNLISTED (RESOLVER_OWN | 3) /* no such name, and no other server says so */
#define RESOLVER_ANSWER(bytes) (((bytes)[2] << 8 | (bytes)[3]) & (RESOLVER_OWN | 0xf))

#endif
