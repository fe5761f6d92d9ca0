/* SPDX-License-Identifier: Apache-2.0
 *
 * The first process of a machine: its state, and its steps.
 */
#ifndef VM_GUEST_GUEST_H
#define VM_GUEST_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "vm/wire.h"

/* Ends of the command's pipes; in a terminal input and output are one. -1: closed. */
struct guest {
	int port;
	int input, output, errors;
	pid_t command;
	uint32_t mount_count;
	struct wire_start start;
	char arguments[IPC_ARGV_MAX];
	char environment[IPC_ENVIRONMENT_MAX + IPC_PATH_MAX];
	uint32_t arguments_size, environment_size;
	struct wire_ended ended;
};

struct frame {
	struct wire_head head;
	union {
		uint8_t bytes[WIRE_BODY_MAX];
		struct wire_mount mount;
		struct wire_start start;
		struct wire_size size;
		uint32_t signal;
	} load;
};

/* Send a frame. The machine ends if msp-vm has gone. */
void port_send(struct guest *guest, uint32_t type, const void *body, size_t size);

/* Read a whole frame; what msp-vm does not send ends the machine. */
void port_read(struct guest *guest, struct frame *ret);

/* Tell msp-vm that an act has failed, and end. */
void port_fail(struct guest *guest, const char *act, int error) __attribute__((noreturn));

/* Load all files of a directory as modules, in any order of their dependencies. */
void modules_load(const char *directory);

/* Read the request, and mount what it names. */
void request_read(struct guest *guest);

/* Mount a directory of the sandbox; finish the root, and change to it. */
void root_mount(struct guest *guest, const struct wire_mount *wanted);
void root_enter(struct guest *guest);

/* Start the command. */
void command_start(struct guest *guest);

/* Copy until the command has ended and all output was sent. */
void copy_all(struct guest *guest);

#endif
