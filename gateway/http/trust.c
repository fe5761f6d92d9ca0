/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/http/trust.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "gateway/hosts/name.h"

#define DAY_S 86400L
#define BEFORE_S (-DAY_S) /* a clock of a workload may be late */
#define AUTHORITY_DAYS 3650
#define LEAF_DAYS 365
#define LEAVES_MAX 64U
#define SERIAL_BYTES 16
#define PEM_BYTES_MAX (16 << 20)
#define VERSION_3 2L

static X509 *authority;
static EVP_PKEY *authority_key, *leaf_key; /* one key for all leaves of this process */
static SSL_CTX *accepting, *connecting;

/* The leaves that were made, the oldest overwritten first. */
static struct {
	char name[HOST_NAME_MAX_SIZE];
	X509 *certificate;
} leaves[LEAVES_MAX];
static uint32_t next_leaf;

/* --- certificates ----------------------------------------------------------------------------- */

static bool add_extension(X509 *certificate, X509 *issuer, int kind, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;
	bool is_added;

	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
	is_added = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
	X509_EXTENSION_free(extension);
	return is_added;
}

static bool set_serial(X509 *certificate)
{
	unsigned char bytes[SERIAL_BYTES];
	BIGNUM *number;
	bool is_set;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return false;
	bytes[0] = (unsigned char)((bytes[0] & 0x7f) | 0x40); /* positive, and of one length */
	number = BN_bin2bn(bytes, sizeof(bytes), NULL);
	is_set = number != NULL &&
		 BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != NULL;
	BN_free(number);
	return is_set;
}

/* Set the subject. A name of a host may be longer than a common name can be. */
static bool set_subject(X509 *certificate, const char *name)
{
	const size_t size = strlen(name);
	const char *subject = size <= 64 ? name : "msp";

	return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
					  (const unsigned char *)subject, -1, -1, 0) == 1;
}

/* Make a certificate without its extensions. */
static X509 *begin_certificate(const char *name, EVP_PKEY *key, X509 *issuer, long days)
{
	X509 *certificate = X509_new();
	const X509 *signer = issuer ? issuer : certificate;

	if (certificate == NULL || X509_set_version(certificate, VERSION_3) != 1 ||
	    !set_serial(certificate) || !set_subject(certificate, name) ||
	    X509_set_issuer_name(certificate, X509_get_subject_name(signer)) != 1 ||
	    X509_set_pubkey(certificate, key) != 1 ||
	    X509_gmtime_adj(X509_getm_notBefore(certificate), BEFORE_S) == NULL ||
	    X509_gmtime_adj(X509_getm_notAfter(certificate), days * DAY_S) == NULL) {
		X509_free(certificate);
		return NULL;
	}
	return certificate;
}

/* Sign a certificate that has all extensions, or free it. */
static X509 *sign_certificate(X509 *certificate, bool is_complete, EVP_PKEY *key)
{
	if (is_complete && X509_sign(certificate, key, EVP_sha256()) > 0)
		return certificate;
	X509_free(certificate);
	return NULL;
}

static X509 *make_authority(EVP_PKEY *key)
{
	X509 *made = begin_certificate("msp: hosts of sandboxes", key, NULL, AUTHORITY_DAYS);

	if (made == NULL)
		return NULL;
	return sign_certificate(
		made,
		add_extension(made, made, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
			add_extension(made, made, NID_key_usage, "critical,keyCertSign,cRLSign") &&
			add_extension(made, made, NID_subject_key_identifier, "hash") &&
			add_extension(made, made, NID_authority_key_identifier, "keyid:always"),
		key);
}

static X509 *make_leaf(const char *name)
{
	char alternative[HOST_NAME_MAX_SIZE + 8] = "DNS:";
	X509 *made = begin_certificate(name, leaf_key, authority, LEAF_DAYS);

	if (made == NULL)
		return NULL;
	memcpy(alternative + 4, name, strlen(name) + 1);
	return sign_certificate(
		made,
		add_extension(made, authority, NID_basic_constraints, "critical,CA:FALSE") &&
			add_extension(made, authority, NID_key_usage,
				      "critical,digitalSignature") &&
			add_extension(made, authority, NID_ext_key_usage, "serverAuth") &&
			add_extension(made, authority, NID_subject_alt_name, alternative) &&
			add_extension(made, authority, NID_subject_key_identifier, "hash") &&
			add_extension(made, authority, NID_authority_key_identifier,
				      "keyid:always"),
		authority_key);
}

/* A leaf of a service that runs for months is made anew. */
static bool is_fresh(const X509 *certificate)
{
	time_t soon = time(NULL) + 30 * DAY_S;

	return X509_cmp_time(X509_get0_notAfter(certificate), &soon) > 0;
}

static X509 *find_leaf(const char *name)
{
	uint32_t at = 0;

	while (at < LEAVES_MAX &&
	       (leaves[at].certificate == NULL || strcmp(leaves[at].name, name) != 0))
		at++;
	if (at < LEAVES_MAX && is_fresh(leaves[at].certificate))
		return leaves[at].certificate;
	if (at == LEAVES_MAX)
		at = next_leaf++ % LEAVES_MAX;
	X509_free(leaves[at].certificate);
	leaves[at].certificate = make_leaf(name);
	memcpy(leaves[at].name, name, strlen(name) + 1);
	return leaves[at].certificate;
}

/* --- memory files ----------------------------------------------------------------------------- */

/* Map a file. NULL: it is empty, too long, or cannot be mapped. */
static void *map_file(int fd, size_t *ret_size)
{
	struct stat status;
	void *bytes;

	if (fstat(fd, &status) != 0 || status.st_size <= 0 || status.st_size > PEM_BYTES_MAX)
		return NULL;
	*ret_size = (size_t)status.st_size;
	bytes = mmap(NULL, *ret_size, PROT_READ, MAP_PRIVATE, fd, 0);
	return bytes != MAP_FAILED ? bytes : NULL;
}

static bool read_authority(int fd)
{
	size_t size = 0;
	void *bytes = map_file(fd, &size);
	BIO *text = bytes != NULL ? BIO_new_mem_buf(bytes, (int)size) : NULL;

	if (text != NULL) {
		authority_key = PEM_read_bio_PrivateKey(text, NULL, NULL, NULL);
		authority = PEM_read_bio_X509(text, NULL, NULL, NULL);
	}
	BIO_free(text);
	if (bytes != NULL)
		(void)munmap(bytes, size); /* it was mapped */
	return authority_key != NULL && authority != NULL &&
	       X509_check_private_key(authority, authority_key) == 1;
}

/* Add all certificates of a bundle to a store. An empty bundle trusts nobody. */
static void read_roots(int fd, X509_STORE *store)
{
	size_t size = 0;
	void *bytes = map_file(fd, &size);
	BIO *text = bytes != NULL ? BIO_new_mem_buf(bytes, (int)size) : NULL;
	X509 *root = NULL;

	while (text != NULL && (root = PEM_read_bio_X509(text, NULL, NULL, NULL)) != NULL) {
		(void)X509_STORE_add_cert(store, root); /* without it, its hosts are refused */
		X509_free(root);
	}
	ERR_clear_error();
	BIO_free(text);
	if (bytes != NULL)
		(void)munmap(bytes, size); /* it was mapped */
}

static bool write_pem(int fd, EVP_PKEY *key, X509 *certificate)
{
	BIO *text = BIO_new(BIO_s_mem());
	char *bytes;
	bool is_written = text != NULL;

	if (is_written && key != NULL)
		is_written = PEM_write_bio_PrivateKey(text, key, NULL, NULL, 0, NULL, NULL) == 1;
	if (is_written && PEM_write_bio_X509(text, certificate) == 1) {
		const long size = BIO_get_mem_data(text, &bytes);

		is_written = write(fd, bytes, (size_t)size) == size;
	} else {
		is_written = false;
	}
	BIO_free(text);
	return is_written;
}

bool trust_make_authority(int own, int certificate)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *made = key != NULL ? make_authority(key) : NULL;
	const bool is_written =
		made != NULL && write_pem(own, key, made) && write_pem(certificate, NULL, made);

	X509_free(made);
	EVP_PKEY_free(key);
	return is_written;
}

/* --- TLS -------------------------------------------------------------------------------------- */

static int name_index;     /* the name's in an SSL */
static int greeting_index; /* the place of enum trust_greeting */

static enum trust_greeting judge_name(const SSL *ssl, const char *wanted)
{
	const char *said = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

	if (said == NULL)
		return TRUST_NAMELESS;
	return strcasecmp(said, wanted) == 0 ? TRUST_NAMED : TRUST_OTHER_NAME;
}

static int take_name(SSL *ssl, int *ret_alert, void *unused)
{
	static enum trust_greeting values[] = { TRUST_SILENT, TRUST_NAMED, TRUST_NAMELESS,
						TRUST_OTHER_NAME };
	const enum trust_greeting judged = judge_name(ssl, SSL_get_ex_data(ssl, name_index));

	*ret_alert = SSL_AD_UNRECOGNIZED_NAME;
	if (SSL_set_ex_data(ssl, greeting_index, &values[judged]) != 1)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	return judged == TRUST_NAMED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

enum trust_greeting trust_greeting(const SSL *ssl)
{
	const enum trust_greeting *value = SSL_get_ex_data(ssl, greeting_index);

	return value != NULL ? *value : TRUST_SILENT;
}

static const unsigned char protocols[] = "\x08http/1.1";
#define PROTOCOLS_SIZE (sizeof(protocols) - 1)

/* A workload that speaks HTTP/2 only is told so in its handshake. */
static int choose_protocol(SSL *ssl, const unsigned char **ret, unsigned char *ret_size,
			   const unsigned char *offered, unsigned int size, void *unused)
{
	unsigned char *chosen;

	if (SSL_select_next_proto(&chosen, ret_size, protocols, PROTOCOLS_SIZE, offered, size) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*ret = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX *make_context(const SSL_METHOD *method)
{
	SSL_CTX *context = SSL_CTX_new(method);

	if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
		SSL_CTX_free(context);
		return NULL;
	}
	(void)SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
						   SSL_OP_NO_COMPRESSION);
	(void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	(void)SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
						SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
						SSL_MODE_RELEASE_BUFFERS);
	return context;
}

void trust_start(void)
{
	unsigned char bytes[1];

	tzset(); /* gmtime(3) would open a file later */
	(void)OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL); /* trust_begin() fails then */
	(void)RAND_bytes(bytes, sizeof(bytes)); /* the generators begin now; likewise */
}

static bool begin_accepting(void)
{
	accepting = make_context(TLS_server_method());
	if (accepting == NULL || SSL_CTX_set_num_tickets(accepting, 0) != 1)
		return false;
	SSL_CTX_set_alpn_select_cb(accepting, choose_protocol, NULL);
	(void)SSL_CTX_set_tlsext_servername_callback(accepting, take_name);
	return true;
}

static bool begin_connecting(int roots)
{
	connecting = make_context(TLS_client_method());
	if (connecting == NULL ||
	    SSL_CTX_set_alpn_protos(connecting, protocols, PROTOCOLS_SIZE) != 0)
		return false;
	SSL_CTX_set_verify(connecting, SSL_VERIFY_PEER, NULL);
	read_roots(roots, SSL_CTX_get_cert_store(connecting));
	return true;
}

bool trust_begin(int own, int roots)
{
	name_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
	greeting_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
	leaf_key = EVP_EC_gen("P-256");
	return name_index >= 0 && greeting_index >= 0 && leaf_key != NULL && read_authority(own) &&
	       begin_accepting() && begin_connecting(roots);
}

static SSL *begin_ssl(SSL_CTX *context, int fd)
{
	SSL *ssl = SSL_new(context);

	if (ssl == NULL || SSL_set_fd(ssl, fd) != 1) {
		SSL_free(ssl);
		return NULL;
	}
	return ssl;
}

SSL *trust_accept(int fd, char *name)
{
	SSL *ssl = begin_ssl(accepting, fd);
	X509 *leaf = ssl != NULL ? find_leaf(name) : NULL;

	if (leaf == NULL || SSL_set_ex_data(ssl, name_index, name) != 1 ||
	    SSL_use_certificate(ssl, leaf) != 1 || SSL_use_PrivateKey(ssl, leaf_key) != 1) {
		SSL_free(ssl);
		return NULL;
	}
	SSL_set_accept_state(ssl);
	return ssl;
}

SSL *trust_connect(int fd, char *name)
{
	SSL *ssl = begin_ssl(connecting, fd);

	if (ssl == NULL || SSL_set_tlsext_host_name(ssl, name) != 1 ||
	    SSL_set1_host(ssl, name) != 1) {
		SSL_free(ssl);
		return NULL;
	}
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	SSL_set_connect_state(ssl);
	return ssl;
}
