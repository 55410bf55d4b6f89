"""Finds the requirements of a server in its source text: the version of `mcp`, `fastmcp`, and declared packages."""

from ..pristine import __builtins__

import ast

FIRST = "mcp>=1.30,<2"
SECOND = "mcp>=2"
ANY = "mcp"
FASTMCP = "fastmcp"

# Modules that only 1.x has, with all below them.
_FIRST_MODULES = (
    "mcp.client.websocket",
    "mcp.server.experimental",
    "mcp.server.fastmcp",
    "mcp.server.lowlevel.experimental",
    "mcp.server.lowlevel.func_inspection",
    "mcp.server.websocket",
    "mcp.shared.experimental",
    "mcp.shared.progress",
    "mcp.shared.response_router",
    "mcp.shared.session",
    "mcp.shared.version",
)
# Modules that only 2.x has, with all below them.
_SECOND_MODULES = (
    "mcp.server.apps",
    "mcp.server.caching",
    "mcp.server.connection",
    "mcp.server.context",
    "mcp.server.extension",
    "mcp.server.mcpserver",
    "mcp.server.request_state",
    "mcp.server.runner",
    "mcp.server.subscriptions",
    "mcp.shared.direct_dispatcher",
    "mcp.shared.dispatcher",
    "mcp.shared.extension",
    "mcp.shared.jsonrpc_dispatcher",
    "mcp.shared.path_security",
    "mcp.shared.peer",
    "mcp.shared.subscriptions",
    "mcp.shared.transport_context",
    "mcp.shared.uri_template",
    "mcp.types.jsonrpc",
    "mcp.types.methods",
    "mcp.types.version",
    "mcp_types",
)
# Names that modules of both have in one version only.
_FIRST_NAMES = frozenset(
    (
        "mcp.McpError",
        "mcp.server.FastMCP",
        "mcp.server.lowlevel.helper_types.ReadResourceContents",
        "mcp.server.lowlevel.server.RequestContext",
        "mcp.server.lowlevel.server.request_ctx",
        "mcp.shared.exceptions.McpError",
    )
)
_SECOND_NAMES = frozenset(
    (
        "mcp.Client",
        "mcp.MCPError",
        "mcp.UriTemplate",
        "mcp.server.CacheHint",
        "mcp.server.MCPServer",
        "mcp.server.ServerRequestContext",
        "mcp.shared.exceptions.MCPError",
    )
)
_LOW_LEVEL = ("mcp.server.Server", "mcp.server.lowlevel.Server", "mcp.server.lowlevel.server.Server")
# Methods that register a handler, as decorators: the low-level server has them in 1.x alone.
_DECORATORS = frozenset(
    (
        "call_tool",
        "completion",
        "get_prompt",
        "list_prompts",
        "list_resource_templates",
        "list_resources",
        "list_tools",
        "progress_notification",
        "read_resource",
        "set_logging_level",
        "subscribe_resource",
        "unsubscribe_resource",
    )
)
# Classes that take `dependencies=[...]`.
_DECLARING = ("FastMCP", "MCPServer")

NO_SUCH_NAME = (
    "`from mcp import FastMCP` works with no version of mcp: write `from mcp.server.fastmcp import FastMCP` (mcp 1.x) "
    "or `from mcp.server import MCPServer` (mcp 2.x)"
)


class Needs:
    """Requirements of a server.

    `requirements` is what it speaks the protocol with, `dependencies` are those that it declares itself, and `advice`
    is a sentence about what cannot work, or None.
    """

    def __init__(self, requirements, dependencies=(), advice=None):
        self.requirements = list(requirements)
        self.dependencies = list(dependencies)
        self.advice = advice

    def __repr__(self):
        return f"Needs({self.requirements}, {self.dependencies}, {self.advice!r})"


def needs(source):
    """Returns what a server needs, from its text alone. A text that does not parse needs `mcp`, as far as it tells."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return Needs([ANY])
    signs = _Signs()
    for node in ast.walk(tree):
        signs.see_import(node)
    if not (signs.mcp or signs.fastmcp):
        return Needs([])
    for node in ast.walk(tree):
        signs.see_call(node)
    if signs.low_level and not signs.second:
        signs.first |= any(_registers_handler(node) for node in ast.walk(tree))
    return Needs(_requirements(signs.first, signs.second, signs.fastmcp), signs.dependencies, signs.advice)


def combine(sources):
    """Returns what the modules of a distribution need together: for one that requires `mcp` without a bound."""
    first = second = fastmcp = False
    dependencies = {}
    for source in sources:
        found = needs(source)
        first |= FIRST in found.requirements
        second |= SECOND in found.requirements
        fastmcp |= FASTMCP in found.requirements
        dependencies.update(dict.fromkeys(found.dependencies))
    return Needs(_requirements(first, second, fastmcp), dependencies)


def _requirements(first, second, fastmcp):
    found = [FASTMCP] if fastmcp else []
    if first != second:
        found.append(FIRST if first else SECOND)
    elif not fastmcp:
        # No sign of either, or of both: the file tries one and then the other.
        found.append(ANY)
    return found


class _Signs:
    """Signs in a text of the versions of `mcp` that it is written for."""

    def __init__(self):
        # Whether it uses `mcp` at all, and `fastmcp`, the package of that name.
        self.mcp = self.fastmcp = False
        # Whether something of it is in 1.x alone, and in 2.x alone.
        self.first = self.second = False
        self.low_level = False
        self.dependencies = {}
        self.advice = None
        # What names of the text stand for.
        self._names = {}

    def see_import(self, node):
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._see_module(alias.name)
                top = alias.name.partition(".")[0]
                self._names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            self._see_module(node.module)
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                self.first |= _is_below(whole, _FIRST_MODULES) or whole in _FIRST_NAMES
                self.second |= _is_below(whole, _SECOND_MODULES) or whole in _SECOND_NAMES
                self._names[alias.asname or alias.name] = whole
                if whole == "mcp.FastMCP":
                    self.advice = NO_SUCH_NAME

    def _see_module(self, name):
        self.mcp |= _is_below(name, ("mcp", "mcp_types"))
        self.fastmcp |= _is_below(name, ("fastmcp",))
        self.first |= _is_below(name, _FIRST_MODULES)
        self.second |= _is_below(name, _SECOND_MODULES)

    def see_call(self, node):
        called = self._whole_name(node.func) if isinstance(node, ast.Call) else None
        if called is None:
            return
        self.first |= _is_below(called, _FIRST_MODULES)
        if called in _LOW_LEVEL:
            self.low_level = True
            self.second |= any(word.arg and word.arg.startswith("on_") for word in node.keywords)
        elif called.rpartition(".")[2] in _DECLARING:
            self.dependencies.update(dict.fromkeys(_declared(node)))

    def _whole_name(self, node):
        """Returns the dotted name that an expression means, or None. `Server[Context]` means `Server`."""
        parts = []
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            if isinstance(node, ast.Attribute):
                parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        return ".".join([self._names.get(node.id, node.id), *reversed(parts)])


def _is_below(name, modules):
    return any(name == module or name.startswith(module + ".") for module in modules)


def _registers_handler(node):
    """Returns whether a function is registered as in 1.x: `@server.call_tool()`."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return any(
        isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute) and mark.func.attr in _DECORATORS
        for mark in node.decorator_list
    )


def _declared(call):
    """Returns the texts in `dependencies=[...]` of a call."""
    for word in call.keywords:
        if word.arg == "dependencies" and isinstance(word.value, (ast.List, ast.Tuple)):
            items = [item.value for item in word.value.elts if isinstance(item, ast.Constant)]
            return [item for item in items if isinstance(item, str)]
    return []
