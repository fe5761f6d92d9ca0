/* SPDX-License-Identifier: Apache-2.0
 *
 * The opening of a connection, by both sides in pieces. Properties: a verdict is final when more
 * bytes come, but for PART; a name is in the one spelling; bytes pass in their order, and the host
 * is told of hellos only those with the name, up to the client's keys.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/egress/opening.h"
#include "property.h"

#define NAME "a.example"

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

/* The scan in two steps has a verdict exactly if there is one. */
static void must_scan_alike(const uint8_t *data, size_t half, size_t size,
			    enum hello_verdict verdict)
{
	struct hello_scan scan = { .type = MESSAGE_CLIENT_HELLO };
	enum hello_verdict scanned = hello_scan(&scan, data, half);

	if (scanned == HELLO_PART)
		scanned = hello_scan(&scan, data, size);
	must((scanned != HELLO_PART) == (verdict != HELLO_PART));
	must(scanned == HELLO_WHOLE || scanned == verdict);
	must(scan.at <= size);
}

/* Bytes of a side: those that have come, and how many of them have passed. */
struct side {
	const uint8_t *bytes;
	size_t come, passed;
};

/* Pass what may of both sides, from copies of their own size. Return whether the client is
 * refused. */
static bool pass_both(struct opening *opening, struct side *client, struct side *host)
{
	enum opening_phase before;
	enum hello_verdict verdict = HELLO_PART;

	do {
		const size_t of_client = client->come - client->passed;
		const size_t of_host = host->come - host->passed;
		uint8_t *copy = property_copy(client->bytes + client->passed, of_client);
		size_t passed;

		before = opening->phase;
		passed = opening_pass_client(opening, copy, of_client, NAME, &verdict);
		free(copy);
		must(passed <= of_client && (before != OPENING_ANSWER || passed == 0) &&
		     (before != OPENING_MUTE || passed == 0));
		client->passed += passed;
		if (verdict != HELLO_PART)
			return true;
		if (opening->phase == OPENING_GREETING)
			return false; /* the host is not read */
		copy = property_copy(host->bytes + host->passed, of_host);
		passed = opening_pass_host(opening, copy, of_host);
		free(copy);
		must(passed <= of_host);
		host->passed += passed;
	} while (before != opening->phase);
	return false;
}

/* Data is records of both sides, in pieces: its last byte says where the host's begin, that before
 * it how large the pieces are. */
static void must_pass_hellos(const uint8_t *data, size_t size)
{
	const size_t half = size > 2 ? data[size - 1] * (size - 2) / 255 : 0;
	const size_t piece = size > 2 ? 1U + data[size - 2] % 64 : 1;
	struct side client = { .bytes = data }, host = { .bytes = data + half };
	const size_t client_size = half, host_size = size > 2 ? size - 2 - half : 0;
	char name[HOST_NAME_MAX_SIZE];
	struct opening opening;
	bool is_refused = false;

	opening_begin(&opening);
	while (!is_refused && (client.come < client_size || host.come < host_size)) {
		client.come +=
			client_size - client.come < piece ? client_size - client.come : piece;
		is_refused = pass_both(&opening, &client, &host);
		host.come += host_size - host.come < piece ? host_size - host.come : piece;
		is_refused = is_refused || pass_both(&opening, &client, &host);
	}
	must((client.passed == 0) == (opening.phase == OPENING_GREETING) || is_refused);
	if (client.passed > 0) /* what has passed begins with a hello of the name */
		must(read_exactly(data, client.passed, name) == HELLO_NAMED &&
		     strcmp(name, NAME) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char whole[HOST_NAME_MAX_SIZE], part[HOST_NAME_MAX_SIZE], again[HOST_NAME_MAX_SIZE];
	const enum hello_verdict verdict = read_exactly(data, size, whole);
	const size_t half = size > 0 ? data[size - 1] % size : 0;
	const enum hello_verdict first = read_exactly(data, half, part);

	must_scan_alike(data, half, size, verdict);
	must_pass_hellos(data, size);
	if (verdict == HELLO_NAMED)
		must(host_name_read(whole, strlen(whole), again) == HOST_SOUND &&
		     strcmp(again, whole) == 0);
	must(first == HELLO_PART || first == verdict);
	if (first == HELLO_NAMED)
		must(strcmp(part, whole) == 0);
	return 0;
}
