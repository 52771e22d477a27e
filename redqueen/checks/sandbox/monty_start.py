"""What a worker of Monty does first: it goes behind the walls of `monty_walls` and becomes Monty's program.

Each worker waits for this, so nothing is imported that takes long.
"""

from __future__ import annotations

import os
import resource

from redqueen.checks.sandbox import jail_kernel as kernel
from redqueen.checks.sandbox.jail_seccomp import filter_for_a_program_of_ours

LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/dev/null", "/dev/urandom")
ROOM = 2 << 30  # bytes of address space besides those of a program
FILES = 64


def start(program: str, memory: int, words: list[str]) -> None:
    """Goes on as `program` behind every layer that this machine has."""
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    readable = [path for path in (program, *LIBRARIES) if os.path.exists(path)]
    for layer in (
        kernel.leave_network,
        lambda: kernel.landlock(readable),
        kernel.keep_capabilities,
        lambda: filter_for_a_program_of_ours().install(),
    ):
        try:
            layer()
        except OSError:
            continue  # this machine does not have it
    _limit(memory + ROOM)
    os.execve(program, [program, *words], {})


def _limit(address_space: int) -> None:
    for name, most in (
        (resource.RLIMIT_AS, address_space),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, FILES),
    ):
        _, hard = resource.getrlimit(name)
        resource.setrlimit(name, (most, most) if hard == resource.RLIM_INFINITY else (min(most, hard),) * 2)
