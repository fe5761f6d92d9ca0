/* SPDX-License-Identifier: Apache-2.0
 *
 * A datagram to the sandbox's resolver. Properties: a host is asked for in the one spelling; an
 * answer has the question's id and bytes, and is none that we would read as a question.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/egress/dns.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = property_copy(data, size);
	uint8_t answer[DNS_ANSWER_MAX + 16];
	char again[HOST_NAME_MAX_SIZE];
	struct dns_query query = { .id = 0 };
	enum dns_verdict verdict;
	size_t used;

	verdict = dns_read(bytes, size, &query);
	must(verdict < DNS_VERDICT_COUNT);
	if (verdict == DNS_ASKS || verdict == DNS_NO_DATA)
		must(host_name_read(query.name, strlen(query.name), again) == HOST_SOUND &&
		     strcmp(again, query.name) == 0);
	if (verdict != DNS_DROPPED) {
		used = dns_answer(&query, verdict == DNS_ASKS ? DNS_OK : DNS_REFUSED, 1, answer);
		must(used <= sizeof(answer) && used >= 12 && memcmp(answer, bytes, 2) == 0);
		must(12U + query.question_size <= size &&
		     memcmp(answer + 12, bytes + 12, query.question_size) == 0);
		must(dns_read(answer, used, &query) == DNS_DROPPED);
	}
	free(bytes);
	return 0;
}
