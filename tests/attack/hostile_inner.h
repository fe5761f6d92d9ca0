/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of acts share.
 */
#ifndef HOSTILE_INNER_H
#define HOSTILE_INNER_H

#include <sys/syscall.h>
#include <unistd.h>

#define HOSTILE_PATH_MAX 96

struct hostile_config {
	char shared[HOSTILE_PATH_MAX]; /* a folder of the user's, with the sockets */
	char place[HOSTILE_PATH_MAX];  /* the same for this process alone, with files */
	int port;                      /* of the host's loopback, with a server */
	int victim;                    /* another process of the user */
	int other_port;                /* another server, for acts on a socket that is there */
};

extern struct hostile_config config;

/* The result of a child, in shared memory. */
extern int *shared_result;

/* A path of the process's own folder, in one of several static buffers. */
const char *in_place(const char *name);

/* Return what a system call that makes a descriptor or nothing returned, as 0 or an errno. */
int done(long result);
int done_fd(long fd);

/* Steps on a socket, to the server at `port`: 0 or an errno. */
int step_connect(int fd);
int step_send_anew(int fd);
int step_listen(int fd);
int step_bind(int fd);

/* Raw, so that the C library adds no call of its own. */
#define CALL(name, ...) syscall(SYS_##name, __VA_ARGS__)

#define ACTS(X)                                                                                    \
	X(read_file)                                                                               \
	X(read_file_old)                                                                           \
	X(read_file_new)                                                                           \
	X(write_file)                                                                              \
	X(append_file)                                                                             \
	X(read_folder)                                                                             \
	X(open_for_neither)                                                                        \
	X(open_for_neither_new)                                                                    \
	X(path_file)                                                                               \
	X(path_folder)                                                                             \
	X(path_new)                                                                                \
	X(path_old)                                                                                \
	X(path_root)                                                                               \
	X(make_file)                                                                               \
	X(make_unnamed)                                                                            \
	X(open_tree)                                                                               \
	X(chdir)                                                                                   \
	X(make_folder)                                                                             \
	X(unlink)                                                                                  \
	X(truncate)                                                                                \
	X(chmod)                                                                                   \
	X(rename)                                                                                  \
	X(rename_new)                                                                              \
	X(link)                                                                                    \
	X(symlink)                                                                                 \
	X(make_pipe)                                                                               \
	X(make_whiteout)                                                                           \
	X(chmod_at)                                                                                \
	X(chmod_new)                                                                               \
	X(chown)                                                                                   \
	X(set_time)                                                                                \
	X(set_time_now)                                                                            \
	X(set_attribute)                                                                           \
	X(list_attributes)                                                                         \
	X(stat)                                                                                    \
	X(stat_old)                                                                                \
	X(stat_new)                                                                                \
	X(access)                                                                                  \
	X(access_at)                                                                               \
	X(read_link)                                                                               \
	X(name_to_handle)                                                                          \
	X(beside_read)                                                                             \
	X(beside_write)                                                                            \
	X(beside_path)                                                                             \
	X(beside_stat)                                                                             \
	X(beside_chmod)                                                                            \
	X(beside_remove)                                                                           \
	X(watch_folder)                                                                            \
	X(connect)                                                                                 \
	X(send_anew)                                                                               \
	X(send)                                                                                    \
	X(listen)                                                                                  \
	X(bind)                                                                                    \
	X(connect_file)                                                                            \
	X(route)                                                                                   \
	X(multipath)                                                                               \
	X(six)                                                                                     \
	X(send_file)                                                                               \
	X(signal)                                                                                  \
	X(signal_thread)                                                                           \
	X(trace)                                                                                   \
	X(pidfd)                                                                                   \
	X(compare)                                                                                 \
	X(priority)                                                                                \
	X(proc)                                                                                    \
	X(proc_environ)                                                                            \
	X(proc_link)                                                                               \
	X(proc_memory)                                                                             \
	X(limits)                                                                                  \
	X(affinity)                                                                                \
	X(read_memory)                                                                             \
	X(signal_pidfd)                                                                            \
	X(take_descriptor)                                                                         \
	X(fork)                                                                                    \
	X(execute)                                                                                 \
	X(user_namespace)                                                                          \
	X(execute_memory)                                                                          \
	X(memory_file)                                                                             \
	X(dumpable)                                                                                \
	X(key)                                                                                     \
	X(segment)                                                                                 \
	X(page_faults)                                                                             \
	X(copy_descriptor)                                                                         \
	X(ring)

#define X(name) int act_##name(void);
ACTS(X)
#undef X

#endif
