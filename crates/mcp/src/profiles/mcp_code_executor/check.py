# Says which of its arguments are installed, by the name of a module or of a distribution. Nothing of them is imported.
import importlib.metadata, importlib.util, json, re, sys


def normal(name):
    return re.sub("[-_.]+", "-", name).lower()


distributions = importlib.metadata.packages_distributions()


def find(name):
    modules = [module for module, names in distributions.items() if normal(name) in map(normal, names)]
    module = name if name in distributions or not modules else min(modules, key=lambda it: (it.startswith("_"), it))
    known = distributions.get(module, [name])
    try:
        version = importlib.metadata.version(known[0])
    except importlib.metadata.PackageNotFoundError:
        version = None
    try:
        spec = importlib.util.find_spec(module.partition(".")[0])
    except (ImportError, ValueError):
        spec = None
    if spec is None and version is None:
        return {"installed": False, "error": "Package not found"}
    return {"installed": True, "version": version, "location": spec and spec.origin}


print(json.dumps({name: find(name) for name in sys.argv[1:]}))
