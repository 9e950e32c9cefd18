# --- Packages that stay loaded -------------------------------------------------------------------
#
# The process that forks the sessions imports packages that calls have used, so that later sessions find
# them loaded. What a session says about a module is only its name. This process finds the module itself,
# among installed files that no step can change: otherwise a step could have its code run here.


class InstalledFinder:
    """Finds the modules that this process may import itself."""

    find_distributions = staticmethod(importlib.machinery.PathFinder.find_distributions)

    def __init__(self):
        # True once a module was found that a step may have written.
        self.refused = False
        self.mounts = mount_points()
        self.read_only = {}

    def find_spec(self, name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or all(map(self.is_fixed, places_of(spec))):
            return spec
        self.refused = True
        return None

    def is_fixed(self, place):
        """Returns True for an installed file or directory that this process's user can neither change
        nor replace, by another one or by one of its directories."""
        if not place.startswith(PREFIXES) or os.path.realpath(place) != place:
            return False
        if not self.is_read_only(place):
            return False
        while (above := os.path.dirname(place)) != place:
            # A mount point cannot be moved.
            if place not in self.mounts and not self.is_read_only(above):
                return False
            place = above
        return True

    def is_read_only(self, place):
        if place not in self.read_only:
            self.read_only[place] = is_read_only(place)
        return self.read_only[place]


def is_read_only(place):
    """Returns True if this process's user cannot write a file, or the entries of a directory."""
    try:
        if os.statvfs(place).f_flag & os.ST_RDONLY:
            return True
        found = os.stat(place)
        if not os.access(place, os.W_OK):
            return found.st_uid != os.getuid()  # Its owner could make it writable.
        # Landlock refuses what the mode allows.
        kind = getattr(os, "O_TMPFILE", os.O_CREAT) if stat.S_ISDIR(found.st_mode) else os.O_NONBLOCK
        os.close(os.open(place, os.O_WRONLY | kind, 0o600))
        return False
    except OSError as error:
        return error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)


def places_of(spec):
    """Returns the files and directories that an import of a module reads code from."""
    places = list(spec.submodule_search_locations or ())
    places += [place for place in (spec.origin, spec.cached) if place and os.path.exists(place)]
    if spec.cached and os.path.exists(os.path.dirname(spec.cached)):
        places.append(os.path.dirname(spec.cached))
    return places or [spec.name]


def mount_points():
    try:
        with open("/proc/self/mountinfo") as file:
            return {line.split()[4] for line in file}
    except (OSError, IndexError):
        return set()


def warm(names, tried):
    """Imports packages that a call has used, unless that would hinder forks."""
    for name in names:
        if name in tried or len(tried) >= WARM_MAX or name in sys.modules:
            continue
        tried.add(name)
        if re.fullmatch(r"[A-Za-z]\w*", name) and survives_import(name):
            import_installed(name)


def survives_import(name):
    """Imports a package in a fork. Returns True if all of it is installed, and the fork has no second
    thread afterwards, also not after it has forked itself: some libraries stop their threads for that."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(WARM_SECONDS_MAX)
        is_installed_whole = import_installed(name)
        second = os.fork()
        if second == 0:
            os._exit(0)
        os.waitpid(second, 0)
        is_single = is_installed_whole and len(os.listdir("/proc/self/task")) == 1
        os._exit(0 if is_single else 1)
    return os.waitpid(pid, 0)[1] == 0


def import_installed(name):
    """Imports a package. Returns False if it or a module that it imports is not found, or may have been
    written by a step."""
    finder = InstalledFinder()
    usual = sys.meta_path[:]
    own = (importlib.machinery.BuiltinImporter, importlib.machinery.FrozenImporter, finder)
    sys.meta_path[:] = own
    try:
        quietly(lambda: importlib.import_module(name))
    finally:
        sys.meta_path[:] = usual
    return name in sys.modules and not finder.refused


def quietly(action):
    """Runs an action without its output and its exceptions."""
    kept = (os.dup(1), os.dup(2))
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        os.dup2(null, 2)
        action()
    except BaseException:
        pass
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        for fd in (*kept, null):
            os.close(fd)


serve()
