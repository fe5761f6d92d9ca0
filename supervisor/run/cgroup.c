/* SPDX-License-Identifier: Apache-2.0 */
#include "run/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/state.h"
#include "common/confine/cgroup.h"
#include "common/fd.h"

/* cpu.max's period, microseconds: the kernel's default. */
#define CPU_PERIOD_US 100000

/* No leaf: the cgroup of the sandbox itself. */
#define WHOLE UINT32_MAX

/* Return the path of a file in a cgroup, until the next call. */
static const char *path_in(uint32_t slot, uint32_t leaf, const char *file)
{
	static struct text path;

	if (leaf == WHOLE)
		cgroup_path(&path, slot, file);
	else
		cgroup_leaf_path(&path, slot, leaf, file);
	return path.bytes;
}

static int write_number(uint32_t slot, const char *file, uint64_t number)
{
	struct text value = { .used = 0 };

	text_add_number(&value, number);
	return text_write_file(supervisor.cgroup, path_in(slot, WHOLE, file), value.bytes);
}

static int write_cpu(uint32_t slot, const struct plan_profile *profile)
{
	struct text value = { .used = 0 };
	int error = write_number(slot, "/cpu.weight", profile->cpu_weight);

	if (error || profile->cpu_percent == 0)
		return error;
	text_add_number(&value, (uint64_t)profile->cpu_percent * CPU_PERIOD_US / 100);
	text_add(&value, " ");
	text_add_number(&value, CPU_PERIOD_US);
	return text_write_file(supervisor.cgroup, path_in(slot, WHOLE, "/cpu.max"), value.bytes);
}

static int write_limits(uint32_t slot, const struct plan_profile *profile)
{
	int error = write_number(slot, "/memory.max", profile->memory_bytes);

	if (!error) {
		error = write_number(slot, "/memory.swap.max", 0);
		if (error == -ENOENT) /* a kernel without swap accounting has no swap to limit */
			error = 0;
	}
	if (!error) /* the sandbox ends as a whole: what its files hold is freed by nothing else */
		error = write_number(slot, "/memory.oom.group", 1);
	if (!error)
		error = write_number(slot, "/pids.max", (uint64_t)profile->pids + 1); /* and init */
	return error ? error : write_cpu(slot, profile);
}

static int make_group(const char *path)
{
	if (mkdirat(supervisor.cgroup, path, 0755) != 0)
		return -errno;
	return fd_result(openat(supervisor.cgroup, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

int cgroup_add_leaf(uint32_t slot, uint32_t leaf)
{
	return make_group(path_in(slot, leaf, ""));
}

bool cgroup_remove_leaf(uint32_t slot, uint32_t leaf)
{
	const char *path = path_in(slot, leaf, "");

	return supervisor.cgroup < 0 || unlinkat(supervisor.cgroup, path, AT_REMOVEDIR) == 0 ||
	       errno == ENOENT;
}

int cgroup_create(uint32_t slot, const struct plan_profile *profile, int *ret_sandbox,
		  int *ret_leaf)
{
	int sandbox = make_group(path_in(slot, WHOLE, ""));
	const int error = sandbox < 0 ? sandbox : write_limits(slot, profile);
	const int leaf = error ? error : cgroup_add_leaf(slot, 0);

	if (leaf < 0) {
		fd_close(&sandbox);
		(void)cgroup_remove(supervisor.cgroup, slot); /* empty, as no process ran in it */
		return leaf;
	}
	*ret_sandbox = sandbox;
	*ret_leaf = leaf;
	return 0;
}

void cgroup_kill(uint32_t slot, uint32_t leaf)
{
	/* The init is asked as well. */
	(void)text_write_file(supervisor.cgroup, path_in(slot, leaf, "/cgroup.kill"), "1");
}

static uint64_t read_in(uint32_t slot, uint32_t leaf, const char *file, const char *key)
{
	return text_read_number(supervisor.cgroup, path_in(slot, leaf, file), key);
}

void cgroup_read(uint32_t slot, struct cgroup_usage *ret)
{
	*ret = (struct cgroup_usage){
		.cpu_us = read_in(slot, WHOLE, "/cpu.stat", "usage_usec "),
		.peak_bytes = read_in(slot, WHOLE, "/memory.peak", ""),
		.oom_kills = read_in(slot, WHOLE, "/memory.events", "oom_kill "),
		.forks_refused = read_in(slot, WHOLE, "/pids.events", "max "),
	};
}

uint64_t cgroup_read_cpu(uint32_t slot, uint32_t leaf)
{
	return read_in(slot, leaf, "/cpu.stat", "usage_usec ");
}

/* Not memory.current: what files of the host occupy is given back when there is need, and would
 * make the budget look used up after a while. */
uint64_t cgroup_memory_used(void)
{
	static const char file[] = "memory.stat";
	const int dir = supervisor.cgroup;

	return text_read_number(dir, file, "anon ") + text_read_number(dir, file, "\nshmem ") +
	       text_read_number(dir, file, "\nkernel ") -
	       text_read_number(dir, file, "\nslab_reclaimable ");
}

static uint32_t has_file(uint32_t slot, const char *file, uint32_t controller)
{
	struct stat is;

	return fstatat(supervisor.cgroup, path_in(slot, WHOLE, file), &is, 0) == 0 ? controller : 0;
}

bool cgroup_check(uint32_t slot, const struct plan_profile *profile, uint32_t *ret_controllers)
{
	const uint64_t page = 4096; /* the kernel keeps whole ones */
	const uint64_t quota = (uint64_t)profile->cpu_percent * CPU_PERIOD_US / 100;

	*ret_controllers = has_file(slot, "/cpu.weight", POSTURE_CONTROLLER_CPU) |
			   has_file(slot, "/memory.max", POSTURE_CONTROLLER_MEMORY) |
			   has_file(slot, "/pids.max", POSTURE_CONTROLLER_PIDS) |
			   has_file(slot, "/io.stat", POSTURE_CONTROLLER_IO);
	return read_in(slot, WHOLE, "/memory.max", "") == profile->memory_bytes / page * page &&
	       read_in(slot, WHOLE, "/pids.max", "") == (uint64_t)profile->pids + 1 &&
	       read_in(slot, WHOLE, "/cpu.weight", "") == profile->cpu_weight &&
	       read_in(slot, WHOLE, "/cpu.max", "") == quota;
}
