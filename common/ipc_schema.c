/* SPDX-License-Identifier: Apache-2.0
 *
 * The wire layout: for each message, its struct's fields in order. Data only.
 */
#include "common/ipc_all.h"

#define FIELD(kind_, type, member)                                                                 \
	{                                                                                          \
		.kind = IPC_FIELD_##kind_, .offset = offsetof(struct type, member),                \
		.size = sizeof(((struct type *)0)->member)                                         \
	}
#define BYTES(type, member)                                                                        \
	{                                                                                          \
		.kind = IPC_FIELD_BYTES, .offset = offsetof(struct type, member),                  \
		.size = sizeof(((struct type *)0)->member),                                        \
		.size_offset = offsetof(struct type, member##_size)                                \
	}

/* The fields of a message, each a kind and a member: FIELDS_n has n of them. */
#define FIELDS_1(type, kind, member) FIELD(kind, type, member)
#define FIELDS_2(type, kind, member, ...) FIELD(kind, type, member), FIELDS_1(type, __VA_ARGS__)
#define FIELDS_3(type, kind, member, ...) FIELD(kind, type, member), FIELDS_2(type, __VA_ARGS__)
#define FIELDS_4(type, kind, member, ...) FIELD(kind, type, member), FIELDS_3(type, __VA_ARGS__)
#define FIELDS_5(type, kind, member, ...) FIELD(kind, type, member), FIELDS_4(type, __VA_ARGS__)
#define FIELDS_6(type, kind, member, ...) FIELD(kind, type, member), FIELDS_5(type, __VA_ARGS__)
#define FIELDS_7(type, kind, member, ...) FIELD(kind, type, member), FIELDS_6(type, __VA_ARGS__)
#define FIELDS_8(type, kind, member, ...) FIELD(kind, type, member), FIELDS_7(type, __VA_ARGS__)
#define FIELDS_9(type, kind, member, ...) FIELD(kind, type, member), FIELDS_8(type, __VA_ARGS__)

/* The list of a message with so many fields. */
#define FIELDS(count, type, ...)                                                                   \
	static const struct ipc_field type##_fields[] = { FIELDS_##count(type, __VA_ARGS__) };

/* NOLINTBEGIN(bugprone-macro-parentheses): where it lies is a part of a name. */
/* A struct ipc_posture_measured and a struct ipc_posture_full that lie in another struct. */
#define MEASURED(type, at)                                                                         \
	FIELD(U32, type, at.landlock_abi), FIELD(U32, type, at.namespaces),                        \
		FIELD(U64, type, at.landlock_fs), FIELD(U64, type, at.landlock_net),               \
		FIELD(U64, type, at.landlock_scopes), FIELD(U32, type, at.layers_closed),          \
		FIELD(U32, type, at.layers_untried), FIELD(U32, type, at.error)
#define POSTURE(type, at)                                                                          \
	FIELD(U32, type, at.is_measured), FIELD(U32, type, at.limits),                             \
		FIELD(U32, type, at.controllers), FIELD(U32, type, at.seccomp_mode),               \
		FIELD(RAW, type, at.filter_hash), MEASURED(type, at.measured)
/* NOLINTEND(bugprone-macro-parentheses) */

/* clang-format off */
FIELDS(6, ipc_supervisor_start, RAW, schema, U32, frontend, U32, limits, U32, executions,
	   U64, memory_bytes, OPT, default_profile)
FIELDS(1, ipc_supervisor_cgroup, U32, has_io)
FIELDS(2, ipc_supervisor_pin, U32, profile, U32, mount)
FIELDS(1, ipc_supervisor_audit, STR, path)
FIELDS(3, ipc_audit_start, RAW, schema, U32, pid, STR, path)
static const struct ipc_field ipc_audit_record_fields[] = {
	FIELD(U64, ipc_audit_record, number),
	FIELD(U64, ipc_audit_record, lost),
	FIELD(U32, ipc_audit_record, wait_ms),
	FIELD(U32, ipc_audit_record, cpu),
	FIELD(U32, ipc_audit_record, event),
	FIELD(U32, ipc_audit_record, field_count),
	FIELD(U32, ipc_audit_record, reserved),
	FIELD(RAW, ipc_audit_record, fields),
	BYTES(ipc_audit_record, texts),
};
FIELDS(2, ipc_audit_written, U64, number, U32, error)
FIELDS(1, ipc_store_start, RAW, schema)
FIELDS(1, ipc_store_sandbox, U32, reserved)
FIELDS(1, ipc_store_note, RAW, note)
static const struct ipc_field ipc_store_ask_fields[] = {
	FIELD(U32, ipc_store_ask, operation),
	FIELD(U32, ipc_store_ask, number),
	FIELD(U64, ipc_store_ask, bytes),
	FIELD(U64, ipc_store_ask, inodes),
	FIELD(RAW, ipc_store_ask, census),
	FIELD(OPT, ipc_store_ask, name),
	FIELD(OPT, ipc_store_ask, owner),
	BYTES(ipc_store_ask, ids),
	BYTES(ipc_store_ask, meta),
};
static const struct ipc_field ipc_store_answer_fields[] = {
	FIELD(U32, ipc_store_answer, error),
	FIELD(U32, ipc_store_answer, value),
	FIELD(U32, ipc_store_answer, is_taken),
	FIELD(U64, ipc_store_answer, used_s),
	FIELD(RAW, ipc_store_answer, census),
	BYTES(ipc_store_answer, meta),
	BYTES(ipc_store_answer, made),
	BYTES(ipc_store_answer, ids),
};
FIELDS(1, ipc_store_directory, U32, reserved)
FIELDS(1, ipc_store_file, U32, reserved)
FIELDS(1, ipc_supervisor_unaudited, STR, problem)
FIELDS(1, ipc_supervisor_listen, U32, is_activated)
FIELDS(1, ipc_supervisor_notify, U64, watchdog_us)
FIELDS(2, ipc_client_start, RAW, schema, U32, limits)
FIELDS(1, ipc_client_started, U32, limits)
FIELDS(1, ipc_client_end, U32, reason)
FIELDS(1, ipc_status_ask, RAW, schema)
static const struct ipc_field ipc_status_fields[] = {
	FIELD(U32, ipc_status, pid),
	FIELD(U32, ipc_status, landlock_abi),
	FIELD(U32, ipc_status, limits),
	FIELD(U32, ipc_status, clients),
	FIELD(U32, ipc_status, clients_max),
	FIELD(U32, ipc_status, executions),
	FIELD(U32, ipc_status, executions_max),
	FIELD(U64, ipc_status, executions_started),
	FIELD(U64, ipc_status, executions_refused),
	FIELD(U64, ipc_status, memory_bytes),
	FIELD(U64, ipc_status, memory_max_bytes),
	FIELD(U32, ipc_status, generation),
	FIELD(U32, ipc_status, reload_failed),
	FIELD(U64, ipc_status, uptime_us),
	POSTURE(ipc_status, posture),
};
FIELDS(3, ipc_supervisor_run, U32, pins, U32, is_expected, OPT, profile)
FIELDS(1, ipc_policy_ask, U32, generation)
FIELDS(2, ipc_policy_new, U32, generation, U32, pins)
FIELDS(1, ipc_policy_bad, STR, text)
FIELDS(2, ipc_hello, RAW, schema, U32, limits)
static const struct ipc_field ipc_welcome_fields[] = {
	FIELD(RAW, ipc_welcome, schema),
	FIELD(U32, ipc_welcome, landlock_abi),
	FIELD(U32, ipc_welcome, limits),
	FIELD(U32, ipc_welcome, executions_max),
	FIELD(U32, ipc_welcome, is_service),
	FIELD(STR, ipc_welcome, offer.default_profile),
	BYTES(ipc_welcome, offer.languages),
	FIELD(OPT, ipc_welcome, posture_profile),
	POSTURE(ipc_welcome, posture),
};
static const struct ipc_field ipc_profile_posture_fields[] = {
	FIELD(STR, ipc_profile_posture, profile),
	POSTURE(ipc_profile_posture, posture),
};
static const struct ipc_field ipc_execution_start_fields[] = {
	FIELD(U64, ipc_execution_start, request),
	FIELD(U32, ipc_execution_start, timeout_ms),
	FIELD(U32, ipc_execution_start, no_hosts),
	FIELD(U32, ipc_execution_start, use_shell),
	FIELD(U32, ipc_execution_start, use_tty),
	FIELD(U32, ipc_execution_start, tty_rows),
	FIELD(U32, ipc_execution_start, tty_columns),
	FIELD(OPT, ipc_execution_start, profile),
	FIELD(OPT, ipc_execution_start, sandbox),
	FIELD(OPT, ipc_execution_start, owner),
	FIELD(OPT, ipc_execution_start, cwd),
	BYTES(ipc_execution_start, argv),
	BYTES(ipc_execution_start, environment),
};
static const struct ipc_field ipc_code_start_fields[] = {
	FIELD(U64, ipc_code_start, request),
	FIELD(U32, ipc_code_start, timeout_ms),
	FIELD(U32, ipc_code_start, no_hosts),
	FIELD(OPT, ipc_code_start, profile),
	FIELD(OPT, ipc_code_start, sandbox),
	FIELD(OPT, ipc_code_start, owner),
	FIELD(STR, ipc_code_start, language),
	FIELD(OPT, ipc_code_start, cwd),
	BYTES(ipc_code_start, argv),
	BYTES(ipc_code_start, environment),
};
FIELDS(2, ipc_execution_end, U64, request, U32, reason)
FIELDS(2, ipc_execution_signal, U64, request, U32, signal)
FIELDS(2, ipc_execution_extend, U64, request, U32, wall_ms)
FIELDS(2, ipc_execution_extended, U64, request, U64, wall_ms)
FIELDS(1, ipc_goodbye, U32, exit_code)
FIELDS(4, ipc_execution_refused, U64, request, U32, reason, U32, retry_ms, OPT, detail)
FIELDS(6, ipc_execution_started, U64, request, U64, output_bytes, U64, log_bytes, U64, wall_ms,
	   OPT, sandbox, OPT, profile)
FIELDS(4, ipc_execution_tty, U64, request, U64, output_bytes, U64, log_bytes, U64, wall_ms)
static const struct ipc_field ipc_policy_changed_fields[] = {
	FIELD(U32, ipc_policy_changed, generation),
	FIELD(STR, ipc_policy_changed, offer.default_profile),
	BYTES(ipc_policy_changed, offer.languages),
};
static const struct ipc_field ipc_execution_done_fields[] = {
	FIELD(U64, ipc_execution_done, request),
	FIELD(U32, ipc_execution_done, verdict),
	FIELD(U32, ipc_execution_done, exit_code),
	FIELD(U32, ipc_execution_done, signal),
	FIELD(U32, ipc_execution_done, stage),
	FIELD(U32, ipc_execution_done, error),
	FIELD(U32, ipc_execution_done, has_refusals),
	FIELD(U64, ipc_execution_done, wall_us),
	FIELD(U64, ipc_execution_done, cpu_us),
	FIELD(U64, ipc_execution_done, peak_bytes),
	FIELD(U64, ipc_execution_done, heard_us),
	FIELD(U64, ipc_execution_done, prepare_us),
	FIELD(U64, ipc_execution_done, sandbox_us),
	FIELD(U64, ipc_execution_done, start_us),
	FIELD(U64, ipc_execution_done, run_us),
	BYTES(ipc_execution_done, denials),
};
FIELDS(2, ipc_factory_start, RAW, schema, U32, limits)
FIELDS(1, ipc_factory_cgroup, U32, slots)
FIELDS(3, ipc_factory_pin, U32, generation, U32, profile, U32, mount)
FIELDS(1, ipc_factory_serve, U32, reserved)
FIELDS(1, ipc_factory_policy, U32, slot)
FIELDS(1, ipc_factory_forget, U32, slot)
FIELDS(2, ipc_factory_ready, U32, stage, U32, error)
FIELDS(1, ipc_sandbox_cgroup, U32, slot)
FIELDS(7, ipc_sandbox_create, U32, slot, U32, profile, U32, generation, U32, probe,
	     U32, layers, U32, lasts, U32, is_last)
FIELDS(1, ipc_sandbox_created, U32, slot)
FIELDS(3, ipc_sandbox_failed, U32, slot, U32, stage, U32, error)
FIELDS(2, ipc_helper_start, U32, slot, U32, kind)
FIELDS(1, ipc_helper_started, U32, slot)
FIELDS(1, ipc_spawn_stdio, U32, slot)
FIELDS(2, ipc_spawn_code, U32, slot, STR, path)
FIELDS(1, ipc_spawn_cgroup, U32, slot)
static const struct ipc_field ipc_spawn_fields[] = {
	FIELD(U32, ipc_spawn, slot),
	FIELD(U32, ipc_spawn, probe),
	FIELD(U32, ipc_spawn, use_tty),
	FIELD(U32, ipc_spawn, tty_rows),
	FIELD(U32, ipc_spawn, tty_columns),
	FIELD(U32, ipc_spawn, feed),
	FIELD(STR, ipc_spawn, cwd),
	BYTES(ipc_spawn, argv),
	BYTES(ipc_spawn, environment),
};
FIELDS(1, ipc_spawn_standby, U32, sandbox)
FIELDS(1, ipc_spawn_standby_leaf, U32, sandbox)
FIELDS(2, ipc_spawn_signal, U32, slot, U32, signal)
FIELDS(1, ipc_spawn_kill, U32, slot)
FIELDS(2, ipc_init_failed, U32, stage, U32, error)
FIELDS(1, ipc_spawn_listener, U32, slot)
static const struct ipc_field ipc_posture_fields[] = {
	FIELD(U32, ipc_posture, slot),
	MEASURED(ipc_posture, measured),
};
FIELDS(1, ipc_spawned_tty, U32, slot)
FIELDS(1, ipc_spawn_waits, U32, sandbox)
static const struct ipc_field ipc_spawn_done_fields[] = {
	FIELD(U32, ipc_spawn_done, slot),
	FIELD(U32, ipc_spawn_done, stage),
	FIELD(U32, ipc_spawn_done, error),
	FIELD(U32, ipc_spawn_done, status),
	FIELD(U32, ipc_spawn_done, over_memory),
	FIELD(U32, ipc_spawn_done, over_pids),
	FIELD(U32, ipc_spawn_done, over_disk),
	FIELD(U32, ipc_spawn_done, is_whole),
	FIELD(U64, ipc_spawn_done, cpu_us),
	FIELD(U64, ipc_spawn_done, peak_bytes),
	FIELD(U64, ipc_spawn_done, taken_us),
	FIELD(U64, ipc_spawn_done, executed_us),
	FIELD(U64, ipc_spawn_done, ended_us),
	BYTES(ipc_spawn_done, denials),
};
FIELDS(1, ipc_supervisor_state, U32, reserved)
FIELDS(1, ipc_supervisor_file, U32, reserved)
FIELDS(1, ipc_supervisor_stateless, STR, problem)
FIELDS(1, ipc_client_workspace, U32, is_start)
FIELDS(1, ipc_workspace_within, U32, is_start)
FIELDS(1, ipc_supervisor_opener, U32, reserved)
FIELDS(1, ipc_supervisor_gateway, U32, reserved)
FIELDS(4, ipc_workspace_ask, U32, number, U32, generation, U32, is_person, STR, path)
FIELDS(2, ipc_workspace_open, U32, number, STR, path)
FIELDS(2, ipc_workspace_bad, U32, number, STR, text)
static const struct ipc_field ipc_file_start_fields[] = {
	FIELD(U64, ipc_file_start, request),
	FIELD(STR, ipc_file_start, sandbox),
	FIELD(OPT, ipc_file_start, owner),
	BYTES(ipc_file_start, argv),
};
FIELDS(8, ipc_sandbox_new, U64, request, U32, workspace_mode, U32, ttl_s, U32, no_hosts, OPT, profile,
	     OPT, name, OPT, owner, OPT, workspace)
FIELDS(5, ipc_sandbox_list, U64, request, U32, is_everybody, OPT, owner, OPT, after, OPT, called)
FIELDS(4, ipc_sandbox_more, U64, request, U32, is_everybody, OPT, owner, STR, after)
FIELDS(4, ipc_sandbox_end, U64, request, U32, how, STR, sandbox, OPT, owner)
FIELDS(7, ipc_checkpoint_do, U64, request, U32, operation, U32, number, OPT, name,
	     OPT, of, STR, sandbox, OPT, owner)
static const struct ipc_field ipc_changes_start_fields[] = {
	FIELD(U64, ipc_changes_start, request),
	FIELD(U32, ipc_changes_start, operation),
	FIELD(U32, ipc_changes_start, conflict),
	FIELD(U32, ipc_changes_start, flags),
	FIELD(U32, ipc_changes_start, number),
	FIELD(U64, ipc_changes_start, skip),
	FIELD(U64, ipc_changes_start, most),
	FIELD(RAW, ipc_changes_start, expected),
	FIELD(STR, ipc_changes_start, sandbox),
	FIELD(OPT, ipc_changes_start, owner),
};
static const struct ipc_field ipc_sandbox_info_fields[] = {
	FIELD(U64, ipc_sandbox_info, request),
	FIELD(STR, ipc_sandbox_info, id),
	FIELD(OPT, ipc_sandbox_info, name),
	FIELD(OPT, ipc_sandbox_info, owner),
	FIELD(OPT, ipc_sandbox_info, profile),
	FIELD(OPT, ipc_sandbox_info, workspace),
	FIELD(U32, ipc_sandbox_info, workspace_mode),
	FIELD(U32, ipc_sandbox_info, is_live),
	FIELD(U32, ipc_sandbox_info, is_elsewhere),
	FIELD(U32, ipc_sandbox_info, is_damaged),
	FIELD(U32, ipc_sandbox_info, executions),
	FIELD(U32, ipc_sandbox_info, checkpoints),
	FIELD(U64, ipc_sandbox_info, created_s),
	FIELD(U64, ipc_sandbox_info, used_s),
	FIELD(U64, ipc_sandbox_info, expires_s),
	FIELD(U64, ipc_sandbox_info, disk_bytes),
};
FIELDS(6, ipc_checkpoint_info, U64, request, U32, number, U32, parent, U32, is_current,
	   U64, created_s, OPT, name)
FIELDS(1, ipc_changes_started, U64, request)
static const struct ipc_field ipc_changes_done_fields[] = {
	FIELD(U64, ipc_changes_done, request),
	FIELD(U32, ipc_changes_done, error),
	FIELD(U32, ipc_changes_done, step),
	FIELD(U32, ipc_changes_done, conflicts),
	FIELD(U32, ipc_changes_done, held),
	FIELD(U32, ipc_changes_done, applied),
	FIELD(U64, ipc_changes_done, total),
	FIELD(U64, ipc_changes_done, ignored),
	FIELD(RAW, ipc_changes_done, digest),
};
FIELDS(1, ipc_request_done, U64, request)
FIELDS(4, ipc_sandbox_layer, U32, number, U32, mount, U32, role, OPT, id)
FIELDS(1, ipc_sandbox_workspace, U32, reserved)
FIELDS(1, ipc_spawn_image, U32, slot)
FIELDS(1, ipc_layers_host, U32, reserved)
FIELDS(1, ipc_layers_directory, U32, role)
static const struct ipc_field ipc_layers_do_fields[] = {
	FIELD(RAW, ipc_layers_do, schema),
	FIELD(U32, ipc_layers_do, operation),
	FIELD(U32, ipc_layers_do, conflict),
	FIELD(U32, ipc_layers_do, flags),
	FIELD(U64, ipc_layers_do, skip),
	FIELD(U64, ipc_layers_do, most),
	FIELD(U64, ipc_layers_do, since_us),
	FIELD(RAW, ipc_layers_do, expected),
	FIELD(OPT, ipc_layers_do, name),
	FIELD(OPT, ipc_layers_do, workspace),
	BYTES(ipc_layers_do, held),
};
static const struct ipc_field ipc_layers_done_fields[] = {
	FIELD(U32, ipc_layers_done, error),
	FIELD(U32, ipc_layers_done, step),
	FIELD(U32, ipc_layers_done, conflicts),
	FIELD(U32, ipc_layers_done, held),
	FIELD(U32, ipc_layers_done, applied),
	FIELD(U64, ipc_layers_done, total),
	FIELD(U64, ipc_layers_done, ignored),
	FIELD(U64, ipc_layers_done, bytes),
	FIELD(U64, ipc_layers_done, inodes),
	FIELD(RAW, ipc_layers_done, digest),
};
FIELDS(1, ipc_network_socket, U32, has_hosts)
FIELDS(6, ipc_bridge_start, U64, request, U32, operation, U32, port, U32, host_port, STR, sandbox, OPT, owner)
FIELDS(5, ipc_bridge_give, U32, frontend, U32, port, U32, host_port, STR, sandbox, OPT, name)
FIELDS(1, ipc_bridge_open, U32, reserved)
FIELDS(1, ipc_bridge_look, U32, close)
FIELDS(1, ipc_bridge_show, U32, close)
FIELDS(2, ipc_bridge_bind, U32, port, U32, host_port)
FIELDS(2, ipc_client_bridge, U32, port, U32, host_port)
FIELDS(5, ipc_bridge_info, U64, since_s, U32, port, U32, host_port, STR, sandbox, OPT, name)
FIELDS(3, ipc_bridge_begin, RAW, schema, U32, port, U32, is_raw)
FIELDS(1, ipc_bridge_bound, U32, host_port)
FIELDS(2, ipc_bridge_ready, U32, step, U32, error)
FIELDS(5, ipc_bridge_end, U64, connections, U64, refused, U64, sent, U64, received, U32, reason)
FIELDS(1, ipc_gateway_start, RAW, schema)
FIELDS(1, ipc_gateway_policy, U32, slot)
FIELDS(1, ipc_gateway_forget, U32, slot)
FIELDS(1, ipc_cable_cuts, U32, slot)
FIELDS(4, ipc_cable_make, U32, slot, U32, use, U32, profile, OPT, sandbox)
FIELDS(1, ipc_cable_end, U32, slot)
FIELDS(6, ipc_cable_watch, U64, from.request, OPT, from.owner, OPT, from.sandbox, U32, frontend, U32, is_broker, U32, slot)
FIELDS(7, ipc_cable_execution, U64, request, U64, since_us, U32, frontend, U32, is_over, U32, slot, U32, place, OPT, owner)
FIELDS(3, ipc_network_watch, U64, request, OPT, owner, OPT, sandbox)
FIELDS(5, ipc_network_connection, U64, number, U64, sent, U64, received, U32, port, STR, host)
FIELDS(5, ipc_network_grant, U32, port, U32, frontend, U32, is_cut, OPT, host, OPT, owner)
FIELDS(1, ipc_network_granted, U32, error)
FIELDS(9, ipc_network_host, U64, time_us, U32, state, U32, frontend, U32, port, U32, count,
	OPT, host, OPT, owner, OPT, profile, OPT, sandbox)
FIELDS(5, ipc_network_denial, U32, port, U32, reason, U32, count, U32, is_shared, OPT, host)
FIELDS(6, ipc_connection_open, U64, number, U64, sent, U64, received, U32, look, U32, port, OPT, host)
FIELDS(6, ipc_connection_refused, U64, time_us, U32, slot, U32, use, U32, port, U32, reason,
	   STR, host)
FIELDS(7, ipc_connection_end, U64, number, U64, sent, U64, received, U32, slot, U32, use,
	     U32, reason, OPT, address)
FIELDS(2, ipc_egress_port, U32, slot, U32, use)
FIELDS(3, ipc_egress_cut, U32, slot, U32, use, OPT, host)
FIELDS(3, ipc_egress_look, U32, look, U32, slot, U32, use)
FIELDS(5, ipc_egress_begin, U32, slot, U32, use, U32, ports, U32, server, RAW, limits)
FIELDS(5, ipc_dial_begin, U32, slot, U32, use, U32, generation, U32, profile, OPT, sandbox)
FIELDS(4, ipc_name_ask, U64, number, U32, slot, U32, use, STR, host)
FIELDS(5, ipc_dial_ask, U64, number, U32, slot, U32, use, U32, port, STR, host)
FIELDS(4, ipc_dial_done, U64, number, U64, connection, U32, kind, STR, address)
FIELDS(2, ipc_dial_tighten, U32, slot, U32, use)
FIELDS(6, ipc_host_ask, U64, number, U32, slot, U32, use, U32, port, U32, is_listed, STR, host)
FIELDS(2, ipc_host_told, U64, number, U32, answer)
FIELDS(2, ipc_ask_done, U64, number, U32, result)
FIELDS(1, ipc_http_begin, U32, profile)
FIELDS(1, ipc_egress_http, U32, server)
FIELDS(1, ipc_gateway_http, U32, profile)
FIELDS(5, ipc_http_open, U64, number, U32, port, U32, is_counted, U32, idle_s, STR, host)
FIELDS(3, ipc_http_moved, U64, number, U64, sent, U64, received)
FIELDS(1, ipc_http_more, U64, number)
FIELDS(2, ipc_http_end, U64, number, U32, reason)
FIELDS(2, ipc_http_refused, U64, number, U32, reason)
FIELDS(4, ipc_http_done, U64, number, U64, sent, U64, received, U32, reason)
FIELDS(1, ipc_http_trust, U32, reserved)
FIELDS(1, ipc_http_secret, U32, index)

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* NOLINTBEGIN(bugprone-macro-parentheses): a string is an array's beginning. */
static const struct ipc_message messages[IPC_TYPE_COUNT] = {
#define IPC(name_, sender_, receiver_, phase_, fds_)                                               \
	[IPC_TYPE_##name_] = {                                                                     \
		.name = #name_, .sender = IPC_##sender_, .receiver = IPC_##receiver_,              \
		.phase = IPC_##phase_, .fds = fds_, .fields = ipc_##name_##_fields,              \
		.field_count = LENGTH(ipc_##name_##_fields),                                       \
		.struct_size = sizeof(struct ipc_##name_),                                         \
	},
#include "common/ipc_messages.def"
#undef IPC
};
/* NOLINTEND(bugprone-macro-parentheses) */
/* clang-format on */

const struct ipc_message *ipc_message(uint32_t type)
{
	return type > IPC_TYPE_NONE && type < IPC_TYPE_COUNT ? &messages[type] : NULL;
}
