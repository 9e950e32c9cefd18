"""Runs the code of python steps for the worker that started this process.

The calls of one execution run in a fork of this process, a session; another execution gets another
fork. This process itself runs no code of a step, and keeps nothing of the requests and results that it
copies between the worker and the session. It imports nothing that a step can write; packages.py, which
is joined to this file, keeps installed packages loaded.

File descriptor 0 is a socket to the worker. A frame is a 4-byte big-endian length and that many bytes.
A call is a frame with its header (JSON: mark and session) and a frame with its request as JSON. The
answer is a frame with the end of the call; if there is a result, a frame with its JSON; and a last
frame once nothing of the call is left. The code prints to file descriptors 1 and 2, which the worker
reads; at the end of a call the mark is written to both, so that the worker knows which output belongs
to it.
"""

import ast
import asyncio
import base64
import builtins
import collections.abc
import dataclasses
import datetime
import decimal
import enum
import errno
import gc
import importlib
import importlib.machinery
import importlib.metadata
import inspect
import io
import json
import linecache
import math
import os
import re
import select
import signal
import site
import socket
import stat
import struct
import sys
import threading
import traceback
import types
import warnings

REPLY_BYTES_MAX = 64 * 1024 * 1024
DEPTH_MAX = 100
BODY = "__noetl_body__"
FRAME_BYTES_MAX = REPLY_BYTES_MAX + 64 * 1024
# The number of packages that this process imports because calls have used them.
WARM_MAX = 64
# How long the trial import of a package may take.
WARM_SECONDS_MAX = 20
# How often the end of a fork is checked for where the system cannot report it.
POLL_SECONDS = 0.05
# The directories of packages installed for everybody, and of all installed packages.
PREFIXES = tuple(os.path.realpath(prefix) + os.sep for prefix in {sys.prefix, sys.base_prefix})
INSTALLED = (*PREFIXES, sys.prefix + os.sep, sys.base_prefix + os.sep, site.getusersitepackages() + os.sep)
# Where code of steps finds modules in addition to this process: the worker's PYTHONPATH.
STEPS_PATH = sys.argv[3]
# True if code of steps finds the packages that the user has installed for himself.
HAS_USER_SITE = sys.argv[4] == "1"
# Names of results. Code can read inputs with these names, but only its own definitions are results.
RESULT_NAMES = ("result", "main")


class Failure(Exception):
    """A failure that is reported with its own message, without a traceback."""

    def __init__(self, kind, code, message, details=None):
        super().__init__(message)
        self.reply = {"kind": kind, "code": code, "message": message, "details": details}


class Context(dict):
    """The values of a step by name, as items and as attributes: `context.workload`."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"context has no value named {name!r}") from None


# --- Compilation ---------------------------------------------------------------------------------


def compile_code(source, filename):
    """Compiles a script; a script with a `return` at its top level is wrapped in a function."""
    lines = (source + "\n").splitlines(keepends=True)
    linecache.cache[filename] = (len(source), None, lines, filename)
    tree = ast.parse(source, filename)
    if not any(returns(statement) for statement in tree.body):
        return compile(tree, filename, "exec", dont_inherit=True)
    first = 0
    while first < len(tree.body) and is_prologue(tree.body[first]):
        first += 1
    body = tree.body[first:]
    names = local_names(wrapped(tree.body[:first], body), filename)
    if names:
        # Names keep their module's scope, so that `x = x + 1` works on an input `x`.
        body = [ast.Global(names=names)] + body
    return compile(wrapped(tree.body[:first], body), filename, "exec", dont_inherit=True)


def returns(node):
    """Returns True if a statement contains a `return` outside any function."""
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        return False
    return any(returns(child) for child in ast.iter_child_nodes(node))


def is_prologue(statement):
    """Returns True for a docstring or a `__future__` import, which must stay first in the module."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def wrapped(prologue, body):
    module = ast.parse(f"def {BODY}(): pass")
    module.body[0].body = body
    module.body[:0] = prologue
    return ast.fix_missing_locations(module)


def local_names(module, filename):
    code = compile(module, filename, "exec", dont_inherit=True)
    function = next(
        constant
        for constant in code.co_consts
        if isinstance(constant, types.CodeType) and constant.co_name == BODY
    )
    return sorted(set(function.co_varnames) | set(function.co_cellvars))


# --- One call ------------------------------------------------------------------------------------


def run(request):
    """Runs the code of a request and returns its value, or None."""
    code = compile_code(request["code"], request["filename"])
    module = types.ModuleType(module_name(code))
    module.__file__ = request["filename"]
    provided = provide(request)
    module.__dict__.update(
        (name, value) for name, value in provided.items() if name not in RESULT_NAMES
    )
    readable = {name: provided[name] for name in RESULT_NAMES if name in provided}
    module.__dict__["__builtins__"] = {**vars(builtins), **readable}
    sys.modules[module.__name__] = module
    returned = None
    try:
        exec(code, module.__dict__)
        body = module.__dict__.pop(BODY, None)
        if body is not None:
            body.__code__ = body.__code__.replace(co_name="<module>")
            returned = body()
    except SystemExit as stop:
        check_exit(stop.code)
    return value_of(module.__dict__, returned, provided)


def module_name(code):
    """Returns `__noetl__` if there is a `main`, so that the script does not call it by itself."""
    return "__noetl__" if "main" in code.co_names else "__main__"


def provide(request):
    """Returns the variables that a script can use."""
    inputs = request["input"]
    context = Context(flat(request["variables"]))
    context["execution_id"] = request["execution_id"]
    context["step"] = request["step"]
    provided = {
        "json": json,
        "sys": sys,
        "args": inputs,
        "input_data": inputs,
        "context": context,
        "variables": context,
        "execution_id": request["execution_id"],
        "step": request["step"],
    }
    provided.update(import_libs(request["libs"]))
    provided.update(inputs)
    return provided


def flat(variables):
    """Merges the keys of the workload, the keys of `ctx` and all variables; later ones win."""
    names = {}
    for group in ("workload", "ctx"):
        values = variables.get(group)
        if isinstance(values, dict):
            names.update(values)
    names.update(variables)
    return names


def import_libs(libs):
    """Imports `libs`: a list of packages, a map of names to modules, or `{from, import}`."""
    if libs is None:
        return {}
    if isinstance(libs, str):
        libs = [libs]
    if isinstance(libs, dict) and isinstance(libs.get("from"), str):
        libs = [libs]
    if isinstance(libs, dict):
        return {name: import_named(name, wanted) for name, wanted in libs.items()}
    provided = {}
    for lib in libs:
        provided.update(import_some(lib) if isinstance(lib, dict) else import_package(lib))
    return provided


def import_some(lib):
    """Imports an item of `libs`: `{from, import}` with one or more names, or names with modules."""
    if "from" not in lib:
        return {name: import_named(name, wanted) for name, wanted in lib.items()}
    module, wanted = lib["from"], lib.get("import")
    if wanted is None:
        return {module: import_named(module, None)}
    names = wanted if isinstance(wanted, list) else [wanted]
    return {name: import_named(name, {"from": module, "import": name}) for name in names}


def import_package(package):
    """Imports a package by its name. An installed package whose module has another name, such as
    scikit-learn, is skipped: the script imports it. A package that is not installed is a failure."""
    name = re.split(r"[\s<>=!~;\[]", str(package).strip(), maxsplit=1)[0]
    module = name.replace("-", "_")
    try:
        return {module.split(".")[0]: __import__(module)}
    except ModuleNotFoundError as error:
        if error.name != module.split(".")[0]:
            raise
        if is_installed(name):
            return {}
        message = (
            f"libs: the package `{name}` is not installed in {sys.executable}; install it with "
            f"`{sys.executable} -m pip install {name}`, or name an environment that has it with `venv`"
        )
        raise Failure("config", "ModuleNotFoundError", message) from error


def is_installed(package):
    try:
        importlib.metadata.distribution(package)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return False
    return True


def import_named(name, wanted):
    try:
        if wanted is None:
            return importlib.import_module(name)
        if isinstance(wanted, str):
            return importlib.import_module(wanted)
        module = importlib.import_module(wanted["from"])
        return getattr(module, wanted["import"]) if "import" in wanted else module
    except (ImportError, AttributeError) as error:
        message = f"libs.{name}: {type(error).__name__}: {error}"
        raise Failure("exception", type(error).__name__, message) from error


def value_of(namespace, returned, provided):
    """Returns the value of a top-level `return`, else of `result`, else of a call of `main`."""
    if returned is not None:
        return returned
    if namespace.get("result") is not None:
        return namespace["result"]
    main = namespace.get("main")
    if not callable(main):
        return None
    try:
        value = main(**arguments(main, provided))
        return asyncio.run(value) if inspect.iscoroutine(value) else value
    except SystemExit as stop:
        check_exit(stop.code)
        return None


def arguments(main, provided):
    """Returns the arguments of `main` by name; Python reports a missing one."""
    parameters = inspect.signature(main).parameters
    named = {name: provided[name] for name in parameters if name in provided}
    takes_all = any(it.kind is inspect.Parameter.VAR_KEYWORD for it in parameters.values())
    return {**provided["args"], **named} if takes_all else named


def check_exit(code):
    if code is None or code == 0:
        return
    if isinstance(code, int):
        raise Failure("exception", "SystemExit", f"the script ended itself with exit code {code}")
    raise Failure("exception", "SystemExit", f"the script ended itself: {code}")


# --- Values to JSON ------------------------------------------------------------------------------


def to_json(value):
    try:
        text = json.dumps(value, default=plain, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        # NaN, keys that are not strings, a list that contains itself.
        text = json.dumps(cleaned(value, 0), allow_nan=False, ensure_ascii=False)
    return text.encode("utf-8", errors="replace")


def plain(value):
    """Converts a value that JSON cannot represent."""
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode("ascii")
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, collections.abc.Mapping):
        return dict(value)
    if isinstance(value, (collections.abc.Set, collections.abc.ValuesView, types.GeneratorType)):
        return list(value)
    for method in ("tolist", "item"):  # numpy
        convert = getattr(value, method, None)
        if callable(convert) and not isinstance(value, type):
            return convert()
    return str(value)


def cleaned(value, depth):
    if depth > DEPTH_MAX:
        return "…"
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): cleaned(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [cleaned(item, depth + 1) for item in value]
    return cleaned(plain(value), depth + 1)


# --- Errors --------------------------------------------------------------------------------------


def describe(error, filename):
    """Describes an exception: its message with the line, and the traceback of the user's frames."""
    name = type(error).__name__
    if isinstance(error, SyntaxError) and error.filename == filename:
        text = (error.text or "").strip()
        message = f"{name}: {error.msg} (line {error.lineno}): {text}"
        return failure(name, message, {"line": error.lineno, "source": text})
    frames = traceback.extract_tb(error.__traceback__)
    own = next((at for at, frame in enumerate(frames) if frame.filename == filename), len(frames))
    frames = frames[own:]
    lines = [frame.lineno for frame in frames if frame.filename == filename]
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    if not lines:
        return failure(name, text, None)
    if text == name:
        text = f"{name}: {linecache.getline(filename, lines[-1]).strip()}"
    shown = "Traceback (most recent call last):\n"
    shown += "".join(traceback.format_list(frames)) + text
    return failure(name, f"{text} (line {lines[-1]})", {"line": lines[-1], "traceback": shown})


def failure(code, message, details):
    return {"kind": "exception", "code": code, "message": message, "details": details}


def answer(request):
    """Runs a request. Returns `{"error": …}` and None, or `"value"` and the JSON of the result."""
    try:
        value = to_json(run(request))
    except Failure as told:
        return error_json(told.reply), None
    except BaseException as error:
        reply = describe(error, request["filename"])
        print((reply["details"] or {}).get("traceback", reply["message"]), file=sys.stderr)
        return error_json(reply), None
    if len(value) > REPLY_BYTES_MAX:
        message = f"the result has {len(value)} bytes of JSON; at most {REPLY_BYTES_MAX} are allowed"
        return error_json(failure("TooLarge", message, None)), None
    return b'"value"', value


def error_json(reply):
    return json.dumps({"error": reply}, ensure_ascii=False).encode("utf-8", errors="replace")


# --- The session: calls of one execution, in a fork -----------------------------------------------


class Surroundings:
    """The process state that a call may change; it is restored before the next call."""

    def __init__(self, outputs):
        self.outputs = outputs
        self.environ = dict(os.environ)
        self.cwd = os.getcwd()
        self.path = list(sys.path)
        self.streams = (sys.stdin, sys.stdout, sys.stderr)
        self.modules = {name: sys.modules.get(name) for name in ("__main__", "__noetl__")}
        self.known = set(sys.modules)

    def enter(self, request):
        os.environ.update(request["env"])
        if request["cwd"]:
            os.chdir(request["cwd"])
        if os.path.isfile(request["filename"]):
            sys.path.insert(0, os.path.dirname(os.path.abspath(request["filename"])))

    def restore(self, request):
        sys.stdin, sys.stdout, sys.stderr = self.streams
        sys.path[:] = self.path
        os.environ.clear()
        os.environ.update(self.environ)
        os.chdir(self.cwd)
        for name, module in self.modules.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
        linecache.cache.pop(request["filename"], None)

    def take_new_packages(self):
        """Returns the installed packages that a call has imported, and removes the user's own modules,
        whose files may change between calls."""
        used = set()
        for name in set(sys.modules) - self.known:
            file = getattr(sys.modules[name], "__file__", None)
            if file and not file.startswith(INSTALLED):
                del sys.modules[name]
            else:
                self.known.add(name)
                if file:
                    used.add(name.partition(".")[0])
        return sorted(used)[:WARM_MAX]

    def is_clean(self):
        """Returns True if no thread, process, or closed or redirected output is left behind."""
        if threading.active_count() > 1:
            return False
        try:
            sys.stdout.flush()
            sys.stderr.flush()
            if not all(map(os.path.sameopenfile, (1, 2), self.outputs)):
                return False
            return not children_of(os.getpid())
        except (OSError, ValueError):
            return False


def run_session(requests, results, outputs):
    """Serves the calls of one execution until there is no more, and ends this fork."""
    process = os.getpid()
    reseed()
    extend_path()
    surroundings = Surroundings(outputs)
    loads, dumps = json.loads, json.dumps  # A call may replace them for the calls after it.
    try:
        while (request := read_frame(lambda length: os.read(requests, length))) is not None:
            end, value = respond(loads(request), surroundings)
            if os.getpid() != process:
                return  # This process is a fork that the script made.
            clean = b"true" if surroundings.is_clean() else b"false"
            used = dumps(surroundings.take_new_packages()).encode()
            write_frame(results, b'{"end":%b}' % end)
            if value is not None:
                write_frame(results, value)
                del value
            write_frame(results, b'{"clean":%b,"used":%b}' % (clean, used))
    finally:
        os._exit(0)


def respond(request, surroundings):
    try:
        surroundings.enter(request)
        return answer(request)
    except OSError as error:
        return error_json(failure(type(error).__name__, f"cwd: {error}", None)), None
    finally:
        surroundings.restore(request)


def extend_path():
    """Adds the directories in which code of steps finds its modules; the parent never looks there,
    because steps can write to them."""
    if STEPS_PATH:
        os.environ["PYTHONPATH"] = STEPS_PATH
    sys.path[:0] = ["", *filter(None, STEPS_PATH.split(os.pathsep))]
    if HAS_USER_SITE:
        site.addsitedir(site.getusersitepackages())


def reseed():
    """Gives numpy's global generator a new seed; the one of `random` reseeds itself in a fork."""
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()


def children_of(pid):
    children = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as file:
            children += [int(child) for child in file.read().split()]
    return children


# --- Frames --------------------------------------------------------------------------------------


def read_exactly(read, length):
    body = bytearray()
    while len(body) < length:
        piece = read(length - len(body))
        if not piece:
            return None
        body += piece
    return body


def read_frame(read):
    """Reads a frame; None at the end of the conversation, or if the frame is too long."""
    header = read_exactly(read, 4)
    if header is None:
        return None
    (length,) = struct.unpack(">I", header)
    return read_exactly(read, length) if length <= FRAME_BYTES_MAX else None


def send(channel, body):
    channel.sendall(struct.pack(">I", len(body)))
    channel.sendall(body)


def write_frame(fd, body):
    write_all(fd, struct.pack(">I", len(body)))
    write_all(fd, memoryview(body))


def write_all(fd, data):
    while data:
        data = data[os.write(fd, data):]


# --- The parent of the session -------------------------------------------------------------------


class Session:
    """A fork that runs the calls of one execution, seen from its parent."""

    def __init__(self, key, channel, outputs):
        self.key = key
        self.status = None
        self.pidfd = None
        requests, self.requests = os.pipe()
        self.results, results = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            for fd in (self.requests, self.results):
                os.close(fd)
            channel.close()
            run_session(requests, results, outputs)
        os.close(requests)
        os.close(results)
        try:
            self.pidfd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            pass  # Python 3.8, or an old kernel: the end of the fork is polled for.

    def read(self, length):
        """Reads from the session; b"" if it has ended, even if another process holds its pipe."""
        while True:
            waited = [self.results]
            if self.status is None and self.pidfd is not None:
                waited.append(self.pidfd)
            timeout = 0 if self.status is not None else POLL_SECONDS if self.pidfd is None else None
            ready = select.select(waited, [], [], timeout)[0]
            if self.results in ready:
                return os.read(self.results, length)
            if self.status is not None:
                return b""
            self.reap(os.WNOHANG)

    def reap(self, options):
        if self.status is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self.status = status

    def end(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.reap(0)
        for fd in (self.requests, self.results, self.pidfd):
            if fd is not None:
                os.close(fd)

    def describe(self):
        self.reap(0)
        if os.WIFSIGNALED(self.status):
            return f"signal {os.WTERMSIG(self.status)}"
        return f"exit code {os.WEXITSTATUS(self.status)}"


class Host:
    """Serves calls: one session at a time, replaced for every execution."""

    def __init__(self, channel, outputs, processes):
        self.channel = channel
        self.outputs = outputs
        self.processes = processes
        self.buffer = bytearray(64 * 1024)
        self.session = None
        self.tried = set()

    def serve(self):
        while (header := read_frame(self.channel.recv)) is not None:
            header = json.loads(header)
            if self.session is not None and self.session.key != header["session"]:
                self.end_session()
            if self.session is None:
                gc.freeze()
                self.session = Session(header["session"], self.channel, self.outputs)
            used = self.call(header["mark"].encode())
            warm(used, self.tried)

    def call(self, mark):
        """Runs a call. Returns the packages that it used."""
        summary = None
        self.copy(self.channel.recv_into, lambda piece: write_all(self.session.requests, piece))
        end = read_frame(self.session.read)
        if end is None:
            ended = {"end": {"ended": self.session.describe()}}
            send(self.channel, json.dumps(ended).encode())
        else:
            send(self.channel, end)
            if end == b'{"end":"value"}' and not self.copy(self.read_into, self.channel.sendall):
                sys.exit(1)  # The worker reads the end of this process.
            summary = read_frame(self.session.read)
        is_clean, used = self.conclude(summary)
        for fd in self.outputs:
            write_all(fd, mark)
        send(self.channel, b'{"clean":true}' if is_clean else b'{"clean":false}')
        return used

    def read_into(self, view):
        piece = self.session.read(len(view))
        view[: len(piece)] = piece
        return len(piece)

    def copy(self, read_into, write):
        """Copies a frame and leaves none of its content here. Returns False if it is not whole."""
        header = read_exactly(lambda length: self.read_some(read_into, length), 4)
        length = FRAME_BYTES_MAX + 1 if header is None else struct.unpack(">I", header)[0]
        if length > FRAME_BYTES_MAX:
            return False
        used = min(length, len(self.buffer))
        view = memoryview(self.buffer)[:used]
        piece = header
        while True:
            try:
                write(piece)
            except BrokenPipeError:
                pass  # The session has ended; the rest of the request is read all the same.
            if length == 0:
                break
            count = read_into(view[: min(length, used)])
            if count == 0:
                return False
            piece = view[:count]
            length -= count
        view[:] = bytes(used)
        return True

    def read_some(self, read_into, length):
        view = memoryview(self.buffer)[:length]
        return bytes(view[: read_into(view)])

    def conclude(self, summary):
        """Checks what a call has left behind, and ends the session with it. Returns False if
        something may be left, and the packages that the call used."""
        try:
            summary = json.loads(summary)
            is_clean, used = summary["clean"] is True, [str(name) for name in summary["used"]]
        except (KeyError, TypeError, ValueError):
            is_clean, used = False, []
        if is_clean and not self.has_leftovers():
            return True, used
        self.end_session()
        return self.processes == "own", used

    def has_leftovers(self):
        try:
            if self.processes == "own":
                known = {1, os.getpid(), self.session.pid}
                return any(name.isdigit() and int(name) not in known for name in os.listdir("/proc"))
            if self.processes == "adopted":
                return children_of(os.getppid()) != [os.getpid()] or children_of(self.session.pid) != []
        except OSError:
            return True
        return False

    def end_session(self):
        self.session.end()
        self.session = None
        if self.processes == "own":
            try:
                os.kill(-1, signal.SIGKILL)  # Every other process of the namespace except its first.
            except ProcessLookupError:
                pass


# --- The start of this process --------------------------------------------------------------------


def hide_memory():
    """Forbids other processes of the user, such as forks that run code, to look into this process."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
    except (ImportError, OSError, AttributeError):
        pass


def serve():
    processes = sys.argv[2]
    sys.argv[:] = [""]
    channel = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # The marks must arrive even if a script closes or redirects its own outputs.
    outputs = (os.dup(1), os.dup(2))
    sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    warnings.filterwarnings("ignore", message=".*use of fork.*", category=DeprecationWarning)
    hide_memory()
    send(channel, b"{}")
    Host(channel, outputs, processes).serve()
