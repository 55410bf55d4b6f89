"""Functions of `jq` that are written in the language of `jq`. Each function is parsed at its first call."""

_SOURCES = {
    "map/1": "def map(f): [.[] | f];",
    "map_values/1": "def map_values(f): .[] |= f;",
    "select/1": "def select(f): if f then . else empty end;",
    "values/0": "def values: select(. != null);",
    "nulls/0": "def nulls: select(. == null);",
    "strings/0": 'def strings: select(type == "string");',
    "numbers/0": 'def numbers: select(type == "number");',
    "booleans/0": 'def booleans: select(type == "boolean");',
    "arrays/0": 'def arrays: select(type == "array");',
    "objects/0": 'def objects: select(type == "object");',
    "iterables/0": 'def iterables: select(type == "array" or type == "object");',
    "scalars/0": 'def scalars: select(type != "array" and type != "object");',
    "recurse/1": "def recurse(f): def walk_down: ., (f | walk_down); walk_down;",
    "recurse/2": "def recurse(f; keep): def walk_down: ., (f | select(keep) | walk_down); walk_down;",
    "to_entries/0": "def to_entries: . as $o | [$o | keys_unsorted[] | {key: ., value: $o[.]}];",
    "with_entries/1": "def with_entries(f): to_entries | map(f) | from_entries;",
    "add/1": "def add(f): reduce f as $x (null; . + $x);",
    "any/1": "def any(f): any(.[]; f);",
    "all/1": "def all(f): all(.[]; f);",
    "in/1": "def in($o): . as $k | $o | has($k);",
    "inside/1": "def inside($o): . as $x | $o | contains($x);",
    "paths/0": "def paths: path(..) | select(length > 0);",
    "paths/1": "def paths(f): . as $v | paths | . as $p | select($v | getpath($p) | f);",
    "leaf_paths/0": "def leaf_paths: paths(scalars);",
    "del/1": "def del(f): delpaths([path(f)]);",
    "sort_by/1": "def sort_by(f): _by(map([f]); \"sort\");",
    "group_by/1": "def group_by(f): _by(map([f]); \"group\");",
    "unique_by/1": "def unique_by(f): _by(map([f]); \"unique\");",
    "min_by/1": "def min_by(f): _by(map([f]); \"min\");",
    "max_by/1": "def max_by(f): _by(map([f]); \"max\");",
    "walk/1": (
        'def walk(f): def go: if type == "object" then map_values(go) elif type == "array" then map(go) else . end | f;'
        " go;"
    ),
    "first/0": "def first: .[0];",
    "last/0": "def last: .[-1];",
    "nth/1": "def nth($n): .[$n];",
    "nth/2": "def nth($n; f): last(limit($n + 1; f));",
    "combinations/0": (
        "def combinations: if length == 0 then [] else .[0][] as $x | (.[1:] | combinations) as $rest"
        " | [$x] + $rest end;"
    ),
    "combinations/1": "def combinations($n): . as $v | [range($n)] | map($v) | combinations;",
    "todate/0": "def todate: strftime(\"%Y-%m-%dT%H:%M:%SZ\");",
    "fromdate/0": "def fromdate: fromdateiso8601;",
    "date/0": "def date: todate;",
    "todateiso8601/0": "def todateiso8601: todate;",
    "finites/0": "def finites: select(isinfinite or isnan | not);",
    "normals/0": "def normals: select(isnormal);",
    "capture/1": "def capture($re): capture($re; null);",
    "capture/2": (
        "def capture($re; $flags): match($re; $flags) | [.captures[] | select(.name != null)"
        " | {key: .name, value: .string}]"
        " | from_entries;"
    ),
    "match/1": "def match($re): match($re; null);",
    "test/1": "def test($re): test($re; null);",
    "scan/1": "def scan($re): scan($re; null);",
    "scan/2": (
        'def scan($re; $flags): match($re; "g" + $flags) | if (.captures | length) > 0 then [.captures[].string]'
        " else .string end;"
    ),
    "splits/1": "def splits($re): splits($re; null);",
    "splits/2": "def splits($re; $flags): split($re; $flags) | .[];",
    "tostream/0": (
        "def tostream: path(def down: (.[]? | down), .; down) as $p | getpath($p)"
        " | reduce path(.[]?) as $q ([$p, .]; [$p + $q]);"
    ),
    "INDEX/1": "def INDEX(f): INDEX(.[]; f);",
    "INDEX/2": "def INDEX(s; f): reduce s as $x ({}; .[$x | f | tostring] = $x);",
    "IN/1": "def IN(s): any(s == .; .);",
    "IN/2": "def IN(a; b): any(a == b; .);",
    "pick/1": "def pick(f): . as $v | reduce path(f) as $p (null; setpath($p; $v | getpath($p)));",
    "have_decnum/0": "def have_decnum: false;",
    "have_literal_numbers/0": "def have_literal_numbers: true;",
    "debug/1": "def debug(f): (f | debug | empty), .;",
    "ascii/0": "def ascii: [.] | implode;",
}
_found = {}


def find(full):
    """Returns the function for a name and a number of parameters, such as `map/1`, or None."""
    if full not in _found:
        source = _SOURCES.get(full)
        if source is None:
            return None
        from .parser import parse_functions
        from .scopes import Closure

        parameters, body = parse_functions(source)[full]
        _found[full] = Closure(parameters, body, None, False)
    return _found[full]


NAMES = tuple(_SOURCES)
