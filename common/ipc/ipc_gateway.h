/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of the gateway: msp-cable, which alone talks with the supervisor, msp-egress and
 * msp-dial. To these two msp-cable is their supervisor: IPC_GATEWAY is either end of that.
 */
#ifndef COMMON_IPC_IPC_GATEWAY_H
#define COMMON_IPC_IPC_GATEWAY_H

#include "common/ipc/ipc_message.h"
#include "common/records/counters.h"

/* clang-format off */

/* The descriptors that each program is executed with, beside its standard ones, without an argument
 * and a variable. The launcher starts msp-cable, which starts the other two. */
enum gateway_fd {
	GATEWAY_FD_CHANNEL = 3, /* to the supervisor; msp-egress and msp-dial: to msp-cable */
	GATEWAY_FD_PEER,        /* msp-egress and msp-dial: to one another */
	GATEWAY_FD_COUNTERS,    /* both: the counters of refusals */
	GATEWAY_FD_END,
	GATEWAY_FD_RECORDS = GATEWAY_FD_END, /* msp-dial: the supervisor's end of the gateway's own
					      * msp-audit's channel */
	GATEWAY_FD_EGRESS = GATEWAY_FD_PEER, /* msp-cable: the program msp-egress, */
	GATEWAY_FD_DIAL,                     /* and msp-dial; */
	GATEWAY_FD_HTTP,                     /* and msp-http; */
	GATEWAY_FD_LAUNCHER,                 /* to the launcher (IPC_GATEWAY to IPC_LAUNCHER); */
	GATEWAY_FD_AUDIT,                    /* as GATEWAY_FD_RECORDS, to send; */
	GATEWAY_FD_CABLE_COUNTERS,           /* and the counters of the other two */
};

/* An address that was dialled. */
#define IPC_ADDRESS_MAX 46

/* fds: the end of a pipe, to which one byte is written when the cable is made; and a NETLINK_ROUTE
 * socket that was opened in the sandbox's network namespace. From a sandbox with hosts, whose init
 * waits for the byte, and fails if the pipe is closed without one; and from each persistent one,
 * for bridges. */
IPC_MESSAGE(network_socket, (U32, has_hosts));

/* The first message, passed on to each program. */
IPC_MESSAGE(gateway_start, (RAW, schema, IPC_SCHEMA_BYTES));

/* From msp-cable to msp-dial. fd: sealed policy blob */
IPC_MESSAGE(gateway_policy,
	(U32, slot)); /* under which it is kept, below GENERATIONS_MAX; not in use */

/* No other cable will come from it; those that there are have ended. */
IPC_MESSAGE(gateway_forget, (U32, slot));

/* The file of a persistent sandbox for the hosts that a person has taken away, before its
 * cable_make. fd: opened for both directions */
IPC_MESSAGE(cable_cuts, (U32, slot));

/* Make the cable of a sandbox, with a listener for each port of its profile. fds: those of
 * network_socket, and the sealed policy blob. The byte comes after egress_begin and dial_begin are
 * sent; where the cable cannot be made, the pipe is closed. */
IPC_MESSAGE(cable_make,
	(U32, slot),
	(U32, use),                  /* number of the cable, never given again: records have it */
	(U32, profile),              /* index in the blob */
	(OPT, sandbox, IPC_ID_MAX)); /* the sandbox's id; empty: it is ephemeral */

enum cable_step {
	CABLE_STEP_POLICY,    /* no such policy or profile */
	CABLE_STEP_CUTS,      /* no room for what was taken away */
	CABLE_STEP_SOCKET,    /* not a routing socket of a sandbox below the factory's namespace */
	CABLE_STEP_ENTER,     /* entering the factory's user namespace */
	CABLE_STEP_READER,    /* beginning the server that reads requests */
	CABLE_STEP_NAMESPACE, /* making the gateway's network namespace */
	CABLE_STEP_LISTEN,    /* opening the listeners in it */
	CABLE_STEP_PAIR,      /* making the veth pair */
	CABLE_STEP_GATEWAY,   /* raising its end there, and its routes */
	CABLE_STEP_SANDBOX,   /* raising eth0, its address and its route */
	CABLE_STEP_CARRIER,   /* waiting for the carrier */
	CABLE_STEP_RETURN,    /* going back to its own network namespace */
	CABLE_STEP_COUNT
};

/* The sandbox has ended. The cable's connections do, too, if it could be made. */
IPC_MESSAGE(cable_end, (U32, slot));

/* An execution is about to begin in a sandbox, whose cable may come later, or is over. From its
 * begin on the sandbox is that client's and owner's. An ephemeral sandbox has one execution: its
 * begin is told where hosts can be added, its end also where something was refused. */
IPC_MESSAGE(cable_execution,
	(U64, request),  /* for which the frontend asks after the end (network_watch) */
	(U64, since_us), /* its refusals are no older, by the monotonic clock */
	(U32, frontend), /* 0: it has gone */
	(U32, is_over), (U32, slot),
	(U32, place), /* below EXECUTIONS_MAX; other executions at once have others */
	(OPT, owner, IPC_NAME_MAX));

/* An open connection, for an egress_look; with number 0 and no host: those were all. */
IPC_MESSAGE(connection_open,
	(U64, number), /* as in dial_done */
	(U64, sent), (U64, received), /* bytes so far; those of msp-http are not known before the end */
	(U32, look), (U32, port), (OPT, host, IPC_HOST_MAX));

/* The end of a connection whose begin is recorded. */
enum connection_end {
	CONNECTION_END_SIDES = 0, /* a side closed it */
	CONNECTION_END_SANDBOX,   /* the sandbox ended */
	CONNECTION_END_DIAL,      /* no address took it in time */
	CONNECTION_END_NO_ROUTE,  /* the machine has no route to any: no network, perhaps */
	CONNECTION_END_FORBIDDEN, /* no address may be dialled: `address` is the last one */
	CONNECTION_END_NO_TLS,    /* the first bytes were no ClientHello of the host's name */
	CONNECTION_END_NO_NAME,
	CONNECTION_END_OTHER_NAME,
	CONNECTION_END_HIDDEN_NAME,
	CONNECTION_END_LATE,
	CONNECTION_END_LIMIT,       /* msp-egress has no room, or does not come to it */
	CONNECTION_END_SPENT,       /* the sandbox has moved as many bytes as its profile allows */
	CONNECTION_END_IDLE,        /* no byte moved for as long as the profile allows */
	CONNECTION_END_CERTIFICATE, /* the host's certificate is not one of its name */
	CONNECTION_END_REQUEST,     /* a request was refused, or is none */
	CONNECTION_END_ANSWER,      /* the host's answer is none that can be passed on */
	CONNECTION_END_READER,      /* the server of msp-http ended */
	CONNECTION_END_PROXY_DIAL,  /* the profile's proxy took no connection in time */
	CONNECTION_END_PROXY_REFUSED,
	CONNECTION_END_PROXY_LOGIN,  /* it wants a login */
	CONNECTION_END_PROXY_ANSWER, /* its answer was none, or did not come in time */
	CONNECTION_END_CUT,          /* a person took the host away */
	CONNECTION_END_PARTIAL,      /* the host ended it within an answer */
	CONNECTION_END_COUNT
};

IPC_MESSAGE(connection_end,
	(U64, number), (U64, sent), (U64, received), /* bytes that host and workload took */
	(U32, slot), (U32, use),
	(U32, reason),                    /* enum connection_end */
	(OPT, address, IPC_ADDRESS_MAX)); /* empty: none was dialled */

/* A name or a connection is refused by policy, or failed. Sent before the workload hears of it. */
IPC_MESSAGE(connection_refused,
	(U64, time_us), /* monotonic clock */
	(U32, slot), (U32, use),
	(U32, port),   /* 0: a name was asked for */
	(U32, reason), /* enum connection_refused */
	(STR, host, IPC_HOST_MAX));

enum connection_refused {
	CONNECTION_REFUSED_HOST = 0, /* no entry covers the host */
	CONNECTION_REFUSED_PORT,     /* an entry covers the host, none with this port */
	CONNECTION_REFUSED_ADDRESS,  /* the host led only to addresses that may not be dialled */
	CONNECTION_REFUSED_TLS,      /* the first bytes were no ClientHello with the host's name */
	CONNECTION_REFUSED_LIMIT,    /* a limit of the profile for bytes is reached */
	CONNECTION_REFUSED_REQUEST,  /* a method or a path that no rule allows, or no request */
	CONNECTION_REFUSED_SECRET,   /* a placeholder in another place, or for another host */
	CONNECTION_REFUSED_PROXY,    /* the profile's proxy refuses to connect to the host */
	CONNECTION_REFUSED_CUT,      /* a person took the host away */
	CONNECTION_REFUSED_HIDDEN,   /* a ClientHello that may hide another name (ECH) */
	CONNECTION_REFUSED_NAMES,    /* too many names below a wildcard */
	CONNECTION_REFUSED_OWN,      /* as ADDRESS, and one address is this machine's */
	/* Failures with hosts that policy allows: counted with the refusals, and no denials. */
	CONNECTION_UNKNOWN,         /* no name server knows the host */
	CONNECTION_UNREACHED,       /* no name server answered, or no address took a connection */
	CONNECTION_PROXY_UNREACHED, /* the profile's proxy took no connection, or did not answer */
	CONNECTION_REFUSED_COUNT
};

/* Between msp-cable and the other two, in the place of the supervisor. fd: a listener */
IPC_MESSAGE(egress_port,
	(U32, slot),
	(U32, use)); /* a running sandbox's; 0: the next egress_begin's */

/* End the connections of a sandbox with a host. */
IPC_MESSAGE(egress_cut,
	(U32, slot), (U32, use),
	(OPT, host, IPC_HOST_MAX)); /* empty: all hosts */

/* Say which connections of a sandbox are open. */
IPC_MESSAGE(egress_look,
	(U32, look), /* comes back */
	(U32, slot), (U32, use));

/* fd: the listener for questions */
IPC_MESSAGE(egress_begin,
	(U32, slot), (U32, use),
	(U32, ports),  /* how many egress_port came before */
	(U32, server), /* as in egress_http; HTTP_SERVERS_MAX: there is none */
	(STRUCT, limits, network_limits));

/* Servers of msp-http at once, by profiles of plans. */
#define HTTP_SERVERS_MAX 64

/* A server for sandboxes to come, and in the place of one with the number. fd: its channel
 * (IPC_EGRESS to IPC_HTTP) */
IPC_MESSAGE(egress_http, (U32, server));

/* From the launcher to msp-cable: a server can be begun for a profile, also in the place of one
 * that has ended. It comes before the supervisor has the policy. fds: those of http_begin but for
 * the policy; the other end of the first (IPC_EGRESS to IPC_HTTP); the sealed policy blob */
IPC_MESSAGE(gateway_http, (U32, profile));

IPC_MESSAGE(dial_begin,
	(U32, slot), (U32, use), (U32, generation), (U32, profile),
	(OPT, sandbox, IPC_ID_MAX)); /* as in cable_make */

/* Questions of msp-egress, and so of msp-dial, at once. */
#define GATEWAY_ASKS_MAX 1024U

/* From msp-cable to msp-dial: from now on ask about each host of a sandbox, since some are taken
 * away.
 */
IPC_MESSAGE(dial_tighten, (U32, slot), (U32, use));

/* From msp-dial to msp-cable, about a name that the plan has no entry for, where its profile lets
 * hosts be added; or about any host. The answer knows all that the supervisor has said before. */
IPC_MESSAGE(host_ask,
	(U64, number), /* comes back */
	(U32, slot), (U32, use),
	(U32, port),      /* 0: any */
	(U32, is_listed), /* the plan has an entry */
	(STR, host, IPC_HOST_MAX));

enum host_answer {
	HOST_ANSWER_REFUSED = 0,
	HOST_ANSWER_GRANTED,
	HOST_ANSWER_CUT, /* a person took it away */
	HOST_ANSWER_COUNT
};

IPC_MESSAGE(host_told,
	(U64, number),
	(U32, answer)); /* enum host_answer */

/* Between msp-egress and msp-dial. A question for a name; ask_done answers. */
IPC_MESSAGE(name_ask,
	(U64, number), /* comes back */
	(U32, slot), (U32, use), (STR, host, IPC_HOST_MAX));

/* Connect to a host. dial_done or ask_done answers. */
IPC_MESSAGE(dial_ask,
	(U64, number), /* comes back */
	(U32, slot), (U32, use), (U32, port), (STR, host, IPC_HOST_MAX));

/* fd: a connected socket, which does not block */
IPC_MESSAGE(dial_done,
	(U64, number),
	(U64, connection), /* counts this gateway's; connection_end is msp-egress's to send */
	(U32, kind),       /* enum plan_host_kind */
	(STR, address, IPC_ADDRESS_MAX));

enum dial_result {
	DIAL_RESULT_FINE = 0, /* the name has an address */
	DIAL_RESULT_REFUSED,  /* the policy does not have it, or an address is forbidden */
	DIAL_RESULT_NO_NAME,  /* the name does not exist */
	DIAL_RESULT_FAILED,   /* no server, address or record could be had */
	DIAL_RESULT_COUNT
};

IPC_MESSAGE(ask_done,
	(U64, number),
	(U32, result)); /* enum dial_result; of a dial never DIAL_RESULT_FINE */

/* clang-format on */

#endif
