"""Fonts for what matplotlib's own do not have: Chinese, Japanese, Korean, Hindi and emoji.

matplotlib looks for a character in each font of a list; here every list ends with these fonts. `rcParams` stay as they
are.
"""

from .pristine import __builtins__

import os

from . import import_hooks

# The package with the fonts, beside the other packages.
PACKAGE = "_brumate_fonts"


def extend(font_manager):
    """Makes the font manager of matplotlib end each list of fonts with ours, if it is of a version that we know."""
    manager = font_manager.FontManager
    find = getattr(manager, "_find_fonts_by_props", None)
    paths = _paths()
    if find is None or not paths:
        return

    def _find_fonts_by_props(self, *arguments, **options):
        found = find(self, *arguments, **options)
        return [*found, *(path for path in paths if path not in found)]

    _find_fonts_by_props.__doc__ = find.__doc__
    manager._find_fonts_by_props = _find_fonts_by_props


def extend_math(mathtext):
    """Does the same for text with formulas, which looks for each character on its own."""
    fonts = mathtext.UnicodeFonts
    get_glyph = getattr(fonts, "_get_glyph", None)
    paths = _paths()
    if get_glyph is None or not paths:
        return

    def _get_glyph(self, fontname, font_class, sym):
        if len(sym) == 1 and _is_beyond_formulas(ord(sym)):
            for path in paths:
                font = mathtext.get_font(path)
                if font.get_char_index(ord(sym)):
                    return font, ord(sym), False
        return get_glyph(self, fontname, font_class, sym)

    fonts._get_glyph = _get_glyph


def _is_beyond_formulas(code):
    """Whether a character is of a script or an emoji that no font for formulas has."""
    return 0x900 <= code < 0x1E00 or code == 0x20E3 or (code >= 0x2E80 and not 0x1D400 <= code < 0x1D800)


def install():
    """Done once, at boot."""
    import_hooks.after_import("matplotlib.font_manager", extend)
    import_hooks.after_import("matplotlib._mathtext", extend_math)


def _paths():
    """Paths of the fonts, in the order in which they are asked for a character."""
    from importlib.util import find_spec

    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return []
    directory = os.path.dirname(spec.origin)
    return [f"{directory}/{name}" for name in sorted(os.listdir(directory)) if name.endswith(".ttf")]
