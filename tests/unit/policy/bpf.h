/* SPDX-License-Identifier: Apache-2.0
 *
 * An interpreter for seccomp programs, written from seccomp(2) and the kernel's filter.txt, and
 * stricter than the kernel: what the kernel would refuse to install is an error here.
 */
#ifndef TESTS_UNIT_POLICY_BPF_H
#define TESTS_UNIT_POLICY_BPF_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>

/* No action has this value. */
#define BPF_FAULT 0x00abcdefU

/* What the program returns for `data`, or BPF_FAULT when it leaves its bounds, uses an instruction
 * that filters may not, or does not end. */
uint32_t bpf_run(const struct sock_filter *program, uint32_t count,
		 const struct seccomp_data *data);

/* The same, and how many instructions it took. */
uint32_t bpf_trace(const struct sock_filter *program, uint32_t count,
		   const struct seccomp_data *data, uint32_t *ret_steps);

/* Instructions on the longest way through a program that bpf_run() accepts; `count` is less than
 * BPF_MAXINSNS. */
uint32_t bpf_longest(const struct sock_filter *program, uint32_t count);

#endif
