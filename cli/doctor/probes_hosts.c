/* SPDX-License-Identifier: Apache-2.0
 *
 * The probe of what profiles with hosts need: a device for their sandboxes, a name server, and the
 * proxy of a profile.
 */
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <resolv.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "doctor/probes.h"
#include "frontend/profile_names.h"
#include "gateway/hosts/list.h"

#define ANSWER_S 3

/* Make a pair of devices in this network namespace. 0 or -errno. */
int probe_make_veth(void)
{
	static const struct {
		struct nlmsghdr head;
		struct ifinfomsg link;
		struct rtattr info, kind;
		char name[8];
	} request = {
		.head = { sizeof(request), RTM_NEWLINK,
			  NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, 1, 0 },
		.info = { 2 * sizeof(struct rtattr) + sizeof(request.name), IFLA_LINKINFO },
		.kind = { RTA_LENGTH(sizeof("veth")), IFLA_INFO_KIND },
		.name = "veth",
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr is;
	} answer = { .is = { .error = -EIO } };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int error = fd < 0 ? -errno : 0;

	if (!error && (send(fd, &request, sizeof(request), 0) < 0 ||
		       recv(fd, &answer, sizeof(answer), MSG_TRUNC) < 0))
		error = -errno;
	fd_close(&fd);
	return error ? error : answer.is.error;
}

/* Find the first name server of resolv.conf(5), as msp-dial does; this machine, if it names none.
 */
static void read_server(char ret[INET6_ADDRSTRLEN])
{
	FILE *file = fopen("/etc/resolv.conf", "re");
	char line[256], word[64];

	format_text(ret, INET6_ADDRSTRLEN, "127.0.0.1");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "nameserver %45[0-9a-fA-F.:]", word) == 1) {
			format_text(ret, INET6_ADDRSTRLEN, "%.45s", word);
			break;
		}
	}
	if (file)
		(void)fclose(file); /* it was only read */
}

/* Connect to an address, within ANSWER_S. A descriptor or -errno. */
static int connect_to(const struct host_address *address, uint16_t port, int type)
{
	const struct timeval most = { .tv_sec = ANSWER_S };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
	const bool is_four = host_address_is_ipv4(address);
	int fd = socket(is_four ? AF_INET : AF_INET6, type | SOCK_CLOEXEC, 0);
	int error = fd < 0 ? -errno : 0;

	memcpy(&six.sin6_addr, address->bytes, sizeof(six.sin6_addr));
	memcpy(&four.sin_addr, address->bytes + HOST_IPV4_AT, sizeof(four.sin_addr));
	if (!error && (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)) != 0 ||
		       setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)) != 0 ||
		       connect(fd, is_four ? (const void *)&four : (const void *)&six,
			       is_four ? sizeof(four) : sizeof(six)) != 0))
		error = errno == EINPROGRESS ? -ETIMEDOUT : -errno;
	if (error)
		fd_close(&fd);
	return error ? error : fd;
}

/* Ask for the name servers of the root, which each resolver knows. 0: there was an answer. */
static int ask_server(const char *server)
{
	static const uint8_t question[] = { 'm', 's', 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1 };
	uint8_t answer[512];
	struct host_address address;
	int fd = host_address_read(server, &address) ? connect_to(&address, 53, SOCK_DGRAM)
						     : -EINVAL;
	int error = fd < 0 ? fd : 0;
	ssize_t size = 0;

	if (!error && (send(fd, question, sizeof(question), 0) < 0 ||
		       (size = recv(fd, answer, sizeof(answer), 0)) < 0))
		error = errno == EAGAIN ? -ETIMEDOUT : -errno;
	fd_close(&fd);
	if (!error && (size < 12 || memcmp(answer, question, 2) != 0 || !(answer[2] & 0x80)))
		error = -EPROTO;
	return error;
}

/* Connect to an address. 0 or -errno. */
static int try_address(const struct host_address *address, uint16_t port)
{
	int fd = connect_to(address, port, SOCK_STREAM);
	const int error = fd < 0 ? fd : 0;

	fd_close(&fd);
	return error;
}

/* Copy an address out of a record. False: the record is of another type. */
static bool read_record(const ns_rr *record, int type, struct host_address *ret)
{
	const size_t size = type == ns_t_a ? NS_INADDRSZ : NS_IN6ADDRSZ;

	if ((int)ns_rr_type(*record) != type || ns_rr_rdlen(*record) != size)
		return false;
	if (type == ns_t_a)
		*ret = host_address_of_ipv4(ns_rr_rdata(*record));
	else
		memcpy(ret->bytes, ns_rr_rdata(*record), size);
	return true;
}

/* Try the addresses of one type, until one takes a connection. Return 0, the last -errno, or
 * `error` if there is none. */
static int try_records(const struct host_wanted *proxy, int type, uint16_t port, int error)
{
	uint8_t answer[NS_PACKETSZ];
	const int size = res_query(proxy->name, ns_c_in, type, answer, (int)sizeof(answer));
	struct host_address address;
	ns_msg message;
	ns_rr record;

	if (size <= 0 || size > (int)sizeof(answer) || ns_initparse(answer, size, &message) != 0)
		return error;
	for (int i = 0; i < ns_msg_count(message, ns_s_an) && error; i++) {
		if (ns_parserr(&message, ns_s_an, i, &record) != 0 ||
		    !read_record(&record, type, &address))
			continue;
		error = host_proxy_may_be(proxy, &address) ? try_address(&address, port) : -EPERM;
	}
	return error;
}

/* Resolve a name as msp-dial does, by the name servers alone, and connect. */
static int try_name(const struct host_wanted *proxy, uint16_t port)
{
	static const int types[] = { ns_t_a, ns_t_aaaa };
	int error = -ENODATA;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && error; i++)
		error = try_records(proxy, types[i], port, error);
	return error;
}

/* Return why the proxy takes no connection, or NULL. */
static const char *try_proxy(const struct plan_proxy *proxy)
{
	struct host_wanted wanted;
	int error;

	if (!host_wanted_read(proxy->host, &wanted))
		return "this is no host";
	error = wanted.is_address ? try_address(&wanted.address, proxy->port)
				  : try_name(&wanted, proxy->port);
	return error == -ENODATA ? "no name server has an address of it"
	       : error == -EPERM ? "its name leads to this machine's loopback, and only an address "
				   "of that counts"
	       : error           ? errno_text(-error)
				 : NULL;
}

static bool is_address(const struct plan_proxy *proxy)
{
	struct host_wanted wanted;

	return host_wanted_read(proxy->host, &wanted) && wanted.is_address;
}

/* Return whether msp-dial resolves a name for the profile: of a host, or of the proxy. */
static bool needs_server(const struct plan *plan, const struct plan_profile *profile)
{
	const struct plan_host *hosts = plan_hosts(plan, profile);
	bool is_private = false;

	for (uint32_t i = 0; i < profile->host_count; i++)
		is_private |= hosts[i].is_private != 0;
	return is_private || !is_address(&profile->through);
}

/* Try the proxies, and count them. False: *ret says which one takes no connection. */
static bool probe_proxies(const struct plan *plan, uint32_t *ret_count, struct finding *ret)
{
	for (uint32_t i = 0; i < plan_profile_count(plan); i++) {
		const struct plan_profile *profile = plan_profile(plan, i);
		const bool has_proxy = profile->through.host[0] != '\0';
		const char *why = has_proxy ? try_proxy(&profile->through) : NULL;

		*ret_count += has_proxy;
		if (!why)
			continue;
		probe_report(
			ret, FINDING_MISSING,
			"veth works; the proxy %.100s:%u of profile %.60s takes no connection: "
			"%s",
			profile->through.host, (unsigned int)profile->through.port,
			plan_string(plan, profile->name), why);
		probe_set_fix(ret, "start the proxy, or correct `through` of the profile");
		return false;
	}
	return true;
}

void probe_hosts(const struct machine *machine, struct finding *ret)
{
	const struct plan *plan = probe_plan(machine);
	char server[INET6_ADDRSTRLEN];
	uint32_t proxies = 0;
	bool asks_server = false;
	const char *with;
	int error;

	probe_report(ret, FINDING_SKIPPED, "no profile has hosts");
	if (!plan || !profiles_have_hosts(plan, NULL))
		return;
	if (machine->images.cable < 0 || machine->images.egress < 0 || machine->images.dial < 0) {
		probe_report(ret, FINDING_MISSING, "msp-cable, msp-egress or msp-dial is missing");
		probe_set_fix(ret, "install all of msp's programs together, of one version");
		return;
	}
	if (!probe_veth(ret) || !probe_proxies(plan, &proxies, ret))
		return;
	for (uint32_t i = 0; i < plan_profile_count(plan); i++) {
		const struct plan_profile *profile = plan_profile(plan, i);

		asks_server |=
			profile->network == PLAN_NETWORK_HOSTS && needs_server(plan, profile);
	}
	with = proxies ? ", and each proxy takes a connection" : "";
	if (!asks_server) {
		probe_report(ret, FINDING_OK, "veth works%s", with);
		return;
	}
	read_server(server);
	error = ask_server(server);
	probe_report(ret, error ? FINDING_MISSING : FINDING_OK,
		     error ? "veth works; the name server %s gives no answer: %s"
			   : "veth works, and the name server %s answers%s",
		     server, error ? errno_text(-error) : with);
	if (error)
		probe_set_fix(ret, "name a server in /etc/resolv.conf that answers this machine");
}
