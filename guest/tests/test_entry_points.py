"""Entry points of packages that are there and were not asked for."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import guest_path

CODE = """
import importlib.metadata as metadata, json, sys
from _brumate import entry_points, packages
packages.BUNDLE = sys.argv[1] + "/"
sys.path[:0] = sys.argv[1:]
entry_points.hide_unasked(metadata)

def plugins():
    of_all = sorted([point.name for point in metadata.entry_points(group="plugins")])
    each = sorted([point.name for found in metadata.distributions() for point in found.entry_points if point.group == "plugins"])
    assert of_all == each, (of_all, each)
    return of_all

seen = [plugins()]
packages.ask_for(["Od.Asked"])
seen.append(plugins())
import od_imported
seen.append(plugins())
seen.append([point.name for point in metadata.distribution("od-hidden").entry_points])
seen.append(plugins())
print(json.dumps(seen))
"""


def package(place, name):
    with open(os.path.join(place, f"{name}.py"), "w"):
        pass
    info = os.path.join(place, f"{name}-1.dist-info")
    os.mkdir(info)
    with open(os.path.join(info, "METADATA"), "w") as file:
        file.write(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    with open(os.path.join(info, "entry_points.txt"), "w") as file:
        file.write(f"[plugins]\n{name} = {name}\n[console_scripts]\n{name} = {name}:main\n")


class EntryPoints(unittest.TestCase):
    def test_those_of_the_bundle_are_hidden_until_they_are_asked_for(self):
        with tempfile.TemporaryDirectory() as bundle, tempfile.TemporaryDirectory() as installed:
            for name in ("od_asked", "od_imported", "od_hidden"):
                package(bundle, name)
            package(installed, "od_installed")
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(guest_path.ROOTS)}
            command = [sys.executable, "-S", "-c", CODE, bundle, installed]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            self.assertEqual(done.stderr, "")
            asked = ["od_asked", "od_installed"]
            everything = ["od_asked", "od_imported", "od_installed"]
            self.assertEqual(
                json.loads(done.stdout),
                [
                    ["od_installed"],
                    asked,
                    everything,
                    ["od_hidden", "od_hidden"],
                    everything,
                ],
            )


if __name__ == "__main__":
    unittest.main()
