"""The list of system calls that a jailed program may make, as a seccomp filter.

What computing in memory takes is allowed. Everything else is refused with EPERM, which Python shows as a
PermissionError; and what only an attack makes (sockets, processes, signals, mounts, ptrace ...) kills the process.
Memory is never executable: no mapping may be made or changed to be.
"""

from __future__ import annotations

import ctypes
import os

from redqueen.checks.sandbox.jail_kernel import prctl

PR_SET_SECCOMP, FILTER = 22, 2
KILL, REFUSE, ALLOW = 0x80000000, 0x00050001, 0x7FFF0000  # REFUSE carries EPERM
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # classic BPF, 32-bit words
NUMBER, ARCHITECTURE, THIRD_ARGUMENT = 0, 4, 32  # offsets in struct seccomp_data, little-endian
FIRST_ARGUMENT = 16
PROT_EXEC, CLONE_THREAD = 4, 0x10000
MISSING = 0x00050026  # refused as if the kernel did not know it (ENOSYS)
X32 = 0x40000000  # x86-64's other table of calls

# name: numbers on x86-64 and on aarch64, None where there is none
ALLOWED: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "munmap": (11, 215),
    "brk": (12, 214),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "futex": (202, 98),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    "sched_yield": (24, 124),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "times": (100, 153),
    "getrusage": (98, 165),
    "getrandom": (318, 278),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "gettid": (186, 178),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "exit": (60, 93),
    "exit_group": (231, 94),
}
ALLOWED_UNLESS_EXECUTABLE: dict[str, tuple[int | None, int | None]] = {"mmap": (9, 222), "mprotect": (10, 226)}
DEADLY: dict[str, tuple[int | None, int | None]] = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    "sendto": (44, 206),
    "sendmsg": (46, 211),
    "recvmsg": (47, 212),
    "clone": (56, 220),
    "clone3": (435, 435),
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "kill": (62, 129),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pidfd_getfd": (438, 438),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "mount": (165, 40),
    "umount2": (166, 39),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "mount_setattr": (442, 442),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "open_by_handle_at": (304, 265),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "modify_ldt": (154, None),
    "reboot": (169, 142),
}
STARTING = frozenset(("clone", "clone3", "execve", "tkill", "socketpair", "sendto", "sendmsg", "recvmsg"))
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column above, AUDIT_ARCH

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("filter", ctypes.POINTER(_Instruction)))


class Filter:
    """A filter ready to be installed by each child."""

    def __init__(self, code: list[Instruction]) -> None:
        # what the program points to must live as long as it does
        self.instructions = (_Instruction * len(code))(*[_Instruction(*each) for each in code])
        self.program = _Program(len(code), self.instructions)

    def install(self) -> None:
        """Holds this process to the filter for good. Raises OSError."""
        prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(self.program))


def filter_for_programs() -> Filter:
    """The filter of this machine. Raises OSError on an architecture whose numbers are not listed here."""
    return Filter(instructions(*_machine()))


def filter_for_a_program_of_ours() -> Filter:
    """The filter for a program that is trusted to compute, with threads and a start of its own: no other process, and
    none of the calls that only an attack makes. Raises OSError on an architecture whose numbers are not listed here."""
    column, architecture = _machine()
    code = [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, architecture), _end(KILL)]
    code += [(LOAD, 0, 0, NUMBER), (AT_LEAST, 0, 1, X32), _end(KILL)]
    for name, numbers in DEADLY.items():
        if numbers[column] is not None and name not in STARTING:
            code += [(EQUAL, 0, 1, numbers[column] or 0), _end(REFUSE)]
    clone, clone3 = (DEADLY[name][column] or 0 for name in ("clone", "clone3"))
    code += [(EQUAL, 0, 1, clone3), _end(MISSING)]  # then the C library asks with clone, whose flags can be read
    code += [(EQUAL, 0, 3, clone), (LOAD, 0, 0, FIRST_ARGUMENT), (ANY_BIT, 1, 0, CLONE_THREAD), _end(REFUSE)]
    return Filter([*code, _end(ALLOW)])


def instructions(column: int, architecture: int) -> list[Instruction]:
    """The filter as classic BPF: each listed number is compared in turn."""
    code = [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, architecture), _end(KILL)]
    code += [(LOAD, 0, 0, NUMBER), (AT_LEAST, 0, 1, X32), _end(KILL)]
    for numbers, verdict in ((ALLOWED, ALLOW), (DEADLY, KILL)):
        for each in numbers.values():
            if each[column] is not None:
                code += [(EQUAL, 0, 1, each[column] or 0), _end(verdict)]
    for each in ALLOWED_UNLESS_EXECUTABLE.values():
        code += [(EQUAL, 0, 4, each[column] or 0), (LOAD, 0, 0, THIRD_ARGUMENT)]
        code += [(ANY_BIT, 0, 1, PROT_EXEC), _end(KILL), _end(ALLOW)]
    return [*code, _end(REFUSE)]


def _machine() -> tuple[int, int]:
    name = os.uname().machine
    if name not in MACHINES:
        raise OSError(f"no list of system calls for {name}")
    return MACHINES[name]


def _end(verdict: int) -> Instruction:
    return (RETURN, 0, 0, verdict)
