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

uint32_t bpf_trace(const struct sock_filter *program, uint32_t count,
		   const struct seccomp_data *data, uint32_t *ret_steps)
{
	uint32_t accumulator = 0;

	*ret_steps = 0;
	for (uint64_t at = 0; at < count; at++) {
		const struct sock_filter *now = &program[at];

		(*ret_steps)++;
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

uint32_t bpf_run(const struct sock_filter *program, uint32_t count, const struct seccomp_data *data)
{
	uint32_t steps;

	return bpf_trace(program, count, data, &steps);
}

/* Jumps lead forward: from the last instruction on, the longest way from each is known. */
uint32_t bpf_longest(const struct sock_filter *program, uint32_t count)
{
	static uint32_t longest[BPF_MAXINSNS];

	for (uint32_t i = count; i > 0; i--) {
		const struct sock_filter *now = &program[i - 1];
		const bool is_jump = BPF_CLASS(now->code) == BPF_JMP;
		const bool is_plain = now->code == (BPF_JMP | BPF_JA);
		const uint32_t a = i + (is_plain ? now->k : is_jump ? now->jt : 0);
		const uint32_t b = i + (is_plain ? now->k : is_jump ? now->jf : 0);

		longest[i - 1] = 1;
		if (BPF_CLASS(now->code) != BPF_RET)
			longest[i - 1] += longest[a] > longest[b] ? longest[a] : longest[b];
	}
	return longest[0];
}
