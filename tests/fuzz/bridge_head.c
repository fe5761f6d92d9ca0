/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of a request through a bridge. Properties: no byte behind the given ones is read; a
 * verdict but HEAD_MORE is final when more bytes come; at an end there is a verdict; a request has
 * a size.
 */
#include <stdlib.h>

#include "gateway/bridge/head.h"
#include "property.h"

#define PORT 7000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum head_verdict judge_exactly(const uint8_t *data, size_t size, bool is_end)
{
	uint8_t *bytes = property_copy(data, size);
	enum head_verdict verdict;
	uint64_t found;

	verdict = head_judge(bytes, size, is_end, PORT, &found);
	free(bytes);
	must(verdict < HEAD_VERDICTS);
	must(verdict == HEAD_FINE ? found > 0 : found == HEAD_ENDLESS);
	return verdict;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const enum head_verdict whole = judge_exactly(data, size, false);
	const size_t cuts[] = { 0, size / 3, size / 2, size > 0 ? size - 1 : 0 };

	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		const enum head_verdict part = judge_exactly(data, cuts[i], false);

		must(part == HEAD_MORE || part == whole);
	}
	must(judge_exactly(data, size, true) != HEAD_MORE);
	must(whole == HEAD_MORE || judge_exactly(data, size, true) == whole);
	return 0;
}
