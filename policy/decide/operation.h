/* SPDX-License-Identifier: Apache-2.0
 *
 * An act of a workload, as people and models name it:
 *
 *   read PATH | write PATH | create PATH | delete PATH | list PATH | exec PATH
 *   connect HOST:PORT | connect udp:HOST:PORT | connect unix:PATH | connect unix:@NAME
 *   resolve HOST
 *   bind PORT | bind udp:PORT
 *   request METHOD URL | use SECRET at HOST | use SECRET at HOST:PORT
 *   syscall NAME | syscall NUMBER
 *
 * HOST is an address or a name; an IPv6 address stands in brackets. A PATH is absolute.
 */
#ifndef POLICY_DECIDE_OPERATION_H
#define POLICY_DECIDE_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#define OPERATION_TARGET_MAX 1024U /* with its NUL */
#define OPERATION_TEXT_MAX (OPERATION_TARGET_MAX + 16U)
#define OPERATION_PROBLEM_MAX 256U

/* decide.h says exactly what each operation stands for. */
enum operation_kind {
	OPERATION_READ = 0,
	OPERATION_WRITE,
	OPERATION_CREATE,
	OPERATION_DELETE,
	OPERATION_LIST,
	OPERATION_EXEC,
	OPERATION_CONNECT,
	OPERATION_RESOLVE,
	OPERATION_BIND,
	OPERATION_REQUEST,
	OPERATION_USE,
	OPERATION_SYSCALL,
	OPERATION_KIND_COUNT
};

/* The transport of CONNECT and BIND. */
enum operation_transport {
	OPERATION_TCP = 0,
	OPERATION_UDP,
	OPERATION_UNIX,     /* target is a path */
	OPERATION_ABSTRACT, /* target is a name, without its '@' */
};

#define OPERATION_WORD_MAX 64U

struct operation {
	enum operation_kind kind;
	enum operation_transport transport;
	uint16_t port;
	bool is_tls;                       /* REQUEST: by https */
	char word[OPERATION_WORD_MAX];     /* REQUEST: the method; USE: the secret's name */
	char path[OPERATION_TARGET_MAX];   /* REQUEST: without the query */
	char target[OPERATION_TARGET_MAX]; /* path, host without brackets, name of a call */
	char text[OPERATION_TEXT_MAX];     /* the whole, with one space after the first word */
};

/* Parse an operation. 0 with *ret set, or -EINVAL with the fault and its remedy in `problem`. */
int operation_parse(const char *text, struct operation *ret, char problem[OPERATION_PROBLEM_MAX]);

/* Return the first word of an operation. */
const char *operation_kind_name(enum operation_kind kind);

#endif
