/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of profile_new(), one file each. Each returns 0, or -1 with *error set.
 */
#ifndef POLICY_READ_PROFILE_PARTS_H
#define POLICY_READ_PROFILE_PARTS_H

#include "lib/heap/buffer.h"
#include "policy/read/profile.h"
#include "policy/read/reading.h"

#include <limits.h>

/* Check that every limit and requirement is given and that they are consistent. */
int limits_check(const struct reading *reading);

/* Print variable `index` of those by which runtimes choose heaps and threads within the limits.
 * False behind the last; empty: the profile or its image says it itself. */
#define LIMITS_VARIABLE_MAX 96U
bool limits_print_variable(const struct profile *profile, uint32_t index,
			   char ret[LIMITS_VARIABLE_MAX], struct origin *ret_origin);

/* Take over `lasting.hold` of the file. */
int lasting_apply(const struct reading *reading);

/* Check that `lasting` is complete if an entry of `files` has a place. */
int lasting_check(const struct reading *reading);

/* Take over `through` of the file, and check that no entry of `hosts` is the proxy. */
int through_apply(const struct reading *reading);
int through_check(const struct reading *reading);

/* Print the proxy of a profile with hosts: "proxy.example.org:3128". False: no key says it. */
#define THROUGH_TEXT_MAX (HOST_NAME_MAX_SIZE + 8U)
bool through_print(const struct profile *profile, char ret[THROUGH_TEXT_MAX]);

/* Check `runner`, and that its program is in the sandbox. */
int runner_check(const struct reading *reading);

/* Take over `hosts` of the file, and check that they fit `network` and `host_approval`. */
int network_apply(const struct reading *reading);
int network_check(const struct reading *reading);

/* Read `to` of an entry of `hosts`, and check that such entries lead where they say, and not to the
 * proxy. */
int own_port_read(const struct reading *entry, struct profile_host *ret);
int own_ports_check(const struct reading *reading);

/* Return the text of an entry of kind file: a built-in one that is about names has another text in
 * a profile with hosts, whose names the gateway resolves. */
const char *network_file_text(const struct profile *profile, const struct profile_mount *mount);

/* Print a host as a file has it: "example.org:443 tls". */
#define HOST_TEXT_MAX (HOST_PATTERN_MAX_SIZE + 96U)
void network_print_host(const struct profile *profile, uint32_t host, char ret[HOST_TEXT_MAX]);

/* Return the kind of entry `host`, which rules and secrets make https of a tls that is not said. */
uint8_t network_host_kind(const struct profile *profile, uint32_t host);

/* Return whether the bits of a rule or a secret have entry `host`. */
bool http_is_for(const uint8_t hosts[PLAN_HOSTS_MAX / 8], uint32_t host);

/* Print the placeholder of a secret. */
#define HTTP_PLACEHOLDER_MAX sizeof(((struct plan_secret *)NULL)->placeholder)
void http_print_placeholder(const struct profile_secret *secret, char ret[HTTP_PLACEHOLDER_MAX]);

/* Return whether msp-http reads the requests to hosts of this kind. */
bool network_is_read(uint8_t kind);

/* Take over `requests` and `secrets` of the file, and check that they fit the hosts. */
int http_apply(const struct reading *reading);
int secrets_read(const struct reading *reading);
int http_check(const struct reading *reading);

/* Return the key of a secret's source. */
const char *secrets_source_name(enum plan_secret_source kind);

/* Return whether the entry is a directory of trusted certificates, in the place of which the
 * sandbox sees the launcher's: msp-http ends TLS with a certificate of its own. */
bool http_is_trust(const struct profile *profile, const struct profile_mount *mount);

/* Print variable `index` of those that a profile with such hosts adds to its environment:
 * certificates and placeholders. False behind the last; empty: the profile says it itself. */
#define HTTP_VARIABLE_MAX 160U
bool http_print_variable(const struct profile *profile, uint32_t index, char ret[HTTP_VARIABLE_MAX],
			 struct origin *ret_origin);

/* Print a request rule, and a secret without its value, as lines for people. */
#define HTTP_TEXT_MAX 1024U
void http_print_request(const struct profile_request *request, char ret[HTTP_TEXT_MAX]);
void http_print_secret(const struct profile_secret *secret, char ret[HTTP_TEXT_MAX]);

/* Take over `environment` of the file. */
int environment_apply(const struct reading *reading);

/* Take over `toolchain` of the file. */
int toolchain_apply(const struct reading *reading);

/* Append a bind of a path that the launcher opens, and the right to read and execute it. NULL:
 * there is no room. */
struct profile_mount *toolchain_show(struct profile *profile, const char *source,
				     const char *target, struct origin origin);

/* Add hosts, files and rules of the user's registries whose groups `hosts` has. */
int registry_apply(const struct reading *reading);

/* Return variable `index` of those; NULL behind the last; empty: the operator says it. */
const char *registry_variable(const struct profile *profile, uint32_t index,
			      struct origin *ret_origin);

/* Return whether one of those has the name of NAME=... */
bool registry_replaces(const struct profile *profile, const char *variable);

/* Append line `index` about those to `ret`, with its origin. False behind the last. */
bool registry_print(const struct profile *profile, uint32_t index, struct buffer *ret,
		    struct origin *ret_origin);

/* Return whether msp-http ends TLS of the profile's sandboxes. */
bool http_ends_tls(const struct profile *profile);

/* Return whether the profile itself has the variable of NAME=... */
bool environment_has(const struct profile *profile, const char *variable);

/* Take each variable of a sandbox: the profile's, and those that hosts, secrets, limits and an
 * image add. */
void profile_each_variable(const struct profile *profile,
			   void (*take)(void *context, const char *variable,
					const struct origin *origin),
			   void *context);

/* Take over `seccomp` of the file. */
int seccomp_apply(const struct reading *reading);

/* Take over the entries of `files`. */
int mounts_apply(const struct reading *reading);

/* Add the implied directories, and check that each entry can be made where it is. */
int mounts_check(const struct reading *reading);

/* Return the MOUNT_ATTR_* of an entry. */
uint64_t mounts_attributes(const struct profile_mount *mount);

/* Find the entry that is or contains `path`: the longest matching target, or NULL. */
const struct profile_mount *mounts_around(const struct profile *profile, const char *path);

/* Make a bind below /usr, /opt or /var an overlay where the profile's system can be written, and
 * one that a parent made so a bind again. */
void image_settle_system(struct profile *profile, struct profile_mount *mount);

/* In place of an image's name: only profiles that extend this built-in one say it, and it is in no
 * plan itself. */
#define IMAGE_AWAITED "-"

/* The working directory if neither profile nor image says one. */
#define IMAGE_CWD "/workspace"

/* Take over `user` and `pretend`, and find the image. */
int image_apply(const struct reading *reading);
int image_check(const struct reading *reading);

/* Return whether the profile is there for others to extend, without an image of its own. */
bool image_is_awaited(const struct profile *profile);

/* Return the entry of `files` that an image is. */
struct profile_mount image_mount(const struct profile *profile);

/* Return word `index` of the command that an image brings; NULL behind the last. */
const char *image_command(const struct profile *profile, uint32_t index);

/* Return variable `index` of those that a profile has from its image; NULL behind the last; empty:
 * the profile says it itself. */
const char *image_variable(const struct profile *profile, uint32_t index);

/* Print the path on the host of a program of the sandbox; empty: it cannot be there. */
void languages_print_program(const struct profile *profile, const char *program,
			     char ret[PATH_MAX]);

/* Return whether the profile's shell is in its sandboxes, as far as an image decides that. */
bool languages_have_shell(const struct profile *profile);

/* Take over the entries of `languages`, and check all languages. */
int languages_apply(const struct reading *reading);
int languages_check(const struct reading *reading);

#endif
