/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/http/secrets.h"

#include <ctype.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/ipc/ipc_http.h"

#define SHIFTS 3U
#define NEEDLES_EACH SECRETS_NEEDLES_EACH
#define VALUES_EACH SECRETS_VALUES_EACH
#define BASIC "Basic "

/* The characters of a value that a form writes by their number. */
enum coded {
	CODED_ONLY = 0, /* the characters of `set` */
	CODED_BUT,      /* all but letters, digits and those of `set` */
	CODED_ALL,
};

/* The forms in which programs write a text into hexadecimal, an address or a text of JSON. */
static const struct form {
	enum coded coded;
	const char *set, *prefix, *digits;
	const char *slashed; /* characters with a backslash before them */
	bool is_plus;        /* a space becomes a plus sign */
} forms[] = {
	{ CODED_ALL, "", "", "0123456789abcdef", "", false },
	{ CODED_ALL, "", "", "0123456789ABCDEF", "", false },
	{ CODED_BUT, "-._~", "%", "0123456789ABCDEF", "", false },      /* RFC 3986 */
	{ CODED_BUT, "-._~", "%", "0123456789abcdef", "", false },      /* RFC 3986, lower case */
	{ CODED_BUT, "-._~", "%", "0123456789ABCDEF", "", true },       /* a form: Python, Go */
	{ CODED_BUT, "-._*", "%", "0123456789ABCDEF", "", true },       /* a form: browsers, Java */
	{ CODED_BUT, "-._~/", "%", "0123456789ABCDEF", "", false },     /* a path: Python */
	{ CODED_BUT, "-._~!*'()", "%", "0123456789ABCDEF", "", false }, /* JavaScript */
	{ CODED_ONLY, "", "", "", "\"\\", false },                      /* JSON */
	{ CODED_ONLY, "", "", "", "\"\\/", false },                     /* PHP */
	{ CODED_ONLY, "<>&", "\\u00", "0123456789abcdef", "\"\\", false },    /* Go */
	{ CODED_ONLY, "<>&='", "\\u00", "0123456789abcdef", "\"\\", false },  /* Gson */
	{ CODED_ONLY, "<>&'\"+`", "\\u00", "0123456789ABCDEF", "\\", false }, /* .NET */
	{ CODED_ONLY, "<>&'\"", "\\u00", "0123456789ABCDEF", "\\/", false },  /* PHP for HTML */
};
#define FORM_COUNT (sizeof(forms) / sizeof(forms[0]))

_Static_assert(SECRETS_NEEDLE_MAX == SECRETS_GROWTH * HTTP_SECRET_MAX, "a value of 4096 bytes");
_Static_assert(NEEDLES_EACH == 1 + 2 * SHIFTS + FORM_COUNT, "the value, two alphabets, forms");

struct value {
	char *bytes; /* mapped, so that they can be kept out of dumps; NULL: there is none */
	size_t size, room;
	uint32_t needle_count;
	struct needle needles[NEEDLES_EACH]; /* the first is the value */
};

static const struct plan_secret *records;
static uint32_t count;
static struct {
	bool is_given;
	struct value values[VALUES_EACH];
} secrets[PLAN_SECRETS_MAX];
static struct needles all;

static bool is_ended(const char *text, size_t room)
{
	return text[0] != '\0' && memchr(text, '\0', room) != NULL;
}

static void collect_needles(void)
{
	all.count = 0;
	all.longest = 0;
	all.shortest = SIZE_MAX;
	all.version++;
	for (uint32_t i = 0; i < count * VALUES_EACH; i++) {
		const struct value *value = &secrets[i / VALUES_EACH].values[i % VALUES_EACH];
		const char *placeholder = records[i / VALUES_EACH].placeholder;

		if (value->bytes == NULL)
			continue;
		all.longest = value->size > all.longest ? value->size : all.longest;
		all.shortest = value->size < all.shortest ? value->size : all.shortest;
		for (uint32_t j = 0; j < value->needle_count; j++) {
			all.rows[all.count] = value->needles[j];
			all.rows[all.count++].placeholder =
				(struct slice){ placeholder, strlen(placeholder) };
		}
	}
}

int secrets_begin(const struct plan *plan, const struct plan_profile *profile)
{
	if (profile->secret_count > PLAN_SECRETS_MAX)
		return -EBADMSG;
	records = plan_secrets(plan, profile);
	count = profile->secret_count;
	memset(secrets, 0, sizeof(secrets));
	collect_needles();
	/* plan_open() does not look into the texts. */
	for (uint32_t i = 0; i < count; i++) {
		if (!is_ended(records[i].name, sizeof(records[i].name)) ||
		    !is_ended(records[i].header, sizeof(records[i].header)) ||
		    !is_ended(records[i].placeholder, sizeof(records[i].placeholder)))
			return -EBADMSG;
	}
	return 0;
}

const struct plan_secret *secrets_record(int index)
{
	return &records[index];
}

/* Write the base64 that any text has which has the value `shift` bytes after a multiple of three:
 * without the characters that other bytes have a part in, which *ret_edges names. */
static size_t make_base64(const struct value *value, size_t shift, char *ret, uint32_t *ret_edges)
{
	unsigned char plain[SHIFTS + HTTP_SECRET_MAX] = { 0 };
	unsigned char coded[(sizeof(plain) + 2) / 3 * 4 + 1];
	const size_t bits = 8 * (shift + value->size), first = (8 * shift + 5) / 6;

	memcpy(plain + shift, value->bytes, value->size);
	(void)EVP_EncodeBlock(coded, plain,
			      (int)(shift + value->size)); /* its result is its size */
	memcpy(ret, coded + first, bits / 6 - first);
	OPENSSL_cleanse(plain, sizeof(plain));
	OPENSSL_cleanse(coded, sizeof(coded));
	*ret_edges =
		(shift > 0 ? NEEDLE_SHARES_BEFORE : 0U) | (bits % 6 > 0 ? NEEDLE_SHARES_AFTER : 0U);
	return bits / 6 - first;
}

/* Write a needle in the other alphabet (RFC 4648 5). */
static size_t make_twin(struct slice needle, char *ret)
{
	for (size_t i = 0; i < needle.size; i++) {
		const char byte = needle.bytes[i];

		ret[i] = byte == '+' ? '-' : byte == '/' ? '_' : byte;
	}
	return needle.size;
}

static bool is_coded(const struct form *form, char byte)
{
	const bool is_of_set = strchr(form->set, byte) != NULL;

	return form->coded == CODED_ONLY
		       ? is_of_set
		       : form->coded == CODED_ALL || !(is_of_set || isalnum((unsigned char)byte));
}

static size_t make_form(const struct value *value, const struct form *form, char *ret)
{
	size_t used = 0;

	for (size_t i = 0; i < value->size; i++) {
		const unsigned char byte = (unsigned char)value->bytes[i];

		if (form->is_plus && byte == ' ') {
			ret[used++] = '+';
		} else if (is_coded(form, (char)byte)) {
			memcpy(ret + used, form->prefix, strlen(form->prefix));
			used += strlen(form->prefix);
			ret[used++] = form->digits[byte / 16];
			ret[used++] = form->digits[byte % 16];
		} else {
			if (strchr(form->slashed, byte) != NULL)
				ret[used++] = '\\';
			ret[used++] = (char)byte;
		}
	}
	return used;
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

/* Take a needle that was written behind the others, unless it is one of them. */
static void add_needle(struct value *value, char **at, size_t size, uint32_t edges)
{
	for (uint32_t i = 0; i < value->needle_count; i++) {
		const struct slice other = value->needles[i].text;

		if (other.size == size && memcmp(other.bytes, *at, size) == 0)
			return;
	}
	value->needles[value->needle_count++] =
		(struct needle){ .text = { *at, size }, .edges = edges };
	*at += size;
}

/* Forget a value. */
static void drop_value(struct value *value)
{
	if (value->bytes != NULL) {
		OPENSSL_cleanse(value->bytes, value->room);
		(void)munmap(value->bytes, value->room); /* it was mapped */
	}
	*value = (struct value){ .bytes = NULL };
}

static int fill_value(struct value *value, const char *bytes, size_t size)
{
	const size_t room = NEEDLES_EACH * SECRETS_GROWTH * size;
	char *at = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return -errno;
	*value = (struct value){ .bytes = at, .size = size, .room = room };
	if (madvise(at, room, MADV_DONTDUMP) != 0)
		return -errno;
	(void)mlock2(at, room, MLOCK_ONFAULT); /* the limit may be lower */
	memcpy(at, bytes, size);
	add_needle(value, &at, size, 0);
	for (size_t i = 0; i < SHIFTS; i++) {
		uint32_t edges;
		const struct slice coded = { at, make_base64(value, i, at, &edges) };

		add_needle(value, &at, coded.size, edges);
		add_needle(value, &at, make_twin(coded, at), edges);
	}
	for (size_t i = 0; i < FORM_COUNT; i++)
		add_needle(value, &at, make_form(value, &forms[i], at), 0);
	return 0;
}

/* Have a secret go over to a new value. */
static int change_value(uint32_t index, const char *bytes, size_t size)
{
	struct value *values = secrets[index].values;
	int error = 0;

	if (values[0].bytes != NULL) {
		drop_value(&values[1]);
		values[1] = values[0];
		values[0] = (struct value){ .bytes = NULL };
	}
	if (size > 0)
		error = fill_value(&values[0], bytes, size);
	collect_needles();
	return error;
}

int secrets_take(uint32_t index, int fd)
{
	const struct value *value = index < count ? &secrets[index].values[0] : NULL;
	struct stat status;
	void *bytes = NULL;
	size_t size;
	int error = -EPROTO;

	if (value == NULL || fstat(fd, &status) != 0 || status.st_size < 0 ||
	    status.st_size > HTTP_SECRET_MAX)
		return -EPROTO;
	size = (size_t)status.st_size;
	if (size > 0)
		bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	if (size == 0 || is_value(bytes, size)) {
		error = 0;
		if (size != value->size || (size > 0 && memcmp(value->bytes, bytes, size) != 0))
			error = change_value(index, bytes, size);
		secrets[index].is_given = true;
	}
	if (size > 0)
		(void)munmap(bytes, size); /* it was mapped */
	return error;
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

const struct needles *secrets_needles(void)
{
	return &all;
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

static bool append_output(struct output *output, const char *bytes, size_t size)
{
	if (size > output->room - output->size)
		return false;
	memcpy(output->bytes + output->size, bytes, size);
	output->size += size;
	return true;
}

static enum secrets_result judge_secret(uint32_t secret, uint32_t host, struct slice name)
{
	if (!slice_is(name, records[secret].header))
		return SECRETS_ELSEWHERE;
	if (!is_for(secret, host))
		return SECRETS_OTHER_HOST;
	return secrets[secret].values[0].bytes != NULL ? SECRETS_FINE : SECRETS_NO_VALUE;
}

static enum secrets_result put_plain(uint32_t host, struct slice name, struct slice text,
				     struct output *output, int *ret_secret)
{
	size_t at;
	int secret;

	while ((secret = find_placeholder(text, &at)) >= 0) {
		const size_t end = at + strlen(records[secret].placeholder);
		const enum secrets_result result = judge_secret((uint32_t)secret, host, name);
		const struct value *value = &secrets[secret].values[0];

		*ret_secret = secret;
		if (result != SECRETS_FINE)
			return result;
		if (!append_output(output, text.bytes, at) ||
		    !append_output(output, value->bytes, value->size))
			return SECRETS_LONG;
		text = (struct slice){ text.bytes + end, text.size - end };
	}
	return append_output(output, text.bytes, text.size) ? SECRETS_FINE : SECRETS_LONG;
}

/* Decode base64 with its padding. 0: the text is none, or too long. */
static size_t decode_base64(struct slice text, unsigned char ret[SECRETS_FIELD_MAX])
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

		if (!append_output(output, BASIC, strlen(BASIC)) ||
		    !append_output(output, (char *)coded, (size_t)size))
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
		text.size = decode_base64(
			(struct slice){ field->value.bytes + prefix, field->value.size - prefix },
			decoded);
	if (secrets_find(text) >= 0)
		result = put_basic(host, field->name, text, &output, ret_secret);
	else
		result = put_plain(host, field->name, field->value, &output, ret_secret);
	*ret_size = output.size;
	return result;
}
