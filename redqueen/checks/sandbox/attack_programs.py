"""The attacks, as data: what a hostile or careless program tries against the tier it runs in."""

from __future__ import annotations

from redqueen.checks.sandbox.attacks import Attack
from redqueen.checks.sandbox.runs_of_programs import Kind

REFUSED = frozenset({Kind.FORBIDDEN, Kind.EXCEPTION})
ENDLESS = frozenset({Kind.TIMEOUT})
GREEDY = frozenset({Kind.MEMORY, Kind.TIMEOUT})
BROKEN = frozenset({Kind.MEMORY, Kind.FORBIDDEN, Kind.EXCEPTION})
NO_VALUE = frozenset(Kind) - {Kind.VALUE, Kind.NONDETERMINISTIC}
IN_VAIN = NO_VALUE | {Kind.VALUE}  # a value may come of it, but only the one that shows the failure
UNTELLING = frozenset({Kind.UNSUPPORTED})

FILES = (
    Attack("password file", "reads a file of the system", REFUSED, "def f(): return open('/etc/passwd').read(99)"),
    Attack("secret file", "reads a file of the user", REFUSED, "def f(): return open('@FILE@').read()"),
    Attack(
        "secret file below python",
        "reads a file with the bare calls of the system",
        REFUSED,
        "import os\ndef f(): return os.read(os.open('@FILE@', os.O_RDONLY), 99)",
    ),
    Attack(
        "environment",
        "reads the environment",
        IN_VAIN,
        "import os\ndef f(): return dict(os.environ)",
        value="{}",
    ),
    Attack(
        "environment in C",
        "reads the environment of the C library",
        IN_VAIN,
        "import ctypes\ndef f():\n c = ctypes.CDLL(None).getenv\n c.restype = ctypes.c_char_p\n"
        " return c(b'@VARIABLE@')",
        value="None",
    ),
    Attack(
        "environment of a process",
        "reads an environment under /proc",
        REFUSED,
        "def f(): return open('/proc/self/environ', 'rb').read() + open('/proc/@PARENT@/environ', 'rb').read()",
    ),
    Attack("own memory", "writes to /proc/self/mem", REFUSED, "def f(): return open('/proc/self/mem', 'r+b').fileno()"),
    Attack("memory of another", "opens /proc/1/mem", REFUSED, "def f(): return open('/proc/1/mem', 'rb').fileno()"),
    Attack("root folder", "lists the root", REFUSED, "import os\ndef f(): return os.listdir('/')"),
    Attack(
        "home folder",
        "lists the home of the user",
        REFUSED,
        "import pathlib\ndef f(): return [str(p) for p in pathlib.Path.home().iterdir()]",
    ),
    Attack("write outside", "writes a file outside", REFUSED, "def f(): return open('@FOLDER@/x', 'w').write('x')"),
    Attack("write here", "writes a file where it stands", REFUSED, "def f(): return open('x', 'w').write('x')"),
    Attack(
        "write to tmp", "writes a file for the next program", REFUSED, "def f(): return open('/tmp/x', 'w').write('x')"
    ),
    Attack(
        "change the secret",
        "truncates and removes a file outside",
        REFUSED,
        "import os\ndef f():\n os.truncate('@FILE@', 0)\n os.remove('@FILE@')",
    ),
    Attack("symbolic link", "leaves a link", REFUSED, "import os\ndef f(): os.symlink('@FILE@', '@FOLDER@/link')"),
    Attack("hard link", "leaves a second name", REFUSED, "import os\ndef f(): os.link('@FILE@', '@FOLDER@/link')"),
    Attack(
        "way up",
        "leaves the root folder upwards",
        REFUSED,
        "import os\ndef f():\n os.chroot('.')\n os.chdir('../../../..')\n return os.listdir('.')",
    ),
    Attack("device", "makes a device", REFUSED, "import os\ndef f(): os.mknod('d', 0o60666, os.makedev(254, 0))"),
    Attack(
        "interpreter",
        "overwrites a module for those who come after",
        REFUSED,
        "import os\ndef f(): return open(os.__file__, 'a').write('x')",
    ),
    Attack(
        "file in memory", "makes a file that can be run", REFUSED, "import os\ndef f(): return os.memfd_create('x')"
    ),
    Attack(
        "temporary file", "finds any place to write", REFUSED, "import tempfile\ndef f(): return tempfile.mkdtemp()"
    ),
    Attack("torch", "imports a library of the trainer", REFUSED, "import torch\ndef f(): return torch.__file__"),
    Attack(
        "this library",
        "imports the library that judges it",
        REFUSED,
        "from redqueen.checks.sandbox import jail\ndef f(): return jail.__file__",
    ),
)

NETWORK = (
    Attack(
        "tcp",
        "connects to a server",
        REFUSED,
        "import socket\ndef f(): return socket.create_connection(('127.0.0.1', @TCP@), 0.2).recv(9)",
    ),
    Attack(
        "udp",
        "sends a datagram",
        REFUSED,
        "import socket\ndef f(): return socket.socket(2, 2).sendto(b'x', ('127.0.0.1', @UDP@))",
    ),
    Attack(
        "unix socket",
        "connects to a socket by its path",
        REFUSED,
        "import socket\ndef f(): return socket.socket(1, 1).connect('@UNIX@')",
    ),
    Attack(
        "abstract socket",
        "connects to a socket that has no path",
        REFUSED,
        "import socket\ndef f(): return socket.socket(1, 1).connect('\\0@ABSTRACT@')",
    ),
    Attack(
        "names", "asks for an address", REFUSED, "import socket\ndef f(): return socket.getaddrinfo('a.example', 80)"
    ),
    Attack(
        "listen",
        "waits for connections",
        REFUSED,
        "import socket\ndef f(): return socket.create_server(('0.0.0.0', 0)).getsockname()",
    ),
    Attack(
        "pair", "makes a pair of sockets", REFUSED, "import socket\ndef f(): return socket.socketpair()[0].fileno()"
    ),
    Attack(
        "raw socket call",
        "opens a socket through the C library",
        REFUSED | {Kind.MEMORY},
        "import ctypes\ndef f(): return ctypes.CDLL(None).socket(2, 1, 0)",
    ),
    Attack(
        "other table of calls",
        "opens a socket by its x32 number",
        IN_VAIN,
        "import ctypes\ndef f(): return ctypes.CDLL(None).syscall(0x40000000 + 41, 2, 1, 0)",
        value="-1",
    ),
)

PROCESSES = (
    Attack("fork", "forks", REFUSED, "import os\ndef f(): return os.fork()"),
    Attack(
        "daemon",
        "leaves a process behind",
        REFUSED,
        "import os, time\ndef f():\n if os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0: time.sleep(60)\n return 1",
    ),
    Attack("fork bomb", "forks for ever", REFUSED, "import os\ndef f():\n while True: os.fork()"),
    Attack(
        "stubborn fork bomb",
        "forks for ever and minds no error",
        REFUSED | ENDLESS,
        "import os\ndef f():\n while True:\n  try: os.fork()\n  except BaseException: pass",
    ),
    Attack(
        "thread bomb",
        "starts threads for ever",
        BROKEN | ENDLESS,
        "import threading, time\ndef f():\n while True: threading.Thread(target=time.sleep, args=(60,)).start()",
    ),
    Attack("shell", "runs a command", REFUSED, "import os\ndef f(): return os.system('id')"),
    Attack(
        "subprocess",
        "runs a program",
        REFUSED,
        "import subprocess\ndef f(): return subprocess.check_output(['/bin/cat', '@FILE@'])",
    ),
    Attack("exec", "becomes another program", REFUSED, "import os\ndef f(): os.execv('/bin/sh', ['sh', '-c', 'id'])"),
    Attack(
        "spawn",
        "spawns a program",
        REFUSED,
        "import os\ndef f(): return os.posix_spawn('/bin/sh', ['sh', '-c', 'id'], {})",
    ),
    Attack(
        "multiprocessing",
        "starts a pool of processes",
        REFUSED | ENDLESS,
        "import multiprocessing\ndef f(): return multiprocessing.Pool(2).map(abs, [1, 2])",
    ),
    Attack(
        "walk to a shell",
        "finds os.system among the subclasses of object",
        REFUSED,
        "def f():\n for c in object.__subclasses__():\n  if c.__name__ == '_wrap_close':\n"
        "   return c.__init__.__globals__['system']('id')\n raise LookupError",
    ),
    Attack(
        "walk to modules",
        "finds posix among the loaded modules",
        REFUSED,
        "import sys\ndef f():\n for name in ('posix', 'os'):\n"
        "  if name in sys.modules: return sys.modules[name].fork()\n raise LookupError",
    ),
    Attack(
        "loader",
        "loads a native module by hand",
        REFUSED,
        "import sys\ndef f():\n s = type(__import__('math').__spec__)('_socket', None, origin='@FILE@')\n"
        " return sys.modules['_imp'].create_dynamic(s).__name__",
    ),
    Attack("kill the first", "kills process 1", REFUSED, "import os\ndef f(): os.kill(1, 9)"),
    Attack("kill all", "kills whatever it may", REFUSED, "import os\ndef f(): os.kill(-1, 9)"),
    Attack("kill the parent", "kills its parent", REFUSED, "import os\ndef f(): os.kill(os.getppid(), 9)"),
    Attack("kill the trainer", "kills the process outside", REFUSED, "import os\ndef f(): os.kill(@PARENT@, 9)"),
    Attack("kill the group", "kills its process group", REFUSED, "import os\ndef f(): os.killpg(0, 9)"),
    Attack(
        "stop itself",
        "stops, so as never to end",
        NO_VALUE,
        "import signal\ndef f(): signal.raise_signal(signal.SIGSTOP)",
    ),
    Attack(
        "deaf loop",
        "ignores every signal and loops",
        REFUSED | ENDLESS,
        "import signal\nfor s in range(1, 32):\n try: signal.signal(s, signal.SIG_IGN)\n except OSError: pass\n"
        "def f():\n while True: pass",
    ),
    Attack(
        "alarm",
        "sets a timer that interrupts the harness",
        IN_VAIN,
        "import signal\ndef f():\n signal.signal(signal.SIGALRM, lambda *a: 1 / 0)\n"
        " signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)\n return 1",
        value="1",
    ),
)

_CALL = "import ctypes\nc = ctypes.CDLL(None)\n"
KERNEL = (
    Attack("ptrace", "traces the process outside", REFUSED, _CALL + "def f(): return c.ptrace(16, @PARENT@, 0, 0)"),
    Attack(
        "foreign memory",
        "writes to the memory of its parent",
        REFUSED,
        _CALL + "def f(): return c.process_vm_writev(1, None, 0, None, 0, 0)",
    ),
    Attack("mount", "mounts /proc", REFUSED, _CALL + "def f(): return c.mount(b'p', b'/', b'proc', 0, None)"),
    Attack("unshare", "makes namespaces in which it is root", REFUSED, _CALL + "def f(): return c.unshare(0x10000000)"),
    Attack("other namespaces", "enters other namespaces", REFUSED, _CALL + "def f(): return c.setns(3, 0)"),
    Attack("io_uring", "has the kernel do its calls", REFUSED, _CALL + "def f(): return c.syscall(425, 8, None)"),
    Attack("pidfd", "takes a descriptor of a process", REFUSED, _CALL + "def f(): return c.syscall(434, 1, 0)"),
    Attack(
        "unlock",
        "undoes what holds it, by prctl",
        IN_VAIN,
        _CALL + "def f(): return [c.prctl(1, 0), c.prctl(4, 1), c.prctl(22, 0), c.prctl(38, 0)]",
        value="[-1, -1, -1, -1]",
    ),
    Attack(
        "become root", "becomes root", IN_VAIN, _CALL + "def f(): return [c.setuid(0), c.setgid(0)]", value="[-1, -1]"
    ),
    Attack(
        "machine code",
        "makes memory that can be executed",
        BROKEN,
        "import mmap\ndef f(): return len(mmap.mmap(-1, 4096, prot=7))",
    ),
    Attack(
        "machine code later",
        "makes memory executable afterwards",
        BROKEN,
        _CALL
        + "c.mmap.restype = ctypes.c_void_p\nc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]\n"
        "def f(): return c.mprotect(c.mmap(None, 4096, 3, 34, -1, 0), 4096, 7)",
    ),
    Attack("null pointer", "reads address 0", BROKEN, "import ctypes\ndef f(): return ctypes.string_at(0)"),
    Attack(
        "bad bytecode",
        "runs bytecode that no compiler makes",
        BROKEN | ENDLESS,
        "def g(): return 1\ndef f():\n"
        " g.__code__ = g.__code__.replace(co_code=b'\\x64\\xff' * 40, co_consts=())\n return g()",
    ),
    Attack(
        "limits",
        "raises its limits",
        REFUSED,
        "import resource\ndef f(): resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    ),
)

_KEY = (  # what an attacker who read our source would do: the key of the run stands in the frames above
    "import sys, struct\ndef key():\n frame = sys._getframe()\n while frame:\n"
    "  if 'key' in frame.f_locals and 'wanted' in frame.f_locals:\n"
    "   return frame.f_locals['key'], frame.f_locals['reply']\n  frame = frame.f_back\n raise LookupError\n"
    "def text(s):\n s = s.encode()\n return struct.pack('!I', len(s)) + s\n"
    "def frame(kind, value): return key()[0] + b''.join(map(text, [kind, value, '', '', '']))\n"
    "def send(data): return sys.modules['posix'].write(key()[1], data)\n"
)
_POSIX = "import sys\nos = sys.modules['posix']\n"
FORGERIES = (
    Attack(
        "every descriptor",
        "writes to every descriptor there may be",
        NO_VALUE,
        _POSIX + "def f():\n for d in range(1024):\n  try: os.write(d, b'x')\n  except OSError: pass\n return 1",
    ),
    Attack(
        "read every descriptor",
        "reads whatever descriptors were left open",
        REFUSED | {Kind.VALUE},
        _POSIX + "def f():\n found = []\n for d in range(1024):\n  try: found.append(os.read(d, 9))\n"
        "  except OSError: pass\n return found",
        value="[]",
    ),
    Attack(
        "forged answer",
        "writes an answer to every descriptor and leaves",
        NO_VALUE,
        _POSIX + "import struct\ndef f():\n fields = (b'value', b'7', b'', b'', b'')\n"
        " data = b''.join(struct.pack('!I', len(s)) + s for s in fields)\n"
        " for d in range(64):\n  try: os.write(d, bytes(16) + data)\n  except OSError: pass\n os._exit(0)",
    ),
    Attack(
        "printed answer",
        "prints an answer",
        IN_VAIN,
        "def f():\n print('value', '7', sep='\\x00\\x00\\x00\\x01')\n return 1",
        value="1",
    ),
    Attack(
        "two answers",
        "answers twice under the right key",
        NO_VALUE,
        _KEY + "def f():\n send(frame('value', '7'))\n return 1",
    ),
    Attack(
        "answer and crash",
        "answers under the right key and then fails",
        NO_VALUE,
        _KEY + "def f():\n send(frame('value', '7'))\n sys.modules['posix']._exit(3)",
    ),
    Attack(
        "answer to be evaluated",
        "answers with code in place of a literal",
        NO_VALUE,
        _KEY + "def f():\n send(frame('value', '__import__(\"os\").system(\"id\")'))\n sys.modules['posix']._exit(0)",
    ),
    Attack(
        "answer of another make",
        "answers with a value that is not written as values are",
        NO_VALUE,
        _KEY + "def f():\n send(frame('value', '{1,2,  1}'))\n sys.modules['posix']._exit(0)",
    ),
    Attack(
        "answer of no kind",
        "answers with a kind that there is not",
        NO_VALUE,
        _KEY + "def f():\n send(frame('correct', '7'))\n sys.modules['posix']._exit(0)",
    ),
    Attack(
        "answer too deep",
        "answers with a text on which a parser breaks",
        NO_VALUE,
        _KEY + "def f():\n send(frame('value', '-' * 4000 + '1'))\n sys.modules['posix']._exit(0)",
    ),
    Attack(
        "endless answer",
        "answers without an end",
        NO_VALUE,
        _KEY + "def f():\n while True: send(b'x' * 65536)",
    ),
    Attack(
        "half an answer",
        "answers in part and waits",
        NO_VALUE,
        _KEY + "def f():\n send(frame('value', '7')[:30])\n while True: pass",
    ),
    Attack("leave with 0", "leaves as if all were well", NO_VALUE, _POSIX + "def f(): os._exit(0)"),
    Attack("leave with 1", "leaves with a status", NO_VALUE, _POSIX + "def f(): os._exit(1)"),
    Attack(
        "leave a script with 0", "leaves a script behind the interpreter", NO_VALUE, _POSIX + "os._exit(0)", function=""
    ),
    Attack("exit", "leaves a function by sys.exit", NO_VALUE, "import sys\ndef f(): sys.exit(0)"),
    Attack("exit with an error", "leaves a script by sys.exit(1)", NO_VALUE, "import sys\nsys.exit(1)", function=""),
    Attack("kill itself", "ends by a signal", NO_VALUE, _POSIX + "def f(): os.kill(os.getpid(), 9)"),
    Attack("abort", "aborts", NO_VALUE, _POSIX + "def f(): os.abort()"),
    Attack("interrupt", "raises what is no Exception", NO_VALUE, "def f(): raise KeyboardInterrupt"),
    Attack(
        "builtins",
        "replaces what the answer is written with",
        IN_VAIN,
        "import builtins\ndef f():\n for n in ('repr', 'sorted', 'type', 'len', 'min', 'str', 'isinstance'):\n"
        "  setattr(builtins, n, lambda *a, **k: 'forged')\n return 1",
        value="1",
    ),
    Attack(
        "no builtins",
        "deletes the builtins",
        IN_VAIN,
        "import builtins\ndef f():\n for n in list(vars(builtins)): del vars(builtins)[n]\n return 1",
        value="1",
    ),
    Attack(
        "json",
        "replaces the functions of the library",
        IN_VAIN,
        "import json, struct, ast, sys\ndef f():\n json.dumps = lambda *a, **k: 'forged'\n"
        " struct.pack = lambda *a: b'forged'\n ast.literal_eval = lambda *a: 'forged'\n"
        " sys.stdout.write = lambda *a: 0\n return 1",
        value="1",
    ),
    Attack(
        "modules",
        "empties sys.modules",
        IN_VAIN,
        "import sys\ndef f():\n for n in list(sys.modules): sys.modules[n] = None\n return 1",
        value="1",
    ),
    Attack(
        "streams",
        "takes the streams away",
        IN_VAIN,
        "import sys\ndef f():\n sys.stdout.close()\n sys.stderr = sys.stdin = None\n return 1",
        value="1",
    ),
    Attack(
        "trace",
        "traces the harness",
        IN_VAIN,
        "import sys\ndef f():\n def trace(frame, event, argument):\n  if event == 'return': raise ValueError\n"
        "  return trace\n sys.settrace(trace)\n sys.setprofile(trace)\n return 1",
        value="1",
    ),
    Attack(
        "at the end",
        "forges when the interpreter ends",
        IN_VAIN,
        "import atexit\ndef f(): atexit.register(print, 7)\nf()",
        value="None",
    ),
    Attack(
        "last words",
        "forges when it is deleted",
        IN_VAIN,
        _KEY + "class Last:\n def __del__(self): send(b'x' * 99)\nlast = Last()\ndef f(): return 1",
        value="1",
    ),
    Attack(
        "expected answer",
        "looks for what is expected of it in every frame and object",
        IN_VAIN,
        "import sys, gc\ndef f():\n found, mark, frame = [], 'ba' + chr(105) + 't-', sys._getframe()\n while frame:\n"
        "  found += [repr(v) for v in frame.f_locals.values() if mark in repr(v) and v is not mark]\n"
        "  frame = frame.f_back\n"
        " for o in gc.get_objects():\n"
        "  if type(o) in (dict, list, tuple) and mark in repr(o)[:9999]: found.append(repr(o))\n"
        " return [text for text in found if '@VARIABLE@' in text]",
        value="[]",
    ),
    Attack(
        "equal to all",
        "returns what equals everything",
        UNTELLING,
        "class E:\n def __eq__(self, other): return True\n def __hash__(self): return 0\n"
        " def __repr__(self): return '42'\ndef f(): return E()",
    ),
    Attack(
        "liar",
        "returns what says it is an int",
        UNTELLING,
        "class L:\n __class__ = int\n def __repr__(self): return '42'\ndef f(): return L()",
    ),
    Attack(
        "special int",
        "returns an int that prints as another",
        UNTELLING,
        "class I(int):\n def __repr__(self): return '42'\ndef f(): return [I(7)]",
    ),
    Attack(
        "special str",
        "returns a str that equals all",
        UNTELLING,
        "class S(str):\n def __eq__(self, other): return True\n __hash__ = str.__hash__\ndef f(): return {'a': S('x')}",
    ),
    Attack("circle", "returns a list that holds itself", UNTELLING, "def f():\n a = []\n a.append(a)\n return a"),
    Attack("generator", "returns what has not been computed", UNTELLING, "def f(): return (i for i in range(3))"),
    Attack("not a number", "returns what does not equal itself", UNTELLING, "def f(): return float('nan')"),
    Attack(
        "state for the next",
        "changes modules for whoever comes next",
        IN_VAIN,
        "import builtins, math, sys\ndef f():\n builtins.left = 1\n math.pi = 3\n"
        " sys.modules['left'] = math\n sys.setrecursionlimit(60)\n return 1",
        value="1",
    ),
)

FLOODS = (
    Attack("flood", "prints for ever", GREEDY, "def f():\n while True: print('x' * 100)"),
    Attack(
        "stubborn flood",
        "prints for ever and minds no error",
        GREEDY,
        "def f():\n while True:\n  try: print('x' * 100)\n  except BaseException: pass",
    ),
    Attack("one print", "prints a hundred million characters", GREEDY, "def f(): print('x' * 10**7, end='')"),
    Attack(
        "flood of errors",
        "prints errors for ever",
        GREEDY,
        "import sys\ndef f():\n while True: print('x' * 100, file=sys.stderr)",
    ),
    Attack("giant value", "returns a million characters", GREEDY, "def f(): return 'x' * 10**6"),
    Attack("giant list", "returns a million items", GREEDY, "def f(): return list(range(10**6))"),
    Attack(
        "giant message",
        "raises a million characters",
        frozenset({Kind.EXCEPTION}),
        "def f(): raise ValueError('x' * 10**6)",
    ),
    Attack("list", "asks for eight gigabytes", GREEDY, "def f(): return len([0] * 10**9)"),
    Attack("bytes", "asks for ten gigabytes", GREEDY, "def f(): return len(bytearray(10**10))"),
    Attack("doubling", "doubles a text for ever", GREEDY, "def f():\n s = 'x'\n while True: s += s"),
    Attack("comprehension", "fills a list one by one", GREEDY, "def f(): return len([[i] for i in range(10**9)])"),
    Attack(
        "product",
        "fills a list in C",
        GREEDY,
        "import itertools\ndef f(): return list(itertools.product(range(99), repeat=9))",
    ),
    Attack(
        "stubborn memory",
        "takes all memory again and again",
        GREEDY,
        "def f():\n while True:\n  try:\n   a = [0]\n   while True: a += a\n  except MemoryError: pass",
    ),
    Attack(
        "memory to the brim",
        "leaves no memory for an answer",
        GREEDY,
        "hold = []\ndef f():\n for size in (1 << 20, 1 << 14, 1 << 9, 1 << 6, 1):\n"
        "  try:\n   while True: hold.append(bytearray(size))\n  except MemoryError: pass\n raise MemoryError",
    ),
    Attack(
        "big power", "computes a number of a hundred million digits", GREEDY, "def f(): return len(str(10 ** 10**8))"
    ),
    Attack("big shift", "shifts by a million millions", BROKEN, "def f(): return 1 << 10**12"),
    Attack("big digits", "prints a long number", REFUSED, "def f(): return str(10 ** 5000)"),
    Attack("big value", "returns a number of two thousand digits", UNTELLING, "def f(): return 10 ** 2000"),
    Attack(
        "constant", "has the compiler compute", GREEDY | REFUSED, "def f(): return 2 ** (2 ** (2 ** (2 ** (2 ** 2))))"
    ),
    Attack(
        "regular expression",
        "matches in exponential time",
        ENDLESS,
        "import re\ndef f(): return bool(re.match('(a+)+$', 'a' * 40 + 'b'))",
    ),
    Attack("recursion", "calls itself for ever", BROKEN, "def f(): return f()"),
    Attack(
        "unlimited recursion",
        "raises the limit and calls itself for ever",
        BROKEN | GREEDY,
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()",
    ),
    Attack(
        "recursion in C",
        "recurses where no frame is counted",
        BROKEN | GREEDY,
        "import sys\nsys.setrecursionlimit(10**6)\nclass A:\n"
        " def __getattr__(self, name): return getattr(self, name + 'x')\ndef f(): return A().x",
    ),
    Attack(
        "deep repr",
        "prints a list nested deep",
        BROKEN,
        "def f():\n a = []\n for _ in range(10**5): a = [a]\n return repr(a)",
    ),
    Attack(
        "deep deletion",
        "deletes what is nested deep",
        BROKEN | IN_VAIN,
        "import itertools\ndef f():\n it = iter([1])\n"
        " for _ in range(10**5): it = itertools.chain(it)\n del it\n return 1",
        value="1",
    ),
    Attack("deep brackets", "compiles nested brackets", BROKEN, "def f(): return eval('(' * 9999 + ')' * 9999)"),
    Attack("deep signs", "compiles a long chain of signs", BROKEN, "def f(): return eval('-' * 99999 + '1')"),
    Attack("deep source", "is nested deep itself", BROKEN, "x = " + "[" * 5000 + "]" * 5000 + "\ndef f(): return 1"),
    Attack("deep json", "decodes nested brackets", BROKEN, "import json\ndef f(): return json.loads('[' * 99999)"),
)

LOOPS = (
    Attack("loop", "never ends", ENDLESS, "def f():\n while True: pass"),
    Attack("loop on import", "never gets to its function", ENDLESS, "while True: pass"),
    Attack("loop of a script", "is a script that never ends", ENDLESS, "while True: pass", function=""),
    Attack(
        "stubborn loop",
        "never ends and minds no error",
        ENDLESS,
        "def f():\n while True:\n  try:\n   while True: pass\n  except BaseException: pass",
    ),
    Attack(
        "loop in C", "never ends inside one call", ENDLESS, "import itertools\ndef f(): return sum(itertools.repeat(1))"
    ),
    Attack("long power", "is long in one operation", GREEDY, "def f(): return pow(3, 10**8) % 7"),
    Attack("generator loop", "draws from what never ends", ENDLESS, "def f(): return max(i for i in iter(int, 1))"),
    Attack(
        "bad key",
        "sorts with a key that never returns",
        ENDLESS,
        "def f(): return sorted([2, 1], key=lambda x: sum(iter(int, 1)))",
    ),
    Attack("sleep", "sleeps", ENDLESS, "import time\ndef f(): time.sleep(10**6)"),
    Attack("deadlock", "waits for itself", ENDLESS, "import queue\ndef f(): return queue.Queue().get()"),
    Attack(
        "slow message",
        "raises what never finishes printing",
        ENDLESS,
        "class E(Exception):\n def __str__(self):\n  while True: pass\ndef f(): raise E",
    ),
    Attack("input", "waits to be spoken to", REFUSED, "def f(): return input()"),
)

ANY = frozenset({Kind.VALUE})
PROBES = (
    Attack("clock", "tells the time", ANY, "import time\ndef f(): return time.time_ns()"),
    Attack("address", "tells where it lies", ANY, "def f(): return id(object())"),
    Attack("hash", "tells the hash of a text", ANY, "def f(): return hash('redqueen')"),
    Attack("order", "tells the order of a set", ANY, "def f(): return list({'a', 'b', 'c', 'd'})"),
    Attack("address in a text", "tells the text of an object", ANY, "def f(): return repr(object())"),
    Attack("chance", "draws a number", ANY, "import random\ndef f(): return random.random()"),
    Attack("null in the source", "has a NUL in its source", REFUSED, "def f(): return 1\0"),
    Attack("surrogate in the source", "has half a character in its source", REFUSED, "def f(): return '\ud800'"),
    Attack("surrogate in print", "prints half a character", REFUSED, "def f(): print(chr(0xD800))"),
    Attack("surrogate in a value", "returns half a character", ANY, "def f(): return chr(0xD800)", value="'\\ud800'"),
    Attack(
        "surrogate in a message",
        "raises half a character",
        frozenset({Kind.EXCEPTION}),
        "def f(): raise ValueError(chr(0xD800))",
    ),
    Attack("coding line", "claims another encoding", IN_VAIN, "# coding: rot13\ndef f(): return 1", value="1"),
    Attack("huge source", "is a million characters long", UNTELLING, "x = 1\n" * 200_000 + "def f(): return 1"),
    Attack(
        "long line",
        "has a line of two hundred thousand characters",
        IN_VAIN,
        "x = '" + "a" * 200_000 + "'\ndef f(): return 1",
        value="1",
    ),
    Attack(
        "locale",
        "changes the locale",
        IN_VAIN,
        "import locale\ndef f(): return locale.setlocale(locale.LC_ALL, 'tr_TR')",
    ),
    Attack("missing function", "has no function", REFUSED, "def g(): return 1"),
    Attack("bad syntax", "is not Python", REFUSED, "def f(: return 1"),
)

ATTACKS = (*FILES, *NETWORK, *PROCESSES, *KERNEL, *FORGERIES, *FLOODS, *LOOPS, *PROBES)
