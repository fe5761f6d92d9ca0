/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes that two processes must agree on. Each says where its number comes from.
 */
#ifndef COMMON_LIMITS_H
#define COMMON_LIMITS_H

#include <stdint.h>

/* argv of one execution, NUL after each argument. The kernel refuses a single argument over
 * 128 KiB (MAX_ARG_STRLEN); a whole message must stay below the 212,992 bytes that
 * net.core.wmem_default allows for one packet. The fuzz preset makes these small, so that a fuzzer
 * reaches the edges. */
#ifndef IPC_ARGV_MAX
#define IPC_ARGV_MAX 98304
#endif
#ifndef IPC_ENVIRONMENT_MAX
#define IPC_ENVIRONMENT_MAX 24576
#endif

/* A path inside a sandbox or on the host: PATH_MAX. */
#ifndef IPC_PATH_MAX
#define IPC_PATH_MAX 4096
#endif

/* Names of profiles and languages. */
#define IPC_NAME_MAX 64

/* A sandbox's or layer's id and its NUL: 128 random bits in Crockford's base 32. */
#define IPC_ID_MAX 27
#define IPC_ID_DIGITS "0123456789abcdefghjkmnpqrstvwxyz"

/* Lists of names (profiles, languages) and the detail of a refusal. */
#define IPC_LIST_MAX 1024

/* Records of what a workload was refused: DENIALS_MAX of common/records/denial.h. */
#define IPC_DENIALS_MAX 480

/* A host in the one spelling of hosts/, or an IPv4 address. */
#define IPC_HOST_MAX 254

/* Refusals of the network of one kind are counted apart in so many records of an execution; the
 * others are counted together. */
#define NETWORK_DENIALS_MAX 16

/* Kinds of failures with hosts that policy allows, in records of their own, so that no failure
 * takes the place of a refusal; the others are dropped. */
#define NETWORK_FAILURES_MAX 4

/* Records of an execution, with that of the further refusals. */
#define NETWORK_COUNTED_MAX (NETWORK_DENIALS_MAX + 1 + NETWORK_FAILURES_MAX)

/* Fields of an audit record, and the bytes of their texts: of each at most 200. */
#define IPC_AUDIT_FIELDS_MAX 16
#define IPC_AUDIT_TEXT_MAX 200
#define IPC_AUDIT_TEXTS_MAX ((uint64_t)IPC_AUDIT_FIELDS_MAX * IPC_AUDIT_TEXT_MAX)

/* SHA-256 of the protocol's definition. */
#define IPC_SCHEMA_BYTES 32

/* SHA-256 of what a preview of changes found. */
#define IPC_DIGEST_BYTES 32

/* Largest encoded message: its type, the largest struct (spawn), and room for the string lengths.
 */
#define IPC_MESSAGE_MAX (IPC_ARGV_MAX + IPC_ENVIRONMENT_MAX + 2 * IPC_PATH_MAX + 256)

/* Room for the struct of any message: the largest (code_start), and a little more. ipc_all.h checks
 * it. */
#ifndef IPC_BODY_MAX
#define IPC_BODY_MAX (IPC_ARGV_MAX + IPC_ENVIRONMENT_MAX + IPC_PATH_MAX + 512)
#endif

/* Most descriptors in one row of ipc_messages.def. */
#define IPC_FDS_MAX 5

/* Executions alive at once under one supervisor, at most: the size of its table. Each costs it two
 * descriptors, and a third one for a moment. */
#define EXECUTIONS_MAX 1024

/* Executions at once, if the operator says nothing. */
#define EXECUTIONS_DEFAULT 128

/* Clients of one supervisor at once: each has a broker of its own. */
#define FRONTENDS_MAX 64

/* Directories that a client's requests may name, where the operator's file names none. */
#define CLIENT_WORKSPACES_MAX 8

/* Persistent sandboxes, of one user, at most: the size of the table of those in use. */
#define SANDBOXES_MAX 1024

/* Executions of one sandbox at once. */
#define SANDBOX_EXECUTIONS_MAX 16

/* Places of a profile whose files last: /workspace, /home/agent and what the operator adds. */
#define PLACES_MAX 12

/* Layers of a sandbox, all branches together, and those below one another. Overlayfs takes 500;
 * each costs a lookup, a descriptor and a message per place at a start. */
#define LAYERS_MAX 128
#define LAYERS_DEEP_MAX 32

/* Checkpoints of a sandbox. */
#define CHECKPOINTS_MAX 64

/* Policies in use at once: the one in force, and those that executions began under before it. */
#define GENERATIONS_MAX 8

/* Operator's read-only binds (`msp run --ro`). */
#define BINDS_MAX 32

/* Records of a plan that show a path of the operator's, in all profiles together. Each is a
 * descriptor of the factory, and a message that waits until the supervisor is there to read it:
 * some 230 fit into the 212,992 bytes of a socket. */
#define PINS_MAX 128

/* Longest code of one run_code call. */
#define CODE_BYTES_MAX (4 * 1024 * 1024)

/* Exit codes of our own processes (sysexits.h where it has one). */
enum msp_exit {
	MSP_EXIT_NOT_RUNNING = 3, /* as systemctl status */
	MSP_EXIT_USAGE = 64,      /* EX_USAGE */
	MSP_EXIT_SOFTWARE = 70,   /* EX_SOFTWARE: a fault of ours or of a peer */
	MSP_EXIT_AGAIN = 75,      /* EX_TEMPFAIL: the service stops or is full; later it may work */
	MSP_EXIT_REFUSED =
		78, /* EX_CONFIG: this machine or configuration does not fulfil the policy */
	MSP_EXIT_TIMEOUT = 124, /* as timeout(1) */
	MSP_EXIT_SANDBOX = 125, /* the sandbox could not be set up */
	MSP_EXIT_NOT_EXECUTABLE = 126,
	MSP_EXIT_NOT_FOUND = 127,
	MSP_EXIT_SIGNAL_BASE = 128,
};

/* The user's name and email for commits, each in a record that begins with its mark, where the
 * paths are that git names (workspace_open). No path of a workspace begins so. */
#define GIT_USER_MAX 256
#define GIT_USER_NAME_MARK "/\nname="
#define GIT_USER_EMAIL_MARK "/\nemail="
#define GIT_USER_RECORD_MAX (GIT_USER_MAX + 16)

/* git's data outside of a workspace, in one such record: the mark, a state, the pointer (the end of
 * the path that the workspace's .git has to name, or GIT_DATA_ALTERNATES), a line's end, a path. */
#define GIT_DATA_MARK "/\ngit"
#define GIT_DATA_IS_SHOWN "="
#define GIT_DATA_SHOWN '='     /* names the workspace, and is shown */
#define GIT_DATA_PROTECTED '!' /* names the workspace, and may not be shown */
#define GIT_DATA_UNNAMED '?'   /* does not name the workspace */
#define GIT_DATA_UNFIT '~'     /* lies as it cannot be shown */
#define GIT_DATA_ABOVE '^'     /* that of a repository which the workspace lies in */
#define GIT_DATA_ALTERNATES "alternates"
#define GIT_DATA_POINTER_MAX 280

#define NETWORK_CONNECTIONS_MAX 1024U

/* The bounds of a profile for the network of one sandbox. */
struct network_limits {
	uint64_t upload, download; /* bytes of all its connections; 0: counted only */
	uint32_t connections;      /* at once, at most NETWORK_CONNECTIONS_MAX */
	uint32_t rate;             /* new ones each second; at once 16 times as many */
	uint32_t idle_s;           /* without a byte for so long, one is ended; 0: never */
	uint32_t reserved;
};

#endif
