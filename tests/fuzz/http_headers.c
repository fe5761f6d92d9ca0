/* SPDX-License-Identifier: Apache-2.0
 *
 * What HTTP clients say before they are known, and the token file: a header's value up to the first
 * newline of the input, then the file; and the input as the head of a request, or a chunk's size.
 * Properties: what is let in is what a second, plain reading lets in; a value that was encoded
 * decodes to itself; a row admits who holds its token and nobody else; a head that is taken has one
 * length at most, and no byte that ends a line for some readers only.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/head.h"
#include "http/headers.h"
#include "http/tokens.h"
#include "property.h"

#define NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
#define HEX_BYTES "0123456789abcdef"

/* A token, and the SHA-256 of its text. */
static const char token[] = "msp_fuzz";
static const char token_hash[] = "aff2729afbe01b8864d1106e78fc751993be27114ba48fe1fbb1398d8366fbc2";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* tokens.c is compiled with these: a file without a name is one with one, and what it has to say is
 * said in vain. */
int fuzz_fstat(int fd, struct stat *ret);
void fuzz_log_line(const char *format, ...);

int fuzz_fstat(int fd, struct stat *ret)
{
	const int result = fstat(fd, ret);

	ret->st_nlink = 1;
	return result;
}

void fuzz_log_line(const char *format, ...)
{
	(void)format;
}

static bool is_local_name(const char *host)
{
	unsigned char address[4];

	return strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
	       (inet_pton(AF_INET, host, address) == 1 && address[0] == 127);
}

static bool is_local(const char *value)
{
	const char *colon = strrchr(value, ':');
	const bool has_port = colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")];
	char *host = strdup(value);
	bool is_found;

	must(host != NULL);
	is_found = is_local_name(host);
	if (!is_found && has_port) {
		host[colon - value] = '\0';
		is_found = is_local_name(host);
	}
	free(host);
	return is_found;
}

static void check_host(const char *value)
{
	const char *host = strstr(value, "://");

	must(header_host_is_local(value) == is_local(value));
	if (header_origin_is_local(value))
		must(host && tolower(value[0]) == 'h' && is_local(host + 3));
}

static bool has_word(const char *value, const char *word)
{
	return strcasestr(value, word) != NULL;
}

static void check_types(const char *value)
{
	const char *bearer = header_bearer(value);

	if (header_is_json(value))
		must(has_word(value, "application/json"));
	if (header_accepts(value, "text", "event-stream"))
		must(has_word(value, "text/event-stream") || has_word(value, "text/*") ||
		     has_word(value, "*/*"));
	if (bearer)
		must(bearer > value && bearer <= value + strlen(value) && bearer[0] != ' ');
}

static void check_encoding(const char *value)
{
	const size_t size = strlen(value);
	const size_t room = sodium_base64_ENCODED_LEN(size, sodium_base64_VARIANT_ORIGINAL);
	struct buffer encoded = { 0 }, decoded = { 0 };
	char *text = malloc(room);

	must(text != NULL);
	(void)header_decode(value, &decoded); /* any answer, no crash */
	must(decoded.size <= size);
	decoded.size = 0;
	(void)sodium_bin2base64(text, room, (const unsigned char *)value, size,
				sodium_base64_VARIANT_ORIGINAL);
	buffer_append_text(&encoded, " =?base64?");
	buffer_append_text(&encoded, text);
	buffer_append_text(&encoded, "?=\t");
	buffer_append(&encoded, "", 1);
	must(header_decode(encoded.bytes, &decoded));
	must(decoded.size == size && (size == 0 || memcmp(decoded.bytes, value, size) == 0));
	buffer_done(&encoded);
	buffer_done(&decoded);
	free(text);
}

/* "NAME SHA256", a whole line. */
static bool is_row(const char *line, size_t size)
{
	const size_t name = strspn(line, NAME_BYTES);

	return name >= 1 && name <= TOKEN_NAME_MAX && size == name + 65 && line[name] == ' ' &&
	       strspn(line + name + 1, HEX_BYTES) == 64;
}

/* How many of the file's lines are rows, and whether one is the token's. */
static uint32_t count_rows(char *file, bool *ret_has_token)
{
	uint32_t count = 0;
	char *end;

	*ret_has_token = false;
	for (char *line = file; (end = strchr(line, '\n')) && count < TOKENS_MAX; line = end + 1) {
		*end = '\0';
		if (line[0] == '#' || !is_row(line, (size_t)(end - line)))
			continue;
		count++;
		*ret_has_token |= strcmp(strchr(line, ' ') + 1, token_hash) == 0;
	}
	return count;
}

static void check_tokens(char *file, size_t size)
{
	static struct tokens tokens;
	const int fd = memfd_create("tokens", MFD_CLOEXEC);
	uint32_t principal = 0;
	bool has_token;

	must(fd >= 0 && write(fd, file, size) == (ssize_t)size);
	must(tokens_open(&tokens, fd) == 0 && tokens.are_needed);
	must(tokens.count == count_rows(file, &has_token));
	must(tokens_find(&tokens, token, &principal) == has_token);
	must(tokens_admit(&tokens, principal) == has_token && !tokens_admit(&tokens, 0));
	must(!tokens_find(&tokens, "", &principal) && !tokens_find(&tokens, "msp_fuz", &principal));
	must(ftruncate(fd, 0) == 0);
	tokens_refresh(&tokens);
	must(tokens.count == 0);
	tokens_close(&tokens);
	must(close(fd) == 0);
}

/* How many lines of a head begin so? */
static unsigned int count_fields(const char *text, const char *name)
{
	unsigned int count = 0;

	for (const char *line = strchr(text, '\n'); line; line = strchr(line + 1, '\n'))
		count += strncasecmp(line + 1, name, strlen(name)) == 0;
	return count;
}

static void check_taken(const char *text, size_t size, const struct head *head)
{
	const char *length = strcasestr(text, "\ncontent-length:");
	const unsigned int lengths = count_fields(text, "content-length:");
	const unsigned int codings = count_fields(text, "transfer-encoding:");

	must(strlen(text) == size && lengths + codings <= 1);
	must(head->is_chunked == (codings == 1));
	must(head->length == 0 || (strncmp(text, "POST ", 5) == 0 && length));
	if (head->length > 0 && head->length != SIZE_MAX)
		must(strtoull(strchr(length, ':') + 1, NULL, 10) == head->length);
	for (const char *c = text; *c; c++)
		must(*c != '\n' || (c > text && c[-1] == '\r' && c[1] != ' ' && c[1] != '\t'));
	must(strstr(text, " HTTP/1.1\r\n") || strstr(text, " HTTP/1.0\r\n"));
}

static void check_head(const uint8_t *data, size_t size)
{
	const uint8_t *end = memmem(data, size, "\r\n\r\n", 4);
	const size_t whole = end ? (size_t)(end + 4 - data) : size;
	char *text = malloc(whole + 1), *copy = malloc(whole + 1);
	struct head head;

	must(text && copy);
	memcpy(text, data, whole);
	memcpy(copy, data, whole);
	copy[whole] = '\0';
	if (whole > 0)
		(void)head_check_start(text, whole, 0); /* any answer, no crash */
	if (end && !head_read(text, whole, &head))
		check_taken(copy, whole, &head);
	free(text);
	free(copy);
}

static void check_chunk(const char *line)
{
	const size_t digits = strspn(line, "0123456789abcdefABCDEF");
	const bool is_right = digits >= 1 && digits <= 8 && !line[digits];
	size_t size;

	if (!head_read_chunk_size(line, strlen(line), &size))
		must(is_right && size == strtoul(line, NULL, 16) && size <= HTTP_BODY_BYTES_MAX);
	else
		must(!is_right || strtoul(line, NULL, 16) > HTTP_BODY_BYTES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *value = malloc(size + 1);
	char *end;

	must(sodium_init() >= 0 && value != NULL);
	memcpy(value, data, size);
	value[size] = '\0';
	end = memchr(value, '\n', size);
	if (end) {
		*end = '\0';
		check_tokens(end + 1, size - (size_t)(end + 1 - value));
	}
	check_host(value);
	check_types(value);
	check_encoding(value);
	check_head(data, size);
	check_chunk(value);
	free(value);
	return 0;
}
