/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes, threads, signals and time.
 */
#include "hog.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* More than there are processors. */
#define THREADS 24

/* Enough for every kernel to refuse, where a stack may be a quarter of it. */
#define ARGUMENT_BYTES 100000

/* Parent and child go on forking, as many in all as the amount says. */
static int bomb_forks(long amount)
{
	atomic_long *count = hog_map(sizeof(*count), MAP_SHARED);
	const pid_t first = getpid();
	int error = 0;

	if (!count)
		return errno;
	atomic_store(count, 0);
	while (!error && atomic_fetch_add(count, 1) < amount)
		error = fork() < 0 ? errno : 0;
	if (getpid() != first)
		hog_stay();
	hog_hold();
	hog_taken = atomic_load(count);
	return error;
}

static void *wait_for_ever(void *unused)
{
	hog_stay();
}

static int start_threads(long amount, void *(*run)(void *))
{
	pthread_attr_t attributes;
	pthread_t thread;
	int error = pthread_attr_init(&attributes);

	if (!error)
		error = pthread_attr_setstacksize(&attributes, 65536);
	for (; !error && hog_taken < amount; hog_taken += !error)
		error = pthread_create(&thread, &attributes, run, NULL);
	return error;
}

static int bomb_threads(long amount)
{
	const int error = start_threads(amount, wait_for_ever);

	hog_hold();
	return error;
}

static int flood_zombies(long amount)
{
	int error = 0;

	for (; !error && hog_taken < amount; hog_taken += !error) {
		const pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		error = pid < 0 ? errno : 0;
	}
	hog_hold();
	return error;
}

static void *spin(void *unused)
{
	while (getppid() > 0) /* time of both kinds */
		continue;
	return NULL;
}

static volatile sig_atomic_t spin_is_over;

static void end_spin(int number)
{
	(void)number;
	spin_is_over = 1;
}

/* Until this process with its threads has used `amount` ms; 0: for ever. The timer counts as
 * RLIMIT_CPU does, by ticks, which an emulator loses and the process's clock does not. */
static int spin_one(long amount)
{
	const struct itimerval timer = {
		.it_value = { .tv_sec = amount / 1000, .tv_usec = amount % 1000 * 1000 },
	};

	if (signal(SIGPROF, end_spin) == SIG_ERR || setitimer(ITIMER_PROF, &timer, NULL) != 0)
		return errno;
	while (!spin_is_over && getppid() > 0) /* time of both kinds */
		continue;
	hog_taken = amount;
	return 0;
}

static int spin_threads(long amount)
{
	const int error = start_threads(THREADS, spin);

	return error ? error : spin_one(amount);
}

static int spin_processes(long amount)
{
	for (; hog_taken < amount; hog_taken++) {
		const pid_t pid = fork();

		if (pid == 0)
			(void)spin(NULL);
		if (pid < 0)
			return errno;
	}
	hog_stay();
}

/* What a daemon does to be nobody's child. It spins, so that it can be missed in nothing. */
static int leave_daemons(long amount)
{
	int ready[2];
	char byte;

	if (pipe(ready) != 0)
		return errno;
	for (; hog_taken < amount; hog_taken++) {
		const pid_t pid = fork();

		if (pid < 0)
			return errno;
		if (pid == 0) {
			if (setsid() < 0 || fork() != 0)
				_exit(0);
			(void)!write(ready[1], "x", 1);
			(void)spin(NULL);
		}
		if (waitpid(pid, NULL, 0) != pid || read(ready[0], &byte, 1) != 1)
			return errno;
	}
	return 0;
}

static int stop_children(long amount)
{
	for (; hog_taken < amount; hog_taken++) {
		const pid_t pid = fork();

		if (pid < 0)
			return errno;
		if (pid == 0) {
			(void)setsid();
			(void)raise(SIGSTOP);
			hog_stay();
		}
		if (waitpid(pid, NULL, WUNTRACED) != pid)
			return errno;
	}
	return raise(SIGSTOP) == 0 ? 0 : errno;
}

static int ignore_signals(long amount)
{
	for (int number = 1; number < SIGRTMAX; number++)
		(void)signal(number, SIG_IGN); /* not all can be */
	(void)puts("ignoring");
	hog_stay();
}

static void count_signal(int number)
{
	hog_taken++;
}

/* Two processes that do nothing but interrupt each other. */
static int flood_signals(long amount)
{
	pid_t other;

	if (signal(SIGUSR1, count_signal) == SIG_ERR)
		return errno;
	other = fork();
	if (other < 0)
		return errno;
	if (other == 0)
		other = getppid();
	while (kill(other, SIGUSR1) == 0)
		continue;
	return errno;
}

static int take_timers(long amount)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	int error = 0;

	if (signal(SIGUSR1, SIG_IGN) == SIG_ERR)
		return errno;
	for (; !error && hog_taken < amount; hog_taken += !error) {
		timer_t timer;

		error = timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ? errno : 0;
	}
	hog_hold();
	return error;
}

/* A command line of `amount` MiB: the program itself again. */
static int take_arguments(long amount)
{
	static char text[ARGUMENT_BYTES];
	static char name[] = "hog";
	static char mode[] = "arguments";
	static char last[] = "0";
	const size_t count = (size_t)(amount * MIB / ARGUMENT_BYTES);
	char **list = calloc(count + 4, sizeof(*list));

	if (amount == 0)
		return 0;
	if (!list)
		return errno;
	memset(text, 'x', sizeof(text) - 1);
	list[0] = name;
	list[1] = mode;
	list[2] = last;
	for (size_t i = 0; i < count; i++)
		list[3 + i] = text;
	(void)execv("/proc/self/exe", list);
	return errno;
}

static const struct mode list[] = {
	{ "forks", bomb_forks },
	{ "threads", bomb_threads },
	{ "zombies", flood_zombies },
	{ "spin", spin_one },
	{ "spin-threads", spin_threads },
	{ "spin-processes", spin_processes },
	{ "daemons", leave_daemons },
	{ "stopped", stop_children },
	{ "ignore-signals", ignore_signals },
	{ "signals", flood_signals },
	{ "timers", take_timers },
	{ "arguments", take_arguments },
};
const struct modes process_modes = MODES(list);
