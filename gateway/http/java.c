/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/http/parts.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "lib/heap/buffer.h"

#define MAGIC 0xfeedfeedU
#define VERSION 2U
#define TRUSTED 2U /* an entry that is a certificate */
#define COUNT_AT 8 /* the count of the entries */
#define KIND "X.509"

/* Before the file's bytes in its digest: the password in UTF-16, and the format's own words. */
static const char salt[] = "\0c\0h\0a\0n\0g\0e\0i\0tMighty Aphrodite";

static void put_number(struct buffer *file, uint64_t number, int size)
{
	char bytes[8];

	for (int i = 0; i < size; i++)
		bytes[i] = (char)(number >> 8 * (size - 1 - i));
	buffer_append(file, bytes, (size_t)size);
}

static void put_text(struct buffer *file, const char *text)
{
	put_number(file, strlen(text), 2);
	buffer_append(file, text, strlen(text));
}

static bool put_certificate(struct buffer *file, X509 *certificate, uint32_t number)
{
	unsigned char *bytes = NULL;
	const int size = i2d_X509(certificate, &bytes);
	char alias[16];

	if (size < 0)
		return false;
	(void)snprintf(alias, sizeof(alias), "ca-%u", number);
	put_number(file, TRUSTED, 4);
	put_text(file, alias);
	put_number(file, 0, 8); /* the time of the entry, which nobody reads */
	put_text(file, KIND);
	put_number(file, (uint64_t)size, 4);
	buffer_append(file, bytes, (size_t)size);
	OPENSSL_free(bytes);
	return true;
}

/* Put all certificates, and their number into the head. */
static bool put_all(struct buffer *file, BIO *text)
{
	uint32_t count = 0;
	bool is_put = true;
	X509 *certificate;

	while (is_put && (certificate = PEM_read_bio_X509(text, NULL, NULL, NULL)) != NULL) {
		is_put = put_certificate(file, certificate, count++);
		X509_free(certificate);
	}
	for (int i = 0; i < 4; i++)
		file->bytes[COUNT_AT + i] = (char)(count >> 8 * (3 - i));
	return is_put && count > 0;
}

static bool put_digest(struct buffer *file)
{
	struct buffer all = { .bytes = NULL };
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int size = 0;
	bool is_made;

	buffer_append(&all, salt, sizeof(salt) - 1);
	buffer_append(&all, file->bytes, file->size);
	is_made = EVP_Digest(all.bytes, all.size, digest, &size, EVP_sha1(), NULL) == 1;
	buffer_append(file, digest, size);
	buffer_done(&all);
	return is_made;
}

static bool read_all(int fd, struct buffer *ret)
{
	char piece[8192];
	ssize_t size;

	while ((size = read(fd, piece, sizeof(piece))) > 0)
		buffer_append(ret, piece, (size_t)size);
	return size == 0 && ret->size > 0 && ret->size < INT32_MAX;
}

bool java_write_keystore(int certificates, int keystore)
{
	struct buffer text = { .bytes = NULL }, file = { .bytes = NULL };
	BIO *read_from = NULL;
	bool is_written = read_all(certificates, &text);

	put_number(&file, MAGIC, 4);
	put_number(&file, VERSION, 4);
	put_number(&file, 0, 4);
	if (is_written)
		read_from = BIO_new_mem_buf(text.bytes, (int)text.size);
	is_written = read_from != NULL && put_all(&file, read_from) && put_digest(&file) &&
		     fd_write_all(keystore, file.bytes, file.size) == 0;
	BIO_free(read_from);
	buffer_done(&text);
	buffer_done(&file);
	return is_written;
}
