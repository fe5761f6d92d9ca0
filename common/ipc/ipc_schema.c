/* SPDX-License-Identifier: Apache-2.0
 *
 * The wire layout: for each message, its struct's fields in order. Data only.
 */
#include "common/ipc/ipc.h"
#include "common/ipc/ipc_message.h"

/* A row in the list of a struct's fields. */
#define IPC_FIELD(of, row) IPC_FIELD_OF(of, IPC_UNWRAP row)
#define IPC_FIELD_OF(of, ...) IPC_FIELD_BY(of, __VA_ARGS__)
#define IPC_FIELD_BY(of, kind, ...) IPC_FIELD_AS_##kind(of, __VA_ARGS__)
/* NOLINTBEGIN(bugprone-macro-parentheses): names of members and types. */
#define FIELD(kind_, of, x, ...)                                                                   \
	{ .kind = IPC_FIELD_##kind_,                                                               \
	  .offset = offsetof(struct ipc_##of, x),                                                  \
	  .size = sizeof(((struct ipc_##of *)0)->x),                                               \
	  __VA_ARGS__ },
#define IPC_FIELD_AS_U32(of, x) FIELD(U32, of, x, )
#define IPC_FIELD_AS_U64(of, x) FIELD(U64, of, x, )
#define IPC_FIELD_AS_RAW(of, x, ...) FIELD(RAW, of, x, )
#define IPC_FIELD_AS_STR(of, x, ...) FIELD(STR, of, x, )
#define IPC_FIELD_AS_OPT(of, x, ...) FIELD(OPT, of, x, )
#define IPC_FIELD_AS_BYTES(of, x, ...)                                                             \
	FIELD(BYTES, of, x, .size_offset = offsetof(struct ipc_##of, x##_size))
#define IPC_FIELD_AS_STRUCT(of, x, ...) FIELD(RAW, of, x, )
#define IPC_FIELD_AS_STRUCTS(of, x, ...) FIELD(RAW, of, x, )
#define IPC_FIELD_AS_HEAD(of, kind)                                                                \
	FIELD(U64, of, request, ) FIELD(kind, of, sandbox, ) FIELD(OPT, of, owner, )
/* NOLINTEND(bugprone-macro-parentheses) */

#undef IPC_MESSAGE
#define IPC_MESSAGE(name, ...)                                                                     \
	IPC_STRUCT(name, __VA_ARGS__);                                                             \
	static const struct ipc_field ipc_##name##_fields[] = { IPC_EACH(IPC_FIELD, name,          \
									 __VA_ARGS__) }

#include "common/ipc/ipc_all.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* NOLINTBEGIN(bugprone-macro-parentheses): a string is an array's beginning. */
static const struct ipc_message messages[IPC_TYPE_COUNT] = {
#define IPC(name_, sender_, receiver_, phase_, fds_)                                               \
	[IPC_TYPE_##name_] = {                                                                     \
		.name = #name_,                                                                    \
		.sender = IPC_##sender_,                                                           \
		.receiver = IPC_##receiver_,                                                       \
		.phase = IPC_##phase_,                                                             \
		.fds = fds_,                                                                       \
		.fields = ipc_##name_##_fields,                                                    \
		.field_count = LENGTH(ipc_##name_##_fields),                                       \
		.struct_size = sizeof(struct ipc_##name_),                                         \
	},
#include "common/ipc/ipc_messages.def"
#undef IPC
};
/* NOLINTEND(bugprone-macro-parentheses) */

const struct ipc_message *ipc_message(uint32_t type)
{
	return type > IPC_TYPE_NONE && type < IPC_TYPE_COUNT ? &messages[type] : NULL;
}
