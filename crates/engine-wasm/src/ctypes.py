# Stands in for the part of `ctypes` that is C, which WebAssembly does not have. Numbers have their sizes and values; memory and functions
# of C are not there, and whoever wants them is told so as if the module were missing.
import struct as _struct

__version__ = "1.1.0"
FUNCFLAG_CDECL, FUNCFLAG_PYTHONAPI, FUNCFLAG_USE_ERRNO, FUNCFLAG_USE_LASTERROR = 1, 4, 8, 16
RTLD_LOCAL, RTLD_GLOBAL = 0, 256
CTYPES_MAX_ARGCOUNT = 1024
SIZEOF_TIME_T = 8
_memmove_addr = _memset_addr = _string_at_addr = _cast_addr = _wstring_at_addr = 0
_SIZES = {"l": "i", "L": "I", "P": "I", "z": "I", "Z": "I", "O": "I", "u": "I", "v": "h", "g": "d"}


class ArgumentError(Exception):
    pass


def _missing(*_, **__):
    raise ModuleNotFoundError("No module named '_ctypes'", name="_ctypes")


class _Meta(type):
    def __mul__(cls, length):
        return type(f"{cls.__name__}_Array_{length}", (Array,), {"_type_": cls, "_length_": length})

    __rmul__ = __mul__


class _CData(metaclass=_Meta):
    pass


class _SimpleCData(_CData):
    _type_ = "i"

    def __init__(self, value=0):
        self.value = value

    def __repr__(self):
        return f"{type(self).__name__}({self.value!r})"

    def __setattr__(self, name, value):
        kind = type(self)._type_
        if name == "value" and kind in "bBhHiIlLqQ" and isinstance(value, int):
            bits = 8 * sizeof(type(self))
            value &= (1 << bits) - 1
            if kind.islower() and value >> (bits - 1):
                value -= 1 << bits
        object.__setattr__(self, name, value)

    @classmethod
    def from_param(cls, value):
        return value


class Array(_CData):
    _length_ = 0

    def __init__(self, *values):
        self._values = list(values) + [0] * (self._length_ - len(values))

    def __len__(self):
        return self._length_

    def __getitem__(self, index):
        return self._values[index]

    def __setitem__(self, index, value):
        self._values[index] = value


class _Pointer(_CData):
    __init__ = _missing


class Structure(_CData):
    __init__ = _missing


class Union(_CData):
    __init__ = _missing


class CFuncPtr(_CData):
    _flags_ = FUNCFLAG_CDECL

    def __init__(self, *_):
        pass

    __call__ = _missing


def sizeof(kind):
    kind = kind if isinstance(kind, type) else type(kind)
    if issubclass(kind, Array):
        return sizeof(kind._type_) * kind._length_
    if not issubclass(kind, _SimpleCData):
        _missing()
    return _struct.calcsize(_SIZES.get(kind._type_, kind._type_))


def POINTER(kind):
    return type(f"LP_{getattr(kind, '__name__', kind)}", (_Pointer,), {"_type_": kind})


def dlopen(name, *_):
    # `ctypes` opens the program itself when it is imported.
    return 0 if name is None else _missing()


def set_errno(value):
    return 0


def get_errno():
    return 0


alignment = sizeof
_pointer_type_cache = {}
addressof = byref = pointer = resize = buffer_info = call_function = dlsym = dlclose = _unpickle = _missing
