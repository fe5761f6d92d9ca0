/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages between msp-vm and the first process of its machine, over one port of virtio-serial.
 * Each is a frame: its type, the size of its body, the body. Both ends are of one build. A frame of
 * the machine is checked all the same: its kernel and its programs may be the workload's.
 */
#ifndef VM_WIRE_H
#define VM_WIRE_H

#include <stdint.h>

#include "common/limits.h"

/* The name of the port, and that of the first process's file, at which it appears. */
#define WIRE_PORT "msp"
#define WIRE_FILE "/dev/vport0p1"

/* Directories of the sandbox are file systems with these tags, by their number. */
#define WIRE_TAG "msp%u"

/* A body: a pipe's room. */
#define WIRE_BODY_MAX 65536U

struct wire_head {
	uint32_t type;
	uint32_t size; /* the load's */
};

enum wire_type {
	/* To the machine, in this order; INPUT, SIGNAL and SIZE follow in any. */
	WIRE_MOUNT = 1,   /* struct wire_mount */
	WIRE_ARGUMENTS,   /* a part of argv, a NUL after each word */
	WIRE_ENVIRONMENT, /* likewise, of the environment */
	WIRE_START,       /* struct wire_start */
	WIRE_INPUT,       /* a part of stdin, when it was wanted; empty: its end */
	WIRE_SIGNAL,      /* uint32_t, for the command's process group */
	WIRE_SIZE,        /* struct wire_size */
	/* From the machine. */
	WIRE_READY,  /* empty: it listens */
	WIRE_WANT,   /* empty: there is room for another part of stdin */
	WIRE_OUTPUT, /* a part of stdout */
	WIRE_ERRORS, /* a part of stderr */
	WIRE_FAILED, /* struct wire_failed: the command was not started */
	WIRE_ENDED,  /* struct wire_ended: all output was sent before */
	WIRE_TYPE_COUNT
};

/* A directory of the sandbox, the parent before its children; the first one is the root. */
struct wire_mount {
	uint32_t is_writable;
	char tag[16];
	char path[IPC_PATH_MAX];
};

struct wire_size {
	uint32_t rows, columns;
};

/* Resource limits that count in the machine as they do outside. */
#define WIRE_LIMITS 5

struct wire_start {
	uint64_t time_ns;                /* the clock */
	uint64_t limits[WIRE_LIMITS][2]; /* soft and hard, of wire_limits[] */
	uint32_t uid, gid, mask;         /* the command's */
	uint32_t is_terminal;            /* 1: stdin, stdout and stderr are one, of this size */
	struct wire_size size;
	uint8_t seed[32]; /* random */
	char hostname[65];
	char cwd[IPC_PATH_MAX];
};

struct wire_failed {
	uint32_t error;
	char act[128]; /* "mounting /workspace" */
};

struct wire_ended {
	uint32_t code;
	uint32_t signal; /* 0: it has exited with the code */
};

#endif
