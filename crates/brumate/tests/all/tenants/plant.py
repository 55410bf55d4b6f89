# Puts canaries wherever a guest can put bytes. `PREFIX` is what all begin with; what follows is of this guest alone.
import ctypes, decimal, gc, os, secrets, sqlite3
import numpy as np

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
tokens = {}

def canary(place):
    tokens[place] = secrets.token_hex(16)
    return PREFIX + tokens[place]

kept = [canary("str"), canary("bytes").encode(), bytearray(canary("bytearray").encode())]
kept.append("€" + canary("wide str"))
kept.append("𝄞" + canary("widest str"))
kept.append(np.frombuffer(canary("numpy").encode().ljust(1 << 20, b"."), dtype="u1").copy())
kept.append(np.array([canary("numpy texts")] * 1000))
for size in (64, 5000, 1 << 20, 8 << 20):
    # Freed, and not overwritten: allocators keep the bytes.
    gone = [canary(f"deleted {size}").encode().ljust(size, b".") for _ in range(3)]
    del gone
gc.collect()
text = canary("malloc").encode()
address = libc.malloc(9000)
ctypes.memmove(address + 4096, text, len(text))
text = canary("freed").encode()
address = libc.malloc(300_000)
ctypes.memmove(address + 150_000, text, len(text))
libc.free(ctypes.c_void_p(address))
del text

def deep(level):
    # The native stack, too.
    local = canary("stack") if level == 0 else None
    return deep(level - 1) if level else len(local)

deep(50)
for path in ("kept", "/tmp/kept"):
    with open(path, "w") as file:
        file.write(canary("file " + path))
with open("removed", "w") as file:
    file.write(canary("removed file") * 5000)
os.remove("removed")
unlinked = open("unlinked", "w+")
unlinked.write(canary("unlinked file"))
unlinked.flush()
os.remove("unlinked")
os.mkdir(canary("directory"))
os.symlink(canary("link"), "link")
pipe = os.pipe()
os.write(pipe[1], canary("pipe").encode())
os.environ["CANARY"] = canary("environment")
base = sqlite3.connect("base")
base.execute("create table t (x)")
base.execute("insert into t values (?)", [canary("database")])
base.commit()
print(*tokens.values())
