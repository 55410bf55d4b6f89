# Not of the README: its "actual DB type".
import sys
class Database:
    @classmethod
    async def connect(cls):
        print("database connected", file=sys.stderr)
        return cls()
    async def disconnect(self):
        print("database disconnected", file=sys.stderr)
    async def query(self, text): return [f"row of {text}"]
