/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/kernel.h"

size_t opener_list_fds(struct opener_start *start, int *ret[OPENER_FDS_MAX])
{
	struct certificates *certificates = &start->trust.certificates;
	struct launch_gateway *gateway = &start->gateway;
	struct images *images = &start->images;
	/* clang-format off: by the struct that they are in */
	int *const own[] = {
		&start->plan,
		&start->builtin,
		&start->trust.gateway,
		&images->git,
		&images->cable,
		&images->egress,
		&images->dial,
		&images->http,
		&images->audit,
		&gateway->audit,
		&gateway->log,
		&gateway->pidfd,
		&certificates->authority,
		&certificates->roots,
		&certificates->directory,
	};
	/* clang-format on */
	size_t count = sizeof(own) / sizeof(own[0]);

	memcpy(ret, own, sizeof(own));
	for (uint32_t i = 0; i < TRUST_SERVERS_MAX; i++) {
		ret[count++] = &start->trust.servers[i].plan_fd;
		ret[count++] = &start->trust.servers[i].channel;
	}
	for (uint32_t i = 0; i < start->own.count; i++)
		ret[count++] = &start->own.list[i];
	return count;
}

/* Fill in what it starts from, with the caller's descriptors. */
static void fill_start(const struct launch *launch, struct opener_start *ret)
{
	const struct images *images = launch->images;

	memset(ret, 0, sizeof(*ret));
	memcpy(ret->schema, ipc_schema_hash, sizeof(ret->schema));
	ret->plan = launch->config->plan_fd;
	ret->builtin = launch->config->builtin;
	ret->is_roots = launch->config->is_roots;
	memcpy(ret->config, launch->config->path, sizeof(ret->config));
	ret->images = (struct images)IMAGES_NONE;
	ret->images.git = images->git;
	ret->images.cable = images->cable;
	ret->images.egress = images->egress;
	ret->images.dial = images->dial;
	ret->images.http = images->http;
	ret->images.audit = images->audit;
	ret->gateway =
		launch->gateway ? *launch->gateway : (struct launch_gateway)LAUNCH_GATEWAY_NONE;
	ret->trust = launch->trust ? *launch->trust : (struct trust)TRUST_NONE;
	if (ret->trust.certificates.authority < 0)
		trust_begin(&ret->trust);
	for (uint32_t i = 0; i < TRUST_SERVERS_MAX; i++)
		ret->trust.servers[i].plan = (struct plan){ .bytes = NULL };
	/* The supervisor's start has passed on the gateway's ends. */
	ret->trust.cable = ret->gateway.trust = -1;
	if (launch->workspaces)
		ret->own = *launch->workspaces;
}

/* The locks and sockets of the service are not its to keep, nor a client's streams, nor what tells
 * that all of them are closed: while it held one, nobody at its other end would see its end. */
int opener_place(const struct launch *launch, int channel, int image)
{
	static struct opener_start start;
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fds[FD_PLACES_MAX] = { null, null, null, channel };
	int *named[OPENER_FDS_MAX];
	size_t count = OPENER_FD_FIRST;
	size_t listed;
	int error;

	fill_start(launch, &start);
	listed = opener_list_fds(&start, named);
	for (size_t i = 0; i < listed; i++) {
		if (*named[i] < 0)
			continue;
		fds[count] = *named[i];
		*named[i] = (int)count++;
	}
	fds[OPENER_FD_START] = fd_sealed_from_bytes("msp-opener", &start, sizeof(start));
	if (null < 0 || fds[OPENER_FD_START] < 0)
		return null < 0 ? -errno : fds[OPENER_FD_START];
	fds[count] = image;
	error = fd_place(fds, NULL, count + 1, (UINT64_C(1) << count) - 1);
	return error ? error : (int)count;
}

int opener_start(const struct launch *launch, int channel)
{
	static char name[] = "msp-opener";
	char *const words[] = { name, NULL };
	const pid_t pid = fork();
	int image;

	if (pid != 0)
		return pid < 0 ? -errno : pid;
	image = opener_place(launch, channel, launch->images->opener);
	if (image >= 0)
		(void)kernel_execute(image, words, environ);
	_exit(MSP_EXIT_SOFTWARE); /* the supervisor sees the end of its channel */
}
