/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf.h"

#include <stdbool.h>
#include <string.h>

static bool load(const struct seccomp_data *data, uint32_t offset, uint32_t *ret)
{
	if (offset % 4 != 0 || offset > sizeof(*data) - 4)
		return false;
	memcpy(ret, (const uint8_t *)data + offset, 4);
	return true;
}

static bool is_taken(uint16_t code, uint32_t accumulator, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return accumulator == k;
	case BPF_JGE:
		return accumulator >= k;
	case BPF_JGT:
		return accumulator > k;
	default:
		return (accumulator & k) != 0;
	}
}

uint32_t bpf_run(const struct sock_filter *program, uint32_t count, const struct seccomp_data *data)
{
	uint32_t accumulator = 0;

	for (uint64_t at = 0; at < count; at++) {
		const struct sock_filter *now = &program[at];

		switch (now->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (!load(data, now->k, &accumulator))
				return BPF_FAULT;
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			accumulator &= now->k;
			break;
		case BPF_JMP | BPF_JA:
			at += now->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JGE | BPF_K:
		case BPF_JMP | BPF_JGT | BPF_K:
		case BPF_JMP | BPF_JSET | BPF_K:
			at += is_taken(now->code, accumulator, now->k) ? now->jt : now->jf;
			break;
		case BPF_RET | BPF_K:
			return now->k;
		default:
			return BPF_FAULT;
		}
	}
	return BPF_FAULT;
}
