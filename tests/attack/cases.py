# SPDX-License-Identifier: Apache-2.0
"""The cases that the attacks of this folder are tests of: what has gone wrong in systems of this
kind, and what follows from it for ours. Nothing here is a test.

A case is shown by attacks that name it, by tests in other folders ("FILE: NAME"), or not at all
while what it is about does not exist yet: then `absent` says so."""
import collections

Case = collections.namedtuple("Case", "title elsewhere absent")


def case(title, *elsewhere, absent=None):
    return Case(title, elsewhere, absent)


FAULT, INTEGRATION, UNIT = "tests/fault/", "tests/integration/", "tests/unit/"
LIMITS = INTEGRATION + "sandbox_limits.py: "
YAML = UNIT + "policy/profile_test.c: "

CASES = {
    # What has happened to others.
    "T1": case("symbolic links as parents of a mount target; /var/run still leads to /run",
               "tests/attack/binds.py: test_the_profiles_own_links_work",
               UNIT + "child-init/mounts_test.c: a_target_may_not_lead_out_of_the_tree"),
    "T2": case("tracing the init, or its memory, by a process of the same user"),
    "T3": case("input pushed into a terminal (TIOCSTI, TIOCLINUX), upper bits of the request set"),
    "T4": case("writing the program of the init or of the host through /proc"),
    "T5": case("left-over descriptors; a working directory that one leads to",
               "tests/attack/files.py: test_none_of_1024"),
    "T6": case("what masks parts of /proc, and devices, replaced",
               UNIT + "child-init/mounts_test.c: another_device_of_that_name_is_refused",
               UNIT + "child-init/mounts_test.c: what_is_no_device_is_refused",
               absent="images of a root file system, in which /dev and /proc could be links"),
    "T7": case("capabilities after the start; user ids",
               absent="images, in which /dev could be a link, and users chosen by a request"),
    "T8": case("a later execution with less confinement than the first"),
    "T9": case("races with the folders of an overlay",
               UNIT + "child-init/enter_test.c: what_is_written_to_an_overlay_stays_in_the_sandbox",
               "tests/attack/pinned.py: test_between_two_sandboxes"),
    "T10": case("set-user-ID bits and file capabilities",
                "tests/attack/pinned.py: test_set_id_bits_of_the_host",
                absent="changes applied to the host"),
    "T11": case("mounts and namespaces by new calls; numbers above the table",
                UNIT + "policy/builtin_test.c: every_number_has_the_answer_of_its_group"),
    "T12": case("the system call tables of other architectures",
                UNIT + "policy/builtin_test.c: i386_and_x32_are_killed"),
    "T13": case("io_uring"),
    "T14": case("sockets of the host's servers, by path and by abstract name"),
    "T15": case("empty, broken and half-written policies",
                FAULT + "hostile_frontend.py: test_a_policy_with_changed_bytes",
                absent="reloading a policy, and a proxy that could be killed"),
    "T16": case("host names that are read in two ways", absent="an allow-list of hosts"),
    "T17": case("ways to the network around what the environment says",
                "tests/attack/network.py: test_there_is_no_way_out",
                absent="a proxy that a relay inside could use"),
    "T18": case("files that the host executes, made or changed inside",
                absent="changes applied to the host's project"),
    "T19": case("what a request says becoming policy", "tests/attack/files.py: test_escapes"),
    "T20": case("results replaced by links, devices or sparse files",
                absent="collecting files from a sandbox"),
    "T21": case("changes lost or revived by a kill",
                absent="changes applied to the host's project"),
    "T22": case("a notified supervisor that cannot read a workload's memory",
                LIMITS + "test_in_a_process_that_hides_its_memory",
                absent="decisions by user notification: filters decide alone"),
    "T23": case("file tools that see more than a command does", absent="file tools"),
    "T24": case("the control interface, reached from inside",
                INTEGRATION + "http_ladder.py: test_none",
                INTEGRATION + "http_ladder.py: test_hosts"),
    # Faults of earlier systems of this design.
    "F1": case("Landlock as far as it goes, which may be nowhere",
               FAULT + "setup_faults.py: test_a_kernel_without_landlock",
               UNIT + "common/landlock_test.c: entering_fails_loudly"),
    "F2": case("the protocol's own streams inherited by a workload",
               "tests/attack/files.py: test_none_of_the_server"),
    "F3": case("protected paths shown by another spelling, or with what is around them",
               "tests/attack/binds.py: test_allowed"),
    "F4": case("protected paths compared as text"),
    "F5": case("overlays that merge folders at the root",
               UNIT + "child-init/enter_test.c: two_overlays_of_one_folder"),
    "F6": case("a command as the first process: no reaper, no signals",
               "tests/attack/processes.py: test_orphans_are_reaped",
               "tests/attack/processes.py: test_signals_work_as_usual"),
    "F7": case("commands looked up among the host's files"),
    "F8": case("sessions without locks, process ids used again, clean-up of what was to stay",
               absent="sandboxes that outlive an execution"),
    "F9": case("a timeout that ends the shell alone",
               LIMITS + "test_a_timeout_ends_all_of_it_and_keeps_the_output",
               LIMITS + "test_children_that_keep_the_output_open"),
    "F10": case("output without bounds; bytes that are no text as an error",
                LIMITS + "test_a_flood_costs_constant_memory",
                INTEGRATION + "mcp_tools.py: test_output_is_always_text"),
    "F11": case("the host's whole /etc inside"),
    "F12": case("names and policy fields accepted and ignored",
                INTEGRATION + "cli_run.py: test_unknown_profile",
                YAML + "a_mistake_names_file_line_key_and_what_was_expected"),
    "F13": case("races of parallel starts", INTEGRATION + "stress_many.py: test_one_server"),
    # Between client, server and workload.
    "M1": case("Host and Origin of requests",
               INTEGRATION + "http_ladder.py: test_hosts",
               INTEGRATION + "http_ladder.py: test_origins"),
    "M2": case("paths compared by prefix"),
    "M3": case("a link in the workspace that widens a file tool", absent="file tools"),
    "M4": case("terminal escapes and invalid UTF-8 in results",
               INTEGRATION + "mcp_tools.py: test_output_is_always_text"),
    "M5": case("a workload that prints messages of the protocol, or one endless line",
               INTEGRATION + "mcp_tools.py: test_a_workload_cannot_speak_for_the_server"),
    "M6": case("secrets on command lines, in other executions, in logs and errors"),
    "M7": case("cursors and request states that a client can forge",
               UNIT + "broker/mcp_sealed_test.c: nothing_but_the_whole_text_opens",
               UNIT + "broker/mcp_sealed_test.c: a_state_is_its_requests_own",
               UNIT + "broker/mcp_era_test.c: cursors"),
    # What they mean for the init.
    "R1": case("no descriptor of ours, in the first moment of a workload",
               "tests/attack/processes.py: test_its_descriptors_are_never_shown_early"),
    "R2": case("the init tells a workload nothing of itself"),
    "R3": case("nothing outlives its parent, whenever that is killed",
               FAULT + "killed.py: test_each_process_by_each_signal",
               FAULT + "killed.py: DuringStart"),
    "R4": case("each failing call of a set-up ends the start",
               FAULT + "setup_faults.py: test_init", FAULT + "setup_faults.py: test_workload"),
    "R5": case("what Landlock does not cover: Fast Open, multipath TCP, whiteouts"),
    "R6": case("mounts are made in trees that no workload ran in, and checked by descriptor",
               UNIT + "child-init/mounts_test.c: a_bind_that_is_another_inode_now_is_refused"),
    # Of every sandbox.
    "K1": case("parts of the kernel with a record of faults"),
    "K2": case("socket families with kernel code of their own"),
    "L1": case("more of something than the profile gives",
               LIMITS + "test_a_fork_bomb_is_bounded"),
    "P1": case("the host's processes"),
    "P2": case("the host's files"),
}
