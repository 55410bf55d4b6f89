"""Modules that are asked for when they are imported: by whom, and which."""

import functools
import importlib
import importlib.util
import os
import sys
import tempfile
import textwrap
import types
import unittest
import unittest.mock

import guest_path  # isort: split

from _brumate import import_hooks, on_demand, packages


class OnDemand(unittest.TestCase):
    """A host that has modules as texts, and a directory of libraries."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.libraries = os.path.join(directory.name, "libraries")
        self.host = os.path.join(directory.name, "host")
        os.mkdir(self.libraries)
        os.mkdir(self.host)
        self.asked, self.has = [], {}
        for target, value in [
            ("_INSTALLED", (self.libraries + os.sep,)),
            ("_LIBRARY", os.path.dirname(os.__file__) + os.sep),
        ]:
            patch = unittest.mock.patch.object(on_demand, target, value)
            patch.start()
            self.addCleanup(patch.stop)
        patch = unittest.mock.patch.object(packages, "install_module", self.install)
        patch.start()
        self.addCleanup(patch.stop)
        known, path = set(sys.modules), list(sys.path)
        sys.meta_path.append(on_demand.Finder)
        sys.path += [self.libraries, self.host]
        on_demand.start_run()
        on_demand._Imports.declared.clear()

        def restore():
            on_demand.end_run()
            sys.meta_path.remove(on_demand.Finder)
            sys.path[:] = path
            for name in set(sys.modules) - known:
                del sys.modules[name]

        self.addCleanup(restore)

    def install(self, name, among=()):
        self.asked.append((name, tuple(among)))
        if name not in self.has:
            raise packages.InstallError(f"nobody has {name}")
        with open(os.path.join(self.host, f"{name}.py"), "w") as file:
            file.write(self.has[name])
        importlib.invalidate_caches()

    def library(self, name, source, requires=()):
        with open(os.path.join(self.libraries, f"{name}.py"), "w") as file:
            file.write(textwrap.dedent(source))
        info = os.path.join(self.libraries, f"{name}-1.dist-info")
        os.mkdir(info)
        with open(os.path.join(info, "METADATA"), "w") as file:
            lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"]
            file.write("".join(lines + [f"Requires-Dist: {text}\n" for text in requires]))
        importlib.invalidate_caches()

    def run_code(self, code):
        namespace = {"__name__": "__main__"}
        exec(compile(textwrap.dedent(code), "main.py", "exec"), namespace)
        return namespace

    def test_code_gets_what_it_imports_also_if_it_could_do_without(self):
        self.has = {"od_one": "value = 1", "od_two": "value = 2", "od_three": "value = 3", "od_four": ""}
        found = self.run_code("""
            import importlib
            try:
                import od_one
            except ImportError:
                od_one = None
            two = importlib.import_module("od_two")
            three = __import__("od_three")
            four = importlib.util.find_spec("od_four")
        """)
        self.assertEqual((found["od_one"].value, found["two"].value), (1, 2))
        self.assertEqual(found["three"].value, 3)
        # A question installs nothing.
        self.assertIsNone(found["four"])
        self.assertEqual([name for name, _ in self.asked], ["od_one", "od_two", "od_three"])

    def test_a_module_that_is_installed_by_its_import_is_changed_as_others_are(self):
        self.has = {"od_changed": "value = 1"}
        import_hooks.after_import("od_changed", lambda module: setattr(module, "value", 2))
        self.addCleanup(import_hooks._HOOKS.pop, "od_changed")
        self.assertEqual(self.run_code("import od_changed")["od_changed"].value, 2)

    def test_a_project_that_states_its_requirements_gets_what_it_imports_plainly(self):
        on_demand.start_run(stated=True)
        on_demand._Imports.parsed.clear()
        self.has = {"od_one": "", "od_two": "value = 2", "od_three": "", "od_four": "", "od_five": "", "od_six": ""}
        file = os.path.join(self.host, "project.py")
        with open(file, "w") as source:
            source.write(
                textwrap.dedent("""
                    import contextlib, importlib, unittest
                    try:
                        import od_one
                    except ImportError:
                        od_one = None
                    from od_two import value
                    with contextlib.suppress(ImportError):
                        import od_three
                    with unittest.TestCase().assertRaises(ImportError):
                        import od_four
                    try:
                        importlib.import_module("od_five")
                    except ImportError:
                        dynamic = None
                    def late():
                        import od_six.part
                """)
            )
        sys.path.append(self.host)
        module = importlib.import_module("project")
        self.assertEqual((module.od_one, module.value, module.dynamic), (None, 2, None))
        with self.assertRaises(ImportError):
            module.late()
        self.assertEqual(self.asked, [("od_two", ()), ("od_six", ())])
        with unittest.mock.patch.object(on_demand.streams, "write_error") as write:
            on_demand.tell_beyond()
        self.assertIn("fetched od_six, od_two, which", write.call_args[0][0])
        # Code without a file has no plain imports.
        with self.assertRaises(ModuleNotFoundError):
            self.run_code("import od_five")
        on_demand.start_run()
        self.run_code("import od_five")
        with unittest.mock.patch.object(on_demand.streams, "write_error") as write:
            on_demand.tell_beyond()
        write.assert_not_called()

    def test_a_module_that_is_run_is_imported(self):
        import runpy

        self.has["runnable"] = "ran = __name__"
        self.assertEqual(runpy.run_module("runnable")["ran"], "runnable")
        self.assertEqual(self.asked, [("runnable", ())])
        with self.assertRaises(ImportError):
            runpy.run_module("nowhere.inner")
        self.assertEqual(self.asked[1:], [("nowhere", ())])
        # Asking whether it is there is not.
        self.assertIsNone(importlib.util.find_spec("asked_only"))
        self.assertEqual(len(self.asked), 2)

    def test_what_nobody_has_is_asked_for_once(self):
        found = self.run_code("""
            errors = []
            for _ in range(3):
                try:
                    import od_nothing.part
                except ModuleNotFoundError as error:
                    errors.append((str(error), error.name))
            import importlib.util
            spec = importlib.util.find_spec("od_nothing")
        """)
        self.assertEqual(found["errors"], [("No module named 'od_nothing'", "od_nothing")] * 3)
        self.assertIsNone(found["spec"])
        self.assertEqual(self.asked, [("od_nothing", ())])

    def test_parts_of_packages_and_private_and_standard_names_are_not_asked_for(self):
        self.run_code("""
            for name in ("json.od_nothing", "_od_private", "winreg", "msvcrt"):
                try:
                    __import__(name)
                except ImportError:
                    pass
        """)
        self.assertEqual(self.asked, [])

    def test_nobody_asks_between_runs_nor_where_nobody_answers(self):
        on_demand.end_run()
        with self.assertRaises(ModuleNotFoundError):
            self.run_code("import od_one")
        self.assertEqual(self.asked, [])
        on_demand.start_run()
        with unittest.mock.patch.object(packages, "install_module", side_effect=packages.Nobody("nobody")) as install:
            for _ in range(2):
                with self.assertRaises(ModuleNotFoundError):
                    self.run_code("import od_one")
        self.assertEqual(install.call_count, 1)

    def test_code_that_a_library_makes_from_a_text_is_the_librarys(self):
        self.has = {"od_one": "", "od_two": "", "od_three": ""}
        self.library(
            "od_library",
            """
            exec("def declared():\\n    import od_one\\ndef other():\\n    import od_two")

            def tries():
                try:
                    exec("import od_one")
                except ImportError:
                    pass
        """,
            ["od_one"],
        )
        self.run_code("import od_library; od_library.tries()")
        self.assertEqual(self.asked, [])
        self.run_code("import od_library; od_library.other(); od_library.declared(); exec('import od_three')")
        self.assertEqual(self.asked, [("od_two", ("od_one",)), ("od_one", ("od_one",)), ("od_three", ())])

    def test_a_library_gets_what_it_declares_and_needs(self):
        self.has = {"od_one": "", "od_two": "", "od_three": "", "od_four": ""}
        requires = ['od-one>=1; extra == "feature"', "od_two", "od-three ; extra == 'test'", "od-probe"]
        self.library("od_library", """
            def needed():
                import od_one

            def explained():
                try:
                    import od_two
                except ImportError as error:
                    raise RuntimeError("od_two is missing") from error

            def for_developers():
                import od_four

            def tried():
                try:
                    import od_probe
                except ImportError:
                    pass
                from contextlib import suppress
                with suppress(ImportError):
                    import od_probe
        """, requires)  # fmt: skip
        self.run_code("""
            import od_library
            od_library.needed()
            od_library.explained()
            od_library.tried()
        """)
        among = ("od-one>=1", "od_two", "od-probe")
        self.assertEqual(self.asked, [("od_one", among), ("od_two", among)])

    def test_what_a_library_tries_is_not_asked_for_through_another_file_either(self):
        self.library("od_fast", "import od_probe\n", ["od-probe"])
        self.library("od_slow", """
            try:
                import od_fast
            except ImportError:
                od_fast = None
        """)  # fmt: skip
        self.assertIsNone(self.run_code("import od_slow")["od_slow"].od_fast)
        self.assertEqual(self.asked, [])

    def test_what_an_extension_module_imports_while_it_is_initialized_is_not_asked_for(self):
        # The loader's frames as they are above an extension, which has none.
        loader = {}
        for path, source in [
            ("<frozen importlib._bootstrap>", "def _call_with_frames_removed(call): return call()"),
            ("<frozen importlib._bootstrap_external>", "def exec_module(call): return _call_with_frames_removed(call)"),
        ]:
            exec(compile(source, path, "exec"), loader)
        extension = types.ModuleType("od_extension")
        extension.initialize = functools.partial(loader["exec_module"], functools.partial(__import__, "od_probe"))
        with unittest.mock.patch.dict(sys.modules, od_extension=extension):
            self.library("od_pandas", "import od_extension\nod_extension.initialize()\n", ["od-probe"])
            with self.assertRaises(ModuleNotFoundError):
                self.run_code("import od_pandas")
        self.assertEqual(self.asked, [])

    def test_libraries_in_other_directories_are_libraries(self):
        with unittest.mock.patch.object(on_demand, "_INSTALLED", ()):
            self.library("od_mounted", """
                def tried():
                    try:
                        import od_probe
                    except ImportError:
                        return None
            """, ["od-probe"])  # fmt: skip
            self.run_code("import od_mounted; od_mounted.tried()")
        self.assertEqual(self.asked, [])

    def test_a_library_that_declares_nothing_gets_nothing(self):
        self.library("od_silent", "def needed():\n    import od_one\n")
        with self.assertRaises(ModuleNotFoundError):
            self.run_code("import od_silent; od_silent.needed()")
        self.assertEqual(self.asked, [])

    def test_pandas_says_whether_it_needs_something(self):
        self.has = {"od_one": ""}
        self.library("od_pandas", """
            import importlib

            def import_optional_dependency(name, extra="", errors="raise"):
                try:
                    return importlib.import_module(name)
                except ImportError as error:
                    if errors == "raise":
                        raise ImportError(name) from error
        """, ['od-one; extra == "one"', 'od-two; extra == "two"'])  # fmt: skip
        self.run_code("""
            from od_pandas import import_optional_dependency
            import_optional_dependency("od_two", errors="ignore")
            import_optional_dependency("od_one")
        """)
        self.assertEqual([name for name, _ in self.asked], ["od_one"])

    def test_an_interrupt_is_the_guests(self):
        with unittest.mock.patch.object(packages, "install_module", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                self.run_code("import od_one")
        self.has = {"od_one": ""}
        self.run_code("import od_one")


if __name__ == "__main__":
    unittest.main()
