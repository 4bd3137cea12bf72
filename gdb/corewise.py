"""Commands of gdb that show the tasks and coroutines of a program with corewise in it: docs/gdb.md.

They read memory and run nothing in the program, so they work on cores too. They find everything from the
symbol `corewise_layouts` (engine/src/runtime/debugger_view.hpp), and need no debug information."""

import collections
import functools
import re
import struct

import gdb

VERSIONS = (1,)  # of the layouts; the script follows these
MOST_STEPS = 100_000  # along one chain or list: memory that is damaged may make a circle
STACK_BYTES = 256 * 1024  # of a thread, that are searched for the coroutine that runs


def say_cut(what):
    gdb.write(f"(more than {MOST_STEPS} {what}, or damaged memory: the rest is left out)\n")


# --- memory


def read(address, size):
    try:
        return bytes(gdb.selected_inferior().read_memory(address, size))
    except (gdb.MemoryError, OverflowError):
        raise gdb.MemoryError(f"cannot read {size} bytes at {address:#x}") from None


def number(address, size):
    return int.from_bytes(read(address, size), "little")


def word(address):
    return number(address, 8)


def words(address, count):
    return struct.unpack(f"<{count}Q", read(address, 8 * count)) if count else ()


def text(address, most=4096):
    """The text that ends by 0, cut after `most` bytes."""
    found = b""
    while address and len(found) < most and b"\0" not in found:
        found += read(address + len(found), min(64, 4096 - (address + len(found)) % 4096))
    return found.split(b"\0")[0].decode(errors="replace")


# --- names


@functools.lru_cache(maxsize=None)
def demangled(name):
    try:
        return gdb.execute(f"demangle -l c++ -- {name}", to_string=True).strip()
    except gdb.error:
        return name


@functools.lru_cache(maxsize=None)  # during one command: files may be loaded after it
def symbol(address):
    """The mangled name of the function or object there, and how far behind its begin; or None."""
    found = gdb.execute(f"with print demangle off -- info symbol {address:#x}", to_string=True)
    m = re.match(r"(\S+)(?: \+ (\d+))? in section ", found)
    return (m[1], int(m[2] or 0)) if m else None


def coroutine_name(resume):
    """The coroutine whose frame begins with that function. Clang calls it F.resume. GCC's takes the frame,
    whose type is F.Frame, and a type is written with its length before it."""
    if resume == 0:
        return "a coroutine that has ended"
    found = symbol(resume)
    if not found:
        return f"{resume:#x}"
    name = found[0]
    end = name.find(".Frame")
    if end >= 0:
        for m in re.finditer("_Z", name[:end]):
            at = m.start()
            if at and name[:at].endswith(str(end + 6 - at)):
                return demangled(name[at:end])
    for suffix in (".resume", ".destroy", ".cleanup"):
        name = name.removesuffix(suffix)
    return demangled(name)


def type_text(name):
    """What people read of a type that `typeid` names, or of a word."""
    plain = demangled("_ZTS" + name.removeprefix("*"))
    return plain.removeprefix("typeinfo name for ") if not plain.startswith("_ZTS") else name


def closure_name(act):
    """What a task calls, by the function that runs it."""
    found = symbol(act)
    if not found:
        return f"{act:#x}"
    name = demangled(found[0])
    m = re.match(r"corewise::detail::(?:closure|scope_call)<(.*)>::perform\(", name)
    return m[1] if m else name


def source_line(code, sal=None):
    """Where the code is from, if there is debug information."""
    sal = sal or gdb.find_pc_line(code)
    return f" at {sal.symtab.filename}:{sal.line}" if sal.symtab and sal.line else ""


# --- the layouts


class Layouts:
    """One `corewise_layouts`: there is one in each module that has corewise in it."""

    def __init__(self, address):
        self.version, count, self.registrations = struct.unpack("<IIQ", read(address, 16))
        if self.version not in VERSIONS:
            known = ", ".join(map(str, VERSIONS))
            raise gdb.GdbError(
                f"corewise: the program has version {self.version} of the layouts, and this script knows {known}. "
                "Source the corewise.py that was installed with the program's corewise."
            )
        self.numbers = {}
        for name, value in struct.iter_unpack("<40sQ", read(address + 16, 48 * count)):
            self.numbers[name.split(b"\0")[0].decode()] = value

    def __getitem__(self, name):
        return self.numbers[name]

    def word(self, address, name):
        return word(address + self[name])

    def byte(self, address, name):
        return number(address + self[name], 1)


def layout_addresses():
    listed = gdb.execute("info variables -q ^corewise_layouts$", to_string=True)
    found = {int(m[1], 16) for m in re.finditer(r"^(0x[0-9a-f]+)\s+corewise_layouts$", listed, re.M)}
    try:  # with debug information the list has no address
        found.add(int(gdb.parse_and_eval("(unsigned long)&corewise_layouts")))
    except gdb.error:
        pass
    return sorted(found)


def all_engines():
    if gdb.selected_thread() is None:
        raise gdb.GdbError("corewise: there is no process: run the program, attach to it, or load its core")
    addresses = layout_addresses()
    if not addresses:
        raise gdb.GdbError(
            "corewise: no corewise in this program: it has no symbol corewise_layouts. "
            "(A stripped program has none either; give gdb its symbols by `symbol-file`.)"
        )
    engines = []
    for address in addresses:
        layouts = Layouts(address)
        for at, registration in enumerate(words(layouts.registrations, 256)):
            view = registration and layouts.word(registration, "engine_registration.shown_")
            if view:
                engines.append(Engine(layouts, at, view))
    return engines


# --- coroutines


Place = collections.namedtuple("Place", "frame of_task root")
Place.__doc__ = """A coroutine that does not run: its frame, whether that is a task's, and its root."""

Awaiter = collections.namedtuple("Awaiter", "frame how")
Awaiter.__doc__ = """A coroutine of a chain, and how it comes after the one before."""

Waiting = collections.namedtuple("Waiting", "how task place")
Waiting.__doc__ = """A task that does not run; its place is None if it is no coroutine, or cannot be read."""

Label = collections.namedtuple("Label", "name id kind frame")


NOT_AWAITED_BY_A_TASK = "(a coroutine of another type than `corewise::task`: nothing tells what awaits it. Its root:)"


class Engine:
    def __init__(self, layouts, at, view):
        self.l = layouts
        self.number = at
        self.view = view
        self.address = self.field("address")
        self.name = text(self.field("name"))
        self.root_act = self.field("root_act")
        self.resumption_act = self.field("resumption_act")
        self.foreign_act = self.field("foreign_act")

    def field(self, name):
        return self.l.word(self.view, "debugger_view." + name)

    def state(self):
        stage = number(self.field("stage"), 1)
        return {0: "of the process that forked this one", 1: "has ended", 2: "shuts down"}.get(stage, "")

    def seats(self):
        first, size = self.field("seats"), self.l["sizeof(debugger_seat)"]
        return [Seat(self, w, first + w * size) for w in range(self.field("seat_count"))]

    def execution_of(self, thread_pointer):
        return (thread_pointer + self.field("execution")) & (2**64 - 1)

    # --- what a task is

    def strand_of(self, frame):
        return frame + self.l["promise"]

    def frame_of(self, strand):
        return strand - self.l["promise"]

    def chain_of(self, root):
        """Where the chain of the root's bound values begins (bound_values.hpp)."""
        sibling = self.l.word(root, "strand.sibling")
        if sibling & 1:
            return (sibling & ~3) | self.l["value_chain::value_bit"]
        if self.l.byte(root, "task_header.mark") == self.l["strand_role::root"]:
            return 0
        return self.l.word(root, "strand.continuation") | self.l["value_chain::join_bit"]

    def label(self, root, within=0):
        """The label of the root, or of a closure with that chain of bound values."""
        l, key = self.l, self.field("label")
        at = self.chain_of(root) if root else within
        for _ in range(MOST_STEPS):
            node = at & ~3
            if not node:
                break
            if at & l["value_chain::value_bit"]:
                if l.word(node, "bound_value.key") == key:
                    high, low = words(node + l["task_label.id"], 2)
                    return Label(
                        text(l.word(node, "task_label.name"), 128),
                        f"{high:016x}{low:016x}" if high | low else "",
                        l.word(node, "task_label.kind"),
                        l.word(node, "task_label.frame"),
                    )
                at = l.word(node, "bound_value.outer")
            elif at & l["value_chain::join_bit"]:
                at = self.chain_of(l.word(node, "join_point.root_"))
            else:
                at = l.word(node, "blocking_scope.around_")
        return None

    def kind(self, root, label):
        """The function of the coroutine that the user submitted or forked."""
        frame = self.frame_of(root)
        if self.l.byte(root, "task_header.mark") == self.l["strand_role::root"]:
            future = self.l.word(root, "strand.continuation")
            if future:
                frame = self.l.word(future, "future_state.work") or frame
            elif label and label.kind:
                return type_text(text(label.kind))
            elif label:
                frame = label.frame or frame
        return coroutine_name(word(frame))

    def name_of(self, place):
        """The name of the coroutine that waits; empty for a closure, of which a label makes a coroutine."""
        frame = place.frame
        own = place.root and frame == self.frame_of(place.root)
        if own and self.l.byte(place.root, "task_header.mark") == self.l["strand_role::root"]:
            label = self.label(place.root)
        else:
            label = None  # that of a child is its family's
        if label:
            if label.kind:
                return ""
            frame = label.frame or frame
        return coroutine_name(word(frame))

    def task(self, root, within=0, kind=None, labels=False):
        """What people read of a task; `labels`: of a coroutine, or of the closure that one labels."""
        label = self.label(root, within)
        if root:
            shown = self.kind(root, label)
        else:
            shown = type_text(text(label.kind)) if labels and label and label.kind else kind
        known = ", ".join(filter(None, label[:2])) if label else ""
        return f"{shown} ({known})" if known else shown

    # --- what awaits a coroutine

    def awaiters(self, place):
        """The coroutines from the innermost to the root, and then what is to be said at the end."""
        l = self.l
        frame, of_task, root = place
        how = ""
        for _ in range(MOST_STEPS):
            yield Awaiter(frame, how)
            if not of_task:
                if not root or self.frame_of(root) == frame:
                    return
                how = NOT_AWAITED_BY_A_TASK
                frame, of_task = self.frame_of(root), True
                continue
            strand = self.strand_of(frame)
            after = l.word(strand, "strand.continuation")
            if l.word(strand, "strand.engine") == 0:
                if not after:
                    return
                how = "awaited by"
                frame, of_task = after, l.word(strand, "strand.owner") != 0
                continue
            role = l.byte(strand, "task_header.mark")
            if role in (l["strand_role::root"], l["strand_role::dropped"]):
                return
            how = "forked by"
            frame, root = l.word(after, "join_point.parent_"), l.word(after, "join_point.root_")
            of_task = l.byte(after, "join_point.parent_is_foreign_") == 0
        yield Awaiter(0, f"(the chain has more than {MOST_STEPS} coroutines, or is damaged)")

    def top_of(self, place):
        """The root of the chain, if the chain ends in one of this engine."""
        frame = 0
        for frame, _ in self.awaiters(place):
            pass
        root = frame and self.strand_of(frame)
        owned = root and self.l.word(root, "strand.engine") == self.address
        return root if owned else 0

    # --- the coroutines that do not run

    def place_of(self, task):
        """The coroutine that goes on when the task runs; None: the task is none."""
        act = self.l.word(task, "task_header.act")
        if act == self.root_act:
            return Place(self.frame_of(task), True, task)
        if act in (self.resumption_act, self.foreign_act):
            return Place(
                self.l.word(task, "resumption.frame"), act == self.resumption_act, self.l.word(task, "resumption.root")
            )
        return None

    def suspended(self):
        """Of each that waits for others: for what, and its resumption. A woken one is here until it goes on."""
        l = self.l
        size = l["sizeof(suspension_entry)"]
        entries = l["suspended_table::chunk.entries"]
        count = (l["sizeof(suspended_table::chunk)"] - entries) // size
        chunk = l.word(self.field("suspended"), "suspended_table.chunks_")
        for _ in range(MOST_STEPS):
            if not chunk:
                break
            for entry in range(chunk + entries, chunk + entries + count * size, size):
                record = l.word(entry, "suspension_entry.in")
                if record:
                    kind = l.byte(record, "wait_record.kind")
                    name = text(word(self.view + l["debugger_view.waits"] + 8 * kind))
                    yield "for " + name, l.word(entry, "suspension_entry.held")
            chunk = l.word(chunk, "suspended_table::chunk.next")
        else:
            say_cut("blocks of suspended coroutines")

    def sleeping(self):
        l = self.l
        for group in words(self.field("timers"), self.field("timer_count")):
            heads = group + l["timer_group.heads"]
            count = l["timer_group.head_count"]
            for i, first in enumerate(words(heads, 2 * count)[::2]):
                timer = first
                for _ in range(MOST_STEPS):
                    if timer == heads + 16 * i:
                        break
                    if not l.byte(timer, "timer_node.submits"):
                        yield "for a time (sleep)", l.word(timer, "timer_node.task")
                    timer = word(timer)
                else:
                    say_cut("timers that end at about one time")

    def waiting(self):
        """All tasks that do not run, in an order that stays while the process stands."""
        found = {}
        for how, task in (*self.suspended(), *self.sleeping()):
            place = self.try_place_of(task)
            key = place.frame if place else task
            before = found.get(key)  # in a race (`select`)
            found[key] = Waiting(f"{before.how} or {how}" if before else how, task, place)
        for seat in self.seats():
            for task in seat.queued():
                place = self.try_place_of(task)
                # In place of what it waited for, if it was woken.
                found[place.frame if place else task] = Waiting(f"in a queue of worker {seat.worker}", task, place)
        return list(found.values())

    def try_place_of(self, task):
        try:
            return self.place_of(task)
        except gdb.MemoryError:
            return None


class Seat:
    def __init__(self, engine, worker, view):
        l = engine.l
        self.engine = engine
        self.worker = worker
        self.group = number(view + l["debugger_seat.group"], 4)
        self.report = l.word(view, "debugger_seat.report")
        self.entry = l.word(view, "debugger_seat.entry")
        self.queues = l.word(view, "debugger_seat.queues")
        self.execution = l.word(self.report, "worker_report.execution_")
        self.kernel_thread = number(self.report + l["worker_report.thread_"], 4)
        self.runs = number(self.entry + l["board_entry.owner.running"], 4) != 0

    def task(self):
        """What the seat's thread runs, if it runs a task and sits here."""
        l = self.engine.l
        act = l.word(self.report, "worker_report.act_")
        return self.engine.task(
            l.word(self.execution, "execution.root"),
            l.word(self.execution, "execution.within"),
            closure_name(act),
            labels=act == self.engine.root_act,
        )

    def queued(self):
        """The tasks in the worker's slot, forks and ring, the next to run first."""
        l = self.engine.l
        lifo = l.word(self.entry, "board_entry.owner.lifo")
        if lifo:
            yield lifo
        bottom, top = (l.word(self.entry, "board_entry." + n) for n in ("owner.fork_bottom", "shared.fork_top"))
        array = l.word(self.queues, "forks.array")
        if array:
            mask, first = l.word(array, "fork_deque::cells.mask_"), l.word(array, "fork_deque::cells.first_")
            for at in range(bottom - 1, max(top, bottom - MOST_STEPS) - 1, -1):
                yield word(first + 8 * (at & mask))
        tail = number(self.entry + l["board_entry.owner.ring_tail"], 4)
        head = number(self.entry + l["board_entry.shared.ring_head"], 4)
        mask = number(self.queues + l["ring.mask"], 4)
        cells = l.word(self.queues, "ring.cells")
        for i in range(min((tail - head) & 0xFFFFFFFF, mask + 1)):
            yield word(cells + 8 * ((head + i) & mask))


# --- threads


def thread_pointer():
    """That of the selected thread; None where gdb does not tell it."""
    for register in ("fs_base", "tpidr"):
        try:
            return int(gdb.newest_frame().read_register(register)) & (2**64 - 1)
        except (ValueError, gdb.error):
            pass
    return None


class SelectionKept:
    """Selects the thread and the frame again that are selected now."""

    def __enter__(self):
        self.thread = gdb.selected_thread()
        try:
            self.frame = gdb.selected_frame()
        except gdb.error:
            self.frame = None

    def __exit__(self, *_):
        self.thread.switch()
        if self.frame is not None and self.frame.is_valid():
            self.frame.select()


def threads_by_pointer():
    found = {}
    with SelectionKept():
        for thread in gdb.selected_inferior().threads():
            if thread.is_valid():
                thread.switch()
                found[thread_pointer()] = thread
    found.pop(None, None)
    return found


def native_frames(most=200):
    frame = gdb.newest_frame()
    while frame is not None and most:
        yield frame
        most -= 1
        try:
            frame = frame.older()
        except gdb.error:
            return


def closure_on_stack(thread):
    """The closure that the thread runs, by its stack."""
    with SelectionKept():
        thread.switch()
        for frame in native_frames():
            found = symbol(frame.pc())
            if found and re.search("(closure|scope_call)I.*7perform", found[0]):
                return closure_name(frame.pc() - found[1])
    return "a task"


def running_place(engine, root):
    """The innermost coroutine of that root on the selected thread's stack, and the native frame that runs it.
    The coroutine's frame begins with the function that runs, some word of the stack or a register is its
    address, and its awaiters lead to the root."""
    candidates = []
    low = 0
    for frame in native_frames():
        found = symbol(frame.pc())
        low = low or int(frame.read_register("sp"))
        if not found or not re.search(r"\.(resume|Frame|actor)", found[0]):
            continue
        start = frame.pc() - found[1]
        older = frame.older()
        high = int(older.read_register("sp")) if older else low
        candidates = [int(frame.read_register(r)) & (2**64 - 1) for r in general_registers(frame)]
        candidates += words(low & ~7, min(max(high - low, 0), STACK_BYTES) // 8)
        for at in dict.fromkeys(candidates):
            try:
                if at % 16 == 0 and at and word(at) == start:
                    place = Place(at, True, root)
                    if any(engine.strand_of(f) == root for f, _ in engine.awaiters(place)):
                        return place, frame
            except gdb.MemoryError:
                pass
    return None


def general_registers(frame):
    return [r.name for r in frame.architecture().registers("general") if r.name not in ("eflags", "cpsr")]


# --- the commands


class Corewise(gdb.Command):
    """Show the tasks and coroutines of the engines of corewise in this program.

corewise tasks      what each worker runs, and what waits
corewise bt [WHICH] a coroutine, and those that await it

The commands read memory and run nothing in the program, so they work on cores too. docs/gdb.md has more."""

    def __init__(self):
        super().__init__("corewise", gdb.COMMAND_STATUS, prefix=True)


class Shown(gdb.Command):
    """A command whose errors say what is the matter."""

    def invoke(self, argument, from_tty):
        self.dont_repeat()
        symbol.cache_clear()
        try:
            self.show(argument.strip())
        except gdb.MemoryError as e:
            raise gdb.GdbError(
                f"corewise: {e}: the memory of the process is damaged, or the core is not whole, "
                "or it is not that of the program which gdb was given"
            ) from None


def table(rows):
    """Prints the rows with their columns below each other."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  " + "  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip())


class Tasks(Shown):
    """Show what each worker runs, and the tasks and coroutines that wait.

Usage: corewise tasks

For each worker: its group, the thread that sits on its seat (gdb's number), and its task. Then the threads
that are in a blocking call, or go on after one, while others have their seats. Then what waits: coroutines
that wait for others, sleep, or are queued, with the numbers that `corewise bt` takes, and closures that are
queued. Tasks in inboxes are not shown."""

    def __init__(self):
        super().__init__("corewise tasks", gdb.COMMAND_STATUS)

    def show(self, argument):
        if argument:
            raise gdb.GdbError("corewise tasks takes no argument")
        engines = all_engines()
        if not engines:
            print("No engine lives now.")
        threads = threads_by_pointer()
        next_number = 1
        for engine in engines:
            state = engine.state()
            print(f"engine {engine.number}" + (f" {engine.name}" if engine.name else "") + (f", {state}" if state else ""))
            self.show_workers(engine, threads)
            next_number = self.show_waiting(engine, next_number)

    def show_workers(self, engine, threads):
        of_execution = {engine.execution_of(p): t for p, t in threads.items()}
        rows = [("worker", "group", "thread", "state", "task")]
        seated = set()
        for seat in engine.seats():
            thread = of_execution.get(seat.execution)
            seated.add(seat.execution)
            state, task = "-", ""
            try:
                blocks = not seat.runs and thread and self.has_task(engine, seat.execution, thread)
                if seat.runs or blocks:
                    state, task = ("blocking" if blocks else "running"), seat.task()
            except gdb.MemoryError as e:
                task = f"({e})"
            shown = str(thread.num) if thread else f"LWP {seat.kernel_thread}" if seat.kernel_thread else "-"
            rows.append((str(seat.worker), str(seat.group), shown, state, task))
        for execution, thread in of_execution.items():
            if execution not in seated and self.has_task(engine, execution, thread):
                root, within = (engine.l.word(execution, "execution." + n) for n in ("root", "within"))
                kind = closure_on_stack(thread)
                rows.append(("-", "-", str(thread.num), "no seat", engine.task(root, within, kind)))
        table(rows)

    @staticmethod
    def has_task(engine, execution, thread):
        """Whether a thread of the engine runs a task without a seat."""
        l = engine.l
        try:
            if l.word(execution, "execution.engine") != engine.address or l.word(execution, "execution.seat"):
                return False
            root, within = (l.word(execution, "execution." + n) for n in ("root", "within"))
            return root or within or closure_on_stack(thread) != "a task"
        except gdb.MemoryError:
            return False

    @staticmethod
    def show_waiting(engine, first):
        rows = [("no.", "waits", "coroutine", "task")]
        numbered = first
        for how, task, place in engine.waiting():
            try:
                if place:
                    row = (engine.name_of(place), engine.task(place.root) if place.root else "")
                else:
                    row = ("", closure_name(engine.l.word(task, "task_header.act")))
            except gdb.MemoryError as e:
                row = ("", f"({e})")
            shown = str(numbered) if place else ""
            numbered += 1 if place else 0
            rows.append((shown, how, *row))
        if len(rows) > 1:
            table(rows)
        return numbered


class Backtrace(Shown):
    """Show a coroutine and those that await it, from the innermost to the root.

Usage: corewise bt [NUMBER|ADDRESS]

NUMBER is that of a waiting coroutine in `corewise tasks`. ADDRESS is an expression for the frame of a
`corewise::task`, as this command prints it. Without either: the coroutine that runs on the selected thread."""

    def __init__(self):
        super().__init__("corewise bt", gdb.COMMAND_STACK)

    def show(self, argument):
        engines = all_engines()
        if not argument:
            return self.show_running(engines)
        if re.fullmatch(r"\d{1,6}", argument):
            return self.show_number(engines, int(argument))
        return self.show_address(engines, int(gdb.parse_and_eval(f"(unsigned long)({argument})")))

    def show_number(self, engines, wanted):
        at = 0
        for engine in engines:
            for how, _, place in engine.waiting():
                at += 1 if place else 0
                if place and at == wanted:
                    return self.show_chain(engine, place, "waits " + how)
        raise gdb.GdbError(f"corewise: no coroutine has the number {wanted}: {at} wait (`corewise tasks`)")

    def show_address(self, engines, frame):
        for engine in engines:
            for how, _, place in engine.waiting():
                if place and place.frame == frame:
                    return self.show_chain(engine, place, "waits " + how)
        for engine in engines:
            place = Place(frame, True, 0)
            try:
                if engine.top_of(place):
                    return self.show_chain(engine, place)
            except gdb.MemoryError:
                pass
        raise gdb.GdbError(f"corewise: at {frame:#x} is no frame of a `corewise::task` that an engine runs")

    def show_running(self, engines):
        pointer = thread_pointer()
        if pointer is None:
            raise gdb.GdbError("corewise: gdb does not tell the thread pointer here; name a coroutine by its number")
        for engine in engines:
            execution = engine.execution_of(pointer)
            if engine.l.word(execution, "execution.engine") != engine.address:
                continue
            root = engine.l.word(execution, "execution.root")
            label = engine.label(root) if root else None
            if not root or (label and label.kind):  # a label makes a coroutine of a closure
                raise gdb.GdbError("corewise: this thread runs no coroutine: see `corewise tasks`, and `bt`")
            found = running_place(engine, root)
            if found:
                place, native = found
                return self.show_chain(engine, place, "runs", source_line(0, native.find_sal()))
            print("(the stack does not tell which coroutine runs; this is its root)")
            return self.show_chain(engine, Place(engine.frame_of(root), True, root))
        raise gdb.GdbError("corewise: the selected thread is none of an engine's")

    @staticmethod
    def show_chain(engine, place, state="", line=None):
        chain = [(frame, how, coroutine_name(word(frame)) if frame else "") for frame, how in engine.awaiters(place)]
        last = chain[-1][0]
        while len(chain) > 1 and chain[-1][2].startswith("corewise::detail::"):
            chain.pop()  # the library's own, around what the user gave
        for i, (frame, how, name) in enumerate(chain):
            if not frame:
                print("     " + how)
                break
            if how == NOT_AWAITED_BY_A_TASK:
                print("     " + how)
                how = ""
            where = line if i == 0 and line else source_line(word(frame))
            print(f"#{i:<3} {how + ' ' if how else ''}{name} [{frame:#x}]{where}" + (f", {state}" if i == 0 and state else ""))
        root = engine.strand_of(last) if last else 0
        label = engine.label(root) if root and engine.l.word(root, "strand.engine") == engine.address else None
        if label and (label.name or label.id):
            print("task " + ", ".join(filter(None, label[:2])))


Corewise()
Tasks()
Backtrace()
