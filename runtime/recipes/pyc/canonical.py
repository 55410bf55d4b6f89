"""A canonical form of marshalled code (format 5, CPython 3.14).

What marshal.dumps() writes depends on more than the source: an object gets a reference flag when
its reference count is above one, and whether two equal constants are one object, or a string is
interned, depends on what the process did before. Here equal constants are always one object, a
flag is set exactly where something refers to, and a string is interned exactly if it could be an
identifier (the loader interns names by itself). The loaded code is equal to the original.
"""

_FLAG_REF = 0x80
_NO_PAYLOAD = frozenset(b"0NFTS.")
_FIXED = {ord("i"): 4, ord("g"): 8, ord("y"): 16}
_STRINGS = {ord(kind): width for kind, width in (("t", 4), ("u", 4), ("a", 4), ("A", 4), ("z", 1), ("Z", 1))}
_SEQUENCES = {ord("("): 4, ord(")"): 1, ord(">"): 4}
_IDENTIFIER = frozenset(b"_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

#: Objects inside a code object, around its first line number.
_CODE_HEAD, _CODE_TAIL = 8, 2
#: Bytes before them: argcount, posonlyargcount, kwonlyargcount, stacksize, flags.
_CODE_COUNTS = 20


class _Reader:
    """Parses a stream into numbered nodes; equal objects get the same number.

    A node is (bytes before its children, numbers of its children, bytes after them).
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.pos = 0
        self.references: list[int | None] = []
        self.numbers: dict[tuple, int] = {}
        self.nodes: list[tuple[bytes, tuple[int, ...], bytes]] = []

    def take(self, count: int) -> bytes:
        self.pos += count
        return self.data[self.pos - count : self.pos]

    def length(self, width: int) -> int:
        return int.from_bytes(self.take(width), "little", signed=width == 4)

    def node(self, head: bytes, children: tuple[int, ...] = (), tail: bytes = b"") -> int:
        node = (head, children, tail)
        number = self.numbers.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
        return number

    def objects(self, count: int) -> tuple[int, ...]:
        return tuple(self.object() for _ in range(count))

    def object(self) -> int:
        (byte,) = self.take(1)
        kind = byte & ~_FLAG_REF
        if kind == ord("r"):
            number = self.references[self.length(4)]
            if number is None:
                raise ValueError("an object that contains itself")
            return number
        slot = len(self.references)
        if byte & _FLAG_REF:
            self.references.append(None)
        number = self.value(kind)
        if byte & _FLAG_REF:
            self.references[slot] = number
        return number

    def value(self, kind: int) -> int:
        head = bytes([kind])
        if kind in _NO_PAYLOAD:
            return self.node(head)
        if kind in _FIXED:
            return self.node(head + self.take(_FIXED[kind]))
        if kind == ord("l"):
            digits = self.take(4)
            return self.node(head + digits + self.take(2 * abs(int.from_bytes(digits, "little", signed=True))))
        if kind == ord("s"):
            size = self.take(4)
            return self.node(head + size + self.take(int.from_bytes(size, "little")))
        if kind in _STRINGS:
            return self.node(_string(self.take(self.length(_STRINGS[kind]))))
        if kind in _SEQUENCES:
            count = self.length(_SEQUENCES[kind])
            return self.node(_sequence(kind, count), self.objects(count))
        if kind == ord(":"):
            return self.node(head, self.objects(3))
        if kind == ord("c"):
            counts = self.take(_CODE_COUNTS)
            children = self.objects(_CODE_HEAD)
            first_line = self.take(4)
            return self.node(head + counts, (*children, *self.objects(_CODE_TAIL)), first_line)
        raise ValueError(f"marshal type {kind:#x} in code")


def _string(utf8: bytes) -> bytes:
    """The shortest form of a string, interned or not by its content."""
    interned = _IDENTIFIER.issuperset(utf8)
    if not utf8.isascii():
        return b"u" + len(utf8).to_bytes(4, "little") + utf8
    if len(utf8) < 256:
        return (b"Z" if interned else b"z") + bytes([len(utf8)]) + utf8
    return (b"A" if interned else b"a") + len(utf8).to_bytes(4, "little") + utf8


def _sequence(kind: int, count: int) -> bytes:
    if kind != ord(">") and count < 256:
        return b")" + bytes([count])
    return (b">" if kind == ord(">") else b"(") + count.to_bytes(4, "little")


def _is_shared(head: bytes) -> bool:
    """Whether repeating an object of this kind costs more than a reference, or another object."""
    return head[0] not in _NO_PAYLOAD and head[0] != ord("i")


def _repeated(nodes: list, root: int) -> set[int]:
    """The nodes that are met again after they were written."""
    met: set[int] = set()
    repeated: set[int] = set()
    stack = [root]
    while stack:
        number = stack.pop()
        head, children, _ = nodes[number]
        if number in met and _is_shared(head):
            repeated.add(number)
            continue
        met.add(number)
        stack.extend(children)
    return repeated


def canonical(data: bytes) -> bytes:
    """The canonical form of a marshalled code object."""
    reader = _Reader(data)
    root = reader.object()
    if reader.pos != len(data):
        raise ValueError("bytes after the marshalled object")
    repeated = _repeated(reader.nodes, root)
    slots: dict[int, int] = {}
    out = bytearray()

    def write(number: int) -> None:
        if number in slots:
            out.extend(b"r" + slots[number].to_bytes(4, "little"))
            return
        head, children, tail = reader.nodes[number]
        flag = 0
        if number in repeated:
            slots[number] = len(slots)
            flag = _FLAG_REF
        out.append(head[0] | flag)
        out.extend(head[1:])
        split = _CODE_HEAD if tail else len(children)
        for child in children[:split]:
            write(child)
        out.extend(tail)
        for child in children[split:]:
            write(child)

    write(root)
    return bytes(out)
