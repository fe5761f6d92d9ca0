/* SPDX-License-Identifier: Apache-2.0 */
#include "setup/examination.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/format.h"
#include "launcher/start/config.h"

static void name_user(const struct machine *machine, struct examination *ret)
{
	const struct passwd *entry = machine->was_root ? NULL : getpwuid(geteuid());

	ret->has_account = !machine->was_root || machine->has_account;
	ret->uid = machine->was_root ? machine->account.uid : geteuid();
	if (machine->was_root)
		format_text(ret->user, sizeof(ret->user), "%s", machine->account.name);
	else if (entry)
		format_text(ret->user, sizeof(ret->user), "%s", entry->pw_name);
}

static void examine_all(struct examination *ret)
{
	static struct machine machine;

	ret->error = probe_count > EXAMINATION_FINDINGS_MAX ? -E2BIG
							    : doctor_examine(NULL, NULL, &machine);
	if (ret->error)
		return;
	name_user(&machine, ret);
	doctor_begin_verdict(&machine, LIMITS_UNSAID, &ret->verdict);
	for (size_t i = 0; i < probe_count; i++) {
		probe_run(&probes[i], &machine, &ret->findings[i]);
		doctor_note(&ret->verdict, &probes[i], &ret->findings[i]);
	}
}

/* Read the child's report; false if it is cut short, or could not be a report. */
static bool read_report(int fd, struct examination *ret)
{
	char *bytes = (char *)ret;
	size_t size = 0;
	ssize_t got = 1;

	while (size < sizeof(*ret) && got != 0) {
		got = read(fd, bytes + size, sizeof(*ret) - size);
		if (got < 0 && errno != EINTR)
			return false;
		size += got > 0 ? (size_t)got : 0;
		got = got < 0 ? 1 : got;
	}
	ret->user[sizeof(ret->user) - 1] = '\0';
	for (size_t i = 0; i < EXAMINATION_FINDINGS_MAX; i++) {
		struct finding *finding = &ret->findings[i];

		finding->tried[sizeof(finding->tried) - 1] = '\0';
		finding->happened[sizeof(finding->happened) - 1] = '\0';
		finding->fix[sizeof(finding->fix) - 1] = '\0';
	}
	return size == sizeof(*ret) && ret->error <= 0;
}

int examination_make(struct examination *ret)
{
	int ends[2];
	pid_t child;
	bool is_whole;

	*ret = (struct examination){ .error = 0 };
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	child = fork();
	if (child == 0) {
		examine_all(ret);
		_exit(fd_write_all(ends[1], ret, sizeof(*ret)) == 0 ? 0 : MSP_EXIT_SOFTWARE);
	}
	fd_close(&ends[1]);
	is_whole = child > 0 && read_report(ends[0], ret);
	fd_close(&ends[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return is_whole ? ret->error : -EIO;
}
