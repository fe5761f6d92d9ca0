/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gateway/hosts/request.h"
#include "gateway/http/secrets.h"

/* The offsets in the plan are offsets in this struct. */
static struct {
	struct plan_header header;
	struct plan_profile profile;
	struct plan_host hosts[3];
	struct plan_request requests[3];
	struct plan_secret secrets[3];
	char text[32];
} blob = {
	.hosts = { { .pattern = "api.example", .port = 443, .line = 3, .kind = PLAN_HOST_HTTPS },
		   { .pattern = "*.open.example",
		     .port = 8443,
		     .line = 4,
		     .kind = PLAN_HOST_HTTPS },
		   { .pattern = "plain.example", .port = 80, .line = 5, .kind = PLAN_HOST_HTTP } },
	.requests = { { .path = "/repos/acme/",
			.methods = HOST_METHOD_GET | HOST_METHOD_POST,
			.line = 6 },
		      { .path = "/user", .methods = HOST_METHOD_GET, .line = 7 },
		      { .path = "", .methods = HOST_METHOD_OPTIONS, .line = 8 } },
	.secrets = { { .name = "TOKEN",
		       .placeholder = "msp-secret-TOKEN",
		       .header = "Authorization",
		       .line = 9,
		       .hosts = { 1 } },
		     { .name = "TOKEN2",
		       .placeholder = "msp-secret-TOKEN2",
		       .header = "X-Api-Key",
		       .line = 10,
		       .hosts = { 4 } },
		     { .name = "PASS",
		       .placeholder = "msp-secret-PASS",
		       .header = "Authorization",
		       .line = 11,
		       .hosts = { 4 } } },
	.text = "\0msp.yaml",
};

int rig_give(uint32_t index, const char *value, size_t size)
{
	const int fd = memfd_create("secret", MFD_CLOEXEC);
	int error;

	cr_assert(fd >= 0);
	cr_assert_eq(write(fd, value, size), (ssize_t)size);
	error = secrets_take(index, fd);
	cr_assert_eq(close(fd), 0);
	return error;
}

void rig_make(struct rig *ret)
{
	blob.profile.hosts = offsetof(__typeof__(blob), hosts);
	blob.profile.host_count = 3;
	blob.profile.requests = offsetof(__typeof__(blob), requests);
	blob.profile.request_count = 3;
	blob.profile.secrets = offsetof(__typeof__(blob), secrets);
	blob.profile.secret_count = 3;
	blob.profile.network_origin.file = offsetof(__typeof__(blob), text) + 1;
	ret->plan = (struct plan){ .bytes = (const uint8_t *)&blob, .size = sizeof(blob) };
	ret->profile = &blob.profile;
	cr_assert(target_find(&ret->plan, ret->profile, "api.example", 443, &ret->api));
	cr_assert(target_find(&ret->plan, ret->profile, "a.open.example", 8443, &ret->open));
	cr_assert(target_find(&ret->plan, ret->profile, "plain.example", 80, &ret->plain));
	cr_assert_eq(secrets_begin(&ret->plan, ret->profile), 0);
	cr_assert(!secrets_are_complete());
	cr_assert_eq(rig_give(0, RIG_TOKEN, strlen(RIG_TOKEN)), 0);
	cr_assert_eq(rig_give(1, RIG_TOKEN2, strlen(RIG_TOKEN2)), 0);
	cr_assert_eq(rig_give(2, RIG_PASS, strlen(RIG_PASS)), 0);
	cr_assert(secrets_are_complete());
}
