"""Integers as programs use them: the default type, sums, indices, sizes. `integers.txt` is what NumPy's own wheel for x86_64 says to this. The
value of the last expression: one line an expression."""

import numpy as np

PROGRAM = """
np.arange(100000).sum()
np.array([100000]) ** 2
np.array([3, 2**40])
np.zeros(3, dtype=int)
np.ones(2, dtype=int) << 40
np.full(2, 10**12)
np.array([1, 2, 3]).prod() * 2**40
np.array([50000] * 3, dtype=np.int32).prod()
np.array([2**31 - 1] * 3, dtype=np.int32).sum()
np.array([2**32 - 1] * 3, dtype=np.uint32).sum()
np.array([True] * 3).sum()
np.cumsum(np.full(4, 2**31 - 1))
np.power(7, np.arange(5) * 5)
np.linalg.matrix_power(np.array([[1, 1], [1, 0]]), 90)
np.array([[99999, 1], [1, 1]]) @ np.array([[99999, 1], [1, 1]])
np.dot(np.arange(100000), np.arange(100000))
np.arange(2**33, 2**33 + 3)
np.arange(5, dtype=np.uint)
np.linspace(0, 10**10, 3).astype(int)
np.array([1e10, -2.5]).astype(int)
np.int_(2**40), np.uint(2**63), np.intp(2**40)
np.dtype(int), np.dtype('int'), np.dtype(np.int_), np.dtype(np.uint), np.dtype(np.intp), np.dtype(np.uintp)
np.dtype(int) is np.dtype(np.int64), np.int_ is np.int64
np.result_type(np.int32, 1), np.result_type(int, np.uint32), np.promote_types('i4', 'u4')
np.iinfo(int).max, np.iinfo(np.intp).max
int(np.array([2**62])[0]) * 4
np.bincount([1, 2, 2, 5])
np.bincount([1, 2, 2, 5]) * 2**31
np.repeat(np.arange(3), np.arange(3))
np.repeat(7, np.array(3))
np.take(np.arange(10) * 10, np.array([1, -1]))
np.digitize([0.5, 2.5], [1, 2, 3])
np.searchsorted([1, 2, 3], [2, 4]) * 2**31
np.argsort([3, 1, 2])
np.argsort([3, 1, 2]) * 10**10
np.argmax([3, 1, 2]), np.array([3, 9]).argmax().dtype
np.nonzero([0, 1, 1])
np.where(np.arange(6) > 3)[0] * 10**9
np.where(np.arange(3) > 1, 2**40, 0)
np.count_nonzero([1, 0, 2])
np.arange(10)[np.arange(10) // 2 % 10]
np.arange(10)[np.array([1, 2]) + 1]
np.arange(12).reshape(np.array([3, 4]))[np.ix_(np.arange(2), np.array([0, 3]))]
np.zeros(np.array([2, 3]), int)
np.meshgrid(np.arange(2), np.arange(3))
np.indices((2, 2))[0]
np.unravel_index(np.array([5, 7]), (3, 4))
np.ravel_multi_index((np.array([1, 2]), np.array([1, 3])), (3, 4))
np.unique([3, 1, 3], return_index=True, return_inverse=True, return_counts=True)
np.unique([3, 1, 3], return_counts=True)[1] * 10**10
np.histogram([1, 2, 2, 9], bins=3)
np.histogram([1, 2, 2, 9], bins=3)[0] * 10**10
np.insert(np.arange(4), np.array([1, 3]), 9)
np.delete(np.arange(4), np.array([1, 3]))
np.diff(np.array([0, 2**40]))
np.clip(np.arange(4), 1, 2)
np.add.reduceat(np.arange(8), np.array([0, 4]))
np.bitwise_and.reduce(np.arange(4))
np.tri(2, dtype=int), np.eye(2, dtype=int), np.identity(2, int)
np.cross([1, 2, 3], [4, 5, 6]), np.outer([2**20], [2**20])
np.convolve([2**20, 1], [2**20, 1])
np.trace(np.full((2, 2), 2**31)), np.mean([1, 2]), np.median([1, 2, 4])
np.fromiter(range(3), int), np.fromstring('1 2', int, sep=' ')
np.array(['12', '99999999999']).astype(int)
np.strings.str_len(['ab', 'c']), np.char.find(['ab'], 'b'), np.strings.slice(['hello'], 1, 4), np.strings.slice(['hello'], None, None, -1)
np.array([1, 2]).astype(str), np.array([2**40]).astype('S')
np.frombuffer(b'\\x01' + b'\\x00' * 7, int)
memoryview(np.arange(6).reshape(2, 3)).shape, memoryview(np.arange(6).reshape(2, 3)).strides, memoryview(np.arange(3)).itemsize
np.arange(6).reshape(2, 3).T.strides, np.arange(6)[::-2].strides, np.arange(3).nbytes, np.arange(3).itemsize
np.array([[1, 2]]).shape + (2**31,)
np.ma.array([1, 2], mask=[0, 1]).sum(), np.nansum([1, 2])
np.lcm.reduce(np.arange(1, 40)), np.gcd(2**40, 2**35)
np.partition([3, 1, 2], 1), np.lexsort(([1, 0], [0, 0]))
np.rint(2**40), np.floor_divide(2**40, 3), np.mod(-7, np.array([3]))
np.random.RandomState(1).randint(0, 10**10, 3), np.random.RandomState(1).randint(10**10)
np.random.RandomState(1).choice(5, 3), np.random.RandomState(1).choice(5, 3, replace=False), np.random.RandomState(1).choice(np.arange(5), 2, p=[0, 0, 0, 0.5, 0.5])
np.random.RandomState(1).permutation(4), np.random.RandomState(1).poisson(10**10, 2), np.random.RandomState(1).binomial(10**10, 0.5, 2)
np.random.RandomState(1).tomaxint(2), np.random.RandomState(1).multinomial(10**10, [0.5, 0.5])
np.random.default_rng(1).integers(10**10, size=2), np.random.default_rng(1).choice(10**10, 2), np.random.default_rng(1).permutation(3)
np.random.default_rng(1).shuffle(np.arange(3)), np.random.default_rng(1).multinomial(10**10, [0.5, 0.5])
np.arange(10)[2**32]
np.take(np.arange(10), 2**32 + 1)
np.arange(10)[np.array([2**32 + 1])]
np.array([1, 2]).reshape(2**32, -1)
np.arange(4).reshape(3, 3)
np.repeat([1, 2], [1, 2, 3])
np.concatenate([np.ones((2, 3)), np.ones((2, 2))], axis=0)
np.ones((2, 3)) @ np.ones((2, 3))
"""


def said(expression):
    try:
        value = eval(expression)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return " ".join(repr(value).split())


"\n".join(f"{expression}\n    {said(expression)}" for expression in PROGRAM.split("\n")[1:-1])
