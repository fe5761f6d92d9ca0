/* SPDX-License-Identifier: Apache-2.0 */
#include "http/secrets.h"

#include <ctype.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/ipc_http.h"

#define SHIFTS 3U
#define NEEDLES_EACH SECRETS_NEEDLES_EACH
#define VALUES_EACH SECRETS_VALUES_EACH
#define BASIC "Basic "

_Static_assert(SECRETS_NEEDLE_MAX >= 3 * HTTP_SECRET_MAX, "a value as an address has it");
_Static_assert(NEEDLES_EACH == 1 + 2 * SHIFTS + 3, "the value, two alphabets, three escapes");

struct value {
	uint32_t size; /* 0: there is none */
	uint32_t sizes[NEEDLES_EACH];
	char needles[NEEDLES_EACH][SECRETS_NEEDLE_MAX]; /* the first is the value */
};

struct secret {
	bool is_given;
	struct value values[VALUES_EACH];
};

static const struct plan_secret *records;
static uint32_t count;
static struct secret *secrets; /* mapped, so that it can be kept out of dumps */
static struct needle needles[SECRETS_NEEDLES_MAX];
static uint32_t needle_count;

static bool is_ended(const char *text, size_t room)
{
	return text[0] != '\0' && memchr(text, '\0', room) != NULL;
}

int secrets_begin(const struct plan *plan, const struct plan_profile *profile)
{
	const size_t size = profile->secret_count * sizeof(*secrets);
	void *memory;

	records = plan_secrets(plan, profile);
	count = profile->secret_count;
	if (count == 0)
		return 0;
	/* plan_open() does not look into the texts. */
	for (uint32_t i = 0; i < count; i++) {
		if (!is_ended(records[i].name, sizeof(records[i].name)) ||
		    !is_ended(records[i].header, sizeof(records[i].header)) ||
		    !is_ended(records[i].placeholder, sizeof(records[i].placeholder)))
			return -EBADMSG;
	}
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -errno;
	if (madvise(memory, size, MADV_DONTDUMP) != 0)
		return -errno;
	(void)mlock2(memory, size, MLOCK_ONFAULT); /* the limit may be lower */
	secrets = memory;
	return 0;
}

const struct plan_secret *secrets_record(int index)
{
	return &records[index];
}

/* Write the base64 that any text has which has the value `shift` bytes after a multiple of three:
 * without the characters that other bytes have a part in. */
static uint32_t make_needle(const char *bytes, size_t size, size_t shift, char *ret)
{
	unsigned char plain[SHIFTS + HTTP_SECRET_MAX] = { 0 };
	unsigned char coded[(sizeof(plain) + 2) / 3 * 4 + 1];
	const size_t first = (8 * shift + 5) / 6, end = 8 * (shift + size) / 6;

	memcpy(plain + shift, bytes, size);
	(void)EVP_EncodeBlock(coded, plain, (int)(shift + size)); /* its result is its size */
	memcpy(ret, coded + first, end - first);
	OPENSSL_cleanse(plain, sizeof(plain));
	OPENSSL_cleanse(coded, sizeof(coded));
	return (uint32_t)(end - first);
}

/* Write the same in the other alphabet (RFC 4648 5). 0: it is the same. */
static uint32_t make_twin(const char *needle, uint32_t size, char *ret)
{
	bool is_other = false;

	for (uint32_t i = 0; i < size; i++) {
		ret[i] = needle[i] == '+' ? '-' : needle[i] == '/' ? '_' : needle[i];
		is_other |= ret[i] != needle[i];
	}
	return is_other ? size : 0;
}

/* Write the value with a backslash before some characters. 0: it has none of them. */
static uint32_t make_escaped(const char *bytes, size_t size, const char *escaped, char *ret)
{
	uint32_t used = 0;

	for (size_t i = 0; i < size; i++) {
		if (strchr(escaped, bytes[i]) != NULL)
			ret[used++] = '\\';
		ret[used++] = bytes[i];
	}
	return used > size ? used : 0;
}

/* Write the value with %XX for all but RFC 3986's unreserved characters. 0: it has no other. */
static uint32_t make_percent(const char *bytes, size_t size, char *ret)
{
	static const char digits[] = "0123456789ABCDEF";
	uint32_t used = 0;

	for (size_t i = 0; i < size; i++) {
		const unsigned char byte = (unsigned char)bytes[i];

		if (isalnum(byte) || strchr("-._~", byte) != NULL) {
			ret[used++] = bytes[i];
			continue;
		}
		ret[used++] = '%';
		ret[used++] = digits[byte / 16];
		ret[used++] = digits[byte % 16];
	}
	return used > size ? used : 0;
}

static bool is_value(const char *bytes, size_t size)
{
	if (size < HTTP_SECRET_MIN || bytes[0] == ' ' || bytes[size - 1] == ' ')
		return false;
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] < ' ' || bytes[i] > '~')
			return false;
	}
	return true;
}

static void fill_value(struct value *value, const char *bytes, size_t size)
{
	memcpy(value->needles[0], bytes, size);
	value->size = value->sizes[0] = (uint32_t)size;
	for (size_t i = 0; i < SHIFTS; i++) {
		char *needle = value->needles[1 + 2 * i];

		value->sizes[1 + 2 * i] = make_needle(bytes, size, i, needle);
		value->sizes[2 + 2 * i] =
			make_twin(needle, value->sizes[1 + 2 * i], value->needles[2 + 2 * i]);
	}
	value->sizes[NEEDLES_EACH - 3] =
		make_escaped(bytes, size, "\"\\", value->needles[NEEDLES_EACH - 3]);
	value->sizes[NEEDLES_EACH - 2] =
		make_escaped(bytes, size, "\"\\/", value->needles[NEEDLES_EACH - 2]);
	value->sizes[NEEDLES_EACH - 1] =
		make_percent(bytes, size, value->needles[NEEDLES_EACH - 1]);
}

static void collect_needles(void)
{
	needle_count = 0;
	for (uint32_t i = 0; i < count * VALUES_EACH * NEEDLES_EACH; i++) {
		const uint32_t secret = i / (VALUES_EACH * NEEDLES_EACH);
		const struct value *value = &secrets[secret].values[i / NEEDLES_EACH % VALUES_EACH];
		const uint32_t which = i % NEEDLES_EACH;
		const char *placeholder = records[secret].placeholder;

		if (value->sizes[which] == 0)
			continue;
		needles[needle_count++] =
			(struct needle){ { value->needles[which], value->sizes[which] },
					 { placeholder, strlen(placeholder) } };
	}
}

int secrets_take(uint32_t index, int fd)
{
	struct secret *secret = index < count ? &secrets[index] : NULL;
	struct stat status;
	void *bytes = NULL;
	size_t size;
	bool is_sound;

	if (secret == NULL || fstat(fd, &status) != 0 || status.st_size < 0 ||
	    status.st_size > HTTP_SECRET_MAX)
		return -EPROTO;
	size = (size_t)status.st_size;
	if (size > 0)
		bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	is_sound = size == 0 || is_value(bytes, size);
	if (is_sound && (size != secret->values[0].size ||
			 (size > 0 && memcmp(secret->values[0].needles[0], bytes, size) != 0))) {
		if (secret->values[0].size > 0)
			secret->values[1] = secret->values[0];
		OPENSSL_cleanse(&secret->values[0], sizeof(secret->values[0]));
		if (size > 0)
			fill_value(&secret->values[0], bytes, size);
		collect_needles();
	}
	secret->is_given |= is_sound;
	if (size > 0)
		(void)munmap(bytes, size); /* it was mapped */
	return is_sound ? 0 : -EPROTO;
}

bool secrets_are_complete(void)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!secrets[i].is_given)
			return false;
	}
	return true;
}

static bool is_for(uint32_t secret, uint32_t host)
{
	return host < PLAN_HOSTS_MAX && (records[secret].hosts[host / 8] >> host % 8 & 1) != 0;
}

bool secrets_are_for(uint32_t host)
{
	for (uint32_t i = 0; i < count; i++) {
		if (is_for(i, host))
			return true;
	}
	return false;
}

uint32_t secrets_needles(const struct needle **ret)
{
	*ret = needles;
	return needle_count;
}

/* Find the placeholder that comes first in the text; of two, the longer one. -1: none. */
static int find_placeholder(struct slice text, size_t *ret_at)
{
	int found = -1;

	for (uint32_t i = 0; i < count; i++) {
		const char *placeholder = records[i].placeholder;
		const size_t size = strlen(placeholder);
		const char *at = memmem(text.bytes, text.size, placeholder, size);
		const size_t place = at ? (size_t)(at - text.bytes) : SIZE_MAX;

		if (at == NULL || (found >= 0 && place > *ret_at) ||
		    (found >= 0 && place == *ret_at && size < strlen(records[found].placeholder)))
			continue;
		found = (int)i;
		*ret_at = place;
	}
	return found;
}

int secrets_find(struct slice text)
{
	size_t at;

	return find_placeholder(text, &at);
}

/* A text with a limit. */
struct output {
	char *bytes;
	size_t size, room;
};

static bool append(struct output *output, const char *bytes, size_t size)
{
	if (size > output->room - output->size)
		return false;
	memcpy(output->bytes + output->size, bytes, size);
	output->size += size;
	return true;
}

static enum secrets_result judge(uint32_t secret, uint32_t host, struct slice name)
{
	if (!slice_is(name, records[secret].header))
		return SECRETS_ELSEWHERE;
	if (!is_for(secret, host))
		return SECRETS_OTHER_HOST;
	return secrets[secret].values[0].size > 0 ? SECRETS_FINE : SECRETS_NO_VALUE;
}

static enum secrets_result put_plain(uint32_t host, struct slice name, struct slice text,
				     struct output *output, int *ret_secret)
{
	size_t at;
	int secret;

	while ((secret = find_placeholder(text, &at)) >= 0) {
		const size_t end = at + strlen(records[secret].placeholder);
		const enum secrets_result result = judge((uint32_t)secret, host, name);
		const struct value *value = &secrets[secret].values[0];

		*ret_secret = secret;
		if (result != SECRETS_FINE)
			return result;
		if (!append(output, text.bytes, at) ||
		    !append(output, value->needles[0], value->size))
			return SECRETS_LONG;
		text = (struct slice){ text.bytes + end, text.size - end };
	}
	return append(output, text.bytes, text.size) ? SECRETS_FINE : SECRETS_LONG;
}

/* Decode base64 with its padding. 0: the text is none, or too long. */
static size_t decode(struct slice text, unsigned char ret[SECRETS_FIELD_MAX])
{
	size_t padding = 0;
	int size;

	if (text.size == 0 || text.size % 4 != 0 || text.size > SECRETS_FIELD_MAX)
		return 0;
	while (padding < 2 && text.bytes[text.size - 1 - padding] == '=')
		padding++;
	size = EVP_DecodeBlock(ret, (const unsigned char *)text.bytes, (int)text.size);
	return size > 0 ? (size_t)size - padding : 0;
}

static enum secrets_result put_basic(uint32_t host, struct slice name, struct slice text,
				     struct output *output, int *ret_secret)
{
	char plain[SECRETS_FIELD_MAX];
	unsigned char coded[SECRETS_FIELD_MAX / 3 * 4 + 8];
	struct output to = { .bytes = plain, .room = sizeof(plain) };
	enum secrets_result result = put_plain(host, name, text, &to, ret_secret);

	if (result == SECRETS_FINE) {
		const int size = EVP_EncodeBlock(coded, (unsigned char *)plain, (int)to.size);

		if (!append(output, BASIC, strlen(BASIC)) ||
		    !append(output, (char *)coded, (size_t)size))
			result = SECRETS_LONG;
		OPENSSL_cleanse(coded, sizeof(coded));
	}
	OPENSSL_cleanse(plain, sizeof(plain));
	return result;
}

enum secrets_result secrets_put(uint32_t host, const struct head_field *field,
				/* NOLINTNEXTLINE(readability-non-const-parameter): in output */
				char ret[SECRETS_FIELD_MAX], size_t *ret_size, int *ret_secret)
{
	const size_t prefix = strlen(BASIC);
	unsigned char decoded[SECRETS_FIELD_MAX];
	struct output output = { .bytes = ret, .room = SECRETS_FIELD_MAX };
	struct slice text = { (char *)decoded, 0 };
	enum secrets_result result;

	if (field->value.size > prefix && strncasecmp(field->value.bytes, BASIC, prefix) == 0)
		text.size = decode(
			(struct slice){ field->value.bytes + prefix, field->value.size - prefix },
			decoded);
	if (secrets_find(text) >= 0)
		result = put_basic(host, field->name, text, &output, ret_secret);
	else
		result = put_plain(host, field->name, field->value, &output, ret_secret);
	*ret_size = output.size;
	return result;
}
