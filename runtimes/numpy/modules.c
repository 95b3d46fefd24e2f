// NumPy's extension modules, as built-in modules of CPython under their full names.

#include <Python.h>

#define MODULES(_)                                                                                                                        \
    _("numpy._core._multiarray_umath", _multiarray_umath)                                                                                 \
    _("numpy.fft._pocketfft_umath", _pocketfft_umath)                                                                                     \
    _("numpy.linalg._umath_linalg", _umath_linalg)                                                                                        \
    _("numpy.linalg.lapack_lite", lapack_lite)                                                                                            \
    _("numpy.random._bounded_integers", _bounded_integers)                                                                                \
    _("numpy.random._common", _common)                                                                                                    \
    _("numpy.random._generator", _generator)                                                                                              \
    _("numpy.random._mt19937", _mt19937)                                                                                                  \
    _("numpy.random._pcg64", _pcg64)                                                                                                      \
    _("numpy.random._philox", _philox)                                                                                                    \
    _("numpy.random._sfc64", _sfc64)                                                                                                      \
    _("numpy.random.bit_generator", bit_generator)                                                                                        \
    _("numpy.random.mtrand", mtrand)

#define DECLARE(name, function) extern PyObject *PyInit_##function(void);
MODULES(DECLARE)

void belljar_add_modules(void)
{
#define ADD(name, function) PyImport_AppendInittab(name, PyInit_##function);
    MODULES(ADD)
}
