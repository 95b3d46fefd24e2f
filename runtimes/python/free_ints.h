// Included by CPython's Objects/longobject.c: a list of free ints, as CPython has it from 3.14 on. Ints of one digit come and go all the time, and
// memory for them costs three calls each way, which are dear in WebAssembly.

#define MOST_FREE_INTS 100

// One thread, so one list. Each free int holds the next in place of its reference count.
static PyLongObject *free_ints;
static int free_int_count;

// Frees what is exactly an int.
void _PyLong_ExactDealloc(PyObject *self)
{
    if (_PyLong_IsCompact((PyLongObject *)self) && free_int_count < MOST_FREE_INTS) {
        *(PyLongObject **)self = free_ints;
        free_ints = (PyLongObject *)self;
        free_int_count++;
        return;
    }
    PyObject_Free(self);
}

// Memory for an int of one digit.
static inline PyLongObject *take_int(void)
{
    PyLongObject *taken = free_ints;
    if (taken == NULL) {
        return PyObject_Malloc(sizeof(PyLongObject));
    }
    free_ints = *(PyLongObject **)taken;
    free_int_count--;
    return taken;
}
