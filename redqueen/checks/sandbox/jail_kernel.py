"""What the jail asks of the Linux kernel through the C library: namespaces, an empty root, Landlock, capabilities,
limits. Every function raises OSError where the kernel says no.

A worker of Monty starts with this module, so it imports nothing that takes long.
"""

from __future__ import annotations

import ctypes
import os
import resource

LIBC = ctypes.CDLL(None, use_errno=True)
NOBODY = 65534
SIGKILL = 9

NEW_USER, NEW_PID, NEW_MOUNTS, NEW_NET, NEW_IPC, NEW_UTS = (
    0x10000000,
    0x20000000,
    0x00020000,
    0x40000000,
    0x08000000,
    0x04000000,
)
MS_READONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_RECURSIVE, MS_PRIVATE = 1, 2, 4, 8, 32, 1 << 14, 1 << 18
DETACH = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 36, 38
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446  # the same number on every architecture
READ_FILE, READ_FOLDER = 1 | 4, 1 | 4 | 8  # execute, read; list
CAPABILITIES_V3 = 0x20080522
SYS_ADMIN = 21


def prctl(option: int, *arguments: object) -> None:
    """prctl(2); the arguments that are not given are zero."""
    given = [ctypes.c_ulong(each) if type(each) is int else each for each in arguments]
    _call("prctl", option, *given, *[ctypes.c_ulong(0)] * (4 - len(given)))


def become_nobody() -> None:
    """An ordinary user in place of root: files, limits and other processes then hold without any namespace."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    prctl(PR_SET_DUMPABLE, 1)  # without it /proc/self belongs to root, and no id could be mapped


def leave_namespaces() -> None:
    """A user, mount, network, ipc and uts namespace of our own; children begin a pid namespace."""
    leave_network()
    _call("unshare", NEW_PID)  # last: what fails above leaves a process that can still fork


def leave_network() -> None:
    """A user, mount, network, ipc and uts namespace of our own."""
    user, group = os.geteuid(), os.getegid()
    _call("unshare", NEW_USER | NEW_MOUNTS | NEW_NET | NEW_IPC | NEW_UTS)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{NOBODY} {user} 1"),
        ("gid_map", f"{NOBODY} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def enter_empty_root() -> None:
    """A root folder with nothing in it, which cannot be written; what was mounted before is gone from here."""
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    _call("mount", b"none", b"/", None, ctypes.c_ulong(MS_RECURSIVE | MS_PRIVATE), None)
    _call("mount", b"none", b"/tmp", b"tmpfs", ctypes.c_ulong(flags), b"size=4k,nr_inodes=1,mode=555")
    os.chdir("/tmp")
    _call("syscall", ctypes.c_long(PIVOT_ROOT[os.uname().machine]), b".", b".")
    _call("umount2", b".", DETACH)
    os.chdir("/")
    _call("mount", None, b"/", None, ctypes.c_ulong(MS_REMOUNT | MS_READONLY | flags), None)
    if os.listdir("/"):
        raise OSError("the new root is not empty")


def begin_pid_namespace() -> None:
    """The next child is the first process of a pid namespace: it sees no other, and all it starts die with it."""
    _call("unshare", NEW_PID)


def return_to_pid_namespace(namespace: int) -> None:
    """Later children belong to the namespace of this descriptor again (unshare works only from there)."""
    _call("setns", namespace, NEW_PID)


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("parent", ctypes.c_int32))


def landlock(readable: list[str] | tuple[()] = ()) -> int:
    """Forbids every access to files by path, TCP ports, and signals and abstract sockets across the border,
    as far as this kernel knows them; what lies at or below the `readable` paths can still be read and run. Returns the
    version of Landlock."""
    version = _call("syscall", ctypes.c_long(LANDLOCK_CREATE), None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    files = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)  # rights to files that each version knows
    rules = _Ruleset((1 << files) - 1, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    arguments = (ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint32(0))
    descriptor = _call("syscall", ctypes.c_long(LANDLOCK_CREATE), *arguments)
    for path in readable:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        beneath = _Beneath(READ_FOLDER if os.path.isdir(path) else READ_FILE, place)
        _call("syscall", ctypes.c_long(LANDLOCK_ADD), ctypes.c_int(descriptor), 1, ctypes.byref(beneath), 0)
        os.close(place)
    _call("syscall", ctypes.c_long(LANDLOCK_RESTRICT), ctypes.c_int(descriptor), ctypes.c_uint32(0))
    os.close(descriptor)
    return version


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def keep_capabilities(mask: int = 0) -> None:
    """Gives up every capability that is not in the mask."""
    sets = (_Sets * 2)(_Sets(mask, mask, 0), _Sets(0, 0, 0))
    _call("capset", ctypes.byref(_Header(CAPABILITIES_V3, 0)), ctypes.byref(sets))


def limit(seconds: float, address_space: int) -> None:
    """Limits of this process, soft and hard: processor time, address space; no file, core, process or queue."""
    cpu = int(seconds) + 2  # a whole second above the clock on the wall, which is the limit that is meant
    for name, most in (
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_AS, address_space),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_NOFILE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_STACK, 8 << 20),
    ):
        _, hard = resource.getrlimit(name)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(name, (most, most))


def die_with_parent() -> None:
    """SIGKILL for this process when its parent dies."""
    prctl(PR_SET_PDEATHSIG, SIGKILL)


def adopt_orphans() -> None:
    """Children of children that die become ours to wait for."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def _call(name: str, *arguments: object) -> int:
    result = int(getattr(LIBC, name)(*arguments))
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result
