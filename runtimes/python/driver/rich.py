"""Pictures, tables and specs: what a value or a figure is beyond its text, given to the host one display at a time.

`install(emit)` is all that a plain script needs: `emit` is called with `{"mime", "base64"}` or `{"mime", "text"}` for everything that is
shown, and for figures that are still open when Python ends. Who runs one cell after another calls `begin` and `finish` around each.

Nothing is imported until the program has imported it. What a program does to this file it does to its own displays.
"""

import builtins
import os
import sys

# Who pays: the host's memory, and the caller who reads the result.
MOST_DISPLAYS = 16
MOST_ENCODED = 8 << 20
MOST_TOGETHER = 32 << 20

# A figure is four bytes a pixel while it is drawn: 100 MB.
MOST_PIXELS = 25_000_000

# Of a table's text; its own rows and columns are cut by pandas' options.
MOST_TEXT = 64 << 10

# In the order they are shown. A picture is shown once: as JPEG only when there is no PNG.
METHODS = (
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("image/svg+xml", "_repr_svg_"),
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("text/latex", "_repr_latex_"),
    ("application/json", "_repr_json_"),
)

# WebAssembly has one process.
process_id = getattr(os, "getpid", lambda: 0)

emit = process = None
shown = together = 0
dropped = []


def install(callback):
    global emit, process
    emit, process = callback, process_id()
    # Without a screen Matplotlib finds this one itself, but looks for the others first.
    os.environ.setdefault("MPLBACKEND", "Agg")
    builtins.display = display
    for name, hook in HOOKS.items():
        if name in sys.modules:
            hook(sys.modules[name])
    sys.meta_path.insert(0, Watch)


def begin():
    global shown, together
    shown = together = 0
    dropped.clear()


def finish():
    """The figures that are open, and one line about what could not be shown."""
    if process_id() != process:
        return
    show_figures()
    if dropped:
        what = dropped[0] if len(dropped) == 1 else f"{len(dropped)} displays: {'; '.join(dict.fromkeys(dropped))}"
        dropped.clear()
        print(f"not shown: {what[:1000]}", file=sys.stderr)


def display(*objects, **options):
    """Show each object in its richest form, as IPython's function of that name does."""
    for value in objects:
        if options.get("raw") and isinstance(value, dict):
            show_bundle(value)
        elif not show(value):
            print(repr(value))
        elif "pandas" in sys.modules and (table := pandas_text(value)) is not None:
            # For who reads text.
            print(table)


def show(value):
    """Whether the value has a form that is more than text."""
    if is_figure(value):
        show_figure(value)
        return True
    return show_bundle(bundle(value))


def text(value):
    """For what has a better text than its `repr`, else None."""
    if comes_from(value, "plotly", "BaseFigure"):
        # Its own is all of its data.
        return object.__repr__(value)
    return pandas_text(value) if "pandas" in sys.modules else None


def pandas_text(value):
    """As `repr`, but lines are not folded: who reads this has no edge of a screen."""
    try:
        rows = {"max_rows": option("display.max_rows") or 60, "min_rows": option("display.min_rows") or 10}
        if comes_from(value, "pandas", "DataFrame"):
            columns, size = option("display.max_columns") or 20, option("display.show_dimensions")
            return value.to_string(**rows, max_cols=columns, show_dimensions=size)[:MOST_TEXT]
        if comes_from(value, "pandas", "Series"):
            return value.to_string(**rows, name=True, dtype=True, length=len(value) > rows["max_rows"])[:MOST_TEXT]
    except Exception:
        pass
    return None


def option(name):
    return sys.modules["pandas"].get_option(name)


def bundle(value):
    """Every form the value has, by its type; what raises is not one."""
    kind, forms = type(value), {}
    for special in (plotly, altair, bokeh, series, picture):
        try:
            if (found := special(value)) is not None:
                return found
        except Exception:
            pass
    if (method := getattr(kind, "_repr_mimebundle_", None)) is not None:
        try:
            found = method(value)
            forms.update(found[0] if isinstance(found, tuple) else found)
        except Exception:
            pass
    for mime, name in METHODS:
        method = getattr(kind, name, None)
        if method is None or mime in forms or mime == "image/jpeg" and "image/png" in forms:
            continue
        try:
            found = method(value)
        except Exception:
            continue
        if isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict):
            # With metadata.
            found = found[0]
        if found is not None:
            forms[mime] = found
    return forms


def plotly(value):
    if comes_from(value, "plotly", "BaseFigure"):
        # Its HTML would carry megabytes of JavaScript.
        return {"application/vnd.plotly.v1+json": value.to_json()}


def altair(value):
    if comes_from(value, "altair", "TopLevelMixin"):
        # Its HTML would load JavaScript from elsewhere.
        spec = value.to_dict()
        version = str(spec.get("$schema", "")).rpartition("/v")[2].partition(".")[0]
        return {f"application/vnd.vegalite.v{version if version.isdigit() else 5}+json": spec}


def bokeh(value):
    if comes_from(value, "bokeh", "Model"):
        return {"application/vnd.bokeh+json": sys.modules["bokeh"].embed.json_item(value)}


def series(value):
    if comes_from(value, "pandas", "Series"):
        return {"text/html": value.to_frame()._repr_html_()}


def picture(value):
    if comes_from(value, "PIL", "Image"):
        width, height = value.size
        if width * height > MOST_PIXELS:
            dropped.append(too_large("an image", width, height))
            return {}
        if value.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
            # PNG has no such pixels.
            return {"image/png": type(value)._repr_png_(value.convert("RGB"))}


def comes_from(value, package, name):
    """Whether its type is, or inherits from, that class of that package."""
    if package not in sys.modules:
        return False
    return any(kind.__name__ == name and kind.__module__.partition(".")[0] == package for kind in type(value).__mro__)


def too_large(what, width, height):
    return f"{what} of {width:.0f} x {height:.0f} pixels (at most {MOST_PIXELS // 1_000_000} million are shown)"


def show_bundle(forms):
    rich = False
    for mime, data in forms.items():
        if not isinstance(mime, str) or mime == "text/plain" or data is None:
            continue
        try:
            show_data(mime, data)
            rich = True
        except Exception:
            pass
    return rich


def show_data(mime, data):
    if isinstance(data, (bytes, bytearray, memoryview)):
        if mime.startswith("text/") or mime in ("image/svg+xml", "application/json"):
            put(mime, "text", bytes(data).decode(errors="replace"))
        elif len(data) > MOST_ENCODED:
            # Its encoding would be longer still.
            drop_long(mime)
        else:
            import binascii

            put(mime, "base64", binascii.b2a_base64(data, newline=False).decode())
    elif isinstance(data, str) and mime.startswith(("image/", "audio/", "video/")) and mime != "image/svg+xml":
        put(mime, "base64", "".join(data.split()))
    elif isinstance(data, str):
        put(mime, "text", data)
    else:
        import json

        put(mime, "text", json.dumps(data, default=plain, separators=(",", ":")))


def plain(value):
    """What specs hold that JSON does not know."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def put(mime, encoding, data):
    global shown, together
    if process_id() != process:
        return
    length = len(data) if encoding == "base64" else len(data.encode(errors="replace"))
    if length > MOST_ENCODED:
        drop_long(mime)
    elif shown >= MOST_DISPLAYS:
        dropped.append(f"more than {MOST_DISPLAYS}")
    elif together + length > MOST_TOGETHER:
        dropped.append(f"more than {MOST_TOGETHER >> 20} MiB together")
    else:
        shown += 1
        together += length
        emit({"mime": mime, encoding: data})


def drop_long(mime):
    dropped.append(f"{mime} of more than {MOST_ENCODED >> 20} MiB")


def is_figure(value):
    return "matplotlib.figure" in sys.modules and isinstance(value, sys.modules["matplotlib.figure"].Figure)


def show_figures(*arguments, **options):
    """In place of `matplotlib.pyplot.show`: there is no window that could stay open."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or not hasattr(pyplot, "get_fignums"):
        return
    for number in pyplot.get_fignums():
        show_figure(pyplot.figure(number))


def show_figure(figure):
    try:
        if shown >= MOST_DISPLAYS:
            # Drawing it takes longer than all the rest.
            dropped.append(f"more than {MOST_DISPLAYS}")
        elif (data := png(figure)) is not None:
            show_data("image/png", data)
    except Exception as error:
        dropped.append(f"a figure ({type(error).__name__}: {' '.join(str(error).split())[:200]})")
    finally:
        # One that was made without pyplot is not among those that it keeps open.
        if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
            pyplot.close(figure)


def png(figure):
    import io

    width, height = figure.get_size_inches()
    pixels = width * figure.dpi, height * figure.dpi
    if not pixels[0] * pixels[1] <= MOST_PIXELS:
        dropped.append(too_large("a figure", *pixels))
        return None

    def tight(*arguments, **options):
        # An artist far outside would make the picture as large as the way to it.
        box = type(figure).get_tightbbox(figure, *arguments, **options)
        around = width / 2, height / 2
        if box.x0 < -around[0] or box.y0 < -around[1] or box.x1 > width + around[0] or box.y1 > height + around[1]:
            return sys.modules["matplotlib.transforms"].Bbox.from_bounds(0, 0, width, height)
        return box

    file = io.BytesIO()
    figure.get_tightbbox = tight
    try:
        figure.savefig(file, format="png", dpi=figure.dpi, bbox_inches="tight")
    finally:
        del figure.get_tightbbox
    return file.getvalue()


def pyplot_imported(module):
    import atexit

    module.show = show_figures
    # After Matplotlib's own, so before it: that one closes all figures.
    atexit.register(finish)


def takes_show(module):
    # What else they take is about the window.
    module.show = lambda value, *arguments, **options: display(value)


def takes_display(module):
    module.display = display


# Modules that would look for a screen, a browser or a notebook: what is done when a program has imported them.
HOOKS = {
    "matplotlib.pyplot": pyplot_imported,
    "plotly.io._renderers": takes_show,
    "PIL.ImageShow": takes_show,
    "IPython.core.display_functions": takes_display,
}


class Watch:
    """A finder that finds nothing itself."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hook = HOOKS.get(name)
        if hook is None:
            return None
        for finder in sys.meta_path:
            if finder is cls or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                break
        else:
            return None
        loader = spec.loader
        if hasattr(loader, "exec_module"):
            execute = loader.exec_module

            def exec_module(module):
                execute(module)
                try:
                    del loader.exec_module
                    hook(module)
                except Exception:
                    pass

            loader.exec_module = exec_module
        return spec
