/* SPDX-License-Identifier: Apache-2.0
 *
 * The description of a message: IPC_MESSAGE(name, rows) is its struct, `struct ipc_<name>`, and in
 * ipc_schema.c its list of fields as well, so that both agree. A row is a field:
 *
 *   (U32, x) (U64, x)    a number
 *   (RAW, x, size)       bytes of a fixed size
 *   (STR, x, size)       a text of 1 to size - 1 bytes
 *   (OPT, x, size)       a text that may be empty
 *   (BYTES, x, size)     0 to size bytes; before x comes x_size, which has their number
 *   (STRUCT, x, type)    a struct without padding, which is copied
 *   (STRUCTS, x, type, count)
 *   (HEAD, OPT)          the members of struct ipc_head, as they are and as `head`: at most once,
 *                        as the first row. (HEAD, STR): the sandbox is named
 *
 * No struct is empty: a message without fields has (U32, reserved).
 */
#ifndef COMMON_IPC_IPC_MESSAGE_H
#define COMMON_IPC_IPC_MESSAGE_H

#include <stdint.h>

#include "common/limits.h"

/* clang-format off */
/* IPC_EACH(do, of, rows): do(of, row) for each of 1 to 20 rows. */
#define IPC_EACH_1(do, of, row) do(of, row)
#define IPC_EACH_2(do, of, row, ...) do(of, row) IPC_EACH_1(do, of, __VA_ARGS__)
#define IPC_EACH_3(do, of, row, ...) do(of, row) IPC_EACH_2(do, of, __VA_ARGS__)
#define IPC_EACH_4(do, of, row, ...) do(of, row) IPC_EACH_3(do, of, __VA_ARGS__)
#define IPC_EACH_5(do, of, row, ...) do(of, row) IPC_EACH_4(do, of, __VA_ARGS__)
#define IPC_EACH_6(do, of, row, ...) do(of, row) IPC_EACH_5(do, of, __VA_ARGS__)
#define IPC_EACH_7(do, of, row, ...) do(of, row) IPC_EACH_6(do, of, __VA_ARGS__)
#define IPC_EACH_8(do, of, row, ...) do(of, row) IPC_EACH_7(do, of, __VA_ARGS__)
#define IPC_EACH_9(do, of, row, ...) do(of, row) IPC_EACH_8(do, of, __VA_ARGS__)
#define IPC_EACH_10(do, of, row, ...) do(of, row) IPC_EACH_9(do, of, __VA_ARGS__)
#define IPC_EACH_11(do, of, row, ...) do(of, row) IPC_EACH_10(do, of, __VA_ARGS__)
#define IPC_EACH_12(do, of, row, ...) do(of, row) IPC_EACH_11(do, of, __VA_ARGS__)
#define IPC_EACH_13(do, of, row, ...) do(of, row) IPC_EACH_12(do, of, __VA_ARGS__)
#define IPC_EACH_14(do, of, row, ...) do(of, row) IPC_EACH_13(do, of, __VA_ARGS__)
#define IPC_EACH_15(do, of, row, ...) do(of, row) IPC_EACH_14(do, of, __VA_ARGS__)
#define IPC_EACH_16(do, of, row, ...) do(of, row) IPC_EACH_15(do, of, __VA_ARGS__)
#define IPC_EACH_17(do, of, row, ...) do(of, row) IPC_EACH_16(do, of, __VA_ARGS__)
#define IPC_EACH_18(do, of, row, ...) do(of, row) IPC_EACH_17(do, of, __VA_ARGS__)
#define IPC_EACH_19(do, of, row, ...) do(of, row) IPC_EACH_18(do, of, __VA_ARGS__)
#define IPC_EACH_20(do, of, row, ...) do(of, row) IPC_EACH_19(do, of, __VA_ARGS__)
#define IPC_PICK(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, \
	_18, _19, _20, name, ...) name
#define IPC_EACH(do, of, ...) \
	IPC_PICK(__VA_ARGS__, IPC_EACH_20, IPC_EACH_19, IPC_EACH_18, IPC_EACH_17, IPC_EACH_16, \
	IPC_EACH_15, IPC_EACH_14, IPC_EACH_13, IPC_EACH_12, IPC_EACH_11, IPC_EACH_10, IPC_EACH_9, \
	IPC_EACH_8, IPC_EACH_7, IPC_EACH_6, IPC_EACH_5, IPC_EACH_4, IPC_EACH_3, IPC_EACH_2, \
	IPC_EACH_1, 0)(do, of, __VA_ARGS__)
/* clang-format on */

#define IPC_UNWRAP(...) __VA_ARGS__

/* A row in the struct. */
#define IPC_MEMBER(of, row) IPC_MEMBER_OF(IPC_UNWRAP row)
#define IPC_MEMBER_OF(...) IPC_MEMBER_BY(__VA_ARGS__)
#define IPC_MEMBER_BY(kind, ...) IPC_MEMBER_##kind(__VA_ARGS__)
#define IPC_MEMBER_U32(x) uint32_t x;
#define IPC_MEMBER_U64(x) uint64_t x;
#define IPC_MEMBER_RAW(x, size) uint8_t x[size];
#define IPC_MEMBER_STR(x, size) char x[size];
#define IPC_MEMBER_OPT(x, size) char x[size];
#define IPC_MEMBER_BYTES(x, size)                                                                  \
	uint32_t x##_size;                                                                         \
	uint8_t x[size];
#define IPC_MEMBER_STRUCT(x, type) struct type x;
#define IPC_MEMBER_STRUCTS(x, type, count) struct type x[count];

/* The beginning of each request of a frontend that is about a sandbox. */
#define IPC_HEAD_MEMBERS                                                                           \
	uint64_t request;           /* chosen by the frontend, unique among its live ones */       \
	char sandbox[IPC_NAME_MAX]; /* id, or name of the owner's; empty: none */                  \
	char owner[IPC_NAME_MAX];   /* owner of the sandboxes; empty: the user */

struct ipc_head {
	IPC_HEAD_MEMBERS
};

#define IPC_MEMBER_HEAD(kind)                                                                      \
	union {                                                                                    \
		struct ipc_head head;                                                              \
		struct {                                                                           \
			IPC_HEAD_MEMBERS                                                           \
		};                                                                                 \
	};

#define IPC_STRUCT(name, ...)                                                                      \
	struct ipc_##name {                                                                        \
		IPC_EACH(IPC_MEMBER, name, __VA_ARGS__)                                            \
	}

#ifndef IPC_MESSAGE
#define IPC_MESSAGE IPC_STRUCT
#endif

#endif
