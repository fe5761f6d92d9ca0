/* SPDX-License-Identifier: Apache-2.0
 *
 * The first bytes of a connection. Properties: a verdict is final when more bytes come, but for
 * PART and for bytes behind the hello; a name is in the one spelling; the scan knows when there is
 * a verdict.
 */
#include <stdlib.h>
#include <string.h>

#include "egress/hello.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum hello_verdict read_exactly(const uint8_t *data, size_t size,
				       char name[HOST_NAME_MAX_SIZE])
{
	uint8_t *bytes = property_copy(data, size);
	enum hello_verdict verdict;

	name[0] = '\0';
	verdict = hello_read(bytes, size, name);
	free(bytes);
	must(verdict < HELLO_VERDICT_COUNT);
	return verdict;
}

/* The scan in two steps is complete exactly if there is a verdict. */
static void must_scan_alike(const uint8_t *data, size_t half, size_t size,
			    enum hello_verdict verdict)
{
	struct hello_scan scan = { .at = 0 };

	(void)hello_scan(&scan, data, half);
	must(hello_scan(&scan, data, size) == (verdict != HELLO_PART));
	must(scan.at <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char whole[HOST_NAME_MAX_SIZE], part[HOST_NAME_MAX_SIZE], again[HOST_NAME_MAX_SIZE];
	const enum hello_verdict verdict = read_exactly(data, size, whole);
	const size_t half = size > 0 ? data[size - 1] % size : 0;
	const enum hello_verdict first = read_exactly(data, half, part);

	must_scan_alike(data, half, size, verdict);
	if (verdict == HELLO_NAMED)
		must(host_name_read(whole, strlen(whole), again) == HOST_SOUND &&
		     strcmp(again, whole) == 0);
	if (verdict == HELLO_PART)
		must(first == HELLO_PART);
	if (first == HELLO_NAMED && verdict == HELLO_NAMED)
		must(strcmp(part, whole) == 0);
	if (first == HELLO_OTHER || first == HELLO_LONG)
		must(verdict == first);
	return 0;
}
