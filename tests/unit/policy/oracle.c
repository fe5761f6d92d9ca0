/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle.h"

#include "policy/write/filter.h"

#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct group {
	const char *name;
	const char *kind;
	const char *calls;
};

static const struct group groups[] = {
#define GROUP(name, kind, reason, calls) { " " #name " ", #kind, " " calls " " },
#include "policy/read/seccomp_groups.def"
#undef GROUP
};

#define DEFAULT_GROUPS                                                                             \
	" basic files attributes watch process identity threads scheduling memory locking "        \
	"signals time sockets network terminal ipc confine landlock rare "

#define DEVELOPMENT_GROUPS DEFAULT_GROUPS "trace "

const struct oracle_profile oracle_profiles[] = {
	{ "_helper", " basic files process threads memory signals time sockets terminal " },
	{ "default", DEFAULT_GROUPS },
	{ "strict", " basic files attributes process threads memory signals time sockets "
		    "terminal " },
	{ "minimal", " basic files attributes process threads memory signals time terminal " },
	{ "python-dev", DEVELOPMENT_GROUPS },
	{ "node-dev", DEVELOPMENT_GROUPS },
	{ "go-dev", DEVELOPMENT_GROUPS },
	{ "rust-dev", DEVELOPMENT_GROUPS },
	{ "java-dev", DEVELOPMENT_GROUPS },
	{ "vm", DEFAULT_GROUPS },
};
const size_t oracle_profile_count = COUNT(oracle_profiles);

/* The kernel reads all of these as 32 bits or less. */
typedef bool condition(const uint32_t a[6]);

static bool clone_may(const uint32_t a[6])
{
	/* NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET */
	return (a[0] & 0x7e020080U) == 0;
}

static bool is_creation_with_setid(uint32_t flags, uint32_t mode)
{
	return ((flags & 0100U) != 0 || (flags & 020000000U) != 0) && (mode & 06000U) != 0;
}

static bool open_may(const uint32_t a[6])
{
	return !is_creation_with_setid(a[1], a[2]);
}

static bool openat_may(const uint32_t a[6])
{
	return !is_creation_with_setid(a[2], a[3]);
}

static bool mode_1_may(const uint32_t a[6])
{
	return (a[1] & 06000U) == 0;
}

static bool mode_2_may(const uint32_t a[6])
{
	return (a[2] & 06000U) == 0;
}

static bool node_may(uint32_t mode)
{
	const uint32_t type = (mode & 0170000U) >> 12;

	return (mode & 06000U) == 0 && type != 2 && type != 6;
}

static bool mknod_may(const uint32_t a[6])
{
	return node_may(a[1]);
}

static bool mknodat_may(const uint32_t a[6])
{
	return node_may(a[2]);
}

static bool not_init_may(const uint32_t a[6])
{
	return a[0] != 1;
}

static bool mmap_may(const uint32_t a[6])
{
	return (a[3] >> 18 & 1U) == 0;
}

static bool memfd_create_may(const uint32_t a[6])
{
	return (a[1] & 4U) == 0;
}

static bool renameat2_may(const uint32_t a[6])
{
	return (a[4] & 4U) == 0;
}

static bool ioctl_may(const uint32_t a[6])
{
	static const uint32_t kept[] = { 0x80086601, 0xc020660b, 0x801c581f, 0x40049409,
					 0x4020940d };
	const uint32_t type = a[1] >> 8 & 0xffU;

	for (size_t i = 0; i < COUNT(kept); i++) {
		if (a[1] == kept[i])
			return true;
	}
	if (type == 'f' || type == 'X' || type == 0x94 || type == 0xf5 ||
	    (type == 0x89 && (a[1] & 0x80U) != 0) || a[1] == 0x8940 || a[1] == 0x8941)
		return false;
	return a[1] != 0x5412 && a[1] != 0x541c && a[1] != 0x541d && a[1] != 0x5423;
}

static bool personality_may(const uint32_t a[6])
{
	return a[0] == 0 || a[0] == 0x40000 || a[0] == 0xffffffffU;
}

static bool prctl_may(const uint32_t a[6])
{
	const uint32_t option = a[0];

	if (option == 53)
		return (a[2] & 2U) == 0;
	return option < 32 || (option >= 36 && option < 48) || option == 52 || option == 65 ||
	       option == 66 || option == 0x53564d41 || option == 0x59616d61 || option == 0x41555856;
}

static bool fcntl_may(const uint32_t a[6])
{
	const uint32_t command = a[1];

	if (command >= 1024)
		return command >= 1028 && command <= 1038;
	return command <= 16 || (command >= 36 && command <= 39);
}

static bool madvise_may(const uint32_t a[6])
{
	return a[2] != 12;
}

static bool shmget_may(const uint32_t a[6])
{
	return (a[2] & 04000U) == 0;
}

static bool setpriority_may(const uint32_t a[6])
{
	return a[0] != 2 && a[1] != 1;
}

static bool ioprio_set_may(const uint32_t a[6])
{
	const uint32_t class = a[2] >> 13, level = a[2] & 8191U;
	const bool is_low =
		a[2] == 0 || (class == 2 && level >= 4 && level < 8) || (class == 3 && level < 8);

	return a[0] != 3 && a[1] != 1 && is_low;
}

static bool sched_setscheduler_may(const uint32_t a[6])
{
	const uint32_t policy = a[1] & ~0x40000000U;

	return a[0] != 1 && (policy == 0 || policy == 3 || policy == 5);
}

static bool mlock_may(const uint32_t a[6])
{
	return a[1] < 65536;
}

static bool mlockall_may(const uint32_t a[6])
{
	return (a[0] & 7U) == 0;
}

static bool one_id_may(const uint32_t a[6])
{
	return a[0] != 0;
}

static bool two_ids_may(const uint32_t a[6])
{
	return a[0] != 0 && a[1] != 0;
}

static bool seccomp_may(const uint32_t a[6])
{
	return (a[1] & 8U) == 0;
}

static bool socket_may(const uint32_t a[6])
{
	const uint32_t family = a[0], type = a[1] & 15U, protocol = a[2];

	if (family == 1)
		return type == 1 || type == 5;
	if (family == 16)
		return protocol == 0;
	return (family == 2 || family == 10) && (type == 1 || type == 2) &&
	       (protocol == 0 || protocol == 6 || protocol == 17);
}

static bool socketpair_may(const uint32_t a[6])
{
	return a[0] == 1 && ((a[1] & 15U) == 1 || (a[1] & 15U) == 5);
}

static bool flags_2_may(const uint32_t a[6])
{
	return (a[2] >> 29 & 1U) == 0;
}

static bool flags_3_may(const uint32_t a[6])
{
	return (a[3] >> 29 & 1U) == 0;
}

static bool setsockopt_may(const uint32_t a[6])
{
	const uint32_t level = a[1], option = a[2];

	if (level != 1 && level != 6 && level != 17)
		return true;
	return option != 23 && option != 26 && option != 30 && option != 31 && option != 100 &&
	       (option < 50 || option > 52);
}

static const struct {
	const char *call;
	condition *may;
} conditions[] = {
	{ "clone", clone_may },
	{ "open", open_may },
	{ "openat", openat_may },
	{ "creat", mode_1_may },
	{ "chmod", mode_1_may },
	{ "fchmod", mode_1_may },
	{ "fchmodat", mode_2_may },
	{ "mknod", mknod_may },
	{ "mknodat", mknodat_may },
	{ "prlimit64", not_init_may },
	{ "sched_setaffinity", not_init_may },
	{ "mmap", mmap_may },
	{ "memfd_create", memfd_create_may },
	{ "renameat2", renameat2_may },
	{ "sched_setscheduler", sched_setscheduler_may },
	{ "sched_setparam", not_init_may },
	{ "sched_setattr", not_init_may },
	{ "setpriority", setpriority_may },
	{ "ioprio_set", ioprio_set_may },
	{ "mlock", mlock_may },
	{ "mlock2", mlock_may },
	{ "mlockall", mlockall_may },
	{ "setuid", one_id_may },
	{ "setgid", one_id_may },
	{ "setreuid", two_ids_may },
	{ "setregid", two_ids_may },
	{ "madvise", madvise_may },
	{ "shmget", shmget_may },
	{ "fcntl", fcntl_may },
	{ "ioctl", ioctl_may },
	{ "personality", personality_may },
	{ "prctl", prctl_may },
	{ "seccomp", seccomp_may },
	{ "socket", socket_may },
	{ "socketpair", socketpair_may },
	{ "sendmsg", flags_2_may },
	{ "sendto", flags_3_may },
	{ "sendmmsg", flags_3_may },
	{ "setsockopt", setsockopt_may },
};

static condition *condition_of(const char *call)
{
	for (size_t i = 0; i < COUNT(conditions); i++) {
		if (strcmp(conditions[i].call, call) == 0)
			return conditions[i].may;
	}
	return NULL;
}

bool oracle_is_conditional(const char *call)
{
	return condition_of(call) != NULL;
}

uint32_t oracle_refused(const struct oracle_profile *profile)
{
	/* Of a helper there is no init that could be asked, and who cannot send has none. */
	return profile->name[0] == '_' || strstr(profile->groups, " sockets ") == NULL
		       ? FILTER_EPERM
		       : FILTER_NOTIFY;
}

static const struct group *group_of(const char *call)
{
	char padded[64];

	(void)snprintf(padded, sizeof(padded), " %s ", call);
	for (size_t i = 0; i < COUNT(groups); i++) {
		if (strstr(groups[i].calls, padded) != NULL)
			return &groups[i];
	}
	return NULL;
}

bool oracle_has_group_of(const struct oracle_profile *profile, const char *call)
{
	const struct group *group = group_of(call);

	return group != NULL && strstr(profile->groups, group->name) != NULL;
}

uint32_t oracle_answer(const struct oracle_profile *profile, const char *call,
		       const uint64_t arguments[6])
{
	const struct group *group = group_of(call);
	condition *may = condition_of(call);
	uint32_t low[6];

	for (int i = 0; i < 6; i++)
		low[i] = (uint32_t)arguments[i];
	if (group == NULL || strcmp(group->kind, "HIDDEN") == 0)
		return FILTER_ENOSYS;
	if (!oracle_has_group_of(profile, call))
		return oracle_refused(profile);
	if (strcmp(call, "prctl") == 0 && low[0] == 8 && low[1] == 0) /* PR_SET_KEEPCAPS */
		return FILTER_PRETEND;
	return may == NULL || may(low) ? FILTER_ALLOW : oracle_refused(profile);
}

uint32_t oracle_answer_number(const struct oracle_profile *profile, uint32_t number,
			      const uint64_t arguments[6])
{
	char *call = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, (int)number);
	const uint32_t answer =
		call != NULL ? oracle_answer(profile, call, arguments) : FILTER_ENOSYS;

	free(call);
	return answer;
}
