# Says which of its arguments are installed, by the name of a module or of a distribution. Nothing of them is imported.
import importlib.machinery, importlib.metadata, importlib.util, json, re, sys


def normal(name):
    return re.sub("[-_.]+", "-", name).lower()


distributions = importlib.metadata.packages_distributions()


def locate(module):
    top, *parts = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    known = top
    for part in parts:
        known = f"{known}.{part}"
        if known in sys.modules:
            # Not all of them are files: `os.path`.
            spec = sys.modules[known].__spec__
        elif spec is None or spec.submodule_search_locations is None:
            return None
        else:
            # `find_spec` would import the package that it is in. Without that one's name in front nobody asks for it.
            spec = importlib.machinery.PathFinder.find_spec(part, list(spec.submodule_search_locations))
    return spec


def find(name):
    modules = [module for module, names in distributions.items() if normal(name) in map(normal, names)]
    module = name if name in distributions or not modules else min(modules, key=lambda it: (it.startswith("_"), it))
    spec = locate(module)
    known = distributions.get(module.partition(".")[0] if spec else module, [name])
    try:
        version = importlib.metadata.version(known[0])
    except (importlib.metadata.PackageNotFoundError, ValueError):
        version = None
    if spec is None and version is None:
        return {"installed": False, "error": "Package not found"}
    return {"installed": True, "version": version, "location": spec and spec.origin}


print(json.dumps({name: find(name) for name in sys.argv[1:]}))
